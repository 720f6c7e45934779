//! The section *Fibre orientations* of Track: their state, their response functions, and their parameters.

mod images;
mod profiles;
mod report;
mod responses;

pub use images::{all as fod_images, image_rows};

use super::parameters::{self, Rows, Shown};
use super::tracking;
use super::{glyphs, odf_tracking};
use crate::data::odf_field::Tissue;
use crate::data::{Gradients, OdfLayout, Shells};
use crate::solvers::csd;
use crate::state::core::text::{counted, duration_text};
use crate::state::tensors::jobs::fod::FOD;
use crate::state::tensors::recipe::fod::ResponseAlgorithm;
use crate::state::tensors::types::fods::{FodResult, FodSettings, FodSource};
use crate::state::{Action, Content, Layer, Severity, State, TensorAction};
use crate::ui::files::{DialogPosition, PathPurpose, suggestion};
use crate::ui::theme::{self, Palette, radius, size, space};
use crate::ui::widgets::button::Button;
use crate::ui::widgets::note::Note;
use crate::ui::widgets::{charts, focus, paint, rows, section};
use crate::ui::{Memory, icons};
use egui::{Color32, Rect, Response, Sense, Ui, pos2, vec2};
use std::sync::Arc;

const NAME: &str = "Fibre orientations";
/// Title of the section while the distributions of an image are used.
const FROM_FILE: &str = "Read from a file";
/// Whether the report and the parameters are open.
const DETAILS: &str = "Details of fibre orientations";
const PARAMETERS: &str = "Responses, deconvolution, peaks";

const HEAD: f32 = 28.0;
/// Width of the caret that shows whether the details are open.
const CARET: f32 = 26.0;
/// Height under the head: a sentence with a button; the profiles of the response functions.
const SENTENCE: f32 = 34.0;
const PROFILES: f32 = 66.0;

/// Content of the section.
enum Status<'a> {
    /// Not requested, or stopped.
    NotEstimated,
    /// The share that is done, if known.
    Running(Option<f32>),
    Failed(&'a str),
    /// In use, and more than settings has changed since.
    OutOfDate,
    Done(&'a FodResult),
}

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let shells = shells(state, memory);
    images::source_row(ui, state, shells.is_some(), memory, actions);
    let source = match (images::used(state), shells) {
        (Some((layer, layout)), _) => Source::Image(layer, layout),
        (None, Some(shells)) => Source::Scan(shells),
        (None, None) => return,
    };
    let p = theme::palette(ui.style());
    let status = status(state);
    let open = memory.is_open(DETAILS, false);
    let is_low = tracking::is_low(state, memory) && !open;
    // Before it is used, and in a low panel, the section leaves the room to the controls below.
    let (head_height, body) = match (&status, &source) {
        (Status::NotEstimated, _) => (SENTENCE, 0.0),
        (Status::Running(_), _) if is_low => (SENTENCE, 0.0),
        (Status::Done(_), Source::Scan(_)) if is_low => (HEAD, 0.0),
        (Status::Done(_), Source::Scan(_)) => (HEAD, PROFILES),
        _ => (HEAD, SENTENCE),
    };
    let desired_size = vec2(ui.available_width(), head_height + body + 6.0);
    let (rect, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    let mut rect = paint::inset(rect, space::INSET, space::INSET);
    rect.max.y -= 6.0;
    paint::field(ui.painter(), p, rect, p.b2);
    let head = Rect::from_min_size(rect.min, vec2(rect.width(), head_height));
    let body = Rect::from_min_max(pos2(rect.left(), head.bottom()), rect.max);
    let body = paint::inset(body, 10.0, 10.0);
    // Below its buttons.
    if details(ui, (rect, head), &status, open).clicked() {
        memory.toggle(DETAILS);
    }
    content(ui, state, (head, body), &source, &status, actions);
    match status {
        Status::Failed(why) => {
            Note::new(p, Severity::Error, why).show(ui);
        }
        Status::Done(_) if source.is_one_shell() => one_shell_note(ui, p),
        _ => {}
    }
    let has_report = !matches!(status, Status::NotEstimated | Status::Running(_));
    let in_use = state.document.distributions.result.as_ref();
    if let Some(result) = in_use.filter(|_| open && has_report) {
        report::show(ui, state, result, actions);
        export(ui, state, result, memory);
    }
    if open {
        // Controls of streamlines in the same panel have the same names.
        ui.push_id(NAME, |ui| parameter_rows(ui, state, memory, actions));
        if state.document.distributions.field().is_some() {
            glyphs::show(ui, state, memory, actions);
        }
    }
}

/// Source of the distributions that the section is about.
enum Source<'a> {
    Scan(Arc<Shells>),
    Image(&'a Layer, OdfLayout),
}

impl Source<'_> {
    /// `3 shells, 158 volumes`, or the name of the image.
    fn facts(&self) -> String {
        match self {
            Self::Scan(shells) => facts_of_scan(shells),
            Self::Image(layer, _) => layer.name.clone(),
        }
    }

    /// The button that computes its distributions.
    fn verb(&self) -> &'static str {
        match self {
            Self::Scan(_) => "Estimate",
            Self::Image(..) => "Read",
        }
    }

    fn is_one_shell(&self) -> bool {
        match self {
            Self::Scan(shells) => one_shell(shells),
            Self::Image(..) => false,
        }
    }
}

