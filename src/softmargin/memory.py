"""How much memory a row cache may take."""

from __future__ import annotations

import os
from pathlib import Path


def available_bytes() -> int:
    """Free memory of this machine or container; half of all of it where the system does not say."""
    limits = [_meminfo_available(), _cgroup_available()]
    known = [limit for limit in limits if limit is not None]
    if known:
        return min(known)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 2**31


LITTLE = 2**26
"""Bytes that may be taken without asking how much memory is free."""


def cache_bytes(cache_size: float | str, useful: int) -> int:
    """The budget behind the parameter `cache_size`: megabytes, or "auto"; `useful` bytes would hold
    everything."""
    if cache_size == "auto":
        return LITTLE if useful <= LITTLE else available_bytes() // 4
    return int(min(float(cache_size) * 1e6, 2.0**62))


def _meminfo_available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _cgroup_available() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = int((folder / "memory.current").read_text())
    except OSError:
        return None
    return max(int(limit) - used, 0) if limit != "max" else None
