//! Streamlines in every variant of a format that other programs write: number types, byte orders, text and binary,
//! compressed or not.

use super::formats::open;
use super::sentence;
use crate::support::composed_nifti::gzip;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::io::{self, convert, streamlines};
use half::f16;
use libtest_mimic::Trial;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::variants::trx_number_types", trx_types),
        test("io::variants::trx_refusals", trx_refusals),
        test("io::variants::vtk_text_and_binary", vtk),
        test("io::variants::vtk_refusals", vtk_refusals),
        test("io::variants::long_texts_of_vtk", long_texts),
        test("io::variants::tinytrack", tinytrack),
        test("io::variants::tck_odd_text", tck_text),
        test("io::variants::values_next_to_a_tck", companion_values),
    ]
}

/// Three lines of 2, 0 and 3 points whose coordinates half precision holds exactly.
pub const POINTS: [f32; 15] = [
    1.5, -2.0, 3.25, 4.0, 5.5, -6.0, 7.0, 8.25, 9.0, -10.0, 11.0, 12.5, 13.0, 14.0, -15.75,
];
const OFFSETS: [u64; 4] = [0, 2, 2, 5];
/// A value for each point, consisting of two numbers.
pub const VALUES: [f32; 10] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];
pub const WEIGHTS: [f32; 3] = [3.0, 1.0, 2.0];

pub fn check(found: &Tractogram, what: &str) {
    assert_eq!(*found.points.as_flattened(), POINTS, "{what}");
    assert_eq!(*found.offsets, OFFSETS, "{what}");
    let column = |c: usize| {
        VALUES
            .iter()
            .skip(c)
            .step_by(2)
            .copied()
            .collect::<Vec<f32>>()
    };
    assert_eq!(*found.per_point["uv[0]"], column(0), "{what}");
    assert_eq!(*found.per_point["uv[1]"], column(1), "{what}");
    assert_eq!(*found.per_streamline["weight"], WEIGHTS, "{what}");
}

/// Numbers of a named type as bytes.
pub fn packed(name: &str, values: &[f32], big: bool) -> Vec<u8> {
    let one = |v: f32| -> Vec<u8> {
        match name {
            "float16" => f16::from_f32(v).to_le_bytes().to_vec(),
            "float32" => v.to_le_bytes().to_vec(),
            "float64" => f64::from(v).to_le_bytes().to_vec(),
            "int8" => (v as i8).to_le_bytes().to_vec(),
            "int16" => (v as i16).to_le_bytes().to_vec(),
            "int32" => (v as i32).to_le_bytes().to_vec(),
            "int64" => (v as i64).to_le_bytes().to_vec(),
            "uint8" => (v as u8).to_le_bytes().to_vec(),
            "uint16" => (v as u16).to_le_bytes().to_vec(),
            "uint32" => (v as u32).to_le_bytes().to_vec(),
            "uint64" => (v as u64).to_le_bytes().to_vec(),
            _ => panic!("{name}"),
        }
    };
    let turn = |mut bytes: Vec<u8>| {
        if big {
            bytes.reverse();
        }
        bytes
    };
    values.iter().flat_map(|&v| turn(one(v))).collect()
}

pub type Members = Vec<(String, Vec<u8>)>;

pub fn members(points: &str, offsets: &str, values: &str, last: bool) -> Members {
    let header = r#"{"DIMENSIONS":[5,6,7],"VOXEL_TO_RASMM":[[2,0,0,1],[0,2,0,2],[0,0,2,3],[0,0,0,1]],
        "NB_VERTICES":5,"NB_STREAMLINES":3}"#;
    let cuts: Vec<f32> = OFFSETS.iter().map(|&o| o as f32).collect();
    let cuts = if last { &cuts[..] } else { &cuts[..3] };
    vec![
        ("header.json".to_owned(), header.as_bytes().to_vec()),
        (
            format!("positions.3.{points}"),
            packed(points, &POINTS, false),
        ),
        (format!("offsets.{offsets}"), packed(offsets, cuts, false)),
        (format!("dpv/uv.2.{values}"), packed(values, &VALUES, false)),
        (
            format!("dps/weight.{values}"),
            packed(values, &WEIGHTS, false),
        ),
        (
            format!("groups/some.{offsets}"),
            packed(offsets, &[2.0, 0.0], false),
        ),
        (
            format!("dpg/some/mean.2.{values}"),
            packed(values, &[4.0, 5.0], false),
        ),
    ]
}

