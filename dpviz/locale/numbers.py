"""How numbers are written: exactly, for boxes and addresses; rounded, for sentences and titles."""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import ROUND_CEILING, Context

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_PLAIN = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_SPACE = "\N{NO-BREAK SPACE}"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?")
_POWER = re.compile(r"(?:(?P<factor>[+-]?(?:\d+(?:\.\d*)?|\.\d+))[*x])?10\^\(?(?P<exponent>[+-]?\d+)\)?")


def exact(value: float) -> str:
    """Return the shortest text that reads back as `value`, without padding.

    Examples
    --------
    >>> exact(16.0), exact(1e-06), exact(1000000), exact(0.05)
    ('16', '1e-6', '1000000', '0.05')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    mantissa, _, exponent = repr(float(value)).partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}" if exponent else mantissa


def rounded(value: float, digits: int = 3) -> str:
    """Return `value` to `digits` significant digits, for prose and titles.

    Examples
    --------
    >>> rounded(2.88343), rounded(1e-6), rounded(1440), rounded(0.25298, 4)
    ('2.88', '10⁻⁶', '1,440', '0.2530')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
    exponent = int(power)
    if -4 <= exponent < 7:
        places = max(digits - 1 - exponent, 0)
        text = f"{float(f'{mantissa}e{power}'):,.{places}f}"
        is_whole = float(value).is_integer() and "." in text
        return (text.rstrip("0").rstrip(".") if is_whole else text).replace("-", "−")
    raised = f"10{str(exponent).translate(_SUPERSCRIPTS)}"
    short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return (raised if short == "1" else f"{short} × {raised}").replace("-", "−")


def given(value: float) -> str:
    """Return a value that a reader set, with all its digits, for prose.

    Examples
    --------
    >>> given(2.9), given(16.0), given(1e-6), given(1440), given(0.125)
    ('2.9', '16', '10⁻⁶', '1,440', '0.125')
    """
    digits = repr(float(value)).partition("e")[0].replace(".", "").strip("-0")
    return rounded(value, max(len(digits), 1))


def rounded_up(value: float, digits: int = 3) -> str:
    """Return an upper bound to `digits` significant digits, never below `value`.

    Examples
    --------
    >>> rounded_up(3.48064, 4), rounded(3.48064, 4), rounded_up(28.59073, 3), rounded_up(0.0)
    ('3.481', '3.481', '28.6', '0')
    """
    if math.isinf(value):
        return f"> 10{'308'.translate(_SUPERSCRIPTS)}"
    ceiling = Context(prec=digits, rounding=ROUND_CEILING)
    return rounded(float(ceiling.create_decimal(repr(float(value)))), digits)


def above_one(value: float, digits: int = 3) -> str:
    """Return a value > 1 with at least `digits` significant digits, and enough to see that it is not 1.

    Examples
    --------
    >>> above_one(9.4104), above_one(1.00002)
    ('9.41', '1.00002')
    """
    enough = next((more for more in range(digits, 17) if float(f"{value:.{more - 1}e}") > 1), 17)
    return rounded(value, enough)


def inside(value: float, digits: int = 3) -> str:
    """Return a quantity that lies strictly between 0 and 1, also where its float is 0 or 1.

    Examples
    --------
    >>> inside(0.2453394), inside(1.0), inside(0.0)
    ('0.245', '> 0.9999', '< 10⁻³⁰⁰')
    """
    if value < 1e-300:
        return f"< 10{'-300'.translate(_SUPERSCRIPTS)}"
    if value > 0.9999:
        return "> 0.9999"
    return rounded(value, max(digits, 4) if float(f"{value:.{digits - 1}e}") >= 1 else digits)


def exponential(log_value: float, digits: int = 3) -> str:
    """Return exp(log_value), also where it leaves the range of a float.

    Examples
    --------
    >>> exponential(2.0), exponential(10_000.0)
    ('7.39', '8.81 × 10⁴³⁴²')
    """
    if abs(log_value) < 700:
        return rounded(math.exp(log_value), digits)
    power, rest = divmod(log_value / math.log(10), 1)
    return f"{10**rest:.{digits - 1}f} × 10{str(int(power)).translate(_SUPERSCRIPTS)}"


def percent(share: float, digits: int = 3) -> str:
    r"""Return a share strictly between 0 and 1 as a percentage, never as none or all of it.

    Examples
    --------
    >>> percent(0.15422), percent(0.9996), percent(1.0), percent(1e-9)
    ('15.4\xa0%', '99.96\xa0%', '>\xa099.99\xa0%', '<\xa00.01\xa0%')
    """
    if share > 0.9999:
        return f">{_SPACE}99.99{_SPACE}%"
    if share < 0.0001:
        return f"<{_SPACE}0.01{_SPACE}%"
    is_near_all = float(f"{100 * share:.{digits - 1}e}") >= 100
    return f"{rounded(100 * share, 4 if is_near_all else digits)}{_SPACE}%"


def number(text: str) -> float:
    """Read a number as people type it: ``1e-6``, ``10^-6``, ``10⁻⁶``, ``3×10^4``, full-width digits, a real minus.

    Raises
    ------
    ValueError
        If the text is not a plain decimal number (NaN, infinity, hexadecimal, grouping and decimal commas are not).

    Examples
    --------
    >>> number("10^-6"), number("１６"), number("2×10⁻³")
    (1e-06, 16.0, 0.002)
    """
    raised = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+", lambda found: "^" + found.group().translate(_PLAIN), text)
    plain = unicodedata.normalize("NFKC", raised).strip().lower()
    plain = re.sub(r"\s*[×·]\s*", "*", plain.replace("−", "-").replace("–", "-"))
    if power := _POWER.fullmatch(plain):
        return float(f"{power['factor'] or 1}e{power['exponent']}")
    if not _NUMBER.fullmatch(plain) or not plain.isascii():
        raise ValueError(f"not a plain decimal number: {text!r}")
    return float(plain)
