"""Arguments that no table has: each refusal names the argument, what was found, what was expected, and what to do."""

import itertools

import numpy
import pytest
from helpers import SEED

import arcuate

CPU = {"backend": "cpu"}


@pytest.fixture(scope="module")
def lines():
    """Streamlines of 1, 2 and 3 mm."""
    points = [[[0, 0, 0], [length, 0, 0]] for length in (1, 2, 3)]
    made = arcuate.Streamlines.from_list(points)
    return made.with_values("weight", [1, 2, 3])


@pytest.fixture(scope="module")
def image():
    return arcuate.Image(numpy.random.default_rng(1).random((8, 8, 8)), numpy.eye(4))


def test_a_mask_of_another_shape_is_refused_with_the_shapes(scan):
    shape = scan.array.shape[:3]
    masks = {
        "(3, 3, 3)": numpy.ones((3, 3, 3)),
        "(4, 4)": numpy.ones((4, 4)),
        "(2, 3, 4)": arcuate.Image(numpy.ones((2, 3, 4)), scan.affine),
    }
    for found, mask in masks.items():
        for function in (arcuate.fit, arcuate.fod):
            with pytest.raises(arcuate.InputError) as raised:
                function(scan, mask=mask, **CPU)
            sentence = str(raised.value)
            assert f"Found the shape {found} for mask, expected that of scan, {shape}; " in sentence


def test_an_empty_mask_is_called_empty(scan):
    with pytest.raises(arcuate.InputError, match="Found an empty mask, .* for mask, expected .*; give a mask"):
        arcuate.fit(scan, mask=numpy.zeros(scan.array.shape[:3]), **CPU)
    with pytest.raises(arcuate.InputError, match="other values than 0 and 1 for mask"):
        arcuate.fit(scan, mask=numpy.full(scan.array.shape[:3], 2), **CPU)


def test_a_mask_of_all_voxels_is_a_mask():
    """A block with signal in every voxel."""
    bvals = numpy.array([0.0] + [1000.0] * 6)
    s = 2**-0.5
    directions = [[0, 0, 0], [s, s, 0], [s, -s, 0], [s, 0, s], [s, 0, -s], [0, s, s], [0, s, -s]]
    diffusivity = numpy.array([1.7e-3, 0.3e-3, 0.3e-3])
    signal = 1000 * numpy.exp(-bvals * (numpy.square(directions) @ diffusivity))
    scan = arcuate.Image(numpy.broadcast_to(signal, (4, 5, 6, 7)), numpy.eye(4), bvals, directions)
    for ones in (numpy.ones((4, 5, 6)), numpy.ones((4, 5, 6), bool), arcuate.Image(numpy.ones((4, 5, 6)), numpy.eye(4))):
        fitted = arcuate.fit(scan, mask=ones, **CPU)
        assert fitted.mask.array.sum() == 4 * 5 * 6
        assert numpy.allclose(fitted.md.array, diffusivity.mean(), rtol=1e-3)
    assert repr(fitted) == "<arcuate.Fit (4, 5, 6): 7 volumes, 120 voxels fitted>"


def test_wrong_whole_numbers_are_refused_by_name(fit, image, lines):
    calls = {
        "seed": lambda n: arcuate.phantom(seed=n, **CPU),
        "number": lambda n: arcuate.select(lines, number=n, **CPU),
        "random_seed": lambda n: arcuate.select(lines, number=1, random_seed=n, **CPU),
        "null": lambda n: arcuate.pathway(fit, SEED, SEED, null=n, **CPU),
        "volume": lambda n: arcuate.segment(image, add=(4, 4, 4, 2), probe=(4, 4, 4), volume=n, **CPU),
        "steps": lambda n: arcuate.segment(image, add=(4, 4, 4, 2), probe=(4, 4, 4), steps=n, **CPU),
        "threads": lambda n: arcuate.density(lines, template=image, threads=n, **CPU),
    }
    wrong = [(-1, "-1"), (numpy.int64(-1), "-1"), (2**70, str(2**70)), (1.5, "1.5"), ("7", "“7”"), (True, "True"), ([], r"\[\]")]
    for (name, call), (value, shown) in itertools.product(calls.items(), wrong):
        with pytest.raises(arcuate.ParameterError, match=f"Found {shown} for {name}, expected a whole number from .*; "):
            call(value)
    with pytest.raises(arcuate.ParameterError, match="Found 0 for number, expected a whole number from 1"):
        arcuate.select(lines, number=0, **CPU)


