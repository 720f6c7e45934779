//! Filtering: requests for streamlines and scan, and their results.

mod apply_fit;
mod command_line;
mod sums;

use crate::data::text::counted;
use crate::solvers::commit::Params;
use crate::solvers::commit::solver::{Curve, Ended};
use crate::solvers::tensor_fit;
use crate::state::core::layer::{Content, LayerId};
use crate::state::core::notices::{Severity, Status, StatusSubject};
use crate::state::core::phase::Phase;
use crate::state::files::jobs::{SaveValues, SaveVolume, SaveWithValues};
use crate::state::filter::jobs::{
    CommitFit, EstimateFit, Excluded, FIT_WEIGHTS, FileLines, FitEstimate, FitWeights,
    SaveHistogram, Scheme, StartFrom,
};
pub use crate::state::filter::update::command_line::command_line;
use crate::state::filter::{
    ExcludedStreamlines, FilterFile, FilterRuntime, FitInputs, FitPurpose, GivenPeaks, Running,
    ScanTimings, ShownStreamlines, WEIGHT, WeightHistogram, WeightMap, WeightsKey,
};
use crate::state::runtime::TourStep;
use crate::state::streamlines::in_place::{all_streamlines_of, in_place};
use crate::state::streamlines::jobs::in_place::{SaveInPlace, StreamlineSubset};
use crate::state::streamlines::update::in_place::refuse_own_file;
use crate::state::streamlines::update::keep_marked;
use crate::state::{Document, Effect, State, Task, pathways};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub(in crate::state) use crate::state::edit::edit;

pub(in crate::state) const NONE_YET: &str = "There are no weights yet: run the fit first";

/// The layer whose weights are shown.
pub(in crate::state) fn layer_with_weights(state: &State) -> Option<LayerId> {
    let (layer, _) = state.document.filtered()?;
    state.document.weights_of_layer(layer).map(|_| layer.id)
}

pub(in crate::state) fn cut(state: &mut State, min_weight: f32, phase: Phase) {
    let Some(id) = layer_with_weights(state) else {
        return;
    };
    edit(state, "Cut of weights", phase == Phase::Live, |d| {
        d.filter.set_cut(id, min_weight);
        let shown = match d.shown_by_weight(id) {
            ShownStreamlines::Before => ShownStreamlines::After,
            shown => shown,
        };
        d.show_by_weight(id, shown);
    });
    if phase == Phase::Done {
        state.runtime.tour_step_done(TourStep::FitWeights);
    }
}

pub(in crate::state) fn show_group(state: &mut State, group: Option<String>) {
    let Some((layer, _)) = state.document.filtered() else {
        return;
    };
    let id = layer.id;
    edit(state, "Show a bundle", false, |d| d.show_group(id, group));
}

/// Shows one map over the images; `None`: only the images.
pub(in crate::state) fn show_map(state: &mut State, map: Option<&WeightMap>) {
    let Some((layer, _)) = state.document.filtered() else {
        return;
    };
    let filtered = layer.id;
    edit(state, "Show a map", false, |d| {
        let maps = d
            .layers
            .iter()
            .filter_map(|l| Some((l.id, d.weight_map_recipe(l.id)?)));
        let maps = maps.filter(|(_, m)| m.layer == filtered);
        let maps = maps.map(|(id, m)| (id, Some(&m.map) == map));
        let maps: Vec<(LayerId, bool)> = maps.collect();
        for (id, shown) in maps {
            d.edit_layer(id, |l| l.display.visible = shown);
        }
    });
}

/// Everything that the preparation of a fit depends on.
pub fn key(state: &State) -> Option<WeightsKey> {
    let document = &state.document;
    let (_, lines) = document.filtered()?;
    let (_, scan, _) = document.explained()?;
    if document.lacks_fod_peaks() {
        return None;
    }
    let params = document.filter_params();
    let timed = params.model.needs_timing();
    Some(WeightsKey {
        tractogram: lines.clone(),
        scan: scan.id(),
        mask: document.filter_mask().map(|(_, mask)| mask.id()),
        peaks: document.filter_peaks().map(|(_, values)| values),
        timing: if timed {
            document.filter.times.rows()
        } else {
            Vec::new()
        },
        params,
        tensors: tensor_fit::Params::defaults_for(
            document.explained().and_then(|(_, _, g)| g.map(|g| &**g)),
        ),
    })
}

