//! Streamline files that stay on the disk: the same points as when a file is read as a whole, samples that are nested,
//! within their limits and the same at any number of threads, and indices of TCK files.

mod memory;

use super::mutations::{mutate, seeds};
use super::pieces::{assert_same, subject, whole};
use super::sentence;
use crate::support::composed_nifti::gzip;
use crate::support::{Random, data_files, test};
use arcuate::compute::{Backend, BackendChoice, Control};
use arcuate::data::Tractogram;
use arcuate::data::level_of_detail::{Levels, Thinning};
use arcuate::data::tractogram::LENGTH;
use arcuate::io::pieces::{InPlace, Sample, SampleLimits, ViewPart};
use arcuate::io::{AffineReading, Error, Format, Reading, disk, streamlines, tck};
use glam::{DMat4, DVec3, Vec3};
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const NAMES: [&str; 3] = ["a.tck", "a.trx", "b.trx/"];

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("io::in_place::read like the whole file", reads),
        test("io::in_place::every type of numbers", number_types),
        test("io::in_place::real and damaged files", damaged),
        test("io::in_place::compressed files are read as a whole", packed),
        test("io::in_place::a file that changes is refused", changed),
        test("io::in_place::the index of a TCK is kept", index),
        test("io::in_place::samples", samples),
        test("io::in_place::samples of a view", view),
        test("io::in_place::sampling is cancelled", cancelled),
        test("data::level_of_detail::nested levels", levels),
        test("data::level_of_detail::removed points are near", thinning),
    ];
    own.into_iter().chain(memory::tests()).collect()
}

fn open(path: &Path, reading: &Reading) -> Result<Option<InPlace>, String> {
    InPlace::open(path, reading, &Control::new()).map_err(|e| sentence(&e))
}

/// Compares all ways to read a file in place with the whole; returns whether it can be read in place.
fn compare(path: &Path, reading: &Reading, what: &str) -> bool {
    let expected = whole(path, reading);
    let (file, (expected, info)) = match (open(path, reading), expected) {
        (Ok(Some(file)), Ok(expected)) => (file, expected),
        (Ok(None), _) => return false,
        (Err(found), Err(expected)) => {
            assert_eq!(found, expected, "{what}");
            return false;
        }
        (found, expected) => panic!("{what}: {found:?} for {:?}", expected.map(|e| e.1)),
    };
    let expected = expected.without_values();
    let control = Control::new();
    assert_eq!(file.len(), expected.len(), "{what}");
    assert_eq!(file.point_count(), expected.points.len(), "{what}");
    let rounding = |lines: &[String]| {
        let lines = lines.iter().filter(|l| !l.contains("last digits"));
        lines.cloned().collect::<Vec<String>>()
    };
    assert_eq!(
        file.info().warnings,
        rounding(&info.warnings),
        "{what}: only numbers that were not read are missing"
    );
    let all = file.read(0..file.len(), &control).unwrap();
    assert_same(&all, &expected, what);
    let middle = file.len() / 2;
    for range in [0..middle, middle..file.len(), middle..middle] {
        let found = file.read(range.clone(), &control).unwrap();
        let lines = range.clone().map(|i| expected.streamline(i).to_vec());
        let part = Tractogram::of_curves(lines);
        assert_same(&found, &part, &format!("{what} {range:?}"));
    }
    for i in (0..file.len()).step_by(file.len() / 40 + 1) {
        let found = file.read(i..i + 1, &control).unwrap();
        let part = Tractogram::of_curves([expected.streamline(i).to_vec()]);
        assert_same(&found, &part, &format!("{what} {i}"));
    }
    true
}

fn reads() {
    let mut random = Random::fresh("in place");
    let rows = [
        0.0, -1.0, 0.0, 5.0, 1.0, 0.0, 0.0, -3.0, 0.0, 0.0, -1.0, 2.0,
    ];
    let moved = Reading {
        affine: Some(Box::new(AffineReading::Matrix(rows))),
        ..Reading::default()
    };
    for (count, values) in [(1, 1), (60, 2), (300, 12)] {
        let tractogram = subject(count, values, &mut random);
        for name in NAMES {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            streamlines::save(&path, &tractogram, "x", &Control::new()).unwrap();
            let what = format!("{count} in {name}");
            assert!(compare(&path, &Reading::default(), &what));
            assert!(compare(&path, &moved, &format!("{what}, moved")));
        }
    }
}

