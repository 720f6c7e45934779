//! Commands of pathways: their maps of sensitivity, and shares of their repetitions.

use crate::data::Region;
use crate::solvers::csd;
use crate::solvers::lifted::SensitivityTo;
use crate::solvers::pathway::DEFAULT_EPSILON;
use crate::state::command_line::NoCommand;
use crate::state::core::layer::OriginId;
use crate::state::origin::Describe;
use crate::state::origin::commands::{fit_arguments, unknown};
use crate::state::pathways::PathwayParams;
use crate::state::pathways::recipe::{
    LiftedPathwayCommand, RepeatedModel, SensitivityRecipe, ShareRecipe, UncertaintyCommand,
};
use crate::state::regions::recipe::MaskWithoutFile;
use crate::state::tensors::recipe::fod::{FodArguments, FodMap, ResponseSource};
use crate::state::{CommandLine, Document};

impl Describe for SensitivityRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.fit]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        let pathway = (&self.regions[..], &self.params, DEFAULT_EPSILON);
        pathway_command(document, self.fit, pathway, Some(self.to)).unwrap_or_else(unknown)
    }
}

/// The command of a pathway with these regions, parameters and width in the tensors or the distributions of an origin, or
/// of the map of the voxels on which it depends; `None` if the origin is neither.
pub fn pathway_command(
    document: &Document,
    origin: OriginId,
    (regions, params, epsilon): (&[Region], &PathwayParams, f64),
    map: Option<SensitivityTo>,
) -> Option<CommandLine> {
    let without_file = |region| NoCommand::from(region).into();
    let fods = document.origins.fods(origin);
    let fit = fit_arguments(document, origin);
    let specs = document.specs(regions);
    match *params {
        PathwayParams::Tensors(params) => {
            let fit = fit?;
            Some(
                specs.map_or_else(without_file, |regions| CommandLine::Pathway {
                    fit,
                    regions,
                    params,
                    epsilon,
                    is_map: map.is_some(),
                }),
            )
        }
        PathwayParams::Distributions(params) => {
            let fods = fods?.arguments(document, vec![FodMap::Peaks]);
            let command = specs.and_then(|regions| {
                Ok(LiftedPathwayCommand {
                    fods: fods?,
                    regions,
                    params,
                    epsilon,
                    map,
                })
            });
            Some(command.map_or_else(without_file, |command| {
                CommandLine::LiftedPathway(Box::new(command))
            }))
        }
    }
}

/// Whether repetitions with files alone are those of the window: `arcuate uncertainty` knows the order and the responses of
/// a deconvolution, but not its other parameters.
fn can_repeat(fods: &FodArguments) -> bool {
    let defaults = csd::Params {
        order: fods.params.order,
        random_seed: fods.params.random_seed,
        repetitions: fods.params.repetitions,
        ..csd::Params::defaults()
    };
    fods.responses != ResponseSource::NotUsed && fods.params == defaults
}

impl Describe for ShareRecipe {
    fn inputs(&self) -> Vec<OriginId> {
        vec![self.fit]
    }

    fn command_line(&self, document: &Document) -> CommandLine {
        let without_file = |region: MaskWithoutFile| NoCommand::from(region).into();
        let model = match self.params {
            PathwayParams::Tensors(params) => match fit_arguments(document, self.fit) {
                Some(fit) => RepeatedModel::Tensors(fit, params),
                None => return unknown(),
            },
            PathwayParams::Distributions(params) => {
                let Some(fods) = document.origins.fods(self.fit) else {
                    return unknown();
                };
                match fods.arguments(document, Vec::new()) {
                    Ok(fods) if can_repeat(&fods) => {
                        RepeatedModel::Distributions(Box::new(fods), params)
                    }
                    Ok(_) => return NoCommand::OtherDeconvolution.into(),
                    Err(region) => return without_file(region),
                }
            }
        };
        match document.specs(&self.regions) {
            Err(region) => without_file(region),
            Ok(regions) => CommandLine::Uncertainty(Box::new(UncertaintyCommand {
                model,
                regions,
                epsilon: self.epsilon,
                repetitions: self.repetitions,
                distance_to: None,
            })),
        }
    }
}
