"""Exchange with nibabel, pandas, trx-python and DIPY. A package that is not installed skips its tests."""

import nibabel
import numpy
import pytest
from helpers import SEED

import arcuate


def test_values_as_a_table(fit):
    table = arcuate.track(fit, seed=SEED, backend="cpu").to_pandas()
    assert (table["length"] > 0).all()


def test_nibabel_shares_points(tracks):
    lines = arcuate.open(tracks)
    other = lines.to_nibabel()
    assert len(other.streamlines) == len(lines)
    assert numpy.shares_memory(other.streamlines._data, lines.points)
    assert numpy.array_equal(other.streamlines[3], lines[3])
    back = arcuate.Streamlines.from_nibabel(other)
    assert back._raw.address == lines._raw.address
    assert numpy.array_equal(back.offsets, lines.offsets)
    # Some of them, with gaps between.
    some = arcuate.Streamlines.from_nibabel(other[::2])
    assert len(some) == (len(lines) + 1) // 2 and numpy.array_equal(some[1], lines[2])


def test_nibabel_shares_voxels():
    stored = nibabel.Nifti1Image(numpy.asfortranarray(numpy.ones((4, 5, 6), numpy.float32)), numpy.eye(4))
    image = arcuate.Image.from_nibabel(stored)
    assert numpy.shares_memory(image.array, stored.dataobj)
    assert numpy.shares_memory(image.array, image.to_nibabel().dataobj)


def test_directions_of_fsl_files(head, scan):
    bvecs = numpy.loadtxt(head / "dwi.bvec").T
    assert numpy.allclose(arcuate.world_directions(bvecs, scan.affine), scan.gradients[1], atol=1e-5)


def test_trx_python_round_trip(tracks, tmp_path):
    trx_file = pytest.importorskip("trx.trx_file_memmap", reason="trx-python is not installed")
    lines = arcuate.open(tracks)
    stored = trx_file.load(str(tracks))
    read = arcuate.Streamlines.from_nibabel(stored)
    assert read.points.tobytes() == lines.points.tobytes()
    assert read.offsets.tobytes() == lines.offsets.tobytes()
    trx_file.save(stored, str(tmp_path / "again.trx"))
    stored.close()
    again = arcuate.open(tmp_path / "again.trx")
    assert again.points.tobytes() == lines.points.tobytes()
    for name, values in lines.per_streamline.items():
        assert again.per_streamline[name].tobytes() == values.tobytes(), name
    lines.save(tmp_path / "ours.trx")
    theirs = trx_file.load(str(tmp_path / "ours.trx"))
    assert numpy.array_equal(numpy.asarray(theirs.streamlines._data), lines.points)
    theirs.close()


def test_dipy_pipeline_with_the_tracking_of_arcuate(head):
    gradients = pytest.importorskip("dipy.core.gradients", reason="DIPY is not installed")
    stateful = pytest.importorskip("dipy.io.stateful_tractogram")
    from dipy.segment.clustering import QuickBundles

    stored = nibabel.load(head / "dwi.nii.gz")
    table = gradients.gradient_table(
        numpy.loadtxt(head / "dwi.bval"), bvecs=numpy.loadtxt(head / "dwi.bvec").T, b0_threshold=50
    )
    scan = arcuate.Image.from_nibabel(stored, table.bvals, arcuate.world_directions(table.bvecs, stored.affine))
    # The line in place of DIPY's direction getter, stopping criterion and LocalTracking.
    lines = arcuate.track(arcuate.fit(scan, backend="cpu"), seed=SEED, backend="cpu")
    tractogram = stateful.StatefulTractogram(lines.to_nibabel().streamlines, stored, stateful.Space.RASMM)
    assert tractogram.is_bbox_in_vox_valid() and len(tractogram) == len(lines)
    clusters = QuickBundles(threshold=20.0).cluster(tractogram.streamlines)
    assert 0 < len(clusters) < len(lines)
    assert len(arcuate.Streamlines.from_nibabel(tractogram)) == len(lines)
    tractogram.to_vox()
    with pytest.raises(arcuate.InputError, match="expected world mm"):
        arcuate.Streamlines.from_nibabel(tractogram)
