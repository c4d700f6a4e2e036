"""The normal law at high precision, for tests."""

import mpmath
from mpmath import mpf
from scipy.special import ndtri


def cdf(x):
    """Return Φ(x), small tails included."""
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def quantile(probability):
    """Return Φ⁻¹ of the number given, by Newton steps on log Φ."""
    x, target = mpf(float(ndtri(float(probability)))), mpmath.log(mpf(probability))
    for _ in range(7):
        head = cdf(x)
        x -= (mpmath.log(head) - target) * head / mpmath.npdf(x)
    return x


def relative(computed, truth):
    """Return |computed/truth − 1| at the working precision, as a float."""
    return float(abs(mpf(float(computed)) / truth - 1))
