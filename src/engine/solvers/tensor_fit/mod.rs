//! Diffusion tensors from a diffusion-weighted scan.
//!
//! Model (Basser, Mattiello and Le Bihan 1994, J Magn Reson B 103:247): the signal with weighting b along the unit
//! vector g is S = S0 exp(-b gᵀDg), so that ln S is linear in the six components of D and in ln S0. Gradient
//! directions are in world axes, and so is D.
//!
//! Scheme: least squares on ln S. Noise of equal strength in S has a standard deviation ∝ 1/S in ln S (Salvador et
//! al. 2005, Hum Brain Mapp 24:144), so the best weights are S²; they are taken from the signal *predicted* by the
//! previous solve, which is less biased than the measured one (Veraart et al. 2013, NeuroImage 81:335). Cost: per
//! voxel, volume and weighted solve 22 + 7 + 7 multiply-adds (distinct products, right-hand side, prediction) and one
//! exponential.
//!
//! Samples that are not positive, not finite, or below 1e-6 of the voxel's largest are left out of that voxel's fit.
//! They are mostly padding and interpolation ringing; where they are true zeros of a weak signal, the estimate is
//! biased towards slower diffusion, less than the opposite bias from raising them to a small value, because their
//! logarithm is an arbitrarily large outlier. Voxels whose remaining samples do not determine all seven unknowns are
//! outside the field.
//!
//! A graphics card computes the same operations in the same order (`cuda.rs`); tensors and maps then stay on the card
//! until the host needs them ([`Output::on_host`], [`Maps::on_host`]).
//!
//! # Example
//!
//! The fit returns the tensor from which a scan without noise was computed:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::solvers::tensor_fit::{Params, fit, maps};
//! # use arcuate_engine::data::{Gradients, Grid, Mask, Volume, VolumeKind};
//! # use arcuate_engine::phantom::directions::half_sphere;
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! // The signal of fibres along x in 8 voxels, at b = 0 and in 60 directions.
//! let (along, across, b) = (1.7e-3, 2e-4, 1000.0);
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
//! let fitted = fit(&scan, &gradients, &mask, &Params::defaults(), &backend, &control)?;
//! let tensor = fitted.field.tensors[0];
//! assert!((tensor.d[0] - 1.7e-3).abs() < 1e-5);
//! let maps = maps(&fitted.field, &backend, &control)?;
//! assert!((maps.fa.values[0] - 0.87).abs() < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod brain_mask;
mod cpu;
mod cuda;
mod design;
mod doubts;
pub mod eigen;
mod error;
mod imported;
mod map_name;
mod maps;
mod parameters;
mod shape_maps;
mod whole_fit;
mod wild_bootstrap;

pub use brain_mask::{BrainMask, MaskReport};
pub use doubts::MAX_FLOOR_MM2_PER_S;
pub use eigen::eigen_symmetric;
pub use imported::{given_mask, imported_field};
pub use map_name::FitMap;
pub use parameters::{Method, Params};
pub use whole_fit::{WholeFit, whole_fit};
pub use wild_bootstrap::Residuals;

pub use super::Error;
use crate::compute::{Accelerator, Backend, Control, memory};
use crate::data::{Gradients, Grid, Mask, Tensor, TensorField, Volume};
use design::{Design, Selection};
use error::InputError;
use std::sync::Arc;

/// Tensors and maps of a fit.
#[derive(Clone, Debug)]
pub struct Output {
    /// Tensors in world axes, mm²/s.
    pub field: TensorField,
    /// Estimated signal without diffusion weighting, in the scan's units; 0 outside the field. `None` for imported
    /// tensors.
    pub s0: Option<Volume>,
    /// Voxels whose tensor was not positive definite (had an eigenvalue below the smallest permitted) and was
    /// repaired by clamping the eigenvalues.
    pub repaired: Mask,
    /// Volumes left out because they have b > 50 but no direction.
    pub without_direction: Vec<usize>,
    /// Volumes left out because their b is outside the chosen range.
    pub outside_range: Vec<usize>,
    /// Volumes in the chosen range without a sample above 0 in the mask: they add nothing to the fit.
    pub without_signal: Vec<usize>,
    /// Voxels of the mask with too few positive finite samples for a fit: outside the field.
    pub unfitted: usize,
    /// The unit of imported tensors, if they were converted to mm²/s from another.
    pub other_unit: Option<&'static str>,
    /// Seconds that kernels ran; `None` on the CPU.
    pub kernel_s: Option<f64>,
}

impl Output {
    /// Copies to the host what is on a graphics card only. Without this call the first access copies, and panics if the
    /// card has failed.
    pub fn on_host(&self) -> Result<(), Error> {
        self.field.tensors.on_host()?;
        match &self.s0 {
            Some(s0) => Ok(s0.values.on_host()?),
            None => Ok(()),
        }
    }
}

