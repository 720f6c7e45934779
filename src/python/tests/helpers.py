"""Data and functions that several tests use."""

import os
import subprocess

import nibabel
import numpy

PROGRAM = os.environ["ARCUATE_PROGRAM"]
SEED, TARGET = "sphere:-24,-18,8,5", "sphere:-30,-22,58,9"


def command(*arguments):
    """Runs a command; returns its standard output."""
    done = subprocess.run([PROGRAM, *map(str, arguments), "--backend", "cpu"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def same(array, path):
    """The values of an image's file, bit by bit; returns the image."""
    stored = nibabel.load(path)
    expected = numpy.asarray(stored.dataobj)
    values = numpy.asarray(array)
    if expected.dtype.fields:
        # Colours are bytes in the file, from 0 to 1 in memory.
        expected = numpy.stack([expected[name] for name in expected.dtype.names], axis=-1)
        values = numpy.rint(255 * numpy.clip(values, 0, 1))
    assert numpy.array_equal(values.astype(expected.dtype), expected, equal_nan=True), path
    return stored


def same_streamlines(found, expected):
    """Points, offsets and values, bit by bit."""
    assert found.points.tobytes() == expected.points.tobytes()
    assert found.offsets.tobytes() == expected.offsets.tobytes()
    for name, values in expected.per_streamline.items():
        assert found.per_streamline[name].tobytes() == values.tobytes(), name
    for name, values in expected.per_point.items():
        assert found.per_point[name].tobytes() == values.tobytes(), name
