"""Wrong data and parameters raise with what was found and what was expected."""

import numpy
import pytest
from helpers import SEED, TARGET

import arcuate

WRONG = [
    (lambda: arcuate.Streamlines(numpy.zeros((4, 2), numpy.float32), [0, 4]), r"shape \(4, 2\)"),
    (lambda: arcuate.Streamlines(numpy.zeros((4, 3)), [0, 4]), "float64.*expected an array of float32"),
    (lambda: arcuate.Streamlines(numpy.zeros((3, 4), numpy.float32).T, [0, 4]), "not contiguous"),
    (lambda: arcuate.Streamlines(numpy.zeros((4, 3), numpy.float32), [0, 5]), "expected ascending"),
    (lambda: arcuate.Streamlines(numpy.zeros((4, 3), numpy.float32), [0.0, 4.0]), "whole numbers"),
    (lambda: arcuate.Streamlines(numpy.full((4, 3), numpy.nan, numpy.float32), [0, 4]), "finite"),
    (lambda: arcuate.Streamlines([[0, 0, 0]], [0, 1]), "Found"),
    (lambda: arcuate.Image(numpy.zeros((2, 2), numpy.float32), numpy.eye(4)), "three or four axes"),
    (lambda: arcuate.Image(numpy.zeros((2, 2, 2), complex), numpy.eye(4)), "complex128"),
    (lambda: arcuate.Image(numpy.zeros((2, 0, 2), numpy.float32), numpy.eye(4)), "three or four axes"),
    (lambda: arcuate.Image(numpy.zeros((2, 2, 2)), numpy.full((4, 4), numpy.nan)), "finite"),
    (lambda: arcuate.Image(numpy.zeros((2, 2, 2)), numpy.zeros((4, 4))), "independent axes"),
    (lambda: arcuate.Image(numpy.zeros((2, 2, 2, 3)), numpy.eye(4), [0, 1], numpy.zeros((2, 3))), "3 volumes"),
    (lambda: arcuate.fit(arcuate.Image(numpy.zeros((2, 2, 2, 3)), numpy.eye(4))), "without gradients"),
    (lambda: arcuate.fit(numpy.zeros((2, 2, 2, 3))), "Found ndarray"),
]


@pytest.mark.parametrize(("call", "sentence"), WRONG)
def test_wrong_data_raise(call, sentence):
    with pytest.raises(arcuate.InputError, match=sentence):
        call()


def test_wrong_parameters_raise(fit, scan):
    for arguments, sentence in [
        ({"step": -1}, "Found -1 for .*expected a number"),
        ({"no_such": 1}, "does not have"),
        ({"seeds": "some"}, "Found some"),
        ({"seeds": "random:0"}, "in seeds"),
        ({"backend": "abacus"}, "not a backend"),
        ({"threads": 0}, "Found 0 for threads"),
    ]:
        with pytest.raises(arcuate.ParameterError, match=sentence):
            arcuate.track(fit, seed=SEED, **{"backend": "cpu", **arguments})
    with pytest.raises(arcuate.InputError, match="sphere:x,y,z,radius"):
        arcuate.track(fit, seed="cube:1", backend="cpu")
    with pytest.raises(arcuate.FileError, match="none.nii.gz"):
        arcuate.open("none.nii.gz")
    with pytest.raises(arcuate.InputError):
        arcuate.fit(scan, mask=numpy.ones((2, 2, 2), bool), backend="cpu")


