//! The display of an image over others: the values that are shown, their opacity, and outlines.

use serde::{Deserialize, Serialize};

/// Limits, opacity by value and outlines of an image, a label map or a mask.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Overlay {
    /// Values outside these limits are transparent; `None`: all are shown.
    pub limits: Option<(f32, f32)>,
    /// The limits, and the opacity by value, are those of absolute values: for images with a sign.
    pub is_symmetric: bool,
    /// The opacity rises with the value, from 0 at the window's low end; of absolute values from 0.
    pub opacity_by_value: bool,
    /// Lines around the shown values, around a mask, or around each label, whose inside is then transparent.
    pub is_outlined: bool,
}

impl Overlay {
    /// Whether the image is shown as without this.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The overlay without numbers that JSON cannot hold.
    pub fn finite(&self) -> Self {
        let finite = |limits: &(f32, f32)| limits.0.is_finite() && limits.1.is_finite();
        Self {
            limits: self.limits.filter(finite),
            ..self.clone()
        }
    }

    /// The values whose lines are the borders of what is shown; none without limits.
    pub fn borders(&self) -> Vec<f32> {
        let Some((low, high)) = self.limits else {
            return Vec::new();
        };
        match self.is_symmetric {
            true => vec![-high, -low, low, high],
            false => vec![low, high],
        }
    }
}
