//! The command of a pathway, and the recipe of a map of it.

use crate::data::{Region, Role, Volume};
use crate::io::quoted;
use crate::parameters::arguments;
use crate::solvers::lifted;
use crate::solvers::pathway::{Params, Width};
use crate::state::core::display::Display;
use crate::state::core::layer::{Content, Layer, LayerId, OriginId};
use crate::state::core::text::quoted_path;
use crate::state::pathways::{PathwayKey, PathwayResult};
use crate::state::regions::recipe::RegionSpec;
use crate::state::tensors::recipe::FitArguments;
use std::path::Path;

/// The recipe of a map of the voxels on which a pathway depends.
#[derive(Clone, PartialEq, Debug)]
pub struct SensitivityRecipe {
    pub fit: OriginId,
    pub regions: Vec<Region>,
    pub params: Params,
}

impl SensitivityRecipe {
    /// Whether a pathway has the same regions and parameters.
    pub fn has_inputs_of(&self, pathway: &PathwayResult) -> bool {
        let own = PathwayKey {
            field: pathway.field,
            regions: self.regions.clone(),
            params: self.params,
        };
        own == PathwayKey::from_result(pathway)
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

/// `--sensitivity FILE`.
pub fn sensitivity_argument(file: &Path) -> String {
    format!(" --sensitivity {}", quoted_path(file))
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

/// `--distance-to FILE`.
pub fn distance_argument(file: &Path) -> String {
    format!(" --distance-to {}", quoted_path(file))
}

/// `arcuate pathway` for these regions.
pub fn command(
    fit: &FitArguments,
    regions: &[RegionSpec],
    params: &Params,
    epsilon: f64,
    out: &Path,
) -> String {
    let mut text = format!("arcuate pathway {}", fit.text());
    text += &region_options(regions);
    text += &arguments(params);
    text += &arguments(&params.metric);
    text += &arguments(&Width { epsilon });
    text + &format!(" --out {}", quoted_path(out))
}

/// `arcuate pathway --fod` for these regions; `odf` names the file of distributions and its layout.
pub fn lifted_command(
    odf: &str,
    regions: &[RegionSpec],
    params: &lifted::Params,
    epsilon: f64,
    out: &Path,
) -> String {
    let mut text = format!("arcuate pathway {odf}");
    text += &region_options(regions);
    text += &arguments(params);
    text += &arguments(&Width { epsilon });
    text + &format!(" --out {}", quoted_path(out))
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