def test_wrong_arguments_of_other_functions_raise(fit, scan):
    lines = arcuate.Streamlines(numpy.array([[0, 0, 0], [4, 0, 0]], numpy.float32), [0, 2])
    image = arcuate.Image(numpy.random.default_rng(1).random((8, 8, 8)), numpy.eye(4))
    series = arcuate.Image(numpy.random.default_rng(1).random((8, 8, 8, 6)), numpy.eye(4))
    shell = {"backend": "cpu"}
    mrtrix = {**shell, "odf_basis": "mrtrix", "odf_frame": "world"}
    script = {"image": "none.nii.gz", "fill": [[1, 1, 1], 0.5], "run": {"steps": 3}}
    for call, sentence in [
        (lambda: arcuate.fod(scan, response_algorithm="other", **shell), "expected one of dhollander"),
        (lambda: arcuate.fod(scan, responses={"bone": "none.txt"}, **shell), "Found the tissue bone"),
        (lambda: arcuate.fod(scan, responses={"wm": "none.txt"}, white_fa=0.3, **shell), "white_fa"),
        (lambda: arcuate.fod(image, **shell), "without gradients"),
        (lambda: arcuate.rays(fit, seed=SEED, bootstrap=3, **shell), "does not have"),
        (lambda: arcuate.rays(fit, seed=SEED, speed_floor=0.1, **shell), "only distributions have it; leave it out"),
        (lambda: arcuate.rays(image, seed=SEED, **shell), "Found 1 volume, expected 6"),
        (lambda: arcuate.rays(scan.array, seed=SEED, **shell), "Found ndarray for fit"),
        (lambda: arcuate.track(fit, seed=SEED, select=3, **shell), "only distributions have it; leave it out"),
        (lambda: arcuate.track(fit, seed=SEED, scan=scan, **shell), "leave them out"),
        (lambda: arcuate.track(fit, seed=SEED, odf_basis="mrtrix", **shell), "leave them out"),
        (lambda: arcuate.track(series, seed=SEED, odf_basis="mrtrix", **shell), "give the other one"),
        (lambda: arcuate.track(series, seed=SEED, odf_basis="other", odf_frame="world", **shell), "choose one of them"),
        (lambda: arcuate.track(series, seed=SEED, bootstrap=3, **mrtrix), "without the scan"),
        (lambda: arcuate.track(series, seed=SEED, fa=0.2, **mrtrix), "only tensors have it"),
        (lambda: arcuate.pathway(fit, SEED, TARGET, null=5, **shell), "from 20 to"),
        (lambda: arcuate.pathway(fit, SEED, TARGET, null_full=True, **shell), "without pairs"),
        (lambda: arcuate.pathway(fit, SEED, TARGET, sensitivity="amplitude", **shell), "have no amplitudes"),
        (lambda: arcuate.pathway(fit, SEED, TARGET, sensitivity="all", **shell), "choose one of them"),
        (lambda: arcuate.segment(**shell), "neither image nor script"),
        (lambda: arcuate.segment(image, script={"run": 3}, **shell), "expected its run.json"),
        (lambda: arcuate.segment(image, script=script, add=(1, 1, 1, 1), **shell), "Found add beside script"),
        (lambda: arcuate.segment(image, script=script, smoothness=2, **shell), "Found smoothness beside script"),
        (lambda: arcuate.segment(image, script=script, **shell), "whose run cannot be read"),
        (lambda: arcuate.commit(lines, scan, pulse=3, between=9, scheme="none.scheme", **shell), "beside pulse"),
        (lambda: arcuate.pathway(fit, "sphere:900,0,0,2", TARGET, **shell), "from_.* lies outside the volume"),
        (lambda: arcuate.pathway(fit, SEED, TARGET, costly_factor=3, **shell), "without costly"),
        (lambda: arcuate.pathway(fit, SEED, TARGET, epsilon=-1, **shell), "Found -1"),
        (lambda: arcuate.segment(image, **shell), "no start"),
        (lambda: arcuate.segment(image, add=(4, 4, 4, 2), **shell), "no target"),
        (lambda: arcuate.segment(image, add=(4, 4), probe=(4, 4, 4), **shell), "for add"),
        (lambda: arcuate.segment(image, add="here", probe=(4, 4, 4), **shell), "for add, expected numbers"),
        (lambda: arcuate.segment(image, mask=image, fill=(1, 1, 1), **shell), "expected one of them"),
        (lambda: arcuate.segment(image, threshold=3, probe=(4, 4, 4), **shell), "expected .low, high"),
        (lambda: arcuate.segment(image, threshold=(0, 1), probe=(90, 4, 4), **shell), "holds no voxel"),
        (lambda: arcuate.commit(lines, scan, start=[1, 2], **shell), "Found 2 weights"),
        (lambda: arcuate.commit(lines, scan, pulse=3, **shell), "pulse and between"),
        (lambda: arcuate.commit(lines, scan, gamma=(2, 0.5), **shell), "Found gamma"),
        (lambda: arcuate.connectome(lines, image, **shell), "whole"),
        (lambda: arcuate.connectome(lines, numpy.zeros((2, 2, 2)), **shell), "Found ndarray"),
        (lambda: arcuate.profile(lines, **shell), "nothing to sample"),
        (lambda: arcuate.profile(lines, values="fa", **shell), "fa"),
        (lambda: arcuate.select(lines, **shell), "no selection rule"),
        (lambda: arcuate.select(lines, invert=True, **shell), "no selection rule"),
        (lambda: arcuate.select(lines, length=4, **shell), "expected .low, high"),
        (lambda: arcuate.select(lines, stop="tired", **shell), "expected one of"),
        (lambda: arcuate.select(lines, values={"weight": (0, 1)}, **shell), "weight"),
        (lambda: arcuate.select(lines, images=[(image, 0, 1, "most")], **shell), "expected one of mean"),
        (lambda: lines.with_values("weight", [1, 2]), "Found 2 values for 1 streamline, "),
        (lambda: arcuate.world_directions(numpy.zeros((3, 6)), numpy.eye(4)), "transpose"),
    ]:
        with pytest.raises(arcuate.InputError, match=sentence):
            call()
