//! The task View: layers and their display, the tensor fit, and the checks.

pub mod axes;
pub mod candidates;
pub mod checks;
mod fitted;
pub mod orders;
mod overlap;

use super::display::{controls, select_row};
use super::parameters::{self, Rows};
use super::{
    alignment, clips, command_line, csd, density, glyphs, oblique, scene, shown_layer, viewpoints,
    volume,
};
use crate::data::text::{file_name, file_stem};
use crate::data::{AffineSource, Fixels, Gradients, Grid, VolumeKind};
use crate::parameters::row;
use crate::solvers::tensor_fit::{self, FitMap, Params};
use crate::state::core::text::counted;
use crate::state::origin::Origin;
use crate::state::tensors::{map_name, mask_text};
use crate::state::{Action, Content, Layer, LayerAction, Look, Severity, State, TensorAction};
use crate::ui::files::{DialogPosition, PathPurpose, suggestion};
use crate::ui::widgets::button::{Button, IconButton};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::slider::{RangeRow, Scale};
use crate::ui::widgets::{menu, rows, section};
use crate::ui::{Memory, format, icons, panels, theme};
use egui::{Rect, Ui, vec2};
use std::sync::Arc;

const INPUTS: &str = "Inputs";
const INPUTS_FOLD: &str = "inputs beside streamlines";
const FIT: &str = "Tensor fit";
/// Key of the fold among the controls; the check of the same name has a fold of its own.
const FIT_CONTROLS: &str = "controls of the tensor fit";

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    // Beside the block of streamlines, a small panel has no room for both inputs and controls.
    let folded = memory.narrow && super::streamlines_in_work(state).is_some();
    let open = match folded {
        true => {
            let (open, clicked) = section::fold(ui, INPUTS, memory.is_open(INPUTS_FOLD, false));
            if clicked {
                memory.toggle(INPUTS_FOLD);
            }
            open
        }
        false => {
            inputs_head(ui, memory);
            true
        }
    };
    if open {
        inputs(ui, state, actions);
        offered_mask(ui, state, actions);
    }
    section::end(ui);
    let layer = shown_layer(state);
    section::head_with(ui, "Controls", layer.map_or("", |l| &l.name));
    if let Some(layer) = layer {
        show_list(ui, state, layer, actions);
        if !layer.display.visible {
            rows::hint(ui, "Hidden. Click its eye in Layers to show it (H)");
        }
        controls(ui, state, layer, memory, actions);
        csd::image_rows(ui, state, layer, memory, actions);
        volume::show(ui, state, layer, memory, actions);
        alignment::show(ui, state, layer, memory, actions);
        if let Content::Tractogram(tractogram) = &layer.content {
            let why = tractogram.is_empty().then_some("There are no streamlines");
            density::show(ui, state, Some(layer.id), why, memory, actions);
        }
        if let Content::InPlace(lines) = &layer.content {
            density::show(ui, state, Some(layer.id), None, memory, actions);
            super::in_place::show(ui, state, (layer, lines), memory, actions);
        }
    }
    scene::show(ui, state, memory, actions);
    glyphs::show(ui, state, memory, actions);
    if state.document.scan().is_some() {
        fit(ui, state, memory, actions);
    }
    oblique::show(ui, state, memory, actions);
    viewpoints::show(ui, state, memory, actions);
    clips::show(ui, state, memory, actions);
    section::end(ui);
}

pub fn results(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    checks::show(ui, state, memory, actions);
    super::measure::show(ui, state, memory, actions);
}

/// `81 × 105 × 60 × 33` and the like, and the affine as text.
fn describe(grid: &Grid, frames: usize) -> String {
    let affine = match grid.source {
        AffineSource::Sform => "sform used",
        AffineSource::Qform => "qform used",
        AffineSource::Pixdim => "voxel sizes only: left and right unknown",
        AffineSource::Header => "affine from the header",
        AffineSource::Computed => "made by this program",
    };
    let oblique = grid.obliquity_deg();
    let oblique = if oblique > 0.5 {
        format!(", oblique by {}°", format::fixed(oblique, 1))
    } else {
        String::new()
    };
    format!(
        "{} voxels of {}\naxes {}{oblique}, {affine}",
        format::shape(grid.shape, frames),
        format::spacing(grid.spacing()),
        grid.orientation(),
    )
}

