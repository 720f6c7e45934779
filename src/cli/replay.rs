//! `arcuate replay`: recomputes every result of a session without a window, and compares it.

mod names;
mod pathways;

use super::headless::Headless;
use super::options::{SessionOptions, make_folder};
use super::runner::{Failure, Runner};
use super::segment;
use crate::data::Tractogram;
use crate::data::text::counted;
use crate::io::session::{self, Match, RecomputedResult};
use crate::jobs::ValueNames;
use crate::solvers::commit::solver::Ended;
use crate::solvers::tractogram::selection::Edit;
use crate::state::core::text::count;
use crate::state::files::jobs::SaveTractogram;
use crate::state::origin::commands;
use crate::state::sessions::jobs::RecomputeCurves;
use crate::state::sessions::saved::{self, MissingItem};
use crate::state::sessions::{NotRestored, PartError, ReadSession};
use crate::state::streamlines::in_place::all_streamlines_of;
use crate::state::streamlines::streamlines_of;
use crate::state::track::recipe::CurveRecipe;
use crate::state::track::types::CurveParams;
use crate::state::update::weight_request;
use crate::state::{Action, Content, Document, Layer, LayerId, Method, State, Task, ViewAction};
use names::{DISTRIBUTIONS, PATHWAY, SURFACE, TENSORS, live_name, result_name, weights_key};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate replay tracts.arcuate
  arcuate replay tracts.arcuate --look-in /data/sub-01 --out again

Opens the files of the session (each is read and compared with its checksum), fits the tensors, and recomputes the
distributions, the streamlines or rays of its regions and all kept ones (those of snapshots with the parameters of the
snapshot), the pathway of its regions and all kept ones, maps of their sensitivity, kept shares of repetitions of
pathways and streamlines, the surface of Segment and segmented masks, density maps, and the weights of streamlines
(whose objective may change by at most a hundred times the tolerance of the fit). For each result, it reports whether it
has the same bytes as when the session was saved, lies within the tolerance between two backends, or differs. Within
tolerance means: the same number of streamlines within 5 %, and the same start, end and length within 0.5 mm for 95 % of
64 sampled streamlines; a difference below 0.1 % for 95 % of 64 sampled tensors, and below 0.01 % for 95 % of 64 sampled
costs or values of density maps; a map of sensitivity in which at most 1 % of the cost has moved to other voxels; and
shares of repetitions of which at most 1 % have moved. The same program gives the same bytes on the same backend with
the same vector instructions, except for results that depend on the order of updates: cost fields through tensors; on
graphics cards, all cost fields and the weights of streamlines; and the maps of sensitivity and shares that follow from
such fields.

A result without a checksum, such as a surface that was still moving when the session was saved, is not compared.

Results that need a missing file are not recomputed. Maps of a fit of tensors, distributions or weights are not compared
on their own. Exit code 0: every result was recomputed, and none differs.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    pub from: SessionOptions,
    /// Write the recomputed streamlines here, as TRX; the folder is created if missing
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// A recomputed result.
struct Replayed {
    name: String,
    result: String,
    /// `None`: the session does not record the original.
    outcome: Option<Match>,
    count: u64,
    sha256: Option<String>,
    expected_count: Option<u64>,
    noun: &'static str,
    curves: Option<(Tractogram, String)>,
}

impl Replayed {
    fn new(name: &str, result: &str, read: &ReadSession, recomputed: &RecomputedResult) -> Self {
        let expected = read.results.iter().find(|r| r.result == result);
        let (outcome, sum) = match expected {
            Some(expected) => {
                let (outcome, sum) = session::compare(expected, recomputed);
                (Some(outcome), sum)
            }
            None => (None, recomputed.sum(result)),
        };
        let noun = match recomputed {
            RecomputedResult::Curves(_) => "streamlines",
            RecomputedResult::Tensors(_) => "tensors",
            RecomputedResult::Values(_) => "costs",
        };
        Self {
            name: name.to_owned(),
            result: result.to_owned(),
            outcome,
            count: sum.count,
            sha256: Some(sum.sha256),
            expected_count: expected.map(|e| e.count),
            noun,
            curves: None,
        }
    }

