//! Distances from a mask: how near to a tumour noise lets a path come.

use super::repetitions::Range90;
use super::trace::Path;
use crate::compute::{Backend, Control};
use crate::data::{Grid, Mask, Volume};
use crate::solvers::Error;
use glam::DVec3;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Distance between the points at which the distance along a path is given, mm.
const EVERY_MM: f64 = 1.0;
/// Distances below this count as 0, and those of paths are found to within it, mm.
const ACCURACY_MM: f64 = 1e-3;
/// Voxels along an edge of the cubes whose distance is bounded as a whole.
const CUBE: usize = 4;
/// Voxels of another mask between two checks of cancellation.
const CHUNK: usize = 256;

/// The distance from the voxels of a mask. A voxel is the parallelepiped around its centre that its grid's axes span.
#[derive(Clone, Debug)]
pub struct MaskDistance {
    mask: Mask,
    /// Edges of a voxel, world mm.
    edges: [DVec3; 3],
    /// Voxels at the rim of the mask.
    cubes: Vec<Cube>,
}

/// Neighbouring voxels, whose distance is bounded as a whole.
#[derive(Clone, Debug)]
struct Cube {
    /// A ball around the centres of the voxels.
    middle: DVec3,
    radius_mm: f64,
    centres: Vec<DVec3>,
}

/// How far a mask lies from another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Separation {
    /// Least distance between their voxels, mm.
    pub nearest_mm: f64,
    /// Volume of the voxels whose centres lie in the other mask, ml.
    pub shared_ml: f64,
}

impl MaskDistance {
    /// `None` for an empty mask.
    pub fn new(mask: &Mask) -> Option<Self> {
        let grid = &mask.grid;
        let is_inside = |voxel: [usize; 3]| mask.inside[grid.index(voxel)] != 0;
        let is_rim = |voxel: &[usize; 3]| {
            (0..3).any(|axis| {
                let at = voxel[axis];
                let next = |index: usize| {
                    let mut next = *voxel;
                    next[axis] = index;
                    is_inside(next)
                };
                at == 0 || at + 1 == grid.shape[axis] || !next(at - 1) || !next(at + 1)
            })
        };
        let mut cubes: BTreeMap<[usize; 3], Vec<DVec3>> = BTreeMap::new();
        for voxel in mask.voxels_inside().filter(is_rim) {
            let centre = grid.world(DVec3::from_array(voxel.map(|c| c as f64)));
            cubes
                .entry(voxel.map(|c| c / CUBE))
                .or_default()
                .push(centre);
        }
        let cube = |centres: Vec<DVec3>| {
            let middle = centres.iter().sum::<DVec3>() / centres.len() as f64;
            let distances = centres.iter().map(|centre| centre.distance(middle));
            Cube {
                middle,
                radius_mm: distances.fold(0.0, f64::max),
                centres,
            }
        };
        (!cubes.is_empty()).then(|| Self {
            mask: mask.clone(),
            edges: edges(grid),
            cubes: cubes.into_values().map(cube).collect(),
        })
    }

    /// The distance of a world point, mm; 0 inside.
    pub fn to(&self, point: DVec3) -> f64 {
        if self.mask.contains(point) {
            return 0.0;
        }
        self.nearest(point, &self.edges, f64::INFINITY)
    }

    /// The least distance of a line through points, mm; infinite without any point.
    pub fn to_line(&self, points: &[DVec3]) -> f64 {
        let nearest = self.nearest_on_line(points);
        nearest.map_or(f64::INFINITY, |(mm, _)| mm)
    }

    /// The point of a line through points that is nearest to the mask, with its distance, mm; `None` without any point.
    pub fn nearest_on_line(&self, points: &[DVec3]) -> Option<(f64, DVec3)> {
        let distances: Vec<f64> = points.iter().map(|point| self.to(*point)).collect();
        let all = distances.iter().copied().zip(points.iter().copied());
        let mut nearest = all.min_by(|a, b| a.0.total_cmp(&b.0))?;
        let ends = |i: usize| [(points[i], distances[i]), (points[i + 1], distances[i + 1])];
        let mut parts: Vec<[(DVec3, f64); 2]> =
            (0..points.len().saturating_sub(1)).map(ends).collect();
        while let Some([a, b]) = parts.pop() {
            // The distance changes by no more than the way between two points.
            let bound = 0.5 * (a.1 + b.1 - a.0.distance(b.0));
            if bound < nearest.0 - ACCURACY_MM {
                let middle = a.0.midpoint(b.0);
                let middle = (middle, self.to(middle));
                if middle.1 < nearest.0 {
                    nearest = (middle.1, middle.0);
                }
                parts.extend([[a, middle], [middle, b]]);
            }
        }
        Some(nearest)
    }

