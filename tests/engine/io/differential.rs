//! Files read here and by nibabel, trx-python, VTK and pynrrd: valid ones in every format, type, byte order and
//! orientation, theirs and ours, and copies with one error. If both read a file, they agree, or the table of known
//! differences gives the reason; if one refuses it, the table says why the other does not; damaged files are refused
//! here, or accepted with a remark.
//!
//! `tests/peers/differential.py` makes the files and reads them there; `.ci/run` installs what it needs.

use super::formats::{grid, rich};
use super::peers::{imports, not_run, python};
use crate::support::{FIXED_SEED, Random, seed, test};
use arcuate::compute::Control;
use arcuate::data::tractogram::columns;
use arcuate::data::{AffineSource, Grid, Mask, Tractogram, Volume, VolumeKind};
use arcuate::io::{self, Error, Opened, Reading, Space, nifti, streamlines};
use libtest_mimic::Trial;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Number of copies of each file with randomly overwritten fields; `ARCUATE_DIFFERENTIAL` sets another.
const COPIES: usize = 20;
/// Each side rounds a value to single precision once.
const ROUNDING: f64 = 1.5 * f32::EPSILON as f64;
/// An affine is computed from single precision in double; sides of 100 mm.
const NEAR_MM: f64 = 1e-4;

pub fn tests() -> Vec<Trial> {
    let name = "io::differential::peers_read_the_same";
    vec![match imports("nibabel, trx, nrrd, vtkmodules.vtkIOXML") {
        true => test(name, agree),
        false => not_run(name, "nibabel, trx-python, vtk and pynrrd"),
    }]
}

/// Outcomes that a row of the table may contain, besides those of [`compare`].
const TAKEN: &str = "Taken";

/// A row of `tests/peers/known.txt`.
struct Known {
    formats: Vec<String>,
    what: String,
    outcome: String,
    given_reading: bool,
    /// Only random bytes cause it: the fixed set need not.
    seldom: bool,
    line: String,
}

fn known() -> Vec<Known> {
    let path = crate::support::root().join("tests/peers/known.txt");
    let text = std::fs::read_to_string(path).expect("the table");
    let text = text.lines();
    let rows = text.filter(|l| !l.is_empty() && !l.starts_with('#'));
    let row = |line: &str| {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [formats, what, outcome, given_reading, why] = parts[..] else {
            panic!("five columns: {line}");
        };
        let sentence: Vec<&str> = given_reading.split(", ").collect();
        let known = matches!(
            sentence[..],
            ["reported" | "silent"] | ["reported" | "silent", "seldom"]
        );
        assert!(known && why.len() > 20, "{line}");
        Known {
            formats: formats.split(' ').map(str::to_owned).collect(),
            what: what.to_owned(),
            outcome: outcome.to_owned(),
            given_reading: sentence[0] == "reported",
            seldom: sentence.len() > 1,
            line: line.to_owned(),
        }
    };
    rows.map(row).collect()
}

/// A file as described by Python.
struct File {
    name: String,
    format: String,
    base: String,
    /// The field and the kind of its value: empty for a valid file.
    what: String,
    value: String,
    damaged: bool,
    theirs: Value,
}

/// A file on which the two programs disagree, or about which Arcuate should report more.
struct Finding {
    /// The name in the table.
    outcome: &'static str,
    ours: String,
    theirs: String,
}

