//! Tensors: fitted to a scan, or as an image brings them.

use super::fault::Fault;
use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, Volume};
use crate::solvers::tensor_fit::{self, Maps, Output, Params};

/// Tensors, their maps, and the mask they are in, which is found where none is given.
pub(super) fn fitted(
    dwi: &Volume,
    gradients: Option<&Gradients>,
    mask: Option<Mask>,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<(Output, Maps, Mask), Fault> {
    // One of the same voxels in another order; the solver refuses any other.
    let mask = mask.map(|mask| match dwi.grid.matches(&mask.grid) {
        true => mask,
        false => mask.in_the_order_of(&dwi.grid).unwrap_or(mask),
    });
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
