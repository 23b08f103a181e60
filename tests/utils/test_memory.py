"""Freed memory is reused by processes of our own."""

import subprocess
import sys

import pytest

from disentree.cli import app as cli

COUNTING = """
import resource, sys
import numpy as np

def faults():
    np.ones(2**23)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        np.ones(2**23)  # 64 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if __name__ == "__main__":
    from disentree.utils.memory import keep_freed_memory

    if sys.argv[1] == "keep" and not keep_freed_memory():
        sys.exit(77)
    print(faults())
"""


def page_faults(how):
    done = subprocess.run([sys.executable, "-c", COUNTING, how], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this C library has no mallopt: there is nothing to set")
    assert not done.stderr
    return int(done.stdout)


def test_the_program_keeps_its_own(monkeypatch):
    calls = []
    monkeypatch.setattr(cli, "keep_freed_memory", lambda: calls.append("kept"))
    monkeypatch.setattr(cli, "app", lambda: calls.append("command"))
    monkeypatch.setattr(cli.signal, "signal", lambda *args: None)  # the handlers of the tests stay
    cli.main()
    assert calls == ["kept", "command"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc has this setting")
class TestKeepFreedMemory:
    def test_large_blocks_are_not_fetched_again_page_by_page(self):
        kept = page_faults("keep")
        assert kept < page_faults("default") / 10

    def test_processes_of_a_pool_keep_theirs(self, tmp_path, monkeypatch):
        page_faults("keep")  # skips where there is nothing to set
        (tmp_path / "counting.py").write_text(COUNTING)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        from counting import faults

        from disentree.utils.pools import open_pool

        with open_pool("local", 1) as pool:
            assert pool.submit(faults).result(timeout=120) < page_faults("default") / 10