pub fn archive(path: &Path, members: &Members, method: CompressionMethod) {
    let mut zip = ZipWriter::new(std::fs::File::create(path).expect("created"));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        zip.start_file(name.as_str(), options).expect("started");
        zip.write_all(bytes).expect("written");
    }
    zip.finish().expect("finished");
}

fn trx_types() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trx");
    const VALUE_TYPES: [&str; 11] = [
        "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "uint64",
    ];
    let mut cases = Vec::new();
    for points in ["float16", "float32", "float64"] {
        for offsets in ["uint8", "uint16", "uint32", "uint64", "int32", "int64"] {
            cases.push((points, offsets, VALUE_TYPES[cases.len() % 11]));
        }
    }
    for (i, (points, offsets, values)) in cases.into_iter().enumerate() {
        let members = members(points, offsets, values, i % 2 == 0);
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            archive(&path, &members, method);
            trx_holds(&path, &format!("{points} {offsets} {values} {method:?}"));
        }
        let tree = folder.path().join(format!("tree{i}.trx"));
        for (name, bytes) in &members {
            let file = tree.join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            std::fs::write(file, bytes).expect("written");
        }
        trx_holds(&tree, "a folder");
    }
}

fn trx_holds(path: &Path, what: &str) {
    let (found, _) = open(path);
    check(&found, what);
    assert_eq!(*found.groups["some"], [2, 0], "{what}");
    assert_eq!(*found.per_group["some"]["mean"], [4.0, 5.0], "{what}");
    let grid = found.grid.expect("a grid");
    assert_eq!((grid.shape, grid.spacing().x), ([5, 6, 7], 2.0), "{what}");
}

fn trx_refusals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trx");
    let refused = |change: &dyn Fn(&mut Members), label: &str| {
        let mut members = members("float32", "uint32", "float32", true);
        change(&mut members);
        archive(&path, &members, CompressionMethod::Stored);
        let error = io::open(&path, &Control::new()).expect_err(label);
        assert!(sentence(&error).contains(label), "{label}: {error}");
    };
    let header = |m: &mut Members, a: &str, b: &str| {
        let text = String::from_utf8(m[0].1.clone())
            .expect("text")
            .replace(a, b);
        m[0].1 = text.into_bytes();
    };
    refused(&|m| drop(m.remove(0)), "without header.json");
    refused(&|m| drop(m.remove(1)), "without positions");
    refused(&|m| drop(m.remove(2)), "without offsets");
    refused(&|m| m[0].1.truncate(20), "a text that ends too early");
    refused(&|m| header(m, ":5,", ":1e15,"), "1000000000000000");
    refused(
        &|m| header(m, ":5,", ":500000000000000,"),
        "60 bytes in positions",
    );
    refused(
        &|m| header(m, ":3}", ":18446744073709551615}"),
        "offsets of other",
    );
    refused(&|m| m[1].1.truncate(59), "59 bytes in positions");
    refused(&|m| m[2].1[4] = 9, "offsets of other streamlines");
    refused(&|m| m[3].0 = "dpv/uv.3.float32".into(), "bytes in dpv/uv");
    refused(&|m| m[3].0 = "dpv/uv.2.complex64".into(), "a member named");
    refused(&|m| m[5].1[0] = 3, "not streamlines");
    // No values with very many numbers each: nothing in the file, endless lists in memory.
    refused(
        &|m| {
            header(m, ":5,", ":0,");
            m[1].1.clear();
            m[2].1.fill(0);
            let rest = [("dpv/a.999999999999.float32".to_owned(), Vec::new())];
            m.splice(3.., rest);
        },
        "999999999999 numbers for each value",
    );
    refused(
        &|m| m.push(("dpg/some/a.70000.uint8".to_owned(), vec![0; 70_000])),
        "70000 numbers for each value",
    );
    refused(
        &|m| m[5].0 = "groups/some.float32".into(),
        "not streamlines",
    );
    refused(
        &|m| {
            let groups = (0..20_000).map(|i| (format!("groups/g{i}.uint32"), Vec::new()));
            m.extend(groups);
        },
        "more than 16384 arrays",
    );
    // Twenty megabytes of zeros that take a few kilobytes.
    let mut bomb = members("float32", "uint32", "float32", true);
    bomb.push(("dpv/zeros.uint8".to_owned(), vec![0; 200_000_000]));
    archive(&path, &bomb, CompressionMethod::Deflated);
    let error = io::open(&path, &Control::new()).expect_err("a bomb");
    assert!(sentence(&error).contains("100 times"), "{error}");
}