    fn with_curves(self, tractogram: &Tractogram, command: String) -> Self {
        Self {
            curves: Some((tractogram.clone(), command)),
            ..self
        }
    }

    fn with_noun(self, noun: &'static str) -> Self {
        Self { noun, ..self }
    }

    fn with_ray_labels(self, rays: bool) -> Self {
        match rays {
            true => self.with_noun("rays"),
            false => self,
        }
    }

    fn outcome(&self) -> &'static str {
        self.outcome.map_or("no checksum", Match::label)
    }

    fn text(&self) -> String {
        let number = count(self.count);
        let counted = match self.expected_count {
            Some(expected) if expected != self.count => {
                format!("{number} {} (were {})", self.noun, count(expected))
            }
            _ => format!("{number} {}", self.noun),
        };
        let name = super::output::one_line(&self.name);
        format!("{name:28} {:18} {counted}\n", self.outcome())
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "result": self.result,
            "outcome": self.outcome.map_or("no_checksum", |outcome| outcome.key()),
            "count": self.count,
            "expected_count": self.expected_count,
            "sha256": self.sha256,
        })
    }
}

/// Recomputed results, or why there are none, each with the session's name for the result.
type Outcomes = Vec<(String, Result<Replayed, Failure>)>;

fn are_rays(curves: &CurveParams) -> bool {
    matches!(curves, CurveParams::Rays(..) | CurveParams::OdfRays(..))
}

/// Recomputes kept streamlines. `result_name` gives the session's name of a layer's result, and `label` the name that
/// is shown.
fn kept(
    window: &mut Headless,
    document: &Document,
    read: &ReadSession,
    result_name: &dyn Fn(u64) -> String,
    label: &dyn Fn(&str) -> String,
) -> Outcomes {
    // Edits are recorded in the session, not in the recipe of the streamlines.
    let steps = |id: u64| -> Result<Vec<Edit>, PartError> {
        let steps = document.edits(LayerId(id));
        if !steps.is_empty() {
            return Ok(steps.into_iter().cloned().collect());
        }
        let missing = document.missing_layer(LayerId(id));
        missing.map_or(Ok(Vec::new()), |m| m.edits())
    };
    let mut all: Vec<(u64, String, Result<Arc<CurveRecipe>, NotRestored>)> = Vec::new();
    for layer in &document.layers {
        let recipe = document.curve_recipe(layer.id).cloned().map(Ok);
        let missing = document.missing_origin(layer.id);
        let recipe = recipe.or_else(|| missing.map(|m| Err(m.reason.clone())));
        all.extend(recipe.map(|recipe| (layer.id.0, label(&layer.name), recipe)));
    }
    for missing in document.missing_layers() {
        let recipe = missing.curve_recipe(document);
        let recipe = recipe.map(|recipe| recipe.map_err(NotRestored::from));
        all.extend(recipe.map(|recipe| (missing.layer.id, label(&missing.layer.name), recipe)));
    }
    let mut replay = |id: u64, name: &str, recipe: Result<Arc<CurveRecipe>, NotRestored>| {
        let recipe =
            recipe.map_err(|why| Failure::new(format!("{name} cannot be recomputed: {why}")))?;
        let job = RecomputeCurves {
            edits: steps(id)?,
            ..RecomputeCurves::new(document, id, name, &recipe)?
        };
        let output = window.run(job)?;
        let tractogram = output.tractogram;
        let recomputed = RecomputedResult::Curves(&tractogram);
        let command = document
            .layer(LayerId(id))
            .map_or_else(
                || commands::curve_command(document, &recipe),
                |l| document.command_line(l),
            )
            .text();
        let replayed = Replayed::new(name, &result_name(id), read, &recomputed);
        let replayed = replayed.with_ray_labels(are_rays(&recipe.curves));
        Ok(replayed.with_curves(&tractogram, command))
    };
    let all = all.into_iter();
    all.map(|(id, name, recipe)| (result_name(id), replay(id, &name, recipe)))
        .collect()
}

