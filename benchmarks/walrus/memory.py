"""Peak memory of a fit to udhr_lang (528 languages, character n-grams) beyond that of the data,
and the size of W and of the non-zero dual variables (16 bytes each)."""

from __future__ import annotations

import resource

from common import arguments, print_table, timed_fit
from data import ALL

options = arguments(__doc__, default=("udhr_lang",))


def row(name: str) -> list[object]:
    data = ALL[name]()
    with open("/proc/self/statm") as statm:
        before = int(statm.read().split()[1]) * resource.getpagesize() / 2**20
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")  # the peak counts from here
    fit = timed_fit(data)
    with open("/proc/self/status") as lines:
        high = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    W = data.X.shape[1] * data.classes * 8 / 2**20
    beta = fit.status.entries * 16 / 2**20
    return [
        *(name, data.classes, *data.X.shape, f"{W:.0f}", f"{beta:.1f}", f"{high - before:.0f}"),
        *(fit.seconds, fit.passes),
    ]


header = [
    "data",
    "k",
    "n",
    "d",
    "W (MB)",
    "non-zero beta (MB)",
    "peak above data (MB)",
    "s",
    "passes",
]
print_table(header, (row(name) for name in options.data))
