//! Display of layers, and their default displays.

use crate::data::Volume;
use crate::data::appearance::{ColourMap, Interpolation, LineStyle};
use crate::data::region::RegionId;
use crate::solvers::tensor_fit::FitMap;
use crate::solvers::tractogram::line_values::LineStatistic;
use crate::state::core::layer::LayerId;
use crate::state::core::overlay::Overlay;
use crate::state::core::volume_look::VolumeLook;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The colouring of streamlines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineColouring {
    Direction,
    /// Sampled at each point.
    Fa,
    /// Whole length, mm.
    Length,
    /// The reason why the end stopped.
    StopReason,
    /// Connectivity measure of the whole ray; within the display's window.
    Measure,
    /// Connectivity measure from the seed to each point.
    MeasureAlong,
    /// How much of the signal the streamline explains; within the display's window.
    Weight,
    /// A value of the file, by its name.
    Value(String),
    /// Values in a file of their own: TSF, or a text with one number per streamline.
    ValuesFile(PathBuf),
    /// An image along the streamline.
    Image(LayerId),
    Distance(DistanceFrom),
    /// The direction from the first to the last point.
    EndToEnd,
    /// The first of its groups.
    Group,
    Fixed([u8; 3]),
}

/// The place from which the distance of streamlines is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DistanceFrom {
    Region(RegionId),
    /// A layer that is a mask.
    Mask(LayerId),
}

impl LineColouring {
    /// Whether it shows numbers by a scale of colours.
    pub fn has_scale(&self) -> bool {
        !matches!(
            self,
            Self::Direction | Self::StopReason | Self::EndToEnd | Self::Group | Self::Fixed(_)
        )
    }
}

/// How the values of streamlines are shown as colours, and which of them are shown at all.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct LineScale {
    /// How the values of its points become that of a streamline, where it has one at each of them.
    pub statistic: LineStatistic,
    /// Colours of values that have no other default.
    pub colour_map: ColourMap,
    /// The values of the first and the last colour; `None`: chosen by the values.
    pub range: Option<(f32, f32)>,
    pub logarithmic: bool,
    /// Points, or whole streamlines, with values outside these limits are hidden.
    pub limits: Option<(f32, f32)>,
}

impl Default for LineScale {
    fn default() -> Self {
        Self {
            statistic: LineStatistic::EachPoint,
            colour_map: ColourMap::Viridis,
            range: None,
            logarithmic: false,
            limits: None,
        }
    }
}

impl LineScale {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The scale without numbers that JSON cannot hold.
    pub fn finite(&self) -> Self {
        let finite = |range: &(f32, f32)| range.0.is_finite() && range.1.is_finite();
        Self {
            range: self.range.filter(finite),
            limits: self.limits.filter(finite),
            ..self.clone()
        }
    }

    /// The scale of other values: their range differs, the colours stay.
    pub fn for_other_values(&self) -> Self {
        Self {
            colour_map: self.colour_map,
            ..Self::default()
        }
    }
}

/// Display of a layer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Display {
    pub visible: bool,
    /// 0..1.
    pub opacity: f32,
    pub window: (f32, f32),
    pub colour_map: ColourMap,
    pub interpolation: Interpolation,
    /// Brightness of colour images.
    pub brightness: f32,
    /// Hides voxels with FA below this; 0 hides nothing.
    pub hide_below_fa: f32,
    /// Index of the displayed volume of a scan.
    pub frame: usize,
    pub line_style: LineStyle,
    pub line_colouring: LineColouring,
    #[serde(skip_serializing_if = "LineScale::is_default")]
    pub line_scale: LineScale,
    /// Display in the 3-D view; `None` until requested.
    pub volume: Option<VolumeLook>,
    #[serde(skip_serializing_if = "Overlay::is_default")]
    pub overlay: Overlay,
}

impl Display {
    /// Whether the colour map of its streamlines is [`Display::colour_map`], as for values computed here.
    pub fn has_map_of_window(&self) -> bool {
        matches!(
            self.line_colouring,
            LineColouring::Measure | LineColouring::MeasureAlong | LineColouring::Weight
        )
    }

    /// The colour map of its streamlines.
    pub fn line_map(&self) -> ColourMap {
        match self.has_map_of_window() {
            true => self.colour_map,
            false => self.line_scale.colour_map,
        }
    }
}

impl Default for Display {
    fn default() -> Self {
        image_display((0.0, 1.0))
    }
}

/// The default window of an image.
pub fn window(volume: &Volume, frame: usize, map: Option<FitMap>) -> (f32, f32) {
    match map {
        Some(FitMap::Fa) => (0.0, volume.percentiles(frame, 0.01, 0.998).1.max(0.5)),
        Some(map) if map.is_diffusivity() => (0.0, volume.percentiles(frame, 0.01, 0.99).1),
        Some(FitMap::Mode) => (-1.0, 1.0),
        Some(FitMap::Dec | FitMap::ModeColour | FitMap::Cl | FitMap::Cp | FitMap::Cs) => (0.0, 1.0),
        _ => volume.percentiles(frame, 0.01, 0.99),
    }
}

/// Opacity of a label map over an image, so that both are visible.
pub const LABEL_OPACITY: f32 = 0.6;

/// Opacity of a mask over an image.
pub const MASK_OPACITY: f32 = 0.3;

/// Radius of streamlines as tubes, mm.
pub const TUBE_RADIUS_MM: f32 = 0.35;

/// The default brightness of a colour image: colour times FA is dark, since FA is rarely 1.
pub fn brightness(map: Option<FitMap>) -> f32 {
    match map {
        Some(FitMap::Dec | FitMap::ModeColour) => 1.5,
        _ => 1.0,
    }
}

/// The default display of a map of a fit, or of another image.
pub fn map_display(volume: &Volume, map: Option<FitMap>) -> Display {
    Display {
        brightness: brightness(map),
        colour_map: match map {
            Some(FitMap::Mode) => ColourMap::Diverging,
            _ => ColourMap::Grey,
        },
        ..image_display(window(volume, 0, map))
    }
}

pub fn image_display(window: (f32, f32)) -> Display {
    Display {
        visible: true,
        opacity: 1.0,
        window,
        colour_map: ColourMap::Grey,
        interpolation: Interpolation::Linear,
        brightness: 1.0,
        hide_below_fa: 0.0,
        frame: 0,
        line_style: LineStyle::Tubes {
            radius_mm: TUBE_RADIUS_MM,
        },
        line_colouring: LineColouring::Direction,
        line_scale: LineScale::default(),
        volume: None,
        overlay: Overlay::default(),
    }
}

pub fn mask_display() -> Display {
    Display {
        opacity: MASK_OPACITY,
        colour_map: ColourMap::Mask,
        visible: false,
        ..image_display((0.0, 1.0))
    }
}

/// The display of a mask if there is no image that it could hide.
pub fn mask_alone() -> Display {
    Display {
        opacity: 0.6,
        visible: true,
        ..mask_display()
    }
}

pub fn line_display() -> Display {
    image_display((0.0, 1.0))
}

/// Opacity of a stale result, as a fraction of its opacity when it is current.
pub const STALE_OPACITY: f32 = 0.45;
