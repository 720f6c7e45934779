//! Inputs of a surface's speed besides its image.

use crate::data::{Grid, Mask, Shape, Volume};
use crate::solvers::level_set::Inputs;
use crate::solvers::region::{Combine, combine};
use std::sync::Arc;

/// Another image, regions. Each change of them during a run is an event of its script.
#[derive(Clone, Debug, Default)]
pub struct SpeedSources {
    /// An image whose values are a speed, and the index of its volume; the first number is returned.
    pub layer: Option<(u64, Volume, usize)>,
    /// Regions to grow into, and regions to avoid.
    pub painted: [Vec<Arc<Shape>>; 2],
}

impl PartialEq for SpeedSources {
    fn eq(&self, other: &Self) -> bool {
        let all = |a: &[Arc<Shape>], b: &[Arc<Shape>]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Shape::same(a, b))
        };
        let painted = self.painted.iter().zip(&other.painted);
        self.same_layer(other) && painted.into_iter().all(|(a, b)| all(a, b))
    }
}

impl SpeedSources {
    /// Whether the regions to grow into (0) or to avoid (1) consist of exactly this shape.
    pub fn paints(&self, which: usize, shape: &Arc<Shape>) -> bool {
        matches!(&*self.painted[which], [own] if Shape::same(own, shape))
    }

    fn same_layer(&self, other: &Self) -> bool {
        let layer = |sources: &Self| sources.layer.as_ref().map(|(_, v, frame)| (v.id(), *frame));
        layer(self) == layer(other)
    }

    /// Adds these to the inputs of an image alone; `before`: other sources, whose inputs are reused for the same layer.
    /// Needs the backend's threads installed.
    pub fn inputs(&self, image: &Inputs, before: Option<(&Self, &Inputs)>) -> Inputs {
        let grid = &image.image.grid;
        let masks = self.painted.each_ref().map(|shapes| union(shapes, grid));
        let [grow, hold] = masks.each_ref().map(Option::as_ref);
        let layered = match (before, &self.layer) {
            (Some((earlier, inputs)), _) if earlier.same_layer(self) => inputs.clone(),
            (_, Some((_, layer, frame))) => image.clone().with_layer(layer, *frame),
            (_, None) => image.clone(),
        };
        layered.with_painted(grow, hold)
    }

    /// The inputs of several sources. Needs the backend's threads installed.
    pub fn all(several: &[Self], image: &Inputs) -> Vec<Inputs> {
        let mut all_inputs: Vec<Inputs> = Vec::with_capacity(several.len());
        for (i, speed_sources) in several.iter().enumerate() {
            let before = i.checked_sub(1).map(|k| (&several[k], &all_inputs[k]));
            all_inputs.push(speed_sources.inputs(image, before));
        }
        all_inputs
    }
}

/// The union of all shapes.
fn union(shapes: &[Arc<Shape>], grid: &Arc<Grid>) -> Option<Mask> {
    let (first, others) = shapes.split_first()?;
    let join =
        |all: Mask, shape: &Arc<Shape>| combine(Combine::Union, &Shape::Mask(all), shape, grid);
    Some(others.iter().fold(first.mask_on(grid), join))
}
