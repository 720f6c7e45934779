//! The task Track: streamlines or geodesic rays from the regions, live. This file has the controls that both share, and
//! those of streamlines.

pub mod empty;
mod lines;
mod noise;
mod results;
pub(super) mod whole_brain;

use super::{command_line, csd, curve_parameters, geodesic, odf_tracking};
use crate::data::text::file_name;
use crate::data::{OdfField, Role};
use crate::solvers::curves::{Params, SeedingParts};
use crate::solvers::tensor_fit;
use crate::state::core::layer::OriginId;
use crate::state::files::jobs::LOAD;
use crate::state::tensors::jobs::fit::FIT;
use crate::state::tensors::mask_text;
use crate::state::tensors::recipe::ScanSource;
use crate::state::track::types::CurveKind;
use crate::state::track::types::odf::Model;
use crate::state::{
    Action, CurveResult, Document, Method, Phase, RegionAction, Severity, Standing, State, Task,
    Tool, TrackAction, ViewAction,
};
use crate::ui::files::{DialogPosition, PathPurpose};
use crate::ui::streamline_summary::{self, Remark};
use crate::ui::theme::{self, space};
use crate::ui::widgets::button::{Button, IconButton, segmented};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::slider::help_over;
use crate::ui::widgets::{paint, region, rows, section};
use crate::ui::{Memory, format, icons, panels, regions};
use egui::{Rect, Sense, Ui, pos2, vec2};
pub use results::show as results;

const MORE: &str = "Deflection, integrator, seeding";

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    method(ui, state, actions);
    section::end(ui);
    let rays = state.document.track.method == Method::Rays;
    inputs(ui, state, memory, rays, actions);
    let low = is_low(state, memory);
    odf_tracking::model(ui, state, memory, low, actions);
    csd::show(ui, state, memory, actions);
    section::end(ui);
    match state.document.track.kind() {
        CurveKind::Streamlines => controls(ui, state, memory, actions),
        CurveKind::OdfStreamlines => odf_tracking::controls(ui, state, memory, actions),
        CurveKind::Rays => geodesic::controls(ui, state, memory, actions),
        CurveKind::OdfRays => geodesic::lobes::controls(ui, state, memory, actions),
    }
    section::end(ui);
}

/// Streamlines or rays.
fn method(ui: &mut Ui, state: &State, actions: &mut Vec<Action>) {
    let height = space::INSET + space::ROW;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let mut place = paint::inset(rect, space::INSET, space::INSET);
    place.min.y += space::INSET;
    let text = Method::ALL.map(Method::name);
    let now = Method::ALL
        .iter()
        .position(|&m| m == state.document.track.method)
        .unwrap_or(0);
    let chosen = segmented(ui, place, "Method", &text, now);
    let help = "Streamlines follow directions of fibres step by step; rays are geodesics of a metric derived from the \
                tensors or the distributions, ranked by their connectivity measure";
    help_over(ui, place, "Method", help);
    if let Some(i) = chosen.filter(|&i| i != now) {
        actions.push(Action::Track(TrackAction::SetMethod(Method::ALL[i])));
    }
}

/// Most regions shown among the inputs: more would push the controls out of the visible area; the list shows all.
const CHIPS: usize = 10;

/// Whether the model and the section of distributions show less, so that the first controls stay visible: the panel is low,
/// because the window is, or because notes or regions take its height.
pub(super) fn is_low(state: &State, memory: &mut Memory) -> bool {
    /// Height of all from the method to *Maximum angle*, and of the least results, with one row of regions.
    const NEEDED: f32 = 614.0;
    /// Height of the note in two lines, and of that about a target, with its button.
    const NOTE: f32 = 60.0;
    const TARGET_NOTE: f32 = 98.0;
    let regions = state.document.regions.iter();
    let chips = regions
        .filter(|r| r.role != Role::Region)
        .count()
        .min(CHIPS);
    let more_rows = chips.div_ceil(2).saturating_sub(1);
    let note = if csd::has_note(state, memory) {
        NOTE
    } else {
        0.0
    };
    let target = match needs_target(state) {
        true => TARGET_NOTE,
        false => 0.0,
    };
    let height = memory.panel_height - more_rows as f32 * (space::ROW + 4.0);
    height - note - target < NEEDED
}

