//! Images of distributions: how they are read, and which of them the document uses.

use super::super::display::select_row;
use super::super::tensor_fit::candidates::{self, Candidate};
use super::set;
use crate::data::{OdfLayout, TensorLayout};
use crate::solvers::odf_check::{self, Output};
use crate::state::tensors::jobs::CHECK;
use crate::state::tensors::types::fods::{FodSettings, FodSource};
use crate::state::{Action, Layer, LayerId, State, TensorAction};
use crate::ui::theme::space;
use crate::ui::widgets::button::Button;
use crate::ui::widgets::{menu, paint, rows};
use crate::ui::{Memory, format};
use egui::{Sense, Ui, vec2};
use std::sync::Arc;

/// The button of the layer's panel.
pub const USE: &str = "Use as distributions";
const FROM_SCAN: &str = "Estimate from the scan";
const NONE: &str = "None";
const PLAIN: &str = "Plain images";

/// The layers that may hold distributions, topmost first. Six volumes are tensors unless the user says otherwise.
pub fn all(state: &State) -> impl Iterator<Item = &Arc<Layer>> {
    let layers = state.document.layers.iter().rev();
    layers.filter(|layer| can_be(state, layer))
}

fn can_be(state: &State, layer: &Layer) -> bool {
    let volume = state.document.can_hold_fods(layer);
    let six = |frames: usize| frames == TensorLayout::VOLUMES;
    volume.is_some_and(|v| !six(v.frames)) || state.document.fod_image(layer.id).is_some()
}

/// The image whose distributions are used, unless it is gone.
pub fn used(state: &State) -> Option<(&Arc<Layer>, OdfLayout)> {
    match state.document.distributions.settings.source {
        FodSource::Scan => None,
        FodSource::Image(layer) => {
            let (layer, _, layout) = state.document.fod_image(layer)?;
            Some((layer, layout))
        }
    }
}

/// The settings with the scan as source if the image is gone.
pub fn present(state: &State) -> FodSettings {
    let settings = state.document.distributions.settings.clone();
    match used(state) {
        Some(_) => settings,
        None => FodSettings {
            source: FodSource::Scan,
            ..settings
        },
    }
}

/// In the section: the distributions of the scan, or those of an image. Nothing without such an image.
pub fn source_row(
    ui: &mut Ui,
    state: &State,
    has_scan: bool,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    if all(state).next().is_none() {
        return;
    }
    let now = used(state).map(|(layer, _)| layer);
    let shown = match (now, has_scan) {
        (Some(layer), _) => &*layer.name,
        (None, true) => FROM_SCAN,
        (None, false) => NONE,
    };
    let help = "Estimated in the scan, or read from an opened image of distributions";
    let chosen = select_row(ui, "Distributions", help, shown, |ui| {
        let mut chosen = None;
        if has_scan && menu::Item::new(FROM_SCAN).chosen(now.is_none()).show(ui) {
            chosen = Some(FodSource::Scan);
        }
        for layer in all(state) {
            let is_now = now.is_some_and(|now| now.id == layer.id);
            if menu::Item::new(&layer.name).chosen(is_now).show(ui) {
                chosen = Some(FodSource::Image(layer.id));
            }
        }
        chosen
    });
    actions.extend(chosen.map(use_source));
    // The pictures appear where the image was chosen.
    let compared = state
        .runtime
        .tensors
        .bases
        .as_ref()
        .map(|(layer, _)| *layer);
    if let Some(layer) = compared.filter(|layer| state.document.fod_image(*layer).is_none()) {
        comparison(ui, state, layer, memory, actions);
    }
}

fn use_source(source: FodSource) -> Action {
    Action::Tensors(TensorAction::UseDistributions(source))
}

fn read(layer: LayerId, layout: Option<OdfLayout>) -> Action {
    Action::Tensors(TensorAction::ReadDistributions { layer, layout })
}

/// In the panel of a layer that may hold distributions: how it is read, and whether it is used.
pub fn image_rows(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    if !can_be(state, layer) {
        return;
    }
    let Some(volume) = state.document.can_hold_fods(layer) else {
        return;
    };
    let now = state.document.fod_image(layer.id);
    let now = now.map(|(_, _, layout)| layout);
    let shown = now.map_or(PLAIN.to_owned(), name);
    let help =
        "Basis and axes of the spherical harmonics that the volumes hold, which no header states";
    let chosen = select_row(ui, "Harmonics", help, &shown, |ui| {
        let mut chosen = None;
        if menu::Item::new(PLAIN).chosen(now.is_none()).show(ui) {
            chosen = Some(None);
        }
        for layout in OdfLayout::of_volumes(volume.frames) {
            let is_now = now == Some(layout);
            if menu::Item::new(&name(layout)).chosen(is_now).show(ui) {
                chosen = Some(Some(layout));
            }
        }
        chosen
    });
    let chosen = chosen.filter(|layout| *layout != now);
    actions.extend(chosen.map(|layout| read(layer.id, layout)));
    buttons(ui, state, layer, now.is_some(), actions);
    comparison(ui, state, layer.id, memory, actions);
}

