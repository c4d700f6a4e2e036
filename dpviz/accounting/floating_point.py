"""What finite precision does to noise: a naive double-precision Laplace release can name the true answer.

±b ln(k 2^{−53}) + f in float64 reaches only some float64, and which ones depends on f. An output that another
answer cannot give rules that answer out for certain, whatever epsilon says. The cure is noise on whole numbers
(`DiscreteLaplace`, `DiscreteGaussian`) or rounding the output to a coarse grid, as the snapping mechanism does.
"""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt

from dpviz.accounting import _checks as check
from dpviz.accounting._checks import BoolArray, FloatArray
from dpviz.accounting._random import Size, generator, lengths

_UNIFORM_BITS = 53
_WINDOW = 2
_MOST_BITS = 22
_EXACT = Context(prec=60)
_HALF = np.float16


def naive_laplace(rng: np.random.Generator, *, location: float, scale: float, size: Size) -> FloatArray:
    """Return releases as a textbook program draws them: ±scale · ln(k 2^−53) + location, k from 1 to 2^53.

    For demonstration: their low digits betray `location`.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness; the same state gives the same releases.
    location : float
        The true answer, query units, finite.
    scale : float
        Laplace scale b, query units, > 0.
    size : int or tuple of int
        Shape of the result.

    Returns
    -------
    ndarray, shape `size`
        Releases, query units.

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If `rng` is not a numpy Generator.

    References
    ----------
    Mironov (2012), Section 4. https://doi.org/10.1145/2382196.2382264

    Examples
    --------
    >>> naive_laplace(np.random.default_rng(1), location=1.0, scale=1.0, size=3).shape
    (3,)
    """
    centre, spread = _centre_and_spread(location, scale)
    source, shape = generator(rng), lengths(size)
    draw = source.integers(1, 2**_UNIFORM_BITS, shape, endpoint=True)
    sign = np.where(source.integers(0, 2, shape) == 1, 1.0, -1.0)
    return np.asarray(_output(draw, sign, centre, spread))


def is_attainable(output: npt.ArrayLike, *, location: float, scale: float) -> BoolArray:
    """Return whether `naive_laplace` at `location` can give each output at all; exact.

    The output rises or falls with k, so the k that comes nearest is found by bisection over all 2^53 of them, for
    each sign of the noise; its neighbours are tried too.

    Parameters
    ----------
    output : array_like
        Releases, query units, finite.
    location : float
        The answer that is put to the test, query units, finite.
    scale : float
        Laplace scale b, query units, > 0.

    Returns
    -------
    ndarray of bool
        False: whoever sees this output knows that the answer was not `location`.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Mironov (2012), Section 4.1. https://doi.org/10.1145/2382196.2382264

    Examples
    --------
    >>> seen = naive_laplace(np.random.default_rng(1), location=0.0, scale=1.0, size=1000)
    >>> float(is_attainable(seen, location=0.0, scale=1.0).mean())
    1.0
    >>> float(is_attainable(seen, location=1.0, scale=1.0).mean()) < 0.5
    True
    """
    centre, spread = _centre_and_spread(location, scale)
    seen = check.finite("output", output)
    flat = seen.ravel()
    found = _matches(flat, 1.0, centre, spread) | _matches(flat, -1.0, centre, spread)
    return found.reshape(seen.shape)


def attainable_fraction(
    rng: np.random.Generator, *, location: float, other_location: float, scale: float, size: int = 20_000
) -> float:
    """Return the simulated part of releases at `location` that `other_location` could have given too.

    One less this is, but for the error of the simulation, a lower bound of delta at every finite epsilon; real-valued
    Laplace noise would have 1 here.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of randomness; the same state gives the same number.
    location, other_location : float
        The answers on two neighbours, query units, finite.
    scale : float
        Laplace scale b, query units, > 0.
    size : int
        Number of simulated releases, >= 1; the standard error is at most 0.5/√size.

    Returns
    -------
    float
        A simulated proportion; an approximation, not a guarantee.

    Raises
    ------
    DomainError
        If an argument is out of its range.
    TypeError
        If `rng` is not a numpy Generator.

    References
    ----------
    Mironov (2012), Section 4. https://doi.org/10.1145/2382196.2382264

    Examples
    --------
    >>> part = attainable_fraction(np.random.default_rng(1), location=0.0, other_location=1.0, scale=1.0, size=5000)
    >>> 0.3 < part < 0.36
    True
    """
    draws = int(check.scalar("size", check.whole("size", size, 1)))
    check.scalar("other_location", check.finite("other_location", other_location))
    seen = naive_laplace(rng, location=location, scale=scale, size=draws)
    return float(is_attainable(seen, location=other_location, scale=scale).mean())


