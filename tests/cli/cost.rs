//! `arcuate cost`: its files agree with its numbers; what it refuses.

use super::{arcuate, json, refuses, shell_words, small_head};
use arcuate::compute::Control;
use arcuate::data::{Tractogram, Volume};
use arcuate::io::{self, Opened};
use std::path::Path;

fn volume(path: &Path) -> Volume {
    match io::open(path, &Control::new()).unwrap() {
        Opened::Volume(volume, _) => volume,
        Opened::Tractogram(..) => panic!("an image"),
    }
}

fn streamlines(path: &Path) -> Tractogram {
    match io::open(path, &Control::new()).unwrap() {
        Opened::Tractogram(tractogram, _) => tractogram,
        Opened::Volume(..) => panic!("streamlines"),
    }
}

const ENDS: [&str; 4] = [
    "--from",
    "sphere:-24,-18,8,6",
    "--to",
    "sphere:-30,-22,58,10",
];

pub fn costs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    small_head("3.5", 20, 2, here);
    let scan = ["cost", "head/dwi.nii.gz"];
    let rest = ["--epsilon", "0.4", "--out", "cst"];
    let line = [&scan[..], &ENDS, &rest];
    let value = json(&line.concat(), here);
    let [u1, u2, u, mask] =
        ["u1", "u2", "u", "pathway"].map(|name| volume(&here.join(format!("cst/{name}.nii.gz"))));
    let least = value["least"].as_f64().unwrap();
    let limit = least * 1.4;
    let mut found = f64::INFINITY;
    for i in 0..u.values.len() {
        let (a, b, sum) = (u1.values[i], u2.values[i], u.values[i]);
        assert_eq!(sum.is_nan(), a.is_nan() || b.is_nan());
        let sum = f64::from(sum);
        if mask.values[i] != 0.0 {
            assert!(sum <= limit * (1.0 + 1e-5));
        }
        if sum.is_finite() {
            assert!((f64::from(a) + f64::from(b) - sum).abs() <= 1e-5 * sum);
            found = found.min(sum);
        }
    }
    assert!((found / least - 1.0).abs() < 1e-5);
    let voxels = mask.values.iter().filter(|v| **v != 0.0).count() as u64;
    assert_eq!(value["pathway"]["voxels"].as_u64(), Some(voxels));
    assert_eq!(
        value["joined"].as_bool(),
        Some(value["joined_from"].as_f64().unwrap() <= 0.4)
    );
    let path = streamlines(&here.join("cst/path.tck"));
    assert_eq!(path.len(), 1);
    let length = f64::from(path.length_mm(0));
    assert!((value["path"]["length_mm"].as_f64().unwrap() / length - 1.0).abs() < 1e-3);
    // From one region to the other.
    let ends = [path.streamline(0)[0], *path.streamline(0).last().unwrap()];
    for (end, (centre, radius)) in ends.into_iter().zip([
        (glam::Vec3::new(-24.0, -18.0, 8.0), 6.0),
        (glam::Vec3::new(-30.0, -22.0, 58.0), 10.0),
    ]) {
        assert!(glam::Vec3::from(end).distance(centre) <= radius + 1e-3);
    }
    // The command that it prints gives the same again.
    let again = shell_words(value["repeat"].as_str().unwrap());
    let mut again: Vec<&str> = again[1..].iter().map(String::as_str).collect();
    again.push("--force");
    let again = json(&again, here);
    assert!((again["least"].as_f64().unwrap() / least - 1.0).abs() < 1e-5);
    refused(here);
}

fn refused(here: &Path) {
    let line = |more: &[&'static str]| -> Vec<&'static str> {
        [&["cost", "head/dwi.nii.gz"][..], more, &["--out", "no"]].concat()
    };
    let with = |more: &[&'static str]| line(&[&ENDS[..], more].concat());
    let away = line(&["--from", "sphere:500,0,0,3", "--to", "sphere:-24,-18,8,6"]);
    refuses(&away, &["Region 'from' lies outside the mask"], here);
    refuses(
        &with(&["--min-fa", "1"]),
        &["The mask holds no voxel"],
        here,
    );
    let over = line(&[ENDS[0], ENDS[1], "--to", "sphere:-24,-18,12,6"]);
    refuses(
        &over,
        &["Regions 'from' and 'to' overlap, expected two apart; move one"],
        here,
    );
    // Two balls that do not touch.
    let apart = with(&[
        "--min-fa",
        "0",
        "--within",
        ENDS[1],
        "--within",
        "sphere:-30,-22,58,10",
    ]);
    refuses(
        &apart,
        &["No path: region 'to' is not connected to 'from' inside the mask"],
        here,
    );
    for (more, words) in [
        (&["--alpha", "0"][..], "Found α = 0"),
        (&["--alpha", "99"], "Found α = 99"),
        (
            &["--alpha", "2", "--metric", "inverse"],
            "--alpha with another",
        ),
        (&["--epsilon", "-1"], "Found --epsilon -1"),
        (&["--min-fa", "2"], "Found --min-fa 2"),
    ] {
        let output = arcuate(&with(more), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {error}");
        assert!(error.contains(words), "{more:?}: {error}");
    }
    assert!(!here.join("no").exists());
}