/// Scalar and colour maps of a tensor field; 0 outside its mask.
#[derive(Clone, Debug)]
pub struct Maps {
    /// Fractional anisotropy, 0..1.
    pub fa: Volume,
    /// Mean diffusivity, mm²/s.
    pub md: Volume,
    /// Axial diffusivity, mm²/s.
    pub ad: Volume,
    /// Radial diffusivity, mm²/s.
    pub rd: Volume,
    /// abs(principal direction) in world axes times FA, as red (x), green (y), blue (z).
    pub dec: Volume,
    /// Principal direction, 3 frames (kind `Scalar`), world axes, sign arbitrary.
    pub direction: Volume,
    /// Seconds that a kernel ran; `None` on the CPU.
    pub kernel_s: Option<f64>,
}

impl Maps {
    /// Copies to the host what is on a graphics card only, as [`Output::on_host`] does.
    pub fn on_host(&self) -> Result<(), Error> {
        let Self { fa, md, ad, rd, .. } = self;
        let mut maps = [fa, md, ad, rd, &self.dec, &self.direction].into_iter();
        maps.try_for_each(|map| Ok(map.values.on_host()?))
    }
}

/// Fits a tensor to each voxel of the mask.
pub fn fit(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    check_gradients(dwi, gradients)?;
    check_mask(mask, &dwi.grid)?;
    let settings = check_params(params)?;
    let selection = Selection::new(gradients, params.b_range_s_per_mm2);
    let design = Design::new(gradients, &selection.used)?;
    // Tensor, signal, mark of a repair, and the index of a voxel of the mask.
    let each = size_of::<Tensor>() + 4 + 1 + 8;
    memory::claim_for::<u8>("The fit of tensors", dwi.grid.voxel_count(), each)?;
    let grid = &dwi.grid;
    let (field, without_signal, fitted, kernel_s) = match accelerator(backend, &design) {
        Some(Accelerator::Cuda(devices)) => {
            let fit = || cuda::fit(dwi, mask, &design, settings, devices, control);
            let fit = backend.install(fit)?;
            let used = selection.used.iter().zip(fit.has_signal);
            let without = used.filter(|(_, has_signal)| !has_signal);
            (
                TensorField::identified(fit.id, grid.clone(), fit.tensors),
                without.map(|(volume, _)| *volume).collect(),
                (fit.s0, fit.repaired, fit.unfitted),
                Some(fit.kernel_s),
            )
        }
        None => {
            let fit = backend.install(|| cpu::fit(dwi, mask, &design, settings, control))?;
            (
                TensorField::new(grid.clone(), fit.tensors),
                without_signal(dwi, mask, &selection.used),
                (fit.s0.into(), fit.repaired, fit.unfitted),
                None,
            )
        }
    };
    let (s0, repaired, unfitted) = fitted;
    Ok(Output {
        field,
        s0: Some(Volume::scalar(grid.clone(), s0)),
        repaired: Mask::new(grid.clone(), repaired),
        without_direction: selection.without_direction,
        outside_range: selection.outside_range,
        without_signal,
        unfitted,
        other_unit: None,
        kernel_s,
    })
}

/// The cards for a design, which the kernels limit to some thousand volumes.
fn accelerator<'a>(backend: &'a Backend, design: &Design) -> Option<Accelerator<'a>> {
    let is_small = design.rows.len() <= cuda::MAX_VOLUMES;
    backend.accelerator().filter(|_| is_small)
}

/// The entries of `volumes` that have no finite sample above 0 in the mask, which the fit leaves out of every voxel.
fn without_signal(dwi: &Volume, mask: &Mask, volumes: &[usize]) -> Vec<usize> {
    let has_signal = |volume: usize| {
        let mut samples = dwi.frame(volume).iter().zip(mask.inside.iter());
        samples.any(|(sample, inside)| *inside != 0 && *sample > 0.0 && sample.is_finite())
    };
    let volumes = volumes.iter().copied();
    volumes.filter(|volume| !has_signal(*volume)).collect()
}

