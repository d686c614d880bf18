"""The Python that the book and the README show is Python, and asks for what is there."""

import ast
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


@pytest.mark.parametrize("block", BLOCKS)
def test_it_compiles_and_names_what_there_is(block):
    tree = ast.parse(block)
    compile(tree, "block", "exec")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.value.id == "collegial":
                assert hasattr(collegial, node.func.attr), node.func.attr
