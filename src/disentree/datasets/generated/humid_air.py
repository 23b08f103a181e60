"""Thermodynamic properties of air that is dry, saturated with water, or in between.

Dry and saturated air have two degrees of freedom, temperature and pressure; air in between has a third, its
humidity. The properties are curved functions of these, and the two surfaces bound the volume. They are computed by
CoolProp, which is installed with `pip install CoolProp`.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from disentree.datasets.generated.recipe import Recipe, choice, tree
from disentree.errors import UserError

# Name of a column with its unit, and its key in CoolProp. Properties that take CoolProp an iteration are left out.
PROPERTIES = (
    ("temperature [K]", "T"),
    ("pressure [Pa]", "P"),
    ("humidity ratio", "W"),
    ("vapor pressure [Pa]", "P_w"),
    ("enthalpy [J/kg]", "H"),
    ("entropy [J/kg/K]", "S"),
    ("specific volume [m3/kg]", "V"),
    ("heat capacity at constant volume [J/kg/K]", "CV"),
    ("viscosity [Pa s]", "M"),
    ("conductivity [W/m/K]", "K"),
)
COLUMNS = tuple(name for name, _ in PROPERTIES)
TEMPERATURES = (278.0, 318.0)
PRESSURES = (70e3, 110e3)
HUMIDITIES = (0.05, 0.95)  # relative, of air that is neither dry nor saturated

HIERARCHY = tree("temperature", "pressure", choice("air", dry=(), saturated=(), moist=("humidity",)))


def sample_codes(n: int, rng: np.random.Generator) -> Float[np.ndarray, "n 4"]:
    """Uniform temperature, pressure and relative humidity; a third of the rows of each kind of air."""
    codes = np.column_stack(
        [rng.uniform(*TEMPERATURES, n), rng.uniform(*PRESSURES, n), rng.integers(0, 3, n), np.full(n, np.nan)]
    )
    moist = codes[:, 2] == 2
    codes[moist, 3] = rng.uniform(*HUMIDITIES, moist.sum())
    return codes


def render(codes: Float[np.ndarray, "n 4"]) -> Float[np.ndarray, "n 10"]:
    """The properties in their units."""
    try:
        from CoolProp.HumidAirProp import HAPropsSI
    except ImportError:
        raise UserError("humid-air is computed by CoolProp: pip install CoolProp") from None
    X = np.empty((len(codes), len(PROPERTIES)))
    for i, (temperature, pressure, kind, humidity) in enumerate(codes.tolist()):
        relative = 0.0 if kind == 0 else 1.0 if kind == 1 else humidity
        given = ("T", temperature, "P", pressure, "R", relative)
        X[i] = [HAPropsSI(key, *given) for _, key in PROPERTIES]
    return X


RECIPE = Recipe("properties of dry, saturated and moist air", HIERARCHY, sample_codes, render, columns=COLUMNS)
