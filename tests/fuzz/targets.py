"""All targets, by name."""

from fuzz.environments import Environments
from fuzz.files import Files
from fuzz.folders import Damaged, Hostile
from fuzz.models import Models
from fuzz.requests import Requests

TARGETS = {target.name: target for target in (Files, Damaged, Hostile, Models, Environments, Requests)}
