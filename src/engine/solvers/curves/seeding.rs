//! Seed points.

use super::error::InputError;
use super::{Params, Seeding};
use crate::compute::Control;
use crate::data::random::Stream;
use crate::data::{Grid, Mask, Region, Role, Shape, TensorField};
use crate::solvers::Error;
use glam::DVec3;
use rayon::prelude::*;

impl Seeding {
    /// The largest number of seeds expected in this many voxels of this volume.
    pub fn expected_in(self, voxels: usize, voxel_mm3: f64) -> f64 {
        match self {
            Self::Random { count } => count as f64,
            Self::Grid { spacing_mm } => voxels as f64 * voxel_mm3 / spacing_mm.powi(3),
            Self::PerVoxel { count } => (voxels * count) as f64,
        }
    }
}

/// The largest number for which the index of a seed is exact in `f32`, in which tractograms store it.
pub const MAX_SEEDS: usize = 1 << 24;

/// Largest number of grid points over the seed area: candidates are cheap, but limited to a second or two on one core.
pub(super) const MAX_CANDIDATES: f64 = 4e8;

/// Attempts to draw a point that no earlier region contains: with 100 regions in one place, all of them fail once in
/// 10⁴³.
const MAX_TRIES: usize = 10_000;

/// Voxels in which curves may start.
#[derive(Clone, Copy)]
pub struct SeedableVoxels<'a, 'b> {
    pub grid: &'a Grid,
    /// Whether a voxel has data, by its index.
    pub has_data: &'b (dyn Fn(usize) -> bool + Sync),
}

impl SeedableVoxels<'_, '_> {
    /// Needs the backend's threads installed.
    fn all(&self) -> Vec<u32> {
        numbers_of(self.grid, self.has_data)
    }

    fn contains(&self, point: DVec3) -> bool {
        let voxel = self.grid.nearest(point);
        voxel.is_some_and(|v| (self.has_data)(self.grid.index(v)))
    }
}

/// The seed points, by index.
pub enum Seeds<'a> {
    Random {
        parts: Vec<SeedRegion<'a>>,
        seed: u64,
        count: usize,
    },
    Listed(Vec<[f32; 3]>),
    PerVoxel {
        grid: &'a Grid,
        voxels: Vec<u32>,
        seed: u64,
        count: usize,
    },
}

/// One region of the seed area.
pub struct SeedRegion<'a> {
    shape: PartShape<'a>,
    /// Volume of this part and all earlier ones, mm³.
    up_to_mm3: f64,
}

enum PartShape<'a> {
    Region(&'a Shape),
    Voxels {
        grid: &'a Grid,
        voxels: Vec<u32>,
        mask: Option<&'a Shape>,
    },
}

impl<'a> Seeds<'a> {
    /// Needs the backend's threads installed.
    pub fn new(
        field: &'a TensorField,
        regions: &'a [Region],
        params: &Params,
        control: &Control,
    ) -> Result<Self, Error> {
        let voxels = SeedableVoxels {
            grid: &field.grid,
            has_data: &|voxel| field.tensors[voxel].inside > 0.5,
        };
        Self::in_voxels(voxels, regions, params.seeding, params.random_seed, control)
    }

    /// Seeds in the regions with role seed, or in all voxels with data. Needs the backend's threads installed.
    pub fn in_voxels(
        voxels: SeedableVoxels<'a, '_>,
        regions: &'a [Region],
        seeding: Seeding,
        random_seed: u64,
        control: &Control,
    ) -> Result<Self, Error> {
        let shapes: Vec<&Shape> = regions
            .iter()
            .filter(|r| r.role == Role::Seed)
            .map(|r| &*r.shape)
            .collect();
        if !shapes.is_empty() && !shapes.iter().any(|s| s.intersects_grid(voxels.grid)) {
            return Err(InputError::SeedsOutside.into());
        }
        let seeds = match seeding {
            Seeding::Random { count } => Self::Random {
                parts: parts(voxels, &shapes)?,
                seed: random_seed,
                count,
            },
            Seeding::Grid { spacing_mm } => lattice(voxels, &shapes, spacing_mm, control)?,
            Seeding::PerVoxel { count } => Self::PerVoxel {
                voxels: voxels_of_area(voxels, &shapes),
                grid: voxels.grid,
                seed: random_seed,
                count,
            },
        };
        let seed_count = match &seeds {
            Self::PerVoxel { voxels, count, .. } => voxels.len().saturating_mul(*count),
            other => other.len(),
        };
        check_count(seed_count)?;
        if seed_count > 0 {
            return Ok(seeds);
        }
        let error = match seeding {
            _ if shapes.is_empty() => InputError::NothingToSeed,
            Seeding::Grid { spacing_mm } => InputError::NoGridPoint(spacing_mm),
            _ => InputError::NoVoxelCentre,
        };
        Err(error.into())
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Random { count, .. } => *count,
            Self::Listed(points) => points.len(),
            Self::PerVoxel { voxels, count, .. } => voxels.len() * count,
        }
    }

    /// World mm.
    pub fn point(&self, index: usize) -> [f32; 3] {
        match self {
            Self::Random { parts, seed, .. } => {
                let mut stream = Stream::new(*seed, index as u64);
                in_union(parts, &mut stream).as_vec3().into()
            }
            Self::Listed(points) => points[index],
            Self::PerVoxel {
                grid,
                voxels,
                seed,
                count,
            } => {
                let mut stream = Stream::new(*seed, index as u64);
                in_voxel(grid, voxels[index / count], &mut stream)
                    .as_vec3()
                    .into()
            }
        }
    }
}

