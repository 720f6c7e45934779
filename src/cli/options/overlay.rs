//! Options that show images over others: limits of their values, opacity by value, outlines.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::layers::{layer_named, layer_of, set_display};
use super::projections::image_map;
use super::shapes::limits as rising;
use super::value_error::ValueError;
use crate::data::appearance::ColourMap;
use crate::state::core::overlay::Overlay;
use crate::state::{Content, Display, Layer, LayerAction};

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
    /// Values of an image at the ends of its colours, if need be with a colour map, as in FA:0.2..0.8:viridis
    #[arg(long, value_name = "LAYER:LOW..HIGH[:MAP]", value_parser = range_of_layer, allow_hyphen_values = true)]
    pub range: Vec<RangeOfLayer>,
    /// Opacity of a layer, from 0 to 1, as in stat:0.6
    #[arg(long, value_name = "LAYER:0..1", value_parser = opacity)]
    pub opacity: Vec<OpacityOfLayer>,
    /// Hide a layer; its values still serve other options
    #[arg(long, value_name = "LAYER")]
    pub hide: Vec<String>,
}

/// The range and the colour map of a layer.
#[derive(Clone, PartialEq, Debug)]
pub struct RangeOfLayer {
    layer: String,
    range: (f32, f32),
    colour_map: Option<ColourMap>,
}

/// The opacity of a layer.
#[derive(Clone, PartialEq, Debug)]
pub struct OpacityOfLayer {
    layer: String,
    opacity: f32,
}

fn range_of_layer(text: &str) -> Result<RangeOfLayer, ValueError> {
    let expected = "the name of a layer, two rising numbers and perhaps a colour map of images, as in FA:0.2..0.8:viridis";
    let unexpected = || ValueError::new(expected, text);
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let (layer, range, map) = match parts[..] {
        [layer, range] => (layer, range, None),
        [layer, range, map] => (layer, range, Some(image_map(map)?)),
        _ => return Err(unexpected()),
    };
    let range = rising(range).filter(|_| !layer.is_empty());
    Ok(RangeOfLayer {
        layer: layer.to_owned(),
        range: range.ok_or_else(unexpected)?,
        colour_map: map,
    })
}

fn opacity(text: &str) -> Result<OpacityOfLayer, ValueError> {
    let read = || {
        let (layer, opacity) = text.rsplit_once(':')?;
        let opacity = opacity.trim().parse().ok();
        let opacity = opacity.filter(|v| (0.0..=1.0).contains(v))?;
        (!layer.is_empty()).then(|| OpacityOfLayer {
            layer: layer.to_owned(),
            opacity,
        })
    };
    let expected = "the name of a layer and a number from 0 to 1, as in stat:0.6";
    read().ok_or_else(|| ValueError::new(expected, text))
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
        for range in &self.range {
            change_display(&range.layer, window, |display| Display {
                window: range.range,
                colour_map: range.colour_map.unwrap_or(display.colour_map),
                ..display
            })?;
        }
        for OpacityOfLayer { layer, opacity } in &self.opacity {
            let layer = layer_named(layer, window)?;
            let display = Display {
                opacity: *opacity,
                ..layer.display.clone()
            };
            set_display(&layer, display, window)?;
        }
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

    /// Hides layers, after all options that show those they name.
    pub fn hide(&self, window: &mut Headless) -> Result<(), Failure> {
        for name in &self.hide {
            let layer = layer_named(name, window)?.id;
            window.act(LayerAction::Show {
                layer,
                visible: false,
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
    change_display(name, window, |display| Display {
        overlay: changed(display.overlay.clone()),
        ..display
    })
}

/// Changes the display of the image with a name.
fn change_display(
    name: &str,
    window: &mut Headless,
    changed: impl Fn(Display) -> Display,
) -> Result<(), Failure> {
    let is_image =
        |layer: &Layer| !matches!(layer.content, Content::Tractogram(_) | Content::InPlace(_));
    let layer = layer_of("image", is_image, name, window)?;
    set_display(&layer, changed(layer.display.clone()), window)
}
