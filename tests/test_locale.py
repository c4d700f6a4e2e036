"""The text catalogues: complete, compiled, and read without surprises."""

import ast
import io
import re
from string import Formatter

import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from dpviz.locale import FOLDER, catalogue, folder_of, languages, numbers

PACKAGE = FOLDER.parent


def entries(language):
    with (folder_of(language) / "dpviz.po").open("rb") as source:
        return read_po(source)


def keys_in_code():
    """Every text key that stands whole in the code; keys with a variable part are found by their fixed ends."""
    whole, patterns = set(), set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_text = (
                isinstance(node, ast.Call)
                and node.args
                and getattr(node.func, "id", getattr(node.func, "attr", ""))
                in {"text", "_text", "template", "InputError", "Check"}
            )
            for part in strings(node.args[0]) if is_text else ():
                if isinstance(part, ast.JoinedStr):
                    pieces = (re.escape(p.value) if isinstance(p, ast.Constant) else r"[\w.]+" for p in part.values)
                    patterns.add("".join(pieces))
                elif re.fullmatch(r"[a-z]+(\.\w+)+", str(part.value)):
                    whole.add(part.value)
    return whole, patterns


def strings(node):
    """Yield the strings in an expression, a formatted one as a whole."""
    if isinstance(node, ast.JoinedStr | ast.Constant):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


def test_three_languages_are_there():
    assert languages() == ("en", "ja", "zh-Hans")


def placeholders(text):
    return sorted(field for _, field, _, _ in Formatter().parse(text) if field)


OTHERS = [language for language in languages() if language != "en"]


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_the_same_keys(language):
    english, other = ({entry.id for entry in entries(code) if entry.id} for code in ("en", language))
    assert other == english


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_fills_the_same_placeholders(language):
    """What plotly fills (``%{x}``) and what we fill (``{mu}``) stand in each language; each at least once."""
    english = {entry.id: entry.string for entry in entries("en") if entry.id}
    for entry in entries(language):
        if entry.id:
            kinds = re.findall(r"%\{[^}]*\}", entry.string), re.findall(r"%\{[^}]*\}", english[entry.id])
            assert sorted(kinds[0]) == sorted(kinds[1]), entry.id
            ours = [re.sub(r"%\{[^}]*\}", "", text) for text in (entry.string, english[entry.id])]
            assert set(placeholders(ours[0])) == set(placeholders(ours[1])), entry.id


# Texts that are the same in every language: symbols, formats, names.
SHARED = re.compile(
    r"control\.\w+\.symbol|.*\.(csv|svg|png)|gallery\.\w+\.minutes|.*\.theorem|.*\.source|figure\.made_by"
)


@pytest.mark.parametrize("language", OTHERS)
def test_no_text_is_left_in_english(language):
    """A text with an English word of some length, and none of the language's own letters, was forgotten."""
    own = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
    for entry in entries(language):
        if entry.id and not SHARED.fullmatch(entry.id):
            bare = re.sub(r"%?\{[^}]*\}", "", entry.string)
            assert own.search(bare) or not re.search(r"[a-z]{3,}", bare), f"{entry.id}: {entry.string}"


@pytest.mark.parametrize("language", OTHERS)
def test_the_same_numbers_stand_in_each_language(language):
    english = {entry.id: entry.string for entry in entries("en") if entry.id}
    for entry in entries(language):
        if entry.id:
            pair = [sorted(re.findall(r"\d+(?:[.,]\d+)*", text)) for text in (entry.string, english[entry.id])]
            assert pair[0] == pair[1], entry.id


@pytest.mark.parametrize("language", languages())
def test_compiled_texts_are_those_of_the_source(language):
    compiled = io.BytesIO()
    write_mo(compiled, entries(language))
    stored = (folder_of(language) / "dpviz.mo").read_bytes()
    assert compiled.getvalue() == stored, "compile again: python dev.py texts"


@pytest.mark.parametrize("language", languages())
def test_every_text_is_written_and_every_key_of_the_code_has_one(language):
    texts = {entry.id: entry.string for entry in entries(language) if entry.id}
    assert [key for key, text in texts.items() if not text.strip()] == []
    whole, patterns = keys_in_code()
    assert whole - texts.keys() == set()
    for pattern in patterns:
        assert any(re.fullmatch(pattern, key) for key in texts), pattern


