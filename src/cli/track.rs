//! `arcuate track`: streamlines between regions.

use super::options::{FitOptions, FittedScan, GivenParameters, RegionOptions, RowSelection};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::data::text::counted;
use crate::data::{Gradients, Region, Role};
use crate::io::{Content, Format};
use crate::jobs::ValueNames;
use crate::solvers::curves::{self, Integrator, SeedOutcome, StopReason};
use crate::solvers::geodesic;
use crate::state::core::text::{self, count};
use crate::state::files::jobs::SaveTractogram;
use crate::state::tensors::types::{BootstrapInput, ResidualCache};
use crate::state::track::empty;
use crate::state::track::jobs::streamlines::TrackStreamlines;
use crate::state::{CommandLine, command_line};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate track dwi.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck
  arcuate track dwi.nii.gz --seeds per-voxel:1 --fa 0.2 --out whole.tck
  arcuate track dwi.nii.gz --seed mask:m1.nii.gz --bootstrap 100 --seeds random:50 --out prob.trx
  arcuate track phantom:1 --seed mask:seed.nii.gz --exclude box:0,0,0,2,80,80 --out left.tck

Without --seed, seeds are spread over the whole mask. In the window, “Copy as command” copies such a line.";

#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\nDefaults:{}", command_line::track_defaults()))]
pub struct Options {
    #[command(flatten)]
    pub curves: CurveOptions<AllCurveRows>,
    #[command(flatten)]
    pub lines: GivenParameters<curves::Params, StreamlineRows>,
}

/// Rows that apply only to streamlines.
const LINES: [&str; 2] = ["deflect", "bootstrap"];

/// The rows that apply to rays, too, with the defaults of streamlines.
#[derive(Clone, Copy, Debug)]
pub struct AllCurveRows;

impl RowSelection<curves::Params> for AllCurveRows {
    fn defaults() -> curves::Params {
        curves::Params::defaults()
    }

    fn has(key: &str) -> bool {
        !LINES.contains(&key)
    }
}

/// The rows that apply only to streamlines.
#[derive(Clone, Copy, Debug)]
pub struct StreamlineRows;

impl RowSelection<curves::Params> for StreamlineRows {
    fn defaults() -> curves::Params {
        curves::Params::defaults()
    }

    fn has(key: &str) -> bool {
        LINES.contains(&key)
    }
}

/// The rows of all curves, with the defaults of rays.
#[derive(Clone, Copy, Debug)]
pub struct RayRows;

impl RowSelection<curves::Params> for RayRows {
    fn defaults() -> curves::Params {
        geodesic::Params::defaults().curves
    }

    fn has(key: &str) -> bool {
        AllCurveRows::has(key)
    }
}

/// A scan, regions, how curves run between them, and where they are written.
#[derive(clap::Args, Debug)]
pub struct CurveOptions<T: RowSelection<curves::Params>> {
    #[command(flatten)]
    pub fit: FitOptions,
    #[command(flatten)]
    pub regions: RegionOptions,
    #[command(flatten)]
    pub track: GivenParameters<curves::Params, T>,
    /// Streamline file; its extension sets the format: .tck, .trk, .trx, .vtk, .vtp
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

impl<T: RowSelection<curves::Params>> CurveOptions<T> {
    /// Refuses files that cannot be written, before the work. `rays`: includes their measures.
    pub fn check_out(&self, rays: bool, runner: &Runner) -> Result<(), Failure> {
        must_be_streamlines(&self.out)?;
        runner.may_make(&self.out)?;
        let adjacent = ValueNames::expected_columns(rays).companion_files(&self.out);
        adjacent.iter().try_for_each(|b| runner.may_write(&b.path))
    }

    /// Writes the curves and, next to a TCK, all their values. Returns the files.
    pub fn save(
        &self,
        tracked: &TrackingResult,
        runner: &mut Runner,
    ) -> Result<Vec<PathBuf>, Failure> {
        let kept = &tracked.output.kept;
        let values = ValueNames::from_tractogram(kept);
        for refusal in values.refusals(kept, &self.out) {
            warning!("{refusal}");
        }
        let adjacent = values.companion_files(&self.out).into_iter();
        let adjacent = adjacent.filter(|b| b.holds(kept)).map(|b| b.path);
        let files = std::iter::once(self.out.clone()).chain(adjacent).collect();
        runner.run(SaveTractogram {
            tractogram: kept.clone(),
            path: self.out.clone(),
            command: tracked.command_line.text_to(&self.out),
            values,
        })?;
        Ok(files)
    }
}

/// A finished tracking with the command line that repeats it.
pub struct TrackingResult {
    pub output: Arc<curves::Output>,
    pub regions: Vec<Region>,
    pub command_line: CommandLine,
    pub wall_ms: f64,
}

impl Options {
    pub fn params(&self) -> Result<curves::Params, Failure> {
        let mut params = self.curves.track.params()?;
        let deflects = self.lines.has("deflect");
        if deflects && !self.curves.track.has("integrator") {
            params.integrator = Integrator::Euler;
        }
        self.lines.or_defaults(params)
    }

