//! Results of the fit: weights with a cut, maps, figures.

use super::{act, bundles};
use crate::state::filter::{FilterAction, FittedWeights, ShownStreamlines, WEIGHT, WeightMap};
use crate::state::runtime::TourStep;
use crate::state::streamlines::in_place::all_streamlines_of;
use crate::state::streamlines::{BottomPanel, Column, TableView};
use crate::state::{Action, Layer, Severity, State, StreamlineAction};
use crate::ui::format::{count, significant};
use crate::ui::forms::display::colour_of;
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::{Button, segmented};
use crate::ui::widgets::cut::CutHistogram;
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::slider::{self, Columns};
use crate::ui::widgets::{anchor, paint, rows, section};
use crate::ui::{Memory, panels};
use egui::{Color32, Rangef, Rect, Sense, Ui, vec2};
use std::sync::Arc;

const SINGLE: &str = "Individual weights";
const ARBITRARY: &str =
    "Which of nearly equal streamlines is kept is arbitrary: trust sums over bundles";
const FIGURES: &str = "Fit statistics";
const OTHER_STREAMLINES: &str =
    "These weights were fitted before the streamlines were changed or moved: run the fit again";
const OTHER_SETTINGS: &str =
    "These weights were fitted before the settings were changed: run the fit again";

/// The weights of the streamlines being filtered.
pub fn shown_weights(state: &State) -> Option<(&Arc<Layer>, &Arc<FittedWeights>)> {
    let (layer, _) = state.document.filtered()?;
    let (weights, _) = state.document.weights_of_layer(layer)?;
    Some((layer, weights))
}

/// The maps that exist.
pub fn maps(state: &State) -> Vec<WeightMap> {
    let Some((layer, _)) = shown_weights(state) else {
        return Vec::new();
    };
    let layers = state.document.layers.iter();
    let mut maps: Vec<WeightMap> = layers
        .filter_map(|l| state.document.weight_map_recipe(l.id))
        .filter(|m| m.layer == layer.id)
        .map(|m| m.map.clone())
        .collect();
    let place = |map: &WeightMap| WeightMap::OF_FIT.iter().position(|m| m == map);
    maps.sort_by_key(|map| place(map).unwrap_or(usize::MAX));
    maps
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let Some((layer, weights)) = shown_weights(state) else {
        section::head(ui, "Results");
        let text = match state.is_filtering() {
            true => "Fitting…",
            false => "Run the fit to see the weights of the streamlines",
        };
        return rows::hint(ui, text);
    };
    let all = all_streamlines_of(layer).map_or(0, |lines| lines.len());
    let min_weight = state.document.filter.min_weight(layer.id);
    let kept = weights.count_above(min_weight);
    let is_stale = state.weights_are_stale();
    let fact = match is_stale {
        true => "out of date".to_owned(),
        false => format!("{} of {} kept", count(kept as u64), count(all as u64)),
    };
    section::head_with(ui, "Results", &fact);
    if kept > 0 {
        rows::hint(ui, ARBITRARY);
    }
    stale(ui, state);
    let unfinished = super::progress::unfinished(weights);
    if let Some(why) = unfinished.as_ref().filter(|_| !state.is_filtering()) {
        let p = theme::palette(ui.style());
        let mut note = Note::new(p, Severity::Warning, why);
        // The button at the foot of the panel continues; in all other cases it runs the fit again.
        if state.can_continue_fit() {
            note = note.action("Run again");
        }
        if note.show(ui) == Some(NoteResponse::Accepted) {
            act(actions, FilterAction::Run);
        }
    }
    // A stopped fit is a result; one that a run is about to replace is dimmed, and so is that of other settings.
    let dim = state.is_filtering() || is_stale;
    rows::dimmed(ui, dim, |ui| {
        histogram(ui, state, (layer, weights), all, memory, actions);
    });
    shown(ui, state, layer, (kept, all), actions);
    map_row(ui, state, layer, actions);
    rows::dimmed(ui, dim, |ui| {
        bundles::show(ui, state, layer, memory, actions);
        bundles::lesions(ui, state, weights, memory, actions);
    });
    single(ui, memory, actions);
    rows::dimmed(ui, dim, |ui| figures(ui, state, weights, memory));
}

