"""What the tests share: the fixture of short slices, and settings.

Hypothesis draws the same examples in every run, and no run depends on the machine's speed.

``pytest --hypothesis-profile=thorough`` draws many more, and new ones.
"""

import signal

import pytest
from hypothesis import settings

from softmargin.fitting import slices

settings.register_profile(
    "same-every-time", derandomize=True, database=None, deadline=None, max_examples=50
)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("same-every-time")

# A shell ignores Ctrl-C in background jobs; the tests send it to themselves and to children.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def short_slices(monkeypatch):
    """One step or block per slice, so that the number of slices does not depend on speed."""
    monkeypatch.setattr(slices, "FIRST_SLICE", 0.0)
    monkeypatch.setattr(slices, "LONGEST_SLICE", 0.0)
