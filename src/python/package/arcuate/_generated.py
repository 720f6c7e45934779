"""Signatures, docstrings and type hints from the engine's tables of parameters."""

import inspect

from . import _engine

_REGIONS = (
    "\n\nA region is (x, y, z, radius) or (x, y, z, half, half, half) in mm, a text such as\n"
    '"sphere:-24,-18,8,5", or a mask; several regions are a list.'
)

_MODELS = (
    "\n\nThe first argument is what fit returns, what fod returns, or an image of the coefficients of distributions, in\n"
    "MRtrix's basis and world axes unless odf_basis and odf_frame (voxel or world) state others."
)

_INTRODUCTIONS = {
    "phantom": (
        "Make a synthetic head or block with its scan: kind is plain or crossing (heads), helix, diagonal,\nu-fibre or "
        "planar (blocks). No person was scanned."
    ),
    "fit": "Fit diffusion tensors to a scan, within a mask or one that is found.",
    "fod": (
        "Estimate fibre orientation distributions of a scan, with their peaks and maps of their lobes.\n\nResponse "
        "functions are estimated (response_algorithm: dhollander or tournier), or read from MRtrix's\ntext files: "
        'responses={"wm": …, "gm": …, "csf": …}.'
    ),
    "track": (
        "Follow streamlines through fitted tensors or fibre orientation distributions." + _MODELS + "\ntissues are five "
        "volumes or labels, which end streamlines in distributions. A bootstrap in distributions needs\ntheir scan and "
        "responses; a result of fod has both." + _REGIONS
    ),
    "rays": (
        "Trace geodesic rays through fitted tensors or along the lobes of distributions, and keep the strongest."
        + _MODELS
        + _REGIONS
    ),
    "pathway": (
        "Find the cheapest path between two regions, and the voxels of nearly the same cost." + _MODELS + "\nnull is a "
        "number of random pairs of the same head to compare with (0: none; the command compares with 200);\nnull_full "
        "compares on the voxels of the pathway itself. sensitivity is cost or amplitude: the input of the\nvoxels to "
        "which the image of that name refers." + _REGIONS
    ),
    "segment": (
        "Grow a surface by a level set, from spheres (add), a mask, a threshold (low, high) or a point (fill).\n\nThe "
        "grey value comes from probes (x, y, z, radius) or from target and tolerance. remove keeps the\nsurface out of "
        "spheres, grow_here and not_here are regions, layer is an image that acts as a speed.\nreference is a mask to compare "
        "with. volume is the one of a series to segment (default 0), and the run ends after steps (default 1000).\n"
        "script repeats a run: the run.json of an earlier one, with its own inputs."
    ),
    "commit": (
        "Fit a weight to each streamline by the diffusion signal that it explains.\n\nThe water around fibres has the "
        "directions of peaks (three volumes each; default: those of tensors).\nstart has weights to begin with; gamma is "
        "(shape, scale) of radii; pulse and between are in ms, or\nscheme is a Camino scheme file with the timing of "
        "each volume."
    ),
    "density": "Map the density of streamlines, on the grid of a template or their own.",
    "connectome": (
        "Count the streamlines between the labels of a map.\n\nvalue is the name of a value of the streamlines, or an "
        "image, whose mean each pair has."
    ),
    "profile": (
        "Average values at nodes along a bundle.\n\nvalues are names of values per point; images are images by name; "
        "start is a region near the end at\nwhich the bundle starts."
    ),
}

_RETURNS = {
    "phantom": "Phantom",
    "fit": "Fit",
    "fod": "Fod",
    "track": "Streamlines",
    "rays": "Streamlines",
    "pathway": "Pathway",
    "segment": "Segmentation",
    "commit": "Weights",
    "density": "Image",
    "connectome": "Connectome",
    "profile": "Profile",
}


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
        "backend: auto, cpu, cuda, cuda:NUMBER, cuda:auto (the least used card) or cuda:all",
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


def describe_all(module):
    """Describe the functions that have parameters from tables."""
    for name in _RETURNS:
        describe(getattr(module, name))


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


def type_hints():
    """The generated part of ``__init__.pyi``."""
    from . import _functions

    functions = [getattr(_functions, name) for name in _RETURNS]
    return "\n".join(stub(function) for function in functions) + "\n"
