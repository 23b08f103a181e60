"""The same rows give the same tree and the same labels whatever holds them, also where a sample is searched:
`blocks.py`, `memory.py`, `files.py`, `dask_parts.py`."""

import pickle
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from disentree import MIMOSA
from disentree.errors import UserError
from disentree.mimosa import fit
from disentree.mimosa.constants import FIT
from disentree.rows import Blocks
from disentree.rows.engines import Cluster
from forms import FORMS, as_form

SAMPLE = 400


@pytest.fixture(autouse=True, scope="module")
def few():
    """A sample of few rows is searched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit, "FIT", replace(FIT, landmarks=SAMPLE // 10))
        yield


def groups(n=3000, seed=0):
    """Two thin groups, and a column that says nothing."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3 == 0  # of every block
    X = rng.normal(size=(n, 4)).round(6)
    X[kind, :2] += 12
    return pd.DataFrame(X, columns=list("abcd")), kind


def fitted(rows, step=250):
    return MIMOSA(random_state=0, n_jobs=1).fit(Blocks.of(rows, step=step))


@pytest.fixture(scope="module")
def right(few):
    return fitted(groups()[0])


@pytest.mark.parametrize("form", FORMS)
def test_forms_give_the_same_tree_and_labels(form, tmp_path, right):
    frame, kind = groups()
    m = fitted(as_form(form, frame, tmp_path, most=700))
    assert len(m.sample_) == SAMPLE
    assert [path.choices for path in m.hierarchy_.paths] == [path.choices for path in right.hierarchy_.paths]
    np.testing.assert_array_equal(m.labels_, right.labels_)
    np.testing.assert_array_equal(m.sample_, right.sample_)
    assert len(set(zip(m.labels_, kind, strict=True))) == 2
    assert sum(component.size for component in m.components_) == len(frame)


def test_blocks_in_another_order_or_one_that_is_lost_are_noticed(right):
    frame, _ = groups()

    class Wrong(type(Blocks.of(frame).source)):
        def read(self, part):
            yield from super().read({1: 2, 2: 1}.get(part, part))

    source = Blocks.of(frame, step=251).source
    wrong = Blocks(Wrong(frame, 251), Blocks.of(frame).engine)
    m = MIMOSA(random_state=0, n_jobs=1).fit(wrong)
    assert (m.labels_ != right.labels_).any()

    class Short(type(source)):
        def read(self, part):
            return iter(()) if part == 3 else super().read(part)

    with pytest.raises(ValueError, match="has 0 rows where 251 were"):
        MIMOSA(random_state=0).fit(Blocks(Short(frame, 251), Blocks.of(frame).engine))


def test_a_few_empty_cells_outside_the_sample_make_a_table(right):
    frame, _ = groups()
    m = right
    outside = np.setdiff1d(np.arange(len(frame)), m.sample_)[:5]
    gaps = frame.copy()
    gaps.loc[outside, "c"] = np.nan
    n = fitted(gaps)
    assert n.table_ is not None
    assert (n.labels_ == m.labels_).mean() > 0.999
    assert n.labels_[outside].tolist() == m.labels_[outside].tolist()


def test_numbers_of_the_rows_are_left_out_though_a_sample_has_gaps(right):
    frame, _ = groups()
    m = fitted(frame.assign(number=np.arange(len(frame)) + 7))
    np.testing.assert_array_equal(m.labels_, right.labels_)


def test_a_model_of_a_sample_is_used_as_any_other(tmp_path, right):
    (frame, _), m = groups(), right
    m.save(tmp_path)
    loaded = MIMOSA.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict(frame), m.labels_)
    np.testing.assert_array_equal(loaded.sample_, m.sample_)
    np.testing.assert_allclose(m.codes_, loaded.transform(frame))
    assert set(m.cut(1).labels_) == {0}
    assert len(m.place(frame)) == len(frame)
    assert str(m.explain()) == str(m.explain(frame.iloc[m.sample_]))
    assert m.why(frame.head(1)).str.len().iloc[0] > 20


def test_weights_and_parts_of_many_rows_compose():
    frame, kind = groups()
    m = MIMOSA(random_state=0, n_jobs=1).fit(frame, within=~kind)
    assert len(m.labels_) == len(frame)
    assert (m.labels_[kind] == -1).all()
    assert not kind[m.sample_].any()
    assert len(m.embedding_) == len(m.sample_) == SAMPLE


class Far:
    """What a cluster does to calls: they are sent, and a process is killed in the middle of some."""

    def __init__(self, killed):
        self.killed, self.calls = set(killed), 0

    def room(self):
        return 2

    def submit(self, function, *args):
        import cloudpickle

        future, self.calls = Future(), self.calls + 1
        if self.calls in self.killed:
            future.set_exception(type("KilledWorker", (Exception,), {})())
            return future
        sent, given = pickle.loads(cloudpickle.dumps((function, args)))
        future.set_result(sent(*given))
        return future

    def close(self, kill):
        pass


@pytest.mark.parametrize("form", ["parquet", "npy", "csv"])
def test_a_cluster_gives_the_same_though_processes_are_killed(form, tmp_path, right):
    frame, _ = groups()
    pool = Far(killed=(1, 4, 9))
    blocks = Blocks.of(as_form(form, frame, tmp_path, most=700), engine=Cluster(pool), step=250)
    m = MIMOSA(random_state=0, n_jobs=1).fit(blocks)
    assert pool.calls > 3
    np.testing.assert_array_equal(m.labels_, right.labels_)
    np.testing.assert_array_equal(m.sample_, right.sample_)


def test_a_process_that_is_killed_twice_is_told(tmp_path):
    blocks = Blocks.of(as_form("npy", groups()[0], tmp_path), engine=Cluster(Far(killed=range(9))), step=250)
    with pytest.raises(UserError, match="a process was killed twice"):
        blocks.all()
