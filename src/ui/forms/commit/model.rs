//! The model of fibres, their surroundings and free water, the settings of the fit, and its estimated cost.

use super::act;
use super::progress::ITERATIONS;
use crate::parameters::{Parameters as _, row};
use crate::solvers::commit::cylinder::GammaRadii;
use crate::solvers::commit::model::Intra;
use crate::solvers::commit::{self, Params, WaterParts};
use crate::state::filter::jobs::FIT_WEIGHTS;
use crate::state::filter::{FilterAction, FitEstimate};
use crate::state::{Action, Phase, Severity, State};
use crate::ui::format::{count, fixed, with_unit};
use crate::ui::forms::curve_parameters;
use crate::ui::forms::display::{segment_row, select_row};
use crate::ui::forms::parameters::{self, Rows, Shown};
use crate::ui::widgets::note::{Note, NoteResponse};
use crate::ui::widgets::{menu, rows, section};
use crate::ui::{Memory, panels, theme};
use egui::Ui;

const DIFFUSIVITIES: &str = "Diffusivities";
const MORE: &str = "Signal, stopping, operator";
/// Parameters with a row elsewhere; all others are under [`MORE`].
const PLACED: &[&str] = &[
    "model",
    "radii",
    "along",
    "across",
    "free",
    "lasso",
    "group",
    "tolerance",
];

type OnChange<'a> = dyn FnMut(Params, Phase) + 'a;

pub fn show(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let own = &state.document.filter.params;
    let mut changed: Option<(Option<Params>, Phase)> = None;
    if curve_parameters::reset(ui, place, own.is_none()) {
        changed = Some((None, Phase::Done));
    }
    let shells = state.document.filter_shells();
    let (params, defaults) = (
        state.document.filter_params(),
        commit::Params::defaults_for(shells),
    );
    let set: &mut OnChange = &mut |params: Params, phase| changed = Some((Some(params), phase));
    fibres(ui, &params, &defaults, set);
    let density = params.model.intra == Intra::Density;
    if !density {
        surround(ui, &params, &defaults, shells, set);
        undetermined(ui, state, &params, set);
        let (open, clicked) =
            section::fold(ui, DIFFUSIVITIES, memory.is_open(DIFFUSIVITIES, false));
        if clicked {
            memory.toggle(DIFFUSIVITIES);
        }
        if open {
            diffusivities(ui, &params, &defaults, set);
        }
    }
    panels::in_sight(ui);
    penalties(ui, state, &params, &defaults, set);
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        stop(ui, &params, set);
        parameters::rows(ui, &params, &defaults, Rows::AllBut(PLACED), set);
    }
    if let Some((params, phase)) = changed {
        act(actions, FilterAction::Params { params, phase });
    }
    needs(ui, state);
}

/// The model inside the fibres.
fn fibres(ui: &mut Ui, params: &Params, default_value: &Params, set: &mut OnChange) {
    let rows = Rows::Only(&["model"]);
    parameters::rows(
        ui,
        params,
        default_value,
        rows,
        &mut |mut changed, phase| {
            // The density model has no water compartments; the other models get the default ones.
            if params.model.intra == Intra::Density && changed.model.intra != Intra::Density {
                changed.model.extra.clone_from(&default_value.model.extra);
                changed.model.free.clone_from(&default_value.model.free);
            }
            set(changed, phase);
        },
    );
    match &params.model.intra {
        Intra::GammaCylinders { along, radii } => gamma(ui, params, *along, radii, set),
        _ => parameters::rows(ui, params, default_value, Rows::Only(&["radii"]), set),
    }
}

fn gamma(ui: &mut Ui, params: &Params, along: f64, radii: &[GammaRadii], set: &mut OnChange) {
    let first = radii.first().copied().unwrap_or(commit::DEFAULT_GAMMA);
    let mut to = |gamma: GammaRadii, phase: Phase| {
        let mut params = params.clone();
        let others = radii.iter().skip(1).copied();
        params.model.intra = Intra::GammaCylinders {
            along,
            radii: std::iter::once(gamma).chain(others).collect(),
        };
        set(params, phase);
    };
    let (defaults, all) = (commit::DEFAULT_GAMMA, Rows::AllBut(&[]));
    parameters::rows(ui, &first, &defaults, all, &mut to);
}

