"""Constants that several finders and the search share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FinderConstants:
    # Bits per row that curved leaves must save for mixtures not to be asked, and that leaves which rows lie on
    # exactly may lose: those are no chance, one more exact direction saves far more, and the rest is density
    # along leaves.
    thin: float = 4.0
    # Gaussians are no thinner than this, relative to the widest direction: thinner ones have covariances that
    # cannot be inverted in double precision, and exact manifolds are found by the atlas.
    thinnest: float = 1e-5
    # rows that mixtures are grown on, that equations are fitted to, and half of those that the atlas searches
    searched: int = 6000
    # What is tried before giving up: tolerances, rounds of anchors without a chart or a flat, bridges over a
    # border; rounds of assigning rows to charts and fitting charts to rows, and half of those of flats and sheets;
    # starts of expectation maximization for groups that differ in categories.
    rounds: int = 4
    # What is looked at at a time: anchors of charts, and a quarter of those of flats in noise; neighbors that show
    # which leaves touch; per dimension (and for two more) rows of the first ball, and random tuples for a flat;
    # the largest regions, which are looked into; drawn tables that dependence is compared with.
    looks: int = 12
    # Share of rows that counts: on exact subspaces, to look for them among all rows; in one piece of a leaf, to be
    # apart; on no leaf, for the search to go on; on the thinnest leaves, to measure noise by them and not by a
    # cloud around them; of one value in a column of whole numbers. Of what mixtures save, what normal margins save
    # alone, for mixtures among them to be tried.
    counted: float = 0.1
    # Of rows, for agreement of two charts, a cut between leaves, or a border without others; of the dimensions of
    # a subspace, those that rows fill for it to be full. The least Jaccard overlap of a leaf with the same one in
    # a resample, or of a group of the graph of neighbors in a part: half of a leaf that was cut in two, or a leaf
    # that was joined with one of half its size, is less.
    most: float = 0.75
    # Charts that a finder may fit for a table, with those for parts of its rows: a minute at most where they are
    # fitted to bridge gaps. Curved leaves of the benchmarks need 10,000 to 20,000, and as many for each part.
    work: int = 60_000
    narrow: float = 3.0  # width of a chart, or of a flat in units of noise, in every direction along it, at least


FINDERS = FinderConstants()
