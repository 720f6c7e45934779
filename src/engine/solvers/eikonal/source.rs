//! The voxels where a cost field is 0, and the ball around them that is filled from the local metric.

use super::error::InputError;
use super::{BALL_VOXELS, Metric};
use crate::data::{Region, Shape};
use crate::solvers::Error;
use crate::solvers::metric::Places;
use glam::DVec3;
use rayon::prelude::*;
use std::collections::HashMap;

/// A voxel whose value is known from the start; it may still decrease.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Seed {
    /// Place of the voxel in the metric.
    pub place: u32,
    /// Initial cost: 0 in the region, the cost of a straight path around it.
    pub value: f32,
    /// The voxel of the region at which the straight path to this one starts.
    pub start_voxel: u32,
}

/// The voxels of a region inside a metric's mask, and a ball around them.
#[derive(Clone, Debug)]
pub struct CostSource {
    /// Name of the region, for messages.
    pub name: String,
    /// Places with value 0, ascending.
    pub zero: Vec<u32>,
    /// These places and the ball, by place.
    pub seeds: Vec<Seed>,
}

impl CostSource {
    /// The places of a region, and the seeds in the ball around them.
    pub fn region(metric: &Metric, region: &Region) -> Result<Self, Error> {
        Ok(Self::places(
            metric,
            &region.name,
            region_places(metric, region)?,
        ))
    }

    /// A source of voxels by place; at least one.
    pub fn places(metric: &Metric, name: &str, mut zero: Vec<u32>) -> Self {
        zero.sort_unstable();
        zero.dedup();
        let inside = |p: usize| zero.binary_search(&(p as u32)).is_ok();
        let rim: Vec<u32> = zero
            .iter()
            .copied()
            .filter(|&p| metric.face_neighbours(p as usize).any(|n| !inside(n)))
            .collect();
        let ball = offsets();
        let around: Vec<Vec<Seed>> = rim
            .par_iter()
            .map(|&start_voxel| {
                let voxel = metric.voxel(start_voxel as usize);
                let reached = ball.iter().filter_map(|&offset| {
                    let to = [0, 1, 2].map(|a| voxel[a] + offset[a]);
                    let place = metric.place_of(to)?;
                    if inside(place) || !metric.line_is_inside(voxel, offset) {
                        return None;
                    }
                    let value = straight(metric, start_voxel as usize, place, offset) as f32;
                    let place = place as u32;
                    Some(Seed {
                        place,
                        value,
                        start_voxel,
                    })
                });
                reached.collect()
            })
            .collect();
        let mut best: HashMap<u32, Seed> = HashMap::new();
        for seed in around.into_iter().flatten() {
            let known = best.entry(seed.place).or_insert(seed);
            if (seed.value, seed.start_voxel) < (known.value, known.start_voxel) {
                *known = seed;
            }
        }
        let mut seeds: Vec<Seed> = best.into_values().collect();
        seeds.extend(zero.iter().map(|&place| Seed {
            place,
            value: 0.0,
            start_voxel: place,
        }));
        seeds.sort_unstable_by_key(|s| s.place);
        Self {
            name: name.to_owned(),
            zero,
            seeds,
        }
    }

    /// The initial value of a place.
    pub fn seed(&self, place: usize) -> Option<&Seed> {
        let position = self
            .seeds
            .binary_search_by_key(&(place as u32), |s| s.place);
        position.ok().map(|i| &self.seeds[i])
    }
}

/// The voxels of the mask whose centres lie in a region. If a small region contains none, the voxel that contains its
/// middle; for a mask on a finer grid, the voxels that contain the centres of the voxels of the mask.
pub fn region_places(places: &Places, region: &Region) -> Result<Vec<u32>, Error> {
    let grid = &places.grid;
    let mask = match &*region.shape {
        Shape::Mask(mask) if !mask.grid.matches(grid) => None,
        shape => Some(shape.mask_on(grid)),
    };
    let mut zero: Vec<u32> = match mask {
        Some(mask) => {
            let inside = mask.voxels_inside().map(|v| v.map(|i| i as i64));
            inside
                .filter_map(|v| places.place_of(v))
                .map(|p| p as u32)
                .collect()
        }
        None => (0..places.len() as u32)
            .into_par_iter()
            .filter(|&p| {
                let voxel = places.voxel(p as usize).map(|v| v as f64);
                region.shape.contains(grid.world(DVec3::from_array(voxel)))
            })
            .collect(),
    };
    if zero.is_empty() {
        let holds = |world: DVec3| places.place_of(grid.nearest(world)?.map(|i| i as i64));
        let place = |world: DVec3| holds(world).map(|p| p as u32);
        match &*region.shape {
            // Thinner than the voxels of this grid.
            Shape::Mask(mask) => zero
                .extend(mask.voxels_inside().filter_map(|v| {
                    place(mask.grid.world(DVec3::from_array(v.map(|c| c as f64))))
                })),
            shape => zero.extend(place(shape.centre())),
        }
    }
    if zero.is_empty() {
        return Err(InputError::OutsideMask(region.name.clone()).into());
    }
    zero.sort_unstable();
    Ok(zero)
}

/// √(dᵀ ½(G(a) + G(b)) d).
fn straight(metric: &Metric, a: usize, b: usize, offset: [i64; 3]) -> f64 {
    let d = DVec3::from_array(offset.map(|o| o as f64));
    let (a, b) = (metric.step_cost(a, d), metric.step_cost(b, d));
    (0.5 * (a * a + b * b)).sqrt()
}

/// Offsets within the ball, without its centre.
fn offsets() -> Vec<[i64; 3]> {
    let reach = BALL_VOXELS as i64;
    let mut all = Vec::new();
    for z in -reach..=reach {
        for y in -reach..=reach {
            for x in -reach..=reach {
                let square = x * x + y * y + z * z;
                if square > 0 && square as f64 <= BALL_VOXELS * BALL_VOXELS {
                    all.push([x, y, z]);
                }
            }
        }
    }
    all
}
