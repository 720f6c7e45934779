//! Randomly damaged files: every reader returns streamlines or a sentence, never panics, and keeps no more than a
//! stated multiple of the file.

use super::formats::{open, rich};
use super::sentence;
use crate::support::composed_nifti::gzip;
use crate::support::{Random, damages_more, data_files, test, thread_time};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram};
use arcuate::io::gradients::TableFiles;
use arcuate::io::{self, Format, Opened, streamlines};
use glam::{DAffine3, DVec3};
use libtest_mimic::Trial;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of streamlines per byte of an uncompressed file, and for an empty one.
const MAXIMUM_BYTES_PER_BYTE: usize = 16;
const ALWAYS: usize = 1 << 16;
/// Largest expansion of a compressed file.
const MAXIMUM_EXPANSION: usize = 100;
const ALWAYS_UNPACKED: usize = 1 << 20;

pub fn tests() -> Vec<Trial> {
    let mut tests: Vec<Trial> = Format::of_saved_streamlines()
        .map(|format| {
            let name = format!("io::mutations::{format:?}").to_lowercase();
            test(&name, move || {
                fuzz(&seeds(format), format.extensions()[0], false)
            })
        })
        .collect();
    tests.push(test("io::mutations::compressed", || {
        fuzz(&seeds(Format::Trk), "trk.gz", true);
    }));
    tests.push(test("io::mutations::tinytrack", || {
        fuzz(&[super::variants::tiny()], "tt.gz", true);
    }));
    let images = [
        ("mgh", false),
        ("mgz", true),
        ("nrrd", false),
        ("nii", false),
        ("nii.gz", true),
    ];
    for (ending, packed) in images {
        let name = format!("io::mutations::{ending}");
        tests.push(test(&name, move || {
            fuzz(&super::volumes::seeds(ending), ending, packed)
        }));
    }
    for (ending, packed) in [("mif", false), ("mif.gz", true)] {
        let name = format!("io::mutations::{ending}");
        tests.push(test(&name, move || {
            fuzz(&super::mif::seeds().map(|(_, bytes)| bytes), ending, packed)
        }));
    }
    for ending in ["bval", "bvec", "b"] {
        let name = format!("io::mutations::{ending}");
        tests.push(test(&name, move || gradients(ending)));
    }
    tests.push(test("io::mutations::flirt_affines", || affines("mat")));
    tests.push(test("io::mutations::itk_affines", || affines("txt")));
    tests.push(test("io::mutations::track_scalars", track_scalars));
    tests.push(test("io::mutations::weights", weights));
    tests.push(test("io::mutations::colour_tables", colour_tables));
    tests.push(test("io::mutations::schemes", schemes));
    tests.push(test("io::mutations::lies_are_cheap", false_sizes));
    tests
}

/// Number of files that each test damages; `ARCUATE_FUZZ_SECONDS` continues for longer.
const FILES: usize = 1000;

/// Small files of a format: our own, and external ones if available.
pub fn seeds(format: Format) -> Vec<Vec<u8>> {
    let mut random = Random::fresh("seeds");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(format!("a.{}", format.extensions()[0]));
    let mut seeds = Vec::new();
    for (lines, values) in [(0, 0), (3, 0), (6, 2)] {
        streamlines::save(
            &path,
            &rich(lines, values, &mut random),
            "x",
            &Control::new(),
        )
        .expect("saved");
        seeds.push(std::fs::read(&path).expect("readable"));
    }
    for sub in ["tractograms", "tractograms/conformance"] {
        for path in data_files(sub) {
            let small = path.metadata().is_ok_and(|m| m.len() < 100_000);
            if small && Format::named(&path) == Some(format) {
                seeds.push(std::fs::read(path).expect("readable"));
            }
        }
    }
    seeds
}