/// The head of the section, and what is below it.
fn content(
    ui: &mut Ui,
    state: &State,
    (head, body): (Rect, Rect),
    source: &Source,
    status: &Status,
    actions: &mut Vec<Action>,
) {
    let p = theme::palette(ui.style());
    let (facts_of_source, one_shell) = (source.facts(), source.is_one_shell());
    match status {
        Status::NotEstimated => {
            // There is no room for the facts of the scan.
            let hint = match one_shell {
                true => format!("{facts_of_source}: a response of white matter alone"),
                false => facts_of_source,
            };
            let hint = match odf_tracking::volumes(state) {
                Some(volumes) => format!("{hint}. {volumes}"),
                None => hint,
            };
            let button = Button::plain(source.verb()).hint(&hint);
            let place = paint::inset(head, 0.0, CARET + 4.0);
            let place = paint::at_right(place, vec2(button.width(ui), space::BUTTON));
            let ink = if one_shell { p.warning } else { p.t2 };
            let text = head.with_max_x(place.left() - 8.0 + CARET);
            title(ui, text, NAME, &[], (icons::BRAIN, ink));
            if button.show_at(ui, place).clicked() {
                actions.push(images::request(state));
            }
        }
        Status::Running(share) => {
            let sign = (icons::BRAIN, p.accent);
            let place = match body.height() > 0.0 {
                true => {
                    title(ui, head, NAME, &[&facts_of_source], sign);
                    body
                }
                // The status bar names what runs.
                false => {
                    let (icon, ink) = sign;
                    let at = pos2(head.left() + 17.0, head.center().y);
                    paint::icon(ui.painter(), at, icon, size::ICON, ink);
                    paint::inset(head, 34.0, CARET + 4.0)
                }
            };
            if running(ui, place, *share).clicked() {
                actions.push(Action::CancelJob(FOD));
            }
        }
        Status::Failed(_) => {
            let sign = (icons::WARNING, p.error);
            title(ui, head, NAME, &[&facts_of_source], sign);
            let label = match source {
                Source::Scan(_) => "Not estimated",
                Source::Image(..) => "Not read",
            };
            let text = (label, p.error);
            if sentence(ui, body, text, Button::plain("Try again")).clicked() {
                actions.push(images::request(state));
            }
        }
        Status::OutOfDate => {
            let sign = (icons::WARNING, p.warning);
            title(ui, head, NAME, &[&facts_of_source], sign);
            let text = ("From before the last change", p.warning);
            if sentence(ui, body, text, Button::plain(source.verb())).clicked() {
                actions.push(images::request(state));
            }
        }
        Status::Done(result) => {
            let warns = one_shell || report::warns(result);
            let sign = match warns {
                true => (icons::WARNING, p.warning),
                false => (icons::CHECK_CIRCLE, p.ok),
            };
            match source {
                Source::Scan(_) => {
                    let name = counted(result.fods.responses.len(), "response");
                    let facts = facts(result);
                    let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
                    title(ui, head, &name, &facts, sign);
                    if body.height() > 0.0 {
                        profiles::show(ui, body, &result.fods.responses);
                    }
                }
                Source::Image(layer, layout) => {
                    let order = format!("order {}", result.fods.output.order.order);
                    title(ui, head, FROM_FILE, &[&order], sign);
                    let text = format!("{} · {}", layer.name, layout.description());
                    let font = theme::regular(size::LABEL);
                    let text = paint::elided(ui.painter(), &text, font, body.width());
                    section::label(ui, body, &text, false, p.t2);
                }
            }
        }
    }
}

