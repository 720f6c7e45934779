//! `arcuate compare` and `arcuate region --stats`: reports, tables, images, refusals.

use crate::cli::{arcuate, coarse_head, json, refuses};
use crate::support::test;
use arcuate::compute::Control;
use arcuate::io::image;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![
        test("compare::masks", masks),
        test("compare::a_pathway", pathway),
        test("compare::refusals", refusals),
        test("compare::statistics_of_regions", statistics),
    ]
}

fn run(line: &str, here: &Path) -> Value {
    let parts: Vec<&str> = line.split(' ').collect();
    json(&parts, here)
}

/// Three boxes of 20, 20 and 10 mm along x on the grid of a coarse head: `a.nii.gz`, `b.nii.gz`, `c.nii.gz`.
fn boxes(here: &Path) {
    coarse_head(here);
    for (name, half) in [("a", 10), ("b", 10), ("c", 5)] {
        let region = format!("box:0,0,20,{half},10,10");
        run(
            &format!("region --image head/brain_mask.nii.gz --union {region} --out {name}.nii.gz"),
            here,
        );
    }
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn masks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    boxes(here);
    let found = run(
        "compare a.nii.gz b.nii.gz c.nii.gz --operators anna,anna,ben --staple w.nii.gz --csv pairs.csv",
        here,
    );
    let pairs = found["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 3);
    assert_eq!(
        (number(&pairs[0]["dice"]), number(&pairs[0]["max_mm"])),
        (1.0, 0.0)
    );
    let voxels: Vec<f64> = (0..3)
        .map(|i| number(&found["masks"][i]["voxels"]))
        .collect();
    // The smaller box lies in the larger one.
    let jaccard = voxels[2] / voxels[0];
    assert!((number(&pairs[1]["jaccard"]) - jaccard).abs() < 1e-12);
    assert_eq!(found["masks"][2]["operator"], "ben");
    assert_eq!(number(&found["within_operators"]["jaccard"]), 1.0);
    assert!((number(&found["between_operators"]["jaccard"]) - jaccard).abs() < 1e-12);
    assert_eq!(found["all_pairs"]["pairs"], 3);
    // Two of three agree: the consensus is theirs, and the third is too small.
    assert_eq!(found["consensus"]["converged"], true);
    let volume = number(&found["masks"][0]["volume_ml"]);
    assert!((number(&found["consensus"]["volume_ml"]) - volume).abs() < 1e-9);
    assert!(number(&found["masks"][0]["sensitivity"]) > 0.999);
    assert!((number(&found["masks"][2]["sensitivity"]) - jaccard).abs() < 0.01);
    assert!(number(&found["masks"][2]["specificity"]) > 0.999);
    let image = image::read(&here.join("w.nii.gz"), &Control::new())
        .expect("an image")
        .0;
    let above = image.values.iter().filter(|w| **w >= 0.5).count();
    assert_eq!(above as f64, voxels[0]);
    // Within the larger box no mask leaves anything out wrongly outside.
    let found = run(
        "compare a.nii.gz b.nii.gz c.nii.gz --staple in_a.nii.gz --mask a.nii.gz",
        here,
    );
    assert_eq!(found["mask"], "a.nii.gz");
    assert!(number(&found["consensus"]["prior"]) > 0.5);
    let table = std::fs::read_to_string(here.join("pairs.csv")).expect("a table");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].starts_with("mask_a,mask_b,voxels_a,"), "{table}");
    assert!(
        lines[1].starts_with("a.nii.gz,b.nii.gz,") && lines[1].contains(",1.0000,1.0000,0.0000")
    );
    // Without a consensus there are no rates.
    let plain = run("compare a.nii.gz c.nii.gz", here);
    assert!(plain["consensus"].is_null() && plain["masks"][0]["sensitivity"].is_null());
    assert!(plain["within_operators"].is_null() && plain["masks"][0]["operator"].is_null());
    let output = arcuate(&["compare", "a.nii.gz", "c.nii.gz"], here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("Jaccard"),
        "{text}"
    );
    assert!(
        text.contains("All pairs (1 pair)") && !text.contains("STAPLE"),
        "{text}"
    );
}

