"""Runs the notebooks in `examples/`, cell by cell, as a kernel would.

Their outputs are kept, so that they can be read without being run. `nbclient` writes them anew, and what
they say is compared with what the cells say now.
"""

import ast
import contextlib
import io
import json
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name):
    """The names that a notebook leaves behind. Its outputs are kept in the file, and are small."""
    assert (EXAMPLES / name).stat().st_size < 400_000
    notebook = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    names = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["execution_count"] is not None, "outputs are kept: run the notebook once"
        assert not [output for output in cell["outputs"] if output["output_type"] == "error"]
        source, printed, shown = "".join(cell["source"]), io.StringIO(), ""
        tree = ast.parse(source, filename=f"{name}, {cell['id']}")
        # The value of the last line is shown, so it must have a form to be shown in.
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, f"{name}, {cell['id']}", "exec"), names)
            value = eval(compile(ast.Expression(last.value), f"{name}, {cell['id']}", "eval"), names) if last is not None else None
        if value is not None:
            assert cell["outputs"], "the last line shows something"
            shown = "" if source.rstrip().endswith(";") else repr(value)
        assert words(printed.getvalue()) == kept(cell, "stream"), f"{name} prints something else than it keeps: run it anew"
        assert words(shown) == kept(cell, "execute_result"), f"{name} shows something else than it keeps: run it anew"
    return names


def words(text):
    """Without spaces and line ends, which notebooks place by their own rules."""
    return text.split()


def kept(cell, kind):
    """What a cell said when it was run."""
    outputs = [output for output in cell["outputs"] if output["output_type"] == kind and output.get("name") != "stderr"]
    return words(" ".join("".join(output["text"] if kind == "stream" else output["data"]["text/plain"]) for output in outputs))
