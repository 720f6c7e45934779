//! The row *Peaks* offers those of distributions once there are some.

use super::{Window, choose, filtering};
use crate::support::distributions;
use arcuate::state::Content;
use arcuate::state::filter::{ChosenPeaks, GivenPeaks};
use arcuate::state::tensors::types::fods::FodResult;
use egui::Role;
use egui_kittest::kittest::Queryable as _;
use std::sync::Arc;

const TENSORS: &str = "from the tensor fit";
const DISTRIBUTIONS: &str = "from the distributions";

/// Adds round distributions.
fn add_distributions(window: &mut Window) {
    let document = &mut window.state_mut().state.document;
    let scan = document.scan().expect("a scan").clone();
    let Content::Scan {
        dwi,
        gradients: Some(gradients),
    } = &scan.content
    else {
        panic!("a scan with gradients");
    };
    document.distributions.settings.requested = true;
    let key = document.requested_fods().expect("requested");
    document.distributions.result = Some(Arc::new(FodResult {
        key,
        origin: scan.origin,
        fods: Arc::new(distributions::round(&dwi.grid, gradients)),
        wall_ms: 1900.0,
    }));
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
    choose(&mut window, "Peaks", DISTRIBUTIONS);
    assert_eq!(peaks(&window), of_fods);
    assert_eq!(window.state().state.cannot_filter(), None);
    choose(&mut window, "Peaks", TENSORS);
    assert_eq!(peaks(&window), None);
}
