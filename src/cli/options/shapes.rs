//! Options that show an image as a cloud by a transfer function of two or three values.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::value_error::ValueError;
use crate::data::appearance::{ShapeKind, TransferShape};
use crate::data::joint_histogram::DerivedValue;
use crate::scene::volume_of;
use crate::state::core::volume_look::{
    SecondValue, ThirdValue, TwoValues, VolumeLook, VolumeStyle,
};
use crate::state::{Display, Layer, LayerAction, Phase};
use std::sync::Arc;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Clouds by two or three values")]
pub struct ShapeOptions {
    /// Show an image as a cloud where its value and a second one, “gradient” (per mm), “curvature” (of surfaces of
    /// constant value, 1/mm) or another layer, lie in a box, an ellipse or a trapezoid, with a colour and an opacity of 0
    /// to 1, as in t1:gradient:box:300..500:20..90:E69F00:0.4. Then, each after a colon, gradient=LOW..HIGH or
    /// curvature=LOW..HIGH limits the shape to a range of this third value, one end of which may be left out; softness=
    /// and foot= replace the options below, as in t1:gradient:box:300..500:20..90:E69F00:0.4:curvature=0.05..
    #[arg(long, value_name = "LAYER:SECOND:FORM:LOW..HIGH:LOW..HIGH:RRGGBB:OPACITY", value_parser = shape, allow_hyphen_values = true)]
    pub cloud_shape: Vec<NamedShape>,
    /// Part of the half width over which the opacity of these shapes rises from their edges
    #[arg(long, value_name = "0.02..1", default_value = "0.3", value_parser = softness)]
    pub cloud_softness: f32,
    /// Width of the lower side of trapezoids relative to the upper one; 0 makes triangles
    #[arg(long, value_name = "0..1", default_value = "0.25", value_parser = foot)]
    pub cloud_foot: f32,
    /// Second values at the ends of that axis, as in 0..90, of all these shapes, or of those of a layer, as in t1:0..90
    /// [default: nearly all values that occur]
    #[arg(long, value_name = "[LAYER:]LOW..HIGH", requires = "cloud_shape", value_parser = axis_range, allow_hyphen_values = true)]
    pub cloud_second_range: Vec<AxisRange>,
    /// Third values at whose ends the range of a shape has no limit, in the same form [default: nearly all values that
    /// occur]
    #[arg(long, value_name = "[LAYER:]LOW..HIGH", requires = "cloud_shape", value_parser = axis_range, allow_hyphen_values = true)]
    pub cloud_third_range: Vec<AxisRange>,
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
    more: MoreOfShape,
}

/// The parts of a shape that may be left out.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct MoreOfShape {
    softness: Option<f32>,
    foot: Option<f32>,
    third: Option<(DerivedValue, [Option<f32>; 2])>,
}

/// Values at the ends of an axis, of one layer or of all.
#[derive(Clone, PartialEq, Debug)]
pub struct AxisRange {
    layer: Option<String>,
    range: (f32, f32),
}

impl AxisRange {
    /// The range of a layer, or else that of all layers; the last one given counts.
    fn range_of(all: &[Self], name: &str) -> Option<(f32, f32)> {
        let is_of = |layer: &String| layer.eq_ignore_ascii_case(name);
        let own = all
            .iter()
            .rev()
            .find(|r| r.layer.as_ref().is_some_and(is_of));
        let common = || all.iter().rev().find(|r| r.layer.is_none());
        own.or_else(common).map(|r| r.range)
    }
}

