"""The functions after a fit against the command line: the same bytes."""

import numpy
import pandas
import pytest
from helpers import SEED, TARGET, command, same, same_streamlines

import arcuate


def test_phantom_is_that_of_the_command(head, scan):
    made = arcuate.phantom(seed=1, spacing=4, backend="cpu")
    same(made.scan.array, head / "dwi.nii.gz")
    same(made.mask.array, head / "brain_mask.nii.gz")
    assert numpy.allclose(made.scan.gradients[1], scan.gradients[1], atol=1e-5)
    assert made.fibres.points.tobytes() == arcuate.open(head / "fibres.tck").points.tobytes()
    assert "Corticospinal tract left" in made.bundles


@pytest.mark.parametrize(
    ("head_name", "options", "arguments"),
    [
        ("two_shells", ["--min-amplitude", "0.2"], {"min_amplitude": 0.2}),
        ("two_shells", ["--response-algorithm", "tournier"], {"response_algorithm": "tournier"}),
        ("two_shells", ["--order", "4", "--bootstrap", "20"], {"order": 4, "bootstrap": 20}),
    ],
)
def test_distributions_are_those_of_the_command(request, head_name, options, arguments, tmp_path):
    head = request.getfixturevalue(head_name)
    maps = ["peaks", "afd", "afd_total", "dispersion", "complexity", "dec"]
    mask, out = head / "brain_mask.nii.gz", tmp_path / "fod"
    maps += ["cone", "peak_dispersion"] if "--bootstrap" in options else []
    several = "tournier" not in options
    written = [*maps, "fractions"] if several else maps
    command("fod", head / "dwi.nii.gz", "--mask", mask, "--maps", ",".join(written), *options, "--out", out)
    found = arcuate.fod(
        arcuate.open(head / "dwi.nii.gz"), mask=arcuate.open(mask), backend="cpu", **arguments
    )
    for name in [*written, "wm_fod", *(["gm", "csf"] if several else [])]:
        same(getattr(found, name).array, out / f"{name}.nii.gz")
    for tissue, text in found.responses.items():
        assert text == (out / f"{tissue}_response.txt").read_text()
    if several and "bootstrap" not in arguments:
        files = {tissue: out / f"{tissue}_response.txt" for tissue in ("wm", "gm", "csf")}
        again = arcuate.fod(arcuate.open(head / "dwi.nii.gz"), mask=arcuate.open(mask), responses=files, backend="cpu")
        command(
            "fod", head / "dwi.nii.gz", "--mask", mask, "--responses", ",".join(map(str, files.values())),
            "--out", tmp_path / "again",
        )
        same(again.wm_fod.array, tmp_path / "again/wm_fod.nii.gz")


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--target", TARGET, "--cut", "all"], {"target": TARGET, "cut": "all"}),
        (["--sharpen", "power:2", "--cut", "top:20"], {"sharpen": "power:2", "cut": "top:20"}),
    ],
)
def test_rays_are_those_of_the_command(head, fit, tmp_path, options, arguments):
    out, mask = tmp_path / "rays.trx", head / "brain_mask.nii.gz"
    seeds = ["--seed", SEED, "--seeds", "random:20"]
    command("geodesic", head / "dwi.nii.gz", "--mask", mask, *seeds, *options, "--out", out)
    found = arcuate.rays(fit, seed=SEED, seeds="random:20", backend="cpu", **arguments)
    assert len(found) > 3
    same_streamlines(found, arcuate.open(out))


def test_pathway_is_that_of_the_command(head, fit, tmp_path):
    out, mask = tmp_path / "pathway", head / "brain_mask.nii.gz"
    # Several threads visit voxels in any order, and costs then agree to rounding only.
    options = ["--epsilon", 0.3, "--exclude", "sphere:0,0,60,8", "--null", 0, "--threads", 1]
    command("pathway", head / "dwi.nii.gz", "--mask", mask, "--from", SEED, "--to", TARGET, *options, "--out", out)
    found = arcuate.pathway(fit, SEED, TARGET, exclude=(0, 0, 60, 8), epsilon=0.3, backend="cpu", threads=1)
    for name in ("u1", "u2", "u", "pathway"):
        same(getattr(found, name).array, out / f"{name}.nii.gz")
    assert found.path.points.tobytes() == arcuate.open(out / "path.tck").points.tobytes()
    assert found.joined and found.least > 0 and found.length_mm > 30


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--probe", "0,-20,20,6", "--add", "sphere:0,-20,20,8"], {"probe": (0, -20, 20, 6), "add": (0, -20, 20, 8)}),
        (
            ["--target", 600, "--tolerance", 200, "--threshold", "500..700", "--smoothness", 0.5, "--not-here", SEED],
            {"target": 600, "tolerance": 200, "threshold": (500, 700), "smoothness": 0.5, "not_here": SEED},
        ),
    ],
)
def test_segmentation_is_that_of_the_command(head, scan, tmp_path, options, arguments):
    common = ["--steps", 40, "--ignore-leaks", "--out", tmp_path / "out"]
    command("segment", head / "dwi.nii.gz", *options, *common)
    found = arcuate.segment(scan, steps=40, ignore_leaks=True, backend="cpu", **arguments)
    same(found.labels.array, tmp_path / "out/labels.nii.gz")
    assert found.points.shape[1] == 3 and found.triangles.max() < len(found.points)
    assert found.volume_ml > 0