@pytest.mark.parametrize("language", languages())
def test_no_text_is_left_over(language):
    whole, patterns = keys_in_code()
    for key in (entry.id for entry in entries(language) if entry.id):
        assert key in whole or any(re.fullmatch(pattern, key) for pattern in patterns), f"nobody says {key}"


@pytest.mark.parametrize("language", languages())
def test_texts_are_plain(language):
    """No TeX and no markup: what a reader sees is text in every host."""
    for entry in entries(language):
        if entry.id:
            assert not re.search(r"[$\\]|<\S", entry.string), entry.id
            if ".hover." not in entry.id:
                list(Formatter().parse(entry.string))


def test_a_missing_text_is_loud():
    with pytest.raises(KeyError, match=r"no entry 'nobody\.home'"):
        catalogue("en")("nobody.home")


def test_an_unknown_language_is_named():
    with pytest.raises(ValueError, match=r"language must be one of .*'xx'"):
        catalogue("xx")


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("1e-6", 1e-6),
        ("10^-6", 1e-6),
        ("10⁻⁶", 1e-6),
        ("10^(-6)", 1e-6),
        ("3×10^4", 3e4),
        ("2 · 10⁻³", 2e-3),
        ("１６", 16.0),
        ("１．５", 1.5),
        ("−4", -4.0),
        (" .5 ", 0.5),
        ("1E3", 1e3),
        ("+7", 7.0),
    ],
)
def test_numbers_are_read_as_people_type_them(typed, value):
    assert numbers.number(typed) == value


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "abc",
        "nan",
        "inf",
        "1,5",
        "1_000",
        "0x10",
        "1e",
        "--1",
        "1 2",
        "__import__('os')",
        "10^",
        "e5",
        "٣",
    ],
)
def test_what_is_no_plain_number_is_refused(typed):
    with pytest.raises(ValueError, match="not a plain decimal number"):
        numbers.number(typed)


@pytest.mark.parametrize("value", [1e-6, 16.0, 0.1, 1e300, 123456.789, 5e-324, 1e15, 3.0000000001])
def test_exact_text_reads_back(value):
    assert numbers.number(numbers.exact(value)) == value


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (2.883431, 3, "2.88"),
        (28.59073, 6, "28.5907"),
        (0.25298, 4, "0.2530"),
        (1e-6, 3, "10⁻⁶"),
        (1.2e-7, 3, "1.2 × 10⁻⁷"),
        (1440, 7, "1,440"),
        (0, 3, "0"),
        (float("inf"), 3, "∞"),
        (-3.2, 3, "−3.20"),
        (999.9996, 3, "1,000"),
        (100, 3, "100"),
        (4.0, 6, "4"),
        (1e-4, 2, "0.00010"),
    ],
)
def test_rounded_numbers(value, digits, text):
    assert numbers.rounded(value, digits) == text


def test_a_share_below_one_is_never_shown_as_all():
    assert numbers.percent(0.999999) == numbers.percent(1.0) == ">\xa099.99\xa0%"
    assert numbers.percent(0.9996) == "99.96\xa0%"
    assert numbers.percent(1e-14) == numbers.percent(0.0) == "<\xa00.01\xa0%"


def test_a_bound_is_never_rounded_down():
    for value in (3.48064, 0.10533, 22026.4657948, 1e-9, 28.590726703):
        for digits in (2, 3, 4, 7):
            shown = numbers.rounded_up(value, digits).replace(",", "")
            assert numbers.number(shown) >= value
            assert numbers.number(shown) < value * (1 + 10.0 ** (1 - digits))


def test_what_leaves_the_floats_is_still_said():
    assert numbers.exponential(6000.0) == "6.00 × 10²⁶⁰⁵" or numbers.exponential(6000.0).endswith("10²⁶⁰⁵")
    assert numbers.exponential(-6000.0).endswith("10⁻²⁶⁰⁶")
    assert numbers.inside(1.0) == "> 0.9999"
    assert numbers.inside(0.0) == "< 10⁻³⁰⁰"
    assert numbers.rounded_up(float("inf")) == "> 10³⁰⁸"
