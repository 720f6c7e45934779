//! Layers moved in the world: manually, by a file, by alignment. Only their affine changes.

use crate::data::{DataId, Mask, keyed};
use crate::io::WarpReading;
use crate::parameters::{Kind, Limits, Number, Param, Parameters, Unit};
use crate::state::core::layer::{Content, LayerId};
use crate::state::core::live::{Live, LiveKey};
use crate::state::core::phase::Phase;
use crate::state::core::text::{fixed, with_unit};
use glam::{DAffine3, DMat3, DQuat, DVec3, EulerRot};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Source of the transform.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AlignedBy {
    #[default]
    Manually,
    File,
    Alignment,
}

keyed!(AlignedBy, serde {
    Manually = "manually",
    File = "file",
    Alignment = "alignment",
});

/// Why a layer cannot be moved: one sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShiftError {
    NotMovable,
    /// The transform leaves no volume.
    NoVolume,
}

impl fmt::Display for ShiftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotMovable => "Only images, masks and streamlines that were opened can be moved",
            Self::NoVolume => "The affine leaves no volume: choose another",
        })
    }
}

impl std::error::Error for ShiftError {}

impl Content {
    /// The transformed content; `None` if it loses its volume, and for a scan, whose gradients would have to rotate.
    /// Distributions are turned when they are read.
    pub(in crate::state) fn moved(&self, by: DAffine3) -> Option<Self> {
        Some(match self {
            Self::Scan {
                gradients: Some(_), ..
            } => return None,
            Self::Scan {
                dwi,
                gradients: None,
            } => {
                let grid = Arc::new(dwi.grid.moved(by)?);
                Self::Scan {
                    dwi: dwi.on_grid(grid),
                    gradients: None,
                }
            }
            Self::Image(volume) => {
                let grid = Arc::new(volume.grid.moved(by)?);
                Self::Image(volume.on_grid(grid))
            }
            Self::Mask(mask) => {
                let whole = mask.on_whole_grid();
                let grid = Arc::new(whole.grid.moved(by)?);
                Self::Mask(Mask::new(grid, whole.inside.clone()))
            }
            // All of their points would have to be in memory.
            Self::InPlace(_) => return None,
            Self::Tractogram(tractogram) => by
                .is_finite()
                .then(|| Self::Tractogram(tractogram.moved(by)))?,
        })
    }
}

/// A requested transform of streamlines that are too many to be moved within one frame.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PendingTransform {
    pub layer: LayerId,
    /// From the world of the file, mm.
    pub transform: DAffine3,
    pub aligned_by: AlignedBy,
    pub phase: Phase,
}

/// Everything on which transformed streamlines depend.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TransformKey {
    pub layer: LayerId,
    /// The streamlines as they were opened.
    pub tractogram: DataId,
    pub transform: DAffine3,
}

impl LiveKey for TransformKey {}

/// Transforms of many streamlines: those requested, in order, and the one being applied.
#[derive(Clone, Debug, Default)]
pub struct PendingTransforms {
    /// The newest request of each layer.
    pub requested: Vec<PendingTransform>,
    /// Without values: the layers hold the results, each a step of the history.
    pub live: Live<TransformKey, ()>,
    /// The transforms that the user collects for a layer before they are applied.
    pub warp: Option<(LayerId, WarpReading)>,
}

/// A rigid transform about a point, in the units of its controls.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Nudge {
    /// To the right, front and top, mm.
    pub shift_mm: DVec3,
    /// Rotations about the axes to the right, front and top, in this order, degrees.
    pub turn_deg: DVec3,
}

/// Removes rounding errors of matrix products.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6 + 0.0
}

/// A translation, mm.
const fn shift(
    key: &'static str,
    label: &'static str,
    help: &'static str,
    get: fn(&Nudge) -> Option<f64>,
    set: fn(&mut Nudge, Option<f64>),
) -> Param<Nudge> {
    let number = Number {
        unit: Unit::Mm,
        decimals: 1,
        soft: (-50.0, 50.0),
        hard: Limits::between(-1000.0, 1000.0),
        ..Number::new(get, set)
    };
    Param {
        value_name: "MM",
        help,
        ..Param::new(key, label, Kind::Number(number))
    }
}

/// A rotation; rows use radians, a nudge degrees.
const fn turn(
    key: &'static str,
    label: &'static str,
    help: &'static str,
    get: fn(&Nudge) -> Option<f64>,
    set: fn(&mut Nudge, Option<f64>),
) -> Param<Nudge> {
    let number = Number {
        unit: Unit::Degrees,
        decimals: 1,
        soft: (-45.0, 45.0),
        hard: Limits::between(-180.0, 180.0),
        ..Number::new(get, set)
    };
    Param {
        value_name: "DEG",
        help,
        ..Param::new(key, label, Kind::Number(number))
    }
}

/// Degrees, converted to the radians of rows.
fn radians(degrees: f64) -> Option<f64> {
    Some(rounded(degrees).to_radians())
}

/// Sets degrees from a row's value.
fn set_degrees(degrees: &mut f64, radians: Option<f64>) {
    *degrees = radians.map_or(*degrees, |v| Unit::Degrees.displayed(v));
}

