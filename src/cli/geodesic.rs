//! `arcuate geodesic`: geodesic rays between regions, ranked by their connectivity measure.

mod lobes;
mod tensors;

use super::output::shown;
use super::runner::{Failure, Runner};
use super::track::{CountedCurves, key, save};
use crate::data::text::{counted, singular_or_plural};
use crate::data::{Region, Role};
use crate::state::command_line;
use crate::state::core::text::count;
use crate::state::track::jobs::trace::RayOutput;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  arcuate geodesic dwi.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck
  arcuate geodesic dwi.nii.gz --seed sphere:0,-20,20,4 --target sphere:-20,-80,5,12 --target sphere:20,-80,5,12 --both-ways --out splenium.trk
  arcuate geodesic dwi.nii.gz --seed mask:cc.nii.gz --target mask:v1.nii.gz --directions cone:200,30 --sharpen power:2 --cut top:5% --out cc.tck
  arcuate geodesic --fod fod/wm_fod.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck

Rays leave each seed point in many directions and follow geodesics of the inverse diffusion tensor. Rays that
reach a target end there and are ranked by the connectivity measure: their Euclidean length divided by their
Riemannian length, which is 1 in isotropic tissue with the mean diffusivity of the mask. The strongest are kept
(--cut). Beside FILE.tck, the measure is written to FILE.tsf (per point) and FILE.weights.txt (per ray), and the other
values to FILE.fa.tsf (FA per point), FILE.seed.weights.txt and FILE.target.weights.txt (numbers of the seed and of
the target reached), and FILE.stop_start.weights.txt and FILE.stop_end.weights.txt (why the two ends stopped); other
formats hold these values themselves. Rays keep the order of the seeds.

With --fod, rays follow the lobes of fibre orientation distributions and stay on theirs where fibres cross. The measure
is then their mean speed, which is 1 along a lobe with the reference amplitude, or a little more (--speed-floor). Fans are narrow: a cone's directions
go around each peak of the seed in turn, by default within 5 degrees.";

/// Reported if neither a scan nor distributions are named.
const NO_MODEL: &str = "Found neither a scan nor --fod, expected one of them; name a scan to follow its tensors, or a file \
                        of distributions";

/// The options of one model.
#[derive(Debug)]
pub enum Options {
    Tensors(Box<tensors::Options>),
    Lobes(Box<lobes::Options>),
}

impl Options {
    /// The options for tensors; `None` if rays follow distributions.
    pub fn tensors(&self) -> Option<&tensors::Options> {
        match self {
            Self::Tensors(options) => Some(options),
            Self::Lobes(_) => None,
        }
    }
}

fn wrong_usage(sentence: impl std::fmt::Display) -> clap::Error {
    clap::Error::raw(ErrorKind::ArgumentConflict, sentence)
}

fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// The options of tensors, and those of distributions, in the order of the help.
fn all_options() -> [Vec<Arg>; 2] {
    let tensors = tensors::Options::augment_args(Command::new("tensors"));
    let lobes = lobes::Options::augment_args(Command::new("lobes"));
    [tensors, lobes].map(|command| {
        let mut options: Vec<Arg> = command.get_arguments().cloned().collect();
        options.sort_by_key(Arg::get_display_order);
        options
    })
}

