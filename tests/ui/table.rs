//! The table of streamlines below the views.

use super::{App, Window, click, window};
use crate::support::test;
use arcuate::solvers::tracking::StopReason;
use arcuate::state::bundle::{BundleAction, Drawer};
use arcuate::state::{Action, Content, Task, update};
use egui::Role;
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "ui::rows of the table are those that stopped for a reason",
        stopped,
    )]
}

/// Sixty streamlines whose ends have reasons, in the table.
fn tabled() -> Window {
    let mut state = super::filter::weighing(Task::View);
    let layer = state.document.layer_named("whole").expect("streamlines").id;
    state.document.edit_layer(layer, |layer| {
        let Content::Tractogram(lines) = &mut layer.content else {
            panic!("streamlines");
        };
        let reasons = |of: StopReason| vec![f32::from(of as u8); lines.len()];
        *lines = lines
            .clone()
            .with_per_streamline("stop_start", reasons(StopReason::LowFa))
            .with_per_streamline("stop_end", reasons(StopReason::Angle));
    });
    let mut window = window(state, [1920.0, 1080.0]);
    let app: &mut App = window.state_mut();
    for action in [
        Action::SelectLayer(Some(layer)),
        Action::Bundle(BundleAction::Open(Some(Drawer::Table))),
    ] {
        app.effects.extend(update(&mut app.state, action));
    }
    let rows: Vec<u32> = (0..60).collect();
    app.state.session.bundle.order.done(rows.into());
    window.run();
    window
}

fn stopped() {
    let mut window = tabled();
    let stop = |window: &Window| {
        let sieve = window.state().state.document.bundle.sieve.clone();
        sieve.and_then(|s| s.stop)
    };
    for (word, wanted) in [
        (StopReason::LowFa.words(), Some(StopReason::LowFa)),
        ("Any reason", None),
    ] {
        click(&mut window, "Rows stopped for");
        window.get_by_role_and_label(Role::MenuItem, word).click();
        window.run();
        assert_eq!(stop(&window), wanted);
    }
}
