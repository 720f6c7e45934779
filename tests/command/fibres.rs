//! `arcuate track` through distributions and peaks: files and report, tissues, the same streamlines on any number of
//! threads, refusals, options of another model, and weights of streamlines by the peaks of distributions.

mod noise;
mod pathways;

use crate::cli::{arcuate, json, refuses};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::{Grid, Volume, VolumeKind};
use arcuate::io::image;
use glam::DVec3;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("fibres::streamlines_of_a_head", head),
        test("fibres::refusals", refusals),
        test(
            "fibres::options of another model are refused",
            foreign_options,
        ),
        test(
            "fibres::a shared option has the limits of the chosen model",
            shared_options,
        ),
        test("fibres::weights_by_their_peaks", weights),
        test("fibres::bootstrap", bootstrap),
        test("fibres::noise_of_streamlines", noise::repetitions),
        test("fibres::rays along lobes", rays),
        test("fibres::pathways", pathways::through_distributions),
    ]
}

/// The bytes of a TCK file after its header.
fn points_of(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).expect("a file");
    let end = bytes.windows(4).position(|w| w == b"END\n");
    bytes[end.expect("a header")..].to_vec()
}

fn run(line: &str, here: &Path) -> Value {
    let parts: Vec<&str> = line.split(' ').collect();
    json(&parts, here)
}

/// A coarse head with its distributions and peaks, and tissues: white matter where they are, grey matter around.
fn make_head(here: &Path) {
    run(
        "phantom --scan-only --spacing 4 --shells 2500:45 --b0 4 --out head",
        here,
    );
    run(
        "fod head/dwi.nii.gz --mask head/brain_mask.nii.gz --order 4 --maps peaks --out fod",
        here,
    );
    let fod = image::read(&here.join("fod/wm_fod.nii.gz"), &Control::new());
    let fod = fod.expect("distributions").0;
    let n = fod.grid.voxel_count();
    let mut values = vec![0f32; 5 * n];
    for (voxel, mean) in fod.frame(0).iter().enumerate() {
        let tissue = match *mean {
            c if c > 0.15 => 2,
            c if c > 0.0 => 0,
            _ => 3,
        };
        values[tissue * n + voxel] = 1.0;
    }
    let tissues = Volume::new(fod.grid.clone(), 5, VolumeKind::Scalar, values);
    let path = here.join("5tt.nii.gz");
    image::save_volume(&path, &tissues, "tissues", &Control::new()).expect("written");
}

fn sum(counts: &Value) -> u64 {
    let counts = counts.as_object().expect("counts");
    counts.values().filter_map(Value::as_u64).sum()
}

fn head() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    make_head(here);
    let line = "track --fod fod/wm_fod.nii.gz --tissues 5tt.nii.gz --seeds random:500";
    let report = run(&format!("{line} --threads 2 --out whole.tck"), here);
    assert_eq!(report["command"], "track");
    assert_eq!(report["seeds"], 500);
    assert_eq!(sum(&report["outcomes"]), 500);
    assert_eq!(report["outcomes"]["kept"], report["kept"]);
    assert!(report["outcomes"]["ends-in-white"].is_u64());
    assert!(report["stops"]["cortical-grey"].as_u64() > Some(0));
    // Half a voxel, and lower with tissues.
    assert_eq!(report["parameters"]["step"], 2.0);
    assert_eq!(report["parameters"]["cutoff"], 0.05);
    run(&format!("{line} --threads 1 --out one.tck"), here);
    let points = |name: &str| points_of(&here.join(name));
    assert_eq!(points("whole.tck"), points("one.tck"));
    // The repeat is the same, too.
    let repeat = report["repeat"].as_str().expect("a command");
    let repeated = repeat
        .strip_prefix("arcuate ")
        .expect("arcuate")
        .replace("whole.tck", "again.tck");
    run(&repeated, here);
    assert_eq!(points("whole.tck"), points("again.tck"));
    let select = run(
        "track --fod fod/wm_fod.nii.gz --tissues 5tt.nii.gz --select 20 --seed-interface --out few.trx",
        here,
    );
    assert_eq!(select["kept"], 20);
    assert_eq!(
        sum(&select["outcomes"]),
        select["seeds"].as_u64().unwrap_or(0)
    );
    let peaks = run(
        "track --peaks fod/peaks.nii.gz --seeds random:200 --out peaks.trk",
        here,
    );
    assert_eq!(peaks["parameters"]["method"], "deterministic");
    assert!(peaks["kept"].as_u64() > Some(20));
    assert!(peaks["outcomes"]["ends-in-white"] == 0);
}

