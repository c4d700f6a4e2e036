import dataclasses
import math
from collections import Counter
from decimal import Decimal

import pytest

import dpviz
from dpviz import Witness, verify
from dpviz.accounting import verification


def test_every_witness_holds():
    failed = [witness for witness in verify() if not witness.holds]
    assert failed == []


def test_the_record_covers_what_it_promises():
    quantities = Counter(witness.quantity for witness in verify())
    for quantity in (
        "rdp_bound", "rdp_bound_search", "rdp_best_order", "improved_bound", "improved_best_order", "exact_epsilon",
        "mean_sigma", "1 / mean_mu", "mean_mu", "Gaussian.compose",
    ):  # fmt: skip
        assert quantities[quantity] == 4, quantity
    assert quantities["gaussian_epsilon"] == 2
    names = [witness.name for witness in verify()]
    assert len(set(names)) == len(names)
    assert all(witness.source and witness.inputs for witness in verify())


@pytest.mark.parametrize(
    "quantity",
    [
        "rdp_bound",
        "rdp_best_order",
        "rdp_bound_search",
        "improved_bound",
        "improved_best_order",
        "exact_epsilon",
    ],
)
def test_a_function_that_is_wrong_is_found(monkeypatch, quantity):
    def slipped(**given):
        value = getattr(dpviz, quantity)(**given)
        return (value[0] * (1 + 1e-6), value[1]) if isinstance(value, tuple) else value * (1 + 1e-11)

    slipped.__name__ = quantity
    monkeypatch.setattr(verification, quantity, slipped)
    failed = {witness.quantity for witness in verify() if not witness.holds}
    assert failed == {quantity}


def test_a_mean_that_forgets_its_noise_is_found(monkeypatch):
    monkeypatch.setattr(verification, "mean_sigma", lambda *, sigma, repeats: sigma)
    failed = [witness.quantity for witness in verify() if not witness.holds]
    assert failed == ["mean_sigma"] * 3


def witness(computed, relation="equal", tolerance=1e-12):
    return Witness("name", "quantity", (("k", 1.0),), computed, "2.0", tolerance, relation, "by hand")


def test_relations():
    assert witness(2.0).holds
    assert witness(2.0 * (1 - 1e-13)).holds
    assert not witness(2.0 * (1 + 1e-11)).holds
    assert not witness(2.0 * (1 - 1e-11)).holds
    assert witness(2.0 * (1 + 5e-8), "at least", 1e-7).holds
    assert not witness(2.0 * (1 + 2e-7), "at least", 1e-7).holds
    assert not witness(2.0 * (1 - 1e-9), "at least", 1e-7).holds
    assert not any(witness(value).holds for value in (math.nan, math.inf, -math.inf))
    with pytest.raises(ValueError, match="relation must be 'equal' or 'at least', but got 'about'"):
        witness(2.0, "about")


def test_a_witness_is_plain_frozen_data():
    one = witness(2.0)
    assert hash(one) == hash(witness(2.0))
    assert dataclasses.asdict(one)["holds"] is True
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.holds = False
    for found in verify():
        assert len(Decimal(found.reference).as_tuple().digits) <= 30
        assert type(found.computed) is float
