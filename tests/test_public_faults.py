"""Kinds of fault that other accountants were reported for, ruled out here; each test is named after its fault."""

import ast
import decimal
import doctest
import importlib
import inspect
import math
import pkgutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_ndtr

import dpviz
from dpviz import (
    Gaussian,
    Laplace,
    advanced_composition,
    basic_composition,
    calibrate_laplace,
    composed_mu,
    exact_epsilon,
    gaussian_advantage,
    gaussian_beta,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_rdp,
    improved_bound,
    rdp_bound,
    rdp_bound_search,
    rdp_to_epsilon_improved,
)
from dpviz.accounting import scales

ROOT = Path(dpviz.__file__).parent / "accounting"
MODULES = [
    importlib.import_module(module.name)
    for module in pkgutil.walk_packages([str(ROOT)], prefix="dpviz.accounting.")
    if "curves" not in module.name and module.name != scales.__name__
]

GOOD = {
    "epsilon": 0.5, "delta": 0.1, "mu": 1.0, "alpha": 0.3, "order": 2.0, "sigma": 2.0, "sensitivity": 1.0, "count": 3,
    "repeats": 3, "rdp": 0.5, "slack": 0.1, "fpr": 0.1, "prior": 0.2, "threshold": 0.5, "output": 0.5,
    "location": 0.0, "other": 1.0, "scale": 2.0, "pure_epsilon": 0.5, "composed_epsilon": 0.5, "composed_delta": 0.1,
    "correlation": 0.2, "confidence": 0.9, "mean": 1.0, "group_size": 2, "ones": 1, "zeros": 2, "prior_ones": 1.0,
    "prior_zeros": 1.0, "records": 3, "rho": 0.5, "sampling_probability": 0.1, "noise_multiplier": 2.0, "categories": 3,
    "respondents": 100, "observed": 40, "true_count": 40, "log_ratio": 0.5, "log_ratio_bound": 0.5, "tpr": 0.3,
    "publish_probability": 0.1, "entropy": 0.5, "half_width": 2.0, "coverage": 0.9, "probability": 0.3, "distance": 1.0,
    "bad_count": 3, "gap": 1.0, "failure_probability": 0.1, "output_count": 5, "optimum_count": 1, "shortfall": 1.0,
}  # fmt: skip
LEFT_OUT = ("noise", "direction")  # no numbers; each has a default
TAKE_OTHER_THINGS = {  # a generator, a function, a law, a list along an axis, a file: their own tests feed them badly
    "verify", "simulate_means", "simulate_answers", "naive_laplace", "attainable_fraction", "calibrate_gaussian_with",
    "least_noise", "largest_count", "largest_count_of", "rdp_optimal_epsilon", "rdp_optimal_delta", "ledger_rdp",
    "bayes_error_from_profile", "tradeoff_from_profile", "profile_from_tradeoff", "group_tradeoff", "true_positive_rate",
    "subsampled_tradeoff", "subsampled_piecewise_tradeoff", "hockey_stick_divergence", "kl_divergence",
    "total_variation", "jensen_shannon", "discrete_tradeoff", "convex_minorant", "symmetrized", "compose_mu",
    "compose_gaussian_tradeoffs", "tradeoff_from_guarantees", "basic_heterogeneous", "advanced_heterogeneous",
    "optimal_heterogeneous_delta", "optimal_heterogeneous_epsilon", "composed_heterogeneous_delta",
    "parallel_composition", "parallel_mu", "integer_order_bound", "float16_laplace_distinguishing_mass",
    "compare_reference", "read_reference", "calibrate_subsampled_gaussian", "calibrate_truncated_laplace",
}  # fmt: skip
FUNCTIONS = [
    value
    for name in dpviz.__all__
    if inspect.isfunction(value := getattr(dpviz, name)) and name not in TAKE_OTHER_THINGS
]
METHODS = [
    getattr(mechanism, name)
    for mechanism in (Gaussian(2.0), Laplace(2.0))
    for name in ("delta", "epsilon", "beta", "rdp")
]
CALLS = [*FUNCTIONS, *METHODS, Gaussian, Laplace]
ON_ARRAYS = [call for call in FUNCTIONS if call is not rdp_bound_search]  # it searches for one number
WHOLE = {"count", "repeats", "records", "group_size", "observed", "true_count", "ones"}


def numeric(call):
    return [name for name in inspect.signature(call).parameters if name not in LEFT_OUT]


