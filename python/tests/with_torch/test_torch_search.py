"""Any module: the moments against theory, and worked examples."""

import math
import pickle

import pytest
import torch
from torch import nn

import collegial
from collegial.torch import kernels, search
from collegial.torch.kernels import moments


def drawn(module):
    """Kaiming's normal law in all layers but the last, whose variance is one over its fan-in."""
    layers = [layer for layer in module.modules() if isinstance(layer, (nn.Linear, nn.Conv2d))]
    for layer in layers:
        gain = "linear" if layer is layers[-1] else "relu"
        nn.init.kaiming_normal_(layer.weight, nonlinearity=gain)
    return module


def mlp(*widths):
    layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b, bias=False), nn.ReLU())]
    return drawn(nn.Sequential(*layers[:-1]))


def bottleneck(width, channels=16):
    return drawn(nn.Sequential(
        nn.Conv2d(channels, width, 1, bias=False), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1, bias=False), nn.ReLU(),
        nn.Conv2d(width, channels, 1, bias=False),
    ))


def white_patch(channels=16):
    """One input whose nine positions are orthogonal and of the same length: the covariance is
    exactly that of white noise."""
    columns = torch.linalg.qr(torch.randn(channels, 9, generator=torch.Generator().manual_seed(0)))[0]
    return (columns * math.sqrt(channels)).reshape(1, channels, 3, 3)


@pytest.mark.parametrize("hidden, exact", [((6, 5), 2.6), ((8, 8, 8), 2.986328125)])
def test_fully_connected_networks_have_the_exact_moments(hidden, exact):
    assert collegial.moments(widths=[10, *hidden]).second_moment_ratio == pytest.approx(exact)
    found = moments(lambda _: mlp(10, *hidden, 1), 1, torch.randn(1, 10), trials=3000, seed=1)
    assert found.ratio == pytest.approx(exact, abs=5 * found.standard_error) and found.standard_error < 0.2 * exact


# Exact second moments of the block with white inputs.
WHITE = {1: 5.975308642, 4: 1.982253086, 10: 1.371975309}


@pytest.fixture(scope="module")
def searched():
    return search(bottleneck, WHITE, white_patch(), trials=2000, seed=2)


def test_bottleneck_blocks_have_the_exact_moments(searched):
    for point in searched.points:
        assert point.second_moment_ratio == pytest.approx(WHITE[point.width], abs=5 * point.standard_error)
        assert point.inverse_fan_in_sum == pytest.approx(1 / 16 + 1 / (9 * point.width) + 1 / point.width)


def test_the_optimum_is_that_of_theory(searched):
    """Efficiency is the baseline's Var beta over a width's, within five standard errors of what
    exact moments give."""
    cost = lambda n: 2 * 16 * n + 9 * n * n
    for point in searched.curve:
        exact = (WHITE[10] - 1) * cost(10) / ((WHITE[point.width] - 1) * cost(point.width))
        assert point.cost_of_member == cost(point.width)
        assert point.efficiency == pytest.approx(exact, abs=5 * point.efficiency_error + 1e-12)
    best = max(searched.curve, key=lambda point: point.efficiency)
    assert searched.primal.width == searched.dual.width == best.width
    assert searched.primal.multiplicity == pytest.approx(cost(10) / cost(best.width))


def test_a_fully_connected_network_has_the_optimum_of_the_native_search():
    """The same three widths, compared by exact moments there and by draws here."""
    widths = [4, 8, 16]
    found = search(lambda n: mlp(12, n, n, 1), widths, (12,), trials=3000, seed=7)
    spec = {"kind": "fully-connected", "inputs": 12, "outputs": 1, "widths": [16, 16]}
    native = collegial.search(spec, widths=widths)
    exact = {point.width: point.efficiency for point in native.curve}
    for point in found.curve:
        assert point.efficiency == pytest.approx(exact[point.width], abs=5 * point.efficiency_error + 1e-12)
    assert found.primal.width == native.primal.width


def test_results_print_pickle_compare_and_convert(searched):
    assert pickle.loads(pickle.dumps(searched)) == searched
    assert "draws each" in repr(searched) and "<table>" in searched._repr_html_()
    assert list(searched.to_pandas().width) == [1, 4, 10] and searched.to_dict()["trials"] == 2000
    assert searched.plot().get_title(loc="left").endswith("1x10d")


