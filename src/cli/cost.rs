//! `arcuate cost`: cost fields of two regions, and the pathway between them.

use super::options::{FitOptions, Fitted, make_folder, shape};
use super::runner::{Failure, Runner};
use crate::compute::Control;
use crate::data::region::RegionId;
use crate::data::{Mask, Region, Role, Shape, Tractogram};
use crate::io::quoted;
use crate::jobs::Request;
use crate::solvers::Error;
use crate::solvers::eikonal::{LocalSolver, Params, Prepared, Source, solve};
use crate::solvers::metric::{Cost, Metric};
use crate::solvers::pathway::{Path, Pathway};
use crate::state::recipe::ShapeSpec;
use crate::state::words::count;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  arcuate cost dwi.nii.gz --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --out cst
  arcuate cost dwi.nii.gz --from mask:genu.nii.gz --to mask:frontal.nii.gz --within mask:white.nii.gz --epsilon 0.1 --out genu
  arcuate cost phantom:1 --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --metric inverse --local-solver godunov6 --out paper

For every voxel the least cost of a path from each region (u1, u2) and of one that joins them through the voxel
(u): a path through isotropic tissue of the mask's mean diffusivity costs 1 a mm. The pathway holds the voxels
with u up to 1 + epsilon times the least. Files in the folder: u1, u2, u (NaN where no path leads) and pathway
as .nii.gz, the minimal path as path.tck.";

/// Of white matter; lower values let paths through grey matter and fluid.
const LEAST_FA: f64 = 0.15;
const ALPHA: f64 = 3.0;
const EPSILON: f64 = 0.05;
/// A value that fell by less than this share of itself is left as it is.
const TOLERANCE: f32 = 1e-6;
/// The weakest stretch that is told has this length.
const STRETCH_MM: f64 = 10.0;

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum MetricName {
    /// The inverse of the tensor
    Inverse,
    /// The inverse of the tensor raised to the power alpha, volume kept
    Sharpened,
    /// The same in all directions
    Isotropic,
    /// The tensor's adjugate
    Adjugate,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum LocalName {
    /// 6 neighbours, as in the paper: dear along oblique fibres
    #[value(name = "godunov6")]
    Godunov6,
    /// 26 neighbours
    #[value(name = "hopf-lax26")]
    HopfLax26,
    /// Long steps along fibres; thin masks may stop them
    Selling,
    /// The better of the last two
    Hybrid,
}

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    pub fit: FitOptions,
    /// First region; several count as one
    #[arg(long, value_name = "REGION", required = true)]
    pub from: Vec<ShapeSpec>,
    /// Second region; several count as one
    #[arg(long, value_name = "REGION", required = true)]
    pub to: Vec<ShapeSpec>,
    /// Paths run inside these (default: all tensors)
    #[arg(long, value_name = "REGION")]
    pub within: Vec<ShapeSpec>,
    /// Paths run where the FA is at least this [default: 0.15, without --within]
    #[arg(long, value_name = "FA", allow_negative_numbers = true)]
    pub min_fa: Option<f64>,
    /// What a path costs
    #[arg(long, value_enum, default_value = "sharpened")]
    pub metric: MetricName,
    /// Power of --metric sharpened [default: 3]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub alpha: Option<f64>,
    /// How a voxel's value comes from its neighbours'
    #[arg(long, value_enum, default_value = "hybrid")]
    pub local_solver: LocalName,
    /// How much more than the least the pathway's voxels may cost [default: 0.05]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,
    /// Folder for the results
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
}

impl Options {
    fn cost(&self) -> Cost {
        match self.metric {
            MetricName::Inverse => Cost::Inverse,
            MetricName::Sharpened => Cost::Sharpened {
                alpha: self.alpha.unwrap_or(ALPHA),
            },
            MetricName::Isotropic => Cost::Isotropic,
            MetricName::Adjugate => Cost::Adjugate,
        }
    }

    fn local(&self) -> LocalSolver {
        match self.local_solver {
            LocalName::Godunov6 => LocalSolver::Godunov6,
            LocalName::HopfLax26 => LocalSolver::HopfLax26,
            LocalName::Selling => LocalSolver::Selling,
            LocalName::Hybrid => LocalSolver::Hybrid,
        }
    }

    fn epsilon(&self) -> f64 {
        self.epsilon.unwrap_or(EPSILON)
    }

    fn least_fa(&self) -> f64 {
        let default = if self.within.is_empty() {
            LEAST_FA
        } else {
            0.0
        };
        self.min_fa.unwrap_or(default)
    }

