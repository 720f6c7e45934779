//! Names of results in reports of a replay.

use super::*;

/// The user's name for a result of the session.
pub fn result_name(state: &State, result: &str) -> String {
    let document = &state.document;
    match result {
        saved::TENSORS => TENSORS.to_owned(),
        saved::DISTRIBUTIONS => DISTRIBUTIONS.to_owned(),
        saved::LIVE => live_name(document.track.method == Method::Rays).to_owned(),
        saved::PATHWAY => PATHWAY.to_owned(),
        saved::SURFACE => SURFACE.to_owned(),
        result => {
            let own = name_in(document, |id| saved::result_name(id) == result);
            let mut snapshots = (1..).zip(&state.runtime.snapshots.all);
            let name = own.or_else(|| {
                snapshots.find_map(|(number, snapshot)| {
                    let is = |id| saved::snapshot_result(number, id) == result;
                    let name = name_in(&snapshot.document, is)?;
                    Some(format!("{name} of {}", snapshot.label()))
                })
            });
            name.unwrap_or_else(|| {
                format!("A result that the session does not describe ({result})")
            })
        }
    }
}

/// The name of the layer or kept pathway of a document, also a missing one, whose number satisfies `is`.
fn name_in(document: &Document, is: impl Fn(u64) -> bool) -> Option<String> {
    let layers = document.layers.iter().map(|l| (l.id.0, &l.name));
    let missing = document.missing_layers();
    let missing = missing.map(|m| (m.layer.id, &m.layer.name));
    let pathways = document.kept_pathways.iter().map(|p| (p.id.0, &p.name));
    let mut all = layers.chain(missing).chain(pathways);
    all.find_map(|(id, name)| is(id).then(|| name.clone()))
}

/// The key of the weights of a layer's streamlines.
pub fn weights_key(layer: u64) -> String {
    format!("{}_weights", saved::result_name(layer))
}

pub fn live_name(rays: bool) -> &'static str {
    match rays {
        true => "The regions' rays",
        false => "The regions' streamlines",
    }
}

pub const TENSORS: &str = "Tensors";

pub const DISTRIBUTIONS: &str = "Fibre orientation distributions";

pub const PATHWAY: &str = "The regions' pathway";

pub const SURFACE: &str = "The surface in Segment";
