//! Formats by their definitions: bytes are composed and parsed here, so that an error shared by reading and writing
//! does not cancel out.

use super::formats::{grid, open, rich};
use super::sentence;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{Tractogram, Volume};
use arcuate::io::{self, nifti, scalars, streamlines, tck, trx};
use glam::DVec3;
use half::f16;
use libtest_mimic::Trial;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::definitions::trx_rows_of_the_affine", trx_affine),
        test("io::definitions::trx_numbers_of_any_size", trx_numbers),
        test("io::definitions::trx_numbers_at_any_byte", trx_at_any_byte),
        test("io::definitions::trx_beyond_32_bits", trx_beyond),
        test("io::definitions::trx_members_overlap", trx_overlap),
        test("io::definitions::trk_places_of_values", trk_values),
        test("io::definitions::trk_contradictions", trk_contradiction),
        test("io::definitions::track_scalars", track_scalars),
        test("io::definitions::weights_in_order", weights),
        test("io::definitions::vtk_space_in_a_field", vtk_space),
        test("io::definitions::vtk_points_used_often", vtk_shared),
        test("io::definitions::nifti_quaternions", quaternions),
    ]
}

fn saved(path: &Path, tractogram: &Tractogram) {
    streamlines::save(path, tractogram, "", &Control::new()).expect("saved");
}

/// A TRX folder of two streamlines of two and three points, with further members.
fn trx_folder(path: &Path, members: &[(&str, Vec<u8>)]) {
    let header = r#"{"DIMENSIONS":[5,6,7],"VOXEL_TO_RASMM":[[2,0,0,1],[0,2,0,2],[0,0,2,3],[0,0,0,1]],
        "NB_VERTICES":5,"NB_STREAMLINES":2}"#;
    let points: Vec<u8> = (0..15).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let offsets: Vec<u8> = [0u32, 2, 5].iter().flat_map(|o| o.to_le_bytes()).collect();
    let own = [
        ("header.json", header.as_bytes().to_vec()),
        ("positions.3.float32", points),
        ("offsets.uint32", offsets),
    ];
    let _ = std::fs::remove_dir_all(path);
    for (name, bytes) in own.iter().chain(members) {
        // Replaced by one of `members`, if given.
        let replaced = members.iter().any(|(m, _)| {
            *m != *name && m.split('.').next() == name.split('.').next() && !m.contains('/')
        });
        if replaced && own.iter().any(|(o, _)| o == name) {
            continue;
        }
        let file = path.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, bytes).expect("written");
    }
}

/// `VOXEL_TO_RASMM` is a list of rows: the images of the axes are in the columns.
fn trx_affine() {
    let mut random = Random::fresh("trx rows");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for order in 0..48 {
        let grid = grid(order, true, &mut random);
        let m = grid.world_from_voxel;
        let place = |r: usize, c: usize| match c {
            3 => m.translation[r],
            c => m.matrix3.col(c)[r],
        };
        let path = folder.path().join(format!("{order}.trx"));
        std::fs::create_dir(&path).expect("a folder");
        std::fs::write(path.join("header.json"), "{}").expect("written");
        let tractogram = Tractogram::new(vec![[0.0; 3]; 2], vec![0, 2]).with_grid(grid.clone());
        trx::save(&path, &tractogram, &Control::new()).expect("saved");
        let text = std::fs::read_to_string(path.join("header.json")).expect("a header");
        let header: Value = serde_json::from_str(&text).expect("JSON");
        for (r, c) in (0..3).flat_map(|r| (0..4).map(move |c| (r, c))) {
            let found = header["VOXEL_TO_RASMM"][r][c].as_f64().expect("a number");
            assert!((found - place(r, c)).abs() < 1e-9, "row {r}, column {c}");
        }
        // The form that another program writes.
        let row = |r: usize| (0..4).map(|c| place(r, c)).collect::<Vec<f64>>();
        let rows = [row(0), row(1), row(2), vec![0.0, 0.0, 0.0, 1.0]];
        let header = serde_json::json!({
            "DIMENSIONS": grid.shape, "VOXEL_TO_RASMM": rows, "NB_VERTICES": 2, "NB_STREAMLINES": 1,
        });
        std::fs::write(path.join("header.json"), header.to_string()).expect("written");
        let found = open(&path).0.grid.expect("a grid");
        assert!(found.same_space(&grid, 1e-9), "{}", grid.orientation());
    }
}