/// The gradients of the scan, if it holds signals and directions to estimate distributions from.
fn gradients(state: &State) -> Option<&Arc<Gradients>> {
    match &state.document.scan()?.content {
        Content::Scan {
            dwi,
            gradients: Some(gradients),
        } if dwi.tensors.is_none() => Some(gradients),
        _ => None,
    }
}

/// Whether the scan has signals and directions to estimate distributions from.
pub fn is_shown(state: &State) -> bool {
    gradients(state).is_some()
}

/// The shells of the scan, if it holds signals and directions.
pub fn shells(state: &State, memory: &mut Memory) -> Option<Arc<Shells>> {
    gradients(state).map(|gradients| memory.caches.shells.get(gradients))
}

/// The shells of a scan, sorted once.
#[derive(Default)]
pub struct ShellCache(Option<(Arc<Gradients>, Arc<Shells>)>);

impl ShellCache {
    fn get(&mut self, gradients: &Arc<Gradients>) -> Arc<Shells> {
        match &self.0 {
            Some((known, shells)) if Arc::ptr_eq(known, gradients) => shells.clone(),
            _ => {
                let shells = Arc::new(Shells::new(gradients));
                self.0 = Some((gradients.clone(), shells.clone()));
                shells
            }
        }
    }
}

/// Whether the section shows its note about a scan of one shell.
pub(super) fn has_note(state: &State, memory: &mut Memory) -> bool {
    let shells = shells(state, memory).filter(|_| images::used(state).is_none());
    shells.is_some_and(|shells| one_shell(&shells)) && matches!(status(state), Status::Done(_))
}

/// Whether the scan has a single shell with diffusion weighting.
fn one_shell(shells: &Shells) -> bool {
    shells.weighted().count() == 1
}

fn status(state: &State) -> Status<'_> {
    let live = &state.runtime.tensors.fods;
    let document = &state.document;
    if live.running().is_some() {
        let mut jobs = state.runtime.jobs.running.iter();
        let job = jobs.find(|job| job.slot == FOD);
        return Status::Running(job.and_then(|job| job.control.progress().fraction()));
    }
    let is_requested = document.requested_fods().is_some();
    let result = document.distributions.result.as_deref();
    match (result.filter(|_| is_requested), live.failure()) {
        (Some(result), _) if !document.lacks_requested_fods() => Status::Done(result),
        (_, Some(why)) => Status::Failed(why),
        (Some(_), None) => Status::OutOfDate,
        (None, None) => Status::NotEstimated,
    }
}

fn set(settings: FodSettings) -> Action {
    Action::Tensors(TensorAction::SetFods(settings))
}

/// `3 shells, 158 volumes`.
fn facts_of_scan(shells: &Shells) -> String {
    let (shell_count, volumes) = (shells.weighted().count(), shells.volume_count());
    format!(
        "{}, {}",
        counted(shell_count, "shell"),
        counted(volumes, "volume")
    )
}

/// `3 shells`, `order 8`, `1.9 s`.
fn facts(result: &FodResult) -> [String; 3] {
    let fods = &result.fods;
    let used = &fods.output.shells.shells[fods.used_shells.clone()];
    let weighted = used.iter().filter(|s| s.is_weighted()).count();
    [
        counted(weighted, "shell"),
        format!("order {}", fods.output.order.order),
        duration_text(result.wall_ms),
    ]
}

