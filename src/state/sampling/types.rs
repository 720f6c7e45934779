//! Values of an image sampled with the pointer while P is held.

use crate::data::Volume;
use crate::solvers::level_set::Probe;
use crate::state::core::layer::LayerId;
use crate::state::core::text::{significant, with_unit};
use glam::DVec3;
use std::collections::BTreeSet;

/// Steps of sampling.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SampleAction {
    /// A sample that begins at a point, world mm; `adds`: to the voxels of the sample before, where Segment has one.
    Begin { at: DVec3, adds: bool },
    /// Samples between two points, world mm.
    Over(DVec3, DVec3),
    /// Applies the sample.
    End,
}

/// Source of the values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SampleSource {
    Layer(LayerId),
    /// Excess cost of pathways.
    Excess,
}

/// Sampled voxels, each once.
#[derive(Clone, Debug)]
pub struct Sample {
    pub source: SampleSource,
    /// Name of the image.
    pub name: String,
    /// Factor for displayed values.
    scale: f64,
    unit: &'static str,
    image: Volume,
    frame: usize,
    /// Values from here on are missing.
    below: f64,
    voxels: BTreeSet<usize>,
    values: Vec<f64>,
    /// Target and tolerance derived from them, with the measures of their surroundings.
    probe: Option<Probe>,
}

impl Sample {
    pub fn new(source: SampleSource, name: String, (image, frame): (&Volume, usize)) -> Self {
        let last = image.frames.saturating_sub(1);
        Self {
            source,
            name,
            scale: 1.0,
            unit: "",
            image: image.clone(),
            frame: frame.min(last),
            below: f64::INFINITY,
            voxels: BTreeSet::new(),
            values: Vec::new(),
            probe: None,
        }
    }

    /// The sample with the target and the tolerance derived from it.
    pub fn with_probe(self, probe: Probe) -> Self {
        Self {
            probe: Some(probe),
            ..self
        }
    }

    /// Target and tolerance derived from the voxels; `None` if a worker still examines them.
    pub fn probe(&self) -> Option<&Probe> {
        self.probe.as_ref()
    }

    /// Its values times `scale`, with this unit.
    pub fn shown_as(self, scale: f64, unit: &'static str) -> Self {
        Self {
            scale,
            unit,
            ..self
        }
    }

    /// The sample without values from `below` on, which count as missing.
    pub fn only_below(self, below: f64) -> Self {
        Self { below, ..self }
    }

    /// Samples a straight segment in world mm.
    pub fn pass(&mut self, from: DVec3, to: DVec3) {
        let grid = self.image.grid.clone();
        let steps = (2.0 * from.distance(to) / grid.spacing().min_element()).ceil();
        let steps = if steps.is_finite() {
            steps.max(1.0)
        } else {
            1.0
        } as usize;
        for i in 0..=steps {
            let at = from.lerp(to, i as f64 / steps as f64);
            let Some(voxel) = grid.nearest(at).map(|v| grid.index(v)) else {
                continue;
            };
            let value = f64::from(self.image.frame(self.frame)[voxel]);
            if value.is_finite() && value < self.below && self.voxels.insert(voxel) {
                self.values.push(value);
            }
        }
    }

    pub fn count(&self) -> usize {
        self.values.len()
    }

    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len().max(1) as f64
    }

    /// Standard deviation, with n − 1; 0 for fewer than two values.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.values.iter().map(|v| (v - mean).powi(2)).sum();
        (squares / (self.values.len().max(2) - 1) as f64).sqrt()
    }

    /// Mean and standard deviation, as displayed.
    pub fn text(&self) -> String {
        let [mean, deviation] =
            [self.mean(), self.deviation()].map(|v| significant(v * self.scale));
        with_unit(&format!("{mean} ± {deviation}"), self.unit)
    }

    /// The image, the index of its volume, and the indices of the voxels.
    pub fn voxels(&self) -> (&Volume, usize, Vec<usize>) {
        (
            &self.image,
            self.frame,
            self.voxels.iter().copied().collect(),
        )
    }

    /// Centres of the voxels, world mm.
    pub fn centres(&self) -> impl Iterator<Item = DVec3> {
        let grid = &self.image.grid;
        let voxel = |i: &usize| DVec3::from_array(grid.voxel(*i).map(|v| v as f64));
        self.voxels.iter().map(move |i| grid.world(voxel(i)))
    }

    /// Half of a voxel's longest edge, mm.
    pub fn reach_mm(&self) -> f64 {
        0.5 * self.image.grid.spacing().max_element()
    }
}
