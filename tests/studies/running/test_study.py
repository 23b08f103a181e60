"""Running studies: the same results in any process, whatever dies; covers `engine.py`, `study.py`, `worker.py`
and `progress.py`."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from disentree.errors import UserError
from disentree.studies.running import worker
from disentree.studies.running.folder import resumed_options
from disentree.studies.running.options import Options
from disentree.studies.running.progress import Progress, time_for
from disentree.studies.running.study import collect, planned, run_study
from disentree.studies.running.task import make_task
from disentree.utils import pools as _pools
from disentree.utils.files import locked
from studies.running.tiny import DATASETS, OPTIONS, STUDY, plan

ONE = Options("quick", (0,), DATASETS[:1])  # a structure and a model that shares it


@pytest.fixture(scope="module")
def inline(tmp_path_factory):
    """The study done in this process, one run after the other."""
    folder = tmp_path_factory.mktemp("inline")
    results = run_study(STUDY, OPTIONS, folder, jobs=0)
    assert not results.failed
    return folder


def finished(folder):
    return {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("runs/*/result.json")}


def once(event, then):
    """Call `then` in a thread, as soon as `event` is true."""

    def watch():
        deadline = time.monotonic() + 60
        while not event() and time.monotonic() < deadline:
            time.sleep(0.01)
        then()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


# ------------------------------------------------------------------ the same everywhere


def test_kill_9_then_resume(inline, tmp_path):
    command = [sys.executable, str(Path(__file__).parent / "tiny.py"), str(tmp_path), "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while len(finished(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        process.kill()
        process.communicate()
    before = finished(tmp_path)
    assert 2 <= len(before) < 4
    results = run_study(STUDY, OPTIONS, tmp_path, jobs=0)
    assert not results.failed
    after = finished(tmp_path)
    assert len(after) == 4
    assert {name: after[name] for name in before} == before
    assert (tmp_path / "table.csv").read_bytes() == (inline / "table.csv").read_bytes()


def test_a_finished_study_is_not_done_again(inline):
    before = finished(inline)
    run_study(STUDY, OPTIONS, inline, jobs=0)
    assert finished(inline) == before


def test_more_seeds_keep_what_is_there(tmp_path):
    few = Options("quick", (0,), DATASETS[1:])
    run_study(STUDY, few, tmp_path, jobs=0)
    before = finished(tmp_path)
    run_study(STUDY, Options("quick", (0, 1), DATASETS[1:]), tmp_path, jobs=0)
    after = finished(tmp_path)
    assert len(after) == 4
    assert before.items() <= after.items()


def test_force_does_runs_again_and_only_those_asked_for(inline, tmp_path):
    shutil.copytree(inline, tmp_path, dirs_exist_ok=True)
    before = finished(tmp_path)
    events = {name: (tmp_path / "runs" / name / "events.jsonl").read_text() for name in before}
    run_study(STUDY, OPTIONS, tmp_path, jobs=0, only=[3], force=True)
    after = finished(tmp_path)
    again = "chopsticks-depth2-slope_cofhae_seed1"
    assert {name for name in before if after[name] != before[name]} == {again}
    assert (tmp_path / "runs" / again / "events.jsonl").read_text() != events[again]  # all of its stages
    run_study(STUDY, ONE, tmp_path, jobs=0, force=True)
    last = finished(tmp_path)
    assert {name for name in after if last[name] != after[name]} == {task.name for task in plan(ONE)}
    run_study(STUDY, OPTIONS, tmp_path, jobs=0)
    assert (tmp_path / "table.csv").read_bytes() == (inline / "table.csv").read_bytes()


def test_a_job_waits_for_the_run_that_another_does(inline, tmp_path, monkeypatch):
    monkeypatch.setattr("disentree.studies.running.study.PATIENCE", 0)
    base = tmp_path / "runs" / plan(ONE)[0].name
    shutil.copytree(inline / "runs" / base.name, base)
    result = (base / "result.json").read_text()
    (base / "result.json").unlink()
    held = threading.Event()

    def other():
        with locked(base / worker.LOCK):
            held.set()
            time.sleep(1)
            (base / "result.json").write_text(result + " ")

    thread = threading.Thread(target=other)
    thread.start()
    held.wait()
    results = run_study(STUDY, ONE, tmp_path, jobs=0, only=[1])
    thread.join()
    assert not results.failed
    assert (base / "result.json").read_text() == result + " "


def test_progress_counts_the_runs_asked_for(inline, tmp_path, caplog):
    shutil.copytree(inline, tmp_path, dirs_exist_ok=True)
    with caplog.at_level("INFO", "disentree"):
        run_study(STUDY, OPTIONS, tmp_path, jobs=0, only=[3])
    assert "2 of 2 runs are finished already" in caplog.text
    assert Progress(plan(OPTIONS), 2, [3], [1.0] * 4, 1).n_done == 1


def test_time_left_is_no_less_than_the_longest_run_and_never_zero(monkeypatch):
    assert time_for([4, 13], 2) == 13
    assert time_for([4, 4, 4], 2) == 6
    assert time_for([], 2) == 0
    now = 0.0
    monkeypatch.setattr("disentree.studies.running.progress.time.monotonic", lambda: now)
    progress = Progress(plan(OPTIONS), 2, [2, 3], [20.0] * 4, 2)
    progress.started(2)
    progress.started(3)
    assert progress.words() == "2 running, 0 failed, about 20 s left"
    now = 300.0
    assert progress.words() == "2 running, 0 failed, longer than expected"


def test_what_a_kill_left_behind_blocks_nothing(tmp_path):
    """A folder with nothing but the half of a first file."""
    run = tmp_path / "runs" / plan(ONE)[0].name
    run.mkdir(parents=True)
    (run / ".tmp-config-abcd.json").write_text("{")
    (tmp_path / ".tmp-study-abcd.json").write_text("{")
    assert not run_study(STUDY, ONE, tmp_path, jobs=0).failed
    assert not list(tmp_path.rglob(".tmp-*"))


def test_more_metrics_leave_the_others_as_they_are(inline, tmp_path):
    shared, model = plan(ONE)
    more = model.model_copy(update={"extras": ("metrics",)})
    study = type(STUDY)(**{**vars(STUDY), "plan": lambda options: [shared, more]})
    found = run_study(study, ONE, tmp_path, jobs=0).found[1]
    usual = json.loads((inline / "runs" / model.name / "result.json").read_text())["values"]
    assert {name: found["values"][name] for name in usual} == usual
    assert set(found["values"]) - set(usual) >= {"mig", "sap", "factor_vae", "dci"}
    assert usual["diverged"] is False
    assert sum(usual["r4_factors"].values()) / len(usual["r4_factors"]) == pytest.approx(usual["r4"])
    assert found["seconds"]["total"] == pytest.approx(sum(found["seconds"]["stages"].values()))


def test_a_representation_is_shared_though_nothing_was_found_in_it(tmp_path):
    same = {"dataset": DATASETS[0], "seed": 0, "n_samples": 600, "until": "structure", "structure": "mimosa-paper"}
    own = {"initial_dim": 3, "epochs": 1}
    base = make_task(
        {"method": "usual"},
        structure_settings={**own, "min_size_merged": 0.999},
        extras=("representation",),
        **same,
    )
    other = make_task({"method": "other"}, structure_settings=own, embedding_from=base, **same)
    study = type(STUDY)(**{**vars(STUDY), "plan": lambda options: [base, other]})
    results = run_study(study, ONE, tmp_path, jobs=0)
    assert not results.failed
    assert results.found[0]["values"]["components"] == 0
    assert results.found[0]["seconds"]["total"] > 0


# ------------------------------------------------------------------ what dies


def test_local_processes_give_the_same_table_though_one_is_killed(inline, tmp_path, monkeypatch, caplog):
    executors = []
    make = _pools.LocalPool._executor
    monkeypatch.setattr(
        _pools.LocalPool, "_executor", staticmethod(lambda: executors.append(make()) or executors[-1])
    )

    def kill():
        os.kill(next(iter(executors[-1]._processes)), signal.SIGKILL)  # the first to be given a run

    thread = once(lambda: any(tmp_path.glob("runs/*/config.json")), kill)
    with caplog.at_level("WARNING", "disentree"):
        results = run_study(STUDY, OPTIONS, tmp_path, jobs=2)
    thread.join()
    assert not results.failed
    told = [record.getMessage() for record in caplog.records]
    assert sum("trying once more: its process died" in line for line in told) == 1
    assert len(executors) == 3
    assert (tmp_path / "table.csv").read_bytes() == (inline / "table.csv").read_bytes()
    pids = {json.loads(path.read_text())["pid"] for path in tmp_path.glob("runs/*/result.json")}
    assert os.getpid() not in pids


def test_a_local_process_that_dies_with_nothing_to_do_is_replaced():
    with _pools.open_pool("local", 1) as pool:
        pid = pool.submit(os.getpid).result()
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while not pool._free and not pool._busy[0][0]._flags.broken and time.monotonic() < deadline:
            time.sleep(0.05)
        assert pool.submit(os.getpid).result() != pid


def test_dask_workers_have_one_thread_and_are_told_to_stop(tmp_path):
    import distributed

    same = {"n_workers": 1, "processes": False, "dashboard_address": None}
    with (
        distributed.LocalCluster(threads_per_worker=2, **same) as c,
        pytest.raises(UserError, match="have more than one thread: start them with dask worker --nthreads 1"),
    ):
        run_study(STUDY, ONE, tmp_path, engine="dask", address=c.scheduler_address)
    with distributed.LocalCluster(threads_per_worker=1, **same) as c:
        pool = _pools.DaskPool(1, c.scheduler_address)
        pool.submit(time.sleep, 1)
        never = pool.submit((tmp_path / "begun").touch)
        pool.close(kill=True)
        time.sleep(1.5)
        assert not (tmp_path / "begun").exists()
        assert never.done()


def test_dask_gives_the_same_table_though_a_worker_is_killed(inline, tmp_path, monkeypatch, caplog):
    pools = []
    start = _pools.DaskPool.__init__

    def remember(self, *args):
        start(self, *args)
        pools.append(self)

    monkeypatch.setattr(_pools.DaskPool, "__init__", remember)

    def kill():
        os.kill(json.loads(next(iter(tmp_path.glob("runs/*/result.json"))).read_text())["pid"], signal.SIGKILL)

    thread = once(lambda: finished(tmp_path), kill)
    with caplog.at_level("WARNING", "disentree"):
        results = run_study(STUDY, OPTIONS, tmp_path, engine="dask", jobs=2)
    thread.join()
    assert len(pools) == 1
    assert not results.failed
    told = [record.getMessage() for record in caplog.records]
    assert sum("trying once more: its process died (KilledWorker)" in line for line in told) <= 1
    assert (tmp_path / "table.csv").read_bytes() == (inline / "table.csv").read_bytes()


def test_a_run_that_fails_is_tried_twice_and_told(tmp_path, caplog):
    def bad(options):
        task, model = plan(ONE)
        same = {"dataset": DATASETS[0], "seed": 0, "n_samples": 600}
        broken = make_task(
            {"method": "broken"}, until="structure", structure_settings={"n_neighbors": "x"}, **same
        )
        config = {**same, "structure_settings": {"n_neighbors": "x"}}
        below = make_task({"method": "below"}, structure_from=broken, **config)
        return [broken, below, task, model]

    study = type(STUDY)(**{**vars(STUDY), "plan": bad})
    with caplog.at_level("WARNING", "disentree"):
        results = run_study(study, ONE, tmp_path, jobs=0)
    assert list(results.failed) == [0, 1]
    assert "it needs broken seed 0, which failed" in results.failed[1]
    assert sum("trying once more" in record.getMessage() for record in caplog.records) == 1
    assert sorted(results.found) == [2, 3]
    about = json.loads((tmp_path / "study.json").read_text())
    assert [run["status"] for run in about["runs"]] == ["failed", "failed", "done", "done"]
    assert "failed" in (tmp_path / "report.html").read_text()
    assert "Traceback" in json.loads((tmp_path / "runs/broken_seed0/failure.json").read_text())["traceback"]


def test_failures_do_not_tell_where_the_study_lies(tmp_path):
    blocked = tmp_path / "runs" / plan(ONE)[0].name
    blocked.mkdir(parents=True)
    (blocked / "thesis.tex").write_text("")
    results = run_study(STUDY, ONE, tmp_path, jobs=0)
    assert results.failed[0].startswith(f"UserError: runs/{blocked.name} is not empty and not a run folder")
    assert str(tmp_path) not in (tmp_path / "report.md").read_text()


def test_a_full_disk_costs_the_run_in_flight(tmp_path, monkeypatch):
    write, full = worker.write_json, [True]

    def sometimes(path, value):
        if path.name == "result.json" and full.pop() if full else False:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, value)

    monkeypatch.setattr(worker, "write_json", sometimes)
    results = run_study(STUDY, ONE, tmp_path, jobs=0)
    assert not results.failed
    assert len(results.found) == 2


def test_a_damaged_result_is_made_again(tmp_path):
    run_study(STUDY, ONE, tmp_path, jobs=0)
    path = next(iter(tmp_path.glob("runs/*cofhae*/result.json")))
    whole = path.read_text()
    path.write_text(whole[:100])
    assert len(collect(ONE, tmp_path, planned(STUDY, ONE)).found) == 1
    run_study(STUDY, ONE, tmp_path, jobs=0)
    assert json.loads(path.read_text())["values"] == json.loads(whole)["values"]


def test_some_runs_only(tmp_path):
    run_study(STUDY, OPTIONS, tmp_path, jobs=0, only=[3])
    assert set(finished(tmp_path)) == {
        "chopsticks-depth2-slope_structure_seed1",
        "chopsticks-depth2-slope_cofhae_seed1",
    }
    assert not (tmp_path / "report.html").exists()
    assert resumed_options(STUDY, tmp_path) == OPTIONS
    with pytest.raises(UserError, match="tiny has runs 0 to 3, got 4"):
        run_study(STUDY, OPTIONS, tmp_path, jobs=0, only=[4])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"engine": "spark"}, "--engine must be local or dask, got 'spark'"),
        ({"jobs": -1}, "--n-jobs must be 0 or more, got -1"),
        ({"address": "tcp://x:1"}, "--address is that of a Dask scheduler and needs --engine dask"),
    ],
)
def test_mistakes(settings, sentence, tmp_path):
    with pytest.raises(UserError, match=sentence):
        run_study(STUDY, ONE, tmp_path, **settings)
