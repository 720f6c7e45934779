#!/usr/bin/env python3
"""Makes kernels/ptx/STEM.sm70.ptx of every kernels/STEM.cu: `kernels/make_ptx.py [--check]`.

PTX is committed, so that neither building nor running Arcuate needs a CUDA toolkit. The compiler is
NVRTC 12.2, which PyPI has as a wheel; it is kept in ~/.cache/arcuate-nvrtc. PTX of CUDA 12.2 is what
drivers from 535 on can load, compute_70 what cards from Volta on can run.

--check writes nothing: it compares bytes with what is committed, then assembles each file for several
cards with ptxas, prints registers, and fails on spills.
"""

import ctypes
import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = Path(__file__).resolve().parent
CACHE = Path.home() / ".cache" / "arcuate-nvrtc"
WHEELS = [
    "nvidia-cuda-nvrtc-cu12==12.2.140",
    "nvidia-cuda-runtime-cu12==12.2.140",
    "nvidia-cuda-nvcc-cu12==12.2.140",
]
ATTEMPTS = 5
CARDS = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"]


def toolchain():
    """The folder that holds the wheels' files, installed on the first call."""
    environment = CACHE / "venv"
    stamp = environment / "arcuate-wheels.txt"
    if not stamp.exists() or stamp.read_text() != "\n".join(WHEELS):
        print("Installing", *WHEELS, "in", environment, flush=True)
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps"]
        pip += ["--disable-pip-version-check", *WHEELS]
        if subprocess.run(pip).returncode != 0:
            print("That failed; trying once more", flush=True)
            subprocess.run(pip, check=True)
        stamp.write_text("\n".join(WHEELS))
    (found,) = environment.glob("lib/python3*/site-packages/nvidia")
    return found


def headers():
    return sorted(KERNELS.glob("*.cuh"))


def options():
    return (KERNELS / "options.txt").read_text().split()


def fingerprint(source):
    """SHA-256 of the options, of every header and of the source, each after its name and length.
    tests/engine/kernels.rs computes it too."""
    whole = hashlib.sha256()
    for file in [KERNELS / "options.txt", *headers(), source]:
        text = file.read_bytes()
        whole.update(f"{file.name} {len(text)}\n".encode() + text)
    return whole.hexdigest()


class Compiler:
    def __init__(self, nvidia):
        libraries = nvidia / "cuda_nvrtc" / "lib"
        # NVRTC looks for this one by name alone.
        ctypes.CDLL(str(libraries / "libnvrtc-builtins.so.12.2"), ctypes.RTLD_GLOBAL)
        self.nvrtc = ctypes.CDLL(str(libraries / "libnvrtc.so.12"))
        self.nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        # Of tensor cores a part came with the compiler.
        self.includes = [nvidia / name / "include" for name in ("cuda_runtime", "cuda_nvcc")]

    def must(self, code):
        if code != 0:
            sys.exit(f"NVRTC: {self.nvrtc.nvrtcGetErrorString(code).decode()}")

    def text(self, size_of, get, program):
        size = ctypes.c_size_t()
        self.must(size_of(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.must(get(program, buffer))
        return buffer.value.decode()

    def ptx(self, source):
        """Neither the PTX nor messages hold a path: the program is named after the file, and the
        headers of kernels/ are handed over by name."""
        def strings(values):
            return (ctypes.c_char_p * len(values))(*values)

        names = [header.name.encode() for header in headers()]
        texts = [header.read_bytes() for header in headers()]
        arguments = [option.encode() for option in options()]
        arguments += [f"--include-path={folder}".encode() for folder in self.includes]
        program = ctypes.c_void_p()
        nvrtc = self.nvrtc
        self.must(nvrtc.nvrtcCreateProgram(
            ctypes.byref(program), source.read_bytes(), source.name.encode(),
            len(names), strings(texts), strings(names)))
        failed = nvrtc.nvrtcCompileProgram(program, len(arguments), strings(arguments)) != 0
        log = self.text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program).strip()
        if log:
            print(log)
        if failed:
            sys.exit(f"{source.name} does not compile")
        made = self.text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program)
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        return "\n".join([
            f"// Made of {source.name} by kernels/make_ptx.py; do not edit.",
            f"// NVRTC 12.2.140 {' '.join(options())}",
            f"// SHA-256 of options and sources: {fingerprint(source)}",
            made.strip(),
            "",
        ])

    def reproduces(self, source, committed):
        """NVRTC 12.2 breaks some ties by the addresses of its own objects, so the same source gives
        other, equivalent PTX about once in thirty runs (seen with commit.cu). Only a source whose
        every attempt differs has changed."""
        return any(self.ptx(source).encode() == committed for _ in range(ATTEMPTS))


# Bytes that a kernel may store because it spills: around the shuffles of a step, at any number of registers; they are
# limited by the first cache (kernels/odf_tracking.cu), not by these stores.
SPILLS = {
    "odf_tracking_arcs_8": 32,
    "odf_tracking_arcs_12": 40,
    "odf_tracking_lobes_8": 32,
    "odf_tracking_lobes_12": 40,
}


def assemble(ptxas, file):
    """Registers of each kernel on each card; true if nothing spills but what SPILLS allows."""
    fine = True
    registers = {}
    for card in CARDS:
        with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
            call = [ptxas, "-v", f"--gpu-name={card}", file, "--output-file", cubin.name]
            ran = subprocess.run(call, capture_output=True, text=True)
        report = ran.stdout + ran.stderr
        if ran.returncode != 0:
            print(report)
            return False
        entries = re.split(r"Compiling entry function '", report)[1:]
        for entry in entries:
            name = entry.split("'")[0]
            used = re.search(r"Used (\d+) registers", entry)
            spilt = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", entry)
            if used is None or spilt is None:
                print(f"{file.name}: {name}: ptxas's report is not understood:\n{report}")
                return False
            registers.setdefault(name, []).append(used[1])
            if int(spilt[1]) > SPILLS.get(name, 0):
                print(f"{file.name}: {name} spills on {card}: {spilt[0]}")
                fine = False
        if not entries:
            print(f"{file.name}: no kernel")
            return False
    for name, counts in registers.items():
        used = ", ".join(f"{card} {count}" for card, count in zip(CARDS, counts))
        print(f"{name}: registers {used}")
    return fine


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    check = len(sys.argv) == 2
    nvidia = toolchain()
    compiler = Compiler(nvidia)
    sources = sorted(KERNELS.glob("*.cu"))
    folder = KERNELS / "ptx"
    fine = True
    expected = {f"{source.stem}.sm70.ptx" for source in sources}
    for stray in sorted({file.name for file in folder.glob("*.sm70.ptx")} - expected):
        print(f"{stray}: there is no kernel of this name")
        fine = False
    for source in sources:
        file = folder / f"{source.stem}.sm70.ptx"
        if not check:
            folder.mkdir(exist_ok=True)
            file.write_bytes(compiler.ptx(source).encode())
        elif not file.exists() or not compiler.reproduces(source, file.read_bytes()):
            print(f"{file.name} is not what {source.name} makes: run kernels/make_ptx.py and commit it")
            fine = False
            continue
        fine = assemble(nvidia / "cuda_nvcc" / "bin" / "ptxas", file) and fine
    sys.exit(0 if fine else 1)


main()