/// Rays along lobes: counts, values and files as in tensors, the same on any number of threads, and refusals.
fn rays() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    make_head(here);
    let line = "geodesic --fod fod/wm_fod.nii.gz --odf-basis mrtrix --odf-frame world --seed sphere:-24,-18,8,8 \
                --seeds random:40";
    let report = run(&format!("{line} --threads 2 --out rays.tck"), here);
    assert_eq!(report["command"], "geodesic");
    assert_eq!([&report["seeds"], &report["directions"]], [40, 20]);
    assert_eq!(sum(&report["outcomes"]), 800);
    let passed = report["passed"].as_u64().expect("a number");
    assert!(passed > 100, "{report}");
    assert_eq!(report["kept"], passed.div_ceil(10));
    assert!(report["measure"]["cut"].as_f64() >= report["measure"]["median"].as_f64());
    assert!(here.join("rays.tsf").exists() && !here.join("rays.fa.tsf").exists());
    // The unit of the measure and the parameters are reported; tensors, which are repaired, are not there.
    let reference = report["reference_amplitude"].as_f64().expect("a number");
    assert!(reference > 0.0);
    assert!(report["repaired"].is_null());
    assert_eq!(report["parameters"]["directions"], "cone:20,5");
    assert!(report["parameters"]["speed_floor"].is_number());
    assert!(report["parameters"]["fa"].is_null() && report["parameters"]["sharpen"].is_null());
    let printed = arcuate(
        &format!("{line} --out printed.tck")
            .split(' ')
            .collect::<Vec<_>>(),
        here,
    );
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let stated = format!("Reference amplitude {reference:.4}\n");
    assert!(
        printed.contains(&stated) && !printed.contains("repaired"),
        "{printed}"
    );
    run(&format!("{line} --threads 1 --out one.tck"), here);
    let points = |name: &str| points_of(&here.join(name));
    assert_eq!(points("rays.tck"), points("one.tck"));
    let repeat = report["repeat"].as_str().expect("a command");
    let repeated = repeat.strip_prefix("arcuate ").expect("arcuate");
    run(&repeated.replace("rays.tck", "again.tck"), here);
    assert_eq!(points("rays.tck"), points("again.tck"));
    let cases: [(&str, [&str; 2]); 8] = [
        ("--step 1", ["neither a scan nor --fod", "name a scan"]),
        (
            "head/dwi.nii.gz --fod fod/wm_fod.nii.gz",
            [
                "Found the scan head/dwi.nii.gz and --fod",
                "leave out the scan",
            ],
        ),
        (
            "--fod fod/wm_fod.nii.gz --sharpen power:2",
            ["--sharpen beside --fod", "rays in tensors"],
        ),
        (
            "head/dwi.nii.gz --speed-floor 0.1",
            ["--speed-floor beside the scan", "rays in distributions"],
        ),
        (
            "--fod fod/wm_fod.nii.gz --speed-exponent 0",
            ["--speed-exponent", "0.01"],
        ),
        (
            "--fod fod/wm_fod.nii.gz --bval head/dwi.bval",
            ["Found --bval beside --fod", "rays in tensors"],
        ),
        (
            "--fod fod/wm_fod.nii.gz --tensor-frame world",
            ["Found --tensor-frame beside --fod", "rays in tensors"],
        ),
        (
            "head/dwi.nii.gz --bvec head/dwi.bvec",
            [
                "Found --bvec without --bval, expected both",
                "name both files",
            ],
        ),
    ];
    for (rest, parts) in cases {
        let line = format!("geodesic {rest} --seed sphere:0,0,0,5 --out no.tck");
        let output = arcuate(&line.split(' ').collect::<Vec<_>>(), here);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{rest}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{rest}: {error}");
        for part in parts {
            assert!(error.contains(part), "{rest}: {error}");
        }
    }
}

