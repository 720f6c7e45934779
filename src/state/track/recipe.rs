//! The recipe of kept streamlines and rays.

use crate::data::Region;
use crate::solvers::geodesic::Cut;
use crate::state::core::layer::OriginId;
use crate::state::track::types::CurveParams;

/// The recipe of kept streamlines or rays.
#[derive(Clone, PartialEq, Debug)]
pub struct CurveRecipe {
    pub fit: OriginId,
    pub regions: Vec<Region>,
    pub curves: CurveParams,
    pub cut: Cut,
}
