//! `arcuate track`: streamlines between regions.

use super::options::{ChanceOptions, FitOptions, Fitted, RegionOptions, positive, whole};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::data::words::{counted, number};
use crate::data::{Gradients, Region, Role};
use crate::io::{Content, Format};
use crate::jobs::{Kept, Output, Request, Resample, Values};
use crate::solvers::curves::{
    self, Deflection, Fate, Integrator, Interpolation, Match, Seeding, StopReason,
};
use crate::state::core::words::{self, count};
use crate::state::files::jobs::SaveTractogram;
use crate::state::{Recipe, recipe};
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

Without --seed, seeds are spread over the whole mask. The window's \"Copy as command\" prints such a line.";

#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\nDefaults:{}", recipe::track_defaults()))]
pub struct Options {
    #[command(flatten)]
    pub curves: CurveOptions,
    #[command(flatten)]
    pub lines: LineOptions,
}

/// Options for streamlines alone.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct LineOptions {
    /// Tensor deflection (TEND) instead of the principal direction: its share f, and of the rest the
    /// share g of what the tensor makes of the last direction; each from 0 to 1. Takes Euler's steps
    #[arg(long, value_name = "F,G", allow_hyphen_values = true, value_parser = deflection)]
    pub deflect: Option<Deflection>,
    /// Probabilistic: track so often, each time in tensors of a wild bootstrap of the fit's residuals
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = at_least_one)]
    pub bootstrap: Option<usize>,
}

/// A scan, regions, how curves run between them, and where they are written.
#[derive(clap::Args, Debug)]
pub struct CurveOptions {
    #[command(flatten)]
    pub fit: FitOptions,
    #[command(flatten)]
    pub regions: RegionOptions,
    #[command(flatten)]
    pub track: TrackOptions,
    /// Streamline file; its ending says the format: .tck, .trk, .trx, .vtk, .vtp
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

impl CurveOptions {
    /// Refuses files that cannot be written, before the work. `rays`: with their measures.
    pub fn check_out(&self, rays: bool, runner: &Runner) -> Result<(), Failure> {
        must_be_streamlines(&self.out)?;
        runner.may_make(&self.out)?;
        let beside = Values::to_come(rays).beside(&self.out);
        beside.iter().try_for_each(|b| runner.may_write(&b.path))
    }

    /// Writes the curves and, beside a TCK, all their values. Returns the files.
    pub fn save(&self, tracked: &Tracked, runner: &mut Runner) -> Result<Vec<PathBuf>, Failure> {
        let kept = &tracked.output.kept;
        let values = Values::of(kept);
        for refusal in values.refusals(kept, &self.out) {
            warning!("{refusal}");
        }
        let beside = values.beside(&self.out).into_iter();
        let beside = beside.filter(|b| b.holds(kept)).map(|b| b.path);
        let files = std::iter::once(self.out.clone()).chain(beside).collect();
        runner.run(SaveTractogram {
            tractogram: kept.clone(),
            path: self.out.clone(),
            command: tracked.recipe.command_to(&self.out),
            values,
        })?;
        Ok(files)
    }
}

#[derive(clap::Args, Clone, Debug)]
pub struct TrackOptions {
    /// Seed points: random:N (in all), grid:MM or per-voxel:N
    #[arg(long, value_name = "HOW", allow_negative_numbers = true, value_parser = seeding)]
    pub seeds: Option<Seeding>,
    #[command(flatten)]
    pub chance: ChanceOptions,
    /// Step size, mm
    #[arg(long, value_name = "MM", allow_negative_numbers = true, value_parser = positive)]
    pub step: Option<f64>,
    /// Largest turn in one step, degrees, or off
    #[arg(long, value_name = "DEG|off", allow_negative_numbers = true, value_parser = angle)]
    pub angle: Option<Limit>,
    /// Stop below this FA, or off
    #[arg(long, value_name = "FA|off", allow_negative_numbers = true, value_parser = or_off)]
    pub fa: Option<Limit>,
    /// Shorter curves are dropped, mm
    #[arg(long, value_name = "MM", allow_negative_numbers = true, value_parser = length)]
    pub min_length: Option<f64>,
    /// Curves stop at this length, mm, or off; of rays both ways, each half does
    #[arg(long, value_name = "MM|off", allow_negative_numbers = true, value_parser = or_off)]
    pub max_length: Option<Limit>,
    /// Each half stops after N steps
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<usize>)]
    pub max_steps: Option<usize>,
    /// How steps are taken; rk2 is the midpoint rule
    #[arg(long, value_enum)]
    pub integrator: Option<IntegratorName>,
    /// Interpolation of tensors between voxels
    #[arg(long, value_enum)]
    pub interpolation: Option<InterpolationName>,
    /// One target is enough, or all have to be reached
    #[arg(long, value_enum)]
    pub targets: Option<MatchName>,
    /// One include region is enough, or all have to be passed
    #[arg(long, value_enum)]
    pub includes: Option<MatchName>,
    /// Follow one sense only from each seed (rays always do without --both-ways)
    #[arg(long)]
    pub one_way: bool,
}

