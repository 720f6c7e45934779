//! What a user sets once for all documents; it outlives the window.

use super::defaults;
use super::document::Rays;
use super::view::Convention;
use crate::solvers::curves::{self, Seeding};
use serde::{Deserialize, Serialize};

/// What the mouse does on slices, as in the program a user comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Mouse {
    /// Left the crosshair, right window and level; as in mrview.
    #[default]
    Arcuate,
    /// Left the crosshair, right zooms; with Ctrl window and level.
    ItkSnap,
    /// Left window and level, a click the crosshair; right zooms.
    Slicer,
}

/// What a drag on a slice does.
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

    /// Of the left button, where nothing is under it.
    pub fn left(self) -> Gesture {
        match self {
            Self::Arcuate | Self::ItkSnap => Gesture::Crosshair,
            Self::Slicer => Gesture::Window,
        }
    }

    /// Of the right button; `command` with Ctrl.
    pub fn right(self, command: bool) -> Gesture {
        match self {
            Self::Arcuate => Gesture::Window,
            Self::ItkSnap | Self::Slicer if command => Gesture::Window,
            Self::ItkSnap | Self::Slicer => Gesture::Zoom,
        }
    }
}

/// What streamlines and rays of a new document start with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Paths {
    pub streamlines: usize,
    pub step_mm: f64,
    /// `None`: any turn is allowed. Of streamlines.
    pub max_angle_rad: Option<f64>,
    /// `None`: low FA does not stop them. Of streamlines.
    pub min_fa: Option<f64>,
    pub length_mm: (f64, f64),
}

impl Default for Paths {
    fn default() -> Self {
        let track = curves::Params::defaults();
        Self {
            streamlines: match track.seeding {
                Seeding::Random { count } => count,
                Seeding::Grid { .. } | Seeding::PerVoxel { .. } => 2_000,
            },
            step_mm: track.step_mm,
            max_angle_rad: track.max_angle_rad,
            min_fa: track.min_fa,
            length_mm: (track.min_length_mm, track.max_length_mm.unwrap_or(300.0)),
        }
    }
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub mouse: Mouse,
    pub convention: Convention,
    pub paths: Paths,
    /// Jobs refuse to take more; `None`: what the machine has.
    pub memory_gb: Option<f64>,
    /// Size of everything; `None`: as the desktop says. Here too, since egui writes its own down only when a
    /// window is closed.
    pub zoom: Option<f32>,
}

impl Settings {
    /// Least memory that can be set, GB.
    pub const LEAST_GB: f64 = 1.0;

    /// Without numbers that nothing can start with: the file may be another version's.
    pub fn sound(mut self) -> Self {
        let usual = Paths::default();
        let paths = &mut self.paths;
        let within = |v: f64, low: f64, high: f64| (low..=high).contains(&v);
        if !(1..=16_777_216).contains(&paths.streamlines) {
            paths.streamlines = usual.streamlines;
        }
        if !within(paths.step_mm, 0.01, 20.0) {
            paths.step_mm = usual.step_mm;
        }
        if !paths
            .max_angle_rad
            .is_none_or(|a| within(a, 0.01, std::f64::consts::PI))
        {
            paths.max_angle_rad = usual.max_angle_rad;
        }
        if !paths.min_fa.is_none_or(|fa| within(fa, 0.0, 1.0)) {
            paths.min_fa = usual.min_fa;
        }
        let (low, high) = paths.length_mm;
        if !(within(low, 0.0, 10_000.0) && within(high, 0.0, 10_000.0) && low <= high) {
            paths.length_mm = usual.length_mm;
        }
        self.zoom = self.zoom.filter(|zoom| (0.2..=5.0).contains(zoom));
        self.memory_gb = self.memory_gb.filter(|gb| within(*gb, Self::LEAST_GB, 1e6));
        self
    }

    pub fn track(&self) -> curves::Params {
        let paths = &self.paths;
        curves::Params {
            seeding: Seeding::Random {
                count: paths.streamlines,
            },
            step_mm: paths.step_mm,
            max_angle_rad: paths.max_angle_rad,
            min_fa: paths.min_fa,
            min_length_mm: paths.length_mm.0,
            max_length_mm: Some(paths.length_mm.1),
            ..curves::Params::defaults()
        }
    }

    /// Steps and lengths are those of streamlines; rays cross low FA and turn as they must.
    pub fn rays(&self) -> Rays {
        let mut rays = defaults::rays();
        let walk = &mut rays.params.walk;
        walk.step_mm = self.paths.step_mm;
        walk.min_length_mm = self.paths.length_mm.0;
        walk.max_length_mm = Some(self.paths.length_mm.1);
        rays
    }

    pub fn memory_bytes(&self) -> Option<u64> {
        self.memory_gb.map(|gb| (gb * 1e9) as u64)
    }
}
