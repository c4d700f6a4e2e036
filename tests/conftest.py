"""Hypothesis profiles: `fast` by default; `pytest --hypothesis-profile thorough` looks much longer."""

from hypothesis import settings

settings.register_profile("fast", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile("fast")
