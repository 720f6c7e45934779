//! Options that show an image as a maximum or minimum intensity projection.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::layers::{image, set_display, volume_look};
use super::shapes::limits;
use super::value_error::ValueError;
use crate::data::appearance::{ColourMap, Colours};
use crate::state::Display;
use crate::state::core::volume_look::VolumeStyle;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Intensity projections")]
pub struct ProjectionOptions {
    /// Show the largest or the smallest value along each line of sight (maximum or minimum intensity projection) of an
    /// image in the 3-D view, with the values and the name of a colour map, as in FA:maximum:0.2..0.9:viridis
    #[arg(long, value_name = "LAYER:KIND[:LOW..HIGH[:MAP]]", value_parser = projection, allow_hyphen_values = true)]
    pub projection: Vec<Projection>,
}

/// A projection of a layer that is still a name.
#[derive(Clone, PartialEq, Debug)]
pub struct Projection {
    layer: String,
    style: VolumeStyle,
    window: Option<(f32, f32)>,
    colour_map: Option<ColourMap>,
}

const FORM: &str = "the name of a layer, maximum or minimum, values from low to high and a colour map of images, as in \
                    FA:maximum:0.2..0.9:viridis";

/// A projection, or what its text should be.
fn projection(text: &str) -> Result<Projection, ValueError> {
    let form = || ValueError::new(FORM, text);
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let (layer, kind, window, map) = match parts[..] {
        [layer, kind] => (layer, kind, None, None),
        [layer, kind, window] => (layer, kind, Some(window), None),
        [layer, kind, window, map] => (layer, kind, Some(window), Some(map)),
        _ => return Err(form()),
    };
    let style = VolumeStyle::from_key(kind).filter(|style| style.is_projection());
    let style = style.filter(|_| !layer.is_empty()).ok_or_else(form)?;
    let window = match window {
        Some(range) => Some(limits(range).ok_or_else(|| {
            ValueError::new("two rising numbers after the kind, as in 0.2..0.9", range)
        })?),
        None => None,
    };
    let colour_map = match map {
        Some(key) => Some(image_map(key)?),
        None => None,
    };
    Ok(Projection {
        layer: layer.to_owned(),
        style,
        window,
        colour_map,
    })
}

pub(super) fn image_map(key: &str) -> Result<ColourMap, ValueError> {
    let known = ColourMap::FOR_IMAGES;
    let map = ColourMap::from_key(key).filter(|map| known.contains(map));
    map.ok_or_else(|| {
        let keys = known.map(|map| map.key()).join(", ");
        ValueError::new(format!("a colour map of images, one of {keys}"), key)
    })
}

impl ProjectionOptions {
    /// Shows the named layers as projections.
    pub fn apply(&self, window: &mut Headless) -> Result<(), Failure> {
        for projection in &self.projection {
            projection.apply(window)?;
        }
        Ok(())
    }
}

impl Projection {
    fn apply(&self, window: &mut Headless) -> Result<(), Failure> {
        let layer = image(&self.layer, window)?;
        let values = self.window.unwrap_or(layer.display.window);
        let mut look = volume_look(&layer, values);
        look.style = self.style;
        if let Some(map) = self.colour_map {
            look.transfer.colours = Colours::Map(map);
        }
        let display = Display {
            window: values,
            volume: Some(look),
            ..layer.display.clone()
        };
        set_display(&layer, display, window)
    }
}