/// Numbers from one end of each type to the other, including those below the smallest normal half.
fn trx_numbers() {
    let mut random = Random::fresh("trx numbers");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trx");
    let one = |name: &str, bytes: [&[u8]; 5], expected: [f32; 5]| {
        let bytes = bytes.concat();
        trx_folder(&path, &[(&format!("dpv/v.{name}"), bytes)]);
        let (found, _) = open(&path);
        let same = found.per_point["v"].iter().zip(expected);
        for (found, expected) in same {
            assert_eq!(found.to_bits(), expected.to_bits(), "{name}: {expected}");
        }
    };
    macro_rules! ends {
        ($type:ty, $name:literal, $to:expr) => {
            for _ in 0..20 {
                let draw = random.bits() as $type;
                let values = [<$type>::MIN, <$type>::MAX, 0, 1, draw];
                let bytes = values.map(|v| v.to_le_bytes());
                let bytes = [0, 1, 2, 3, 4].map(|i| &bytes[i][..]);
                one($name, bytes, values.map($to));
            }
        };
    }
    ends!(i8, "int8", f32::from);
    ends!(u8, "uint8", f32::from);
    ends!(i16, "int16", f32::from);
    ends!(u16, "uint16", f32::from);
    ends!(i32, "int32", |v| v as f32);
    ends!(u32, "uint32", |v| v as f32);
    ends!(i64, "int64", |v| v as f32);
    ends!(u64, "uint64", |v| v as f32);
    for round in 0..200 {
        let draw = [0; 5].map(|_| {
            let bits = random.bits() as u16;
            // No number has an exponent of all ones; in every other round none has.
            if round % 2 == 0 {
                bits & 0x83ff
            } else {
                bits & !0x4000
            }
        });
        assert!(draw.iter().all(|b| f16::from_bits(*b).is_finite()));
        let bytes = draw.map(u16::to_le_bytes);
        let bytes = [0, 1, 2, 3, 4].map(|i| &bytes[i][..]);
        one("float16", bytes, draw.map(half_by_parts));
    }
    let draw = [0; 5].map(|_| random.normal() * 10f64.powf(random.uniform(-30.0, 30.0)));
    let bytes = draw.map(f64::to_le_bytes);
    let bytes = [0, 1, 2, 3, 4].map(|i| &bytes[i][..]);
    one("float64", bytes, draw.map(|v| v as f32));
}

/// A half by its parts: sign, exponent, fraction (IEEE 754, binary16).
fn half_by_parts(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let size = match exponent {
        0 => fraction / 1024.0 * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction / 1024.0) * 2f64.powi(e - 15),
    };
    (sign * size) as f32
}

/// Points begin at any byte of an archive, and many are stored differently from few. All halves are included.
fn trx_at_any_byte() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trx");
    for count in [900, 400_000] {
        let halves: Vec<u16> = (0..3 * count).map(|i: u32| i as u16).collect();
        let expected: Vec<f32> = halves.iter().map(|&h| half_by_parts(h)).collect();
        let singles = expected.iter();
        let forms: [(&str, Vec<u8>); 3] = [
            (
                "float16",
                halves.iter().flat_map(|h| h.to_le_bytes()).collect(),
            ),
            (
                "float32",
                singles.clone().flat_map(|v| v.to_le_bytes()).collect(),
            ),
            (
                "float64",
                singles.flat_map(|&v| f64::from(v).to_le_bytes()).collect(),
            ),
        ];
        for (shift, (name, points)) in (0..4).flat_map(|s| forms.iter().map(move |f| (s, f))) {
            let header = serde_json::json!({"NB_VERTICES": count, "NB_STREAMLINES": 1});
            let header = format!("{header}{}", " ".repeat(shift));
            let offsets = [0, count].map(u32::to_le_bytes).concat();
            let mut zip = ZipWriter::new(std::fs::File::create(&path).expect("created"));
            let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
            let positions = format!("positions.3.{name}");
            for (name, bytes) in [
                ("header.json", header.as_bytes()),
                (&positions, points),
                ("offsets.uint32", &offsets),
            ] {
                zip.start_file(name, stored).expect("started");
                zip.write_all(bytes).expect("written");
            }
            zip.finish().expect("finished");
            let (found, _) = open(&path);
            let found = found.points.as_flattened();
            assert_eq!(found.len(), expected.len(), "{name}");
            let same =
                |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            let differ = found.iter().zip(&expected).position(|pair| !same(pair));
            assert_eq!(differ, None, "{count} points of {name}, {shift} bytes on");
        }
    }
}