/// The residual of each sample of the mask after [`fit`] with these parameters, for its wild bootstrap; returns an
/// error if it would take more than this many bytes of memory. On a graphics card they take memory of the card instead.
pub fn residuals(
    dwi: &Volume,
    gradients: &Gradients,
    mask: &Mask,
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Residuals, Error> {
    check_gradients(dwi, gradients)?;
    check_mask(mask, &dwi.grid)?;
    let settings = check_params(params)?;
    let selection = Selection::new(gradients, params.b_range_s_per_mm2);
    let design = Design::new(gradients, &selection.used)?;
    if let Some(Accelerator::Cuda(devices)) = accelerator(backend, &design) {
        return backend.install(|| {
            let kept = cuda::Residuals::new(dwi, mask, &design, settings, devices, control)?;
            Ok(Residuals::on_card(dwi, mask, design, settings, kept))
        });
    }
    let bytes = wild_bootstrap::bytes(mask, &design);
    if let Some(free) = memory.filter(|&free| bytes > free) {
        let free_bytes = free;
        return Err(InputError::ResidualMemory { bytes, free_bytes }.into());
    }
    memory::claim("The bootstrap", bytes)?;
    Ok(backend.install(|| Residuals::new(dwi, mask, design, settings, control))?)
}

/// FA (Basser and Pierpaoli 1996, J Magn Reson B 111:209), diffusivities and directions.
pub fn maps(field: &TensorField, backend: &Backend, control: &Control) -> Result<Maps, Error> {
    memory::claim_for::<f32>("The computation of maps", field.tensors.len(), maps::PLANES)?;
    match backend.accelerator() {
        Some(Accelerator::Cuda(devices)) => backend.install(|| cuda::maps(field, devices, control)),
        None => Ok(backend.install(|| maps::maps(field, control))?),
    }
}

/// The maps among `maps` that describe the shape of tensors ([`FitMap::SHAPES`]), in this order; 0 outside the field: mode
/// (Ennis and Kindlmann 2006), Westin's cl, cp and cs (normalised by λ₁), the norm in mm²/s, and the colour of the mode
/// times FA.
pub fn shape_maps(
    field: &TensorField,
    maps: &[FitMap],
    backend: &Backend,
    control: &Control,
) -> Result<Vec<(FitMap, Volume)>, Error> {
    let each = shape_maps::plane_count(maps);
    memory::claim_for::<f32>("The computation of maps", field.tensors.len(), each)?;
    match backend.accelerator() {
        Some(Accelerator::Cuda(devices)) => {
            backend.install(|| cuda::shape_maps(field, maps, &devices[0], control))
        }
        None => Ok(backend.install(|| shape_maps::shape_maps(field, maps, control))?),
    }
}

/// Brain mask of a scan, from the mean b = 0 and the mean diffusion-weighted image: one component without holes, and
/// its reliability.
pub fn brain_mask(
    dwi: &Volume,
    gradients: &Gradients,
    backend: &Backend,
    control: &Control,
) -> Result<BrainMask, Error> {
    check_gradients(dwi, gradients)?;
    // Two means, sums of a smoothing, levels and marks.
    memory::claim_for::<u8>("The brain mask", dwi.grid.voxel_count(), 20)?;
    backend.install(|| brain_mask::find(dwi, gradients, control))
}

fn check_gradients(dwi: &Volume, gradients: &Gradients) -> Result<(), InputError> {
    let (frames, given) = (dwi.frames, gradients.len());
    if frames != given || given != gradients.directions.len() {
        return Err(InputError::Counts {
            volumes: frames,
            b_values: given,
            directions: gradients.directions.len(),
        });
    }
    let valid =
        |v: &usize| gradients.b_s_per_mm2[*v].is_finite() && gradients.directions[*v].is_finite();
    match (0..given).find(|v| !valid(v)) {
        Some(volume) => Err(InputError::NotNumbers {
            volume,
            b_s_per_mm2: gradients.b_s_per_mm2[volume],
            direction: gradients.directions[volume],
        }),
        None => Ok(()),
    }
}

fn check_mask(mask: &Mask, grid: &Grid) -> Result<(), InputError> {
    if mask.grid.shape != grid.shape {
        return Err(InputError::MaskShape {
            mask: mask.grid.shape,
            scan: grid.shape,
        });
    }
    if !grid.matches(&mask.grid) {
        return Err(InputError::MaskAway(grid.separation_mm(&mask.grid)));
    }
    if mask.inside.iter().all(|&m| m == 0) {
        return Err(InputError::EmptyMask);
    }
    Ok(())
}

fn check_params(params: &Params) -> Result<cpu::Settings, Error> {
    params.check()?;
    let weighted_solves = match params.method {
        Method::Ols => 0,
        Method::Wls => 1,
        Method::Iwls { iterations } => 1 + iterations,
    };
    Ok(cpu::Settings {
        weighted_solves,
        min_eigenvalue_mm2_per_s: params.min_eigenvalue_mm2_per_s,
    })
}

/// A new shared slice to be filled in place, which avoids a copy into the `Arc` at the end.
fn unshared<T>(slice: &mut Arc<[T]>) -> &mut [T] {
    Arc::get_mut(slice).expect("made here and not shared yet")
}
