//! Streamline files in pieces: the same streamlines, remarks, errors and bytes as when a file is read or written as a
//! whole, however large the pieces are.

use super::formats::rich;
use super::mutations::{mutate, seeds};
use super::sentence;
use crate::support::composed_nifti::gzip;
use crate::support::{Random, data_files, test};
use arcuate::compute::Control;
use arcuate::data::{Shared, Tractogram};
use arcuate::io::convert::with_values;
use arcuate::io::pieces::{Contents, Outline, Piece, Pieces};
use arcuate::io::scalars;
use arcuate::io::{
    AffineReading, Error, FibreInfo, Format, Opened, Reading, open_with_reading, streamlines,
};
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Points of a piece: one streamline, a few, all.
const SIZES: [usize; 4] = [1, 40, 1000, usize::MAX];

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::pieces::read like the whole file", reads),
        test("io::pieces::real files", real_files),
        test("io::pieces::damaged files", damaged),
        test("io::pieces::files cut anywhere", cut),
        test("io::pieces::written like the whole file", writes),
        test("io::pieces::many values are stored on the disk", spooled),
        test("io::pieces::a moved file", moved),
        test("io::pieces::what a writer must know", outlines),
        test("io::pieces::reading is cancelled", cancelled),
        test("io::pieces::a file that changes is refused", changed),
    ]
}

/// A file that was read: its streamlines with their values, and the remarks about it.
pub type Read = Result<(Tractogram, FibreInfo), String>;

pub fn whole(path: &Path, reading: &Reading) -> Read {
    match open_with_reading(path, reading, &Control::new()) {
        Ok(Opened::Tractogram(tractogram, info)) => Ok((tractogram, info)),
        Ok(Opened::Volume(..)) => panic!("{} is an image", path.display()),
        Err(error) => Err(sentence(&error)),
    }
}

/// Reads the pieces of a file and joins them.
fn in_pieces(path: &Path, reading: &Reading, points: usize) -> Read {
    let read = || -> Result<(Tractogram, FibreInfo), Error> {
        let control = Control::new();
        let pieces = Pieces::open(path, reading, &control)?.with_points_at_once(points);
        let mut all: Vec<Tractogram> = Vec::new();
        let mut next = 0;
        let info = pieces.pass(&control, |piece: Piece| -> Result<(), Error> {
            assert_eq!(piece.first, next, "pieces follow each other");
            assert!(piece.tractogram.groups.is_empty());
            next += piece.tractogram.len();
            if points == 1 && pieces.is_by_piece() {
                assert_eq!(piece.tractogram.len(), 1, "one streamline each");
            }
            all.push(piece.tractogram);
            Ok(())
        })?;
        Ok((joined(&all, &pieces), info))
    };
    read().map_err(|error| sentence(&error))
}

fn joined(pieces: &[Tractogram], file: &Pieces) -> Tractogram {
    let curves = pieces.iter().flat_map(|p| p.streamlines());
    let mut all = Tractogram::of_curves(curves.map(|s| s.iter().copied()));
    for name in file.empty().per_point.keys() {
        let values = pieces
            .iter()
            .flat_map(|p| p.per_point[name].iter().copied());
        all = all.with_per_point(name, values.collect::<Vec<f32>>());
    }
    for name in file.empty().per_streamline.keys() {
        let values = pieces
            .iter()
            .flat_map(|p| p.per_streamline[name].iter().copied());
        all = all.with_per_streamline(name, values.collect::<Vec<f32>>());
    }
    all.codes = file.empty().codes.clone();
    all.per_group = file.empty().per_group.clone();
    all.grid = file.empty().grid.clone();
    all.timestamp = file.empty().timestamp.clone();
    for (name, members) in file.groups() {
        all = all.with_group(&name, members);
    }
    all
}

fn bits(values: &BTreeMap<String, Shared<f32>>) -> Vec<(&String, Vec<u32>)> {
    let bits = |values: &Shared<f32>| values.iter().map(|v| v.to_bits()).collect();
    values.iter().map(|(name, v)| (name, bits(v))).collect()
}

