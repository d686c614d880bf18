"""The reference of `collegial.torch` in the book is what it is today, and the recipes run.

`UPDATE_REFERENCE=1 python -m pytest python/tests/with_torch/test_torch_reference.py` writes it anew.
"""

import inspect
import os
import re
from pathlib import Path

import pytest
from test_reference import described, signature

import collegial.torch

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = DOCS / "reference/torch.md"

HEAD = """# PyTorch

Made from the docstrings of `collegial.torch`, which needs PyTorch 2.2 or later. Results print as a
table, and have `to_dict()`, `to_pandas()` and `plot()`; [Recipes](../recipes.md) show them at work.
"""


def page():
    offered = [getattr(collegial.torch, name) for name in sorted(collegial.torch.__all__, key=str.lower)]
    functions = [each for each in offered if inspect.isfunction(each)]
    sections = [
        f"## {each.__name__}\n\n```python\n{signature(each, 'collegial.torch')}\n```\n\n{described(each.__doc__)}\n" for each in functions
    ]
    rows = [f"| `{each.__name__}` | {' '.join(inspect.getdoc(each).split())} |" for each in offered if inspect.isclass(each)]
    return "\n".join([HEAD, *sections, "## Types\n\n| | |\n|---|---|\n" + "\n".join(rows) + "\n"])


def test_the_reference_is_what_the_package_is():
    if os.environ.get("UPDATE_REFERENCE"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "UPDATE_REFERENCE=1 writes it anew"


RECIPES = re.findall(r"```python\n(.*?)```", (DOCS / "recipes.md").read_text(encoding="utf-8"), re.S)


@pytest.mark.parametrize("recipe", RECIPES)
def test_recipes_run(recipe, capsys):
    exec(compile(recipe, "recipes.md", "exec"), {"__name__": "recipe"})
    assert re.search(r"times less (mean )?kernel variance", capsys.readouterr().out)
