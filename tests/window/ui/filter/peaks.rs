//! The row *Peaks* offers those of distributions once there are some.

use super::{Window, choose, filtering, weighing};
use crate::support::distributions;
use arcuate::state::filter::{ChosenPeaks, GivenPeaks};
use arcuate::state::{Content, Task};
use egui::Role;
use egui_kittest::kittest::Queryable as _;
use std::sync::Arc;

const TENSORS: &str = "from the tensor fit";
const DISTRIBUTIONS: &str = "from the distributions";

/// Adds round distributions.
fn add_distributions(window: &mut Window) {
    let document = &mut window.state_mut().state.document;
    distributions::give(document, distributions::round);
    window.run();
}

pub fn offered() {
    let peaks = |window: &Window| window.state().state.document.filter.peaks;
    let mut window = filtering();
    window
        .get_by_role_and_label(Role::ComboBox, "Peaks")
        .click();
    window.run();
    assert!(window.query_by_label(DISTRIBUTIONS).is_none());
    let mut window = filtering();
    add_distributions(&mut window);
    let of_fods: Option<ChosenPeaks> = Some(GivenPeaks::Distributions(()));
    assert!(window.query_by_label_contains("Tensors use").is_none());
    choose(&mut window, "Peaks", DISTRIBUTIONS);
    window.get_by_label_contains("Up to 1 peak in a voxel, from ");
    assert_eq!(peaks(&window), of_fods);
    assert_eq!(window.state().state.cannot_filter(), None);
    choose(&mut window, "Peaks", TENSORS);
    assert_eq!(peaks(&window), None);
}

/// Tensors leave out the shells above their range, and the row says so.
pub fn volumes() {
    let mut state = weighing(Task::Filter);
    let scan = state.document.scan().expect("a scan").id;
    let mut all = 0;
    state.document.edit_layer(scan, |layer| {
        let Content::Scan {
            gradients: Some(gradients),
            ..
        } = &mut layer.content
        else {
            panic!("a scan with gradients");
        };
        let b_values = &mut Arc::make_mut(gradients).b_s_per_mm2;
        all = b_values.len();
        b_values[all - 2..].fill(3000.0);
    });
    let window = super::window(state, [1920.0, 1080.0]);
    let text = format!("Tensors use {} of {all} volumes", all - 2);
    window.get_by_label_contains(&text);
}