pub fn assert_same(found: &Tractogram, expected: &Tractogram, what: &str) {
    let points = |t: &Tractogram| -> Vec<[u32; 3]> {
        let points = t.points.iter();
        points.map(|p| p.map(f32::to_bits)).collect()
    };
    assert_eq!(found.offsets, expected.offsets, "{what}");
    assert!(points(found) == points(expected), "{what}: points");
    assert_eq!(bits(&found.per_point), bits(&expected.per_point), "{what}");
    let lines = (bits(&found.per_streamline), bits(&expected.per_streamline));
    assert_eq!(lines.0, lines.1, "{what}");
    assert_eq!(found.codes, expected.codes, "{what}");
    assert_eq!(found.groups, expected.groups, "{what}");
    assert_eq!(found.per_group, expected.per_group, "{what}");
    assert_eq!(found.timestamp, expected.timestamp, "{what}");
    let grid = |t: &Tractogram| t.grid.as_ref().map(|g| (g.shape, g.world_from_voxel));
    assert_eq!(grid(found), grid(expected), "{what}");
}

/// Compares the pieces of a file with the whole; returns whether it could be read.
fn compare(path: &Path, reading: &Reading, what: &str) -> bool {
    let expected = whole(path, reading);
    for points in SIZES {
        let what = format!("{what}, pieces of {points}");
        match (in_pieces(path, reading, points), &expected) {
            (Ok((found, info)), Ok((expected, expected_info))) => {
                assert_same(&found, expected, &what);
                assert_eq!(info, *expected_info, "{what}");
            }
            (Err(found), Err(expected)) => assert_eq!(found, *expected, "{what}"),
            (found, expected) => panic!(
                "{what}: {:?} for {:?}",
                found.map(|(_, info)| info),
                expected.as_ref().map(|(_, info)| info)
            ),
        }
    }
    expected.is_ok()
}

/// Streamlines with every kind of content.
pub fn subject(count: usize, values: usize, random: &mut Random) -> Tractogram {
    let rich = rich(count, values, random);
    let stops: Vec<f32> = (0..rich.len()).map(|i| (i % 3) as f32).collect();
    let meanings = ["target", "angle", "mask"].map(str::to_owned);
    rich.with_per_streamline("stop_end", stops)
        .with_codes("stop_end", meanings.to_vec())
}

/// Names of files that are written: each format, packed and as a folder.
const NAMES: [&str; 7] = [
    "a.tck", "a.trk", "a.trk.gz", "a.trx", "b.trx/", "a.vtk", "a.vtp",
];

fn reads() {
    let mut random = Random::fresh("reads");
    for (count, values) in [(0, 0), (1, 1), (60, 2), (300, 12)] {
        let tractogram = subject(count, values, &mut random);
        for name in NAMES {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            streamlines::save(&path, &tractogram, "x", &Control::new()).unwrap();
            assert!(compare(
                &path,
                &Reading::default(),
                &format!("{count} in {name}")
            ));
        }
    }
    // Values beside a TCK.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.tck");
    let tractogram = subject(50, 2, &mut random);
    let (points, lines) = (&tractogram.per_point, &tractogram.per_streamline);
    let files = scalars::files(&path, points.keys(), lines.keys());
    with_values(&tractogram, &path, &files, "x", &Control::new()).unwrap();
    assert!(compare(&path, &Reading::default(), "values beside a TCK"));
}

fn real_files() {
    for path in ["tractograms", "tractograms/conformance"]
        .iter()
        .flat_map(|sub| data_files(sub))
    {
        if Pieces::can_open(&path) {
            compare(&path, &Reading::default(), &path.display().to_string());
        }
    }
}

fn damaged() {
    let mut random = Random::fresh("damaged");
    let folder = tempfile::tempdir().unwrap();
    for (format, ending, packed) in [
        (Format::Tck, "tck", false),
        (Format::Tck, "tck", true),
        (Format::Trk, "trk", false),
        (Format::Trk, "trk.gz", true),
        (Format::Trx, "trx", false),
    ] {
        let seeds = seeds(format);
        let path = folder.path().join(format!("d.{ending}"));
        let mut readable = 0;
        for i in 0..150 {
            let mut bytes = seeds[i % seeds.len()].clone();
            mutate(&mut bytes, &mut random);
            std::fs::write(&path, if packed { gzip(&bytes) } else { bytes }).unwrap();
            let what = format!("{ending} {i}, packed: {packed}");
            readable += usize::from(compare(&path, &Reading::default(), &what));
        }
        assert!(readable > 10, "{ending}: {readable} of them could be read");
    }
}

