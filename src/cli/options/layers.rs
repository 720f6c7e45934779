//! Layers that options name, and changes of how they look.

use super::super::headless::Headless;
use super::super::runner::Failure;
use crate::scene::volume_of;
use crate::state::core::volume_look::VolumeLook;
use crate::state::{Display, Layer, LayerAction, Phase};
use std::sync::Arc;

/// The layer with a name; if none has exactly this one, a layer whose name differs only in case, so that `fa` and `FA` can
/// both be named.
fn named<'a>(
    layers: impl Iterator<Item = &'a Arc<Layer>> + Clone,
    name: &str,
) -> Option<&'a Arc<Layer>> {
    let exact = layers.clone().find(|layer| layer.name == name);
    exact.or_else(|| layers.clone().find(|l| l.name.eq_ignore_ascii_case(name)))
}

/// The layer with a name among those of a kind, which the error names.
pub(super) fn layer_of(
    kind: &str,
    is_of_kind: impl Fn(&Layer) -> bool,
    name: &str,
    window: &Headless,
) -> Result<Arc<Layer>, Failure> {
    let all = window.state.document.layers.iter();
    let layers = all.clone().filter(|layer| is_of_kind(layer));
    named(layers.clone(), name).cloned().ok_or_else(|| {
        let found = match named(all, name) {
            Some(other) => format!("The layer “{}” is no {kind}", other.name),
            None => format!("There is no {kind} “{name}”"),
        };
        let names: Vec<&str> = layers.map(|layer| layer.name.as_str()).collect();
        Failure::usage(match names.as_slice() {
            [] => format!("{found}, expected one among the opened files: add its file"),
            names => format!("{found}, expected one of {}", names.join(", ")),
        })
    })
}

/// The layer with a name.
pub fn layer_named(name: &str, window: &Headless) -> Result<Arc<Layer>, Failure> {
    layer_of("layer", |_| true, name, window)
}

/// The scalar image with a name.
pub(super) fn image(name: &str, window: &Headless) -> Result<Arc<Layer>, Failure> {
    let is_image = |layer: &Layer| volume_of(layer).is_some();
    layer_of("image of numbers", is_image, name, window)
}

/// The look of an image in 3-D; the default one depends on the window of its values.
pub(super) fn volume_look(layer: &Layer, window: (f32, f32)) -> VolumeLook {
    let default = || {
        let volume = volume_of(layer);
        volume.map_or_else(VolumeLook::default, |volume| {
            VolumeLook::default_for(volume, window)
        })
    };
    layer.display.volume.clone().unwrap_or_else(default)
}

/// Changes the display of a layer and makes it visible, since an option for a hidden layer would change nothing.
pub(super) fn set_display(
    layer: &Layer,
    display: Display,
    window: &mut Headless,
) -> Result<(), Failure> {
    window.act(LayerAction::SetDisplay {
        layer: layer.id,
        display,
        phase: Phase::Done,
    })?;
    reveal(layer, window)
}

/// Changes the look of an image in 3-D and makes it visible.
pub(super) fn set_volume_look(
    layer: &Layer,
    look: VolumeLook,
    window: &mut Headless,
) -> Result<(), Failure> {
    let display = Display {
        volume: Some(look),
        ..layer.display.clone()
    };
    set_display(layer, display, window)
}

/// Makes a layer visible that an option has given a look.
pub(super) fn reveal(layer: &Layer, window: &mut Headless) -> Result<(), Failure> {
    if window.state.shows(layer) {
        return Ok(());
    }
    window.act(LayerAction::Show {
        layer: layer.id,
        visible: true,
    })
}
