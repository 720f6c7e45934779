//! Response functions of the command: from files, from masks, or by an algorithm.

use super::super::options::{GivenParameters, noted};
use super::super::runner::Failure;
use crate::data::odf_field::Tissue;
use crate::data::text::counted;
use crate::data::{Grid, Response};
use crate::io;
use crate::parameters::Parameters as _;
use crate::solvers::response;
use crate::state::tensors::jobs::fod::Responses;
use crate::state::tensors::recipe::fod::{
    ROWS_OF_MASKS, ResponseAlgorithm, ResponseSource, tissues_of_files,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args, Clone, Debug)]
pub struct ResponseOptions {
    /// Response functions as MRtrix's text files, white matter first: one row per shell (default: estimated from the
    /// scan)
    #[arg(long, value_name = "FILE,…", value_delimiter = ',', conflicts_with_all = ["response_algorithm", "wm_mask", "gm_mask", "csf_mask"])]
    pub responses: Vec<PathBuf>,
    /// How to estimate response functions: dhollander (white matter, grey matter and CSF) or tournier (white matter, in
    /// the shell with the highest b) [default: dhollander for several shells, tournier for one]
    #[arg(long, value_name = "NAME", value_parser = algorithms(), hide_possible_values = true, conflicts_with_all = ["wm_mask", "gm_mask", "csf_mask"])]
    pub response_algorithm: Option<ResponseAlgorithm>,
    /// Measure the response function of white matter in the voxels of this mask
    #[arg(long, value_name = "FILE")]
    pub wm_mask: Option<PathBuf>,
    /// Measure that of grey matter in the voxels of this mask
    #[arg(long, value_name = "FILE", requires = "wm_mask")]
    pub gm_mask: Option<PathBuf>,
    /// Measure that of CSF in the voxels of this mask
    #[arg(long, value_name = "FILE", requires = "wm_mask")]
    pub csf_mask: Option<PathBuf>,
    #[command(flatten)]
    pub params: GivenParameters<response::Params>,
}

fn algorithms() -> impl TypedValueParser<Value = ResponseAlgorithm> {
    let known = PossibleValuesParser::new(ResponseAlgorithm::KEYS);
    known.try_map(|key| ResponseAlgorithm::from_key(&key).ok_or("there is no such algorithm"))
}

/// The options after a check that needs no scan, with response functions read from files.
pub struct GivenResponses<'a> {
    options: &'a ResponseOptions,
    files: Vec<(Tissue, Response)>,
    pub params: response::Params,
}

impl ResponseOptions {
    pub fn given(&self) -> Result<GivenResponses<'_>, Failure> {
        let params = self.params.params()?;
        self.check_rows()?;
        if self.responses.len() > Tissue::ALL.len() {
            return Err(Failure::usage(format!(
                "Found {}, expected at most three: white matter, grey matter and CSF",
                counted(self.responses.len(), "response function")
            )));
        }
        let tissues = tissues_of_files(&self.responses);
        let read = |(path, tissue): (&PathBuf, Tissue)| {
            let response = io::response::read(path).map_err(|e| Failure::new(e.to_string()))?;
            Ok((tissue, response))
        };
        let files = self.responses.iter().zip(tissues).map(read);
        Ok(GivenResponses {
            options: self,
            files: files.collect::<Result<_, Failure>>()?,
            params,
        })
    }

    fn masks(&self) -> Vec<(Tissue, &PathBuf)> {
        let masks = [&self.wm_mask, &self.gm_mask, &self.csf_mask];
        let named = Tissue::ALL.into_iter().zip(masks);
        named
            .filter_map(|(tissue, mask)| Some((tissue, mask.as_ref()?)))
            .collect()
    }

    /// Refuses parameters of an estimation that does not take place.
    fn check_rows(&self) -> Result<(), Failure> {
        let (rows, reason): (Option<&[&str]>, &str) = match self.response_algorithm {
            _ if !self.responses.is_empty() => (Some(&[]), "the response functions are given"),
            _ if self.wm_mask.is_some() => (
                Some(ROWS_OF_MASKS),
                "the response functions are measured in masks",
            ),
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

impl GivenResponses<'_> {
    /// The response functions of the scan with this grid.
    pub fn on(&self, grid: &Arc<Grid>) -> Result<Responses, Failure> {
        if !self.files.is_empty() {
            return Ok(Responses::Given(self.files.clone()));
        }
        let masks = self.options.masks();
        if masks.is_empty() {
            return Ok(Responses::Estimated(self.options.response_algorithm));
        }
        let read =
            |(tissue, path): (Tissue, &PathBuf)| Ok((tissue, noted(io::mask(path, grid), path)?));
        let masks = masks
            .into_iter()
            .map(read)
            .collect::<Result<_, Failure>>()?;
        Ok(Responses::InMasks(masks))
    }

    /// Files or masks, where no algorithm ran.
    pub fn source(&self) -> ResponseSource {
        if !self.files.is_empty() {
            return ResponseSource::Files(self.options.responses.clone());
        }
        let masks = self.options.masks().into_iter();
        ResponseSource::Masks(masks.map(|(t, path)| (t, path.clone())).collect())
    }

    /// The file of a tissue's response function, if it was read from one.
    pub fn file(&self, tissue: Tissue) -> Option<&Path> {
        let at = self.files.iter().position(|(t, _)| *t == tissue)?;
        self.options.responses.get(at).map(PathBuf::as_path)
    }
}