fn cut() {
    let mut random = Random::fresh("cut");
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.tck", "a.trk", "a.trk.gz", "a.trx"] {
        let path = folder.path().join(name);
        streamlines::save(&path, &subject(3, 1, &mut random), "x", &Control::new()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for length in (0..bytes.len()).step_by(bytes.len() / 300 + 1) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            compare(
                &path,
                &Reading::default(),
                &format!("{name} cut to {length}"),
            );
        }
        let longer = [&bytes[..], b"and more bytes"].concat();
        std::fs::write(&path, longer).unwrap();
        compare(
            &path,
            &Reading::default(),
            &format!("{name} with more bytes"),
        );
    }
}

/// The bytes of a file or of the files in a folder, without the moment at which a TCK was written.
fn bytes_of(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    if !path.is_dir() {
        let mut bytes = std::fs::read(path).unwrap();
        let stamp = b"timestamp: ";
        let header = bytes.len().min(4096);
        if let Some(at) = bytes[..header]
            .windows(stamp.len())
            .position(|w| w == stamp)
        {
            let end = bytes[at..].iter().position(|b| *b == b'\n').unwrap();
            bytes[at..at + end].fill(b'0');
        }
        return vec![(PathBuf::new(), bytes)];
    }
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = PathBuf::from(entry.file_name());
        all.extend(
            bytes_of(&entry.path())
                .into_iter()
                .map(|(rest, bytes)| (name.join(rest), bytes)),
        );
    }
    all.sort();
    all
}

/// The streamlines `first..end` with their values, without groups.
fn part(tractogram: &Tractogram, first: usize, end: usize) -> Tractogram {
    let marks: Vec<bool> = (0..tractogram.len())
        .map(|i| (first..end).contains(&i))
        .collect();
    let mut part = tractogram.filtered(&marks);
    part.groups.clear();
    part
}

fn writes() {
    let mut random = Random::fresh("writes");
    for (count, values) in [(0, 0), (1, 0), (60, 2), (200, 12)] {
        let tractogram = subject(count, values, &mut random);
        for name in NAMES {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            streamlines::save(&path, &tractogram, "x", &Control::new()).unwrap();
            let expected = bytes_of(&path);
            for size in [1, 7, 1000] {
                let mut contents = Contents {
                    outline: &Outline::whole(&tractogram),
                    pass: &mut |take| {
                        let starts = (0..tractogram.len()).step_by(size);
                        let mut parts = starts
                            .map(|at| part(&tractogram, at, (at + size).min(tractogram.len())));
                        parts.try_for_each(|part| take(&part))
                    },
                };
                streamlines::save_pieces(&path, &mut contents, "x", &Control::new()).unwrap();
                assert!(
                    bytes_of(&path) == expected,
                    "{count} in {name}, pieces of {size} streamlines"
                );
            }
        }
    }
}

/// More than fits into the memory of the arrays that wait for the points.
fn spooled() {
    const LINES: usize = 40;
    const POINTS: usize = 50_000;
    let points: Vec<[f32; 3]> = (0..LINES * POINTS).map(|i| [i as f32, 1.0, 2.0]).collect();
    let offsets: Vec<u64> = (0..=LINES).map(|i| (i * POINTS) as u64).collect();
    let mut tractogram = Tractogram::new(points, offsets);
    for name in ["a", "b", "c[0]", "c[1]"] {
        let values: Vec<f32> = (0..LINES * POINTS)
            .map(|i| (i % 1013) as f32 + name.len() as f32)
            .collect();
        tractogram = tractogram.with_per_point(name, values);
    }
    let parts: Vec<Tractogram> = (0..LINES).map(|i| part(&tractogram, i, i + 1)).collect();
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.trx", "b.trx/"] {
        let path = folder.path().join(name);
        let mut contents = Contents {
            outline: &Outline::whole(&tractogram),
            pass: &mut |take| parts.iter().try_for_each(take),
        };
        streamlines::save_pieces(&path, &mut contents, "x", &Control::new()).unwrap();
        let (found, _) = whole(&path, &Reading::default()).unwrap();
        assert_same(&found, &tractogram, name);
    }
    let names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names.len(), 2, "no temporary file is left: {names:?}");
}

