"""Times nibabel, trx-python, MRtrix3's tckedit (where it is installed) and Arcuate on the same streamline
files, one after the other.

usage: speed.py ARCUATE [--streamlines 100000] [--repeats 3]
Prints JSON lines. Reading is timed until every coordinate has been added up. nibabel, trx-python and tckedit
use one thread; each line of Arcuate's lists how many it used. With regions, `tckedit` and `arcuate select` are
timed as whole processes, which read a TCK and write what is kept, and `arcuate bench select` without files.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import nibabel as nib
import numpy as np
from trx.trx_file_memmap import TrxFile, load as load_trx, save as save_trx

parser = argparse.ArgumentParser()
parser.add_argument("arcuate")
parser.add_argument("--streamlines", type=int, default=100_000)
parser.add_argument("--repeats", type=int, default=3)
options = parser.parse_args()


def emit(program, case, seconds, count, **more):
    print(json.dumps(dict(program=program, case=case, wall_s=round(seconds, 5), rate=round(count / seconds), **more)),
          flush=True)


def timed(work, repeats):
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


def arcs(count, points_at_least=40):
    rng = np.random.default_rng(5)
    lines = []
    for _ in range(count):
        along = rng.standard_normal(3)
        along /= np.linalg.norm(along)
        across = np.cross(along, rng.standard_normal(3))
        across /= np.linalg.norm(across)
        k, n = rng.uniform(0.002, 0.03), rng.integers(points_at_least, points_at_least + 70)
        s = (np.arange(n) - n / 2)[:, None]
        centre = 63 + rng.uniform(-30, 30, 3)
        lines.append((centre + np.sin(k * s) / k * along + (1 - np.cos(k * s)) / k * across).astype("f4"))
    return lines


with tempfile.TemporaryDirectory() as folder:
    at = lambda name: os.path.join(folder, name)  # noqa: E731
    lines = arcs(options.streamlines)
    count = len(lines)
    tractogram = nib.streamlines.Tractogram(lines, affine_to_rasmm=np.eye(4))
    header = dict(dimensions=(64, 64, 64), voxel_sizes=(2.0,) * 3, voxel_to_rasmm=np.diag([2.0, 2, 2, 1]),
                  voxel_order="RAS")
    for ending in ("tck", "trk"):
        path = at("nibabel." + ending)
        emit("nibabel", "write " + ending, timed(lambda: nib.streamlines.save(tractogram, path, header=header), 1),
             count)
        emit("nibabel", "read " + ending,
             timed(lambda: nib.streamlines.load(path).streamlines.get_data().sum(), options.repeats), count)
    for points in ("float16", "float32"):
        path = at("trx_python_%s.trx" % points)

        def write():
            trx = TrxFile(nb_vertices=sum(map(len, lines)), nb_streamlines=count)
            data = trx.streamlines
            data._data = np.concatenate(lines).astype(points)
            data._offsets = np.cumsum([0] + [len(s) for s in lines[:-1]]).astype("u4")
            data._lengths = np.array([len(s) for s in lines], dtype="u4")
            save_trx(trx, path)

        def read():
            trx = load_trx(path)
            np.asarray(trx.streamlines._data).sum(dtype=np.float64)
            trx.close()

        emit("trx-python", "write trx " + points, timed(write, 1), count)
        emit("trx-python", "read trx " + points, timed(read, options.repeats), count)
    # Our own TRX, which is aligned, read by both.
    path = at("arcuate_float32.trx")
    subprocess.run([options.arcuate, "convert", at("nibabel.trk"), path], check=True, stdout=subprocess.DEVNULL)
    emit("trx-python", "read trx arcuate", timed(read, options.repeats), count)
    for environment in ({"ARCUATE_BENCH_FILES": folder}, {}):
        ran = subprocess.run([options.arcuate, "bench", "io"], check=True, stdout=subprocess.PIPE,
                             env={**os.environ, **environment})
        for line in ran.stdout.decode().splitlines():
            line = json.loads(line)
            told = ("sum_alone_s", "sum_alone_gb_per_s", "held_over_points", "peak_over_points")
            more = {key: round(line[key], 5) for key in told if key in line}
            emit("arcuate", line["case"], line["wall_s"], line["streamlines"], threads=line["threads"], **more)

# Regions, among 5.6 million points: a sphere of 10 mm, and a mask of 16 x 16 x 16 voxels of 2 mm.
with tempfile.TemporaryDirectory() as folder:
    at = lambda name: os.path.join(folder, name)  # noqa: E731
    lines = arcs(options.streamlines, 21)
    count = len(lines)
    nib.streamlines.save(nib.streamlines.Tractogram(lines, affine_to_rasmm=np.eye(4)), at("t.tck"))
    inside = np.zeros((64, 64, 64), "u1")
    inside[24:40, 24:40, 24:40] = 1
    nib.save(nib.Nifti1Image(inside, np.diag([2.0, 2, 2, 1])), at("roi.nii"))
    os.mkdir(at("kept"))

    def whole(*command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    regions = (("sphere", "64,64,64,10", "sphere:64,64,64,10"), ("mask", at("roi.nii"), "mask:" + at("roi.nii")))
    for name, theirs, ours in regions:
        kept = at("kept/t.tck")
        if shutil.which("tckedit"):
            command = ("tckedit", at("t.tck"), kept, "-include", theirs, "-nthreads", "0", "-quiet", "-force")
            emit("tckedit", "select " + name, timed(lambda: whole(*command), options.repeats), count, threads=1)
        for threads in (1, os.cpu_count()):
            command = (options.arcuate, "select", at("t.tck"), kept, "--include", ours, "--threads", str(threads),
                       "--force", "--quiet")
            emit("arcuate", "select " + name, timed(lambda: whole(*command), options.repeats), count,
                 threads=threads)
    for threads in (1, os.cpu_count()):
        ran = subprocess.run([options.arcuate, "bench", "select", "--threads", str(threads)], check=True,
                             stdout=subprocess.PIPE, env={**os.environ, "ARCUATE_BENCH_FILES": folder})
        for line in map(json.loads, ran.stdout.decode().splitlines()):
            emit("arcuate", "bench select " + line["case"], line["wall_s"], line["streamlines"], threads=threads,
                 kept=line["kept"])