def test_whole_numbers_of_numpy_are_whole_numbers(lines):
    found = arcuate.select(lines, number=numpy.int32(2), random_seed=numpy.uint64(2**64 - 1), **CPU)
    assert len(found) == 2


def test_values_of_another_type_are_refused_by_name(fit, scan, image, lines):
    for call, sentence in [
        (lambda: arcuate.phantom(kind=3, **CPU), "Found 3 for kind, expected a text"),
        (lambda: arcuate.density(lines, template=image, backend=7), "Found 7 for backend, expected a text"),
        (lambda: arcuate.density(lines, template=image, progress=7, **CPU), "Found 7 for progress, expected a function"),
        (lambda: arcuate.select(lines, group=3, **CPU), "Found 3 for group, expected a text"),
        (lambda: arcuate.select(lines, length=(1, None), ends="no", **CPU), "Found “no” for ends, expected True or False"),
        (lambda: arcuate.commit(lines, scan, pulse="3", between=9, **CPU), "Found “3” for pulse, expected a finite number"),
        (lambda: arcuate.commit(lines, scan, start="all", **CPU), "Found “all” for start, expected numbers"),
        (lambda: arcuate.commit(lines, scan, gamma=(1, 2, 3), **CPU), "for gamma, expected 2 numbers"),
        (lambda: arcuate.segment(image, fill=(4, 4), probe=(4, 4, 4), **CPU), "for fill, expected 3 numbers in mm"),
        (lambda: arcuate.open(None), "Found None for path, expected the name of a file"),
        (lambda: lines.save(None), "Found None for path, expected the name of a file"),
        (lambda: arcuate.track(fit, seed=SEED, responses=["wm.txt"], **CPU), "Found list for responses"),
    ]:
        with pytest.raises(arcuate.ParameterError, match=sentence):
            call()


def test_limits_are_numbers_in_order(image, lines):
    for rule, name in [
        (lambda limits: {"length": limits}, "length"),
        (lambda limits: {"values": {"weight": limits}}, "weight"),
        (lambda limits: {"images": [(image, *limits)]}, "images"),
    ]:
        with pytest.raises(arcuate.ParameterError, match=f"Found the limits .50.0, 20.0. for {name}, .*; swap them"):
            arcuate.select(lines, **rule((50, 20)), **CPU)
        for limits in [(numpy.nan, None), (1, numpy.nan)]:
            with pytest.raises(arcuate.ParameterError, match=f"not a number, .* for {name}, expected"):
                arcuate.select(lines, **rule(limits), **CPU)
    with pytest.raises(arcuate.ParameterError, match="Found the limits .* for threshold"):
        arcuate.segment(image, threshold=(2, 1), probe=(4, 4, 4), **CPU)
    # Limits that are equal or open are in order.
    assert len(arcuate.select(lines, values={"weight": (2, 2)}, **CPU)) == 1
    assert len(arcuate.select(lines, values={"weight": (None, 2)}, **CPU)) == 2


def test_existing_files_are_kept_unless_overwrite_is_given(scan, image, lines, tmp_path):
    for one, name in [(lines, "lines.tck"), (image, "image.nii.gz")]:
        path = tmp_path / name
        one.save(path)
        written = path.read_bytes()
        path.write_bytes(b"precious")
        with pytest.raises(arcuate.FileError, match=f"Found a file .*expected an unused one; .*overwrite=True.*{name}"):
            one.save(path)
        assert path.read_bytes() == b"precious"
        one.save(path, overwrite=True)
        assert len(path.read_bytes()) == len(written)
    # The gradients beside a scan are kept, too, and then no image is written.
    kept = tmp_path / "scan.bvec"
    kept.write_text("precious")
    with pytest.raises(arcuate.FileError, match="overwrite=True.*scan.bvec"):
        scan.save(tmp_path / "scan.nii.gz")
    assert kept.read_text() == "precious" and not (tmp_path / "scan.nii.gz").exists()
    scan.save(tmp_path / "scan.nii.gz", overwrite=True)
    assert kept.read_text() != "precious"
    with pytest.raises(arcuate.FileError, match="Found a folder"):
        (tmp_path / "folder.nii.gz").mkdir()
        image.save(tmp_path / "folder.nii.gz", overwrite=True)
    with pytest.raises(arcuate.ParameterError, match="for overwrite, expected True or False"):
        image.save(tmp_path / "other.nii.gz", overwrite="yes")


