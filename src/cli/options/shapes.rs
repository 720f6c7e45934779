//! Options that show an image as a cloud by a transfer function of two values.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::value_error::ValueError;
use crate::data::appearance::{ShapeKind, TransferShape};
use crate::data::joint_histogram::{curvature_window, gradient_window};
use crate::scene::volume_of;
use crate::state::core::volume_look::{SecondValue, TwoValues, VolumeLook, VolumeStyle};
use crate::state::{Display, Layer, LayerAction, Phase};
use std::sync::Arc;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Clouds by two values")]
pub struct ShapeOptions {
    /// Show an image as a cloud where its value and a second one, “gradient” (per mm), “curvature” (of surfaces of
    /// constant value, 1/mm) or another layer, lie in a box, an ellipse or a trapezoid, with a colour and an opacity of 0
    /// to 1, as in t1:gradient:box:300..500:20..90:E69F00:0.4
    #[arg(long, value_name = "LAYER:SECOND:FORM:LOW..HIGH:LOW..HIGH:RRGGBB:OPACITY", value_parser = shape, allow_hyphen_values = true)]
    pub cloud_shape: Vec<NamedShape>,
    /// Part of the half width over which the opacity of these shapes rises from their edges
    #[arg(long, value_name = "0.02..1", default_value = "0.3", value_parser = softness)]
    pub cloud_softness: f32,
    /// Width of the lower side of trapezoids relative to the upper one; 0 makes triangles
    #[arg(long, value_name = "0..1", default_value = "0.25", value_parser = foot)]
    pub cloud_foot: f32,
    /// Second values at the ends of that axis, as in 0..90, of all these shapes [default: nearly all values that occur]
    #[arg(long, value_name = "LOW..HIGH", requires = "cloud_shape", value_parser = range, allow_hyphen_values = true)]
    pub cloud_second_range: Option<(f32, f32)>,
}

/// A shape in the values of two images.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedShape {
    layer: String,
    second: String,
    kind: ShapeKind,
    limits: [(f32, f32); 2],
    colour: [u8; 3],
    opacity: f32,
}

fn softness(text: &str) -> Result<f32, ValueError> {
    let valid = TransferShape::MIN_SOFTNESS..=1.0;
    let value = text.trim().parse().ok().filter(|v| valid.contains(v));
    value.ok_or_else(|| ValueError::new("a number from 0.02 to 1", text))
}

fn foot(text: &str) -> Result<f32, ValueError> {
    let value = text.trim().parse().ok();
    let value = value.filter(|v| (0.0..=1.0).contains(v));
    value.ok_or_else(|| ValueError::new("a number from 0 to 1", text))
}

fn number(text: &str) -> Option<f32> {
    text.trim().parse::<f32>().ok().filter(|v| v.is_finite())
}

pub(super) fn limits(text: &str) -> Option<(f32, f32)> {
    let (low, high) = text.split_once("..")?;
    let limits = (number(low)?, number(high)?);
    (limits.0 < limits.1).then_some(limits)
}

pub(super) fn range(text: &str) -> Result<(f32, f32), ValueError> {
    limits(text).ok_or_else(|| ValueError::new("two rising numbers, as in 0..90", text))
}

fn shape(text: &str) -> Result<NamedShape, ValueError> {
    let read = || {
        let parts: Vec<&str> = text.split(':').map(str::trim).collect();
        let [layer, second, kind, first, other, colour, opacity] = parts[..] else {
            return None;
        };
        let digits = colour.len() == 6 && colour.bytes().all(|b| b.is_ascii_hexdigit());
        let rgb = u32::from_str_radix(colour, 16).ok().filter(|_| digits)?;
        let [_, r, g, b] = rgb.to_be_bytes();
        let opacity = number(opacity).filter(|v| (0.0..=1.0).contains(v))?;
        let kind = ShapeKind::from_key(kind)?;
        (!layer.is_empty() && !second.is_empty()).then_some(NamedShape {
            layer: layer.to_owned(),
            second: second.to_owned(),
            kind,
            limits: [limits(first)?, limits(other)?],
            colour: [r, g, b],
            opacity,
        })
    };
    let expected = "layer, second value, box, ellipse or trapezoid, limits of both values, colour and opacity, as in \
                    t1:gradient:box:300..500:20..90:E69F00:0.4";
    read().ok_or_else(|| ValueError::new(expected, text))
}