fn agree() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    write_ours(&here.join("ours"));
    let requested = std::env::var("ARCUATE_DIFFERENTIAL").ok();
    let copies = requested.map_or(COPIES, |n| n.parse().expect("a whole number"));
    let ran = Command::new(python())
        .arg(crate::support::root().join("tests/peers/differential.py"))
        .arg(here)
        // The number of bits on which JavaScript and numpy agree.
        .args([
            (Random::fresh("files").bits() >> 12).to_string(),
            copies.to_string(),
        ])
        .output()
        .expect("Python runs");
    let message = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{message}");
    let numbers = std::fs::read(here.join("numbers.bin")).expect("numbers");
    let numbers: Vec<f64> = bytemuck::pod_collect_to_vec(&numbers);
    let list = std::fs::read_to_string(here.join("list.jsonl")).expect("a list");
    let files: Vec<File> = list.lines().map(file).collect();
    assert!(files.len() > 2500, "{} files", files.len());

    let table = known();
    let mut used = BTreeSet::new();
    let mut unknown: BTreeMap<String, (usize, String)> = BTreeMap::new();
    // A remark about a valid file is not a remark about damage.
    let mut default_value: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &files {
        let ours = read(&here.join(&file.name));
        let message = remark_set(&ours);
        let default_value = default_value.entry(file.base.clone()).or_default();
        if file.what.is_empty() {
            default_value.extend(message.clone());
        }
        let reported = ours.is_err() || message.iter().any(|s| !default_value.contains(s));
        let mut findings = compare(file, &ours, &numbers);
        if file.damaged && !reported {
            findings.push(Finding {
                outcome: TAKEN,
                ours: "read".to_owned(),
                theirs: file.theirs["error"].to_string(),
            });
        }
        for Finding {
            outcome,
            ours,
            theirs,
        } in findings
        {
            let rows = table.iter().enumerate();
            let rows = rows.filter(|(_, k)| k.covers(file, outcome));
            let rows: Vec<usize> = rows.map(|(i, _)| i).collect();
            used.extend(rows.iter().copied());
            let state = match rows[..] {
                [] => "not in the table",
                _ if rows.iter().any(|&i| table[i].given_reading) && !reported => "not reported",
                _ => continue,
            };
            let key = format!("{} {} {outcome} {state}", file.format, file.what);
            let place = format!("{} of {} ({})", file.name, file.base, file.value);
            let example = || (0, format!("{place}: {ours} | {theirs}"));
            unknown.entry(key).or_insert_with(example).0 += 1;
        }
    }
    let list = unknown.iter();
    let list: Vec<String> = list
        .map(|(key, (n, example))| format!("{key}: {n}, first {example}"))
        .collect();
    assert!(
        list.is_empty(),
        "{} kinds:\n{}",
        list.len(),
        list.join("\n")
    );
    // Another seed need not produce every row.
    if seed() == Ok(FIXED_SEED) && copies == COPIES {
        let rows = table.iter().enumerate();
        let old = rows.filter(|(i, known)| !used.contains(i) && !known.seldom);
        let old: Vec<&str> = old.map(|(_, k)| &*k.line).collect();
        assert!(
            old.is_empty(),
            "rows that no longer happen:\n{}",
            old.join("\n")
        );
    }
}

impl Known {
    fn covers(&self, file: &File, outcome: &str) -> bool {
        let whole = self.what.is_empty() == file.what.is_empty();
        self.outcome == outcome
            && self.formats.contains(&file.format)
            && whole
            && file.what.starts_with(&self.what)
    }
}

fn file(line: &str) -> File {
    let mut v: Value = serde_json::from_str(line).expect("JSON");
    let text = |key: &str| v[key].as_str().expect("text").to_owned();
    File {
        name: text("name"),
        format: text("format"),
        base: text("base"),
        what: text("what"),
        value: text("value"),
        damaged: v["damaged"].as_bool().expect("given"),
        theirs: v["theirs"].take(),
    }
}

