//! `arcuate geodesic`: geodesic rays between regions, ranked by their connectivity measure.

use super::output::shown;
use super::runner::{Failure, Runner};
use super::track::{self, CurveOptions, Tracked, key};
use crate::data::Role;
use crate::data::words::{agreed, counted};
use crate::jobs::{Output, Request, Shoot, Shot};
use crate::solvers::geodesic::{self, Cut, Directions, Form, Params, Precision, Sharpening};
use crate::state::core::words::{self, count};
use crate::state::recipe::{self, MediumRecipe};
use crate::state::{Recipe, defaults};
use serde_json::{Value, json};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate geodesic dwi.nii.gz --seed sphere:-24,-18,8,5 --target sphere:-30,-22,58,9 --out cst.tck
  arcuate geodesic dwi.nii.gz --seed sphere:0,-20,20,4 --target sphere:-20,-80,5,12 --target sphere:20,-80,5,12 --both-ways --out splenium.trk
  arcuate geodesic dwi.nii.gz --seed mask:cc.nii.gz --target mask:v1.nii.gz --directions cone:200,30 --sharpen power:2 --cut top:5% --out cc.tck

Rays leave each seed point in many directions and run as geodesics of the inverse diffusion tensor. Those
that reach a target are cut there and ranked by the connectivity measure: Euclidean by Riemannian length, 1
in isotropic tissue of the mask's mean diffusivity. The strongest of them are kept (--cut). Beside FILE.tck it is
written as FILE.tsf (per point) and FILE.weights.txt (per ray), and the other values as FILE.fa.tsf (FA per point),
FILE.seed.weights.txt, FILE.target.weights.txt (numbers of the seed and of the target reached),
FILE.stop_start.weights.txt and FILE.stop_end.weights.txt (why the two ends stopped); other formats hold all of them
themselves. Files keep the order of the seeds.";

#[derive(clap::Args, Debug)]
#[command(after_help = format!("{EXAMPLES}\n\nWithout --seed, rays leave the whole mask. Defaults:{}", recipe::geodesic_defaults()))]
pub struct Options {
    #[command(flatten)]
    pub curves: CurveOptions,
    #[command(flatten)]
    pub rays: RayOptions,
}

#[derive(clap::Args, Clone, Debug)]
pub struct RayOptions {
    /// Directions of each seed's rays: principal, sphere:N, cone:N,DEGREES (half angle), icosphere:LEVEL or
    /// towards:X,Y,Z
    #[arg(long, value_name = "FAN", allow_hyphen_values = true, value_parser = directions)]
    pub directions: Option<Directions>,
    /// power:ALPHA (volume kept; 1 is the plain tensor, whose rays mostly run beside real fibres), or the
    /// papers' paper:N,FA (whole power below an FA)
    #[arg(long, value_name = "HOW", value_parser = sharpening)]
    pub sharpen: Option<Sharpening>,
    /// Stored tensors: f32, or f16, which rounds to 11 bits (too coarse for sharpening by 3 or more)
    #[arg(long, value_enum, default_value = "f32")]
    pub precision: PrecisionName,
    /// Keep one point in N steps, and the last
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = keep_every)]
    pub keep_every: Option<usize>,
    /// Carry each ray on behind its seed
    #[arg(long, conflicts_with = "one_way")]
    pub both_ways: bool,
    /// Do not stop rays that circle on the spot
    #[arg(long)]
    pub no_loop_guard: bool,
    /// Equations: hamiltonian, or the papers' christoffel, whose steps, length limit and loop guard
    /// count its parameter instead of mm
    #[arg(long, value_enum, default_value = "hamiltonian")]
    pub form: FormName,
    /// Keep rays with at least this measure, the strongest top:N or top:P% of those that pass the
    /// regions, or all
    #[arg(long, value_name = "CUT", allow_hyphen_values = true, value_parser = cut)]
    pub cut: Option<Cut>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum PrecisionName {
    F16,
    F32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum FormName {
    Hamiltonian,
    Christoffel,
}

fn numbers(text: &str) -> Option<Vec<f64>> {
    let parsed: Option<Vec<f64>> = text.split(',').map(|n| n.trim().parse().ok()).collect();
    parsed.filter(|n| n.iter().all(|v: &f64| v.is_finite()))
}

fn directions(text: &str) -> Result<Directions, String> {
    let whole = |n: f64| (n >= 0.0 && n.fract() == 0.0).then_some(n as usize);
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let found = match (kind, numbers(rest).as_deref()) {
        ("principal", _) if text == "principal" => Some(Directions::Principal),
        ("sphere", Some(&[n])) => whole(n).map(|count| Directions::Sphere { count }),
        ("cone", Some(&[n, degrees])) => whole(n).map(|count| Directions::Cone {
            count,
            half_angle_rad: degrees.to_radians(),
        }),
        ("icosphere", Some(&[n])) => whole(n).map(|level| Directions::Icosphere { level }),
        ("towards", Some(&[x, y, z])) => Some(Directions::Towards {
            direction: [x, y, z],
        }),
        _ => None,
    };
    let found = found.ok_or_else(|| {
        format!(
            "expected principal, sphere:N, cone:N,DEGREES, icosphere:LEVEL or towards:X,Y,Z, found \
             \"{text}\""
        )
    })?;
    found.check().map(|()| found)
}

fn keep_every(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| format!("expected a whole number from 1, found \"{text}\""))
}

