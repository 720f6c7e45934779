//! `arcuate segment`: its files agree with its report, and a script repeats it.

use super::{arcuate, json, refuses};
use crate::support::Random;
use arcuate::compute::Control;
use arcuate::data::{Grid, Volume};
use arcuate::io::{self, Opened};
use arcuate::solvers::level_set::{Event, RunHistory, ScriptEvent, Sphere};
use glam::DVec3;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A bright ball of 9 mm in noise, and its mask.
fn ball(random: &mut Random, folder: &Path) -> DVec3 {
    let spacing = DVec3::new(1.0, 1.2, 1.5);
    let grid = Grid::axis_aligned([34, 30, 24], spacing, DVec3::new(-16.0, -18.0, -17.0)).unwrap();
    let grid = Arc::new(grid);
    let centre = random.direction() * 2.0;
    let within = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        f32::from(u8::from(at.distance(centre) < 9.0))
    };
    let truth: Vec<f32> = (0..grid.voxel_count()).map(within).collect();
    let noisy: Vec<f32> = truth
        .iter()
        .map(|v| 50.0 + 60.0 * v + 10.0 * random.normal() as f32)
        .collect();
    let far = Grid::axis_aligned([2; 3], DVec3::ONE, DVec3::splat(500.0)).unwrap();
    let far = Volume::scalar(Arc::new(far), vec![1.0; 8]);
    io::nifti::save_volume(&folder.join("far.nii.gz"), &far, "", &Control::new()).unwrap();
    for (name, values) in [("t1.nii.gz", noisy), ("truth.nii.gz", truth)] {
        let volume = Volume::scalar(grid.clone(), values);
        io::nifti::save_volume(&folder.join(name), &volume, "", &Control::new()).unwrap();
    }
    centre
}

fn values(path: &Path) -> Vec<f32> {
    match io::open(path, &Control::new()).unwrap() {
        Opened::Volume(volume, _) => volume.values.to_vec(),
        Opened::Tractogram(..) => panic!("an image"),
    }
}

