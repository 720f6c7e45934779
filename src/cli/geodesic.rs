//! `arcuate geodesic`: geodesic rays between regions, ranked by their connectivity measure.

mod lobes;
mod tensors;

use super::options::models::{Models, OtherModel, options_of};
use super::output::shown;
use super::runner::{Failure, Runner};
use super::track::{CountedCurves, key, save};
use crate::data::text::{counted, singular_or_plural};
use crate::data::{Region, Role};
use crate::state::command_line;
use crate::state::core::text::count;
use crate::state::track::jobs::trace::RayOutput;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};
use std::path::Path;

const EXAMPLES: &str = "\
Examples:
  arcuate geodesic dwi.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck
  arcuate geodesic dwi.nii.gz --seed sphere:0,-20,20,4 --target sphere:-20,-80,5,12 --target sphere:20,-80,5,12 --both-ways --out splenium.trk
  arcuate geodesic dwi.nii.gz --seed mask:cc.nii.gz --target mask:v1.nii.gz --directions cone:200,30 --sharpen power:2 --cut top:5% --out cc.tck
  arcuate geodesic dwi.nii.gz --seed sphere:-24,-18,8,2 --through -30,-22,50 --sharpen power:2 --cut all --out two_points.tck
  arcuate geodesic --fod fod/wm_fod.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck

Rays leave each seed point in many directions and follow geodesics of the inverse diffusion tensor. Rays that
reach a target end there and are ranked by the connectivity measure: their Euclidean length divided by their
Riemannian length, which is 1 in isotropic tissue with the mean diffusivity of the mask. The strongest are kept
(--cut). Beside FILE.tck, the measure is written to FILE.tsf (per point) and FILE.weights.txt (per ray), and the other
values to FILE.fa.tsf (FA per point), FILE.seed.weights.txt and FILE.target.weights.txt (numbers of the seed and of
the target reached), and FILE.stop_start.weights.txt and FILE.stop_end.weights.txt (why the two ends stopped); other
formats hold these values themselves. Rays keep the order of the seeds.

--through traces one ray from each seed to a point: Newton's method changes the direction in which the ray leaves its seed
until it ends at the point, beginning with the direction of the cheapest path between the two. Seeds without such a ray
are counted as missed; if there is none at all, the command refuses.

With --fod, rays follow the lobes of fibre orientation distributions, and each stays on its lobe where fibres cross. The
measure is then their mean speed: 1 along a lobe with the reference amplitude, slightly more with --speed-floor. Fans are
narrow: the directions of a cone are distributed over the peaks of the seed in turn, by default within 5 degrees of each.";

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
    /// The time of one core for the rays, seconds; infinite if it depends on the files.
    pub fn core_seconds(&self) -> f64 {
        match self {
            Self::Tensors(options) => options.core_seconds(),
            Self::Lobes(_) => f64::INFINITY,
        }
    }

    /// The options for tensors; `None` if rays follow distributions.
    pub fn tensors(&self) -> Option<&tensors::Options> {
        match self {
            Self::Tensors(options) => Some(options),
            Self::Lobes(_) => None,
        }
    }
}

/// The models, and their texts in help and errors.
const MODELS: Models = Models {
    others: &[OtherModel {
        option: "fod",
        name: "distributions",
    }],
    activity: "rays in",
    to: "to follow",
    heading: "Options for distributions (--fod)",
    scan_help: "Diffusion scan (NIfTI), phantom:SEED or phantom:KIND:SEED, whose tensors rays follow; none with --fod",
    need_scan: false,
};

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        let options = options_of::<tensors::Options, lobes::Options>();
        let options = MODELS.arguments(options, |arg| arg);
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
        let options = options_of::<tensors::Options, lobes::Options>();
        Ok(match MODELS.checked(NO_MODEL, options, matches)? {
            Some(_) => Self::Lobes(Box::new(FromArgMatches::from_arg_matches(matches)?)),
            None => Self::Tensors(Box::new(FromArgMatches::from_arg_matches(matches)?)),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Rays after the cut, and what is reported about them.
struct Ranked<'a, M> {
    rays: &'a RayOutput<M>,
    model: Model,
    regions: &'a [Region],
    wall_ms: f64,
}

/// The model that rays follow, and its part of the report.
enum Model {
    Tensors {
        /// Tensors that were not positive definite.
        repaired: u64,
    },
    Distributions {
        /// Amplitude that is the unit of the measure.
        reference: f64,
        parameters: Value,
    },
}

/// Counts as JSON and as text.
fn summary<M>(ranked: &Ranked<M>) -> (Value, String) {
    let ray_output = ranked.rays;
    let counted_curves = CountedCurves {
        output: &ray_output.output,
        regions: ranked.regions,
        wall_ms: ranked.wall_ms,
        in_distributions: matches!(ranked.model, Model::Distributions { .. }),
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
    match &ranked.model {
        Model::Tensors { repaired } => {
            value["repaired"] = json!(repaired);
            let repaired = *repaired as usize;
            if repaired > 0 {
                let was = singular_or_plural(repaired, "was", "were");
                message += &format!("{} {was} repaired\n", counted(repaired, "tensor"));
            }
        }
        Model::Distributions {
            reference,
            parameters,
        } => {
            value["reference_amplitude"] = json!(reference);
            value["parameters"] = parameters.clone();
            message += &format!("Reference amplitude {reference:.4}\n");
        }
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
