//! Rows of the parameters, and of the scan.

use super::super::{Window, click, small_scan, window};
use super::{SIZE, with_distributions};
use arcuate::state::{Content, Task};
use egui::accesskit::Role as Spoken;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use std::sync::Arc;

/// The order by hand begins with the one in use.
pub fn order() {
    let mut window = window(with_distributions(), SIZE);
    click(&mut window, "Fibre orientations: 1 response");
    click(&mut window, "Responses, deconvolution, peaks");
    let order = |window: &Window| {
        let document = &window.state().state.document;
        document.distributions.settings.params.order
    };
    assert_eq!(order(&window), None);
    window
        .get_by_role_and_label(Spoken::CheckBox, "Order")
        .click();
    window.run();
    assert_eq!(order(&window), Some(4));
}

/// In the narrow panel, a long list of shells is cut before it covers its name.
pub fn shells() {
    let mut state = small_scan();
    let scan = state.document.scan().expect("a scan").id;
    state.document.edit_layer(scan, |layer| {
        if let Content::Scan {
            gradients: Some(gradients),
            ..
        } = &mut layer.content
        {
            let mut many = (**gradients).clone();
            for (i, b) in many.b_s_per_mm2.iter_mut().enumerate() {
                *b = 500.0 * (i % 7) as f64;
            }
            *gradients = Arc::new(many);
        }
    });
    state.view.task = Task::View;
    // The panel is as narrow as in a window of 1280 × 800, and high enough to show the inputs.
    let window = window(state, [1280.0, 1700.0]);
    let row = window.get_by_label_contains("Gradients, ").rect();
    let texts = window.output().shapes.iter().filter_map(|clipped| {
        let egui::Shape::Text(text) = &clipped.shape else {
            return None;
        };
        let rect = text.visual_bounding_rect();
        row.contains(rect.center())
            .then(|| (text.galley.text(), rect))
    });
    let texts: Vec<_> = texts.collect();
    let name = texts.iter().find(|(text, _)| text.contains("Gradients"));
    let list = texts.iter().find(|(text, _)| text.contains("× b"));
    let [(_, name), (text, list)] = [name, list].map(|found| found.expect("a text"));
    assert!(name.right() < list.left(), "{text}: {name:?} {list:?}");
}

/// The bootstrap of the distributions and that of streamlines are rows of the same name in one panel.
pub fn bootstraps() {
    let mut window = window(with_distributions(), [1280.0, 1700.0]);
    click(&mut window, "Fibre orientations: 1 response");
    click(&mut window, "Responses, deconvolution, peaks");
    let are_on = |window: &Window| {
        let document = &window.state().state.document;
        let of_distributions = document.distributions.settings.params.repetitions;
        [of_distributions, document.track_repetitions()].map(|repetitions| repetitions.is_some())
    };
    let boxes = |window: &Window| {
        let all = window.query_all_by_label("Bootstrap");
        all.filter(|node| node.accesskit_node().role() == Spoken::CheckBox)
            .count()
    };
    assert_eq!((boxes(&window), are_on(&window)), (2, [false; 2]));
    // Before it is switched on, the row of the distributions states the time of the repetitions that it offers.
    let times = window.query_all_by_label_contains(" repetitions would take about ");
    assert_eq!(times.count(), 1);
    window
        .get_all_by_label("Bootstrap")
        .next()
        .expect("a row")
        .click();
    window.run();
    assert_eq!(are_on(&window).into_iter().filter(|on| *on).count(), 1);
}