pub fn segments() {
    let mut random = Random::fresh("cli segment");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let at = ball(&mut random, here);
    let [probe, sphere] = [
        format!("--probe={},{},{},4", at.x, at.y, at.z),
        format!("--add=sphere:{},{},{},4", at.x, at.y, at.z),
    ];
    let start = ["segment", "t1.nii.gz", &probe, &sphere];
    let rest = ["--reference", "truth.nii.gz", "--steps", "300"];
    let first = [&start[..], &rest, &["--surface", "gii", "--out", "a"]].concat();
    let value = json(&first, here);
    let labels = values(&here.join("a/labels.nii.gz"));
    let truth = values(&here.join("truth.nii.gz"));
    let inside = labels.iter().filter(|v| **v != 0.0).count();
    assert_eq!(value["voxels"].as_u64(), Some(inside as u64));
    let both = labels
        .iter()
        .zip(&truth)
        .filter(|(a, b)| **a * **b != 0.0)
        .count() as f64;
    let all = inside as f64 + truth.iter().filter(|v| **v != 0.0).count() as f64;
    let dice = value["agreement"]["dice"].as_f64().unwrap();
    assert!((dice - 2.0 * both / all).abs() < 1e-9, "{dice}");
    assert!(dice > 0.95, "{dice}");
    assert!(here.join("a/surface.gii").exists());
    // The run repeated with another number of threads.
    let script = ["segment", "--script", "a/run.json"];
    let repeated = [&script[..], &["--threads", "3", "--out", "b"]].concat();
    json(&repeated, here);
    assert_eq!(values(&here.join("b/labels.nii.gz")), labels);
    let text = |name: &str| std::fs::read_to_string(here.join(name)).unwrap();
    assert_eq!(text("a/run.json"), text("b/run.json"));
    // A member that this version does not know: a misspelled name, or one of a newer version.
    let slip = text("a/run.json").replacen("\"params\": {", "\"params\": { \"toleranse\": 1,", 1);
    std::fs::write(here.join("slip.json"), slip).expect("written");
    let slip = json(&["segment", "--script", "slip.json", "--out", "slip"], here);
    let warned = slip["warnings"][0].as_str().unwrap_or_default();
    assert!(warned.contains("(run.params.toleranse)"), "{slip}");

    // A removed region stays excluded, in the run and when it is repeated.
    let place = at + DVec3::X * 5.0;
    let black = format!("--remove=sphere:{},{},{},3", place.x, place.y, place.z);
    json(
        &[&start[..], &rest, &[&black, "--out", "cut"]].concat(),
        here,
    );
    json(
        &["segment", "--script", "cut/run.json", "--out", "cut2"],
        here,
    );
    let cut = values(&here.join("cut/labels.nii.gz"));
    assert_eq!(values(&here.join("cut2/labels.nii.gz")), cut);
    let Opened::Volume(image, _) = io::open(&here.join("t1.nii.gz"), &Control::new()).unwrap()
    else {
        panic!("an image")
    };
    let world = |i: usize| {
        let voxel = DVec3::from_array(image.grid.voxel(i).map(|v| v as f64));
        image.grid.world(voxel)
    };
    let removed = (0..cut.len()).filter(|i| world(*i).distance(place) < 3.0);
    let (kept, gone): (Vec<usize>, Vec<usize>) = removed.partition(|i| cut[*i] != 0.0);
    assert!(
        kept.is_empty() && gone.len() > 30,
        "{} {}",
        kept.len(),
        gone.len()
    );
    assert!(gone.iter().any(|i| labels[*i] != 0.0));

    // Changes made by a user during the run.
    let mut run: serde_json::Value = serde_json::from_str(&text("a/run.json")).unwrap();
    let mut done: RunHistory = serde_json::from_value(run["run"].clone()).unwrap();
    let mut params = done.params.clone();
    params.smoothness = 0.4;
    let cut = Sphere {
        add: false,
        centre: at + DVec3::X * 9.0,
        radius_mm: 4.0,
    };
    done.events = vec![
        Event {
            step: done.steps / 2,
            event: ScriptEvent::Params(params),
        },
        Event {
            step: done.steps,
            event: ScriptEvent::Sphere(cut),
        },
    ];
    run["run"] = serde_json::to_value(&done).unwrap();
    std::fs::write(here.join("steered.json"), run.to_string()).unwrap();
    let script = ["segment", "--script", "steered.json"];
    let run_values = json(&[&script[..], &["--out", "c"]].concat(), here);
    assert_eq!(run_values["steps"].as_u64(), Some(done.steps));
    let cut_out = values(&here.join("c/labels.nii.gz"));
    assert!(cut_out.iter().filter(|v| **v != 0.0).count() < inside);
    json(&["segment", "--script", "c/run.json", "--out", "d"], here);
    assert_eq!(values(&here.join("d/labels.nii.gz")), cut_out);

    // Regions and an image that are added and removed.
    let half = done.steps / 2;
    let inputs = |step, number| Event {
        step,
        event: ScriptEvent::Inputs(number),
    };
    done.events = vec![inputs(half, 2), inputs(half + 5, 0), inputs(half + 9, 1)];
    run["run"] = serde_json::to_value(&done).unwrap();
    let out = at + DVec3::X * 12.0;
    let stored = format!(
        "{{\"sphere\": {{\"centre\": [{}, {}, {}], \"radius_mm\": 6.0}}}}",
        out.x, out.y, out.z
    );
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    let stored = serde_json::json!({"grow_here": [stored]});
    let other = serde_json::json!({"layer": "truth.nii.gz"});
    run["later"] = serde_json::json!([stored, other]);
    std::fs::write(here.join("moved.json"), run.to_string()).unwrap();
    json(&["segment", "--script", "moved.json", "--out", "f"], here);
    let moved = values(&here.join("f/labels.nii.gz"));
    assert!(moved != labels);
    let repeated = [
        "segment",
        "--script",
        "f/run.json",
        "--threads",
        "1",
        "--out",
        "g",
    ];
    json(&repeated, here);
    assert_eq!(values(&here.join("g/labels.nii.gz")), moved);
    assert_eq!(text("f/run.json"), text("g/run.json"));
    run["later"] = serde_json::json!([stored, other]);
    run["run"]["steps"] = serde_json::json!(4_294_967_296u64);
    std::fs::write(here.join("endless.json"), run.to_string()).unwrap();
    refuses(
        &["segment", "--script", "endless.json", "--out", "e"],
        &["4294967296 steps, expected at most 1000000"],
        here,
    );
    run["run"] = serde_json::to_value(&done).unwrap();
    run["later"] = serde_json::json!([stored]);
    std::fs::write(here.join("missing.json"), run.to_string()).unwrap();
    let missing_content = ["segment", "--script", "missing.json", "--out", "e"];
    refuses(
        &missing_content,
        &["speed inputs with number 2, expected a number below 2"],
        here,
    );
    let second = [&start[..], &["--volume", "1", "--out", "e"]].concat();
    refuses(
        &second,
        &["Found one volume, expected one with number 1"],
        here,
    );

    // Other initial surfaces.
    let from = [
        ["--threshold", "80..200"],
        ["--mask", "truth.nii.gz"],
        ["--fill", "0,0,0"],
    ];
    for (i, option) in from.iter().enumerate() {
        let out = format!("start{i}");
        let line = [
            &["segment", "t1.nii.gz", "--target=110", "--tolerance=30"],
            &option[..],
            &["--out", &out],
        ]
        .concat();
        let found = json(&line, here)["voxels"].as_u64().unwrap() as f64;
        assert!(
            (found / (all - inside as f64) - 1.0).abs() < 0.15,
            "{option:?} {found}"
        );
    }
    let away = [
        "segment",
        "t1.nii.gz",
        &probe,
        "--add=sphere:90,0,0,4",
        "--out",
        "e",
    ];
    refuses(&away, &["holds no voxel"], here);
    // Regions elsewhere, reported before anything is written.
    let nowhere = "sphere:90,0,0,4";
    for (options, word) in [
        (vec!["--probe=90,0,0"], "probe of 2 mm at 90, 0, 0"),
        (vec!["--grow-here", nowhere], nowhere),
        (vec!["--not-here", nowhere], nowhere),
        (
            vec!["--layer", "far.nii.gz", "--layer-range", "0..1"],
            "far.nii.gz",
        ),
    ] {
        refuses(
            &[&start[..], &options, &["--out", "e"]].concat(),
            &["Found", "expected", word],
            here,
        );
    }
    let paper = ["--paper", "--region", "1", "--out", "e"];
    let output = arcuate(&[&start[..], &paper].concat(), here);
    assert_eq!(output.status.code(), Some(2));
    let other = ["segment", "--script", "start0/labels.nii.gz", "--out", "e"];
    refuses(&other, &["start0/labels.nii.gz"], here);
    let output = arcuate(&["segment", "t1.nii.gz", &sphere, "--out", "e"], here);
    assert_eq!(output.status.code(), Some(2));
    assert!(!here.join("e").exists());
}

