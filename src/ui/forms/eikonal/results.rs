//! Results of Pathways: a table of pathways, and the cost along one path.

use super::{agreement, compared, noise, profile, row_menu, sensitivity};
use crate::state::core::display::STALE_OPACITY;
use crate::state::files::jobs::LOAD;
use crate::state::pathways::jobs::PATHWAY;
use crate::state::pathways::{
    ClippedEnd, LIVE_RGB, PathwayAction, PathwayResult, PathwaySettings, Standing,
};
use crate::state::tensors::jobs::fit::FIT;
use crate::state::track::types::odf::Model;
use crate::state::{Action, KeptPathway, LayerId, Phase, Severity, State};
use crate::ui::dialogs::rename::{self, RenameTarget, Renamed};
use crate::ui::forms::{lifted, tracking};
use crate::ui::streamline_summary::Remark;
use crate::ui::theme::{self, size, space};
use crate::ui::widgets::button::{IconButton, eye};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::{paint, rows, section};
use crate::ui::{Memory, format, icons, panels};
use egui::{Key, Rect, Sense, Ui, pos2, vec2};
use std::sync::Arc;

const EYE: f32 = 22.0;
/// Widths of the columns volume, length and cost, which follow the menu and the eye from the right.
const COLUMNS: [f32; 3] = [56.0, 44.0, 40.0];
const EYE_GAP: f32 = 2.0;
/// Width of all columns, menu and eye.
const NUMBERS: f32 = COLUMNS[0] + COLUMNS[1] + COLUMNS[2] + 2.0 * EYE + EYE_GAP;
const SWATCH: f32 = 16.0;
/// Lower than the rows of lists: the blocks below stay visible even with a kept pathway.
const ROW: f32 = 24.0;
/// Height of a second line of a row.
const LINE: f32 = 16.0;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let runtime = &state.runtime.pathways;
    let standing = state.pathway_standing();
    let fact = match (runtime.live.value(), standing) {
        (Some(_), Some(Standing::Updating)) => "updating…".to_owned(),
        (Some(_), Some(Standing::Coarse)) if state.pathway_is_stale() => "updating…".to_owned(),
        (Some(_), Some(Standing::OutOfDate)) => "out of date".to_owned(),
        (Some(live), _) => format!("E* {}", format::significant(live.pathway.min_cost)),
        (None, _) => String::new(),
    };
    section::head_with(ui, "Results", &fact);
    if let Some(why) = runtime.live.failure() {
        let note = Note::new(p, Severity::Error, why).action("Solve again");
        if note.show(ui) == Some(NoteResponse::Accepted) {
            actions.push(Action::Pathway(PathwayAction::SolveAgain));
        }
    } else if runtime.live.value().is_none() {
        // Until something is solved, no error names these regions.
        let out = |r: &Remark| r.outside_at.is_some();
        tracking::remarks(ui, state, memory, out, actions);
        let document = &state.document;
        let lacks_distributions =
            document.pathways.model == Model::Distributions && document.pathway_field().is_none();
        let text = if state.pathway_awaits_surface() || lacks_distributions {
            state.why_no_pathway()
        } else if state.runtime.jobs.is_running(&[PATHWAY, FIT, LOAD]) {
            "Solving…"
        } else {
            "The pathway appears here once a seed and a target exist"
        };
        rows::hint(ui, text);
    }
    let kept = &state.document.kept_pathways;
    if runtime.live.value().is_some() || !kept.is_empty() {
        head(ui);
    }
    if let Some(live) = runtime.live.value() {
        let epsilon = state.document.pathways.epsilon;
        ui.scope(|ui| {
            dim(ui, state);
            row(ui, state, None, Some((live, epsilon)), memory, actions);
        });
    }
    for kept in kept {
        let result = kept.result.as_ref().map(|f| (f, kept.epsilon));
        row(ui, state, Some(kept), result, memory, actions);
    }
    selected(ui, state, actions);
    if let Some(live) = runtime.live.value() {
        ui.scope(|ui| {
            dim(ui, state);
            compared::show(ui, state);
            profile::show(ui, state, live, actions);
        });
        clipped(ui, live);
        compared::meaning(ui, state, actions);
        lifted::preview(ui, live);
        sensitivity::button(ui, state, actions);
    }
    if runtime.live.value().is_some() || runtime.selected.is_some() {
        agreement::show(ui, state, actions);
    }
    if runtime.live.value().is_some() || state.document.pathways.noise.repeats {
        noise::show(ui, state, memory, actions);
    }
}

/// Ends that an excluded region takes a part of, and what that means for a preview.
fn clipped(ui: &mut Ui, live: &PathwayResult) {
    for ClippedEnd { end, excluded } in &live.clipped {
        let preview = match live.coarse {
            true => {
                "; voxels of twice the size, as in this preview, can give a different path there"
            }
            false => "",
        };
        let text = format!("Only the part of {end} outside {excluded} is an end{preview}");
        rows::hint(ui, &text);
    }
}