fn pathway() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    let track = "track head/dwi.nii.gz --mask head/brain_mask.nii.gz --seeds random:200";
    run(&format!("{track} --out whole.tck"), here);
    // All streamlines lie in the mask in which they were tracked, up to its border.
    let found = run("compare head/brain_mask.nii.gz whole.tck", here);
    assert!(number(&found["streamlines"]) > 5.0, "{found}");
    assert!(number(&found["length_share"]) > 0.9, "{found}");
    let [shared, passed, near, all] = [
        "shared_voxels",
        "passed_voxels",
        "near_voxels",
        "pathway_voxels",
    ]
    .map(|key| number(&found[key]));
    assert!(shared <= passed && shared <= near && near <= all);
    assert!((number(&found["dice"]) - 2.0 * shared / (passed + all)).abs() < 1e-12);
    // The order of the two files does not matter.
    let turned = run("compare whole.tck head/brain_mask.nii.gz", here);
    assert_eq!(turned["dice"], found["dice"]);
    let output = arcuate(&["compare", "head/brain_mask.nii.gz", "whole.tck"], here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("within one voxel of a streamline"), "{text}");
    refuses_usage(
        "compare head/brain_mask.nii.gz whole.tck --csv t.csv",
        "no effect",
        here,
    );
    refuses_usage("compare whole.tck whole.tck", "2 streamline files", here);
}

/// Wrong usage: exit code 2 and a sentence with this part.
fn refuses_usage(line: &str, part: &str, here: &Path) {
    let output = arcuate(&line.split(' ').collect::<Vec<_>>(), here);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{line}: {error}");
    assert!(error.contains(part), "{line}: \"{part}\" is not in {error}");
}

fn refusals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    boxes(here);
    refuses_usage("compare a.nii.gz", "Found 1 mask, expected 2 to 20", here);
    let many = format!("compare{}", " a.nii.gz".repeat(21));
    refuses_usage(&many, "Found 21 masks", here);
    refuses_usage(
        "compare a.nii.gz b.nii.gz --operators x",
        "a name for each mask",
        here,
    );
    refuses_usage(
        "compare a.nii.gz b.nii.gz --csv pairs.txt",
        "ends in .csv",
        here,
    );
    refuses_usage(
        "compare a.nii.gz b.nii.gz --staple w.tck",
        "ends in .nii.gz",
        here,
    );
    // Nothing is written before all masks are read.
    let scan = [
        "compare",
        "a.nii.gz",
        "head/dwi.nii.gz",
        "--staple",
        "w.nii.gz",
    ];
    refuses(&scan, &["volumes", "dwi.nii.gz"], here);
    assert!(!here.join("w.nii.gz").exists());
    let other = "phantom --scan-only --spacing 5 --shells 1000:12 --b0 1 --out other";
    run(other, here);
    let pair = ["compare", "a.nii.gz", "other/brain_mask.nii.gz"];
    refuses(&pair, &["other/brain_mask.nii.gz"], here);
}

