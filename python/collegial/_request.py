"""From Python arguments to a request: plain data that the library reads."""

from __future__ import annotations

import inspect
import json
import math
import os

from ._collegial import CollegialError


def model_text(model) -> str:
    """A model as text: a name, a path, or a spec in JSON."""
    if isinstance(model, dict):
        return json.dumps(model)
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    text = getattr(model, "_text", None)
    if text is None:
        raise TypeError(f"a model is a name, a path, a dict or a Spec, not {type(model).__name__}")
    return text


def request(model=None, **fields) -> str:
    """The request as JSON; fields that are None have their default."""
    data = {} if model is None else {"model": model_text(model)}
    for name, value in fields.items():
        if value is not None:
            data[name] = _plain(name, value)
    return json.dumps(data)


def call(function: str, model, fields: dict, defaults: dict) -> str:
    """The Python call that asks for the same again."""
    given = model.to_dict() if hasattr(model, "to_dict") else os.fspath(model) if isinstance(model, os.PathLike) else model
    words = [repr(given)]
    words += [f"{name}={value!r}" for name, value in fields.items() if value != defaults.get(name)]
    return f"collegial.{function}({', '.join(words)})"


def defaults(function) -> dict:
    """The defaults of a function's parameters."""
    return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}


def widths_of(widths):
    """Widths as they are: text, or a list of numbers."""
    return widths if widths is None or isinstance(widths, str) else list(widths)


def changes(given) -> list:
    """Changes to a recipe as "key=value" texts."""
    if not isinstance(given, dict):
        return list(given)
    # TOML writes true and false.
    return [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in given.items()]


def floats(array):
    """An array as the library takes it."""
    import numpy

    return numpy.ascontiguousarray(array, dtype=numpy.float32)


def _plain(name, value):
    """The value as JSON has it."""
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "item"):  # a number of numpy's
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise CollegialError(f"{name}= is {value}; it must be a finite number")
    if hasattr(value, "__iter__"):
        return [_plain(name, item) for item in value]
    return value
