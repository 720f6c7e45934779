"""Tracks the crossing head with MRtrix 3, DIPY and Arcuate, and scores all streamlines with `arcuate score`.

usage: crossing.py ARCUATE [--work FOLDER] [--streamlines 5000] [--threads 2] [--seed 1] [--spacing 2]
Needs MRtrix 3 in the PATH (dwi2response, dwi2fod, 5tt2gmwmi, tckgen), and DIPY for this Python; what is missing is left out.
Prints a Markdown table with the scores, then the versions and commands.  WORK keeps the files: a step whose output
exists is not repeated, so an interrupted run goes on.  WORK/scores.json holds all scores.

Everybody gets the same scan (6 x b0, 30 x 1000, 60 x 2500, SNR 30), the same mask, and random seeds in it, except where a
program seeds the interface of grey and white matter.  MRtrix takes three tissues with responses of dhollander, and its
deconvolution is restricted to voxels near white matter, since streamlines end elsewhere.  DIPY takes the shell of
b = 2500 with one response.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("arcuate")
parser.add_argument("--work", default="crossing")
parser.add_argument("--streamlines", type=int, default=5000)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--spacing", default="2")
options = parser.parse_args()
arcuate = os.path.abspath(options.arcuate)
commands = []


def at(name):
    return os.path.join(options.work, name)


def run(line, makes):
    """Runs a command in the work folder unless its file exists, and returns whether the file exists then."""
    shown = line.replace(arcuate, "arcuate")
    if os.path.exists(at(makes)):
        commands.append((shown, None))
        return True
    begun = time.perf_counter()
    done = subprocess.run(shlex.split(line), cwd=options.work, capture_output=True, text=True)
    commands.append((shown, time.perf_counter() - begun))
    print("%8.1f s  %s" % (commands[-1][1], shown), file=sys.stderr, flush=True)
    if done.returncode != 0:
        print(done.stderr[-2000:], file=sys.stderr)
        return False
    return os.path.exists(at(makes))


def dipy_streamlines(makes):
    """Probabilistic tracking in the distributions of DIPY's constrained spherical deconvolution."""
    import dipy
    import nibabel as nib
    import numpy as np
    from dipy.core.gradients import gradient_table
    from dipy.data import default_sphere
    from dipy.io.stateful_tractogram import Space, StatefulTractogram
    from dipy.io.streamline import save_trk
    from dipy.reconst.csdeconv import ConstrainedSphericalDeconvModel, auto_response_ssst
    from dipy.tracking.stopping_criterion import ThresholdStoppingCriterion
    from dipy.tracking.tracker import probabilistic_tracking
    from dipy.tracking.utils import random_seeds_from_mask

    settings = dict(sh_order_max=8, fa_threshold=0.1, step_size=0.5, max_angle=30)
    commands.append(("DIPY %s: auto_response_ssst, ConstrainedSphericalDeconvModel, probabilistic_tracking, %s" %
                     (dipy.__version__, settings), None))
    if os.path.exists(at(makes)):
        return True
    begun = time.perf_counter()
    image = nib.load(at("head/dwi.nii.gz"))
    bvals, bvecs = np.loadtxt(at("head/dwi.bval")), np.loadtxt(at("head/dwi.bvec"))
    chosen = (bvals < 50) | (bvals > 2000)
    data = np.asarray(image.dataobj, dtype="f4")[..., chosen]
    gradients = gradient_table(bvals[chosen], bvecs=bvecs[:, chosen].T)
    mask = np.asarray(nib.load(at("white.nii.gz")).dataobj) > 0
    response, _ = auto_response_ssst(gradients, data, roi_radii=20, fa_thr=0.7)
    model = ConstrainedSphericalDeconvModel(gradients, response, sh_order_max=settings["sh_order_max"])
    fit = model.fit(data, mask=mask)
    tensors = nib.load(at("maps/fa.nii.gz"))
    stop = ThresholdStoppingCriterion(np.where(mask, np.asarray(tensors.dataobj, dtype="f8"), 0), settings["fa_threshold"])
    seeds = random_seeds_from_mask(mask, image.affine, seeds_count=options.streamlines, seed_count_per_voxel=False,
                                   random_seed=options.seed)
    lines = probabilistic_tracking(seeds, stop, image.affine, sh=fit.shm_coeff.astype("f8"), sphere=default_sphere,
                                   random_seed=options.seed, max_angle=settings["max_angle"], min_len=20, max_len=250,
                                   step_size=settings["step_size"], nbr_threads=options.threads)
    tractogram = StatefulTractogram(list(lines), image, Space.RASMM)
    tractogram.remove_invalid_streamlines()
    save_trk(tractogram, at(makes))
    print("%8.1f s  DIPY" % (time.perf_counter() - begun), file=sys.stderr, flush=True)
    return True


def white_mask():
    """Voxels with white or deep grey matter, and those around them: where streamlines run."""
    import nibabel as nib
    import numpy as np

    if os.path.exists(at("white.nii.gz")):
        return
    image = nib.load(at("head/5tt.nii.gz"))
    tissues = np.asarray(image.dataobj)
    white = tissues[..., 1] + tissues[..., 2] > 0.1
    around = white.copy()
    for axis in range(3):
        for step in (-1, 1):
            around |= np.roll(white, step, axis)
    around &= tissues.sum(axis=-1) > 0
    nib.save(nib.Nifti1Image(around.astype("u1"), image.affine), at("white.nii.gz"))


