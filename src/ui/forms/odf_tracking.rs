//! Streamlines along fibre orientation distributions in the task Track: the switch between the models, and the controls
//! of streamlines along distributions.

use super::csd;
use super::curve_parameters::{self, TYPED_LENGTH_MM};
use super::display::{segment_row_but, select_row};
use super::parameters::{self, Rows, Shown};
use super::tracking::whole_brain;
use crate::data::tissue_map::{numbering_text, unknown_labels_text};
use crate::parameters::Parameters as _;
use crate::solvers::curves::{self, SeedingParts};
use crate::solvers::odf_tracking::{Method as OdfMethod, Params};
use crate::state::core::layer::LayerId;
use crate::state::core::text::{counted, duration_text};
use crate::state::tensors::jobs::fod::repetition_ms;
use crate::state::tensors::types::fods::FodResult;
use crate::state::track::types::odf::Model;
use crate::state::{Action, Content, CurveResult, Method, Phase, State, TrackAction};
use crate::ui::files::{DialogPosition, PathPurpose};
use crate::ui::widgets::{menu, rows, section};
use crate::ui::{Memory, format, panels};
use egui::Ui;

const MORE: &str = "Seeding, steps, going back";

/// Why there is no bootstrap.
pub(super) const NOT_RESAMPLED: &str =
    "Bootstrap needs distributions that were estimated from an open scan";

/// The work of a bootstrap.
const DECONVOLVES: &str = "Each repetition deconvolves the scan again";

const INTERFACE: &str = "seed-interface";

/// Rows with a place of their own in the form.
const PLACED: &[&str] = &[
    "method",
    "seeds",
    "select",
    "angle",
    "cutoff",
    "min-length",
    "max-length",
    "targets",
    "includes",
    "bootstrap",
    INTERFACE,
];

/// Whether there is a choice: the document has distributions, or requests them, or should have them, since its scan has
/// several shells. Otherwise the section below is enough.
fn has_model(state: &State, memory: &mut Memory) -> bool {
    let fods = &state.document.distributions;
    fods.settings.requested
        || fods.result.is_some()
        || state.document.track.model == Model::Distributions
        || super::fod_images(state).next().is_some()
        || has_several_shells(state, memory)
}

fn has_several_shells(state: &State, memory: &mut Memory) -> bool {
    let shells = csd::shells(state, memory);
    shells.is_some_and(|shells| shells.weighted().count() > 1)
}

/// The switch between the models, and the volumes of the scan that the chosen one uses. A scan without signals has tensors
/// only. In a low panel the hint of the row names the volumes, and there is no row before the first distributions, which
/// the section below estimates.
pub fn model(
    ui: &mut Ui,
    state: &State,
    memory: &mut Memory,
    is_low: bool,
    actions: &mut Vec<Action>,
) {
    let track = &state.document.track;
    if !has_model(state, memory) {
        return;
    }
    let help = match track.method {
        Method::Streamlines => {
            "What streamlines follow: one direction per voxel, or the amount of fibres in every direction"
        }
        Method::Rays => {
            "What rays follow: the tensor, or the lobes of distributions, on which they stay where fibres cross"
        }
    };
    let volumes = volumes(state);
    let help = match &volumes {
        Some(volumes) if is_low => format!("{help}. {volumes}"),
        _ => help.to_owned(),
    };
    let now = Model::ALL.iter().position(|m| *m == track.model);
    let has_fods = state.document.distributions.field().is_some();
    if is_low && !has_fods && track.model == Model::Tensors {
        return;
    }
    let has_tensors = can_have_tensors(state);
    let why = |i: usize| match Model::ALL[i] {
        Model::Tensors if !has_tensors => Some("No tensors: open a scan with its gradients"),
        Model::Distributions if !has_fods => {
            Some("Not estimated yet: click Estimate at “Fibre orientations” below")
        }
        _ => None,
    };
    let names = Model::ALL.map(Model::name);
    let chosen = segment_row_but(ui, "Model", &help, &names, now.unwrap_or(0), why);
    if let Some(i) = chosen {
        actions.push(Action::Track(TrackAction::SetModel(Model::ALL[i])));
    }
    if let Some(text) = volumes.filter(|_| !is_low) {
        rows::hint(ui, &text);
    }
}

/// Whether curves can follow tensors, now or after a fit.
pub fn can_have_tensors(state: &State) -> bool {
    state.document.tensors.is_some() || state.document.requested_fit().is_some()
}

