//! The distribution at the crosshair: its picture, its letters and its peaks.

use super::{Window, small_scan, window};
use crate::support::{distributions, test};
use arcuate::data::PeakField;
use arcuate::data::spherical_harmonics::{degrees, evaluate};
use arcuate::state::view::{View, letter};
use arcuate::state::{Convention, Pane, State, Task};
use arcuate::ui::odf_picture::{self, SideLetter};
use arcuate::ui::{crosshair, probe};
use egui::{Rect, Vec2, pos2, vec2};
use egui_kittest::kittest::Queryable as _;
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("ui::crosshair::lobes point to their letters", letters),
        test("ui::crosshair::letters are those of the slices", as_slices),
        test("ui::crosshair::peaks have amplitudes and directions", peaks),
        test("ui::crosshair::the viewpoint is named", viewpoint),
    ]
}

const ORDER: usize = 8;
const CONVENTIONS: [Convention; 2] = [Convention::Radiological, Convention::Neurological];

fn view(convention: Convention) -> View {
    View {
        convention,
        ..View::default()
    }
}

/// A narrow lobe without negative values.
fn lobe(along: DVec3) -> Vec<f64> {
    let functions = evaluate(ORDER, along).into_iter().zip(degrees(ORDER));
    let smooth = functions.map(|(y, (l, _))| y * (-0.04 * (l * (l + 1)) as f64).exp());
    smooth.collect()
}

fn place() -> Rect {
    Rect::from_center_size(pos2(200.0, 300.0), vec2(160.0, 160.0))
}

/// From the centre of the picture to the tip of a lobe.
fn tip(along: DVec3, view: &View, pane: Pane) -> (Vec2, egui::Color32) {
    let mesh = odf_picture::mesh(place(), ORDER, &lobe(along), crosshair::axes(view, pane));
    let vertices = mesh.vertices.iter();
    let from_centre = |v: &egui::epaint::Vertex| v.pos - place().center();
    let tips = vertices.map(|v| (from_centre(v), v.color));
    tips.max_by(|a, b| a.0.length().total_cmp(&b.0.length()))
        .expect("a surface")
}

/// One peak along A–P points to the letters A and P in every view that shows them, and so on; it is green.
fn letters() {
    for convention in CONVENTIONS {
        let view = view(convention);
        for pane in Pane::ALL {
            let axes = crosshair::axes(&view, pane);
            assert!(axes.determinant() > 0.0, "{pane:?} is mirrored");
            let all = odf_picture::letters(place(), axes);
            for axis in DVec3::AXES {
                let shown = |side: char| all.iter().find(|l: &&SideLetter| l.side == side);
                let (tip, colour) = tip(axis, &view, pane);
                let Some(pair) = shown(letter(axis)).zip(shown(letter(-axis))) else {
                    // Seen from its end: a round spot.
                    assert!(axis.dot(axes.z_axis).abs() > 0.9, "{pane:?} {axis}");
                    continue;
                };
                let cosine = |l: &SideLetter| {
                    let to = (l.at - place().center()).normalized();
                    tip.normalized().dot(to)
                };
                let nearest = all.iter().max_by(|a, b| cosine(a).total_cmp(&cosine(b)));
                let nearest = nearest.expect("letters").side;
                let own = [pair.0.side, pair.1.side];
                assert!(own.contains(&nearest), "{convention:?} {pane:?}: {nearest}");
                assert!(cosine(pair.0).abs() > 0.97, "{pane:?} {axis}");
                assert!((cosine(pair.0) + cosine(pair.1)).abs() < 1e-3);
                let largest = [colour.r(), colour.g(), colour.b()];
                let channel = (0..3).max_by_key(|i| largest[*i]).expect("three");
                assert_eq!(axis[channel], 1.0);
            }
        }
    }
}