fn grid(layer: &Layer) -> Option<(&Arc<Grid>, usize)> {
    match &layer.content {
        Content::Scan { dwi: volume, .. } | Content::Image(volume) => {
            // The volumes of colours and of fixels are components of vectors.
            let is_vectors = volume.kind == VolumeKind::Rgb || volume.fixels.is_some();
            let frames = if is_vectors { 1 } else { volume.frames };
            Some((&volume.grid, frames))
        }
        Content::Mask(mask) => Some((&mask.grid, 1)),
        Content::Tractogram(_) | Content::InPlace(_) => None,
    }
}

/// Shells as text: `1 × b 0, 32 × b 1000`, ungrouped, as is customary for b.
pub fn shells(gradients: &Gradients) -> String {
    let shell = |(b, n): (u32, usize)| format!("{n} × b{}{b}", format::THIN);
    gradients
        .shells()
        .into_iter()
        .map(shell)
        .collect::<Vec<_>>()
        .join(", ")
}

/// A mask file next to the scan that the fit may use.
fn offered_mask(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let Some(path) = state.offered_mask() else {
        return;
    };
    let name = file_name(path);
    let text = match state.awaits_fit() {
        true => {
            format!("Waiting for the fit. {name} lies beside the scan and can serve as its mask")
        }
        false => {
            format!(
                "{name} lies beside the scan, but the fit uses a mask computed from the scan itself"
            )
        }
    };
    let p = theme::palette(ui.style());
    let note = Note::new(p, Severity::Information, &text)
        .action("Use this mask")
        .action_hint("Fits the tensors within this mask instead");
    if note.show(ui) == Some(NoteResponse::Accepted) {
        actions.push(Action::Tensors(TensorAction::TakeOfferedMask));
    }
}

fn inputs_head(ui: &mut Ui, memory: &mut Memory) {
    let place = section::head(ui, INPUTS);
    let open = IconButton::new(icons::FOLDER, "Open a file")
        .hint("Open a file (Ctrl+O)")
        .side(24.0);
    if open.show_right(ui, place).clicked() {
        memory
            .files
            .ask_for_path(ui.ctx(), PathPurpose::Open, DialogPosition::Middle, "");
    }
}

/// `5,021 fixels, values of afd`: how many there are, and the list of values that is shown.
fn fixels_text(fixels: &Fixels) -> String {
    let count = counted(fixels.count, "fixel");
    match &fixels.values_list {
        Some(list) => format!("{count}, values of {}", file_stem(list)),
        None => format!("{count} without values"),
    }
}

fn inputs(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let scan_grid = state
        .document
        .scan()
        .and_then(|l| grid(l))
        .map(|(g, _)| g.clone());
    // A result is not an input: its row would push the controls below down while the pointer is over them.
    let is_derived = |l: &Layer| {
        let base = state.document.origins.base(l.origin);
        matches!(base, Origin::Unknown | Origin::Computed(_))
    };
    // A layer kept from a layer of the same file is not an input either.
    let kept_from = |l: &Layer| {
        let path = state
            .document
            .path(l)
            .filter(|_| state.document.is_edited(l.id));
        let mut others = state.document.layers.iter().filter(|other| other.id < l.id);
        path.is_some() && others.any(|other| state.document.path(other) == path)
    };
    let is_input = |l: &&Arc<Layer>| !is_derived(l) && !kept_from(l);
    for layer in state.document.layers.iter().filter(is_input) {
        let path = state.document.path(layer);
        let file = path.and_then(|p| p.file_name());
        let name = file.map_or(layer.name.clone(), |n| n.to_string_lossy().into_owned());
        let known = grid(layer);
        let same = known
            .zip(scan_grid.as_ref())
            .is_some_and(|((g, _), s)| s.matches(g));
        let (icon, fact) = match (&layer.content, known) {
            (Content::Tractogram(t), _) => {
                // The file still has the streamlines that were deleted here.
                let edited = state.document.is_edited(layer.id);
                let left = if edited { " left" } else { "" };
                let count = counted(t.len(), "streamline");
                (icons::PATH, format!("{count}{left}"))
            }
            (Content::InPlace(lines), _) => {
                let count = counted(lines.file.len(), "streamline");
                (icons::PATH, format!("{count}, in the file"))
            }
            (Content::Mask(_), _) if same => (icons::REGION, "same grid".to_owned()),
            (Content::Image(volume), _) if volume.fixels.is_some() => {
                let fact = volume.fixels.as_deref().map(fixels_text);
                (icons::IMAGE, fact.unwrap_or_default())
            }
            (content, Some((grid, frames))) => {
                let mask = matches!(content, Content::Mask(_));
                let icon = if mask { icons::REGION } else { icons::IMAGE };
                (icon, format::shape(grid.shape, frames))
            }
            (_, None) => (icons::IMAGE, String::new()),
        };
        let selected = state.runtime.selected_layer == Some(layer.id);
        let response = rows::layer_input(ui, icon, (&name, &fact), layer.id, selected);
        if response.clicked() {
            actions.push(Action::Layer(LayerAction::Select(Some(layer.id))));
        }
        let mut about = known.map_or(String::new(), |(g, frames)| describe(g, frames));
        if !layer.unit.is_empty() {
            about = format!("{about}\nUnit {}", layer.unit);
        }
        if let Some(path) = path {
            about = format!("{about}\n{}", path.display());
        }
        if !about.is_empty() {
            response.on_hover_text(about.trim_start());
        }
        if let Content::Scan { gradients, .. } = &layer.content {
            if layer.holds_distributions() {
                let fact = "spherical harmonics";
                rows::input(ui, icons::ARROW_RIGHT, "", "Fibre orientations", fact);
                continue;
            }
            if let Content::Scan { dwi, .. } = &layer.content
                && let Some(layout) = dwi.tensors
            {
                let fact = format!("{}, {} axes", layout.order.name(), layout.frame.name());
                rows::input(ui, icons::ARROW_RIGHT, "", "Tensors", &fact)
                    .on_hover_text(layout.description());
                continue;
            }
            let (fact, about) = match gradients {
                Some(g) => (
                    shells(g),
                    "Number of volumes at each b-value in s/mm², as the gradient table gives them",
                ),
                None => (
                    "none found".to_owned(),
                    "No gradient table lies beside the scan or in its header, so nothing can be fitted",
                ),
            };
            rows::input(ui, icons::ARROW_RIGHT, "", "Gradients", &fact).on_hover_text(about);
        }
    }
}