pub fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let below = |random: &mut Random, n: usize| (random.bits() % n.max(1) as u64) as usize;
    for _ in 0..1 + below(random, 4) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        // Most errors are found near the beginning.
        let at = match below(random, 3) {
            0 => below(random, length.min(64)),
            1 => below(random, length.min(1100)),
            _ => below(random, length),
        };
        match below(random, 8) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << below(random, 8),
            2 => bytes[at] = [0, 1, 9, 10, 32, 45, 48, 57, 127, 128, 255][below(random, 11)],
            3 => {
                let numbers = [0, 1, -1, i32::MAX, i32::MIN, 1 << 20, 1 << 30, 0x7fc0_0000];
                let number = numbers[below(random, 8)];
                let number = match below(random, 2) {
                    0 => number.to_le_bytes(),
                    _ => number.to_be_bytes(),
                };
                let end = (at + 4).min(length);
                bytes[at..end].copy_from_slice(&number[..end - at]);
            }
            4 => {
                let from = below(random, length);
                let piece = bytes[from..(from + 1 + below(random, 40)).min(length)].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                bytes.drain(at..(at + 1 + below(random, 40)).min(length));
            }
            6 => {
                let from = below(random, length);
                let n = (1 + below(random, 40)).min(length - at).min(length - from);
                bytes.copy_within(from..from + n, at);
            }
            _ => {
                let digits = [
                    &b"999999999999"[..],
                    b"-1",
                    b"1e300",
                    b"nan",
                    b"0",
                    b"\n",
                    b" ",
                ];
                let piece = digits[below(random, digits.len())];
                let end = (at + piece.len()).min(length);
                bytes[at..end].copy_from_slice(&piece[..end - at]);
            }
        }
    }
}

fn memory_bytes(tractogram: &Tractogram) -> usize {
    let values = tractogram
        .per_point
        .values()
        .chain(tractogram.per_streamline.values());
    let groups = tractogram.groups.values().map(|m| 4 * m.len());
    12 * tractogram.points.len()
        + 8 * tractogram.offsets.len()
        + values.map(|v| 4 * v.len()).sum::<usize>()
        + groups.sum::<usize>()
}

/// Tables for a scan of seven volumes, as FSL and as MRtrix write them; the one of this ending is damaged.
fn gradients(damaged: &str) {
    let grid = Grid::axis_aligned([4; 3], DVec3::ONE, DVec3::ZERO).expect("regular");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (bval, bvec) = (folder.path().join("a.bval"), folder.path().join("a.bvec"));
    let b = "0 1000 1000 1000\t1000 1000 2000\r\n";
    let v = "0 1 0 0 .6 0 .8\n0 0 1 0 .8 .6 0\n0 0 0 1 0 .8 .6\n";
    let mrtrix: String = (0..7)
        .map(|i| format!("0.6 0 -0.8 {}\n", 1000 * (i % 3)))
        .collect();
    std::fs::write(&bval, b).expect("written");
    std::fs::write(&bvec, v).expect("written");
    let read = |files: TableFiles| match io::gradients::read(&files, &grid, 7) {
        Ok(table) => {
            assert_eq!(table.gradients.len(), 7);
            let finite = table.gradients.directions.iter().all(|d| d.is_finite());
            assert!(finite && table.gradients.b_s_per_mm2.iter().all(|b| b.is_finite()));
            true
        }
        Err(error) => {
            sentence(&error);
            false
        }
    };
    let pair = |bval: &Path, bvec: &Path| TableFiles::Fsl {
        bval: bval.to_owned(),
        bvec: bvec.to_owned(),
    };
    let seed = match damaged {
        "bval" => b,
        "bvec" => v,
        _ => &mrtrix,
    };
    fuzz_with(&[seed.into()], damaged, false, |path, _| {
        read(match damaged {
            "bval" => pair(path, &bvec),
            "bvec" => pair(&bval, path),
            _ => TableFiles::Mrtrix(path.to_owned()),
        })
    });
}

/// Affines of FLIRT, ITK and ANTs.
fn affines(ending: &str) {
    let mut random = Random::fresh("affines");
    let moved = DAffine3::from_rotation_translation(random.rotation(), DVec3::new(3.0, -2.0, 9.0));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let itk = folder.path().join("a.txt");
    io::affine::save_itk(&itk, moved).expect("saved");
    let itk = std::fs::read(itk).expect("readable");
    let flirt = b"1 0.1 0 4\n-0.1 1 0 -3.5\n0 0 1 2e1\n0 0 0 1\n".to_vec();
    let read = |path: &Path, _: usize| match io::affine::read(path) {
        Ok(_) => true,
        Err(error) => {
            sentence(&error);
            false
        }
    };
    let mut seeds = vec![itk, flirt];
    if ending == "mat" {
        seeds.push(crate::support::composed_nifti::ants_file());
    }
    fuzz_with(&seeds, ending, false, read);
}

