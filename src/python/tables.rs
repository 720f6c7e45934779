//! The parameters of each function, from the tables of its solvers.

use crate::parameters::{Row, rows};
use crate::solve::NOT_YET;
use arcuate_engine::phantom::ScanParams;
use arcuate_engine::solvers::density::{Params as DensityParams, Voxels};
use arcuate_engine::solvers::level_set::{self, TargetParts};
use arcuate_engine::solvers::tractogram::ProfileParams;
use arcuate_engine::solvers::{
    commit, connectivity, csd, curves, geodesic, metric, pathway, peaks, response, tensor_fit,
};
use pyo3::prelude::*;

/// Rows of curves that apply only to streamlines.
pub const STREAMLINES_ONLY: &[&str] = &["deflect", "bootstrap"];

/// The parameters of a function, from the tables of its solvers.
#[pyfunction]
pub fn parameters(function: &str) -> Vec<Row> {
    let tables: Vec<Vec<Row>> = match function {
        "fit" => vec![rows::<tensor_fit::Params>(&[])],
        "phantom" => vec![rows::<ScanParams>(&[])],
        "fod" => vec![
            rows::<csd::Params>(&[]),
            rows::<response::Params>(&[]),
            rows::<peaks::Params>(&[]),
        ],
        "track" => vec![rows::<curves::Params>(NOT_YET)],
        "rays" => {
            let curves = geodesic::Params::defaults().curves;
            vec![
                crate::parameters::rows_from(&curves, STREAMLINES_ONLY),
                rows::<geodesic::Rays>(&[]),
            ]
        }
        "pathway" => vec![
            rows::<pathway::Params>(&[]),
            rows::<metric::Params>(&[]),
            rows::<pathway::Width>(&[]),
        ],
        "segment" => vec![rows::<TargetParts>(&[]), rows::<level_set::Params>(&[])],
        "commit" => vec![rows::<commit::Params>(&[])],
        "density" => vec![rows::<Voxels>(&[]), rows::<DensityParams>(&[])],
        "connectome" => vec![rows::<connectivity::Params>(&[])],
        "profile" => vec![rows::<ProfileParams>(&[])],
        _ => Vec::new(),
    };
    tables.concat()
}
