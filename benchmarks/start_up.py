"""How long the command takes to start: the median of 20 runs, each a process of its own.

    python benchmarks/start_up.py [--runs 20]

`softmargin --help`, and `softmargin predict` of one row with a small model: seconds of the clock
and of processor time, and which of the slow packages were imported on the way.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

SLOW = ("numpy", "scipy", "scipy.sparse", "sklearn", "softmargin._core", "tqdm")


def seconds(command: list[str]) -> tuple[float, float]:
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system
    return wall, used - before.children_user - before.children_system


def imported(arguments: list[str]) -> list[str]:
    """The slow packages that a command imports."""
    command = [sys.executable, "-X", "importtime", "-m", "softmargin", *arguments]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    names = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    return [name for name in SLOW if name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    program = str(Path(sys.executable).with_name("softmargin"))
    with tempfile.TemporaryDirectory() as folder:
        data, model = f"{folder}/data", f"{folder}/model"
        Path(data).write_text("1 1:1 2:2\n-1 1:2 2:1\n")
        subprocess.run([program, "train", "-q", data, model], check=True)
        Path(data).write_text("1 1:1 2:2\n")
        print(f"{'command':<12}{'seconds':>9}{'processor':>11}  imports")
        for name, arguments in {"--help": ["--help"], "predict": ["predict", data, model]}.items():
            times = [seconds([program, *arguments]) for _ in range(runs)]
            wall, used = (median(column) for column in zip(*times, strict=True))
            some = ", ".join(imported(arguments)) or "none of the slow ones"
            print(f"{name:<12}{wall:>9.3f}{used:>11.3f}  {some}", flush=True)


if __name__ == "__main__":
    main()
