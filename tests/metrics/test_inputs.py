"""Bad input gets one sentence that names the argument, from every score alike."""

import numpy as np
import pytest

from disentree import Hierarchy
from disentree import metrics as m

H = Hierarchy.from_dict(
    {
        "variables": [
            {"kind": "continuous", "name": "x"},
            {
                "kind": "categorical",
                "name": "c",
                "options": [{"variables": []}, {"variables": [{"kind": "continuous", "name": "y"}]}],
            },
        ]
    }
)
V = H.sample(100)
FLAT = [m.mig_score, m.sap_score, m.dci_score, m.dci_scores, m.factor_vae_score]
SCORES = [m.r4c_score, m.r4_score, *FLAT, m.evaluate]


def changed(row, column, value):
    out = V.copy()
    out[row, column] = value
    return out


def only_first_option():
    out = V.copy()
    out[:, 1], out[:, 2] = 0, np.nan
    return out


BAD = {
    "V has too few columns": (V[:, :2], V, "V: "),
    "Z has too few columns": (V, V[:, :2], "Z: "),
    "one dimension": (V[:, 0], V, "V: "),
    "V and Z differ in length": (V, V[:50], "V and Z "),
    "a single row": (V[:1], V[:1], "V "),
    "no rows": (V[:0], V[:0], "V "),
    "all NaN in V": (changed(slice(None), 0, np.nan), V, "V: "),
    "all NaN in Z": (V, changed(slice(None), 0, np.nan), "Z: "),
    "never active in V": (only_first_option(), V, "V: "),
    "one NaN": (V, changed(3, 0, np.nan), "Z: "),
    "infinite": (changed(3, 0, np.inf), V, "V: "),
    "not an integer": (changed(slice(None), 1, 0.5), V, "V: "),
    "not an option": (V, changed(3, 1, 7), "Z: "),
    "a value where inactive": (np.nan_to_num(V), V, "V: "),
    "text": (np.full((100, 3), "a"), V, "V: "),
}


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("case", BAD)
def test_bad_codes(score, case):
    bad_v, bad_z, start = BAD[case]
    with pytest.raises(ValueError, match=f"^{start}") as caught:
        score(bad_v, bad_z, H, H)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"n_splits": 0}, "n_splits"),
        ({"random_state": -1}, "random_state"),
        ({"max_rows": 1}, "max_rows"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_options(options, argument):
    with pytest.raises(ValueError, match=f"^{argument} must"):
        m.r4c_score(V, V, H, H, **options)


def test_more_bad_options():
    with pytest.raises(ValueError, match=r"^metrics must"):
        m.evaluate(V, V, H, H, metrics=["r5"])
    with pytest.raises(ValueError, match=r"^metrics must"):
        m.evaluate(V, V, H, H, metrics=[])
    with pytest.raises(ValueError, match=r"^n_bins must"):
        m.mig_score(V, V, H, H, n_bins=1)
    with pytest.raises(ValueError, match=r"^batch_size must"):
        m.factor_vae_score(V, V, H, H, batch_size=1)
    with pytest.raises(ValueError, match=r"^v_hierarchy must"):
        m.mig_score(np.empty((5, 0)), np.empty((5, 0)), Hierarchy.flat(0), Hierarchy.flat(0))


@pytest.mark.parametrize("score", SCORES)
def test_a_branch_that_no_row_takes(score):
    """A learned option that is never chosen is no mistake of the user's."""
    score(V, only_first_option(), H, H)


@pytest.mark.parametrize("score", SCORES)
def test_lists_and_few_rows(score):
    score(V[:20].tolist(), V[:20].tolist(), H, H)


def test_arguments_are_left_alone():
    before = V.copy()
    m.evaluate(V, V, H, H)
    np.testing.assert_array_equal(V, before)
