//! Response functions of the command: from files, from masks and regions, or by an algorithm.

use super::super::options::{GivenParameters, noted, shape as region_shape, whole_names};
use super::super::runner::Failure;
use crate::data::odf_field::Tissue;
use crate::data::text::counted;
use crate::data::{Grid, Response, Shape};
use crate::io;
use crate::parameters::Parameters as _;
use crate::solvers::response;
use crate::state::regions::recipe::ShapeSpec;
use crate::state::tensors::jobs::fod::{ResponseInput, Responses};
use crate::state::tensors::recipe::fod::{
    ROWS_OF_MASKS, ResponseAlgorithm, ResponseSource, TissueSource, tissues_of_files,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args, Clone, Debug)]
pub struct ResponseOptions {
    /// Response functions as MRtrix's text files, white matter first: one row per shell (default: estimated from the
    /// scan)
    #[arg(long, value_name = "FILE,…", value_delimiter = ',', conflicts_with_all = ["response_algorithm", "wm_mask", "gm_mask", "csf_mask", "wm_response", "gm_response", "csf_response", "leave_out"])]
    pub responses: Vec<PathBuf>,
    /// How to estimate response functions: dhollander (white matter, grey matter and CSF) or tournier (white matter, in
    /// the shell with the highest b) [default: dhollander for several shells, tournier for one];
    /// estimates only tissues without a mask or file of their own
    #[arg(long, value_name = "NAME", value_parser = algorithms(), hide_possible_values = true)]
    pub response_algorithm: Option<ResponseAlgorithm>,
    /// Measure the response function of white matter in the voxels of this mask on the scan's grid, or of a region:
    /// sphere:x,y,z,radius, box:x,y,z,hx,hy,hz or, for a mask on another grid, mask:FILE
    #[arg(long, value_name = "FILE|REGION", conflicts_with = "wm_response")]
    pub wm_mask: Option<PathBuf>,
    /// Measure the response function of grey matter in the voxels of this mask or region
    #[arg(long, value_name = "FILE|REGION", conflicts_with = "gm_response")]
    pub gm_mask: Option<PathBuf>,
    /// Measure the response function of CSF in the voxels of this mask or region
    #[arg(long, value_name = "FILE|REGION", conflicts_with = "csf_response")]
    pub csf_mask: Option<PathBuf>,
    /// Read the response function of white matter from this text file of MRtrix, while others come from elsewhere
    #[arg(long, value_name = "FILE")]
    pub wm_response: Option<PathBuf>,
    /// Read the response function of grey matter from this text file
    #[arg(long, value_name = "FILE")]
    pub gm_response: Option<PathBuf>,
    /// Read the response function of CSF from this text file
    #[arg(long, value_name = "FILE")]
    pub csf_response: Option<PathBuf>,
    /// Leave a tissue out that the algorithm estimates: gm or csf
    #[arg(long, value_name = "TISSUE", value_parser = tissues(), hide_possible_values = true, requires = "response_algorithm")]
    pub leave_out: Vec<Tissue>,
    #[command(flatten)]
    pub params: GivenParameters<response::Params>,
}

fn algorithms() -> impl TypedValueParser<Value = ResponseAlgorithm> {
    let known = PossibleValuesParser::new(ResponseAlgorithm::KEYS);
    known.try_map(|key| ResponseAlgorithm::from_key(&key).ok_or("there is no such algorithm"))
}

fn tissues() -> impl TypedValueParser<Value = Tissue> {
    let others = [Tissue::GreyMatter, Tissue::Csf].map(|tissue| tissue.key());
    let known = PossibleValuesParser::new(others);
    known.try_map(|key| Tissue::from_key(&key).ok_or("there is no such tissue"))
}

/// The options after a check that needs no scan, with response functions read from files.
pub struct GivenResponses<'a> {
    options: &'a ResponseOptions,
    /// The files of `--responses`.
    paths: Vec<PathBuf>,
    files: Vec<(Tissue, Response)>,
    /// The source of each tissue, if any names its own.
    each: Vec<(Tissue, TissueSource)>,
    pub params: response::Params,
}

