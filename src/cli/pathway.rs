//! `arcuate pathway`: cost fields of two regions, and the pathway between them, in the metric of tensors or through fibre
//! orientation distributions.

mod lifted;
mod tensors;

pub use tensors::PathwayInputs;

use super::options::{DomainOptions, ImageEnding, shape};
use super::runner::{Failure, Runner};
use crate::data::region::RegionId;
use crate::data::text::{counted, number};
use crate::data::{Mask, Region, Role, Tractogram, Volume};
use crate::jobs::ValueNames;
use crate::solvers::pathway::{JointCosts, Path};
use crate::state::files::jobs::{SaveMask, SaveTractogram, SaveVolume};
use crate::state::pathways::CostliestStretch;
use crate::state::pathways::recipe::option;
use crate::state::regions::recipe::{RegionSpec, ShapeSpec};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
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
elsewhere up to 33, and a turn by one radian as much as --curvature-price mm along a fibre. A path goes straight through
a crossing and pays for turning into the other bundle. Costs in the images are 0 to 30 % too high, as those of turns are
rough; the cost of the path is summed along the smoothed path, and is not. Images hold NaN where u exceeds the minimum
by more than 30 %, or by more than epsilon.

A path exists between almost any two regions: on its own it is no evidence of a connection. --null compares its
weakest stretch and its cost per mm with those of the cheapest paths between random regions of white matter in the
same head, as large as the two given, on voxels of twice the size. For a bundle, both are lower than for most random
pairs.

--sensitivity writes the sensitivity of the pathway: the percentage of the least cost that depends on each. In a
voxel of 1 %, raising the cost by a tenth raises the least cost by a thousandth. The percentages add up to 100.";

/// Reported if neither a scan nor distributions are named.
const NO_MODEL: &str = "Found neither a scan nor --fod, expected one of them; name a scan for the metric of its tensors, \
                        or a file of distributions";

/// The options of one model.
#[derive(Debug)]
pub enum Options {
    Tensors(Box<tensors::Options>),
    Lifted(Box<lifted::Options>),
}

fn wrong_usage(sentence: impl std::fmt::Display) -> clap::Error {
    clap::Error::raw(ErrorKind::ArgumentConflict, sentence)
}

fn is_given(matches: &ArgMatches, id: &str) -> bool {
    matches.value_source(id) == Some(ValueSource::CommandLine)
}

fn has(options: &[Arg], arg: &Arg) -> bool {
    options.iter().any(|option| option.get_id() == arg.get_id())
}

/// The options of tensors, and those of distributions, in the order of the help.
fn all_options() -> [Vec<Arg>; 2] {
    let tensors = tensors::Options::augment_args(Command::new("tensors"));
    let lifted = lifted::Options::augment_args(Command::new("lifted"));
    [tensors, lifted].map(|command| {
        let mut options: Vec<Arg> = command.get_arguments().cloned().collect();
        options.sort_by_key(Arg::get_display_order);
        options
    })
}

/// Refuses options that only the other model has.
fn refuse_foreign(matches: &ArgMatches, is_lifted: bool) -> Result<(), clap::Error> {
    let [tensors, lifted] = all_options();
    let (own, foreign, model, remedy) = match is_lifted {
        true => (
            lifted,
            tensors,
            "distributions",
            "name a scan instead of --fod for pathways through its tensors",
        ),
        false => (
            tensors,
            lifted,
            "tensors",
            "choose distributions with --fod instead of the scan",
        ),
    };
    let given = foreign
        .iter()
        .find(|arg| !has(&own, arg) && is_given(matches, arg.get_id().as_str()));
    match given.and_then(Arg::get_long) {
        None => Ok(()),
        Some(option) => Err(wrong_usage(format!(
            "Found --{option}, expected an option of pathways through {model}; leave it out, or {remedy}"
        ))),
    }
}

