//! Seeds at the interface of grey and white matter.

use super::error::InputError;
use super::tissue_rules::TissueRules;
use crate::data::random::Random;
use crate::data::tissue_map::Fractions;
use crate::data::{Grid, Region, Role, TissueMap, TissueType};
use crate::solvers::Error;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::sync::Arc;

/// Draws of a seed until one is at the interface: most succeed at the first.
const MAX_TRIES: u64 = 100;
/// Newton steps onto the interface.
const MAX_STEPS: usize = 10;
/// Grey minus white matter at a seed: a little on the side of grey matter, where a streamline ends.
const TARGET: f32 = 0.02;
const TOLERANCE: f32 = 0.01;
/// Least fraction of grey and white matter together: no surface of CSF.
const MIN_SUM: f32 = 0.5;

/// Grey minus white matter.
fn difference(f: &Fractions) -> f32 {
    f[TissueType::CorticalGrey as usize] - f[TissueType::White as usize]
}

pub struct InterfaceSeeds<'a> {
    rules: &'a TissueRules,
    grid: Arc<Grid>,
    /// Voxels whose cells hold both tissues.
    voxels: Vec<u32>,
    random: Random,
    regions: Vec<&'a Region>,
}

/// A seed and the direction into white matter.
pub struct InterfaceSeed {
    pub at: [f32; 3],
    pub inwards: [f32; 3],
}

impl<'a> InterfaceSeeds<'a> {
    /// In the regions with role seed, if there are any. Needs the backend's threads installed.
    pub fn new(
        map: &TissueMap,
        rules: &'a TissueRules,
        regions: &'a [Region],
        random_seed: u64,
    ) -> Result<Self, Error> {
        let grid = map.grid.clone();
        let [nx, ny, nz] = grid.shape;
        let regions: Vec<&Region> = regions.iter().filter(|r| r.role == Role::Seed).collect();
        let is_interface = |voxel: usize| {
            let own = &map.fractions[voxel];
            if own[TissueType::CorticalGrey as usize] + own[TissueType::White as usize] == 0.0 {
                return false;
            }
            let [x, y, z] = grid.voxel(voxel);
            let (mut grey, mut white) = (0f32, 0f32);
            for (i, j, k) in (0..27).map(|n| (n % 3, n / 3 % 3, n / 9)) {
                let (x, y, z) = (x + i, y + j, z + k);
                if x < 1 || y < 1 || z < 1 || x > nx || y > ny || z > nz {
                    continue;
                }
                let f = &map.fractions[grid.index([x - 1, y - 1, z - 1])];
                grey = grey.max(f[TissueType::CorticalGrey as usize]);
                white = white.max(f[TissueType::White as usize]);
            }
            grey >= 0.5 && white >= 0.5
        };
        let all: Vec<u32> = (0..grid.voxel_count())
            .into_par_iter()
            .filter(|v| is_interface(*v))
            .map(|v| v as u32)
            .collect();
        if all.is_empty() {
            return Err(InputError::NoInterface.into());
        }
        let reach = 0.5 * grid.spacing().length();
        let near = |voxel: &u32| {
            let centre = grid.voxel(*voxel as usize).map(|v| v as f64);
            let centre = grid.world(DVec3::from_array(centre));
            let close = |r: &&Region| {
                let (low, high) = r.shape.bounds();
                (centre + reach).cmpge(low).all() && (centre - reach).cmple(high).all()
            };
            regions.is_empty() || regions.iter().any(close)
        };
        let voxels: Vec<u32> = all.into_iter().filter(near).collect();
        if voxels.is_empty() {
            return Err(InputError::NoInterfaceInSeeds.into());
        }
        Ok(Self {
            rules,
            grid,
            voxels,
            random: Random::new(random_seed).stream(0x5EED),
            regions,
        })
    }

    /// The seed of a streamline; `None` if none was found at the interface.
    pub fn seed(&self, id: u64) -> Option<InterfaceSeed> {
        let numbers = self.random.stream(id);
        (0..MAX_TRIES).find_map(|attempt| {
            let uniform = |i: u64| numbers.uniform(4 * attempt + i);
            let chosen = (uniform(0) * self.voxels.len() as f64) as usize;
            let voxel = self.voxels[chosen.min(self.voxels.len() - 1)];
            let centre = self.grid.voxel(voxel as usize).map(|v| v as f64);
            let shift = DVec3::new(uniform(1), uniform(2), uniform(3)) - 0.5;
            let at = self.grid.world(DVec3::from_array(centre) + shift);
            self.onto_interface(at.as_vec3())
        })
    }

    /// Newton's method along the gradient of grey minus white matter.
    fn onto_interface(&self, from: Vec3) -> Option<InterfaceSeed> {
        let difference_at = |p: Vec3| Some(difference(&self.rules.fractions(p.to_array())?));
        let interval = 0.25 * self.grid.spacing().min_element() as f32;
        let mut at = from;
        for _ in 0..MAX_STEPS {
            let rest = TARGET - difference_at(at)?;
            let mut gradient = Vec3::ZERO;
            for axis in 0..3 {
                let mut shift = Vec3::ZERO;
                shift[axis] = interval;
                let rise = difference_at(at + shift)? - difference_at(at - shift)?;
                gradient[axis] = rise / (2.0 * interval);
            }
            let square = gradient.length_squared();
            if !(square > 1e-8) {
                return None;
            }
            if rest.abs() <= TOLERANCE {
                return self.checked(at, -gradient / square.sqrt());
            }
            at += gradient * (rest / square);
            if at.distance(from) > 2.0 * self.grid.spacing().max_element() as f32 {
                return None;
            }
        }
        None
    }

    fn checked(&self, at: Vec3, inwards: Vec3) -> Option<InterfaceSeed> {
        let f = self.rules.fractions(at.to_array())?;
        let (grey, white) = (
            f[TissueType::CorticalGrey as usize],
            f[TissueType::White as usize],
        );
        let others = f[TissueType::DeepGrey as usize]
            .max(f[TissueType::Csf as usize])
            .max(f[TissueType::Other as usize]);
        let world = at.as_dvec3();
        let in_region =
            self.regions.is_empty() || self.regions.iter().any(|r| r.shape.contains(world));
        let valid = grey + white >= MIN_SUM && grey > others && in_region;
        valid.then(|| InterfaceSeed {
            at: at.to_array(),
            inwards: inwards.to_array(),
        })
    }
}
