"""The package against the command line: the same bytes. ARCUATE_PROGRAM names the program."""

import pathlib
import signal
import threading
import time

import nibabel
import numpy
import pytest
from helpers import SEED, TARGET, command, same, same_streamlines

import arcuate
from arcuate import _generated

def test_fit_is_that_of_the_command(head, fit, tmp_path):
    maps = ["fa", "md", "ad", "rd", "direction", "tensor", "s0", "mask", "repaired"]
    mask = head / "brain_mask.nii.gz"
    command("fit", head / "dwi.nii.gz", "--mask", mask, "--maps", ",".join(maps), "--out", tmp_path / "maps")
    for name in maps:
        image = getattr(fit, name)
        stored = same(image.array, tmp_path / "maps" / f"{name}.nii.gz")
        assert numpy.allclose(image.affine, stored.affine, atol=1e-5)


def test_fit_takes_parameters(head, scan, tmp_path):
    command("fit", head / "dwi.nii.gz", "--method", "ols", "--maps", "fa,mask", "--out", tmp_path / "maps")
    fitted = arcuate.fit(scan, method="ols", backend="cpu")
    same(fitted.fa.array, tmp_path / "maps/fa.nii.gz")
    same(fitted.mask.array, tmp_path / "maps/mask.nii.gz")


def tracked(head, out, *arguments):
    mask = head / "brain_mask.nii.gz"
    command("track", head / "dwi.nii.gz", "--mask", mask, "--seed", SEED, "--out", out, *arguments)
    return arcuate.open(out)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ([], {}),
        (["--target", TARGET], {"target": TARGET}),
        (["--seeds", "random:300", "--angle", "30"], {"seeds": "random:300", "angle": 30}),
    ],
)
def test_streamlines_are_those_of_the_command(head, fit, tmp_path, options, arguments):
    expected = tracked(head, tmp_path / "out.trx", *options)
    found = arcuate.track(fit, seed=SEED, backend="cpu", **arguments)
    assert len(found) > 0
    same_streamlines(found, expected)
    found.save(tmp_path / "found.tck")
    command("convert", tmp_path / "out.trx", tmp_path / "expected.tck")
    lines = [nibabel.streamlines.load(tmp_path / f"{name}.tck").streamlines for name in ("found", "expected")]
    assert numpy.array_equal(lines[0]._data, lines[1]._data)


def test_density_is_that_of_the_command(head, fit, tmp_path):
    streamlines = tracked(head, tmp_path / "out.trx")
    command("density", tmp_path / "out.trx", "--voxel", 2, "--measure", "length", "--out", tmp_path / "d.nii.gz")
    found = arcuate.density(streamlines, voxel=2, measure="length", backend="cpu")
    same(found.array, tmp_path / "d.nii.gz")
    # Lists of arrays, as those of DIPY and nibabel, with a template of nibabel.
    template = nibabel.load(head / "dwi.nii.gz")
    command("density", tmp_path / "out.trx", "--template", head / "dwi.nii.gz", "--out", tmp_path / "t.nii.gz")
    first = nibabel.Nifti1Image(numpy.asarray(template.dataobj)[..., 0], template.affine)
    found = arcuate.density(list(streamlines), template=first, backend="cpu")
    same(found.array, tmp_path / "t.nii.gz")


def test_regions_as_numbers_and_masks(fit):
    by_text = arcuate.track(fit, seed=SEED, backend="cpu")
    by_numbers = arcuate.track(fit, seed=(-24, -18, 8, 5), backend="cpu")
    assert by_text.points.tobytes() == by_numbers.points.tobytes()
    assert len(arcuate.track(fit, seed=SEED, exclude=fit.mask, backend="cpu")) == 0


def test_a_million_streamlines_share_their_points():
    points = numpy.zeros((2_000_000, 3), numpy.float32)
    points[1::2, 0] = 1
    streamlines = arcuate.Streamlines(points, numpy.arange(0, 2_000_001, 2))
    assert len(streamlines) == 1_000_000
    address = points.__array_interface__["data"][0]
    assert streamlines._raw.address == address
    assert streamlines.points.__array_interface__["data"][0] == address
    assert streamlines[7].__array_interface__["data"][0] == address + 7 * 2 * 12
    assert not points.flags.writeable and not streamlines.points.flags.writeable
    # The memory outlives both the array and the streamlines.
    view = streamlines.points
    del points, streamlines
    assert view[1, 0] == 1