    /// The point of the mask's voxels that is nearest to a world point: the point itself inside.
    pub fn nearest_point(&self, point: DVec3) -> DVec3 {
        if self.mask.contains(point) {
            return point;
        }
        let reach = 0.5 * self.edges.iter().map(|edge| edge.length()).sum::<f64>();
        let mut least = (f64::INFINITY, DVec3::ZERO);
        for cube in &self.cubes {
            if point.distance(cube.middle) - cube.radius_mm - reach >= least.0 {
                continue;
            }
            for centre in &cube.centres {
                let rest = rest_of_sum(point - *centre, &self.edges);
                if rest.length() < least.0 {
                    least = (rest.length(), rest);
                }
            }
        }
        point - least.1
    }

    /// How far another mask, on any grid, lies from this one; `None` if it is empty.
    pub fn to_mask(
        &self,
        other: &Mask,
        backend: &Backend,
        control: &Control,
    ) -> Result<Option<Separation>, Error> {
        let grid = &other.grid;
        let voxels: Vec<[usize; 3]> = other.voxels_inside().collect();
        let [a, b, c] = edges(grid);
        let [d, e, f] = self.edges;
        // The distance of two voxels is that of a point from one voxel enlarged by the other.
        let both = [a, b, c, d, e, f];
        let of_chunk = |voxels: &[[usize; 3]]| {
            control.check()?;
            let (mut nearest, mut shared) = (f64::INFINITY, 0u64);
            for voxel in voxels {
                let centre = grid.world(DVec3::from_array(voxel.map(|c| c as f64)));
                if self.mask.contains(centre) {
                    (nearest, shared) = (0.0, shared + 1);
                } else if nearest > 0.0 {
                    nearest = self.nearest(centre, &both, nearest);
                }
            }
            Ok::<_, Error>((nearest, shared))
        };
        let (nearest_mm, shared) = backend.install(|| {
            let chunks = voxels.par_chunks(CHUNK).map(of_chunk);
            chunks.try_reduce(|| (f64::INFINITY, 0), |a, b| Ok((a.0.min(b.0), a.1 + b.1)))
        })?;
        let voxel_ml = grid.world_from_voxel.matrix3.determinant().abs() * 1e-3;
        Ok((!voxels.is_empty()).then_some(Separation {
            nearest_mm,
            shared_ml: shared as f64 * voxel_ml,
        }))
    }

    /// The least distance of a point from the voxels enlarged to all sums of these edges, or `known` if that is less.
    fn nearest(&self, point: DVec3, edges: &[DVec3], known: f64) -> f64 {
        let reach = 0.5 * edges.iter().map(|edge| edge.length()).sum::<f64>();
        let bound = |cube: &Cube| point.distance(cube.middle) - cube.radius_mm - reach;
        let of_cube = |cube: &Cube, nearest: f64| {
            cube.centres.iter().fold(nearest, |nearest, centre| {
                let offset = point - *centre;
                if offset.length() - reach < nearest {
                    nearest.min(distance_of_sum(offset, edges))
                } else {
                    nearest
                }
            })
        };
        // The probable cube first, so that others need not be searched.
        let first = self
            .cubes
            .iter()
            .min_by(|a, b| bound(a).total_cmp(&bound(b)));
        let known = first.map_or(known, |cube| of_cube(cube, known));
        let others = self.cubes.iter();
        let nearest = others.fold(known, |nearest, cube| {
            if bound(cube) < nearest {
                of_cube(cube, nearest)
            } else {
                nearest
            }
        });
        if nearest < ACCURACY_MM { 0.0 } else { nearest }
    }
}

/// The edges of a voxel, world mm.
fn edges(grid: &Grid) -> [DVec3; 3] {
    let matrix = grid.world_from_voxel.matrix3;
    [matrix.x_axis, matrix.y_axis, matrix.z_axis]
}

/// The distance between a point and the sums of these vectors, each multiplied by −½ to ½.
fn distance_of_sum(point: DVec3, edges: &[DVec3]) -> f64 {
    rest_of_sum(point, edges).length()
}

/// The way to a point from the nearest of the sums of these vectors, each multiplied by −½ to ½: coordinate descent,
/// which is exact after one pass for orthogonal vectors, as those of a voxel usually are.
fn rest_of_sum(point: DVec3, edges: &[DVec3]) -> DVec3 {
    const MAX_PASSES: usize = 500;
    const MOVED_MM: f64 = 1e-7;
    let mut factors = [0.0; 6];
    let mut rest = point;
    for _ in 0..MAX_PASSES {
        let mut moved: f64 = 0.0;
        for (factor, edge) in factors.iter_mut().zip(edges) {
            let best: f64 = *factor + edge.dot(rest) / edge.length_squared();
            let change = best.clamp(-0.5, 0.5) - *factor;
            *factor += change;
            rest -= change * *edge;
            moved = moved.max(change.abs() * edge.length());
        }
        if moved < MOVED_MM {
            break;
        }
    }
    rest
}

