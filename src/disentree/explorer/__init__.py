"""The explorer: a page with a slider for every continuous variable and radio buttons for every categorical.

Choosing a button opens the group of controls below it, and the decoded observation follows. The page comes in two
forms: `disentree explore RUN` serves it, and the model answers from Python; ``--export`` and `explore` write one
file in which the networks run in the browser.
"""

from typing import TYPE_CHECKING

from disentree.utils.lazy import lazy_exports

if TYPE_CHECKING:
    from disentree.explorer.content import Explored
    from disentree.explorer.export import Page, explore, render
    from disentree.explorer.loading import from_model, from_run
    from disentree.explorer.to_onnx import export_onnx

__all__ = ["Explored", "Page", "explore", "export_onnx", "from_model", "from_run", "render"]

# Imported when first used: they need torch.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Explored": "disentree.explorer.content",
        "from_model": "disentree.explorer.loading",
        "from_run": "disentree.explorer.loading",
        "Page": "disentree.explorer.export",
        "explore": "disentree.explorer.export",
        "render": "disentree.explorer.export",
        "export_onnx": "disentree.explorer.to_onnx",
    },
)
