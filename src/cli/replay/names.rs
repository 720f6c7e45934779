//! Names of results in reports of a replay.

use super::*;

/// The user's name for a result of the session.
pub fn result_name(document: &Document, of: &str) -> String {
    let layer = |id: u64| {
        let missing = document.missing_layer(LayerId(id));
        let here = document.layer(LayerId(id)).map(|l| l.name.clone());
        here.or_else(|| missing.map(|m| m.layer.name.clone()))
    };
    match of {
        saved::TENSORS => TENSORS.to_owned(),
        saved::DISTRIBUTIONS => DISTRIBUTIONS.to_owned(),
        saved::LIVE => live_name(document.track.method == Method::Rays).to_owned(),
        saved::PATHWAY => PATHWAY.to_owned(),
        saved::SURFACE => SURFACE.to_owned(),
        of => {
            let id = of.strip_prefix("layer ").and_then(|id| id.parse().ok());
            id.and_then(layer).unwrap_or_else(|| of.to_owned())
        }
    }
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
