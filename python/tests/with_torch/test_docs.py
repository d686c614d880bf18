"""Every parameter of what `collegial.torch` offers is explained."""

import inspect

import collegial.torch


def test_docstrings_explain_every_parameter():
    offered = [getattr(collegial.torch, name) for name in collegial.torch.__all__]
    functions = [value for value in offered if inspect.isfunction(value)]
    assert len(functions) == 5
    for function in functions:
        for name in inspect.signature(function).parameters:
            assert f"        {name}: " in function.__doc__, f"{function.__name__} does not explain {name}"
