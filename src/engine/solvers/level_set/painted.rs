//! Painted voxels, stored sparsely: users paint a small part of an image, and each stroke of a run is stored for
//! rewinding.

use super::start::Sphere;
use crate::data::Grid;
use rayon::prelude::*;
use std::sync::Arc;

/// Consecutive voxels in file order that share an index.
const RUN: usize = 256;

/// +1: grow; −1: do not grow; mostly 0.
#[derive(Clone, Debug)]
pub struct Painted(Arc<Runs>);

#[derive(Debug)]
struct Runs {
    /// By run: the index of its values; the first values are 0.
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

    /// −1 in voxels that spheres cut away, unless a later sphere adds them again; `None`: no sphere cuts.
    pub fn cut_by(spheres: &[Sphere], grid: &Grid, h_mm: f64) -> Option<Self> {
        let first = spheres.iter().position(|sphere| !sphere.add)?;
        let mut place = vec![0; grid.voxel_count().div_ceil(RUN)];
        let mut values = vec![[0; RUN]];
        for sphere in &spheres[first..] {
            for voxel in sphere.voxels_in_block(grid) {
                if !sphere.contains_voxel(grid, h_mm, voxel) {
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

    /// Whether both share the same memory.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
