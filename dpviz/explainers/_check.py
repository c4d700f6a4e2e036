"""A page's check of its own numbers: each one beside the same number found another way."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from dpviz.locale import Catalogue, numbers

_DIGITS = 7


@dataclass(frozen=True)
class Check:
    """A number that a page shows, and the same found by an independent way, to agree within `tolerance` (relative)."""

    key: str
    shown: float
    found: float
    tolerance: float = 1e-9

    @property
    def holds(self) -> bool:
        """Whether the two agree."""
        return abs(self.shown - self.found) <= self.tolerance * max(abs(self.shown), abs(self.found))


def _written(value: float) -> str:
    return numbers.given(float(f"{value:.{_DIGITS}g}"))


@dataclass(frozen=True)
class PageCheck:
    """All checks of a page; as the value of a notebook's last cell it is a small table."""

    checks: tuple[Check, ...]
    text: Catalogue

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(check.holds for check in self.checks)

    def __repr__(self) -> str:
        lines = (" | ".join(row) for row in self._rows())
        return "\n".join([*lines, self._verdict()])

    def _repr_html_(self) -> str:
        heads = (self.text(f"check.{part}") for part in ("what", "shown", "found", "agrees"))
        head = "".join(f"<th scope='col'>{escape(word)}</th>" for word in heads)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self._rows())
        return (
            f"<div class='dpviz-check'><p>{escape(self._verdict())}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [
            (
                self.text(check.key),
                _written(check.shown),
                _written(check.found),
                self.text("check.yes" if check.holds else "check.no"),
            )
            for check in self.checks
        ]

    def _verdict(self) -> str:
        count = sum(check.holds for check in self.checks)
        return self.text("check.verdict", count=str(count), all=str(len(self.checks)))