/// Files written by Arcuate in every format, with every type that is written.
fn write_ours(folder: &Path) {
    std::fs::create_dir(folder).expect("a folder");
    let mut random = Random::fresh("ours");
    let control = Control::new();
    for order in [0, 9, 22, 47] {
        let turned = grid(order, order % 2 == 0, &mut random);
        let small = Grid::new([3, 4, 2], turned.world_from_voxel, AffineSource::Sform);
        let small = Arc::new(small.expect("regular"));
        let values: Vec<f32> = (0..48).map(|i| 0.37 * i as f32 - 4.0).collect();
        let at = |name: &str| folder.join(format!("{order:02}{name}"));
        let series = Volume::new(small.clone(), 2, VolumeKind::Scalar, values);
        nifti::save_volume(&at("a.nii"), &series, "a test", &control).expect("saved");
        nifti::save_volume(&at("b.nii.gz"), &series, "a test", &control).expect("saved");
        let colours: Vec<f32> = (0..72).map(|i| (i % 52) as f32 / 51.0).collect();
        let colours = Volume::new(small.clone(), 3, VolumeKind::Rgb, colours);
        nifti::save_volume(&at("c.nii"), &colours, "", &control).expect("saved");
        let inside = (0..24).map(|i| u8::from(i % 3 == 0)).collect::<Vec<u8>>();
        nifti::save_mask(&at("d.nii"), &Mask::new(small, inside), "", &control).expect("saved");
        let reported = Reading::default();
        let plan = io::convert::plan(&at("a.nii"), &at("e.nrrd"), None, &reported, &control);
        plan.expect("planned")
            .write(false, "", &control)
            .expect("saved");
        let all = rich(6, 2, &mut random);
        for ending in ["tck", "trk", "trx", "vtk", "vtp"] {
            streamlines::save(&at(&format!("s.{ending}")), &all, "", &control).expect("saved");
        }
        std::fs::remove_file(at("s.tck.json")).ok();
    }
}

fn read(path: &Path) -> Result<Opened, Error> {
    let reported = Reading {
        vtk_space: Some(Space::Ras),
        ..Reading::default()
    };
    let reading = AssertUnwindSafe(|| io::open_with_reading(path, &reported, &Control::new()));
    std::panic::catch_unwind(reading).unwrap_or_else(|_| panic!("panicked: {}", path.display()))
}

fn remarks(opened: &Opened) -> Vec<String> {
    let all = opened.remarks().into_iter();
    all.map(|remark| remark.sentence).collect()
}

/// All remarks about a file that was read.
fn remark_set(ours: &Result<Opened, Error>) -> BTreeSet<String> {
    let Ok(opened) = ours else {
        return BTreeSet::new();
    };
    let mut text = BTreeSet::from_iter(remarks(opened));
    if let Opened::Tractogram(tractogram, _) = opened {
        text.extend(streamlines::not_finite(tractogram));
    }
    text
}

fn compare(file: &File, ours: &Result<Opened, Error>, numbers: &[f64]) -> Vec<Finding> {
    let theirs = file.theirs["error"].as_str();
    let finding = |outcome, ours: String, theirs: String| Finding {
        outcome,
        ours,
        theirs,
    };
    let opened = match (ours, theirs) {
        (Err(_), Some(_)) => return Vec::new(),
        (Err(error), None) => {
            let error = error.to_string();
            let error = error.split(": /").next().unwrap_or_default().to_owned();
            return vec![finding("OnlyPeer", error, "read".to_owned())];
        }
        (Ok(opened), Some(error)) => {
            let message = remarks(opened).join("; ");
            return vec![finding("OnlyArcuate", message, error.to_owned())];
        }
        (Ok(opened), None) => opened,
    };
    let differences = match opened {
        Opened::Volume(volume, _) => of_images(volume, &file.theirs, numbers),
        Opened::Tractogram(tractogram, _) => of_lines(tractogram, file, numbers),
    };
    let message = remarks(opened).join("; ");
    let all = differences.into_iter();
    all.map(|(outcome, why)| finding(outcome, message.clone(), why))
        .collect()
}

/// The numbers that a member of the answer refers to.
fn named<'a>(place: &Value, numbers: &'a [f64]) -> &'a [f64] {
    let number = |i: usize| place[i].as_u64().expect("a place") as usize;
    &numbers[number(0)..number(0) + number(1)]
}

/// Whether Arcuate's value is that of the other program, rounded to single precision.
fn same(ours: f32, theirs: f64) -> bool {
    let (rounded, own) = (f64::from(theirs as f32), f64::from(ours));
    own == rounded
        || (own.is_nan() && theirs.is_nan())
        || (own - theirs).abs() <= ROUNDING * theirs.abs()
}

