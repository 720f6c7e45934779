"""Compares dmri-commit 2.4 and Arcuate on the same made-up streamlines, one after the other.

usage: commit.py ARCUATE [--threads 1] [--fibres 5000] [--n 48] [--model StickZeppelinBall|CylinderZeppelinBall]
                 [--iters 50] [--repeats 5]
Needs dmri-commit, nibabel and numpy. Prints JSON lines: what both predict from the same weights, with dmri-commit's
own dictionary and look-up table and with Arcuate's; times of A x, of A^T y and of a fit to the same objective.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("arcuate")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--fibres", type=int, default=5000)
parser.add_argument("--n", type=int, default=48)
parser.add_argument("--model", default="StickZeppelinBall")
parser.add_argument("--iters", type=int, default=50)
parser.add_argument("--repeats", type=int, default=5)
parser.add_argument("--ndirs", type=int, default=500)
options = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import nibabel as nib  # noqa: E402
import numpy as np  # noqa: E402

# dmri-commit prints from C++ on standard output: the JSON lines keep the real one.
lines = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.stdout = sys.stderr
import commit  # noqa: E402
from commit import trk2dictionary  # noqa: E402

VOXEL = 2.0
rng = np.random.default_rng(11)


def emit(**values):
    print(json.dumps(values), file=lines, flush=True)


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def streamlines():
    side = options.n * VOXEL
    centre, radius = side / 2 - VOXEL / 2, side * 0.42
    bundles = []
    for _ in range(40):
        t = unit(rng.standard_normal(3))
        bundles.append((centre + unit(rng.standard_normal(3)) * radius * rng.random() * 0.6, t,
                        unit(np.cross(t, rng.standard_normal(3))), rng.uniform(-0.03, 0.03), rng.uniform(60, 110)))
    out, true = [], []
    while len(out) < options.fibres:
        real = rng.random() < 0.5
        if real:
            c, t, across, k, length = bundles[rng.integers(40)]
            c = c + rng.standard_normal(3) * 3.0
        else:
            t = unit(rng.standard_normal(3))
            across = unit(np.cross(t, rng.standard_normal(3)))
            c = centre + unit(rng.standard_normal(3)) * radius * rng.random() ** (1 / 3)
            k, length = rng.uniform(-0.03, 0.03), rng.uniform(40, 110)
        s = np.arange(-length / 2, length / 2, 1.0)[:, None]
        line = c + np.sin(k * s) / k * t + (1 - np.cos(k * s)) / k * across
        line = line[np.linalg.norm(line - centre, axis=1) < radius]
        if len(line) > 20:
            out.append(line.astype(np.float32))
            true.append(real)
    return out, np.array(true)


def directions(n):
    i = np.arange(n) + 0.5
    z, turn = 1 - i / n, np.pi * (1 + 5 ** 0.5) * i
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(turn), r * np.sin(turn), z], -1)


def timed(work):
    walls = []
    for _ in range(options.repeats + 1):
        begun = time.perf_counter()
        work()
        walls.append(time.perf_counter() - begun)
    return float(np.median(walls[1:]))


def main(root):
    at = lambda *names: os.path.join(root, *names)  # noqa: E731
    n, affine = options.n, np.diag([VOXEL, VOXEL, VOXEL, 1.0])
    lines_mm, true = streamlines()
    nib.streamlines.save(nib.streamlines.Tractogram(lines_mm, affine_to_rasmm=np.eye(4)), at("fibres.tck"))
    x = (np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1) - (n - 1) / 2) / (n / 2)
    mask = (np.linalg.norm(x, axis=-1) < 0.9).astype(np.uint8)
    e1 = unit(np.stack([np.cos(2 * x[..., 0]), np.sin(2 * x[..., 1]), 0.5 + x[..., 2]], -1))
    e2 = unit(np.cross(e1, np.array([0.3, 0.5, 0.8])))
    nib.save(nib.Nifti1Image(mask, affine), at("mask.nii"))
    nib.save(nib.Nifti1Image(np.concatenate([e1, e2], -1).astype(np.float32), affine), at("peaks.nii"))
    b = np.concatenate([np.zeros(5), np.full(30, 1000.0), np.full(60, 2000.0)])
    g = np.concatenate([np.zeros((5, 3)), directions(30), directions(60)])
    cylinders = options.model == "CylinderZeppelinBall"
    between, pulse, echo, gamma = 0.0431, 0.0322, 0.09, 2.675987e8
    strength = np.sqrt(b * 1e6 / ((gamma * pulse) ** 2 * (between - pulse / 3)))
    with open(at("scan.scheme"), "w") as file:
        if cylinders:
            file.write("VERSION: STEJSKALTANNER\n")
            for gg, s in zip(g, strength):
                file.write(" ".join("%.9g" % v for v in (*gg, s, between, pulse, echo)) + "\n")
        else:
            file.write("VERSION: BVECTOR\n")
            for gg, bb in zip(g, b):
                file.write(" ".join("%.9g" % v for v in (*gg, bb)) + "\n")
    with open(at("scan.b"), "w") as file:
        for gg, bb in zip(g, b):
            file.write(" ".join("%.9g" % v for v in (*gg, bb)) + "\n")
    nib.save(nib.Nifti1Image(np.ones((n,) * 3 + (len(b),), np.float32), affine), at("scan.nii"))

    commit.core.setup()
    begun = time.perf_counter()
    # Half a voxel: it counts from the voxel's corner, the coordinates of a TCK from its centre.
    trk2dictionary.run(filename_tractogram=at("fibres.tck"), path_out=at("COMMIT"), filename_peaks=at("peaks.nii"),
                       filename_mask=at("mask.nii"), TCK_ref_image=at("mask.nii"), fiber_shift=0.5,
                       n_threads=options.threads, ndirs=options.ndirs, verbose=0)
    dictionary_s = time.perf_counter() - begun

    def evaluation():
        mit = commit.Evaluation(root, ".")
        mit.set_verbose(0)
        mit.set_config("doNormalizeSignal", False)
        mit.set_config("doNormalizeKernels", True)
        mit.load_data(at("scan.nii"), at("scan.scheme"))
        mit.set_model(options.model)
        radii = np.linspace(0.5, 5, 4) * 1e-6
        if cylinders:
            mit.model.set(1.7e-3, radii, [0.51e-3], [1.7e-3, 3.0e-3])
            if not hasattr(mit.model, "isExvivo"):
                mit.model.isExvivo = False
        else:
            mit.model.set(1.7e-3, [0.51e-3], [1.7e-3, 3.0e-3])
        mit.generate_kernels(regenerate=not os.path.exists(at("kernels_done")), lmax=12, ndirs=options.ndirs)
        open(at("kernels_done"), "w").close()
        mit.load_kernels()
        mit.load_dictionary(at("COMMIT"))
        mit.set_threads(options.threads)
        mit.build_operator()
        return mit

    mit = evaluation()
    D, K = mit.DICTIONARY, mit.KERNELS
    fibres, peaks, voxels = int(D["IC"]["nSTR"]), int(D["EC"]["n"]), int(D["ISO"]["n"])
    samples = int(mit.A.shape[0]) // voxels
    tables = [np.asarray(K[k]) for k in ("wmr", "wmh", "iso")]
    atoms, extra, free = (t.shape[0] for t in tables)
    # rows: direction by direction, column by column of each
    rows = [np.moveaxis(t, 0, 1).reshape(-1, samples) for t in tables[:2]] + [tables[2].reshape(-1, samples)]
    weights = np.random.default_rng(5).random(mit.A.shape[1])
    # Both peaks of a voxel are equal: their order is not defined.
    alike = np.random.default_rng(6).random((extra, voxels))[:, D["EC"]["vox"]]
    weights[fibres * atoms:fibres * atoms + extra * peaks] = alike.ravel()
    dump = lambda name, array, kind: np.ascontiguousarray(array, kind).tofile(at("dump", name))  # noqa: E731
    os.makedirs(at("dump"))
    dump("sizes.u32", [fibres, voxels, samples, tables[0].shape[1], atoms, tables[1].shape[1], extra, free], "u4")
    dump("fibre.u32", D["IC"]["str"], "u4")
    dump("voxel.u32", D["IC"]["vox"], "u4")
    dump("direction.u16", D["IC"]["dir"], "u2")
    dump("length.f32", D["IC"]["len"], "f4")
    dump("peak_voxel.u32", D["EC"]["vox"], "u4")
    dump("peak_direction.u16", D["EC"]["dir"], "u2")
    dump("table.f32", np.concatenate(rows), "f4")
    dump("x.f64", weights, "f8")
    # Its columns are scaled by the responses' and by the streamlines' norms.
    kept = np.asarray(D["TRK"]["kept"]).astype(bool)
    lines_of = np.asarray(D["TRK"]["norm"], float)[kept]
    scales = [np.outer(K["wmr_norm"], lines_of).ravel(), np.repeat(K["wmh_norm"], peaks), np.repeat(K["iso_norm"], voxels)]
    dump("x_own.f64", weights / np.concatenate(scales), "f8")
    dump("voxels.u32", D["MASK_ix"] + n * (D["MASK_iy"] + n * D["MASK_iz"]), "u4")
    for name in ("fibres.tck", "mask.nii", "peaks.nii", "scan.b", "scan.scheme"):
        shutil.copy(at(name), at("dump", name))
    theirs = np.asarray(mit.A.dot(weights))
    their_ax = timed(lambda: mit.A.dot(weights))
    their_aty = timed(lambda: mit.A.T.dot(theirs))

    # A signal of the bundles' streamlines and of free water, with noise of a thirtieth of its mean.
    r = np.random.default_rng(7)
    planted = np.zeros(mit.A.shape[1])
    for j in range(atoms):
        planted[j * fibres:(j + 1) * fibres] = np.where(true[kept], r.uniform(0.005, 0.02, fibres), 0) / atoms
    planted[fibres * atoms + peaks * extra:] = 0.1
    signal = np.asarray(mit.A.dot(planted)).reshape(voxels, -1)
    signal = signal + r.standard_normal(signal.shape) * signal[signal > 0].mean() / 30
    image = np.zeros((n,) * 3 + (samples,), np.float32)
    image[D["MASK_ix"], D["MASK_iy"], D["MASK_iz"]] = signal
    nib.save(nib.Nifti1Image(image, affine), at("scan.nii"))
    mit = evaluation()
    y = np.asarray(mit.get_y() if hasattr(mit, "get_y") else signal.ravel(), np.float64)
    begun = time.perf_counter()
    mit.fit(tol_fun=1e-12, max_iter=options.iters)
    their_fit = time.perf_counter() - begun
    found = np.concatenate([np.ravel(v) for v in mit.get_coeffs(get_normalized=False)])
    objective = 0.5 * float(((np.asarray(mit.A.dot(found)) - y) ** 2).sum())
    dump("y.f64", y, "f8")
    dump("objective.f64", [objective], "f8")
    command = [options.arcuate, "bench", "commit", "--threads", str(options.threads)]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE,
                         env={**os.environ, "ARCUATE_BENCH_FILES": at("dump")})
    ours = json.loads(ran.stdout)
    predicted = np.fromfile(at("dump", "predicted.f32"), np.float32).astype(float)
    gap = float(np.linalg.norm(predicted - theirs) / np.linalg.norm(theirs))
    own = np.fromfile(at("dump", "own_predicted.f32"), np.float32).astype(float)
    own_gap = float(np.linalg.norm(own - theirs) / np.linalg.norm(theirs))
    # Sums over the bundles' and over the false streamlines, by their lengths.
    our_w = np.fromfile(at("dump", "weights.f32"), np.float32).reshape(fibres, atoms).sum(1)
    their_w = found[:fibres * atoms].reshape(atoms, fibres).sum(0)
    lengths = np.bincount(np.fromfile(at("dump", "fibre.u32"), "u4"), np.fromfile(at("dump", "length.f32"), "f4"), fibres)
    sums = [float((w * lengths)[true[kept]].sum()) for w in (our_w, their_w)]
    ms = lambda s: round(1e3 * s, 3)  # noqa: E731
    emit(case="its dictionary and table", model=options.model, threads=options.threads, fibres=fibres, voxels=voxels,
         segments=int(D["IC"]["n"]), samples=samples, prediction_gap=gap, own_dictionary_gap=own_gap,
         ndirs=options.ndirs, commit_a_x_ms=ms(their_ax),
         arcuate_a_x_ms=ms(ours["a_x_ms"] / 1e3), commit_at_y_ms=ms(their_aty), arcuate_at_y_ms=ms(ours["at_y_ms"] / 1e3),
         commit_fit_s=round(their_fit, 3), commit_iterations=options.iters, arcuate_fit_s=round(ours["fit_s"], 3),
         arcuate_iterations=ours["iterations"], commit_objective=objective, arcuate_objective=ours["objective"],
         bundle_sum_gap=abs(sums[0] / sums[1] - 1), commit_dictionary_s=round(dictionary_s, 3))
    assert gap < 1e-4, gap
    assert ours["objective"] <= objective * (1 + 1e-9), (ours["objective"], objective)


commit_folder = tempfile.mkdtemp(prefix="arcuate-commit-")
try:
    main(commit_folder)
finally:
    shutil.rmtree(commit_folder, ignore_errors=True)