impl ResponseOptions {
    pub fn given(&self) -> Result<GivenResponses<'_>, Failure> {
        let params = self.params.params()?;
        let each = self.each()?;
        self.check_rows(&each)?;
        let paths = whole_names(&self.responses);
        if paths.len() > Tissue::ALL.len() {
            return Err(Failure::usage(format!(
                "Found {} separated by commas, expected at most three: white matter, grey matter and CSF; name one file \
                 for each",
                counted(paths.len(), "response function")
            )));
        }
        for (_, source) in &each {
            if let TissueSource::File(path) = source {
                io::response::read(path).map_err(|e| Failure::new(e.to_string()))?;
            }
        }
        let tissues = tissues_of_files(&paths);
        let read = |(path, tissue): (&PathBuf, Tissue)| {
            let response = io::response::read(path).map_err(|error| {
                Failure::new(match error {
                    io::Error::Missing { .. } if paths.len() > 1 => format!(
                        "No such file; check its name, and that commas only stand between the files of --responses: {}",
                        path.display()
                    ),
                    error => error.to_string(),
                })
            })?;
            Ok((tissue, response))
        };
        let files = paths.iter().zip(tissues).map(read);
        Ok(GivenResponses {
            options: self,
            files: files.collect::<Result<_, Failure>>()?,
            paths,
            each,
            params,
        })
    }

    /// The source of each tissue that is used; empty if none names its own.
    fn each(&self) -> Result<Vec<(Tissue, TissueSource)>, Failure> {
        let masks = [&self.wm_mask, &self.gm_mask, &self.csf_mask];
        let files = [&self.wm_response, &self.gm_response, &self.csf_response];
        let named = Tissue::ALL.into_iter().zip(masks).zip(files);
        let mut each = Vec::new();
        for ((tissue, mask), file) in named {
            let source = match (mask, file) {
                (_, Some(path)) => Some(TissueSource::File(path.clone())),
                (Some(mask), None) => Some(place(mask)?),
                (None, None) => None,
            };
            each.push((tissue, source));
        }
        let is_each = each.iter().any(|(_, source)| source.is_some()) || !self.leave_out.is_empty();
        if !is_each {
            return Ok(Vec::new());
        }
        let by_algorithm = |tissue: Tissue| match self.response_algorithm {
            Some(ResponseAlgorithm::Dhollander) => !self.leave_out.contains(&tissue),
            Some(ResponseAlgorithm::Tournier) => tissue == Tissue::WhiteMatter,
            None => false,
        };
        let used = each.into_iter().filter_map(|(tissue, source)| {
            let estimated = by_algorithm(tissue).then_some(TissueSource::Algorithm);
            Some((tissue, source.or(estimated)?))
        });
        let used: Vec<(Tissue, TissueSource)> = used.collect();
        match used.first() {
            Some((Tissue::WhiteMatter, _)) => Ok(used),
            _ => Err(Failure::usage(
                "Found no response function of white matter, expected one; name --wm-mask, --wm-response or \
                 --response-algorithm",
            )),
        }
    }

    /// Refuses parameters of an estimation that does not take place.
    fn check_rows(&self, each: &[(Tissue, TissueSource)]) -> Result<(), Failure> {
        let measured = |(_, source): &(Tissue, TissueSource)| {
            matches!(source, TissueSource::Mask(_) | TissueSource::Region(_))
        };
        let (rows, reason): (Option<&[&str]>, &str) = match self.response_algorithm {
            _ if !self.responses.is_empty() => (Some(&[]), "the response functions are given"),
            None if each.iter().any(measured) => (
                Some(ROWS_OF_MASKS),
                "the response functions are measured in masks",
            ),
            None if !each.is_empty() => (Some(&[]), "the response functions are given"),
            Some(ResponseAlgorithm::Dhollander) => {
                let rows = ResponseAlgorithm::Dhollander.rows();
                (Some(rows), "only for the algorithm tournier")
            }
            Some(ResponseAlgorithm::Tournier) => {
                let rows = ResponseAlgorithm::Tournier.rows();
                (Some(rows), "only for the algorithm dhollander")
            }
            None => (None, ""),
        };
        let Some(rows) = rows else {
            return Ok(());
        };
        let all = response::Params::TABLE.iter().map(|row| row.key);
        let mut unused = all.filter(|key| self.params.has(key) && !rows.contains(key));
        match unused.next() {
            None => Ok(()),
            Some(key) => Err(Failure::usage(format!(
                "Found --{key}, which has no effect: {reason}; leave it out"
            ))),
        }
    }
}

/// A mask by its file, or a region by its text.
fn place(given: &Path) -> Result<TissueSource, Failure> {
    let text = given.to_string_lossy();
    let is_region = ["sphere:", "box:", "mask:"]
        .iter()
        .any(|kind| text.starts_with(kind));
    if !is_region {
        return Ok(TissueSource::Mask(given.to_owned()));
    }
    let shape: Result<ShapeSpec, _> = text.parse();
    match shape {
        Ok(shape) => Ok(TissueSource::Region(shape)),
        Err(error) => Err(Failure::usage(error.to_string())),
    }
}

impl GivenResponses<'_> {
    /// The response functions of the scan with this grid.
    pub fn on(&self, grid: &Arc<Grid>) -> Result<Responses, Failure> {
        if !self.files.is_empty() {
            return Ok(Responses::Files(self.paths.clone()));
        }
        let algorithm = self.options.response_algorithm;
        if self.each.is_empty() {
            return Ok(Responses::Estimated(algorithm));
        }
        let input = |(tissue, source): &(Tissue, TissueSource)| {
            let input = match source {
                TissueSource::Algorithm => ResponseInput::Algorithm,
                TissueSource::File(path) => ResponseInput::File(path.clone()),
                TissueSource::Mask(path) => {
                    let mask = noted(io::mask(path, grid), path)?;
                    ResponseInput::Inside(Arc::new(Shape::Mask(mask)))
                }
                TissueSource::Region(shape) => {
                    ResponseInput::Inside(Arc::new(region_shape(shape)?))
                }
                TissueSource::NoFile(_) => ResponseInput::Missing,
            };
            Ok((*tissue, input))
        };
        Ok(Responses::Each {
            algorithm,
            tissues: self
                .each
                .iter()
                .map(input)
                .collect::<Result<_, Failure>>()?,
        })
    }

    /// Source of the functions after an estimation by this algorithm, if any ran.
    pub fn source(&self, algorithm: Option<ResponseAlgorithm>) -> ResponseSource {
        match (self.each.is_empty(), algorithm) {
            (false, algorithm) => ResponseSource::Each {
                algorithm,
                tissues: self.each.clone(),
            },
            (true, Some(algorithm)) => ResponseSource::Algorithm(algorithm),
            (true, None) => ResponseSource::Files(self.paths.clone()),
        }
    }

    /// The file of a tissue's response function, if it was read from one.
    pub fn file(&self, tissue: Tissue) -> Option<&Path> {
        let own = self.each.iter().find_map(|(t, source)| match source {
            TissueSource::File(path) if *t == tissue => Some(path.as_path()),
            _ => None,
        });
        own.or_else(|| {
            let at = self.files.iter().position(|(t, _)| *t == tissue)?;
            self.paths.get(at).map(PathBuf::as_path)
        })
    }
}