pub fn text(values: &[f32]) -> String {
    let sentence: Vec<String> = values.iter().map(f32::to_string).collect();
    sentence.join(" ")
}

/// A legacy file from parts: text, or numbers of a type.
pub fn legacy(binary: bool, version: &str, title: &str, points: &str, new_cells: bool) -> Vec<u8> {
    let mut file = Vec::new();
    let form = if binary { "BINARY" } else { "ASCII" };
    let head = format!("# vtk DataFile Version {version}\r\n{title}\n{form}\nDATASET POLYDATA\n");
    file.extend(
        head.replace("\r\n", if binary { "\n" } else { "\r\n" })
            .bytes(),
    );
    let mut put = |keyword: &str, kind: &str, values: &[f32]| {
        file.extend(format!("{keyword}\n").bytes());
        match binary {
            true => file.extend(packed(kind, values, true)),
            false => file.extend(text(values).replace(' ', "\t").bytes()),
        }
        file.extend(b"\n");
    };
    let number = match points {
        "double" => "float64",
        _ => "float32",
    };
    put(
        &format!("POINTS 6 {points}"),
        number,
        &[&POINTS[..], &[9.0; 3]].concat(),
    );
    // A vertex that is not a line, and the lines, none of which uses point 5.
    put("VERTICES 1 2", "int32", &[1.0, 5.0]);
    let ids = [0.0, 1.0, 2.0, 3.0, 4.0];
    if new_cells {
        put(
            "LINES 4 5\nOFFSETS vtktypeint64",
            "int64",
            &[0.0, 2.0, 2.0, 5.0],
        );
        put("CONNECTIVITY vtktypeint64", "int64", &ids);
    } else {
        let lines = [2.0, 0.0, 1.0, 0.0, 3.0, 2.0, 3.0, 4.0];
        put("LINES 3 8", "int32", &lines);
    }
    let cells = [&[7.0], &WEIGHTS[..]].concat();
    put(
        "CELL_DATA 4\nSCALARS weight double 1\nLOOKUP_TABLE default",
        "float64",
        &cells,
    );
    let values = [&VALUES[..], &[0.0; 2]].concat();
    put(
        "METADATA\nINFORMATION 0\n\nPOINT_DATA 6\nFIELD FieldData 2\nuv 2 6 unsigned_short",
        "uint16",
        &values,
    );
    put(
        "an%20id 1 6 vtkIdType",
        "int32",
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    );
    put("VECTORS v float", "float32", &[0.5; 18]);
    file
}

