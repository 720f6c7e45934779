//! Transform of a layer: by numbers, from a file, or by aligning it to the scan.

use super::parameters::{self, Rows};
use super::warp;
use crate::state::alignment::Nudge;
use crate::state::alignment::jobs::ALIGN;
use crate::state::update::fixed_name;
use crate::state::{
    Action, AlignmentAction, Content, Display, Layer, LayerAction, LayerId, Phase, Severity, State,
};
use crate::ui::files::{DialogPosition, PathPurpose};
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::{paint, rows, section};
use crate::ui::{Memory, icons, panels};
use egui::{Sense, Ui, vec2};
use glam::{DAffine3, DVec3};

const TITLE: &str = "Alignment";

/// The opened images that can be aligned now, from the topmost on, each with its command: `Align t1 to dwi`.
pub fn alignable(state: &State) -> Vec<(LayerId, String)> {
    let document = &state.document;
    let is_running = state.runtime.jobs.is_running(&[ALIGN]);
    let layers = document.layers.iter().rev().filter(|_| !is_running);
    let images = layers.filter(|layer| {
        let is_image = matches!(layer.content, Content::Image(_));
        is_image && document.path(layer).is_some() && document.can_move(layer.id)
    });
    let named = images.filter_map(|layer| {
        let to = fixed_name(document, layer.id)?;
        Some((layer.id, format!("Align {} to {to}", layer.name)))
    });
    named.collect()
}

pub fn show(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let can_move = state.document.can_move(layer.id);
    if !can_move && state.document.origins.warp(layer.origin).is_none() {
        return;
    }
    let (open, clicked) = section::fold(ui, TITLE, memory.is_open(TITLE, false));
    if clicked {
        memory.toggle(TITLE);
    }
    if !open {
        return;
    }
    if can_move {
        affine(ui, state, layer, memory, actions);
    } else {
        rows::hint(
            ui,
            "Opened with the warp below, which determines its position",
        );
    }
    warp::show(ui, state, layer, memory, actions);
}

/// Numbers, and the buttons that align a layer or move it by a file.
fn affine(
    ui: &mut Ui,
    state: &State,
    layer: &Layer,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let Some(original) = state.document.unmoved(layer.id) else {
        return;
    };
    if !layer.display.visible {
        let text = format!("{} is hidden: show it to see it move", layer.name);
        let p = theme::palette(ui.style());
        let note = Note::new(p, Severity::Warning, &text).action("Show it");
        if note.show(ui) == Some(NoteResponse::Accepted) {
            let display = Display {
                visible: true,
                ..layer.display.clone()
            };
            actions.push(Action::Layer(LayerAction::SetDisplay {
                layer: layer.id,
                display,
                phase: Phase::Done,
            }));
        }
    }
    let (low, high) = original.bounds().unwrap_or((DVec3::ZERO, DVec3::ZERO));
    let centre = (low + high) * 0.5;
    let transform = state.requested_transform(layer.id);
    match Nudge::from_transform(transform, centre) {
        Some(nudge) => {
            if let Some((nudge, phase)) = numbers(ui, nudge) {
                let transform = match nudge == Nudge::default() {
                    true => DAffine3::IDENTITY,
                    false => nudge.about(centre),
                };
                actions.push(Action::Alignment(AlignmentAction::Shift {
                    layer: layer.id,
                    transform,
                    phase,
                }));
            }
        }
        None => rows::hint(
            ui,
            "Moved by an affine that also scales: reset it to move it by numbers",
        ),
    }
    let running = state.runtime.jobs.is_running(&[ALIGN]);
    let to = fixed_name(&state.document, layer.id);
    let why = match (&layer.content, &to) {
        (Content::Image(_), Some(_)) if running => Some("The alignment is running"),
        (Content::Image(_), Some(_)) => None,
        (Content::Image(_), None) => Some("There is no image to align to"),
        _ => Some("Only images can be aligned by their content"),
    };
    let to = to.unwrap_or_default();
    let hint = format!(
        "Rigid, to {to}, by mutual information, from its present position. No voxel changes"
    );
    let buttons = vec![
        Button::plain("Align").disabled(why).hint(&hint),
        Button::plain("Affine…").icon(icons::FOLDER).hint(
            "Moves the layer by a transform file: FLIRT's .mat from this image to the scan, or an affine of ITK or ANTs",
        ),
        warp::button(state, layer.id),
    ];
    let size = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (place, _) = ui.allocate_exact_size(size, Sense::hover());
    let mut place = paint::inset(place, space::INSET, space::INSET);
    place.min.y += 4.0;
    let (responses, _) = panels::button_row(ui, place, buttons);
    if responses[0].clicked() {
        actions.push(Action::Alignment(AlignmentAction::Align(layer.id)));
    }
    if responses[1].clicked() {
        let purpose = PathPurpose::Affine { layer: layer.id };
        memory
            .files
            .ask_for_path(ui.ctx(), purpose, DialogPosition::Middle, "");
    }
    if responses[2].clicked() {
        warp::ask(ui, layer.id, memory);
    }
    let reset = IconButton::new(icons::RESET, "Back to the position in the file")
        .side(24.0)
        .disabled(
            (transform == DAffine3::IDENTITY).then_some("The layer is where its file places it"),
        );
    if reset.show_right(ui, place).clicked() {
        actions.push(Action::Alignment(AlignmentAction::Shift {
            layer: layer.id,
            transform: DAffine3::IDENTITY,
            phase: Phase::Done,
        }));
    }
}

/// Six rows; returns the changed value.
fn numbers(ui: &mut Ui, nudge: Nudge) -> Option<(Nudge, Phase)> {
    let mut changed = None;
    let defaults = Nudge::default();
    parameters::rows(
        ui,
        &nudge,
        &defaults,
        Rows::AllBut(&[]),
        &mut |nudge, phase| {
            changed = Some((nudge, phase));
        },
    );
    changed
}