    fn check(&self) -> Result<(), Failure> {
        self.cost().check().map_err(Failure::usage)?;
        if self.alpha.is_some() && self.metric != MetricName::Sharpened {
            return Err(Failure::usage(
                "Only --metric sharpened has a power, found --alpha with another; leave one of them out",
            ));
        }
        if !(self.epsilon() >= 0.0 && self.epsilon().is_finite()) {
            return Err(Failure::usage(format!(
                "Found --epsilon {}, expected a number from 0; choose for example 0.05",
                self.epsilon()
            )));
        }
        if !(0.0..=1.0).contains(&self.least_fa()) {
            return Err(Failure::usage(format!(
                "Found --min-fa {}, expected a number from 0 to 1; choose for example 0.15",
                self.least_fa()
            )));
        }
        Ok(())
    }

    /// The same work again, from the command line's values.
    fn command(&self) -> String {
        let shapes = |name: &str, shapes: &[ShapeSpec]| -> String {
            let each = shapes
                .iter()
                .map(|s| format!(" --{name} {}", quoted(&s.to_string())));
            each.collect()
        };
        let mut text = format!("arcuate cost {}", quoted(&self.fit.scan.scan));
        text += &shapes("from", &self.from);
        text += &shapes("to", &self.to);
        text += &shapes("within", &self.within);
        text += &format!(" --min-fa {}", self.least_fa());
        match self.cost() {
            Cost::Inverse => text += " --metric inverse",
            Cost::Sharpened { alpha } => text += &format!(" --alpha {alpha}"),
            Cost::Isotropic => text += " --metric isotropic",
            Cost::Adjugate => text += " --metric adjugate",
        }
        text += &format!(" --local-solver {}", self.local().name());
        text += &format!(" --epsilon {}", self.epsilon());
        text + &format!(" --out {}", quoted(&self.out.to_string_lossy()))
    }

    fn files(&self) -> [PathBuf; 5] {
        [
            "u1.nii.gz",
            "u2.nii.gz",
            "u.nii.gz",
            "pathway.nii.gz",
            "path.tck",
        ]
        .map(|name| self.out.join(name))
    }
}

fn failure(error: Error) -> Failure {
    Failure::new(error.to_string())
}

/// The voxels where paths may run.
fn mask(options: &Options, fitted: &Fitted) -> Result<Mask, Failure> {
    let grid = &fitted.fit.field.grid;
    let within: Vec<Shape> = options.within.iter().map(shape).collect::<Result<_, _>>()?;
    let (fa, least) = (fitted.maps.fa.frame(0), options.least_fa());
    let inside = |v: usize| {
        let centre = grid.world(glam::DVec3::from_array(grid.voxel(v).map(|c| c as f64)));
        f64::from(fa[v]) >= least
            && (within.is_empty() || within.iter().any(|shape| shape.contains(centre)))
    };
    let values: Vec<u8> = (0..grid.voxel_count())
        .map(|v| u8::from(inside(v)))
        .collect();
    Ok(Mask::new(grid.clone(), values))
}

fn source(metric: &Metric, name: &str, specs: &[ShapeSpec]) -> Result<Arc<Source>, Failure> {
    let mut zero = Vec::new();
    for spec in specs {
        let region = Region {
            id: RegionId(0),
            name: name.to_owned(),
            role: Role::Seed,
            shape: Arc::new(shape(spec)?),
            colour: None,
            visible: true,
        };
        zero.extend(Source::region(metric, &region).map_err(failure)?.zero);
    }
    Ok(Arc::new(Source::places(metric, name, zero)))
}