/// A run that leaks ends with its own exit code, one sentence and the details of the leak; the files are written.
pub fn leaks() {
    let mut random = Random::fresh("cli leak");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = Grid::axis_aligned([56; 3], DVec3::splat(1.0), DVec3::splat(-27.5)).unwrap();
    let grid = Arc::new(grid);
    // A ball in tissue in air, and a ball in air.
    for (name, tissue) in [("t1.nii.gz", 20.0), ("bare.nii.gz", 8.0)] {
        let mut value = |i: usize| {
            let at = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
            let mean = match grid.world(at).length() {
                r if r < 8.0 => 60.0,
                r if r < tissue => 140.0,
                _ => 6.0,
            };
            (mean + 2.0 * random.normal()) as f32
        };
        let values: Vec<f32> = (0..grid.voxel_count()).map(&mut value).collect();
        let volume = Volume::scalar(grid.clone(), values);
        io::nifti::save_volume(&here.join(name), &volume, "", &Control::new()).unwrap();
    }
    let start = [
        "segment",
        "t1.nii.gz",
        "--probe=0,0,0",
        "--add=sphere:0,0,0,3",
        "--steps=800",
    ];
    let line = |rest: &[&'static str]| [&start[..], rest].concat();
    // With the default tolerance it stays inside.
    let closed = json(&line(&["--out", "stays"]), here);
    assert!(
        closed["leak"].is_null() && closed["ended"] != "leaked",
        "{closed}"
    );
    let ball = 4.0 / 3.0 * std::f64::consts::PI * 0.512;
    let volume_ml = |value: &serde_json::Value| value["volume_ml"].as_f64().unwrap();
    assert!((volume_ml(&closed) / ball - 1.0).abs() < 0.15, "{closed}");
    // Air that counts as the structure is entered.
    let bare = [
        "segment",
        "bare.nii.gz",
        "--target=60",
        "--tolerance=300",
        "--add=sphere:0,0,0,3",
        "--steps=800",
        "--out=bare",
        "--json",
    ];
    let output = arcuate(&bare, here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("background"), "{error}");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["leak"]["cause"], "background");
    // Too wide a tolerance includes the tissue, through which the surface reaches the air.
    let output = arcuate(&line(&["--tolerance=90", "--out", "leaks", "--json"]), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert_eq!(error.trim_end().lines().count(), 2, "{error}");
    for word in [
        "which begin just outside the probe",
        "leaks from step",
        "reached the background",
        "--tolerance",
        "--ignore-leaks",
    ] {
        assert!(error.contains(word), "{word}: {error}");
    }
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&value["ended"], &value["leak"]["cause"]),
        (&"leaked".into(), &"background".into())
    );
    let leak = &value["leak"];
    assert!(leak["from"].as_u64() < leak["noticed"].as_u64(), "{leak}");
    assert_eq!(leak["noticed"], value["steps"]);
    assert_eq!(leak["at_mm"].as_array().map(Vec::len), Some(3), "{leak}");
    let before = leak["volume_before_ml"].as_f64().unwrap();
    assert!(before < volume_ml(&value));
    // Both volumes of the sentence count whole voxels.
    let voxels = value["voxels"].as_f64().unwrap();
    let text = format!("{before:.3} ml became {:.3} ml", voxels * 1e-3);
    assert!(error.contains(&text), "{text}: {error}");
    // The text report states how the run ended.
    for (steps, end, warns) in [
        ("--steps=3", "3 steps (still moving), ", true),
        ("--steps=800", " steps (at rest), ", false),
    ] {
        let mut line = line(&["--out", "words", "--force"]);
        line[start.len() - 1] = steps;
        let output = arcuate(&line, here);
        let message = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(message.contains(end), "{message}");
        let warning = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            warning.contains("The surface is not at rest"),
            warns,
            "{warning}"
        );
    }
    assert!(here.join("leaks/labels.nii.gz").exists());
    // A user who knows lets it continue.
    let more = ["--tolerance=90", "--ignore-leaks", "--out", "more"];
    let more = json(&line(&more), here);
    assert!(
        more["leak"].is_null() && volume_ml(&more) > volume_ml(&value),
        "{more}"
    );
    // A run that ends while its surface is still growing reports it; one at rest does not.
    assert_eq!(closed["warnings"], serde_json::json!([]));
    let mut grows = line(&["--tolerance=90", "--ignore-leaks", "--out", "grows"]);
    grows[start.len() - 1] = "--steps=120";
    let grows = json(&grows, here);
    let warnings = grows["warnings"].to_string();
    assert!(
        warnings.contains("The surface is not at rest after 120 steps and grew by "),
        "{grows}"
    );
    assert!(warnings.contains("begin just outside"), "{grows}");
    far_larger();
}

