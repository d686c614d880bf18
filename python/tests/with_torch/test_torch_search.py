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
    found = moments(lambda _: mlp(10, *hidden, 1), 1, (torch.randn(1, 10),), trials=3000, seed=1)
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
    exact = (WHITE[10] - 1) * cost(10) / ((WHITE[best.width] - 1) * cost(best.width))
    # Five standard errors, where the interval has 1.96 of them.
    low, high = (math.log(end) for end in searched.primal.efficiency_ci)
    assert abs(math.log(searched.primal.efficiency / exact)) < 5 * (high - low) / 3.92


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
    assert found.primal.members <= found.primal.multiplicity
    own = search(bottleneck, [2, 4], (16, 3, 3), cost=lambda width, module: width, trials=10)
    assert [point.cost_of_member for point in own.curve] == [2, 4]


def test_the_law_is_no_better_known_than_it_fits():
    """Its error is that of alpha and of its fit: among the widths that were drawn, its efficiencies are
    within two errors of the drawn ones."""
    found = search(bottleneck, [2, 4, 8], (16, 3, 3), variance="law", trials=200, seed=8)
    drawn = {point.width: point.second_moment_ratio - 1 for point in found.points}
    cost = lambda n: 2 * 16 * n + 9 * n * n
    for point in found.curve:
        if point.width in drawn:
            by_draws = drawn[8] * cost(8) / (drawn[point.width] * cost(point.width))
            assert abs(point.efficiency - by_draws) <= 2 * point.efficiency_error + 1e-12
    assert found.curve[0].efficiency_error > 0.0 == found.curve[-1].efficiency_error


def one_hidden(width):
    """m of these in parallel are one again: every width is as efficient as any other."""
    return mlp(4, width, 1)


def test_intervals_hold_for_the_width_that_was_chosen():
    """The truth is exactly 1. The best of five noisy widths looks better than it is; draws of its own do
    not: their mean is 0 within three standard errors, and at most 3 of 24 intervals of 95 % miss it (a
    chance of 0.7 % for more)."""
    found = [search(one_hidden, [2, 4, 8, 16, 32], torch.ones(1, 4), trials=100, seed=seed) for seed in range(24)]
    chosen = [result.primal for result in found if result.primal.gain != "baseline-is-best"]
    logs = torch.tensor([math.log(primal.efficiency) for primal in chosen])
    assert len(chosen) > 12 and abs(logs.mean()) < 3 * logs.std() / math.sqrt(len(logs))
    assert sum(not low <= 1.0 <= high for low, high in (primal.efficiency_ci for primal in chosen)) <= 3
    for result in found:
        shown = result.primal.efficiency_ci[0] > 1.0 and result.primal.variance_ratio_ci[0] > 1.0
        assert ("times less kernel variance" in repr(result)) is (result.primal.gain == "better") is shown


def test_a_gain_within_its_error_is_not_announced(searched):
    """A handful of draws does not know it from none, two thousand do. Designs stand in the text only
    where there is a gain, and numbers of members only where the interval decides them."""
    few = search(bottleneck, [8, 10], white_patch(), trials=5, seed=2)
    assert few.primal.gain == few.dual.gain == "undecided" and few.primal.efficiency_ci[0] < 1.0
    assert "No gain is shown" in repr(few) and few.primal.design not in repr(few) and "do not tell widths 8 and 10 apart" in repr(few)
    assert searched.primal.gain == "better" and searched.primal.design in repr(searched)
    fewest, most = searched.dual.members_ci
    assert fewest < most and f"{fewest} to {most} members of width" in repr(searched) and searched.dual.design not in repr(searched)


def test_less_than_once_less_is_no_gain():
    """The widest costs more than the baseline: one of it is no design of the same cost."""
    found = search(bottleneck, [4, 6, 8], white_patch(), baseline=4, trials=60, seed=1)
    assert found.primal.width == 4 and found.primal.gain == "baseline-is-best" and "nothing to gain" in repr(found)
    assert "times less" not in repr(found) and found.primal.cost == found.baseline_cost


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
        m, n = row.members, row.width
        assert row.variance == pytest.approx((WHITE[n] - 1) / m, abs=5 * row.standard_error) and row.draws == 300
    assert rows[1].ratio_ci[0] < rows[1].ratio < rows[1].ratio_ci[1] and "drawn whole, 300 times" in repr(found)
    assert list(found.to_pandas("check").design) == [row.design for row in rows]


class Counted:
    """Makes modules and counts them."""

    def __init__(self, make):
        self.make, self.made = make, 0

    def __call__(self, width):
        self.made += 1
        return self.make(width)


