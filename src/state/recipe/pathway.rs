//! The command of a pathway.

use super::{FitRecipe, RegionSpec, path};
use crate::data::Role;
use crate::io::quoted;
use crate::solvers::metric::Cost;
use crate::solvers::pathway::Params;
use std::path::Path;

/// `arcuate cost` for these regions.
pub fn command(
    fit: &FitRecipe,
    regions: &[RegionSpec],
    params: &Params,
    epsilon: f64,
    out: &Path,
) -> String {
    let mut text = format!("arcuate cost {}", fit.arguments());
    for region in regions {
        let name = match region.role {
            Role::Seed => "from",
            Role::Target => "to",
            Role::Mask => "within",
            Role::Exclude => "exclude",
            // Have no part in it.
            Role::Include | Role::Terminate | Role::Region => continue,
        };
        text += &format!(" --{name} {}", quoted(&region.shape.to_string()));
    }
    text += &format!(" --min-fa {}", params.min_fa);
    match params.cost {
        Cost::Inverse => text += " --metric inverse",
        Cost::Sharpened { alpha } => text += &format!(" --alpha {alpha}"),
        Cost::Isotropic => text += " --metric isotropic",
        Cost::Adjugate => text += " --metric adjugate",
    }
    text += &format!(" --local-solver {}", params.local.name());
    text + &format!(" --epsilon {epsilon} --out {}", path(out))
}
