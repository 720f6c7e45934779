//! `arcuate fod --bootstrap`.

use super::{head_of, run, values};
use crate::cli::arcuate;
use arcuate::data::Volume;

/// Maps of the uncertainty of peaks, which the report's command repeats; none without a bootstrap.
pub fn bootstrap() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    head_of(6, "2500:45", here);
    let line = "fod head/dwi.nii.gz --mask head/brain_mask.nii.gz --order 4 --maps peaks --bootstrap 20 --out";
    let report = run(&format!("{line} fod --threads 2"), here);
    assert_eq!(report["parameters"]["bootstrap"], 20);
    let median = report["median_cone_deg"].as_f64().expect("a number");
    assert!(median > 1.0 && median < 60.0, "{median}");
    let cone = values(&here.join("fod/cone.nii.gz"));
    let dispersion = values(&here.join("fod/peak_dispersion.nii.gz"));
    let peaks = values(&here.join("fod/peaks.nii.gz"));
    assert_eq!([cone.frames, dispersion.frames], [3, 3]);
    for voxel in 0..cone.grid.voxel_count() {
        let has_peak = peaks.frame(0)[voxel].is_finite();
        let (angle, spread) = (cone.frame(0)[voxel], dispersion.frame(0)[voxel]);
        assert_eq!(has_peak, angle.is_finite(), "{voxel}: {angle}");
        assert!(angle.is_nan() || (0.0..=90.0).contains(&angle));
        assert!(spread.is_nan() || has_peak && (0.0..=0.67).contains(&spread));
    }
    let repeat = report["repeat"].as_str().expect("a command");
    assert!(
        repeat.contains("--bootstrap 20 --random-seed 1")
            && repeat.contains("--maps peaks,cone,peak_dispersion"),
        "{repeat}"
    );
    let repeat = repeat
        .trim_start_matches("arcuate ")
        .replace("--out fod", "--out again");
    run(&format!("{repeat} --threads 1"), here);
    let bits = |v: &Volume| v.values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&cone), bits(&values(&here.join("again/cone.nii.gz"))));
    let without = arcuate(
        &"fod head/dwi.nii.gz --maps cone --out no"
            .split(' ')
            .collect::<Vec<_>>(),
        here,
    );
    let error = String::from_utf8_lossy(&without.stderr);
    assert_eq!(without.status.code(), Some(2), "{error}");
    assert!(error.contains("--bootstrap"), "{error}");
}