fn moved() {
    let mut random = Random::fresh("moved");
    let rows = [
        0.0, -1.0, 0.0, 5.0, 1.0, 0.0, 0.0, -3.0, 0.0, 0.0, -1.0, 2.0,
    ];
    let affine = Some(Box::new(AffineReading::Matrix(rows)));
    let reading = Reading {
        affine,
        ..Reading::default()
    };
    let tractogram = subject(30, 1, &mut random);
    let lengths: Vec<f32> = (0..tractogram.len())
        .map(|i| tractogram.length_mm(i))
        .collect();
    let tractogram = tractogram.with_per_streamline("length", lengths);
    for name in NAMES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        streamlines::save(&path, &tractogram, "x", &Control::new()).unwrap();
        assert!(compare(&path, &reading, name));
    }
}

fn outlines() {
    let mut random = Random::fresh("outlines");
    let plain = subject(90, 2, &mut random);
    let mut points = plain.points.to_vec();
    let holed = points.len() / 2;
    points[holed][1] = f32::NAN;
    points[holed + 1][0] = f32::INFINITY;
    let mut values = plain.per_point["point 1"].to_vec();
    values[holed] = f32::NAN;
    let tractogram = Tractogram::new(points, plain.offsets.clone())
        .with_per_point("fa", plain.per_point["point 0"].clone())
        .with_per_point("md", values);
    let expected = Outline::whole(&tractogram);
    let line = tractogram
        .offsets
        .partition_point(|end| *end <= holed as u64)
        - 1;
    assert_eq!(expected.not_finite, 2);
    assert_eq!(expected.first_not_finite, Some(line));
    assert_eq!(expected.bounds, tractogram.bounds());
    assert_eq!(
        expected.values_not_finite.iter().collect::<Vec<_>>(),
        ["md"]
    );
    for size in [1, 13, 90] {
        let mut outline = Outline::new(expected.empty.clone());
        for at in (0..tractogram.len()).step_by(size) {
            outline.add(&part(&tractogram, at, (at + size).min(tractogram.len())));
        }
        let all = |o: &Outline| {
            let numbers = (o.streamlines, o.points, o.not_finite, o.first_not_finite);
            (numbers, o.bounds, o.values_not_finite.clone())
        };
        assert_eq!(all(&outline), all(&expected), "pieces of {size}");
    }
}

fn cancelled() {
    let mut random = Random::fresh("cancelled");
    for name in NAMES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        streamlines::save(&path, &subject(50, 1, &mut random), "x", &Control::new()).unwrap();
        let control = Control::new();
        let pieces = Pieces::open(&path, &Reading::default(), &control).unwrap();
        let pieces = pieces.with_points_at_once(1);
        if !pieces.is_by_piece() {
            continue;
        }
        let mut taken = 0;
        let ended = pieces.pass(&control, |_| -> Result<(), Error> {
            taken += 1;
            control.cancel();
            Ok(())
        });
        assert_eq!(ended.unwrap_err(), Error::Cancelled, "{name}");
        assert!(
            taken < 5,
            "{name}: {taken} pieces after the end was requested"
        );
    }
}

fn changed() {
    let mut random = Random::fresh("changed");
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.tck", "a.trk", "a.trx"] {
        let path = folder.path().join(name);
        let save = |count: usize, random: &mut Random| {
            streamlines::save(&path, &subject(count, 1, random), "x", &Control::new()).unwrap();
        };
        save(40, &mut random);
        let pieces = Pieces::open(&path, &Reading::default(), &Control::new()).unwrap();
        let pieces = pieces.with_points_at_once(30);
        let pass = || pieces.pass(&Control::new(), |_| Ok::<(), Error>(()));
        assert!(pass().is_ok() && pass().is_ok());
        save(41, &mut random);
        let error = sentence(&pass().unwrap_err());
        assert!(
            error.contains("changed while it was read") || name == "a.trx",
            "{name}: {error}"
        );
    }
}