/// A TCK with numbers of another type, and a TRX folder with others.
fn number_types() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        vec![[1.5, 2.0, -3.25], [4.0, 5.0, 6.0]],
        vec![[7.0, 8.0, 9.5]],
        vec![],
        vec![[0.5, -1.0, 2.0]; 3],
    ];
    for (name, double, big) in [
        ("Float32BE", false, true),
        ("Float64LE", true, false),
        ("Float64BE", true, true),
    ] {
        let mut bytes =
            format!("mrtrix tracks\ndatatype: {name}\ncount: 4\nfile: . 80\nEND\n").into_bytes();
        bytes.resize(80, b' ');
        let mut put = |v: f64| match (double, big) {
            (false, _) => bytes.extend((v as f32).to_be_bytes()),
            (true, false) => bytes.extend(v.to_le_bytes()),
            (true, true) => bytes.extend(v.to_be_bytes()),
        };
        for line in &lines {
            line.iter().flatten().for_each(|v| put(*v));
            (0..3).for_each(|_| put(f64::NAN));
        }
        (0..3).for_each(|_| put(f64::INFINITY));
        let path = folder.path().join(format!("{name}.tck"));
        std::fs::write(&path, bytes).unwrap();
        assert!(compare(&path, &Reading::default(), name));
    }
    let path = folder.path().join("doubles.trx");
    std::fs::create_dir(&path).unwrap();
    let numbers: Vec<f64> = lines.iter().flatten().flatten().copied().collect();
    let header = r#"{"NB_STREAMLINES": 4, "NB_VERTICES": 6}"#;
    std::fs::write(path.join("header.json"), header).unwrap();
    let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(path.join("positions.3.float64"), bytes).unwrap();
    let offsets: Vec<u8> = [0u32, 2, 3, 3, 6]
        .iter()
        .flat_map(|o| o.to_le_bytes())
        .collect();
    std::fs::write(path.join("offsets.uint32"), offsets).unwrap();
    assert!(compare(&path, &Reading::default(), "TRX of float64"));
}

fn damaged() {
    for path in ["tractograms", "tractograms/conformance"]
        .iter()
        .flat_map(|sub| data_files(sub))
    {
        if InPlace::can_open(&path) {
            compare(&path, &Reading::default(), &path.display().to_string());
        }
    }
    let mut random = Random::fresh("damaged in place");
    let folder = tempfile::tempdir().unwrap();
    for (format, ending) in [(Format::Tck, "tck"), (Format::Trx, "trx")] {
        let seeds = seeds(format);
        let path = folder.path().join(format!("d.{ending}"));
        let mut readable = 0;
        for i in 0..150 {
            let mut bytes = seeds[i % seeds.len()].clone();
            mutate(&mut bytes, &mut random);
            std::fs::write(&path, bytes).unwrap();
            let what = format!("{ending} {i}");
            readable += usize::from(compare(&path, &Reading::default(), &what));
        }
        assert!(readable > 10, "{ending}: {readable} of them could be read");
        streamlines::save(&path, &subject(3, 1, &mut random), "x", &Control::new()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for length in (0..bytes.len()).step_by(bytes.len() / 100 + 1) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let what = format!("{ending} cut to {length}");
            compare(&path, &Reading::default(), &what);
        }
    }
}

fn packed() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::fresh("packed in place");
    let lines = subject(20, 1, &mut random);
    let plain = folder.path().join("a.tck");
    streamlines::save(&plain, &lines, "x", &Control::new()).unwrap();
    let path = folder.path().join("packed.tck");
    std::fs::write(&path, gzip(&std::fs::read(&plain).unwrap())).unwrap();
    assert!(open(&path, &Reading::default()).unwrap().is_none());
    for name in ["a.trk", "a.vtk"] {
        let path = folder.path().join(name);
        streamlines::save(&path, &lines, "x", &Control::new()).unwrap();
        assert!(!InPlace::can_open(&path), "{name}");
        assert!(open(&path, &Reading::default()).unwrap().is_none());
    }
    let missing = folder.path().join("none.tck");
    assert!(open(&missing, &Reading::default()).is_err());
}

fn changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::fresh("changed in place");
    for name in ["a.tck", "a.trx"] {
        let path = folder.path().join(name);
        streamlines::save(&path, &subject(20, 1, &mut random), "x", &Control::new()).unwrap();
        let file = open(&path, &Reading::default()).unwrap().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 40]).unwrap();
        let limits = limits(1000, 0.1);
        let refusals = [
            file.read(0..5, &Control::new()).map(drop),
            file.sample(&limits, None, &Control::new(), |_| {})
                .map(drop),
        ];
        for refusal in refusals {
            let sentence = sentence(&refusal.unwrap_err());
            assert!(sentence.contains("changed while it was read"), "{sentence}");
        }
    }
}