/// An input without which weights cannot be fitted: the end of a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MissingFitInput {
    Streamlines,
    Scan,
    /// The scan has no voxels.
    Voxels,
    Mask,
    Peaks,
    /// The distributions whose peaks it takes.
    Distributions,
}

impl fmt::Display for MissingFitInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Streamlines => "its streamlines are missing",
            Self::Scan => "its scan is missing",
            Self::Voxels => "its scan is not an image",
            Self::Mask => "its mask is missing",
            Self::Peaks => "its peaks are missing",
            Self::Distributions => "its fibre orientation distributions are missing",
        })
    }
}

impl std::error::Error for MissingFitInput {}

/// A fit of the streamlines of a layer without initial weights.
pub fn request(
    document: &Document,
    streamlines: LayerId,
    from: &FitInputs,
) -> Result<FitWeights, MissingFitInput> {
    let layer = |id: LayerId| document.layer(id);
    let own = layer(streamlines).ok_or(MissingFitInput::Streamlines)?;
    let lines = all_streamlines_of(own).ok_or(MissingFitInput::Streamlines)?;
    let scan = layer(from.scan).ok_or(MissingFitInput::Scan)?;
    let gradients = match &scan.content {
        Content::Scan { gradients, .. } => gradients.clone(),
        _ => None,
    };
    let mask = match from.mask {
        None => None,
        Some(id) => match layer(id).map(|l| &l.content) {
            Some(Content::Mask(mask)) => Some(mask.clone()),
            _ => return Err(MissingFitInput::Mask),
        },
    };
    let peaks = match from.peaks {
        None => None,
        Some(GivenPeaks::Distributions(origin)) => {
            let known = document.fod_peaks().filter(|(known, _)| *known == origin);
            let (_, peaks) = known.ok_or(MissingFitInput::Distributions)?;
            Some(peaks.volume())
        }
        Some(GivenPeaks::Image(id)) => Some(
            layer(id)
                .and_then(|l| l.content.volume())
                .ok_or(MissingFitInput::Peaks)?
                .clone(),
        ),
    };
    Ok(FitWeights {
        tractogram: lines.clone(),
        from_file: in_place(own).map(|own| FileLines::new(&own.file)),
        scan: scan
            .content
            .volume()
            .ok_or(MissingFitInput::Voxels)?
            .clone(),
        gradients,
        timing: from.times.rows(),
        mask,
        peaks,
        tensors: from.tensors.clone(),
        params: from.params.clone(),
        prepared: None,
        start: StartFrom::Zero,
        excluded: Excluded::None,
        remaining: None,
        rmse_before: None,
        curve: Curve::default(),
    })
}

/// The file of a request with the survey of the last one: a survey reads all of the file.
fn share_survey(runtime: &mut FilterRuntime, fit: &mut FitWeights) {
    let Some(lines) = fit.from_file.take() else {
        return;
    };
    let lines = lines.with_survey_of(runtime.file.as_ref());
    runtime.file = Some(lines.clone());
    fit.from_file = Some(lines);
}

pub(in crate::state) fn fit_inputs(state: &State, key: &WeightsKey) -> Option<FitInputs> {
    let document = &state.document;
    Some(FitInputs {
        scan: document.explained()?.0.id,
        mask: document.filter_mask().map(|(layer, _)| layer.id),
        peaks: document.filter_peaks().map(|(input, _)| input),
        times: match key.timing.is_empty() {
            true => ScanTimings::Unknown,
            false => document.filter.times.clone(),
        },
        params: key.params.clone(),
        tensors: key.tensors.clone(),
    })
}