/// Dims figures that belong to earlier controls or regions.
fn dim(ui: &mut Ui, state: &State) {
    if state.pathway_is_stale() {
        ui.multiply_opacity(STALE_OPACITY);
    }
}

fn head(ui: &mut Ui) {
    let p = theme::palette(ui.style());
    let desired_size = vec2(ui.available_width(), 20.0);
    let (rect, response) = ui.allocate_exact_size(desired_size, Sense::hover());
    response.on_hover_text(
        "Volume of the part that joins the ends, or of all voxels · length and cost E* of the cheapest path",
    );
    let inner = paint::inset(rect, space::INSET, space::INSET);
    let font = theme::regular(size::CAPTION);
    let painter = ui.painter();
    paint::left(
        painter,
        paint::inset(inner, SWATCH, 0.0),
        "Pathway",
        font.clone(),
        p.t3,
    );
    for (place, name) in columns(inner).into_iter().zip(["Volume", "Length", "Cost"]) {
        paint::right(painter, place, name, font.clone(), p.t3);
    }
}

/// Rectangles of volume, length and cost.
fn columns(inner: Rect) -> [Rect; 3] {
    let mut right = inner.right() - 2.0 * EYE - EYE_GAP;
    COLUMNS.map(|width| {
        let place = Rect::from_min_max(
            pos2(right - width, inner.top()),
            pos2(right, inner.bottom()),
        );
        right -= width;
        place
    })
}

/// The figures of a pathway, one line each: least cost, cost of the path, length, cost per mm, volume, and mean FA
/// through tensors.
fn statistics(result: &PathwayResult, epsilon: f64) -> Vec<(&'static str, String)> {
    let (length_mm, cost) = (result.path.total_mm(), result.path.total_cost());
    // A pathway in pieces has no component that joins the ends.
    let volume = match epsilon < result.pathway.joining_epsilon {
        true => "Volume, ends not joined",
        false => "Volume that joins the ends",
    };
    let unit = format::with_unit;
    let mut all = vec![
        ("Cost E*", format::significant(result.pathway.min_cost)),
        ("Cost of the path", format::significant(cost)),
        ("Length", unit(&format::fixed(length_mm, 1), "mm")),
        (
            "Cost per mm",
            format::significant(result.path.mean_cost_per_mm()),
        ),
        (volume, format::ml(result.volume_ml(epsilon), 2)),
    ];
    let mean_fa = result.mean_fa.map(|fa| format::fixed(fa, 2));
    all.extend(mean_fa.map(|fa| ("Mean FA along it", fa)));
    all
}

