"""Copies of files with one thing wrong or odd: a header field, a count, the length.

Each is named by the field and by what kind of value it got ("sform_code=negative"), so that what readers make of it can
be listed by class. `damaged` marks those that lost or gained bytes, or whose count is wrong: no reader may take them
in silence.
"""

import gzip
import io
import json
import re
import zipfile

import numpy as np

NAN, INF = float("nan"), float("inf")

# Field: position of the first value, type, number of values.
NIFTI1 = {
    "sizeof_hdr": (0, "i4", 1), "dim": (40, "i2", 8), "datatype": (70, "i2", 1), "bitpix": (72, "i2", 1),
    "pixdim": (76, "f4", 8), "vox_offset": (108, "f4", 1), "scl_slope": (112, "f4", 1), "scl_inter": (116, "f4", 1),
    "xyzt_units": (123, "u1", 1), "qform_code": (252, "i2", 1), "sform_code": (254, "i2", 1),
    "quatern": (256, "f4", 3), "qoffset": (268, "f4", 3), "srow": (280, "f4", 12), "magic": (344, "S4", 1),
    "extender": (348, "u1", 1), "intent_code": (68, "i2", 1),
}
NIFTI2 = {
    "sizeof_hdr": (0, "i4", 1), "magic": (4, "S8", 1), "datatype": (12, "i2", 1), "bitpix": (14, "i2", 1),
    "dim": (16, "i8", 8), "pixdim": (104, "f8", 8), "vox_offset": (168, "i8", 1), "scl_slope": (176, "f8", 1),
    "scl_inter": (184, "f8", 1), "qform_code": (344, "i4", 1), "sform_code": (348, "i4", 1),
    "quatern": (352, "f8", 3), "qoffset": (376, "f8", 3), "srow": (400, "f8", 12), "xyzt_units": (500, "i4", 1),
    "intent_code": (504, "i4", 1),
}
MGH = {
    "version": (0, "i4", 1), "dims": (4, "i4", 4), "type": (20, "i4", 1), "good_ras": (28, "i2", 1),
    "delta": (30, "f4", 3), "Mdc": (42, "f4", 9), "Pxyz_c": (78, "f4", 3),
}
TRK = {
    "id": (0, "S6", 1), "dim": (6, "i2", 3), "voxel_size": (12, "f4", 3), "n_scalars": (36, "i2", 1),
    "scalar_name": (38, "S20", 2), "n_properties": (238, "i2", 1), "property_name": (240, "S20", 1),
    "vox_to_ras": (440, "f4", 16), "voxel_order": (948, "S4", 1), "n_count": (988, "i4", 1),
    "version": (992, "i4", 1), "hdr_size": (996, "i4", 1), "n_points": (1000, "i4", 1),
}
COUNTS = [0, 1, 2, 4, 5, 7, 8, -1, 999, 32767]
CODES = [0, 1, 2, 3, 4, 5, 99, -1]
REALS = [0.0, -0.0, 1.0, -1.0, 2.5, -2.0, 1e-30, 1e30, NAN, INF, -INF]
VALUES = {
    "sizeof_hdr": [0, 347, 540, 348, 1543569408], "dim": COUNTS, "dims": COUNTS,
    "datatype": [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 511, 512, 768, 1024, 1280, 1536, 1792, 2048, 2304, -4],
    "bitpix": [0, 1, 8, 16, 64, -16], "pixdim": REALS, "scl_slope": [*REALS, 1e-40], "scl_inter": REALS,
    "vox_offset": [0, 1, -352, 348, 351, 353, 354, 360, 416, 544, 10**6, 352.5, NAN, INF],
    "xyzt_units": [0, 1, 2, 3, 8, 9, 11, 255], "qform_code": CODES, "sform_code": CODES, "extender": [0, 1, 2],
    "intent_code": [0, 3, 1002, 1005, 2003, -1],
    "quatern": [0.0, 1.0, -1.0, 0.5, 0.7071, 1.0005, 1.1, 3.0, NAN, INF], "qoffset": REALS, "srow": REALS,
    "magic": [b"n+1\0", b"ni1\0", b"n+2\0", b"\0\0\0\0", b"N+1\0", b"n+1 ", b"n+2\0\r\n\x1a\n", b"ni2\0\r\n\x1a\n"],
    "version": [0, 1, 2, 3, 4, -1, 257], "type": [0, 1, 2, 3, 4, 5, 6, 10, 99, -1], "good_ras": [0, 1, -1, 2],
    "delta": REALS, "Mdc": [0.0, 1.0, -1.0, 0.5, NAN, INF], "Pxyz_c": REALS,
    "id": [b"TRACK\0", b"TRACK ", b"TRACX\0", b"track\0", b"\0\0\0\0\0\0"], "voxel_size": REALS,
    "n_scalars": [0, 1, 3, 4, 5, 10, 11, -1, 32767], "n_properties": [0, 1, 2, 10, 11, -1, 32767],
    "scalar_name": [b"", b"x" * 20, b"fa\0" + b"3\0", b"a\0two\0", b"\xff\xfe"],
    "property_name": [b"", b"x" * 20, b"w\0" + b"9\0", b"w\0two\0", b"\xff\xfe"],
    "vox_to_ras": [0.0, 1.0, -1.0, 2.5, NAN, INF, 1e30],
    "voxel_order": [b"", b"RAS\0", b"LPS\0", b"ASR\0", b"ras\0", b"XYZ\0", b"RRS\0", b"LAS ", b"RA\0\0"],
    "n_count": [0, 1, 3, 5, -1, 2**31 - 1], "hdr_size": [0, 999, 1001, -1], "n_points": [0, 1, 6, -1, 2**31 - 1, 10**6],
}


