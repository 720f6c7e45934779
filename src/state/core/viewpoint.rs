//! Where the views look, apart from what they show: its history, and viewpoints with names.

use super::camera::Camera;
use super::slice_turn::SliceTurn;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Zoom and pan of one slice view.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SliceCamera {
    /// 1 fits the data into the pane.
    pub zoom: f64,
    /// From the document's centre to the pane's centre, mm along the axes of the slices (the component along the
    /// normal is ignored).
    pub pan_mm: DVec3,
}

impl Default for SliceCamera {
    fn default() -> Self {
        Self {
            zoom: 1.0,
            pan_mm: DVec3::ZERO,
        }
    }
}

impl SliceCamera {
    /// This camera with a permitted zoom; the default if its numbers have no meaning.
    pub fn valid(self) -> Self {
        let has_meaning = self.zoom.is_finite() && self.pan_mm.is_finite();
        let camera = if has_meaning { self } else { Self::default() };
        Self {
            zoom: camera.zoom.clamp(0.2, 40.0),
            ..camera
        }
    }
}

/// Crosshair, slices and camera of the 3-D view.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Viewpoint {
    /// World mm.
    pub crosshair: DVec3,
    pub slices: [SliceCamera; 3],
    #[serde(default, skip_serializing_if = "SliceTurn::is_straight")]
    pub turn: SliceTurn,
    pub camera: Camera,
}

impl Viewpoint {
    /// The viewpoint as far as it can be shown, since a file may contain any numbers. `None` without a crosshair or a
    /// camera.
    pub fn valid(self) -> Option<Self> {
        let has_meaning = self.crosshair.is_finite() && self.camera.is_valid();
        has_meaning.then(|| Self {
            slices: self.slices.map(SliceCamera::valid),
            turn: self.turn.valid(),
            camera: self.camera.zoomed(1.0),
            ..self
        })
    }
}

/// A viewpoint that a session keeps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NamedViewpoint {
    pub name: String,
    pub viewpoint: Viewpoint,
}

/// Largest number of viewpoints to which one can go back.
const DEPTH: usize = 100;

/// The viewpoints at which the views rested, independent of undo.
#[derive(Clone, Debug, Default)]
pub struct ViewpointHistory {
    steps: Vec<Viewpoint>,
    /// Index of the present one, or of the one before it moved.
    at: usize,
}

impl ViewpointHistory {
    /// The one at which the views rested last.
    pub fn last(&self) -> Option<&Viewpoint> {
        self.steps.get(self.at)
    }

    /// The views rest: what lay ahead is dropped unless they have not moved.
    pub fn remember(&mut self, now: Viewpoint) {
        if self.last() == Some(&now) {
            return;
        }
        self.steps.truncate(self.at + 1);
        self.steps.push(now);
        if self.steps.len() > DEPTH {
            self.steps.remove(0);
        }
        self.at = self.steps.len() - 1;
    }

    /// The viewpoint before the present one.
    pub fn back(&mut self, now: Viewpoint) -> Option<Viewpoint> {
        self.remember(now);
        self.at = self.at.checked_sub(1)?;
        self.last().copied()
    }

    /// The viewpoint from which one has gone back.
    pub fn forward(&mut self, now: Viewpoint) -> Option<Viewpoint> {
        self.remember(now);
        let next = self.steps.get(self.at + 1).copied()?;
        self.at += 1;
        Some(next)
    }
}