/// Water around fibres, and free water.
fn surround(
    ui: &mut Ui,
    params: &Params,
    default_value: &Params,
    shells: usize,
    set: &mut OnChange,
) {
    let help = "Hindered water around the fibres, along the peaks";
    let has = usize::from(!params.model.extra.is_empty());
    let text = ["None", "Zeppelin"];
    if let Some(i) = segment_row(ui, "Extra-axonal", help, &text, has) {
        let mut params = params.clone();
        params.model.extra = match i {
            0 => Vec::new(),
            _ => default_value.model.extra.clone(),
        };
        set(params, Phase::Done);
    }
    let help = match shells {
        0 | 1 => {
            "Water that diffuses equally in all directions. A single shell cannot separate it from the other \
             compartments"
        }
        _ => "Water that diffuses equally in all directions",
    };
    let has = usize::from(!params.model.free.is_empty());
    if let Some(i) = segment_row(ui, "Free water", help, &["None", "Ball"], has) {
        let mut params = params.clone();
        params.force_model &= i == 1;
        params.model.free = match i {
            0 => Vec::new(),
            _ => commit::Params::defaults_for(2).model.free,
        };
        set(params, Phase::Done);
    }
}

/// Warns if the scan does not determine the model, which can be forced. With a single shell the row is always there, so
/// that no control moves when the model is chosen.
fn undetermined(ui: &mut Ui, state: &State, params: &Params, set: &mut OnChange) {
    if !state.document.has_one_shell() {
        return;
    }
    let Some(what) = state.document.undetermined_model() else {
        return rows::line_in(ui, "Ball needs two or more shells", Note::LOW_ROW);
    };
    let p = theme::palette(ui.style());
    let (text, short_text) = match params.force_model {
        true => (
            format!("{what}: the model is forced"),
            "One shell: the model is forced",
        ),
        false => (what, "Needs two shells"),
    };
    let mut note = Note::new(p, Severity::Warning, &text);
    if !params.force_model {
        note = note.action("Force the model");
    }
    if note.show_low_row(ui, short_text) == Some(NoteResponse::Accepted) {
        let forced = Params {
            force_model: true,
            ..params.clone()
        };
        set(forced, Phase::Done);
    }
}

/// A row for each compartment of water: the defaults of one that has none are its own value.
fn diffusivities(ui: &mut Ui, params: &Params, default_value: &Params, set: &mut OnChange) {
    panels::caption(ui, "10⁻³ mm²/s", "");
    parameters::rows(ui, params, default_value, Rows::Only(&["along"]), set);
    let model = &params.model;
    let across = (0..model.extra.len()).map(|i| ("across", i));
    for (key, i) in across.chain((0..model.free.len()).map(|i| ("free", i))) {
        let now = WaterParts::at_index(params, i, WaterParts::defaults());
        let defaults = WaterParts::at_index(default_value, i, now);
        let name = WaterParts::label(key, i);
        let shown = Shown {
            name: Some(&name),
            ..Shown::default()
        };
        parameters::number(ui, &now, &defaults, key, shown, &mut |parts, phase| {
            let mut params = params.clone();
            match key {
                "across" => params.model.extra[i].across = parts.across,
                _ => params.model.free[i] = parts.free,
            }
            set(params, phase);
        });
    }
}

fn penalties(
    ui: &mut Ui,
    state: &State,
    params: &Params,
    default_value: &Params,
    set: &mut OnChange,
) {
    parameters::rows(ui, params, default_value, Rows::Only(&["lasso"]), set);
    let groups = state
        .document
        .filtered()
        .is_some_and(|(_, lines)| !lines.groups.is_empty());
    // A weight that is already set can be switched off.
    let why = (!groups && params.group == 0.0).then_some("needs groups (TRX)");
    let shown = Shown {
        unused: why,
        ..Shown::default()
    };
    parameters::number(ui, params, default_value, "group", shown, set);
}