/// An oblique lobe points to the quadrant between the letters that name its direction.
fn as_slices() {
    for convention in CONVENTIONS {
        let view = view(convention);
        for pane in [Pane::Axial, Pane::Sagittal, Pane::Coronal] {
            let all = odf_picture::letters(place(), crosshair::axes(&view, pane));
            let centre = place().center();
            let at = |towards: Vec2| {
                let cosine = |l: &&SideLetter| (l.at - centre).normalized().dot(towards);
                let found = all.iter().max_by(|a, b| cosine(a).total_cmp(&cosine(b)));
                found.expect("letters").side
            };
            let edges = [
                vec2(-1.0, 0.0),
                vec2(1.0, 0.0),
                vec2(0.0, -1.0),
                vec2(0.0, 1.0),
            ];
            let sides = edges.map(|edge| at(edge).to_string());
            assert_eq!(Some(sides), view.letters(pane), "{pane:?}");
        }
        let along = DVec3::new(-0.5, 0.7, 0.2).normalize();
        let (tip, _) = tip(along, &view, Pane::Axial);
        let up = if tip.y < 0.0 { tip } else { -tip };
        // Front is up; left is on the right in the radiological convention.
        let is_right = convention == Convention::Radiological;
        assert_eq!(up.x > 0.0, is_right, "{up}");
        let text = probe::direction(along, false).expect("a direction");
        assert_eq!(text, "A 0.79 L 0.57 S 0.23");
        assert_eq!(
            probe::direction(-along, true).as_deref(),
            Some("A 0.79 L? 0.57 S 0.23")
        );
    }
}

fn state() -> State {
    let mut state = small_scan();
    state.view.task = Task::Track;
    distributions::give(&mut state.document, distributions::round);
    state
}

/// A state whose distributions have these peaks in every voxel.
fn with_peaks(peaks: &[DVec3]) -> State {
    let mut state = state();
    let result = state.document.distributions.result.as_mut();
    let result = Arc::make_mut(result.expect("distributions"));
    let mut fods = (*result.fods).clone();
    let grid = fods.output.field.grid.clone();
    let n = grid.voxel_count();
    let components = peaks.iter().flat_map(|peak| peak.to_array());
    let values: Vec<f32> = components.flat_map(|c| vec![c as f32; n]).collect();
    fods.peaks = Some(PeakField::new(grid, peaks.len(), values));
    result.fods = Arc::new(fods);
    state
}

fn peaks() {
    let value = |state: &State, name: &str| {
        let all = probe::readings(state);
        all.into_iter().find(|r| r.name == name).map(|r| r.value)
    };
    let all = [
        DVec3::new(0.0, -0.9, 0.0),
        DVec3::new(-0.3, 0.0, 0.4),
        DVec3::new(0.0, 0.0, 0.2),
    ];
    let two = with_peaks(&all[..2]);
    assert_eq!(value(&two, "Peaks").as_deref(), Some("2, 90° apart"));
    assert_eq!(value(&two, "Peak 1").as_deref(), Some("0.90 along A 1.00"));
    let second = value(&two, "Peak 2");
    assert_eq!(second.as_deref(), Some("0.50 along S 0.80 L 0.60"));
    assert_eq!(value(&two, "Angles of peaks"), None);
    let three = with_peaks(&all);
    let count = value(&three, "Peaks");
    assert_eq!(count.as_deref(), Some("3, the two largest are 90° apart"));
    let others = value(&three, "Angles of peaks");
    assert_eq!(others.as_deref(), Some("1 and 3: 90°, 2 and 3: 37°"));
    // Before the maps.
    assert_eq!(probe::readings(&three)[0].name, "Peaks");
}

fn viewpoint() {
    let mut state = state();
    let shown = |window: &Window, text: &str| {
        let mut all = window.query_all_by_label_contains("Fibre orientations at the crosshair");
        all.any(|node| {
            use egui_kittest::kittest::NodeT as _;
            node.accesskit_node()
                .label()
                .is_some_and(|l| l.contains(text))
        })
    };
    let first = window(state.clone(), [1920.0, 1080.0]);
    assert!(shown(&first, "Seen from below, radiological"));
    state.view.convention = Convention::Neurological;
    let second = window(state, [1920.0, 1080.0]);
    assert!(shown(&second, "Seen from above, neurological"));
}