/// The minimal path as one streamline, with what it costs up to each point.
fn tractogram(path: &Path, metric: &Metric) -> Tractogram {
    let points: Vec<[f32; 3]> = path.points.iter().map(|p| p.as_vec3().to_array()).collect();
    let offsets = vec![0, points.len() as u64];
    let cost: Vec<f32> = path.cost.iter().map(|c| *c as f32).collect();
    Tractogram::new(points, offsets)
        .with_per_point("cost", cost)
        .with_grid(metric.grid.clone())
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    options.check()?;
    let files = options.files();
    for file in &files {
        runner.may_write(file)?;
    }
    let fitted = options.fit.run(runner)?;
    let mask = mask(options, &fitted)?;
    let control = Control::new();
    let backend = &runner.backend;
    let start = Instant::now();
    let metric = Metric::new(
        &fitted.fit.field,
        options.cost(),
        Some(&mask),
        backend,
        &control,
    )
    .map_err(failure)?;
    let prepared = Prepared::new(&metric, options.local(), backend, &control).map_err(failure)?;
    let sources = [
        source(&metric, "from", &options.from)?,
        source(&metric, "to", &options.to)?,
    ];
    let prepare_ms = 1e3 * start.elapsed().as_secs_f64();
    let start = Instant::now();
    let params = Params {
        tolerance: TOLERANCE,
        schedule: None,
    };
    let fields = solve(&prepared, &sources, &params, backend, &control).map_err(failure)?;
    let solve_ms = 1e3 * start.elapsed().as_secs_f64();
    let [a, b] =
        <[_; 2]>::try_from(fields).map_err(|_| Failure::new("Two fields were expected"))?;
    let images = [a.image(), b.image()];
    let pathway = Pathway::new(a, b).map_err(failure)?;
    let epsilon = options.epsilon();
    let joined = pathway.joined(epsilon);
    if joined.is_none() {
        eprintln!(
            "arcuate: The pathway is not joined at this width, found --epsilon {epsilon}, expected at least \
             {:.4}; widen it",
            pathway.joined_from
        );
    }
    let set = joined.clone().unwrap_or_else(|| pathway.mask(epsilon));
    let path = pathway
        .minimal()
        .ok_or_else(|| Failure::new("No path leads through the voxel of least cost"))?;
    make_folder(&options.out)?;
    let command = options.command();
    let [u1, u2, u, mask_file, path_file] = files.clone();
    for (volume, path) in [
        (images[0].clone(), u1),
        (images[1].clone(), u2),
        (pathway.image(), u),
    ] {
        let command = command.clone();
        runner.run(Request::SaveVolume {
            volume,
            path,
            command,
        })?;
    }
    runner.run(Request::SaveMask {
        mask: set.clone(),
        path: mask_file,
        command: command.clone(),
    })?;
    runner.run(Request::SaveTractogram {
        tractogram: tractogram(&path, &metric),
        path: path_file,
        command: command.clone(),
        values: None,
        revision: 0,
    })?;
    let (mut value, mut text) = summary(&pathway, &path, &set, epsilon);
    value["joined"] = json!(joined.is_some());
    value["voxels"] = json!(metric.len());
    value["repaired"] = json!(metric.repaired);
    value["prepare_ms"] = json!(prepare_ms);
    value["wall_ms"] = json!(solve_ms);
    value["files"] = json!(files);
    value["repeat"] = json!(command);
    text += &format!(
        "{} voxels in the mask, prepared in {prepare_ms:.0} ms, solved in {solve_ms:.0} ms\n",
        count(metric.len() as u64)
    );
    for file in &files {
        text += &format!("{}\n", file.display());
    }
    runner.report(&value, &text);
    Ok(())
}

fn summary(pathway: &Pathway, path: &Path, set: &Mask, epsilon: f64) -> (Value, String) {
    let stretch = path.weakest(STRETCH_MM);
    let (first, last) = (
        stretch.start,
        stretch.end.saturating_sub(1).max(stretch.start),
    );
    let part_mm = path.length_mm[last] - path.length_mm[first];
    let weakest = (path.cost[last] - path.cost[first]) / part_mm.max(f64::MIN_POSITIVE);
    let middle = (path.points[first] + path.points[last]) * 0.5;
    let (cost, length_mm) = (path.total_cost(), path.total_mm());
    let rate = cost / length_mm.max(f64::MIN_POSITIVE);
    let value = json!({
        "command": "cost",
        "least": pathway.least,
        "ends": pathway.ends,
        "epsilon": epsilon,
        "joined_from": pathway.joined_from,
        "pathway": { "voxels": set.count(), "volume_ml": set.volume_ml() },
        "path": {
            "cost": cost, "length_mm": length_mm, "cost_per_mm": rate,
            "weakest": { "cost_per_mm": weakest, "at": middle.to_array(), "length_mm": part_mm },
        },
    });
    let text = format!(
        "Least cost {:.3}; the path takes {length_mm:.1} mm, {rate:.3} a mm\n\
         Weakest {part_mm:.0} mm: {weakest:.3} a mm, around {:.1}, {:.1}, {:.1}\n\
         Pathway at ε = {epsilon}: {} voxels, {:.2} ml; joined from ε = {:.4}\n",
        pathway.least,
        middle.x,
        middle.y,
        middle.z,
        count(set.count() as u64),
        set.volume_ml(),
        pathway.joined_from
    );
    (value, text)
}
