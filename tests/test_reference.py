import json
import math

import pytest

import dpviz
from dpviz import cli
from dpviz.accounting import reference
from dpviz.accounting.quantities import QUANTITIES
from dpviz.accounting.reference import ReferenceFileError, compare_reference, read_reference
from tests.reference import PATH, load

ONE = {"quantity": "gdp_advantage", "inputs": {"mu": 2}, "value": "0.682689492137085897170465091264"}


@pytest.mark.parametrize("entry", load(), ids=lambda entry: entry["id"])
def test_every_reference_value_is_met(entry):
    (found,) = compare_reference([entry])
    assert found.fault == ""
    assert found.is_within, found


def test_every_quantity_has_a_value_and_every_value_a_source():
    assert {entry["quantity"] for entry in load()} == set(QUANTITIES)
    assert len(QUANTITIES) == 60
    assert all(entry["source"] and entry["how"] for entry in load())


@pytest.mark.parametrize("quantity", sorted(QUANTITIES))
def test_a_value_that_is_off_is_found(quantity):
    entry = next(one for one in load() if one["quantity"] == quantity and float(one["value"]))
    wrong = repr(float(entry["value"]) * (1 + 1e-8))
    (found,) = compare_reference([{**entry, "value": wrong}])
    assert not found.is_within
    assert found.fault == ""


def test_tolerances():
    assert compare_reference([ONE])[0].tolerance == 1e-12
    assert compare_reference([{**ONE, "quantity": "psg_kfold_eps"}])[0].tolerance == 1e-9
    loose = {**ONE, "value": "0.6826895"}
    assert not compare_reference([loose])[0].is_within
    assert compare_reference([loose], tolerance=1e-6)[0].is_within
    for refused in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(dpviz.DomainError, match="tolerance"):
            compare_reference([ONE], tolerance=refused)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"quantity": "no_such"}, "the quantity 'no_such' is unknown"),
        ({"inputs": {}}, "the input 'mu' is missing"),
        ({"inputs": {"mu": -1}}, "mu must be"),
        ({"inputs": {"mu": "much"}}, "mu must be a real number"),
        ({"inputs": {"mu": None}}, "mu must be a real number"),
        ({"quantity": "ledger_delta", "inputs": {"eps": 1, "ledger": [{"mech": "magic"}]}}, "mech must be one of"),
        ({"quantity": "ledger_delta", "inputs": {"eps": 1, "ledger": 5}}, "ledger"),
        ({"quantity": "psg_kfold_delta", "inputs": {"eps": 1, "q": 0.1, "sigma": 1, "k": 1, "direction": "up"}}, "up"),
        ({"quantity": "gdp_compose_mu", "inputs": {"mus": {}}}, "the input 'value' is missing"),
        ({"quantity": "gdp_compose_mu", "inputs": {"mus": "many"}}, "mus"),
        ({"quantity": "optimal_composition_hetero_delta", "inputs": {"eps_g": 1, "eps_list": 3}}, "epsilons"),
    ],
    ids=str,
)
def test_what_cannot_be_computed_is_said_and_not_within(change, fault):
    (found,) = compare_reference([{**ONE, **change}])
    assert fault in found.fault
    assert found.computed is None
    assert not found.is_within


def test_errors_at_zero_and_infinity():
    assert reference._error(0.0, reference.Decimal(0)) == 0
    assert reference._error(1e-300, reference.Decimal(0)) == math.inf
    assert reference._error(math.inf, reference.Decimal("Infinity")) == 0
    assert reference._error(math.inf, reference.Decimal(1)) == math.inf
    assert reference._error(math.nan, reference.Decimal(1)) == math.inf
    assert reference._error(1.0, reference.Decimal("-Infinity")) == math.inf


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("{}", "must hold a JSON list"),
        ("[]", "must hold a JSON list"),
        ("[3]", "entry 1 of .* must be an object"),
        ('[{"inputs": {}, "value": "1"}]', "entry 1 of .* must have 'quantity', a text"),
        ('[{"quantity": "x", "value": "1"}]', "must have 'inputs', an object"),
        ('[{"quantity": "x", "inputs": {}}]', "must have 'value', a decimal number, but it has None"),
        ('[{"quantity": "x", "inputs": {}, "value": "much"}]', "but it has 'much'"),
        ('[{"quantity": "x", "inputs": {}, "value": true}]', "but it has True"),
        ('[{"quantity": "x", "inputs": {}, "value": NaN}]', "but it has nan"),
    ],
)
def test_a_file_that_is_no_list_of_values_is_refused_in_a_sentence(tmp_path, capsys, text, sentence):
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReferenceFileError, match=sentence):
        read_reference(path)
    assert cli.main(["check", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("dpviz: ")
    assert said.count("\n") == 1


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path, capsys):
    assert cli.main(["check", str(tmp_path / "none.json")]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert cli.main(["check", str(tmp_path)]) == 2
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\xff")
    assert cli.main(["check", str(tmp_path / "bytes.json")]) == 2
    assert "is not UTF-8 text" in capsys.readouterr().err


def test_the_command_says_each_error_and_how_many_are_within(tmp_path, capsys):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([ONE, {**ONE, "id": "off", "value": 0.68}, {**ONE, "quantity": "no_such"}]))
    assert cli.main(["check", str(path)]) == 1
    first, second, third, last = capsys.readouterr().out.splitlines()
    assert first.startswith("within")
    assert "relative error" in first
    assert second.startswith("NOT WITHIN  off")
    assert "relative error 4.0e-03" in second
    assert "the quantity 'no_such' is unknown" in third
    assert last == "1 of 3 within tolerance"
    assert cli.main(["check", str(path), "--tolerance", "0.01"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 of 3 within tolerance"
    path.write_text("\ufeff" + json.dumps([ONE]), encoding="utf-8")
    assert cli.main(["check", str(path)]) == 0


def test_the_command_as_json(tmp_path, capsys):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([ONE, {**ONE, "quantity": "no_such"}]))
    assert cli.main(["check", str(path), "--json"]) == 1
    good, bad = json.loads(capsys.readouterr().out)
    assert good["is_within"]
    assert not bad["is_within"]
    assert bad["error"] is None


def test_wrong_tolerances_are_refused(capsys):
    assert cli.main(["check", str(PATH), "--tolerance", "-1"]) == 2
    assert "tolerance must be" in capsys.readouterr().err
    assert cli.main(["check", "--tolerance", "1e-3"]) == 2
    assert "for a FILE" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["check", str(PATH), "--tolerance", "small"])
