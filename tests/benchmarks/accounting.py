"""Run this package and its peers on one table: value, error against the truth, seconds, and ratios of the same run.

Run ``python -m tests.benchmarks.accounting``; dp-accounting is a development dependency, prv-accountant is measured
too where it is installed (``pip install prv-accountant``). The truths are the 30-digit reference values. A cache of
ours is emptied before every timed call, and only ratios within one run mean anything on a shared machine.

For each row the most accurate peer is named, with how many times faster we are than it, and how many times smaller our
error is (below 1e-16 no float64 can show a difference, so smaller errors count as that).
"""

from __future__ import annotations

import argparse
import gc
import math
import pkgutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

import dp_accounting
import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

import dpviz.accounting
from dpviz import (
    Composition,
    Laplace,
    SubsampledGaussian,
    calibrate_gaussian,
    calibrate_subsampled_gaussian,
    exact_epsilon,
    laplace_composed_epsilon,
)
from tests.reference import load

FLOOR = 1e-16
INTERVALS = (1e-3, 1e-4, 1e-5)
EPSILON_ERRORS = (0.1, 0.01, 0.001)
Run = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One question, its true answer at some points, and who answers it."""

    name: str
    truth: tuple[str, ...]
    ours: Run
    peers: dict[str, Run]
    points: tuple[int, ...] = (0,)
    share: float = 1.0
    """Part of the points that the peers are asked for; their seconds are scaled up to all of them."""

    def error(self, answer: object) -> float:
        """Return the largest relative error at the points of which the truth is known."""
        values = np.ravel(np.asarray(answer, dtype=float))
        return max(_error(values[point], truth) for point, truth in zip(self.points, self.truth, strict=True))


def _error(value: float, truth: str) -> float:
    wanted = Decimal(truth)
    if not math.isfinite(value):
        return math.inf
    gap = abs(Decimal(float(value)) - wanted)
    return float(gap / wanted) if wanted else float(gap)


def reference(quantity: str) -> Iterator[tuple[str, dict[str, float], str]]:
    """Yield the entries of a quantity that have an answer other than 0."""
    for entry in load():
        if entry["quantity"] == quantity and Decimal(entry["value"]):
            yield entry["id"], entry["inputs"], entry["value"]


def gaussian_rows() -> Iterator[Row]:
    """Yield epsilon of k-fold Gaussian releases, point by point and as a curve."""
    for name, given, truth in reference("gaussian_eps"):
        count, sigma, sensitivity, delta = given["k"], given["sigma"], given["Delta"], given["delta"]
        single = sigma / (math.sqrt(count) * sensitivity)
        yield Row(
            name,
            (truth,),
            lambda k=count, s=sigma, c=sensitivity, d=delta: exact_epsilon(count=k, sigma=s, sensitivity=c, delta=d),
            {"dp-accounting": lambda s=single, d=delta: dp_accounting.get_epsilon_gaussian(s, d)},
        )
    deltas = np.geomspace(1e-6, 1e-3, 1000)
    yield Row(
        "gaussian_eps, curve of 1000",
        ("2.88343101903920880646645716656",),
        lambda: exact_epsilon(count=100, sigma=16.0, delta=deltas),
        {"dp-accounting": lambda: [dp_accounting.get_epsilon_gaussian(1.6, delta) for delta in deltas]},
    )


def laplace_rows() -> Iterator[Row]:
    """Yield epsilon of k-fold Laplace releases."""
    for name, given, truth in reference("laplace_kfold_eps"):
        loss, count, delta = given["eps0"], int(given["k"]), given["delta"]
        peers: dict[str, Run] = {
            f"dp-accounting PLD {step:g}": lambda s=loss, k=count, d=delta, h=step: (
                pld.from_laplace_mechanism(1 / s, value_discretization_interval=h)
                .self_compose(k)
                .get_epsilon_for_delta(d)
            )
            for step in INTERVALS
        }
        peers.update(_prv(lambda prv, s=loss: prv.LaplaceMechanism(mu=s), count, delta))
        yield Row(
            f"{name}: k={count}, eps0={loss:g}, delta={delta:g}",
            (truth,),
            lambda s=loss, k=count, d=delta: laplace_composed_epsilon(d, pure_epsilon=s, count=k),
            peers,
        )
    deltas = np.geomspace(1e-6, 1e-3, 1000)
    yield Row(
        "laplace_kfold_eps, k=1000, eps0=0.1, curve of 1000",
        ("18.9502873675395595437889585581",),
        lambda: Composition(((Laplace(scale=10.0), 1000),)).epsilon(deltas),
        {
            f"dp-accounting PLD {step:g}": lambda h=step: _curve(
                pld.from_laplace_mechanism(10.0, value_discretization_interval=h).self_compose(1000), deltas[::200]
            )
            for step in INTERVALS
        },
        share=1 / 200,
    )


def _curve(law: pld.PrivacyLossDistribution, deltas: np.ndarray) -> list[float]:
    return [law.get_epsilon_for_delta(delta) for delta in deltas]


def sgd_rows() -> Iterator[Row]:
    """Yield epsilon of Poisson-subsampled Gaussian steps, and the noise that gives it back."""
    for name, given, truth in reference("psg_kfold_eps"):
        rate, sigma, count, delta = given["q"], given["sigma"], int(given["k"]), given["delta"]
        peers: dict[str, Run] = {
            f"dp-accounting PLD {step:g}": lambda q=rate, s=sigma, k=count, d=delta, h=step: (
                pld.from_gaussian_mechanism(s, sampling_prob=q, value_discretization_interval=h)
                .self_compose(k)
                .get_epsilon_for_delta(d)
            )
            for step in INTERVALS
        }
        peers.update(
            _prv(
                lambda prv, q=rate, s=sigma: prv.PoissonSubsampledGaussianMechanism(
                    sampling_probability=q, noise_multiplier=s
                ),
                count,
                delta,
            )
        )
        yield Row(
            f"{name}: k={count}, q={rate:.4g}, sigma={sigma:g}, delta={delta:g}",
            (truth,),
            lambda q=rate, s=sigma, k=count, d=delta: Composition(
                ((SubsampledGaussian(s, sampling_probability=q), k),)
            ).epsilon(d),
            peers,
        )
        if count == 2000:
            yield _sgd_calibration(rate, sigma, count, delta, float(truth))


def _sgd_calibration(rate: float, sigma: float, count: int, delta: float, epsilon: float) -> Row:
    def event(noise: float) -> dp_accounting.DpEvent:
        step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
        return dp_accounting.SelfComposedDpEvent(step, count)

    return Row(
        f"least sigma for epsilon={epsilon:.6g}, k={count}, q={rate:g}",
        (repr(sigma),),
        lambda: calibrate_subsampled_gaussian(epsilon, delta=delta, sampling_probability=rate, count=count),
        {
            "dp-accounting PLD": lambda: dp_accounting.calibrate_dp_mechanism(
                PLDAccountant,
                event,
                epsilon,
                delta,
                dp_accounting.mechanism_calibration.ExplicitBracketInterval(1.0, 2.0),
                tol=1e-6,
            )
        },
    )


def calibration_rows() -> Iterator[Row]:
    """Yield the least sigma for a target."""
    for name, given, truth in reference("gaussian_sigma"):
        epsilon, delta, count, sensitivity = given["eps"], given["delta"], given["k"], given["Delta"]
        factor = math.sqrt(count) * sensitivity
        yield Row(
            name,
            (truth,),
            lambda e=epsilon, d=delta, k=count, c=sensitivity: calibrate_gaussian(e, delta=d, count=k, sensitivity=c),
            {"dp-accounting": lambda e=epsilon, d=delta, f=factor: f * dp_accounting.get_sigma_gaussian(e, d)},
        )
    epsilons = np.geomspace(0.1, 10, 1000)
    yield Row(
        "gaussian_sigma, curve of 1000",
        ("36.3046904261957831601624682182",),
        lambda: calibrate_gaussian(epsilons, delta=1e-6),
        {"dp-accounting": lambda: [dp_accounting.get_sigma_gaussian(epsilon, 1e-6) for epsilon in epsilons]},
    )


def _prv(mechanism: Callable[..., object], count: int, delta: float) -> dict[str, Run]:
    try:
        import prv_accountant
    except ModuleNotFoundError:
        return {}

    def run(epsilon_error: float) -> float:
        accountant = prv_accountant.PRVAccountant(
            prvs=[mechanism(prv_accountant)],
            max_self_compositions=[count],
            eps_error=epsilon_error,
            delta_error=delta / 1000,
        )
        return float(accountant.compute_epsilon(delta=delta, num_self_compositions=[count])[1])

    return {f"prv-accountant {error:g}": lambda e=error: run(e) for error in EPSILON_ERRORS}


def forget() -> None:
    """Empty every cache of ours, so that a repeated call works as hard as a first one."""
    for module in pkgutil.walk_packages(dpviz.accounting.__path__, "dpviz.accounting."):
        for value in vars(sys.modules.get(module.name, dpviz)).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def measure(run: Run, patience: float) -> tuple[object, float]:
    """Return the answer and the median of up to nine timed calls, within about `patience` seconds."""
    answer: object = None
    seconds: list[float] = []
    gc.disable()
    try:
        while len(seconds) < 9 and sum(seconds) < patience:
            forget()
            start = time.perf_counter()
            answer = run()
            seconds.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return answer, statistics.median(seconds)


def report(row: Row, patience: float) -> tuple[float, float] | None:
    """Print a row; return how many times faster and more accurate we are than the most accurate peer."""
    print(f"\n{row.name}")
    answer, seconds = measure(row.ours, patience)
    error = row.error(answer)
    _line("dpviz", answer, error, seconds)
    best: tuple[float, float, str] | None = None
    for name, run in row.peers.items():
        try:
            its_answer, its_seconds = measure(run, patience)
            its_seconds /= row.share
        except Exception as fault:  # a peer that gives up is a result
            print(f"  {name:26} gives up: {type(fault).__name__}: {str(fault)[:70]}")
            continue
        its_error = row.error(its_answer)
        _line(name, its_answer, its_error, its_seconds)
        if math.isfinite(its_error):
            best = min(best or (math.inf, 0.0, ""), (max(its_error, FLOOR), its_seconds, name))
    if best is None:
        return None
    faster, closer = best[1] / seconds, best[0] / max(error, FLOOR)
    print(f"  against {best[2]}: {faster:.3g} times faster, error {closer:.3g} times smaller")
    return faster, closer


def _line(name: str, answer: object, error: float, seconds: float) -> None:
    value = float(np.ravel(np.asarray(answer, dtype=float))[0])
    print(f"  {name:26} {value:<24.17g} error {error:8.1e}   {seconds * 1e3:10.3f} ms")


def main() -> None:
    """Measure every row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--patience", type=float, default=1.0, help="seconds given to each method in each row")
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    options = parser.parse_args()
    ratios = []
    for rows in (gaussian_rows, laplace_rows, sgd_rows, calibration_rows):
        for row in rows():
            if options.only in row.name:
                ratios.append((row.name, report(row, options.patience)))
    print("\nAgainst the most accurate peer of each row:")
    for name, ratio in ratios:
        said = "no peer answers" if ratio is None else f"{ratio[0]:9.3g} x faster  {ratio[1]:9.3g} x smaller error"
        print(f"  {said:46} {name}")


if __name__ == "__main__":
    main()
