//! The voxels of a mask, numbered in the order of the grid, for fields that have values only there.

use crate::data::{Grid, Mask, Volume};
use std::sync::Arc;

/// Value of [`Places::place`] outside the mask.
pub const OUTSIDE: u32 = u32::MAX;

/// The voxels of a mask; cheap to clone.
#[derive(Clone, Debug)]
pub struct Places {
    /// Grid of the mask.
    pub grid: Arc<Grid>,
    /// On the same grid.
    pub mask: Mask,
    /// Grid index of each voxel of the mask, ascending.
    pub voxels: Arc<[u32]>,
    /// Index in `voxels` of each voxel of the grid, or [`OUTSIDE`].
    pub place: Arc<[u32]>,
}

impl Places {
    /// From the grid indices of the voxels, ascending.
    pub fn new(grid: &Arc<Grid>, voxels: Vec<u32>) -> Self {
        let mut place = vec![OUTSIDE; grid.voxel_count()];
        let mut inside = vec![0u8; grid.voxel_count()];
        for (i, &v) in voxels.iter().enumerate() {
            place[v as usize] = i as u32;
            inside[v as usize] = 1;
        }
        Self {
            grid: grid.clone(),
            mask: Mask::new(grid.clone(), inside),
            voxels: voxels.into(),
            place: place.into(),
        }
    }

    /// Values by place as an image, with another value outside the mask.
    pub fn volume(&self, values: &[f32], outside: f32) -> Volume {
        let mut out = vec![outside; self.grid.voxel_count()];
        for (&voxel, &value) in self.voxels.iter().zip(values) {
            out[voxel as usize] = value;
        }
        Volume::scalar(self.grid.clone(), out)
    }

    /// Some of the places as a mask.
    pub fn mask_of(&self, places: impl IntoIterator<Item = usize>) -> Mask {
        let mut inside = vec![0u8; self.grid.voxel_count()];
        for place in places {
            inside[self.voxels[place] as usize] = 1;
        }
        Mask::new(self.grid.clone(), inside)
    }

    /// Values by place as an image: NaN elsewhere and where they are not finite.
    pub fn image(&self, values: &[f32]) -> Volume {
        let finite = |value: &f32| if value.is_finite() { *value } else { f32::NAN };
        let values: Vec<f32> = values.iter().map(finite).collect();
        self.volume(&values, f32::NAN)
    }

    /// Voxels of the mask.
    pub fn len(&self) -> usize {
        self.voxels.len()
    }

    /// Whether there is no voxel.
    pub fn is_empty(&self) -> bool {
        self.voxels.is_empty()
    }

    /// The place of a voxel; `None` outside the grid or the mask.
    pub fn place_of(&self, voxel: [i64; 3]) -> Option<usize> {
        let shape = self.grid.shape;
        let within = (0..3).all(|a| (0..shape[a] as i64).contains(&voxel[a]));
        let place = within.then(|| self.place[self.grid.index(voxel.map(|v| v as usize))])?;
        (place != OUTSIDE).then_some(place as usize)
    }

    /// Voxel coordinates of a place.
    pub fn voxel(&self, place: usize) -> [i64; 3] {
        let voxel = self.grid.voxel(self.voxels[place] as usize);
        voxel.map(|v| v as i64)
    }

    /// Places of the voxels that share a face with one.
    pub fn face_neighbours(&self, place: usize) -> impl Iterator<Item = usize> {
        let voxel = self.voxel(place);
        (0..6).filter_map(move |k| {
            let mut next = voxel;
            next[k / 2] += if k % 2 == 0 { -1 } else { 1 };
            self.place_of(next)
        })
    }

    /// Whether a step may be taken in the mask: only if it passes through voxels that share faces, so that no path
    /// slips between voxels that share only an edge or a corner.
    pub fn is_step_open(&self, from: [i64; 3], step: [i64; 3]) -> bool {
        let axes = (0..3).filter(|&a| step[a] != 0);
        self.step_is_inside(from, step, axes.fold(0, |all, a| all | 1 << a))
    }

    /// Whether the part of a step along these axes (one bit each) stays in the mask.
    fn step_is_inside(&self, from: [i64; 3], step: [i64; 3], axes: u8) -> bool {
        let along = |a: usize| i64::from(axes >> a & 1) * step[a];
        let to = [0, 1, 2].map(|a| from[a] + along(a));
        let mut one_less = (0..3)
            .map(|a| axes & !(1 << a))
            .filter(|less| *less != axes);
        self.place_of(to).is_some()
            && (axes.count_ones() < 2 || one_less.any(|less| self.step_is_inside(from, step, less)))
    }

    /// Whether all voxels on the straight line belong to the mask and share faces.
    pub fn line_is_inside(&self, from: [i64; 3], offset: [i64; 3]) -> bool {
        let steps = offset.iter().map(|o| o.abs()).max().unwrap_or(0);
        let point = |i: i64| {
            [0, 1, 2].map(|a| {
                let exact = offset[a] as f64 * i as f64 / steps as f64;
                from[a] + exact.round() as i64
            })
        };
        let mut here = from;
        (1..=steps).all(|i| {
            let next = point(i);
            let open = self.is_step_open(here, [0, 1, 2].map(|a| next[a] - here[a]));
            here = next;
            open
        })
    }
}
