//! The command of a pathway.

use crate::data::Role;
use crate::io::quoted;
use crate::parameters::arguments;
use crate::solvers::pathway::{Params, Width};
use crate::state::core::text::quoted_path;
use crate::state::regions::recipe::RegionSpec;
use crate::state::tensors::recipe::FitArguments;
use std::path::Path;

/// `arcuate pathway` for these regions.
pub fn command(
    fit: &FitArguments,
    regions: &[RegionSpec],
    params: &Params,
    epsilon: f64,
    out: &Path,
) -> String {
    let mut text = format!("arcuate pathway {}", fit.text());
    for region in regions {
        let name = match region.role {
            Role::Seed => "from",
            Role::Target => "to",
            Role::Mask => "within",
            Role::Exclude => "exclude",
            // These roles have no effect.
            Role::Include | Role::Terminate | Role::Region => continue,
        };
        text += &format!(" --{name} {}", quoted(&region.shape.to_string()));
    }
    text += &arguments(params);
    text += &arguments(&params.metric);
    text += &arguments(&Width { epsilon });
    text + &format!(" --out {}", quoted_path(out))
}
