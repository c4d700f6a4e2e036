"""Many releases on a lattice by the fast Fourier transform, and a bound of all that rounding may have done.

Every output of the transform sums its inputs along paths of log2 N butterflies, whose factors have modulus 1 (√2 for
radix 5). So its error is at most ‖input‖₁ times the relative error of a path, and in the Euclidean norm likewise; a
butterfly adds once or twice and multiplies once by a rounded factor, which is less than eight roundings a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpviz.accounting._checks import FloatArray
from dpviz.accounting._lattice_weights import ROUNDING, Weights
from dpviz.accounting._law import ComplexArray

LONGEST = 2**22
"""The most nodes of a transform."""

_NEGLIGIBLE = -60.0
_ENORMOUS = 1e100  # an error with which no bound says anything


@dataclass(frozen=True)
class Power:
    """The tilted weights of the composition at `size` nodes, each with what lies whole periods away folded in."""

    weight: FloatArray
    """Shape (size,); may be below 0 by as much as the errors."""

    error: float
    """Bound of the error of each weight."""

    norm_error: float
    """Bound of the root of the sum of the squared errors."""

    @property
    def spread_error(self) -> float:
        """What to add to or take off each weight for its error, if that wastes less than `stray_error` does."""
        return self.error if self._is_even else 0.0

    @property
    def stray_error(self) -> float:
        """Bound of the sum of the errors that are not added or taken off."""
        return 0.0 if self._is_even else float(np.sqrt(self.weight.size)) * self.norm_error

    @property
    def _is_even(self) -> bool:
        return bool(np.sqrt(self.weight.size) * self.error < 4 * self.norm_error)  # stray weight may count for more


def transform_length(least: int) -> int:
    """Return 2^a, 3·2^a or 5·2^a, the least that will do; at least 10."""
    power = 1 << max(least - 1, 15).bit_length()
    return min(size for size in (power, power // 4 * 3, power // 8 * 5) if size >= least)


def composed(parts: Sequence[tuple[Weights, int]], *, first: int, size: int) -> Power:
    """Return the composition of all parts, each a number of times, at the nodes first, …, first + size − 1.

    Parameters
    ----------
    parts : sequence of (Weights, int)
        Tilted weights and counts.
    first, size : int
        Nodes of the composition.

    Returns
    -------
    Power
        Its error bounds hold for the weights given.

    References
    ----------
    Higham (2002), Section 24.1, for the error of the transform.
    """
    path = 8 * ROUNDING * (np.log2(size) + 2)
    bins = size // 2 + 1
    waves = [(*_spectrum(part, size, path), count) for part, count in parts]
    log_bound = np.zeros(bins)
    for wave, fault, count in waves:
        log_bound += count * (np.log(np.abs(wave) + fault) + 8 * ROUNDING)
    kept = np.flatnonzero(log_bound > _NEGLIGIBLE)
    log_size, angle, relative = np.zeros(kept.size), np.zeros(kept.size), np.zeros(kept.size)
    with np.errstate(divide="ignore", under="ignore", over="ignore"):
        for wave, fault, count in waves:
            modulus = np.abs(wave[kept])
            log_size += count * np.log(modulus)
            angle += count * np.angle(wave[kept])
            relative += count * (fault / modulus + ROUNDING * (32 + 2 * np.abs(np.log(modulus))))
        strength = np.where(relative < 1, np.exp(np.minimum(log_size, 300.0)), 0.0)
        lost = np.where(
            relative < 1,
            strength * (np.expm1(np.minimum(relative, 1.0)) + 8 * ROUNDING),
            np.exp(np.minimum(log_bound[kept], 300.0)),
        )
    whole = np.zeros(bins, dtype=np.complex128)
    whole[kept] = strength * np.exp(1j * angle)
    weight = np.roll(np.fft.irfft(whole, size), -(first % size))
    rest = float(np.exp(_NEGLIGIBLE))  # bounds what each bin that was not kept can hold
    twice = np.where(kept == 0, 1.0, 2.0)
    with np.errstate(over="ignore", under="ignore"):
        sup = np.sum(twice * (lost + 1.01 * path * strength)) / size + rest
        square = np.sum(twice * lost**2) / size + rest**2
        root = np.sqrt(square) + 1.01 * path * np.sqrt(np.sum(twice * strength**2) / size)
    return Power(weight, float(min(1.001 * sup, _ENORMOUS)), float(min(1.001 * root, _ENORMOUS)))


def _spectrum(part: Weights, size: int, path: float) -> tuple[ComplexArray, float]:
    """Return the transform of the weights folded into one period, and a bound of the error of each output."""
    place = part.index % size
    folded = np.bincount(place, part.weight, size)
    most = part.index.size // size + 2  # summands of one place
    return np.fft.rfft(folded), float(np.sum(part.weight)) * 1.01 * (path + most * ROUNDING) + 1e-300
