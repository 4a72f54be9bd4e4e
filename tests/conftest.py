"""What the tests share: the fixture of short slices, and settings.

Hypothesis draws the same examples in every run, and no run depends on the machine's speed.

``pytest --hypothesis-profile=thorough`` draws many more, and new ones.
"""

import pytest
from hypothesis import settings

from softmargin import training

settings.register_profile(
    "same-every-time", derandomize=True, database=None, deadline=None, max_examples=50
)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("same-every-time")


@pytest.fixture
def short_slices(monkeypatch):
    """A single step or block in each slice: so many looks at a fit do not depend on its speed."""
    monkeypatch.setattr(training, "FIRST_SLICE", 0.0)
    monkeypatch.setattr(training, "LONGEST_SLICE", 0.0)