def test_weights_are_those_of_the_command(head, scan, tracks, tmp_path):
    out, mask = tmp_path / "commit", head / "brain_mask.nii.gz"
    options = ["--mask", mask, "--iterations", 20]
    command("commit", tracks, head / "dwi.nii.gz", *options, "--filtered", tmp_path / "kept.trx", "--out", out)
    streamlines, mask = arcuate.open(tracks), arcuate.open(mask)
    found = arcuate.commit(streamlines, scan, mask=mask, iterations=20, backend="cpu")
    written = numpy.loadtxt(out / "weights.txt", dtype=numpy.float32)
    assert found.weights.tobytes() == written.tobytes()
    for name in ("intra", "extra", "rmse"):
        same(getattr(found, name).array, out / f"{name}.nii.gz")
    kept = found.streamlines
    kept = arcuate.select(kept, values={"commit": (numpy.finfo(numpy.float32).tiny, None)}, backend="cpu")
    assert kept.points.tobytes() == arcuate.open(tmp_path / "kept.trx").points.tobytes()
    # Given peaks and a start.
    command("fit", head / "dwi.nii.gz", "--mask", head / "brain_mask.nii.gz", "--maps", "direction", "--out", tmp_path)
    peaks = tmp_path / "direction.nii.gz"
    options += ["--peaks", peaks, "--start", out / "weights.txt", "--out", tmp_path / "again"]
    command("commit", tracks, head / "dwi.nii.gz", *options)
    again = arcuate.commit(
        streamlines, scan, mask=mask, iterations=20, peaks=arcuate.open(peaks), start=found.weights, backend="cpu"
    )
    assert again.weights.tobytes() == numpy.loadtxt(tmp_path / "again/weights.txt", dtype=numpy.float32).tobytes()


@pytest.fixture(scope="session")
def labels(scan, tmp_path_factory):
    """Eight labels, one for each octant of the image."""
    shape = scan.array.shape[:3]
    halves = [numpy.arange(n) >= n // 2 for n in shape]
    numbers = 1 + sum((half.astype(int) << axis).reshape([-1 if a == axis else 1 for a in range(3)])
                      for axis, half in enumerate(halves))
    path = tmp_path_factory.mktemp("labels") / "labels.nii.gz"
    arcuate.Image(numpy.broadcast_to(numbers, shape), scan.affine).save(path)
    return path


def test_connectome_is_that_of_the_command(tracks, labels, fit, tmp_path):
    fit.fa.save(tmp_path / "fa.nii.gz")
    found = arcuate.connectome(arcuate.open(tracks), arcuate.open(labels), value=fit.fa, radius=3, backend="cpu")
    for matrix in ("count", "length", "value"):
        out = tmp_path / f"{matrix}.csv"
        options = ["--matrix", matrix, "--radius", 3]
        options += ["--image", tmp_path / "fa.nii.gz"] if matrix == "value" else []
        command("connectome", tracks, labels, out, *options)
        table = pandas.read_csv(out, index_col=0)
        expected = table.to_numpy(dtype=getattr(found, matrix).dtype)
        assert getattr(found, matrix).tobytes() == expected.tobytes(), matrix
        assert list(found.to_pandas(matrix).columns) == list(table.columns) == found.names
    assert found.count.sum() > 0
    named = arcuate.connectome(arcuate.open(tracks), arcuate.open(labels), value="fa", radius=3, backend="cpu")
    assert numpy.allclose(named.value, found.value, atol=1e-6)


def test_profile_is_that_of_the_command(tracks, fit, tmp_path):
    fit.fa.save(tmp_path / "fa_map.nii.gz")
    out = tmp_path / "profile.csv"
    options = ["--value", "fa", "--image", tmp_path / "fa_map.nii.gz", "--nodes", 30, "--start", TARGET]
    command("profile", tracks, out, *options)
    found = arcuate.profile(
        arcuate.open(tracks), values="fa", images={"fa_map": fit.fa}, nodes=30, start=TARGET, backend="cpu"
    )
    table, expected = found.to_pandas(), pandas.read_csv(out)
    assert list(table.columns) == list(expected.columns)
    for name in table.columns:
        assert table[name].to_numpy().tobytes() == expected[name].to_numpy(table[name].dtype).tobytes(), name
    assert found.mean["fa"].shape == found.share.shape == (30,)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--length", "60.."], {"length": (60, None)}),
        (["--include", TARGET, "--value", "fa=0.2..0.9"], {"include": TARGET, "values": {"fa": (0.2, 0.9)}}),
        (["--exclude", TARGET, "--ends", "--invert"], {"exclude": TARGET, "ends": True, "invert": True}),
        (["--stop", "left-mask", "--number", 7, "--random-seed", 3], {"stop": "left-mask", "number": 7, "random_seed": 3}),
    ],
)
def test_selection_is_that_of_the_command(tracks, tmp_path, options, arguments):
    out, all_lines = tmp_path / "kept.trx", arcuate.open(tracks)
    command("select", tracks, out, *options)
    found = arcuate.select(all_lines, backend="cpu", **arguments)
    same_streamlines(found, arcuate.open(out))
    assert found.selected.sum() == len(found) < len(found.selected) == len(all_lines)


def test_selection_by_an_image_is_that_of_the_command(tracks, fit, tmp_path):
    fit.fa.save(tmp_path / "fa.nii.gz")
    command("select", tracks, tmp_path / "kept.trx", "--image", f"{tmp_path / 'fa.nii.gz'}:0.3..:mean")
    found = arcuate.select(arcuate.open(tracks), images=[(fit.fa, 0.3, None)], backend="cpu")
    same_streamlines(found, arcuate.open(tmp_path / "kept.trx"))


def test_results_say_what_they_have(fit):
    found = arcuate.pathway(fit, SEED, TARGET, backend="cpu")
    assert {"u1", "pathway", "least"} <= set(dir(found)) and "least" in repr(found)
    with pytest.raises(AttributeError, match="nothing named cheapest"):
        found.cheapest
