//! Values of streamlines that the colours of a layer require.

use crate::state::core::display::LineColouring;
use crate::state::edit::edit;
use crate::state::streamlines::current::ColourRequest;
use crate::state::streamlines::jobs::colours::ColourStreamlines;
use crate::state::{Effect, LayerId, State};
use std::path::PathBuf;

/// Colours the streamlines of a layer by the values of a file, which may have changed since it was last read.
pub(in crate::state) fn colour_by_file(state: &mut State, layer: LayerId, path: PathBuf) {
    state.runtime.streamlines.colours.remove(&layer);
    edit(state, "Display", false, |d| {
        d.edit_layer(layer, |l| {
            let display = &mut l.display;
            display.line_colouring = LineColouring::ValuesFile(path);
            display.line_scale = display.line_scale.for_other_values();
        });
    });
}

/// Requests the values that the colours of each visible layer show and that its streamlines do not hold.
pub(super) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let layers = state.document.layers.iter();
    let layers = layers.filter(|layer| layer.display.visible);
    let needed = layers.filter_map(|layer| Some((layer.id, state.colour_request(layer)?)));
    let needed: Vec<(LayerId, ColourRequest)> = needed.collect();
    let colours = &mut state.runtime.streamlines.colours;
    colours.retain(|layer, _| needed.iter().any(|(id, _)| id == layer));
    for (layer, request) in needed {
        let live = colours.entry(layer).or_default();
        if let Some(key) = live.ask(Some(request.key)) {
            effects.push(Effect::submit(ColourStreamlines {
                layer,
                tractogram: request.tractogram,
                colouring: key.colouring,
                source: request.source,
                statistic: key.statistic,
            }));
        }
    }
}