def kind_of(value):
    if isinstance(value, bytes):
        return "other"
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "infinite"
    return "zero" if value == 0 else "negative" if value < 0 else "positive"


def index_name(field, i, count):
    """Which one of several: the entries of an affine are of a kind, the sizes of an image are not."""
    return field if count == 1 or field in ("srow", "quatern", "qoffset", "Mdc", "Pxyz_c", "vox_to_ras", "delta", "voxel_size", "scalar_name") else "%s[%d]" % (field, i)


def overwrite(data, table, order, field, i, value):
    place, kind, _ = table[field]
    kind = np.dtype(kind) if kind[0] in "Su" else np.dtype(order + kind)
    out = bytearray(data)
    with np.errstate(all="ignore"):
        if kind.kind in "iu":
            if not np.isfinite(value) or value != int(value):
                return None
            bits = 8 * kind.itemsize
            new = (int(value) & ((1 << bits) - 1)).to_bytes(kind.itemsize, "big" if order == ">" else "little")
        else:
            new = np.array(value, kind).tobytes()
    at = place + i * kind.itemsize
    if kind.kind == "S" and len(new) < kind.itemsize:
        new = new.ljust(kind.itemsize, b"\0")
    out[at:at + kind.itemsize] = new
    return bytes(out) if bytes(out) != data else None


def fields(data, table, order):
    """Every value of the list in every field."""
    for field, (_, _, count) in table.items():
        for i in range(count):
            # Three entries represent all rows of an affine.
            if field in ("srow", "vox_to_ras", "Mdc") and i not in (0, 1, 3, 15):
                continue
            for value in VALUES[field]:
                new = overwrite(data, table, order, field, i, value)
                if new is not None:
                    yield new, "%s=%s" % (index_name(field, i, count), kind_of(value)), repr(value)


def at_random(data, table, order, rng, count):
    """Random bytes or a random number in a random field."""
    names = list(table)
    for _ in range(count):
        field = names[rng.integers(len(names))]
        place, kind, many = table[field]
        i = int(rng.integers(many))
        if kind[0] == "S" or rng.random() < 0.3:
            size = np.dtype(kind).itemsize
            new = bytearray(data)
            at = place + i * size + int(rng.integers(size))
            new[at] ^= 1 << int(rng.integers(8))
            new = bytes(new)
            number = np.frombuffer(new, np.dtype(order + kind) if kind[0] not in "Su" else kind, 1, place + i * size)[0]
            number = bytes(number) if kind[0] == "S" else number
        else:
            number = float(rng.choice([rng.integers(-9, 9), rng.normal() * 10.0 ** rng.integers(-3, 6), rng.integers(1 << 31)]))
            number = number if kind[0] == "f" else float(int(number) & 0x7F if kind == "u1" else int(number))
            if kind in ("i2", "i4") and not -(2.0 ** 31) <= number < 2.0 ** 31:
                continue
            if kind == "i2":
                number = float(np.int64(number).astype("i2"))
            new = overwrite(data, table, order, field, i, number)
        if new is not None and new != data:
            yield new, "%s=%s" % (index_name(field, i, many), kind_of(number)), repr(number)


