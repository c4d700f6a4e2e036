"""The public names are those of the accounting."""

from dpviz.accounting import *  # noqa: F403

__version__: str
__all__: list[str]
