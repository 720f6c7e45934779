"""Reads images, masks and surfaces that Arcuate wrote with nibabel, and writes some for it to read.

usage: images.py FOLDER.  FOLDER/ours.json lists where the voxels and points of each are; theirs.json will list the same
for the files that this program writes.
"""

import json
import os
import sys

import nibabel as nib
import numpy as np

folder = sys.argv[1]
at = lambda name: os.path.join(folder, name)  # noqa: E731
NEAR_MM = 1e-3

with open(at("ours.json"), encoding="utf-8") as file:
    ours = json.load(file)
theirs = []
for one in ours:
    order, affine = one["order"], np.array(one["affine"])
    image, mask = nib.load(at("image%d.nii.gz" % order)), nib.load(at("mask%d.nii" % order))
    ramp = (np.arange(120) * 3.0).reshape(4, 5, 6, order="F")
    for loaded, expected in ((image, ramp), (mask, (np.arange(120) % 4 == 1).reshape(4, 5, 6, order="F"))):
        assert np.abs(loaded.affine - affine).max() < NEAR_MM, (order, loaded.affine, affine)
        assert "".join(nib.aff2axcodes(loaded.affine)) == one["orientation"], order
        assert np.array_equal(np.asanyarray(loaded.dataobj), expected), order
        # Both forms are equal.
        assert np.abs(loaded.get_qform() - affine).max() < NEAR_MM, (order, loaded.get_qform())
    net = nib.load(at("net%d.surf.gii" % order))
    points, triangles = net.agg_data("pointset"), net.agg_data("triangle")
    assert np.array_equal(points.ravel(), np.array(one["points"], "f4")), order
    assert np.array_equal(triangles.ravel(), np.array(one["triangles"])), order

    def note(name, image, labels):
        image.to_filename(at(name))
        values = np.asanyarray(image.dataobj).astype(float).ravel(order="F").tolist()
        theirs.append(dict(name=name, affine=image.affine.tolist(), values=values, labels=labels,
                           orientation="".join(nib.aff2axcodes(image.affine))))

    values = (ramp + order).astype("f4")
    note("theirs%d.mgz" % order, nib.MGHImage(values, affine), False)
    note("theirs%d_labels.mgh" % order, nib.MGHImage((ramp % 7).astype("i4"), affine), True)
    labels = nib.Nifti1Image((ramp % 5).astype("i2"), affine)
    labels.header.set_intent("label")
    note("theirs%d.nii.gz" % order, labels, True)
with open(at("theirs.json"), "w", encoding="utf-8") as file:
    json.dump(theirs, file)
