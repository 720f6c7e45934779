"""Images and streamlines. Arrays are those of the engine: no points or voxels are copied."""

import os

import numpy

from . import _engine
from ._arguments import path as _path
from ._arguments import switch, text
from ._errors import InputError

_COMMON = {"backend": "cpu", "threads": None, "progress": None}


def _affine(rows):
    return None if rows is None else numpy.array(rows).reshape(4, 4)


def _remedy(array):
    """The advice for an array that is no image; an empty text for an image."""
    if array.dtype.kind == "c":
        return "take its magnitude or its real part"
    if array.dtype.kind not in "buif":
        return "convert it with .astype(numpy.float32)"
    if array.ndim < 3:
        return "add the missing axes, as in array[..., numpy.newaxis]"
    if array.ndim > 4:
        return "give one volume, or a series of them along the fourth axis"
    return "" if array.size else "give an array with voxels"


class Image:
    """An image in world RAS+ mm, with gradients if it is a scan.

    ``Image(array, affine, bvals=None, directions=None)``: an array of float32 in Fortran order, as nibabel reads
    NIfTI, is shared and becomes read-only; any other array of numbers is copied. ``directions`` are unit vectors in
    world axes, one for each volume.
    """

    def __init__(self, array, affine, bvals=None, directions=None):
        array = numpy.asarray(array)
        remedy = _remedy(array)
        if remedy:
            raise InputError(
                f"Found an array of {array.dtype} with the shape {array.shape} for the image, expected real numbers "
                f"with three or four axes and at least one voxel; {remedy}"
            )
        affine = numpy.asarray(affine, dtype=float)
        if affine.shape != (4, 4):
            raise InputError(
                f"Found the shape {affine.shape} for the affine, expected (4, 4); take that of the image's file"
            )
        array = numpy.asarray(array, dtype="<f4", order="F")
        raw = _engine.RawImage(array, affine.ravel().tolist())
        if (bvals is None) != (directions is None):
            raise InputError("Found one of bvals and directions, expected both or neither; give the other one")
        if bvals is not None:
            directions = numpy.asarray(directions, dtype=float)
            if directions.ndim != 2 or directions.shape[1] != 3:
                raise InputError(
                    f"Found the shape {directions.shape} for directions, expected (volumes, 3); transpose them"
                )
            raw = raw.with_gradients(numpy.asarray(bvals, dtype=float).ravel().tolist(), directions.tolist())
        self._raw = raw

    @classmethod
    def _of(cls, raw):
        image = cls.__new__(cls)
        image._raw = raw
        return image

    @classmethod
    def from_nibabel(cls, image, bvals=None, directions=None):
        """The image of nibabel; the values are shared if they are float32 without scaling."""
        return cls(numpy.asanyarray(image.dataobj), image.affine, bvals, directions)

    @property
    def array(self):
        """The values, read-only: x, y, z and, for several volumes, their number."""
        return self._raw.array

    def __array__(self, dtype=None, copy=None):
        array = self.array
        if copy or (dtype is not None and dtype != array.dtype):
            return array.astype(dtype or array.dtype)
        return array

    @property
    def affine(self):
        """Voxel indices to world mm, 4 × 4."""
        return _affine(self._raw.affine)

    @property
    def gradients(self):
        """b-values (s/mm²) and directions in world axes of a scan, otherwise None."""
        gradients = self._raw.gradients
        return None if gradients is None else tuple(numpy.array(part) for part in gradients)

    def to_nibabel(self):
        """A nibabel.Nifti1Image on the same memory."""
        import nibabel

        return nibabel.Nifti1Image(self.array, self.affine)

    def save(self, path, description="arcuate (Python)", *, overwrite=False):
        """Write a NIfTI or MRtrix image, by the name; the gradients of a scan beside it, as .bval and .bvec.

        Files that exist are refused unless ``overwrite`` is true.
        """
        self._raw.save(_path("path", path), text("description", description), switch("overwrite", overwrite), _COMMON)

    def __repr__(self):
        return f"<arcuate.Image {self.array.shape}>"


