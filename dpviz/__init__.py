"""dpviz: the numbers behind a privacy budget, and live pages that explain them."""

from typing import Any

from dpviz import accounting

__version__ = "0.1.0"

__all__ = accounting.__all__


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(accounting, name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