/// Returns an error for more seeds than the program can number.
fn check_count(seeds: usize) -> Result<(), InputError> {
    match seeds <= MAX_SEEDS {
        true => Ok(()),
        false => Err(InputError::TooManySeeds(seeds)),
    }
}

fn parts<'a>(
    area: SeedableVoxels<'a, '_>,
    shapes: &[&'a Shape],
) -> Result<Vec<SeedRegion<'a>>, Error> {
    let mut total = 0.0;
    let mut parts = Vec::new();
    let mut add = |shape, mm3: f64| {
        // Parts without volume would never be drawn.
        if mm3 > 0.0 {
            total += mm3;
            parts.push(SeedRegion {
                shape,
                up_to_mm3: total,
            });
        }
    };
    let voxels_mm3 =
        |grid: &Grid, n: usize| n as f64 * grid.world_from_voxel.matrix3.determinant().abs();
    if shapes.is_empty() {
        let voxels = area.all();
        let mm3 = voxels_mm3(area.grid, voxels.len());
        add(
            PartShape::Voxels {
                grid: area.grid,
                voxels,
                mask: None,
            },
            mm3,
        );
    }
    for &shape in shapes {
        match shape {
            Shape::Sphere { radius_mm, .. } => {
                let mm3 = 4.0 / 3.0 * std::f64::consts::PI * radius_mm.powi(3);
                add(PartShape::Region(shape), mm3);
            }
            Shape::Box { half_mm, .. } => {
                add(PartShape::Region(shape), 8.0 * half_mm.element_product())
            }
            Shape::Mask(Mask { grid, inside, .. }) => {
                let voxels = numbers_of(grid, |voxel| inside[voxel] != 0);
                let mm3 = voxels_mm3(grid, voxels.len());
                add(
                    PartShape::Voxels {
                        grid,
                        voxels,
                        mask: Some(shape),
                    },
                    mm3,
                );
            }
        }
    }
    if !parts.is_empty() {
        return Ok(parts);
    }
    let error = match shapes.is_empty() {
        true => InputError::NothingToSeed,
        false => InputError::NoVolume,
    };
    Err(error.into())
}

impl SeedRegion<'_> {
    fn random_point(&self, stream: &mut Stream) -> DVec3 {
        match &self.shape {
            PartShape::Region(Shape::Sphere { centre, radius_mm }) => {
                let radius = radius_mm * stream.uniform().cbrt();
                let z = 2.0 * stream.uniform() - 1.0;
                let (sin, cos) = (std::f64::consts::TAU * stream.uniform()).sin_cos();
                let across = (1.0 - z * z).sqrt();
                *centre + radius * DVec3::new(across * cos, across * sin, z)
            }
            PartShape::Region(shape) => {
                let (low, high) = shape.bounds();
                let share = DVec3::new(stream.uniform(), stream.uniform(), stream.uniform());
                low + (high - low) * share
            }
            PartShape::Voxels { grid, voxels, .. } => {
                let i = (stream.uniform() * voxels.len() as f64) as usize;
                in_voxel(grid, voxels[i.min(voxels.len() - 1)], stream)
            }
        }
    }

    fn contains(&self, point: DVec3) -> bool {
        match &self.shape {
            PartShape::Region(shape) => shape.contains(point),
            PartShape::Voxels { mask, .. } => mask.is_some_and(|m| m.contains(point)),
        }
    }
}