def test_neither_batches_nor_vmap_show(monkeypatch):
    options = dict(widths=[2, 3], inputs=white_patch(), trials=6, seed=3)
    together = search(bottleneck, **options)
    assert search(bottleneck, **options).points == together.points
    monkeypatch.setattr(kernels, "BATCH_BYTES", 1)
    alone = search(bottleneck, **options)
    monkeypatch.setattr(kernels, "vmap", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("no vmap")))
    looped = search(bottleneck, **options)
    for other in (alone, looped):
        ratios = lambda result: [point.second_moment_ratio for point in result.points]
        assert ratios(other) == pytest.approx(ratios(together), rel=1e-4)


def test_costs_laws_and_progress():
    seen = []
    found = search(
        bottleneck, [2, 4, 8], (16, 3, 3), cost="flops", variance="law", rule="under", trials=50,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert [point.width for point in found.curve] == list(range(2, 9)) and seen[-1] == (1.0, 1.0)
    # Two per multiply-accumulate at nine positions.
    assert found.baseline_cost == 2 * 9 * (2 * 16 * 8 + 9 * 64)
    assert int(found.primal.design.split("x")[0]) <= found.primal.multiplicity
    own = search(bottleneck, [2, 4], (16, 3, 3), cost=lambda width, module: width, trials=10)
    assert [point.cost_of_member for point in own.curve] == [2, 4]


def test_the_error_of_the_law_is_that_of_alpha():
    """The efficiency at both ends of alpha's interval, and half of what lies between."""
    found = search(bottleneck, [2, 4, 8], (16, 3, 3), variance="law", trials=200, seed=8)
    sums = {n: 1 / 16 + 1 / (9 * n) + 1 / n for n in range(2, 9)}
    cost = lambda n: 2 * 16 * n + 9 * n * n
    low, high = found.alpha_ci
    for point in found.curve:
        efficiencies = [
            math.expm1(alpha * sums[8]) * cost(8) / (math.expm1(alpha * sums[point.width]) * cost(point.width)) for alpha in (low, high)
        ]
        # A derivative there, a difference here.
        assert 1.959964 * point.efficiency_error == pytest.approx(abs(efficiencies[1] - efficiencies[0]) / 2, rel=0.05, abs=1e-12)
    assert found.curve[0].efficiency_error > 0.0 == found.curve[-1].efficiency_error


def test_a_gain_within_its_error_is_called_so(searched):
    """A handful of draws does not know it from none, two thousand do."""
    doubtful = lambda found: "within two standard errors of no gain" in repr(found)
    few = search(bottleneck, [8, 10], white_patch(), trials=5, seed=2)
    assert few.primal.width == 8 and few.primal.efficiency - 2 * few.primal.efficiency_error < 1.0 and doubtful(few)
    assert searched.primal.efficiency - 2 * searched.primal.efficiency_error > 1.0 and not doubtful(searched)


def test_designs_are_checked_by_drawing_all_their_members():
    """Against exact moments: m members have the variance of one over m, within five standard
    errors."""
    seen = []
    found = search(
        bottleneck, [4, 10], white_patch(), trials=400, seed=9, check=True, draws=300, progress=lambda done, _: seen.append(done)
    )
    rows = found.check
    assert [row.design for row in rows][:2] == ["1x10d", found.primal.design] and rows[0].ratio == 1.0 and seen[-1] == 1.0
    for row in rows:
        m, n = map(int, row.design.rstrip("d").split("x"))
        assert row.variance == pytest.approx((WHITE[n] - 1) / m, abs=5 * row.standard_error) and row.draws == 300
    assert rows[1].ratio_ci[0] < rows[1].ratio < rows[1].ratio_ci[1] and "drawn whole, 300 times" in repr(found)
    assert list(found.to_pandas("check").design) == [row.design for row in rows]


def test_what_cannot_be_searched():
    for options, sentence in [
        (dict(widths=[4]), "at least two widths"),
        (dict(widths=[2, 4], cost="money"), "the cost is 'money'"),
        (dict(widths=[2, 4], variance="exact"), "the variance is 'exact'"),
        (dict(widths=[2, 4], baseline=9), "baseline of width 9"),
        (dict(widths=[2, 4], fan_in_sum=lambda n: 1.0), "give fan_in_sum="),
    ]:
        with pytest.raises(collegial.CollegialError, match=sentence):
            search(bottleneck, inputs=(16, 3, 3), trials=2, **options)


class Head(nn.Module):
    """One head of self-attention, of width n; m of them side by side are an attention layer."""

    def __init__(self, width, features=16):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(features, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, features, bias=False)
        for layer in (self.query, self.key, self.value, self.out):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5)

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return self.out(torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[2]), dim=2) @ v)