/// One pathway; `None`: the live one.
fn row(
    ui: &mut Ui,
    state: &State,
    kept: Option<&Arc<KeptPathway>>,
    result: Option<(&Arc<PathwayResult>, f64)>,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let id = kept.map(|k| k.id);
    let name = kept.map_or("Live", |k| &k.name);
    let chosen = id.is_some() && state.runtime.pathways.selected == id;
    let spoken = match result {
        Some((result, epsilon)) => format!("{name}: {}", figures(result, epsilon)),
        None => format!("{name}: {}", unsolved_text(state, id)),
    };
    // A name that does not fit next to the numbers gets a line of its own above them.
    let needed = paint::width(ui, name, theme::medium(size::LABEL));
    let available = ui.available_width() - 2.0 * space::INSET - SWATCH - NUMBERS;
    let above = if needed > available { LINE } else { 0.0 };
    let desired_size = vec2(ui.available_width(), ROW + above);
    let (whole, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    let response = rows::list_row_at(ui, whole, &spoken, ("pathway", id), chosen);
    // The eye and the menu stay next to a name that is being typed.
    let typed_at = response
        .rect
        .with_max_x(response.rect.right() - EYE - space::INSET)
        .with_max_y(response.rect.top() + ROW);
    let renamed = match id {
        Some(id) => rename::rename(ui, typed_at, RenameTarget::Pathway(id), memory),
        None => Renamed::Inactive,
    };
    let going = matches!(renamed, Renamed::Editing);
    if let (Renamed::Done(name), Some(id)) = (renamed, id) {
        actions.push(Action::Pathway(PathwayAction::Rename(id, name)));
    }
    match kept.filter(|_| response.double_clicked()) {
        Some(kept) => rename::begin(RenameTarget::Pathway(kept.id), &kept.name, memory),
        None if response.clicked() => actions.push(Action::Pathway(PathwayAction::Select(
            id.filter(|_| !chosen),
        ))),
        None => {}
    }
    let deleted = response.has_focus() && !going && ui.input(|i| i.key_pressed(Key::Delete));
    if let Some(id) = id.filter(|_| deleted) {
        actions.push(Action::Pathway(PathwayAction::Delete(id)));
    }
    let inner = paint::inset(response.rect, space::INSET, space::INSET);
    let painter = ui.painter().clone();
    let swatch =
        Rect::from_center_size(pos2(inner.left() + 6.0, inner.center().y), vec2(10.0, 10.0));
    let ink = row_menu::colour(kept.map_or(LIVE_RGB, |k| k.colour));
    painter.rect_filled(swatch, 2.0, ink);
    let line = |top: f32| Rect::from_min_size(inner.min + vec2(0.0, top), vec2(inner.width(), ROW));
    // Two lines are spaced like lines of text.
    let places = columns(line(above));
    if going {
        // The text field covers this.
    } else if let Some((result, epsilon)) = result {
        let texts = [
            format::ml(result.volume_ml(epsilon), 1),
            format::with_unit(&format::fixed(result.path.total_mm(), 0), "mm"),
            format::significant(result.pathway.min_cost),
        ];
        for (place, text) in places.into_iter().zip(texts) {
            paint::right(&painter, place, &text, theme::regular(size::LABEL), p.t1);
        }
    } else {
        let text = unsolved_text(state, id);
        paint::right(&painter, places[0], text, theme::regular(size::LABEL), p.t3);
    }
    let until = match above > 0.0 {
        true => places[0].right(),
        false => places[2].left(),
    };
    let name_at = paint::inset(line(0.0), SWATCH, 0.0).with_max_x(until);
    let shown = kept.is_none_or(|k| k.visible);
    let name_ink = if shown { p.t1 } else { p.t3 };
    if !going {
        let font = theme::medium(size::LABEL);
        paint::left(&painter, name_at, name, font, name_ink);
    }
    let square = |from_right: f32| {
        let centre = pos2(inner.right() - from_right, inner.center().y);
        Rect::from_center_size(centre, vec2(EYE, EYE))
    };
    if let Some(kept) = kept
        && eye(ui, square(1.5 * EYE), name, kept.visible)
    {
        let mut changed = (**kept).clone();
        changed.visible ^= true;
        actions.push(Action::Pathway(PathwayAction::SetKept {
            kept: changed,
            phase: Phase::Done,
        }));
    }
    let more = format!("More of {name}");
    let more = IconButton::new(icons::MORE, &more)
        .side(EYE)
        .disabled((result.is_none() && kept.is_none()).then_some("No pathway has been found yet"))
        .show_at(ui, square(0.5 * EYE));
    let solved = result.map(|(result, _)| result.key.params.model());
    row_menu::show((&more, &response), state, kept, solved, memory, actions);
    match result {
        Some((result, epsilon)) => response.on_hover_ui(|ui| {
            ui.label(name);
            for (name, value) in statistics(result, epsilon) {
                ui.label(format!("{name}: {value}"));
            }
            if let Some(among) = kept.and_then(|k| k.compared) {
                ui.label(among.text());
            }
        }),
        None => response.on_hover_text("Its costs are not in memory: solve it again from its menu"),
    };
}

/// The figures of a row, for screen readers.
fn figures(result: &PathwayResult, epsilon: f64) -> String {
    format!(
        "cost {}, {} mm, {}",
        format::significant(result.pathway.min_cost),
        format::fixed(result.path.total_mm(), 0),
        format::ml(result.volume_ml(epsilon), 1)
    )
}

fn unsolved_text(state: &State, id: Option<LayerId>) -> &'static str {
    match id.is_some() && state.runtime.pathways.solving == id {
        true => "solving…",
        false => "not solved",
    }
}

/// The figures and the width of the chosen pathway.
fn selected(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let id: Option<LayerId> = state.runtime.pathways.selected;
    let mut kept = state.document.kept_pathways.iter();
    let Some(kept) = kept.find(|k| Some(k.id) == id) else {
        return;
    };
    panels::caption(ui, &kept.name, "kept");
    if let Some(result) = &kept.result {
        for (name, value) in statistics(result, kept.epsilon) {
            rows::reading(ui, name, &value);
        }
    }
    if let Some(among) = &kept.compared {
        rows::hint(ui, &among.text());
    }
    let joined_from = kept.result.as_ref().map(|f| f.pathway.joining_epsilon);
    let max_epsilon = kept.result.as_ref().and_then(|r| r.excess_limit);
    let limit = *PathwaySettings::EPSILON.end();
    let max_epsilon = max_epsilon.map_or(limit, |known| known.min(limit));
    let width = super::width_of(ui, "Its width ε", kept.epsilon, joined_from, max_epsilon);
    if let Some((epsilon, phase)) = width {
        let kept = KeptPathway {
            epsilon,
            ..(**kept).clone()
        };
        actions.push(Action::Pathway(PathwayAction::SetKept { kept, phase }));
    }
}