/// Results kept only in snapshots, each with the parameters of its snapshot.
fn snapshots(window: &mut Headless, read: &ReadSession) -> Outcomes {
    let (now, snapshots) = (
        window.state.document.clone(),
        window.state.runtime.snapshots.all.clone(),
    );
    let mut all = Outcomes::new();
    for (number, snapshot) in (1..).zip(&snapshots) {
        let mut document = snapshot.document.clone();
        // With the same key, the fit need not be repeated.
        let fitted = now.tensors.as_ref().map(|t| &t.key);
        if document.tensors.is_none() && document.requested_fit().as_ref() == fitted {
            document.tensors.clone_from(&now.tensors);
        }
        let result_name = |id| saved::snapshot_result(number, id);
        // Others belong to the present layers, or to an earlier snapshot.
        let own = |id: u64| read.results.iter().any(|r| r.result == result_name(id));
        let others = document.layers.iter().map(|l| l.id);
        let others = others.filter(|id| !own(id.0) && document.curve_recipe(*id).is_some());
        let others: Vec<LayerId> = others.collect();
        document.layers.retain(|l| !others.contains(&l.id));
        let of_snapshot = |item: &MissingItem| item.layer().is_none_or(|id| own(id.0));
        document.session.unrestored.items.retain(of_snapshot);
        let text = snapshot.label();
        let label = |name: &str| format!("{name} of {text}");
        all.extend(kept(window, &document, read, &result_name, &label));
    }
    all
}

/// The segmented surface is run again to its former step once its task is shown.
fn surface(
    window: &mut Headless,
    read: &ReadSession,
) -> Option<(String, Result<Replayed, Failure>)> {
    // If its task was shown, this happened when the session was opened.
    let state = &window.state;
    if !state.document.segment.begins() && state.runtime.segment.live.is_none() {
        return None;
    }
    let looked_at = window.act(Action::View(ViewAction::SelectTask(Task::Segment)));
    let failed = looked_at.err().map(|f| f.sentence);
    let failed = failed.or_else(|| window.state.runtime.segment.failed.clone());
    let resting = window.state.resting_surface();
    let phi = resting.and_then(|(live, _)| live.phi.clone());
    let replayed = match (failed, phi) {
        (None, Some(phi)) => Ok(Replayed {
            noun: "values of φ",
            ..Replayed::new(
                SURFACE,
                saved::SURFACE,
                read,
                &RecomputedResult::Values(&phi.values),
            )
        }),
        (why, _) => {
            let why = why.unwrap_or_else(|| "it gave no result".to_owned());
            Err(Failure::new(format!(
                "{SURFACE} was not segmented again: {why}"
            )))
        }
    };
    Some((saved::SURFACE.to_owned(), replayed))
}

