//! Options that show an image as a cloud by a transfer function of two or three values.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::layers::{image, set_volume_look, volume_look};
use super::value_error::ValueError;
use crate::data::appearance::{ShapeKind, TransferShape};
use crate::data::joint_histogram::DerivedValue;
use crate::scene::volume_of;
use crate::state::core::volume_look::{
    SecondValue, ThirdValue, TwoValues, VolumeLook, VolumeStyle,
};
use crate::state::{Layer, LayerId};

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

/// The ranges of an axis, by the layers that have one of their own.
struct RangesOfAxis {
    option: &'static str,
    /// `None`: of all layers that shapes name.
    ranges: Vec<(Option<LayerId>, (f32, f32))>,
}

impl RangesOfAxis {
    fn new(option: &'static str, given: &[AxisRange], window: &Headless) -> Result<Self, Failure> {
        let of_layer = |given: &AxisRange| {
            let layer = match &given.layer {
                Some(name) => Some(image(name, window)?.id),
                None => None,
            };
            Ok((layer, given.range))
        };
        let ranges: Result<_, Failure> = given.iter().map(of_layer).collect();
        Ok(Self {
            option,
            ranges: ranges?,
        })
    }

    /// The range of a layer, or else that of all layers; the last one given counts.
    fn for_layer(&self, layer: LayerId) -> Option<(f32, f32)> {
        let last = |named: Option<LayerId>| self.ranges.iter().rev().find(|range| range.0 == named);
        last(Some(layer))
            .or_else(|| last(None))
            .map(|range| range.1)
    }

    /// Refuses a range that no cloud has an axis for.
    fn check(
        &self,
        shaped: &[LayerId],
        has_axis: impl Fn(&TwoValues) -> bool,
        window: &Headless,
    ) -> Result<(), Failure> {
        let document = &window.state.document;
        let has_axis = |layer: &LayerId| {
            let layer = document.layer(*layer);
            layer.and_then(|l| shapes_of(l)).is_some_and(&has_axis)
        };
        for (layer, _) in &self.ranges {
            let is_used = match layer {
                Some(layer) => has_axis(layer),
                None => shaped.iter().any(&has_axis),
            };
            if !is_used {
                let name = layer.and_then(|layer| document.layer(layer));
                let name = name.map_or(String::new(), |layer| format!(" for “{}”", layer.name));
                return Err(Failure::usage(format!(
                    "Found {}{name} without a shape over such a value, expected one: add it with --cloud-shape, or leave the \
                     range out",
                    self.option
                )));
            }
        }
        Ok(())
    }
}

/// The ranges of the second and the third axis.
struct AxisRanges {
    second: RangesOfAxis,
    third: RangesOfAxis,
}

impl AxisRanges {
    /// The transfer function with the ranges of its layer; shapes keep their values.
    fn applied(&self, layer: LayerId, two: TwoValues) -> TwoValues {
        let second = self.second.for_layer(layer);
        let two = match second.filter(|range| *range != two.window) {
            Some(range) => two.in_window(range),
            None => two,
        };
        match (two.third, self.third.for_layer(layer)) {
            (Some(third), Some(range)) if third.window != range => two.in_third_window(range),
            _ => two,
        }
    }
}

/// The transfer function of a cloud of two or three values.
fn shapes_of(layer: &Layer) -> Option<&TwoValues> {
    let look = layer.display.volume.as_ref()?;
    let look = Some(look).filter(|look| look.style == VolumeStyle::Cloud)?;
    look.two_values.as_ref()
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
        let ranges = AxisRanges {
            second: RangesOfAxis::new("--cloud-second-range", &self.cloud_second_range, window)?,
            third: RangesOfAxis::new("--cloud-third-range", &self.cloud_third_range, window)?,
        };
        let mut shaped = Vec::new();
        for shape in &self.cloud_shape {
            shaped.push(self.add(shape, &ranges, window)?);
        }
        ranges.second.check(&shaped, |_| true, window)?;
        ranges
            .third
            .check(&shaped, |two| two.third.is_some(), window)?;
        // The clouds of a session to which no shape was added.
        let own = ranges.second.ranges.iter().chain(&ranges.third.ranges);
        for id in own.filter_map(|range| range.0) {
            let layer = window.state.document.layers.iter().find(|l| l.id == id);
            let Some((layer, two)) = layer.and_then(|l| Some((l.clone(), shapes_of(l)?.clone())))
            else {
                continue;
            };
            let changed = ranges.applied(id, two.clone());
            if changed != two {
                let look = VolumeLook {
                    two_values: Some(changed),
                    ..volume_look(&layer, layer.display.window)
                };
                set_volume_look(&layer, look, window)?;
            }
        }
        Ok(())
    }

    /// Adds a shape; returns its layer.
    fn add(
        &self,
        named: &NamedShape,
        ranges: &AxisRanges,
        window: &mut Headless,
    ) -> Result<LayerId, Failure> {
        let layer = image(&named.layer, window)?;
        let frame = layer.display.frame;
        // The natural window of a value derived from the image.
        let natural = |derived: DerivedValue| {
            let volume = volume_of(&layer);
            volume.map_or((0.0, 1.0), |volume| {
                derived.window(volume, frame.min(volume.frames.saturating_sub(1)))
            })
        };
        let (second, default) = match (DerivedValue::from_key(&named.second), &*named.second) {
            (Some(derived), _) => {
                let second = match derived {
                    DerivedValue::Gradient => SecondValue::Gradient,
                    DerivedValue::Curvature => SecondValue::Curvature,
                };
                (second, natural(derived))
            }
            (None, name) => {
                let other = image(name, window)?;
                (SecondValue::Image(other.id), other.display.window)
            }
        };
        let look = volume_look(&layer, layer.display.window);
        let known = look.two_values.clone();
        let mut two = known
            .filter(|two| two.second == second)
            .unwrap_or_else(|| TwoValues {
                second,
                window: ranges.second.for_layer(layer.id).unwrap_or(default),
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
            let range = ranges.third.for_layer(layer.id);
            let window = || range.unwrap_or_else(|| natural(value));
            two.third = Some(named.third_of(&two, value, window)?);
        }
        // Shapes of the session may be in other windows.
        let mut two = ranges.applied(layer.id, two);
        two.shapes
            .push(self.shape_of(named, layer.display.window, &two));
        let look = VolumeLook {
            style: VolumeStyle::Cloud,
            two_values: Some(two),
            ..look
        };
        set_volume_look(&layer, look, window)?;
        Ok(layer.id)
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
