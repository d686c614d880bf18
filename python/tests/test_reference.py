"""The reference of the Python package in the book is what the package is today.

`UPDATE_REFERENCE=1 python -m pytest python/tests/test_reference.py` writes it anew.
"""

import inspect
import os
import re
import textwrap
from pathlib import Path

import collegial

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/python.md"

HEAD = """# Python

Made from the package's own docstrings. A result has the keys of the command line's JSON as
attributes, prints as a table, and has `to_dict()`, `to_pandas()` and, where it can be drawn,
`plot()`. Errors are `CollegialError`s with the sentence that the program would print.
`collegial.torch` (imported by itself, needs PyTorch) is on [a page of its own](torch.md).
"""


def signature(function, package="collegial"):
    """A function's signature, one parameter per line."""
    lines, starred = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            lines.append("*")
            starred = True
        note = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
        value = getattr(parameter.default, "__name__", repr(parameter.default))
        default = "" if parameter.default is parameter.empty else f" = {value}"
        stars = {parameter.VAR_KEYWORD: "**", parameter.VAR_POSITIONAL: "*"}.get(parameter.kind, "")
        starred = starred or stars == "*"
        lines.append(f"{stars}{parameter.name}{note}{default}")
    result = inspect.signature(function).return_annotation
    inside = "".join(f"    {line},\n" for line in lines)
    name = f"{package}.{function.__name__}"
    return f"{name}(\n{inside}) -> {result}" if lines else f"{name}() -> {result}"


def described(text):
    """A docstring as Markdown: what it says, and its arguments as a list."""
    said, _, arguments = inspect.cleandoc(text).partition("\nArgs:\n")
    items, name = [], re.compile(r"^    (\w+): (.*)$")
    for line in arguments.partition("\n\nReturns")[0].splitlines():
        found = name.match(line)
        if found:
            items.append(f"- `{found[1]}`: {found[2]}")
        elif items and line.strip():
            items[-1] += f" {line.strip()}"
    code = said.replace("<", "&lt;").strip()
    lines = (textwrap.fill(item, 100, subsequent_indent="  ", break_on_hyphens=False) for item in items)
    return code + ("\n\n" + "\n".join(lines) if items else "")


def page():
    functions = [getattr(collegial, name) for name in collegial.__all__]
    functions = sorted((each for each in functions if inspect.isfunction(each)), key=lambda each: each.__name__)
    sections = [f"## {each.__name__}\n\n```python\n{signature(each)}\n```\n\n{described(each.__doc__)}\n" for each in functions]
    results = [getattr(collegial, name) for name in collegial.__all__ if name.endswith("Result") and name != "Result"]
    rows = []
    for each in results:
        fields = ", ".join(f"`{field}`" for field in each.__annotations__ if not field.startswith("_"))
        plots = "yes" if hasattr(each, "plot") else ""
        rows.append(f"| `{each.__name__}` | {inspect.cleandoc(each.__doc__).splitlines()[0]} | {fields} | {plots} |")
    table = "## Results\n\n| | | some of its attributes | `plot()` |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
    return "\n".join([HEAD, *sections, table])


def test_the_reference_is_what_the_package_is():
    if os.environ.get("UPDATE_REFERENCE"):
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "UPDATE_REFERENCE=1 python -m pytest python/tests/test_reference.py writes it anew"
