"""Pathways of all bundles of the crossing head, and the ways along the callosal radiation of the built-in head.

usage: pathways.py ARCUATE [--work FOLDER] [--threads 2] [--seed 1] [--arcs FOLDER]
Needs nibabel and scipy for this Python.  Prints Markdown tables, then the version and the commands.  WORK keeps the files: a
step whose output exists is not repeated.

1. Crossing head at 2 mm (6 x b0, 30 x 1000, 60 x 2500, SNR 30): one pathway for each of its 32 bundles, between its two end
regions, through distributions and through tensors.  A course is right if the whole cheapest path lies in the corridor of
the bundle; overlap and overreach compare the voxels of the pathway with those of the true fibres, as in `arcuate score`.

2. Built-in head, same scan: curves from each end of the callosal radiation, which has 30 % of its voxels where it runs
alone, and 23 % within the corticospinal tract and where it leaves the corpus callosum.  A curve is valid if it passes
within 4 mm of true end points at both ends and at least 95 % of its points lie within 4 mm of true fibres; an end point is
reached if a valid curve from the other end passes within 4 mm of it.

3. With --arcs, the scans of arc and chord that the test `lifted::table of arc and chord` wrote: MRtrix's iFOD2, if tckgen is
in the PATH, between the same regions, in distributions of order 8, its default: order 12 takes MRtrix minutes a scan.
"""

import argparse
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys

import nibabel as nib
import numpy as np
from scipy.spatial import cKDTree

parser = argparse.ArgumentParser()
parser.add_argument("arcuate")
parser.add_argument("--work", default="pathways")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--arcs")
options = parser.parse_args()
arcuate = os.path.abspath(options.arcuate)
commands = []
WIDTHS = (0.1, 0.2, 0.3)
NEAR_MM = 4.0
RADIATION = 30
FIBRES = 60


def at(name):
    return os.path.join(options.work, name)


def run(line, output):
    """Runs a command in the work folder unless its file exists, and returns whether the file exists then."""
    commands.append(line.replace(arcuate, "arcuate"))
    if not os.path.exists(at(output)):
        done = subprocess.run(shlex.split(line), cwd=options.work, capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stderr[-2000:], file=sys.stderr)
    return os.path.exists(at(output))


def mask(name, inside, like):
    nib.save(nib.Nifti1Image(inside.astype("u1"), like.affine), at(name))


def streamlines(name):
    return [np.asarray(s) for s in nib.streamlines.load(at(name)).streamlines]


def voxels_of(fibres, affine):
    """The voxels that curves pass, sampled at 0.2 mm."""
    inverse, passed = np.linalg.inv(affine), set()
    for fibre in fibres:
        along = np.r_[0, np.cumsum(np.linalg.norm(np.diff(fibre, axis=0), axis=1))]
        points = np.arange(0, along[-1], 0.2)
        points = np.stack([np.interp(points, along, fibre[:, a]) for a in range(3)], 1)
        passed |= set(map(tuple, np.round(points @ inverse[:3, :3].T + inverse[:3, 3]).astype(int)))
    return passed


def agreement(folder, true_voxels):
    """Overlap and overreach of the pathway at each width, percent."""
    cost = np.asarray(nib.load(at(folder + "/u.nii.gz")).dataobj)
    least, row = np.nanmin(cost), []
    for width in WIDTHS:
        inside = set(map(tuple, np.argwhere(cost <= least * (1 + width))))
        row += [100 * len(inside & true_voxels) / len(true_voxels), 100 * len(inside - true_voxels) / len(true_voxels)]
    return row


def share_inside(folder, corridor):
    """Share of the points of the cheapest path inside a mask."""
    inverse = np.linalg.inv(corridor.affine)
    points = streamlines(folder + "/path.tck")[0]
    voxels = np.round(points @ inverse[:3, :3].T + inverse[:3, 3]).astype(int)
    return np.asarray(corridor.dataobj)[tuple(voxels.T)].mean()


def head(name, kind):
    """The scan and the distributions of a head."""
    scan = "%s phantom %s --scan-only --seed %d --out %s" % (arcuate, kind, options.seed, name)
    return run(scan, name + "/truth.json") and run(
        "%s fod %s/dwi.nii.gz --mask %s/brain_mask.nii.gz --out %s/fod" % (arcuate, name, name, name),
        name + "/fod/wm_fod.nii.gz")