/// Shows the facts that fit, the first ones first.
fn title(ui: &mut Ui, head: Rect, name: &str, facts: &[&str], (icon, ink): (&str, Color32)) {
    let p = theme::palette(ui.style());
    let painter = ui.painter();
    paint::icon(
        painter,
        pos2(head.left() + 17.0, head.center().y),
        icon,
        size::ICON,
        ink,
    );
    let text = paint::inset(head, 30.0, CARET);
    let font = theme::medium(size::LABEL);
    let name_at = paint::left(painter, text, name, font, p.t1);
    let rest = paint::inset(text, name_at.width() + 8.0, 0.0);
    let font = theme::regular(size::LABEL);
    let mut joined = (1..=facts.len()).rev().map(|n| facts[..n].join(" · "));
    let shortest = facts.first().copied().unwrap_or_default().to_owned();
    let fact = joined.find(|text| paint::width(ui, text, font.clone()) <= rest.width());
    let fact = paint::elided(ui.painter(), &fact.unwrap_or(shortest), font, rest.width());
    section::label(ui, rest, &fact, true, p.t3);
}

/// A sentence with a button beside it.
fn sentence(ui: &mut Ui, body: Rect, (text, ink): (&str, Color32), button: Button) -> Response {
    let place = paint::at_right(body, vec2(button.width(ui), space::BUTTON));
    let text_at = body.with_max_x(place.left() - 8.0);
    section::label(ui, text_at, text, false, ink);
    button.show_at(ui, place)
}

fn running(ui: &mut Ui, body: Rect, share: Option<f32>) -> Response {
    let p = theme::palette(ui.style());
    let button = Button::plain("Cancel");
    let place = paint::at_right(body, vec2(button.width(ui), space::BUTTON));
    let before = body.with_max_x(place.left() - 8.0);
    let bar = paint::at_left(before, vec2(before.width(), 3.0));
    charts::progress(ui.painter(), bar, share, p.b3, p.accent);
    button.hint("Esc").show_at(ui, place)
}

/// A click opens and closes its report and its parameters.
fn details(ui: &mut Ui, (rect, head): (Rect, Rect), status: &Status, open: bool) -> Response {
    let p = theme::palette(ui.style());
    let response = ui.interact(rect, ui.make_persistent_id("fod section"), Sense::click());
    paint::focus_ring(ui.painter(), p, &response, rect, radius::CONTROL);
    let icon = match open {
        true => icons::CARET_DOWN,
        false => icons::CARET_RIGHT,
    };
    let at = pos2(rect.right() - CARET * 0.5, head.center().y);
    let ink = if response.hovered() { p.t1 } else { p.t2 };
    paint::icon(ui.painter(), at, icon, 14.0, ink);
    let name = match status {
        Status::NotEstimated => "not estimated".to_owned(),
        Status::Running(_) => "being estimated".to_owned(),
        Status::Failed(_) => "failed".to_owned(),
        Status::OutOfDate => "from before the last change".to_owned(),
        Status::Done(result) if result.key.is_read() => "read from a file".to_owned(),
        Status::Done(result) => counted(result.fods.responses.len(), "response"),
    };
    focus::named_button(&response, format!("{NAME}: {name}"));
    response.on_hover_text("Where the responses were measured, their values, and the parameters")
}

/// Writes what the command `fod` writes.
fn export(ui: &mut Ui, state: &State, result: &FodResult, memory: &mut Memory) {
    let button = Button::plain("Export distributions…").icon(icons::EXPORT);
    let desired_size = vec2(ui.available_width(), space::BUTTON + 8.0);
    let (rect, _) = ui.allocate_exact_size(desired_size, Sense::hover());
    let row = paint::inset(rect, space::INSET, space::INSET);
    let place = paint::at_left(row, vec2(button.width(ui), space::BUTTON));
    if button.show_at(ui, place).clicked() {
        let tissues = result.fods.responses.iter().map(|(tissue, _)| *tissue);
        let tissues = match result.key.is_read() {
            true => vec![Tissue::WhiteMatter],
            false => tissues.collect(),
        };
        let masks = state.document.masks_of_responses(result);
        let masks = masks.into_iter().map(|(tissue, _)| tissue).collect();
        let purpose = PathPurpose::Distributions {
            tissues,
            masks,
            with_bootstrap: result.fods.uncertainty.is_some(),
        };
        let text = suggestion(state, "fod", &purpose);
        memory
            .files
            .type_path(purpose, DialogPosition::Middle, &text);
    }
}

