//! Display of an image layer as a volume in the 3-D view.

use crate::data::appearance::{Transfer, TransferShape};
use crate::data::joint_histogram::{DerivedValue, JointAxis};
use crate::data::keyed;
use crate::data::{Grid, Volume};
use crate::state::core::layer::LayerId;
use glam::DVec3;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VolumeStyle {
    Hidden,
    /// With the density of the transfer function.
    Cloud,
    /// The surface of one value.
    Surface,
    /// The largest value along each line of sight.
    Maximum,
    /// The smallest value along each line of sight.
    Minimum,
}

keyed!(VolumeStyle, serde {
    Hidden = "hidden",
    Cloud = "cloud",
    Surface = "surface",
    Maximum = "maximum",
    Minimum = "minimum",
});

impl VolumeStyle {
    /// Whether it shows one value of each line of sight.
    pub fn is_projection(self) -> bool {
        matches!(self, Self::Maximum | Self::Minimum)
    }
}

/// The part of a volume that is cut away at the crosshair.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VolumeCut {
    #[default]
    Nothing,
    /// The part on this side; a unit vector along a world axis.
    Side(DVec3),
    /// The part nearer to the viewer.
    Facing,
    /// The octant nearest to the viewer.
    Corner,
    /// The part in front of a fixed plane: world mm, and its normal towards that part.
    Plane { at: DVec3, normal: DVec3 },
}

impl VolumeCut {
    /// A form that can be written: JSON has no infinity.
    pub fn finite(self) -> Self {
        match self {
            Self::Plane { at, normal } if !(at.is_finite() && normal.is_finite()) => Self::Nothing,
            Self::Side(normal) if !normal.is_finite() => Self::Nothing,
            cut => cut,
        }
    }
}

/// The second value of a transfer function of two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecondValue {
    /// Gradient magnitude of the image, units per mm.
    Gradient,
    /// Mean curvature of the image's surfaces of constant value, 1/mm.
    Curvature,
    /// The first volume of another image.
    Image(LayerId),
}

impl SecondValue {
    /// The value, if it is derived from the image itself.
    pub fn derived(self) -> Option<DerivedValue> {
        match self {
            Self::Gradient => Some(DerivedValue::Gradient),
            Self::Curvature => Some(DerivedValue::Curvature),
            Self::Image(_) => None,
        }
    }

    /// The axis of a joint histogram.
    pub fn axis(self) -> JointAxis {
        self.derived().map_or(JointAxis::Image, JointAxis::Own)
    }
}

/// The third value of a transfer function, which limits its shapes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ThirdValue {
    pub value: DerivedValue,
    /// Values at 0 and 1 of the shapes' limits.
    pub window: (f32, f32),
}

/// A transfer function of two values, which replaces the curve of a cloud.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TwoValues {
    pub second: SecondValue,
    /// Second values at the ends of the shapes' second axis; those of the first axis are the layer's window.
    pub window: (f32, f32),
    pub shapes: Vec<TransferShape>,
    /// `None`: no third value limits the shapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub third: Option<ThirdValue>,
}

fn is_window((low, high): (f32, f32)) -> bool {
    low.is_finite() && high.is_finite() && low < high
}

impl TwoValues {
    /// The values that may limit shapes as a third one.
    pub fn third_choices(second: SecondValue) -> impl Iterator<Item = DerivedValue> {
        let all = DerivedValue::ALL.into_iter();
        all.filter(move |value| Some(*value) != second.derived())
    }

    /// Replaces or removes the third value and keeps the shapes; limits of another value do not apply to it.
    pub fn with_third(&self, third: Option<ThirdValue>) -> Self {
        let is_other = third.map(|t| t.value) != self.third.map(|t| t.value);
        let mut two = self.clone();
        two.third = third;
        for shape in two.shapes.iter_mut().filter(|_| is_other) {
            shape.third = TransferShape::NO_THIRD;
        }
        two
    }

    /// The third value and its limits of a shape, by its index; `None` if nothing limits the shape.
    pub fn third_limits(&self, shape: usize) -> Option<(DerivedValue, (f32, f32))> {
        let third = self.third?;
        let limits = self.shapes.get(shape)?.third_limits(third.window)?;
        Some((third.value, limits))
    }

