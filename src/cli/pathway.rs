//! `arcuate pathway`: cost fields of two regions, and the pathway between them, in the metric of tensors or through fibre
//! orientation distributions.

mod evidence;
mod lifted;
mod tensors;

pub use lifted::LiftedInputs;
pub use tensors::PathwayInputs;

use super::options::models::{Models, OtherModel, options_of};
use super::options::{DomainOptions, GivenParameters, ImageEnding, make_folder, shape};
use super::output::shown;
use super::runner::{Failure, Runner};
use crate::data::region::RegionId;
use crate::data::text::{counted, number};
use crate::data::{Mask, Region, Role, Tractogram, Volume};
use crate::jobs::ValueNames;
use crate::parameters::Parameters;
use crate::solvers::pathway::{COSTLY_FACTOR, JointCosts, Path, Width};
use crate::state::core::text::per_mm;
use crate::state::files::jobs::{SaveMask, SaveTractogram, SaveVolume};
use crate::state::pathways::CostliestStretch;
use crate::state::pathways::recipe::option;
use crate::state::regions::recipe::{RegionSpec, ShapeSpec};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  arcuate pathway dwi.nii.gz --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --out cst
  arcuate pathway dwi.nii.gz --from mask:genu.nii.gz --to mask:frontal.nii.gz --within mask:white.nii.gz --epsilon 0.1 --out genu
  arcuate pathway phantom:1 --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --metric inverse --local-solver godunov6 --out paper
  arcuate pathway --fod fod/wm_fod.nii.gz --from sphere:-24,-18,8,5 --to sphere:-30,-22,58,9 --out cst

Computes for every voxel the least cost of a path from each region (u1, u2) and of one that joins them through the
voxel (u). A path through isotropic tissue with the mean diffusivity of the mask costs 1 per mm. The pathway holds
the voxels with u up to 1 + epsilon times the minimum. Files in the folder: u1, u2, u (NaN where no path leads) and
pathway as .nii.gz, and the minimal path as path.tck.

With --fod, costs are computed in positions and directions: a path along the fibres of white matter costs 1 per mm, one
across them up to 33 (1 / --background-speed), and a turn of one radian as much as --curvature-price mm along a fibre. A
path goes straight through a crossing and pays for turning into the other bundle. Costs in the images are up to 18 % too
high for straight paths, and on average 22 to 41 % too high for arcs; the cost of the path is summed along the smoothed
path and is closer. Images hold NaN above the excess that was computed: at least 30 % or epsilon, and as much as the
voxels need to join the regions, up to 1000 %.

A path exists between almost any two regions: on its own it is no evidence of a connection. --null compares its
weakest stretch and its cost per mm with those of the cheapest paths between random regions of white matter in the
same head, as large as the two given, on voxels of twice the size. For a bundle, both are lower than for most random
pairs. With --fod, the pairs and this path are compared in 42 directions, too, as in the preview of the window, or with
--null-full on the voxels and in the directions of the pathway itself.

--sensitivity maps the sensitivity of the pathway: the percentage of the least cost that depends on each voxel. Where the
map shows 1 %, raising the cost of the voxel by a tenth raises the least cost by a thousandth. The percentages add up to
100. With --fod, the cost of a voxel is that of all directions in it.";

/// Reported if neither a scan nor distributions are named.
const NO_MODEL: &str = "Found neither a scan nor --fod, expected one of them; name a scan for the metric of its tensors, \
                        or a file of distributions";

/// The options of one model.
#[derive(Debug)]
pub enum Options {
    Tensors(Box<tensors::Options>),
    Lifted(Box<lifted::Options>),
}

