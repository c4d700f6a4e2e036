"""Reference values: 30 significant digits, each entry with how it was computed and the theorem behind it.

Inputs are the binary64 values of the printed numbers: 0.1 means the double nearest to 1/10.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parent / "values.json"


def load() -> list[dict[str, Any]]:
    """Return every entry: id, quantity, inputs, value, how it was computed, and its source."""
    found: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def entries(quantity: str) -> Any:
    """Return a decorator that runs a test over the entries of one quantity, as `inputs` and `value`."""
    found = [
        pytest.param(entry["inputs"], entry["value"], id=entry["id"])
        for entry in load()
        if entry["quantity"] == quantity
    ]
    if not found:
        raise LookupError(f"no reference value of {quantity!r}")
    return pytest.mark.parametrize(("inputs", "value"), found)


def distance(computed: float, value: str) -> float:
    """Return the relative distance from a decimal reference; absolute where that is 0."""
    reference = Decimal(value)
    gap = abs(Decimal(computed) - reference)
    return float(gap / abs(reference) if reference else gap)