    /// Another window of the second value; the shapes keep their values.
    pub fn in_window(&self, window: (f32, f32)) -> Self {
        let shapes = self.shapes.iter();
        Self {
            second: self.second,
            third: self.third,
            window,
            shapes: shapes
                .map(|shape| shape.in_window(self.window, window))
                .collect(),
        }
    }

    /// Another window of the third value; the shapes keep their limits.
    pub fn in_third_window(&self, window: (f32, f32)) -> Self {
        let mut two = self.clone();
        if let Some(third) = &mut two.third {
            let old = std::mem::replace(&mut third.window, window);
            for shape in &mut two.shapes {
                *shape = shape.in_third_window(old, window);
            }
        }
        two
    }

    /// A form that can be written and drawn: valid shapes, not too many of them, finite windows, and a third value that
    /// is not the second one.
    pub fn finite(&self) -> Self {
        let shapes = self.shapes.iter().take(TransferShape::MAX_COUNT);
        let is_third = |third: &ThirdValue| {
            is_window(third.window) && Some(third.value) != self.second.derived()
        };
        let valid = Self {
            window: match is_window(self.window) {
                true => self.window,
                false => (0.0, 1.0),
            },
            shapes: shapes.map(|shape| shape.sanitized()).collect(),
            ..self.clone()
        };
        valid.with_third(self.third.filter(is_third))
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeLook {
    pub style: VolumeStyle,
    /// Applied to the layer's window.
    pub transfer: Transfer,
    /// Thickness of a layer that has the transfer function's opacities.
    pub reference_mm: f32,
    /// Value of the surface.
    pub level: f32,
    /// The surface's inside has lower values.
    pub below: bool,
    /// Opacity of the surface or the projection, 0..1.
    pub opacity: f32,
    pub lit: bool,
    pub cut: VolumeCut,
    /// Whether cut faces show the image itself.
    pub face: bool,
    /// Distance from the cut over which the opacity falls to zero, mm; `None`: it does not depend on that.
    pub fade_mm: Option<f32>,
    /// Shapes that replace the curve of a cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub two_values: Option<TwoValues>,
}

impl Default for VolumeLook {
    fn default() -> Self {
        Self {
            style: VolumeStyle::Hidden,
            transfer: Transfer::rising(),
            reference_mm: 4.0,
            level: 0.5,
            below: false,
            opacity: 1.0,
            lit: true,
            cut: VolumeCut::Nothing,
            face: true,
            fade_mm: None,
            two_values: None,
        }
    }
}

impl VolumeLook {
    /// Range of that distance.
    pub const FADE_MM: std::ops::RangeInclusive<f64> = 1.0..=200.0;
    pub const THICKNESS_MM: std::ops::RangeInclusive<f64> = 0.01..=1000.0;

    /// The default of an image: soft in the middle of its window, two voxels thick.
    pub fn default_for(volume: &Volume, window: (f32, f32)) -> Self {
        Self {
            reference_mm: Self::default_reference_mm(volume),
            level: window.0 + (window.1 - window.0) * 0.5,
            ..Self::default()
        }
    }

    pub fn default_reference_mm(volume: &Volume) -> f32 {
        Self::two_voxels_mm(&volume.grid)
    }

    pub fn two_voxels_mm(grid: &Grid) -> f32 {
        let volume_mm3 = grid.world_from_voxel.matrix3.determinant().abs();
        (2.0 * volume_mm3.cbrt()) as f32
    }

    /// A form that can be written: JSON has no infinity.
    pub fn finite(&self) -> Self {
        let or = |value: f32, other: f32| if value.is_finite() { value } else { other };
        Self {
            reference_mm: or(self.reference_mm, 4.0),
            level: or(self.level, 0.5),
            opacity: or(self.opacity, 1.0),
            cut: self.cut.finite(),
            fade_mm: self.fade_mm.filter(|mm| mm.is_finite()),
            two_values: self.two_values.as_ref().map(TwoValues::finite),
            ..self.clone()
        }
    }
}