def invoke(call, **changed):
    """Call with good arguments but those changed; the first natural argument by place."""
    positional, keyword = [], {}
    for name, parameter in inspect.signature(call).parameters.items():
        if name in LEFT_OUT:
            continue
        value = changed.get(name, GOOD[name])
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            keyword[name] = value
        else:
            positional.append(value)
    return call(*positional, **keyword)


def flat(result):
    return [float(value) for part in (result if isinstance(result, tuple) else (result,)) for value in np.ravel(part)]


every_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__qualname__)


@every_call
@pytest.mark.parametrize("value", [True, np.True_, "1", None, decimal.Decimal(1), 1j, [True], ["0.5"], {}], ids=repr)
def test_what_is_not_a_number_is_refused(call, value):
    for name in numeric(call):
        with pytest.raises(TypeError, match=name):
            invoke(call, **{name: value})


@every_call
def test_nan_is_refused_by_every_argument(call):
    for name in numeric(call):
        for value in (math.nan, np.float32("nan"), [0.5, math.nan], np.array([math.nan])):
            with pytest.raises((ValueError, TypeError), match=name) as caught:
                invoke(call, **{name: value})
            assert isinstance(caught.value, dpviz.DomainError) or call in (Gaussian, Laplace)


@every_call
def test_extreme_arguments_are_refused_or_give_a_number(call):
    extremes = (
        0,
        -0.0,
        1,
        -1,
        5e-324,
        1e-300,
        1e-20,
        1e20,
        1e300,
        1.7e308,
        math.inf,
        -math.inf,
        2**62,
        -(10**400),
    )
    for name in numeric(call):
        for value in (*extremes, np.int64(2**62), np.float32(1e-40)):
            try:
                result = invoke(call, **{name: value})
            except dpviz.DomainError as error:
                assert str(error.name) in str(error)  # noqa: PT017
                continue
            if call not in (Gaussian, Laplace):
                assert not any(math.isnan(number) for number in flat(result)), (name, value)


@pytest.mark.parametrize("call", FUNCTIONS, ids=lambda call: call.__name__)
def test_swapped_arguments_cannot_be_passed_by_place(call):
    kinds = [parameter.kind for parameter in inspect.signature(call).parameters.values()]
    assert all(kind is inspect.Parameter.KEYWORD_ONLY for kind in kinds[1:])


@every_call
def test_float32_and_integer_counts_are_taken(call):
    for name in numeric(call):
        assert invoke(call, **{name: np.float32(GOOD[name])}) is not None
    if "count" in numeric(call):
        assert invoke(call, count=np.int32(3)) == invoke(call, count=3)


def test_order_one_is_the_kl_divergence():
    assert gaussian_rdp(1.0, mu=1.0) == 0.5
    assert Laplace(1.0).rdp(1.0) == pytest.approx(math.exp(-1), rel=1e-15)
    assert Laplace(1.0).rdp(1 + 1e-8) == pytest.approx(Laplace(1.0).rdp(1.0), rel=1e-7)


def test_epsilon_is_never_negative_at_large_delta():
    delta = np.linspace(0.3, 1, 500)
    for epsilon in (
        gaussian_epsilon(delta, mu=1.0),
        improved_bound(count=1, sigma=1.0, delta=delta),
        Laplace(1.0).epsilon(delta),
        rdp_to_epsilon_improved(1.0, order=2.0, delta=delta),
    ):
        assert np.all(epsilon >= 0)
        assert np.all(np.diff(epsilon) <= 0)
    assert gaussian_epsilon(0.9, mu=1.0) == improved_bound(count=1, sigma=1.0, delta=0.9) == 0.0


def test_delta_zero_ends_at_once_with_infinity():
    start = time.perf_counter()
    assert gaussian_epsilon(0.0, mu=1.0) == rdp_bound(count=1, sigma=1.0, delta=0.0) == math.inf
    assert time.perf_counter() - start < 1


def test_zero_at_large_delta_is_right_and_stops_just_below_the_total_variation():
    total = gaussian_advantage(1e-6)
    assert gaussian_epsilon(1e-6, mu=1e-6) == 0.0
    assert gaussian_epsilon(total * (1 - 1e-12), mu=1e-6) > 0.0


def test_calibration_never_misses_its_target():
    epsilon = np.concatenate([[1.01], np.geomspace(1e-12, 1e17, 300)])
    scale = calibrate_laplace(epsilon)
    assert scale[0] == pytest.approx(0.990099, abs=1e-6)
    assert np.all(1 / scale <= epsilon)
    assert np.all(1 / scale >= epsilon * (1 - 1e-15))


