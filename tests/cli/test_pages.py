"""The pages of the sub-commands say what their help says."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_pages_are_up_to_date():
    pages = runpy.run_path(str(DOCS / "make_cli_pages.py"))["pages"]()
    assert {path.name for path in pages} == {path.name for path in (DOCS / "cli").iterdir()}
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, "run python docs/make_cli_pages.py"
