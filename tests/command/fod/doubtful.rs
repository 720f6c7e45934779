//! Inputs of `arcuate fod` that give no result or a doubtful one: response functions, scans without signal, mistakes.

use super::{head, run, values};
use crate::cli::{arcuate, refuses};
use arcuate::compute::Control;
use arcuate::data::Volume;
use arcuate::io::image;
use std::path::Path;
use std::sync::Arc;

const MASKED: &str = "fod head/dwi.nii.gz --mask head/brain_mask.nii.gz";

fn write(here: &Path, name: &str, text: &str) {
    std::fs::write(here.join(name), text).expect("written");
}

fn refused(here: &Path, rest: &str, text: &[&str]) {
    let line = format!("{MASKED} {rest} --out no");
    let parts: Vec<&str> = line.split(' ').collect();
    refuses(&parts, text, here);
    assert!(!here.join("no").exists(), "{rest}");
}

/// A file of white matter alone gives the distributions of its last row.
pub fn white_matter_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    head("1000:12,2500:20", here);
    write(here, "wm.txt", "1000 0 0\n500 -150 10\n300 -150 30\n");
    write(here, "last.txt", "300 -150 30\n");
    let options = "--order 4 --maps peaks";
    let mut found = Vec::new();
    for (name, option) in [
        ("whole", "--responses wm.txt"),
        ("last", "--responses last.txt"),
        ("own", "--wm-response wm.txt"),
    ] {
        let report = run(&format!("{MASKED} {option} {options} --out {name}"), here);
        assert_eq!(report["volumes_used"], 20, "{name}");
        assert_eq!(report["shells"][1]["used"], false);
        let rows = report["responses"][0]["rows"].as_array();
        assert_eq!(rows.map(Vec::len), Some(1));
        let notes = report["notes"].to_string();
        assert!(
            notes.contains("Only the shell with the highest b is used"),
            "{notes}"
        );
        found.push(values(&here.join(format!("{name}/wm_fod.nii.gz"))).values);
    }
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0], found[2]);
    // The method of the paper also uses the outer shell alone, and its note names each unused tissue.
    write(here, "gm.txt", "1200\n700\n400\n");
    write(here, "csf.txt", "3000\n200\n20\n");
    let line = format!("{MASKED} --method paper --responses wm.txt,gm.txt,csf.txt {options}");
    let report = run(&format!("{line} --out paper"), here);
    let notes = report["notes"].to_string();
    for part in [
        "response functions of grey matter and CSF were not used",
        "since white matter is the only tissue",
    ] {
        assert!(notes.contains(part), "{notes}");
    }
}

/// Errors of response functions name the file at fault.
pub fn named_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    head("1000:12,2500:12", here);
    write(here, "wm.txt", "1000 0 0\n500 -150 10\n300 -150 30\n");
    write(here, "rising.txt", "300 -150 30\n500 -150 10\n1000 0 0\n");
    write(here, "short.txt", "1200\n700\n");
    write(here, "grey.txt", "2400\n1400\n800\n");
    write(here, "csf.txt", "3000\n200\n20\n");
    write(here, "other.txt", "# Shells: 0,1000,4000\n3000\n200\n20\n");
    write(
        here,
        "huge.txt",
        "1e33 0 0\n5e32 -1e32 1e31\n3e32 -1e32 1e31\n",
    );
    refused(here, "--responses rising.txt", &["rises", "rising.txt"]);
    refused(
        here,
        "--responses wm.txt,short.txt",
        &["2 shells", "short.txt"],
    );
    refused(
        here,
        "--responses wm.txt,wm.txt",
        &["Response function 2", "wm.txt"],
    );
    refused(
        here,
        "--responses grey.txt",
        &["white matter first", "grey.txt"],
    );
    refused(
        here,
        "--responses wm.txt,other.txt",
        &["b = 4000", "other.txt"],
    );
    refused(
        here,
        "--responses huge.txt",
        &["expected about that of the scan", "huge.txt"],
    );
    refused(
        here,
        "--wm-response huge.txt --csf-response csf.txt",
        &["expected about that of the scan", "huge.txt"],
    );
    refused(
        here,
        "--responses wm.txt,csf.txt,csf.txt --order 4",
        &["separate these tissues", "csf.txt"],
    );
    for (rest, part) in [
        ("--responses wm.txt,csf.txt --leave-out gm", "--leave-out"),
        ("--maps peaks,afd,peaks", "peaks twice"),
        ("--responses a,b,c,d", "comma"),
    ] {
        let line = format!("{MASKED} {rest} --out no");
        let output = arcuate(&line.split(' ').collect::<Vec<_>>(), here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{rest}: {error}");
        assert!(
            error.contains(part) && !error.contains("no response function of white"),
            "{rest}: {error}"
        );
    }
}