pub(in crate::state) fn run(
    state: &mut State,
    purpose: FitPurpose,
    without: Excluded,
    from_start: bool,
    effects: &mut Vec<Effect>,
) {
    if let Some(why) = state.cannot_filter() {
        return block(state, why);
    }
    if state.is_filtering() {
        return;
    }
    let id = state.document.filtered().map(|(layer, _)| layer.id);
    let (Some(layer), Some(key)) = (id, key(state)) else {
        return;
    };
    let Some(inputs) = fit_inputs(state, &key) else {
        return;
    };
    let mut request = match request(&state.document, layer, &inputs) {
        Ok(request) => request,
        Err(why) => return block(state, format!("{why:#}")),
    };
    share_survey(&mut state.runtime.filter, &mut request);
    request.excluded = without;
    let reused = state.holds_fit();
    let previous = state.runtime.filter.previous_fit.as_ref();
    let mut running = key.clone();
    if let Some(previous) = previous.filter(|_| reused) {
        request.prepared = Some(previous.prepared.clone());
        if !from_start {
            request.start = StartFrom::Fit(previous.x.clone());
        }
        let last = state.document.weights.get(&layer).filter(|_| !from_start);
        let penalties = |p: &Params| (p.lasso, p.group);
        let last = last.filter(|w| {
            let before = state.document.origins.weight_fit(w.fit);
            before.is_some_and(|fit| penalties(&fit.params) == penalties(&key.params))
        });
        // The run begins with the last value of the previous one.
        if let Some((_, before)) = last.and_then(|last| last.curve.split_last()) {
            request.curve = Curve::continuing(before);
        }
        if !previous.key.tractogram.same_lines(&key.tractogram) {
            let whole = previous.key.tractogram.clone();
            request.remaining = Some(std::mem::replace(&mut request.tractogram, whole));
            running.tractogram = previous.key.tractogram.clone();
        }
        if matches!(purpose, FitPurpose::Lesion(_)) {
            request.rmse_before = Some(previous.rmse.clone());
        }
    }
    if matches!(purpose, FitPurpose::Lesion(_)) && !reused {
        let sentence = "Run the fit first: a virtual lesion is compared with it";
        return state.runtime.notify(Severity::Information, sentence);
    }
    let runtime = &mut state.runtime.filter;
    if !reused {
        // Frees the memory for the next.
        runtime.previous_fit = None;
    }
    runtime.failed = None;
    runtime.running = Some(Running {
        layer,
        purpose,
        key: running,
        inputs,
        earlier_iterations: earlier_iterations(&request.curve),
        curve: request.curve.clone(),
    });
    state.runtime.notices.status.clear();
    state.runtime.forget_failures(FIT_WEIGHTS);
    effects.push(Effect::submit(request));
}

/// A fit cannot start. The row of a model that the scan does not determine says so itself, and how to force it: the
/// status line repeats it where that row is out of sight.
fn block(state: &mut State, why: String) {
    match state.document.undetermined_model() {
        Some(_) => state.runtime.notices.status = why.into(),
        None => state.runtime.notify_blocked(FIT_WEIGHTS, why),
    }
}

/// Number of values of a curve before its run.
fn earlier_iterations(curve: &Curve) -> usize {
    curve.values().len()
}

/// Refits the other streamlines without some.
pub(in crate::state) fn lesion(
    state: &mut State,
    what: ExcludedStreamlines,
    effects: &mut Vec<Effect>,
) {
    let Some((layer, lines)) = state.document.filtered() else {
        return;
    };
    let (id, n) = (layer.id, lines.len());
    let named = match &what {
        ExcludedStreamlines::Group(name) => lines.groups.get(name).map(|members| {
            let mut marks = vec![false; n];
            for member in members.iter() {
                marks[*member as usize] = true;
            }
            (name.clone(), Excluded::Marked(marks.into()))
        }),
        ExcludedStreamlines::Chosen => {
            state
                .manual_selection()
                .filter(|c| c.layer == id)
                .map(|chosen| {
                    let name = match chosen.count {
                        1 => "the chosen streamline".to_owned(),
                        many => counted(many, "chosen streamline"),
                    };
                    (name, Excluded::Marked(chosen.marks.0.clone()))
                })
        }
        ExcludedStreamlines::Region(region) => state.document.region(*region).map(|r| {
            (
                format!("what passes {}", r.name),
                Excluded::Region((**r).clone()),
            )
        }),
        ExcludedStreamlines::Pathway(chosen) => pathways::update::chosen_pathway(state, *chosen)
            .map(|(pathway, epsilon, name)| {
                (
                    format!("what passes {name}"),
                    Excluded::Along(pathway, epsilon),
                )
            }),
    };
    let Some((name, without)) = named else {
        let sentence = "There is nothing to leave out: choose streamlines, or place a region";
        return state.runtime.notify(Severity::Information, sentence);
    };
    run(state, FitPurpose::Lesion(name), without, false, effects);
}

