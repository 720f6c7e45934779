//! Results of which a session holds checksums.

use crate::state::core::layer::Content as DocumentContent;
use crate::state::filter::WEIGHT;
use crate::state::pathways::PathwayResult;
use crate::state::sessions::types::content::{
    DISTRIBUTIONS, LIVE, PATHWAY, SURFACE, TENSORS, result_name,
};
use crate::state::sessions::types::draft::ResultToSum;
use crate::state::{Method, State, Task};
use std::path::Path;

pub(in crate::state) fn results(state: &State) -> Vec<ResultToSum> {
    let document = &state.document;
    let mut results = Vec::new();
    // Results of earlier settings are not what the session describes.
    let tensors = document.tensors.as_ref();
    if let Some(tensors) = tensors.filter(|_| !document.lacks_requested_fit()) {
        results.push(ResultToSum::Tensors(
            TENSORS.to_owned(),
            tensors.field.clone(),
        ));
    }
    let requested = document.requested_fods();
    let fods = document.distributions.result.as_ref();
    if let Some(fods) = fods.filter(|fods| Some(&fods.key) == requested.as_ref()) {
        let field = &fods.fods.output.field;
        results.push(ResultToSum::Values(
            DISTRIBUTIONS.to_owned(),
            field.id(),
            field.coefficients.clone(),
        ));
    }
    if let Some(live) = state.final_live() {
        results.push(ResultToSum::Curves {
            name: LIVE.to_owned(),
            tractogram: live.output.kept.clone(),
            stored: false,
        });
    }
    for layer in &document.layers {
        let is_recomputable = document.curve_recipe(layer.id).is_some()
            || document.missing_origin(layer.id).is_some();
        let edited = document.is_edited(layer.id);
        if let (DocumentContent::Tractogram(tractogram), true) =
            (&layer.content, is_recomputable || edited)
        {
            let mut tractogram = tractogram.clone();
            if document.weights.contains_key(&layer.id) {
                // They were fitted to the streamlines, and are not part of their recipe.
                tractogram.per_streamline.remove(WEIGHT);
            }
            results.push(ResultToSum::Curves {
                name: result_name(layer.id.0),
                tractogram,
                // A layer from a file is read from it again.
                stored: is_recomputable,
            });
        }
    }
    for layer in &document.layers {
        let is_summed = document.density_map(layer.id).is_some()
            || document.sensitivity_recipe(layer.id).is_some()
            || document.share_recipe(layer.id).is_some()
            || document.streamline_share_recipe(layer.id).is_some();
        if let (DocumentContent::Image(map), true) = (&layer.content, is_summed) {
            let name = result_name(layer.id.0);
            results.push(ResultToSum::Values(name, map.id(), map.values.clone()));
        }
    }
    let resting = state.resting_surface();
    if let Some(phi) = resting.and_then(|(live, _)| live.phi.as_ref()) {
        let name = SURFACE.to_owned();
        results.push(ResultToSum::Values(name, phi.id(), phi.values.clone()));
    }
    let costs = |name: String, result: &PathwayResult| {
        ResultToSum::Values(
            name,
            result.excess.id(),
            result.pathway.total.clone().into(),
        )
    };
    let live = state.final_pathway();
    let live = live.filter(|_| state.view.task == Task::Pathways);
    results.extend(live.map(|result| costs(PATHWAY.to_owned(), result)));
    for kept in &document.kept_pathways {
        let result = kept.result.as_ref();
        results.extend(result.map(|result| costs(result_name(kept.id.0), result)));
    }
    for missing in document.missing_layers() {
        let name = result_name(missing.layer.id);
        let sum = missing.session.results.iter().find(|r| r.result == name);
        let folder = missing.session.path.parent().unwrap_or(Path::new("/"));
        results.extend(sum.map(|sum| ResultToSum::Known(sum.clone(), folder.to_owned())));
    }
    results
}

/// Results that are being computed, or of earlier settings: a session stores no checksum of them.
pub(in crate::state) fn results_not_final(state: &State) -> Vec<&'static str> {
    let document = &state.document;
    let mut names = Vec::new();
    let mut name = |is_requested: bool, is_final: bool, name| {
        if is_requested && !is_final {
            names.push(name);
        }
    };
    let tracked = state.standing().is_some();
    let curves = match document.track.method {
        Method::Streamlines => "the streamlines of Track",
        Method::Rays => "the rays of Track",
    };
    name(tracked, state.final_live().is_some(), curves);
    name(
        state.surface_script().is_some(),
        state.resting_surface().is_some(),
        "the surface",
    );
    let has_pathway = state.pathway_key().is_some() || state.pathway_awaits_surface();
    name(
        has_pathway && state.view.task == Task::Pathways,
        state.final_pathway().is_some(),
        "the pathway",
    );
    let requested = document.requested_fods();
    let fods = document.distributions.result.as_ref();
    name(
        requested.is_some(),
        fods.is_some_and(|fods| Some(&fods.key) == requested.as_ref()),
        "the distributions",
    );
    names
}