def test_known_calibrated_noise_gives_its_epsilon():
    for epsilon, delta, count, sigma in (
        (0.1, 1e-5, 60, 238.185),
        (0.01, 1e-5, 1, 243.7854377),
        (1.0, 1e-6, 1, 4.22467888932684),
        (10.0, 1e-6, 1, 0.541087),
    ):
        assert exact_epsilon(count=count, sigma=sigma, delta=delta) == pytest.approx(epsilon, rel=3e-6)
    assert gaussian_delta(10.0, mu=1 / 0.529880) == pytest.approx(1.902e-6, rel=1e-3)


def test_gaussians_held_as_curves_compose():
    assert exact_epsilon(count=60, sigma=20.0, delta=1 / 500) == pytest.approx(0.902939643, rel=1e-9)
    assert exact_epsilon(count=1, sigma=20.0, delta=1 / 500) == pytest.approx(0.06879641015, rel=1e-9)


def test_tiny_and_huge_sigma_neither_overflow_nor_turn_nan():
    assert exact_epsilon(count=1, sigma=1e-3, delta=1e-6) == pytest.approx(504752.426678359308, rel=1e-14)
    assert rdp_bound(count=1, sigma=1e-20, delta=1e-6) == pytest.approx(5e39, rel=1e-12)
    assert exact_epsilon(count=1, sigma=1e-200, delta=1e-6) == math.inf
    assert exact_epsilon(count=1, sigma=1e200, delta=1e-250) > 0.0
    assert exact_epsilon(count=1, sigma=1e200, delta=1e-6) == 0.0
    assert composed_mu(sigma=1.0, sensitivity=1e308, count=10) == math.inf
    for sigma in (0.0, -1.0, math.inf):
        with pytest.raises(dpviz.DomainError):
            Gaussian(sigma=sigma)


def test_noise_too_large_for_a_float_is_still_not_perfect_privacy():
    mu = composed_mu(sigma=1e300, sensitivity=1e-300)
    assert mu > 0
    assert gaussian_epsilon(0.0, mu=mu) == math.inf


def test_epsilon_to_the_ends_of_its_scale():
    sigma = np.geomspace(1e-3, 1e6, 200)[:, None, None]
    delta = np.array([1e-300, 1e-100, 1e-12, 1e-6, 0.1])[:, None]
    epsilon = exact_epsilon(count=np.array([1, 10**3, 10**9]), sigma=sigma, delta=delta)
    assert np.all(np.isfinite(epsilon) & (epsilon >= 0))
    mu = composed_mu(sigma=sigma, count=np.array([1, 10**3, 10**9]))
    is_steady = (epsilon > 1e-6 * mu) & (epsilon < 1e10)
    read_back = np.broadcast_to(gaussian_log_delta(epsilon, mu=mu) / np.log(delta), epsilon.shape)
    slip = 1e-13 + 4e-16 * epsilon / mu * np.maximum(epsilon / mu, 1)  # the last digit of epsilon, seen in log delta
    assert np.all(np.abs(read_back - 1)[is_steady] <= slip[is_steady])


def test_log_of_a_probability_near_one_keeps_its_digits():
    assert log_ndtr(5.5) == pytest.approx(-1.898956264618946e-08, rel=1e-12)
    assert gaussian_log_delta(3.0, mu=8.0) == pytest.approx(-2.66468051594008636e-4, rel=1e-14)


def test_probabilities_below_the_normal_range_are_taken():
    assert 0 < gaussian_beta(1e-320, mu=40.0) < 1
    assert math.isfinite(gaussian_epsilon(1e-320, mu=1.0))
    assert gaussian_log_delta(gaussian_epsilon(1e-200, mu=0.1), mu=0.1) == pytest.approx(-200 * math.log(10))


def test_fixed_lists_of_orders_fail_at_tiny_cost_but_ours_does_not():
    here = {"count": 1, "sigma": 1e6, "delta": 1e-300}
    searched, order = rdp_bound_search(**here)
    assert order > 1e7
    assert searched <= rdp_bound(**here) * (1 + 1e-7)


def test_advanced_composition_can_cost_more_than_addition():
    advanced = advanced_composition(1.0, count=500, slack=1e-5)
    added, _ = basic_composition(1.0, delta=0.0, count=500)
    assert advanced == pytest.approx(966.4392, abs=1e-4)
    assert min(advanced, added) == 500.0


def test_the_slack_enters_advanced_composition_by_its_log():
    spread = advanced_composition(0.1, count=10, slack=1e-6) - 10 * 0.1 * math.expm1(0.1)
    assert spread == pytest.approx(1.66226, abs=1e-5)


