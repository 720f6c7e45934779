//! The parameters of each function, from the tables of its solvers.

use crate::parameters::{Row, rows, rows_from};
use arcuate_engine::phantom::ScanParams;
use arcuate_engine::solvers::density::{Params as DensityParams, Voxels};
use arcuate_engine::solvers::geodesic::{OdfSpeed, Rays, TENSORS_ONLY};
use arcuate_engine::solvers::level_set::{self, TargetParts};
use arcuate_engine::solvers::tractogram::ProfileParams;
use arcuate_engine::solvers::{
    commit, connectivity, csd, curves, geodesic, lifted, metric, odf_tracking, pathway, peaks,
    response, tensor_fit,
};
use pyo3::prelude::*;

/// Rows of curves that apply only to streamlines.
pub const STREAMLINES_ONLY: &[&str] = &["deflect", "bootstrap"];

/// Rows that rays through distributions lack.
pub fn not_of_lobes() -> Vec<&'static str> {
    [STREAMLINES_ONLY, &TENSORS_ONLY].concat()
}

/// The rows of tracking, in tensors and in distributions.
pub fn track_rows() -> [Vec<Row>; 2] {
    [
        rows::<curves::Params>(&[]),
        rows::<odf_tracking::Params>(&[]),
    ]
}

/// The rows of rays, in tensors and in distributions.
pub fn ray_rows() -> [Vec<Row>; 2] {
    let of_curves = |without: &[&str]| rows_from(&geodesic::Params::defaults().curves, without);
    let not_of_lobes = not_of_lobes();
    let lobes = [
        of_curves(&not_of_lobes),
        rows_from(&Rays::lobe_defaults(), &not_of_lobes),
        rows::<OdfSpeed>(&[]),
    ];
    [
        [of_curves(STREAMLINES_ONLY), rows::<Rays>(&[])].concat(),
        lobes.concat(),
    ]
}

/// The rows of pathways, in tensors and in distributions.
pub fn pathway_rows() -> [Vec<Row>; 2] {
    let width = rows::<pathway::Width>(&[]);
    let tensors = [
        rows::<pathway::Params>(&[]),
        rows::<metric::Params>(&[]),
        width.clone(),
    ];
    [
        tensors.concat(),
        [rows::<lifted::Params>(&[]), width].concat(),
    ]
}

/// The rows of a function with two models. A row of both models states both defaults; the help of another row names its
/// model.
fn with_both([tensors, distributions]: [Vec<Row>; 2]) -> Vec<Row> {
    let mut all = Vec::new();
    for mut row in tensors.iter().cloned() {
        match distributions.iter().find(|other| other.0 == row.0) {
            None => row.5 += " (tensors only)",
            Some(other) if other.2 != row.2 => {
                row.2 = format!("{}; in distributions {}", row.2, other.2);
            }
            Some(_) => {}
        }
        all.push(row);
    }
    let is_new = |row: &&Row| tensors.iter().all(|other| other.0 != row.0);
    for mut row in distributions.iter().filter(is_new).cloned() {
        row.5 += " (distributions only)";
        all.push(row);
    }
    all
}

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
        "track" => vec![with_both(track_rows())],
        "rays" => vec![with_both(ray_rows())],
        "pathway" => vec![with_both(pathway_rows())],
        "segment" => vec![rows::<TargetParts>(&[]), rows::<level_set::Params>(&[])],
        "commit" => vec![rows::<commit::Params>(&[])],
        "density" => vec![rows::<Voxels>(&[]), rows::<DensityParams>(&[])],
        "connectome" => vec![rows::<connectivity::Params>(&[])],
        "profile" => vec![rows::<ProfileParams>(&[])],
        _ => Vec::new(),
    };
    tables.concat()
}