impl ShapeOptions {
    /// Shows the named layers as clouds, each with its shapes.
    pub fn apply(&self, window: &mut Headless) -> Result<(), Failure> {
        for shape in &self.cloud_shape {
            self.add(shape, window)?;
        }
        Ok(())
    }

    fn add(&self, named: &NamedShape, window: &mut Headless) -> Result<(), Failure> {
        let layer = image(&named.layer, window)?;
        let Some(volume) = volume_of(&layer) else {
            return Ok(());
        };
        let frame = layer.display.frame.min(volume.frames.saturating_sub(1));
        let (second, window_of_second) = match named.second.as_str() {
            "gradient" => (SecondValue::Gradient, gradient_window(volume, frame)),
            "curvature" => (SecondValue::Curvature, curvature_window(volume, frame)),
            name => {
                let other = image(name, window)?;
                (SecondValue::Image(other.id), other.display.window)
            }
        };
        let default = || VolumeLook::default_for(volume, layer.display.window);
        let look = layer.display.volume.clone().unwrap_or_else(default);
        let known = look.two_values.clone();
        let mut two = known
            .filter(|two| two.second == second)
            .unwrap_or(TwoValues {
                second,
                window: self.cloud_second_range.unwrap_or(window_of_second),
                shapes: Vec::new(),
            });
        if two.shapes.len() >= TransferShape::MAX_COUNT {
            return Err(Failure::usage(format!(
                "Found more than {} shapes for “{}”, expected at most as many: leave some out",
                TransferShape::MAX_COUNT,
                named.layer
            )));
        }
        let share = |value: f32, (low, high): (f32, f32)| (value - low) / (high - low);
        let windows = [layer.display.window, two.window];
        let ends = |end: fn((f32, f32)) -> f32| {
            [0, 1].map(|axis| share(end(named.limits[axis]), windows[axis]))
        };
        let shape = TransferShape {
            kind: named.kind,
            low: ends(|limits| limits.0),
            high: ends(|limits| limits.1),
            colour: named.colour,
            opacity: named.opacity,
            softness: self.cloud_softness,
            foot: self.cloud_foot,
        };
        two.shapes.push(shape.sanitized());
        let display = Display {
            volume: Some(VolumeLook {
                style: VolumeStyle::Cloud,
                two_values: Some(two),
                ..look
            }),
            ..layer.display.clone()
        };
        window.act(LayerAction::SetDisplay {
            layer: layer.id,
            display,
            phase: Phase::Done,
        })?;
        reveal(&layer, window)
    }
}

/// Makes a layer visible that an option has given a look, since it would otherwise change nothing.
pub(super) fn reveal(layer: &Layer, window: &mut Headless) -> Result<(), Failure> {
    if window.state.shows(layer) {
        return Ok(());
    }
    window.act(LayerAction::Show {
        layer: layer.id,
        visible: true,
    })
}

/// The layer with a name; if none has exactly this one, a layer whose name differs only in case, so that `fa` and `FA` can
/// both be named.
pub fn named<'a>(
    layers: impl Iterator<Item = &'a Arc<Layer>> + Clone,
    name: &str,
) -> Option<&'a Arc<Layer>> {
    let exact = layers.clone().find(|layer| layer.name == name);
    exact.or_else(|| layers.clone().find(|l| l.name.eq_ignore_ascii_case(name)))
}

/// The scalar image with a name.
pub(super) fn image(name: &str, window: &Headless) -> Result<Arc<Layer>, Failure> {
    let layers = &window.state.document.layers;
    let images = layers.iter().filter(|layer| volume_of(layer).is_some());
    named(images.clone(), name).cloned().ok_or_else(|| {
        let names: Vec<&str> = images.map(|layer| layer.name.as_str()).collect();
        Failure::usage(format!(
            "There is no image “{name}”, expected one of {}",
            names.join(", ")
        ))
    })
}
