"""Compares images and streamlines that Arcuate warped with ITK and fslpy.

usage: warps.py ARCUATE [--rounds 12].  Needs SimpleITK, nibabel and fslpy.
Fields, affines and images lie on random oblique grids of both handednesses. ITK resamples images with the composite of
a displacement field and an affine that it wrote itself; fslpy applies fields of FNIRT, displacements and positions, to
points. Streamlines begin as points that these programs map, and must come back. Prints the largest differences; exit
code 1 if one exceeds its tolerance.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import nibabel as nib
import numpy as np
import SimpleITK as sitk
from fsl.data.image import Image
from fsl.transform import fnirt

parser = argparse.ArgumentParser()
parser.add_argument("arcuate")
parser.add_argument("--rounds", type=int, default=12)
options = parser.parse_args()
random = np.random.default_rng(7)
folder = tempfile.mkdtemp()
at = lambda name: os.path.join(folder, name)  # noqa: E731
LPS = np.diag([-1.0, -1.0, 1.0, 1.0])
# Headers, vectors and points are in single precision.
TOLERANCE_MM = 5e-3
worst = {}


def note(kind, value):
    worst[kind] = max(worst.get(kind, 0.0), float(value))


def arcuate(*arguments):
    done = subprocess.run([options.arcuate, *arguments, "--force"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def rotation(angle):
    axis = random.normal(size=3)
    axis /= np.linalg.norm(axis)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def grid(shape, centre):
    """A rotated affine of either handedness about a centre, RAS mm."""
    flips = random.choice([-1.0, 1.0], size=3)
    linear = rotation(random.uniform(0, 3)) @ np.diag(flips * random.uniform(1.0, 2.5, size=3))
    affine = np.eye(4)
    affine[:3, :3] = linear
    affine[:3, 3] = centre - linear @ ((np.array(shape) - 1) / 2)
    return affine


def voxels(shape):
    return np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1).reshape(-1, 3).astype(float)


def apply(affine, points):
    return points @ affine[:3, :3].T + affine[:3, 3]


def save(name, values, affine):
    image = nib.Nifti1Image(values.astype("f4"), affine)
    image.set_sform(affine, 1)
    image.set_qform(affine, 1)
    image.to_filename(at(name))


def save_tck(name, points):
    """One streamline for each three points."""
    lines = [points[i:i + 3].astype("f4") for i in range(0, len(points) - 2, 3)]
    nib.streamlines.save(nib.streamlines.Tractogram(lines, affine_to_rasmm=np.eye(4)), at(name))
    return np.concatenate(lines)


def load_tck(name):
    return np.concatenate(list(nib.streamlines.load(at(name)).streamlines))


def bend(centre):
    """A smooth map of world points near the identity."""
    direction, wave = random.normal(size=3), random.normal(size=3) / 25
    turn = rotation(random.uniform(-0.2, 0.2))
    return lambda p: (p - centre) @ turn.T + centre + np.sin((p - centre) @ wave)[:, None] * direction


def smooth(shape, affine):
    """An image that linear interpolation reproduces to a fraction of its range."""
    return (apply(affine, voxels(shape)) @ random.normal(size=3)).reshape(shape)


def itk_round():
    centre = random.uniform(-40, 40, size=3)
    shape = (14, 15, 16)
    fixed = grid(shape, centre)
    map_field = bend(centre)
    world = apply(fixed, voxels(shape))
    by = map_field(world) - world
    # The field as ITK writes it.
    save("fixed.nii.gz", np.zeros(shape), fixed)
    reference = sitk.ReadImage(at("fixed.nii.gz"))
    vectors = (by * [-1, -1, 1]).reshape(*shape, 3)
    field = sitk.GetImageFromArray(vectors.transpose(2, 1, 0, 3), isVector=True)
    field.CopyInformation(reference)
    sitk.WriteImage(sitk.Cast(field, sitk.sitkVectorFloat32), at("1Warp.nii.gz"))
    affine = sitk.AffineTransform(3)
    linear = rotation(random.uniform(-1, 1)) @ np.diag(random.uniform(0.8, 1.2, size=3))
    affine.SetMatrix(linear.ravel())
    affine.SetCenter((centre * [-1, -1, 1]).tolist())
    affine.SetTranslation(random.uniform(-20, 20, size=3).tolist())
    sitk.WriteTransform(affine, at("0Affine.txt"))
    read = sitk.DisplacementFieldTransform(sitk.ReadImage(at("1Warp.nii.gz"), sitk.sitkVectorFloat64))
    # The last one that is added applies first.
    both = sitk.CompositeTransform([affine, read])
    lps = lambda p: p * [-1, -1, 1]  # noqa: E731
    moved = lambda p: lps(np.array([both.TransformPoint(q) for q in lps(p).tolist()]))  # noqa: E731
    moving_shape = (40, 41, 42)
    moving = grid(moving_shape, moved(centre[None])[0])
    save("moving.nii.gz", smooth(moving_shape, moving), moving)
    theirs = sitk.Resample(sitk.ReadImage(at("moving.nii.gz"), sitk.sitkFloat64), reference, both, sitk.sitkLinear, 0.0)
    theirs = sitk.GetArrayFromImage(theirs).transpose(2, 1, 0)
    warp = ["--warp", at("1Warp.nii.gz"), "--warp", at("0Affine.txt")]
    arcuate("convert", at("moving.nii.gz"), at("ours.nii.gz"), *warp, "--fixed", at("fixed.nii.gz"))
    ours = nib.load(at("ours.nii.gz")).get_fdata()
    # At the border of the moving image, rounding decides.
    inside = (theirs != 0) & (ours != 0)
    assert inside.mean() > 0.3, inside.mean()
    assert ((theirs != 0) != (ours != 0)).mean() < 0.01
    # The largest change of the image per mm is that of its normal; 4 covers it.
    note("ITK images", np.abs(theirs - ours)[inside].max() / 4)
    # Streamlines: ITK maps points of the fixed image to the moving one, Arcuate takes them back.
    start = apply(fixed, random.uniform(0.5, np.array(shape) - 1.5, size=(300, 3)))
    save_tck("moving.tck", moved(start))
    messages = arcuate("convert", at("moving.tck"), at("fixed.tck"), *warp)
    note("ITK streamlines", np.abs(load_tck("fixed.tck") - start).max())
    assert "mapped back" in messages, messages
    # The inverse list takes them to the moving image again.
    back = ["--warp", "inverse:" + at("0Affine.txt"), "--warp", "inverse:" + at("1Warp.nii.gz")]
    arcuate("convert", at("fixed.tck"), at("again.tck"), *back)
    note("ITK there and back", np.abs(load_tck("again.tck") - load_tck("moving.tck")).max())


def fsl_round(kind):
    centre = random.uniform(-40, 40, size=3)
    shape, moving_shape = (14, 15, 16), (30, 31, 32)
    fixed, moving = grid(shape, centre), grid(moving_shape, centre + random.uniform(-5, 5, size=3))
    save("fixed.nii.gz", np.zeros(shape), fixed)
    save("moving.nii.gz", smooth(moving_shape, moving), moving)
    src, ref = Image(at("moving.nii.gz")), Image(at("fixed.nii.gz"))
    world = apply(fixed, voxels(shape))
    to = apply(src.getAffine("world", "fsl"), bend(centre)(world))
    if kind == "relative":
        to = to - apply(ref.getAffine("voxel", "fsl"), voxels(shape))
    image = nib.Nifti1Image(to.reshape(*shape, 3).astype("f4"), fixed)
    image.header["intent_code"] = 2006
    image.set_sform(fixed, 1)
    image.to_filename(at("field.nii.gz"))
    read = fnirt.readFnirt(at("field.nii.gz"), src, ref, defType=kind)
    # fslpy takes the nearest vector: at the centres of voxels it is exact.
    inner = voxels(shape)
    inner = inner[((inner > 0) & (inner < np.array(shape) - 1)).all(axis=1)]
    start = apply(fixed, random.permutation(inner)[:300])
    theirs = read.transform(start, "world", "world")
    # Both programs tell displacements from positions alike, or Arcuate asks.
    warp = ["--warp", f"fsl-{kind}:" + at("field.nii.gz")]
    save_tck("moving.tck", theirs)
    arcuate("convert", at("moving.tck"), at("fixed.tck"), *warp, "--moving", at("moving.nii.gz"))
    note(f"FNIRT {kind} streamlines", np.abs(load_tck("fixed.tck") - start).max())
    arcuate("convert", at("moving.nii.gz"), at("ours.nii.gz"), *warp)
    values = nib.load(at("ours.nii.gz")).get_fdata()
    at_voxel = np.rint(apply(np.linalg.inv(fixed), start)).astype(int)
    places = apply(np.linalg.inv(moving), theirs)
    sure = ((places > 0) & (places < np.array(moving_shape) - 1)).all(axis=1)
    image = nib.load(at("moving.nii.gz")).get_fdata()
    gradient = np.linalg.lstsq(np.c_[apply(moving, voxels(moving_shape)), np.ones(image.size)], image.ravel(), rcond=None)[0]
    expected = theirs @ gradient[:3] + gradient[3]
    found = values[tuple(at_voxel.T)]
    note(f"FNIRT {kind} images", np.abs(found - expected)[sure].max() / 4)
    guess = fnirt.nonlinear.detectDeformationType(read)
    done = subprocess.run([options.arcuate, "convert", at("moving.nii.gz"), at("guess.nii.gz"), "--force", "--warp",
                           at("field.nii.gz")], capture_output=True, text=True)
    if done.returncode == 0:
        words = {"relative": "taken for displacements", "absolute": "taken for positions"}
        assert words[guess] in done.stderr, (guess, done.stderr)
    else:
        assert "displacements or positions" in done.stderr or "mirrors the image" in done.stderr, done.stderr


for _ in range(options.rounds):
    itk_round()
    fsl_round("relative")
    fsl_round("absolute")
for kind, mm in sorted(worst.items()):
    print(f"{kind:28} {mm:.6f} mm")
sys.exit(any(mm > TOLERANCE_MM for mm in worst.values()))
