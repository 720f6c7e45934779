"""Makes files of every format, damages copies of them, and reads all with the peers: nibabel, trx-python, VTK, pynrrd.

usage: differential.py FOLDER SEED COUNT.  FOLDER/ours holds files of Arcuate's, which are damaged and read as well.
COUNT is how many copies of each file have fields overwritten at random, besides the fixed list.  Written: the files,
FOLDER/list.jsonl with one line for each (what it is, and what the peer read), and FOLDER/numbers.bin with the numbers.
A line names numbers by the place of the first one and how many there are, as float64.

The peers read in a process of their own: one that ends, or takes longer than LIMIT_S, has answered "crash".
"""

import json
import os
import resource
import signal
import sys
import warnings

import damage
import make

LIMIT_S = 20
MEMORY = 6 << 30


class Numbers:
    """Arrays of float64, one behind the other in one file."""

    def __init__(self, path):
        self.file = open(path, "ab")
        self.count = self.file.tell() // 8

    def put(self, values):
        import numpy as np

        with np.errstate(all="ignore"):
            values = np.ascontiguousarray(values, "<f8").ravel()
        place = [self.count, values.size]
        self.file.write(values.tobytes())
        self.count += values.size
        return place

    def close(self):
        self.file.close()


def read_image(path):
    import nibabel as nib
    import numpy as np

    if path.endswith(".nrrd"):
        return read_nrrd(path)
    image = nib.load(path)
    values = np.asanyarray(image.dataobj)
    if values.dtype.fields:
        values = np.stack([values[name] for name in values.dtype.names[:3]], axis=-1) / 255.0
    if values.dtype.kind == "c":
        raise ValueError("complex numbers, which Arcuate does not show")
    shape = list(values.shape) + [1] * (3 - values.ndim)
    return {"shape": shape, "affine": image.affine, "values": values.ravel(order="F")}


def read_nrrd(path):
    import nrrd
    import numpy as np

    values, header = nrrd.read(path)
    turn = {"left-posterior-superior": (-1, -1, 1), "lps": (-1, -1, 1), "right-anterior-superior": (1, 1, 1),
            "ras": (1, 1, 1), "left-anterior-superior": (-1, 1, 1), "las": (-1, 1, 1)}
    affine = np.full((4, 4), np.nan)
    signs = turn.get(str(header.get("space")).lower())
    if signs and "space directions" in header and "space origin" in header:
        directions = np.array([d for d in header["space directions"] if d is not None and np.isfinite(d).all()], float)
        if directions.shape == (3, 3):
            affine = np.eye(4)
            affine[:3, :3] = (directions * signs).T
            affine[:3, 3] = header["space origin"] * np.array(signs)
    return {"shape": list(values.shape), "affine": affine, "values": values.ravel(order="F")}


def read_tracks(path):
    import nibabel as nib
    import numpy as np

    loaded = nib.streamlines.load(path)
    lines = [np.asarray(s, "f8").reshape(-1, 3) for s in loaded.streamlines]
    found = as_lines(lines)
    values = loaded.tractogram.data_per_point
    found["columns"] = [np.concatenate(list(values[k]), dtype="f8") for k in sorted(values)] if lines else []
    lists = loaded.tractogram.data_per_streamline
    found["of_lines"] = [np.asarray(lists[k], "f8") for k in sorted(lists)]
    return found


def as_lines(lines):
    import numpy as np

    return {"points": np.concatenate(lines) if lines else np.zeros((0, 3)), "offsets": np.cumsum([0] + [len(s) for s in lines])}


def read_trx(path):
    import numpy as np
    from trx.trx_file_memmap import load

    trx = load(path)
    try:
        data = trx.streamlines
        lines = [np.array(s, "f8").reshape(-1, 3) for s in data]
        found = as_lines(lines)
        found["columns"] = [np.asarray(trx.data_per_vertex[k]._data, "f8") for k in sorted(trx.data_per_vertex)]
        found["of_lines"] = [np.array(trx.data_per_streamline[k], "f8") for k in sorted(trx.data_per_streamline)]
        found["groups"] = [np.array(trx.groups[k], "f8") for k in sorted(trx.groups)]
        return found
    finally:
        trx.close()


