//! Response functions of a scan: from files, by an algorithm, or one by one.

use super::EstimateFods;
use super::error::FodError;
use crate::compute::{Backend, Control};
use crate::data::odf_field::Tissue;
use crate::data::{Grid, Mask, Response, Shape, Shells, Volume};
use crate::io;
use crate::jobs::JobError;
use crate::solvers::response::{Estimate, TissueResponse};
use crate::solvers::{region, response};
use crate::state::tensors::jobs::fit::in_order;
use crate::state::tensors::recipe::fod::{ResponseAlgorithm, tissues_of_files};
use std::path::PathBuf;
use std::sync::Arc;

/// Response functions to deconvolve with, or how to estimate them.
#[derive(Clone, Debug)]
pub enum Responses {
    /// White matter first.
    Given(Vec<(Tissue, Response)>),
    /// `None`: three tissues if the scan has several shells, otherwise white matter alone.
    Estimated(Option<ResponseAlgorithm>),
    /// MRtrix's text files, white matter first.
    Files(Vec<PathBuf>),
    /// One input per tissue, white matter first; the algorithm is for those that need one. `None`: chosen as for a
    /// whole scan.
    Each {
        algorithm: Option<ResponseAlgorithm>,
        tissues: Vec<(Tissue, ResponseInput)>,
    },
}

/// Input of the response function of one tissue.
#[derive(Clone, Debug)]
pub enum ResponseInput {
    Algorithm,
    /// A text file of MRtrix.
    File(PathBuf),
    /// In the voxels whose centres lie inside.
    Inside(Arc<Shape>),
    /// In the voxels of a region that is gone.
    Missing,
}

/// Response functions of a scan, and where they were measured.
pub(super) struct ScanResponses {
    pub used: Vec<(Tissue, Response)>,
    pub measured: Vec<TissueResponse>,
    pub algorithm: Option<ResponseAlgorithm>,
}

/// A scan's shells, its brain mask, and where to compute.
struct Run<'a> {
    shells: &'a Shells,
    mask: &'a Mask,
    backend: &'a Backend,
    control: &'a Control,
}

impl EstimateFods {
    pub(super) fn responses(
        &self,
        shells: &Shells,
        mask: &Mask,
        backend: &Backend,
        control: &Control,
    ) -> Result<ScanResponses, JobError> {
        let run = Run {
            shells,
            mask,
            backend,
            control,
        };
        let given = |used: Vec<(Tissue, Response)>| ScanResponses {
            used,
            measured: Vec::new(),
            algorithm: None,
        };
        match &self.responses {
            Responses::Given(used) => Ok(given(used.clone())),
            Responses::Files(files) => Ok(given(read_files(files)?)),
            Responses::Estimated(chosen) => {
                let algorithm = chosen.unwrap_or_else(|| self.default_algorithm(shells));
                let mut measured = self.estimate_responses(algorithm, &run)?.tissues;
                if let [white] = measured.as_mut_slice() {
                    white.response = outer_shell(&white.response);
                }
                let used_response = |t: &TissueResponse| (t.tissue, t.response.clone());
                let mut used: Vec<(Tissue, Response)> =
                    measured.iter().map(used_response).collect();
                if used.len() > shells.shells.len() {
                    // Two numbers without a direction determine two tissues.
                    used.retain(|(tissue, _)| *tissue != Tissue::GreyMatter);
                }
                Ok(ScanResponses {
                    used,
                    measured,
                    algorithm: Some(algorithm),
                })
            }
            Responses::Each { algorithm, tissues } => self.each(*algorithm, tissues, &run),
        }
    }

    fn estimate_responses(
        &self,
        algorithm: ResponseAlgorithm,
        run: &Run,
    ) -> Result<Estimate, JobError> {
        let estimate = match algorithm {
            ResponseAlgorithm::Dhollander => response::dhollander,
            ResponseAlgorithm::Tournier => response::tournier,
        };
        Ok(estimate(
            &self.dwi,
            &self.gradients,
            run.mask,
            &self.response_params,
            run.backend,
            run.control,
        )?)
    }

