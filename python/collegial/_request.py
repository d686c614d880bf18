"""From Python arguments to a request: plain data that the library reads."""

from __future__ import annotations

import inspect
import json
import math
import os

from ._collegial import CollegialError


def model_data(model):
    """A model as JSON has it: a name or path, or a spec as an object."""
    if isinstance(model, dict):
        return model
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    data = getattr(model, "_data", None)
    if data is None:
        raise TypeError(f"a model is a name, a path, a dict or a Spec, not {type(model).__name__}")
    return data


def request(**fields) -> str:
    """The request as JSON; fields that are None have their default."""
    return json.dumps({name: _field(name, value) for name, value in fields.items() if value is not None})


def call(function: str, fields: dict) -> str:
    """The Python call that asks for the same again."""
    from . import _functions

    parameters = inspect.signature(getattr(_functions, function)).parameters
    (_, first), *others = fields.items()
    given = first.to_dict() if hasattr(first, "to_dict") else os.fspath(first) if isinstance(first, os.PathLike) else first
    words = [repr(given)]
    words += [f"{name}={value!r}" for name, value in others if value != parameters[name].default]
    return f"collegial.{function}({', '.join(words)})"


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


#: Options that are lists, for which one name may stand.
LISTS = {"target", "group", "items"}


def _field(name, value):
    """The value of a field as JSON has it."""
    if name == "model":
        return model_data(value)
    if name == "models":
        return [model_data(model) for model in value]
    if name == "set":
        return changes(value)
    if name in LISTS and isinstance(value, str):
        return [value]
    return _plain(name, value)


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
