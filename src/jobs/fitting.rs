//! Tensors: fitted to a scan, or as an image brings them.

use super::fault::Fault;
use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, Volume};
use crate::solvers::tensor_fit::{self, Maps, Output, Params};

/// A mask of the scan's voxels in the scan's order; solvers refuse any other.
pub(super) fn in_order(mask: Mask, scan: &Volume) -> Mask {
    match scan.grid.matches(&mask.grid) {
        true => mask,
        false => mask.in_the_order_of(&scan.grid).unwrap_or(mask),
    }
}

/// Tensors, their maps, and the mask they are in, which is found where none is given.
pub(super) fn fitted(
    dwi: &Volume,
    gradients: Option<&Gradients>,
    mask: Option<Mask>,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<(Output, Maps, Mask), Fault> {
    let mask = mask.map(|mask| in_order(mask, dwi));
    let (fit, mask) = match gradients.filter(|_| dwi.tensors.is_none()) {
        Some(gradients) => {
            let mask = match mask {
                Some(mask) => mask,
                None => tensor_fit::brain_mask(dwi, gradients, backend, control)?,
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
    let maps = tensor_fit::maps(&fit.field, backend, control)?;
    Ok((fit, maps, mask))
}
