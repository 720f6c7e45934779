//! Recomputes kept streamlines and rays.

use super::super::error::JobError;
use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, Region, TensorField, Tractogram, Volume};
use crate::io::session::Sum;
use crate::jobs::memory_for_curves;
use crate::solvers::tractogram::selection::{Edit, apply_edits};
use crate::solvers::{curves, geodesic, tensor_fit};
use crate::state::files::jobs::open::{with_lengths, with_target_names};
use crate::state::tensors::jobs::fit::fitted;
use crate::state::tensors::types::{BootstrapInput, ResidualCache};
use crate::state::track::jobs::shoot::ShootRays;
use crate::state::track::jobs::streamlines::TrackStreamlines;
use std::sync::Arc;

/// Tensors that curves are computed in: given, or fitted to a scan.
#[derive(Clone, Debug)]
pub enum Tensors {
    Here {
        field: TensorField,
        fa: Volume,
        /// For a bootstrap.
        resample: Option<Box<BootstrapInput>>,
    },
    Fit {
        dwi: Volume,
        /// `None` for an image of tensors.
        gradients: Option<Arc<Gradients>>,
        mask: Option<Mask>,
        params: tensor_fit::Params,
    },
}

/// Kept streamlines or rays to be recomputed.
#[derive(Clone, Debug)]
pub struct Remake {
    /// Returned with them.
    pub layer: u64,
    pub name: String,
    pub tensors: Tensors,
    pub regions: Vec<Region>,
    pub curves: Remade,
    /// Edits made to them since.
    pub edits: Vec<Edit>,
    /// Their checksum in the session.
    pub expected: Option<Sum>,
}

#[derive(Clone, Debug)]
pub enum Remade {
    Streamlines(curves::Params),
    Rays {
        sharpening: geodesic::Sharpening,
        precision: geodesic::Precision,
        params: geodesic::Params,
        cut: geodesic::Cut,
    },
}

impl Tensors {
    /// Tensors and their FA, with the data for a bootstrap.
    pub(crate) fn fitted(
        self,
        backend: &Backend,
        control: &Control,
    ) -> Result<(TensorField, Volume, Option<Box<BootstrapInput>>), JobError> {
        Ok(match self {
            Self::Here {
                field,
                fa,
                resample,
            } => (field, fa, resample),
            Self::Fit {
                dwi,
                gradients,
                mask,
                params,
            } => {
                let of = gradients.as_deref();
                let fitted = fitted(&dwi, of, mask, &params, backend, control)?;
                let mask = fitted.mask;
                let resample = gradients.map(|gradients| {
                    Box::new(BootstrapInput {
                        dwi,
                        gradients,
                        mask,
                        params,
                        residuals: ResidualCache::default(),
                    })
                });
                (fitted.fit.field, fitted.maps.fa, resample)
            }
        })
    }
}

impl Remake {
    pub(super) fn run(self, backend: &Backend, control: &Control) -> Result<Tractogram, JobError> {
        let (field, fa, resample) = self.tensors.fitted(backend, control)?;
        let regions = self.regions.clone();
        let tractogram = match self.curves {
            Remade::Streamlines(params) => {
                let track = TrackStreamlines {
                    field,
                    fa,
                    regions: self.regions,
                    params,
                    resample,
                    coarse: false,
                };
                track.track(backend, control)?.kept
            }
            Remade::Rays {
                sharpening,
                precision,
                params,
                cut,
            } => {
                let shoot = ShootRays {
                    field,
                    medium: None,
                    sharpening,
                    precision,
                    fa,
                    regions: self.regions,
                    params,
                    cut,
                    coarse: false,
                };
                shoot.shoot(backend, control)?.output.kept
            }
        };
        let all = with_target_names(with_lengths(tractogram), &regions);
        let tractogram = apply_edits(&all, &self.edits, memory_for_curves(), backend, control)?;
        tractogram.bounds();
        Ok(tractogram)
    }
}
