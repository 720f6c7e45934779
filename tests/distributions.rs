//! Fibre orientation distributions that no solver has computed.

use arcuate::data::odf_field::Tissue;
use arcuate::data::spherical_harmonics::count;
use arcuate::data::{Gradients, Grid, Mask, OdfField, PeakField, Response, Shells, Volume};
use arcuate::solvers::csd;
use arcuate::solvers::peaks::Maps;
use arcuate::state::tensors::recipe::fod::ResponseAlgorithm;
use arcuate::state::tensors::types::fods::Fods;
use std::sync::Arc;

const ORDER: usize = 4;

/// Round distributions in every voxel.
pub fn round(grid: &Arc<Grid>, gradients: &Gradients) -> Fods {
    let n = grid.voxel_count();
    let mut coefficients = vec![0.0f32; n * count(ORDER)];
    coefficients[..n].fill(0.28);
    let image = |value: f32| Volume::scalar(grid.clone(), vec![value; n]);
    let response = Response::isotropic(&[1000.0], &[300.0]);
    Fods {
        output: csd::Output {
            field: OdfField::new(grid.clone(), ORDER, coefficients),
            tissues: Vec::new(),
            order: csd::OrderChoice {
                order: ORDER,
                reason: "12 directions at b 1000".to_owned(),
            },
            shells: Shells::new(gradients),
            counts: csd::Counts::default(),
            on_cpu: None,
        },
        responses: vec![(Tissue::WhiteMatter, response)],
        measured: Vec::new(),
        algorithm: Some(ResponseAlgorithm::Tournier),
        used_shells: 1..2,
        mask: Mask::new(grid.clone(), vec![1; n]),
        mask_found: None,
        peaks: Some(PeakField::new(grid.clone(), 1, vec![0.0f32; 3 * n])),
        high_peak: None,
        maps: Some(Maps {
            total: image(1.0),
            density: image(1.0),
            dispersion: image(1.0),
            complexity: image(0.5),
            dec: image(0.3),
        }),
        fractions: None,
    }
}
