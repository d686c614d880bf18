"""The page's rule on the finished regressions: python research/kernel-regime/analyse.py"""

import csv
import importlib.util
import random
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import stats  # noqa: E402

found = importlib.util.spec_from_file_location("kernel_plan", HERE / "plan.py")
plan = importlib.util.module_from_spec(found)
found.loader.exec_module(plan)

RESAMPLES = 2000
PREDICTORS = ["variance", "inverse_inner_width", "law", "white"]
DRAWS = len(plan.SEEDS)


def predictors() -> dict[str, dict[str, list[float]]]:
    """network -> predictor -> its values in the order of the designs."""
    with (HERE / "designs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {network: {p: [float(r[p]) for r in rows if r["network"] == network] for p in PREDICTORS}
            for network in plan.designs.NETWORKS}


def load(outcome: str) -> dict[tuple[str, int], list[list[float]]]:
    """(network, N) -> design -> draw -> outcome, of complete cells only."""
    cells = {}
    for images in plan.IMAGES:
        values = {(r["network"], r["design"], int(r["seed"])): float(r[outcome])
                  for r in stats.rows(HERE, f"images-{images}")}
        for network, names in plan.designs.NETWORKS.items():
            keys = [[(network, design, seed) for seed in plan.SEEDS] for design in names.split()]
            if all(key in values for row in keys for key in row):
                cells[network, images] = [[values[key] for key in row] for row in keys]
    return cells


def correlation(cell: list[list[float]], predicted: list[float], designs: list[int], draws: list[int]) -> float:
    means = [sum(cell[d][i] for i in draws) / len(draws) for d in designs]
    return stats.spearman([predicted[d] for d in designs], means)


def pooled(cells: dict, known: dict, predictor: str, designs: list[int], draws: list[int]) -> float:
    return stats.mean([correlation(cell, known[network][predictor], designs, draws)
                       for (network, _), cell in cells.items()])


def verdict(title: str, cells: dict, known: dict) -> None:
    everything = list(range(11)), list(range(DRAWS))
    generator = random.Random(0)
    resamples = [([generator.randrange(11) for _ in range(11)], [generator.randrange(DRAWS) for _ in range(DRAWS)])
                 for _ in range(RESAMPLES)]
    spread = {p: [pooled(cells, known, p, *r) for r in resamples] for p in PREDICTORS}
    at = {p: pooled(cells, known, p, *everything) for p in PREDICTORS}
    print(f"{title}: {len(cells)} cells")
    for p in PREDICTORS:
        low, high = stats.percentile_interval(spread[p])
        print(f"  mean rank correlation of {p}: {at[p]:.2f} ({low:.2f} to {high:.2f})")
    for p in PREDICTORS[1:]:
        low, high = stats.percentile_interval([v - w for v, w in zip(spread["variance"], spread[p])])
        word = stats.sign_verdict(low, high, "variance ranks better", "variance ranks worse")
        mark = "PRIMARY, " if p == "inverse_inner_width" else ""
        print(f"  {mark}variance less {p}: {at['variance'] - at[p]:.2f} ({low:.2f} to {high:.2f}): {word}")
    for p in PREDICTORS[:2]:
        near = sum(excess(cell, known[network][p]) <= 0.02 for (network, _), cell in cells.items())
        print(f"  optimum by {p} within 2 % of the lowest in {near} of {len(cells)} cells: "
              f"{'holds' if near >= 0.8 * len(cells) else 'does not hold'}")


def excess(cell: list[list[float]], predicted: list[float]) -> float:
    """How far the predicted best design's mean is above the lowest, as a share; the thinner of equals."""
    means = [stats.mean(draws) for draws in cell]
    return means[predicted.index(min(predicted))] / min(means) - 1


def main() -> None:
    known, done = predictors(), sum(len(stats.rows(HERE, f"images-{n}")) for n in plan.IMAGES)
    print(f"{done} of 3300 regressions")
    for outcome in ("test_mse", "test_error"):
        print(f"\noutcome {outcome}{'' if outcome == 'test_mse' else ' (secondary)'}")
        cells = load(outcome)
        for (network, images), cell in cells.items():
            names, means = plan.designs.NETWORKS[network].split(), [stats.mean(draws) for draws in cell]
            r = {p: correlation(cell, known[network][p], list(range(11)), list(range(DRAWS))) for p in PREDICTORS}
            best = names[means.index(min(means))]
            guess = names[known[network]["variance"].index(min(known[network]["variance"]))]
            print(f"  {network} N={images}: r_v {r['variance']:.2f}, r_w {r['inverse_inner_width']:.2f}; lowest {best}, "
                  f"predicted {guess} {100 * excess(cell, known[network]['variance']):.1f} % above; "
                  + " ".join(f"{name} {value:.4f}" for name, value in zip(names, means)))
        small = {key: cell for key, cell in cells.items() if key[1] <= 1000}
        if len(small) == 10:
            verdict("small N", small, known)
        if len(cells) == 15:
            verdict("final", cells, known)
        if len(small) < 10:
            print("  no verdict: cells of 250 and 1000 are not complete")


if __name__ == "__main__":
    main()