impl Args for Options {
    fn augment_args(command: Command) -> Command {
        let [tensors, lifted] = all_options();
        // The choice of the model comes first, then the scan and what both have.
        let (choices, lifted): (Vec<Arg>, Vec<Arg>) =
            lifted.into_iter().partition(|arg| arg.get_id() == "fod");
        let (shared, tensors): (Vec<Arg>, Vec<Arg>) = tensors
            .into_iter()
            .partition(|arg| arg.is_positional() || has(&lifted, arg));
        let choices = choices.into_iter().map(|arg| arg.required(false));
        let lifted = lifted.into_iter().filter(|arg| !has(&shared, arg));
        let lifted: Vec<Arg> = lifted
            .map(|arg| arg.help_heading("Options for distributions (--fod)"))
            .collect();
        let shared = shared.into_iter().map(|arg| match arg.is_positional() {
            true => arg.required(false).help(
                "Diffusion scan (NIfTI), phantom:SEED or phantom:crossing:SEED, for pathways through its tensors; none with \
                 --fod",
            ),
            false => arg,
        });
        let tensors = tensors
            .into_iter()
            .map(|arg| arg.help_heading("Options for tensors (SCAN)"));
        let options = choices.chain(shared).chain(tensors).chain(lifted);
        let options = options.enumerate().map(|(i, arg)| arg.display_order(i));
        command.args(options).after_help(EXAMPLES)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Options {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_lifted = is_given(matches, "fod");
        match (matches.get_one::<String>("scan"), is_lifted) {
            (None, false) => return Err(wrong_usage(NO_MODEL)),
            (Some(scan), true) => {
                return Err(wrong_usage(format!(
                    "Found the scan {scan} and --fod, expected one of them; leave out the scan for pathways through \
                     distributions, or --fod for pathways through the tensors of the scan"
                )));
            }
            _ => refuse_foreign(matches, is_lifted)?,
        }
        Ok(match is_lifted {
            true => Self::Lifted(Box::new(FromArgMatches::from_arg_matches(matches)?)),
            false => Self::Tensors(Box::new(FromArgMatches::from_arg_matches(matches)?)),
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
    /// Regions where paths cost more: they pass only where the detour costs more still
    #[arg(long, value_name = "REGION")]
    pub costly: Vec<ShapeSpec>,
}

impl PathwayRegions {
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

/// The part of the pathway that joins the regions; a warning if there is none.
fn joining_mask(costs: &JointCosts, epsilon: f64) -> Option<Mask> {
    let joined = costs.joining_mask(epsilon);
    if joined.is_none() {
        warning!(
            "The pathway is not joined at this width, found --epsilon {}, expected at least \
             {:.4}; widen it",
            number(epsilon),
            costs.joining_epsilon
        );
    }
    joined
}

/// A pathway and its cheapest path.
struct Summary<'a> {
    costs: &'a JointCosts,
    path: &'a Path,
    weakest: Option<&'a CostliestStretch>,
    set: &'a Mask,
    epsilon: f64,
}

impl Summary<'_> {
    /// Writes the [`files`].
    fn write(
        &self,
        [u1, u2, u, mask, path]: &[PathBuf; 5],
        [first, second]: &[Volume; 2],
        curve: &Tractogram,
        command: &str,
        runner: &mut Runner,
    ) -> Result<(), Failure> {
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
            tractogram: curve.clone(),
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
            set,
            epsilon,
        } = *self;
        let (cost, length_mm) = (path.total_cost(), path.total_mm());
        let rate = cost / length_mm.max(f64::MIN_POSITIVE);
        let value = json!({
            "command": "pathway",
            "least": pathway.min_cost,
            "ends": pathway.cost_at_ends,
            "epsilon": epsilon,
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
                    "Weakest {:.0} mm: {:.3} per mm, {:.1} times the mean between the ends, around {:.1}, {:.1}, {:.1}",
                    w.length_mm,
                    w.cost_per_mm,
                    w.times_mean(),
                    w.centre.x,
                    w.centre.y,
                    w.centre.z
                )
            },
        );
        let text = format!(
            "Least cost {:.3}\nThe path costs {cost:.3} and is {length_mm:.1} mm long: {rate:.3} per mm\n{stretch}\n\
             Pathway at ε = {}: {}, {:.2} ml; joined from ε = {:.4}\n",
            pathway.min_cost,
            number(epsilon),
            counted(set.count(), "voxel"),
            set.volume_ml(),
            pathway.joining_epsilon
        );
        (value, text)
    }
}
