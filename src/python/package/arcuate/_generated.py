"""Signatures, docstrings and stubs from the engine's tables of parameters."""

import inspect

from . import _engine

_INTRODUCTIONS = {
    "fit": "Fit diffusion tensors to a scan, within a mask or one that is found.",
    "track": (
        "Follow streamlines through fitted tensors.\n\nA region is (x, y, z, radius) or (x, y, z, half, half, half) in "
        'mm, a text such as\n"sphere:-24,-18,8,5", or a mask; several regions are a list.'
    ),
    "density": "Map the density of streamlines, on the grid of a template or their own.",
}

_RETURNS = {"fit": "Fit", "track": "Streamlines", "density": "Image"}


def _type(kind):
    return {"number": "float | str | None", "switch": "bool", "choice": "str"}.get(kind, "float | str | None")


def docstring(name):
    """The help of a function: each parameter with its unit, range and default."""
    lines = [_INTRODUCTIONS[name], "", "Parameters", "----------"]
    for key, _, default, unit, expected, help_text in _engine.parameters(name):
        unit = f" ({unit})" if unit else ""
        lines.append(f"{key}{unit}: {expected}; default {default}")
        lines.append(f"    {help_text}.")
    lines += [
        "backend: auto, cpu, cuda, cuda:NUMBER or cuda:all",
        "threads: worker threads; default one per core",
        "progress: a function of the stage and the share of it that is done, or None",
    ]
    return "\n".join(lines)


def signature(function):
    """The signature with a keyword for each parameter; one that is left out has the engine's default."""
    own = inspect.signature(function)
    parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    for key, *_ in _engine.parameters(function.__name__):
        parameters.append(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=...))
    return own.replace(parameters=parameters)


def describe(function):
    """Give a function its generated signature and docstring."""
    function.__doc__ = docstring(function.__name__)
    function.__signature__ = signature(function)


def stub(function):
    """The declaration of a function for ``__init__.pyi``."""
    name = function.__name__
    kinds = {row[0]: row[1] for row in _engine.parameters(name)}
    lines, keyword = [f"def {name}("], False
    for parameter in function.__signature__.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            lines.append("    *,")
            keyword = True
        hint = _type(kinds[parameter.name]) if parameter.name in kinds else "Any"
        default = "" if parameter.default is parameter.empty else " = ..."
        lines.append(f"    {parameter.name}: {hint}{default},")
    lines.append(f") -> {_RETURNS[name]}: ...")
    return "\n".join(lines)


def stubs(functions):
    """The generated part of ``__init__.pyi``."""
    return "\n".join(stub(function) for function in functions) + "\n"
