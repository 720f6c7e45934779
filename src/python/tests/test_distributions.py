"""Curves and pathways through distributions, repetitions and comparisons against the command line: the same bytes."""

import json

import numpy
import pytest
from helpers import SEED, TARGET, command, same, same_streamlines

import arcuate


@pytest.fixture(scope="module")
def folder(head, tmp_path_factory):
    """Distributions with their response functions, and tissues."""
    out, mask = tmp_path_factory.mktemp("fod") / "fod", head / "brain_mask.nii.gz"
    command("fod", head / "dwi.nii.gz", "--mask", mask, "--maps", "peaks", "--out", out)
    return out


@pytest.fixture(scope="module")
def fods(head):
    return arcuate.fod(arcuate.open(head / "dwi.nii.gz"), mask=arcuate.open(head / "brain_mask.nii.gz"), backend="cpu")


@pytest.fixture(scope="module")
def tissues(head, tmp_path_factory):
    """White matter around the seed, cortical grey matter around it, and CSF outside."""
    inside = arcuate.open(head / "brain_mask.nii.gz")
    shape = inside.array.shape
    z = numpy.arange(shape[2])[None, None, :]
    grey = (inside.array > 0) & (z > 0.7 * shape[2])
    white = (inside.array > 0) & ~grey
    zero = numpy.zeros(shape, numpy.float32)
    five = numpy.stack([grey, zero, white, ~(grey | white), zero], axis=-1).astype(numpy.float32)
    path = tmp_path_factory.mktemp("tissues") / "5tt.nii.gz"
    arcuate.Image(five, inside.affine).save(path)
    return path


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--seeds", "random:200"], {"seeds": "random:200"}),
        (["--select", 30, "--target", TARGET, "--cutoff", 0.05], {"select": 30, "target": TARGET, "cutoff": 0.05}),
        (["--method", "deterministic", "--seeds", "random:100"], {"method": "deterministic", "seeds": "random:100"}),
    ],
)
def test_streamlines_in_distributions_are_those_of_the_command(folder, fods, tmp_path, options, arguments):
    command("track", "--fod", folder / "wm_fod.nii.gz", "--seed", SEED, *options, "--out", tmp_path / "out.trx")
    expected = arcuate.open(tmp_path / "out.trx")
    for model in (fods, arcuate.open(folder / "wm_fod.nii.gz")):
        found = arcuate.track(model, seed=SEED, backend="cpu", **arguments)
        assert len(found) > 3
        same_streamlines(found, expected)


def test_tissues_end_streamlines_as_in_the_command(folder, fods, tissues, tmp_path):
    options = ["--tissues", tissues, "--seeds", "random:300", "--seed", SEED]
    command("track", "--fod", folder / "wm_fod.nii.gz", *options, "--out", tmp_path / "out.trx")
    found = arcuate.track(fods, seed=SEED, seeds="random:300", tissues=arcuate.open(tissues), backend="cpu")
    same_streamlines(found, arcuate.open(tmp_path / "out.trx"))


def test_repetitions_in_tensors_are_those_of_the_command(head, fit, tmp_path):
    mask = head / "brain_mask.nii.gz"
    options = ["--bootstrap", 4, "--seeds", "random:40", "--out", tmp_path / "out.trx"]
    command("track", head / "dwi.nii.gz", "--mask", mask, "--seed", SEED, *options)
    found = arcuate.track(fit, seed=SEED, bootstrap=4, seeds="random:40", backend="cpu")
    assert len(found) > 3
    same_streamlines(found, arcuate.open(tmp_path / "out.trx"))