/// A surface at rest that contains 30 ml and a hundred times its initial volume is reported, another is not.
fn far_larger() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let grid = Grid::axis_aligned([56; 3], DVec3::splat(1.0), DVec3::splat(-27.5)).unwrap();
    let grid = Arc::new(grid);
    let value = |i: usize| {
        let at = DVec3::from_array(grid.voxel(i).map(|v| v as f64));
        if grid.world(at).length() < 22.0 {
            100.0
        } else {
            20.0
        }
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    let volume = Volume::scalar(grid.clone(), values);
    io::nifti::save_volume(&here.join("t1.nii.gz"), &volume, "", &Control::new()).unwrap();
    for (add, warns) in [
        ("--add=sphere:0,0,0,3", true),
        ("--add=sphere:0,0,0,12", false),
    ] {
        let line = [
            "segment",
            "t1.nii.gz",
            "--target=100",
            "--tolerance=30",
            add,
            "--steps=4000",
            "--out=ball",
            "--force",
        ];
        let value = json(&line, here);
        assert_eq!(value["ended"], "converged", "{value}");
        let ml = value["volume_ml"].as_f64().unwrap();
        assert!((ml / 44.6 - 1.0).abs() < 0.1, "{value}");
        let warnings = value["warnings"].to_string();
        assert_eq!(
            warnings.contains("times its initial volume"),
            warns,
            "{value}"
        );
    }
}

