"""The names of the ground floor and the modules they live in; `__init__.py` loads each when it is first used."""

from dpviz.accounting._checks import (
    DomainError as DomainError,
)
from dpviz.accounting.accuracy import (
    scale_for_accuracy as scale_for_accuracy,
    sigma_for_accuracy as sigma_for_accuracy,
)
from dpviz.accounting.approximate import (
    ApproximateDP as ApproximateDP,
    PureDP as PureDP,
)
from dpviz.accounting.attack import (
    approximate_dp_advantage as approximate_dp_advantage,
    approximate_dp_bayes_error as approximate_dp_bayes_error,
    approximate_dp_tpr as approximate_dp_tpr,
    bayes_error_from_profile as bayes_error_from_profile,
    gaussian_bayes_error as gaussian_bayes_error,
    gaussian_positive_predictive_value as gaussian_positive_predictive_value,
    positive_predictive_value as positive_predictive_value,
    true_positive_rate as true_positive_rate,
)
from dpviz.accounting.averaging import (
    Noise as Noise,
    mean_mu as mean_mu,
    mean_sigma as mean_sigma,
    simulate_means as simulate_means,
)
from dpviz.accounting.calibration import (
    calibrate_gaussian as calibrate_gaussian,
    calibrate_gaussian_with as calibrate_gaussian_with,
    largest_count as largest_count,
    least_noise as least_noise,
)
from dpviz.accounting.classical_gaussian import (
    classical_gaussian_delta as classical_gaussian_delta,
    classical_gaussian_limit as classical_gaussian_limit,
    classical_gaussian_sigma as classical_gaussian_sigma,
)
from dpviz.accounting.composition import (
    advanced_bound as advanced_bound,
    basic_bound as basic_bound,
    exact_epsilon as exact_epsilon,
    kairouz_bound as kairouz_bound,
    optimal_bound as optimal_bound,
    zcdp_bound as zcdp_bound,
)
from dpviz.accounting.conversion import (
    rdp_to_delta as rdp_to_delta,
    rdp_to_delta_improved as rdp_to_delta_improved,
    rdp_to_epsilon as rdp_to_epsilon,
    rdp_to_epsilon_improved as rdp_to_epsilon_improved,
)
from dpviz.accounting.correlated_noise import (
    correlated_mean_mu as correlated_mean_mu,
    correlated_mean_sigma as correlated_mean_sigma,
    mean_confidence_interval as mean_confidence_interval,
    mean_epsilon as mean_epsilon,
    mean_variance as mean_variance,
    simulate_answers as simulate_answers,
)
from dpviz.accounting.discrete_gaussian import (
    discrete_gaussian_delta as discrete_gaussian_delta,
    discrete_gaussian_epsilon as discrete_gaussian_epsilon,
    discrete_gaussian_log_delta as discrete_gaussian_log_delta,
    discrete_gaussian_normalizer as discrete_gaussian_normalizer,
    discrete_gaussian_variance as discrete_gaussian_variance,
)
from dpviz.accounting.discrete_gaussian_mechanism import (
    DiscreteGaussian as DiscreteGaussian,
)
from dpviz.accounting.discrete_laplace import (
    DiscreteLaplace as DiscreteLaplace,
    discrete_laplace_variance as discrete_laplace_variance,
)
from dpviz.accounting.discrete_laws import (
    jensen_shannon as jensen_shannon,
    kl_divergence as kl_divergence,
    total_variation as total_variation,
)
from dpviz.accounting.exponential import (
    exponential_bad_mass as exponential_bad_mass,
    exponential_shortfall_bound as exponential_shortfall_bound,
    exponential_utility_bound as exponential_utility_bound,
)
from dpviz.accounting.exponential_mechanism import (
    ExponentialMechanism as ExponentialMechanism,
)
from dpviz.accounting.floating_point import (
    attainable_fraction as attainable_fraction,
    float16_laplace_distinguishing_mass as float16_laplace_distinguishing_mass,
    is_attainable as is_attainable,
    naive_laplace as naive_laplace,
)
from dpviz.accounting.gaussian import (
    Gaussian as Gaussian,
    gaussian_beta as gaussian_beta,
    gaussian_delta as gaussian_delta,
    gaussian_epsilon as gaussian_epsilon,
    gaussian_log_delta as gaussian_log_delta,
    gaussian_rdp as gaussian_rdp,
    gaussian_zcdp as gaussian_zcdp,
)
from dpviz.accounting.gaussian_mu import (
    compose_mu as compose_mu,
    composed_mu as composed_mu,
    gaussian_group_mu as gaussian_group_mu,
)
from dpviz.accounting.guarantees import (
    advanced_composition as advanced_composition,
    basic_composition as basic_composition,
    composed_delta as composed_delta,
    kairouz_composition as kairouz_composition,
    largest_count_of as largest_count_of,
    zcdp_composition as zcdp_composition,
)
from dpviz.accounting.heterogeneous import (
    advanced_heterogeneous as advanced_heterogeneous,
    basic_heterogeneous as basic_heterogeneous,
    composed_heterogeneous_delta as composed_heterogeneous_delta,
    optimal_heterogeneous_delta as optimal_heterogeneous_delta,
    optimal_heterogeneous_epsilon as optimal_heterogeneous_epsilon,
)
from dpviz.accounting.information import (
    binary_entropy as binary_entropy,
    gaussian_binary_mutual_information as gaussian_binary_mutual_information,
    laplace_binary_mutual_information as laplace_binary_mutual_information,
    posterior_from_log_ratio as posterior_from_log_ratio,
    publication_mutual_information as publication_mutual_information,
    pure_dp_information_bound as pure_dp_information_bound,
    pure_dp_information_bound_independent as pure_dp_information_bound_independent,
    pure_dp_max_kl as pure_dp_max_kl,
    randomized_response_mutual_information as randomized_response_mutual_information,
)
from dpviz.accounting.laplace import (
    Laplace as Laplace,
    calibrate_laplace as calibrate_laplace,
    laplace_delta as laplace_delta,
    laplace_epsilon as laplace_epsilon,
    laplace_rdp as laplace_rdp,
    laplace_tradeoff as laplace_tradeoff,
)
from dpviz.accounting.laplace_calibration import (
    calibrate_laplace_composed as calibrate_laplace_composed,
)
from dpviz.accounting.laplace_composition import (
    laplace_composed_delta as laplace_composed_delta,
    laplace_composed_delta_bracket as laplace_composed_delta_bracket,
    laplace_composed_epsilon as laplace_composed_epsilon,
    laplace_composed_epsilon_bracket as laplace_composed_epsilon_bracket,
    laplace_composed_log_delta as laplace_composed_log_delta,
    laplace_composed_tradeoff as laplace_composed_tradeoff,
    laplace_composition_is_fit as laplace_composition_is_fit,
)
from dpviz.accounting.laplace_noise import (
    laplace_density as laplace_density,
    laplace_half_width as laplace_half_width,
    laplace_log_density as laplace_log_density,
    laplace_log_ratio as laplace_log_ratio,
    laplace_mean_absolute as laplace_mean_absolute,
    laplace_quantile as laplace_quantile,
    laplace_tail as laplace_tail,
    laplace_variance as laplace_variance,
)
from dpviz.accounting.limit import (
    laplace_limit_error as laplace_limit_error,
    laplace_limit_mu as laplace_limit_mu,
    poisson_limit_mu as poisson_limit_mu,
    without_replacement_limit_mu as without_replacement_limit_mu,
)
from dpviz.accounting.mechanism import (
    Mechanism as Mechanism,
)
from dpviz.accounting.optimal import (
    optimal_composition_delta as optimal_composition_delta,
    optimal_composition_epsilon as optimal_composition_epsilon,
)
from dpviz.accounting.parallel import (
    group_privacy as group_privacy,
    parallel_composition as parallel_composition,
    parallel_mu as parallel_mu,
)
from dpviz.accounting.piecewise_tradeoff import (
    PiecewiseTradeoff as PiecewiseTradeoff,
    convex_minorant as convex_minorant,
    discrete_tradeoff as discrete_tradeoff,
    symmetrized as symmetrized,
)
from dpviz.accounting.posterior import (
    beta_posterior_delta as beta_posterior_delta,
    beta_posterior_draw_risk as beta_posterior_draw_risk,
    beta_posterior_mean_risk as beta_posterior_mean_risk,
    posterior_sampling_epsilon as posterior_sampling_epsilon,
    tempering_power as tempering_power,
)
from dpviz.accounting.privacy_loss import (
    Account as Account,
    Composition as Composition,
    Engine as Engine,
    Releasable as Releasable,
)
from dpviz.accounting.profile import (
    hockey_stick_divergence as hockey_stick_divergence,
    profile_from_tradeoff as profile_from_tradeoff,
    tradeoff_from_guarantees as tradeoff_from_guarantees,
    tradeoff_from_profile as tradeoff_from_profile,
)
from dpviz.accounting.randomized_response import (
    RandomizedResponse as RandomizedResponse,
    randomized_response_count as randomized_response_count,
    randomized_response_delta as randomized_response_delta,
    randomized_response_epsilon as randomized_response_epsilon,
    randomized_response_rdp as randomized_response_rdp,
    randomized_response_tradeoff as randomized_response_tradeoff,
    randomized_response_variance as randomized_response_variance,
)
from dpviz.accounting.reference import (
    Comparison as Comparison,
    ReferenceFileError as ReferenceFileError,
    compare_reference as compare_reference,
    read_reference as read_reference,
)
from dpviz.accounting.relation import (
    Direction as Direction,
    Relation as Relation,
)
from dpviz.accounting.renyi import (
    Conversion as Conversion,
    RenyiConversion as RenyiConversion,
    RenyiDelta as RenyiDelta,
    ledger_rdp as ledger_rdp,
    rdp_optimal_delta as rdp_optimal_delta,
    rdp_optimal_epsilon as rdp_optimal_epsilon,
    rdp_to_delta_optimal as rdp_to_delta_optimal,
    rdp_to_epsilon_optimal as rdp_to_epsilon_optimal,
)
from dpviz.accounting.renyi_bounds import (
    DEFAULT_ORDERS as DEFAULT_ORDERS,
    OrderBound as OrderBound,
    improved_best_order as improved_best_order,
    improved_bound as improved_bound,
    integer_order_bound as integer_order_bound,
    rdp_best_order as rdp_best_order,
    rdp_bound as rdp_bound,
    rdp_bound_search as rdp_bound_search,
)
from dpviz.accounting.staircase import (
    Staircase as Staircase,
    staircase_gamma_l1 as staircase_gamma_l1,
    staircase_gamma_l2 as staircase_gamma_l2,
    staircase_min_abs_error as staircase_min_abs_error,
    staircase_min_variance as staircase_min_variance,
)
from dpviz.accounting.subsampled import (
    SubsampledGaussian as SubsampledGaussian,
    subsampled_gaussian_beta as subsampled_gaussian_beta,
    subsampled_gaussian_delta as subsampled_gaussian_delta,
    subsampled_gaussian_epsilon as subsampled_gaussian_epsilon,
    subsampled_gaussian_log_delta as subsampled_gaussian_log_delta,
    subsampled_gaussian_rdp as subsampled_gaussian_rdp,
)
from dpviz.accounting.subsampled_calibration import (
    calibrate_subsampled_gaussian as calibrate_subsampled_gaussian,
)
from dpviz.accounting.subsampled_tradeoff import (
    subsampled_approximate_dp_tradeoff as subsampled_approximate_dp_tradeoff,
    subsampled_gaussian_tradeoff as subsampled_gaussian_tradeoff,
    subsampled_piecewise_tradeoff as subsampled_piecewise_tradeoff,
    subsampled_tradeoff as subsampled_tradeoff,
)
from dpviz.accounting.tradeoff import (
    approximate_dp_tradeoff as approximate_dp_tradeoff,
    gaussian_advantage as gaussian_advantage,
    gaussian_tpr as gaussian_tpr,
    gaussian_tradeoff as gaussian_tradeoff,
    posterior_bound as posterior_bound,
    threshold_errors as threshold_errors,
)
from dpviz.accounting.tradeoff_algebra import (
    compose_gaussian_tradeoffs as compose_gaussian_tradeoffs,
    group_tradeoff as group_tradeoff,
)
from dpviz.accounting.truncated_laplace import (
    TruncatedLaplace as TruncatedLaplace,
    calibrate_truncated_laplace as calibrate_truncated_laplace,
    truncated_laplace_half_width as truncated_laplace_half_width,
)
from dpviz.accounting.verification import (
    Witness as Witness,
    verify as verify,
)
from dpviz.accounting.zcdp import (
    pure_to_zcdp as pure_to_zcdp,
    pure_to_zcdp_exact as pure_to_zcdp_exact,
    zcdp_to_delta as zcdp_to_delta,
    zcdp_to_delta_improved as zcdp_to_delta_improved,
    zcdp_to_epsilon as zcdp_to_epsilon,
    zcdp_to_epsilon_improved as zcdp_to_epsilon_improved,
)
