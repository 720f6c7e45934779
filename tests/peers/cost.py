"""Times Arcuate's cost fields and plain sweeping on one core, one after the other, again and again.

usage: cost.py ARCUATE [--source fsm_ref.cpp] [--repeats 3]
The source is that of ../shared/bench/cpu unless another is given; where there is none, or no C++ compiler, that
is said and nothing is timed. Prints JSON lines: the times, for each of the paper's first two examples how many
times as fast each local solver is as sweeping with the update of godunov6, and the share of the voxels that it
reaches (Selling's scheme alone reaches hardly any of the second); the third example's beside them.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
parser = argparse.ArgumentParser()
parser.add_argument("arcuate")
parser.add_argument("--source", default=os.path.join(here, "../../../shared/bench/cpu/fsm_ref.cpp"))
parser.add_argument("--repeats", type=int, default=3)
options = parser.parse_args()

compiler = next(filter(None, map(shutil.which, ["g++", "c++", "clang++"])), None)
if not os.path.exists(options.source):
    print(f"Not timed: {options.source} is not there, expected the sweeping solver; give it with --source")
    sys.exit()
if compiler is None:
    print("Not timed: found no C++ compiler, expected g++, c++ or clang++; install one")
    sys.exit()


def lines(command):
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def ours(example):
    """Rows by local solver: of one source, without what moving an end takes."""
    command = [options.arcuate, "bench", "eikonal", "--backend", "cpu", "--threads", "1", "--case", example]
    words = [(row["workload"].split(), row) for row in lines(command)]
    return {found[2]: row for found, row in words if found[1] == example and len(found) == 3}


def report(example, rows, base=None):
    """Medians over runs, each the rows of one; base is sweeping's time."""
    for local in rows[0]:
        wall_s = statistics.median(run[local]["wall_s"] for run in rows)
        size = rows[0][local]["size"]
        line = dict(program="arcuate", case=f"{example} {local}", wall_s=round(wall_s, 5),
                    reached=round(size["reached"] / size["voxels"], 4))
        if base is not None:
            line["times_sweeping"] = round(base / wall_s, 2)
        print(json.dumps(line), flush=True)


with tempfile.TemporaryDirectory() as folder:
    sweeping = os.path.join(folder, "sweeping")
    subprocess.run([compiler, "-O3", "-march=native", "-std=c++17", options.source, "-o", sweeping], check=True)
    for example in ["Ex1", "Ex2"]:
        # Run in turn, so that other work of the machine slows both.
        theirs, rows = [], []
        for _ in range(options.repeats):
            theirs.append(lines([sweeping, example.lower(), "--repeats", "1"])[0]["wall_s"])
            rows.append(ours(example))
        base = statistics.median(theirs)
        print(json.dumps(dict(program="sweeping", case=example, wall_s=round(base, 5))))
        report(example, rows, base)
    report("Ex3", [ours("Ex3")])
