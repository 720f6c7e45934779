"""Reads what Arcuate wrote with nibabel and trx-python, and writes files for it to read.

usage: check.py FOLDER.  FOLDER/ours.json describes ours.tck, ours.trk and ours.trx; theirs.json will describe the files that
this program writes.
"""

import itertools
import json
import os
import sys

import nibabel as nib
import numpy as np
from trx.io import load as load_any  # noqa: F401  (present in all versions that are known)
from trx.trx_file_memmap import TrxFile, load as load_trx, save as save_trx

folder = sys.argv[1]
at = lambda name: os.path.join(folder, name)  # noqa: E731
NEAR_MM = 1e-3


def same(found, expected, what, near=NEAR_MM):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    off = np.abs(found - expected).max() if found.size else 0
    assert off <= near, (what, off)


def lines_of(expected):
    points, offsets = np.array(expected["points"], float).reshape(-1, 3), expected["offsets"]
    return [points[a:b] for a, b in zip(offsets, offsets[1:])]


def check_ours():
    with open(at("ours.json"), encoding="utf-8") as file:
        ours = json.load(file)
    lines = lines_of(ours)
    for ending in ("tck", "trk"):
        loaded = nib.streamlines.load(at("ours." + ending))
        assert len(loaded.streamlines) == len(lines)
        for i, (found, expected) in enumerate(zip(loaded.streamlines, lines)):
            same(found, expected, (ending, i))
    header = loaded.header
    same(header["voxel_to_rasmm"], ours["affine"], "trk affine", 1e-4)
    assert list(header["dimensions"]) == ours["shape"]
    assert header["voxel_order"].decode() == ours["order"], header["voxel_order"]
    for name, expected in ours["per_point"].items():
        found = np.concatenate(list(loaded.tractogram.data_per_point[name]))
        same(found, np.array(expected).reshape(found.shape), name, 1e-6)
    for name, expected in ours["per_streamline"].items():
        found = np.array(loaded.tractogram.data_per_streamline[name])
        same(found, np.array(expected).reshape(found.shape), name, 1e-6)

    trx = load_trx(at("ours.trx"))
    same(trx.streamlines._data, np.concatenate(lines), "trx points", 0)
    assert [len(s) for s in trx.streamlines] == [len(s) for s in lines]
    same(trx.header["VOXEL_TO_RASMM"], ours["affine"], "trx affine", 1e-4)
    assert list(trx.header["DIMENSIONS"]) == ours["shape"]
    for name, expected in ours["per_point"].items():
        found = np.asarray(trx.data_per_vertex[name]._data)
        same(found, np.array(expected).reshape(found.shape), name, 0)
    for name, expected in ours["per_streamline"].items():
        found = np.asarray(trx.data_per_streamline[name])
        same(found, np.array(expected).reshape(found.shape), name, 0)
    for name, expected in ours["groups"].items():
        assert list(trx.groups[name]) == expected, name
    for group, values in ours["per_group"].items():
        for name, expected in values.items():
            same(np.asarray(trx.data_per_group[group][name]).ravel(), expected, name, 0)
    trx.close()


def orders():
    """All 48 affines along the world's axes, with spacings and a shift."""
    for axes in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            affine = np.eye(4)
            affine[:3, :3] = 0
            for a in range(3):
                affine[axes[a], a] = signs[a] * (1.0, 1.5, 2.25)[a]
            affine[:3, 3] = (-31.0, 12.5, 7.0)
            yield affine


def write_theirs():
    rng = np.random.default_rng(7)
    theirs = []

    def note(name, lines, **more):
        points = np.concatenate(lines) if lines else np.zeros((0, 3))
        offsets = np.cumsum([0] + [len(s) for s in lines])
        theirs.append(
            dict(name=name, points=points.astype(float).ravel().tolist(), offsets=offsets.tolist(), **more)
        )

    lines = [rng.uniform(-40, 40, (n, 3)).astype("f4") for n in (5, 2, 17, 3)]
    tractogram = nib.streamlines.Tractogram(
        lines,
        affine_to_rasmm=np.eye(4),
        data_per_point={"fa": [rng.random((len(s), 1)).astype("f4") for s in lines],
                        "rgb": [rng.random((len(s), 3)).astype("f4") for s in lines]},
        data_per_streamline={"weight": rng.random((len(lines), 1)).astype("f4")},
    )
    nib.streamlines.save(tractogram, at("theirs.tck"))
    note("theirs.tck", lines)
    # The voxel order in the header need not be the affine's.
    named = list(orders())
    for i, affine in enumerate(named):
        order = "".join(nib.aff2axcodes(named[(5 * i + 1) % 48]))
        header = dict(dimensions=(60, 70, 80), voxel_sizes=nib.affines.voxel_sizes(affine),
                      voxel_to_rasmm=affine, voxel_order=order)
        name = "theirs%02d.trk" % i
        nib.streamlines.save(tractogram, at(name), header=header)
        again = [np.asarray(s) for s in nib.streamlines.load(at(name)).streamlines]
        values = tractogram.data_per_point
        note(name, again, per_point={"fa": np.concatenate(list(values["fa"])).ravel().astype(float).tolist()},
             columns=["fa", "rgb[0]", "rgb[1]", "rgb[2]"])
    for i, (points, offsets) in enumerate(itertools.product(("f2", "f4", "f8"), ("u4", "u8"))):
        trx = TrxFile(nb_vertices=sum(map(len, lines)), nb_streamlines=len(lines))
        data = trx.streamlines
        data._data = np.concatenate(lines).astype(points)
        data._offsets = np.cumsum([0] + [len(s) for s in lines[:-1]]).astype(offsets)
        data._lengths = np.array([len(s) for s in lines], dtype="u4")
        trx.data_per_streamline["id"] = np.arange(len(lines), dtype="u2").reshape(-1, 1)
        trx.groups["some"] = np.array([2, 0], dtype="u4")
        trx.header.update(VOXEL_TO_RASMM=np.diag([2.0, 2, 2, 1]), DIMENSIONS=np.array([50, 50, 50], "u2"))
        name = "theirs%d.trx" % i
        save_trx(trx, at(name))
        note(name, [s.astype(points) for s in lines], groups={"some": [2, 0]},
             per_streamline={"id": [0.0, 1.0, 2.0, 3.0]})
    with open(at("theirs.json"), "w", encoding="utf-8") as file:
        json.dump(theirs, file)


check_ours()
write_theirs()
print("nibabel", nib.__version__, "agrees")
