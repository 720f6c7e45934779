//! Regions placed by the user: where streamlines start, pass, must not pass, and end.
//!
//! # Example
//!
//! The voxels of a sphere:
//!
//! ```
//! use arcuate_engine::data::{Grid, Shape};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let grid = Grid::axis_aligned([21, 21, 21], DVec3::ONE, DVec3::splat(-10.0)).ok_or("a grid")?;
//! let sphere = Shape::Sphere {
//!     centre: DVec3::ZERO,
//!     radius_mm: 5.0,
//! };
//! assert!(sphere.contains(DVec3::new(3.0, 3.0, 0.0)));
//! let mask = sphere.mask_on(&Arc::new(grid));
//! assert!((mask.volume_ml() - 1e-3 * sphere.volume_mm3()).abs() < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::{Grid, Mask, keyed};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The effect of a region on streamlines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// Streamlines start here.
    Seed,
    /// Streamlines are kept if they reach any target, and are cut at its surface.
    Target,
    /// Streamlines are kept only if they pass through every include region.
    Include,
    /// Streamlines that touch it are dropped.
    Exclude,
    /// Streamlines end where they enter it.
    Terminate,
    /// Streamlines must stay inside.
    Mask,
    /// Paths cost a multiple inside; streamlines and rays ignore it.
    Costly,
    /// No effect: it is displayed, measured and exported, as hundreds of regions from a label map may be.
    Region,
}

impl Role {
    /// All roles in the order of their declaration.
    pub const ALL: [Self; 8] = [
        Self::Seed,
        Self::Target,
        Self::Include,
        Self::Exclude,
        Self::Terminate,
        Self::Mask,
        Self::Costly,
        Self::Region,
    ];

    /// Whether it affects streamlines and rays.
    pub const fn affects_curves(self) -> bool {
        !matches!(self, Self::Costly | Self::Region)
    }

    /// The label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seed => "Seed",
            Self::Target => "Target",
            Self::Include => "Include",
            Self::Exclude => "Exclude",
            Self::Terminate => "Terminate",
            Self::Mask => "Mask",
            Self::Costly => "Costly",
            Self::Region => "Region",
        }
    }
}

keyed!(Role, serde {
    Seed = "seed",
    Target = "target",
    Include = "include",
    Exclude = "exclude",
    Terminate = "terminate",
    Mask = "mask",
    Costly = "costly",
    Region = "region",
});
// Reports and `arcuate demo` write capitals.
keyed!(Role, json_key, from_json_key {
    Seed = "Seed",
    Target = "Target",
    Include = "Include",
    Exclude = "Exclude",
    Terminate = "Terminate",
    Mask = "Mask",
    Costly = "Costly",
    Region = "Region",
});

/// Shape of a region in world space.
#[derive(Clone, Debug)]
pub enum Shape {
    /// World mm.
    Sphere {
        /// Centre, world mm.
        centre: DVec3,
        /// Radius, mm.
        radius_mm: f64,
    },
    /// Edges along the world axes, mm.
    Box {
        /// Centre, world mm.
        centre: DVec3,
        /// Half of the edge along each axis, mm.
        half_mm: DVec3,
    },
    /// Union of the boxes of its voxels.
    Mask(Mask),
}

impl PartialEq for Shape {
    /// Masks are equal if they share their data.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mask(a), Self::Mask(b)) => a.id() == b.id(),
            (
                Self::Sphere { centre, radius_mm },
                Self::Sphere {
                    centre: c,
                    radius_mm: r,
                },
            ) => (centre, radius_mm) == (c, r),
            (
                Self::Box { centre, half_mm },
                Self::Box {
                    centre: c,
                    half_mm: h,
                },
            ) => (centre, half_mm) == (c, h),
            _ => false,
        }
    }
}

impl Shape {
    /// Whether two shapes are equal, even if they were created separately, as when a session is read.
    pub fn same(a: &Arc<Self>, b: &Arc<Self>) -> bool {
        Arc::ptr_eq(a, b) || a == b
    }

    /// Rounded to whole micrometres: positions set by hand are no finer, and commands stay short.
    pub fn snapped(self) -> Self {
        let whole = |mm: f64| (mm * 1e3).round() / 1e3;
        let at = |point: DVec3| point.map(whole);
        match self {
            Self::Sphere { centre, radius_mm } => Self::Sphere {
                centre: at(centre),
                radius_mm: whole(radius_mm),
            },
            Self::Box { centre, half_mm } => Self::Box {
                centre: at(centre),
                half_mm: at(half_mm),
            },
            Self::Mask(mask) => Self::Mask(mask),
        }
    }

    /// Whether a world point lies in the shape; the boundary of a sphere or a box belongs to it.
    pub fn contains(&self, world: DVec3) -> bool {
        match self {
            Self::Sphere { centre, radius_mm } => {
                world.distance_squared(*centre) <= radius_mm * radius_mm
            }
            Self::Box { centre, half_mm } => (world - *centre).abs().cmple(*half_mm).all(),
            Self::Mask(mask) => mask.contains(world),
        }
    }

    /// Exact volume, mm³; for a mask, that of its voxels.
    pub fn volume_mm3(&self) -> f64 {
        match self {
            Self::Sphere { radius_mm, .. } => 4.0 / 3.0 * std::f64::consts::PI * radius_mm.powi(3),
            Self::Box { half_mm, .. } => 8.0 * half_mm.element_product(),
            Self::Mask(mask) => 1e3 * mask.volume_ml(),
        }
    }

