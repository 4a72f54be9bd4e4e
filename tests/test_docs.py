"""The pages' Python snippets run as they stand, one after the other, as a reader would run them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/guide.md", "docs/linear.md", "docs/watching.md")


@pytest.mark.thread_unsafe(reason="changes the working directory")
@pytest.mark.parametrize("page", PAGES)
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for snippet in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL):
        if "sklearn.callback" in snippet:
            pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 and later")
        exec(snippet, names)
    assert names
    assert not list(tmp_path.iterdir()), "a checkpoint is left"


@pytest.mark.parametrize(
    "name", ["io.read_data", "io.FileError", "checkpoint.Checkpoint", "plotting.plot_convergence"]
)
def test_names_that_the_pages_call_by_their_module(name):
    code = f"import softmargin; softmargin.{name}"
    subprocess.run([sys.executable, "-c", code], check=True)