fn refusals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    make_head(here);
    let refused = |rest: &str, parts: &[&str]| {
        let line = format!("track {rest} --out no.tck");
        refuses(&line.split(' ').collect::<Vec<_>>(), parts, here);
        assert!(!here.join("no.tck").exists(), "{rest}");
    };
    let layout = "--odf-basis mrtrix --odf-frame world";
    let fod = format!("--fod fod/wm_fod.nii.gz {layout}");
    refused(
        &format!("--fod head/dwi.nii.gz {layout}"),
        &["49 volumes", "1, 6, 15, 28, 45, 66 or 91"],
    );
    // The 15 coefficients of order 4 are not 5 peaks.
    refused("--peaks fod/wm_fod.nii.gz", &["15 volumes", "--fod"]);
    refused(
        &format!("--fod head/brain_mask.nii.gz {layout}"),
        &["a single volume", "name the image of white matter"],
    );
    refused(
        &format!("{fod} --tissues fod/wm_fod.nii.gz"),
        &["15 volumes", "five of a tissue image"],
    );
    refused(
        &format!("{fod} --tissues head/brain_mask.nii.gz"),
        &["no voxel of white matter"],
    );
    refused(
        "--peaks fod/peaks.nii.gz --method probabilistic",
        &["peaks", "probabilistic", "deterministic"],
    );
    refused(&format!("{fod} --step 30"), &["30 mm", "two voxels"]);
    let misused = |rest: &str, part: &str| {
        let line = format!("track {rest} --out no.tck");
        let output = arcuate(&line.split(' ').collect::<Vec<_>>(), here);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{rest}: {error}");
        assert!(error.contains(part), "{rest}: {error}");
    };
    misused(&format!("{fod} --seed-interface"), "--tissues");
    for (seeds, part) in [
        ("random:0", "Found 0 in --seeds (Streamlines)"),
        ("grid:0", "Found 0 in --seeds (Seed spacing)"),
        ("per-voxel:0", "Found 0 in --seeds (Seeds per voxel)"),
    ] {
        misused(&format!("{fod} --seeds {seeds}"), part);
    }
    misused(
        &format!("{fod} --tissue-mask bone=head/brain_mask.nii.gz"),
        "cortical-grey",
    );
    misused(
        &format!("{fod} --method deterministic --samples 4"),
        "draws no arcs",
    );
}

/// Refused before any file is read: none of them exists.
fn foreign_options() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let cases: [(&str, &[&str]); 14] = [
        (
            "--fod f.nii --fa 0.2",
            &["--fa beside --fod", "through tensors", "scan"],
        ),
        (
            "--fod f.nii --bootstrap 9",
            &["--bootstrap", "--fod", "the scan of the distributions"],
        ),
        (
            "--peaks p.nii --bootstrap 9",
            &["--bootstrap beside --peaks", "through tensors"],
        ),
        (
            "--fod f.nii --gradients g.b",
            &["--gradients beside --fod", "through tensors"],
        ),
        ("--fod f.nii --responses wm.txt", &["--bootstrap"]),
        (
            "--fod f.nii --mask m.nii",
            &["--mask beside --fod", "through tensors"],
        ),
        (
            "--peaks p.nii --deflect 0.3,0.7",
            &["--deflect beside --peaks", "through tensors"],
        ),
        (
            "--peaks p.nii --iterations 3",
            &["--iterations beside --peaks", "through tensors"],
        ),
        (
            "dwi.nii --cutoff 0.1",
            &[
                "--cutoff beside the scan",
                "through distributions or peaks",
                "--fod",
            ],
        ),
        (
            "dwi.nii --tissues 5tt.nii",
            &[
                "--tissues beside the scan",
                "through distributions or peaks",
            ],
        ),
        (
            "dwi.nii --select 10",
            &["--select beside the scan", "through distributions or peaks"],
        ),
        (
            "dwi.nii --fod f.nii",
            &["dwi.nii", "--fod", "expected one of them"],
        ),
        ("--fod f.nii --peaks p.nii", &["--fod", "--peaks"]),
        ("--step 1", &["neither a scan nor --fod nor --peaks"]),
    ];
    for (rest, parts) in cases {
        let line = format!("track {rest} --out no.tck");
        let output = arcuate(&line.split(' ').collect::<Vec<_>>(), here);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{rest}: {error}");
        assert_eq!(error.trim_end().lines().count(), 1, "{rest}: {error}");
        for part in parts {
            assert!(error.contains(part), "{rest}: {error}");
        }
        assert!(!here.join("no.tck").exists(), "{rest}");
    }
}