/// The summary of a run from probes, and from spheres of one radius, with further options.
fn from_places(
    image: &Path,
    reference: &str,
    (probes, spheres, radius_mm): ([&str; 2], [&str; 2], f64),
    options: &[&str],
) -> serde_json::Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let reference = image.with_file_name(reference);
    let text = |path: &Path| path.to_str().expect("a name in UTF-8").to_owned();
    let (image, reference) = (text(image), text(&reference));
    let probes = probes.map(|p| format!("--probe={p}"));
    let spheres = spheres.map(|p| format!("--add=sphere:{p},{radius_mm}"));
    let places = probes.iter().chain(&spheres).map(String::as_str);
    let mut line = vec!["segment", &image, "--reference", &reference, "--out", "v"];
    line.extend(places.chain(options.iter().copied()));
    let value = json(&line, folder.path());
    println!("{value:#}");
    value
}

/// Two probes and two spheres with default settings, against FreeSurfer's labels.
pub fn ventricles(image: PathBuf) {
    let places = ["-22.2,-3.5,27.6", "12.8,-1.5,30.6"];
    let value = from_places(
        &image,
        "lateral_ventricles.nii.gz",
        (places, places, 4.0),
        &[],
    );
    let dice = value["agreement"]["dice"].as_f64().unwrap();
    assert!(dice >= 0.85, "{dice}");
}

/// Brain, from a probe of white and one of grey matter and two spheres within white matter, smooth enough not to leak
/// through vessels and nerves. ROBEX's mask is a silver standard that includes the fluid between the folds: at 0.92
/// three fifths of the missed voxels are darker than the tolerance.
pub fn brain(image: PathBuf) {
    let white = "-14.3,-38.9,24.2";
    let places = ([white, "13.1,-53.8,36"], [white, "35.7,-38.7,22.9"], 25.0);
    let options = ["--smoothness", "0.5", "--steps", "2000"];
    let value = from_places(&image, "brain_mask_robex.nii.gz", places, &options);
    let found = |what: &str| value["agreement"][what].as_f64().unwrap();
    let (dice, specificity) = (found("dice"), found("specificity"));
    assert!(dice >= 0.9 && specificity >= 0.99, "{dice} {specificity}");
}