/// The buttons that use the distributions of a layer, and compare the bases.
fn buttons(ui: &mut Ui, state: &State, layer: &Layer, is_read: bool, actions: &mut Vec<Action>) {
    let running = state.runtime.jobs.is_running(&[CHECK]);
    let being_compared = running.then_some("Being compared");
    let settings = &state.document.distributions.settings;
    let is_used = settings.requested && settings.source == FodSource::Image(layer.id) && is_read;
    let take = Button::plain(USE)
        .disabled(match is_used {
            true => Some("Glyphs, peaks and maps show them"),
            false => being_compared,
        })
        .hint("Glyphs, peaks at the crosshair, maps and export then show them");
    let compare = Button::plain("Compare bases")
        .disabled(being_compared)
        .hint("Tracks the whole brain with every basis and frame");
    let widths = [take.width(ui), compare.width(ui)];
    let line = |ui: &mut Ui| {
        let desired_size = vec2(ui.available_width(), space::BUTTON + 6.0);
        let (rect, _) = ui.allocate_exact_size(desired_size, Sense::hover());
        paint::inset(rect, space::INSET, space::INSET)
    };
    let row = line(ui);
    let place = paint::at_left(row, vec2(widths[0], space::BUTTON));
    // The narrowest panel has no room for both in a line.
    let next = match widths[0] + 8.0 + widths[1] > row.width() {
        true => line(ui),
        false => row.with_min_x(place.right() + 8.0),
    };
    let next = paint::at_left(next, vec2(widths[1], space::BUTTON));
    if take.show_at(ui, place).clicked() {
        actions.push(use_source(FodSource::Image(layer.id)));
    }
    if compare.show_at(ui, next).clicked() {
        actions.push(Action::Tensors(TensorAction::CompareBases(layer.id)));
    }
}

/// `MRtrix 3, world`.
fn name(layout: OdfLayout) -> String {
    format!("{}, {}", layout.basis.label(), layout.frame.name())
}

/// The pictures of the last comparison, if it was that of this layer.
fn comparison(
    ui: &mut Ui,
    state: &State,
    layer: LayerId,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let known = state.runtime.tensors.bases.as_ref();
    let Some((_, output)) = known.filter(|(compared, _)| *compared == layer) else {
        return;
    };
    let now = state.document.fod_image(layer);
    let now = now.map(|(_, _, layout)| layout);
    ui.add_space(4.0);
    rows::hint(ui, &hint(output, now));
    ui.add_space(6.0);
    let pictures = output.ranked.iter().map(|c| (&c.slice, &c.streamlines));
    memory.forms.bases.update(ui, "bases", pictures);
    let candidates = output.ranked.iter().map(|c| shown(c, now));
    let candidates: Vec<Candidate> = candidates.collect();
    if let Some(i) = candidates::show(ui, "bases", &memory.forms.bases, &candidates) {
        actions.push(read(layer, Some(output.ranked[i].layout)));
    }
    ui.add_space(6.0);
}

fn hint(output: &Output, now: Option<OdfLayout>) -> String {
    match (output.clear_layout(), now) {
        (Some(best), Some(now)) if best == now => {
            "Correct: no other basis gives more symmetric lobes, or longer and more coherent streamlines"
                .to_owned()
        }
        (Some(best), _) => format!(
            "Most likely {}: click its picture to use it",
            best.description()
        ),
        (None, _) if !output.is_plausible => {
            "These volumes do not look like fibre orientation distributions in any basis".to_owned()
        }
        (None, _) => "Undecided: click the picture that looks like fibres of a brain".to_owned(),
    }
}

fn shown(candidate: &odf_check::Candidate, now: Option<OdfLayout>) -> Candidate {
    let layout = candidate.layout;
    let length = |decimals: usize| {
        format::with_unit(&format::fixed(candidate.mean_length_mm, decimals), "mm")
    };
    Candidate {
        name: layout.basis.label().to_owned(),
        axes: format!("{} axes", layout.frame.name()),
        length: length(0),
        text: format!(
            "{}: symmetry of lobes {}, {} mean length, coherence {}",
            layout.description(),
            format::fixed(candidate.symmetry, 3),
            length(1),
            format::fixed(candidate.coherence, 3),
        ),
        is_now: now == Some(layout),
    }
}

/// Estimates the distributions of the scan, or uses those of the image again.
pub fn request(state: &State) -> Action {
    set(FodSettings {
        requested: true,
        ..present(state)
    })
}
