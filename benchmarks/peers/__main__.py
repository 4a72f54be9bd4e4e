"""How long do softmargin and its peers take for the same work?

    SOFTMARGIN_DATA=<folder> python benchmarks/peers [--works spambase letter ...] [--repeats 5]
    ... --before other/bin/python      # the softmargin of another environment in place of the peers

Every measurement is a process of its own (measure.py); the packages take turns, so that what else
the machine does falls on all of them. A package that has had its share of seconds on a work is not
repeated. Prints a table per work in Markdown, and one of ratios; fails where the objective of a
package is further than 1e-6 from ours, relative.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from compare import OURS, Result, compare, markdown
from packages import BEFORE, INTELEX, PACKAGES, RULES
from works import MORE, WORKS

ALLOWED_DIFFERENCE = 1e-6


def print_work(work: str, results: dict[str, Result]) -> list[str]:
    """A table; and what is wrong with it."""
    print(f"\n### {work}\n")
    columns = ["package", "wall s", "CPU s", "ratio", "peak MB", "objective", "difference", "runs"]
    print(markdown(*columns), markdown(*["---"] * len(columns)), sep="\n")
    ours, faults = results[OURS], []
    for package, result in results.items():
        difference = result["objective"] / ours["objective"] - 1
        print(
            markdown(
                package,
                f"{result['wall']:.3f}",
                f"{result['cpu']:.3f}",
                f"{result['wall'] / ours['wall']:.2f}",
                f"{result['peak'] / 1e6:.0f}",
                f"{result['objective']:.9g}",
                f"{difference:.1e}",
                f"{result['runs']:.0f}",
            )
        )
        if abs(difference) > ALLOWED_DIFFERENCE:
            faults.append(f"{work}: the objective of {package} differs by {difference:.1e}")
    if "floor" in ours:
        over = ours["wall"] / ours["floor"]
        print(
            f"\nKernel rows of the support vectors alone: {ours['floor']:.3f} s; over it {over:.2f}"
        )
    sys.stdout.flush()
    return faults


def print_ratios(results: dict[str, dict[str, Result]]) -> None:
    print("\n### Wall time, over softmargin's\n")
    columns = ["work", "scikit-learn", "scikit-learn 2000 MB", f"{INTELEX}, its best"]
    columns += ["libsvm-official", "over the floor"]
    print(markdown(*columns), markdown(*["---"] * len(columns)), sep="\n")
    for work, by_package in results.items():
        for key, label in (("wall", work), ("predict", f"{work}, predict")):
            if key not in by_package[OURS]:
                continue
            print(markdown(label, *ratios(by_package, key), over_floor(by_package[OURS], key)))


def ratios(by_package: dict[str, Result], key: str) -> list[str]:
    ours = by_package[OURS][key]
    families = ("scikit-learn", "scikit-learn 2000 MB", INTELEX, "libsvm-official")
    cells = []
    for family in families:
        of_family = (
            result[key] / ours
            for name, result in by_package.items()
            if name == family or (family == INTELEX and name.startswith(INTELEX))
        )
        cells.append(f"{best:.1f}" if (best := min(of_family, default=None)) is not None else "")
    return cells


def over_floor(ours: Result, key: str) -> str:
    return f"{ours['wall'] / ours['floor']:.2f}" if key == "wall" and "floor" in ours else ""


def parsed() -> Any:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known_works, known_packages = {**MORE, **WORKS}, {**PACKAGES, **RULES}
    parser.add_argument("--works", nargs="+", choices=known_works, default=list(WORKS))
    parser.add_argument("--packages", nargs="+", choices=known_packages)
    parser.add_argument("--before", default="", help="a Python with another version of softmargin")
    parser.add_argument("--repeats", type=int, default=5, help="of each (default: %(default)s)")
    parser.add_argument(
        "--share", type=float, default=30, help="seconds, then no more (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, help="write the medians to this file, too")
    args = parser.parse_args()
    if args.repeats < 1:
        parser.error(f"argument --repeats: {args.repeats} is too few; give 1 or more")
    if args.packages is None:
        args.packages = [BEFORE, "softmargin only tol"] if args.before else list(PACKAGES)
    if (BEFORE in args.packages) != bool(args.before):
        parser.error(f"argument --packages: {BEFORE!r} goes with --before")
    return args


def main() -> None:
    args = parsed()
    packages = [OURS, *(package for package in args.packages if package != OURS)]
    print(f"{os.cpu_count()} cores, tol 1e-3, medians of up to {args.repeats} runs in turn.")
    results, faults = {}, []
    for work in args.works:
        results[work] = compare(work, packages, args.repeats, args.share, args.before)
        faults += print_work(work, results[work])
        if args.json:
            args.json.write_text(json.dumps(results, indent=1))
    if not args.before:
        print_ratios(results)
    if faults:
        raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main()