/// Masks from level sets: the session stores them in full.
fn segments(window: &mut Headless) -> Outcomes {
    let document = window.state.document.clone();
    let mut all = Vec::new();
    for layer in &document.layers {
        let segmented = document.segmentation_recipe(layer.id);
        let (Some(recipe), Content::Mask(then)) = (segmented, &layer.content) else {
            continue;
        };
        let recomputed = segment::repeat(&document, recipe)
            .map_err(|why| why.to_string())
            .and_then(|work| window.run(work).map_err(|failure| failure.sentence));
        let recomputed = recomputed
            .map(|recomputed| recomputed.mask)
            .map_err(|why| Failure::new(format!("{} was not segmented again: {why}", layer.name)));
        let stored_name = saved::result_name(layer.id.0);
        let replayed = recomputed.map(|now| {
            let (now, then) = (now.on_whole_grid(), then.on_whole_grid());
            let both = then.inside.iter().zip(now.inside.iter());
            let differ = both.filter(|(a, b)| (**a != 0) != (**b != 0)).count();
            // Two backends may put this many voxels on different sides of the boundary.
            let few = differ as f64 <= 1e-3 * then.count() as f64;
            Replayed {
                name: layer.name.clone(),
                result: saved::result_name(layer.id.0),
                outcome: Some(match differ {
                    0 => Match::SameBytes,
                    _ if few => Match::WithinTolerance,
                    _ => Match::Differs,
                }),
                count: now.count() as u64,
                sha256: None,
                expected_count: Some(then.count() as u64),
                noun: "voxels",
                curves: None,
            }
        });
        all.push((stored_name, replayed));
    }
    let missing = document.missing_layers().map(|m| &m.layer);
    for l in missing.filter(|l| l.weights.is_some()) {
        let why = "were not fitted again: the streamlines are missing";
        let stored_name = weights_key(l.id);
        let failure = Failure::new(format!("Weights of {} {why}", l.name));
        all.push((stored_name, Err(failure)));
    }
    all
}

/// Weights of streamlines: fitted again, they must explain the signal as well. Single weights may differ:
/// near-duplicates can share a weight in any proportion.
fn weights(window: &mut Headless) -> Outcomes {
    /// Number of further changes of the objective, each smaller than the one that ended the fit, by which two fits with
    /// the same stop may differ.
    const CHANGES: f64 = 100.0;
    let document = window.state.document.clone();
    let mut all = Vec::new();
    for layer in &document.layers {
        let Some((stored, then)) = document.weights_of_layer(layer) else {
            continue;
        };
        let weighted = all_streamlines_of(layer).map(Tractogram::id);
        // A fit that the user stopped, or whose streamlines were edited since, cannot be repeated.
        let stopped = stored.figures.ended == Ended::Cancelled;
        let is_repeatable = weighted == Some(stored.weighted) && !stopped;
        let Some(inputs) = document.fit_inputs(stored).filter(|_| is_repeatable) else {
            continue;
        };
        let name = format!("Weights of {}", layer.name);
        let request = weight_request(&document, layer.id, &inputs);
        let request =
            request.map_err(|why| Failure::new(format!("{name} were not fitted again: {why}")));
        let refit = request.and_then(|job| window.run(job));
        let stored_name = weights_key(layer.id.0);
        let replayed = refit.map(|output| {
            let before = stored.figures.objective;
            let away = (output.fit.objective - before).abs() / before.max(f64::MIN_POSITIVE);
            let tolerance = CHANGES * inputs.params.stop.objective;
            Replayed {
                name,
                result: stored_name.clone(),
                outcome: Some(match output.weights[..] == then[..] {
                    true => Match::SameBytes,
                    false if away <= tolerance => Match::WithinTolerance,
                    false => Match::Differs,
                }),
                count: output.weights.len() as u64,
                sha256: None,
                expected_count: Some(then.len() as u64),
                noun: "weights",
                curves: None,
            }
        });
        all.push((stored_name, replayed));
    }
    all
}

/// Streamlines of files, some of which were kept: opening the session has repeated that.
fn edited(document: &Document, read: &ReadSession) -> Vec<Replayed> {
    let layers = document.layers.iter();
    let edited = layers.filter(|l| document.is_edited(l.id));
    let of_files = edited.filter(|l| document.curve_recipe(l.id).is_none());
    let replay = |layer: &Arc<Layer>| {
        let tractogram = streamlines_of(layer)?;
        let name = saved::result_name(layer.id.0);
        let replayed = Replayed::new(
            &layer.name,
            &name,
            read,
            &RecomputedResult::Curves(tractogram),
        );
        Some(replayed.with_curves(tractogram, document.command_line(layer).text()))
    };
    of_files.filter_map(replay).collect()
}

