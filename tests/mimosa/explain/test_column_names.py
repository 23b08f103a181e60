"""Words in the names of columns."""

import pytest

from disentree.mimosa.explain.column_names import common_name, pieces, shortened


@pytest.mark.parametrize("name", ["", "AgeInYears", "a__b.c", "HDLLevel", "x1", " spaces - and/more ", "ÄlterA1C"])
def test_pieces_are_the_whole_name(name):
    assert "".join(pieces(name)) == name


def test_whole_words_where_there_are_words():
    assert shortened("AgeInYearsAtScreening", 12) == "AgeInYears"
    assert shortened("flipper_length_mm", 10) == "flipper"
    assert shortened("od280/od315_of_diluted", 14) == "od280/od315"
    assert shortened("AgeWhenFirstToldYouHadDiabetes", 19) == "AgeWhenFirstTold"
    assert shortened("x" * 60, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("names", "common"),
    [
        (["Garage.Type", "Garage.Area", "x"], "Garage"),
        (["x", "Garage.Type", "Garage.Area"], "Garage"),
        (["garage_area", "garage_age"], "garage"),  # not garage_a
        (["Mas.Vnr.Type", "Mas.Vnr.Area"], "Mas.Vnr"),
        (["DaysOfWork", "HoursOfWork"], "Work"),  # not OfWork
        (["garagearea", "garagetype"], "garage"),
        (["Pool1", "Pool2"], "Pool"),
        (
            ["AgeWhenFirstToldYouHadDiabetes", "WhatWasYourLastA1CLevel"],
            "AgeWhenFirstTold and 1 more",
        ),  # too long for both
        (["DoYouSmoke", "DoYouDrink"], "DoYouSmoke, DoYouDrink"),  # a question is no name
        (["Whatever", "Whatsoever"], "Whatever, Whatsoever"),  # not What
        (["Level.A", "Leverage.B"], "Level.A, Leverage.B"),
        (["a", "b"], "a, b"),
        (["alone"], "alone"),
    ],
)
def test_names_in_common(names, common):
    assert common_name(names) == common
