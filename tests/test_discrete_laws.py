import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import rel_entr

from dpviz.accounting._checks import DomainError
from dpviz.accounting.discrete_laws import jensen_shannon, kl_divergence, total_variation
from dpviz.accounting.information import binary_entropy

LAWS = st.lists(st.floats(1e-6, 1), min_size=4, max_size=4).map(lambda x: np.array(x) / sum(x))


def exact(law):
    total = sum(mpmath.mpf(x) for x in law)
    return [mpmath.mpf(x) / total for x in law]


@given(LAWS, LAWS)
def test_divergences_in_many_digits(law, other):
    with mpmath.workdps(40):
        p, q = exact(law), exact(other)
        kl = sum(a * mpmath.log(a / b) for a, b in zip(p, q, strict=True))
        m = [(a + 3 * b) / 4 for a, b in zip(p, q, strict=True)]
        js = sum(a * mpmath.log(a / c) + 3 * b * mpmath.log(b / c) for a, b, c in zip(p, q, m, strict=True)) / 4
        assert kl_divergence(law, reference=other) == pytest.approx(float(kl), rel=1e-12, abs=1e-15)
        assert jensen_shannon(law, other=other, prior=0.25) == pytest.approx(float(js), rel=1e-12, abs=1e-15)
    assert kl_divergence(law, reference=other) == pytest.approx(rel_entr(law, other).sum(), rel=1e-6, abs=1e-9)


def test_close_laws_keep_their_digits():
    for power in range(1, 60, 3):
        lean = 2.0**-power / 4
        p, q = [0.25 + lean, 0.75 - lean], [0.25, 0.75]
        with mpmath.workdps(80):
            a, b = (mpmath.mpf(x) for x in p)
            truth = a * mpmath.log(4 * a) + b * mpmath.log(4 * b / 3)
            if a + b == 1 and p != q:
                assert abs(kl_divergence(p, reference=q) - truth) <= 2e-15 * truth
                assert total_variation(p, other=q) == lean


@given(LAWS, LAWS)
def test_laws_of_divergences(law, other):
    kl, tv = kl_divergence(law, reference=other), total_variation(law, other=other)
    js = jensen_shannon(law, other=other)
    assert kl >= 2 * tv**2 - 1e-12  # Pinsker
    assert tv**2 / 2 - 1e-12 <= js <= math.log(2) * tv + 1e-12
    assert js == pytest.approx(jensen_shannon(other, other=law), rel=1e-12, abs=1e-18)
    assert jensen_shannon(law, other=other, prior=0.3) <= binary_entropy(0.3)
    assert kl_divergence(law, reference=law) == total_variation(law, other=law) == 0


def test_ends_and_shapes():
    assert kl_divergence([1.0, 0.0], reference=[0.0, 1.0]) == math.inf
    assert kl_divergence([1.0, 0.0], reference=[0.5, 0.5]) == pytest.approx(math.log(2), rel=1e-15)
    assert total_variation([1.0, 0.0], other=[0.0, 1.0]) == 1
    assert jensen_shannon([1.0, 0.0], other=[0.0, 1.0]) == pytest.approx(math.log(2), rel=1e-15)
    assert jensen_shannon([1.0, 0.0], other=[0.0, 1.0], prior=[0.0, 1.0]).tolist() == [0, 0]
    assert kl_divergence([[0.5, 0.5], [0.1, 0.9]], reference=[0.5, 0.5]).shape == (2,)
    assert kl_divergence([1e-300, 1.0], reference=[0.0, 1.0]) == math.inf
    assert kl_divergence([1.0, 0.0], reference=[5e-324, 1.0]) == pytest.approx(-math.log(5e-324), rel=1e-14)


def test_what_is_wrong_is_refused():
    with pytest.raises(DomainError, match=r"law must be probabilities that sum to 1, but got 1\.1"):
        kl_divergence([0.5, 0.6], reference=[0.5, 0.5])
    with pytest.raises(DomainError, match="reference"):
        kl_divergence([0.5, 0.5], reference=[-0.5, 1.5])
    with pytest.raises(DomainError, match="other must be a law over as many outputs as law, 2"):
        total_variation([0.5, 0.5], other=[0.2, 0.3, 0.5])