/// Density maps: opening the session has recomputed them.
fn maps(document: &Document, read: &ReadSession) -> Vec<Replayed> {
    let layers = document.layers.iter();
    let of_maps = layers.filter(|l| document.density_map(l.id).is_some());
    let replay = |layer: &Arc<Layer>| {
        let Content::Image(map) = &layer.content else {
            return None;
        };
        let stored_name = saved::result_name(layer.id.0);
        let recomputed = RecomputedResult::Values(&map.values);
        Some(Replayed {
            noun: "values",
            ..Replayed::new(&layer.name, &stored_name, read, &recomputed)
        })
    };
    of_maps.filter_map(replay).collect()
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    if let Some(folder) = &options.out {
        crate::io::atomic::check_folder(folder).map_err(|e| Failure::new(e.to_string()))?;
    }
    let mut window = Headless::new(runner);
    window.open_session(&options.from.session, &options.from.look.look_in, true)?;
    let read = window.state.runtime.sessions.opened.clone();
    let read = read.ok_or_else(|| Failure::new("The session was not opened"))?;
    for message in &window.state.runtime.notices.messages {
        super::output::report_message(message.severity, &message.text);
    }
    // Files accepted as replacements, then or now.
    let replaced = window.state.document.file_changes();
    let stated = |s: &&String| {
        window
            .state
            .runtime
            .notices
            .messages
            .iter()
            .any(|m| m.text == **s)
    };
    for sentence in replaced.iter().filter(|s| !stated(s)) {
        warning!("{sentence}");
    }
    let results = results(&mut window, &read);
    if let Some(folder) = &options.out {
        write(folder, &results, runner)?;
    }
    let here = runner.backend.label();
    let mut text = String::new();
    let mut list = Vec::new();
    let mut bad = 0;
    for result in &results {
        match result {
            Ok(result) => {
                text += &result.text();
                list.push(result.json());
                bad += usize::from(result.outcome == Some(Match::Differs));
            }
            Err(failure) => {
                super::output::error(&failure.sentence);
                list.push(json!({ "outcome": "not_recomputed", "why": failure.sentence }));
                bad += 1;
            }
        }
    }
    let is_not_compared = |result: &&Result<Replayed, Failure>| {
        (result.as_ref()).is_ok_and(|result| result.outcome.is_none())
    };
    let not_compared = results.iter().filter(is_not_compared).count();
    if not_compared > 0 {
        let recomputed = match not_compared {
            1 => "it was recomputed",
            _ => "they were recomputed",
        };
        warning!(
            "Found no checksum for {}, expected one for each: {recomputed} but not compared; open the session, wait until \
             its results are final, and save it again",
            counted(not_compared, "result")
        );
    }
    let then = &read.computed_on;
    text += &format!(
        "Saved by {} on {then}, recomputed on {here}\n",
        read.program
    );
    let value = json!({
        "command": "replay",
        "session": read.path,
        "results": list,
        "replaced_files": replaced,
        "saved_by": read.program,
        "saved_on": then,
        "recomputed_on": here,
    });
    runner.report(&value, &text);
    match (bad, results.len()) {
        (_, 0) => Err(Failure::new(format!(
            "The session holds no result to recompute: {}",
            read.path.display()
        ))),
        (0, _) => Ok(()),
        (bad, all) => Err(Failure::new(format!(
            "{bad} of {all} results differ or could not be recomputed; the lines above give the reasons: {}",
            read.path.display()
        ))),
    }
}