/// Powers of ten; other values are left to the command line.
fn stop(ui: &mut Ui, params: &Params, set: &mut OnChange) {
    const POWERS: [i32; 6] = [3, 4, 5, 6, 7, 8];
    const SUPERSCRIPTS: [&str; 6] = ["10⁻³", "10⁻⁴", "10⁻⁵", "10⁻⁶", "10⁻⁷", "10⁻⁸"];
    let near = |power: i32| {
        let value = 10f64.powi(-power);
        (params.stop.objective / value - 1.0).abs() < 1e-6
    };
    let now = POWERS.iter().position(|p| near(*p));
    let shown = now.map_or_else(
        || format!("{:e}", params.stop.objective),
        |i| SUPERSCRIPTS[i].to_owned(),
    );
    let Some(row) = row::<Params>("tolerance") else {
        return;
    };
    let chosen = select_row(ui, row.label, row.help, &shown, |ui| {
        let mut chosen = None;
        for (i, label) in SUPERSCRIPTS.iter().enumerate() {
            if menu::Item::new(label).chosen(now == Some(i)).show(ui) {
                chosen = Some(POWERS[i]);
            }
        }
        chosen
    });
    if let Some(power) = chosen {
        let mut params = params.clone();
        // Parsed from the text, since a computed power may differ in the last digit.
        let tolerance = format!("1e-{power}").parse();
        params.stop = params
            .stop
            .with_tolerance(tolerance.unwrap_or(params.stop.objective));
        set(params, Phase::Done);
    }
}

/// Time and memory that the fit will take, before it starts. The rows keep their places while they are computed, and
/// while the model must first be forced.
fn needs(ui: &mut Ui, state: &State) {
    /// A value that is not known.
    const UNKNOWN: &str = "–";
    let document = &state.document;
    let is_undetermined =
        document.undetermined_model().is_some() && !document.filter_params().force_model;
    if state.cannot_filter().is_some() && !is_undetermined {
        return;
    }
    let runtime = &state.runtime.filter;
    let counts = runtime.estimate.running().is_some();
    let last = runtime.estimate.shown().map(|(_, needs)| needs);
    // The last estimate belongs to earlier inputs.
    let Some(needs) = last.filter(|_| !counts && !is_undetermined) else {
        if counts || is_undetermined {
            let text = if counts { "counting…" } else { UNKNOWN };
            rows::reading(ui, MEMORY, text);
            if last.is_some_and(|needs| needs.on_card.is_some()) {
                rows::reading(ui, ON_CARD, UNKNOWN);
            }
            rows::reading(ui, TIME, UNKNOWN);
        }
        return;
    };
    let memory = memory_text(needs.demand.bytes, needs.free);
    rows::reading(ui, MEMORY, &memory);
    if let Some((bytes, free)) = needs.on_card {
        rows::reading(ui, ON_CARD, &memory_text(bytes, Some(free)));
    }
    let pace = runtime.pace.unwrap_or(1.0);
    let max_iterations = document.filter_params().stop.iterations;
    let estimate_s = seconds(needs, pace, max_iterations);
    let running = state.runtime.jobs.of_slot(FIT_WEIGHTS);
    let elapsed_s = running.map_or(0.0, |job| job.started.elapsed().as_secs_f64());
    // An estimate that a fit has exceeded says nothing about its end.
    let time = match elapsed_s > estimate_s {
        true => format!("{} so far", duration(elapsed_s)),
        false => format!("about {}", duration(estimate_s)),
    };
    let text = format!("{time}, {} segments", rounded(needs.demand.segments));
    rows::reading(ui, TIME, &text);
}

const MEMORY: &str = "Memory needed";
const ON_CARD: &str = "On the card";
const TIME: &str = "Time";

/// Estimated duration of the fit.
fn seconds(needs: &FitEstimate, pace: f64, max_iterations: u32) -> f64 {
    let iterations = f64::from(max_iterations.min(ITERATIONS));
    needs.time_estimate.build_s + iterations * needs.time_estimate.iteration_s * pace
}

/// `0.4 of 24 GB`.
fn memory_text(bytes: u64, free: Option<u64>) -> String {
    let gb = |bytes: u64| bytes as f64 / 1e9;
    let own = match gb(bytes) {
        v if v < 0.1 => "<0.1".to_owned(),
        v => fixed(v, 1),
    };
    let text = match free {
        Some(free) => format!("{own} of {}", fixed(gb(free), 0)),
        None => own,
    };
    with_unit(&text, "GB")
}

/// `5 s`, `40 s`, `3 min`, `2 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".to_owned(),
        s if s < 10.0 => with_unit(&fixed(s.ceil(), 0), "s"),
        s if s < 90.0 => with_unit(&fixed((s / 10.0).round() * 10.0, 0), "s"),
        s if s < 5400.0 => with_unit(&fixed((s / 60.0).round(), 0), "min"),
        s => with_unit(&fixed(s / 3600.0, 1), "h"),
    }
}

/// Two significant digits.
fn rounded(n: u64) -> String {
    let unit = 10u64.pow(n.max(1).ilog10().saturating_sub(1));
    count((n + unit / 2) / unit * unit)
}
