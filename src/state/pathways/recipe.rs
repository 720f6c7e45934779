//! The commands of a pathway and of its repetitions, and the recipes of maps of them.

use crate::data::{Region, Role, ShellCommand, Volume};
use crate::io::quoted;
use crate::parameters::{Parameters, arguments, arguments_of};
use crate::solvers::lifted::{self, SensitivityTo};
use crate::solvers::pathway::{COSTLY_FACTOR, Params, RepetitionParams, Width};
use crate::state::core::display::Display;
use crate::state::core::layer::{Content, Layer, LayerId, OriginId};
use crate::state::core::text::quoted_path;
use crate::state::pathways::{PathwayKey, PathwayParams, PathwayResult};
use crate::state::regions::recipe::RegionSpec;
use crate::state::tensors::recipe::FitArguments;
use crate::state::tensors::recipe::fod::{FODS_FOLDER, FodArguments, WHITE_MATTER_FILE};
use std::path::{Path, PathBuf};

/// The inputs of a pathway.
#[derive(Clone, Copy, Debug)]
pub struct PathwayInputs<'a> {
    /// The fit of the tensors, or the distributions.
    pub fit: OriginId,
    pub regions: &'a [Region],
    pub params: PathwayParams,
}

impl PathwayInputs<'_> {
    /// Whether a pathway has the same regions and parameters.
    pub fn are_those_of(&self, pathway: &PathwayResult) -> bool {
        let own = PathwayKey {
            regions: self.regions.to_vec(),
            params: self.params,
            ..pathway.key.clone()
        };
        own == pathway.key
    }
}

/// The recipe of a map of the voxels on which a pathway depends.
#[derive(Clone, PartialEq, Debug)]
pub struct SensitivityRecipe {
    /// The fit of the tensors, or the distributions.
    pub fit: OriginId,
    pub regions: Vec<Region>,
    pub params: PathwayParams,
    /// Only distributions have amplitudes.
    pub to: SensitivityTo,
}

impl SensitivityRecipe {
    pub fn pathway(&self) -> PathwayInputs<'_> {
        PathwayInputs {
            fit: self.fit,
            regions: &self.regions,
            params: self.params,
        }
    }

    /// The layer of a map with these values, percent.
    pub fn layer(
        id: LayerId,
        name: String,
        values: Volume,
        display: Display,
        origin: OriginId,
    ) -> Layer {
        Layer {
            unit: "%",
            ..Layer::new(id, name, Content::Image(values), display, origin)
        }
    }
}

/// The folder of a pathway, and the options of a map in this file. A map needs no random pairs.
pub fn outputs(out: &Path, map: Option<SensitivityTo>) -> (&Path, String) {
    match map {
        Some(to) => (
            Path::new("pathway"),
            sensitivity_arguments(out, to) + " --null 0",
        ),
        None => (out, String::new()),
    }
}

/// `--sensitivity FILE`, and to what unless that is the cost.
pub fn sensitivity_arguments(file: &Path, to: SensitivityTo) -> String {
    let file = quoted_path(file);
    match to {
        SensitivityTo::Cost => format!(" --sensitivity {file}"),
        other => format!(" --sensitivity {file} --sensitivity-to {}", other.key()),
    }
}

/// The recipe of the shares of repetitions whose pathways contain the voxels.
#[derive(Clone, PartialEq, Debug)]
pub struct ShareRecipe {
    pub fit: OriginId,
    pub regions: Vec<Region>,
    pub params: PathwayParams,
    pub epsilon: f64,
    pub repetitions: RepetitionParams,
}

impl ShareRecipe {
    pub fn pathway(&self) -> PathwayInputs<'_> {
        PathwayInputs {
            fit: self.fit,
            regions: &self.regions,
            params: self.params,
        }
    }

    /// The layer of these shares, 0 to 1.
    pub fn layer(
        id: LayerId,
        name: String,
        shares: Volume,
        display: Display,
        origin: OriginId,
    ) -> Layer {
        Layer {
            unit: "%",
            unit_scale: 100.0,
            ..Layer::new(id, name, Content::Image(shares), display, origin)
        }
    }
}

/// The model of a pathway that is repeated.
#[derive(Clone, PartialEq, Debug)]
pub enum RepeatedModel {
    Tensors(FitArguments, Params),
    Distributions(Box<FodArguments>, lifted::Params),
}

/// The repetitions of a pathway.
#[derive(Clone, PartialEq, Debug)]
pub struct UncertaintyCommand {
    pub model: RepeatedModel,
    pub regions: Vec<RegionSpec>,
    pub epsilon: f64,
    pub repetitions: RepetitionParams,
    /// The mask whose distance from the paths is requested.
    pub distance_to: Option<PathBuf>,
}

