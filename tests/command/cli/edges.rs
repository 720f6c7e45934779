//! Every command on degenerate inputs: it ends with exit code 0, or with 1 and one sentence. And scans that no tensor
//! fits: they get no maps.

use super::{arcuate, json, refuses};
use crate::support::test;
use arcuate::cli::Arguments;
use arcuate::compute::Control;
use arcuate::data::{Gradients, Grid, Volume, VolumeKind};
use arcuate::io::{self, nifti};
use clap::CommandFactory as _;
use glam::DVec3;
use libtest_mimic::Trial;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("cli::edges::of_streamlines", of_streamlines),
        test("cli::edges::of_images", of_images),
        test("cli::edges::every_command_is_in_the_table", whole),
        test("cli::edges::scans without signal have no maps", no_maps),
        test("cli::edges::units_of_b_values", units),
        test("cli::edges::units_of_timing", timing),
        test("cli::edges::errors state their cause", sentences),
        test("cli::edges::strict_conversion_of_a_scan", strict),
    ]
}

/// `{}` is replaced by a streamline file. Names of outputs begin with `O`.
const STREAMLINES: &[&str] = &[
    "info {}",
    "convert {} O.tck",
    "convert {} O.trk --reference t1.nii",
    "convert {} O.trx",
    "convert {} O.vtk",
    "convert {} O.vtp",
    "select {} O.trx --length 5..50",
    "select {} O.tck --include sphere:0,0,0,3",
    "select {} O.trx --number 1",
    "select {} O.trx --value fa=0..1",
    "select {} O.trx --image t1.nii:0..1e9",
    "density {} --template t1.nii --out O.nii.gz",
    "density {} --voxel 2 --out O.nii.gz",
    "density {} --template t1.nii --measure length --out O.nii.gz",
    "commit {} dwi.nii --mask mask.nii --out O",
    "table {} O.csv --image t1.nii",
    "profile {} O.csv --image t1.nii",
    "connectome {} labels.nii O.csv",
    "render {} t1.nii --out O.png",
    "score {} --truth .",
    "compare mask.nii {}",
    "bundles {} --out O.trx",
];

/// `{}` is replaced by an image.
const IMAGES: &[&str] = &[
    "info {}",
    "convert {} O.nii.gz",
    "convert {} O.nrrd",
    "convert {} O.ply",
    "fit {} --out O",
    "fit {} --mask mask.nii --out O",
    "fit dwi.nii --mask {} --out O",
    "fod {} --out O",
    "track --fod {} --out O.tck",
    "fod dwi.nii --mask {} --out O",
    "track {} --mask mask.nii --seed sphere:0,0,0,4 --seeds random:50 --out O.tck",
    "geodesic {} --mask mask.nii --seed sphere:0,0,0,4 --seeds random:20 --out O.tck",
    "pathway {} --mask mask.nii --from sphere:-4,0,0,2 --to sphere:4,0,0,2 --out O",
    "uncertainty {} --mask mask.nii --from sphere:-4,0,0,2 --to sphere:4,0,0,2 --repetitions 2 --out O",
    "gradients check {} --mask mask.nii --out O",
    "gradients turn {} --turn y,x,z --out O",
    "gradients tensors {}",
    "segment {} --probe 0,0,0 --add sphere:0,0,0,4 --out O",
    "region --image {} --threshold 1..1e9 --out O.nii.gz",
    "region --image {} --label 1 --out O.nii.gz",
    "align {} t1.nii --out O.txt",
    "align t1.nii {} --out O.txt",
    "commit one.tck {} --mask mask.nii --out O",
    "table one.tck O.csv --image {}",
    "profile one.tck O.csv --image {}",
    "connectome one.tck {} O.csv",
    "density one.tck --template {} --out O.nii.gz",
    "select one.tck O.trx --include mask:{}",
    "compare mask.nii {} --staple O.nii.gz --csv O.csv",
    "compare {} one.tck",
    "bundles one.tck --labels {} --out O.trx",
    "region --union mask:mask.nii --stats {} --csv O.csv --histogram O2.csv",
    "render {} --out O.png",
    "replay {}",
    "methods {}",
    "report {} --no-pictures --out O.html",
    "protocol {} --out O.toml",
    "run {} --subject-folder . --out O",
    "bids . O participant --protocol {}",
];

