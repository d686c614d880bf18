"""The Python that the book and the README show is Python, and asks for what is there."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import collegial

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S))
]


def test_there_are_some():
    assert len(BLOCKS) >= 4


def calls(tree):
    """The calls of `collegial.NAME`, with NAME."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.value.id == "collegial":
                yield node.func.attr, node


def check(block):
    """A block compiles, and calls functions that there are with keywords that they have."""
    tree = ast.parse(block)
    compile(tree, "block", "exec")
    for name, call in calls(tree):
        parameters = inspect.signature(getattr(collegial, name)).parameters
        unknown = {keyword.arg for keyword in call.keywords if keyword.arg} - set(parameters)
        assert not unknown, f"{name} has no {', '.join(sorted(unknown))}"


@pytest.mark.parametrize("block", BLOCKS)
def test_it_compiles_and_names_what_there_is(block):
    check(block)


@pytest.mark.parametrize("block", ["collegial.seek('fc3-8')", "collegial.search('fc3-8', budgets=1)", "collegial.search("])
def test_what_is_not_there_is_noticed(block):
    with pytest.raises((AttributeError, AssertionError, SyntaxError)):
        check(block)