/// All results, in the order of the session.
fn results(window: &mut Headless, read: &ReadSession) -> Vec<Result<Replayed, Failure>> {
    let mut results = Outcomes::new();
    let mut add = |name: &str, result: Replayed| results.push((name.to_owned(), Ok(result)));
    if let Some(tensors) = &window.state.document.tensors {
        let recomputed = RecomputedResult::Tensors(&tensors.field);
        let replayed = Replayed::new(TENSORS, saved::TENSORS, read, &recomputed);
        add(saved::TENSORS, replayed);
    }
    if let Some(distributions) = &window.state.document.distributions.result {
        let recomputed = RecomputedResult::Values(&distributions.fods.output.field.coefficients);
        let replayed = Replayed::new(DISTRIBUTIONS, saved::DISTRIBUTIONS, read, &recomputed);
        add(saved::DISTRIBUTIONS, replayed.with_noun("coefficients"));
    }
    if let Some(live) = window.state.final_live() {
        let recomputed = RecomputedResult::Curves(&live.output.kept);
        let rays = are_rays(&live.key.curves);
        let command_line = window.state.document.live_command_line(live);
        let replayed =
            Replayed::new(live_name(rays), saved::LIVE, read, &recomputed).with_ray_labels(rays);
        let replayed = replayed.with_curves(&live.output.kept, command_line.text());
        add(saved::LIVE, replayed);
    }
    if let Some(live) = pathways::live(window, read) {
        add(saved::PATHWAY, live);
    }
    let document = window.state.document.clone();
    let plainly = |name: &str| name.to_owned();
    results.extend(kept(window, &document, read, &saved::result_name, &plainly));
    results.extend(pathways::kept(window, read));
    results.extend(pathways::sensitivities(window, read));
    results.extend(pathways::shares(window, read));
    results.extend(pathways::streamline_shares(window, read));
    results.extend(segments(window));
    results.extend(surface(window, read));
    if !results.iter().any(|(name, _)| name == saved::PATHWAY) {
        results.extend(pathways::around_surface(window, read));
    }
    results.extend(weights(window));
    let opened = edited(&document, read).into_iter();
    let opened = opened.chain(maps(&document, read));
    results.extend(opened.map(|r| (r.result.clone(), Ok(r))));
    results.extend(snapshots(window, read));
    // Results of the session that were not recomputed.
    let is_replayed = |name: &str| results.iter().any(|(result_name, _)| result_name == name);
    let not_replayed = read.results.iter();
    let not_replayed = not_replayed.filter(|sum| !is_replayed(&sum.result));
    let live_error = window.state.runtime.track.live.failure();
    let live_error = live_error.map(str::to_owned);
    let not_replayed: Vec<Failure> = not_replayed
        .map(|sum| {
            let own = live_error.clone().filter(|_| sum.result == saved::LIVE);
            let why = own.or_else(|| saved::unopened(&document));
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            let name = result_name(&window.state, &sum.result);
            Failure::new(format!("{name} could not be recomputed{why}"))
        })
        .collect();
    let results = results.into_iter().map(|(_, result)| result);
    results.chain(not_replayed.into_iter().map(Err)).collect()
}

fn write(
    folder: &std::path::Path,
    results: &[Result<Replayed, Failure>],
    runner: &mut Runner,
) -> Result<(), Failure> {
    let _folder = make_folder(folder)?;
    let mut written: Vec<PathBuf> = Vec::new();
    for result in results.iter().flatten() {
        let Some((tractogram, command)) = &result.curves else {
            continue;
        };
        let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
        let name: String = result.name.to_lowercase().chars().map(plain).collect();
        // Layers may have the same name.
        let numbers = (1..).map(|n: usize| match n {
            1 => format!("{name}.trx"),
            n => format!("{name} {n}.trx"),
        });
        let mut free = numbers
            .map(|n| folder.join(n))
            .filter(|p| !written.contains(p));
        let Some(path) = free.next() else { continue };
        written.push(path.clone());
        runner.may_write(&path)?;
        runner.run(SaveTractogram {
            tractogram: tractogram.clone(),
            path,
            command: command.clone(),
            values: ValueNames::default(),
        })?;
    }
    Ok(())
}