/// Keeps the streamlines above the cut as a layer.
pub(in crate::state) fn keep(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(id) = layer_with_weights(state) else {
        return state.runtime.notify(Severity::Information, NONE_YET);
    };
    let marks = marks(state, id);
    keep_marked(state, id, &marks, effects);
}

/// Marks the streamlines of a layer above the cut.
fn marks(state: &State, id: LayerId) -> Vec<bool> {
    let min_weight = state.document.filter.min_weight(id);
    let layer = state.document.layer(id);
    let weights = layer.and_then(|l| state.document.weights_of_layer(l));
    let weights = weights.map(|(_, weights)| weights.iter().map(|w| *w >= min_weight));
    weights.map_or_else(Vec::new, Iterator::collect)
}

pub(in crate::state) fn save(
    state: &mut State,
    what: &FilterFile,
    path: PathBuf,
    effects: &mut Vec<Effect>,
) {
    let target = layer_with_weights(state).and_then(|id| state.document.layer(id).cloned());
    let Some(layer) = target else {
        return state.runtime.notify(Severity::Information, NONE_YET);
    };
    let Some(tractogram) = all_streamlines_of(&layer).cloned() else {
        return;
    };
    let file = in_place(&layer).map(|own| own.file.clone());
    if file.is_some_and(|file| refuse_own_file(state, &file, &path)) {
        return;
    }
    let command = command_line(state).map_or_else(String::new, |r| r.text());
    let only: Option<Arc<[bool]>> = match what {
        FilterFile::Kept => Some(marks(state, layer.id).into()),
        _ => None,
    };
    let pieces = in_place(&layer).map(|own| own.file.pieces().clone());
    let effect = match what {
        FilterFile::Weights => Effect::submit(SaveValues {
            tractogram,
            name: WEIGHT.to_owned(),
            path,
        }),
        FilterFile::Histogram => {
            let Some((weights, _)) = state.document.weights_of_layer(&layer) else {
                return;
            };
            let zero = tractogram.len().saturating_sub(weights.sorted.len());
            let histogram = WeightHistogram::new(&weights.sorted, zero);
            Effect::submit(SaveHistogram { histogram, path })
        }
        FilterFile::Kept | FilterFile::All if let Some(pieces) = pieces => {
            let subset = match only {
                Some(marks) => StreamlineSubset::Marked(pieces, marks),
                None => StreamlineSubset::All(pieces),
            };
            Effect::submit(SaveInPlace {
                subset,
                path,
                command,
            })
        }
        FilterFile::Kept | FilterFile::All => Effect::submit(SaveWithValues {
            tractogram: crate::state::streamlines::update::export::with_grid(state, tractogram),
            only,
            path,
            command,
            // The dialog has asked.
            replace: true,
        }),
        FilterFile::Map(map) => {
            let Some(map_layer) = state.document.weight_map(layer.id, map) else {
                return;
            };
            let Some(volume) = map_layer.content.volume().cloned() else {
                return;
            };
            Effect::submit(SaveVolume {
                source: None,
                volume,
                path,
                command,
            })
        }
    };
    effects.push(effect);
    state.runtime.tour_step_done(TourStep::Save);
}

/// Requests the estimate of a fit and the sums of bundles, and refits edited streamlines.
pub fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    // This is not a step: the visible streamlines follow the active task.
    if state.view.task != Task::Filter {
        return state.document.suspend_rules();
    }
    state.document.restore_suspended_rules();
    let current_key = key(state);
    if let Some(key) = state.runtime.filter.estimate.ask(current_key.clone()) {
        let streamlines = state.document.filtered().map(|(layer, _)| layer.id);
        let from = streamlines.zip(fit_inputs(state, &key));
        let fit = from.and_then(|(layer, from)| request(&state.document, layer, &from).ok());
        if let Some(mut fit) = fit {
            share_survey(&mut state.runtime.filter, &mut fit);
            effects.push(Effect::submit(EstimateFit { fit }));
        }
    }
    if let Some(key) = current_key.filter(|_| !state.is_filtering()) {
        refit(state, &key, effects);
    }
    sums::follow(state, effects);
}