/// Only for the window: a command takes the transform as a file or a matrix.
impl Parameters for Nudge {
    const TABLE: &'static [Param<Self>] = &[
        shift(
            "right",
            "Right",
            "Moves the layer to the patient's right; arrow keys use small steps",
            |p| Some(rounded(p.shift_mm.x)),
            |p, v| p.shift_mm.x = v.unwrap_or(p.shift_mm.x),
        ),
        shift(
            "front",
            "Front",
            "Moves the layer to the front; arrow keys use small steps",
            |p| Some(rounded(p.shift_mm.y)),
            |p, v| p.shift_mm.y = v.unwrap_or(p.shift_mm.y),
        ),
        shift(
            "up",
            "Up",
            "Moves the layer to the top of the head; arrow keys use small steps",
            |p| Some(rounded(p.shift_mm.z)),
            |p, v| p.shift_mm.z = v.unwrap_or(p.shift_mm.z),
        ),
        turn(
            "nod",
            "Nod",
            "Turns the layer about the axis from left to right",
            |p| radians(p.turn_deg.x),
            |p, v| set_degrees(&mut p.turn_deg.x, v),
        ),
        turn(
            "tilt",
            "Tilt",
            "Turns the layer about the axis from back to front",
            |p| radians(p.turn_deg.y),
            |p, v| set_degrees(&mut p.turn_deg.y, v),
        ),
        turn(
            "turn",
            "Turn",
            "Turns the layer about the axis from bottom to top",
            |p| radians(p.turn_deg.z),
            |p, v| set_degrees(&mut p.turn_deg.z, v),
        ),
    ];

    fn defaults() -> Self {
        Self::default()
    }
}

impl Nudge {
    pub fn about(&self, centre: DVec3) -> DAffine3 {
        let [x, y, z] = self.turn_deg.to_array().map(f64::to_radians);
        let turn = DQuat::from_euler(EulerRot::ZYX, z, y, x);
        DAffine3::from_translation(centre + self.shift_mm)
            * DAffine3::from_quat(turn)
            * DAffine3::from_translation(-centre)
    }

    /// `1.0 mm right, turned −27.9°`: the components that are not zero, named like the controls.
    pub fn text(&self) -> String {
        /// Smaller values are not displayed by the controls either.
        const MINIMUM_SHOWN: f64 = 0.05;
        let ways = [["right", "left"], ["front", "back"], ["up", "down"]];
        let shift = self.shift_mm.to_array().into_iter().zip(ways);
        let shift = shift.filter(|(mm, _)| mm.abs() >= MINIMUM_SHOWN);
        let shift = shift.map(|(mm, [forward, back])| {
            let way = if mm > 0.0 { forward } else { back };
            format!("{} {way}", with_unit(&fixed(mm.abs(), 1), "mm"))
        });
        let turns = ["nodded", "tilted", "turned"];
        let turn = self.turn_deg.to_array().into_iter().zip(turns);
        let turn = turn.filter(|(degrees, _)| degrees.abs() >= MINIMUM_SHOWN);
        let turn = turn.map(|(degrees, direction)| format!("{direction} {}°", fixed(degrees, 1)));
        let all: Vec<String> = shift.chain(turn).collect();
        match all.is_empty() {
            true => format!("less than {}", with_unit("0.1", "mm")),
            false => all.join(", "),
        }
    }

    /// Decomposes a transform; `None` if it scales or shears.
    pub fn from_transform(by: DAffine3, centre: DVec3) -> Option<Self> {
        let m = by.matrix3;
        let off = m.transpose() * m - DMat3::IDENTITY;
        // Files have six digits.
        const RIGID: f64 = 1e-4;
        let largest = off
            .to_cols_array()
            .into_iter()
            .fold(0.0, |a: f64, b| a.max(b.abs()));
        if !(largest < RIGID && m.determinant() > 0.0) {
            return None;
        }
        let (z, y, x) = DQuat::from_mat3(&m).normalize().to_euler(EulerRot::ZYX);
        Some(Self {
            shift_mm: by.transform_point3(centre) - centre,
            turn_deg: DVec3::new(x.to_degrees(), y.to_degrees(), z.to_degrees()),
        })
    }
}

/// Moves of a layer in the world.
#[derive(Clone, Debug)]
pub enum AlignmentAction {
    /// Transforms a layer in the world, relative to its file.
    Shift {
        layer: LayerId,
        transform: DAffine3,
        phase: Phase,
    },
    /// Aligns an image to the scan, or to another image, by mutual information.
    Align(LayerId),
    /// Applies a transform from a file of FLIRT or ITK to a layer.
    ApplyAffine { layer: LayerId, path: PathBuf },
    /// Adds files to the transforms collected for a layer.
    AddTransforms { layer: LayerId, paths: Vec<PathBuf> },
    /// Sets the transforms collected for a layer.
    SetWarp { layer: LayerId, warp: WarpReading },
    /// Opens the file of a layer with the transforms collected for it.
    ApplyWarp(LayerId),
}
