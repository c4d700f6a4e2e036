"""Hypothesis profiles, and which tests share a process when there are two.

`fast` is the default profile; ``pytest --hypothesis-profile thorough`` looks much longer.
"""

import pytest
from hypothesis import settings

settings.register_profile("fast", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile("fast")

# These start servers, browsers or installs: one after the other in one process, so that none waits for another.
HEAVY = ("browser/", "test_server.py", "test_cli.py", "test_binder.py", "test_packaging.py")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        group = "heavy" if any(part in item.path.as_posix() for part in HEAVY) else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))