/// Integers of 64 bits are not truncated to 32: such files are refused.
fn trx_beyond() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trx");
    let wide = |values: &[u64]| {
        values
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let own = |offsets: &[u64], members: &[u64]| {
        let parts = [
            ("offsets.uint64", wide(offsets)),
            ("groups/some.uint64", wide(members)),
        ];
        trx_folder(&path, &parts);
        io::open(&path, &Control::new())
    };
    assert!(own(&[0, 2, 5], &[1]).is_ok());
    let over = 1u64 << 32;
    let faulty = own(&[0, over + 2, over + 5], &[1]).expect_err("offsets");
    assert!(sentence(&faulty).contains("offsets of other streamlines"));
    let faulty = own(&[over, over + 2, 5], &[1]).expect_err("offsets");
    assert!(sentence(&faulty).contains("offsets of other streamlines"));
    let faulty = own(&[0, 2, 5], &[over + 1]).expect_err("members");
    assert!(sentence(&faulty).contains("not streamlines"));
}

/// Two entries of an archive with one name would be read as more data than there is.
fn trx_overlap() {
    const SIZE: usize = 40_000;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trx");
    let mut zip = ZipWriter::new(std::fs::File::create(&path).expect("created"));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, bytes) in [
        ("header.json", b"{}".to_vec()),
        ("junk/a.uint8", vec![7; SIZE]),
        ("junk/b.uint8", vec![7; 10]),
    ] {
        zip.start_file(name, stored).expect("started");
        zip.write_all(&bytes).expect("written");
    }
    zip.finish().expect("finished");
    let mut bytes = std::fs::read(&path).expect("readable");
    // Fields of the central directory (APPNOTE 4.3.12): sizes at 20 and 24, the place at 42, the name at 46.
    let entries: Vec<usize> = (0..bytes.len() - 4)
        .filter(|&i| bytes[i..].starts_with(b"PK\x01\x02"))
        .collect();
    let [_, first, second] = entries[..] else {
        panic!("{entries:?}")
    };
    for (at, count) in [(16, 12), (42, 4)] {
        bytes.copy_within(first + at..first + at + count, second + at);
    }
    std::fs::write(&path, &bytes).expect("written");
    let error = io::open(&path, &Control::new()).expect_err("it claims more than it has");
    assert!(sentence(&error).contains("overlap"), "{error}");
}

/// After the header each streamline is its number of points, points with their values, and its own values; names are in
/// the header in that order.
fn trk_values() {
    let mut random = Random::fresh("trk values");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trk");
    for _ in 0..5 {
        let tractogram = rich(12, 4, &mut random);
        saved(&path, &tractogram);
        let bytes = std::fs::read(&path).expect("readable");
        let short = |at: usize| i16::from_le_bytes([bytes[at], bytes[at + 1]]) as usize;
        let float = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        // Names of one and of several numbers: `rgb`, a zero, `3`.
        let columns = |at: usize| -> Vec<String> {
            let all = bytes[at..at + 200].chunks(20).filter(|name| name[0] != 0);
            all.flat_map(|name| {
                let mut parts = name.split(|b| *b == 0);
                let mut text = || {
                    let part = parts.next().unwrap_or_default();
                    String::from_utf8_lossy(part).into_owned()
                };
                let (name, count) = (text(), text());
                match count.parse::<usize>() {
                    Ok(n) => (0..n).map(|c| format!("{name}[{c}]")).collect(),
                    Err(_) => vec![name],
                }
            })
            .collect()
        };
        let (of_points, of_lines) = (columns(38), columns(240));
        assert_eq!((of_points.len(), of_lines.len()), (7, 7));
        assert_eq!((short(36), short(238)), (7, 7));
        let count = i32::from_le_bytes(bytes[988..992].try_into().expect("four"));
        assert_eq!(count as usize, tractogram.len(), "as the header counts");
        let mut at = 1000;
        for line in 0..tractogram.len() {
            at += 4;
            for point in tractogram.offsets[line]..tractogram.offsets[line + 1] {
                for (i, name) in of_points.iter().enumerate() {
                    let expected = tractogram.per_point[name][point as usize];
                    assert_eq!(float(at + 12 + 4 * i), expected, "{name}");
                }
                at += 12 + 4 * 7;
            }
            for (i, name) in of_lines.iter().enumerate() {
                let expected = tractogram.per_streamline[name][line];
                assert_eq!(float(at + 4 * i), expected, "{name}");
            }
            at += 4 * 7;
        }
        assert_eq!(at, bytes.len());
    }
}

