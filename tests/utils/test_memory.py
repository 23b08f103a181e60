"""Freed memory is reused by processes of our own."""

import subprocess
import sys

import pytest

from disentree.cli import app as cli

KEEPING = """
import ctypes, sys
import numpy as np

def kept_bytes():
    # free bytes that malloc has not returned to the system, after a block of 64 MiB was freed
    np.ones(2**23)
    class Mallinfo2(ctypes.Structure):
        _fields_ = [(f"field{i}", ctypes.c_size_t) for i in range(10)]

    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = Mallinfo2
    return mallinfo2().field8  # fordblks

if __name__ == "__main__":
    from disentree.utils.memory import keep_freed_memory

    if not hasattr(ctypes.CDLL(None), "mallinfo2") or (sys.argv[1] == "keep" and not keep_freed_memory()):
        sys.exit(77)
    print(kept_bytes())
"""
BLOCK = 64 * 2**20


def kept_bytes(how):
    done = subprocess.run([sys.executable, "-c", KEEPING, how], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this C library is not a glibc that can be set and asked")
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
    def test_large_blocks_are_not_returned_to_the_system(self):
        assert kept_bytes("keep") >= BLOCK
        assert kept_bytes("default") < BLOCK

    def test_processes_of_a_pool_keep_theirs(self, tmp_path, monkeypatch):
        kept_bytes("keep")  # skips where there is nothing to set
        (tmp_path / "keeping.py").write_text(KEEPING)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        from keeping import kept_bytes as kept_in_worker

        from disentree.utils.pools import open_pool

        with open_pool("local", 1) as pool:
            assert pool.submit(kept_in_worker).result(timeout=120) >= BLOCK