def crossing_head():
    if not head("crossing", "--crossing"):
        sys.exit("the crossing head could not be written")
    truth = json.load(open(at("crossing/truth.json")))
    ends = nib.load(at("crossing/ends.nii.gz"))
    labels = np.asarray(ends.dataobj)
    os.makedirs(at("ends"), exist_ok=True)
    print("| bundle | tensors: inside % | inside % | length mm |" + "".join(" OL, OR %% at %.0f %% |" % (100 * w) for w in WIDTHS))
    print("| --- | --- | --- | --- |" + " --- |" * len(WIDTHS))
    right, means = [0, 0], []
    for number, bundle in enumerate(truth["bundles"]):
        regions = []
        for end in ("start", "end"):
            file = "ends/%d_%s.nii.gz" % (number, end)
            mask(file, labels == bundle[end], ends)
            regions.append("mask:" + file)
        corridor = nib.load(at("crossing/" + bundle["corridor"]))
        between = "--from %s --to %s --threads %d --quiet" % (*regions, options.threads)
        folder, tensors = "lifted/%d" % number, "tensors/%d" % number
        os.makedirs(at("lifted"), exist_ok=True)
        os.makedirs(at("tensors"), exist_ok=True)
        run("%s pathway --fod crossing/fod/wm_fod.nii.gz %s --epsilon 0.3 --out %s" % (arcuate, between, folder), folder + "/path.tck")
        run("%s pathway crossing/dwi.nii.gz --mask crossing/brain_mask.nii.gz %s --null 0 --out %s" % (arcuate, between, tensors),
            tensors + "/path.tck")
        inside = [share_inside(f, corridor) for f in (tensors, folder)]
        right = [r + (i == 1.0) for r, i in zip(right, inside)]
        fibres = streamlines("crossing/" + bundle["fibres"])
        row = agreement(folder, voxels_of(fibres, corridor.affine))
        means.append(row)
        path = streamlines(folder + "/path.tck")[0]
        length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
        pairs = " | ".join("%.0f, %.0f" % tuple(row[2 * i:2 * i + 2]) for i in range(len(WIDTHS)))
        print("| %s | %.0f | %.0f | %.0f | %s |" % (bundle["name"], 100 * inside[0], 100 * inside[1], length, pairs), flush=True)
    mean = np.mean(means, axis=0)
    pairs = " | ".join("%.0f, %.0f" % tuple(mean[2 * i:2 * i + 2]) for i in range(len(WIDTHS)))
    print("| right courses of %d, and means | %d | %d | | %s |" % (len(means), *right, pairs))


def judged(files, fibres, ends):
    """For curves from each end: their number, that of those which count, and the share of true end points reached."""
    course, row = cKDTree(np.concatenate(fibres)), []
    for file, (near, far) in zip(files, (ends, ends[::-1])):
        trees = [cKDTree(end) for end in (near, far)]
        lines = streamlines(file) if os.path.exists(at(file)) else []
        valid = [l for l in lines if all(t.query(l)[0].min() <= NEAR_MM for t in trees)
                 and (course.query(l)[0] <= NEAR_MM).mean() > 0.95]
        reached = (cKDTree(np.concatenate(valid)).query(far)[0] <= NEAR_MM).mean() if valid else 0.0
        row += [len(lines), len(valid), 100 * reached]
    return row


