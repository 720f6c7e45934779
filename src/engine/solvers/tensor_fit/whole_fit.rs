//! A fit with all that it needs: its mask, its maps, and the checks that its tensors are of use.

use super::error::InputError;
use super::{Error, brain_mask, fit, given_mask, imported_field, maps};
use super::{MAX_FLOOR_MM2_PER_S, Maps, MaskReport, Output, Params};
use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, Volume};

/// Tensors with their maps and their mask.
#[derive(Clone, Debug)]
pub struct WholeFit {
    /// The tensors.
    pub fit: Output,
    /// Their maps.
    pub maps: Maps,
    /// The mask that was given or found.
    pub mask: Mask,
    /// Reliability of the mask, if it was computed from the scan.
    pub mask_report: Option<MaskReport>,
}

/// Fits within a mask, which is found if none is given, and computes the maps; an image of tensors is used as it is.
/// Refuses tensors that are of no use. All results are on the host.
pub fn whole_fit(
    dwi: &Volume,
    gradients: Option<&Gradients>,
    mask: Option<Mask>,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<WholeFit, Error> {
    let mask = mask.map(|mask| mask.in_order(&dwi.grid));
    let mut mask_report = None;
    let (fit, mask) = match gradients.filter(|_| dwi.tensors.is_none()) {
        Some(gradients) => {
            let mask = match mask {
                Some(mask) => mask,
                None => {
                    let brain = brain_mask(dwi, gradients, backend, control)?;
                    mask_report = Some(brain.report);
                    brain.mask
                }
            };
            (fit(dwi, gradients, &mask, params, backend, control)?, mask)
        }
        None => {
            let mask = match mask {
                Some(mask) => mask,
                None => given_mask(dwi)?,
            };
            let imported = imported_field(dwi, &mask, params, backend, control)?;
            (imported, mask)
        }
    };
    let fitted = mask.count() - fit.unfitted;
    if fitted == 0 {
        return Err(InputError::NoVoxelWithSignal(mask.count()).into());
    }
    let meant = params.min_eigenvalue_mm2_per_s > MAX_FLOOR_MM2_PER_S;
    if fit.repaired.count() == fitted && !meant {
        return Err(InputError::NotPositiveDefinite {
            voxels: fitted,
            is_tensor_image: dwi.tensors.is_some(),
        }
        .into());
    }
    let maps = maps(&fit.field, backend, control)?;
    // Callers must not wait for copies from a graphics card later.
    backend.install(|| {
        fit.on_host()?;
        maps.on_host()
    })?;
    Ok(WholeFit {
        fit,
        maps,
        mask,
        mask_report,
    })
}