def test_replacing_a_record_moves_the_sum_twice_as_far():
    added, replaced = Gaussian(sigma=4.0, sensitivity=1.0), Gaussian(sigma=4.0, sensitivity=2.0)
    assert replaced.rdp(2.0) == 4 * added.rdp(2.0)
    assert replaced.mu == Gaussian(sigma=2.0).mu
    assert (round(added.epsilon(1e-6), 4), round(replaced.epsilon(1e-6), 4)) == (1.0607, 2.2541)


def test_the_docstrings_say_which_neighbours_the_sensitivity_is_for():
    for call in [Gaussian, Laplace, *FUNCTIONS]:
        if "sensitivity" in inspect.signature(call).parameters:
            text = (call.__doc__ or "") + (sys.modules[call.__module__].__doc__ or "")
            assert "declared neighbouring relation" in " ".join(text.split()), call
    assert "2C when one is replaced" in " ".join((Gaussian.__doc__ or "").split())


def test_sensitivity_zero_costs_nothing_and_divides_nothing():
    silent = Gaussian(sigma=1.0, sensitivity=0.0)
    assert (silent.mu, silent.epsilon(0.0), silent.delta(0.0), silent.rdp(2.0)) == (0.0, 0.0, 0.0, 0.0)
    assert silent.beta([0.0, 0.25, 1.0]).tolist() == [1.0, 0.75, 0.0]


def test_epsilon_zero_is_no_switch_that_turns_privacy_off():
    with pytest.raises(dpviz.DomainError, match="epsilon must be a finite number > 0, but got 0"):
        calibrate_laplace(0)
    assert Gaussian(1.0).delta(0.0) == pytest.approx(0.3829249, rel=1e-6)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_no_number_is_replaced_because_it_is_falsy(module):
    """`x or default` turns an honest 0 into something else; `assert` vanishes under -O."""
    tree = ast.parse(inspect.getsource(module))
    asked = [node.test for node in ast.walk(tree) if isinstance(node, ast.If | ast.While | ast.IfExp)]
    in_question = {id(node) for test in asked for node in ast.walk(test)}
    checks = [node for node in ast.walk(tree) if isinstance(node, ast.BoolOp) and id(node) not in in_question]
    for value in (value for node in checks for value in node.values):
        is_named_so = isinstance(value, ast.Name) and value.id.startswith("is_")
        assert is_named_so or isinstance(value, ast.Compare | ast.Call | ast.UnaryOp | ast.BoolOp), ast.unparse(value)
    assert not any(isinstance(node, ast.Assert) for node in ast.walk(tree))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_docstring_examples_run(module):
    result = doctest.testmod(module)
    assert result.failed == 0


@pytest.mark.parametrize("call", [*FUNCTIONS, dpviz.simulate_means, dpviz.verify], ids=lambda call: call.__name__)
def test_every_public_function_has_an_example_and_a_source(call):
    text = inspect.getdoc(call) or ""
    for section in ("Returns\n---", "References\n---", "Examples\n---", ">>> "):
        assert section in text, section


def test_samplers_say_that_they_are_not_for_release():
    assert "not for release" in " ".join((dpviz.simulate_means.__doc__ or "").split())


def test_reading_twice_gives_the_same_and_changes_no_argument():
    delta = np.array([1e-9, 1e-6])
    before = delta.copy()
    assert gaussian_epsilon(delta, mu=1.0).tolist() == gaussian_epsilon(delta, mu=1.0).tolist()
    assert delta.tolist() == before.tolist()


def test_results_are_fresh_and_writable_arrays():
    for call in ON_ARRAYS:
        name = numeric(call)[0]
        result = invoke(call, **{name: np.array([GOOD[name]] * 2)})
        for part in result if isinstance(result, tuple) else (result,):
            assert part.dtype in (np.float64, np.bool_)
            part[...] = 0


def test_the_import_brings_in_nothing_heavy():
    script = (
        "import sys, dpviz; "
        "print(sorted({'scipy.optimize', 'scipy.stats', 'plotly', 'ipywidgets', 'mpmath', 'IPython'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("call", ON_ARRAYS, ids=lambda call: call.__name__)
def test_a_curve_in_one_call_says_what_its_points_say(call):
    name = numeric(call)[0]
    curve = np.arange(1, 8) if name in WHOLE else np.linspace(GOOD[name], GOOD[name] * 1.1, 7)
    whole = invoke(call, **{name: curve})
    for index, at in enumerate(curve.tolist()):
        points = flat(invoke(call, **{name: at}))
        for part, point in zip(whole if isinstance(whole, tuple) else (whole,), points, strict=True):
            assert np.shape(part) == np.shape(curve)
            assert part[index] == pytest.approx(point, rel=1e-12, abs=1e-300)
