//! Values beside a streamline file: MRtrix track scalars and weights.

use super::sentence;
use crate::support::test;
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::io::{scalars, tck};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "io::scalars::of_another_file_are_refused",
        another_file,
    )]
}

fn lines(count: usize) -> Tractogram {
    let points: Vec<[f32; 3]> = (0..2 * count).map(|i| [i as f32, 0.0, 0.0]).collect();
    let offsets: Vec<u64> = (0..=count as u64).map(|i| 2 * i).collect();
    Tractogram::new(points, offsets).with_per_point("cm", vec![1.0; 2 * count])
}

/// Values of three streamlines say nothing beside a file of five.
fn another_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (five, three) = (lines(5), lines(3));
    tck::save(&path("five.tck"), &five, "", &Control::new()).expect("saved");
    let error = scalars::save_points(&path("a.tsf"), &path("five.tck"), &three, "cm")
        .expect_err("other streamlines");
    let said = sentence(&error);
    assert!(
        said.contains("5 streamlines") && said.contains(" 3, of which"),
        "{said}"
    );
    assert!(!path("a.tsf").exists());
    scalars::save_points(&path("a.tsf"), &path("five.tck"), &five, "cm").expect("saved");
    assert!(path("a.tsf").exists());
}
