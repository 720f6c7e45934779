"""Times SimpleITK's ThresholdSegmentationLevelSet and Arcuate on one core, in one run, and compares what both
make of the same start.

usage: level_set.py ARCUATE [--size 256x256x175] [--steps 300] [--head FOLDER] [--head-steps 2000]
Prints JSON lines. The two cases of `arcuate bench levelset`: a ball of 25 voxels from one of 23, and an
ellipsoid folded by a gyroid of 36 voxels from itself less a voxel; grey values 1 inside and 0 outside, an edge of
a voxel, noise of 0.1. Both programs get the target 1 and the tolerance 0.5. A step's time is that of a long
run less that of a short one, so that neither pays for its beginning.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
import SimpleITK as sitk
from scipy import ndimage

parser = argparse.ArgumentParser()
parser.add_argument("arcuate")
parser.add_argument("--size", default="256x256x175")
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--head")
parser.add_argument("--head-steps", type=int, default=2000)
options = parser.parse_args()
sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(1)
# Two balls of white matter, a probe in one and one in grey matter, world mm, as in tests/command/cli/segment.rs.
BRAIN = (("-14.3,-38.9,24.2", "35.7,-38.7,22.9"), ("-14.3,-38.9,24.2", "13.1,-53.8,36"), 25)
SMOOTHNESS = 0.5
SIZE = tuple(int(n) for n in options.size.split("x"))


def emit(**fields):
    print(json.dumps(fields), flush=True)


def depth(case):
    """Signed distance, negative inside."""
    x, y, z = np.meshgrid(*[np.arange(n, dtype=np.float32) - (n - 1) / 2 for n in SIZE], indexing="ij")
    if case == "sphere":
        return np.sqrt(x * x + y * y + z * z) - 25
    half = [np.float32(n * share) for n, share in zip(SIZE, (98 / 256, 108 / 256, 72 / 175))]
    ratio = np.sqrt(sum((v / n) ** 2 for v, n in zip((x, y, z), half)))
    slope = np.sqrt(sum((v / n**2) ** 2 for v, n in zip((x, y, z), half)))
    k = np.float32(2 * np.pi / 36)
    folds = np.sin(k * x) * np.cos(k * y) + np.sin(k * y) * np.cos(k * z) + np.sin(k * z) * np.cos(k * x)
    inside = ratio * (1 - ratio) / np.maximum(slope, 1e-6) + 7 * folds > 0
    outwards = ndimage.distance_transform_edt(~inside) - ndimage.distance_transform_edt(inside)
    return outwards.astype(np.float32)


def image(values):
    made = sitk.GetImageFromArray(np.ascontiguousarray(values.transpose(2, 1, 0)))
    made.SetOrigin((0.0, 0.0, 0.0))
    return made


def dice(found, truth):
    return 2 * np.count_nonzero(found & truth) / (np.count_nonzero(found) + np.count_nonzero(truth))


def itk(values, start, steps, limits=(0.5, 1.5), curvature=0.2):
    level_set = sitk.ThresholdSegmentationLevelSetImageFilter()
    level_set.SetLowerThreshold(limits[0])
    level_set.SetUpperThreshold(limits[1])
    level_set.SetCurvatureScaling(curvature)
    level_set.SetPropagationScaling(1.0)
    level_set.SetMaximumRMSError(0.0)
    level_set.SetNumberOfIterations(steps)
    begun = time.process_time()
    made = level_set.Execute(start, values)
    return time.process_time() - begun, sitk.GetArrayFromImage(made).transpose(2, 1, 0) < 0


def arcuate(folder, *words):
    words = [options.arcuate, *words, "--threads", "1", "--backend", "cpu", "--json", "--force"]
    ran = subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE)
    return [json.loads(line) for line in ran.stdout.decode().splitlines()]


def brain(head, folder):
    """Of a real head, its reference the mask beside it."""
    names = [os.path.abspath(os.path.join(head, n)) for n in ("t1_head.nii.gz", "brain_mask_robex.nii.gz")]
    absent = [n for n in names if not os.path.exists(n)]
    if absent:
        return emit(case="brain", not_run=f"{absent[0]} is not there")
    balls, probes, radius = BRAIN
    (made,) = arcuate(folder, "segment", names[0], *(f"--probe={p}" for p in probes),
                      *(f"--add=sphere:{b},{radius}" for b in balls), "--smoothness", str(SMOOTHNESS), "--reference",
                      names[1], "--steps", str(options.head_steps), "--out", "brain")
    emit(program="arcuate", case="brain", steps=made["steps"], ended=made["ended"],
         dice=round(made["agreement"]["dice"], 4), seconds=round(made["run_ms"] / 1e3, 1))
    t1, truth = (sitk.ReadImage(n, sitk.sitkFloat32) for n in names)
    away = (sitk.GetArrayFromImage(t1) - made["target"]) / made["tolerance"]
    values = sitk.GetImageFromArray(np.clip(away, -2, 2))
    values.CopyInformation(t1)
    # RAS to SimpleITK's LPS.
    at = np.indices(away.shape).reshape(3, -1)[::-1]
    turn = np.array(t1.GetDirection()).reshape(3, 3) * t1.GetSpacing()
    world = (turn @ at + np.array(t1.GetOrigin())[:, None]) * [[-1], [-1], [1]]
    centres = [np.array([float(v) for v in b.split(",")])[:, None] for b in balls]
    depth = np.min([np.linalg.norm(world - c, axis=0) - radius for c in centres], axis=0)
    start = sitk.GetImageFromArray(depth.reshape(away.shape).astype(np.float32))
    start.CopyInformation(t1)
    seconds, found = itk(values, start, options.head_steps, (-1, 1), SMOOTHNESS / (1 - SMOOTHNESS))
    reference = sitk.GetArrayFromImage(truth).transpose(2, 1, 0) > 0.5
    emit(program="SimpleITK", version=sitk.Version.VersionString(), case="brain", steps=options.head_steps,
         dice=round(dice(found, reference), 4), seconds=round(seconds, 1))


with tempfile.TemporaryDirectory() as folder:
    if options.head:
        brain(options.head, folder)
    for case in ("sphere", "cortex"):
        outwards = depth(case)
        truth = outwards < 0
        noise = np.random.default_rng(3).standard_normal(SIZE, dtype=np.float32)
        values = ndimage.gaussian_filter(truth.astype(np.float32), 1.0) + 0.1 * noise
        start = outwards + (2 if case == "sphere" else 1)
        for name, array in (("image", values), ("start", (start < 0).astype(np.float32)),
                            ("truth", truth.astype(np.float32))):
            sitk.WriteImage(image(array), os.path.join(folder, name + ".nii.gz"))
        few, many = (10, 60) if case == "sphere" else (3, 13)
        times = [itk(image(values), image(start), n)[0] for n in (few, many) * 3]
        each = statistics.median(b - a for a, b in zip(times[::2], times[1::2])) / (many - few)
        _, found = itk(image(values), image(start), options.steps)
        emit(program="SimpleITK", version=sitk.Version.VersionString(), case=case, rate=round(1 / each, 2),
             steps=options.steps, dice=round(dice(found, truth), 4))
        (made,) = arcuate(folder, "segment", "image.nii.gz", "--mask", "start.nii.gz", "--target", "1",
                          "--tolerance", "0.5", "--smoothness", "0.2", "--reference", "truth.nii.gz", "--steps",
                          str(options.steps), "--out", case)
        (speed,) = arcuate(folder, "bench", "levelset", "--case", case)
        emit(program="arcuate", case=case, rate=round(speed["rate"], 2), steps=made["steps"],
             dice=round(made["agreement"]["dice"], 4), updates_per_s=round(speed["updates_per_s"]),
             times_itk=round(speed["rate"] * each, 1))