def mrtrix():
    common = "-nthreads %d -quiet" % options.threads
    select = "-select %d -seed_image white.nii.gz %s" % (options.streamlines, common)
    scan = "-fslgrad head/dwi.bvec head/dwi.bval"
    ready = run("dwi2response dhollander head/dwi.nii.gz wm.txt gm.txt csf.txt -mask head/brain_mask.nii.gz %s %s" %
                (scan, common), "csf.txt")
    ready = ready and run("dwi2fod msmt_csd head/dwi.nii.gz wm.txt wm_fod.mif gm.txt gm.mif csf.txt csf.mif "
                          "-mask white.nii.gz %s %s" % (scan, common), "wm_fod.mif")
    if not ready:
        return
    run("5tt2gmwmi head/5tt.nii.gz gmwmi.mif %s" % common, "gmwmi.mif")
    yield "iFOD2", "ifod2.tck", "tckgen wm_fod.mif ifod2.tck -algorithm iFOD2 %s" % select
    yield ("iFOD2, ACT", "ifod2_act.tck", "tckgen wm_fod.mif ifod2_act.tck -algorithm iFOD2 -act head/5tt.nii.gz -backtrack %s"
           % select)
    yield ("iFOD2, ACT, seeds at the interface", "ifod2_gmwmi.tck",
           "tckgen wm_fod.mif ifod2_gmwmi.tck -algorithm iFOD2 -act head/5tt.nii.gz -backtrack -crop_at_gmwmi -select %d "
           "-seed_gmwmi gmwmi.mif %s" % (options.streamlines, common))
    yield "SD_STREAM", "sd_stream.tck", "tckgen wm_fod.mif sd_stream.tck -algorithm SD_STREAM %s" % select


def distributions():
    if not run("%s fod head/dwi.nii.gz --mask head/brain_mask.nii.gz --out fod" % arcuate, "fod/wm_fod.nii.gz"):
        return
    common = "%s track --fod fod/wm_fod.nii.gz --select %d --random-seed %d --threads %d" % (
        arcuate, options.streamlines, options.seed, options.threads)
    tissues = "--tissues head/5tt.nii.gz"
    yield "distributions", "arcs.tck", common + " --out arcs.tck"
    yield "distributions, tissues", "arcs_tissues.tck", "%s %s --out arcs_tissues.tck" % (common, tissues)
    yield ("distributions, tissues, seeds at the interface", "arcs_interface.tck",
           "%s %s --seed-interface --out arcs_interface.tck" % (common, tissues))
    yield ("distributions, deterministic", "lobes.tck", common + " --method deterministic --out lobes.tck")


def version(program):
    first = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.splitlines()
    return first[0].strip("= ") if first else program


os.makedirs(options.work, exist_ok=True)
if not run("%s phantom --crossing --scan-only --seed %d --spacing %s --out head" % (arcuate, options.seed, options.spacing),
           "head/truth.json"):
    sys.exit("the crossing head could not be written")
run("%s fit head/dwi.nii.gz --mask head/brain_mask.nii.gz --maps fa --out maps" % arcuate, "maps/fa.nii.gz")
white_mask()
results = [("true fibres", "head/fibres.tck")]
run("%s track head/dwi.nii.gz --mask head/brain_mask.nii.gz --seeds random:%d --out tensor.tck" %
    (arcuate, options.streamlines), "tensor.tck")
results.append(("Arcuate, one tensor", "tensor.tck"))
for name, file, line in distributions():
    run(line, file)
    results.append(("Arcuate, " + name, file))
versions = [version(arcuate)]
if shutil.which("tckgen"):
    versions.append(version("tckgen").replace("tckgen", "MRtrix"))
    for name, file, line in mrtrix():
        run(line, file)
        results.append(("MRtrix " + name, file))
try:
    dipy_streamlines("dipy.trk")
    results.append(("DIPY probabilistic CSD", "dipy.trk"))
except ImportError as error:
    print("DIPY is left out: %s" % error, file=sys.stderr)

scores = {}
print("| streamlines | number | VB | IB | VC % | IC % | NC % | OL % | OR % | F1 % |")
print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
for name, file in results:
    if not os.path.exists(at(file)):
        continue
    line = [arcuate, "score", file, "--truth", "head", "--json"]
    done = subprocess.run(line, cwd=options.work, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        continue
    score = scores[name] = json.loads(done.stdout)
    shares = [100 * score[key] for key in ("valid_share", "invalid_share", "unconnected_share", "overlap", "overreach", "f1")]
    print("| %s | %d | %d of %d | %d | %s |" % (name, score["streamlines"], score["valid_bundles"], score["bundles"],
                                                score["invalid_bundles"], " | ".join("%.1f" % s for s in shares)))
with open(at("scores.json"), "w") as out:
    json.dump(scores, out, indent=1)
print()
for text in versions:
    print("- " + text)
for line, seconds in commands:
    print("- `%s`%s" % (line, "" if seconds is None else " (%.1f s)" % seconds))
