"""The reference of every model is complete by itself, and its defaults are those of the code; covers `flat.py`."""

import ast
import inspect
import re

import pytest

from disentree import AE, COFHAE, VAE, BetaTCVAE, CascadeVAE, FactorVAE, JointVAE


@pytest.mark.parametrize("cls", [COFHAE, AE, VAE, BetaTCVAE, FactorVAE, JointVAE, CascadeVAE])
def test_every_parameter_is_described_with_its_default(cls):
    text = inspect.getdoc(cls)
    section = text[text.index("Parameters\n---") : text.index("Attributes\n---")]
    described = {}
    for names, default in re.findall(r"^([\w, ]+) : .*default=(.+)$", section, re.MULTILINE):
        for name in names.split(", "):
            described[name] = value_of(default)
    parameters = inspect.signature(cls).parameters
    assert set(described) == set(parameters)
    for name, parameter in parameters.items():
        usual = parameter.default
        expected = pytest.approx(usual, rel=1e-3) if isinstance(usual, float) else usual
        assert described[name] == expected, name
    assert "{" not in re.sub(r"\{\"[^}]*\}", "", text)  # nothing left to insert
    assert ">>> " in text


def value_of(default):
    if re.fullmatch(r"\d+/\d+", default):
        above, below = default.split("/")
        return int(above) / int(below)
    return ast.literal_eval(default)