class Streamlines:
    """Streamlines in world RAS+ mm.

    ``Streamlines(points, offsets)``: points are float32 with the shape (n, 3) in C order; they are shared, and the
    array becomes read-only. Streamline i has the points ``offsets[i]`` to ``offsets[i + 1]``.
    """

    #: Whether each streamline of the input was kept, if ``select`` returned these.
    selected = None

    def __init__(self, points, offsets):
        offsets = numpy.asarray(offsets)
        if offsets.ndim != 1 or offsets.dtype.kind not in "ui":
            raise InputError(
                f"Found an array of {offsets.dtype} with the shape {offsets.shape} for offsets, expected whole numbers "
                "with one axis; convert them with .astype(numpy.uint64)"
            )
        self._raw = _engine.RawStreamlines(points, offsets.astype(numpy.int64).tolist())

    @classmethod
    def _of(cls, raw):
        streamlines = cls.__new__(cls)
        streamlines._raw = raw
        return streamlines

    @classmethod
    def from_nibabel(cls, given):
        """Streamlines of nibabel, DIPY or trx-python in world mm; points are shared if they are float32 without gaps."""
        space = getattr(getattr(given, "space", None), "name", "RASMM")
        if space != "RASMM":
            raise InputError(f"Found streamlines in the space {space}, expected world mm; call their to_rasmm() first")
        given = getattr(given, "streamlines", given)
        offsets, lengths = numpy.asarray(given._offsets).ravel(), numpy.asarray(given._lengths).ravel()
        ends = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(numpy.int64)
        points = numpy.asarray(given._data)
        if not numpy.array_equal(offsets, ends[:-1]) or len(points) != ends[-1]:
            return cls.from_list(given)
        return cls(numpy.ascontiguousarray(points, dtype="<f4"), ends)

    @classmethod
    def from_list(cls, lines):
        """Streamlines from arrays of points, such as those of nibabel and DIPY; they are copied."""
        lines = [numpy.asarray(line, dtype=numpy.float32).reshape(-1, 3) for line in lines]
        points = numpy.concatenate(lines) if lines else numpy.empty((0, 3), numpy.float32)
        return cls(points, numpy.cumsum([0] + [len(line) for line in lines]))

    def __len__(self):
        return len(self._raw)

    def __getitem__(self, index):
        """The points of a streamline, a view."""
        index = range(len(self))[index]
        first, end = self.offsets[index : index + 2]
        return self.points[int(first) : int(end)]

    @property
    def points(self):
        """All points, world mm, read-only, with the shape (n, 3)."""
        return self._raw.points

    @property
    def offsets(self):
        """The first point of each streamline, and the number of points."""
        return self._raw.offsets

    @property
    def per_streamline(self):
        """Values per streamline by name."""
        return dict(self._raw.values(False))

    @property
    def per_point(self):
        """Values per point by name."""
        return dict(self._raw.values(True))

    @property
    def groups(self):
        """Numbers of the streamlines of each named group."""
        return dict(self._raw.groups())

    @property
    def affine(self):
        """The affine of their image, or None."""
        return _affine(self._raw.affine)

    def with_values(self, name, values):
        """The same streamlines with a value for each, under a name."""
        return Streamlines._of(self._raw.with_values(name, numpy.asarray(values, dtype=float).ravel().tolist()))

    def to_nibabel(self):
        """A nibabel Tractogram on the same points, with the values per streamline."""
        from nibabel.streamlines import ArraySequence, Tractogram

        lines = ArraySequence()
        lines._data = self.points
        lines._offsets = self.offsets[:-1].astype(numpy.intp)
        lines._lengths = numpy.diff(self.offsets.astype(numpy.intp))
        return Tractogram(lines, data_per_streamline=self.per_streamline, affine_to_rasmm=numpy.eye(4))

    def to_pandas(self):
        """A table of the values per streamline."""
        import pandas

        return pandas.DataFrame(self.per_streamline)

    def save(self, path, description="arcuate (Python)", *, overwrite=False):
        """Write a .tck, .trk, .trx, .vtk or .vtp file, by the name.

        A file that exists is refused unless ``overwrite`` is true.
        """
        self._raw.save(_path("path", path), text("description", description), switch("overwrite", overwrite), _COMMON)

    def __repr__(self):
        return f"<arcuate.Streamlines: {len(self)}>"


