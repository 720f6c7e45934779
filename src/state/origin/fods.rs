//! Recipes of fibre orientation distributions and of their maps.

use crate::solvers::{csd, peaks, response};
use crate::state::command_line::{CommandLine, NoCommand};
use crate::state::core::layer::OriginId;
use crate::state::document::Document;
use crate::state::origin::{Describe, Origin, Origins, Recipe};
use crate::state::regions::recipe::MaskWithoutFile;
use crate::state::tensors::recipe::FitMask;
use crate::state::tensors::recipe::fod::{FodArguments, FodMap, ResponseSource};
use std::sync::Arc;

/// The recipe of fibre orientation distributions: a scan that is deconvolved, or an image that holds them.
#[derive(Clone, PartialEq, Debug)]
pub struct FodRecipe {
    pub scan: OriginId,
    pub mask: FitMask,
    pub responses: ResponseSource,
    pub response_params: response::Params,
    pub params: csd::Params,
    pub peak_params: peaks::Params,
}

/// The recipe of a map of distributions.
#[derive(Clone, PartialEq, Debug)]
pub struct FodMapRecipe {
    pub fods: OriginId,
    pub map: FodMap,
}

impl FodRecipe {
    /// The command that writes these maps.
    fn command_of(&self, document: &Document, maps: Vec<FodMap>) -> CommandLine {
        match self.arguments(document, maps) {
            Err(region) => NoCommand::from(region).into(),
            Ok(fods) => CommandLine::Fods(Box::new(fods)),
        }
    }

    /// The arguments of the command that writes these maps; an error if a response function was measured in a region
    /// without a file.
    pub fn arguments(
        &self,
        document: &Document,
        maps: Vec<FodMap>,
    ) -> Result<FodArguments, MaskWithoutFile> {
        match self.responses.region_without_file() {
            Some(region) => Err(MaskWithoutFile(region.to_owned())),
            None => Ok(self.description(document, maps)),
        }
    }

    /// Sources and parameters for a report, whether or not a command can name them.
    pub fn description(&self, document: &Document, mut maps: Vec<FodMap>) -> FodArguments {
        if self.responses == ResponseSource::NotUsed {
            maps.retain(|map| !map.is_of_scan());
        }
        let mut params = self.params.clone();
        let has_bootstrap = params.repetitions.is_some();
        if self.responses == ResponseSource::NotUsed || !has_bootstrap {
            maps.retain(|map| !map.is_of_bootstrap());
        }
        if !maps.iter().any(|map| map.is_of_bootstrap()) {
            // It has no effect on other maps.
            params.repetitions = None;
        }
        FodArguments {
            source: document.origins.source(self.scan),
            mask: match &self.mask {
                FitMask::File(path) => Some(path.clone()),
                FitMask::Automatic | FitMask::Head => None,
            },
            responses: self.responses.clone(),
            response_params: self.response_params.clone(),
            params,
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
        self.command_of(document, FodMap::SHOWN.to_vec())
    }
}

impl Describe for FodMapRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.fods]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        match document.origins.fods(self.fods) {
            Some(fods) => fods.command_of(document, vec![self.map]),
            None => CommandLine::NoCommand(NoCommand::OriginUnknown),
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

    /// Whether curves can be computed again in what this origin gives: tensors or distributions.
    pub fn has_field(&self, id: OriginId) -> bool {
        self.fit(id).is_some() || self.fods(id).is_some()
    }
}