/// Refits edited streamlines from the last weights.
fn refit(state: &mut State, key: &WeightsKey, effects: &mut Vec<Effect>) {
    let Some((layer, lines)) = state.document.filtered() else {
        return;
    };
    let id = layer.id;
    // A subset of the fitted ones, and the layer has no current weights.
    let old = state.document.weights_of_layer(layer);
    let old = old.is_some_and(|(weights, _)| weights.weighted != lines.id());
    let previous = state.runtime.filter.previous_fit.as_ref();
    let fewer = previous.is_some_and(|previous| {
        let some = !lines.is_empty() && lines.len() < previous.key.tractogram.len();
        previous.layer == id && previous.key.same_model(key) && some
    });
    if old && fewer && state.why_fit_failed().is_none() && !fitting(state) {
        run(state, FitPurpose::Refit, Excluded::None, false, effects);
    }
}

/// Whether tensors or distributions are being estimated that the next fit may need.
fn fitting(state: &State) -> bool {
    state.runtime.tensors.is_fitting() || state.awaits_fod_peaks()
}

pub fn estimated(state: &mut State, estimate: FitEstimate) {
    state.runtime.filter.estimate.finish(estimate);
    state.runtime.filter.refused = None;
}

/// A fit cannot run with these inputs, and why.
pub fn receive_refusal(state: &mut State, why: &str) {
    let runtime = &mut state.runtime.filter;
    let running = runtime.estimate.running();
    runtime.refused = running.map(|key| (key.clone(), why.to_owned()));
    runtime.estimate.fail();
}

pub fn scheme(state: &mut State, scheme: Scheme) {
    let message = format!("Timing of {}", counted(scheme.timing.len(), "volume"));
    let times = ScanTimings::Scheme {
        path: scheme.path,
        rows: scheme.timing,
    };
    edit(state, "Gradient timing", false, |d| d.filter.times = times);
    state.runtime.notices.status = message.into();
    for note in scheme.notes {
        state.runtime.notify(Severity::Warning, note);
    }
}

/// Receives weights, including those of a stopped fit.
pub fn done(state: &mut State, output: CommitFit) {
    let Some(running) = state.runtime.filter.running.take() else {
        return;
    };
    let iterations = running.earlier_iterations as u64 + u64::from(output.fit.iterations);
    let stopped = output.fit.ended == Ended::Cancelled;
    learn(state, &running, &output);
    let message = match running.purpose.clone() {
        FitPurpose::Weights | FitPurpose::Refit => apply_fit::weights(state, running, output),
        FitPurpose::Lesion(name) => apply_fit::lesion(state, &running, name, &output),
    };
    if let Some(message) = message {
        let message = match stopped {
            true => format!(
                "Stopped after {}: not converged, weights kept",
                counted(iterations as usize, "iteration")
            ),
            false => message,
        };
        let subject = StatusSubject::ResultOf(Task::Filter);
        state.runtime.notices.status = Status::about(subject, message);
    }
}

/// Measures the speed of this machine, for the next estimate.
fn learn(state: &mut State, running: &Running, output: &CommitFit) {
    /// Fewer iterations are not representative.
    const ENOUGH: u32 = 5;
    let runtime = &mut state.runtime.filter;
    let Some((key, needs)) = runtime.estimate.shown() else {
        return;
    };
    if *key == running.key && output.fit.iterations >= ENOUGH {
        let estimate_s = needs.time_estimate.iteration_s * f64::from(output.fit.iterations);
        runtime.pace = Some(output.fit_ms * 1e-3 / estimate_s.max(1e-9));
    }
}

/// A fit failed, and why.
pub fn failed(state: &mut State, why: &str) {
    let looked_at = state.document.filtered().map(|(layer, _)| layer.id);
    let runtime = &mut state.runtime.filter;
    let running = runtime.running.take().map(|running| running.layer);
    let layer = running.or(looked_at);
    runtime.failed = layer.map(|layer| (layer, why.to_owned()));
}

/// The user stopped a fit before there were weights.
pub fn stopped(state: &mut State) {
    state.runtime.filter.running = None;
    state.runtime.notices.status = "Stopped before the first weights".into();
}