fn sharpening(text: &str) -> Result<Sharpening, String> {
    let found = match text.split_once(':') {
        Some(("power", rest)) => match numbers(rest).as_deref() {
            Some(&[alpha]) if alpha > 0.0 && alpha <= 16.0 => Some(Sharpening::Power { alpha }),
            _ => None,
        },
        Some(("paper", rest)) => match numbers(rest).as_deref() {
            Some(&[power, below_fa])
                if (1.0..=16.0).contains(&power)
                    && power.fract() == 0.0
                    && (0.0..=1.0).contains(&below_fa) =>
            {
                let power = power as u32;
                Some(Sharpening::Paper { power, below_fa })
            }
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| {
        format!(
            "expected power:ALPHA (up to 16) or paper:N,FA (N from 1 to 16, FA from 0 to 1), found \
             \"{text}\""
        )
    })
}

fn cut(text: &str) -> Result<Cut, String> {
    let found = match text.strip_prefix("top:") {
        None if text == "all" => Some(Cut::All),
        Some(rest) => match rest.strip_suffix('%') {
            Some(percent) => {
                let share = percent.parse::<f64>().ok().map(|p| p / 100.0);
                let share = share.filter(|s| *s > 0.0 && *s <= 1.0);
                share.map(Cut::TopShare)
            }
            None => rest.parse().ok().filter(|n| *n > 0).map(Cut::Top),
        },
        None => {
            let least = text.parse::<f32>().ok();
            least
                .filter(|l| l.is_finite() && *l > 0.0)
                .map(Cut::AtLeast)
        }
    };
    found.ok_or_else(|| {
        format!(
            "expected a measure above 0 such as 1.2, top:N, top:P% (up to 100) or all, found \"{text}\""
        )
    })
}

impl Options {
    fn params(&self) -> Params {
        let default = geodesic::Params::defaults();
        let mut walk = self.curves.track.params_or(default.walk);
        walk.both_ways = self.rays.both_ways;
        Params {
            walk,
            form: match self.rays.form {
                FormName::Hamiltonian => Form::Hamiltonian,
                FormName::Christoffel => Form::Christoffel,
            },
            directions: self.rays.directions.unwrap_or(default.directions),
            keep_every: self.rays.keep_every.unwrap_or(default.keep_every),
            loop_guard: !self.rays.no_loop_guard,
        }
    }

    fn medium(&self) -> MediumRecipe {
        MediumRecipe {
            sharpening: self.rays.sharpen.unwrap_or(geodesic::DEFAULT_SHARPENING),
            precision: match self.rays.precision {
                PrecisionName::F16 => Precision::Half,
                PrecisionName::F32 => Precision::Single,
            },
        }
    }

    fn cut(&self) -> Cut {
        self.rays.cut.unwrap_or_else(|| defaults::rays().cut)
    }

    /// The recipe that these options stand for; what the fit leaves open depends on the gradients.
    pub fn recipe(&self, gradients: Option<&crate::data::Gradients>) -> Result<Recipe, Failure> {
        Ok(Recipe::Geodesic {
            fit: self.curves.fit.recipe(gradients)?,
            regions: self.curves.regions.specs(),
            medium: self.medium(),
            params: self.params(),
            cut: self.cut(),
        })
    }
}

/// Counts as JSON and as text.
fn summary(tracked: &Tracked, shot: &Shot) -> (Value, String) {
    let (mut value, text) = track::summary(tracked, "rays");
    let rays = shot.seeds * shot.directions;
    let passed = shot.measures.len();
    let gates = [Role::Target, Role::Include, Role::Exclude];
    let gated = tracked.regions.iter().any(|r| gates.contains(&r.role));
    let what = match gated {
        true => "pass the regions",
        // Without regions nothing else is asked of them.
        false => "start and are long enough",
    };
    let mut sorted = shot.measures.to_vec();
    sorted.sort_by(f32::total_cmp);
    // The two in the middle share where the number is even.
    let middle = |n: usize| sorted.get(n / 2).copied();
    let lower = middle(sorted.len().saturating_sub(1));
    let median = lower.zip(middle(sorted.len())).map(|(a, b)| (a + b) / 2.0);
    value["command"] = json!("geodesic");
    value["seeds"] = json!(shot.seeds);
    value["directions"] = json!(shot.directions);
    value["rays"] = json!(rays);
    value["passed"] = json!(passed);
    value["measure"] = json!({
        "least": sorted.first(), "median": median, "most": sorted.last(), "cut": shot.least,
    });
    value["kernel_ms"] = json!(shot.kernel_s.map(|s| 1e3 * s));
    value["repaired"] = json!(shot.medium.repaired);
    let mut said = format!(
        "{} of {} ({}, {}) {what}\n",
        count(passed as u64),
        counted(rays as usize, "ray"),
        counted(shot.seeds as usize, "seed"),
        counted(shot.directions as usize, "direction")
    );
    if let (Some(low), Some(middle), Some(high)) = (sorted.first(), median, sorted.last()) {
        said += &format!("Connectivity measure {low:.3} to {high:.3}, median {middle:.3}\n");
    }
    let kept = tracked.output.kept.len();
    value["cut"] = json!({ "kept": kept, "of": passed });
    if let Some(least) = shot.least.filter(|_| kept < passed) {
        said += &format!(
            "The cut keeps the strongest {} of them ({:.1} %), from {least:.3}; --cut all keeps every ray\n",
            count(kept as u64),
            100.0 * kept as f64 / passed as f64
        );
    }
    if shot.medium.repaired > 0 {
        let repaired = shot.medium.repaired as usize;
        let was = agreed(repaired, "was", "were");
        said += &format!("{} {was} repaired\n", counted(repaired, "tensor"));
    }
    (value, said + &text)
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let curves = &options.curves;
    curves.check_out(true, runner)?;
    options.params().check().map_err(Failure::usage)?;
    let medium = options.medium();
    if medium.is_too_coarse() {
        warning!(
            "Half precision is too coarse for tensors sharpened by 3 or more; leave out \
             --precision f16"
        );
    }
    let fitted = curves.fit.run(runner)?;
    let regions = curves.regions.regions()?;
    let recipe = options.recipe(fitted.scan.gradients.as_deref())?;
    let request = Request::Shoot(Box::new(Shoot {
        field: fitted.fit.field.clone(),
        medium: None,
        sharpening: medium.sharpening,
        precision: medium.precision,
        fa: fitted.maps.fa.clone(),
        regions: regions.clone(),
        params: options.params(),
        cut: options.cut(),
        coarse: false,
    }));
    let (Output::Shot(shot), wall_ms) = runner.run(request)? else {
        return Err(Failure::new("Shooting gave no rays"));
    };
    let tracked = Tracked {
        output: Arc::new(shot.output.clone()),
        regions,
        recipe,
        wall_ms,
    };
    let files = curves.save(&tracked, runner)?;
    if shot.measures.is_empty() {
        let targets = tracked.regions.iter().filter(|r| r.role == Role::Target);
        let targets: Vec<&str> = targets.map(|r| r.name.as_str()).collect();
        warning!(
            "{}{}",
            words::none_passed(&shot.output, &targets, &fitted.mask_name()),
            track::out_of_reach(&fitted, &tracked.regions)
        );
    } else if tracked.output.kept.is_empty() {
        let most = shot.measures.iter().copied().max_by(f32::total_cmp);
        warning!(
            "The cut keeps none of {}, with measures up to {:.3}; lower it",
            counted(shot.measures.len(), "ray"),
            most.unwrap_or(f32::NAN)
        );
    }
    let (mut value, mut text) = summary(&tracked, &shot);
    value["files"] = json!(files);
    value["repeat"] = json!(tracked.recipe.command_to(&curves.out));
    for file in files {
        text += &format!("{}\n", shown(&file));
    }
    text += &key(&tracked, &curves.out);
    runner.report(&value, &text);
    Ok(())
}
