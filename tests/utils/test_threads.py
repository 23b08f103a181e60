"""Threads end with their loop, and a process may be forked after a fit."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from numba import config, njit

from disentree.utils import threads as module
from disentree.utils.threads import over_rows, threads


@njit(nogil=True)
def _squares(start, stop, x, out):
    for i in range(start, stop):
        out[i] = x[i] ** 2


@pytest.mark.parametrize("n", [0, 1, 255, 256, 1000, 4097])
@pytest.mark.parametrize("count", [1, 3])
def test_parts_are_all_rows_once(n, count, monkeypatch):
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", count)
    x, out, before = np.arange(n, dtype=float), np.full(n, -1.0), set(threading.enumerate())
    over_rows(_squares, n, x, out)
    np.testing.assert_array_equal(out, x**2)
    assert set(threading.enumerate()) <= before


def test_the_limit_holds_within_the_block(monkeypatch):
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 3)
    asked = []

    class Pool(module.ThreadPoolExecutor):
        def __init__(self, count):
            asked.append(count)
            super().__init__(count)

    monkeypatch.setattr(module, "ThreadPoolExecutor", Pool)
    x, out = np.ones(1000), np.empty(1000)
    with threads(1):
        over_rows(_squares, 1000, x, out)
    with threads(2):
        over_rows(_squares, 1000, x, out)
    with threads(-1):
        over_rows(_squares, 1000, x, out)
    over_rows(_squares, 1000, x, out)
    assert asked == [2, 3, 3]


FORK = """
import multiprocessing, os
import numpy as np
from disentree import MIMOSA
from disentree.datasets import load_dataset

X = load_dataset("chopsticks-depth2-slope", n_samples=600, seed=0).X
wide = np.random.default_rng(0).standard_normal((600, 20))
m = MIMOSA(n_jobs=1).fit(X)
MIMOSA(n_jobs=1).fit(wide)

def again(n):
    return MIMOSA(n_jobs=1).fit(X[:n]).labels_.tolist(), m.predict(X).tolist()

expected = again(400)
pid = os.fork()
if not pid:
    os._exit(0 if again(400) == expected else 1)
assert os.waitpid(pid, 0)[1] == 0
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(again, [400, 400]) == [expected] * 2
"""


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="processes are not forked there")
def test_a_pool_may_be_forked_after_a_fit():
    env = {"PYTHONPATH": ":".join(sys.path), "NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", FORK], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


def test_two_threads_may_fit_at_once():
    code = """
import threading
import numpy as np
from disentree import MIMOSA
from disentree.datasets import load_dataset

X = load_dataset("chopsticks-depth2-slope", n_samples=500, seed=0).X
found = []
def fit():
    found.append(MIMOSA().fit(X).labels_)
both = [threading.Thread(target=fit) for _ in range(2)]
[one.start() for one in both]
[one.join() for one in both]
np.testing.assert_array_equal(*found)
"""
    env = {"PYTHONPATH": ":".join(sys.path), "NUMBA_NUM_THREADS": "2", "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
