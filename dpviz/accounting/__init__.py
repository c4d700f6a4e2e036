"""Every number: mechanisms, what their releases cost together, and conversions; numpy and scipy.special."""

from dpviz.accounting._checks import DomainError
from dpviz.accounting.averaging import Noise, mean_mu, mean_sigma, simulate_means
from dpviz.accounting.composition import (
    advanced_bound,
    advanced_composition,
    basic_bound,
    basic_composition,
    exact_epsilon,
    improved_best_order,
    improved_bound,
    rdp_best_order,
    rdp_bound,
    rdp_bound_search,
)
from dpviz.accounting.conversion import rdp_to_epsilon, rdp_to_epsilon_improved
from dpviz.accounting.gaussian import (
    Gaussian,
    composed_mu,
    gaussian_beta,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_rdp,
)
from dpviz.accounting.laplace import (
    Laplace,
    calibrate_laplace,
    laplace_density,
    laplace_log_density,
    laplace_log_ratio,
    laplace_variance,
)
from dpviz.accounting.mechanism import Mechanism
from dpviz.accounting.tradeoff import (
    approximate_dp_tradeoff,
    gaussian_advantage,
    gaussian_tpr,
    gaussian_tradeoff,
    posterior_bound,
    threshold_errors,
)
from dpviz.accounting.verification import Witness, verify

__all__ = [
    "DomainError",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "Noise",
    "Witness",
    "advanced_bound",
    "advanced_composition",
    "approximate_dp_tradeoff",
    "basic_bound",
    "basic_composition",
    "calibrate_laplace",
    "composed_mu",
    "exact_epsilon",
    "gaussian_advantage",
    "gaussian_beta",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_log_delta",
    "gaussian_rdp",
    "gaussian_tpr",
    "gaussian_tradeoff",
    "improved_best_order",
    "improved_bound",
    "laplace_density",
    "laplace_log_density",
    "laplace_log_ratio",
    "laplace_variance",
    "mean_mu",
    "mean_sigma",
    "posterior_bound",
    "rdp_best_order",
    "rdp_bound",
    "rdp_bound_search",
    "rdp_to_epsilon",
    "rdp_to_epsilon_improved",
    "simulate_means",
    "threshold_errors",
    "verify",
]