/// Distances of a path from the voxel centres around the surface of a mask, mm, on the grid of `around`
/// ([`distances_around`]); NaN elsewhere. Any point within half a voxel of the surface is interpolated between numbers.
/// Needs the backend's threads installed.
///
/// [`distances_around`]: crate::solvers::region::distances_around
pub fn path_distances_on_surface(
    around: &Volume,
    path: &Path,
    control: &Control,
) -> Result<Volume, Error> {
    let grid = &around.grid;
    let from_mask = around.frame(0);
    // Longer than the diagonal of a voxel.
    let reach_mm = 1.5
        * edges(grid)
            .map(|edge| edge.length_squared())
            .iter()
            .sum::<f64>()
            .sqrt();
    let is_outside: Vec<bool> = from_mask.iter().map(|mm| *mm > 0.0).collect();
    let near_outside = near_any(is_outside, grid.shape);
    let row = grid.shape[0].max(1);
    let mut values = vec![f32::NAN; grid.voxel_count()];
    let rows = values.par_chunks_mut(row).enumerate();
    rows.try_for_each(|(y, values)| {
        control.check()?;
        for (x, value) in values.iter_mut().enumerate() {
            let voxel = y * row + x;
            if near_outside[voxel] && f64::from(from_mask[voxel]) <= reach_mm {
                let at = grid.world(DVec3::from_array(grid.voxel(voxel).map(|c| c as f64)));
                let nearest = path.nearest_point(at);
                *value = nearest.map_or(f32::NAN, |nearest| nearest.distance(at) as f32);
            }
        }
        Ok::<(), Error>(())
    })?;
    Ok(Volume::scalar(grid.clone(), values))
}

/// Whether any voxel within two voxels along each axis has a flag.
fn near_any(mut flags: Vec<bool>, shape: [usize; 3]) -> Vec<bool> {
    const REACH: usize = 2;
    for axis in 0..3 {
        let stride: usize = shape[..axis].iter().product();
        let near = |i: usize| {
            let at = i / stride % shape[axis];
            let low = i - at.min(REACH) * stride;
            let high = i + (shape[axis] - 1 - at).min(REACH) * stride;
            (low..=high).step_by(stride).any(|i| flags[i])
        };
        flags = (0..flags.len()).into_par_iter().map(near).collect();
    }
    flags
}

/// Distances of the curves of some repetitions from a mask: minimal paths, or centre lines of streamlines.
#[derive(Clone, Debug)]
pub struct Distances {
    /// Position along the shown curve, mm, and the distance of the repetitions' curves next to it.
    pub along: Vec<(f64, Range90)>,
    /// The points of the shown curve at these positions.
    pub places: Vec<DVec3>,
    /// The least distance of each repetition's curve: median and range. `None` if no repetition has a curve.
    pub nearest: Option<Range90>,
    /// That of the shown curve.
    pub shown: f64,
    /// Where the shown curve is nearest, and the point of the mask nearest to it; `None` if the curve enters the mask.
    pub shortest: Option<[DVec3; 2]>,
}

impl Distances {
    /// Distances of the curves of the repetitions that have one, along the shown curve.
    pub fn new(
        curves: &[&Path],
        shown: &Path,
        from: &MaskDistance,
        backend: &Backend,
        control: &Control,
    ) -> Result<Self, Error> {
        let samples = (shown.total_mm() / EVERY_MM).floor() as usize;
        let positions = (0..=samples).map(|i| i as f64 * EVERY_MM);
        let places: Vec<(f64, DVec3)> = positions
            .filter_map(|mm| Some((mm, shown.point_at(mm)?)))
            .collect();
        control.begin("Distances", curves.len() as u64);
        // For each repetition its least distance, and that of its point next to each place.
        let of_curve = |curve: &&Path| {
            control.check()?;
            let next_to = |(_, place): &(f64, DVec3)| {
                curve
                    .nearest_point(*place)
                    .map_or(f64::INFINITY, |p| from.to(p))
            };
            let along: Vec<f64> = places.iter().map(next_to).collect();
            let nearest = from.to_line(&curve.points);
            control.advance(1);
            Ok((nearest, along))
        };
        let (all, shown) = backend.install(|| {
            let all: Result<Vec<(f64, Vec<f64>)>, Error> =
                curves.par_iter().map(of_curve).collect();
            (all, from.nearest_on_line(&shown.points))
        });
        let all = all?;
        let outside = shown.filter(|(mm, _)| *mm > 0.0);
        let shortest = outside.map(|(_, point)| [point, from.nearest_point(point)]);
        let along = places.iter().enumerate().filter_map(|(i, (mm, place))| {
            let range = Range90::of_values(all.iter().map(|(_, along)| along[i]).collect())?;
            Some(((*mm, range), *place))
        });
        let (along, places) = along.unzip();
        Ok(Self {
            along,
            places,
            nearest: Range90::of_values(all.iter().map(|(nearest, _)| *nearest).collect()),
            shown: shown.map_or(f64::INFINITY, |(mm, _)| mm),
            shortest,
        })
    }
}
