"""The functions: arrays and images of other packages become those of the engine, which does the work."""

import os
import shutil
import subprocess
import warnings

from . import _engine
from ._data import Fit, Image, Streamlines, _image, _mask, _streamlines
from ._errors import Error, InputError, Remark

_ROLES = ("seed", "target", "include", "exclude", "terminate", "within")


def _common(backend, threads, progress):
    return {"backend": backend, "threads": threads, "progress": progress}


def open(path, *, progress=None):
    """Open an image, a scan with the gradients beside it, or streamlines; remarks about the file are warnings."""
    opened, remarks = _engine.open(os.fspath(path), _common("cpu", None, progress))
    for remark in remarks:
        warnings.warn(remark, Remark, stacklevel=2)
    if isinstance(opened, _engine.RawStreamlines):
        return Streamlines._of(opened)
    return Image._of(opened)


def fit(scan, *, mask=None, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    mask = None if mask is None else _mask(mask, scan)
    return Fit(_engine.fit(_image(scan)._raw, mask, parameters, common))


def _regions(role, given):
    if given is None:
        return []
    # A single region: its text, its numbers, or its mask.
    if not isinstance(given, list):
        given = [given]
    key = "mask" if role == "within" else role
    return [(key, *_region(role, one)) for one in given]


def _region(role, one):
    if isinstance(one, str):
        kind, _, rest = one.partition(":")
        if kind == "mask":
            return [], open(rest)._raw
        try:
            numbers = [float(number) for number in rest.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) != {"sphere": 4, "box": 6}.get(kind):
            raise InputError(
                f"Found “{one}” for {role}, expected sphere:x,y,z,radius or box:x,y,z,hx,hy,hz in mm, or mask:path"
            )
        return numbers, None
    if isinstance(one, tuple):
        return [float(number) for number in one], None
    return [], _image(one)._raw


def track(
    fit,
    *,
    seed=None,
    target=None,
    include=None,
    exclude=None,
    terminate=None,
    within=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    given = zip(_ROLES, (seed, target, include, exclude, terminate, within))
    regions = [region for role, regions in given for region in _regions(role, regions)]
    if not isinstance(fit, Fit):
        raise InputError(f"Found {type(fit).__name__} for fit, expected what arcuate.fit returns; fit the scan first")
    common = _common(backend, threads, progress)
    return Streamlines._of(_engine.track(fit._raw, regions, parameters, common))


def density(streamlines, *, template=None, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    template = None if template is None else _image(template)._raw
    return Image._of(_engine.density(_streamlines(streamlines)._raw, template, parameters, common))


def view(*files):
    """Open the window of the program ``arcuate`` with these files, and return its process."""
    program = shutil.which("arcuate")
    if program is None:
        raise Error(
            "Found no program named arcuate on the PATH, expected it for the window; install Arcuate, or add its "
            "folder to PATH"
        )
    return subprocess.Popen([program, *(os.fspath(file) for file in files)])
