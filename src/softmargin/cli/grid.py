"""Find good C and gamma by cross-validation over a grid, as grid.py does.

Prints each point as it comes and the best one at the end, for an rbf kernel: accuracy in per cent,
or the mean squared error of a regression (-s epsilon-svr). Features should be scaled
(softmargin scale); easy scales, searches and trains in one go. All fits share their kernels.

--out keeps all points in a file, and --resume continues from it. --png draws a map.

examples:
  softmargin grid svmguide1.scale
  softmargin grid --log2c -1,9,1 --out points --png map.png svmguide1.scale
  softmargin grid --resume --out points svmguide1.scale
  softmargin grid -s epsilon-svr -p 0.1 --json cadata
"""

from __future__ import annotations

import argparse
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from softmargin.cli.data_options import (
    DATA_FORMATS,
    add_data_arguments,
    add_json_argument,
    as_json,
    read,
    refuse_to_overwrite,
)
from softmargin.cli.grid_search import (
    GridSearch,
    Point,
    add_grid_arguments,
    best,
    edge_note,
    make_machine,
    respell,
)
from softmargin.cli.machine_options import seed
from softmargin.cli.progress import Progress
from softmargin.cli.terminal import note, say

__all__ = ["add_arguments", "respell", "run"]

FORMULATIONS = {"c-svc": False, "epsilon-svr": True, "0": False, "3": True}
LINE = re.compile(r"log2c=(\S+) log2g=(\S+) (rate|mse)=(\S+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help=f"the data: {DATA_FORMATS}")
    add(
        "-s",
        "--formulation",
        choices=tuple(FORMULATIONS),
        default="c-svc",
        metavar="NAME",
        help="c-svc (0) or epsilon-svr (3) (default: c-svc)",
    )
    add("-p", "--epsilon", type=float, default=0.1, help="epsilon of epsilon-svr (default: 0.1)")
    add_grid_arguments(parser)
    add("--seed", type=seed, default=0, help="seed of the folds (default: 0)")
    add("--out", metavar="FILE", help="write all points to this file, as they come")
    add("--resume", action="store_true", help="skip the points that --out FILE already has")
    add("--png", metavar="FILE", help="draw a map of the points (needs matplotlib)")
    add("--csv", action="store_true", help="print the points as CSV")
    add("-q", "--quiet", action="store_true", help="print the best point only")
    add_json_argument(parser)
    add_data_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from softmargin.cli.examples import Examples, ask_whether_classes
    from softmargin.io.data.formats import as_labels

    regression = FORMULATIONS[args.formulation]
    if args.resume and not args.out:
        raise ValueError("--resume continues from the points in --out FILE; name the file.")
    refuse_to_overwrite([args.data], [name for name in (args.out, args.png) if name])
    data = read(args, args.data)
    if not regression:
        ask_whether_classes(args, data.y, "If they are classes, number them.")
    examples = Examples(data.X, data.y.astype(float) if regression else as_labels(data.y))
    search = GridSearch(
        make_machine(args.tolerance, args.epsilon if regression else None),
        examples,
        [(c, g) for c in args.log2c for g in args.log2g],
        args.folds,
        args.seed,
        args.threads,
        points=_known(args),
    )
    interrupted = _searched(args, search)
    leader = best(search.points)
    if leader is None:
        raise KeyboardInterrupt
    _finish(args, search, leader, interrupted)
    return 130 if interrupted else 0


def _searched(args: argparse.Namespace, search: GridSearch) -> bool:
    """Runs the search; True if Ctrl-C ended it."""
    known, search_points = len(search.points), search.points
    with Progress("grid", not args.quiet) as progress:

        def on_point(point: Point) -> None:
            leader = best(search_points)
            assert leader is not None
            if args.out:
                with Path(args.out).open("a") as file:
                    file.write(_line(point) + "\n")
            if not (args.quiet or args.json or args.csv):
                progress.erase()
                say(f"{_line(point)} (best C={leader.C:g}, gamma={leader.gamma:g})")

        if args.out and not known:
            Path(args.out).write_text("")
        search.on_point, search.show = on_point, progress.show
        with suppress(KeyboardInterrupt):
            search.run()
            return False
    return True


def _finish(args: argparse.Namespace, search: GridSearch, leader: Point, early: bool) -> None:
    if early:
        note(f"interrupted after {len(search.points)} of {len(search.grid)} points")
    if text := edge_note(leader, search.grid):
        note(text)
    if args.png:
        _draw(args.png, search.points)
    regression = FORMULATIONS[args.formulation]
    name = "mean_squared_error" if regression else "accuracy"
    score = abs(leader.score)
    if args.csv:
        say(f"C,gamma,{name}")
        for p in sorted(search.points, key=lambda p: (p.log2c, p.log2g)):
            say(f"{p.C!r},{p.gamma!r},{abs(p.score)!r}")
    elif args.json:
        points = [{"C": p.C, "gamma": p.gamma, name: abs(p.score)} for p in search.points]
        result = {"C": leader.C, "gamma": leader.gamma, name: score, "points": points}
        say(as_json(result))
    else:
        # The last line of grid.py: scripts read it.
        say(f"{leader.C!r} {leader.gamma!r} {score if regression else 100 * score:.6g}")


def _line(point: Point) -> str:
    score = f"rate={100 * point.score:.6g}" if point.score >= 0 else f"mse={-point.score:.6g}"
    return f"log2c={point.log2c:g} log2g={point.log2g:g} {score}"


def _known(args: argparse.Namespace) -> list[Point]:
    """The points of an earlier search; a last line that was cut off is ignored."""
    if not args.resume or not Path(args.out).exists():
        return []
    points = []
    for line in Path(args.out).read_text().splitlines():
        found = LINE.fullmatch(line.strip())
        if found:
            score = float(found[4])
            point = Point(
                float(found[1]), float(found[2]), score / 100 if found[3] == "rate" else -score
            )
            points.append(point)
    return points


def _draw(path: str, points: Any) -> None:
    from softmargin.plotting.canvas import pyplot
    from softmargin.plotting.search import draw_map

    plt = pyplot()
    figure, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
    draw_map(
        ax,
        [p.C for p in points],
        [p.gamma for p in points],
        [100 * p.score if p.score >= 0 else p.score for p in points],
        "accuracy in per cent" if points[0].score >= 0 else "minus mean squared error",
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)
