//! Tensors and distributions as the input of a job.

use crate::compute::{Backend, Control};
use crate::data::{Gradients, Mask, OdfField, TensorField, Volume};
use crate::jobs::JobError;
use crate::solvers::tensor_fit;
use crate::state::tensors::jobs::fit::fitted;
use crate::state::tensors::jobs::fod::{EstimateFods, ReadFods};
use crate::state::tensors::types::fods::FodBootstrapInput;
use crate::state::tensors::types::{BootstrapInput, ResidualCache};
use std::sync::Arc;

/// Tensors that curves are computed in: given, or fitted to a scan.
#[derive(Clone, Debug)]
pub enum Tensors {
    Here {
        field: TensorField,
        fa: Volume,
        /// The input of a bootstrap, if one is requested.
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
                let given = gradients.as_deref();
                let fitted = fitted(&dwi, given, mask, &params, backend, control)?;
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

/// Distributions that streamlines follow: given, to be estimated in a scan, or to be read from an image.
#[derive(Clone, Debug)]
pub enum Distributions {
    Here {
        field: OdfField,
        /// The input of a bootstrap, if their scan is known.
        resample: Option<Box<FodBootstrapInput>>,
    },
    Estimate(EstimateFods),
    Read(ReadFods),
}

impl Distributions {
    /// Distributions, with the data for a bootstrap.
    pub(crate) fn estimated(
        self,
        backend: &Backend,
        control: &Control,
    ) -> Result<(OdfField, Option<Box<FodBootstrapInput>>), JobError> {
        match self {
            Self::Here { field, resample } => Ok((field, resample)),
            Self::Estimate(job) => {
                let (dwi, gradients) = (job.dwi.clone(), job.gradients.clone());
                let params = job.params.clone();
                let fods = job.estimate(backend, control)?;
                let resample = FodBootstrapInput::new(&dwi, &gradients, &params, &fods);
                Ok((fods.output.field, Some(Box::new(resample))))
            }
            Self::Read(job) => Ok((job.read(backend, control)?.output.field, None)),
        }
    }
}