/// Warns that the weights are those of other streamlines or settings.
fn stale(ui: &mut Ui, state: &State) {
    if !state.weights_are_stale() || state.is_filtering() {
        return;
    }
    let p = theme::palette(ui.style());
    let text = match state.has_weights_of_other_streamlines() {
        true => OTHER_STREAMLINES,
        false => OTHER_SETTINGS,
    };
    Note::new(p, Severity::Warning, text).show(ui);
}

fn histogram(
    ui: &mut Ui,
    state: &State,
    (layer, weights): (&Layer, &FittedWeights),
    all: usize,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let from = ui.cursor().top();
    let zero = all.saturating_sub(weights.sorted.len());
    let fact = format!("weight 0: {}", count(zero as u64));
    let help = "Fraction of the b = 0 signal that a streamline explains per mm of its length in a voxel. The \
                split between near-duplicates is arbitrary: trust sums over bundles";
    panels::caption(ui, "Weight, log scale", &fact).on_hover_text(help);
    if weights.sorted.is_empty() {
        return rows::hint(ui, "No streamline explains any of the signal");
    }
    let range = memory.caches.weights.range(weights);
    let (low, high) = range;
    let window = weights.window();
    let colour = |t: f32| -> Color32 {
        let weight = low * (high / low).powf(t);
        colour_of(crate::data::appearance::ColourMap::Magma, weight / window.1)
    };
    let cut = state.document.filter.cut_of(layer.id);
    let moved = CutHistogram {
        name: "Weight",
        counts: memory.caches.weights.bins(weights),
        range,
        logarithmic: true,
        cut: (cut > 0.0).then_some(cut),
        colour: &colour,
    }
    .show(ui);
    if state.runtime.tour == Some(TourStep::FitWeights) && !state.is_filtering() {
        // The guide asks to drag the line: bars, line and field are in sight.
        anchor::scroll_to(ui, 0, Rangef::new(from, ui.cursor().top()));
    }
    if let Some((value, phase)) = moved {
        let min_weight = if value <= low { 0.0 } else { value };
        act(actions, FilterAction::Cut { min_weight, phase });
    }
}

