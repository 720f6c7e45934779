//! Values of streamlines that the colours of a layer require.

use crate::state::core::display::LineColouring;
use crate::state::edit::edit;
use crate::state::streamlines::current::ColourRequest;
use crate::state::streamlines::in_place::{PictureOf, in_place};
use crate::state::streamlines::jobs::colours::ColourStreamlines;
use crate::state::streamlines::update::in_place::runtime_mut;
use crate::state::streamlines::{ColourKey, LineColours, Live};
use crate::state::{Effect, Layer, LayerId, State};
use std::path::PathBuf;
use std::sync::Arc;

/// Colours the streamlines of a layer by the values of a file, which may have changed since it was last read.
pub(in crate::state) fn colour_by_file(state: &mut State, layer: LayerId, path: PathBuf) {
    state.runtime.streamlines.colours.remove(&layer);
    if let Some(runtime) = runtime_mut(state, layer) {
        runtime.near_colours = Live::default();
    }
    edit(state, "Display", false, |d| {
        d.edit_layer(layer, |l| {
            let display = &mut l.display;
            display.line_colouring = LineColouring::ValuesFile(path);
            display.line_scale = display.line_scale.for_other_values();
        });
    });
}

/// The values of the colours of one of a layer's pictures.
pub(in crate::state) fn live_mut(
    state: &mut State,
    layer: LayerId,
    picture: PictureOf,
) -> Option<&mut Live<ColourKey, LineColours>> {
    match picture {
        PictureOf::Whole => state.runtime.streamlines.colours.get_mut(&layer),
        PictureOf::View => Some(&mut runtime_mut(state, layer)?.near_colours),
    }
}

/// Requests the values that the colours of each visible layer show and that its streamlines do not hold.
pub(super) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let layers = state.document.layers.iter();
    let layers: Vec<Arc<Layer>> = layers
        .filter(|layer| layer.display.visible)
        .cloned()
        .collect();
    let mut needed: Vec<(LayerId, PictureOf, ColourRequest)> = Vec::new();
    for layer in layers {
        // While the camera moves, the 3-D view shows the streamlines of all views.
        let near = (in_place(&layer).is_some() && !state.view.moving).then_some(PictureOf::View);
        for picture in [PictureOf::Whole].into_iter().chain(near) {
            let request = state.colour_request(&layer, picture);
            needed.extend(request.map(|request| (layer.id, picture, request)));
        }
    }
    let has_whole = |id: &LayerId| {
        let mut needed = needed.iter();
        needed.any(|(layer, picture, _)| layer == id && *picture == PictureOf::Whole)
    };
    let colours = &mut state.runtime.streamlines.colours;
    colours.retain(|layer, _| has_whole(layer));
    for (layer, picture, request) in needed {
        if picture == PictureOf::Whole {
            let colours = &mut state.runtime.streamlines.colours;
            colours.entry(layer).or_default();
        }
        let Some(live) = live_mut(state, layer, picture) else {
            continue;
        };
        if let Some(key) = live.ask(Some(request.key)) {
            effects.push(Effect::submit(ColourStreamlines {
                layer,
                tractogram: request.tractogram,
                colouring: key.colouring,
                source: request.source,
                statistic: key.statistic,
                from_file: request.from_file,
            }));
        }
    }
}