def test_a_fit_says_what_it_has(fit, scan):
    shape, volumes = scan.array.shape[:3], scan.array.shape[3]
    fitted = int(fit.mask.array.sum())
    text = repr(fit)
    assert text.startswith(f"<arcuate.Fit {shape}: {volumes} volumes, ") and text.endswith(" voxels fitted>")
    assert 0 < int(text.split(", ")[-1].split()[0]) <= fitted


def test_advice_for_arrays_that_are_no_images():
    for array, sentence in [
        (numpy.zeros((4, 4)), r"shape \(4, 4\) .*add the missing axes"),
        (numpy.zeros((2, 2, 2, 2, 2)), "one volume, or a series"),
        (numpy.zeros((4, 4, 4), complex), "complex128 .*magnitude or its real part"),
        (numpy.array([[["a"]]]), "astype"),
        (numpy.zeros((0, 4, 4)), "with voxels"),
    ]:
        with pytest.raises(arcuate.InputError, match=sentence) as raised:
            arcuate.Image(array, numpy.eye(4))
        assert ("real part" in str(raised.value)) == (array.dtype.kind == "c")


def test_a_path_in_place_of_an_image_is_to_be_opened(scan, lines, tmp_path):
    path = tmp_path / "file.nii.gz"
    for call, name in [
        (lambda: arcuate.fit(scan, mask=str(path), **CPU), "mask"),
        (lambda: arcuate.fit(path, **CPU), "scan"),
        (lambda: arcuate.connectome(lines, path, **CPU), "labels"),
        (lambda: arcuate.density(lines, template=str(path), **CPU), "template"),
    ]:
        with pytest.raises(arcuate.InputError, match=f"Found the path .*file.nii.gz for {name}, .*arcuate.open"):
            call()


def test_sentences_name_the_argument(fit, lines):
    for call, sentence in [
        (lambda: arcuate.phantom(spacing=0, **CPU), "Found 0 for spacing, expected"),
        (lambda: arcuate.track(fit, seed=SEED, angle=400, **CPU), "Found 400 for angle, expected"),
        (lambda: arcuate.track(fit, seed=SEED, max_length=-1, **CPU), "Found -1 for max_length, expected"),
        (lambda: arcuate.density(lines, voxel=0, **CPU), "Found 0 for voxel, expected"),
    ]:
        with pytest.raises(arcuate.ParameterError, match=sentence):
            call()


def test_arguments_without_an_effect_are_refused(scan, image):
    distributions = arcuate.Image(numpy.random.default_rng(1).random((8, 8, 8, 6)), numpy.eye(4))
    layout = {"odf_basis": "mrtrix", "odf_frame": "world"}
    for given, name in [
        ({"scan": scan}, "scan"),
        ({"responses": {"wm": "wm.txt"}}, "responses"),
        ({"scan": scan, "bootstrap": None}, "scan"),
    ]:
        with pytest.raises(arcuate.ParameterError, match=f"Found {name}, .*only a bootstrap reads it; give bootstrap, or"):
            arcuate.track(distributions, seed=SEED, **given, **layout, **CPU)
    script = {"image": "none.nii.gz", "fill": [[1, 1, 1], 0.5], "run": {"steps": 3}}
    for name in ("volume", "steps"):
        # The default, too: the number of the script may be another one.
        for value in (0, 1000):
            with pytest.raises(arcuate.ParameterError, match=f"Found {name} beside script"):
                arcuate.segment(image, script=script, **{name: value}, **CPU)