/// A copy of the scan with other samples, beside the scan's gradients.
fn scan(here: &Path, name: &str, sample: impl Fn(f32) -> f32) {
    let dwi = values(&here.join("head/dwi.nii.gz"));
    let samples: Arc<[f32]> = dwi.values.iter().map(|v| sample(*v)).collect();
    let changed = Volume::new(dwi.grid.clone(), dwi.frames, dwi.kind, samples);
    let path = here.join(format!("{name}.nii.gz"));
    image::save_volume(&path, &changed, "test", &Control::new()).expect("written");
    for ending in ["bval", "bvec"] {
        let from = here.join(format!("head/dwi.{ending}"));
        std::fs::copy(from, here.join(format!("{name}.{ending}"))).expect("copied");
    }
}

/// Scans without signal, or without attenuation, give no files.
pub fn without_signal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    head("1000:12,2500:12", here);
    write(here, "wm.txt", "1000 0 0\n500 -150 10\n300 -150 30\n");
    scan(here, "zero", |_| 0.0);
    scan(here, "negative", |v| -v - 1.0);
    scan(here, "nothing", |_| f32::NAN);
    scan(here, "constant", |_| 100.0);
    for name in ["zero", "negative", "nothing"] {
        let line = format!(
            "fod {name}.nii.gz --mask head/brain_mask.nii.gz --responses wm.txt --order 4 --out no"
        );
        let parts: Vec<&str> = line.split(' ').collect();
        refuses(&parts, &["Found no signal"], here);
        assert!(!here.join("no").exists(), "{name}");
    }
    let line = "fod constant.nii.gz --mask head/brain_mask.nii.gz --erode 1 --out no";
    let parts: Vec<&str> = line.split(' ').collect();
    refuses(&parts, &["no attenuation between the shells"], here);
}

/// A response function of few voxels, or of nearly all, gives a warning; the report names the mask.
pub fn few_voxels() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    head("2500:30", here);
    let warnings = |voxels: &str, out: &str| {
        let line = format!("{MASKED} {voxels} --order 4 --maps peaks --out {out}");
        let report = run(&line, here);
        assert_eq!(report["mask_file"], "head/brain_mask.nii.gz");
        assert!(report["mask_quality"].is_null());
        report["warnings"].to_string()
    };
    let many = "--single-fibre-voxels 100 --response-algorithm tournier";
    assert_eq!(warnings(many, "many"), "[]");
    let few = warnings("--wm-mask sphere:-24,-18,8,4", "few");
    assert!(few.contains(" voxels, expected at least 10; "), "{few}");
    // All voxels of a small region as a brain.
    run(
        "region --image head/brain_mask.nii.gz --union sphere:0,0,20,12 --out small.nii.gz",
        here,
    );
    let line = "fod head/dwi.nii.gz --mask small.nii.gz --response-algorithm tournier --order 4 --maps peaks --out all";
    let warnings = run(line, here)["warnings"].to_string();
    assert!(
        warnings.contains("expected at most half of them"),
        "{warnings}"
    );
}

/// A header whose table has too few rows, and an image without any distribution.
pub fn incomplete_images() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    head("1000:12,2500:12", here);
    run("convert head/dwi.nii.gz whole.mif", here);
    let mut bytes = std::fs::read(here.join("whole.mif")).expect("an image");
    let key = b"dw_scheme:";
    let at = bytes.windows(key.len()).position(|part| part == key);
    let at = at.expect("a table in the header");
    bytes[at..at + 2].copy_from_slice(b"no");
    std::fs::write(here.join("short.mif"), bytes).expect("written");
    refuses(
        &["fod", "short.mif", "--out", "no"],
        &["27 gradients", "expected 28", "short.mif"],
        here,
    );
    let dwi = values(&here.join("head/dwi.nii.gz"));
    let zeros = vec![0f32; 15 * dwi.grid.voxel_count()];
    let empty = Volume::new(dwi.grid.clone(), 15, dwi.kind, zeros);
    let path = here.join("empty.nii.gz");
    image::save_volume(&path, &empty, "test", &Control::new()).expect("written");
    let line = "fod empty.nii.gz --odf-basis mrtrix --odf-frame world --out no";
    let parts: Vec<&str> = line.split(' ').collect();
    refuses(&parts, &["no voxel with fibres", "empty.nii.gz"], here);
}
