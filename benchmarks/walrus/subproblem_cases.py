"""Ten million random sub-problems, by Newton's method and by sorting: the largest difference of b
(relative to the largest entry of v) and the most passes.  --quick runs a hundred thousand."""

from __future__ import annotations

import math
import sys

from common import arguments

from softmargin import _core

options = arguments(__doc__, default=())
cases = 100_000 if options.quick else 10_000_000
worst, most, done = 0.0, 0, 0
for size, share in ((8, 0.5), (50, 0.4), (300, 0.095), (2000, 0.005)):
    count = int(cases * share)
    for seed in range(10):
        found, passes = _core.testing.compare_subproblems(count // 10, size, 1000 * size + seed)
        worst, most, done = max(worst, found), max(most, passes), done + count // 10
    print(
        f"k <= {size + 1}: {done} cases, difference {worst:.1e}, at most {most} passes", flush=True
    )
    if worst > 1e-12 or most > 3 * (54 + math.log2(size)):
        sys.exit("the two methods disagree, or Newton's method took more passes than it may")