def lengths(data, header):
    """Cut off, or with bytes behind."""
    for cut in (0, 3, header // 2, header - 1, header, header + 1, (header + len(data)) // 2, len(data) - 1):
        if 0 <= cut < len(data):
            where = "empty" if cut == 0 else "header" if cut < header else "values"
            yield data[:cut], "cut=" + where, str(cut), True
    for more in (1, 12, 64):
        yield data + b"\0" * more, "behind=%s" % ("number" if more > 1 else "byte"), str(more), True


def packed(data):
    whole = gzip.compress(data, mtime=0)
    yield gzip.compress(data[:100], mtime=0) + gzip.compress(data[100:], mtime=0), "gzip=two members", "", False
    yield whole[:-1], "gzip=cut", "-1", True
    yield whole[:-9], "gzip=cut", "-9", True
    yield whole[:len(whole) // 2], "gzip=cut", "half", True
    crc = bytearray(whole)
    crc[-6] ^= 1
    yield bytes(crc), "gzip=checksum", "", True
    size = bytearray(whole)
    size[-2] ^= 1
    yield bytes(size), "gzip=size", "", True
    yield whole + b"\0" * 40, "gzip=zeros behind", "", False
    yield whole + b"rubbish", "gzip=bytes behind", "", True
    yield data, "gzip=none", "", False


def tck(data):
    """Header lines, with the offset mended where their length changes; and the triplets."""
    end = data.index(b"END\n") + 4
    start = int(re.search(rb"file: \. (\d+)", data).group(1))
    body = data[start:]
    kind = re.search(rb"datatype: (\w+)", data).group(1)
    size = 8 if b"64" in kind else 4
    number = np.dtype("f%d" % size).newbyteorder("<" if kind.endswith(b"LE") else ">")
    lines = [b"count: 4", b"datatype: " + kind]

    def built(first=b"mrtrix tracks", lines=lines, file=b". %d", last=b"END\n", body=body, newline=b"\n"):
        head = newline.join([first, *lines, b"file: " + file, b""]) + last.replace(b"\n", newline)
        at = len(head) + 8
        return (head % at if b"%d" in head else head).ljust(at, b"\n") + body

    for new in (b"Float32LE", b"Float32BE", b"Float64LE", b"Float64BE", b"Float16LE", b"Int32LE", b"float32le", b"Float32",
                b"Float64", b"", b"CFloat32LE"):
        yield built(lines=[lines[0], b"datatype: " + new]), "datatype=" + new.decode(), new.decode(), False
    yield built(lines=lines[:1]), "datatype=missing", "", False
    yield built(lines=[lines[0], b"datatype:" + kind]), "datatype=no blank", "", False
    for new in (b"0", b"3", b"5", b"-1", b"x", b"", b"99999999999999999999", b"000004", b"4 4"):
        what = {b"000004": "count=zeros", b"": "count=empty"}.get(new, "count=wrong")
        yield built(lines=[b"count: " + new, lines[1]]), what, new.decode(), what == "count=wrong"
    yield built(lines=lines[1:]), "count=missing", "", False
    yield built(lines=[*lines, b"count: 7"]), "count=twice", "", False
    yield built(lines=[*lines, b"a line without a colon"]), "line=no colon", "", False
    yield built(lines=[*lines, b"note: caf\xe9"]), "line=not UTF-8", "", False
    yield built(lines=[*lines, b": x", b""]), "line=odd", "", False
    for new in (b". 0", b". 5", b". -1", b". 1e3", b".", b"other.dat 0", b". 99999999", b"%d", b". x"):
        yield built(file=new), "offset=" + new.decode().strip(), new.decode(), False
    for more in (-4, 4, 12, 24):
        text = b". %d" % (len(built()) - len(body) + more)
        yield built(file=text), "offset=%+d" % more, "", True
    for first in (b"mrtrix tracks ", b"mrtrix tracksx", b"MRtrix tracks", b"mrtrix track", b"\xef\xbb\xbfmrtrix tracks"):
        yield built(first=first), "magic=" + repr(first)[2:-1], "", False
    yield built(last=b""), "END=missing", "", False
    yield built(last=b"END \n"), "END=blank behind", "", False
    yield built(newline=b"\r\n"), "newlines=CRLF", "", False
    triplets = np.frombuffer(body, number).reshape(-1, 3)

    def changed(what, change, damaged):
        new = triplets.copy()
        new = change(new)
        return built(body=new.astype(number).tobytes()), what, "", damaged

    def put(row, value):
        def change(new):
            new[row] = value
            return new

        return change

    yield changed("end=missing", lambda t: t[:-1], True)
    yield changed("end=missing", lambda t: t[:-2], True)
    yield changed("end=early", put(6, INF), True)
    yield changed("triplet=one nan", put(1, (NAN, 1, 2)), True)
    yield changed("triplet=one infinite", put(1, (1, INF, 2)), True)
    yield changed("triplet=mixed infinite", put(6, (INF, -INF, INF)), False)
    yield changed("triplet=negative infinite", put(-1, -INF), False)
    yield changed("triplet=nan and infinite", put(5, (NAN, INF, NAN)), True)
    yield changed("streamline=empty", put(0, NAN), False)
    yield changed("streamline=empty", put(1, NAN), False)
    yield changed("points=large", put(0, (1e30, -1e30, 3e38)), False)
    yield from lengths(built(), len(built()) - len(body))


def text_lines(data, changes):
    """Each change is a name, a pattern, its replacement and whether the file is then broken."""
    for what, pattern, new, damaged in changes:
        out = re.sub(pattern, new, data, count=1)
        if out != data:
            yield out, what, repr(new)[2:-1], damaged


def vtk(data):
    yield from text_lines(data, [
        *(("version=" + v, rb"Version \d\.\d", b"Version " + v.encode(), False) for v in ("1.0", "2.0", "3.0", "4.2", "5.0", "5.1", "6.0", "9.9", "x")),
        ("magic=other", rb"# vtk DataFile", b"# vtk Datafile", False),
        ("magic=other", rb"# vtk DataFile", b"#vtk DataFile", False),
        ("title=LPS", rb"SPACE=RAS", b"SPACE=LPS", False),
        ("title=none", rb"SPACE=RAS", b"", False),
        ("title=long", rb"SPACE=RAS", b"SPACE=RAS" + b"x" * 600, False),
        ("encoding=swapped", rb"\nASCII\n", b"\nBINARY\n", False),
        ("encoding=swapped", rb"\nBINARY\n", b"\nASCII\n", False),
        ("encoding=lower case", rb"\nASCII\n", b"\nascii\n", False),
        ("encoding=lower case", rb"\nBINARY\n", b"\nbinary\n", False),
        ("encoding=other", rb"\n(ASCII|BINARY)\n", b"\nTEXT\n", False),
        ("dataset=other", rb"DATASET POLYDATA", b"DATASET UNSTRUCTURED_GRID", False),
        ("dataset=lower case", rb"DATASET POLYDATA", b"dataset polydata", False),
        ("dataset=missing", rb"DATASET POLYDATA\n", b"", False),
        *(("points=" + k, rb"POINTS (\d+) \w+", rb"POINTS \1 " + k.encode(), False) for k in ("int", "short", "half", "FLOAT", "unsigned_char", "vtkIdType")),
        ("points=fewer", rb"POINTS 19", b"POINTS 18", True),
        ("points=more", rb"POINTS 19", b"POINTS 20", True),
        ("points=many", rb"POINTS 19", b"POINTS 1999999999", True),
        ("points=negative", rb"POINTS 19", b"POINTS -19", True),
        ("points=no number", rb"POINTS 19", b"POINTS x", True),
        ("lines=fewer", rb"LINES \d+ ", b"LINES 3 ", True),
        ("lines=more", rb"LINES \d+ ", b"LINES 9 ", True),
        ("lines=many", rb"LINES \d+ ", b"LINES 1999999999 ", True),
        ("lines=length", rb"LINES (\d+) \d+", rb"LINES \1 18", True),
        ("lines=length", rb"LINES (\d+) \d+", rb"LINES \1 50", True),
        ("lines=missing", rb"LINES", b"LINEZ", True),
        ("lines=lower case", rb"LINES", b"lines", False),
        ("offsets=type", rb"vtktypeint64", b"vtktypeint32", False),
        ("offsets=type", rb"vtktypeint64", b"float", False),
        ("offsets=missing", rb"OFFSETS", b"OFFSETZ", True),
        ("connectivity=missing", rb"CONNECTIVITY", b"CONNECTIVITI", True),
        ("values=fewer", rb"POINT_DATA 19", b"POINT_DATA 18", True),
        ("values=more", rb"POINT_DATA 19", b"POINT_DATA 20", True),
        ("values=of nothing", rb"POINT_DATA 19", b"FOO_DATA 19", True),
        ("values=type", rb"fa 1 19 float", b"fa 1 19 double", False),
        ("values=rows", rb"fa 1 19 float", b"fa 1 18 float", True),
        ("values=columns", rb"fa 1 19 float", b"fa 2 19 float", True),
        ("values=name", rb"\nfa 1", b"\na%20b 1", False),
        ("newlines=CRLF", rb"(?s)\A(.*?)\n(.*?)\n(.*?)\n(.*?)\n", rb"\1\r\n\2\r\n\3\r\n\4\r\n", False),
        ("comment=in the header", rb"DATASET", b"# a comment\nDATASET", False),
    ])
    head = data.index(b"POINTS") + 20
    for new, what, value, damaged in lengths(data, head):
        yield new, what, value, damaged and not (what.startswith("behind") or value == str(len(data) - 1))


def vtp(data):
    # Numbers in text have neither a byte order nor a width, and are not packed.
    packed = b'format="ascii"' not in re.search(rb"(?s)<Points>.*?>.*?>", data).group(0)
    yield from text_lines(data, [
        *(("version=" + v, rb'version="[\d.]+"', b'version="' + v.encode() + b'"', False) for v in ("0.1", "1.0", "2.0", "2.1", "2.2", "9.0", "x")),
        ("type=other", rb'type="PolyData"', b'type="UnstructuredGrid"', False),
        ("byte_order=swapped", rb"LittleEndian", b"BigEndian", packed),
        ("byte_order=swapped", rb"BigEndian", b"LittleEndian", packed),
        ("byte_order=other", rb'byte_order="\w+"', b'byte_order="Middle"', False),
        ("byte_order=missing", rb' byte_order="\w+"', b"", False),
        ("header_type=other", rb'header_type="UInt32"', b'header_type="UInt64"', packed),
        ("header_type=other", rb'header_type="UInt64"', b'header_type="UInt32"', packed),
        ("header_type=missing", rb' header_type="\w+"', b"", False),
        ("header_type=wrong", rb'header_type="\w+"', b'header_type="Int7"', False),
        ("compressor=missing", rb' compressor="\w+"', b"", packed),
        ("compressor=other", rb"vtkZLibDataCompressor", b"vtkLZ4DataCompressor", packed),
        ("points=fewer", rb'NumberOfPoints="\s*19"', b'NumberOfPoints="18"', True),
        ("points=more", rb'NumberOfPoints="\s*19"', b'NumberOfPoints="20"', True),
        ("points=many", rb'NumberOfPoints="\s*19"', b'NumberOfPoints="1999999999"', True),
        ("points=negative", rb'NumberOfPoints="\s*19"', b'NumberOfPoints="-1"', True),
        ("points=missing", rb'NumberOfPoints="\s*19"', b"", True),
        ("lines=fewer", rb'NumberOfLines="\s*4"', b'NumberOfLines="3"', True),
        ("lines=more", rb'NumberOfLines="\s*4"', b'NumberOfLines="5"', True),
        ("lines=missing", rb'NumberOfLines="\s*4"', b"", True),
        ("verts=more", rb'NumberOfVerts="\s*0"', b'NumberOfVerts="2"', True),
        *(("type of points=" + k, rb'(?s)(<Points>.*?type=")Float\d\d', rb"\g<1>" + k.encode(), True) for k in ("Int32", "UInt8", "String", "Float16")),
        ("type of points=width", rb'(?s)(<Points>.*?type=")Float32', rb"\g<1>Float64", packed),
        ("type of points=width", rb'(?s)(<Points>.*?type=")Float64', rb"\g<1>Float32", packed),
        ("columns of points", rb'NumberOfComponents="3"', b'NumberOfComponents="2"', True),
        ("columns of points", rb'NumberOfComponents="3"', b'NumberOfComponents="1"', True),
        ("columns of points=missing", rb' NumberOfComponents="3"', b"", False),
        ("format=swapped", rb'(?s)(<Points>.*?)format="ascii"', rb'\1format="binary"', True),
        ("format=swapped", rb'(?s)(<Points>.*?)format="binary"', rb'\1format="ascii"', True),
        ("format=other", rb'format="\w+"', b'format="text"', False),
        ("offset=other", rb'(?s)(<Points>.*?offset=")\d+', rb"\g<1>3", True),
        ("offset=beyond", rb'(?s)(<Points>.*?offset=")\d+', rb"\g<1>99999999", True),
        ("offset=negative", rb'(?s)(<Points>.*?offset=")\d+', rb"\g<1>-4", True),
        ("offsets=missing", rb'(?s)(<Lines>.*?)Name="offsets"', rb'\1Name="offzets"', True),
        ("connectivity=missing", rb'(?s)(<Lines>.*?)Name="connectivity"', rb'\1Name="konnectivity"', True),
        ("encoding=swapped", rb'encoding="raw"', b'encoding="base64"', True),
        ("encoding=swapped", rb'encoding="base64"', b'encoding="raw"', True),
        ("tag=unclosed", rb"</Points>", b"", True),
        ("tag=unknown", rb"<Piece ", b"<Extra/><Piece ", False),
        ("piece=missing", rb"(?s)<Piece .*</Piece>", b"", True),
        ("name=none", rb' Name="fa"', b"", False),
    ])
    for cut in (0, 50, len(data) // 2, len(data) - 30):
        yield data[:cut], "cut=values" if cut > 50 else "cut=header", str(cut), True
    yield data + b"rubbish", "behind=bytes", "", False


def nrrd(data):
    yield from text_lines(data, [
        *(("magic=" + m, rb"NRRD000\d", m.encode(), False) for m in ("NRRD0001", "NRRD0005", "NRRD0006", "NRRD0099", "NRRX0005")),
        *(("type=" + t, rb"type: .*", b"type: " + t.encode(), True) for t in ("block", "half", "int8", "double", "float", "x", "")),
        ("type=missing", rb"type: .*\n", b"", False),
        ("dimension=fewer", rb"dimension: 3", b"dimension: 2", True),
        ("dimension=more", rb"dimension: 3", b"dimension: 4", True),
        ("dimension=missing", rb"dimension: 3\n", b"", False),
        ("sizes=smaller", rb"sizes: 3 4 2", b"sizes: 3 4 1", True),
        ("sizes=larger", rb"sizes: 3 4 2", b"sizes: 3 4 3", True),
        ("sizes=zero", rb"sizes: 3 4 2", b"sizes: 3 0 2", True),
        ("sizes=negative", rb"sizes: 3 4 2", b"sizes: 3 -4 2", True),
        ("sizes=fewer", rb"sizes: 3 4 2", b"sizes: 12 2", True),
        ("sizes=other", rb"sizes: 3 4 2", b"sizes: 4 3 2", False),
        ("sizes=many", rb"sizes: 3 4 2", b"sizes: 30000 30000 30000", True),
        ("encoding=other", rb"encoding: \w+", b"encoding: bzip2", True),
        ("encoding=other", rb"encoding: \w+", b"encoding: hex", True),
        ("encoding=swapped", rb"encoding: raw", b"encoding: gzip", True),
        ("encoding=swapped", rb"encoding: gzip", b"encoding: raw", True),
        ("endian=missing", rb"endian: \w+\n", b"", False),
        ("endian=other", rb"endian: \w+", b"endian: middle", False),
        ("space=unknown", rb"space: .*", b"space: scanner-xyz", False),
        ("space=missing", rb"space: .*\n", b"", False),
        ("space=short", rb"space: .*", b"space: LPS", False),
        ("space directions=none", rb"space directions: .*", b"space directions: none none none", False),
        ("space directions=nan", rb"space directions: .*", b"space directions: (nan,0,0) (0,1,0) (0,0,1)", False),
        ("space directions=flat", rb"space directions: .*", b"space directions: (1,0,0) (1,0,0) (0,0,1)", False),
        ("space directions=fewer", rb"space directions: .*", b"space directions: (1,0,0) (0,1,0)", False),
        ("space directions=missing", rb"space directions: .*\n", b"", False),
        ("space origin=missing", rb"space origin: .*\n", b"", False),
        ("space origin=nan", rb"space origin: .*", b"space origin: (nan,0,0)", False),
        ("space origin=bad", rb"space origin: .*", b"space origin: 1 2 3", False),
        ("kinds=other", rb"kinds: .*", b"kinds: domain domain list", False),
        ("kinds=fewer", rb"kinds: .*", b"kinds: domain domain", False),
        ("byte skip", rb"encoding:", b"byte skip: 1\nencoding:", True),
        ("byte skip=-1", rb"encoding:", b"byte skip: -1\nencoding:", False),
        ("line skip", rb"encoding:", b"line skip: 1\nencoding:", True),
        ("newlines=CRLF", rb"\n", b"\r\n", False),
        ("line=unknown", rb"encoding:", b"colour: red\nencoding:", False),
        ("key", rb"encoding:", b"a key:=a value\nencoding:", False),
        ("blank line=missing", rb"\n\n", b"\n", True),
    ])
    header = data.index(b"\n\n") + 2
    # pynrrd writes a line with the time into the header; its length does not matter.
    for new, what, value, damaged in lengths(data, header):
        yield new, what, value, damaged and b"encoding: ascii" not in data


def trx(data):
    """Members left out, renamed, cut, and other numbers in header.json."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def built(members):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in members.items():
                # Without compression, as trx-python writes; the time is the same in every run.
                archive.writestr(zipfile.ZipInfo(name), content)
        return out.getvalue()

    def header(**changes):
        new = {**json.loads(members["header.json"]), **changes}
        new = {key: value for key, value in new.items() if value is not None}
        return built({**members, "header.json": json.dumps(new).encode()})

    yield built(members), "rebuilt", "", False
    for key, right in (("NB_STREAMLINES", 4), ("NB_VERTICES", 19)):
        for new in (0, right - 1, right + 1, -1, 10**12, "4", 4.0, 4.5, None):
            same = new is not None and not isinstance(new, str) and new == right
            yield header(**{key: new}), "%s=%s" % (key, "missing" if new is None else type(new).__name__), repr(new), not same
    for new in (None, [[1, 0, 0, 0]], "x", np.zeros((4, 4)).tolist(), [[NAN] * 4] * 4):
        yield header(VOXEL_TO_RASMM=new), "VOXEL_TO_RASMM=" + ("missing" if new is None else "odd"), repr(new), False
    for new in (None, [0, 0, 0], [1, 2], [-1, 2, 3], [70000, 2, 3], "x"):
        yield header(DIMENSIONS=new), "DIMENSIONS=" + ("missing" if new is None else "odd"), repr(new), False
    yield built({**members, "header.json": b"{"}), "header.json=broken", "", True
    yield built({k: v for k, v in members.items() if k != "header.json"}), "header.json=missing", "", True
    for name in members:
        if name == "header.json":
            continue
        stem = re.sub(r"[\d_]", "", name.split(".")[0])
        yield built({k: v for k, v in members.items() if k != name}), stem + "=missing", name, not stem.startswith(("groups", "dps", "dpv", "dpg"))
        for n in (1, 4, 8):
            if not members[name]:
                break
            yield built({**members, name: members[name][:-n]}), stem + "=cut", "-%d" % n, True
            yield built({**members, name: members[name] + b"\1" * n}), stem + "=longer", "+%d" % n, True
        if members[name]:
            yield built({**members, name: b""}), stem + "=empty", "", True
        for kind in ("float16", "float32", "float64", "uint8", "int16", "uint32", "int64", "uint64", "float8", "complex64", "bit"):
            new = name.rsplit(".", 1)[0] + "." + kind
            if new != name:
                same = np.dtype(number(kind)).itemsize == np.dtype(number(name.rsplit(".", 1)[1])).itemsize
                yield built({(new if k == name else k): v for k, v in members.items()}), stem + "=as " + kind, new, bool(members[name]) and not same
    offsets = next(k for k in members if k.startswith("offsets"))
    kind = np.dtype(offsets.rsplit(".", 1)[1])
    for what, new in (("falls", [0, 7, 5, 16, 19]), ("beyond", [0, 5, 7, 99, 19]), ("first", [2, 5, 7, 16, 19]), ("last", [0, 5, 7, 16, 18])):
        # Some programs write as many offsets as streamlines, some one more.
        new = new[:len(members[offsets]) // kind.itemsize]
        yield built({**members, offsets: np.array(new, kind).tobytes()}), "offsets=" + what, repr(new), what != "last" or len(new) == 5
    group = next((k for k in members if k.startswith("groups/")), None)
    if group:
        yield built({**members, group: np.array([2, 9], "u4").tobytes()}), "groups=beyond", "", True
        yield built({**members, group: np.array([2, 2], "u4").tobytes()}), "groups=twice", "", False
    yield built({**members, "notes.txt": b"hello"}), "member=unknown", "", False
    yield built({**members, "dpv/x.float32": b"\0" * 4 * 18}), "dpv=short", "", True
    yield built({**members, "dps/y.2.float32": b"\0" * 4 * 8}), "dps=two columns", "", False
    for cut in (10, len(data) // 2, len(data) - 1):
        yield data[:cut], "zip=cut", str(cut), True
    flipped = bytearray(data)
    flipped[data.index(members[next(k for k in members if k.startswith("positions"))][:16]) + 2] ^= 64
    yield bytes(flipped), "zip=checksum", "", True


def number(kind):
    """A type that numpy has, for those of the list that it has not."""
    return {"float8": "uint8", "bit": "uint8"}.get(kind, kind)


def all_files(bases, seed, count):
    rng = np.random.default_rng(seed)
    seen = {}
    for name, data in bases.items():
        ending = name.split(".", 1)[1]
        # The first few of each kind; NIfTI files by version and byte order.
        start = data[:4] if ending in ("nii", "hdr") else data[996:1000] if ending == "trk" else b""
        extra = ""
        if ending == "vtk":
            extra = re.search(rb"Version (\d)", data).group(1) + data.split(b"\n")[2]
        if ending == "vtp":
            extra = b" ".join(re.findall(rb'compressor|format="\w+"|encoding="\w+"', data)[:2])
        if ending == "tck":
            extra = re.search(rb"datatype: (\w+)", data).group(1)
            # nibabel refuses all of them.
            if b"64" in extra:
                continue
        if ending == "nrrd":
            extra = re.search(rb"encoding: (\w+)", data).group(1)
        if ending in ("nii", "hdr"):
            # Files with a sform, and files with a qform alone, where pixdim and the quaternion count.
            order = "<" if start[0] else ">"
            place, kind = (254, "i2") if 348 in np.frombuffer(start, "<i4").tolist() + np.frombuffer(start, ">i4").tolist() else (348, "i4")
            extra = str(np.frombuffer(data, order + kind, 1, place)[0] > 0)
        key = (ending, start, extra)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] > 1 and not (name.startswith("ours") and seen.setdefault((key, "ours"), 0) == 0):
            continue
        if name.startswith("ours"):
            seen[(key, "ours")] = 1
        big = ">"
        if ending in ("nii", "hdr"):
            big = "<" if start[0] else ">"
            table = NIFTI1 if data[344:348] in (b"n+1\0", b"ni1\0") else NIFTI2
            header = len(data) if ending == "hdr" else 352 if table is NIFTI1 else 544
            if ending == "hdr":
                table = {key: place for key, place in table.items() if key != "extender"}
            made = [(*m, False) for m in fields(data, table, big)] + ([] if ending == "hdr" else list(lengths(data, header)))
            made += [(*m, False) for m in at_random(data, table, big, rng, count)]
        elif ending in ("mgh", "trk"):
            table, header = (MGH, 284) if ending == "mgh" else (TRK, 1000)
            big = ">" if ending == "mgh" or start != b"\xe8\x03\0\0" else "<"
            made = [(*m, False) for m in fields(data, table, big)]
            made += lengths(data, header)
            made += [(*m, False) for m in at_random(data, table, big, rng, count)]
        elif ending in ("nii.gz", "mgz"):
            made = list(packed(gzip.decompress(data)))
        elif ending in ("tck", "vtk", "vtp", "nrrd", "trx"):
            made = list({"tck": tck, "vtk": vtk, "vtp": vtp, "nrrd": nrrd, "trx": trx}[ending](data))
            for _ in range(count):
                # One byte near the beginning, where the text is.
                new = bytearray(data)
                if ending == "trx" or not new:
                    break
                at = int(rng.integers(min(len(new), 400)))
                new[at] ^= 1 << int(rng.integers(7))
                made.append((bytes(new), "byte", "%d: %r" % (at, bytes(data[max(at - 8, 0):at + 4])), False))
        else:
            made = []
        for new, what, value, damaged in made:
            yield name, ending, new, what, value, damaged
