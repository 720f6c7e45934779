//! Response functions from a scan: which voxels they are measured in, and their values.
//!
//! [`dhollander`] finds voxels of white matter with a single bundle, of grey matter and of fluid without any other
//! image (Dhollander 2016 and 2019); [`tournier`] finds single bundles in one shell (Tournier 2013, NMR Biomed
//! 26:1775); [`from_mask`] takes the voxels of a mask. From chosen voxels, one least-squares fit for each shell gives
//! the zonal harmonics of all samples by their angle to the voxel's direction, with a signal that is not negative and
//! rises with the angle (Smith, Dhollander and Connelly 2017): `fit`.
//!
//! # Example
//!
//! The response of fibres is smallest along them:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::odf_field::Tissue;
//! use arcuate_engine::solvers::response::{Params, from_mask};
//! # use arcuate_engine::data::{Gradients, Grid, Mask, Volume, VolumeKind};
//! # use arcuate_engine::phantom::directions::half_sphere;
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! // The signal of fibres along x in 8 voxels, at b = 0 and in 60 directions.
//! let (along, across, b) = (1.7e-3, 2e-4, 3000.0);
//! let mut gradients = Gradients {
//!     b_s_per_mm2: vec![0.0],
//!     directions: vec![DVec3::ZERO],
//! };
//! for direction in half_sphere(60) {
//!     gradients.b_s_per_mm2.push(b);
//!     gradients.directions.push(direction);
//! }
//! let signal = |(b, g): (&f64, &DVec3)| (-b * (across + (along - across) * g.x * g.x)).exp();
//! let signals = gradients.b_s_per_mm2.iter().zip(&gradients.directions).map(signal);
//! let values: Vec<f32> = signals.flat_map(|s| [100.0 * s as f32; 8]).collect();
//! let grid = Grid::axis_aligned([2, 2, 2], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let grid = Arc::new(grid);
//! let scan = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
//! let mask = Mask::new(grid, vec![1; 8]);
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let (tissue, params) = (Tissue::WhiteMatter, Params::defaults());
//! let estimate = from_mask(&scan, &gradients, &mask, tissue, &params, &backend, &control)?;
//! let response = &estimate.tissues[0].response;
//! assert_eq!(response.shell_count(), 2);
//! assert!(response.signal(1, 1.0) < 0.1 * response.signal(1, 0.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod dhollander;
mod error;
mod fit;
mod parameters;
mod quadratic;
mod threshold;
mod tournier;

pub use algorithm::{
    NotSeparable, OtherScale, ResponseAlgorithm, check_scale, check_separable, used,
};
pub use dhollander::dhollander;
pub use error::InputError;
pub use fit::{fibres, isotropic};
pub use parameters::Params;
pub use threshold::optimal_threshold;
pub use tournier::tournier;

pub use super::Error;
use super::tensor_fit;
use crate::compute::{Backend, Control};
use crate::data::odf_field::Tissue;
use crate::data::{Gradients, Mask, Response, Shells, Volume};
use glam::DVec3;

/// A response function, and where it was measured.
#[derive(Clone, Debug)]
pub struct TissueResponse {
    /// Tissue that was measured.
    pub tissue: Tissue,
    /// Signal by shell and degree.
    pub response: Response,
    /// The voxels that it was measured in.
    pub voxels: Mask,
    /// Number of voxels among which these were chosen; `None` for those of a given mask.
    pub candidates: Option<usize>,
}

/// Fewer voxels leave a response function doubtful. The signal of a tissue varies by some 15 % from voxel to voxel, so
/// that the mean of 10 is known to 5 %, the accuracy to which response functions are tested.
pub const MIN_VOXELS: usize = 10;
/// Fibres cross in most voxels of white matter, so that no more than half of the candidates have a single bundle.
const MAX_SINGLE_FIBRE_SHARE: f64 = 0.5;

/// Why the voxels of a response function are doubtful.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    /// There are too few.
    FewVoxels,
    /// Nearly all candidates were taken as single bundles.
    NearlyAll,
}

