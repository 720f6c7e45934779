//! Selecting the streamlines of a group.

use super::on;
use crate::support::Random;
use arcuate::compute::Control;
use arcuate::data::Tractogram;
use arcuate::solvers::tractogram::selection::{SelectionRules, select};

/// Only the streamlines of a group, in their order; a group that does not exist never silently keeps anything.
pub fn groups() {
    let mut random = Random::fresh("groups");
    let all = 200;
    let points: Vec<[f32; 3]> = (0..2 * all)
        .map(|_| random.direction().as_vec3().to_array())
        .collect();
    let offsets: Vec<u64> = (0..=all as u64).map(|i| 2 * i).collect();
    let mut tractogram = Tractogram::new(points, offsets);
    let members: Vec<u32> = (0..all as u32).filter(|_| random.bits() & 3 == 0).collect();
    tractogram
        .groups
        .insert("CST".to_owned(), members.clone().into());
    let rules = |name: &str, invert: bool| SelectionRules {
        group: Some(name.to_owned()),
        invert,
        ..SelectionRules::default()
    };
    let (backend, control) = (on(2), Control::new());
    let kept = |invert: bool| -> Vec<u32> {
        let found = select(&tractogram, &rules("CST", invert), &backend, &control);
        let marks = found.expect("selected").marks;
        (0..all as u32).filter(|i| marks[*i as usize]).collect()
    };
    assert_eq!(kept(false), members);
    assert_eq!(kept(true).len() + members.len(), all);
    let error = select(&tractogram, &rules("AF", false), &backend, &control);
    let error = error.expect_err("no such group").to_string();
    assert!(error.contains("CST"), "{error}");
}
