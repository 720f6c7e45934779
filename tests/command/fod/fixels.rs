//! Fixels that `arcuate fod` writes.

use super::{run, values};
use crate::cli::refuses;
use std::path::Path;

/// Fixels are the peaks, with the density of their lobes, and other commands read them.
pub fn check(here: &Path) {
    run("convert fod/fixels/peak.mif lengths.nii.gz --peaks", here);
    let expected = values(&here.join("fod/peaks.nii.gz"));
    let found = values(&here.join("lengths.nii.gz"));
    // The image has as many peaks as the voxel with the most fixels.
    assert!((3..=expected.frames).contains(&found.frames));
    for (a, b) in found.values.iter().zip(expected.values.iter()) {
        let is_same = (a - b).abs() < 1e-5 || *a == 0.0 && b.is_nan();
        assert!(is_same, "{a} and {b}");
    }
    let list = |name: &str| values(&here.join(format!("fod/fixels/{name}.mif")));
    let densities = values(&here.join("fod/afd.nii.gz"));
    let sum = |values: &[f32]| values.iter().map(|v| f64::from(*v)).sum::<f64>();
    let (ours, all) = (sum(&list("afd").values), sum(&densities.values));
    assert!((ours - all).abs() < 1e-4 * all, "{ours} and {all}");
    assert_eq!(list("disp").values.len(), list("peak").values.len());
    let track = "track --seeds random:200 --min-length 5 --method deterministic --peaks";
    let report = run(&format!("{track} fod/peaks.nii.gz --out a.tck"), here);
    let repeated = run(&format!("{track} fod/fixels/peak.mif --out b.tck"), here);
    let [peaks, fixels] = [report, repeated].map(|r| r["kept"].as_i64().expect("a number"));
    // Lengths times directions round differently than the peaks.
    assert!(
        peaks > 0 && (peaks - fixels).abs() <= 2,
        "{peaks} and {fixels}"
    );
    refuses(
        &["track", "--peaks", "head", "--out", "c.tck"],
        &["a folder without index.mif"],
        here,
    );
    // An image is not taken for the fixels that lie below it, and lengths of 1 are not values.
    let render = [
        "render",
        "fod/fixels/peak.mif",
        "--out",
        "a.png",
        "--fixels",
    ];
    let with = |more: &[&'static str]| [&render[..], more].concat();
    refuses(
        &with(&["head/brain_mask.nii.gz"]),
        &["Found no fixels"],
        here,
    );
    for values in ["--fixel-limits", "--fixel-range"] {
        refuses(
            &with(&["fod/fixels", values, "0..1"]),
            &["Found fixels without values", values],
            here,
        );
    }
}
