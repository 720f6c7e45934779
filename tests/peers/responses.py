"""Compares the response functions of `arcuate fod` with those of MRtrix's `dwi2response dhollander`.

usage: responses.py ARCUATE [--work FOLDER] [--seed 1] [--spacing 2]
Needs MRtrix 3 in the PATH (dwi2response, mrconvert) and nibabel for this Python.  Both get the same made-up head (8 x b0,
25 x 700, 45 x 1200, 75 x 2800, SNR 25) and mask.  Prints, for each tissue, the agreement of the voxels (Dice) and the
largest difference of the mean signals, and fails below a Dice of 0.9 or above 2 %.
"""

import argparse
import os
import subprocess
import sys

import nibabel as nib
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("arcuate")
parser.add_argument("--work", default="responses")
parser.add_argument("--seed", default="1")
parser.add_argument("--spacing", default="2")
options = parser.parse_args()
arcuate = os.path.abspath(options.arcuate)
os.makedirs(options.work, exist_ok=True)


def run(line):
    print(line.replace(arcuate, "arcuate"), file=sys.stderr, flush=True)
    subprocess.run(line.split(), cwd=options.work, check=True, stdout=subprocess.DEVNULL)


def at(name):
    return os.path.join(options.work, name)


run("%s phantom --scan-only --shells 700:25,1200:45,2800:75 --b0 8 --snr 25 --seed %s --spacing %s --force --out head" %
    (arcuate, options.seed, options.spacing))
run("%s fod head/dwi.nii.gz --mask head/brain_mask.nii.gz --order 2 --maps response_voxels --force --out fod" % arcuate)
run("dwi2response dhollander head/dwi.nii.gz wm.txt gm.txt csf.txt -mask head/brain_mask.nii.gz -voxels voxels.mif "
    "-fslgrad head/dwi.bvec head/dwi.bval -force -quiet")
run("mrconvert voxels.mif voxels.nii.gz -strides head/dwi.nii.gz -force -quiet")
ours = np.asarray(nib.load(at("fod/response_voxels.nii.gz")).dataobj)
theirs = np.asarray(nib.load(at("voxels.nii.gz")).dataobj) > 0.5
good = True
print("| tissue | voxels, Arcuate | voxels, MRtrix | Dice | mean signals differ by |")
print("| --- | --- | --- | --- | --- |")
# MRtrix's volumes are those of CSF, grey matter and white matter.
for own, other, tissue in ((0, 2, "wm"), (1, 1, "gm"), (2, 0, "csf")):
    a, b = ours == own + 1, theirs[..., other]
    dice = 2.0 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b))
    means = [np.loadtxt(at(name), ndmin=2)[:, 0] for name in ("fod/%s_response.txt" % tissue, "%s.txt" % tissue)]
    difference = float(np.max(np.abs(means[0] / means[1] - 1.0)))
    good &= dice >= 0.9 and difference <= 0.02
    print("| %s | %d | %d | %.3f | %.2f %% |" %
          (tissue, np.count_nonzero(a), np.count_nonzero(b), dice, 100.0 * difference))
sys.exit(0 if good else 1)
