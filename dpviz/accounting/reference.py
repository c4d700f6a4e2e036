"""Reference values that a person brings: read from a file, recomputed, and compared in decimal arithmetic.

A file is a JSON list of entries, each with `quantity` (a name of `QUANTITIES`), `inputs` (its numbers; a printed
number means the float64 nearest to it) and `value` (a decimal string, or a number); an `id` names the entry.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from dpviz.accounting._checks import positive, scalar
from dpviz.accounting.quantities import QUANTITIES

CLOSED_FORM = 1e-12
"""Relative tolerance where a closed form exists, or a root of one."""

NUMERIC = 1e-9
"""Relative tolerance of what only numeric composition can give."""

NUMERIC_QUANTITIES = frozenset({"ledger_delta", "psg_kfold_delta", "psg_kfold_eps"})


class ReferenceFileError(ValueError):
    """A file of reference values that cannot be read; the text is a sentence for whoever brought it."""


@dataclass(frozen=True)
class Comparison:
    """One entry of a file beside what is computed for it here.

    Parameters
    ----------
    name : str
        The entry's id, or its place in the file.
    quantity : str
        What it is a value of.
    inputs : str
        Its inputs, as JSON.
    reference : str
        The value in the file.
    computed : float or None
        The value computed here; None if there is none.
    error : float
        Relative distance; inf where nothing could be computed, or where the reference is 0 and we are not.
    tolerance : float
        Largest error allowed.
    fault : str
        Why nothing could be computed, in a sentence; empty otherwise.

    Examples
    --------
    >>> Comparison("first", "gaussian_delta", "{}", "0.5", 0.5, 0.0, 1e-12, "").is_within
    True
    """

    name: str
    quantity: str
    inputs: str
    reference: str
    computed: float | None
    error: float
    tolerance: float
    fault: str

    @property
    def is_within(self) -> bool:
        """Whether the error is at most the tolerance."""
        return self.error <= self.tolerance


def read_reference(path: str | Path) -> list[dict[str, Any]]:
    """Return the entries of a file of reference values.

    Parameters
    ----------
    path : str or Path
        A JSON file: a list of objects with `quantity`, `inputs` and `value`.

    Returns
    -------
    list of dict
        As they stand in the file.

    Raises
    ------
    ReferenceFileError
        If there is no such file, or it is no such list; a sentence that says what is wrong and where.

    Notes
    -----
    The format is elementary; no paper is behind it.
    """
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as fault:
        raise ReferenceFileError(f"cannot read {path}: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        raise ReferenceFileError(f"{path} is not UTF-8 text") from fault
    except (json.JSONDecodeError, RecursionError) as fault:
        raise ReferenceFileError(f"{path} is not JSON: {fault}") from fault
    if not isinstance(entries, list) or not entries:
        raise ReferenceFileError(f"{path} must hold a JSON list of at least one reference value")
    for place, entry in enumerate(entries, 1):
        _check_entry(entry, f"entry {place} of {path}")
    return entries


def compare_reference(
    entries: Iterable[Mapping[str, Any]], *, tolerance: float | None = None
) -> tuple[Comparison, ...]:
    """Recompute each entry and return how far off it is.

    Parameters
    ----------
    entries : iterable of mappings
        As `read_reference` returns them.
    tolerance : float, optional
        Largest relative error allowed, > 0. By default 1e-12 where a closed form or a root of one exists, and
        1e-9 for `ledger_delta`, `psg_kfold_delta` and `psg_kfold_eps`, which only numeric composition can give.

    Returns
    -------
    tuple of Comparison
        One for each entry. An unknown quantity, an input that is missing or out of range, and a result that is
        no finite number are never within; the fault is said.

    Raises
    ------
    DomainError
        If the tolerance is not a finite number > 0.

    Notes
    -----
    The comparison is elementary, in decimal arithmetic; the source of each value is the entry's own affair.

    Examples
    --------
    >>> entry = {"quantity": "gdp_advantage", "inputs": {"mu": 2}, "value": "0.682689492137085897170465091264"}
    >>> [one.is_within for one in compare_reference([entry])]
    [True]
    """
    limit = None if tolerance is None else scalar("tolerance", positive("tolerance", tolerance))
    return tuple(_compare(entry, place, limit) for place, entry in enumerate(entries, 1))


def _compare(entry: Mapping[str, Any], place: int, limit: float | None) -> Comparison:
    quantity, inputs, reference = entry["quantity"], entry["inputs"], str(entry["value"])
    usual = NUMERIC if quantity in NUMERIC_QUANTITIES else CLOSED_FORM
    computed, fault = _recompute(quantity, inputs)
    return Comparison(
        name=str(entry.get("id", f"entry {place}")),
        quantity=quantity,
        inputs=json.dumps(inputs, ensure_ascii=False),
        reference=reference,
        computed=computed,
        error=math.inf if computed is None else _error(computed, Decimal(reference)),
        tolerance=usual if limit is None else limit,
        fault=fault,
    )


def _recompute(quantity: str, inputs: Mapping[str, Any]) -> tuple[float | None, str]:
    """Return the value, or None and a sentence."""
    if quantity not in QUANTITIES:
        return None, f"the quantity {quantity!r} is unknown"
    try:
        computed = float(QUANTITIES[quantity](inputs))
    except KeyError as fault:
        return None, f"the input {fault.args[0]!r} is missing"
    except (TypeError, ValueError) as fault:
        return None, str(fault)
    return computed, ""


def _error(computed: float, reference: Decimal) -> float:
    """Return the relative distance; equal infinities are at distance 0."""
    if not math.isfinite(computed) or not reference.is_finite():
        return 0.0 if not math.isnan(computed) and Decimal(computed) == reference else math.inf
    gap = abs(Decimal(computed) - reference)
    if not reference:
        return math.inf if gap else 0.0
    return float(gap / abs(reference))


def _check_entry(entry: object, where: str) -> None:
    if not isinstance(entry, dict):
        raise ReferenceFileError(f"{where} must be an object")
    for key, kind, word in (("quantity", str, "a text"), ("inputs", dict, "an object")):
        if not isinstance(entry.get(key), kind):
            raise ReferenceFileError(f"{where} must have {key!r}, {word}")
    value = entry.get("value")
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float) or Decimal(str(value)).is_nan():
            raise InvalidOperation
    except InvalidOperation:
        raise ReferenceFileError(f"{where} must have 'value', a decimal number, but it has {value!r}") from None