/// Values for each point next to a TCK: as many as there are points, or a warning with the reason.
fn track_scalars() {
    let mut random = Random::fresh("track scalars");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let composed = rich(4, 1, &mut random);
    let name = composed.per_point.keys().next().expect("values");
    streamlines::save(&at("b.tck"), &composed, "x", &Control::new()).expect("saved");
    io::scalars::save_points(&at("b.tsf"), &at("b.tck"), &composed, name).expect("saved");
    let tsf = std::fs::read(at("b.tsf")).expect("readable");
    let tck = std::fs::read(at("b.tck")).expect("readable");
    fuzz_with(&[tsf], "tsf", false, |path, _| {
        let adjacent = path.with_file_name("a.tck");
        if !adjacent.exists() {
            std::fs::write(&adjacent, &tck).expect("written");
        }
        let (found, info) = match io::open(&adjacent, &Control::new()) {
            Ok(Opened::Tractogram(found, info)) => (found, info),
            other => panic!("{other:?}"),
        };
        assert!(
            found
                .per_point
                .values()
                .all(|v| v.len() == found.points.len())
        );
        let used = !found.per_point.is_empty();
        let refused = |w: &String| w.starts_with("a.tsf was not used: ");
        assert_eq!(
            used,
            !info.warnings.iter().any(refused),
            "{:?}",
            info.warnings
        );
        assert!(info.warnings.iter().all(|w| w.lines().count() == 1));
        used
    });
}

/// A number for each of five streamlines.
fn weights() {
    let seeds = [
        b"1\n2\n3\n4\n5\n".to_vec(),
        b"# w\r\n1,2.5e-3 3\t4 -5".to_vec(),
    ];
    let lines = Tractogram::new(Vec::new(), vec![0; 6]);
    let read = |path: &Path, _: usize| match io::scalars::open_weights(path, &lines) {
        Ok(found) => {
            assert_eq!(found.len(), 5);
            true
        }
        Err(error) => {
            sentence(&error);
            false
        }
    };
    fuzz_with(&seeds, "txt", false, read);
}

/// Names and colours of a label map in every known form.
fn colour_tables() {
    let seeds = [
        &b"#No. Label Name: R G B A\n\n0 Unknown 0 0 0 0\n12   Left-Putamen   236 13 176 0\n"[..],
        b"# ITK-SNAP\r\n 0 0 0 0 0 0 0 \"Clear\"\r\n12 236 13 176 1 1 1 \"Left-Putamen\"\r\n",
        b"index\tname\tcolor\n0\tbackground\t#000000\n12\tLeft-Putamen\t#ec0db0\n",
        b"0 none\n12 Left Putamen\n",
    ];
    let read = |path: &Path, bytes: usize| match io::colours::read(path) {
        Ok(labels) => {
            let stored = labels
                .table
                .values()
                .map(|l| l.name.len() + 4)
                .sum::<usize>();
            assert!(!labels.table.is_empty() && stored <= MAXIMUM_BYTES_PER_BYTE * bytes);
            for &number in labels.table.keys() {
                let _ = (labels.described(number), labels.colour(number));
            }
            true
        }
        Err(error) => {
            sentence(&error);
            false
        }
    };
    fuzz_with(&seeds.map(<[u8]>::to_vec), "txt", false, read);
}

/// Timing of gradients, as Camino and AMICO write it.
fn schemes() {
    let seed = b"# made\nVERSION: STEJSKALTANNER\n1 0 0 0.04 0.0366 0.0263 0.08\n\
                 0 0 0 0 0 0 0\r\n0 .6 .8 4e-2\t0.0366 0.0263 0.08\n";
    let read = |path: &Path, bytes: usize| match io::scheme::timing(path) {
        Ok(read) => {
            let rows = read.rows;
            assert!(!rows.is_empty() && 16 * rows.len() <= MAXIMUM_BYTES_PER_BYTE * bytes);
            true
        }
        Err(error) => {
            sentence(&error);
            false
        }
    };
    fuzz_with(&[seed.to_vec()], "scheme", false, read);
}

/// Damages the seeds; with `packed`, before they are compressed.
pub fn fuzz(seeds: &[Vec<u8>], extension: &str, packed: bool) {
    fuzz_with(seeds, extension, packed, outcome);
}

