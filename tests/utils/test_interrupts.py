"""Ctrl-C is a KeyboardInterrupt wherever it hits."""

import subprocess
import sys

import pytest

from disentree.utils.interrupts import is_interrupt, plain_interrupts


def raised(cause, kind=SystemError):
    try:
        try:
            raise cause
        except BaseException as error:
            raise kind("returned a result with an exception set") from error
    except BaseException as error:
        return error


def test_a_system_error_is_an_interrupt_only_if_ctrl_c_is_behind_it():
    assert is_interrupt(KeyboardInterrupt())
    assert is_interrupt(raised(KeyboardInterrupt()))
    assert not is_interrupt(raised(ValueError()))
    assert not is_interrupt(ValueError())
    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        raise raised(KeyboardInterrupt())
    with pytest.raises(SystemError), plain_interrupts():
        raise raised(ValueError())


def test_an_error_while_an_interrupt_is_handled_is_its_own():
    error = ValueError()
    error.__context__ = KeyboardInterrupt()
    assert not is_interrupt(error)


COMPILED = """
import _thread, signal, threading, time
import numba
import numpy as np
from disentree.utils.interrupts import plain_interrupts

@numba.njit
def compiled(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] ** 0.5
    return total

x = np.ones(2_000_000)
compiled(x)
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells have background jobs ignore it
threading.Timer(0.05, _thread.interrupt_main).start()
began = time.perf_counter()
try:
    with plain_interrupts():
        while time.perf_counter() < began + 30:
            compiled(x)
except KeyboardInterrupt:
    print("stopped")
"""


def test_compiled_code_that_is_interrupted():
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("stopped\n", "")