impl UncertaintyCommand {
    /// The command that writes into this folder, after the estimation of the distributions.
    pub fn commands(&self, out: &Path) -> Vec<ShellCommand> {
        let (regions, epsilon) = (&self.regions, self.epsilon);
        let mut commands = Vec::new();
        let mut text = match &self.model {
            RepeatedModel::Tensors(fit, params) => {
                command("uncertainty", fit, regions, params, epsilon, out)
            }
            RepeatedModel::Distributions(fods, params) => {
                let folder = Path::new(FODS_FOLDER);
                commands.push(fods.command(folder));
                let file = quoted_path(&folder.join(WHITE_MATTER_FILE));
                let odf = format!("{} --fod {file}", fods.source.arguments());
                lifted_command("uncertainty", &odf, regions, params, epsilon, out)
            }
        };
        text += &arguments(&self.repetitions);
        if let Some(file) = &self.distance_to {
            text += &distance_argument(file);
        }
        commands.push(text.into());
        commands
    }
}

/// `--distance-to FILE`.
pub fn distance_argument(file: &Path) -> String {
    format!(" --distance-to {}", quoted_path(file))
}

/// Option of `arcuate pathway` for regions with this role, without its dashes; `None` if they have no effect.
pub fn option(role: Role) -> Option<&'static str> {
    match role {
        Role::Seed => Some("from"),
        Role::Target => Some("to"),
        Role::Mask => Some("within"),
        Role::Exclude => Some("exclude"),
        Role::Costly => Some("costly"),
        Role::Include | Role::Terminate | Role::Region => None,
    }
}

/// `arcuate pathway`, or another command with its inputs, for these regions.
pub fn command(
    name: &str,
    fit: &FitArguments,
    regions: &[RegionSpec],
    params: &Params,
    epsilon: f64,
    out: &Path,
) -> String {
    let mut text = format!("arcuate {name} {}", fit.text());
    text += &region_options(regions);
    text += &cost_options(params, regions);
    text += &arguments(&params.metric);
    text += &arguments(&Width { epsilon });
    text + &format!(" --out {}", quoted_path(out))
}

/// `arcuate pathway --fod`, or another command with its inputs, for these regions; `odf` names the file of distributions and
/// its layout.
pub fn lifted_command(
    name: &str,
    odf: &str,
    regions: &[RegionSpec],
    params: &lifted::Params,
    epsilon: f64,
    out: &Path,
) -> String {
    let mut text = format!("arcuate {name} {odf}");
    text += &region_options(regions);
    text += &cost_options(params, regions);
    text += &arguments(&Width { epsilon });
    text + &format!(" --out {}", quoted_path(out))
}

/// A pathway through distributions, which a command before it estimates or reads.
#[derive(Clone, PartialEq, Debug)]
pub struct LiftedPathwayCommand {
    pub fods: FodArguments,
    pub regions: Vec<RegionSpec>,
    pub params: lifted::Params,
    pub epsilon: f64,
    /// The map that is its result; `None`: the pathway.
    pub map: Option<SensitivityTo>,
}

impl LiftedPathwayCommand {
    /// The estimation of the distributions and the pathway through them.
    pub fn commands(&self, out: &Path) -> Vec<ShellCommand> {
        let folder = Path::new(FODS_FOLDER);
        let odf = format!("--fod {}", quoted_path(&folder.join(WHITE_MATTER_FILE)));
        let (out, map) = outputs(out, self.map);
        let text = lifted_command(
            "pathway",
            &odf,
            &self.regions,
            &self.params,
            self.epsilon,
            out,
        );
        vec![self.fods.command(folder), (text + &map).into()]
    }
}

/// The options of a table; the factor of costly regions only with such a region, without which it is refused.
fn cost_options<P: Parameters>(params: &P, regions: &[RegionSpec]) -> String {
    let has_costly = regions.iter().any(|region| region.role == Role::Costly);
    let keys = P::TABLE.iter().map(|row| row.key);
    let keys: Vec<&str> = keys
        .filter(|key| has_costly || *key != COSTLY_FACTOR)
        .collect();
    arguments_of(params, &keys)
}

fn region_options(regions: &[RegionSpec]) -> String {
    let mut text = String::new();
    for region in regions {
        if let Some(name) = option(region.role) {
            text += &format!(" --{name} {}", quoted(&region.shape.to_string()));
        }
    }
    text
}
