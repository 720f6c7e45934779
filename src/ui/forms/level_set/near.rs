//! Distances of the surface from streamlines and pathways.

use crate::data::text::within_sentence;
use crate::parameters::Parameters as _;
use crate::state::pathways::jobs::PATHWAY;
use crate::state::pathways::{PathwayAction, PathwaySettings};
use crate::state::segment::jobs::{ProximityTarget, WithinMargin};
use crate::state::segment::{Margin, SegmentAction, SegmentSettings};
use crate::state::tensors::jobs::fit::FIT;
use crate::state::{Action, Distance, Phase, Proximity, State, SurfaceStatistics, ViewAction};
use crate::ui::format::{count, distance_text, fixed, with_unit};
use crate::ui::forms::eikonal::surface;
use crate::ui::forms::parameters::{self, Shown};
use crate::ui::theme::{self, radius, size, space};
use crate::ui::widgets::{focus, paint, rows};
use egui::{CursorIcon, Rect, Sense, Ui, pos2, vec2};

const ROW: f32 = 22.0;
/// Before a row that belongs to the one above.
const INDENT: &str = "\u{2003}";

fn text(near: &Proximity) -> String {
    match near.met {
        Distance::Later => "once it is at rest".to_owned(),
        Distance::Never => "–".to_owned(),
        Distance::Away { mm, .. } => distance_text(mm),
        Distance::Crossing {
            count: n, total, ..
        } => {
            let [through, total] = [n, total].map(count);
            match (near.is_streamlines, n) {
                (true, 1) => format!("1 of {total} enters it"),
                (true, _) => format!("{through} of {total} enter it"),
                (false, _) => format!("{through} of {total} voxels inside"),
            }
        }
    }
}

/// `To CST`, `To live pathway`: only a name that the user has not given begins with a small letter.
fn named(name: &str, is_live_pathway: bool) -> String {
    match is_live_pathway {
        true => format!("To {}", within_sentence(name)),
        false => format!("To {name}"),
    }
}

/// The share of the voxels, rounded up, so that it is never too small.
fn share(margin: WithinMargin) -> String {
    let percent = 100.0 * margin.count as f64 / margin.total.max(1) as f64;
    with_unit(&fixed(percent.ceil(), 0), "%")
}

/// Controls of the distances from pathways.
pub fn controls(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let document = &state.document;
    if surface::is_shown(state) {
        let mut set = |settings: PathwaySettings, phase: Phase| {
            actions.push(Action::Pathway(PathwayAction::Set { settings, phase }));
        };
        surface::row(ui, state, &mut set);
    }
    let live = &state.runtime.pathways.live;
    let is_followed = state.shows_pathway_in_segment();
    if is_followed && live.value().is_none() {
        let text = match state.runtime.jobs.is_running(&[PATHWAY, FIT]) {
            true => "Solving…",
            false => state.why_no_pathway(),
        };
        rows::hint(ui, text);
    }
    let mut kept = document.kept_pathways.iter();
    if !is_followed && !kept.any(|k| k.visible && k.result.is_some()) {
        return;
    }
    let settings = &document.segment.settings;
    let mm = settings.margin_mm;
    let defaults = Margin::defaults();
    let set: &mut parameters::OnChange<Margin> = &mut |margin, phase| {
        let settings = SegmentSettings {
            margin_mm: margin.mm,
            ..settings.clone()
        };
        actions.push(Action::Segment(SegmentAction::Set { settings, phase }));
    };
    let key = Margin::TABLE[0].key;
    parameters::number(ui, &Margin { mm }, &defaults, key, Shown::default(), set);
}

/// One row each, hidden ones last; a click moves the crosshair to the nearest point.
pub fn show(
    ui: &mut Ui,
    state: &State,
    figures: Option<&SurfaceStatistics>,
    actions: &mut Vec<Action>,
) {
    let Some(figures) = figures else {
        // Reserves rows for the first measurement, so that the rows below do not move.
        for target in state.proximity_targets() {
            let is_live = matches!(&target, ProximityTarget::Pathway(p) if p.is_live);
            rows::reading(ui, &named(target.name(), is_live), "…");
        }
        hidden(ui, state);
        return;
    };
    for near in &figures.distances {
        let is_earlier = state.is_of_earlier_pathway(near);
        rows::dimmed(ui, is_earlier, |ui| measured(ui, near, is_earlier, actions));
    }
    hidden(ui, state);
}

/// The rows of one object. `is_earlier`: it is the pathway of an earlier surface.
fn measured(ui: &mut Ui, near: &Proximity, is_earlier: bool, actions: &mut Vec<Action>) {
    let (place, help) = match near.met {
        _ if is_earlier => (
            None,
            "From this surface to the pathway of an earlier one, until that of this surface is solved",
        ),
        Distance::Away { point, .. } => (
            Some(point),
            match near.is_streamlines {
                true => {
                    "From the surface to the nearest drawn line, rounded down. Click to move the crosshair to the nearest \
                     point"
                }
                false => {
                    "From the surface as drawn to the outline of the pathway as drawn, at its width, rounded down. Between \
                     whole voxels, as Noise in Pathways measures, it is up to a voxel shorter. Click to move the crosshair \
                     to the nearest point"
                }
            },
        ),
        Distance::Crossing { at: point, .. } => (
            Some(point),
            "Any part inside the surface counts. Click to move the crosshair to a point inside",
        ),
        Distance::Later | Distance::Never => (None, ""),
    };
    let name = named(&near.name, near.live.is_some());
    if row(ui, &name, &text(near), help)
        && let Some(point) = place
    {
        actions.push(Action::View(ViewAction::MoveCrosshair(point)));
    }
    if let Some(margin) = near.margin {
        // Indented below the row of its pathway, whose name may be long.
        let mm = with_unit(&fixed(margin.margin_mm, 1), "mm");
        rows::reading(ui, &format!("{INDENT}Voxels within {mm}"), &share(margin));
    }
}

/// Rows of hidden streamlines and pathways, so that none disappears without a reason.
fn hidden(ui: &mut Ui, state: &State) {
    for name in state.hidden_from_distances() {
        rows::reading(ui, &format!("To {name}"), "hidden, not counted");
    }
}

/// Layers left out of the distances, and why.
pub fn not_measured_hint(ui: &mut Ui, state: &State) {
    let names = state.not_measured();
    if !names.is_empty() {
        rows::hint(ui, &format!("Not counted: {}", names.join(", ")));
    }
}

/// A reading that can be clicked if there is help for it.
fn row(ui: &mut Ui, name: &str, value: &str, help: &str) -> bool {
    if help.is_empty() {
        rows::reading(ui, name, value);
        return false;
    }
    let p = theme::palette(ui.style());
    let desired_size = vec2(ui.available_width(), ROW);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::click());
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let painter = ui.painter();
    if response.hovered() {
        painter.rect_filled(rect, 0.0, p.b2);
    }
    let value_at = paint::right(painter, inner, value, theme::medium(size::LABEL), p.accent);
    let name_at = Rect::from_min_max(inner.min, pos2(value_at.left() - 8.0, inner.bottom()));
    paint::name(painter, name_at, name, theme::regular(size::LABEL), p.t2);
    paint::focus_ring(painter, p, &response, rect, radius::CONTROL);
    focus::named_button(&response, format!("{name} {value}"));
    let response = response.on_hover_cursor(CursorIcon::PointingHand);
    response.on_hover_text(help).clicked()
}