/// A limit that can be switched off.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit(Option<f64>);

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum IntegratorName {
    Euler,
    Rk2,
    Rk4,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum MatchName {
    Any,
    All,
}

impl MatchName {
    fn rule(self) -> Match {
        match self {
            Self::Any => Match::Any,
            Self::All => Match::All,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum InterpolationName {
    Trilinear,
    Cubic,
}

fn or_off(text: &str) -> Result<Limit, String> {
    if text == "off" {
        return Ok(Limit(None));
    }
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|v| v.is_finite() && *v >= 0.0);
    number
        .map(|v| Limit(Some(v)))
        .ok_or_else(|| format!("expected a number from 0 or off, found \"{text}\""))
}

fn angle(text: &str) -> Result<Limit, String> {
    let limit = or_off(text)?;
    match limit.0 {
        Some(degrees) if !(degrees > 0.0 && degrees <= 180.0) => Err(format!(
            "expected more than 0 and at most 180 degrees or off, found {}",
            number(degrees)
        )),
        _ => Ok(limit),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| format!("expected a whole number from 1, found \"{text}\""))
}

fn deflection(text: &str) -> Result<Deflection, String> {
    let share = |n: &str| {
        let n = n.trim().parse::<f64>().ok();
        n.filter(|n| (0.0..=1.0).contains(n))
    };
    let parsed = text
        .split_once(',')
        .and_then(|(f, g)| Some((share(f)?, share(g)?)));
    let (f, g) = parsed.ok_or_else(|| {
        format!("expected F,G with each from 0 to 1, as in 0.3,0.7, found \"{text}\"")
    })?;
    Ok(Deflection { f, g })
}

fn length(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    let sound = number.filter(|v| v.is_finite() && *v >= 0.0);
    sound.ok_or_else(|| format!("expected a number from 0, found \"{text}\""))
}

fn seeding(text: &str) -> Result<Seeding, String> {
    let count = |n: &str| n.parse::<usize>().ok().filter(|&n| n > 0);
    let parsed = text.split_once(':').and_then(|(how, n)| match how {
        "random" => Some(Seeding::Random { count: count(n)? }),
        "per-voxel" => Some(Seeding::PerVoxel { count: count(n)? }),
        "grid" => Some(Seeding::Grid {
            spacing_mm: positive(n).ok()?,
        }),
        _ => None,
    });
    parsed.ok_or_else(|| {
        format!(
            "expected random:N, grid:MM or per-voxel:N with N a whole number and MM a length, each \
             above 0, found \"{text}\""
        )
    })
}

impl TrackOptions {
    pub fn params(&self) -> curves::Params {
        self.params_or(curves::Params::defaults())
    }

    /// `default` where nothing was said.
    pub fn params_or(&self, default: curves::Params) -> curves::Params {
        let limit = |given: Option<Limit>, default| given.map_or(default, |l| l.0);
        curves::Params {
            integrator: self.integrator.map_or(default.integrator, |i| match i {
                IntegratorName::Euler => Integrator::Euler,
                IntegratorName::Rk2 => Integrator::Rk2,
                IntegratorName::Rk4 => Integrator::Rk4,
            }),
            interpolation: self
                .interpolation
                .map_or(default.interpolation, |i| match i {
                    InterpolationName::Trilinear => Interpolation::Trilinear,
                    InterpolationName::Cubic => Interpolation::CubicBSpline,
                }),
            seeding: self.seeds.unwrap_or(default.seeding),
            random_seed: self.chance.random_seed.unwrap_or(default.random_seed),
            step_mm: self.step.unwrap_or(default.step_mm),
            max_angle_rad: match self.angle {
                Some(Limit(degrees)) => degrees.map(f64::to_radians),
                None => default.max_angle_rad,
            },
            min_fa: limit(self.fa, default.min_fa),
            min_length_mm: self.min_length.unwrap_or(default.min_length_mm),
            max_length_mm: limit(self.max_length, default.max_length_mm),
            max_steps: self.max_steps.unwrap_or(default.max_steps),
            targets: self.targets.map_or(default.targets, MatchName::rule),
            includes: self.includes.map_or(default.includes, MatchName::rule),
            both_ways: !self.one_way,
            deflection: default.deflection,
            repetitions: default.repetitions,
        }
    }
}

/// A finished tracking with the recipe that repeats it.
pub struct Tracked {
    pub output: Arc<curves::Output>,
    pub regions: Vec<Region>,
    pub recipe: Recipe,
    pub wall_ms: f64,
}

impl Options {
    pub fn params(&self) -> curves::Params {
        let mut params = self.curves.track.params();
        params.deflection = self.lines.deflect;
        params.repetitions = self.lines.bootstrap;
        if params.deflection.is_some() && self.curves.track.integrator.is_none() {
            params.integrator = Integrator::Euler;
        }
        params
    }

    /// The recipe that these options stand for; what the fit leaves open depends on the gradients.
    pub fn recipe(&self, gradients: Option<&Gradients>) -> Result<Recipe, Failure> {
        Ok(Recipe::Track {
            fit: self.curves.fit.recipe(gradients)?,
            regions: self.curves.regions.specs(),
            params: self.params(),
        })
    }
}

/// Tracks in a fitted scan.
pub fn track(fitted: &Fitted, options: &Options, runner: &mut Runner) -> Result<Tracked, Failure> {
    let params = options.params();
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
        (Some(_), Some(gradients)) => Some(Box::new(Resample {
            dwi: fitted.scan.dwi.clone(),
            gradients: gradients.clone(),
            mask: fitted.mask.clone(),
            params: fitted.recipe.params.clone(),
            kept: Kept::default(),
        })),
    };
    let recipe = options.recipe(fitted.scan.gradients.as_deref())?;
    let regions = options.curves.regions.regions()?;
    let request = Request::Track {
        field: fitted.fit.field.clone(),
        fa: fitted.maps.fa.clone(),
        regions: regions.clone(),
        params,
        resample,
        coarse: false,
        whole_brain: false,
    };
    match runner.run(request)? {
        (Output::Tracked { output, .. }, wall_ms) => Ok(Tracked {
            output,
            regions,
            recipe,
            wall_ms,
        }),
        _ => Err(Failure::new("Tracking gave no streamlines")),
    }
}

/// With a small first letter.
pub fn within_sentence(words: &str) -> String {
    let (first, rest) = words.split_at(1);
    first.to_lowercase() + rest
}

/// Counts as JSON, and as text about so called curves.
pub fn summary(tracked: &Tracked, curves: &str) -> (Value, String) {
    let output = &tracked.output;
    let seeds: u64 = output.fates.iter().sum();
    let fates = [
        ("kept", Fate::Kept),
        ("missed the targets", Fate::MissedTargets),
        ("missed an include region", Fate::MissedInclude),
        ("touched an exclude region", Fate::TouchedExclude),
        ("too short", Fate::TooShort),
        ("no start", Fate::NoStart),
    ];
    let stops = StopReason::ALL.map(|s| (within_sentence(s.words()), s));
    let targets: Vec<_> = tracked
        .regions
        .iter()
        .filter(|r| r.role == Role::Target)
        .collect();
    let per_target: Vec<Value> = targets
        .iter()
        .zip(&output.per_target)
        .map(|(region, n)| json!({"name": region.name, "streamlines": n}))
        .collect();
    let fate_counts: serde_json::Map<String, Value> = fates
        .iter()
        .map(|(name, f)| ((*name).to_owned(), json!(output.fates[*f as usize])))
        .collect();
    let stop_counts: serde_json::Map<String, Value> = stops
        .iter()
        .map(|(name, s)| (name.clone(), json!(output.stops[*s as usize])))
        .collect();
    let codes = output.kept.codes.iter();
    let codes: BTreeMap<&String, &[String]> = codes.map(|(name, words)| (name, &**words)).collect();
    let value = json!({
        "command": "track",
        "seeds": seeds,
        "kept": output.kept.len(),
        "points": output.kept.points.len(),
        "fates": fate_counts,
        "stops": stop_counts,
        "targets": per_target,
        "codes": codes,
        "steps": output.steps,
        "track_ms": tracked.wall_ms,
    });
    let mut text = format!(
        "Kept {} of {} in {}\n",
        count(output.kept.len() as u64),
        counted(seeds as usize, curves.trim_end_matches('s')),
        words::took(tracked.wall_ms)
    );
    let dropped: Vec<String> = fates[1..]
        .iter()
        .filter(|(_, f)| output.fates[*f as usize] > 0)
        .map(|(name, f)| format!("{name} {}", count(output.fates[*f as usize])))
        .collect();
    if !dropped.is_empty() {
        text += &format!("Dropped: {}\n", dropped.join(", "));
    }
    // Where only one half was asked for, the other end is the seed: nothing stopped there.
    let ends: Vec<String> = stops
        .iter()
        .filter(|(_, s)| *s != StopReason::Seed && output.stops[*s as usize] > 0)
        .map(|(name, s)| format!("{name} {}", count(output.stops[*s as usize])))
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

/// One sentence about an empty result: the most frequent fate, and regions out of reach.
fn nothing_kept(fitted: &Fitted, tracked: &Tracked, params: &curves::Params) -> Option<String> {
    let mask = fitted.mask_name();
    let (why, _) = words::none_kept(&tracked.output, params, &mask)?;
    Some(why + &out_of_reach(fitted, &tracked.regions))
}

/// Regions that no curve can reach, as the end of a sentence: `; Target lies outside the automatic mask`.
pub fn out_of_reach(fitted: &Fitted, regions: &[Region]) -> String {
    let mask = fitted.mask_name();
    let grid = &fitted.fit.field.grid;
    let tensors = fitted.fit.field.mask();
    let regions = || regions.iter();
    let mut why = String::new();
    let beyond = regions().filter(|r| !r.shape.meets(grid));
    // One seed region has been blamed already.
    let several = regions().filter(|r| r.role == Role::Seed).count() > 1;
    let unfitted = regions()
        .filter(|r| several || r.role != Role::Seed)
        .filter(|r| r.shape.meets(grid) && !r.shape.touches(&tensors));
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

/// Refuses names that streamlines cannot be written under.
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

/// The meaning of the numbers in a file, where its format has no place to say so.
pub fn key(tracked: &Tracked, out: &Path) -> String {
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
    let params = options.params();
    params.check().map_err(Failure::usage)?;
    params.check_reach().map_err(Failure::usage)?;
    let fitted = curves.fit.run(runner)?;
    let tracked = track(&fitted, options, runner)?;
    let files = curves.save(&tracked, runner)?;
    let (mut value, mut text) = summary(&tracked, "streamlines");
    value["file"] = json!(curves.out);
    value["files"] = json!(files);
    value["repeat"] = json!(tracked.recipe.command_to(&curves.out));
    for file in files {
        text += &format!("{}\n", shown(&file));
    }
    text += &key(&tracked, &curves.out);
    if let Some(why) = nothing_kept(&fitted, &tracked, &options.params()) {
        warning!("{why}");
    }
    runner.report(&value, &text);
    Ok(())
}