REFUSED = {
    "one width": (bottleneck, (16, 3, 3), dict(widths=[4]), "at least two widths"),
    "a cost": (bottleneck, (16, 3, 3), dict(cost="money"), "the cost is 'money'"),
    "a source": (bottleneck, (16, 3, 3), dict(variance="exact"), "the variance is 'exact'"),
    "a baseline": (bottleneck, (16, 3, 3), dict(baseline=9), "baseline of width 9"),
    "fan-ins": (bottleneck, (16, 3, 3), dict(fan_in_sum=lambda n: 1.0), "give fan_in_sum="),
    "another shape": (bottleneck, (5, 3, 3), {}, r"does not run on inputs of shape \(1, 5, 3, 3\)"),
    "no number": (bottleneck, (16, 3, 3), dict(output=lambda y: y[0]), "picks one number"),
    "several inputs": (lambda n: nn.MultiheadAttention(8, 8 // n), (6, 8), {}, "a tuple of tensors"),
    "a whole layer": (lambda n: nn.MultiheadAttention(8, 8 // n), (torch.ones(1, 6, 8),) * 3, {}, "make one member of width n"),
    "text": (bottleneck, "image", {}, "the inputs are 'image'"),
    "batches": (bottleneck, (torch.ones(1, 2), torch.ones(2, 2)), {}, r"batches of \[1, 2\]"),
}


@pytest.mark.parametrize("make, inputs, options, sentence", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_searched_is_refused_before_any_draw(make, inputs, options, sentence):
    counted = Counted(make)
    with pytest.raises(collegial.CollegialError, match=sentence):
        search(counted, **{"widths": [2, 4], **options}, inputs=inputs, trials=100)
    assert counted.made < 20


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({"make": nn.Linear(2, 2)}, "make is Linear"), ({"make": "resnet50"}, "make is 'resnet50'"), ({"widths": 4}, "the widths are 4"),
        ({"widths": [2, 4.5]}, r"the widths are \[2, 4.5\]"), ({"inputs": 3}, "the inputs are 3"), ({"trials": "many"}, "'many' trials"),
    ],
)  # fmt: skip
def test_arguments_of_another_type_get_a_sentence(wrong, sentence):
    with pytest.raises(collegial.CollegialError, match=sentence):
        search(**{"make": bottleneck, "widths": [2, 4], "inputs": (16, 3, 3), "trials": 4, **wrong})


def test_a_kernel_that_does_not_vary_is_refused():
    with pytest.raises(collegial.CollegialError, match="does not vary"):
        search(Constant, [2, 4], (3,), trials=4)


class Constant(nn.Module):
    """Linear in its weights, of which there are n: the kernel does not depend on them."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, width))

    def forward(self, x):
        return self.weight.sum(1) * x.sum(1)


class Tokens(nn.Module):
    """Takes ids of tokens and a mask, and gives two tensors."""

    def __init__(self, width):
        super().__init__()
        self.table, self.hidden, self.out = nn.Embedding(7, width), nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, ids, mask):
        hidden = torch.relu(self.hidden(self.table(ids))) * mask[..., None]
        return self.out(hidden), hidden


def test_ids_of_tokens_and_several_inputs():
    ids, mask = torch.randint(7, (2, 5), generator=torch.Generator().manual_seed(0)), torch.ones(2, 5)
    found = search(Tokens, [2, 4], (ids, mask), trials=20)
    assert [point.cost_of_member for point in found.curve] == [7 * n + n * n + n + 2 * n + 2 for n in (2, 4)]
    alone = search(Only, [2, 4], ids, trials=20)
    assert alone.points == found.points


class Only(Tokens):
    """The same with the mask left out, which is all ones there."""

    def forward(self, ids):
        return super().forward(ids, torch.ones(ids.shape))


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


def test_the_law_of_heads_is_said_not_to_hold():
    """Tokens that are alike make every width as efficient as any other, which no sum of inverse
    fan-ins knows: by the law there is a gain of two, by draws there is none."""
    normal = lambda *shape: torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    tokens = math.sqrt(0.9) * normal(1, 1, 16) + math.sqrt(0.1) * normal(1, 6, 16)
    found = search(Head, [4, 8, 16], tokens, variance="law", trials=300, seed=4)
    by_law = next(point for point in found.curve if point.width == found.primal.width)
    low, high = found.primal.efficiency_ci
    assert low < 1.0 and by_law.efficiency > 1.5 > high and "The law does not hold for this module" in repr(found)
    assert by_law.efficiency - 2 * by_law.efficiency_error < found.primal.efficiency and found.primal.gain == "undecided"


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
        m, n = row.members, row.width
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
