//! Fibre orientation distributions that no solver has computed.

use crate::done_event;
use arcuate::data::odf_field::Tissue;
use arcuate::data::spherical_harmonics::{count, degrees, evaluate, quadrature};
use arcuate::data::{
    Gradients, Grid, Mask, OdfField, PeakField, Response, Shells, TissueType, Volume, VolumeKind,
};
use arcuate::solvers::csd;
use arcuate::solvers::peaks::Maps;
use arcuate::state::tensors::jobs::fod::EstimateFods;
use arcuate::state::tensors::recipe::fod::ResponseAlgorithm;
use arcuate::state::tensors::types::fods::{FodResult, FodSettings, Fods};
use arcuate::state::{Action, Content, Document, State, TensorAction, update};
use glam::DVec3;
use std::sync::Arc;

const ORDER: usize = 4;

/// Requests the distributions of a document with its settings changed; the estimation that is submitted.
pub fn requested(state: &mut State, change: impl FnOnce(&mut FodSettings)) -> EstimateFods {
    let mut settings = state.document.distributions.settings.clone();
    settings.requested = true;
    change(&mut settings);
    let effects = update(state, Action::Tensors(TensorAction::SetFods(settings)));
    let mut jobs = effects.iter().filter_map(|e| e.job::<EstimateFods>());
    jobs.next().expect("an estimation").clone()
}

/// Gives a document distributions of its scan as if they had been estimated with its settings.
pub fn give(document: &mut Document, fods: impl FnOnce(&Arc<Grid>, &Gradients) -> Fods) {
    let scan = document.scan().expect("a scan").clone();
    let Content::Scan {
        dwi,
        gradients: Some(gradients),
    } = &scan.content
    else {
        panic!("a scan with gradients");
    };
    document.distributions.settings.requested = true;
    let key = document.requested_fods().expect("requested");
    document.distributions.result = Some(Arc::new(FodResult {
        key,
        origin: scan.origin,
        fods: Arc::new(fods(&dwi.grid, gradients)),
        wall_ms: 1900.0,
    }));
}

/// An estimation ends with these distributions.
pub fn estimated(job: EstimateFods, fods: Fods) -> Action {
    Action::Event(done_event(job, 7, Box::new(fods)))
}

/// A lobe along y in every voxel of a ball, as an image in MRtrix's basis and world axes.
pub fn image(grid: &Arc<Grid>) -> Volume {
    let n = grid.voxel_count();
    let half = DVec3::from_array(grid.shape.map(|size| size as f64 / 2.0));
    let inside = |i: usize| {
        let v = DVec3::from_array(grid.voxel(i).map(|v| v as f64)) + 0.5;
        ((v - half) / half).length() < 0.8
    };
    let lobe = evaluate(ORDER, DVec3::Y).into_iter().zip(degrees(ORDER));
    // Smoothed so that it has no negative values.
    let smooth = lobe.map(|(c, (l, _))| (c * (-0.06 * (l * (l + 1)) as f64).exp()) as f32);
    let values = smooth.flat_map(|c| (0..n).map(move |i| if inside(i) { c } else { 0.0 }));
    let values: Vec<f32> = values.collect();
    Volume::new(grid.clone(), count(ORDER), VolumeKind::Scalar, values)
}

/// Round distributions in every voxel.
pub fn round(grid: &Arc<Grid>, gradients: &Gradients) -> Fods {
    let n = grid.voxel_count();
    let mut coefficients = vec![0.0f32; n * count(ORDER)];
    coefficients[..n].fill(0.28);
    let image = |value: f32| Volume::scalar(grid.clone(), vec![value; n]);
    let response = Response::isotropic(&[1000.0], &[300.0]);
    let shells = Shells::new(gradients);
    Fods {
        // An image that was read has no shells.
        used_shells: if shells.shells.is_empty() { 0..0 } else { 1..2 },
        output: csd::Output {
            field: OdfField::new(grid.clone(), ORDER, coefficients),
            tissues: Vec::new(),
            order: csd::OrderChoice {
                order: ORDER,
                reason: "12 directions at b 1000".to_owned(),
            },
            shells,
            counts: csd::Counts::default(),
            on_cpu: None,
            kernel_s: None,
        },
        responses: vec![(Tissue::WhiteMatter, response)],
        measured: Vec::new(),
        algorithm: Some(ResponseAlgorithm::Tournier),
        mask: Mask::new(grid.clone(), vec![1; n]),
        mask_report: None,
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
        uncertainty: None,
    }
}

/// Order of crossing lobes.
const CROSSING_ORDER: usize = 8;

/// Bundles along x and y that cross in every voxel of a ball around the origin, mm: half of (u · axis)^8 each.
pub fn crossing(grid: &Arc<Grid>, gradients: &Gradients, radius_mm: f64) -> Fods {
    let mut lobes = vec![0.0; count(CROSSING_ORDER)];
    for (u, weight) in quadrature(2 * CROSSING_ORDER) {
        let f = 0.5 * (u.x.powi(8) + u.y.powi(8));
        for (sum, y) in lobes.iter_mut().zip(evaluate(CROSSING_ORDER, u)) {
            *sum += weight * f * y;
        }
    }
    let n = grid.voxel_count();
    let mut coefficients = vec![0.0f32; n * lobes.len()];
    let inside = (0..n).filter(|voxel| centre(grid, *voxel).length() < radius_mm);
    for voxel in inside {
        for (i, value) in lobes.iter().enumerate() {
            coefficients[i * n + voxel] = *value as f32;
        }
    }
    let mut fods = round(grid, gradients);
    fods.output.field = OdfField::new(grid.clone(), CROSSING_ORDER, coefficients);
    fods.output.order.order = CROSSING_ORDER;
    fods
}

/// Five tissues: white matter within `half_mm` of the planes x = 0 and y = 0, cortical grey matter beyond it in y, and
/// CSF beyond it in x.
pub fn tissues(grid: &Arc<Grid>, half_mm: f64) -> Volume {
    let n = grid.voxel_count();
    let mut values = vec![0.0f32; n * TissueType::COUNT];
    for voxel in 0..n {
        let at = centre(grid, voxel);
        let tissue = if at.y.abs() > half_mm {
            TissueType::CorticalGrey
        } else if at.x.abs() > half_mm {
            TissueType::Csf
        } else {
            TissueType::White
        };
        values[tissue as usize * n + voxel] = 1.0;
    }
    let kind = VolumeKind::Scalar;
    Volume::new(grid.clone(), TissueType::COUNT, kind, values)
}

fn centre(grid: &Grid, voxel: usize) -> DVec3 {
    grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)))
}