fn first_other(ours: &[f32], theirs: &[f64]) -> Option<String> {
    if ours.len() != theirs.len() {
        return Some(format!("{} numbers and {}", ours.len(), theirs.len()));
    }
    let mut pairs = ours.iter().zip(theirs).enumerate();
    let (i, (a, b)) = pairs.find(|(_, (a, b))| !same(**a, **b))?;
    Some(format!("number {i} is {a} and {b}"))
}

fn of_images(volume: &Volume, theirs: &Value, numbers: &[f64]) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let shape = theirs["shape"].as_array().expect("a shape").iter();
    let shape: Vec<usize> = shape
        .map(|n| n.as_u64().expect("a size") as usize)
        .collect();
    let [x, y, z] = volume.grid.shape;
    let frames: usize = shape[3..].iter().product();
    if shape[..3] != [x, y, z] || frames != volume.frames {
        let own = (volume.grid.shape, volume.frames);
        return vec![("Shape", format!("{own:?} and {shape:?}"))];
    }
    let affine = named(&theirs["affine"], numbers);
    let own = volume.grid.world_from_voxel;
    let own = [0, 1, 2].map(|r| {
        let m = own.matrix3;
        [m.x_axis[r], m.y_axis[r], m.z_axis[r], own.translation[r]]
    });
    // The error of a rotation of long edges is a fraction of the longest.
    let longest = affine
        .iter()
        .fold(0.0, |longest: f64, v| longest.max(v.abs()));
    let far = |(a, b): (&f64, &f64)| {
        let off = (a - b).abs();
        off.is_nan() || off > NEAR_MM.max(1e-6 * longest)
    };
    // NaN throughout: an NRRD without a space, for which pynrrd computes no affine.
    let unsaid = affine.iter().all(|v| v.is_nan());
    if !unsaid && own.as_flattened().iter().zip(affine).any(far) {
        found.push(("Affine", format!("{own:?} and {affine:?}")));
    }
    let values = first_other(&volume.values, named(&theirs["values"], numbers));
    found.extend(values.map(|why| ("Values", why)));
    found
}

fn of_lines(tractogram: &Tractogram, file: &File, numbers: &[f64]) -> Vec<(&'static str, String)> {
    let theirs = &file.theirs;
    let offsets = named(&theirs["offsets"], numbers);
    let own: Vec<f64> = tractogram.offsets.iter().map(|&o| o as f64).collect();
    // nibabel leaves out streamlines without points.
    let mut kept = own.clone();
    if matches!(&*file.format, "tck" | "trk") {
        kept.dedup();
    }
    if kept != offsets {
        let why = format!("ends at {own:?} and {offsets:?}");
        return vec![("Streamlines", why)];
    }
    let mut found = Vec::new();
    let points = named(&theirs["points"], numbers);
    let own = tractogram.points.as_flattened();
    let near = |(a, b): (&f32, &f64)| {
        let off = (f64::from(*a) - b).abs();
        same(*a, *b) || off <= NEAR_MM.max(1e-6 * b.abs())
    };
    if own.len() != points.len() || !own.iter().zip(points).all(near) {
        let why = first_other(own, points).unwrap_or_default();
        found.push(("Points", why));
    }
    for (key, values) in [
        ("columns", &tractogram.per_point),
        ("of_lines", &tractogram.per_streamline),
    ] {
        let lists = theirs[key].as_array().expect("lists");
        // VTK's values of cells, and streamlines that nibabel left out, are not compared.
        let excluded = kept.len() != tractogram.offsets.len();
        if key == "of_lines" && (excluded || file.format.starts_with("vt")) {
            continue;
        }
        let own: Vec<Vec<f32>> = columns(values)
            .into_iter()
            .map(|c| {
                let rows = c.columns[0].len();
                let row = |i: usize| c.columns.iter().map(move |v| v[i]);
                (0..rows).flat_map(row).collect()
            })
            .collect();
        let other = match own.len() == lists.len() {
            false => Some(format!("{} lists and {}", own.len(), lists.len())),
            true => own
                .iter()
                .zip(lists)
                .find_map(|(own, list)| first_other(own, named(list, numbers))),
        };
        found.extend(other.map(|why| ("Columns", format!("{key}: {why}"))));
    }
    found
}
