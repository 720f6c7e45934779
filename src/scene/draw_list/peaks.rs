//! Lines of peaks and fixels.

use super::{ById, Clip, GlyphPlace, GlyphScale};
use crate::data::Volume;
use crate::data::appearance::ColourMap;
use glam::DMat3;

/// Peaks of fibres as lines through the centres of voxels.
#[derive(Clone, PartialEq, Debug)]
pub struct PeakGlyphs {
    /// Three volumes per peak: a vector in world axes whose length is the amplitude.
    pub peaks: ById<Volume>,
    /// Rotation of the vectors since the image was read.
    pub turn: DMat3,
    /// Colours of their values; `None`: coloured by direction.
    pub colours: Option<PeakColours>,
    /// Peaks with values outside these limits are not drawn; `None`: all are.
    pub limits: Option<PeakLimits>,
    pub place: GlyphPlace,
    /// Length of a line relative to a voxel's edge.
    pub size: f32,
    /// One voxel in this many, along each axis of a plane, or of the grid.
    pub every: usize,
    /// The amplitude with that length; smaller ones are shorter, larger ones are not longer. `None`: all have it.
    pub full_amplitude: Option<f32>,
    /// Lines whose centres one of these hides are not drawn.
    pub clips: Vec<Clip>,
    /// `None`: all have the full size.
    pub scale: Option<GlyphScale>,
}

/// Colours of the values of peaks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PeakColours {
    pub colour_map: ColourMap,
    /// Values of the first and the last colour.
    pub window: (f32, f32),
}

/// Limits of the values of peaks that are drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PeakLimits {
    pub low: f32,
    pub high: f32,
    /// The limits are those of values without their sign.
    pub is_symmetric: bool,
}

impl PeakLimits {
    pub fn contain(&self, value: f64) -> bool {
        let value = if self.is_symmetric {
            value.abs()
        } else {
            value
        };
        (f64::from(self.low)..=f64::from(self.high)).contains(&value)
    }
}