fn show_list(ui: &mut Ui, state: &State, layer: &Layer, actions: &mut Vec<Action>) {
    let long = |l: &Layer| match state.document.origin(l).fit_map() {
        Some(FitMap::Dec) => format!("{} (direction × FA)", l.name),
        _ => l.name.clone(),
    };
    let chosen = select_row(ui, "Show", "One image at a time", &long(layer), |ui| {
        let mut chosen = None;
        let images = state
            .document
            .layers
            .iter()
            .rev()
            .filter(|l| l.content.volume().is_some());
        for image in images {
            if menu::Item::new(&long(image))
                .chosen(image.id == layer.id)
                .show(ui)
            {
                chosen = Some(image.id);
            }
        }
        chosen
    });
    actions.extend(chosen.map(|layer| Action::Layer(LayerAction::ShowOnly(layer))));
}

/// Method and volumes of the fit.
fn fit(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (open, clicked) = section::fold(ui, FIT, memory.is_open(FIT_CONTROLS, false));
    if clicked {
        memory.toggle(FIT_CONTROLS);
    }
    if !open {
        return;
    }
    let scan = state.document.scan().and_then(|l| l.content.volume());
    if scan.is_none_or(|dwi| dwi.tensors.is_none()) {
        method(ui, state, actions);
    }
    fit_mask(ui, state, actions);
    shape_maps(ui, state, actions);
    if state.awaits_fit() {
        rows::hint(ui, "Waiting for the fit");
    } else if let Some(report) = state.document.tensors.as_ref().and_then(|t| t.mask_report) {
        rows::hint(ui, &format!("Mask found: {}", mask_text::facts(&report)));
        if let Some(doubt) = mask_text::doubt(&report) {
            Note::new(theme::palette(ui.style()), Severity::Warning, &doubt).show(ui);
        }
    }
    let running = state
        .runtime
        .jobs
        .is_running(&[crate::state::tensors::jobs::fit::FIT]);
    ui.add_space(4.0);
    rows::hint(
        ui,
        if running {
            "Refitting…"
        } else {
            "Refits after each change"
        },
    );
}

