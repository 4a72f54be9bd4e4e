"""How much memory a row cache may take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")


def available_bytes(root: Path = ROOT) -> int:
    """Memory that this process can still allocate: the minimum of what the computer, its container,
    the container's parents and the address space limit leave; half of all memory if the system does
    not report it.  `root` is the folder that contains proc and sys."""
    limits = [_meminfo_available(root), *_cgroups_available(root), _address_space_available(root)]
    known = [limit for limit in limits if limit is not None]
    if known:
        return max(min(known), 0)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 2**31


LITTLE = 2**26
"""Bytes that may be allocated without checking how much memory is free."""


def cache_bytes(cache_size: float | str, useful: int, root: Path = ROOT) -> int:
    """The bytes that the parameter `cache_size` (megabytes or "auto") allows; `useful` bytes would
    hold everything."""
    if cache_size == "auto":
        return LITTLE if useful <= LITTLE else available_bytes(root) // 4
    return int(min(float(cache_size) * 1e6, 2.0**62))


def _meminfo_available(root: Path) -> int | None:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _cgroups_available(root: Path) -> Iterator[int]:
    """The memory left in each control group of this process, from the innermost to the outermost:
    any of them may have a limit."""
    mounted = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, names = mounted, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            top = mounted / "memory"
        else:
            continue
        inner = Path(path.lstrip("/"))
        for group in (inner, *inner.parents):
            yield from _group_available(top / group, *names)


def _group_available(folder: Path, limit: str, usage: str, unused: str) -> Iterator[int]:
    try:
        most, used = int(_text(folder / limit)), int(_text(folder / usage))
    except ValueError:  # no limit ("max"), or no such file
        return
    # Cached files that are not in use count as used, but are freed when memory is needed.
    for line in _lines(folder / "memory.stat"):
        name, _, value = line.partition(" ")
        if name == unused:
            used -= int(value)
    yield most - used


def _address_space_available(root: Path) -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _text(root / "proc/self/statm").split()[:1]
    if limit == resource.RLIM_INFINITY:
        return None
    return limit - (int(pages[0]) * resource.getpagesize() if pages else 0)


def _lines(path: Path) -> list[str]:
    return _text(path).splitlines()


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