impl TissueResponse {
    /// Whether the voxels are few, or include those of crossings.
    pub fn doubt(&self) -> Option<Doubt> {
        let voxels = self.voxels.count();
        if voxels < MIN_VOXELS {
            return Some(Doubt::FewVoxels);
        }
        let candidates = self
            .candidates
            .filter(|_| self.tissue == Tissue::WhiteMatter)?;
        let is_nearly_all = voxels as f64 > MAX_SINGLE_FIBRE_SHARE * candidates as f64;
        is_nearly_all.then_some(Doubt::NearlyAll)
    }
}

/// Result of an estimation.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// White matter first.
    pub tissues: Vec<TissueResponse>,
    /// Shells of the scan, as the response functions list them.
    pub shells: Shells,
}

impl Estimate {
    /// The response functions alone, white matter first.
    pub fn responses(&self) -> Vec<Response> {
        self.tissues.iter().map(|t| t.response.clone()).collect()
    }
}

/// The response function of one tissue from the voxels of a mask. For white matter the direction of a voxel is the
/// principal direction of its tensor.
pub fn from_mask(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    tissue: Tissue,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Estimate, Error> {
    params.check()?;
    let shells = checked_shells(dwi, gradients, mask, Some(tissue))?;
    let voxels = inside(mask);
    let response = match tissue {
        Tissue::WhiteMatter => {
            let tensors = principal_directions(dwi, gradients, mask, backend, control)?;
            let directions = voxels.iter().map(|v| tensors.directions[*v]);
            let directions: Vec<DVec3> = directions.collect();
            fibres(dwi, gradients, &shells, &voxels, &directions, params.order)
        }
        Tissue::GreyMatter | Tissue::Csf => isotropic(dwi, &shells, &voxels),
    }?;
    let tissues = vec![TissueResponse {
        tissue,
        response,
        candidates: None,
        voxels: mask.clone(),
    }];
    Ok(Estimate { tissues, shells })
}

/// Fractional anisotropy and principal direction of each voxel of the grid; 0 outside the fit.
struct Tensors {
    fa: Volume,
    directions: Vec<DVec3>,
}

/// Tensors of all shells, as in MRtrix's scripts: FA serves to separate tissues only.
fn principal_directions(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    backend: &Backend,
    control: &Control,
) -> Result<Tensors, Error> {
    let params = tensor_fit::Params::defaults();
    let fitted = tensor_fit::fit(dwi, gradients, mask, &params, backend, control)?;
    let maps = tensor_fit::maps(&fitted.field, backend, control)?;
    fitted.on_host()?;
    maps.on_host()?;
    let n = dwi.grid.voxel_count();
    let direction = |v: usize| {
        let part = |axis: usize| f64::from(maps.direction.frame(axis)[v]);
        DVec3::new(part(0), part(1), part(2)).normalize_or_zero()
    };
    Ok(Tensors {
        directions: (0..n).map(direction).collect(),
        fa: maps.fa,
    })
}

fn inside(mask: &Mask) -> Vec<usize> {
    let marks = mask.inside.iter().enumerate();
    marks.filter(|(_, m)| **m != 0).map(|(v, _)| v).collect()
}

fn mask_of(like: &Mask, voxels: &[usize]) -> Mask {
    let mut marks = vec![0u8; like.inside.len()];
    for &voxel in voxels {
        marks[voxel] = 1;
    }
    Mask::new(like.grid.clone(), marks)
}

/// `tissue`: that of the mask; `None` for a brain mask.
fn checked_shells(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    tissue: Option<Tissue>,
) -> Result<Shells, InputError> {
    if dwi.frames != gradients.len() || gradients.directions.len() != gradients.len() {
        return Err(InputError::Counts {
            volumes: dwi.frames,
            rows: gradients.len(),
        });
    }
    if !dwi.grid.matches(&mask.grid) {
        return Err(InputError::MaskGrid);
    }
    if mask.count() == 0 {
        return Err(InputError::EmptyMask(tissue));
    }
    let shells = Shells::new(gradients);
    match shells.shells.last() {
        Some(shell) if shell.b_s_per_mm2 > 0.0 => Ok(shells),
        _ => Err(InputError::NotWeighted),
    }
}