fn axis_range(text: &str) -> Result<AxisRange, ValueError> {
    let (layer, range) = match text.rsplit_once(':') {
        Some((layer, range)) => (Some(layer.trim().to_owned()), range),
        None => (None, text),
    };
    let range = limits(range).filter(|_| layer.as_ref().is_none_or(|name| !name.is_empty()));
    let expected =
        "two rising numbers, if need be after the name of a layer, as in 0..90 or t1:0..90";
    let range = range.ok_or_else(|| ValueError::new(expected, text))?;
    Ok(AxisRange { layer, range })
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

/// Limits one of which may be missing.
fn open_limits(text: &str) -> Option<[Option<f32>; 2]> {
    let (low, high) = text.split_once("..")?;
    let end = |text: &str| match text.trim() {
        "" => Some(None),
        text => number(text).map(Some),
    };
    let limits = [end(low)?, end(high)?];
    let is_valid = match limits {
        [Some(low), Some(high)] => low < high,
        [None, None] => false,
        _ => true,
    };
    is_valid.then_some(limits)
}

pub(super) fn range(text: &str) -> Result<(f32, f32), ValueError> {
    limits(text).ok_or_else(|| ValueError::new("two rising numbers, as in 0..90", text))
}

/// The colour of six hexadecimal digits.
pub(super) fn colour(text: &str) -> Option<[u8; 3]> {
    let digits = text.len() == 6 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let rgb = u32::from_str_radix(text, 16).ok().filter(|_| digits)?;
    let [_, r, g, b] = rgb.to_be_bytes();
    Some([r, g, b])
}

/// The parts after the opacity.
fn more_of_shape(parts: &[&str]) -> Result<MoreOfShape, ValueError> {
    let mut more = MoreOfShape::default();
    for part in parts {
        let expected = "softness=, foot=, gradient=LOW..HIGH or curvature=LOW..HIGH after the opacity, each at most once, \
                        and one third value, as in curvature=0.05..0.3 or curvature=0.05..";
        let unexpected = || ValueError::new(expected, part);
        let (key, value) = part.split_once('=').ok_or_else(unexpected)?;
        let is_first = match key.trim() {
            "softness" => more.softness.replace(softness(value)?).is_none(),
            "foot" => more.foot.replace(foot(value)?).is_none(),
            key => {
                let derived = DerivedValue::from_key(key).ok_or_else(unexpected)?;
                let limits = open_limits(value).ok_or_else(unexpected)?;
                more.third.replace((derived, limits)).is_none()
            }
        };
        if !is_first {
            return Err(unexpected());
        }
    }
    Ok(more)
}

fn shape(text: &str) -> Result<NamedShape, ValueError> {
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let read = || {
        let [layer, second, kind, first, other, rgb, opacity, ..] = parts[..] else {
            return None;
        };
        let opacity = number(opacity).filter(|v| (0.0..=1.0).contains(v))?;
        let kind = ShapeKind::from_key(kind)?;
        (!layer.is_empty() && !second.is_empty()).then_some(NamedShape {
            layer: layer.to_owned(),
            second: second.to_owned(),
            kind,
            limits: [limits(first)?, limits(other)?],
            colour: colour(rgb)?,
            opacity,
            more: MoreOfShape::default(),
        })
    };
    let expected = "layer, second value, box, ellipse or trapezoid, limits of both values, colour and opacity, as in \
                    t1:gradient:box:300..500:20..90:E69F00:0.4";
    let shape = read().ok_or_else(|| ValueError::new(expected, text))?;
    let more = more_of_shape(parts.get(7..).unwrap_or_default())?;
    Ok(NamedShape { more, ..shape })
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
        let (second, natural) = match (DerivedValue::from_key(&named.second), &*named.second) {
            (Some(derived), _) => {
                let second = match derived {
                    DerivedValue::Gradient => SecondValue::Gradient,
                    DerivedValue::Curvature => SecondValue::Curvature,
                };
                (second, derived.window(volume, frame))
            }
            (None, name) => {
                let other = image(name, window)?;
                (SecondValue::Image(other.id), other.display.window)
            }
        };
        let default = || VolumeLook::default_for(volume, layer.display.window);
        let look = layer.display.volume.clone().unwrap_or_else(default);
        let known = look.two_values.clone();
        let mut two = known
            .filter(|two| two.second == second)
            .unwrap_or_else(|| TwoValues {
                second,
                window: AxisRange::range_of(&self.cloud_second_range, &layer.name)
                    .unwrap_or(natural),
                shapes: Vec::new(),
                third: None,
            });
        if two.shapes.len() >= TransferShape::MAX_COUNT {
            return Err(Failure::usage(format!(
                "Found more than {} shapes for “{}”, expected at most as many: leave some out",
                TransferShape::MAX_COUNT,
                named.layer
            )));
        }
        if let Some((value, _)) = named.more.third {
            let range = AxisRange::range_of(&self.cloud_third_range, &layer.name);
            let window = || range.unwrap_or_else(|| value.window(volume, frame));
            two.third = Some(named.third_of(&two, value, window)?);
        }
        two.shapes
            .push(self.shape_of(named, layer.display.window, &two));
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

    /// The shape with its limits as shares of the windows.
    fn shape_of(&self, named: &NamedShape, first: (f32, f32), two: &TwoValues) -> TransferShape {
        let share = |value: f32, (low, high): (f32, f32)| (value - low) / (high - low);
        let windows = [first, two.window];
        let ends = |end: fn((f32, f32)) -> f32| {
            [0, 1].map(|axis| share(end(named.limits[axis]), windows[axis]))
        };
        let third = match (named.more.third, two.third) {
            (Some((_, [low, high])), Some(third)) => {
                let end = |value: Option<f32>, open: f32| {
                    value.map_or(open, |value| share(value, third.window))
                };
                [end(low, 0.0), end(high, 1.0)]
            }
            _ => TransferShape::NO_THIRD,
        };
        let shape = TransferShape {
            kind: named.kind,
            low: ends(|limits| limits.0),
            high: ends(|limits| limits.1),
            colour: named.colour,
            opacity: named.opacity,
            softness: named.more.softness.unwrap_or(self.cloud_softness),
            foot: named.more.foot.unwrap_or(self.cloud_foot),
            third,
        };
        shape.sanitized()
    }
}

impl NamedShape {
    /// The third value of all shapes of the layer; refuses one that is the second value, or a second one.
    fn third_of(
        &self,
        two: &TwoValues,
        value: DerivedValue,
        window: impl FnOnce() -> (f32, f32),
    ) -> Result<ThirdValue, Failure> {
        let key = value.key();
        if two.second.derived() == Some(value) {
            return Err(Failure::usage(format!(
                "Found “{key}” as second and as third value of “{}”, expected two different ones: give its limits once, or \
                 limit another value",
                self.layer
            )));
        }
        match two.third {
            Some(third) if third.value != value => Err(Failure::usage(format!(
                "Found both gradient= and curvature= for “{}”, expected one third value for all shapes of a layer: leave one \
                 out",
                self.layer
            ))),
            Some(third) => Ok(third),
            None => Ok(ThirdValue {
                value,
                window: window(),
            }),
        }
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
