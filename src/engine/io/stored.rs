//! Voxels in the type stored in their file, for conversions without a detour through float32.

use super::nifti::Rest;
use super::numbers::Type;
use super::text::{count, counted};
use crate::data::Grid;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Half the distance between adjacent float32 numbers, relative to their value.
const SINGLE: f64 = 0.25 * f32::EPSILON as f64;

/// Type of a voxel's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pixel {
    Number(Type),
    /// One byte each for red, green and blue.
    Rgb,
    /// One byte each for red, green, blue and opacity.
    Rgba,
}

impl Pixel {
    pub fn bytes(self) -> usize {
        match self {
            Self::Number(number) => number.bytes(),
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }

    /// Bytes of a value, or 1 for colours: the unit of byte order.
    pub fn word_bytes(self) -> usize {
        match self {
            Self::Number(number) => number.bytes(),
            Self::Rgb | Self::Rgba => 1,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Number(number) => number.name(),
            Self::Rgb => "RGB24",
            Self::Rgba => "RGBA32",
        }
    }
}

/// An image as stored in a file.
#[derive(Clone, Debug)]
pub struct Stored {
    pub grid: Arc<Grid>,
    pub frames: usize,
    pub pixel: Pixel,
    /// Little-endian, frame slowest, colours of a voxel adjacent.
    pub bytes: Arc<Vec<u8>>,
    /// Slope and intercept; `None` if values are used as stored, and for colours.
    pub scaling: Option<(f64, f64)>,
    pub meaning: Meaning,
}

/// Fields of a header that describe the values, besides their position.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Meaning {
    /// Sizes of a NIfTI's axes after the third; empty for formats without such axes.
    pub sizes: Vec<usize>,
    /// Step along the fourth to the seventh axis; NaN where unstated.
    pub steps: [f64; 4],
    /// NIfTI's code for their unit.
    pub step_unit: u8,
    /// NIfTI's code for the meaning of the values, with its three numbers and its name.
    pub intent: i16,
    pub intent_numbers: [f64; 3],
    pub intent_name: String,
    /// The other fields of a NIfTI header.
    pub rest: Rest,
    pub acquisition: Acquisition,
    /// Keys of an NRRD that no other format has.
    pub keys: Vec<String>,
    /// Lines of an MRtrix header that no other format has, key and value.
    pub mrtrix_keys: Vec<(String, String)>,
    /// Whether the file stores a bit for each value of 0 or 1.
    pub is_bits: bool,
}

/// Keys of an MRtrix header about the programs that made an image, which need not be kept.
const OF_PROGRAMS: [&str; 4] = [
    "comments",
    "command_history",
    "mrtrix_version",
    "project_version",
];
/// Keys with directions in the world, which a moved image contradicts.
const IN_WORLD: [&str; 3] = ["dw_scheme", "prior_dw_scheme", "directions"];

impl Meaning {
    /// A sentence about the keys of an NRRD that a format cannot hold.
    pub fn lost_nrrd_keys(&self, format: &str) -> Option<String> {
        let keys = self.keys.join(", ");
        (!keys.is_empty()).then(|| format!("{format} holds no keys of an NRRD's header: {keys}"))
    }

    /// A sentence about the keys of an MRtrix header that a format cannot hold.
    pub fn lost_mrtrix_keys(&self, format: &str) -> Option<String> {
        let mut names: Vec<&str> = self.mrtrix_keys.iter().map(|(key, _)| &**key).collect();
        names.retain(|name| !OF_PROGRAMS.contains(&&*name.to_ascii_lowercase()));
        names.dedup();
        let keys = names.join(", ");
        (!keys.is_empty()).then(|| format!("{format} holds no keys of an MRtrix header: {keys}"))
    }

    /// Drops what describes the image's position before it was moved. Returns a sentence for each kind.
    pub fn drop_position(&mut self) -> Vec<String> {
        let mut losses = Vec::from_iter(self.rest.drop_position());
        let is_in_world = |key: &str| IN_WORLD.contains(&&*key.to_ascii_lowercase());
        let mut lost: Vec<String> = self
            .mrtrix_keys
            .extract_if(.., |(key, _)| is_in_world(key))
            .map(|(key, _)| key)
            .collect();
        lost.dedup();
        if !lost.is_empty() {
            losses.push(format!(
                "The header's directions are those of the image before it was moved, and are left out: {}",
                lost.join(", ")
            ));
        }
        losses
    }
}