/// Uniform in the union: a part is chosen by its volume, then a point in it, which is kept unless an earlier part
/// contains it, too.
fn in_union(parts: &[SeedRegion], stream: &mut Stream) -> DVec3 {
    let total = parts.last().map_or(0.0, |p| p.up_to_mm3);
    let mut point = DVec3::ZERO;
    for _ in 0..MAX_TRIES {
        let at = stream.uniform() * total;
        let part = parts
            .partition_point(|p| p.up_to_mm3 <= at)
            .min(parts.len() - 1);
        point = parts[part].random_point(stream);
        if !parts[..part].iter().any(|p| p.contains(point)) {
            break;
        }
    }
    point
}

fn in_voxel(grid: &Grid, voxel: u32, stream: &mut Stream) -> DVec3 {
    let centre = DVec3::from_array(grid.voxel(voxel as usize).map(|v| v as f64));
    let shift = DVec3::new(stream.uniform(), stream.uniform(), stream.uniform()) - 0.5;
    grid.world(centre + shift)
}

/// The voxels of a grid that meet a condition, in order. Needs the backend's threads installed.
fn numbers_of(grid: &Grid, condition: impl Fn(usize) -> bool + Sync) -> Vec<u32> {
    let voxels = (0..grid.voxel_count() as u32).into_par_iter();
    voxels.filter(|voxel| condition(*voxel as usize)).collect()
}

/// Voxels of the field whose centres lie in the seed area.
fn voxels_of_area(area: SeedableVoxels, shapes: &[&Shape]) -> Vec<u32> {
    if shapes.is_empty() {
        return area.all();
    }
    let grid = area.grid;
    numbers_of(grid, |voxel| {
        let centre = grid.world(DVec3::from_array(grid.voxel(voxel).map(|v| v as f64)));
        shapes.iter().any(|s| s.contains(centre))
    })
}

/// A regular world-axis grid through the first region's centre (or the middle of the field without regions), so that
/// the points move with a dragged region.
fn lattice(
    area: SeedableVoxels,
    shapes: &[&Shape],
    spacing: f64,
    control: &Control,
) -> Result<Seeds<'static>, Error> {
    let (mut low, mut high) = area.grid.bounds();
    let mut anchor = area.grid.centre();
    if let Some(first) = shapes.first() {
        anchor = first.centre();
        let (first_low, first_high) = first.bounds();
        let union = shapes.iter().fold((first_low, first_high), |(l, h), s| {
            let (low, high) = s.bounds();
            (l.min(low), h.max(high))
        });
        low = low.max(union.0);
        high = high.min(union.1);
    }
    let first = ((low - anchor) / spacing).ceil();
    let counts = (((high - anchor) / spacing).floor() - first + 1.0).max(DVec3::ZERO);
    if !(counts.element_product() <= MAX_CANDIDATES) {
        let error = InputError::TooManyPoints {
            spacing_mm: spacing,
            points: counts.element_product(),
        };
        return Err(error.into());
    }
    let in_area = |point: DVec3| {
        if shapes.is_empty() {
            area.contains(point)
        } else {
            shapes.iter().any(|s| s.contains(point))
        }
    };
    let [nx, ny, nz] = counts.to_array().map(|n| n as u64);
    let in_area = &in_area;
    let inside = |row: u64| {
        let at = move |i: u64| {
            let step = DVec3::new(i as f64, (row % ny) as f64, (row / ny) as f64);
            anchor + (first + step) * spacing
        };
        (0..nx).map(at).filter(move |&p| in_area(p))
    };
    // Counted before memory is allocated, because there may be too many.
    if counts.element_product() > MAX_SEEDS as f64 {
        let rows = (0..ny * nz).into_par_iter();
        let seed_count: Result<usize, Error> = rows
            .map(|row| {
                control.check()?;
                Ok(inside(row).count())
            })
            .sum();
        check_count(seed_count?)?;
    }
    let rows: Result<Vec<Vec<[f32; 3]>>, Error> = (0..ny * nz)
        .into_par_iter()
        .map(|row| {
            control.check()?;
            Ok(inside(row).map(|p| p.as_vec3().into()).collect())
        })
        .collect();
    Ok(Seeds::Listed(rows?.concat()))
}