/// The models, and their texts in help and errors.
const MODELS: Models = Models {
    others: &[OtherModel {
        option: "fod",
        name: "distributions",
    }],
    activity: "pathways through",
    to: "for pathways through",
    heading: "Options for distributions (--fod)",
    scan_help: "Diffusion scan (NIfTI), phantom:SEED or phantom:KIND:SEED, for pathways through its tensors; none with \
                --fod",
    need_scan: false,
};

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        let options = options_of::<tensors::Options, lifted::Options>();
        let options = MODELS.arguments(options, |arg| arg);
        command.args(options).after_help(EXAMPLES)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let options = options_of::<tensors::Options, lifted::Options>();
        Ok(match MODELS.checked(NO_MODEL, options, matches)? {
            Some(_) => Self::Lifted(Box::new(FromArgMatches::from_arg_matches(matches)?)),
            None => Self::Tensors(Box::new(FromArgMatches::from_arg_matches(matches)?)),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    match options {
        Options::Tensors(options) => tensors::run(options, runner),
        Options::Lifted(options) => lifted::run(options, runner),
    }
}

/// The ends of a pathway, and the regions that confine paths, exclude them or make them cost more.
#[derive(clap::Args, Debug)]
pub struct PathwayRegions {
    /// First region; several count as one
    #[arg(long, value_name = "REGION", required = true)]
    pub from: Vec<ShapeSpec>,
    /// Second region; several count as one
    #[arg(long, value_name = "REGION", required = true)]
    pub to: Vec<ShapeSpec>,
    #[command(flatten)]
    pub domain: DomainOptions,
    /// Regions where paths cost more; paths enter them only where a detour would cost even more
    #[arg(long, value_name = "REGION")]
    pub costly: Vec<ShapeSpec>,
}

impl PathwayRegions {
    /// Refuses a factor of costly regions without any.
    fn check_factor<P: Parameters>(&self, given: &GivenParameters<P>) -> Result<(), Failure> {
        match self.costly.is_empty() && given.has(COSTLY_FACTOR) {
            true => Err(Failure::usage(
                "Found --costly-factor without --costly, expected a region where paths cost this many times as much; \
                 name it with --costly, or leave out --costly-factor",
            )),
            false => Ok(()),
        }
    }

    fn shapes(&self) -> impl Iterator<Item = (Role, &ShapeSpec)> {
        let of_role = |(role, shapes)| -> Vec<(Role, &ShapeSpec)> {
            let shapes: &Vec<ShapeSpec> = shapes;
            shapes.iter().map(|shape| (role, shape)).collect()
        };
        let all = [
            (Role::Seed, &self.from),
            (Role::Target, &self.to),
            (Role::Mask, &self.domain.within),
            (Role::Exclude, &self.domain.exclude),
            (Role::Costly, &self.costly),
        ];
        all.into_iter().flat_map(of_role)
    }

    /// The regions as text.
    pub fn specs(&self) -> Vec<RegionSpec> {
        let spec = |(role, shape): (Role, &ShapeSpec)| RegionSpec {
            role,
            shape: shape.clone(),
        };
        self.shapes().map(spec).collect()
    }

    /// The regions, named by their options.
    pub fn regions(&self) -> Result<Vec<Region>, Failure> {
        let region = |(role, spec): (Role, &ShapeSpec)| {
            Ok(Region {
                id: RegionId(0),
                // For sentences about the option.
                name: option(role).unwrap_or_default().to_owned(),
                role,
                shape: Arc::new(shape(spec)?),
                colour: None,
                visible: true,
                label_number: None,
            })
        };
        self.shapes().map(region).collect()
    }
}

/// The files of a pathway in a folder: u₁, u₂, their sum, its voxels, the cheapest path.
fn files(folder: &FilePath, images: &ImageEnding) -> [PathBuf; 5] {
    let image = |name: &str| images.path(folder, name);
    let path = folder.join("path.tck");
    [image("u1"), image("u2"), image("u"), image("pathway"), path]
}

/// `joined from ε = 0.1234`, or up to which excess it is not joined; `None`: costs are known everywhere.
fn joined_text(costs: &JointCosts, excess_limit: Option<f64>) -> String {
    let joining = costs.joining_epsilon;
    match (joining.is_finite(), excess_limit) {
        (true, _) => format!("joined from ε = {joining:.4}"),
        (false, Some(limit)) => format!("not joined up to ε = {}", number(limit)),
        (false, None) => "not joined at any ε".to_owned(),
    }
}

/// The excess cost up to which voxels belong to the pathway; a warning if it seems to be in percent.
fn epsilon(width: &GivenParameters<Width>) -> Result<f64, Failure> {
    let epsilon = width.or_defaults(Width::defaults())?.epsilon;
    if epsilon > 1.0 {
        warning!(
            "--epsilon is a fraction: {} joins all voxels of costs up to {} times the least; 0.2 means 20 %",
            number(epsilon),
            number(1.0 + epsilon)
        );
    }
    Ok(epsilon)
}

/// The part of the pathway that joins the regions; a warning if there is none.
pub fn joining_mask(costs: &JointCosts, epsilon: f64, excess_limit: Option<f64>) -> Option<Mask> {
    let joined = costs.joining_mask(epsilon);
    match (&joined, costs.joining_epsilon.is_finite()) {
        (Some(_), _) => {}
        (None, true) => warning!(
            "The pathway does not join the regions: found --epsilon {}, expected at least \
             {:.4}; widen it",
            number(epsilon),
            costs.joining_epsilon
        ),
        (None, false) => warning!(
            "The pathway is {}: its path passes where voxels touch only at an edge or a corner; widen the domain, or \
             move the regions",
            joined_text(costs, excess_limit)
        ),
    }
    joined
}

/// A pathway and its cheapest path.
struct Summary<'a> {
    costs: &'a JointCosts,
    path: &'a Path,
    weakest: Option<&'a CostliestStretch>,
    epsilon: f64,
    /// Costs are known up to this share above the least one; `None`: everywhere.
    excess_limit: Option<f64>,
    /// Whether its voxels join the regions.
    is_joined: bool,
    /// The part of the voxels that joins the regions; all of them if there is none.
    set: Mask,
}

