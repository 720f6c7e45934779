//! Sentences about numbers of streamlines, and about what a file holds.

use crate::support::test;
use arcuate::data::Tractogram;
use arcuate::jobs::ValueNames;
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    vec![test("update::values_in_files::the_form_names_them", values)]
}

/// A file that holds all values names them; where the format holds none, none is named.
fn values() {
    let lines = Tractogram::new(vec![[1.0; 3]; 2], vec![0, 2])
        .with_per_point("cm", vec![0.5; 2])
        .with_per_point("fa", vec![0.5; 2])
        .with_per_streamline("cm", vec![0.5])
        .with_per_streamline("commit", vec![1.0])
        .with_per_streamline("seed", vec![0.0]);
    let names = ValueNames::from_tractogram(&lines);
    let named = |file: &str| names.in_file(Path::new(file)).join(", ");
    assert_eq!(named("rays.trx"), "CM, FA, Weight, Seed");
    assert_eq!(named("rays.tck"), "", "in files next to it");
    assert_eq!(named("rays.png"), "");
}
