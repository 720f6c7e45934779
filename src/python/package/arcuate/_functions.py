"""The functions: arrays and images of other packages become those of the engine, which does the work."""

import os
import shutil
import subprocess
import warnings

from . import _engine
from ._data import Fit, Image, Streamlines, _image, _mask, _streamlines
from ._errors import Error, InputError, Remark
from ._results import Connectome, Fod, Pathway, Phantom, Profile, Segmentation, Weights


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


def phantom(*, kind="plain", seed=1, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    return Phantom(_engine.phantom(kind, seed, parameters, common))


def fit(scan, *, mask=None, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    mask = None if mask is None else _mask(mask, scan)
    return Fit(_engine.fit(_image(scan)._raw, mask, parameters, common))


def _regions(**given):
    """The regions of arguments by the roles that they have; the argument within is the role mask."""
    roles = {"within": "mask", "from_": "seed", "to": "target"}
    return [_region(name, roles.get(name, name), one) for name, several in given.items() for one in _several(several)]


def _several(given):
    """A list as it is; a single region is its text, its numbers, or its mask."""
    if given is None:
        return []
    return given if isinstance(given, list) else [given]


def _region(name, role, one):
    if isinstance(one, str):
        kind, _, rest = one.partition(":")
        if kind == "mask":
            return role, [], open(rest)._raw
        try:
            numbers = [float(number) for number in rest.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) != {"sphere": 4, "box": 6}.get(kind):
            raise InputError(
                f"Found “{one}” for {name}, expected sphere:x,y,z,radius or box:x,y,z,hx,hy,hz in mm, or mask:path"
            )
        return role, numbers, None
    if isinstance(one, tuple):
        return role, _numbers(name, one), None
    return role, [], _image(one)._raw


def _numbers(name, given):
    try:
        return [float(number) for number in given]
    except (TypeError, ValueError):
        raise InputError(f"Found {given!r} for {name}, expected numbers in mm") from None


def _points(name, given):
    """Points or spheres as lists of numbers; a single one is a tuple or a text."""
    points = []
    for one in _several(given):
        if isinstance(one, str):
            one = one.removeprefix("sphere:").split(",")
        points.append(_numbers(name, one))
    return points


def _limits(name, given):
    """Two limits; None leaves one open."""
    try:
        low, high = given
        low = float("-inf") if low is None else float(low)
        high = float("inf") if high is None else float(high)
    except (TypeError, ValueError):
        raise InputError(f"Found {given!r} for {name}, expected (low, high); None leaves one open") from None
    return low, high


def _fit(given):
    if not isinstance(given, Fit):
        raise InputError(f"Found {type(given).__name__} for fit, expected what arcuate.fit returns; fit the scan first")
    return given._raw


def fod(
    scan,
    *,
    mask=None,
    responses=None,
    response_algorithm=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    common = _common(backend, threads, progress)
    mask = None if mask is None else _mask(mask, scan)
    files = [(tissue, os.fspath(path)) for tissue, path in (responses or {}).items()]
    given = {"files": files, "algorithm": response_algorithm}
    return Fod(_engine.fod(_image(scan)._raw, mask, given, parameters, common))


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
    regions = _regions(
        seed=seed, target=target, include=include, exclude=exclude, terminate=terminate, within=within
    )
    common = _common(backend, threads, progress)
    return Streamlines._of(_engine.track(_fit(fit), regions, parameters, common))


def rays(
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
    regions = _regions(
        seed=seed, target=target, include=include, exclude=exclude, terminate=terminate, within=within
    )
    common = _common(backend, threads, progress)
    return Streamlines._of(_engine.rays(_fit(fit), regions, parameters, common))


def pathway(
    fit,
    from_,
    to,
    *,
    within=None,
    exclude=None,
    costly=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    regions = _regions(from_=from_, to=to, within=within, exclude=exclude, costly=costly)
    common = _common(backend, threads, progress)
    return Pathway(_engine.pathway(_fit(fit), regions, parameters, common))


def segment(
    image,
    *,
    probe=None,
    add=None,
    remove=None,
    mask=None,
    threshold=None,
    fill=None,
    volume=0,
    layer=None,
    layer_range=None,
    grow_here=None,
    not_here=None,
    steps=1000,
    ignore_leaks=False,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    beginning = {
        "volume": volume,
        "probe": _points("probe", probe),
        "add": _points("add", add),
        "remove": _points("remove", remove),
        "mask": None if mask is None else _mask(mask, image),
        "threshold": None if threshold is None else _limits("threshold", threshold),
        "fill": None if fill is None else _numbers("fill", fill),
        "layer": None if layer is None else _image(layer)._raw,
        "layer_range": None if layer_range is None else _limits("layer_range", layer_range),
        "grow_here": [_region("grow_here", "include", one) for one in _several(grow_here)],
        "not_here": [_region("not_here", "exclude", one) for one in _several(not_here)],
        "steps": steps,
        "ignore_leaks": ignore_leaks,
    }
    common = _common(backend, threads, progress)
    result = Segmentation(_engine.segment(_image(image)._raw, beginning, parameters, common))
    if result.remark:
        warnings.warn(result.remark, Remark, stacklevel=2)
    return result


def commit(
    streamlines,
    scan,
    *,
    mask=None,
    peaks=None,
    start=None,
    gamma=None,
    pulse=None,
    between=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    further = {
        "mask": None if mask is None else _mask(mask, scan),
        "peaks": None if peaks is None else _image(peaks)._raw,
        "start": None if start is None else [float(weight) for weight in start],
        "gamma": [tuple(_numbers("gamma", one)) for one in _several(gamma)],
        "pulse": pulse,
        "between": between,
    }
    common = _common(backend, threads, progress)
    lines = _streamlines(streamlines)._raw
    return Weights(_engine.commit(lines, _image(scan)._raw, further, parameters, common))


def density(streamlines, *, template=None, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    template = None if template is None else _image(template)._raw
    return Image._of(_engine.density(_streamlines(streamlines)._raw, template, parameters, common))


def connectome(streamlines, labels, *, value=None, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    value = (value, None) if value is None or isinstance(value, str) else (None, _image(value)._raw)
    lines = _streamlines(streamlines)._raw
    return Connectome(_engine.connectome(lines, _image(labels)._raw, value, parameters, common))


def profile(
    streamlines,
    *,
    values=(),
    images=None,
    start=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    common = _common(backend, threads, progress)
    names = [values] if isinstance(values, str) else list(values)
    sampled = [(name, _image(image)._raw) for name, image in (images or {}).items()]
    start = None if start is None else _region("start", "include", start)
    lines = _streamlines(streamlines)._raw
    return Profile(_engine.profile(lines, (names, sampled), start, parameters, common))


def select(
    streamlines,
    *,
    include=None,
    exclude=None,
    target=None,
    within=None,
    ends=False,
    group=None,
    length=None,
    values=None,
    images=(),
    stop=None,
    invert=False,
    number=None,
    random_seed=0,
    backend="auto",
    threads=None,
    progress=None,
):
    """Keep the streamlines that all rules keep, in their order and with their values.

    Parameters
    ----------
    include, exclude, target, within: regions to pass through, not to touch, to reach one of, and to stay inside
    ends: include and target regions must contain an end
    group: name of a group
    length (mm): (low, high); None leaves one limit open
    values: (low, high) by the name of a value per streamline, or per point, which counts by its mean
    images: a list of (image, low, high) or (image, low, high, how) with how = mean, any or all of the points
    stop: the reason for which an end stopped: low-fa, angle, left-mask, …
    invert: keep those that the rules reject
    number: keep this many of the remaining ones, at random with random_seed
    backend: auto, cpu, cuda, cuda:NUMBER or cuda:all
    threads: worker threads; default one per core
    progress: a function of the stage and the share of it that is done, or None

    The result has ``selected``: whether each streamline was kept.
    """
    conditions = [] if length is None else [("length", *_limits("length", length))]
    conditions += [(name, *_limits(name, limits)) for name, limits in (values or {}).items()]
    given = {
        "group": group,
        "ends": ends,
        "values": conditions,
        "images": [
            (_image(image)._raw, *_limits("images", limits[:2]), *(limits[2:] or ["mean"])) for image, *limits in images
        ],
        "stop": stop,
        "invert": invert,
        "number": number,
        "random_seed": random_seed,
    }
    regions = _regions(target=target, include=include, exclude=exclude, within=within)
    common = _common(backend, threads, progress)
    raw = _engine.select(_streamlines(streamlines)._raw, regions, given, common)
    kept = Streamlines._of(raw.streamlines("kept"))
    kept.selected = raw.array("marks").astype(bool)
    return kept


def view(*files):
    """Open the window of the program ``arcuate`` with these files, and return its process."""
    program = shutil.which("arcuate")
    if program is None:
        raise Error(
            "Found no program named arcuate on the PATH, expected it for the window; install Arcuate, or add its "
            "folder to PATH"
        )
    return subprocess.Popen([program, *(os.fspath(file) for file in files)])
