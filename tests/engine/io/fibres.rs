//! TCK: external files, round trips, and refusals.

use super::sentence;
use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram};
use arcuate::io::{self, Error, FibreInfo, streamlines, tck};
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};

pub fn tests() -> Vec<Trial> {
    let conformance = "tractograms/conformance/simple.tck";
    vec![
        data_test("io::fibres::conformance", conformance, conforms),
        data_test("io::fibres::malformed_are_refused", conformance, malformed),
        data_test(
            "io::fibres::real_files_return",
            "tractograms/mrtrix_tracks_500.tck",
            real,
        ),
        test("io::fibres::there_and_back", round_trip),
        test("io::fibres::header_of_what_is_written", header),
        test("io::fibres::every_datatype", every_datatype),
        test("io::fibres::odd_headers", odd_headers),
        test("io::fibres::cut_anywhere", cut),
        test("io::fibres::nonsense_is_refused", nonsense),
        test("io::fibres::trk_holds_a_point_or_says_why_not", trk_points),
    ]
}

fn read(path: &Path) -> (Tractogram, FibreInfo) {
    tck::read(path, &Control::new()).unwrap_or_else(|e| panic!("{e}"))
}

fn conforms(simple: PathBuf) {
    let file = |name: &str| read(&simple.with_file_name(name));
    let (little, info) = read(&simple);
    // Coordinates count up in each streamline of one, two and five points.
    for (streamline, points) in little.streamlines().zip([1, 2, 5]) {
        let expected: Vec<[f32; 3]> = (0..points)
            .map(|p| [0, 1, 2].map(|a| (3 * p + a) as f32))
            .collect();
        assert_eq!(streamline, expected);
    }
    assert_eq!(
        (little.len(), info.warnings.len()),
        (3, 1),
        "the single point is announced"
    );
    assert!(info.warnings[0].contains("fewer than two points"));
    let (big, _) = file("simple_big_endian.tck");
    assert_eq!(
        (&big.points, &big.offsets),
        (&little.points, &little.offsets)
    );
    let (standard, info) = file("standard.tck");
    assert_eq!(
        (standard.len(), standard.points.len(), info.warnings.len()),
        (120, 360, 0)
    );
    assert_eq!(standard.streamline(0)[2], [0.5, 1.5, 3.0]);
    let (empty, info) = file("empty.tck");
    assert!(empty.is_empty() && info.warnings.is_empty());
    // NaN of the other sign, -Inf at the end, and a count of an earlier file.
    let (matlab, info) = file("matlab_nan.tck");
    assert_eq!((matlab.len(), matlab.streamline(0).len()), (1, 108));
    assert!(info.warnings[0].contains("announces 615000 streamlines; the file holds 1"));
    let (multiline, info) = file("multiline_header_field.tck");
    assert_eq!((multiline.len(), info.warnings.len()), (1, 0));
    // A continuation line belongs to the line before; a key may occur twice.
    let histories = info
        .properties
        .iter()
        .filter(|(k, _)| k == "command_history");
    let histories: Vec<&str> = histories.map(|(_, v)| v.as_str()).collect();
    assert_eq!(histories.len(), 2);
    assert!(histories[0].contains("\ntckedit ") && histories[0].ends_with("_v5.2.8)"));
    assert_eq!(info.property("command_history"), Some(histories[1]));
}

fn malformed(simple: PathBuf) {
    for (name, problem) in [
        ("no_header_end.tck", "without its END"),
        ("no_header_end_eof.tck", "without its END"),
        ("no_magic_number.tck", "mrtrix tracks"),
    ] {
        let path = simple.with_file_name(name);
        let error = io::open(&path, &Control::new()).expect_err("malformed");
        assert!(sentence(&error).contains(problem), "{error}");
    }
}

fn real(path: PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copy = folder.path().join("copy.tck");
    for name in [
        "mrtrix_tracks_500.tck",
        "mrtrix_tensor_det.tck",
        "SLF1_R.tck",
    ] {
        let (tractogram, info) = read(&path.with_file_name(name));
        assert_eq!(info.warnings, Vec::<String>::new(), "{name}");
        let count = info.property("count").and_then(|c| c.parse().ok());
        assert_eq!(count, Some(tractogram.len()), "{name}");
        tck::save(&copy, &tractogram, "copy", &Control::new()).expect("saved");
        let (reread, _) = read(&copy);
        assert_eq!(
            (reread.points, reread.offsets),
            (tractogram.points, tractogram.offsets)
        );
    }
}

