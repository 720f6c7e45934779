//! Figures under the list of regions, and the panel's buttons for slices.

use super::{App, Window, click, submitted, tracking, window};
use crate::support::{done_event, test};
use arcuate::compute::Control;
use arcuate::data::{Role, Shape, Stroke};
use arcuate::solvers::region::{SliceAxis, statistics};
use arcuate::state::core::slice_turn::SliceTurn;
use arcuate::state::figures::jobs::{MeasureFigures, MeasuredVoxels, SaveFigures};
use arcuate::state::regions::jobs::make::{MakeRegion, RegionOperation};
use arcuate::state::{
    Action, Drawing, FigureAction, FigureSubject, Phase, RegionAction, Tool, ViewAction, update,
};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use glam::{DQuat, DVec3};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::figures open under the list of regions", section),
        test(
            "ui::figures without an open section measure nothing",
            closed,
        ),
        test(
            "ui::drawings are copied and interpolated by buttons",
            slices,
        ),
        test("ui::the brush paints a range of values", range),
    ]
}

fn act(window: &mut Window, action: Action) {
    let App { state, effects, .. } = window.state_mut();
    effects.extend(update(state, action));
    window.run();
}

/// Carries out the last request for figures.
fn measure(window: &mut Window) {
    let job = submitted::<MeasureFigures>(window).last().copied();
    let job = job.expect("a request").clone();
    let MeasuredVoxels::Shape(shape) = &job.voxels else {
        panic!("a region");
    };
    let mask = shape.mask_on(&job.volume.grid);
    let image = (&job.volume, job.key.frame);
    let figures = statistics(image, &mask, 64, &Control::new()).expect("values");
    act(window, Action::Event(done_event(job, 1, figures)));
}

fn labels(window: &Window) -> Vec<String> {
    let all = window.query_all_by_role(egui::accesskit::Role::Label);
    // The text of a label is its value.
    all.map(|node| node.accesskit_node())
        .filter_map(|node| node.label().or(node.value()))
        .collect()
}

fn reading(window: &Window, name: &str) -> String {
    let all = labels(window);
    let found = all.iter().find(|label| label.starts_with(name));
    found
        .unwrap_or_else(|| panic!("{name} among {all:?}"))
        .clone()
}

fn section() {
    let mut window = window(tracking(), [1600.0, 900.0]);
    // The small scan has few voxels.
    let regions = window.state().state.document.regions.iter();
    for region in regions.map(|r| r.id).collect::<Vec<_>>() {
        let centre = window.state().state.view.crosshair;
        let shape = Shape::Sphere {
            centre,
            radius_mm: 30.0,
        };
        let phase = Phase::Done;
        let change = RegionAction::SetShape {
            region,
            shape,
            phase,
        };
        act(&mut window, Action::Region(change));
    }
    click(&mut window, "Figures");
    window.get_by_label("Measuring…");
    measure(&mut window);
    let figures = window.state().state.runtime.figures.live.shown();
    let voxels = figures.expect("figures").1.voxels;
    assert_eq!(reading(&window, "Voxels"), format!("Voxels {voxels}"));
    for name in ["Volume ", "Mean ± SD ", "Median ", "Smallest to largest "] {
        reading(&window, name);
    }
    window.get_by_label_contains("Values within the region: ");
    // Another region from the menu.
    let before = window.state().state.figure_subject().map(|s| s.0);
    click(&mut window, "Figures: Within");
    click(&mut window, "Motor L");
    let (after, name) = window.state().state.figure_subject().expect("a subject");
    assert!(before != Some(after) && name == "Motor L");
    measure(&mut window);
    // The table of all volumes is asked for by a path.
    click(&mut window, "Export CSV…");
    click(&mut window, "Figures of each volume…");
    window.get_by_label_contains("Export the figures");
    assert!(submitted::<SaveFigures>(&window).is_empty());
    window.key_press(egui::Key::Escape);
    window.run();
    click(&mut window, "Copy the figures");
    let copied = window.state().effects.iter();
    let copied = copied.filter(|e| matches!(e, arcuate::state::Effect::CopyText(_)));
    assert_eq!(copied.count(), 1);
    click(&mut window, "Figures");
    assert!(window.query_by_label_contains("Mean ± SD").is_none());
}

fn closed() {
    let mut window = window(tracking(), [1600.0, 900.0]);
    let region = window.state().state.document.regions[0].id;
    let shape = Shape::Sphere {
        centre: DVec3::ZERO,
        radius_mm: 4.0,
    };
    let phase = Phase::Done;
    let change = RegionAction::SetShape {
        region,
        shape,
        phase,
    };
    act(&mut window, Action::Region(change));
    assert!(submitted::<MeasureFigures>(&window).is_empty());
    // The menu of a region opens it.
    let subject = FigureSubject::Region(region);
    act(&mut window, Action::Figures(FigureAction::Measure(subject)));
    assert_eq!(submitted::<MeasureFigures>(&window).len(), 1);
}

fn slices() {
    let mut window = window(tracking(), [1600.0, 900.0]);
    act(&mut window, Action::View(ViewAction::SetTool(Tool::Brush)));
    act(
        &mut window,
        Action::Region(RegionAction::DrawInto {
            region: None,
            role: Role::Region,
        }),
    );
    click(&mut window, "Copy up");
    let copies = |window: &Window| {
        let actions = window.state().actions.iter();
        let copies =
            actions.filter(|a| matches!(a, Action::Region(RegionAction::CopySlice { .. })));
        copies.count()
    };
    assert_eq!(copies(&window), 0, "nothing is drawn");
    let at = window.state().state.view.crosshair;
    act(
        &mut window,
        Action::Region(RegionAction::Stroke {
            stroke: Stroke {
                points: vec![at],
                radius_mm: 6.0,
                disc: Some(DVec3::Z),
            },
            erase: false,
            begins: true,
            phase: Phase::Done,
        }),
    );
    let turn = SliceTurn::about(at, DQuat::from_axis_angle(DVec3::X, 0.2));
    act(&mut window, Action::View(ViewAction::TurnSlices(turn)));
    click(&mut window, "Copy up");
    assert_eq!(copies(&window), 0, "turned slices are not copied");
    act(&mut window, Action::View(ViewAction::StraightenSlices));
    click(&mut window, "Copy up");
    assert_eq!(copies(&window), 1);
    assert_eq!(
        window.state().state.history.undo_label(),
        Some("Copy slice")
    );
    click(&mut window, "Interpolate");
    let requests = submitted::<MakeRegion>(&window);
    let changes = requests.iter().filter_map(|job| match &job.operation {
        RegionOperation::Change { change, .. } => change.interpolate,
        _ => None,
    });
    assert_eq!(changes.collect::<Vec<_>>(), [SliceAxis::Axial]);
}

fn range() {
    let mut window = window(tracking(), [1600.0, 900.0]);
    act(&mut window, Action::View(ViewAction::SetTool(Tool::Brush)));
    let drawing = |window: &Window| -> Drawing { window.state().state.view.drawing.clone() };
    assert_eq!(drawing(&window).range, None);
    click(&mut window, "Paints: A range");
    assert!(drawing(&window).range.is_some());
    window.get_by_label_contains("Only voxels with these values of");
    click(&mut window, "Paints: All voxels");
    assert_eq!(drawing(&window).range, None);
}
