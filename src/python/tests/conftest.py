"""A made-up head with coarse voxels, and what is computed from it once."""

import pytest
from helpers import SEED, command

import arcuate


def head_of(folder, *arguments):
    command("phantom", "--seed", 1, "--scan-only", "--out", folder, *arguments)
    return folder


@pytest.fixture(scope="session")
def head(tmp_path_factory):
    return head_of(tmp_path_factory.mktemp("head") / "head", "--spacing", 4)


@pytest.fixture(scope="session")
def two_shells(tmp_path_factory):
    """A scan of few voxels and two shells."""
    return head_of(tmp_path_factory.mktemp("head") / "shells", "--spacing", 8, "--shells", "1000:20,2500:30")


@pytest.fixture(scope="session")
def scan(head):
    return arcuate.open(head / "dwi.nii.gz")


@pytest.fixture(scope="session")
def fit(scan, head):
    return arcuate.fit(scan, mask=arcuate.open(head / "brain_mask.nii.gz"), backend="cpu")


@pytest.fixture(scope="session")
def tracks(head, tmp_path_factory):
    """A file of streamlines with values."""
    out = tmp_path_factory.mktemp("tracks") / "tracks.trx"
    mask = head / "brain_mask.nii.gz"
    command("track", head / "dwi.nii.gz", "--mask", mask, "--seed", SEED, "--seeds", "random:300", "--out", out)
    return out
