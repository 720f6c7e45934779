//! What was painted, without the places where nothing was: a hand paints little of an image, and each
//! stroke of a run is kept for the way back.

use super::start::Sphere;
use crate::data::Grid;
use rayon::prelude::*;
use std::sync::Arc;

/// Voxels, one after the other in file order, that have a place together.
const RUN: usize = 256;

/// +1 to grow, −1 not to, mostly 0.
#[derive(Clone, Debug)]
pub struct Painted(Arc<Runs>);

#[derive(Debug)]
struct Runs {
    /// By run: which of the values; the first are 0.
    place: Vec<u32>,
    values: Vec<[i8; RUN]>,
}

impl Painted {
    /// Needs the backend's threads installed.
    pub fn new(voxels: usize, at: impl Fn(usize) -> i8 + Sync) -> Self {
        let run = |run: usize| {
            let mut values = [0; RUN];
            let own = values.iter_mut().zip(run * RUN..voxels);
            own.for_each(|(value, i)| *value = at(i));
            (values != [0; RUN]).then(|| Box::new(values))
        };
        let runs: Vec<_> = (0..voxels.div_ceil(RUN)).into_par_iter().map(run).collect();
        let mut values = vec![[0; RUN]];
        let mut place = Vec::with_capacity(runs.len());
        for run in runs {
            let Some(run) = run else {
                place.push(0);
                continue;
            };
            place.push(values.len() as u32);
            values.push(*run);
        }
        Self(Arc::new(Runs { place, values }))
    }

    /// −1 in the voxels that spheres cut away, up to where a later one adds them again; `None`: none cuts.
    pub fn cut_by(spheres: &[Sphere], grid: &Grid, h_mm: f64) -> Option<Self> {
        let first = spheres.iter().position(|sphere| !sphere.add)?;
        let mut place = vec![0; grid.voxel_count().div_ceil(RUN)];
        let mut values = vec![[0; RUN]];
        for sphere in &spheres[first..] {
            for voxel in sphere.block(grid) {
                if !sphere.holds(grid, h_mm, voxel) {
                    continue;
                }
                let i = grid.index(voxel);
                let run: &mut u32 = &mut place[i / RUN];
                if *run == 0 && sphere.add {
                    continue;
                }
                if *run == 0 {
                    *run = values.len() as u32;
                    values.push([0; RUN]);
                }
                values[*run as usize][i % RUN] = -i8::from(!sphere.add);
            }
        }
        Some(Self(Arc::new(Runs { place, values })))
    }

    #[inline]
    pub fn at(&self, i: usize) -> i8 {
        self.0.values[self.0.place[i / RUN] as usize][i % RUN]
    }

    /// Whether it is one and the same.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
