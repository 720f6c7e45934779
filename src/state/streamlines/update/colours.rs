//! Values along streamlines that the colours of a layer require.

use crate::data::{Tractogram, Volume};
use crate::state::streamlines::current::lacks_fa;
use crate::state::streamlines::jobs::along::SampleFa;
use crate::state::streamlines::{ColumnKey, ValueSource};
use crate::state::{Effect, LayerId, State};

/// Samples the fit's FA along the drawn streamlines of each layer whose colours show it.
pub(super) fn follow(state: &mut State, effects: &mut Vec<Effect>) {
    let needed = needed(state);
    let fa_along = &mut state.runtime.streamlines.fa_along;
    fa_along.retain(|layer, _| needed.iter().any(|(id, ..)| id == layer));
    for (layer, tractogram, fa) in needed {
        let key = ColumnKey {
            tractogram: tractogram.id(),
            source: ValueSource::Image(fa.id(), 0),
        };
        let live = state.runtime.streamlines.fa_along.entry(layer).or_default();
        if live.ask(Some(key)).is_some() {
            effects.push(Effect::submit(SampleFa {
                layer,
                tractogram,
                fa,
            }));
        }
    }
}

fn needed(state: &State) -> Vec<(LayerId, Tractogram, Volume)> {
    let Some(fa) = state.document.tensors.as_ref().map(|tensors| &tensors.fa) else {
        return Vec::new();
    };
    let layers = state.document.layers.iter();
    let layers = layers.filter(|layer| layer.display.visible);
    let lines = layers.filter_map(|layer| {
        let kept = state.kept_streamlines(layer)?;
        let requested = lacks_fa(layer, kept) && !kept.is_empty();
        requested.then(|| (layer.id, kept.clone(), fa.clone()))
    });
    lines.collect()
}
