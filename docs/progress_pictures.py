"""The live line half-way through a fit, in tmux: ``python docs/progress_pictures.py``."""

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from terminal_picture import picture

FOLDER = Path(__file__).parent
DATA = """\
import numpy as np
from softmargin import SVC
rng = np.random.default_rng(0)
X = rng.normal(size=(10000, 20))
y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X)) > 0
"""
FIT = "SVC(C=1000, gamma=0.05, verbose=1).fit(X, y)"
HALF_WAY = re.compile(r"SVC:\s+[5-9]\d%")


def terminal() -> str:
    tmux = ["tmux", "-L", "progress-pictures"]
    with tempfile.NamedTemporaryFile("w", suffix=".py") as startup:
        startup.write(DATA)
        startup.flush()
        python = f"PYTHONSTARTUP={startup.name} {sys.executable} -q"
        subprocess.run([*tmux, "new-session", "-d", "-x", "132", "-y", "6", python], check=True)
        try:
            shown_when(tmux, re.compile(">>>"))
            subprocess.run([*tmux, "send-keys", FIT, "Enter"], check=True)
            return shown_when(tmux, HALF_WAY)
        finally:
            subprocess.run([*tmux, "kill-server"], check=True)


def shown_when(tmux: list[str], pattern: re.Pattern[str]) -> str:
    for _ in range(600):
        text = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True).stdout
        if pattern.search(text):
            return text
        time.sleep(0.1)
    raise SystemExit(f"{pattern.pattern} did not appear in a minute; the terminal shows\n{text}")


if __name__ == "__main__":
    (FOLDER / "progress_terminal.svg").write_text(picture(terminal()) + "\n")