/// How tensors are computed from the signal, and which volumes take part.
fn method(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let params = &state.document.fit;
    let mut set = |params: Params| actions.push(Action::Tensors(TensorAction::SetFit { params }));
    let defaults = Params::defaults();
    parameters::rows(
        ui,
        params,
        &defaults,
        Rows::AllBut(&["b-range"]),
        &mut |params, _| {
            set(params);
        },
    );
    let gradients = state.document.scan().and_then(|l| match &l.content {
        Content::Scan { gradients, .. } => gradients.clone(),
        _ => None,
    });
    if let (Some(gradients), Some(range)) = (gradients, row::<Params>("b-range")) {
        let max_b = gradients.b_s_per_mm2.iter().copied().fold(0.0, f64::max);
        let max_b = (max_b / 100.0).ceil() * 100.0;
        let (low, high) = params.b_range_s_per_mm2;
        let default_value = tensor_fit::Params::default_b_range(&gradients);
        let row = RangeRow {
            name: range.label,
            values: (low, high.min(max_b)),
            scale: Scale {
                range: 0.0..=max_b.max(100.0),
                logarithmic: false,
                decimals: -1,
            },
            default: &|| (default_value.0, default_value.1.min(max_b)),
            unit: "s/mm²",
            help: range.help,
            limits: 0.0..=f64::MAX,
            waits: true,
        };
        if let Some(((low, high), _)) = row.show(ui) {
            set(Params {
                b_range_s_per_mm2: (low, high),
                ..params.clone()
            });
        }
    }
}

/// The mask of the fit, if there is a choice.
fn fit_mask(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    const AUTOMATIC: &str = "From the scan";
    let document = &state.document;
    let layers = document.layers.iter().rev();
    let masks: Vec<_> = layers.filter(|l| document.can_be_fit_mask(l)).collect();
    // The commands know the built-in head only with its own mask.
    let built_in = |l: &Arc<Layer>| document.origin(l).is_phantom();
    let may_find_mask = !document.scan().is_some_and(built_in);
    if masks.len() + usize::from(may_find_mask) < 2 {
        return;
    }
    let now = document.chosen_mask().map(|(l, _)| l);
    let name = now.map_or(AUTOMATIC, |l| &l.name);
    let help = "Tensors are fitted inside the mask only";
    let chosen = select_row(ui, "Mask", help, name, |ui| {
        let mut chosen = None;
        if may_find_mask && menu::Item::new(AUTOMATIC).chosen(now.is_none()).show(ui) {
            chosen = Some(None);
        }
        for mask in &masks {
            let is_now = now.is_some_and(|l| l.id == mask.id);
            if menu::Item::new(&mask.name).chosen(is_now).show(ui) {
                chosen = Some(Some(mask.id));
            }
        }
        chosen
    });
    actions.extend(chosen.map(|layer| Action::Tensors(TensorAction::SetMask(layer))));
}

/// Maps of the shape of tensors: computed on request, shown if they exist.
fn shape_maps(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    if state.document.tensors.is_none() {
        return;
    }
    let help = "Mode, Westin's linearity, planarity and sphericity, and the norm of the tensors, as images";
    let chosen = select_row(ui, "More maps", help, "Choose", |ui| {
        let mut chosen = None;
        for map in FitMap::SHAPES {
            let exists = state.document.fit_layer(map).is_some();
            let item = menu::Item::new(map_name(map)).chosen(exists);
            if item.show(ui) {
                chosen = Some(map);
            }
        }
        chosen
    });
    actions.extend(chosen.map(|map| Action::Tensors(TensorAction::ShowShape(map))));
}

/// The label of the button that exports the panel's layer.
fn export_label(layer: Option<&Arc<Layer>>) -> &'static str {
    match layer.map(|l| &l.content) {
        Some(Content::Tractogram(_) | Content::InPlace(_)) => "Export…",
        Some(Content::Mask(_)) => "Export mask…",
        Some(Content::Scan { .. }) => "Export scan…",
        _ => "Export map…",
    }
}

pub fn foot(
    ui: &mut Ui,
    place: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let layer = shown_layer(state);
    let nothing = layer.is_none().then_some("There is nothing to export yet");
    let buttons = vec![
        Button::primary(export_label(layer))
            .icon(icons::EXPORT)
            .disabled(nothing)
            .hint("Ctrl+E"),
        Button::plain("Screenshot…")
            .icon(icons::CAMERA)
            .hint("Saves a picture of the views"),
    ];
    let (responses, end) = panels::button_row(ui, place, buttons);
    let above = DialogPosition::Above(place.right_top() - vec2(0.0, 20.0));
    if responses[0].clicked() {
        super::export(state, memory, above);
    }
    if responses[1].clicked() {
        let purpose = PathPurpose::Screenshot {
            pane: None,
            look: Look::default(),
        };
        let text = suggestion(state, "view", &purpose);
        memory.files.type_path(purpose, above, &text);
    }
    let command = command_line(state);
    if panels::copy_command(ui, place, end, command.is_some()) {
        actions.extend(command.map(Action::CopyCommand));
    }
}
