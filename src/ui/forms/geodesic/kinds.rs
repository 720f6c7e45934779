//! The last settings of each kind of directions and of sharpening, so that choosing another kind and going back loses
//! nothing.

use crate::parameters::Parameters as _;
use crate::solvers::geodesic::{DirectionParts, SharpeningParts};
use crate::state::Rays;

pub struct KindSettings {
    pub directions: DirectionParts,
    pub sharpening: SharpeningParts,
    /// The number of rays, and the number requested: whole fans rarely match it exactly.
    rounded: Option<(usize, usize)>,
}

/// The last settings of both models, whose fans differ.
pub struct RayKinds {
    pub in_tensors: KindSettings,
    pub along_lobes: KindSettings,
}

impl Default for RayKinds {
    fn default() -> Self {
        Self {
            in_tensors: KindSettings::default(),
            along_lobes: KindSettings {
                directions: Rays::lobe_defaults().params.directions.into(),
                ..KindSettings::default()
            },
        }
    }
}

impl Default for KindSettings {
    fn default() -> Self {
        Self {
            directions: DirectionParts::defaults(),
            sharpening: SharpeningParts::defaults(),
            rounded: None,
        }
    }
}

impl KindSettings {
    /// Stores the settings of the chosen kinds.
    pub fn remember(&mut self, rays: &Rays) {
        self.directions = self.directions.with_directions(rays.params.directions);
        self.sharpening = self.sharpening.with(rays.metric.sharpening);
    }

    /// The number of rays requested before it was rounded to these whole fans.
    pub fn requested(&self, rays: &Rays) -> Option<usize> {
        let now = rays.count()?;
        match self.rounded {
            Some((rounded, count)) if rounded == now => Some(count),
            _ => Some(now),
        }
    }

    pub fn note_rounding(&mut self, rays: &Rays, requested: usize) {
        self.rounded = rays.count().map(|rounded| (rounded, requested));
    }
}
