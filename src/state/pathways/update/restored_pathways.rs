//! Recomputes, one at a time, pathways that a session restored without their costs.

use crate::data::{DataId, OdfField};
use crate::state::core::layer::LayerId;
use crate::state::core::notices::Severity;
use crate::state::pathways::jobs::{FindLifted, FindPathway};
use crate::state::pathways::recipe::PathwayInputs;
use crate::state::pathways::{KeptPathway, PathwayParams};
use crate::state::tensors::inputs::MissingInput;
use crate::state::tensors::{inputs, mask_text};
use crate::state::{Content, Document, Effect, State};
use std::sync::Arc;

/// The job that finds a kept pathway, or that of a layer.
#[derive(Clone, Debug)]
pub enum FindKept {
    Tensors(Box<FindPathway>),
    Distributions(FindLifted),
}

/// Collects the inputs of a kept pathway; an error names the one that is missing.
pub fn find(document: &Document, kept: &KeptPathway) -> Result<FindKept, MissingInput> {
    let inputs = PathwayInputs {
        fit: kept.fit,
        regions: &kept.regions,
        params: kept.params,
    };
    let id = Some(kept.id.0);
    let epsilon = kept.solved_epsilon();
    Ok(
        match find_of_layer(document, &kept.name, inputs, epsilon)? {
            FindKept::Tensors(job) => FindKept::Tensors(Box::new(FindPathway { kept: id, ..*job })),
            FindKept::Distributions(job) => FindKept::Distributions(FindLifted { kept: id, ..job }),
        },
    )
}

/// The job that finds the pathway of a layer of this name, with costs up to `epsilon` above the least.
pub fn find_of_layer(
    document: &Document,
    name: &str,
    pathway: PathwayInputs,
    epsilon: f64,
) -> Result<FindKept, MissingInput> {
    let regions = pathway.regions.to_vec();
    Ok(match pathway.params {
        PathwayParams::Tensors(params) => FindKept::Tensors(Box::new(FindPathway {
            tensors: inputs::tensors(document, name, pathway.fit)?,
            regions,
            params,
            coarse: false,
            prepared: None,
            kept: None,
            mask_name: mask_text::name_of_fit(document, pathway.fit),
        })),
        PathwayParams::Distributions(params) => FindKept::Distributions(FindLifted {
            distributions: Box::new(inputs::distributions(document, name, pathway.fit)?),
            regions,
            params,
            epsilon,
            coarse: false,
            prepared: None,
            kept: None,
        }),
    })
}

/// Recomputes, one at a time, the kept pathways that a session restored.
pub(in crate::state) fn solve_kept(state: &mut State, effects: &mut Vec<Effect>) {
    let tensors = &state.runtime.tensors;
    let is_computed = tensors.is_fitting() || tensors.fods.running().is_some();
    if is_computed || state.document.kept_pathways.is_empty() {
        return;
    }
    let with = available_inputs(&state.document);
    let runtime = &mut state.runtime.pathways;
    if runtime.unsolved_with != with {
        runtime.unsolved.clear();
        runtime.unsolved_with = with;
    }
    if runtime.solving.is_some() {
        return;
    }
    let missing = |k: &&Arc<KeptPathway>| k.result.is_none() && !runtime.unsolved.contains(&k.id);
    let Some(kept) = state.document.kept_pathways.iter().find(missing).cloned() else {
        return;
    };
    match find(&state.document, &kept) {
        Ok(request) => {
            state.runtime.pathways.solving = Some(kept.id);
            effects.push(match request {
                FindKept::Tensors(job) => Effect::submit(*job),
                FindKept::Distributions(job) => Effect::submit(job),
            });
        }
        Err(missing) => {
            state.runtime.pathways.unsolved.push(kept.id);
            let sentence = missing.to_string();
            state.runtime.notify(Severity::Warning, sentence);
        }
    }
}

/// The inputs available to kept pathways.
fn available_inputs(document: &Document) -> ([Option<DataId>; 2], Vec<(LayerId, bool)>) {
    let known = |content: &Content| matches!(content, Content::Scan { dwi, gradients } if gradients.is_some() || dwi.tensors.is_some());
    let layers = document.layers.iter().map(|l| (l.id, known(&l.content)));
    let tensors = document.tensors.as_ref().map(|t| t.field.id());
    let distributions = document.distributions.field().map(OdfField::id);
    ([tensors, distributions], layers.collect())
}

/// A kept pathway could not be recomputed; returns its name.
pub fn kept_failed(state: &mut State) -> Option<String> {
    let id = state.runtime.pathways.solving.take()?;
    state.runtime.pathways.unsolved.push(id);
    let mut kept = state.document.kept_pathways.iter();
    kept.find(|k| k.id == id).map(|k| k.name.clone())
}
