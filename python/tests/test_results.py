"""Results print as tables, and turn into dicts, DataFrames and plots."""

import builtins
import copy
import pickle

import matplotlib
import pytest

import collegial

matplotlib.use("Agg")

RESULTS = {
    "search": lambda: collegial.search("resnext29-1x128d", alpha=1.6),
    "fit": lambda: collegial.fit("bottleneck-64", widths=[4, 16, 64], trials=100),
    "moments": lambda: collegial.moments("fc6-30x48"),
    "info": lambda: collegial.info("resnext29-37x10d"),
}
ROWS = {"search": ("curve", 128), "fit": ("points", 3), "moments": (None, 1), "info": ("layers", None)}


@pytest.fixture(scope="module", params=RESULTS)
def case(request):
    return request.param, RESULTS[request.param]()


def test_keys_are_attributes(case):
    _, result = case
    document = result.to_dict()
    assert document and all(getattr(result, key) == value for key, value in document.items())
    assert set(document) <= set(dir(result))
    for copied in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert copied == result


def test_it_prints_as_a_table(case):
    name, result = case
    assert "---" in repr(result) and repr(result) == str(result)
    html = result._repr_html_()
    assert "<table>" in html and html.count("<tr>") > 1
    if name == "search":
        assert "37x10d: 3.73 times less kernel variance" in repr(result) and "<p>37x10d: 3.73" in html


def test_to_pandas(case):
    name, result = case
    frame = result.to_pandas()
    key, rows = ROWS[name]
    assert len(frame) == (rows or len(result.layers))
    if key:
        assert list(frame.columns) == list(result.to_dict()[key][0])


def test_designs_have_numbers_in_columns():
    found = RESULTS["search"]()
    frame = found.to_pandas("designs")
    assert list(frame.role[:2]) == ["baseline", "optimum"] and set(frame.problem.dropna()) == {"primal", "dual"}
    best = frame[(frame.role == "optimum") & (frame.problem == "primal")].iloc[0]
    assert (best.members, best.width, best.parameters) == (37, 10, found.primal["parameters"])
    assert frame.variance.dtype.kind == "f"
    with pytest.raises(ValueError, match="there is no table 'curves' here; there are designs, "):
        found.to_pandas("curves")


def test_a_repr_has_no_escape_sequences(case):
    assert "\x1b" not in repr(case[1])


def test_plot(case):
    _, result = case
    axes = result.plot()
    assert isinstance(axes, matplotlib.axes.Axes) and axes.get_xlabel() and axes.get_title(loc="left")
    assert result.plot(ax=axes) is axes


@pytest.mark.parametrize("method, package", [("to_pandas", "pandas"), ("plot", "matplotlib")])
def test_what_is_not_installed_is_named(monkeypatch, method, package):
    original = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == package:
            raise ImportError(name)
        return original(name, *rest)

    import sys

    for loaded in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("importlib.import_module", lambda name: without(name))
    with pytest.raises(ImportError, match=rf"{method} needs {package}; install it with: pip install 'collegial\["):
        getattr(collegial.moments("fc3-100"), method)()
