//! Options that show an image as a cloud by an opacity curve.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::layers::{image, set_volume_look, volume_look};
use super::projections::image_map;
use super::shapes::colour;
use super::value_error::ValueError;
use crate::data::appearance::{Colours, Transfer};
use crate::state::core::volume_look::{VolumeLook, VolumeStyle};

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Clouds")]
pub struct CloudOptions {
    /// Show an image as a cloud, whose opacity rises over its range (see --range), in a colour map of images or in one
    /// colour, as in FA:viridis or FA:E69F00
    #[arg(long, value_name = "LAYER[:MAP|RRGGBB]", value_parser = cloud)]
    pub cloud: Vec<Cloud>,
    /// Opacities of a cloud at 2 to 12 places of its range, from 0 at the low to 1 at the high end, as in
    /// FA:0=0,0.4=0,0.6=0.3,1=0.8
    #[arg(long, value_name = "LAYER:AT=OPACITY,...", requires = "cloud", value_parser = curve)]
    pub cloud_curve: Vec<Curve>,
    /// Thickness in mm of the layer for which curve and shapes give the opacity [default: two voxels]
    #[arg(long, value_name = "LAYER:MM", value_parser = thickness)]
    pub cloud_thickness: Vec<Thickness>,
    /// Draw a cloud without light and shade
    #[arg(long, value_name = "LAYER")]
    pub cloud_flat: Vec<String>,
}

/// A cloud of a layer that is still a name.
#[derive(Clone, PartialEq, Debug)]
pub struct Cloud {
    layer: String,
    colours: Option<Colours>,
}

/// The opacity curve of a layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    layer: String,
    points: Vec<(f32, f32)>,
}

/// The thickness of a layer that has the opacities.
#[derive(Clone, PartialEq, Debug)]
pub struct Thickness {
    layer: String,
    mm: f32,
}

/// A cloud may also have one colour.
fn or_digits(error: ValueError) -> ValueError {
    match error {
        ValueError::Unexpected { expected, found } => ValueError::Unexpected {
            expected: format!("{expected}, or a colour of six hexadecimal digits, as in E69F00"),
            found,
        },
        other => other,
    }
}

fn cloud(text: &str) -> Result<Cloud, ValueError> {
    let (layer, colours) = match text.split_once(':') {
        None => (text, None),
        Some((layer, colours)) => {
            let colours = match colour(colours.trim()) {
                Some(rgb) => Colours::Fixed(rgb),
                None => Colours::Map(image_map(colours.trim()).map_err(or_digits)?),
            };
            (layer, Some(colours))
        }
    };
    let layer = layer.trim().to_owned();
    match layer.is_empty() {
        true => Err(ValueError::new("the name of a layer", text)),
        false => Ok(Cloud { layer, colours }),
    }
}

fn curve(text: &str) -> Result<Curve, ValueError> {
    let share = |text: &str| {
        let value = text.trim().parse::<f32>().ok();
        value.filter(|v| (0.0..=1.0).contains(v))
    };
    let read = || {
        let (layer, points) = text.rsplit_once(':')?;
        let point = |point: &str| {
            let (at, opacity) = point.split_once('=')?;
            Some((share(at)?, share(opacity)?))
        };
        let points: Option<Vec<(f32, f32)>> = points.split(',').map(point).collect();
        let numbers = Transfer::MIN_POINTS..=Transfer::MAX_POINTS;
        let points = points.filter(|points| numbers.contains(&points.len()))?;
        let rises = points.is_sorted_by(|a, b| a.0 <= b.0);
        (rises && !layer.is_empty()).then(|| Curve {
            layer: layer.to_owned(),
            points,
        })
    };
    let expected = "the name of a layer and 2 to 12 places with their opacities, all from 0 to 1 and in order, as in \
                    FA:0=0,0.4=0,0.6=0.3,1=0.8";
    read().ok_or_else(|| ValueError::new(expected, text))
}

fn thickness(text: &str) -> Result<Thickness, ValueError> {
    let read = || {
        let (layer, mm) = text.rsplit_once(':')?;
        let mm = mm.trim().parse::<f32>().ok();
        let mm = mm.filter(|mm| VolumeLook::THICKNESS_MM.contains(&f64::from(*mm)))?;
        (!layer.is_empty()).then(|| Thickness {
            layer: layer.to_owned(),
            mm,
        })
    };
    let expected = "the name of a layer and a thickness of 0.01 to 1000 mm, as in t1:4";
    read().ok_or_else(|| ValueError::new(expected, text))
}

impl CloudOptions {
    /// Shows the named layers as clouds.
    pub fn apply(&self, window: &mut Headless) -> Result<(), Failure> {
        for Cloud { layer, colours } in &self.cloud {
            let layer = image(layer, window)?;
            let mut look = VolumeLook {
                style: VolumeStyle::Cloud,
                two_values: None,
                ..volume_look(&layer, layer.display.window)
            };
            look.transfer.colours = colours.unwrap_or(look.transfer.colours);
            set_volume_look(&layer, look, window)?;
        }
        for Curve { layer, points } in &self.cloud_curve {
            change("--cloud-curve", layer, window, |look| VolumeLook {
                transfer: Transfer::new(points, look.transfer.colours),
                ..look
            })?;
        }
        Ok(())
    }

    /// Changes how clouds look, whether a curve or shapes give their opacity.
    pub fn finish(&self, window: &mut Headless) -> Result<(), Failure> {
        for Thickness { layer, mm } in &self.cloud_thickness {
            change("--cloud-thickness", layer, window, |look| VolumeLook {
                reference_mm: *mm,
                ..look
            })?;
        }
        for layer in &self.cloud_flat {
            change("--cloud-flat", layer, window, |look| VolumeLook {
                lit: false,
                ..look
            })?;
        }
        Ok(())
    }
}

/// Changes the look of a cloud for an option; refuses another layer, where the option would change nothing.
fn change(
    option: &str,
    name: &str,
    window: &mut Headless,
    changed: impl Fn(VolumeLook) -> VolumeLook,
) -> Result<(), Failure> {
    let layer = image(name, window)?;
    let look = volume_look(&layer, layer.display.window);
    if look.style != VolumeStyle::Cloud {
        return Err(Failure::usage(format!(
            "Found {option} for “{name}”, which is no cloud, expected a cloud: add --cloud or --cloud-shape for it, or leave \
             {option} out"
        )));
    }
    set_volume_look(&layer, changed(look), window)
}