    /// The command line that these options denote; defaults of the fit depend on the gradients.
    pub fn command_line(&self, gradients: Option<&Gradients>) -> Result<CommandLine, Failure> {
        Ok(CommandLine::Track {
            fit: self.curves.fit.arguments(gradients)?,
            regions: self.curves.regions.specs(),
            params: self.params()?,
        })
    }
}

/// Tracks in a fitted scan.
pub fn track(
    fitted: &FittedScan,
    options: &Options,
    runner: &mut Runner,
) -> Result<TrackingResult, Failure> {
    let params = options.params()?;
    if !runner.backend.devices().is_empty()
        && (params.deflection.is_some() || params.repetitions.is_some())
    {
        note!("Deflection and bootstraps are computed on the CPU");
    }
    let resample = match (params.repetitions, &fitted.scan.gradients) {
        (None, _) => None,
        (Some(_), None) => {
            return Err(Failure::usage(
                "A bootstrap needs the residuals of a fit: name the scan itself instead of its tensors",
            ));
        }
        (Some(_), Some(gradients)) => Some(Box::new(BootstrapInput {
            dwi: fitted.scan.dwi.clone(),
            gradients: gradients.clone(),
            mask: fitted.mask.clone(),
            params: fitted.arguments.params.clone(),
            residuals: ResidualCache::default(),
        })),
    };
    let command_line = options.command_line(fitted.scan.gradients.as_deref())?;
    let regions = options.curves.regions.regions()?;
    let track = TrackStreamlines {
        field: fitted.fit.field.clone(),
        fa: fitted.maps.fa.clone(),
        regions: regions.clone(),
        params,
        resample,
        coarse: false,
    };
    let (output, wall_ms) = runner.run(track)?;
    Ok(TrackingResult {
        output,
        regions,
        command_line,
        wall_ms,
    })
}

/// The sentence with a lower-case first letter.
fn within_sentence(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_lowercase() + rest
}

/// Counts as JSON, and as text with this name for the curves.
pub fn summary(tracked: &TrackingResult, curves: &str) -> (Value, String) {
    let counted = CountedCurves {
        output: &tracked.output,
        regions: &tracked.regions,
        wall_ms: tracked.wall_ms,
        command: "track",
        in_distributions: false,
    };
    counted.summary(curves)
}

/// Curves whose outcomes are reported.
pub struct CountedCurves<'a> {
    pub output: &'a curves::Output,
    pub regions: &'a [Region],
    pub wall_ms: f64,
    /// The command, as a member of the JSON.
    pub command: &'static str,
    /// Whether the reasons of distributions and tissues apply.
    pub in_distributions: bool,
}

impl CountedCurves<'_> {
    /// Counts as JSON, and as text with this name for the curves.
    pub fn summary(&self, curves: &str) -> (Value, String) {
        let output = self.output;
        let seeds: u64 = output.seed_outcomes.iter().sum();
        let targets: Vec<_> = self
            .regions
            .iter()
            .filter(|r| r.role == Role::Target)
            .collect();
        let per_target: Vec<Value> = targets
            .iter()
            .zip(&output.per_target)
            .map(|(region, n)| json!({"name": region.name, "streamlines": n}))
            .collect();
        let with_outcome = |outcome: SeedOutcome| output.seed_outcomes[outcome as usize];
        let stopped_by = |reason: StopReason| output.stops[reason as usize];
        let outcome_counts: serde_json::Map<String, Value> = SeedOutcome::ALL
            .iter()
            .filter(|outcome| self.in_distributions || !outcome.is_of_tissues())
            .map(|outcome| (outcome.key().to_owned(), json!(with_outcome(*outcome))))
            .collect();
        let stop_counts: serde_json::Map<String, Value> = StopReason::ALL
            .iter()
            .filter(|reason| self.in_distributions || !reason.is_of_distributions())
            .map(|reason| (reason.key().to_owned(), json!(stopped_by(*reason))))
            .collect();
        let codes = output.kept.codes.iter();
        let codes: BTreeMap<&String, &[String]> =
            codes.map(|(name, codes)| (name, &**codes)).collect();
        let value = json!({
            "command": self.command,
            "seeds": seeds,
            "kept": output.kept.len(),
            "points": output.kept.points.len(),
            "outcomes": outcome_counts,
            "stops": stop_counts,
            "targets": per_target,
            "codes": codes,
            "steps": output.steps,
            "track_ms": self.wall_ms,
        });
        let mut text = format!(
            "Kept {} of {} in {}\n",
            count(output.kept.len() as u64),
            counted(seeds as usize, curves.trim_end_matches('s')),
            text::duration_text(self.wall_ms)
        );
        let numbered =
            |label: &str, number: u64| format!("{} {}", within_sentence(label), count(number));
        let dropped: Vec<String> = SeedOutcome::ALL
            .into_iter()
            .filter(|outcome| *outcome != SeedOutcome::Kept && with_outcome(*outcome) > 0)
            .map(|outcome| numbered(outcome.label(), with_outcome(outcome)))
            .collect();
        if !dropped.is_empty() {
            text += &format!("Discarded: {}\n", dropped.join(", "));
        }
        // If only one half was requested, the other end is the seed: nothing stopped there.
        let ends: Vec<String> = StopReason::ALL
            .into_iter()
            .filter(|reason| *reason != StopReason::Seed && stopped_by(*reason) > 0)
            .map(|reason| numbered(reason.label(), stopped_by(reason)))
            .collect();
        if !ends.is_empty() {
            text += &format!("Ends: {}\n", ends.join(", "));
        }
        for (region, n) in targets.iter().zip(&output.per_target) {
            let one = if *n == 1 {
                curves.trim_end_matches('s')
            } else {
                curves
            };
            text += &format!("{}: reached by {} {one}\n", region.name, count(*n));
        }
        (value, text)
    }
}

