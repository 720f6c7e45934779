"""Clusters streamlines with DIPY's QuickBundles and with Arcuate, on one core, one after the other.

usage: bundles.py ARCUATE FILE [--streamlines 100000] [--threshold 10] [--repeats 3]
Needs DIPY for this Python.  FILE is a TCK or TRK; if it has fewer streamlines than requested, copies that are moved by up to
4 mm are appended, in one random order.  Prints one JSON object: numbers of clusters, the adjusted Rand index of both
divisions, the share of streamlines in clusters that are equal, and times without reading and writing (the median).
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

os.environ["OMP_NUM_THREADS"] = "1"

import nibabel as nib
import numpy as np
from dipy.segment.clustering import QuickBundles
from dipy.segment.featurespeed import ResampleFeature
from dipy.segment.metric import AveragePointwiseEuclideanMetric

parser = argparse.ArgumentParser()
parser.add_argument("arcuate")
parser.add_argument("file")
parser.add_argument("--streamlines", type=int, default=100_000)
parser.add_argument("--threshold", type=float, default=10)
parser.add_argument("--repeats", type=int, default=3)
options = parser.parse_args()

rng = np.random.default_rng(7)
own = [s.astype("f4") for s in nib.streamlines.load(options.file).streamlines if len(s) > 1]
lines = list(own)
while len(lines) < options.streamlines:
    lines += [s + rng.uniform(-4, 4, 3).astype("f4") for s in own]
if len(lines) > len(own):
    lines = [lines[i] for i in rng.permutation(len(lines))]
lines = lines[: options.streamlines]


def pairs(counts):
    counts = np.asarray(counts, dtype=float)
    return (counts * (counts - 1) / 2).sum()


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "lines.tck")
    nib.streamlines.save(nib.streamlines.Tractogram(lines, affine_to_rasmm=np.eye(4)), path)
    ours, dipys = [], []
    for repeat in range(options.repeats):
        line = [options.arcuate, "bundles", path, "--threshold", str(options.threshold), "--min-size", "1",
                "--threads", "1", "--json", "--force", "--out", os.path.join(folder, "out.trx")]
        done = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
        ours.append(done["cluster_ms"] / 1000)
        # Arcuate's command measures its bundles, too; DIPY only clusters.
        metric = AveragePointwiseEuclideanMetric(feature=ResampleFeature(nb_points=12))
        begun = time.perf_counter()
        clusters = QuickBundles(threshold=options.threshold, metric=metric).cluster(lines)
        dipys.append(time.perf_counter() - begun)
    from trx.trx_file_memmap import load
    trx = load(os.path.join(folder, "out.trx"))
    a = np.full(len(lines), -1)
    for number, name in enumerate(sorted(trx.groups)):
        a[np.asarray(trx.groups[name]).ravel()] = number
    b = np.full(len(lines), -1)
    for number, cluster in enumerate(clusters):
        b[cluster.indices] = number

both = np.unique(np.stack([a, b]), axis=1, return_counts=True)
shared, counts = both
sizes_a, sizes_b = np.bincount(a), np.bincount(b)
equal = sum(n for (i, j), n in zip(shared.T, counts) if n == sizes_a[i] == sizes_b[j])
together, of_a, of_b, everything = pairs(counts), pairs(sizes_a), pairs(sizes_b), pairs([len(lines)])
expected = of_a * of_b / everything
ours, dipys = statistics.median(ours), statistics.median(dipys)
print(json.dumps({
    "streamlines": len(lines), "threshold_mm": options.threshold,
    "clusters_arcuate": len(sizes_a), "clusters_dipy": len(sizes_b),
    "adjusted_rand": round((together - expected) / (0.5 * (of_a + of_b) - expected), 6),
    "in_equal_clusters": round(equal / len(lines), 6),
    "arcuate_s": round(ours, 4), "dipy_s": round(dipys, 3), "ratio": round(dipys / ours, 1),
}))
