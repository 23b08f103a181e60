"""The loop that submits, waits and retries."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from disentree.errors import UserError
from disentree.utils.jobs import made_in, run_jobs
from disentree.utils.pools import InlinePool, process_died


class TerminatedWorkerError(Exception):
    """By its name the error of a process that died."""


class Recorder:
    """Jobs by number, some of which fail the first few times."""

    def __init__(self, n, failures=()):
        self.left, self.failures = list(range(n)), dict(failures)
        self.events = []

    def next_ready(self):
        return self.left.pop(0) if self.left else None

    def call_of(self, key):
        return self.work, (key,)

    def work(self, key):
        if self.failures.get(key, 0):
            self.failures[key] -= 1
            raise TerminatedWorkerError(str(key))
        return 10 * key

    def problem_of(self, future):
        return str(future.exception()) if future.exception() else None

    def started(self, key):
        self.events.append(("started", key))

    def done(self, key, result):
        self.events.append(("done", key, result))

    def retried(self, key, problem):
        self.events.append(("retried", key, problem))

    def failed(self, key, problem):
        self.events.append(("failed", key, problem))

    def tick(self):
        pass


def test_calls_that_fail_are_repeated_before_others_begin():
    jobs = Recorder(3, {0: 1, 1: 2})
    run_jobs(InlinePool(), jobs, attempts=2)
    assert jobs.events == [
        ("started", 0), ("retried", 0, "0"), ("started", 0), ("done", 0, 0),
        ("started", 1), ("retried", 1, "1"), ("started", 1), ("failed", 1, "1"),
        ("started", 2), ("done", 2, 20),
    ]  # fmt: skip


def test_a_process_that_dies_twice_is_one_sentence():
    calls = []

    def dies(key):
        calls.append(key)
        raise TerminatedWorkerError

    assert process_died(TerminatedWorkerError())
    with pytest.raises(UserError, match=r"killed twice .* fewer processes"):
        list(made_in(InlinePool(), dies, [(1,), (2,)]))
    assert calls == [1, 1]


def test_an_error_of_the_call_itself_ends_all_at_once():
    def breaks(key):
        raise ZeroDivisionError(str(key))

    with pytest.raises(ZeroDivisionError, match="7"):
        list(made_in(InlinePool(), breaks, [(7,), (8,)]))


class Slow:
    """Two processes, of which calls die that are counted here, and some are slower than others."""

    def __init__(self, threads, killed):
        self.threads, self.killed, self.n_calls = threads, set(killed), 0

    def room(self):
        return 2

    def submit(self, function, *args):
        self.n_calls += 1
        dies = self.n_calls in self.killed

        def call(k=self.n_calls):
            time.sleep(0.002 * (k % 3))
            if dies:
                raise TerminatedWorkerError
            return function(*args)

        return self.threads.submit(call)

    def close(self, kill):
        pass


@pytest.mark.parametrize("killed", [(), (1, 7), (20,)])
def test_results_come_in_order_and_calls_are_drawn_as_they_are_needed(killed):
    drawn, ahead = [], []

    def calls():
        for k in range(20):
            drawn.append(k)
            yield (k,)

    with ThreadPoolExecutor(2) as threads:
        pool = Slow(threads, killed)
        for k, result in enumerate(made_in(pool, lambda k: 10 * k, calls())):
            assert result == 10 * k
            ahead.append(len(drawn) - k)
    assert len(ahead) == 20
    assert max(ahead) <= 4
    assert pool.n_calls == 20 + len(killed)
