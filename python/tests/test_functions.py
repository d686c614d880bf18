"""The functions, against the paper's numbers and each other."""

import numpy
import pytest

import collegial


def test_the_search_finds_the_papers_designs():
    found = collegial.search("resnext29-1x128d", alpha=1.60)
    assert (found.primal.design, found.dual.design) == ("37x10d", "10x10d")
    assert found.primal["parameters"] == collegial.info("resnext29-37x10d").parameters
    assert found.alpha == 1.6 and found.baseline == "resnext29-1x128d" and found.fit is None
    assert min(found.curve, key=lambda point: point.primal_objective).width == found.primal.width


def test_options_reach_the_search():
    found = collegial.search("resnext50-1x64d", 1.6, "flops", rule="under", multiple_of=4, widths=range(4, 33), max_multiplicity=64)
    assert found.cost == "flops" and found.rule == "under"
    assert {point.width % 4 for point in found.curve} == {0} and found.primal.width % 4 == 0
    exact = collegial.search("fc6-500", variance="exact", free_widths=True)
    assert exact.variance_source == "exact" and len(exact.free_widths.widths) == 5


def test_fit_gives_alpha_with_its_points():
    fit = collegial.fit("bottleneck-64", widths=[4, 8, 16, 64], trials=400, seed=3)
    assert [point.width for point in fit.points] == [4, 8, 16, 64] and fit.trials == 400
    assert fit.alpha_ci[0] < fit.alpha < fit.alpha_ci[1]
    assert fit == fit and fit != collegial.fit("bottleneck-64", widths="4,8,16,64", trials=400, seed=4)
    through_origin = collegial.fit("bottleneck-64", widths=[4, 64], trials=100, no_intercept=True)
    assert through_origin.intercept == 0.0


def test_moments_of_one_hidden_layer(tmp_path):
    # One hidden ReLU layer of width n: E[K^2]/E[K]^2 - 1 falls as 1/n.
    wide, narrow = collegial.moments(widths=[10, 200]), collegial.moments(widths=[10, 100])
    assert narrow.variance == pytest.approx(2 * wide.variance, rel=1e-12)
    assert collegial.moments("fc6-30x48").members == 30
    # K(2x, 2x) = 4 K(x, x) without biases.
    for scale in (1, 2):
        numpy.save(tmp_path / f"{scale}.npy", numpy.full(784, float(scale)))
    once, twice = (collegial.moments("fc3-16", input=tmp_path / f"{scale}.npy") for scale in (1, 2))
    assert twice.mean == pytest.approx(4 * once.mean, rel=1e-12)


def test_the_kernel_is_symmetric_positive_and_drawn_from_the_seed():
    kernel = collegial.ntk("fc3-64", count=5, seed=2)
    assert kernel.shape == (5, 5) and kernel.dtype == numpy.float64
    assert (kernel == kernel.T).all() and numpy.linalg.eigvalsh(kernel).min() > 0
    assert (kernel == collegial.ntk("fc3-64", count=5, seed=2, threads=1)).all()
    assert (kernel != collegial.ntk("fc3-64", count=5, seed=3)).any()


def test_the_kernel_takes_arrays():
    spec = collegial.Spec("fc3-32", inputs=6, outputs=1)
    x = numpy.random.default_rng(0).normal(size=(4, 6))
    kernel = collegial.ntk(spec, x)
    # A ReLU network without biases is homogeneous: K(2x, 2x') = 4 K(x, x').
    numpy.testing.assert_allclose(collegial.ntk(spec, 2 * x), 4 * kernel, rtol=1e-5)
    numpy.testing.assert_array_equal(collegial.ntk(spec, numpy.asfortranarray(x)), kernel)
    numpy.testing.assert_array_equal(collegial.ntk(spec, x.reshape(4, 2, 3)[::-1]), kernel[::-1, ::-1])


