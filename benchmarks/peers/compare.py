"""Measurements of several packages on one work, in turn, each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from measure import MISSING
from packages import BEFORE
from tqdm import tqdm
from works import MORE, WORKS

OURS = "softmargin"
Result = dict[str, float]


def once(work: str, package: str, before: str = "") -> Result | None:
    """One measurement; None where the package has no such machine."""
    script = Path(__file__).with_name("measure.py")
    python = before if package == BEFORE else sys.executable
    command = [python, str(script), work, package]
    child = subprocess.run(command, capture_output=True, text=True, check=False)
    if child.returncode == MISSING:
        return None
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{child.stderr}")
    result: Result = json.loads(child.stdout.splitlines()[-1])
    return result


def compare(
    work: str, packages: list[str], repeats: int, share: float, before: str = ""
) -> dict[str, Result]:
    """The medians of each package's measurements."""
    too_slow = {**MORE, **WORKS}[work].too_slow
    runs: dict[str, list[Result]] = {
        package: [] for package in packages if not (too_slow and package.startswith(too_slow))
    }
    for _ in range(repeats):
        for package in tqdm(list(runs), desc=work, leave=False, dynamic_ncols=True):
            if sum(run["wall"] for run in runs[package]) > share:
                continue
            result = once(work, package, before)
            if result is None:
                del runs[package]
            else:
                runs[package].append(result)
    return {
        package: {key: float(np.median([run[key] for run in results])) for key in results[0]}
        | {"runs": len(results)}
        for package, results in runs.items()
    }


def markdown(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
