//! The panel of bundles: settings of clusters, and a row for each group.

use super::{App, window};
use crate::support::test;
use arcuate::solvers::bundles::GroupStatistics;
use arcuate::solvers::tractogram::selection::Edit;
use arcuate::state::core::display::LineColouring;
use arcuate::state::streamlines::jobs::bundles::ComputeGroupStatistics;
use arcuate::state::streamlines::jobs::edit::EditStreamlines;
use arcuate::state::streamlines::{BottomPanel, GroupTable, StreamlineAction};
use arcuate::state::{Action, LayerAction, Task, update};
use egui_kittest::kittest::Queryable as _;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "ui::bundles are listed and chosen, and clusters requested",
        panel,
    )]
}

fn panel() {
    let mut state = super::filter::weighing(Task::View);
    let layer = state.document.layer_named("whole").expect("streamlines").id;
    let mut effects = Vec::new();
    for action in [
        Action::Layer(LayerAction::Select(Some(layer))),
        Action::Streamline(StreamlineAction::Open(Some(BottomPanel::Bundles))),
    ] {
        effects.extend(update(&mut state, action));
    }
    let mut jobs = effects
        .iter()
        .filter_map(|e| e.job::<ComputeGroupStatistics>());
    let job = jobs.next().expect("a job");
    assert_eq!(job.among.tractogram.groups.len(), 2);
    let figures = |count: usize, volume: f64| GroupStatistics {
        count,
        length_mm: 52.3,
        length_sd_mm: 4.5,
        volume_mm3: Some(volume),
        value: Some(0.4567),
    };
    let groups = [
        ("CST L", figures(30, 12_340.0)),
        ("Cingulum", figures(10, 560.0)),
    ];
    let table = GroupTable {
        groups: groups
            .map(|(name, figures)| (name.to_owned(), figures))
            .into(),
        value: Some("FA".to_owned()),
    };
    state.runtime.streamlines.groups.finish(table);
    state
        .document
        .edit_layer(layer, |l| l.display.line_colouring = LineColouring::Group);
    let mut window = window(state, [1920.0, 1080.0]);
    window.get_by_label_contains("CST L: 30 streamlines, mean length 52.3 mm");
    window
        .get_by_label_contains("Cingulum: 10 streamlines")
        .click();
    window.run();
    let app: &mut App = window.state_mut();
    let chosen = app.state.manual_selection().expect("a selection");
    assert_eq!(chosen.count, 10);
    assert!(chosen.marks.0[30..40].iter().all(|mark| *mark));
    // The button requests clusters with the parameters of the form.
    let mut settings = app.state.document.streamlines.bundles.clone();
    settings.clusters.threshold_mm = 7.0;
    update(
        &mut app.state,
        Action::Streamline(StreamlineAction::SetBundles(settings.clone())),
    );
    let effects = update(
        &mut app.state,
        Action::Streamline(StreamlineAction::Cluster),
    );
    let mut jobs = effects.iter().filter_map(|e| e.job::<EditStreamlines>());
    let job = jobs.next().expect("a job");
    assert_eq!(job.steps, [Edit::Cluster(settings.clusters)]);
    window.run();
    window.get_by_label("Cluster");
    assert!(
        window
            .query_all_by_label_contains("Threshold")
            .next()
            .is_some()
    );
}