    /// World axis-aligned bounds, mm; of a mask, those of its grid.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        match self {
            Self::Sphere { centre, radius_mm } => (*centre - *radius_mm, *centre + *radius_mm),
            Self::Box { centre, half_mm } => (*centre - *half_mm, *centre + *half_mm),
            Self::Mask(mask) => mask.grid.bounds(),
        }
    }

    /// The voxels of a grid whose centres are inside; a mask keeps its own grid.
    pub fn mask_on(&self, grid: &Arc<Grid>) -> Mask {
        if let Self::Mask(mask) = self {
            return mask.clone();
        }
        let mut mask = Mask::empty(grid);
        let (centre, half) = match self {
            Self::Sphere { centre, radius_mm } => (*centre, grid.voxels_per_mm() * *radius_mm),
            Self::Box { centre, half_mm } => {
                let reach = |a: usize| grid.voxel_from_world.matrix3.row(a).abs().dot(*half_mm);
                (*centre, DVec3::new(reach(0), reach(1), reach(2)))
            }
            Self::Mask(_) => return mask,
        };
        let at = grid.voxel_at(centre);
        let Some((low, high)) = grid.block_around(at - half, at + half) else {
            return mask;
        };
        mask.edit((low, high), true, |y, z, set| {
            let world = |x: usize| grid.world(DVec3::new(x as f64, y as f64, z as f64));
            (low[0]..=high[0])
                .filter(|&x| self.contains(world(x)))
                .for_each(set);
        });
        mask
    }

    /// Whether its bounds along the grid's axes intersect the grid's volume.
    pub fn intersects_grid(&self, grid: &Grid) -> bool {
        let (low, high) = match self {
            Self::Mask(mask) => mask.bounds_inside().unwrap_or(mask.grid.bounds()),
            Self::Sphere { .. } | Self::Box { .. } => self.bounds(),
        };
        let centre = grid.voxel_at((low + high) * 0.5);
        let half = (high - low) * 0.5;
        (0..3).all(|axis| {
            let row = grid.voxel_from_world.matrix3.row(axis);
            let reach = match self {
                Self::Sphere { radius_mm, .. } => row.length() * radius_mm,
                Self::Box { .. } | Self::Mask(_) => row.abs().dot(half),
            };
            centre[axis] + reach >= -0.5 && centre[axis] - reach <= grid.shape[axis] as f64 - 0.5
        })
    }

    /// Whether a voxel of the mask has its centre inside, or the voxel that contains the shape's centre belongs to
    /// the mask.
    pub fn touches(&self, mask: &Mask) -> bool {
        let grid = &*mask.grid;
        let inside = |v: [usize; 3]| mask.inside[grid.index(v)] != 0;
        let world = |v: [usize; 3]| grid.world(DVec3::from_array(v.map(|i| i as f64)));
        if let Self::Mask(own) = self {
            // Most pairs do not overlap.
            let (Some((low, high)), Some((l, h))) = (own.bounds_inside(), mask.bounds_inside())
            else {
                return false;
            };
            if low.cmpgt(h).any() || high.cmplt(l).any() {
                return false;
            }
            return own.voxels_inside().any(|v| {
                let centre = own.grid.world(DVec3::from_array(v.map(|i| i as f64)));
                mask.contains(centre)
            });
        }
        if mask.contains(self.centre()) {
            return true;
        }
        // The voxels of its bounds, enclosed by bounds along the grid's axes.
        let (low, high) = self.bounds();
        let (centre, half) = (grid.voxel_at((low + high) * 0.5), (high - low) * 0.5);
        let range = |axis: usize| {
            let reach = grid.voxel_from_world.matrix3.row(axis).abs().dot(half);
            let end = (centre[axis] + reach + 1.0).clamp(0.0, grid.shape[axis] as f64);
            (centre[axis] - reach).max(0.0) as usize..end as usize
        };
        range(2).any(|k| {
            range(1).any(|j| range(0).any(|i| inside([i, j, k]) && self.contains(world([i, j, k]))))
        })
    }

    /// Whether two shapes have a point in common; for a mask, a voxel's centre.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Mask(mask), shape) | (shape, Self::Mask(mask)) => shape.touches(mask),
            (
                Self::Sphere {
                    centre: a,
                    radius_mm: r,
                },
                Self::Sphere {
                    centre: b,
                    radius_mm: s,
                },
            ) => a.distance(*b) <= r + s,
            (
                Self::Box {
                    centre: a,
                    half_mm: g,
                },
                Self::Box {
                    centre: b,
                    half_mm: h,
                },
            ) => (*a - *b).abs().cmple(*g + *h).all(),
            (Self::Sphere { centre, radius_mm }, Self::Box { centre: b, half_mm })
            | (Self::Box { centre: b, half_mm }, Self::Sphere { centre, radius_mm }) => {
                let nearest = centre.clamp(*b - *half_mm, *b + *half_mm);
                centre.distance(nearest) <= *radius_mm
            }
        }
    }

    /// The centre of a sphere or box; the centre of mass of a mask (the grid's centre if it is empty).
    pub fn centre(&self) -> DVec3 {
        match self {
            Self::Sphere { centre, .. } | Self::Box { centre, .. } => *centre,
            Self::Mask(mask) => mask.centre_inside().unwrap_or_else(|| mask.grid.centre()),
        }
    }
}

/// Identifies a region within a document during the lifetime of the document.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct RegionId(pub u64);

/// A named shape with a role in tracking.
#[derive(Clone, PartialEq, Debug)]
pub struct Region {
    /// Identity that survives edits, unique in a document.
    pub id: RegionId,
    /// Name given by the user or by its source.
    pub name: String,
    /// Effect on streamlines.
    pub role: Role,
    /// Shape, shared by copies of the region.
    pub shape: Arc<Shape>,
    /// sRGB; `None` follows the role's colour.
    pub colour: Option<[u8; 3]>,
    /// Whether it is drawn.
    pub visible: bool,
    /// Its number in the label map that it comes from.
    pub label_number: Option<u32>,
}