/// Voxels of 2 mm in the order LAS together with an identity matrix: the points are read, and the user is warned.
fn trk_contradiction() {
    let mut random = Random::fresh("trk contradiction");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trk");
    let warnings = |path: &Path| match io::open(path, &Control::new()) {
        Ok(io::Opened::Tractogram(read, info)) => {
            assert_eq!(read.len(), 12);
            info.warnings
        }
        other => panic!("{:?}", other.err()),
    };
    saved(&path, &rich(12, 0, &mut random));
    let mut bytes = std::fs::read(&path).expect("readable");
    let mut put = |at: usize, values: &[f32]| {
        for (i, value) in values.iter().enumerate() {
            bytes[at + 4 * i..at + 4 * i + 4].copy_from_slice(&value.to_le_bytes());
        }
        std::fs::write(&path, &bytes).expect("written");
    };
    let matrix = |mm: f32| {
        [
            mm, 0., 0., 0., 0., mm, 0., 0., 0., 0., mm, 0., 0., 0., 0., 1.,
        ]
    };
    // Sizes at 12, the matrix at 440 (its rows one after the other).
    put(12, &[2.0; 3]);
    put(440, &matrix(2.0));
    let contradicts = |warnings: &[String]| warnings.iter().any(|w| w.contains("contradicts"));
    assert!(!contradicts(&warnings(&path)));
    put(440, &matrix(1.0));
    bytes[948..952].copy_from_slice(b"LAS\0");
    std::fs::write(&path, &bytes).expect("written");
    let message = warnings(&path);
    let sentence = message
        .iter()
        .find(|w| w.contains("contradicts"))
        .expect("a warning");
    for text in [
        "voxels of 2 × 2 × 2 mm in the order LAS",
        "1 × 1 × 1 mm in the order RAS",
    ] {
        assert!(sentence.contains(text), "{sentence}");
    }
}

/// MRtrix's track scalars: the values of a streamline, a NaN, and infinity at the end.
fn track_scalars() {
    let mut random = Random::fresh("track scalars");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [tracks, values] = ["a.tck", "a.fa.tsf"].map(|name| folder.path().join(name));
    let tractogram = rich(9, 1, &mut random);
    tck::save(&tracks, &tractogram, "", &Control::new()).expect("saved");
    scalars::save_points(&values, &tracks, &tractogram, "point 0").expect("saved");
    let bytes = std::fs::read(&values).expect("readable");
    let text = String::from_utf8_lossy(&bytes);
    let offset = text.split("file: . ").nth(1).expect("a file line");
    let offset: usize = offset
        .lines()
        .next()
        .and_then(|l| l.parse().ok())
        .expect("a byte");
    let numbers: Vec<f32> = bytes[offset..]
        .as_chunks::<4>()
        .0
        .iter()
        .map(|b| f32::from_le_bytes(*b))
        .collect();
    let mut expected = Vec::new();
    for ends in tractogram.offsets.windows(2) {
        let own = &tractogram.per_point["point 0"][ends[0] as usize..ends[1] as usize];
        expected.extend_from_slice(own);
        expected.push(f32::NAN);
    }
    expected.push(f32::INFINITY);
    let bits = |all: &[f32]| all.iter().map(|v| v.to_bits()).collect::<Vec<u32>>();
    assert_eq!(bits(&numbers), bits(&expected));
    // Without the marks the owners of the values are unknown.
    let bare: Vec<u8> = numbers
        .iter()
        .filter(|v| !v.is_nan())
        .flat_map(|v| v.to_le_bytes())
        .collect();
    std::fs::write(&values, [&bytes[..offset], &bare].concat()).expect("written");
    let (found, warnings) = open(&tracks);
    assert!(found.per_point.is_empty(), "{:?}", found.per_point.keys());
    assert!(
        warnings.iter().any(|w| w.contains("not used")),
        "{warnings:?}"
    );
}

/// One number per line, the first for the first streamline.
fn weights() {
    let mut random = Random::fresh("weights in order");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let own: Vec<f32> = (0..50).map(|_| random.normal() as f32).collect();
    let offsets: Vec<u64> = (0..=50).collect();
    let lines = Tractogram::new(vec![[1.0; 3]; 50], offsets);
    let lines = lines.with_per_streamline("w", own.clone());
    scalars::save_weights(&at("out.txt"), &lines, "w").expect("saved");
    let text = std::fs::read_to_string(at("out.txt")).expect("readable");
    let written = text.lines().filter(|l| !l.starts_with('#'));
    let written: Vec<f32> = written.map(|l| l.parse().expect("a number")).collect();
    assert_eq!(written, own);
    // `tcksift2` writes them all on one line, after a comment.
    tck::save(&at("a.tck"), &lines, "", &Control::new()).expect("saved");
    let sentence: Vec<String> = own.iter().map(f32::to_string).collect();
    let text = format!(
        "# command_history: tcksift2 a.tck\n{}\n",
        sentence.join(" ")
    );
    std::fs::write(at("a.weights.csv"), text).expect("written");
    assert_eq!(*open(&at("a.tck")).0.per_streamline["weights"], *own);
    assert_eq!(
        scalars::open_weights(&at("a.weights.csv"), &lines).ok(),
        Some(own)
    );
}