def test_scans_are_saved_with_their_gradients(scan, tmp_path):
    scan.save(tmp_path / "scan.nii.gz")
    again = arcuate.open(tmp_path / "scan.nii.gz")
    assert again.array.tobytes() == scan.array.tobytes()
    assert numpy.array_equal(again.gradients[0], scan.gradients[0])
    assert numpy.allclose(again.gradients[1], scan.gradients[1], atol=1e-6)


def test_images_share_their_values():
    array = numpy.asfortranarray(numpy.random.default_rng(1).random((5, 6, 7), numpy.float32))
    image = arcuate.Image(array, numpy.eye(4))
    assert image.array.__array_interface__["data"][0] == array.__array_interface__["data"][0]
    assert numpy.array_equal(image.array, array)
    assert numpy.array_equal(arcuate.Image(numpy.ascontiguousarray(array), numpy.eye(4)).array, array)
    assert numpy.array_equal(numpy.asarray(image.to_nibabel().dataobj), array)


def test_overhead_of_a_call():
    streamlines = arcuate.Streamlines(numpy.zeros((2, 3), numpy.float32), [0, 2])
    image = arcuate.Image(numpy.zeros((2, 2, 2), numpy.float32), numpy.eye(4))
    times = []
    for _ in range(200):
        # Processor time: other programs may delay any call.
        started = time.process_time()
        arcuate.density(streamlines, template=image, backend="cpu", threads=1)
        times.append(time.process_time() - started)
    print(f"best {1e6 * min(times):.0f} µs, median {1e6 * sorted(times)[100]:.0f} µs")
    assert min(times) < 1e-3


def long_work(fit, **arguments):
    """Takes many seconds unless it is cancelled."""
    return arcuate.track(fit, seeds="random:400000", fa=0, angle=90, backend="cpu", threads=1, **arguments)


def test_progress_is_reported_and_its_exception_cancels(fit):
    class Stop(Exception):
        pass

    seen = []

    def progress(stage, share):
        seen.append((stage, share))
        raise Stop

    with pytest.raises(Stop):
        long_work(fit, progress=progress)
    assert len(seen) == 1 and isinstance(seen[0][0], str)


def test_control_c_cancels_and_other_threads_run(fit):
    started = threading.Event()

    def interrupt():
        if started.wait(60):
            signal.raise_signal(signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        long_work(fit, progress=lambda *_: started.set())
    other.join()
    assert started.is_set()


def test_type_hints_and_help_are_those_of_the_tables():
    stub = pathlib.Path(arcuate.__file__).with_name("__init__.pyi").read_text()
    assert _generated.type_hints() in stub
    for name in _generated._RETURNS:
        rows = [row[0] for row in arcuate._engine.parameters(name)]
        assert len(set(rows)) == len(rows), f"two parameters of {name} have one name"
        help_text = getattr(arcuate, name).__doc__
        assert all(row in help_text for row in rows)
    assert "mm" in arcuate.track.__doc__


def test_view_opens_what_is_given(scan, tracks, monkeypatch, tmp_path):
    """A script in place of the program keeps what it is given."""
    kept, program = tmp_path / "kept", tmp_path / "arcuate"
    kept.mkdir()
    program.write_text(f'#!/bin/sh\nfor file in "$@"; do cp "$file" "{kept}"; dirname "$file" >> "{kept}/folders"; done\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    lines, mask = arcuate.open(tracks), arcuate.Image(scan.array[..., 0], scan.affine)
    process = arcuate.view(tracks, mask, lines.to_nibabel(), cst=lines, first=mask.to_nibabel())
    assert process.wait() == 0
    names = {"tracks.trx", "layer_2.nii.gz", "layer_3.trx", "cst.trx", "first.nii.gz"}
    assert {path.name for path in kept.iterdir()} == names | {"folders"}
    assert arcuate.open(kept / "cst.trx").points.tobytes() == lines.points.tobytes()
    assert numpy.array_equal(arcuate.open(kept / "layer_2.nii.gz").array, mask.array)
    folders = {pathlib.Path(line) for line in (kept / "folders").read_text().splitlines()}
    (made,) = folders - {tracks.parent}
    # Another thread removes it; without an end, a folder that stays would not fail the test.
    for _ in range(3000):
        if not made.exists():
            break
        time.sleep(0.01)
    assert not made.exists()
    with pytest.raises(arcuate.InputError, match="Found int, expected"):
        arcuate.view(3)


def test_view_without_the_program(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(arcuate.Error, match="no program named arcuate"):
        arcuate.view("head.nii.gz")