def test_heads_of_attention():
    """At fixed m n, which is a fixed cost, four heads of width 4 have less variance than one of 16.

    A head's features have a part in its variance that its own width does not lower, and m heads
    average over it.
    """
    found = search(Head, [4, 16], (6, 16), trials=1500, seed=4)
    thin, wide = found.curve
    assert [thin.cost_of_member, wide.cost_of_member] == [256, 1024]
    assert thin.efficiency - 2 * thin.efficiency_error > wide.efficiency == 1.0
    assert found.primal.design == "4x4d" and found.primal.width == 4


class ConvNext(nn.Module):
    """Depthwise 7x7, norm, 1x1 to four times the width, GELU, 1x1 back."""

    def __init__(self, width, channels=8):
        super().__init__()
        self.project = nn.Conv2d(channels, width, 1)
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.GroupNorm(1, width)
        self.wide, self.narrow = nn.Conv2d(width, 4 * width, 1), nn.Conv2d(4 * width, channels, 1)

    def forward(self, x):
        return self.narrow(nn.functional.gelu(self.wide(self.norm(self.depthwise(self.project(x))))))


def test_a_convnext_like_block():
    """Its own law of weights (uniform, with biases), an activation that is not ReLU and a norm. The
    widest has less variance than the thinnest, beyond five standard errors of the difference; copies
    in parallel, drawn whole, have that of one over their number, within five."""
    found = search(ConvNext, [2, 4, 8], (8, 7, 7), trials=600, seed=5, check=True, draws=200)
    thin, _, wide = found.points
    difference = thin.second_moment_ratio - wide.second_moment_ratio
    assert difference > 5 * math.hypot(thin.standard_error, wide.standard_error)
    variance = {point.width: (point.second_moment_ratio - 1, point.standard_error) for point in found.points}
    for row in found.check:
        m, n = map(int, row.design.rstrip("d").split("x"))
        predicted, error = variance[n]
        assert row.variance == pytest.approx(predicted / m, abs=5 * math.hypot(row.standard_error, error / m))


class Experts(nn.Module):
    """A mixture of thin experts: four networks of width n, mixed by a softmax over the input."""

    def __init__(self, width, inputs=12, experts=4):
        super().__init__()
        self.router = nn.Linear(inputs, experts)
        self.experts = nn.ModuleList(mlp(inputs, width, width, 3) for _ in range(experts))

    def forward(self, x):
        shares = torch.softmax(self.router(x), dim=1)
        return torch.stack([expert(x) for expert in self.experts], dim=2) @ shares[:, :, None] @ torch.ones(1, 1, 1)


def test_a_mixture_of_thin_experts():
    """Four experts have less variance than one of their width, which is known exactly, and more than a
    quarter of it, since their shares are not equal. Splitting the widest is a gain beyond two standard
    errors."""
    inputs = torch.randn(1, 12, generator=torch.Generator().manual_seed(0))
    found = search(Experts, [2, 6, 24], inputs, trials=1500, seed=6, output=lambda y: y[0, 0, 0])
    for point in found.points:
        alone, error = collegial.moments(widths=[12, point.width, point.width]).variance, 5 * point.standard_error
        assert alone / 4 - error < point.second_moment_ratio - 1 < alone + error
    thin, middle, wide = found.curve
    # A member of width n has 4 (12 n + n^2 + 3 n) weights beside the router's 52.
    assert [point.cost_of_member for point in found.curve] == [4 * (15 * n + n * n) + 52 for n in (2, 6, 24)]
    assert wide.efficiency == 1.0 and middle.efficiency - 2 * middle.efficiency_error > 1.0
    assert found.primal.width == max(found.curve, key=lambda point: point.efficiency).width
