"""The functions: arrays and images of other packages become those of the engine, which does the work."""

import functools
import os
import shutil
import subprocess
import tempfile
import threading
import warnings

from . import _engine, _scripts
from ._arguments import U32, if_given, is_off, limits, numbers, switch, text, whole
from ._arguments import common as _common
from ._arguments import number as _number
from ._arguments import path as _path
from ._data import Fit, Image, Streamlines, _image, _mask, _streamlines
from ._errors import Error, InputError, ParameterError, Remark
from ._results import Connectome, Fod, Pathway, Phantom, Profile, Segmentation, Weights


def open(path, *, progress=None):
    """Open an image, a scan with the gradients beside it, or streamlines; remarks about the file are warnings."""
    opened, remarks = _engine.open(_path("path", path), _common("cpu", None, progress))
    kind = Streamlines if isinstance(opened, _engine.RawStreamlines) else Image
    return kind._of(_warned(opened, remarks))


def phantom(*, kind="plain", seed=1, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    return Phantom(_engine.phantom(text("kind", kind), whole("seed", seed), parameters, common))


def fit(scan, *, mask=None, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    scan = _image(scan, "scan")
    mask = None if mask is None else _mask(mask, scan)
    return Fit(_engine.fit(scan._raw, mask, parameters, common))


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
            found = [float(number) for number in rest.split(",")]
        except ValueError:
            found = []
        if len(found) != {"sphere": 4, "box": 6}.get(kind):
            raise InputError(
                f"Found “{one}” for {name}, expected sphere:x,y,z,radius or box:x,y,z,hx,hy,hz in mm, or mask:path; "
                "correct it"
            )
        return role, found, None
    if isinstance(one, tuple):
        return role, numbers(name, one, unit=" in mm"), None
    return role, [], _image(one, name)._raw


def _points(name, given):
    """Points or spheres as lists of numbers; a single one is a tuple or a text."""
    points = []
    for one in _several(given):
        if isinstance(one, str):
            one = one.removeprefix("sphere:").split(",")
        points.append(numbers(name, one, unit=" in mm"))
    return points


def _model(given, odf_basis=None, odf_frame=None):
    """A fit, or distributions: a result of fod, or an image of their coefficients."""
    odf_basis, odf_frame = if_given(text, "odf_basis", odf_basis), if_given(text, "odf_frame", odf_frame)
    model = {"fit": None, "fod": None, "odf_basis": odf_basis, "odf_frame": odf_frame}
    if isinstance(given, Fit):
        return {**model, "fit": given._raw}
    if isinstance(given, Fod):
        return {**model, "fod": given.wm_fod._raw}
    if not isinstance(given, Image) and not hasattr(given, "dataobj"):
        raise InputError(
            f"Found {type(given).__name__} for fit, expected what arcuate.fit or arcuate.fod returns, or an image of "
            "distributions; fit the scan first"
        )
    raw = _image(given, "fit")._raw
    if odf_basis is None and odf_frame is None:
        remark = _engine.layout_remark(raw, _common("cpu", None, None))
        if remark:
            warnings.warn(remark, Remark, stacklevel=3)
    return {**model, "fod": raw}


def _paths(files):
    """Files by tissue."""
    if files is not None and not isinstance(files, dict):
        raise ParameterError(
            f"Found {type(files).__name__} for responses, expected files by tissue; give a dictionary, as in "
            '{"wm": "wm_response.txt"}'
        )
    return [(text("responses", tissue), _path("responses", path)) for tissue, path in (files or {}).items()]


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
    scan = _image(scan, "scan")
    mask = None if mask is None else _mask(mask, scan)
    given = {"files": _paths(responses), "algorithm": if_given(text, "response_algorithm", response_algorithm)}
    return Fod(_engine.fod(scan._raw, mask, given, parameters, common), scan)


def track(
    fit,
    *,
    seed=None,
    target=None,
    include=None,
    exclude=None,
    terminate=None,
    within=None,
    tissues=None,
    scan=None,
    responses=None,
    odf_basis=None,
    odf_frame=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    regions = _regions(
        seed=seed, target=target, include=include, exclude=exclude, terminate=terminate, within=within
    )
    if not isinstance(fit, Fit) and is_off(parameters.get("bootstrap")):
        for name, one in [("scan", scan), ("responses", responses)]:
            if one is not None:
                raise ParameterError(
                    f"Found {name}, which has no effect: only a bootstrap reads it; give bootstrap, or leave {name} out"
                )
    own = fit if isinstance(fit, Fod) else None
    scan = own.scan if own and scan is None else scan
    further = {
        "tissues": None if tissues is None else _image(tissues, "tissues")._raw,
        "scan": None if scan is None else _image(scan, "scan")._raw,
        "files": _paths(responses),
        "texts": list(own.responses.items()) if own and not responses else [],
    }
    common = _common(backend, threads, progress)
    lines, remarks = _engine.track(_model(fit, odf_basis, odf_frame), regions, further, parameters, common)
    return Streamlines._of(_warned(lines, remarks))


def _warned(result, remarks):
    """The result of a function of this module, after a warning for each remark."""
    for remark in remarks:
        warnings.warn(remark, Remark, stacklevel=3)
    return result


def rays(
    fit,
    *,
    seed=None,
    target=None,
    include=None,
    exclude=None,
    terminate=None,
    within=None,
    odf_basis=None,
    odf_frame=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    regions = _regions(
        seed=seed, target=target, include=include, exclude=exclude, terminate=terminate, within=within
    )
    common = _common(backend, threads, progress)
    return Streamlines._of(_engine.rays(_model(fit, odf_basis, odf_frame), regions, parameters, common))


def pathway(
    fit,
    from_,
    to,
    *,
    within=None,
    exclude=None,
    costly=None,
    null=0,
    null_full=False,
    sensitivity=None,
    odf_basis=None,
    odf_frame=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    regions = _regions(from_=from_, to=to, within=within, exclude=exclude, costly=costly)
    evidence = {
        "null": whole("null", null),
        "null_full": switch("null_full", null_full),
        "sensitivity": if_given(text, "sensitivity", sensitivity),
    }
    common = _common(backend, threads, progress)
    return Pathway(_engine.pathway(_model(fit, odf_basis, odf_frame), regions, evidence, parameters, common))


def _speed(layer=None, layer_volume=0, grow_here=None, not_here=None):
    """The inputs of a level set's speed besides its image."""
    return {
        "layer": None if layer is None else _image(layer, "layer")._raw,
        "layer_volume": whole("layer_volume", layer_volume),
        "grow_here": [_region("grow_here", "include", one) for one in _several(grow_here)],
        "not_here": [_region("not_here", "exclude", one) for one in _several(not_here)],
    }


def segment(
    image=None,
    *,
    probe=None,
    add=None,
    remove=None,
    mask=None,
    threshold=None,
    fill=None,
    volume=None,
    layer=None,
    layer_range=None,
    grow_here=None,
    not_here=None,
    steps=None,
    ignore_leaks=False,
    reference=None,
    script=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    given = {"probe": probe, "add": add, "remove": remove, "mask": mask, "threshold": threshold, "fill": fill}
    given.update(layer=layer, layer_range=layer_range, grow_here=grow_here, not_here=not_here)
    given.update(volume=volume, steps=steps)
    if script is not None:
        beside = [name for name, value in given.items() if value is not None] + list(parameters)
        if beside:
            raise ParameterError(
                f"Found {beside[0]} beside script, which has all inputs and parameters, expected one of them; leave one out"
            )
        image, beginning = _scripts.beginning(script, image, open, _speed)
    elif image is None:
        raise InputError("Found neither image nor script, expected one of them; give the image to segment")
    else:
        image = _image(image, "image")
        spheres = [(True, one) for one in _points("add", add)] + [(False, one) for one in _points("remove", remove)]
        beginning = {
            "volume": 0 if volume is None else volume,
            "probe": _points("probe", probe),
            "spheres": spheres,
            "mask": None if mask is None else _mask(mask, image, "mask", "image"),
            "threshold": None if threshold is None else limits("threshold", threshold),
            "fill": None if fill is None else numbers("fill", fill, 3, " in mm"),
            "fill_tolerance": None,
            "layer_range": None if layer_range is None else limits("layer_range", layer_range),
            "speeds": [_speed(layer, 0, grow_here, not_here)],
            "steps": 1000 if steps is None else steps,
            "script": None,
        }
    image = _image(image, "image")
    # A script has values for these arguments as well.
    beginning.update({name: whole(name, beginning[name]) for name in ("volume", "steps")})
    beginning["ignore_leaks"] = switch("ignore_leaks", ignore_leaks)
    beginning["reference"] = None if reference is None else _mask(reference, image, "reference", "image")
    common = _common(backend, threads, progress)
    result = Segmentation(_engine.segment(image._raw, beginning, parameters, common))
    return _warned(result, [result.remark] if result.remark else [])


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
    scheme=None,
    backend="auto",
    threads=None,
    progress=None,
    **parameters,
):
    scan = _image(scan, "scan")
    further = {
        "mask": None if mask is None else _mask(mask, scan),
        "peaks": None if peaks is None else _image(peaks, "peaks")._raw,
        "start": None if start is None else numbers("start", start),
        "gamma": [tuple(numbers("gamma", one, 2)) for one in _several(gamma)],
        "pulse": if_given(_number, "pulse", pulse),
        "between": if_given(_number, "between", between),
        "scheme": if_given(_path, "scheme", scheme),
    }
    common = _common(backend, threads, progress)
    lines = _streamlines(streamlines)._raw
    result = Weights(_engine.commit(lines, scan._raw, further, parameters, common))
    return _warned(result, result.remarks)


def density(streamlines, *, template=None, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    template = None if template is None else _image(template, "template")._raw
    return Image._of(_engine.density(_streamlines(streamlines)._raw, template, parameters, common))


def connectome(streamlines, labels, *, value=None, backend="auto", threads=None, progress=None, **parameters):
    common = _common(backend, threads, progress)
    value = (value, None) if value is None or isinstance(value, str) else (None, _image(value, "value")._raw)
    lines = _streamlines(streamlines)._raw
    return Connectome(_engine.connectome(lines, _image(labels, "labels")._raw, value, parameters, common))


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
    names = [text("values", name) for name in ([values] if isinstance(values, str) else values)]
    sampled = [(text("images", name), _image(image, "images")._raw) for name, image in (images or {}).items()]
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
    backend: auto, cpu, cuda, cuda:NUMBER, cuda:auto (the least used card) or cuda:all
    threads: worker threads; default one per core
    progress: a function of the stage and the share of it that is done, or None

    The result has ``selected``: whether each streamline was kept.
    """
    conditions = [] if length is None else [("length", *limits("length", length))]
    conditions += [(text("values", name), *limits(name, one)) for name, one in (values or {}).items()]
    given = {
        "group": if_given(text, "group", group),
        "ends": switch("ends", ends),
        "values": conditions,
        "images": [
            (_image(image, "images")._raw, *limits("images", rest[:2]), text("images", rest[2] if len(rest) > 2 else "mean"))
            for image, *rest in images
        ],
        "stop": if_given(text, "stop", stop),
        "invert": switch("invert", invert),
        "number": if_given(whole, "number", number, 1, U32),
        "random_seed": whole("random_seed", random_seed),
    }
    regions = _regions(target=target, include=include, exclude=exclude, within=within)
    common = _common(backend, threads, progress)
    raw = _engine.select(_streamlines(streamlines)._raw, regions, given, common)
    kept = Streamlines._of(raw.streamlines("kept"))
    kept.selected = raw.array("marks").astype(bool)
    return kept


def _shown(given, name, folder):
    """The file that the window opens: the given one, or a new one in a folder."""
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    inner = getattr(given, "streamlines", given)
    if isinstance(given, Streamlines) or hasattr(inner, "_offsets"):
        path = os.path.join(folder, f"{name}.trx")
        _streamlines(given).save(path)
    else:
        path = os.path.join(folder, f"{name}.nii.gz")
        _image(given).save(path)
    return path


def view(*given, **named):
    """Open the window of the program ``arcuate`` with files, images and streamlines, and return its process.

    Images and streamlines that are no files are written to a temporary folder, which is removed when the window is closed
    while Python still runs. Names of arguments are those of layers: ``arcuate.view(fa=fit.fa, cst=lines)``.
    """
    program = shutil.which("arcuate")
    if program is None:
        raise Error(
            "Found no program named arcuate on the PATH, expected it for the window; install Arcuate, or add its "
            "folder to PATH"
        )
    folder = tempfile.mkdtemp(prefix="arcuate-")
    remove = functools.partial(shutil.rmtree, folder, ignore_errors=True)
    all_given = [(f"layer_{number}", one) for number, one in enumerate(given, 1)] + list(named.items())
    try:
        process = subprocess.Popen([program, *(_shown(one, name, folder) for name, one in all_given)])
    except BaseException:
        remove()
        raise
    threading.Thread(target=lambda: (process.wait(), remove()), daemon=True).start()
    return process