def radiation():
    if not head("built_in", "--shells 1000:30,2500:60"):
        sys.exit("the built-in head could not be written")
    fibres = streamlines("built_in/fibres.tck")[RADIATION * FIBRES:(RADIATION + 1) * FIBRES]
    ends = [np.array([f[e] for f in fibres]) for e in (0, -1)]
    like = nib.load(at("built_in/brain_mask.nii.gz"))
    grid = np.stack(np.meshgrid(*[np.arange(n) for n in like.shape], indexing="ij"), -1).reshape(-1, 3)
    world = grid @ like.affine[:3, :3].T + like.affine[:3, 3]
    for name, end in zip(("start", "end"), ends):
        mask("radiation_%s.nii.gz" % name, (cKDTree(end).query(world)[0] <= 2).reshape(like.shape), like)
    fod = "--fod built_in/fod/wm_fod.nii.gz"
    common = "--threads %d --quiet" % options.threads
    ways = [("tensors", "track built_in/dwi.nii.gz --mask built_in/brain_mask.nii.gz --seeds random:10000"),
            ("probabilistic", "track %s" % fod),
            ("probabilistic, 35 degrees", "track %s --angle 35" % fod),
            ("deterministic", "track %s --method deterministic" % fod),
            ("rays along lobes, all", "geodesic %s --cut all" % fod)]
    print("\n| way | curves | valid | end points % | curves back | valid | end points % |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for number, (name, line) in enumerate(ways):
        files = ["way%d_%s.tck" % (number, end) for end in ("start", "end")]
        for file, end in zip(files, ("start", "end")):
            run("%s %s --seed mask:radiation_%s.nii.gz %s --out %s" % (arcuate, line, end, common, file), file)
        print("| %s | %d | %d | %.0f | %d | %d | %.0f |" % (name, *judged(files, fibres, ends)), flush=True)
    regions = "--from mask:radiation_start.nii.gz --to mask:radiation_end.nii.gz"
    true_voxels = voxels_of(fibres, like.affine)
    course = cKDTree(np.concatenate(fibres))
    print("\n| pathway | path within 4 mm of true fibres % |" + "".join(" OL, OR %% at %.0f %% |" % (100 * w) for w in WIDTHS))
    print("| --- | --- |" + " --- |" * len(WIDTHS))
    for name, line in (("distributions", fod), ("tensors", "built_in/dwi.nii.gz --mask built_in/brain_mask.nii.gz --null 0")):
        folder = "radiation_" + name
        run("%s pathway %s %s --epsilon 0.3 %s --out %s" % (arcuate, line, regions, common, folder), folder + "/path.tck")
        near = (course.query(streamlines(folder + "/path.tck")[0])[0] <= NEAR_MM).mean()
        row = agreement(folder, true_voxels)
        pairs = " | ".join("%.0f, %.0f" % tuple(row[2 * i:2 * i + 2]) for i in range(len(WIDTHS)))
        print("| %s | %.0f | %s |" % (name, 100 * near, pairs))


def arcs():
    """Shares of iFOD2's streamlines between the ends of the arc that keep to it, for each scan of the Rust test."""
    if not shutil.which("tckgen"):
        print("\nMRtrix is left out: tckgen is not in the PATH")
        return
    right = {}
    for file in sorted(glob.glob(os.path.join(options.arcs, "*.json"))):
        scene, base = json.load(open(file)), file[:-5]
        quiet = "-nthreads %d -quiet -force" % options.threads
        lines = ["dwi2fod msmt_csd %s.nii %s_wm.txt %s_fod.mif %s_gm.txt %s_gm.mif -lmax 8,0 -mask %s_mask.nii -grad %s.b %s" %
                 (*[base] * 7, quiet),
                 "tckgen %s_fod.mif %s.tck -algorithm iFOD2 -seed_sphere %s -include %s -stop -seeds 5000 -select 0 %s" %
                 (base, base, scene["seed"], scene["target"], quiet)]
        for line in lines:
            commands.append(line)
            subprocess.run(shlex.split(line), check=True)
        centre, kept, total = np.array(scene["centre"]), 0, 0
        for streamline in nib.streamlines.load(base + ".tck").streamlines:
            x = np.asarray(streamline) - centre
            upper = (np.abs(x[:, 0]) < 0.6 * scene["radius"]) & (x[:, 1] > scene["chord"] - 6)
            near = np.abs(np.hypot(x[:, 0], x[:, 1]) - scene["radius"]) < scene["within"]
            total += 1
            kept += upper.any() and near[upper].mean() > 0.95
        key = (scene["crossing"], scene["snr"])
        right.setdefault(key, []).append((kept, total))
    print("\n| angle, SNR | MRtrix iFOD2: right runs | streamlines right of those that arrive |")
    print("| --- | --- | --- |")
    for key, runs in sorted(right.items(), reverse=True):
        shares = sum(2 * kept > total for kept, total in runs)
        print("| %s, %s | %d of %d | %d of %d |" % (*key, shares, len(runs), sum(k for k, _ in runs), sum(t for _, t in runs)))


os.makedirs(options.work, exist_ok=True)
crossing_head()
radiation()
if options.arcs:
    arcs()
print()
print("- " + subprocess.run([arcuate, "--version"], capture_output=True, text=True).stdout.strip())
for line in commands:
    print("- `%s`" % line)
