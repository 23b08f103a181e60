"""The explorer: a page with a slider for every continuous variable and radio buttons for every categorical.

Choosing a button opens the group of controls below it, and the decoded observation follows. The page comes in two
forms: `disentree explore RUN` serves it, and the model answers from Python; ``--export`` and `explore` write one
file in which the networks run in the browser.
"""

from disentree.explorer.content import Explored, from_model, from_run
from disentree.explorer.export import Page, explore, render

__all__ = ["Explored", "Page", "explore", "from_model", "from_run", "render"]
