//! What changed between two states of what steers a surface, in words with values.

use crate::jobs::Hand;
use crate::solvers::level_set::Params;
use crate::state::Document;
use crate::state::segment::Segmentation;
use crate::state::words::{counted, significant, with_unit};

/// From one to the other, the most telling first; values as the panel shows them.
pub fn changed(document: &Document, from: &Segmentation, to: &Segmentation) -> Vec<String> {
    let scale = document
        .segmented_image()
        .map_or(1.0, |(l, _)| l.unit_scale);
    let mut words = params((&from.settings.params, &to.settings.params), scale);
    let name = |id: Option<_>| {
        let layer = id.and_then(|id| document.layer(id));
        layer.map_or_else(|| "none".to_owned(), |l| l.name.clone())
    };
    if from.layer != to.layer {
        words.push(format!(
            "speed of layer {} → {}",
            name(from.layer),
            name(to.layer)
        ));
    }
    for (which, what) in ["grow in", "keep out of"].into_iter().enumerate() {
        let [from, to] = [from, to].map(|s| s.painted[which]);
        if from != to {
            let region = to.and_then(|id| document.region(id));
            let name = region.map_or("none", |r| &r.name);
            words.push(format!("{what} → {name}"));
        }
    }
    words.extend(spheres(&from.spheres, &to.spheres));
    if from.settings.shown != to.settings.shown {
        let how = if to.settings.shown { "shown" } else { "hidden" };
        words.push(format!("surface {how}"));
    }
    if from.settings != to.settings && words.is_empty() {
        words.push("settings".to_owned());
    }
    words
}

fn params((from, to): (&Params, &Params), scale: f32) -> Vec<String> {
    let weight = |p: &Params| p.layer.map_or(0.0, |_| p.layer_weight);
    let all = [
        ("T", from.target * scale, to.target * scale),
        ("ε", from.tolerance * scale, to.tolerance * scale),
        ("smoothness", from.smoothness, to.smoothness),
        ("intensity", from.intensity, to.intensity),
        ("region means", from.region, to.region),
        ("edge stopping", from.edge, to.edge),
        ("weight of the layer", weight(from), weight(to)),
        ("speed of regions", from.bias, to.bias),
        ("rescaling", from.rescaling, to.rescaling),
    ];
    let mut words: Vec<String> = all
        .into_iter()
        .filter(|(_, from, to)| from != to)
        .map(|(name, from, to)| {
            let [from, to] = [from, to].map(|v| significant(f64::from(v)));
            format!("{name} {from} → {to}")
        })
        .collect();
    // The contrast is set with the first weight of the edges.
    if from.edge == to.edge && from.edge_contrast != to.edge_contrast {
        let [from, to] = [from, to].map(|p| significant(f64::from(p.edge_contrast)));
        words.push(format!("edge contrast {from} → {to}"));
    }
    if from.mode != to.mode {
        words.push(format!("units {:?} → {:?}", from.mode, to.mode));
    }
    words
}

/// Each sphere by its kind and size; many of them by their number.
fn spheres(from: &[Hand], to: &[Hand]) -> Vec<String> {
    let mm = |radius: f64| with_unit(&significant(radius), "mm");
    let what = |add: bool| if add { "sphere" } else { "keep-out sphere" };
    let missing = |hands: &[Hand], (number, _): &Hand| hands.iter().all(|(n, _)| n != number);
    let mut words = Vec::new();
    for (of, others, done) in [(from, to, "deleted"), (to, from, "restored")] {
        let own: Vec<&Hand> = of.iter().filter(|hand| missing(others, hand)).collect();
        match &*own {
            [] => {}
            [(_, s)] => words.push(format!("{} of {} {done}", what(s.add), mm(s.radius_mm))),
            many => {
                let kind = match many.iter().all(|(_, s)| s.add == many[0].1.add) {
                    true => what(many[0].1.add),
                    false => "sphere",
                };
                words.push(format!("{} {done}", counted(many.len(), kind)));
            }
        }
    }
    for (number, before) in from {
        let after = to.iter().find(|(n, _)| n == number).map(|(_, s)| s);
        let Some(after) = after.filter(|after| *after != before) else {
            continue;
        };
        let [old, new] = [before, after].map(|s| mm(s.radius_mm));
        words.push(match old == new {
            true => format!("{} moved", what(after.add)),
            false => format!("{} {old} → {new}", what(after.add)),
        });
    }
    words
}
