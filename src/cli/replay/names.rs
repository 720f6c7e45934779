//! Names of results in reports of a replay.

use super::*;

/// The user's name for a result of the session.
pub fn result_name(document: &Document, of: &str) -> String {
    match of {
        saved::TENSORS => TENSORS.to_owned(),
        saved::DISTRIBUTIONS => DISTRIBUTIONS.to_owned(),
        saved::LIVE => live_name(document.track.method == Method::Rays).to_owned(),
        saved::PATHWAY => PATHWAY.to_owned(),
        saved::SURFACE => SURFACE.to_owned(),
        of => {
            let here = document.layers.iter().map(|l| (l.id.0, &l.name));
            let missing = document.missing_layers();
            let missing = missing.map(|m| (m.layer.id, &m.layer.name));
            let mut layers = here.chain(missing);
            let layer = layers.find(|(id, _)| saved::result_name(*id) == of);
            layer.map_or_else(|| of.to_owned(), |(_, name)| name.clone())
        }
    }
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
