"""The few statistics that the studies' pages name, from the standard library alone."""

import csv
import math
from pathlib import Path


def rows(folder: Path, part: str) -> list[dict]:
    path = folder / "runs" / f"{part}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def count_failed(folder: Path, part: str) -> int:
    """Trainings whose loss was not finite; a page says what becomes of them."""
    return sum(not math.isfinite(float(row["loss"])) for row in rows(folder, part))


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def variance(values: list[float]) -> float:
    centre = mean(values)
    return math.fsum((v - centre) ** 2 for v in values) / (len(values) - 1)


def beta_fraction(a: float, b: float, x: float) -> float:
    """The incomplete beta function's continued fraction, by Lentz's method."""
    tiny, c, d = 1e-300, 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for i in range(1, 500):
        for top in (i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i)),
                    -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1))):
            d = 1 + top * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + top / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value


def t_tail(t: float, df: float) -> float:
    """P(|T| > t) of Student's distribution."""
    a, b, x = df / 2, 0.5, df / (df + t * t)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1 - front * beta_fraction(b, a, 1 - x) / b


def t_quantile(df: float) -> float:
    """The t with P(|T| > t) = 0.05."""
    low, high = 1.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, df) > 0.05 else (low, middle)
    return low


def t_interval(values: list[float]) -> tuple[float, float, float]:
    """Mean and its 95 % t-interval."""
    half = t_quantile(len(values) - 1) * math.sqrt(variance(values) / len(values))
    return mean(values), mean(values) - half, mean(values) + half


def welch(one: list[float], two: list[float]) -> tuple[float, float, float]:
    """Difference of means (one - two) and its 95 % interval."""
    a, b = variance(one) / len(one), variance(two) / len(two)
    df = (a + b) ** 2 / (a * a / (len(one) - 1) + b * b / (len(two) - 1)) if a + b > 0 else 1.0
    difference, half = mean(one) - mean(two), t_quantile(df) * math.sqrt(a + b)
    return difference, difference - half, difference + half


def ranks(values: list[float]) -> list[float]:
    """Ranks from 1, the mean rank for equal values."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found, start = [0.0] * len(values), 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for i in range(start, end + 1):
            found[order[i]] = (start + end) / 2 + 1
        start = end + 1
    return found


def spearman(one: list[float], two: list[float]) -> float:
    """Rank correlation; 0 where one side does not vary."""
    a, b = ranks(one), ranks(two)
    x, y = mean(a), mean(b)
    bottom = math.sqrt(math.fsum((v - x) ** 2 for v in a) * math.fsum((v - y) ** 2 for v in b))
    return math.fsum((v - x) * (w - y) for v, w in zip(a, b)) / bottom if bottom > 0 else 0.0


def percentile_interval(values: list[float]) -> tuple[float, float]:
    """The 95 % percentile interval of bootstrap values."""
    ordered = sorted(values)
    return ordered[round(0.025 * (len(ordered) - 1))], ordered[round(0.975 * (len(ordered) - 1))]


def sign_verdict(low: float, high: float, above: str, below: str) -> str:
    return above if low > 0 else below if high < 0 else "undecided"
