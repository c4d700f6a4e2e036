"""The quantities that a file of reference values may name, and the function of ours that gives each.

The inputs bear the short symbols of formulas: `eps` is epsilon, `eps0` the pure epsilon of one release, `Delta` the
sensitivity, `k` or `T` the count of releases, `q` the sampling probability, `mech` a mechanism of a ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from dpviz.accounting.approximate import (
    ApproximateDP,
)
from dpviz.accounting.attack import (
    approximate_dp_advantage,
    gaussian_bayes_error,
    gaussian_positive_predictive_value,
)
from dpviz.accounting.calibration import (
    calibrate_gaussian,
)
from dpviz.accounting.classical_gaussian import (
    classical_gaussian_limit,
    classical_gaussian_sigma,
)
from dpviz.accounting.composition import (
    exact_epsilon,
)
from dpviz.accounting.conversion import (
    rdp_to_epsilon,
    rdp_to_epsilon_improved,
)
from dpviz.accounting.correlated_noise import (
    correlated_mean_sigma,
    mean_epsilon,
    mean_variance,
)
from dpviz.accounting.discrete_gaussian import (
    discrete_gaussian_delta,
    discrete_gaussian_normalizer,
    discrete_gaussian_variance,
)
from dpviz.accounting.discrete_laplace import (
    discrete_laplace_variance,
)
from dpviz.accounting.exponential import (
    exponential_bad_mass,
)
from dpviz.accounting.floating_point import (
    float16_laplace_distinguishing_mass,
)
from dpviz.accounting.gaussian import Gaussian, gaussian_delta, gaussian_log_delta
from dpviz.accounting.gaussian_mu import compose_mu
from dpviz.accounting.guarantees import (
    advanced_composition,
    kairouz_composition,
    zcdp_composition,
)
from dpviz.accounting.heterogeneous import (
    optimal_heterogeneous_delta,
)
from dpviz.accounting.information import (
    gaussian_binary_mutual_information,
    pure_dp_max_kl,
    randomized_response_mutual_information,
)
from dpviz.accounting.laplace import (
    Laplace,
    laplace_delta,
    laplace_rdp,
    laplace_tradeoff,
)
from dpviz.accounting.laplace_composition import (
    laplace_composed_delta,
)
from dpviz.accounting.laplace_noise import (
    laplace_log_ratio,
)
from dpviz.accounting.limit import (
    laplace_limit_error,
    laplace_limit_mu,
    poisson_limit_mu,
    without_replacement_limit_mu,
)
from dpviz.accounting.optimal import (
    optimal_composition_delta,
    optimal_composition_epsilon,
)
from dpviz.accounting.parallel import (
    group_privacy,
)
from dpviz.accounting.privacy_loss import (
    Composition,
)
from dpviz.accounting.randomized_response import (
    RandomizedResponse,
    randomized_response_rdp,
)
from dpviz.accounting.relation import (
    Direction,
)
from dpviz.accounting.renyi_bounds import (
    improved_bound,
    rdp_best_order,
    rdp_bound,
)
from dpviz.accounting.staircase import (
    staircase_gamma_l2,
    staircase_min_abs_error,
    staircase_min_variance,
)
from dpviz.accounting.subsampled import (
    SubsampledGaussian,
    subsampled_gaussian_delta,
    subsampled_gaussian_rdp,
)
from dpviz.accounting.subsampled_tradeoff import (
    subsampled_gaussian_tradeoff,
)
from dpviz.accounting.tradeoff import (
    approximate_dp_tradeoff,
    gaussian_advantage,
    gaussian_tradeoff,
    posterior_bound,
)
from dpviz.accounting.zcdp import (
    zcdp_to_epsilon,
)

Inputs = Mapping[str, Any]


def _releases(given: Inputs) -> dict[str, Any]:
    """Return the keywords of the ladder of Gaussian releases."""
    return {"count": given["k"], "sigma": given["sigma"], "sensitivity": given["Delta"], "delta": given["delta"]}


def _mean(given: Inputs) -> dict[str, Any]:
    return {"sigma": given["sigma"], "repeats": given["r"], "correlation": given.get("rho", 0)}


def _step(given: Inputs) -> dict[str, Any]:
    return {"sampling_probability": given["q"], "noise_multiplier": given["sigma"]}


def _composed_mu(given: Inputs) -> float:
    mus = given["mus"]
    if isinstance(mus, dict):
        return float(compose_mu([mus["value"]], counts=[mus["count"]]))
    return float(compose_mu(mus))


def _laplace(given: Inputs) -> Composition:
    return Composition(((Laplace(scale=1.0, sensitivity=given["eps0"]), given["k"]),))


def _laplace_delta(given: Inputs) -> float:
    """Return delta of k Laplace releases, at a loss of either sign."""
    if given["eps"] < 0:
        return float(laplace_composed_delta(given["eps"], pure_epsilon=given["eps0"], count=given["k"]))
    return float(_laplace(given).delta(given["eps"]))


def _steps(given: Inputs) -> Composition:
    return Composition(((SubsampledGaussian(given["sigma"], sampling_probability=given["q"]), given["k"]),))


def _steps_delta(given: Inputs) -> float:
    """Return delta of k subsampled steps in the direction asked for, else in the worse one."""
    direction = given.get("direction")
    if direction is None:
        return float(_steps(given).delta(given["eps"]))
    if given["k"] == 1:
        return float(subsampled_gaussian_delta(given["eps"], **_step(given), direction=Direction(direction)))
    return float(_steps(given).directed_delta(given["eps"], direction=Direction(direction)))


MECHANISMS: Mapping[str, Callable[[Inputs], Any]] = MappingProxyType(
    {
        "gaussian": lambda part: Gaussian(sigma=1.0, sensitivity=part["mu"]),
        "laplace": lambda part: Laplace(scale=1.0, sensitivity=part["eps0"]),
        "randomized_response": lambda part: RandomizedResponse(part["eps0"]),
        "approximate_dp": lambda part: ApproximateDP(epsilon=part["eps"], delta=part["delta"]),
        "subsampled_gaussian": lambda part: SubsampledGaussian(part["sigma"], sampling_probability=part["q"]),
    }
)
"""The mechanisms that a ledger may name."""


def _ledger(given: Inputs) -> Composition:
    parts = given["ledger"]
    if not (isinstance(parts, list) and all(isinstance(part, dict) for part in parts)):
        raise ValueError(f"ledger must be a list of objects, but got {parts!r}")
    for part in parts:
        if part["mech"] not in MECHANISMS:
            raise ValueError(f"mech must be one of {', '.join(MECHANISMS)}, but got {part['mech']!r}")
    return Composition(tuple((MECHANISMS[part["mech"]](part), part.get("count", 1)) for part in parts))


QUANTITIES: Mapping[str, Callable[[Inputs], float]] = MappingProxyType(
    {
        "gaussian_delta": lambda g: gaussian_delta(g["eps"], mu=g["mu"]),
        "gaussian_log_delta": lambda g: gaussian_log_delta(g["eps"], mu=g["mu"]),
        "gaussian_eps": lambda g: exact_epsilon(**_releases(g)),
        "gaussian_sigma": lambda g: calibrate_gaussian(
            g["eps"], delta=g["delta"], count=g["k"], sensitivity=g["Delta"]
        ),
        "gaussian_sigma_classic": lambda g: classical_gaussian_sigma(
            g["eps"], delta=g["delta"], sensitivity=g["Delta"]
        ),
        "classic_gaussian_critical_eps": lambda g: classical_gaussian_limit(g["delta"]),
        "rdp_closed_bound": lambda g: rdp_bound(**_releases(g)),
        "rdp_closed_bound_alpha": lambda g: rdp_best_order(**_releases(g)),
        "rdp_to_dp_cks_opt": lambda g: improved_bound(**_releases(g)),
        "rdp_to_dp_mironov": lambda g: rdp_to_epsilon(g["rdp"], order=g["alpha"], delta=g["delta"]),
        "rdp_to_dp_cks": lambda g: rdp_to_epsilon_improved(g["rdp"], order=g["alpha"], delta=g["delta"]),
        "zcdp_to_dp": lambda g: zcdp_to_epsilon(g["rho"], delta=g["delta"]),
        "laplace_log_density_ratio": lambda g: laplace_log_ratio(g["x"], location=g["f0"], other=g["f1"], scale=g["b"]),
        "laplace_delta": lambda g: laplace_delta(g["eps"], pure_epsilon=g["eps0"]),
        "laplace_rdp": lambda g: laplace_rdp(g["alpha"], pure_epsilon=g["eps0"]),
        "laplace_tradeoff": lambda g: laplace_tradeoff(g["alpha"], pure_epsilon=g["eps0"]),
        "laplace_kfold_delta": _laplace_delta,
        "laplace_kfold_eps": lambda g: _laplace(g).epsilon(g["delta"]),
        "laplace_kfold_tradeoff": lambda g: _laplace(g).beta(g["alpha"]),
        "optimal_composition_delta": lambda g: optimal_composition_delta(
            g["eps_g"], epsilon=g["eps"], delta=g.get("delta", 0), count=g["k"]
        ),
        "optimal_composition_eps": lambda g: optimal_composition_epsilon(
            g["delta_g"], epsilon=g["eps"], delta=g.get("delta", 0), count=g["k"]
        ),
        "optimal_composition_hetero_delta": lambda g: optimal_heterogeneous_delta(
            g["eps_g"], epsilons=g["eps_list"], deltas=g.get("delta_list", 0.0)
        ),
        "advanced_zcdp": lambda g: zcdp_composition(g["eps"], count=g["k"], slack=g["delta_prime"]),
        "advanced_kov34": lambda g: kairouz_composition(g["eps"], count=g["k"], slack=g["delta_tilde"])[0],
        "advanced_drv": lambda g: advanced_composition(g["eps"], count=g["k"], slack=g["delta_prime"]),
        "gdp_tradeoff": lambda g: gaussian_tradeoff(g["alpha"], mu=g["mu"]),
        "f_eps_delta": lambda g: approximate_dp_tradeoff(g["alpha"], epsilon=g["eps"], delta=g["delta"]),
        "subsampled_gdp_tradeoff": lambda g: subsampled_gaussian_tradeoff(
            g["alpha"], sampling_probability=g["p"], mu=g["mu"]
        ),
        "gdp_compose_mu": _composed_mu,
        "clt_mu_laplace": lambda g: laplace_limit_mu(pure_epsilon=g["eps0"], count=g["k"]),
        "clt_gamma_laplace": lambda g: laplace_limit_error(pure_epsilon=g["eps0"], count=g["k"]),
        "clt_mu_dpsgd_poisson": lambda g: poisson_limit_mu(**_step(g), count=g["T"]),
        "clt_mu_dpsgd_wor": lambda g: without_replacement_limit_mu(**_step(g), count=g["T"]),
        "group_privacy_delta": lambda g: group_privacy(g["eps"], delta=g["delta"], group_size=g["k"])[1],
        "psg_rdp": lambda g: subsampled_gaussian_rdp(g["alpha"], **_step(g)),
        "psg_rdp_add_direction": lambda g: subsampled_gaussian_rdp(g["alpha"], **_step(g), direction=Direction.ADD),
        "psg_kfold_delta": _steps_delta,
        "psg_kfold_eps": lambda g: _steps(g).epsilon(g["delta"]),
        "ledger_delta": lambda g: _ledger(g).delta(g["eps"]),
        "rr_rdp": lambda g: randomized_response_rdp(g["alpha"], pure_epsilon=g["eps0"]),
        "mean_noise_sd": lambda g: correlated_mean_sigma(**_mean(g)),
        "mean_noise_variance": lambda g: mean_variance(**_mean(g)),
        "mean_release_eps": lambda g: mean_epsilon(g["delta"], **_mean(g), sensitivity=g["Delta"]),
        "gdp_bayes_error": lambda g: gaussian_bayes_error(g["mu"], prior=g["prior_h1"]),
        "gdp_advantage": lambda g: gaussian_advantage(g["mu"]),
        "gdp_attack_ppv": lambda g: gaussian_positive_predictive_value(g["fpr"], mu=g["mu"], prior=g["prior_h1"]),
        "pure_dp_posterior_bound": lambda g: posterior_bound(g["prior"], epsilon=g["eps"]),
        "adp_advantage_bound": lambda g: approximate_dp_advantage(g["eps"], delta=g["delta"]),
        "staircase_min_variance": lambda g: staircase_min_variance(g["eps"], sensitivity=g["Delta"]),
        "staircase_gamma_l2": lambda g: staircase_gamma_l2(g["eps"]),
        "staircase_min_abs_error": lambda g: staircase_min_abs_error(g["eps"], sensitivity=g["Delta"]),
        "discrete_laplace_variance": lambda g: discrete_laplace_variance(g["eps"], sensitivity=g["Delta"]),
        "discrete_gaussian_normalizer": lambda g: discrete_gaussian_normalizer(g["sigma"]),
        "discrete_gaussian_variance": lambda g: discrete_gaussian_variance(g["sigma"]),
        "discrete_gaussian_delta": lambda g: discrete_gaussian_delta(
            g["eps"], sigma=g["sigma"], sensitivity=g["Delta"]
        ),
        "expmech_bad_mass": lambda g: exponential_bad_mass(
            epsilon=g["eps"], bad_count=g["n_bad"], gap=g["gap"], sensitivity=g["du"]
        ),
        "gdp_binary_mutual_information_nats": lambda g: gaussian_binary_mutual_information(g["mu"], prior=g["prior"]),
        "pure_dp_max_kl": lambda g: pure_dp_max_kl(g["eps"]),
        "rr_binary_mutual_information_nats": lambda g: randomized_response_mutual_information(
            g["eps"], prior=g["prior"]
        ),
        "float16_laplace_distinguishing_mass": lambda g: float16_laplace_distinguishing_mass(
            location=g["f0"], other_location=g["f1"], scale=g["b"], uniform_bits=g["uniform_bits"]
        ),
    }
)
"""Name of a quantity, and the function of its inputs that gives it."""
