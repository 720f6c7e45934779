"""Files as nibabel, trx-python, VTK and pynrrd write them, in every data type, byte order and orientation."""

import itertools
import os
import tempfile
import zipfile

import nibabel as nib
import nrrd
import numpy as np
from nibabel.affines import voxel_sizes
from trx.trx_file_memmap import TrxFile, save as save_trx
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkPolyData
from vtkmodules.vtkIOLegacy import vtkPolyDataWriter
from vtkmodules.vtkIOXML import vtkXMLPolyDataWriter

TYPES = ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8")
SHAPE = (3, 4, 2)


def orders():
    """All 48 affines along the world's axes, with edges and a shift."""
    for axes in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            affine = np.eye(4)
            affine[:3, :3] = 0
            for a in range(3):
                affine[axes[a], a] = signs[a] * (1.0, 1.5, 2.25)[a]
            affine[:3, 3] = (-31.0, 12.5, 7.0)
            yield affine


def oblique(affine):
    a, b = 0.3, -0.2
    turn = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    turn = turn @ np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    affine = affine.copy()
    affine[:3, :3] = turn @ affine[:3, :3]
    return affine


def values(kind, shape=SHAPE):
    """Numbers that show the type: its ends, and some between."""
    count = int(np.prod(shape))
    kind = np.dtype(kind)
    if kind.kind == "f":
        some = np.linspace(-3.7, 1234.5, count)
        some[:3] = (np.nan, np.inf, 1e-30)
    else:
        limits = np.iinfo(kind)
        some = np.arange(count) * 3 % 120
        some = some.astype(kind)
        some[:2] = (limits.min, limits.max)
    return some.astype(kind).reshape(shape, order="F")


def images():
    turns = list(orders())
    for cls, kind, order in itertools.product(("Nifti1", "Nifti2"), TYPES, "<>"):
        yield "nii", image(cls, kind, order, oblique(turns[5]))
    for i, affine in enumerate(turns):
        yield "nii.gz", image("Nifti1", "i2", "<>"[i % 2], affine if i % 3 else oblique(affine), codes=(i % 3, 1 + i % 2))
    for codes in ((0, 1), (1, 0), (2, 4), (0, 0)):
        yield "nii", image("Nifti1", "i2", "<", turns[13], codes=codes)
    for slope, inter in ((0.5, -3.0), (-2.0, 1e6), (np.nan, np.nan), (0.0, 7.0)):
        made = nifti("Nifti1", "i2", "<", turns[2])
        data = bytearray(made.to_bytes())
        data[112:120] = np.array([slope, inter], "<f4").tobytes()
        yield "nii", bytes(data)
    for shape in ((3, 4), (3, 4, 2, 5), (3, 4, 1, 2, 2), (7,)):
        yield "nii", nifti("Nifti1", "f4", "<", turns[0], shape=shape).to_bytes()
    for kind in ("u1", "i2", "i4", "f4"):
        data = nib.MGHImage(np.nan_to_num(values(kind)) if kind == "f4" else values(kind), oblique(turns[9]))
        yield "mgh", data.to_bytes()
    for affine in turns[::5]:
        yield "mgz", nib.freesurfer.MGHImage(values("i2", (*SHAPE, 2)), affine).to_bytes()
    for kind, order in itertools.product(TYPES, ("little", "big")):
        yield "nrrd", as_nrrd(kind, turns[7], endian=order, encoding="raw")
    for encoding in ("gzip", "ascii"):
        yield "nrrd", as_nrrd("i2", oblique(turns[3]), encoding=encoding)
    for space in ("left-posterior-superior", "RAS", "left-anterior-superior"):
        yield "nrrd", as_nrrd("u1", turns[11], space=space)


def nifti(cls, kind, order, affine, codes=(1, 1), shape=SHAPE):
    made = getattr(nib, cls + "Image")(values(kind, shape), affine, dtype=np.dtype(kind))
    if order == ">":
        made = getattr(nib, cls + "Image")(values(kind, shape), affine, made.header.as_byteswapped(">"))
    made.header.set_qform(affine, codes[1])
    made.header.set_sform(affine, codes[0])
    return made


def image(*args, **more):
    return nifti(*args, **more).to_bytes()


def pair(folder):
    """A .hdr and its .img."""
    made = nib.Nifti1Pair(values("i2"), list(orders())[21], dtype=np.int16)
    path = os.path.join(folder, "pair.img")
    nib.save(made, path)
    for ending in ("hdr", "img"):
        with open(os.path.join(folder, "pair." + ending), "rb") as file:
            yield ending, file.read()


def as_nrrd(kind, affine, space="left-posterior-superior", **more):
    signs = {"left-posterior-superior": (-1, -1, 1), "RAS": (1, 1, 1), "left-anterior-superior": (-1, 1, 1)}[space]
    header = {"space": space, "space directions": affine[:3, :3].T * signs, "space origin": affine[:3, 3] * signs,
              "kinds": ["domain"] * 3, **more}
    return saved("nrrd", lambda path: nrrd.write(path, values(kind), header))


def saved(ending, write):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a." + ending)
        write(path)
        with open(path, "rb") as file:
            return file.read()


def lines():
    rng = np.random.default_rng(11)
    return [rng.uniform(-40, 40, (n, 3)).astype("f4") for n in (5, 2, 9, 3)]