fn limits(points: usize, tolerance_mm: f32) -> SampleLimits {
    SampleLimits {
        points,
        tolerance_mm,
        view: None,
    }
}

/// Curves that cross a box of 100 mm.
fn arcs(count: usize, points: usize, random: &mut Random) -> Tractogram {
    let mut line = || {
        let centre = DVec3::new(
            random.uniform(-50.0, 50.0),
            random.uniform(-50.0, 50.0),
            random.uniform(-50.0, 50.0),
        );
        let radius = random.uniform(10.0, 40.0);
        let (a, b) = (random.direction(), random.direction());
        let b = (b - a * a.dot(b)).normalize();
        let points = (0..points).map(move |i| {
            let (sin, cos) = (i as f64 / radius).sin_cos();
            (centre + radius * (cos * a + sin * b)).as_vec3().to_array()
        });
        points.collect::<Vec<_>>()
    };
    Tractogram::of_curves((0..count).map(|_| line()))
}

fn index() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::fresh("index");
    let path = folder.path().join("large.tck");
    let lines = arcs(1500, 90, &mut random);
    streamlines::save(&path, &lines, "x", &Control::new()).unwrap();
    let Some(place) = tck::stored_index_path(&path) else {
        // There is no cache folder here.
        return;
    };
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = reads.clone();
    let _watch = disk::watch(
        folder.path(),
        Arc::new(move |operation, _| {
            counted.fetch_add(
                usize::from(operation == disk::Operation::Read),
                Ordering::SeqCst,
            );
            Ok(())
        }),
    );
    let opened = || {
        reads.store(0, Ordering::SeqCst);
        let file = open(&path, &Reading::default()).unwrap().unwrap();
        let all = file.read(0..file.len(), &Control::new());
        let reads = reads.load(Ordering::SeqCst) - file.len();
        assert_same(&all.unwrap(), &lines, "a file with an index");
        (reads, file.info().clone())
    };
    let (built, info) = opened();
    if !place.exists() {
        // The cache folder cannot be written to.
        return;
    }
    let (known, second_info) = opened();
    assert!(
        known < built,
        "{known} reads with an index, {built} without"
    );
    assert_eq!(info, second_info);
    // An index that was damaged, and one of another file.
    let stored = std::fs::read(&place).unwrap();
    for damage in [
        stored[..stored.len() - 3].to_vec(),
        stored[..10].to_vec(),
        Vec::new(),
        [&stored[..stored.len() - 4], &[255; 4]].concat(),
    ] {
        std::fs::write(&place, damage).unwrap();
        assert_eq!(opened().1, info);
        assert_eq!(std::fs::read(&place).unwrap(), stored, "rebuilt");
    }
    let other = arcs(1400, 90, &mut random);
    streamlines::save(&path, &other, "x", &Control::new()).unwrap();
    assert!(compare(
        &path,
        &Reading::default(),
        "another file of this name"
    ));
    std::fs::remove_file(&place).unwrap();
}

/// Checks a sample against the file that it comes from.
fn check(sample: &Sample, lines: &Tractogram, limits: &SampleLimits) {
    let shown = &sample.tractogram;
    assert_eq!(shown.len(), sample.numbers.len());
    for (i, number) in sample.numbers.iter().enumerate() {
        let (found, whole) = (shown.streamline(i), lines.streamline(*number as usize));
        near(found, whole, limits.tolerance_mm);
        assert_eq!(
            shown.per_streamline[LENGTH][i],
            lines.length_mm(*number as usize),
            "the length is that of the whole streamline"
        );
    }
}

/// Every point lies within the tolerance of the curve that replaces it, whose points are some of its own.
fn near(found: &[[f32; 3]], whole: &[[f32; 3]], tolerance_mm: f32) {
    let mut at = 0;
    for pair in found.windows(2) {
        let (a, b) = (Vec3::from(pair[0]), Vec3::from(pair[1]));
        assert_eq!(whole[at], pair[0]);
        loop {
            at += 1;
            if whole[at] == pair[1] {
                break;
            }
            let (p, along) = (Vec3::from(whole[at]), b - a);
            let length = along.length_squared();
            let share = if length > 0.0 {
                (p - a).dot(along) / length
            } else {
                0.0
            };
            let distance = (a + along * share.clamp(0.0, 1.0)).distance(p);
            // Coordinates of 100 mm are rounded to 8e-6 mm.
            assert!(distance <= tolerance_mm + 1e-4, "{distance} mm");
        }
    }
    assert_eq!(whole.len().min(1), found.len().min(1));
    assert_eq!(at + 1, whole.len().max(1), "the ends stay");
}

