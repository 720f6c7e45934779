//! Recipes of fibre orientation distributions and of their maps.

use crate::solvers::{csd, peaks, response};
use crate::state::command_line::CommandLine;
use crate::state::core::layer::OriginId;
use crate::state::document::Document;
use crate::state::origin::{Describe, Origin, Origins, Recipe};
use crate::state::tensors::recipe::FitMask;
use crate::state::tensors::recipe::fod::{FodArguments, FodMap, ResponseAlgorithm, ResponseSource};
use std::path::PathBuf;
use std::sync::Arc;

/// The recipe of fibre orientation distributions: a scan that is deconvolved, or an image that holds them.
#[derive(Clone, PartialEq, Debug)]
pub struct FodRecipe {
    pub scan: OriginId,
    pub mask: FitMask,
    pub responses: FodResponses,
    pub response_params: response::Params,
    pub params: csd::Params,
    pub peak_params: peaks::Params,
}

/// The response functions of distributions.
#[derive(Clone, PartialEq, Debug)]
pub enum FodResponses {
    /// MRtrix's text files, white matter first.
    Files(Vec<PathBuf>),
    /// Measured in the scan.
    Algorithm(ResponseAlgorithm),
    /// The source holds distributions, not signals.
    NotUsed,
}

/// The recipe of a map of distributions.
#[derive(Clone, PartialEq, Debug)]
pub struct FodMapRecipe {
    pub fods: OriginId,
    pub map: FodMap,
}

impl FodRecipe {
    /// The arguments of the command that writes these maps.
    pub fn arguments(&self, document: &Document, mut maps: Vec<FodMap>) -> FodArguments {
        if self.responses == FodResponses::NotUsed {
            // An image of distributions is that of one tissue.
            maps.retain(|map| *map != FodMap::Fractions);
        }
        FodArguments {
            source: document.origins.source(self.scan),
            mask: match &self.mask {
                FitMask::File(path) => Some(path.clone()),
                FitMask::Found | FitMask::Head => None,
            },
            responses: match &self.responses {
                FodResponses::Files(files) => ResponseSource::Files(files.clone()),
                FodResponses::Algorithm(algorithm) => ResponseSource::Algorithm(*algorithm),
                FodResponses::NotUsed => ResponseSource::NotUsed,
            },
            response_params: self.response_params.clone(),
            params: self.params.clone(),
            peak_params: self.peak_params.clone(),
            maps,
        }
    }
}

impl Describe for FodRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.scan]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        CommandLine::Fods(Box::new(self.arguments(document, FodMap::SHOWN.to_vec())))
    }
}

impl Describe for FodMapRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.fods]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        match document.origins.fods(self.fods) {
            Some(fods) => CommandLine::Fods(Box::new(fods.arguments(document, vec![self.map]))),
            None => CommandLine::NoCommand {
                region: String::new(),
            },
        }
    }
}

impl Origins {
    /// Fibre orientation distributions.
    pub fn fods(&self, id: OriginId) -> Option<&Arc<FodRecipe>> {
        match self.get(id) {
            Origin::Computed(Recipe::Fods(fods)) => Some(fods),
            _ => None,
        }
    }
}