/// `outcome` receives a file and its bytes, and returns whether it was read.
fn fuzz_with(
    seeds: &[Vec<u8>],
    extension: &str,
    packed: bool,
    outcome: impl Fn(&Path, usize) -> bool,
) {
    let mut random = Random::fresh(extension);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(format!("a.{extension}"));
    let started = Instant::now();
    let (mut tried, mut read) = (0, 0);
    while damages_more(tried, FILES, started) {
        let mut bytes = seeds[(random.bits() % seeds.len() as u64) as usize].clone();
        mutate(&mut bytes, &mut random);
        if packed {
            bytes = gzip(&bytes);
            if random.bits().is_multiple_of(4) {
                mutate(&mut bytes, &mut random);
            }
        }
        std::fs::write(&path, &bytes).expect("written");
        let caught = std::panic::catch_unwind(AssertUnwindSafe(|| outcome(&path, bytes.len())));
        match caught {
            Ok(whole) => read += usize::from(whole),
            Err(panic) => {
                let kept = std::env::temp_dir().join(format!("arcuate-mutation.{extension}"));
                std::fs::write(&kept, &bytes).expect("written");
                println!("try {tried}: the file is kept: {}", kept.display());
                std::panic::resume_unwind(panic);
            }
        }
        tried += 1;
    }
    println!("{extension}: {tried} files, {read} of them read");
}

/// Whether the file was read; its data must be valid in either case.
fn outcome(path: &Path, file_bytes: usize) -> bool {
    match io::open(path, &Control::new()) {
        Ok(Opened::Tractogram(tractogram, info)) => {
            let unpacked = MAXIMUM_EXPANSION * file_bytes + ALWAYS_UNPACKED;
            let packed = path.extension().is_some_and(|e| e == "gz" || e == "trx");
            let allowed = if packed { unpacked } else { file_bytes };
            assert!(
                memory_bytes(&tractogram) <= MAXIMUM_BYTES_PER_BYTE * allowed + ALWAYS,
                "{file_bytes}"
            );
            for warning in &info.warnings {
                assert!(
                    warning.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
                        || warning.len() > 15,
                    "{warning}"
                );
                assert_eq!(warning.lines().count(), 1, "{warning}");
            }
            tractogram.bounds();
            true
        }
        Ok(Opened::Volume(volume, info)) => {
            // Deflate's own limit, and a byte that becomes a float32.
            let unpacked = 1032 * file_bytes + ALWAYS_UNPACKED;
            assert!(volume.values.len() <= unpacked, "{file_bytes}");
            assert!(volume.grid.world_from_voxel.is_finite());
            for warning in &info.warnings {
                assert_eq!(warning.lines().count(), 1, "{warning}");
            }
            true
        }
        Err(error) => {
            sentence(&error);
            false
        }
    }
}

/// Headers that announce far more data than there are, and compressed zeros: refused at once.
fn false_sizes() {
    let mut random = Random::fresh("lies");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let refused = |name: &str, bytes: &[u8], text: &str| {
        std::fs::write(path(name), bytes).expect("written");
        let before = thread_time();
        let error = io::open(&path(name), &Control::new()).expect_err(name);
        assert!(sentence(&error).contains(text), "{text}: {error}");
        assert!(thread_time() - before < Duration::from_secs(2), "{name}");
    };
    let tractogram = rich(4, 1, &mut random);
    streamlines::save(&path("a.trk"), &tractogram, "", &Control::new()).expect("saved");
    let whole = std::fs::read(path("a.trk")).expect("readable");
    assert_eq!(open(&path("a.trk")).0.len(), 4);
    let with = |at: usize, number: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + number.len()].copy_from_slice(number);
        bytes
    };
    refused("b.trk", &with(1000, &i32::MAX.to_le_bytes()), "cut off");
    refused(
        "b.trk",
        &with(1000, &(-1i32).to_le_bytes()),
        "Found -1 as the number of points",
    );
    refused("b.trk", &with(36, &i16::MAX.to_le_bytes()), "cut off");
    refused("b.trk", &with(238, &(-7i16).to_le_bytes()), "-7 values");
    refused("b.trk", &with(12, &f32::NAN.to_le_bytes()), "voxel sizes");
    refused("b.trk", &with(12, &0f32.to_le_bytes()), "voxel sizes");
    refused("b.trk", &with(440, &[0; 60]), "vox_to_ras");
    refused("b.trk", &with(948, b"LLP"), "voxel order “LLP”");
    refused("b.trk", &with(992, &7i32.to_le_bytes()), "TRK version 7");
    refused("b.trk", &with(996, &7i32.to_le_bytes()), "header size of 7");
    refused("b.trk", &whole[..999], "999 bytes");
    // A header, then 200 MB of streamlines without points.
    let mut bomb = with(988, &0i32.to_le_bytes())[..1000].to_vec();
    bomb[36..38].copy_from_slice(&[0; 2]);
    bomb[238..240].copy_from_slice(&[0; 2]);
    bomb.resize(200_000_000, 0);
    refused("b.trk.gz", &gzip(&bomb), "unpack to more than 100 times");
}
