"""Hypothesis draws the same examples in every run, and no run depends on the machine's speed.

``pytest --hypothesis-profile=thorough`` draws many more, and new ones.
"""

from hypothesis import settings

settings.register_profile(
    "same-every-time", derandomize=True, database=None, deadline=None, max_examples=50
)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("same-every-time")
