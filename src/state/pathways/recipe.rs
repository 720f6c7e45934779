//! The command of a pathway.

use crate::data::Role;
use crate::io::quoted;
use crate::parameters::arguments;
use crate::solvers::pathway::{Params, Width};
use crate::state::core::text::quoted_path;
use crate::state::regions::recipe::RegionSpec;
use crate::state::tensors::recipe::FitArguments;
use std::path::Path;

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
        let Some(name) = option(region.role) else {
            continue;
        };
        text += &format!(" --{name} {}", quoted(&region.shape.to_string()));
    }
    text += &arguments(params);
    text += &arguments(&params.metric);
    text += &arguments(&Width { epsilon });
    text + &format!(" --out {}", quoted_path(out))
}