fn statistics() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    coarse_head(here);
    run(
        "fit head/dwi.nii.gz --mask head/brain_mask.nii.gz --maps fa,md --out maps",
        here,
    );
    let found = run(
        "region --union mask:head/brain_mask.nii.gz --stats maps/fa.nii.gz --stats maps/md.nii.gz --csv values.csv \
         --histogram bins.csv --bins 8",
        here,
    );
    assert!(found["file"].is_null());
    let images = found["statistics"].as_array().expect("images");
    assert_eq!(images.len(), 2);
    assert_eq!(
        (&images[0]["name"], &images[1]["name"]),
        (&"fa".into(), &"md".into())
    );
    let read = |name: &str| {
        image::read(&here.join(name), &Control::new())
            .expect("an image")
            .0
    };
    let (fa, mask) = (read("maps/fa.nii.gz"), read("head/brain_mask.nii.gz"));
    let inside = fa
        .values
        .iter()
        .zip(mask.values.iter())
        .filter(|(_, m)| **m > 0.5);
    let values: Vec<f64> = inside.map(|(v, _)| f64::from(*v)).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert_eq!(found["voxels"], values.len());
    assert!((number(&images[0]["mean"]) - mean).abs() < 1e-12);
    let bins = images[0]["histogram"].as_array().expect("bins");
    assert_eq!(bins.len(), 8);
    assert_eq!(bins.iter().map(number).sum::<f64>(), values.len() as f64);
    let table = std::fs::read_to_string(here.join("values.csv")).expect("a table");
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(
        lines[0],
        "image,volume,voxels,volume_ml,values,outside,mean,sd,median,min,max"
    );
    assert!(lines.len() == 3 && lines[2].starts_with("md,0,"), "{table}");
    let table = std::fs::read_to_string(here.join("bins.csv")).expect("a table");
    assert!(
        table.starts_with("image,volume,from,to,voxels\nfa,0,"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 1 + 2 * 8);
    // A sphere needs no other image, and a region may be written as well.
    let sphere = run(
        "region --union sphere:0,0,20,9 --stats maps/fa.nii.gz --out ball.nii.gz",
        here,
    );
    assert!(here.join("ball.nii.gz").exists() && number(&sphere["voxels"]) > 10.0);
    assert!(sphere["table"].is_null());
    let line = [
        "region",
        "--union",
        "sphere:0,0,20,9",
        "--stats",
        "maps/md.nii.gz",
    ];
    let text = String::from_utf8_lossy(&arcuate(&line, here).stdout).into_owned();
    assert!(
        text.contains("md: mean ") && text.contains("median "),
        "{text}"
    );
    // Without --stats there is nothing to do but to write the region.
    refuses_usage("region --union sphere:0,0,20,9", "--out", here);
    refuses_usage(
        "region --union sphere:0,0,20,9 --image maps/fa.nii.gz --out r.nii.gz --csv v.csv",
        "--stats",
        here,
    );
    refuses_usage(
        "region --union sphere:0,0,20,9 --stats maps/fa.nii.gz --csv v.txt",
        ".csv",
        here,
    );
    // The table has a row for each volume of a scan.
    let scan = run(
        "region --union sphere:0,0,20,9 --stats head/dwi.nii.gz --csv scan.csv",
        here,
    );
    let volumes = scan["statistics"].as_array().expect("volumes");
    let table = std::fs::read_to_string(here.join("scan.csv")).expect("a table");
    assert!(volumes.len() > 6 && volumes[6]["volume"] == 6);
    assert_eq!(table.lines().count(), 1 + volumes.len());
    // Diffusion weighting lowers the signal.
    assert!(number(&volumes[0]["mean"]) > number(&volumes[6]["mean"]));
    // Parts of a region, and slices in between.
    let two = "region --image maps/fa.nii.gz --union sphere:0,0,20,9 --union sphere:0,0,60,5";
    let all = run(&format!("{two} --out two.nii.gz"), here);
    let largest = run(&format!("{two} --keep-largest --out one.nii.gz"), here);
    assert_eq!(largest["voxels"], sphere["voxels"]);
    let few = number(&all["voxels"]) - number(&largest["voxels"]);
    assert!(few > 0.0);
    let line = format!("{two} --remove-below {} --out large.nii.gz", few + 1.0);
    assert_eq!(run(&line, here)["voxels"], largest["voxels"]);
    let between = run(
        "region --union mask:two.nii.gz --interpolate axial --fill-holes --connectivity 6 --out whole.nii.gz",
        here,
    );
    assert!(number(&between["voxels"]) > number(&all["voxels"]));
    refuses_usage(
        "region --union mask:two.nii.gz --connectivity 7 --out o.nii.gz",
        "--connectivity",
        here,
    );
}