fn samples() {
    let mut random = Random::fresh("samples");
    let folder = tempfile::tempdir().unwrap();
    let lines = arcs(40_000, 25, &mut random);
    let mut pictures: Vec<Vec<u64>> = Vec::new();
    for name in NAMES {
        let path = folder.path().join(name);
        streamlines::save(&path, &lines, "x", &Control::new()).unwrap();
        let file = open(&path, &Reading::default()).unwrap().unwrap();
        let control = Control::new();
        let limits = limits(100_000, 0.05);
        let mut steps: Vec<Sample> = Vec::new();
        let last = file
            .sample(&limits, None, &control, |s| steps.push(s.clone()))
            .unwrap();
        check(&last, &lines, &limits);
        let points = last.tractogram.points.len();
        assert!((50_000..=125_000).contains(&points), "{points} points");
        assert!(!last.is_complete);
        assert!(!steps.is_empty(), "the picture grows");
        for pair in steps.iter().chain([&last]).collect::<Vec<_>>().windows(2) {
            let (coarse, fine) = (&pair[0].numbers, &pair[1].numbers);
            assert!(coarse.len() < fine.len() && fine.starts_with(coarse));
        }
        // Each block of 2ᵏ streamlines has one of the sample.
        let mut blocks: Vec<u64> = last.numbers.iter().map(|n| n >> last.level).collect();
        blocks.sort_unstable();
        assert!(blocks.iter().copied().eq(0..blocks.len() as u64));
        let alone = alone(|| file.sample(&limits, None, &control, |_| {}).unwrap());
        assert_same(&alone.tractogram, &last.tractogram, "one thread");
        pictures.push(last.numbers.to_vec());
        // All of them fit.
        let limits = self::limits(4_000_000, 1e-9);
        let whole = file.sample(&limits, None, &control, |_| {}).unwrap();
        check(&whole, &lines, &limits);
        assert!(whole.is_complete && whole.numbers.len() == lines.len());
    }
    assert!(pictures.windows(2).all(|w| w[0] == w[1]), "every format");
}

fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let backend = Backend::choose(&BackendChoice::cpu(Some(1))).unwrap();
    backend.install(work)
}

fn view() {
    let mut random = Random::fresh("view");
    let folder = tempfile::tempdir().unwrap();
    let lines = arcs(20_000, 25, &mut random);
    let path = folder.path().join("a.trx");
    streamlines::save(&path, &lines, "x", &Control::new()).unwrap();
    let file = open(&path, &Reading::default()).unwrap().unwrap();
    // A box of 30 mm around a point, seen along z.
    let (centre, half) = (DVec3::new(10.0, -5.0, 0.0), 15.0);
    let scale = DMat4::from_scale(DVec3::new(1.0 / half, 1.0 / half, 1.0));
    let view = ViewPart {
        clip_from_world: scale * DMat4::from_translation(-centre),
    };
    let limits = SampleLimits {
        points: 4_000_000,
        tolerance_mm: 0.1,
        view: Some(view),
    };
    let sample = file.sample(&limits, None, &Control::new(), |_| {}).unwrap();
    check(&sample, &lines, &limits);
    assert!(sample.is_complete);
    let is_inside = |p: &[f32; 3]| {
        let offset = Vec3::from(*p).as_dvec3() - centre;
        offset.x.abs() <= half && offset.y.abs() <= half
    };
    let expected: Vec<u64> = (0..lines.len() as u64)
        .filter(|i| lines.streamline(*i as usize).iter().any(is_inside))
        .collect();
    let mut found = sample.numbers.to_vec();
    found.sort_unstable();
    assert!(expected.len() > 500 && expected.len() < 15_000);
    assert_eq!(found, expected);
    // A small view of the same number of points shows more of the streamlines that it meets.
    let few = SampleLimits {
        points: 20_000,
        ..limits.clone()
    };
    let all = SampleLimits {
        view: None,
        ..few.clone()
    };
    let near = file.sample(&few, None, &Control::new(), |_| {}).unwrap();
    let far = file.sample(&all, None, &Control::new(), |_| {}).unwrap();
    assert!(near.level < far.level, "{} and {}", near.level, far.level);
}