    /// The response function of each tissue from its own input.
    fn each(
        &self,
        algorithm: Option<ResponseAlgorithm>,
        tissues: &[(Tissue, ResponseInput)],
        run: &Run,
    ) -> Result<ScanResponses, JobError> {
        let estimated =
            |(_, input): &&(Tissue, ResponseInput)| matches!(input, ResponseInput::Algorithm);
        let mut estimated = tissues.iter().filter(estimated).map(|(tissue, _)| *tissue);
        let algorithm = match estimated.clone().next() {
            None => None,
            // The other algorithm finds white matter alone.
            Some(_) if estimated.any(|tissue| tissue != Tissue::WhiteMatter) => {
                Some(algorithm.unwrap_or(ResponseAlgorithm::Dhollander))
            }
            Some(_) => Some(algorithm.unwrap_or_else(|| self.default_algorithm(run.shells))),
        };
        let estimate = match algorithm {
            Some(algorithm) => Some(self.estimate_responses(algorithm, run)?),
            None => None,
        };
        let (mut used, mut measured) = (Vec::new(), Vec::new());
        for (tissue, input) in tissues {
            let mut own = match input {
                ResponseInput::File(path) => {
                    used.push((*tissue, io::response::read(path)?));
                    continue;
                }
                ResponseInput::Algorithm => {
                    let mut all = estimate.iter().flat_map(|estimate| &estimate.tissues);
                    let estimated = all.find(|t| t.tissue == *tissue).cloned();
                    estimated.ok_or(FodError::NotEstimated(*tissue))?
                }
                ResponseInput::Inside(shape) => self.inside(*tissue, shape, run)?,
                ResponseInput::Missing => return Err(FodError::MissingRegion(*tissue).into()),
            };
            if tissues.len() == 1 {
                own.response = outer_shell(&own.response);
            }
            used.push((*tissue, own.response.clone()));
            measured.push(own);
        }
        Ok(ScanResponses {
            used,
            measured,
            algorithm,
        })
    }

    /// The response function in the voxels of a region.
    fn inside(&self, tissue: Tissue, shape: &Shape, run: &Run) -> Result<TissueResponse, JobError> {
        let voxels = voxels_inside(shape, &self.dwi);
        if voxels.count() == 0 {
            return Err(FodError::EmptyRegion(tissue).into());
        }
        let mut estimate = response::from_mask(
            &self.dwi,
            &self.gradients,
            &voxels,
            tissue,
            &self.response_params,
            run.backend,
            run.control,
        )?;
        let estimated = estimate.tissues.pop();
        Ok(estimated.ok_or(FodError::MissingRegion(tissue))?)
    }

    fn default_algorithm(&self, shells: &Shells) -> ResponseAlgorithm {
        ResponseAlgorithm::default_for(shells, self.params.method)
    }
}

/// The voxels of a scan in a region, which may be a mask on another grid.
fn voxels_inside(shape: &Shape, dwi: &Volume) -> Mask {
    if let Shape::Mask(mask) = shape {
        let own = in_order(mask.clone(), dwi);
        if own.grid.matches(&dwi.grid) {
            return own;
        }
    }
    let grid: &Arc<Grid> = &dwi.grid;
    let mut inside = vec![0u8; grid.voxel_count()];
    for voxel in region::voxels(shape, grid) {
        inside[grid.index(voxel)] = 1;
    }
    Mask::new(grid.clone(), inside)
}

fn read_files(files: &[PathBuf]) -> Result<Vec<(Tissue, Response)>, JobError> {
    if files.is_empty() || files.len() > Tissue::ALL.len() {
        return Err(FodError::ResponseFiles(files.len()).into());
    }
    let tissues = tissues_of_files(files).into_iter();
    let read = |(tissue, path): (Tissue, &PathBuf)| Ok((tissue, io::response::read(path)?));
    tissues.zip(files).map(read).collect()
}

/// The row of the shell with the highest b-value: without a fluid compartment, only the shell with the least signal of
/// fluid is used.
fn outer_shell(response: &Response) -> Response {
    let last = response.rows.last().cloned().unwrap_or_default();
    let b = response.b_s_per_mm2.as_ref().and_then(|b| b.last());
    Response::new(b.map(|b| vec![*b]), vec![last])
}