def test_repetitions_in_distributions_are_those_of_the_command(head, folder, fods, tmp_path):
    options = ["--seed", SEED, "--bootstrap", 3, "--seeds", "random:30", "--out", tmp_path / "out.trx"]
    command("track", head / "dwi.nii.gz", "--fod", folder / "wm_fod.nii.gz", *options)
    expected = arcuate.open(tmp_path / "out.trx")
    arguments = {"seed": SEED, "bootstrap": 3, "seeds": "random:30", "backend": "cpu"}
    found = arcuate.track(fods, **arguments)
    assert len(found) > 3
    same_streamlines(found, expected)
    image = arcuate.open(folder / "wm_fod.nii.gz")
    files = {"wm": folder / "wm_response.txt"}
    files.update({tissue: file for tissue in ("gm", "csf") if (file := folder / f"{tissue}_response.txt").exists()})
    scan = arcuate.open(head / "dwi.nii.gz")
    same_streamlines(arcuate.track(image, scan=scan, responses=files, **arguments), expected)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--target", TARGET, "--cut", "all"], {"target": TARGET, "cut": "all"}),
        (["--cut", "top:20", "--speed-floor", 0.05], {"cut": "top:20", "speed_floor": 0.05}),
    ],
)
def test_rays_in_lobes_are_those_of_the_command(folder, fods, tmp_path, options, arguments):
    seeds = ["--seed", SEED, "--seeds", "random:20", "--out", tmp_path / "rays.trx"]
    command("geodesic", "--fod", folder / "wm_fod.nii.gz", *seeds, *options)
    found = arcuate.rays(fods, seed=SEED, seeds="random:20", backend="cpu", **arguments)
    assert len(found) > 3
    same_streamlines(found, arcuate.open(tmp_path / "rays.trx"))


def compared(found, report):
    pairs = report["random_pairs"]
    assert (found.pairs_tried, found.pairs_joined) == (pairs["tried"], pairs["joined"])
    assert (found.weakest_above, found.cost_per_mm_above) == (pairs["weakest_above"], pairs["cost_per_mm_above"])
    assert 0 <= found.weakest_above <= 1


@pytest.mark.parametrize("full", [False, True])
def test_pathway_in_distributions_is_that_of_the_command(folder, fods, tmp_path, full):
    out = tmp_path / "pathway"
    options = ["--epsilon", 0.25, "--costly", "sphere:0,0,40,10", "--directions", 42, "--null", 20, "--json"]
    options += ["--sensitivity", tmp_path / "map.nii.gz", "--sensitivity-to", "amplitude"]
    options += ["--null-full"] if full else []
    ends = ["--from", SEED, "--to", TARGET]
    report = command("pathway", "--fod", folder / "wm_fod.nii.gz", *ends, *options, "--out", out)
    found = arcuate.pathway(
        fods, SEED, TARGET, epsilon=0.25, costly=(0, 0, 40, 10), directions=42, null=20, null_full=full,
        sensitivity="amplitude", backend="cpu",
    )
    for name in ("u1", "u2", "u", "pathway"):
        same(getattr(found, name).array, out / f"{name}.nii.gz")
    same(found.sensitivity.array, tmp_path / "map.nii.gz")
    assert found.path.points.tobytes() == arcuate.open(out / "path.tck").points.tobytes()
    compared(found, json.loads(report))
    assert found.excess_limit == json.loads(report)["excess_limit"]


def test_evidence_in_tensors_is_that_of_the_command(head, fit, tmp_path):
    mask = head / "brain_mask.nii.gz"
    # Several threads visit voxels in any order, and costs then agree to rounding only.
    options = ["--null", 30, "--sensitivity", tmp_path / "map.nii.gz", "--threads", 1, "--json"]
    ends = ["--from", SEED, "--to", TARGET, "--out", tmp_path / "pathway"]
    report = command("pathway", head / "dwi.nii.gz", "--mask", mask, *ends, *options)
    found = arcuate.pathway(fit, SEED, TARGET, null=30, sensitivity="cost", backend="cpu", threads=1)
    same(found.sensitivity.array, tmp_path / "map.nii.gz")
    compared(found, json.loads(report))