fn vtk() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.vtk");
    for binary in [false, true] {
        for points in ["float", "double"] {
            for new_cells in [false, true] {
                let version = if new_cells { "5.1" } else { "3.0" };
                let what = format!("{binary} {points} {version}");
                let bytes = legacy(binary, version, "a title", points, new_cells);
                std::fs::write(&path, &bytes).expect("written");
                let (found, warnings) = open(&path);
                check(&found, &what);
                assert_eq!(
                    *found.per_point["an id"],
                    [0.0, 1.0, 2.0, 3.0, 4.0],
                    "{what}"
                );
                assert_eq!(*found.per_point["v[2]"], [0.5; 5], "{what}");
                let message = warnings.join("\n");
                for text in ["RAS was assumed", "1 point belongs to no line", "1 vertex"] {
                    assert!(message.contains(text), "{what}: {message}");
                }
                for (space, sign) in [("RAS", 1.0), ("LPS", -1.0)] {
                    let title = format!("made by hand SPACE={space};");
                    let bytes = legacy(binary, version, &title, points, new_cells);
                    std::fs::write(&path, &bytes).expect("written");
                    let (found, warnings) = open(&path);
                    let first = [sign * POINTS[0], sign * POINTS[1], POINTS[2]];
                    assert_eq!(found.points[0], first, "{what} {space}");
                    assert!(!warnings.join("").contains("RAS was assumed"));
                }
            }
        }
    }
}

/// Megabytes of text, of which a reader holds only a part at a time; the line passes its points in order, except for
/// the last two.
fn long_texts() {
    const COUNT: usize = 150_000;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.vtk");
    let point = |i: usize| [i as f32 * 0.5, -(i as f32), 0.25];
    let order: Vec<usize> = (0..COUNT - 2).chain([COUNT - 1, COUNT - 2]).collect();
    let points: Vec<String> = (0..COUNT).map(|i| text(&point(i))).collect();
    let ids: Vec<String> = order.iter().map(usize::to_string).collect();
    let (points, ids) = (points.join("\n"), ids.join(" "));
    let cells = [
        format!("LINES 1 {}\n{COUNT} {ids}\n", COUNT + 1),
        format!("LINES 2 {COUNT}\nOFFSETS int\n0 {COUNT}\nCONNECTIVITY int\n{ids}\n"),
    ];
    for cells in cells {
        let file = format!(
            "# vtk DataFile Version 3.0\nSPACE=RAS\nASCII\nDATASET POLYDATA\nPOINTS {COUNT} float\n\
             {points}\n{cells}"
        );
        assert!(file.len() > 3 << 20);
        std::fs::write(&path, &file).expect("written");
        let (found, _) = open(&path);
        let expected = order.iter().map(|&i| point(i));
        assert!(found.points.iter().copied().eq(expected));
        assert_eq!(*found.offsets, [0, COUNT as u64]);
        // Truncated among the points.
        std::fs::write(&path, &file[..2 << 20]).expect("written");
        let error = io::open(&path, &Control::new()).expect_err("cut");
        assert!(sentence(&error).contains("cut off"), "{error}");
    }
}

fn vtk_refusals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.vtk");
    let whole = String::from_utf8(legacy(false, "3.0", "t", "float", false)).expect("text");
    for (from, to, problem) in [
        ("# vtk", "# vkt", "does not start with"),
        ("ASCII", "EBCDIC", "“EBCDIC”"),
        ("POLYDATA", "UNSTRUCTURED_GRID", "UNSTRUCTURED_GRID"),
        ("POINTS 6", "POINTS 6000000000000", "cut off"),
        ("POINTS 6", "POINTS many", "“many”"),
        ("6 float", "6 quad", "the number type “quad”"),
        ("LINES 3 8", "LINES 4 8", "too short"),
        ("3\t2\t3\t4", "3\t2\t3\t6", "point 6 of 6"),
        ("3\t2\t3\t4", "3\t2\t3\t-4", "among the numbers"),
        ("CELL_DATA 4", "CELL_DATA 5", "values for 5"),
        ("VECTORS v", "WECTORS v", "“WECTORS”"),
        ("1.5", "1.5x", "“1.5x” among the numbers"),
    ] {
        assert!(whole.contains(from), "{from}");
        std::fs::write(&path, whole.replacen(from, to, 1)).expect("written");
        let error = io::open(&path, &Control::new()).expect_err(problem);
        assert!(sentence(&error).contains(problem), "{problem}: {error}");
    }
    // Nothing in the file, endless lists in memory.
    let head =
        "# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\nPOINTS 0 float\nPOINT_DATA 0\n";
    for values in [
        "SCALARS a float 999999999999\nLOOKUP_TABLE default\n",
        "FIELD f 2\na 18446744073709551615 0 float\nb 18446744073709551615 0 float\n",
    ] {
        std::fs::write(&path, format!("{head}{values}")).expect("written");
        let error = io::open(&path, &Control::new()).expect_err(values);
        assert!(
            sentence(&error).contains("numbers for each point"),
            "{error}"
        );
    }
    let binary = legacy(true, "3.0", "t", "float", false);
    for length in (100..binary.len() - 80).step_by(7) {
        std::fs::write(&path, &binary[..length]).expect("written");
        // Truncated between two sections it may still be valid.
        if let Err(error) = io::open(&path, &Control::new()) {
            sentence(&error);
        }
    }
}

