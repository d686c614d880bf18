"""What the stub promises is there, and nothing else is."""

import ast
import inspect
from importlib.resources import files

import collegial
from collegial import _collegial


def test_the_stub_names_what_the_module_has():
    tree = ast.parse(files("collegial").joinpath("_collegial.pyi").read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    public = {name for name in dir(_collegial) if not name.startswith("__")}
    assert set(functions) | classes == public
    for name, node in functions.items():
        arguments = [argument.arg for argument in node.args.args]
        assert arguments == list(inspect.signature(getattr(_collegial, name)).parameters), name


def test_the_package_is_typed_and_exports_what_it_says():
    assert files("collegial").joinpath("py.typed").is_file()
    assert all(hasattr(collegial, name) for name in collegial.__all__)
    functions = [value for name, value in vars(collegial).items() if name in collegial.__all__ and inspect.isfunction(value)]
    assert len(functions) == 18
    for function in functions:
        assert "return" in function.__annotations__
        for name in inspect.signature(function).parameters:
            assert f"        {name}: " in function.__doc__, f"{function.__name__} does not explain {name}"
