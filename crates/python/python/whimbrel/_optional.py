"""Packages that only some functions need."""

import importlib


def need(module, what):
    """The module, or an error that says what needs it and how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise ImportError(f"{what} needs {package}: pip install {package}") from None
