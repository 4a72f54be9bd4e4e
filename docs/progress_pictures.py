"""The pictures of the live line, half-way through a fit: ``python docs/progress_pictures.py``.

The terminal is tmux's, its text drawn by terminal_picture.py.  The notebook runs in JupyterLab, and
a browser shows it: ``pip install jupyterlab ipywidgets PyQt6-WebEngine``.
"""

import os
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
PORT = "18888"


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


def notebook(path: Path) -> None:
    import nbformat

    cells = [nbformat.v4.new_code_cell(source) for source in (DATA.rstrip(), FIT)]
    with tempfile.TemporaryDirectory() as folder:
        kernel = {"name": "python3", "display_name": "Python 3"}
        page = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(page, f"{folder}/fit.ipynb")
        options = ["--no-browser", "--allow-root", f"--port={PORT}", "--ServerApp.token="]
        options += [f"--ServerApp.root_dir={folder}", "--LabApp.expose_app_in_browser=True"]
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], stderr=subprocess.DEVNULL
        )
        try:
            time.sleep(8)
            photograph(f"http://localhost:{PORT}/lab/tree/fit.ipynb?reset", path)
        finally:
            server.terminate()
            server.wait()


def photograph(address: str, path: Path) -> None:
    """Runs all cells as soon as they can be, and takes the picture half-way through the fit."""
    os.environ.update(QT_QPA_PLATFORM="offscreen", QTWEBENGINE_DISABLE_SANDBOX="1")
    from PyQt6.QtCore import QRect, QTimer, QUrl
    from PyQt6.QtWebEngineWidgets import QWebEngineView
    from PyQt6.QtWidgets import QApplication

    application = QApplication(["notebook"])
    view = QWebEngineView()
    view.resize(1600, 700)
    view.load(QUrl(address))
    view.show()
    run = "window.jupyterapp.commands.execute('notebook:run-all-cells')"

    def look(text: str) -> None:
        if HALF_WAY.search(text):
            view.grab(QRect(290, 92, 1255, 210)).save(str(path))  # the cells alone
            application.quit()

    QTimer.singleShot(20_000, lambda: view.page().runJavaScript(run))
    QTimer.singleShot(90_000, application.quit)
    timer = QTimer()
    timer.timeout.connect(lambda: view.page().toPlainText(look))
    timer.start(200)
    application.exec()


if __name__ == "__main__":
    (FOLDER / "progress_terminal.svg").write_text(picture(terminal()) + "\n")
    notebook(FOLDER / "progress_notebook.png")
