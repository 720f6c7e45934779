//! Tensors: fitted to a scan, or as an image brings them.

use super::FitKey;
use super::error::JobError;
use crate::compute::{Backend, Control};
use crate::data::words::counted;
use crate::data::{Gradients, Mask, Volume};
use crate::solvers::tensor_fit::{self, Maps, MaskReport, Output, Params};

/// A mask of the scan's voxels in the scan's order; solvers refuse any other.
pub(super) fn in_order(mask: Mask, scan: &Volume) -> Mask {
    match scan.grid.matches(&mask.grid) {
        true => mask,
        false => mask.in_the_order_of(&scan.grid).unwrap_or(mask),
    }
}

/// Tensors, their maps, and the mask they are in.
pub(super) struct Fitted {
    pub fit: Output,
    pub maps: Maps,
    pub mask: Mask,
    /// How reliable the mask is, where it was found from the scan.
    pub found: Option<MaskReport>,
}

/// The output of a request for a fit.
pub(super) fn fit(
    dwi: &Volume,
    gradients: Option<&Gradients>,
    mask: Option<Mask>,
    params: Params,
    backend: &Backend,
    control: &Control,
) -> Result<super::Output, JobError> {
    let key = FitKey {
        scan: dwi.id(),
        mask: mask.as_ref().map(Mask::id),
        params,
    };
    let Fitted {
        fit,
        maps,
        mask,
        found,
    } = fitted(dwi, gradients, mask, &key.params, backend, control)?;
    // Computed here to keep it off the window's thread.
    for map in [&maps.fa, &maps.md, &maps.ad, &maps.rd] {
        map.usual_windows();
    }
    mask.bounds_inside();
    fit.repaired.bounds_inside();
    Ok(super::Output::Fitted {
        key,
        fit: Box::new(fit),
        maps: Box::new(maps),
        mask,
        found,
    })
}

/// Fits within a mask, which is found where none is given.
pub(super) fn fitted(
    dwi: &Volume,
    gradients: Option<&Gradients>,
    mask: Option<Mask>,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Fitted, JobError> {
    let mask = mask.map(|mask| in_order(mask, dwi));
    let mut found = None;
    let (fit, mask) = match gradients.filter(|_| dwi.tensors.is_none()) {
        Some(gradients) => {
            let mask = match mask {
                Some(mask) => mask,
                None => {
                    let brain = tensor_fit::brain_mask(dwi, gradients, backend, control)?;
                    found = Some(brain.found);
                    brain.mask
                }
            };
            let fit = tensor_fit::fit(dwi, gradients, &mask, params, backend, control)?;
            (fit, mask)
        }
        None => {
            let mask = match mask {
                Some(mask) => mask,
                None => tensor_fit::given_mask(dwi)?,
            };
            let fit = tensor_fit::given(dwi, &mask, params, backend, control)?;
            (fit, mask)
        }
    };
    let fitted = mask.count() - fit.unfitted;
    if fitted == 0 {
        return Err(JobError::Sentence(format!(
            "None of the mask's {} has enough signal for a tensor, expected values above 0; check that the \
             scan is whole and that the mask belongs to it",
            counted(mask.count(), "voxel")
        )));
    }
    let meant = params.min_eigenvalue_mm2_per_s > tensor_fit::MOST_FLOOR_MM2_PER_S;
    if fit.repaired.count() == fitted && !meant {
        let check = match dwi.tensors {
            Some(_) => "the order and the axes of the image's tensors",
            None => "that the gradients belong to this scan, with b-values in s/mm²",
        };
        return Err(JobError::Sentence(format!(
            "The tensor of every one of {} is not positive definite, which no tissue's is; check {check}",
            counted(fitted, "voxel")
        )));
    }
    let maps = tensor_fit::maps(&fit.field, backend, control)?;
    Ok(Fitted {
        fit,
        maps,
        mask,
        found,
    })
}