def float16_laplace_distinguishing_mass(
    *, location: float, other_location: float, scale: float, uniform_bits: int = 10
) -> float:
    """Return the probability under `location` of outputs impossible under `other_location`, in float16; exact.

    A toy small enough to count out: u = i/2^t for i = 1 … 2^t, the noise ±fl(b ln u) and the output fl(f + noise)
    are each rounded correctly to binary16. The result is delta at every finite epsilon.

    Parameters
    ----------
    location, other_location : float
        The answers on two neighbours, query units, finite; they enter as float64.
    scale : float
        Laplace scale b, query units, > 0.
    uniform_bits : int
        Number t of random bits of the uniform, from 1 to 22.

    Returns
    -------
    float
        Probability in [0, 1], a multiple of 2^{−(t+1)}.

    Raises
    ------
    DomainError
        If an argument is out of its range.

    References
    ----------
    Mironov (2012), Section 4, in a toy format. https://doi.org/10.1145/2382196.2382264

    Examples
    --------
    >>> float16_laplace_distinguishing_mass(location=0.0, other_location=1.0, scale=1.0)
    0.8046875
    """
    first, spread = _centre_and_spread(location, scale)
    second = check.scalar("other_location", check.finite("other_location", other_location))
    bits = int(check.scalar("uniform_bits", check.whole("uniform_bits", uniform_bits, 1, _MOST_BITS)))
    noise = _half_noise(spread, bits)
    both = np.concatenate([noise, -noise])
    possible = np.zeros(2**16, dtype=np.bool_)
    possible[_half_sum(second, both).view(np.uint16)] = True
    return float(np.mean(~possible[_half_sum(first, both).view(np.uint16)]))


def _centre_and_spread(location: float, scale: float) -> tuple[float, float]:
    centre = check.scalar("location", check.finite("location", location))
    return centre, check.scalar("scale", check.positive("scale", scale))


def _output(draw: npt.NDArray[np.int64], sign: FloatArray | float, centre: float, spread: float) -> FloatArray:
    """Return the release for each k: every step is one float64 operation, as in the program under attack."""
    with np.errstate(over="ignore", under="ignore"):
        noise = spread * np.log(np.ascontiguousarray(draw) * 2.0**-_UNIFORM_BITS)
        return np.asarray(centre + sign * noise)


def _matches(output: FloatArray, sign: float, centre: float, spread: float) -> BoolArray:
    """Return whether some k gives each output, with one sign of the noise."""
    low = np.ones(output.shape, dtype=np.int64)
    high = np.full(output.shape, 2**_UNIFORM_BITS, dtype=np.int64)
    for _ in range(_UNIFORM_BITS + 1):  # the least k with sign · release >= sign · output, which rises with k
        middle = (low + high) // 2
        beyond = sign * _output(middle, sign, centre, spread) < sign * output
        low, high = np.where(beyond, np.minimum(middle + 1, high), low), np.where(beyond, high, middle)
    found = np.zeros(output.shape, dtype=np.bool_)
    for step in range(-_WINDOW, _WINDOW + 1):
        near = np.clip(low + step, 1, 2**_UNIFORM_BITS)
        found |= _output(near, sign, centre, spread) == output
    return found


def _half_noise(scale: float, bits: int) -> npt.NDArray[np.float16]:
    """Return fl16(scale · ln(i/2^bits)) for i = 1 … 2^bits, correctly rounded.

    Float64 decides it but within a few of its own last bits of the middle between two float16: there, Decimal does.
    """
    count = np.arange(1, 2**bits + 1)
    with np.errstate(over="ignore", under="ignore"):
        noise = scale * np.log(count / 2**bits)
        slack = 8 * np.spacing(np.abs(noise))
        low, high = (noise - slack).astype(_HALF), (noise + slack).astype(_HALF)
    for at in np.flatnonzero(low != high):
        low[at] = _decided(Decimal(scale), int(count[at]), bits, float(low[at]), float(high[at]))
    return np.asarray(low)


def _decided(scale: Decimal, count: int, bits: int, low: float, high: float) -> float:
    """Return the one of two neighbouring float16 that scale · ln(count/2^bits) is nearer to."""
    exact = _EXACT.multiply(scale, _EXACT.ln(Decimal(count) / Decimal(2**bits)))
    step = 32.0 if np.isinf(low) else high - low
    middle = (Decimal(high) - Decimal(step) / 2) if np.isinf(low) else (Decimal(low) + Decimal(high)) / 2
    return low if exact < middle else high


def _half_sum(location: float, noise: npt.NDArray[np.float16]) -> npt.NDArray[np.float16]:
    """Return fl16(location + noise): the float64 sum is rounded to odd, so that rounding again is harmless."""
    wide = noise.astype(np.float64)
    finite = np.where(np.isfinite(wide), wide, 0.0)
    total = location + finite
    kept = total - location
    rest = (location - (total - kept)) + (finite - kept)
    is_even = (total.view(np.int64) & 1) == 0
    odd = np.where((rest != 0) & is_even, np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)), total)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.where(np.isfinite(wide), odd, wide).astype(_HALF) + _HALF(0))
