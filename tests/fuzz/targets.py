"""All targets, by name."""

from fuzz.containers import Containers
from fuzz.environments import Environments
from fuzz.files import Files
from fuzz.folders import Damaged, Hostile
from fuzz.models import Flipped, Models
from fuzz.requests import Requests

TARGETS = {
    target.name: target
    for target in (Files, Damaged, Hostile, Models, Flipped, Containers, Environments, Requests)
}