/// Slicer gives the space in the title, or in a field of one text.
fn vtk_space() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.vtk");
    for (space, sign) in [("RAS", 1.0), ("LPS", -1.0)] {
        let text = format!(
            "# vtk DataFile Version 4.2\nvtk output\nASCII\nDATASET POLYDATA\n\
             FIELD FieldData 1\nSPACE 1 1 string\n{space}\n\
             POINTS 2 float\n1 2 3 4 5 6\nLINES 1 3\n2 0 1\n"
        );
        std::fs::write(&path, text).expect("written");
        let (found, warnings) = open(&path);
        let expected = [[sign, 2.0 * sign, 3.0], [4.0 * sign, 5.0 * sign, 6.0]];
        assert_eq!(*found.points, expected, "{space}");
        assert_eq!(warnings, Vec::<String>::new());
    }
}

/// A few points with many values, through which lines pass repeatedly: the required memory is refused.
fn vtk_shared() {
    let (columns, uses) = (2000, 20_000);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.vtk");
    let row = |word: &str, n: usize| [word].repeat(n).join(" ");
    let file = |uses: usize| {
        format!(
            "# vtk DataFile Version 3.0\nSPACE=RAS\nASCII\nDATASET POLYDATA\nPOINTS 1 float\n1 2 3\n\
             LINES 1 {}\n{uses} {}\nPOINT_DATA 1\nFIELD f 1\nv {columns} 1 float\n{}\n",
            uses + 1,
            row("0", uses),
            row("1", columns)
        )
    };
    std::fs::write(&path, file(uses)).expect("written");
    let error = io::open(&path, &Control::new()).expect_err("160 MB out of 44 kB");
    assert!(sentence(&error).contains("20000 times"), "{error}");
    std::fs::write(&path, file(20)).expect("written");
    let (found, _) = open(&path);
    assert_eq!((found.points.len(), found.per_point.len()), (20, columns));
    assert_eq!(
        DVec3::from_array(found.points[19].map(f64::from)),
        DVec3::new(1.0, 2.0, 3.0)
    );
}

/// Programs that read the qform (nifti1.h, method 2) get the same result as those that read the sform.
fn quaternions() {
    let mut random = Random::fresh("quaternions");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    for order in 0..48 {
        let mut grid = grid(order, true, &mut random);
        grid.shape = [3, 4, 5];
        let code = 1 + (random.bits() % 4) as i16;
        let grid = Arc::new(grid.with_space_code(code));
        let volume = Volume::scalar(grid.clone(), vec![1.0; 60]);
        nifti::save_volume(&path, &volume, "", &Control::new()).expect("saved");
        let bytes = std::fs::read(&path).expect("readable");
        let short = |at: usize| i16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let float = |at: usize| {
            let four = bytes[at..at + 4].try_into().expect("four");
            f64::from(f32::from_le_bytes(four))
        };
        assert_eq!([short(252), short(254)], [code; 2], "qform and sform");
        let [b, c, d] = [256, 260, 264].map(float);
        let a = (1.0 - (b * b + c * c + d * d)).max(0.0).sqrt();
        let rows = [
            [
                a * a + b * b - c * c - d * d,
                2.0 * (b * c - a * d),
                2.0 * (b * d + a * c),
            ],
            [
                2.0 * (b * c + a * d),
                a * a + c * c - b * b - d * d,
                2.0 * (c * d - a * b),
            ],
            [
                2.0 * (b * d - a * c),
                2.0 * (c * d + a * b),
                a * a + d * d - b * b - c * c,
            ],
        ];
        let qfac = float(76);
        assert!(qfac == 1.0 || qfac == -1.0, "{qfac}");
        let edges = [float(80), float(84), qfac * float(88)];
        for _ in 0..5 {
            let voxel = [0; 3].map(|_| random.uniform(0.0, 5.0));
            let place = |r: usize| {
                let turned: f64 = (0..3).map(|k| rows[r][k] * edges[k] * voxel[k]).sum();
                turned + float(268 + 4 * r)
            };
            let found = DVec3::new(place(0), place(1), place(2));
            let expected = grid.world(DVec3::from_array(voxel));
            // Near a half turn the part that is not stored is a root of the rounding error of 1.
            assert!(
                found.distance(expected) < 2e-3,
                "{}: {found} {expected}",
                grid.orientation()
            );
        }
    }
}