/// The first option that was given and that only the other model has.
fn foreign<'a>(own: &[Arg], other: &'a [Arg], matches: &ArgMatches) -> Option<&'a str> {
    let is_own = |arg: &Arg| own.iter().any(|option| option.get_id() == arg.get_id());
    let mut given = other
        .iter()
        .filter(|arg| !is_own(arg) && is_given(matches, arg.get_id().as_str()));
    given.find_map(Arg::get_long)
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        let [tensors, lobes] = all_options();
        let has = |options: &[Arg], arg: &Arg| options.iter().any(|o| o.get_id() == arg.get_id());
        let (choice, lobes): (Vec<Arg>, Vec<Arg>) = lobes
            .into_iter()
            .filter(|arg| !has(&tensors, arg))
            .partition(|arg| arg.get_id() == "fod");
        let choice = choice.into_iter().map(|arg| arg.required(false));
        let lobes = lobes.into_iter();
        let lobes = lobes.map(|arg| arg.help_heading("Options for distributions (--fod)"));
        let tensors = tensors.into_iter().map(|arg| match arg.is_positional() {
            true => arg.required(false).help(
                "Diffusion scan (NIfTI), phantom:SEED or phantom:crossing:SEED, whose tensors rays follow; none with --fod",
            ),
            false => arg,
        });
        let options = choice.chain(tensors).chain(lobes);
        let options = options.enumerate().map(|(i, arg)| arg.display_order(i));
        let lobe_defaults = lobes::defaults();
        command.args(options).after_help(format!(
            "{EXAMPLES}\n\nWithout --seed, rays leave the whole mask. Defaults:{}\n\nOther defaults with --fod:{lobe_defaults}",
            command_line::geodesic_defaults()
        ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let [tensors, lobes] = all_options();
        let scan = matches.get_one::<String>("scan");
        let (with_fod, own, other) = match (is_given(matches, "fod"), scan) {
            (false, None) => return Err(wrong_usage(NO_MODEL)),
            (true, Some(scan)) => {
                return Err(wrong_usage(format!(
                    "Found the scan {scan} and --fod, expected one of them; leave out the scan to follow distributions, or \
                     --fod to follow the tensors of the scan"
                )));
            }
            (true, None) => (true, &lobes, &tensors),
            (false, Some(_)) => (false, &tensors, &lobes),
        };
        match (foreign(own, other, matches), with_fod) {
            (None, true) => Ok(Self::Lobes(Box::new(FromArgMatches::from_arg_matches(
                matches,
            )?))),
            (None, false) => Ok(Self::Tensors(Box::new(FromArgMatches::from_arg_matches(
                matches,
            )?))),
            (Some(option), true) => Err(wrong_usage(format!(
                "Found --{option}, expected an option of rays in distributions; leave it out, or name a scan instead of \
                 --fod to follow its tensors"
            ))),
            (Some(option), false) => Err(wrong_usage(format!(
                "Found --{option}, expected an option of rays in tensors; leave it out, or choose distributions with --fod \
                 instead of the scan"
            ))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Rays after the cut, and what is reported about them.
struct Ranked<'a, M> {
    rays: &'a RayOutput<M>,
    /// Tensors that were not positive definite.
    repaired: u64,
    regions: &'a [Region],
    wall_ms: f64,
    in_distributions: bool,
}

/// Counts as JSON and as text.
fn summary<M>(ranked: &Ranked<M>) -> (Value, String) {
    let ray_output = ranked.rays;
    let counted_curves = CountedCurves {
        output: &ray_output.output,
        regions: ranked.regions,
        wall_ms: ranked.wall_ms,
        in_distributions: ranked.in_distributions,
    };
    let (mut value, text) = counted_curves.summary("ray");
    let rays = ray_output.seeds * ray_output.directions;
    let passed = ray_output.measures.len();
    let gates = [Role::Target, Role::Include, Role::Exclude];
    let gated = ranked.regions.iter().any(|r| gates.contains(&r.role));
    let what = match gated {
        true => "pass the regions",
        // Without regions there is no other condition.
        false => "start and are long enough",
    };
    let mut sorted = ray_output.measures.to_vec();
    sorted.sort_by(f32::total_cmp);
    // The median of an even number is the mean of the two in the middle.
    let middle = |n: usize| sorted.get(n / 2).copied();
    let lower = middle(sorted.len().saturating_sub(1));
    let median = lower.zip(middle(sorted.len())).map(|(a, b)| (a + b) / 2.0);
    value["command"] = json!("geodesic");
    value["seeds"] = json!(ray_output.seeds);
    value["directions"] = json!(ray_output.directions);
    value["rays"] = json!(rays);
    value["passed"] = json!(passed);
    value["measure"] = json!({
        "least": sorted.first(), "median": median, "most": sorted.last(), "cut": ray_output.min_measure,
    });
    value["kernel_ms"] = json!(ray_output.kernel_s.map(|s| 1e3 * s));
    value["repaired"] = json!(ranked.repaired);
    let mut message = format!(
        "{} of {} ({}, {}) {what}\n",
        count(passed as u64),
        counted(rays as usize, "ray"),
        counted(ray_output.seeds as usize, "seed"),
        counted(ray_output.directions as usize, "direction")
    );
    if let (Some(low), Some(middle), Some(high)) = (sorted.first(), median, sorted.last()) {
        message += &format!("Connectivity measure {low:.3} to {high:.3}, median {middle:.3}\n");
    }
    let kept = ray_output.output.kept.len();
    value["cut"] = json!({ "kept": kept, "of": passed });
    if let Some(min_measure) = ray_output.min_measure.filter(|_| kept < passed) {
        message += &format!(
            "The cut keeps the strongest {} of them ({:.1} %), from {min_measure:.3}; --cut all keeps every ray\n",
            count(kept as u64),
            100.0 * kept as f64 / passed as f64
        );
    }
    if ranked.repaired > 0 {
        let repaired = ranked.repaired as usize;
        let was = singular_or_plural(repaired, "was", "were");
        message += &format!("{} {was} repaired\n", counted(repaired, "tensor"));
    }
    (value, message + &text)
}

/// Writes the rays, and reports them.
fn files_and_report<M>(
    ranked: &Ranked<M>,
    out: &Path,
    repeat: String,
    none_passed: &dyn Fn() -> String,
    runner: &mut Runner,
) -> Result<(), Failure> {
    let ray_output = ranked.rays;
    let kept = &ray_output.output.kept;
    let files = save(kept, out, repeat.clone(), runner)?;
    if ray_output.measures.is_empty() {
        warning!("{}", none_passed());
    } else if kept.is_empty() {
        let max_measure = ray_output.measures.iter().copied().max_by(f32::total_cmp);
        warning!(
            "The cut keeps none of {}, with measures up to {:.3}; lower it",
            counted(ray_output.measures.len(), "ray"),
            max_measure.unwrap_or(f32::NAN)
        );
    }
    let (mut value, mut text) = summary(ranked);
    value["files"] = json!(files);
    value["repeat"] = json!(repeat);
    for file in files {
        text += &format!("{}\n", shown(&file));
    }
    text += &key(kept, out);
    runner.report(&value, &text);
    Ok(())
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    match options {
        Options::Tensors(options) => tensors::run(options, runner),
        Options::Lobes(options) => lobes::run(options, runner),
    }
}
