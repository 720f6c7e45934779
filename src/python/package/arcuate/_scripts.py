"""Scripts of segmentations: the run.json that the command ``arcuate segment`` writes."""

import json
import os
import pathlib

from ._errors import FileError, InputError


def _read(script):
    """The members of a script: a dictionary, or the file of one."""
    if isinstance(script, dict):
        return script
    path = os.fspath(script)
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"The script could not be read ({error.strerror}); check its name: {path}") from None
    except ValueError as error:
        raise InputError(
            f"Found no JSON ({error}), expected a run.json that arcuate segment wrote; name that file: {path}"
        ) from None


def _region(shape):
    """A region of a script as an argument."""
    (kind, numbers), = shape.items()
    if kind == "mask":
        return f"mask:{numbers}"
    sizes = [numbers["radius_mm"]] if kind == "sphere" else numbers["half_mm"]
    return (*numbers["centre"], *sizes)


def _speed(members, read, speed):
    layer = members.get("layer")
    regions = ([_region(shape) for shape in members.get(name, [])] for name in ("grow_here", "not_here"))
    return speed(None if layer is None else read(layer), members.get("layer_volume", 0), *regions)


def beginning(script, image, read, speed):
    """The image of a script, unless one is given, and the start and inputs of its run."""
    try:
        members = _read(script)
        fill, fill_tolerance = members.get("fill") or (None, None)
        mask, threshold = members.get("mask"), members.get("threshold")
        spheres = [(one["add"], [*one["centre"], one["radius_mm"]]) for one in members.get("spheres", [])]
        speeds = [_speed(one, read, speed) for one in [members, *members.get("later", [])]]
        run, name, volume = members["run"], members["image"], members.get("volume", 0)
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        raise InputError(
            f"Found a script without what arcuate segment writes ({error}), expected its run.json; name that file"
        ) from None
    if image is None and str(name).startswith("phantom:"):
        raise InputError(f"Found a script of the built-in head {name}, expected a file; give the image, too")
    return read(name) if image is None else image, {
        "volume": volume,
        "probe": [],
        "spheres": spheres,
        "mask": None if mask is None else read(mask)._raw,
        "threshold": threshold and tuple(threshold),
        "fill": fill,
        "fill_tolerance": fill_tolerance,
        "layer_range": None,
        "speeds": speeds,
        "steps": 0,
        "script": json.dumps(run),
    }