fn one_shell_note(ui: &mut Ui, p: &Palette) {
    let text = "One shell: a single response. The signal of grey matter and CSF counts as fibres";
    Note::new(p, Severity::Warning, text).show(ui);
}

/// The parameters of the response functions, the deconvolution and the peaks.
fn parameter_rows(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let (open, clicked) = section::fold(ui, PARAMETERS, memory.is_open(PARAMETERS, false));
    if clicked {
        memory.toggle(PARAMETERS);
    }
    if !open {
        return;
    }
    let settings = &images::present(state);
    let defaults = FodSettings::default();
    if let FodSource::Image(_) = settings.source {
        // Nothing is deconvolved.
        return peak_rows(ui, settings, &defaults, actions);
    }
    let result = state.document.distributions.result.as_ref();
    // The rows of the algorithm in use; before the first estimation, of the one that it will use.
    let used = result.and_then(|result| result.fods.algorithm);
    let used = used.or_else(|| {
        let shells = shells(state, memory)?;
        Some(ResponseAlgorithm::default_for(
            &shells,
            settings.params.method,
        ))
    });
    let unused = settings.responses.unused_rows(used);
    responses::show(ui, state, settings, memory, actions);
    let mut change = |settings: FodSettings| actions.push(set(settings));
    parameters::rows(
        ui,
        &settings.response_params,
        &defaults.response_params,
        Rows::AllBut(&unused),
        &mut |response_params, _| {
            change(FodSettings {
                response_params,
                ..settings.clone()
            });
        },
    );
    deconvolution_rows(ui, settings, result.map(Arc::as_ref), actions);
    peak_rows(ui, settings, &defaults, actions);
}

/// The parameters of the deconvolution; `result`: distributions in use.
fn deconvolution_rows(
    ui: &mut Ui,
    settings: &FodSettings,
    result: Option<&FodResult>,
    actions: &mut Vec<Action>,
) {
    let (params, defaults) = (&settings.params, &FodSettings::default().params);
    let set: &mut parameters::OnChange<csd::Params> = &mut |params, _| {
        actions.push(set(FodSettings {
            params,
            ..settings.clone()
        }));
    };
    let result = result.filter(|result| !result.key.is_read());
    parameters::rows(ui, params, defaults, Rows::Only(&["method"]), set);
    // An order set by hand begins with the one in use.
    let order = Shown {
        on: result.map(|result| result.fods.output.order.order as f64),
        ..Shown::default()
    };
    parameters::number(ui, params, defaults, "order", order, set);
    let last = ["bootstrap", "random-seed"];
    let others = Rows::AllBut(&["method", "order", last[0], last[1]]);
    parameters::rows(ui, params, defaults, others, set);
    parameters::rows(ui, params, defaults, Rows::Only(&last[..1]), set);
    let offered = parameters::switched_on("bootstrap", defaults);
    let time = odf_tracking::bootstrap_time(result, (params.repetitions, offered), true);
    if let Some(text) = time {
        rows::hint(ui, &text);
    }
    parameters::rows(ui, params, defaults, Rows::Only(&last[1..]), set);
}

fn peak_rows(
    ui: &mut Ui,
    settings: &FodSettings,
    defaults: &FodSettings,
    actions: &mut Vec<Action>,
) {
    parameters::rows(
        ui,
        &settings.peak_params,
        &defaults.peak_params,
        Rows::AllBut(&[]),
        &mut |peak_params, _| {
            actions.push(set(FodSettings {
                peak_params,
                ..settings.clone()
            }));
        },
    );
}
