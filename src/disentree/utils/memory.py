"""What the C library does with memory that a process has freed."""

from __future__ import annotations

import ctypes
import sys

# glibc returns blocks of 32 MiB or more to the system at once, and a minibatch of 256 feature maps has that size:
# every step would get it back page by page. With these bounds a step of the paper's convolutional networks takes
# half the time (`python benchmarks/allocator.py`), for at most this much memory that is not in use.
LARGEST_KEPT, MOST_KEPT = 256 * 2**20, 512 * 2**20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h


def keep_freed_memory() -> bool:
    """Reuse freed memory in this process instead of returning it to the system after every step of a training.

    For processes of our own: a library does not change how its host allocates. False where the C library is not
    glibc, and nothing was changed.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGEST_KEPT)) and bool(mallopt(_M_TRIM_THRESHOLD, MOST_KEPT))
