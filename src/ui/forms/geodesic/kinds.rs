//! What each kind of directions and of sharpening was last set to, so that choosing another kind and
//! going back loses nothing.

use crate::solvers::geodesic;
use crate::solvers::geodesic::{Directions, Sharpening};
use crate::state::Rays;

pub struct Kinds {
    /// Half angle of the cone.
    pub cone_rad: f64,
    /// Rays of a fan, sphere or cone.
    pub fan: usize,
    pub icosphere: usize,
    pub power: Sharpening,
    pub paper: Sharpening,
    /// How many rays there are, and how many were asked for: whole fans rarely are just as many.
    rounded: Option<(usize, usize)>,
}

impl Default for Kinds {
    fn default() -> Self {
        Self {
            cone_rad: std::f64::consts::FRAC_PI_4,
            fan: super::directions::USUAL,
            icosphere: 1,
            power: geodesic::DEFAULT_SHARPENING,
            paper: Sharpening::Paper {
                power: 2,
                below_fa: 0.5,
            },
            rounded: None,
        }
    }
}

impl Kinds {
    /// Takes note of the kinds that are chosen.
    pub fn remember(&mut self, rays: &Rays) {
        match rays.params.directions {
            Directions::Cone {
                count,
                half_angle_rad,
            } => (self.fan, self.cone_rad) = (count, half_angle_rad),
            Directions::Sphere { count } => self.fan = count,
            Directions::Icosphere { level } => self.icosphere = level,
            Directions::Principal | Directions::Towards { .. } => {}
        }
        match rays.medium.sharpening {
            Sharpening::Power { .. } => self.power = rays.medium.sharpening,
            Sharpening::Paper { .. } => self.paper = rays.medium.sharpening,
        }
    }

    /// How many rays were asked for before they were rounded to these whole fans.
    pub fn asked(&self, rays: &Rays) -> Option<usize> {
        let now = rays.count()?;
        match self.rounded {
            Some((rounded, asked)) if rounded == now => Some(asked),
            _ => Some(now),
        }
    }

    pub fn note_rounding(&mut self, rays: &Rays, asked: usize) {
        self.rounded = rays.count().map(|rounded| (rounded, asked));
    }
}
