"""Freed memory is reused by processes of our own."""

import subprocess
import sys

import pytest

PAGES = """
import resource, sys
import numpy as np
from disentree.utils.memory import keep_freed_memory

if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit(77)
np.ones(2**23)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    np.ones(2**23)  # 64 MiB
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
# What a command of disentree and a process of its pools were set to, seen by the same count.
IN_POOL = """
import resource
import numpy as np

def faults():
    np.ones(2**23)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        np.ones(2**23)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
"""


def page_faults(how):
    done = subprocess.run([sys.executable, "-c", PAGES, how], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this C library has no mallopt: there is nothing to set")
    assert not done.stderr
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc has this setting")
class TestKeepFreedMemory:
    def test_large_blocks_are_not_fetched_again_page_by_page(self):
        kept = page_faults("keep")
        assert kept < page_faults("default") / 10

    def test_processes_of_a_pool_keep_theirs(self, tmp_path, monkeypatch):
        page_faults("keep")  # skips where there is nothing to set
        (tmp_path / "counting.py").write_text(IN_POOL)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        from counting import faults

        from disentree.utils.pools import open_pool

        with open_pool("local", 1) as pool:
            assert pool.submit(faults).result(timeout=120) < page_faults("default") / 10
