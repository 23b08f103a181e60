"""The numbers behind COFHAE that are not parameters, with the reason for each.

Numbers of rows and points bound time and memory. `python benchmarks/cofhae_constants.py` varies the others one by
one, to a quarter and to four times their value, and shows which of them matter on small data.
"""

from typing import NamedTuple

# ------------------------------------------------------------ structure (fitting/structure.py, stages.py)

MIMOSA_ROWS = 100_000  # sampled from data read in blocks, to find its structure: as many as the benchmarks have
CURVED_STEPS = 3  # times `steps` if leaves are curved: two fifths are guided, and the penalty needs as long again

# ------------------------------------------------------------ the fixed first layer (inputs.py)

# principal components of images; in 50, layouts of Spaceshapes tell .02 to .07 less of a variable
MAX_COMPONENTS = 300
PCA_ROWS = 10_000  # sampled for the components of wide data, more than 30 for each component
RANK_TOLERANCE = 1e-10  # of the largest variance; columns are standardized, so this is the rounding of float32
# The last components are noise, which whitening would blow up, if the variance falls onto them by a step of 4, if
# they are even (within a factor of 100) and hold at most 5 % of it. With fewer than 10 there is no telling.
NOISE_STEP, NOISE_EVENNESS, NOISE_SHARE, NOISE_COLUMNS = 4.0, 100.0, 0.05, 10
NEAREST = 1e-3  # standard deviations from a subspace below which a point is on it, given float32
PIXEL_PROBABILITY = 0.002  # least mean of a Bernoulli pixel: its logit, where the decoder starts, must be finite
SMALLEST_IMAGE = 8  # pixels of a side; smaller images have no edges to speak of
MANY_IMAGES = 2000  # from which networks are not compared with planes through principal components

# ------------------------------------------------------------ targets of flat leaves (fitting/targets.py)

TRUSTED, REFUSED = 0.98, 0.90  # explained fractions of a leaf's variance between which trust falls from 1 to 0
THINNEST = 1e-6  # extent of a leaf in its last dimension over that in its first; below, it has fewer dimensions

# ------------------------------------------------------------ guides of curved leaves (fitting/unrolling.py)

LAID_OUT = 6000  # points of a leaf that are laid out; the others are interpolated
LANDMARKS = 400  # points from which distances are measured; 100 are too few
NEIGHBORS = 12  # of a point in the graph: with 6, chains of neighbors zigzag; with many, they cut corners
FEWEST_POINTS = 500  # of a leaf; with fewer, chains of neighbors do not follow it
CELL_DIMENSIONS = 3  # of a cell of a product that is laid out on its own: with more, its rows are too few
CLEAR = 4.0  # variance of a coordinate over that of the first superfluous one, to guide the start of training
FIRM = 12.0  # the same, to be kept to the end
# Windows in which the known coordinates are constant have at most 200 points, are no wider than a fifth of each
# known coordinate, and overlap: each point is in 15 of them on average, so that they agree on their signs.
WINDOW, NARROW, OVERLAP = 200, 5, 15
INTERPOLATED_FROM = 5  # nearest points, for those that were not laid out or are in no window
NEAREST_PAIRS = 0.3  # closest part of the points of two leaves, where their coordinates are compared
LEAST_CORRELATION = 0.5  # between coordinates of two leaves that are the same variable
# A row is compared with a plane through ten rows of an enclosed leaf for each dimension. At most so many enclosed
# rows are searched, and so many rows compared.
PATCH, ENCLOSED_ROWS, COMPARED_ROWS = 10, 12_000, 40_000
# The distance from an enclosed leaf is a variable if it tells at least half as much about rows as the rank along
# curves does (a leaf that goes on at both sides of the enclosed one: nothing), and if what is not told by it and
# the shared ones is at most a quarter more than what the layout does not tell.
TOLD_BY_OFFSET, LESS_TOLD = 0.5, 1.25
PATCHES = 256  # that are fitted at once

# ------------------------------------------------------------ maps in closed form (linear.py)

MAP_NUMBERS, FEWEST_MAP_ROWS = 5e6, 5000  # of the rows that maps are fitted to: seconds at most
UNIT_ROWS = 2000  # from which the ranges of the columns are taken
# Part of the variance that quadratic terms explain on left-out rows, from which a leaf is curved: below it a
# network could gain less than the hundredth that its own errors cost.
BENT = 0.005
# Of left-out rows on their own path; below it a network may tell leaves apart that Gaussians do not.
TOLD_APART = 0.95
NETWORK_ROWS = 500  # with fewer, networks of tens of thousands of weights fit noise (wine: R2 of -1.2 at 160 rows)
LESS_APART = 0.01  # of left-out rows; a network that puts so many more on another path has lost a leaf

# ------------------------------------------------------------ training (fitting/algorithm2.py)

MANY_ROWS = 20_000  # from which a training has a fixed length: its loss does not settle within `max_steps`
MOST_EPOCHS = 200  # however few the rows: seen so often, they are known by heart
FEWEST_HELD_OUT, MOST_HELD_OUT = 200, 2000  # rows; a fifth of them where they are few


class Pace(NamedTuple):
    """Rows of a minibatch, and the highest learning rate."""

    batch: int
    rate: float


VECTORS = Pace(256, 2e-3)
# What counts is the number of steps: on Spaceshapes as many images in minibatches of 64, 32 and 16 end at an R2 of
# .972, .982 and .990 in about the same time. A rate of .002 ends at .979 where .004 ends at .984.
IMAGES = Pace(32, 4e-3)
SLACK = 0.25  # standard deviations; codes that close to the layout of a curved leaf are not penalized

# ------------------------------------------------------------ what variables do to columns (explain.py)

PERCENTILES = (10, 90)  # that a variable is moved between
EXPLAINED_PATHS = 30  # that have a variable, of which it is told what it moves there
OTHER_CATEGORY = 0.5  # deviations that another category counts as: it may be one that was as likely before
NAMED_MOVE, NAMED_COLUMNS = (
    0.3,
    4,
)  # of the largest move, for a column to be named in the sentence; at most so many
CHANGED_PIXEL = 0.05  # of the range of an image's pixels
SHOWN_DIGITS = 4  # of decoded numbers, which are no measurements

# ------------------------------------------------------------ codes and decoding (base.py, algorithm8.py)

ROWS_AT_A_TIME = 8192  # that are encoded or decoded at once: a bound on memory
STATISTICS_ROWS = 3000  # training rows whose codes `code_statistics_` describes: enough for a histogram

# ------------------------------------------------------------ variables that do the same (placement.py)

EFFECT_CODES = 10_000  # rows whose codes say which values the ranks are
# Values of a branch and of a shared variable that correspond, between these parts of the rows.
EFFECT_KNOTS, EFFECT_LEVELS = 17, (0.005, 0.995)