/// The volumes that the chosen model uses; `None` while it is not known, and for tensors that use all.
pub(super) fn volumes(state: &State) -> Option<String> {
    let document = &state.document;
    let Content::Scan {
        gradients: Some(gradients),
        ..
    } = &document.scan()?.content
    else {
        return None;
    };
    let all = gradients.len();
    // Distributions that were read use no volume of the scan.
    let result = document.distributions.result.as_ref();
    let estimated = result.filter(|result| !result.key.is_read());
    let fods = estimated.map(|result| &result.fods);
    let by_fods = fods.map(|fods| fods.used_volumes());
    let number = |n: usize| format::count(n as u64);
    match document.track.model {
        Model::Distributions => {
            let (fods, used) = (fods?, by_fods?);
            let shells = &fods.output.shells.shells[fods.used_shells.clone()];
            let weighted = shells.iter().filter(|s| s.is_weighted()).count();
            let shells = counted(weighted, "shell");
            Some(match used >= all {
                true => format!("Distributions use all {} volumes, {shells}", number(all)),
                false => {
                    let (used, all) = (number(used), number(all));
                    format!("Distributions use {used} of {all} volumes, {shells}")
                }
            })
        }
        Model::Tensors => {
            let tensors = document.tensors.as_ref()?;
            let left = tensors.outside_range.len() + tensors.without_direction.len();
            if left == 0 {
                return None;
            }
            let used = number(all.saturating_sub(left));
            let text = format!("Tensors use {used} of {} volumes", number(all));
            Some(match by_fods {
                Some(used) if used >= all => format!("{text}, distributions all"),
                Some(used) => format!("{text}, distributions {}", number(used)),
                None => text,
            })
        }
    }
}

/// The controls of streamlines along distributions.
pub fn controls(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    let place = section::head(ui, "Controls");
    let params = state.document.odf_params();
    let defaults = state.document.odf_defaults(params.method);
    let chosen = &state.document.track.odf.params;
    let first = state.document.odf_defaults(OdfMethod::Probabilistic);
    let is_default = chosen.as_ref().is_none_or(|params| *params == first);
    if curve_parameters::reset(ui, place, is_default) {
        let (params, phase) = (None, Phase::Done);
        actions.push(Action::Track(TrackAction::SetOdfParams { params, phase }));
    }
    let mut set = |params: Params, phase: Phase| {
        let params = Some(params);
        actions.push(Action::Track(TrackAction::SetOdfParams { params, phase }));
    };
    parameters::rows(ui, &params, &defaults, Rows::Only(&["method"]), &mut set);
    cpu_hint(ui, state);
    let kind = SeedingParts::from(params.seeding).kind;
    seeding(ui, &params, kind.key(), &mut set);
    parameters::rows(
        ui,
        &params,
        &defaults,
        Rows::Only(&["cutoff", "angle"]),
        &mut set,
    );
    panels::in_sight(ui);
    let length = ("Length", ["min-length", "max-length"]);
    parameters::limits(ui, &params, &defaults, length, TYPED_LENGTH_MM, &mut set);
    curve_parameters::rules(ui, state, &params, &defaults, &mut set);
    bootstrap(ui, state, &params, &defaults, &mut set);
    tissues(ui, state, memory, actions);
    let (open, clicked) = section::fold(ui, MORE, memory.is_open(MORE, false));
    if clicked {
        memory.toggle(MORE);
    }
    if open {
        let mut set = |params: Params, phase: Phase| {
            let params = Some(params);
            actions.push(Action::Track(TrackAction::SetOdfParams { params, phase }));
        };
        seeding(ui, &params, "kind", &mut set);
        parameters::rows(ui, &params, &defaults, Rows::Only(&["select"]), &mut set);
        curve_parameters::mask(ui, state);
        parameters::rows(ui, &params, &defaults, Rows::AllBut(PLACED), &mut set);
        let has_tissues = state.document.track.odf.tissues.is_some();
        let why = (!has_tissues && !params.at_interface).then_some("needs tissues");
        parameters::single(ui, &params, &defaults, INTERFACE, why, &mut set);
    }
    whole_brain::show(ui, state, memory, actions);
}

/// Says why the CPU computes although there is a graphics card.
pub fn cpu_hint(ui: &mut Ui, state: &State) {
    let field = state.document.distributions.field();
    let why = field.and_then(|field| curves::Params::cpu_reason(field.order()));
    if let Some(why) = why.filter(|_| state.runtime.is_on_card()) {
        rows::hint(ui, &format!("Computed on the CPU: {why}"));
    }
}

