//! Options that show images over others: limits of their values, opacity by value, outlines.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::shapes::{named, reveal};
use super::value_error::ValueError;
use crate::state::core::overlay::Overlay;
use crate::state::{Content, Display, LayerAction, Phase};

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Images over others")]
pub struct OverlayOptions {
    /// Show only values within these limits of an image, by the name of its layer, as in stat:2.3..8
    #[arg(long, value_name = "LAYER:LOW..HIGH", value_parser = limits, allow_hyphen_values = true)]
    pub limits: Vec<LimitsOfLayer>,
    /// The limits of this layer, and its opacity by value, are those of absolute values
    #[arg(long, value_name = "LAYER")]
    pub symmetric: Vec<String>,
    /// The opacity of this layer rises with the value, from the low end of the window
    #[arg(long, value_name = "LAYER")]
    pub opacity_by_value: Vec<String>,
    /// Draw lines around the values within the limits of this layer, around a mask, or around the labels of a label map
    #[arg(long, value_name = "LAYER")]
    pub outline: Vec<String>,
}

/// Limits of the values of a layer.
#[derive(Clone, PartialEq, Debug)]
pub struct LimitsOfLayer {
    layer: String,
    limits: (f32, f32),
}

fn limits(text: &str) -> Result<LimitsOfLayer, ValueError> {
    let read = || {
        let (layer, limits) = text.rsplit_once(':')?;
        let (low, high) = limits.split_once("..")?;
        let number = |text: &str| text.trim().parse::<f32>().ok().filter(|v| v.is_finite());
        let limits = (number(low)?, number(high)?);
        let is_ordered = limits.0 <= limits.1;
        (is_ordered && !layer.is_empty()).then(|| LimitsOfLayer {
            layer: layer.to_owned(),
            limits,
        })
    };
    let expected = "the name of a layer and limits from low to high, as in FA:0.2..0.8";
    read().ok_or_else(|| ValueError::new(expected, text))
}

impl OverlayOptions {
    /// Changes the display of the layers that the options name.
    pub fn apply(&self, window: &mut Headless) -> Result<(), Failure> {
        for LimitsOfLayer { layer, limits } in &self.limits {
            change(layer, window, |overlay| Overlay {
                limits: Some(*limits),
                ..overlay
            })?;
        }
        for layer in &self.symmetric {
            change(layer, window, |overlay| Overlay {
                is_symmetric: true,
                ..overlay
            })?;
        }
        for layer in &self.opacity_by_value {
            change(layer, window, |overlay| Overlay {
                opacity_by_value: true,
                ..overlay
            })?;
        }
        for layer in &self.outline {
            change(layer, window, |overlay| Overlay {
                is_outlined: true,
                ..overlay
            })?;
        }
        Ok(())
    }
}

/// Changes the overlay of the layer with a name.
fn change(
    name: &str,
    window: &mut Headless,
    changed: impl Fn(Overlay) -> Overlay,
) -> Result<(), Failure> {
    let layers = window.state.document.layers.iter();
    let images = layers
        .filter(|layer| !matches!(layer.content, Content::Tractogram(_) | Content::InPlace(_)));
    let Some(layer) = named(images.clone(), name).cloned() else {
        let names: Vec<&str> = images.map(|layer| layer.name.as_str()).collect();
        return Err(Failure::usage(format!(
            "There is no image “{name}”, expected one of {}",
            names.join(", ")
        )));
    };
    let display = Display {
        overlay: changed(layer.display.overlay.clone()),
        ..layer.display.clone()
    };
    window.act(LayerAction::SetDisplay {
        layer: layer.id,
        display,
        phase: Phase::Done,
    })?;
    reveal(&layer, window)
}
