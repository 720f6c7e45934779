//! A hundred thousand streamlines in the live selection and the table: the window's thread stays free.

use super::{limit, weight};
use crate::support::{Window, test, thread_time};
use arcuate::compute::Control;
use arcuate::data::{Grid, Role, Shape, Tractogram, Volume};
use arcuate::io::{nifti, streamlines};
use arcuate::state::streamlines::{BottomPanel, Column, StreamlineRules, TableView};
use arcuate::state::{Action, FilesAction, Phase, RegionAction, StreamlineAction};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;
use std::time::Instant;

const COUNT: usize = 100_000;
/// Processor time of the window's thread for an action that users do not notice, ms. Workers do the rest.
const AT_ONCE_MS: f64 = 100.0;

pub fn tests() -> Vec<Trial> {
    vec![test("streamlines::100,000 streamlines stay fluid", large)]
}

/// Lines of 75 points, 1 mm apart, along x at the points of a lattice.
fn lines() -> Tractogram {
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for i in 0..COUNT {
        let (y, z) = ((i % 320) as f32 * 0.25, (i / 320) as f32 * 0.25);
        let length = 40 + i % 71;
        points.extend((0..length).map(|x| [x as f32, y, z]));
        offsets.push(points.len() as u64);
    }
    let weights: Vec<f32> = (0..COUNT).map(|i| (i as f32 * 0.618).fract()).collect();
    Tractogram::new(points, offsets).with_per_streamline("weight", weights)
}

fn large() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.trx");
    streamlines::save(&file, &lines(), "test", &Control::new()).unwrap();
    let grid = Grid::axis_aligned([56, 41, 41], DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|i| grid.voxel(i)[1] as f32)
        .collect();
    let image = folder.path().join("y.nii.gz");
    let volume = Volume::scalar(grid, values);
    nifti::save_volume(&image, &volume, "test", &Control::new()).unwrap();
    let mut window = Window::new();
    window.act(Action::Files(FilesAction::Open(vec![image, file])));
    let layer = window.state.document.layer_named("all").expect("open").id;
    let timed = |window: &mut Window, what: &str, action: Action| {
        let (began, before) = (Instant::now(), thread_time());
        window.act(action);
        let ms = (thread_time() - before).as_secs_f64() * 1e3;
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        eprintln!(
            "100,000 streamlines, {what}: {elapsed_ms:.1} ms, {ms:.1} ms of the window's thread"
        );
        assert!(ms < AT_ONCE_MS, "{what}: {ms:.1} ms");
    };
    let rules = |rules: StreamlineRules, phase| {
        Action::Streamline(StreamlineAction::SetRules { rules, phase })
    };
    timed(
        &mut window,
        "filter on",
        rules(StreamlineRules::new(layer), Phase::Done),
    );
    // During a drag a part is drawn, and all at rest.
    let half = StreamlineRules::new(layer).limited(limit(weight(), Some(0.5), None));
    for (phase, is_part) in [(Phase::Live, true), (Phase::Done, false)] {
        window.act(rules(half.clone(), phase));
        let selection = window.state.selection(layer).expect("filtered");
        assert_eq!(selection.every > 1, is_part, "{phase:?}");
    }
    window.act(rules(StreamlineRules::new(layer), Phase::Done));
    let (role, shape) = (
        Role::Include,
        Shape::Sphere {
            centre: DVec3::new(30.0, 40.0, 40.0),
            radius_mm: 10.0,
        },
    );
    window.act(Action::Region(RegionAction::Add { role, shape }));
    let id = window.state.document.regions[0].id;
    for (y, phase) in [
        (41.0, Phase::Live),
        (42.0, Phase::Live),
        (42.0, Phase::Done),
    ] {
        let shape = Shape::Sphere {
            centre: DVec3::new(30.0, y, 40.0),
            radius_mm: 10.0,
        };
        let region = id;
        let action = Action::Region(RegionAction::SetShape {
            region,
            shape,
            phase,
        });
        timed(&mut window, &format!("region dragged, {phase:?}"), action);
        assert!(window.state.selection(layer).expect("filtered").kept > 100);
    }
    let by_value = StreamlineRules::new(layer).limited(limit(weight(), Some(0.2), Some(0.7)));
    timed(
        &mut window,
        "limits of a value",
        rules(by_value.clone(), Phase::Live),
    );
    let y = window.state.document.layer_named("y").expect("open").id;
    let by_image = by_value.limited(limit(Column::Image(y), Some(5.0), Some(30.0)));
    timed(
        &mut window,
        "limits of an image's mean",
        rules(by_image.clone(), Phase::Live),
    );
    timed(&mut window, "the same again", rules(by_image, Phase::Done));
    let drawer = StreamlineAction::Open(Some(BottomPanel::Table));
    timed(&mut window, "table", Action::Streamline(drawer));
    for by in [weight(), Column::length()] {
        let view = TableView {
            column: Some(by.clone()),
            descending: true,
        };
        let action = Action::Streamline(StreamlineAction::Sort(view));
        timed(&mut window, &format!("sorted by {by:?}"), action);
        let order = &window.state.runtime.streamlines.order;
        let (key, rows) = order.shown().expect("sorted");
        assert!(key.values.is_some() && key.descending);
        assert_eq!(
            rows.len(),
            window.state.selection(layer).expect("filtered").kept
        );
    }
    timed(
        &mut window,
        "all chosen",
        Action::Streamline(StreamlineAction::ChooseAll),
    );
    timed(
        &mut window,
        "chosen deleted",
        Action::Streamline(StreamlineAction::DeleteChosen),
    );
    timed(&mut window, "taken back", Action::Undo);
}