/// Commands that read no file.
const WITHOUT_INPUT: &[&str] = &["phantom", "demo", "bench", "guide"];

fn whole() {
    let commands = Arguments::command();
    let names = commands.get_subcommands().map(|c| c.get_name().to_owned());
    for name in names {
        let begins = |line: &&&str| line.split(' ').next() == Some(name.as_str());
        let tried = STREAMLINES.iter().chain(IMAGES).find(begins).is_some();
        let listed = WITHOUT_INPUT.contains(&name.as_str());
        assert!(
            tried != listed,
            "the command {name} is in no table, or in both"
        );
    }
}

fn grid() -> Arc<Grid> {
    let grid = Grid::axis_aligned([11; 3], DVec3::splat(2.0), DVec3::splat(-10.0));
    Arc::new(grid.expect("a grid"))
}

fn save(here: &Path, name: &str, frames: usize, values: Vec<f32>) {
    let volume = Volume::new(grid(), frames, VolumeKind::Scalar, values);
    nifti::save_volume(&here.join(name), &volume, "", &Control::new()).expect("saved");
}

/// Two volumes without diffusion weighting and twelve of b = 1000.
fn gradients() -> Gradients {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let direction = |i: usize| {
        let z = 1.0 - (2 * i + 1) as f64 / 24.0;
        let (sin, cos) = (golden * i as f64).sin_cos();
        DVec3::new(cos, sin, 0.0) * (1.0 - z * z).sqrt() + DVec3::Z * z
    };
    let none = [DVec3::ZERO; 2].into_iter();
    Gradients {
        b_s_per_mm2: [vec![0.0; 2], vec![1000.0; 12]].concat(),
        directions: none.chain((0..12).map(direction)).collect(),
    }
}

/// A scan with its table; `value` depends on whether a voxel is in the ball, and on a volume's weighting.
fn scan(here: &Path, name: &str, value: impl Fn(bool, f64, DVec3) -> f64) {
    let (grid, table) = (grid(), gradients());
    let inside = |i: usize| {
        let at = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
        at.distance(DVec3::splat(5.0)) < 4.5
    };
    let mut values = Vec::new();
    for (b, g) in table.b_s_per_mm2.iter().zip(&table.directions) {
        let all = (0..grid.voxel_count()).map(|i| value(inside(i), *b, *g) as f32);
        values.extend(all);
    }
    save(here, &format!("{name}.nii"), 14, values);
    let at = |ending: &str| here.join(format!("{name}.{ending}"));
    io::gradients::save(&at("bval"), &at("bvec"), &table, &grid).expect("saved");
    if name == "dwi" {
        let mask = (0..grid.voxel_count()).map(|i| f32::from(u8::from(inside(i))));
        save(here, "mask.nii", 1, mask.collect());
    }
}

/// Fibres along x; noise of a few grey levels from a counter.
fn tissue(inside: bool, b: f64, g: DVec3) -> f64 {
    let along = g.x * g.x;
    let d = 3e-4 + 1.4e-3 * along;
    match inside {
        true => 1000.0 * (-b * d).exp(),
        false => 5.0,
    }
}

fn inputs(here: &Path) {
    scan(here, "dwi", tissue);
    let n = grid().voxel_count();
    let t1 = (0..n).map(|i| (i * 37 % 1009) as f32);
    save(here, "t1.nii", 1, t1.collect());
    let half = (0..n).map(|i| if i < n / 2 { 1.0 } else { 2.0 });
    save(here, "labels.nii", 1, half.collect());
}

fn tck(here: &Path, name: &str, points: &[[f32; 3]]) {
    let mut bytes = b"mrtrix tracks\ncount: 1\ndatatype: Float32LE\nfile: . 100\nEND\n".to_vec();
    bytes.resize(100, 0);
    let ends = [[f32::NAN; 3], [f32::INFINITY; 3]];
    let ends = if points.is_empty() { &ends[1..] } else { &ends };
    for point in points.iter().chain(ends) {
        bytes.extend(point.iter().flat_map(|v| v.to_le_bytes()));
    }
    std::fs::write(here.join(name), bytes).expect("written");
}