/// One sentence about an empty result: the most frequent outcome, and regions that cannot be reached.
fn nothing_kept(
    fitted: &FittedScan,
    tracked: &TrackingResult,
    params: &curves::Params,
) -> Option<String> {
    let mask = fitted.mask_name();
    let (why, _) = empty::none_kept(&tracked.output, params, &mask)?;
    Some(why + &out_of_reach(fitted, &tracked.regions))
}

/// Regions that no curve can reach, as the end of a sentence: `; Target lies outside the automatic mask`.
pub fn out_of_reach(fitted: &FittedScan, regions: &[Region]) -> String {
    let mask = fitted.mask_name();
    let grid = &fitted.fit.field.grid;
    let tensors = fitted.fit.field.mask();
    let regions = || regions.iter();
    let mut why = String::new();
    let beyond = regions().filter(|r| !r.shape.intersects_grid(grid));
    // One seed region has already been blamed.
    let several = regions().filter(|r| r.role == Role::Seed).count() > 1;
    let unfitted = regions()
        .filter(|r| several || r.role != Role::Seed)
        .filter(|r| r.shape.intersects_grid(grid) && !r.shape.touches(&tensors));
    for (these, place) in [
        (beyond.collect::<Vec<_>>(), "the volume"),
        (unfitted.collect(), &*mask),
    ] {
        let names: Vec<&str> = these.iter().map(|r| r.name.as_str()).collect();
        why += &match names.as_slice() {
            [] => String::new(),
            [one] => format!("; {one} lies outside {place}"),
            more => format!("; {} lie outside {place}", more.join(" and ")),
        };
    }
    why
}

/// Refuses file names that do not denote a streamline format.
pub fn must_be_streamlines(out: &Path) -> Result<(), Failure> {
    match Format::named(out) {
        Some(format) if format.content() == Content::Streamlines && format.saves() => Ok(()),
        _ => Err(Failure::usage(format!(
            "Streamlines cannot be written under this name, expected one that ends in {}: {}",
            Format::streamline_endings(),
            out.display()
        ))),
    }
}

/// The meaning of the numbers in a file whose format cannot store it.
pub fn key(tracked: &TrackingResult, out: &Path) -> String {
    match Format::named(out) {
        Some(Format::Trk | Format::Vtk) => {
            let lines = tracked.output.kept.key();
            lines.iter().map(|line| format!("{line}\n")).collect()
        }
        _ => String::new(),
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let curves = &options.curves;
    curves.check_out(false, runner)?;
    let params = options.params()?;
    let reached = params.check_reach();
    reached.map_err(|e| Failure::usage(e.to_string()))?;
    let fitted = curves.fit.run(runner)?;
    let tracked = track(&fitted, options, runner)?;
    let files = curves.save(&tracked, runner)?;
    let (mut value, mut text) = summary(&tracked, "streamlines");
    value["file"] = json!(curves.out);
    value["files"] = json!(files);
    value["repeat"] = json!(tracked.command_line.text_to(&curves.out));
    for file in files {
        text += &format!("{}\n", shown(&file));
    }
    text += &key(&tracked, &curves.out);
    if let Some(why) = nothing_kept(&fitted, &tracked, &params) {
        warning!("{why}");
    }
    runner.report(&value, &text);
    Ok(())
}