/// Streamlines of 0 to 40 points, far and near.
fn random_tractogram(random: &mut Random, streamlines: usize) -> Tractogram {
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for _ in 0..streamlines {
        for _ in 0..random.bits() % 41 {
            points.push([0; 3].map(|_| (random.normal() * 60.0) as f32));
        }
        offsets.push(points.len() as u64);
    }
    Tractogram::new(points, offsets)
}

fn round_trip() {
    let mut random = Random::fresh("there_and_back");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tck");
    // The last one takes several read chunks.
    for streamlines in [0, 1, 2, 100, 10_000] {
        let tractogram = random_tractogram(&mut random, streamlines);
        let control = Control::new();
        tck::save(&path, &tractogram, "arcuate track\n--seed 1", &control).expect("saved");
        assert_eq!(control.progress().done, streamlines as u64);
        let (reread, info) = read(&path);
        assert_eq!(reread.points, tractogram.points);
        assert_eq!(
            reread.offsets, tractogram.offsets,
            "streamlines without points too"
        );
        assert_eq!(
            info.property("command_history"),
            Some("arcuate track --seed 1")
        );
        let short = tractogram.streamlines().filter(|s| s.len() < 2).count();
        assert_eq!(info.warnings.len(), usize::from(short > 0), "{info:?}");
    }
}

fn header() {
    let mut random = Random::fresh("header");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tck");
    let tractogram = random_tractogram(&mut random, 7);
    // Lengths around which the offset itself gets one more digit.
    for length in (0..3).chain(780..900) {
        let command = "x".repeat(length);
        tck::save(&path, &tractogram, &command, &Control::new()).expect("saved");
        let bytes = std::fs::read(&path).expect("readable");
        let end = bytes
            .windows(5)
            .position(|w| w == b"\nEND\n")
            .expect("an END line")
            + 5;
        let text = std::str::from_utf8(&bytes[..end]).expect("text");
        assert!(text.starts_with("mrtrix tracks\n"));
        assert!(text.contains(&format!("\nfile: . {end}\n")), "{text}");
        assert!(text.contains("\ncount: 0000000007\n"), "{text}");
        assert!(text.contains("\ndatatype: Float32LE\n") && text.contains("\ntimestamp: "));
        assert_eq!(bytes.len() - end, 12 * (tractogram.points.len() + 7 + 1));
        assert_eq!(
            &bytes[bytes.len() - 12..],
            f32::INFINITY.to_le_bytes().repeat(3)
        );
    }
}

fn every_datatype() {
    let mut random = Random::fresh("every_datatype");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tck");
    let tractogram = random_tractogram(&mut random, 3_000);
    for name in ["Float32LE", "Float32BE", "Float64LE", "Float64BE"] {
        let mut bytes =
            format!("mrtrix tracks\ndatatype: {name}\nfile: . 4000\nEND\n").into_bytes();
        // The points may begin anywhere after the header.
        bytes.resize(4000, b'?');
        let mut put = |v: f32| match name {
            "Float32LE" => bytes.extend(v.to_le_bytes()),
            "Float32BE" => bytes.extend(v.to_be_bytes()),
            "Float64LE" => bytes.extend(f64::from(v).to_le_bytes()),
            _ => bytes.extend(f64::from(v).to_be_bytes()),
        };
        for streamline in tractogram.streamlines() {
            streamline.as_flattened().iter().for_each(|&v| put(v));
            [f32::NAN; 3].into_iter().for_each(&mut put);
        }
        [f32::INFINITY; 3].into_iter().for_each(&mut put);
        std::fs::write(&path, bytes).expect("written");
        let (found, _) = read(&path);
        assert_eq!(
            (&found.points, &found.offsets),
            (&tractogram.points, &tractogram.offsets)
        );
    }
}

/// A line that starts with END is an ordinary one; text need not be UTF-8.
fn odd_headers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tck");
    for line in [
        &b"ENDING: 1"[..],
        b"comment: J\xf6rg M\xfcller \xe4\xe4\xe4",
    ] {
        let mut bytes = b"mrtrix tracks\ndatatype: Float32LE\n".to_vec();
        bytes.extend(line);
        bytes.extend(b"\nfile: . ");
        // The points begin directly after the header, whose length has two digits or three.
        let rest = "00\nEND\n".len();
        let begin = bytes.len() + rest + usize::from(bytes.len() + rest > 98);
        bytes.extend(format!("{begin}\nEND\n").bytes());
        assert_eq!(bytes.len(), begin);
        let points = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, f32::NAN, f32::NAN, f32::NAN];
        let end = [f32::INFINITY; 3];
        bytes.extend(points.iter().chain(&end).flat_map(|v| v.to_le_bytes()));
        std::fs::write(&path, bytes).expect("written");
        let (found, info) = read(&path);
        assert_eq!(*found.points, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        assert_eq!(info.warnings, Vec::<String>::new());
    }
}