/// Runs a line of a table.
fn at_the_edge(line: &str, input: &str, here: &Path) {
    let line = line.replace("{}", input);
    let split: Vec<&str> = line.split(' ').collect();
    let output = arcuate(&[&split[..], &["--quiet", "--threads", "2"]].concat(), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{line}: {code:?} {error}");
    // Notes about the inputs, then the sentence.
    let lines: Vec<&str> = error.lines().collect();
    assert!(
        lines.iter().all(|l| l.starts_with("arcuate: ")),
        "{line}: {error}"
    );
    let most = 3 + usize::from(code == Some(1));
    assert!(lines.len() <= most, "{line}: {error}");
    if code == Some(1) {
        let last = lines
            .last()
            .unwrap_or_else(|| panic!("{line}: no sentence"));
        assert!(last.len() > 30, "{line}: {last}");
    }
    let written = std::fs::read_dir(here).expect("listed").flatten();
    for entry in written {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(!name.starts_with(".arcuate-"), "{line} leaves {name}");
        if name.starts_with('O') {
            assert_eq!(code, Some(0), "{line} leaves {name}");
            let _ = std::fs::remove_file(entry.path());
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn of_streamlines() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    inputs(here);
    let line = |n: usize| -> Vec<[f32; 3]> { (0..n).map(|i| [i as f32 - 8.0, 0.0, 0.0]).collect() };
    let turn = |i: usize| {
        let t = i as f32 * 1e-3;
        [9.0 * t.sin(), 9.0 * (0.7 * t).cos(), 9.0 * (0.3 * t).sin()]
    };
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for (name, points) in [
        ("one.tck", line(16)),
        ("empty.tck", Vec::new()),
        ("point.tck", line(1)),
        ("same.tck", vec![[1.0; 3]; 5]),
        ("nan.tck", vec![[0.0; 3], [1.0, nan, 0.0], [2.0; 3]]),
        ("infinite.tck", vec![[0.0; 3], [1.0, inf, 0.0], [2.0; 3]]),
        (
            "huge.tck",
            vec![[0.0; 3], [3e38, 0.0, 0.0], [-3e38, 1.0, 0.0]],
        ),
        ("far.tck", vec![[-1e7, 0.0, 0.0], [1e7, 0.0, 0.0]]),
        ("long.tck", (0..300_000).map(turn).collect()),
    ] {
        tck(here, name, &points);
        for line in STREAMLINES {
            at_the_edge(line, name, here);
        }
    }
    std::fs::write(here.join("nothing.tck"), "").expect("written");
    for line in STREAMLINES {
        at_the_edge(line, "nothing.tck", here);
    }
}

fn of_images() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    inputs(here);
    tck(here, "one.tck", &[[-8.0, 0.0, 0.0], [8.0, 0.0, 0.0]]);
    scan(here, "zero", |_, _, _| 0.0);
    scan(here, "nan", |_, _, _| f64::NAN);
    scan(here, "same", |_, _, _| 7.0);
    scan(here, "large", |inside, b, g| {
        1e38 * tissue(inside, b, g) / 1000.0
    });
    std::fs::write(here.join("nothing.nii"), "").expect("written");
    let n = grid().voxel_count();
    save(here, "empty.nii", 1, vec![0.0; n]);
    save(here, "none.nii", 1, vec![f32::NAN; n]);
    let big = (0..n).map(|i| if i < n / 2 { 1.0 } else { 1_073_741_824.0 });
    save(here, "big.nii", 1, big.collect());
    let one = Grid::axis_aligned([1; 3], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let one = Volume::scalar(Arc::new(one), vec![3.0]);
    nifti::save_volume(&here.join("voxel.nii"), &one, "", &Control::new()).expect("saved");
    for input in [
        "dwi.nii",
        "zero.nii",
        "nan.nii",
        "same.nii",
        "large.nii",
        "nothing.nii",
        "empty.nii",
        "none.nii",
        "big.nii",
        "voxel.nii",
        "missing.nii",
    ] {
        for line in IMAGES {
            at_the_edge(line, input, here);
        }
    }
}

/// No output is written for a scan that no tensor fits.
fn no_maps() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    inputs(here);
    scan(here, "zero", |_, _, _| 0.0);
    scan(here, "nan", |_, _, _| f64::NAN);
    // The signal grows with b in every direction: none of its tensors is positive definite.
    scan(here, "grows", |inside, b, _| {
        if inside {
            100.0 * (1e-3 * b).exp()
        } else {
            5.0
        }
    });
    for (name, reason) in [
        ("zero.nii", "enough signal for a tensor"),
        ("nan.nii", "enough signal for a tensor"),
        ("grows.nii", "has a positive definite tensor"),
    ] {
        for command in ["fit", "gradients check"] {
            let line = format!("{command} {name} --mask mask.nii --out O");
            let phrases = [reason, "; check"];
            refuses(&line.split(' ').collect::<Vec<_>>(), &phrases, here);
            assert!(
                !here.join("O").exists() && !here.join("O.bval").exists(),
                "{line}"
            );
        }
    }
    // A signal like this in most of a mask is worth a remark.
    let half = |inside: bool, b: f64, g: DVec3| match inside {
        true => tissue(true, b, g),
        false => 100.0 * (1e-3 * b).exp(),
    };
    scan(here, "half", half);
    let n = grid().voxel_count();
    save(here, "all.nii", 1, vec![1.0; n]);
    for (mask, warned) in [("all.nii", true), ("mask.nii", false)] {
        let out = format!("within {mask}");
        let output = arcuate(&["fit", "half.nii", "--mask", mask, "--out", &out], here);
        let note = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{note}");
        assert_eq!(note.contains("71 % of the fitted voxels"), warned, "{note}");
        // Anything computed from the tensors carries the remark.
        let line = format!("track half.nii --mask {mask} --seeds random:20 --out {mask}.tck");
        let output = arcuate(&line.split(' ').collect::<Vec<_>>(), here);
        let note = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(note.contains("71 % of the fitted voxels"), warned, "{note}");
    }
    for name in ["zero.nii", "nan.nii"] {
        refuses(&["fit", name, "--out", "O"], &["no number above 0"], here);
        assert!(!here.join("O").exists());
    }
}

/// b-values in other units give exactly the same tensors, and this is reported.
fn units() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    inputs(here);
    let fit = |out: &str| {
        let line = [
            "fit", "dwi.nii", "--mask", "mask.nii", "--maps", "md,fa", "--out", out,
        ];
        let output = arcuate(&line, here);
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let maps = |out: &str| {
        let read = |name: &str| {
            let read = io::image::read(&here.join(out).join(name), &Control::new());
            read.unwrap_or_else(|e| panic!("{e}")).0.values
        };
        [read("md.nii.gz"), read("fa.nii.gz")]
    };
    assert_eq!(fit("plain"), (Some(0), String::new()));
    let write = |b: &str| {
        let b = [vec!["0"; 2], vec![b; 12]].concat().join(" ");
        std::fs::write(here.join("dwi.bval"), b).expect("written");
    };
    for (b, remark) in [
        ("1000000", "divided by 1000"),
        ("1e9", "s/m²"),
        ("1", "ms/µm²"),
    ] {
        write(b);
        let (code, note) = fit(b);
        assert_eq!(code, Some(0), "{note}");
        assert_eq!(note.lines().count(), 1, "{note}");
        assert!(
            note.contains(remark) && note.contains("1000 s/mm²"),
            "{note}"
        );
        assert_eq!(maps(b), maps("plain"), "{b}");
        let info = json(&["info", "dwi.nii"], here);
        assert_eq!(info["files"][0]["shells"][1]["b_s_per_mm2"], 1000, "{info}");
        assert!(
            info["warnings"][0]
                .as_str()
                .is_some_and(|n| n.contains(remark))
        );
    }
    for b in ["250000", "1e8", "1e13"] {
        write(b);
        let line = ["fit", "dwi.nii", "--mask", "mask.nii", "--out", "O"];
        refuses(&line, &["b-values up to", "s/mm²", "dwi.bval"], here);
        assert!(!here.join("O").exists(), "{b}");
    }
    // A single error does not change the unit of all others.
    let slip = ["0 5", &["1500"; 11].join(" "), "1500000"].join(" ");
    std::fs::write(here.join("dwi.bval"), slip).expect("written");
    let line = ["fit", "dwi.nii", "--mask", "mask.nii", "--out", "O"];
    let phrases = [
        "a b-value of 1500000",
        "typical b-value of 1500,",
        "dwi.bval",
    ];
    refuses(&line, &phrases, here);
    // Higher than in people, in any unit.
    write("25000");
    let (code, note) = fit("25000");
    assert_eq!(code, Some(0), "{note}");
    assert_eq!(note.lines().count(), 1, "{note}");
    assert!(note.contains("reach 25000 s/mm²"), "{note}");
    // Weak weightings alone are not a reason: no unit makes them strong.
    write("5");
    let line = ["fit", "dwi.nii", "--mask", "mask.nii", "--out", "O"];
    let output = arcuate(&line, here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("No volume in the b range is diffusion-weighted"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "one sentence: {error}");
    // Weighted volumes without any direction.
    write("1000");
    let vectors = [vec!["0"; 14].join(" ").as_str(); 3].join("\n");
    std::fs::write(here.join("dwi.bvec"), vectors).expect("written");
    let output = arcuate(&line, here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("no direction for any of 12"), "{error}");
    assert!(!error.contains("No volume is"), "{error}");
}

/// δ and Δ in seconds on the command line, in ms in a scheme, G in mT/m.
fn timing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    inputs(here);
    tck(here, "one.tck", &[[-8.0, 0.0, 0.0], [8.0, 0.0, 0.0]]);
    let row = |unit: f64, strength: f64| {
        let row = |i: usize| {
            let g = if i < 2 { 0.0 } else { strength };
            format!("1 0 0 {g} {} {} 0.1\n", 0.0431 * unit, 0.0322 * unit)
        };
        let rows: String = (0..14).map(row).collect();
        let text = format!("VERSION: STEJSKALTANNER\n{rows}");
        std::fs::write(here.join("a.scheme"), text).expect("written");
    };
    // One thread: several add in a different order each time.
    let line = "commit one.tck dwi.nii --mask mask.nii --model cylinder --force-model --force --threads 1 --out c";
    let base: Vec<&str> = line.split(' ').collect();
    let weights = || std::fs::read_to_string(here.join("c/weights.txt")).expect("weights");
    let go = |rest: &[&str]| {
        let output = arcuate(&[&base[..], rest].concat(), here);
        let notes = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{rest:?}: {notes}");
        let numbers = weights()
            .lines()
            .filter(|l| !l.starts_with('#'))
            .collect::<String>();
        (notes, numbers)
    };
    let (quiet, expected) = go(&["--pulse", "32.2", "--between", "43.1"]);
    let (notes, found) = go(&["--pulse", "0.0322", "--between", "0.0431"]);
    assert!(
        notes.contains("read as seconds") && !quiet.contains("seconds"),
        "{notes}"
    );
    assert_eq!(found, expected);
    for (unit, strength, remark) in [
        (1.0, 0.0204, ""),
        (1000.0, 0.0204, "read as ms"),
        (1.0, 20.4, "mT/m"),
        // G that gives another b than the scan's: it is not used, and both are reported.
        (1.0, 0.06, "b = 8646 s/mm² for volume"),
    ] {
        row(unit, strength);
        let (notes, found) = go(&["--scheme", "a.scheme"]);
        assert!(notes.contains(remark), "{notes}");
        assert_eq!(notes.contains("a.scheme"), !remark.is_empty(), "{notes}");
        assert_eq!(found, expected, "{remark}");
    }
    for (unit, strength, phrase) in [
        (1e6, 0.06, "Δ up to"),
        (1e-5, 0.06, "Δ up to"),
        (1.0, 60e3, "gradients of"),
    ] {
        row(unit, strength);
        refuses(
            &[&base[..], &["--scheme", "a.scheme"]].concat(),
            &[phrase, "; write"],
            here,
        );
    }
    let absurd = ["--pulse", "1e4", "--between", "1e5"];
    refuses(
        &[&base[..], &absurd].concat(),
        &["expected 1 to 2000 ms"],
        here,
    );
}

fn sentences() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    inputs(here);
    // Informative figures, and the origin of the limit.
    let message = arcuate(&["info", "dwi.nii", "--memory", "0.001"], here);
    let message = String::from_utf8_lossy(&message.stderr).into_owned();
    assert!(
        message.contains("74.5 kB") && message.contains("1.0 MB") && message.contains("--memory"),
        "{message}"
    );
    // Lack of memory when reading back is not blamed on the disk.
    let path = here.join("a.txt");
    let no_memory = io::Error::Memory {
        path: path.clone(),
        bytes: 12_300_000,
    };
    let kept = io::atomic::write_verified(&path, |_| Ok(()), |_| Err(no_memory));
    let text = kept.expect_err("refused").to_string();
    assert!(text.contains("12.3 MB") && !text.contains("disk"), "{text}");
    assert!(!path.exists());
    // An existing but broken table is the error.
    let vectors = std::fs::read_to_string(here.join("dwi.bvec")).expect("found");
    std::fs::write(here.join("dwi.bvec"), vectors.replacen(' ', " x ", 1)).expect("written");
    refuses(
        &["fit", "dwi.nii", "--out", "O"],
        &["“x” in line 1", "dwi.bvec"],
        here,
    );
    std::fs::remove_file(here.join("dwi.bvec")).expect("removed");
    refuses(&["fit", "dwi.nii", "--out", "O"], &["but no .bvec"], here);
    std::fs::remove_file(here.join("dwi.bval")).expect("removed");
    refuses(
        &["fit", "dwi.nii", "--out", "O"],
        &["Found no gradients beside the scan", "--bval"],
        here,
    );
    // Two signals that no tissue has.
    scan(here, "two", |inside, _, _| if inside { 0.0 } else { 9.0 });
    let output = arcuate(&["fit", "two.nii", "--out", "O"], here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("has a positive definite tensor"), "{error}");
    // A label that single precision cannot distinguish from others.
    let n = grid().voxel_count();
    let big = (0..n).map(|i| if i < n / 2 { 1.0 } else { 1_073_741_824.0 });
    save(here, "big.nii", 1, big.collect());
    tck(here, "one.tck", &[[-8.0, 0.0, 0.0], [8.0, 0.0, 0.0]]);
    for line in [
        "region --image big.nii --label 1 --out O.nii.gz",
        "connectome one.tck big.nii O.csv",
    ] {
        let phrases = ["label near 1073741824", "; number"];
        refuses(&line.split(' ').collect::<Vec<_>>(), &phrases, here);
    }
    save(here, "empty.nii", 1, vec![0.0; n]);
    let line = "region --image empty.nii --label 1 --out O.nii.gz";
    let phrases = ["no label but 0", "; choose"];
    refuses(&line.split(' ').collect::<Vec<_>>(), &phrases, here);
}

/// Data that would be lost stop a strict conversion; files next to the output are named.
fn strict() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    inputs(here);
    let done = json(&["convert", "dwi.nii", "a.nii.gz", "--strict"], here);
    assert_eq!(
        done["files"],
        serde_json::json!(["a.nii.gz", "a.bval", "a.bvec"])
    );
    let done = json(&["convert", "a.nii.gz", "b.nrrd", "--strict"], here);
    assert_eq!(done["files"], serde_json::json!(["b.nrrd"]));
    let info = json(&["info", "b.nrrd"], here);
    assert_eq!(info["files"][0]["shells"][1]["volumes"], 12, "{info}");
    json(&["convert", "b.nrrd", "c.nii.gz", "--strict"], here);
    refuses(&["convert", "b.nrrd", "c.nii.gz"], &["--force"], here);
    std::fs::remove_file(here.join("a.bvec")).expect("removed");
    let line = ["convert", "a.nii.gz", "d.nii.gz", "--strict"];
    refuses(&line, &["Nothing was written", "but no .bvec"], here);
    assert!(!here.join("d.nii.gz").exists());
    let done = json(&["convert", "a.nii.gz", "d.nii.gz"], here);
    let lost = done["left_out"][0].as_str().unwrap_or("");
    assert!(lost.contains("gradients"), "{done}");
}