/// Whether the inputs of rays name the missing target.
fn needs_target(state: &State) -> bool {
    let has_role = |role| state.document.regions.iter().any(|r| r.role == role);
    let rays = state.view.task == Task::Track && state.document.track.method == Method::Rays;
    rays && state.runtime.tour.is_none() && has_role(Role::Seed) && !has_role(Role::Target)
}

/// Regions and tensors; `target`: without one there is little to see.
pub(super) fn inputs(
    ui: &mut Ui,
    state: &State,
    memory: &mut Memory,
    target: bool,
    actions: &mut Vec<Action>,
) {
    let place = section::head(ui, "Inputs");
    let add = IconButton::new(icons::PLUS, "Add an input region")
        .side(24.0)
        .show_right(ui, place);
    regions::add_menu(&add, state, memory, actions);
    // Seeds first, then their targets.
    let all = state.document.regions.iter();
    let mut regions: Vec<_> = all.filter(|r| r.role != Role::Region).collect();
    regions.sort_by_key(|r| Role::ALL.iter().position(|&role| role == r.role));
    let more = regions.len().saturating_sub(CHIPS);
    for pair in regions[..regions.len() - more].chunks(2) {
        let (rect, _) =
            ui.allocate_exact_size(vec2(ui.available_width(), space::ROW + 4.0), Sense::hover());
        let row = paint::inset(rect, space::INSET, space::INSET);
        let half = (row.width() - 4.0) * 0.5;
        for (i, chip) in pair.iter().enumerate() {
            let left = row.left() + (half + 4.0) * i as f32;
            let place = Rect::from_min_size(pos2(left, row.top()), vec2(half, space::ROW));
            let selected = state.runtime.regions.selected == Some(chip.id);
            if region::chip(ui, place, chip, selected).clicked() {
                actions.push(Action::Region(RegionAction::Select(Some(chip.id))));
            }
        }
    }
    if more > 0 {
        rows::hint(
            ui,
            &format!(
                "and {} more in the list of regions",
                format::count(more as u64)
            ),
        );
        ui.add_space(4.0);
    }
    match (&state.document.tensors, followed_fods(state)) {
        (_, Some(field)) => {
            let order = format!("order {}", field.order());
            rows::input(ui, icons::IMAGE, "Field", "FODs", &order);
        }
        (Some(tensors), None) => {
            let method = match tensors.key.params.method {
                tensor_fit::Method::Ols => "OLS",
                tensor_fit::Method::Wls => "WLS",
                tensor_fit::Method::Iwls { .. } => "IWLS",
            };
            let name = format!("{}, {method}", scan_name(&state.document, tensors.origin));
            let spacing = format::spacing(tensors.field.grid.spacing());
            rows::input(ui, icons::IMAGE, "Field", &name, &spacing);
        }
        (None, None) => no_field(ui, state, memory),
    }
    let has_field = state.document.tensors.is_some() || followed_fods(state).is_some();
    if has_field && !regions.iter().any(|r| r.role == Role::Seed) {
        missing_region(ui, state, Role::Seed, actions);
    } else if has_field
        && target
        && state.runtime.tour.is_none()
        && !regions.iter().any(|r| r.role == Role::Target)
    {
        missing_region(ui, state, Role::Target, actions);
    }
}

/// Shows the remarks about regions that `is_shown` accepts, among the results, where they move no control.
pub(super) fn remarks(
    ui: &mut Ui,
    state: &State,
    memory: &mut Memory,
    is_shown: impl Fn(&Remark) -> bool,
    actions: &mut Vec<Action>,
) {
    let Some(tensors) = &state.document.tensors else {
        return;
    };
    let p = theme::palette(ui.style());
    let whose = mask_text::name_of(&state.document);
    let remarks = memory
        .caches
        .streamlines
        .remarks(&state.document.regions, &tensors.mask, &whose);
    let remarks: Vec<&Remark> = remarks.iter().filter(|r| is_shown(r)).collect();
    // Hundreds of remarks would hide the results.
    const REMARKS: usize = 4;
    for remark in remarks.iter().take(REMARKS) {
        let mut note = Note::new(p, Severity::Warning, &remark.text);
        if remark.outside_at.is_some() {
            note = note.action("Show it");
        }
        if note.show(ui) == Some(NoteResponse::Accepted) {
            actions.extend(
                remark
                    .outside_at
                    .map(|world| Action::View(ViewAction::MoveCrosshair(world))),
            );
        }
    }
    if remarks.len() > REMARKS {
        let more = remarks.len() - REMARKS;
        rows::hint(ui, &format!("and {more} more notes"));
    }
}

