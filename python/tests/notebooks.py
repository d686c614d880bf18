"""Runs the notebooks in `examples/`, cell by cell, as a kernel would.

Their outputs are kept, so that they can be read without being run. `nbclient` writes them anew.
"""

import ast
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
        tree = ast.parse("".join(cell["source"]), filename=f"{name}, {cell['id']}")
        # The value of the last line is shown, so it must have a form to be shown in.
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{name}, {cell['id']}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"{name}, {cell['id']}", "eval"), names)
            assert repr(value)
            assert cell["outputs"], "the last line shows something"
    return names
