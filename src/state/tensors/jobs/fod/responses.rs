//! Response functions of a scan: from files, by an algorithm, or one by one.

use super::EstimateFods;
use super::error::FodError;
use crate::compute::{Backend, Control};
use crate::data::odf_field::Tissue;
use crate::data::{Gradients, Grid, Mask, Response, Shape, Shells, Volume};
use crate::io;
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::solvers::response::{Estimate, TissueResponse};
use crate::solvers::{csd, region, response};
use crate::state::job_end::ended;
use crate::state::tensors::fods;
use crate::state::tensors::recipe::fod::{ResponseAlgorithm, tissues_of_files};
use crate::state::{Effect, State};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Response functions to deconvolve with, or how to estimate them.
#[derive(Clone, Debug)]
pub enum Responses {
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

impl ScanResponses {
    /// Without the compartment of fluid, only the shell with the least signal of fluid is used.
    fn use_outer_shell_alone(&mut self) {
        let [(tissue, white)] = self.used.as_mut_slice() else {
            return;
        };
        *white = white.outer_shell();
        for measured in self.measured.iter_mut().filter(|m| m.tissue == *tissue) {
            measured.response = white.clone();
        }
    }
}

impl Responses {
    /// The file that the response function of a tissue is read from.
    fn file(&self, tissue: Tissue) -> Option<&Path> {
        match self {
            Self::Files(files) => {
                let mut named = tissues_of_files(files).into_iter().zip(files);
                named.find_map(|(own, file)| (own == tissue).then_some(file.as_path()))
            }
            Self::Each { tissues, .. } => tissues.iter().find_map(|(own, input)| match input {
                ResponseInput::File(file) if *own == tissue => Some(file.as_path()),
                _ => None,
            }),
            Self::Estimated(_) => None,
        }
    }
}

/// The response functions of these files, white matter first, as the distributions of a scan with these gradients use
/// them.
pub fn used_responses(files: &[PathBuf], gradients: &Gradients) -> Result<Vec<Response>, FodError> {
    let used = read_files(files)?;
    let given = Responses::Files(files.to_vec());
    let file_of = |tissue: Tissue| given.file(tissue);
    check_rows(&used, &Shells::new(gradients), file_of)?;
    let mut scan = ScanResponses {
        used,
        measured: Vec::new(),
        algorithm: None,
    };
    scan.use_outer_shell_alone();
    Ok(scan
        .used
        .into_iter()
        .map(|(_, response)| response)
        .collect())
}

/// Returns an error, with the file at fault, unless the response functions are those of these shells.
fn check_rows<'a>(
    used: &[(Tissue, Response)],
    shells: &Shells,
    file_of: impl Fn(Tissue) -> Option<&'a Path>,
) -> Result<(), FodError> {
    let responses: Vec<Response> = used.iter().map(|(_, r)| r.clone()).collect();
    let Err(error) = csd::matching_shells(shells, &responses) else {
        return Ok(());
    };
    let at = error.response_index().and_then(|index| used.get(index));
    let file = at.and_then(|(tissue, _)| file_of(*tissue));
    let file = file.map(Path::to_owned);
    Err(FodError::Unmatched { error, file })
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
        let mut scan = self.unchecked_responses(&run)?;
        self.check(&scan.used, &run)?;
        scan.use_outer_shell_alone();
        Ok(scan)
    }

    fn unchecked_responses(&self, run: &Run) -> Result<ScanResponses, JobError> {
        match &self.responses {
            Responses::Files(files) => Ok(ScanResponses {
                used: read_files(files)?,
                measured: Vec::new(),
                algorithm: None,
            }),
            Responses::Estimated(chosen) => {
                let algorithm = chosen.unwrap_or_else(|| self.default_algorithm(run.shells));
                let estimate = self.estimate_responses(algorithm, run)?;
                Ok(ScanResponses {
                    used: response::used(&estimate, run.shells),
                    measured: estimate.tissues,
                    algorithm: Some(algorithm),
                })
            }
            Responses::Each { algorithm, tissues } => self.each(*algorithm, tissues, run),
        }
    }

    /// Returns an error, with the file at fault if there is one, for response functions that do not belong to the scan.
    fn check(&self, used: &[(Tissue, Response)], run: &Run) -> Result<(), FodError> {
        let file_of = |tissue: Tissue| self.responses.file(tissue);
        let is_paper = self.params.method == csd::Method::Paper;
        // The method of the paper uses the last row of the first one.
        if !is_paper {
            check_rows(used, run.shells, file_of)?;
        }
        for (tissue, response) in used {
            if let Some(file) = file_of(*tissue) {
                let used = (*tissue, response);
                response::check_scale(&self.dwi, run.shells, run.mask, used).map_err(|error| {
                    let file = file.to_owned();
                    FodError::Scale { error, file }
                })?;
            }
        }
        match is_paper {
            true => Ok(()),
            false => response::check_separable(used, run.shells).map_err(|error| {
                let file = file_of(error.tissue).map(Path::to_owned);
                FodError::NotSeparable { error, file }
            }),
        }
    }

    fn estimate_responses(
        &self,
        algorithm: ResponseAlgorithm,
        run: &Run,
    ) -> Result<Estimate, JobError> {
        Ok(algorithm.estimate(
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
            let own = match input {
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
        let own = mask.clone().in_order(&dwi.grid);
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

fn read_files(files: &[PathBuf]) -> Result<Vec<(Tissue, Response)>, FodError> {
    if files.is_empty() || files.len() > Tissue::ALL.len() {
        return Err(FodError::ResponseFiles(files.len()));
    }
    let tissues = tissues_of_files(files).into_iter();
    let read = |(tissue, path): (Tissue, &PathBuf)| {
        let response = io::response::read(path).map_err(FodError::Unreadable)?;
        Ok((tissue, response))
    };
    tissues.zip(files).map(read).collect()
}

/// Reading response functions before a document uses their files. They queue: those of one tissue do not replace those of
/// another.
pub const RESPONSES: Slot = Slot::queue("responses");

/// Reads files of response functions: those that cannot be read never become the choice of a document.
#[derive(Clone, Debug)]
pub struct CheckResponses {
    /// The tissue of a single file; `None`: those of all tissues, white matter first.
    pub tissue: Option<Tissue>,
    pub files: Vec<PathBuf>,
}

impl Job for CheckResponses {
    type Output = ();

    fn slot(&self) -> Slot {
        RESPONSES
    }

    fn label(&self) -> String {
        "Reading response functions".to_owned()
    }

    fn run(self, _: &Worker, _: &Control, _: &PartialSender<()>) -> Result<(), JobError> {
        read_files(&self.files)?;
        Ok(())
    }
}

impl Receive<State> for CheckResponses {
    fn receive(&self, delivery: Delivery<()>, state: &mut State, effects: &mut Vec<Effect>) {
        ended(state, self, delivery, effects, |state, (), _, _| {
            fods::use_responses(state, self.tissue, &self.files);
        });
    }
}