/// The most severe warning among the results.
pub fn highest_severity(state: &State, memory: &mut Memory) -> Option<Severity> {
    if state.runtime.track.live.value().is_none() && state.runtime.track.live.failure().is_some() {
        return Some(Severity::Error);
    }
    let empty = |live: &CurveResult| match live.rays {
        Some(_) => live.output.kept.is_empty() && live.output.seed_outcomes.iter().any(|n| *n > 0),
        None => {
            let place = live.place_of_starts(&state.document);
            let params = streamline_summary::params(&state.document);
            streamline_summary::nothing_kept(&live.output, &params, &place).is_some()
        }
    };
    let empty = state.runtime.track.live.value().is_some_and(empty);
    let has_warning = empty || state.stalled() || out_of_reach(state, memory, |_| true);
    has_warning.then_some(Severity::Warning)
}

/// Whether any of these remarks about regions applies.
pub fn out_of_reach(state: &State, memory: &mut Memory, which: impl Fn(&Remark) -> bool) -> bool {
    let Some(tensors) = &state.document.tensors else {
        return false;
    };
    let whose = mask_text::name_of(&state.document);
    let regions = &state.document.regions;
    let remarks = memory
        .caches
        .streamlines
        .remarks(regions, &tensors.mask, &whose);
    remarks.iter().any(which)
}

/// The scan of a fit: its file's name without the ending.
fn scan_name(document: &Document, fit: OriginId) -> String {
    match document.origins.fit(fit) {
        Some(fit) => source_name(&document.origins.source(fit.scan)),
        None => "Tensor".to_owned(),
    }
}

fn source_name(source: &ScanSource) -> String {
    match source {
        ScanSource::File { dwi, .. } => {
            let name = file_name(dwi);
            name.split(".nii").next().unwrap_or_default().to_owned()
        }
        ScanSource::Phantom { .. } => "Demo head".to_owned(),
        ScanSource::Turned { base, .. } => source_name(base),
        ScanSource::Tensors { file, .. } | ScanSource::Distributions { file, .. } => {
            let name = file_name(file);
            name.split(".nii").next().unwrap_or_default().to_owned()
        }
    }
}

/// The distributions that the curves of Track follow, or that costs of pathways come from; `None` for tensors.
fn followed_fods(state: &State) -> Option<&OdfField> {
    let track = &state.document.track;
    let model = match state.view.task {
        Task::Pathways => state.document.pathways.model,
        Task::Track => track.model,
        _ => Model::Tensors,
    };
    let field = state.document.distributions.field();
    field.filter(|_| model == Model::Distributions)
}

fn no_field(ui: &mut Ui, state: &State, memory: &mut Memory) {
    let p = theme::palette(ui.style());
    if state.runtime.jobs.is_running(&[FIT, LOAD]) {
        rows::input(ui, icons::IMAGE, "Field", "Tensor", "being fitted");
        return;
    }
    let text = match state.view.task {
        Task::Pathways => "Pathways need tensors: open a diffusion scan with its gradients",
        _ => "Tracking needs tensors: open a diffusion scan with its gradients",
    };
    let note = Note::new(p, Severity::Warning, text).action("Open…");
    if note.show(ui) == Some(NoteResponse::Accepted) {
        memory
            .files
            .ask_for_path(ui.ctx(), PathPurpose::Open, DialogPosition::Middle, "");
    }
}