/// The choice of the displayed streamlines, and the button that keeps them as a layer.
fn shown(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    (kept, all): (usize, usize),
    actions: &mut Vec<Action>,
) {
    let full = vec2(ui.available_width(), space::FIELD + 8.0);
    let (rect, _) = ui.allocate_exact_size(full, Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let row = Rect::from_center_size(row.center(), vec2(row.width(), space::FIELD + 2.0));
    let now = state.document.shown_by_weight(layer.id);
    let labels = ShownStreamlines::ALL.map(ShownStreamlines::name);
    let at = ShownStreamlines::ALL
        .iter()
        .position(|s| *s == now)
        .unwrap_or(0);
    let clicked = segmented(ui, row, "Streamlines shown", &labels, at);
    let help = "All streamlines, those with a weight above the cut, or those that the cut removes";
    slider::help_over(ui, row, "Streamlines shown", help);
    if let Some(i) = clicked {
        act(actions, FilterAction::Show(ShownStreamlines::ALL[i]));
    }
    let requested = match now {
        ShownStreamlines::Before => all,
        ShownStreamlines::After => kept,
        ShownStreamlines::Difference => all - kept,
    };
    if let Some(seen) = narrowed(state, layer, requested) {
        let text = "of these are shown: regions or another filter hide the others";
        rows::hint(ui, &format!("{} {text}", count(seen as u64)));
    }
    let (rect, _) = ui.allocate_exact_size(
        vec2(ui.available_width(), space::BUTTON + 8.0),
        Sense::hover(),
    );
    let place = paint::inset(rect, space::INSET, space::INSET);
    let place = Rect::from_min_size(
        place.min + vec2(0.0, 4.0),
        vec2(place.width(), space::BUTTON),
    );
    let none = (kept == 0).then_some("The cut leaves none");
    let keep = Button::plain("Keep as layer").disabled(none);
    let keep = keep.hint("New layer from the streamlines above the cut");
    let (responses, _) = panels::button_row(ui, place, vec![keep]);
    if responses[0].clicked() {
        act(actions, FilterAction::Keep);
    }
}

/// The number shown, if rules other than the weights reduce it.
fn narrowed(state: &State, layer: &Layer, requested: usize) -> Option<usize> {
    let rules = state.document.streamlines.rules_of(layer.id);
    let rules = rules.filter(|s| s.group.is_none())?;
    if let Some(kept) = state.counted_in_place(layer.id) {
        let seen = kept.outline.streamlines;
        return (!state.is_counting_in_place(layer.id) && seen != requested).then_some(seen);
    }
    let (key, selection) = state
        .runtime
        .streamlines
        .selections
        .get(&layer.id)?
        .shown()?;
    (key.rules == *rules && selection.kept != requested).then_some(selection.kept)
}

/// The choice of the map over the images.
fn map_row(ui: &mut Ui, state: &State, layer: &Layer, actions: &mut Vec<Action>) {
    let maps: Vec<WeightMap> = maps(state)
        .into_iter()
        .filter(|map| WeightMap::OF_FIT.contains(map))
        .collect();
    if maps.is_empty() {
        return;
    }
    let seen = |map: &WeightMap| {
        let map_layer = state.document.weight_map(layer.id, map);
        map_layer.is_some_and(|l| l.display.visible)
    };
    let now = maps.iter().position(seen).map_or(0, |i| i + 1);
    let labels: Vec<&str> = std::iter::once("Off")
        .chain(maps.iter().map(WeightMap::short_label))
        .collect();
    let help = "Fractions of the signal that fibres (IC), the water around them (EC) and free water (ISO) \
                explain, or what is left unexplained (RMSE)";
    let columns = Columns::allocate(ui);
    slider::label(ui, columns.label, "Map", help);
    // Five labels need more than the default width.
    let row = columns.wide.with_min_x(columns.label.left() + 40.0);
    let clicked = segmented(ui, row, "Map on slices", &labels, now);
    slider::help_over(ui, row, "Map", help);
    if let Some(i) = clicked {
        let map = i.checked_sub(1).map(|i| maps[i].clone());
        act(actions, FilterAction::ShowMap(map));
    }
}

/// The table of single weights, with a note on their reliability.
fn single(ui: &mut Ui, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (open, clicked) = section::fold(ui, SINGLE, memory.is_open(SINGLE, false));
    if clicked {
        memory.toggle(SINGLE);
    }
    if !open {
        return;
    }
    let p = theme::palette(ui.style());
    let text = "Near-duplicates share their weight arbitrarily: one may have all of it and the others none. Trust \
                sums over bundles";
    let note = Note::new(p, Severity::Warning, text).action("Show the table");
    if note.show(ui) == Some(NoteResponse::Accepted) {
        let column = Some(Column::Value(WEIGHT.to_owned()));
        let descending = true;
        actions.push(Action::Streamline(StreamlineAction::Sort(TableView {
            column,
            descending,
        })));
        actions.push(Action::Streamline(StreamlineAction::Open(Some(
            BottomPanel::Table,
        ))));
    }
}

fn figures(ui: &mut Ui, state: &State, weights: &FittedWeights, memory: &mut Memory) {
    let f = &weights.figures;
    let not_fitted = [
        (f.outside, "outside the fitted voxels"),
        (f.single_points, "with a single point"),
        (f.not_finite, "segments without finite ends"),
    ];
    let not_fitted: Vec<String> = not_fitted
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, label)| format!("{} {label}", count(*n)))
        .collect();
    if !not_fitted.is_empty() {
        rows::hint(
            ui,
            &format!("Not fitted, weight 0: {}", not_fitted.join(", ")),
        );
    }
    let (open, clicked) = section::fold(ui, FIGURES, memory.is_open(FIGURES, false));
    if clicked {
        memory.toggle(FIGURES);
    }
    if !open {
        return;
    }
    let ended = super::progress::ended(f.ended);
    let fit = state.document.origins.weight_fit(weights.fit);
    let readings = [
        (
            "Model",
            fit.map_or_else(String::new, |fit| fit.params.model.name()),
        ),
        ("Root mean square error", significant(f.rmse)),
        ("Objective", significant(f.objective)),
        ("Optimality (KKT)", significant(f.kkt)),
        ("Ended by", ended.to_owned()),
        ("Segments", count(f.segments)),
        ("Voxels", count(f.voxels)),
        ("Samples per voxel", count(f.samples)),
    ];
    for (name, value) in readings {
        rows::reading(ui, name, &value);
    }
}