/// Values of a pathway as images, and its cheapest path.
struct Images<'a> {
    sides: &'a [Volume; 2],
    curve: &'a Tractogram,
}

impl<'a> Summary<'a> {
    /// Warns if the voxels do not join the regions.
    fn new(
        costs: &'a JointCosts,
        (path, weakest): (&'a Path, Option<&'a CostliestStretch>),
        epsilon: f64,
        excess_limit: Option<f64>,
    ) -> Self {
        let joined = joining_mask(costs, epsilon, excess_limit);
        Self {
            costs,
            path,
            weakest,
            epsilon,
            excess_limit,
            is_joined: joined.is_some(),
            set: joined.unwrap_or_else(|| costs.mask(epsilon)),
        }
    }

    /// Writes the [`files`] into their folder.
    fn write(
        &self,
        folder: &FilePath,
        [u1, u2, u, mask, path]: &[PathBuf; 5],
        images: &Images<'_>,
        command: &str,
        runner: &mut Runner,
    ) -> Result<(), Failure> {
        let _folder = make_folder(folder)?;
        let [first, second] = images.sides;
        let sum = self.costs.image();
        for (volume, path) in [(first, u1), (second, u2), (&sum, u)] {
            runner.run(SaveVolume {
                source: None,
                volume: volume.clone(),
                path: path.clone(),
                command: command.to_owned(),
            })?;
        }
        runner.run(SaveMask {
            mask: self.set.clone(),
            path: mask.clone(),
            command: command.to_owned(),
        })?;
        runner.run(SaveTractogram {
            tractogram: images.curve.clone(),
            path: path.clone(),
            command: command.to_owned(),
            values: ValueNames::default(),
        })?;
        Ok(())
    }

    fn value_and_text(&self) -> (Value, String) {
        let Self {
            costs: pathway,
            path,
            weakest,
            ref set,
            epsilon,
            ..
        } = *self;
        let (cost, length_mm) = (path.total_cost(), path.total_mm());
        let rate = path.mean_cost_per_mm();
        let value = json!({
            "command": "pathway",
            "least": pathway.min_cost,
            "ends": pathway.cost_at_ends,
            "epsilon": epsilon,
            "joined": self.is_joined,
            "joined_from": pathway.joining_epsilon,
            "pathway": { "voxels": set.count(), "volume_ml": set.volume_ml() },
            "path": {
                "cost": cost, "length_mm": length_mm, "cost_per_mm": rate,
                "along": { "length_mm": path.length_mm[1..], "cost_per_mm": path.cost_per_mm() },
                "weakest": weakest.map(|w| json!({
                    "cost_per_mm": w.cost_per_mm,
                    "times_mean": w.times_mean(),
                    "at": w.centre.to_array(),
                    "length_mm": w.length_mm,
                })),
            },
        });
        let stretch = weakest.map_or(
            "No weakest stretch: the path hardly leaves the regions".to_owned(),
            |w| {
                format!(
                    "Weakest {:.0} mm: {}, {:.1} times the mean of {} between the ends, around {:.1}, {:.1}, {:.1}",
                    w.length_mm,
                    per_mm(w.cost_per_mm),
                    w.times_mean(),
                    per_mm(w.mean_per_mm),
                    w.centre.x,
                    w.centre.y,
                    w.centre.z
                )
            },
        );
        let text = format!(
            "Least cost {:.3}\nThe path costs {cost:.3} and is {length_mm:.1} mm long: {}\n{stretch}\n\
             Pathway at ε = {}: {}, {:.2} ml; {}\n",
            pathway.min_cost,
            per_mm(rate),
            number(epsilon),
            counted(set.count(), "voxel"),
            set.volume_ml(),
            joined_text(pathway, self.excess_limit)
        );
        (value, text)
    }
}

/// Reports a pathway, its files, and the command that repeats it.
fn report<'a>(
    (mut value, mut text): (Value, String),
    files: &'a [PathBuf; 5],
    further: impl IntoIterator<Item = &'a PathBuf>,
    command: String,
    runner: &mut Runner,
) {
    value["files"] = json!(files);
    value["repeat"] = json!(command);
    for file in files.iter().chain(further) {
        text += &format!("{}\n", shown(file));
    }
    runner.report(&value, &text);
}