/// FreeSurfer's acquisition parameters of a scan; 0 if not stated.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Acquisition {
    /// Time between volumes. Unused if the image has the step of a time axis.
    pub repetition_ms: f64,
    pub flip_angle_rad: f64,
    pub echo_ms: f64,
    pub inversion_ms: f64,
    /// Bytes of tags: commands, transforms.
    pub tags: u64,
}

impl Acquisition {
    /// The fields lost in a format that cannot hold them, one sentence each.
    pub fn unsupported_contents(&self, format: &str) -> Vec<String> {
        let times = [
            (self.repetition_ms, "repetition time", "ms"),
            (self.flip_angle_rad.to_degrees(), "flip angle", "°"),
            (self.echo_ms, "echo time", "ms"),
            (self.inversion_ms, "inversion time", "ms"),
        ];
        let message = times.into_iter().filter(|(v, ..)| *v != 0.0);
        let message: Vec<String> = message
            .map(|(v, what, unit)| format!("{what} {} {unit}", (1e4 * v).round() / 1e4))
            .collect();
        let mut losses = Vec::new();
        if !message.is_empty() {
            losses.push(format!(
                "{format} has no place for how the scan was taken: {}",
                message.join(", ")
            ));
        }
        if self.tags > 0 {
            losses.push(format!(
                "{format} holds no tags of a FreeSurfer volume (commands, transforms): {}",
                counted(self.tags as usize, "byte")
            ));
        }
        losses
    }
}

impl Stored {
    /// Calls `see` with every value after slope and intercept, and whether double precision preserves it: whether the
    /// stored number follows from it, an integer exactly, other numbers to the digits of float32.
    pub fn for_each_value(&self, mut see: impl FnMut(f64, bool)) {
        let Pixel::Number(number) = self.pixel else {
            return;
        };
        match self.scaling {
            None => number.for_each(&self.bytes, see),
            Some((slope, intercept)) => number.for_each(&self.bytes, |raw, stored| {
                let value = raw * slope + intercept;
                let off = ((value - intercept) / slope - raw).abs();
                let is_representable = match number.is_float() {
                    true => off <= SINGLE * raw.abs(),
                    // The division itself rounds large numbers.
                    false => off < (4.0 * f64::EPSILON * raw.abs()).max(0.5),
                };
                see(
                    value,
                    !raw.is_finite() || stored && value.is_finite() && is_representable,
                );
            }),
        }
    }

    /// The positive numbers of one volume of integers; `None` if it has others, or more than `max_labels`.
    pub fn labels(&self, max_labels: usize) -> Option<BTreeSet<u32>> {
        if self.frames != 1 || !matches!(self.pixel, Pixel::Number(_)) {
            return None;
        }
        let (mut labels, mut whole, mut last) = (BTreeSet::new(), true, 0.0);
        self.for_each_value(|value, _| {
            if value == last || !whole {
                return;
            }
            last = value;
            whole = (0.0..=f64::from(u32::MAX)).contains(&value) && value.fract() == 0.0;
            if whole && value > 0.0 {
                labels.insert(value as u32);
                whole = labels.len() <= max_labels;
            }
        });
        whole.then_some(labels)
    }

    /// Converts the values for a format without slope and intercept: to float32 if that preserves all of them,
    /// otherwise to float64. Also returns a sentence about those that it does not preserve.
    pub fn with_scaling_applied(&self) -> (Self, Option<String>) {
        if self.scaling.is_none() {
            return (self.clone(), None);
        }
        let (mut single, mut lost) = (true, 0u64);
        self.for_each_value(|value, exact| {
            single &= value.is_nan() || f64::from(value as f32) == value;
            lost += u64::from(!exact);
        });
        let number = if single { Type::F32 } else { Type::F64 };
        let mut bytes = Vec::with_capacity(self.bytes.len() / self.pixel.bytes() * number.bytes());
        self.for_each_value(|value, _| match single {
            true => bytes.extend((value as f32).to_le_bytes()),
            false => bytes.extend(value.to_le_bytes()),
        });
        let loss = (lost > 0).then(|| {
            let them = if lost == 1 { "value" } else { "values" };
            format!(
                "float64 rounds or cannot hold {} {them} after slope and intercept are applied",
                count(lost)
            )
        });
        (
            Self {
                pixel: Pixel::Number(number),
                bytes: Arc::new(bytes),
                scaling: None,
                ..self.clone()
            },
            loss,
        )
    }
}
