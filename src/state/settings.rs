//! The user's preferences for all documents, stored between runs.

use super::document::Rays;
use crate::data::keyed;
use crate::parameters;
use crate::solvers::curves::{self, Seeding, SeedingParts};
use crate::state::track::types::odf::OdfRays;
use crate::state::view::Convention;
use serde::{Deserialize, Serialize};

/// Mouse buttons on slices, as in the program that a user is accustomed to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mouse {
    /// Left: crosshair; right: window and level; as in mrview.
    #[default]
    Arcuate,
    /// Left: crosshair; right: zoom, with Ctrl window and level.
    ItkSnap,
    /// Left: window and level, a click sets the crosshair; right: zoom.
    Slicer,
}

keyed!(Mouse, serde {
    Arcuate = "arcuate",
    ItkSnap = "itk_snap",
    Slicer = "slicer",
});

/// The effect of a drag on a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gesture {
    Crosshair,
    Window,
    Zoom,
}

impl Mouse {
    pub const ALL: [Self; 3] = [Self::Arcuate, Self::ItkSnap, Self::Slicer];

    pub fn name(self) -> &'static str {
        match self {
            Self::Arcuate => "Arcuate, mrview",
            Self::ItkSnap => "ITK-SNAP",
            Self::Slicer => "Slicer",
        }
    }

    /// Action of the left button, if nothing is under it.
    pub fn left(self) -> Gesture {
        match self {
            Self::Arcuate | Self::ItkSnap => Gesture::Crosshair,
            Self::Slicer => Gesture::Window,
        }
    }

    /// Action of the right button; `command` with Ctrl.
    pub fn right(self, command: bool) -> Gesture {
        match self {
            Self::Arcuate => Gesture::Window,
            Self::ItkSnap | Self::Slicer if command => Gesture::Window,
            Self::ItkSnap | Self::Slicer => Gesture::Zoom,
        }
    }
}

/// Defaults of streamlines and rays in a new document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Paths {
    pub streamlines: usize,
    pub step_mm: f64,
    /// For streamlines; `None`: any angle is allowed.
    pub max_angle_rad: Option<f64>,
    /// For streamlines; `None`: low FA does not stop them.
    pub min_fa: Option<f64>,
    pub length_mm: (f64, f64),
}

impl Default for Paths {
    fn default() -> Self {
        Self::from(&curves::Params::defaults())
    }
}

impl From<&curves::Params> for Paths {
    fn from(params: &curves::Params) -> Self {
        Self {
            streamlines: SeedingParts::from(params.seeding).count,
            step_mm: params.step_mm,
            max_angle_rad: params.max_angle_rad,
            min_fa: params.min_fa,
            length_mm: (params.min_length_mm, params.max_length_mm.unwrap_or(300.0)),
        }
    }
}

impl Paths {
    /// The parameters of streamlines.
    pub fn params(&self) -> curves::Params {
        curves::Params {
            seeding: Seeding::Random {
                count: self.streamlines,
            },
            step_mm: self.step_mm,
            max_angle_rad: self.max_angle_rad,
            min_fa: self.min_fa,
            min_length_mm: self.length_mm.0,
            max_length_mm: Some(self.length_mm.1),
            ..curves::Params::defaults()
        }
    }

    /// Replaces invalid values by the defaults.
    fn sanitized(&self) -> Self {
        let mut params = self.params();
        params.seeding = parameters::sanitized(&SeedingParts::from(params.seeding)).into();
        if !(self.length_mm.0 <= self.length_mm.1) {
            let default_value = curves::Params::defaults();
            (params.min_length_mm, params.max_length_mm) =
                (default_value.min_length_mm, default_value.max_length_mm);
        }
        Self::from(&parameters::sanitized(&params))
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    pub mouse: Mouse,
    pub convention: Convention,
    pub paths: Paths,
    /// Memory limit of jobs, GB; `None`: the machine's memory.
    pub memory_gb: Option<f64>,
    /// Interface size; `None`: the desktop's. Stored here as well, because egui stores its own value only when a window
    /// is closed.
    pub zoom: Option<f32>,
}

impl Preferences {
    /// Smallest memory limit that can be set, GB.
    pub const MINIMUM_GB: f64 = 1.0;

    /// Replaces invalid numbers: the file may come from another version.
    pub fn sanitized(mut self) -> Self {
        let within = |v: f64, low: f64, high: f64| (low..=high).contains(&v);
        self.paths = self.paths.sanitized();
        self.zoom = self.zoom.filter(|zoom| (0.2..=5.0).contains(zoom));
        self.memory_gb = self
            .memory_gb
            .filter(|gb| within(*gb, Self::MINIMUM_GB, 1e6));
        self
    }

    pub fn track(&self) -> curves::Params {
        self.paths.params()
    }

    /// Steps and lengths are those of streamlines; rays pass low FA and turn without a limit.
    pub fn rays(&self) -> Rays {
        self.with_steps(Rays::defaults())
    }

    /// Steps and lengths of rays along distributions are those of streamlines, too.
    pub fn odf_rays(&self) -> OdfRays {
        let OdfRays { speed, rays } = OdfRays::default();
        let rays = self.with_steps(rays);
        OdfRays { speed, rays }
    }

    fn with_steps(&self, mut rays: Rays) -> Rays {
        let walk = &mut rays.params.curves;
        walk.step_mm = self.paths.step_mm;
        walk.min_length_mm = self.paths.length_mm.0;
        walk.max_length_mm = Some(self.paths.length_mm.1);
        rays
    }

    pub fn memory_bytes(&self) -> Option<u64> {
        self.memory_gb.map(|gb| (gb * 1e9) as u64)
    }
}