def streamlines():
    some = lines()
    rng = np.random.default_rng(12)
    tractogram = nib.streamlines.Tractogram(
        some, affine_to_rasmm=np.eye(4),
        data_per_point={"fa": [rng.random((len(s), 1)).astype("f4") for s in some],
                        "rgb": [rng.random((len(s), 3)).astype("f4") for s in some]},
        data_per_streamline={"weight": rng.random((len(some), 1)).astype("f4")})
    bare = nib.streamlines.Tractogram(some, affine_to_rasmm=np.eye(4))
    yield "tck", saved("tck", lambda path: nib.streamlines.save(bare, path))
    for kind in ("Float32LE", "Float32BE", "Float64LE", "Float64BE"):
        yield "tck", tck(some, kind)
    named = list(orders())
    for i, affine in enumerate(named):
        order = "".join(nib.aff2axcodes(named[(5 * i + 1) % 48]))
        header = dict(dimensions=(60, 70, 80), voxel_sizes=voxel_sizes(affine), voxel_to_rasmm=affine, voxel_order=order)
        if i % 2:
            header["endianness"] = ">"
        yield "trk", saved("trk", lambda path: nib.streamlines.save(tractogram, path, header=header))
    for points, offsets in itertools.product(("f2", "f4", "f8"), ("u4", "u8")):
        yield "trx", saved("trx", lambda path: save_trx(trx(some, points, offsets), path))
    yield "trx", packed(saved("trx", lambda path: save_trx(trx(some, "f4", "u4"), path)))
    for version, binary, kind in itertools.product((42, 51), (False, True), ("f4", "f8")):
        yield "vtk", vtk(some, version, binary, kind)
    for mode, compressed, kind, width in itertools.product("ABP", (False, True), ("f4", "f8"), (32, 64)):
        yield "vtp", vtp(some, mode, compressed, kind, width)
    yield "vtp", vtp(some, "P", False, "f4", 32, big=True)


def tck(some, kind):
    number = np.dtype({"32": "f4", "64": "f8"}[kind[5:7]]).newbyteorder("<" if kind.endswith("LE") else ">")
    head = "mrtrix tracks\ndatatype: %s\ncount: %d\nfile: . 100\n" % (kind, len(some))
    head = (head + "END\n").encode().ljust(100, b"\n")
    ends = np.full((1, 3), np.nan)
    body = np.concatenate([part for s in some for part in (s, ends)] + [np.full((1, 3), np.inf)])
    return head + body.astype(number).tobytes()


def trx(some, points, offsets):
    made = TrxFile(nb_vertices=sum(map(len, some)), nb_streamlines=len(some))
    data = made.streamlines
    data._data = np.concatenate(some).astype(points)
    data._offsets = np.cumsum([0] + [len(s) for s in some[:-1]]).astype(offsets)
    data._lengths = np.array([len(s) for s in some], dtype="u4")
    made.data_per_streamline["id"] = np.arange(len(some), dtype="u2").reshape(-1, 1)
    made.groups["some"] = np.array([2, 0], dtype="u4")
    made.header.update(VOXEL_TO_RASMM=np.diag([2.0, 2, 2, 1]), DIMENSIONS=np.array([50, 50, 50], "u2"))
    return made


def packed(archive):
    """The same archive with deflated members."""
    import io

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return out.getvalue()


def polydata(some, kind):
    data, points, cells = vtkPolyData(), vtkPoints(), vtkCellArray()
    points.SetData(numpy_to_vtk(np.concatenate(some).astype(kind), deep=True))
    first = 0
    for s in some:
        cells.InsertNextCell(len(s))
        for i in range(len(s)):
            cells.InsertCellPoint(first + i)
        first += len(s)
    data.SetPoints(points)
    data.SetLines(cells)
    fa = numpy_to_vtk(np.linspace(0, 1, first).astype("f4"), deep=True)
    fa.SetName("fa")
    data.GetPointData().AddArray(fa)
    return data


def vtk(some, version, binary, kind):
    def write(path):
        writer = vtkPolyDataWriter()
        writer.SetFileVersion(version)
        writer.SetHeader("SPACE=RAS")
        writer.SetFileTypeToBinary() if binary else writer.SetFileTypeToASCII()
        writer.SetInputData(polydata(some, kind))
        writer.SetFileName(path)
        assert writer.Write()

    return saved("vtk", write)


def vtp(some, mode, compressed, kind, width, big=False):
    def write(path):
        writer = vtkXMLPolyDataWriter()
        {"A": writer.SetDataModeToAscii, "B": writer.SetDataModeToBinary, "P": writer.SetDataModeToAppended}[mode]()
        writer.SetCompressorTypeToZLib() if compressed else writer.SetCompressorTypeToNone()
        writer.SetHeaderTypeToUInt32() if width == 32 else writer.SetHeaderTypeToUInt64()
        writer.SetByteOrderToBigEndian() if big else writer.SetByteOrderToLittleEndian()
        writer.SetEncodeAppendedData(width == 64)
        writer.SetInputData(polydata(some, kind))
        writer.SetFileName(path)
        assert writer.Write()

    return saved("vtp", write)


def all_files(ours):
    """Name → content."""
    import gzip

    files = {}
    for i, (ending, data) in enumerate(itertools.chain(images(), streamlines())):
        if ending in ("nii.gz", "mgz"):
            data = gzip.compress(data, mtime=0)
        files["made%03d.%s" % (i, ending)] = data
    with tempfile.TemporaryDirectory() as folder:
        for ending, data in pair(folder):
            files["pair." + ending] = data
    for name in sorted(os.listdir(ours)):
        with open(os.path.join(ours, name), "rb") as file:
            files["ours-" + name] = file.read()
    return files