class Fit:
    """Fitted tensors; its maps are images: fa, md, ad, rd, dec, direction, tensor, s0, mask, repaired."""

    def __init__(self, raw):
        self._raw = raw

    def __getattr__(self, name):
        image = None if name.startswith("_") else self._raw.map(name)
        if image is None:
            raise AttributeError(f"A fit has no map named {name}")
        return Image._of(image)

    def __repr__(self):
        volumes, fitted = self._raw.volumes, self._raw.fitted
        counted = f"{volumes} volume" + "s" * (volumes != 1)
        return f"<arcuate.Fit {self.fa.array.shape}: {counted}, {fitted} voxel{'s' * (fitted != 1)} fitted>"


def world_directions(bvecs, affine):
    """Directions in world axes from those of FSL's .bvec files and of DIPY: one row per volume, along the image's axes."""
    bvecs = numpy.asarray(bvecs, dtype=float)
    if bvecs.ndim != 2 or bvecs.shape[1] != 3:
        raise InputError(f"Found the shape {bvecs.shape} for bvecs, expected (volumes, 3); transpose them")
    axes = numpy.asarray(affine, dtype=float)[:3, :3]
    # FSL counts the first axis from right to left.
    flip = numpy.array([-1.0 if numpy.linalg.det(axes) > 0 else 1.0, 1.0, 1.0])
    world = (bvecs * flip) @ (axes / numpy.linalg.norm(axes, axis=0)).T
    length = numpy.linalg.norm(world, axis=1, keepdims=True)
    return numpy.divide(world, length, out=numpy.zeros_like(world), where=length > 0)


def _image(given, name=None):
    """The image; name is the argument in the sentence of a refusal."""
    if isinstance(given, Image):
        return given
    if hasattr(given, "dataobj") and hasattr(given, "affine"):
        return Image.from_nibabel(given)
    argument = f" for {name}" if name else ""
    if isinstance(given, (str, os.PathLike)):
        raise InputError(
            f"Found the path {os.fspath(given)}{argument}, expected an arcuate.Image or an image of nibabel; read the "
            "file with arcuate.open"
        )
    raise InputError(
        f"Found {type(given).__name__}{argument}, expected an arcuate.Image or an image of nibabel; make one with "
        "arcuate.Image(array, affine)"
    )


def _mask(given, scan, name="mask", of="scan"):
    """The mask of a scan or another image; name and of are their arguments."""
    expected = scan.array.shape[:3]
    # An array without an affine is on the grid of the scan.
    is_array = isinstance(given, numpy.ndarray)
    given = given if is_array else _image(given, name)
    shape = given.shape if is_array else given.array.shape
    # A file may have the axes of the same voxels in another order.
    in_order = tuple if is_array else sorted
    if in_order(shape[:3]) != in_order(expected):
        remedy = "give that of the same voxels" if is_array else "resample it"
        raise InputError(f"Found the shape {shape} for {name}, expected that of {of}, {expected}; {remedy}")
    return (Image(given, scan.affine) if is_array else given)._raw


def _streamlines(given):
    if isinstance(given, Streamlines):
        return given
    inner = getattr(given, "streamlines", given)
    if hasattr(inner, "_offsets") and hasattr(inner, "_lengths"):
        return Streamlines.from_nibabel(given)
    return Streamlines.from_list(given)