fn shared_options() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = |rest: &str| {
        let line = format!("track {rest} --out no.tck");
        let output = arcuate(&line.split(' ').collect::<Vec<_>>(), folder.path());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(error.trim_end().lines().count(), 1, "{rest}: {error}");
        (output.status.code(), error)
    };
    for (rest, parts) in [
        ("--angle 120", ["--angle", "at most 90"]),
        ("--angle off", ["--angle", "at most 90"]),
        (
            "--method ols",
            ["--method", "probabilistic or deterministic"],
        ),
        ("--step abc", ["--step", "from 0.001 to 100"]),
        ("--seeds none", ["--seeds", "random:N"]),
    ] {
        let (code, text) = error(&format!("--fod f.nii {rest}"));
        assert_eq!(code, Some(2), "{rest}: {text}");
        assert!(
            parts.iter().all(|part| text.contains(part)),
            "{rest}: {text}"
        );
    }
    // Tensors permit these: what fails is the scan, which does not exist.
    for rest in ["--angle 120", "--angle off", "--method ols"] {
        let (code, text) = error(&format!("none.nii {rest}"));
        assert_eq!(code, Some(1), "{rest}: {text}");
        assert!(text.contains("none.nii"), "{rest}: {text}");
    }
    let (code, text) = error("none.nii --method deterministic");
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("ols, wls or iwls"), "{text}");
}

