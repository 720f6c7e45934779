//! Results of rays: the histogram of their measures with the cut, and why there are none.

use crate::data::appearance::ColourMap;
use crate::parameters::{Kind, Limits, row};
use crate::solvers::curves::Seeding;
use crate::solvers::geodesic::{Cut, DirectionParts, Directions};
use crate::state::core::text::counted;
use crate::state::track::types::RayResult;
use crate::state::track::types::odf::Model;
use crate::state::{Action, CurveResult, Phase, Rays, State};
use crate::ui::forms::display::colour_of;
use crate::ui::forms::tracking::empty::{Empty, targets};
use crate::ui::rays::{self, Suggestion};
use crate::ui::theme::{self, size};
use crate::ui::widgets::button::segmented;
use crate::ui::widgets::cut::CutHistogram;
use crate::ui::widgets::slider::{Columns, help_over};
use crate::ui::widgets::{field, notice, paint, rows, typed};
use crate::ui::{Memory, format, panels};
use egui::{Color32, Rect, Ui, vec2};

/// Explanation of the measure, on hover.
const CM: &str = "Length of a ray divided by its length in the metric of the inverse tensors, whose unit is \
                  the mean diffusivity over the whole mask, CSF included. Rays along fibres score higher than \
                  others: with plain tensors (α = 1) mostly below 1 in white matter, with sharpened ones \
                  several units. Compare rays with each other";

/// Explanation of the measure along distributions.
const CM_OF_LOBES: &str = "Mean speed of a ray: 1 along a lobe with the reference amplitude, more along higher lobes, less \
                           along lower ones and away from the middle of a lobe. Compare rays with each other";

/// Why there are none, with one suggestion.
pub fn nothing(
    ui: &mut Ui,
    state: &State,
    live: &CurveResult,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    // A few coarse rays say nothing about those still being computed.
    if live.coarse && !state.stalled() {
        return;
    }
    let now = state.document.track.chosen_rays();
    let targets = targets(state, live);
    let names: Vec<&str> = targets.iter().map(|r| r.name.as_str()).collect();
    let Some((text, remedy)) =
        rays::nothing_kept(live, now, &names, &live.place_of_starts(&state.document))
    else {
        return;
    };
    let mut better = now.clone();
    let action = match remedy {
        Suggestion::WidenCone => {
            if let Directions::Cone { half_angle_rad, .. } = &mut better.params.directions {
                *half_angle_rad = widened(*half_angle_rad);
            }
            Some("Widen the cone")
        }
        Suggestion::MoreRays => {
            if let Seeding::Random { count } = &mut better.params.curves.seeding {
                *count = count.saturating_mul(4);
            }
            Some("Four times as many rays")
        }
        Suggestion::ShorterLength => {
            let curves = &mut better.params.curves;
            curves.min_length_mm = (curves.min_length_mm * 0.5).floor();
            Some("Halve the minimum length")
        }
        Suggestion::KeepAll => {
            better.cut = Cut::All;
            Some("Keep all")
        }
        Suggestion::Nothing => None,
    };
    let missed = matches!(remedy, Suggestion::WidenCone | Suggestion::MoreRays);
    let empty = Empty {
        text,
        label: action,
        missed,
        starts: remedy != Suggestion::Nothing,
    };
    if empty.show(ui, state, live, memory, actions) {
        actions.push(super::change(state, better, Phase::Done));
    }
}

/// The opening angle of a wider cone, at most that at the end of its slider; radians.
fn widened(half_angle_rad: f64) -> f64 {
    /// A narrow cone becomes this wide at once.
    const MIN_RAD: f64 = 0.1;
    let Some(Kind::Number(angle)) = row::<DirectionParts>("half-angle").map(|row| &row.kind) else {
        return half_angle_rad;
    };
    let wider = (half_angle_rad * 1.5).max(MIN_RAD);
    wider.min(angle.unit.stored(angle.soft.1))
}

