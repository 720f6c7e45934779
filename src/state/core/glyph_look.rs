//! Display of tensors, of fibre orientation distributions and of peaks as glyphs.

use crate::data::appearance::GlyphShape;
use crate::data::keyed;
use crate::parameters::{Choice, Kind, Limits, Number, Param, Parameters, shortest_f64};
use crate::state::core::layer::LayerId;
use serde::{Deserialize, Serialize};

/// The tensors that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlyphPlace {
    /// Tensors on the slices of the 3-D view, only there.
    Scene,
    /// Tensors on the slices of the 3-D view and in the slice views.
    Slices,
    /// Tensors within the pathways, in the 3-D view.
    Pathways,
}

keyed!(GlyphPlace, serde {
    Scene = "scene",
    Slices = "slices",
    Pathways = "pathways",
});

impl GlyphPlace {
    pub const ALL: [Self; 3] = [Self::Scene, Self::Slices, Self::Pathways];

    pub fn name(self) -> &'static str {
        match self {
            Self::Scene => "Slices of the 3-D view",
            Self::Slices => "Slices of all views",
            Self::Pathways => "Within pathways",
        }
    }
}

/// Content of glyphs where there are both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlyphContent {
    Tensors,
    Distributions,
    /// Peaks of an image with three volumes for each.
    Peaks,
}

keyed!(GlyphContent, serde {
    Tensors = "tensors",
    Distributions = "distributions",
    Peaks = "peaks",
});

impl GlyphContent {
    pub const ALL: [Self; 3] = [Self::Tensors, Self::Distributions, Self::Peaks];

    pub fn name(self) -> &'static str {
        match self {
            Self::Tensors => "Tensors",
            Self::Distributions => "Distributions",
            Self::Peaks => "Peaks",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct GlyphLook {
    pub shown: bool,
    pub content: GlyphContent,
    pub distributions: OdfLook,
    pub place: GlyphPlace,
    pub shape: GlyphShape,
    /// Length of the longest axis relative to a voxel's edge.
    pub size: f32,
    /// One voxel in this many, along each axis.
    pub every: usize,
    /// The layer whose value scales glyphs of every content, from nothing at the low end of its range to the full size at
    /// its high end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled_by: Option<LayerId>,
    #[serde(skip_serializing_if = "PeakLook::is_default")]
    pub peaks: PeakLook,
}

/// Display of an image of peaks as lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PeakLook {
    /// `None`, or a layer that has no peaks: the topmost image of peaks.
    pub layer: Option<LayerId>,
    /// Whether all lines have the same length; otherwise the high end of the layer's range has the full one.
    pub same_length: bool,
    /// Whether the colour is that of the value in the layer's colour map and range; otherwise that of the direction.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_value: bool,
}

impl PeakLook {
    /// Largest number of peaks per voxel in an image of them.
    pub const MAX_PEAKS: usize = 10;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl GlyphLook {
    /// Shows the lines of a layer of peaks, on the slices of all views if no glyphs were shown.
    pub fn showing_peaks_of(self, layer: LayerId) -> Self {
        let place = match self.shown {
            true => self.place,
            false => GlyphPlace::Slices,
        };
        Self {
            shown: true,
            content: GlyphContent::Peaks,
            place,
            peaks: PeakLook {
                layer: Some(layer),
                ..self.peaks
            },
            ..self
        }
    }

    /// The place of the lines of peaks, which no pathway limits.
    pub fn peak_place(&self) -> GlyphPlace {
        match self.place {
            GlyphPlace::Pathways => GlyphPlace::Scene,
            place => place,
        }
    }
}

impl Default for GlyphLook {
    fn default() -> Self {
        Self {
            shown: false,
            content: GlyphContent::Distributions,
            distributions: OdfLook::default(),
            place: GlyphPlace::Scene,
            shape: GlyphShape::Ellipsoid,
            size: 0.9,
            every: 1,
            scaled_by: None,
            peaks: PeakLook::default(),
        }
    }
}

/// Only for the window. The limits are those of what can be drawn.
impl Parameters for GlyphLook {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "Longest axis divided by the edge of a voxel",
            ..Param::new(
                "size",
                "Glyph size",
                Kind::Number(Number {
                    soft: (0.3, 2.0),
                    hard: Limits::between(0.05, 10.0),
                    ..Number::new(
                        |p| Some(shortest_f64(p.size)),
                        |p, v| p.size = v.map_or(p.size, |v| v as f32),
                    )
                }),
            )
        },
        Param {
            help: "Along each axis",
            ..Param::new(
                "every",
                "One voxel in",
                Kind::Number(Number {
                    decimals: 0,
                    soft: (1.0, 8.0),
                    hard: Limits::whole(1.0, 16.0),
                    ..Number::new(
                        |p| Some(p.every as f64),
                        |p, v| p.every = v.map_or(p.every, |v| v as usize),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::default()
    }
}

/// Display of fibre orientation distributions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct OdfLook {
    pub place: GlyphPlace,
    /// Diameter of the largest glyph relative to a voxel's edge.
    pub size: f32,
    /// Distributions whose peak is lower have no glyph.
    pub min_amplitude: f32,
    /// Sizes compare amplitudes; otherwise the peak of each distribution has the full size.
    pub same_scale: bool,
}

impl Default for OdfLook {
    fn default() -> Self {
        Self {
            place: GlyphPlace::Slices,
            size: 1.0,
            min_amplitude: 0.05,
            same_scale: false,
        }
    }
}

/// Only for the window.
impl Parameters for OdfLook {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            help: "Own peak shows directions, even of small amounts; same scale compares amounts between voxels",
            ..Param::new(
                "scaling",
                "Scaled to",
                Kind::OneOf(&[
                    Choice::new(
                        "own-peak",
                        "Own peak",
                        |p| !p.same_scale,
                        |p| p.same_scale = false,
                    ),
                    Choice::new(
                        "same-scale",
                        "Same scale",
                        |p| p.same_scale,
                        |p| p.same_scale = true,
                    ),
                ]),
            )
        },
        Param {
            help: "Distributions whose peak is lower are not drawn",
            reason: "noise reaches 0.05 to 0.1",
            ..Param::new(
                "min-amplitude",
                "Amplitude from",
                Kind::Number(Number {
                    decimals: 2,
                    soft: (0.0, 0.3),
                    hard: Limits::between(0.0, 100.0),
                    ..Number::new(
                        |p| Some(shortest_f64(p.min_amplitude)),
                        |p, v| p.min_amplitude = v.map_or(p.min_amplitude, |v| v as f32),
                    )
                }),
            )
        },
        Param {
            help: "Diameter of the largest glyph divided by the edge of a voxel",
            ..Param::new(
                "odf-size",
                "Glyph size",
                Kind::Number(Number {
                    soft: (0.5, 2.0),
                    hard: Limits::between(0.1, 10.0),
                    ..Number::new(
                        |p| Some(shortest_f64(p.size)),
                        |p, v| p.size = v.map_or(p.size, |v| v as f32),
                    )
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::default()
    }
}