/// Distributions give the weights of the peaks that are found in them.
fn weights() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    make_head(here);
    let run = |line: &str| run(line, here);
    run("track head/dwi.nii.gz --seeds random:300 --out all.tck");
    let weights = |out: &str| -> Vec<String> {
        let text = std::fs::read_to_string(here.join(out).join("weights.txt")).expect("a file");
        let lines = text.lines().filter(|l| !l.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    let base = "commit all.tck head/dwi.nii.gz --iterations 100";
    let of_image = run(&format!("{base} --peaks fod/peaks.nii.gz --out a"));
    let of_fods = run(&format!("{base} --fod fod/wm_fod.nii.gz --out b"));
    let notes = of_fods["notes"].to_string();
    assert!(!notes.contains("basis"), "they say it themselves: {notes}");
    let of_tensors = run(&format!("{base} --out c"));
    assert_eq!(of_fods["peaks"], of_image["peaks"]);
    assert_eq!(of_fods["rmse"], of_image["rmse"]);
    assert_eq!(weights("b"), weights("a"));
    assert!(of_fods["peaks"].as_u64() > of_tensors["peaks"].as_u64());
    assert!(of_fods["rmse"].as_f64() < of_tensors["rmse"].as_f64());
    assert_ne!(weights("b"), weights("c"));
    let world = "--odf-basis mrtrix --odf-frame world";
    let stated = run(&format!("{base} --fod fod/wm_fod.nii.gz {world} --out d"));
    assert_eq!(weights("d"), weights("a"));
    assert!(!stated["notes"].to_string().contains("MRtrix's basis"));
    // Other voxels, and no distributions.
    let grid = Grid::axis_aligned([3; 3], DVec3::splat(2.0), DVec3::ZERO).expect("a grid");
    let values = [vec![0.28f32; 27], vec![0.0; 5 * 27]].concat();
    let small = Volume::new(Arc::new(grid), 6, VolumeKind::Scalar, values);
    image::save_volume(&here.join("small.nii.gz"), &small, "", &Control::new()).expect("a file");
    let fods = here.join("fod/wm_fod.nii.gz");
    let (fods, _) = image::read(&fods, &Control::new()).expect("distributions");
    let mut affine = fods.grid.world_from_voxel;
    affine.translation.x += 5.0;
    let elsewhere = Grid::new(fods.grid.shape, affine, fods.grid.source).expect("a grid");
    let moved = fods.on_grid(Arc::new(elsewhere));
    image::save_volume(&here.join("moved.nii.gz"), &moved, "", &Control::new()).expect("a file");
    for (rest, parts) in [
        (
            "--fod moved.nii.gz",
            ["up to 5.0 mm away from the scan's voxels", "moved.nii.gz"],
        ),
        (
            "--fod small.nii.gz",
            ["3 × 3 × 3 voxels, the scan has", "small.nii.gz"],
        ),
        (
            "--fod head/brain_mask.nii.gz",
            ["a single volume", "at least 6"],
        ),
        (
            "--fod head/dwi.nii.gz",
            ["49 volumes", "1, 6, 15, 28, 45, 66 or 91"],
        ),
    ] {
        let line = format!("{base} {rest} {world} --out e");
        refuses(&line.split(' ').collect::<Vec<_>>(), &parts, here);
    }
    let line = format!("{base} --peaks fod/wm_fod.nii.gz --out e");
    refuses(
        &line.split(' ').collect::<Vec<_>>(),
        &["15 volumes", "--fod"],
        here,
    );
    for (rest, sentence) in [
        (
            "--fod fod/wm_fod.nii.gz --across 0",
            "--fod, which has no effect",
        ),
        (
            "--fod fod/wm_fod.nii.gz --model density",
            "--fod, which has no effect",
        ),
        (
            "--fod fod/wm_fod.nii.gz --peaks fod/peaks.nii.gz",
            "cannot be used with",
        ),
        (world, "--fod"),
        (
            "--peaks fod/peaks.nii.gz --odf-affine matrix:0,1,0,0,-1,0,0,0,0,0,1,0",
            "cannot be used with",
        ),
    ] {
        let line = format!("{base} {rest} --out e");
        let output = arcuate(&line.split(' ').collect::<Vec<_>>(), here);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{rest}: {message}");
        assert!(message.contains(sentence), "{rest}: {message}");
    }
    assert!(!here.join("e").exists());
}

/// One thread and three give equal streamlines, and so does the command in the report. The response functions beside the
/// distributions are used.
fn bootstrap() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    make_head(here);
    let line =
        "track head/dwi.nii.gz --fod fod/wm_fod.nii.gz --bootstrap 3 --seeds random:60 --out";
    let report = run(&format!("{line} one.tck --threads 1"), here);
    assert_eq!(report["parameters"]["bootstrap"], 3);
    assert_eq!(report["seeds"], 180);
    assert_eq!(sum(&report["outcomes"]), 180);
    run(&format!("{line} three.tck --threads 3"), here);
    let points = |name: &str| points_of(&here.join(name));
    assert_eq!(points("one.tck"), points("three.tck"));
    let repeat = report["repeat"].as_str().expect("a command");
    assert!(
        repeat.starts_with("arcuate track head/dwi.nii.gz --fod fod/wm_fod.nii.gz"),
        "{repeat}"
    );
    let repeated = repeat
        .strip_prefix("arcuate ")
        .expect("arcuate")
        .replace("one.tck", "again.tck");
    run(&repeated, here);
    assert_eq!(points("one.tck"), points("again.tck"));
    let repetitions = std::fs::read_to_string(here.join("one.repetition.weights.txt"));
    let repetitions = repetitions.expect("the numbers of the repetitions");
    assert!(repetitions.split_whitespace().any(|n| n.starts_with('2')));
    let output = arcuate(
        &format!("{line} no.tck --responses missing.txt")
            .split(' ')
            .collect::<Vec<_>>(),
        here,
    );
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("missing.txt"), "{error}");
}
