"""Text in figures; how observations are drawn is tested with the figures that draw them."""

from disentree.plots.cells import plain


def test_plain_text():
    assert plain("a\nb  $c$") == r"a b \$c\$"
    assert plain("x" * 50, 10) == "x" * 9 + "…"