def read_vtk(path):
    import numpy as np
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOLegacy import vtkPolyDataReader
    from vtkmodules.vtkIOXML import vtkXMLPolyDataReader

    reader = vtkXMLPolyDataReader() if path.endswith(".vtp") else vtkPolyDataReader()
    messages = []
    note = lambda _source, event: messages.append(event)  # noqa: E731
    reader.AddObserver("ErrorEvent", note)
    reader.AddObserver("WarningEvent", note)
    if path.endswith(".vtp"):
        # The reader of the XML reports its errors itself.
        from vtkmodules.vtkCommonCore import vtkOutputWindow

        vtkOutputWindow.GetInstance().AddObserver("ErrorEvent", note)
    reader.SetFileName(path)
    reader.Update()
    if messages or reader.GetErrorCode():
        raise ValueError("VTK says %s" % (messages[0] if messages else reader.GetErrorCode()))
    data = reader.GetOutput()
    points = np.zeros((0, 3)) if data.GetPoints() is None else vtk_to_numpy(data.GetPoints().GetData()).astype("f8")
    cells = data.GetLines()
    offsets = vtk_to_numpy(cells.GetOffsetsArray()).astype("i8")
    connectivity = vtk_to_numpy(cells.GetConnectivityArray()).astype("i8")
    if len(offsets) == 0:
        offsets = np.zeros(1, "i8")
    if connectivity.size and (connectivity.min() < 0 or connectivity.max() >= len(points)):
        raise ValueError("lines through points that are not there, which VTK hands on")
    if (np.diff(offsets) < 0).any() or offsets[0] != 0 or offsets[-1] != len(connectivity):
        raise ValueError("offsets that are none, which VTK hands on")
    with open(path, "rb") as file:
        text = file.read()
    if b"SPACE=LPS" in text[:1000] or space_of(data) == "LPS":
        points = points * (-1, -1, 1)
    columns = []
    values = data.GetPointData()
    for i in sorted(range(values.GetNumberOfArrays()), key=values.GetArrayName):
        if values.GetArray(i) is not None:
            columns.append(vtk_to_numpy(values.GetArray(i)).astype("f8")[connectivity])
    return {"points": points[connectivity], "offsets": offsets, "columns": columns}


def space_of(data):
    field = data.GetFieldData().GetAbstractArray("SPACE")
    return field.GetValue(0) if field is not None and field.GetNumberOfValues() else None


READERS = {"tck": read_tracks, "trk": read_tracks, "trx": read_trx, "vtk": read_vtk, "vtp": read_vtk}


def read(record, folder, numbers):
    signal.alarm(LIMIT_S)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = READERS.get(record["format"], read_image)(os.path.join(folder, record["name"]))
            answer = {"shape": [int(n) for n in found.get("shape", [])]}
            for key in ("affine", "values", "points", "offsets"):
                if key in found:
                    answer[key] = numbers.put(found[key])
            for key in ("columns", "of_lines", "groups"):
                answer[key] = [numbers.put(values) for values in found.get(key, [])]
            return answer
    except MemoryError:
        return {"error": "more memory than it may take"}
    except Exception as error:  # noqa: BLE001  (a reader refuses a file with any exception)
        return {"error": ("%s: %s" % (type(error).__name__, error)).splitlines()[0][:200]}
    finally:
        signal.alarm(0)


def read_all(records, folder):
    """Reads in a child, and goes on with the next file in another if one ends."""
    out, values = os.path.join(folder, "list.jsonl"), os.path.join(folder, "numbers.bin")
    done = 0
    while done < len(records):
        child = os.fork()
        if child == 0:
            try:
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, 1)
                os.dup2(nowhere, 2)
                numbers = Numbers(values)
                with open(out, "a", encoding="utf-8") as file:
                    for record in records[done:]:
                        line = json.dumps({**record, "theirs": read(record, folder, numbers)})
                        numbers.file.flush()
                        file.write(line + "\n")
                        file.flush()
                numbers.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        with open(out, "a+", encoding="utf-8") as file:
            file.seek(0)
            done = sum(1 for _ in file)
            if done < len(records):
                file.write(json.dumps({**records[done], "theirs": {"error": "crash"}}) + "\n")
                done += 1


def main():
    folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    records = []

    def put(name, data, **more):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
        records.append({"name": name, "format": name.split(".", 1)[1].removesuffix(".gz"), **more})

    bases = make.all_files(os.path.join(folder, "ours"))
    for name, data in bases.items():
        put(name, data, base=name, what="", damaged=False, value="")
    for i, (base, ending, data, what, value, damaged) in enumerate(damage.all_files(bases, seed, count)):
        put("%05d.%s" % (i, ending), data, base=base, what=what, damaged=damaged, value=value)
    # Only the header of an image in two files is damaged; its voxels are next to it.
    for record in records:
        if record["name"].endswith(".hdr"):
            voxels = os.path.join(folder, record["name"][:-4] + ".img")
            if not os.path.exists(voxels):
                os.symlink(os.path.join(folder, record["base"][:-4] + ".img"), voxels)
    records = [r for r in records if r["format"] != "img"]
    read_all(records, folder)


main()