/// The region to be placed next, with its tool.
fn missing_region(ui: &mut Ui, state: &State, role: Role, actions: &mut Vec<Action>) {
    let p = theme::palette(ui.style());
    let tool = Tool::NewRegion { role, cube: false };
    let (tool_text, text, action) = match role {
        Role::Seed => (
            "Click white matter on a slice. Esc ends the seed tool",
            "No seed yet. Press S, then click a slice to place one",
            "Use the seed tool",
        ),
        _ => (
            "Click where paths should end. Esc ends the target tool",
            "No target yet. Press T, then click where paths should end",
            "Use the target tool",
        ),
    };
    if state.view.tool == tool {
        Note::new(p, Severity::Information, tool_text).show(ui);
        return;
    }
    let note = Note::new(p, Severity::Information, text).action(action);
    if note.show(ui) == Some(NoteResponse::Accepted) {
        actions.push(Action::View(ViewAction::SetTool(tool)));
    }
}

fn controls(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let default_value = state.runtime.settings.track();
    let params = &state.document.track.streamlines;
    let mut set = |params: Params, phase: Phase| {
        actions.push(Action::Track(TrackAction::SetStreamlines { params, phase }))
    };
    if curve_parameters::reset(ui, place, *params == default_value) {
        set(default_value.clone(), Phase::Done);
    }
    let kind = SeedingParts::from(params.seeding).kind;
    curve_parameters::seeding(ui, params, kind.key(), &mut set);
    lines::bootstrap(ui, state, params, &default_value, &mut set);
    curve_parameters::step(ui, params, &default_value, &mut set);
    curve_parameters::angle(ui, params, &default_value, &mut set);
    panels::in_sight(ui);
    curve_parameters::fa(
        ui,
        params,
        &default_value,
        "off: paths cross low FA",
        &mut set,
    );
    curve_parameters::length(ui, params, &default_value, &mut set);
    curve_parameters::rules(ui, state, params, &default_value, &mut set);
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        lines::deflection(ui, params, &mut set);
        let straight = params.deflection.map(|_| "Deflected steps are straight");
        curve_parameters::integrator(ui, params, &default_value, straight, &mut set);
        curve_parameters::interpolation(ui, params, &default_value, None, &mut set);
        curve_parameters::seeding(ui, params, "kind", &mut set);
        curve_parameters::rest(ui, state, params, &default_value, &mut set);
    }
    whole_brain::show(ui, state, memory, actions);
}

pub fn foot(
    ui: &mut Ui,
    place: Rect,
    state: &State,
    memory: &mut Memory,
    actions: &mut Vec<Action>,
) {
    let live = state.runtime.track.live.value();
    let rays = state.document.track.method == Method::Rays;
    let empty = live.is_some_and(|live| live.output.kept.is_empty());
    let why = match state.standing() {
        None if rays => Some("There are no rays yet: place a seed first"),
        None => Some("There are no streamlines yet: place a seed first"),
        Some(Standing::Coarse) if state.stalled() => Some("The full result was stopped"),
        Some(Standing::Updating | Standing::Coarse) => Some("Waiting for the full result"),
        Some(Standing::OutOfDate) => Some("Out of date: the controls have changed since"),
        Some(Standing::Final) if empty && rays => Some("No ray was kept"),
        Some(Standing::Final) if empty => Some("No streamline was kept"),
        Some(Standing::Final) => None,
    };
    let chosen = live.is_none() && super::selected_tracks(state).is_some();
    let buttons = vec![
        Button::primary("Keep as layer")
            .icon(icons::PLUS)
            .disabled(why),
        Button::plain("Export…")
            .icon(icons::EXPORT)
            .disabled(why.filter(|_| !chosen))
            .hint("Ctrl+E"),
    ];
    let (responses, end) = panels::button_row(ui, place, buttons);
    if responses[0].clicked() {
        actions.push(Action::Track(TrackAction::Keep));
    }
    if responses[1].clicked() {
        let above = DialogPosition::Above(place.right_top() - vec2(0.0, 20.0));
        super::export(state, memory, above);
    }
    let command = command_line(state);
    if panels::copy_command(ui, place, end, command.is_some()) {
        actions.extend(command.map(Action::CopyCommand));
    }
}
