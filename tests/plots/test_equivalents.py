"""Equivalent hierarchies side by side."""

from matplotlib import pyplot as plt

from disentree.datasets import dataset_info
from disentree.metrics import h_error
from disentree.plots import draw_equivalents


def test_the_three_forms_of_spaceshapes():
    """As in the paper: phase, shine and angle merged up to one variable, x and y pushed down to every shape."""
    hierarchy = dataset_info("spaceshapes").hierarchy
    figure = draw_equivalents(hierarchy)
    figure.canvas.draw()
    names = [[text.get_text() for text in ax.texts] for ax in figure.axes]
    assert [drawn.count("x") for drawn in names] == [1, 1, 4]
    assert [drawn.count("phase") for drawn in names] == [1, 0, 1]
    for version in (hierarchy.merged_up(), hierarchy.pushed_down()):
        assert h_error(hierarchy, version) == 0
    plt.close(figure)
