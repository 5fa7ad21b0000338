"""How the polling service uses memory: said once, by the process that it is, before any import."""

from __future__ import annotations

import ctypes
import os
import sys

# Of glibc's malloc.h.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_LARGE_BYTES = 128 * 1024


def use_little() -> None:
    """Set up the allocators of this process; of no effect on Polars once it was imported."""
    # The allocator of Polars and delta-rs (jemalloc) keeps what a poll has freed for ten seconds,
    # which is nearly until the next poll. Given back after five milliseconds, 150,000 group
    # partitions take 100 MB less; given back at once, each step takes its memory from the system
    # anew, and a poll a sixth longer. Each of many threads keeps small pieces only (2^5 bytes).
    os.environ.setdefault(
        "_RJEM_MALLOC_CONF", "dirty_decay_ms:5,muzzy_decay_ms:0,narenas:1,lg_tcache_max:5"
    )

    # The steps of a poll are small: sharing them out costs a tenth more processor time.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")

    # What the C library keeps for each of many threads is 10 MB more. Left alone it takes ever
    # larger pieces from its heap, where one that stays keeps all below it: said once, large pieces
    # go back to the system when they are freed, and the peak of 150,000 group partitions is 25 MB
    # lower.
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(_M_ARENA_MAX, 2)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        libc.mallopt(_M_TRIM_THRESHOLD, _LARGE_BYTES)
