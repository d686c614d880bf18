"""Packages that are not installed with the wheel."""

import importlib


def need(package, what, extra):
    """The package, or a sentence on how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.split(".")[0]
        raise ImportError(f"{what} needs {name}; install it with: pip install 'collegial[{extra}]'") from error