/// A MATLAB 4 matrix.
fn matrix(name: &str, kind: u32, columns: usize, bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for number in [kind, 1, columns as u32, 0, name.len() as u32 + 1] {
        all.extend(number.to_le_bytes());
    }
    all.extend(name.bytes());
    all.push(0);
    all.extend(bytes);
    all
}

/// A file of three streamlines, not yet compressed.
pub fn tiny() -> Vec<u8> {
    let floats = |v: &[f32]| v.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let place = [
        -2.0, 0.0, 0.0, 78.0, 0.0, -2.0, 0.0, 76.0, 0.0, 0.0, 2.0, -50.0, 0.0, 0.0, 0.0, 1.0,
    ];
    let shape: Vec<u8> = [10i32, 20, 30]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let line = |start: [i32; 3], steps: &[i8]| {
        let mut bytes = (3 + steps.len() as u32).to_le_bytes().to_vec();
        bytes.extend(start.iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(steps.iter().map(|&s| s as u8));
        bytes
    };
    let first = [line([320, 640, -32], &[]), line([0, 0, 0], &[32, -64, 127])].concat();
    let second = line([32, 32, 32], &[-128, 0, 16, 1, 2, 3]);
    let cluster: Vec<u8> = [7u16, 8, 9].iter().flat_map(|n| n.to_le_bytes()).collect();
    [
        matrix("dimension", 20, 3, &shape),
        matrix("voxel_size", 10, 3, &floats(&[2.0; 3])),
        matrix("trans_to_mni", 10, 16, &floats(&place)),
        matrix("cluster", 40, 3, &cluster),
        matrix("report", 50, 5, b"hello"),
        matrix("track", 50, first.len(), &first),
        matrix("track1", 50, second.len(), &second),
    ]
    .concat()
}

fn tinytrack() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tt.gz");
    std::fs::write(&path, gzip(&tiny())).expect("written");
    let (found, _) = open(&path);
    let world = |v: [f32; 3]| [78.0 - 2.0 * v[0], 76.0 - 2.0 * v[1], 2.0 * v[2] - 50.0];
    let expected = [
        [10.0, 20.0, -1.0],
        [0.0; 3],
        [1.0, -2.0, 127.0 / 32.0],
        [1.0; 3],
        [-3.0, 1.0, 1.5],
        [-3.0 + 1.0 / 32.0, 1.0 + 2.0 / 32.0, 1.5 + 3.0 / 32.0],
    ];
    assert_eq!(*found.points, expected.map(world));
    assert_eq!(*found.offsets, [0, 1, 3, 6]);
    assert_eq!(*found.per_streamline["cluster"], [7.0, 8.0, 9.0]);
    assert_eq!(found.grid.expect("a grid").shape, [10, 20, 30]);
    let whole = tiny();
    for (cut, problem) in [
        (whole.len() - 1, "cut off"),
        (10, "cut off"),
        (200, "cut off"),
    ] {
        std::fs::write(&path, gzip(&whole[..cut])).expect("written");
        let error = io::open(&path, &Control::new()).expect_err(problem);
        assert!(sentence(&error).contains(problem), "{error}");
    }
    std::fs::write(&path, gzip(&[0; 40])).expect("written");
    let error = io::open(&path, &Control::new()).expect_err("zeros");
    assert!(sentence(&error).contains("trans_to_mni"), "{error}");
}

