"""train, evaluate, export, validate and reproduce, on a small data set of its own."""

import numpy
import pytest

import collegial


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    seen = []
    out = tmp_path_factory.mktemp("runs") / "run"
    result = collegial.train("fc3-16", data, out=out, epochs=3, set={"batch": 20}, on_epoch=seen.append)
    return result, seen, out


def test_training_tells_every_epoch_and_learns(trained):
    result, seen, _ = trained
    assert [epoch["epoch"] for epoch in seen] == [1, 2, 3] == [epoch.epoch for epoch in result.epochs]
    assert seen[-1]["test_error"] == result.test_error < 0.5
    assert len(result.to_pandas()) == 3 and result.model == "fc3-16"


def test_a_finished_run_resumes_with_more_epochs(trained, data):
    _, _, out = trained
    with pytest.raises(collegial.CollegialError, match="holds a run already"):
        collegial.train("fc3-16", data, out=out)
    longer = collegial.train("fc3-16", data, out=out, epochs=4, resume=True)
    assert len(longer.epochs) == 4


def test_a_checkpoint_is_evaluated_and_exported(trained, data, tmp_path):
    result, _, out = trained
    tested = collegial.evaluate(out, data)
    assert tested.images == 100 and len(tested.classes) == 10
    assert sum(map(sum, tested.confusion)) == 100
    written = collegial.export(out, "onnx", tmp_path / "net.onnx")
    assert (tmp_path / "net.onnx").stat().st_size == written.bytes and written.format == "onnx"
    again = collegial.evaluate(tmp_path / "net.onnx", data)
    assert again.test_error == tested.test_error
    x = numpy.zeros((2, 784), "f4")
    assert collegial.forward("fc3-16", out, x).shape == (2, 10)


def test_a_reproduction_names_the_python_call(tmp_path):
    result = collegial.reproduce(["fig3", "table1"], scale="smoke", out=tmp_path)
    assert [item["item"] for item in result.items] == ["fig3", "table1"] and not result.fails
    assert "collegial.reproduce(" in (tmp_path / "index.html").read_text()


def test_a_page_names_the_python_call(tmp_path):
    page = tmp_path / "page.html"
    collegial.search("fc6-500", alpha=1.6, report=page, figures=tmp_path / "figures")
    import html
    import re

    text = html.unescape(re.sub("</?span>", "", page.read_text()))
    assert "collegial.search('fc6-500', alpha=1.6)" in text and "collegial search" not in text
    assert (tmp_path / "figures" / "dual.svg").is_file()
