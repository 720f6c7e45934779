//! Voxel positions of world points, and the eight voxels around them.

use crate::data::Grid;
use crate::solvers::curves::cells::rows;

#[derive(Clone)]
pub struct Lattice {
    pub shape: [usize; 3],
    /// Rows of the affine from world to voxel.
    pub voxel_from_world: [[f32; 4]; 3],
}

impl Lattice {
    pub fn new(grid: &Grid) -> Self {
        Self {
            shape: grid.shape,
            voxel_from_world: rows(&grid.voxel_from_world),
        }
    }

    /// Voxel coordinates of a world point.
    #[inline(always)]
    pub fn voxel(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        self.voxel_from_world
            .map(|[a, b, c, d]| a * x + (b * y + (c * z + d)))
    }

    /// A world vector in voxels.
    #[inline(always)]
    pub fn turned(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        self.voxel_from_world
            .map(|[a, b, c, _]| a * x + (b * y + c * z))
    }

    /// Whether a point lies in the box of a voxel.
    #[inline(always)]
    pub fn contains(&self, voxel: [f32; 3]) -> bool {
        (0..3).all(|a| voxel[a] >= -0.5 && voxel[a] <= self.shape[a] as f32 - 0.5)
    }

    /// The nearest voxel's index; `None` outside the volume.
    pub fn nearest(&self, world: [f32; 3]) -> Option<usize> {
        let voxel = self.voxel(world);
        let [nx, ny, _] = self.shape;
        self.contains(voxel).then(|| {
            let at = |a: usize| (voxel[a] + 0.5).max(0.0) as usize;
            let [x, y, z] = [0, 1, 2].map(|a| at(a).min(self.shape[a] - 1));
            x + nx * (y + ny * z)
        })
    }

    /// The eight voxels around a world point with their shares; between the outer centres and the faces, the nearest
    /// values continue. `None` outside the volume.
    #[inline(always)]
    pub fn corners(&self, world: [f32; 3]) -> Option<[(usize, f32); 8]> {
        let voxel = self.voxel(world);
        if !self.contains(voxel) {
            return None;
        }
        let axis = |a: usize| {
            let last = self.shape[a] - 1;
            let v = voxel[a].clamp(0.0, last as f32);
            let low = (v as usize).min(last.saturating_sub(1));
            ([low, (low + 1).min(last)], v - low as f32)
        };
        let ([x, y, z], [nx, ny, _]) = ([axis(0), axis(1), axis(2)], self.shape);
        Some(std::array::from_fn(|k| {
            let share = |(_, t): &([usize; 2], f32), high: usize| match high {
                0 => 1.0 - t,
                _ => *t,
            };
            let [i, j, l] = [k & 1, k >> 1 & 1, k >> 2];
            let index = x.0[i] + nx * (y.0[j] + ny * z.0[l]);
            (index, share(&x, i) * share(&y, j) * share(&z, l))
        }))
    }
}