/// Line ends of Windows, tabs, trailing blanks.
fn tck_text() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tck");
    let lines = [
        "mrtrix tracks  ",
        "datatype:\tFloat64BE \t",
        "count: \t 1 ",
        "file: .\t300 ",
        "\tEND \t",
    ];
    for end in ["\n", "\r\n"] {
        let mut bytes = format!("{}{end}", lines.join(end)).into_bytes();
        bytes.resize(300, b' ');
        let points = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, f64::NAN, f64::NAN, f64::NAN];
        bytes.extend(points.iter().flat_map(|v| v.to_be_bytes()));
        bytes.extend([f64::INFINITY; 3].iter().flat_map(|v| v.to_be_bytes()));
        std::fs::write(&path, &bytes).expect("written");
        let (found, warnings) = open(&path);
        assert_eq!(*found.points, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        assert_eq!((found.len(), warnings), (1, Vec::new()));
    }
}

fn companion_values() {
    let mut random = Random::fresh("values_beside");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let rich = super::formats::rich(30, 3, &mut random);
    streamlines::save(&at("in.trx"), &rich, "", &Control::new()).expect("saved");
    let go = |input: PathBuf, output: PathBuf, replace| {
        let control = Control::new();
        let plan = convert::plan(&input, &output, None, &Default::default(), &control)?;
        plan.write(replace, "", &control)
    };
    let done = go(at("in.trx"), at("out.tck"), false).expect("converted");
    assert_eq!(done.written.len(), 1 + 6 + 6, "{:?}", done.written);
    assert_eq!(
        done.unsupported_contents.len(),
        2,
        "groups and the grid: {:?}",
        done.unsupported_contents
    );
    let (found, warnings) = open(&at("out.tck"));
    assert!(
        !warnings.iter().any(|w| w.contains("not used")),
        "{warnings:?}"
    );
    assert_eq!(found.points, rich.points);
    assert_eq!(found.per_point, rich.per_point);
    assert_eq!(found.per_streamline, rich.per_streamline);
    // Nothing is replaced without asking.
    let error = go(at("in.trx"), at("out.tck"), false).expect_err("it exists");
    assert!(sentence(&error).contains("--force"), "{error}");
    go(at("in.trx"), at("out.tck"), true).expect("replaced");
    // Values of other streamlines are reported, and left out.
    let other = super::formats::rich(31, 0, &mut random);
    streamlines::save(&at("out.tck"), &other, "", &Control::new()).expect("saved");
    let (found, warnings) = open(&at("out.tck"));
    assert!(found.per_point.is_empty() && found.per_streamline.is_empty());
    let count = |text: &str| warnings.iter().filter(|w| w.contains(text)).count();
    assert_eq!(count("other streamlines (timestamp"), 6, "{warnings:?}");
    assert_eq!(count("30 numbers for 31 streamlines"), 6, "{warnings:?}");
    // Back again, with the grid of an image.
    let error = go(at("out.tck"), at("out.trk"), false).expect_err("no grid");
    assert!(sentence(&error).contains("--reference"), "{error}");
    crate::support::composed_nifti::ComposedNifti::ramp(1).write(&at("image.nii"));
    let image = at("image.nii");
    let to = at("out.trk");
    let (reading, control) = (Default::default(), Control::new());
    let plan =
        convert::plan(&at("out.tck"), &to, Some(&image), &reading, &control).expect("a plan");
    plan.write(false, "", &control).expect("a grid");
    assert_eq!(open(&to).0.offsets, other.offsets);
    // Only streamlines, and only to a name that determines a format.
    let error = go(image, at("b.trx"), false).expect_err("an image");
    assert!(sentence(&error).contains("an image"), "{error}");
    for name in ["b", "b.nii", "b.tt.gz"] {
        let error = go(at("in.trx"), at(name), false).expect_err(name);
        sentence(&error);
        assert!(!at(name).exists());
    }
}