def test_draws_of_the_kernel_have_the_exact_moments():
    # One input, one output: theory has the mean and the variance in closed form.
    spec, x = collegial.Spec("fc3-16", inputs=5, outputs=1), numpy.ones((1, 5))
    drawn, exact = collegial.ntk(spec, x, draws=400, seed=1), collegial.moments(widths=[5, 16, 16])
    assert (drawn.model, drawn.inputs, drawn.draws, drawn.norm) == ("fc3-16", 1, 400, "none")
    assert abs(drawn.variance - exact.variance) < 4 * drawn.standard_error
    assert abs(drawn.mean - exact.mean) < 4 * drawn.mean_standard_error
    assert drawn.off_diagonal is None
    # The first draw is the kernel of the seed.
    kernels = numpy.array([collegial.ntk(spec, x, seed=seed)[0, 0] for seed in (1, 2, 3)])
    three = collegial.ntk(spec, x, draws=3, seed=1)
    assert three.mean == pytest.approx(kernels.mean(), rel=1e-6)
    told = []
    collegial.ntk(spec, x, draws=5, progress=lambda done, whole: told.append(done / whole))
    assert told and max(told) <= 1.0


def test_draws_over_the_batch_of_norms():
    drawn = collegial.ntk(collegial.Spec("resnext29-1x2d", image=8), draws=3, count=2, batch=4, norm="batch")
    assert (drawn.norm, drawn.inputs, drawn.draws) == ("batch", 2, 3)
    assert set(drawn.off_diagonal) >= {"mean", "variance", "standard_error"}


def test_a_table_of_designs_is_scored_and_correlated(tmp_path):
    table = tmp_path / "designs.csv"
    designs = ["1x128d", "2x64d", "4x32d", "8x16d", "16x8d", "32x4d"]
    lines = [f"resnext29-{design},{error}" for error, design in zip([7, 6, 5, 4, 3, 2], designs)]
    table.write_text("model,error\n" + "\n".join(lines) + "\n")
    bare = collegial.score(table)
    assert len(bare.rows) == 6 and bare.correlations == []
    scored = collegial.score(table, "error", report=tmp_path / "page.html", figures=tmp_path / "figures", seed=3)
    assert [row["model"] for row in scored.rows] == [f"resnext29-{design}" for design in designs]
    search = collegial.search("resnext29-1x128d", widths=[128])
    assert scored.rows[0].score == pytest.approx(search.baseline_score, rel=1e-12)
    found = {row.predictor: row.spearman for row in scored.correlations if row.given is None and row.target == "error"}
    # Thinner members of the same inner width have fewer parameters and more variance: both predict larger errors, which these are not.
    assert found["score"] == found["parameters"] == -1.0
    assert "collegial.score(" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "figures" / "score.svg").is_file()
    assert scored == collegial.score(str(table), ["error"], seed=3)


def test_forward_gives_the_engines_outputs():
    x = numpy.random.default_rng(1).normal(size=(70, 784)).astype("f4")
    logits = collegial.forward("fc3-4x8", None, x, seed=5)
    assert logits.shape == (70, 10) and numpy.isfinite(logits).all()
    # Every input by itself gives the same; 70 is more than one batch.
    numpy.testing.assert_allclose(collegial.forward("fc3-4x8", None, x[66:67], seed=5), logits[66:67], rtol=1e-5, atol=1e-6)
    assert collegial.forward("fc3-4x8", None, x[:0]).shape == (0, 10)


def test_other_threads_run_meanwhile():
    import threading

    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    fit = collegial.fit("bottleneck-128", [8, 32, 128], trials=4000)
    done.set()
    thread.join()
    assert fit.seconds < 0.1 or len(ticks) > 2


def test_regression_with_the_kernel(data, tmp_path):
    found = collegial.regress("fc3-32", data, 60, test_count=40, seed=1, out=tmp_path / "kernel.npy")
    assert (found.inputs, found.test_inputs, found.model) == (60, 40, "fc3-32")
    assert found.ridge in [tried.ridge for tried in found.ridges]
    # The same by hand: ridge regression on the labels' unit vectors less 1/10.
    kernel = numpy.load(tmp_path / "kernel.npy").astype("f8")
    assert kernel.shape == (100, 60)
    labels = numpy.eye(10)[numpy.arange(60) % 10] - 0.1
    weights = numpy.linalg.solve(kernel[:60] + found.ridge * numpy.eye(60), labels)
    guesses = (kernel[60:] @ weights).argmax(1)
    assert found.test_error == (guesses != numpy.arange(40) % 10).mean()
    with pytest.raises(collegial.CollegialError, match="count"):
        collegial.regress("fc3-32", data, 60, test_count=-1)