/// Measures of all rays, and the cut, which can be dragged; returns the cut now requested.
pub fn histogram(
    ui: &mut Ui,
    state: &State,
    rays: &RayResult,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) -> Cut {
    if rays.measures.is_empty() {
        return state.document.track.chosen_rays().cut;
    }
    let now = state.document.track.chosen_rays();
    let (low, _) = rays.range;
    let map = match state.document.track.ray_display.colour_map {
        map @ (ColourMap::Viridis | ColourMap::GreenRed) => map,
        _ => ColourMap::Viridis,
    };
    let colour = |t: f32| -> Color32 { colour_of(map, t) };
    let cut = match now.cut {
        Cut::All => None,
        Cut::AtLeast(threshold) => Some(threshold),
        Cut::Top(_) | Cut::TopShare(_) => rays.min_measure,
    };
    // The caption stands above, but its count follows the cut as it is moved.
    let above = ui.cursor().min;
    ui.add_space(panels::CAPTION);
    let moved = CutHistogram {
        name: "Connectivity measure",
        counts: memory.caches.rays.bins(rays),
        range: rays.range,
        logarithmic: false,
        cut,
        colour: &colour,
    }
    .show(ui);
    let requested = moved.map(|(value, phase)| {
        let cut = if value <= low {
            Cut::All
        } else {
            Cut::AtLeast(value)
        };
        (cut, phase)
    });
    let coarse = state.runtime.track.live.value().filter(|l| l.coarse);
    let kept = match (requested, coarse) {
        // With few rays, more are kept than the share says.
        (None, Some(live)) => live.output.kept.len(),
        (requested, _) => memory
            .caches
            .rays
            .kept(rays, requested.map_or(now.cut, |(cut, _)| cut)),
    };
    let fact = match kept {
        0 => format!(
            "0 of {} above the cut",
            format::count(rays.measures.len() as u64)
        ),
        kept => format!("{} kept", format::count(kept as u64)),
    };
    let width = ui.available_width();
    let place = Rect::from_min_size(above, vec2(width, panels::CAPTION));
    let mut caption = ui.new_child(egui::UiBuilder::new().max_rect(place));
    panels::caption(&mut caption, "Connectivity measure (CM)", &fact).on_hover_text(
        match state.document.track.model {
            Model::Tensors => CM,
            Model::Distributions => CM_OF_LOBES,
        },
    );
    let requested = requested.or(keep(ui, now, rays, kept));
    if let Some((cut, phase)) = requested {
        let rays = Rays { cut, ..now.clone() };
        actions.push(super::change(state, rays, phase));
    }
    requested.map_or(now.cut, |(cut, _)| cut)
}

/// The share that keeps the same number, with as few digits as possible.
fn share_of(measures: &[f32], kept: usize) -> Cut {
    let exact = kept as f64 / measures.len().max(1) as f64;
    let rounded = (0..6).map(|digits| {
        let scale = 10f64.powi(digits + 2);
        Cut::TopShare((exact * scale).round() / scale)
    });
    let mut same = rounded.filter(|cut| cut.count(measures) == kept);
    same.next().unwrap_or(Cut::TopShare(exact))
}

/// The choice of the kept rays: those above the cut, or the best ones.
fn keep(ui: &mut Ui, now: &Rays, live: &RayResult, kept: usize) -> Option<(Cut, Phase)> {
    let columns = Columns::allocate(ui);
    let p = theme::palette(ui.style());
    let font = theme::regular(size::LABEL);
    paint::left(ui.painter(), columns.label, "Keep", font, p.t2);
    let chosen = match now.cut {
        Cut::All | Cut::AtLeast(_) => 0,
        Cut::Top(_) => 1,
        Cut::TopShare(_) => 2,
    };
    let labels = ["Cut", "Top n", "Top %"];
    let mut place = columns.field;
    place.min.x = columns.label.left() + 40.0;
    place.max.x = columns.field.left() - 8.0;
    let clicked = segmented(ui, place, "Keep", &labels, chosen);
    let help = "Which rays are kept: those above a connectivity measure, a number of the strongest, or a share of them";
    help_over(ui, place, "Keep", help);
    if let Some(i) = clicked {
        // Start with the number kept now; if all are, with fewer.
        let cut = match (i, now.cut) {
            (0, _) => live.min_measure.map_or(Cut::All, Cut::AtLeast),
            (1, Cut::All) => Cut::Top(kept.clamp(1, 100)),
            (1, _) => Cut::Top(kept.max(1)),
            (_, Cut::All) => Cut::TopShare(0.1),
            _ => share_of(&live.measures, kept),
        };
        return Some((cut, Phase::Done));
    }
    let (name, shown, unit) = match now.cut {
        Cut::All | Cut::AtLeast(_) => return None,
        Cut::Top(count) => ("Top number", format::count(count as u64), ""),
        Cut::TopShare(share) => ("Best share", format::significant(share * 100.0), "%"),
    };
    let text = field::value(ui, columns.field, name, &shown, unit)?;
    let Some(number) = format::parse(&text) else {
        let sentence = format!("{name}: “{}” is not a number", text.trim());
        notice::show_at(ui, columns.field, sentence);
        return None;
    };
    // Percentages are typed with two decimals.
    let within = |limits: Limits, value: f64| value.clamp(limits.smallest(2), limits.high);
    let cut = match now.cut {
        Cut::TopShare(_) => Cut::TopShare(within(Cut::PERCENTAGES, number) / 100.0),
        _ => {
            let whole = typed::whole(ui, columns.field, name, number);
            Cut::Top(within(Cut::COUNTS, whole) as usize)
        }
    };
    Some((cut, Phase::Done))
}

/// Tensors that had to be repaired before rays could pass through them.
pub fn repaired(ui: &mut Ui, rays: &RayResult) {
    if rays.repaired > 0 {
        let count = counted(rays.repaired as usize, "tensor");
        let text = format!("{count} repaired: not positive definite");
        rows::hint(ui, &text);
    }
}