/// The number of repetitions of the deconvolution, and what they need.
fn bootstrap(
    ui: &mut Ui,
    state: &State,
    params: &Params,
    defaults: &Params,
    set: &mut parameters::OnChange<Params>,
) {
    let shown = Shown {
        unused: (!state.document.can_resample_fods()).then_some(NOT_RESAMPLED),
        ..Shown::default()
    };
    parameters::number(ui, params, defaults, "bootstrap", shown, set);
    if !state.document.can_resample_fods() {
        return;
    }
    let result = state.document.distributions.result.as_deref();
    let offered = parameters::switched_on("bootstrap", defaults);
    let time = bootstrap_time(result, (params.repetitions, offered), false);
    let unknown = params.repetitions.map(|_| DECONVOLVES.to_owned());
    if let Some(text) = time.or(unknown) {
        rows::hint(ui, &text);
    }
}

/// A sentence about the time of a bootstrap on the present machine, or, while it is off, of the one that is offered;
/// `None` if the time is not known.
pub(super) fn bootstrap_time(
    result: Option<&FodResult>,
    (requested, offered): (Option<usize>, Option<f64>),
    with_peaks: bool,
) -> Option<String> {
    let result = result.filter(|result| !result.key.is_read())?;
    let own = result.key.settings.params.repetitions;
    let ms = repetition_ms(result.wall_ms, own, with_peaks);
    let time = |repetitions: usize| duration_text(ms * repetitions as f64);
    if !(ms > 0.0) {
        return None;
    }
    Some(match requested {
        Some(repetitions) => format!("{DECONVOLVES}: about {} in all", time(repetitions)),
        None => {
            let offered = offered? as usize;
            let repetitions = counted(offered, "repetition");
            format!("{repetitions} would take about {}", time(offered))
        }
    })
}

/// A row of the seed points.
fn seeding(ui: &mut Ui, params: &Params, key: &str, set: &mut parameters::OnChange<Params>) {
    let (parts, defaults) = (SeedingParts::from(params.seeding), SeedingParts::defaults());
    let set: &mut parameters::OnChange<SeedingParts> = &mut |parts, phase| {
        let seeding = parts.into();
        set(
            Params {
                seeding,
                ..params.clone()
            },
            phase,
        );
    };
    if key == "kind" {
        return parameters::rows(ui, &parts, &defaults, Rows::Only(&[key]), set);
    }
    let shown = Shown {
        limits: curve_parameters::typed_seeds(parts.kind),
        unused: params.select.map(|_| "see Number to keep"),
        ..Shown::default()
    };
    parameters::number(ui, &parts, &defaults, key, shown, set);
}

/// The image of tissues for the anatomical rules.
fn tissues(ui: &mut Ui, state: &State, memory: &mut Memory, actions: &mut Vec<Action>) {
    enum Chosen {
        Layer(Option<LayerId>),
        File,
    }
    const NONE: &str = "none";
    let document = &state.document;
    let now = document.track.odf.tissues;
    let layer = document.tissues().map(|(layer, _)| layer);
    let shown = match (now, layer) {
        (None, _) => NONE,
        (Some(_), Some(layer)) => layer.name.as_str(),
        (Some(_), None) => "missing",
    };
    let help = "Anatomical rules: streamlines end in grey matter or at the brain stem; those that end in CSF or white \
                matter are rejected. Needs a five-tissue image (5ttgen) or a label map of FreeSurfer or SynthSeg";
    let chosen = select_row(ui, "Tissues", help, shown, |ui| {
        let mut chosen = None;
        if menu::Item::new(NONE).chosen(now.is_none()).show(ui) {
            chosen = Some(Chosen::Layer(None));
        }
        for layer in document.tissue_layers() {
            let item = menu::Item::new(&layer.name).chosen(now == Some(layer.id));
            if item.show(ui) {
                chosen = Some(Chosen::Layer(Some(layer.id)));
            }
        }
        if menu::Item::new("Open a file…").show(ui) {
            chosen = Some(Chosen::File);
        }
        chosen
    });
    match chosen {
        Some(Chosen::Layer(layer)) if layer != now => {
            actions.push(Action::Track(TrackAction::SetTissues(layer)));
        }
        Some(Chosen::File) => {
            let place = DialogPosition::Middle;
            memory
                .files
                .ask_for_path(ui.ctx(), PathPurpose::Open, place, "");
        }
        _ => {}
    }
    let image = document.tissues().map(|(_, image)| image);
    if let Some(text) = image.and_then(numbering_text) {
        rows::hint(ui, text);
    }
    if now.is_some() && layer.is_none() {
        rows::hint(
            ui,
            "The chosen tissues are no longer among the layers: choose others, or none",
        );
    }
}

/// Labels of the tissue image that denote no tissue, in a sentence.
pub fn unknown_labels(state: &State, live: &CurveResult) -> Option<String> {
    let inputs = &state.runtime.track.odf_inputs;
    unknown_labels_text(inputs.unknown_labels(live.key.tissues?.image))
}