fn cancelled() {
    let mut random = Random::fresh("sampling cancelled");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trx");
    let lines = arcs(20_000, 5, &mut random);
    streamlines::save(&path, &lines, "x", &Control::new()).unwrap();
    let file = open(&path, &Reading::default()).unwrap().unwrap();
    let control = Control::new();
    let mut shown = 0;
    let ended = file.sample(&limits(1_000_000, 0.1), None, &control, |_| {
        shown += 1;
        control.cancel();
    });
    assert_eq!(ended.unwrap_err(), Error::Cancelled);
    assert_eq!(shown, 1);
}

fn levels() {
    for count in [0, 1, 2, 3, 7, 64, 100, 1000, 4097] {
        for seed in [1, 2] {
            let levels = Levels::new(count, seed);
            assert!(levels.len(levels.coarsest()) <= 1);
            let mut coarser: Vec<usize> = Vec::new();
            for level in (0..=levels.coarsest()).rev() {
                let own: Vec<usize> = (0..levels.len(level))
                    .map(|i| levels.streamline(level, i))
                    .collect();
                assert_eq!(own.len(), count.div_ceil(1 << level));
                assert!(
                    own.iter()
                        .enumerate()
                        .all(|(i, n)| n >> level == i && *n < count)
                );
                if level < levels.coarsest() {
                    let mut joined = coarser.clone();
                    joined.extend(levels.added(level));
                    joined.sort_unstable();
                    assert_eq!(joined, own, "{count}, level {level}");
                }
                coarser = own;
            }
            assert!(coarser.iter().copied().eq(0..count), "level 0 is all");
            for requested in [1, 2, 10, 100, 5000] {
                let level = levels.with_at_least(requested);
                assert!(level == 0 || levels.len(level) >= requested);
                assert!(level == levels.coarsest() || levels.len(level + 1) < requested);
            }
        }
    }
    // Each of eight streamlines is drawn about as often: 8000 of 64000 with a standard deviation of 84.
    let levels = Levels::new(8 * 64_000, 5);
    let mut counts = [0usize; 8];
    (0..64_000).for_each(|i| counts[levels.streamline(3, i) % 8] += 1);
    assert!(counts.iter().all(|n| n.abs_diff(8000) < 420), "{counts:?}");
}

fn thinning() {
    let mut random = Random::fresh("thinning");
    let mut thinning = Thinning::default();
    for tolerance_mm in [0.0, 0.01, 0.1, 1.0, 30.0] {
        for points in [1, 2, 3, 50, 400] {
            let line = arcs(1, points, &mut random);
            let mut kept = vec![[7.0f32; 3]];
            thinning.thin(line.streamline(0), tolerance_mm, &mut kept);
            near(&kept[1..], line.streamline(0), tolerance_mm);
        }
    }
    // A random walk folds back on itself.
    let mut at = DVec3::ZERO;
    let walk: Vec<[f32; 3]> = (0..300)
        .map(|_| {
            at += random.direction();
            at.as_vec3().to_array()
        })
        .collect();
    let mut kept = Vec::new();
    thinning.thin(&walk, 0.5, &mut kept);
    near(&kept, &walk, 0.5);
    assert!(kept.len() < walk.len());
    // An arc of radius r with chords of sagitta t has chords of about sqrt(8 r t).
    let arc: Vec<[f32; 3]> = (0..=1000)
        .map(|i| {
            let (sin, cos) = (f64::from(i) * 1e-3).sin_cos();
            [(50.0 * cos) as f32, (50.0 * sin) as f32, 0.0]
        })
        .collect();
    kept.clear();
    thinning.thin(&arc, 0.1, &mut kept);
    let least = (50.0 / (8.0f64 * 50.0 * 0.1).sqrt()).ceil() as usize;
    assert!(
        (least..=2 * least + 1).contains(&(kept.len() - 1)),
        "{}",
        kept.len()
    );
    let holed = [
        [0.0; 3],
        [1.0, f32::NAN, 0.0],
        [2.0, 0.0, 0.0],
        [3.0, 0.0, 0.0],
    ];
    kept.clear();
    thinning.thin(&holed, 1.0, &mut kept);
    assert_eq!(kept.len(), 4, "points that are not finite stay");
}
