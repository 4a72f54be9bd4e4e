"""The examples of the gallery run, draw a picture and have what their pages need."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))
import gallery

sys.path.pop(0)


@pytest.mark.thread_unsafe(reason="sets the arguments and the standard output of the process")
@pytest.mark.parametrize("script", gallery.scripts(), ids=lambda script: script.stem)
def test_example_runs_and_draws(script):
    example = gallery.run(script)
    assert example.picture.startswith(b"\x89PNG")
    assert len(example.picture) < 500_000
    assert example.title
    assert len(example.title) < 60
    assert example.text.endswith((".", "`"))
    assert f"# {example.title}\n" in gallery.page(example)