def test_other_layouts_are_read_or_remarked(folder, fods, tmp_path):
    """MRtrix's coefficients in DIPY's order and signs, along the axes of the image."""
    command(
        "convert", folder / "wm_fod.nii.gz", tmp_path / "same.nii.gz", "--odf-basis", "mrtrix", "--odf-frame", "world"
    )
    stated = {"odf_basis": "mrtrix", "odf_frame": "world"}
    by_name = arcuate.track(arcuate.open(tmp_path / "same.nii.gz"), seed=SEED, seeds="random:50", backend="cpu", **stated)
    same_streamlines(by_name, arcuate.track(fods, seed=SEED, seeds="random:50", backend="cpu"))
    # Coefficients of another basis: degrees are reversed in sign where the order within them is odd.
    order = [(degree, m) for degree in range(0, 9, 2) for m in range(-degree, degree + 1)]
    values = numpy.array(fods.wm_fod.array)
    mirrored = [order.index((degree, -m)) for degree, m in order][: values.shape[-1]]
    with pytest.warns(arcuate.Remark, match="odf_basis="):
        arcuate.track(arcuate.Image(values[..., mirrored], fods.wm_fod.affine), seed=SEED, backend="cpu")


def test_distributions_share_their_coefficients(fods):
    copy = arcuate.Image(numpy.asfortranarray(fods.wm_fod.array), fods.wm_fod.affine)
    assert numpy.shares_memory(copy.array, fods.wm_fod.array)


def test_scripts_repeat_runs(head, scan, tmp_path):
    out = tmp_path / "first"
    layer = head / "brain_mask.nii.gz"
    options = ["--probe", "0,-20,20,6", "--fill", "0,-20,20", "--not-here", SEED, "--layer", layer]
    options += ["--layer-range", "0..1", "--remove", "sphere:10,-20,20,4", "--steps", 30, "--ignore-leaks"]
    reference = tmp_path / "reference.nii.gz"
    arcuate.Image(arcuate.open(layer).array, scan.affine).save(reference)
    report = command(
        "segment", head / "dwi.nii.gz", *options, "--reference", reference, "--json", "--out", out
    )
    found = arcuate.segment(script=out / "run.json", reference=arcuate.open(reference), backend="cpu")
    same(found.labels.array, out / "labels.nii.gz")
    agreement = json.loads(report)["agreement"]
    for name, value in agreement.items():
        assert getattr(found, name) == value, name
    # The image may be given, and the run is that of the script.
    again = arcuate.segment(scan, script=json.loads((out / "run.json").read_text()), backend="cpu")
    assert numpy.array_equal(again.labels.array, found.labels.array)
    assert json.loads(again.run) == json.loads((out / "run.json").read_text())["run"]


def test_timing_of_each_volume_is_that_of_the_command(head, scan, tracks, tmp_path):
    scheme, out, mask = tmp_path / "timing.scheme", tmp_path / "commit", head / "brain_mask.nii.gz"
    b, directions = scan.gradients
    strength = numpy.sqrt(b * 1e6 / ((267.513e6 * 0.02) ** 2 * (0.04 - 0.02 / 3)))
    rows = [f"{x} {y} {z} {g} 0.04 0.02 0.08" for (x, y, z), g in zip(directions, strength)]
    scheme.write_text("\n".join(["VERSION: STEJSKALTANNER", *rows]) + "\n")
    options = ["--mask", mask, "--model", "cylinder", "--radii", "0.5,3.5", "--iterations", 10]
    command("commit", tracks, head / "dwi.nii.gz", *options, "--scheme", scheme, "--out", out)
    found = arcuate.commit(
        arcuate.open(tracks), scan, mask=arcuate.open(mask), model="cylinder", radii="0.5,3.5", iterations=10,
        scheme=scheme, backend="cpu",
    )
    assert found.weights.tobytes() == numpy.loadtxt(out / "weights.txt", dtype=numpy.float32).tobytes()
