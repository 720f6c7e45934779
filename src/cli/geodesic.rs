//! `arcuate geodesic`: geodesic rays between regions, ranked by their connectivity measure.

use super::options::GivenParameters;
use super::output::shown;
use super::runner::{Failure, Runner};
use super::track::{self, CurveOptions, RayRows, TrackingResult, key};
use crate::data::Role;
use crate::data::text::{counted, singular_or_plural};
use crate::solvers::geodesic::Rays;
use crate::state::core::text::count;
use crate::state::track::empty;
use crate::state::track::jobs::trace::{RayOutput, TraceRays};
use crate::state::{CommandLine, command_line};
use serde_json::{Value, json};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate geodesic dwi.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck
  arcuate geodesic dwi.nii.gz --seed sphere:0,-20,20,4 --target sphere:-20,-80,5,12 --target sphere:20,-80,5,12 --both-ways --out splenium.trk
  arcuate geodesic dwi.nii.gz --seed mask:cc.nii.gz --target mask:v1.nii.gz --directions cone:200,30 --sharpen power:2 --cut top:5% --out cc.tck

Rays leave each seed point in many directions and follow geodesics of the inverse diffusion tensor. Rays that
reach a target end there and are ranked by the connectivity measure: their Euclidean length divided by their
Riemannian length, which is 1 in isotropic tissue with the mean diffusivity of the mask. The strongest are kept
(--cut). Beside FILE.tck, the measure is written to FILE.tsf (per point) and FILE.weights.txt (per ray), and the other
values to FILE.fa.tsf (FA per point), FILE.seed.weights.txt and FILE.target.weights.txt (numbers of the seed and of
the target reached), and FILE.stop_start.weights.txt and FILE.stop_end.weights.txt (why the two ends stopped); other
formats hold these values themselves. Rays keep the order of the seeds.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = format!("{EXAMPLES}\n\nWithout --seed, rays leave the whole mask. Defaults:{}", command_line::geodesic_defaults()),
    mut_arg("both-ways", |arg| arg.conflicts_with("one-way")),
)]
pub struct Options {
    #[command(flatten)]
    pub curves: CurveOptions<RayRows>,
    #[command(flatten)]
    pub rays: GivenParameters<Rays>,
}

impl Options {
    fn rays(&self) -> Result<Rays, Failure> {
        let mut rays = Rays::defaults();
        rays.params.curves = self.curves.track.params()?;
        self.rays.or_defaults(rays)
    }

    /// The command line that these options denote; defaults of the fit depend on the gradients.
    pub fn command_line(
        &self,
        gradients: Option<&crate::data::Gradients>,
    ) -> Result<CommandLine, Failure> {
        let rays = self.rays()?;
        Ok(CommandLine::Geodesic {
            fit: self.curves.fit.arguments(gradients)?,
            regions: self.curves.regions.specs(),
            metric: rays.metric,
            params: rays.params,
            cut: rays.cut,
        })
    }
}

/// Counts as JSON and as text.
fn summary(tracked: &TrackingResult, ray_output: &RayOutput) -> (Value, String) {
    let (mut value, text) = track::summary(tracked, "ray");
    let rays = ray_output.seeds * ray_output.directions;
    let passed = ray_output.measures.len();
    let gates = [Role::Target, Role::Include, Role::Exclude];
    let gated = tracked.regions.iter().any(|r| gates.contains(&r.role));
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
    value["repaired"] = json!(ray_output.metric.repaired);
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
    let kept = tracked.output.kept.len();
    value["cut"] = json!({ "kept": kept, "of": passed });
    if let Some(min_measure) = ray_output.min_measure.filter(|_| kept < passed) {
        message += &format!(
            "The cut keeps the strongest {} of them ({:.1} %), from {min_measure:.3}; --cut all keeps every ray\n",
            count(kept as u64),
            100.0 * kept as f64 / passed as f64
        );
    }
    if ray_output.metric.repaired > 0 {
        let repaired = ray_output.metric.repaired as usize;
        let was = singular_or_plural(repaired, "was", "were");
        message += &format!("{} {was} repaired\n", counted(repaired, "tensor"));
    }
    (value, message + &text)
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let curves = &options.curves;
    curves.check_out(true, runner)?;
    let Rays {
        metric,
        params,
        cut,
    } = options.rays()?;
    if metric.is_too_coarse() {
        warning!(
            "Half precision is too coarse for tensors sharpened by 3 or more; leave out \
             --precision f16"
        );
    }
    let fitted = curves.fit.run(runner)?;
    let regions = curves.regions.regions()?;
    let command_line = options.command_line(fitted.scan.gradients.as_deref())?;
    let trace = TraceRays {
        field: fitted.fit.field.clone(),
        metric: None,
        sharpening: metric.sharpening,
        precision: metric.precision,
        fa: fitted.maps.fa.clone(),
        regions: regions.clone(),
        params,
        cut,
        coarse: false,
    };
    let (ray_output, wall_ms) = runner.run(trace)?;
    let tracked = TrackingResult {
        output: Arc::new(ray_output.output.clone()),
        regions,
        command_line,
        wall_ms,
    };
    let files = curves.save(&tracked, runner)?;
    if ray_output.measures.is_empty() {
        let targets = tracked.regions.iter().filter(|r| r.role == Role::Target);
        let targets: Vec<&str> = targets.map(|r| r.name.as_str()).collect();
        warning!(
            "{}{}",
            empty::none_passed(&ray_output.output, &targets, &fitted.mask_name()),
            track::out_of_reach(&fitted, &tracked.regions)
        );
    } else if tracked.output.kept.is_empty() {
        let max_measure = ray_output.measures.iter().copied().max_by(f32::total_cmp);
        warning!(
            "The cut keeps none of {}, with measures up to {:.3}; lower it",
            counted(ray_output.measures.len(), "ray"),
            max_measure.unwrap_or(f32::NAN)
        );
    }
    let (mut value, mut text) = summary(&tracked, &ray_output);
    value["files"] = json!(files);
    value["repeat"] = json!(tracked.command_line.text_to(&curves.out));
    for file in files {
        text += &format!("{}\n", shown(&file));
    }
    text += &key(&tracked.output.kept, &curves.out);
    runner.report(&value, &text);
    Ok(())
}