/// A file truncated at any byte is refused (in its header) or read as far as possible, with a remark.
fn cut() {
    let mut random = Random::fresh("cut");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tck");
    let tractogram = random_tractogram(&mut random, 6);
    tck::save(&path, &tractogram, "cut", &Control::new()).expect("saved");
    let whole = std::fs::read(&path).expect("readable");
    let header = whole
        .windows(5)
        .position(|w| w == b"\nEND\n")
        .expect("an END line")
        + 5;
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).expect("written");
        match tck::read(&path, &Control::new()) {
            Ok((found, info)) => {
                assert!(length >= header);
                assert_eq!(*found.points, tractogram.points[..found.points.len()]);
                let message = info.warnings.iter().any(|w| w.contains("cut off"));
                assert!(message, "{length} of {}: {info:?}", whole.len());
            }
            Err(error) => {
                assert!(length < header, "{length}: {error}");
                sentence(&error);
            }
        }
    }
}

fn nonsense() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.tck");
    let refused = |header: &str, points: &[f32]| {
        let mut bytes = format!("mrtrix tracks\n{header}END\n").into_bytes();
        bytes.resize(bytes.len().max(100), 0);
        bytes.extend(points.iter().flat_map(|v| v.to_le_bytes()));
        std::fs::write(&path, bytes).expect("written");
        sentence(&tck::read(&path, &Control::new()).expect_err("refused"))
    };
    let type_ = "datatype: Float32LE\n";
    for (header, problem) in [
        ("file: . 100\n".to_owned(), "datatype none"),
        (
            "datatype: Int16LE\nfile: . 100\n".to_owned(),
            "datatype Int16LE",
        ),
        (type_.to_owned(), "no file line"),
        (format!("{type_}file: points.dat 0\n"), "“points.dat 0”"),
        (format!("{type_}file: . x\n"), "“. x”"),
        (format!("{type_}file: . -5\n"), "“. -5”"),
        (format!("{type_}file: . 20\n"), "byte 20, inside the header"),
    ] {
        let text = refused(&header, &[]);
        assert!(text.contains(problem), "{problem}: {text}");
    }
    let whole = format!("{type_}file: . 100\n");
    let text = refused(&whole, &[1.0, 2.0, 3.0, 1.0, f32::NAN, 3.0]);
    assert!(text.contains("in streamline 1"), "{text}");
    // Beyond the end of the file: nothing to read, which is reported.
    std::fs::write(
        &path,
        format!("mrtrix tracks\n{type_}file: . 99999999999\nEND\n"),
    )
    .expect("written");
    let (found, info) = read(&path);
    assert!(found.is_empty() && info.warnings[0].contains("no end mark"));
    // Data that TCK cannot hold are not written.
    let holed = Tractogram::new(vec![[0.0, f32::NAN, 0.0]], vec![0, 1]);
    let error = tck::save(&path, &holed, "", &Control::new()).expect_err("refused");
    assert!(sentence(&error).contains("streamline 1"));
    let error = tck::save(
        &path.with_extension("trk"),
        &Tractogram::empty(),
        "",
        &Control::new(),
    );
    assert!(matches!(error, Err(Error::Unsupported { .. })));
}

/// A transform through the grid spreads a coordinate that is not finite to the others of its point: a file whose points
/// would differ is refused before writing, not blamed on the disk afterwards.
fn trk_points() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.trk");
    let grid = Grid::axis_aligned([4; 3], DVec3::splat(2.0), DVec3::ZERO).expect("a grid");
    let save = |point: [f32; 3]| {
        let tracks = Tractogram::new(vec![[1.0; 3], point], vec![0, 2]).with_grid(grid.clone());
        streamlines::save(&path, &tracks, "", &Control::new())
    };
    for point in [[f32::NAN, 2.0, 3.0], [1.0, f32::INFINITY, 3.0]] {
        let error = save(point).expect_err("not representable");
        assert!(
            sentence(&error).contains("streamline 1 that is not finite"),
            "{error}"
        );
        assert!(!path.exists());
    }
    save([f32::NAN; 3]).expect("a point without numbers");
    save([1e30, 2.0, 3.0]).expect("far away, but a place");
}
