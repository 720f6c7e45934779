//! Non-linear alignments: points of the fixed image mapped to the moving one, and back.
//!
//! A warp is a chain of affines and displacement fields. Each maps points of the fixed image towards the moving image, as
//! registration programs store them: an image is resampled by *pulling* the values of the moving image to the voxels of
//! the fixed one ([`Warp::pull`]). Points of the moving image, such as those of streamlines, take the inverse way
//! ([`Warp::push`]).
//!
//! A field has no closed inverse: the point x with T(x) = y is found by Newton's method with halved steps, from the
//! affine that fits the field best. The result counts only if T(x) lies within [`INVERSE_MM`] of y, x lies in the field,
//! and the field does not fold there.
//!
//! # Example
//!
//! A field that shifts every point by 2 mm to the right, and its inverse:
//!
//! ```
//! use arcuate_engine::data::Grid;
//! use arcuate_engine::data::warp::{DisplacementField, Warp, WarpStep};
//! use glam::DVec3;
//!
//! let grid = Grid::axis_aligned([4, 4, 4], DVec3::splat(5.0), DVec3::ZERO).ok_or("a valid grid")?;
//! let field = DisplacementField::new(grid, vec![[2.0, 0.0, 0.0]; 64]);
//! let warp = Warp::new(vec![WarpStep::Field(field.into())]);
//! let fixed = DVec3::splat(7.0);
//! let moving = warp.pull(fixed)?;
//! assert!(moving.distance(DVec3::new(9.0, 7.0, 7.0)) < 1e-6);
//! let back = warp.push(moving)?;
//! assert!(back.point.distance(fixed) < 1e-6 && back.error_mm < 1e-6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::Grid;
use glam::{DAffine3, DMat3, DVec3};
use std::fmt;
use std::sync::Arc;

/// Largest distance between a point and the image of its computed inverse, mm.
pub const INVERSE_MM: f64 = 1e-3;

/// Newton's method ends at this distance, mm: float32 holds coordinates of 100 mm to 8e-6.
const CONVERGED_MM: f64 = 1e-5;

/// Newton steps before the search is given up. Fields of registrations need three to six.
const MAX_STEPS: usize = 60;

/// Halvings of one step.
const MAX_HALVINGS: usize = 12;

/// Headers in single precision place a voxel beside its neighbour by this share of an edge; a NaN with such a weight does
/// not spoil a point.
const NO_WEIGHT: f64 = 1e-4;

/// Why a point cannot be mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unmapped {
    /// It lies outside a field, or outside what a field reaches.
    Outside,
    /// The point or the field is not a number there.
    NotFinite,
    /// The field folds there, or the search for the inverse did not converge.
    NotInvertible,
}

impl fmt::Display for Unmapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Outside => "lies outside the field",
            Self::NotFinite => "lies where the field is not a number",
            Self::NotInvertible => "lies where the field has no inverse",
        })
    }
}

impl std::error::Error for Unmapped {}

/// A field of displacements on a grid, linear between the centres of the voxels.
#[derive(Clone, Debug)]
pub struct DisplacementField {
    grid: Grid,
    /// From each voxel's centre to its image, world RAS mm.
    vectors: Vec<[f32; 3]>,
    /// The affine that fits the field best.
    affine: DAffine3,
}

/// The voxels around a point, with the weights of linear interpolation.
struct Cell {
    /// First voxel of the cell on each axis.
    first: [usize; 3],
    /// Voxel beside it; the same voxel on an axis of one voxel, and at the border.
    next: [usize; 3],
    /// Distance from the first voxel, in voxels.
    share: DVec3,
}

impl Cell {
    /// `None` for points that are not finite. Points outside take the values of the border.
    fn at(shape: [usize; 3], voxel: DVec3) -> Option<Self> {
        if !voxel.is_finite() {
            return None;
        }
        let last = DVec3::from_array(shape.map(|n| (n - 1) as f64));
        let inside = voxel.clamp(DVec3::ZERO, last);
        let first = inside.floor();
        let first_voxel = first.to_array().map(|v| v as usize);
        let next = std::array::from_fn(|a| (first_voxel[a] + 1).min(shape[a] - 1));
        Some(Self {
            first: first_voxel,
            next,
            share: inside - first,
        })
    }

    /// The corner of this number, and its weight.
    fn corner(&self, corner: usize) -> ([usize; 3], f64) {
        let mut weight = 1.0;
        let voxel = std::array::from_fn(|a| match corner >> a & 1 {
            0 => {
                weight *= 1.0 - self.share[a];
                self.first[a]
            }
            _ => {
                weight *= self.share[a];
                self.next[a]
            }
        });
        (voxel, weight)
    }
}

/// Whether continuous voxel coordinates lie in one of the voxels.
fn is_inside(shape: [usize; 3], voxel: DVec3) -> bool {
    (0..3).all(|a| voxel[a] >= -0.5 && voxel[a] <= shape[a] as f64 - 0.5)
}

impl DisplacementField {
    /// Panics if there is not one vector for each voxel (a broken invariant, not data).
    pub fn new(grid: Grid, vectors: Vec<[f32; 3]>) -> Self {
        assert_eq!(vectors.len(), grid.voxel_count(), "one vector per voxel");
        let affine = best_affine(&grid, |i| DVec3::from_array(vectors[i].map(f64::from)));
        Self {
            grid,
            vectors,
            affine,
        }
    }

    /// The grid of the voxels.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The affine that fits the field best.
    pub fn affine(&self) -> DAffine3 {
        self.affine
    }

    /// The displacement at continuous voxel coordinates, also outside, where that of the border applies.
    fn displacement(&self, voxel: DVec3) -> Option<DVec3> {
        let cell = Cell::at(self.grid.shape, voxel)?;
        let mut sum = DVec3::ZERO;
        for corner in 0..8 {
            let (at, weight) = cell.corner(corner);
            let vector = DVec3::from_array(self.vectors[self.grid.index(at)].map(f64::from));
            if weight > NO_WEIGHT || (weight > 0.0 && vector.is_finite()) {
                sum += weight * vector;
            }
        }
        sum.is_finite().then_some(sum)
    }

    /// The image of a world point; of a point outside with the displacement of the border.
    fn image(&self, point: DVec3) -> Option<DVec3> {
        let voxel = self.grid.voxel_at(point);
        Some(point + self.displacement(voxel)?)
    }

    /// The derivative of the image by the point.
    fn derivative(&self, point: DVec3) -> Option<DMat3> {
        let voxel = self.grid.voxel_at(point);
        let cell = Cell::at(self.grid.shape, voxel)?;
        let mut columns = [DVec3::ZERO; 3];
        for corner in 0..8 {
            let (at, _) = cell.corner(corner);
            let vector = self.vectors[self.grid.index(at)];
            let vector = DVec3::from_array(vector.map(f64::from));
            for (a, column) in columns.iter_mut().enumerate() {
                let mut weight = if corner >> a & 1 == 0 { -1.0 } else { 1.0 };
                for b in (0..3).filter(|b| *b != a) {
                    weight *= match corner >> b & 1 {
                        0 => 1.0 - cell.share[b],
                        _ => cell.share[b],
                    };
                }
                if weight != 0.0 {
                    *column += weight * vector;
                }
            }
        }
        let by_voxel = DMat3::from_cols(columns[0], columns[1], columns[2]);
        let derivative = DMat3::IDENTITY + by_voxel * self.grid.voxel_from_world.matrix3;
        derivative.is_finite().then_some(derivative)
    }

    /// Maps a world point of the field's grid.
    pub fn forward(&self, point: DVec3) -> Result<DVec3, Unmapped> {
        if !point.is_finite() {
            return Err(Unmapped::NotFinite);
        }
        let voxel = self.grid.voxel_at(point);
        if !is_inside(self.grid.shape, voxel) {
            return Err(Unmapped::Outside);
        }
        let displacement = self.displacement(voxel).ok_or(Unmapped::NotFinite)?;
        Ok(point + displacement)
    }

    /// The point that the field maps to this one, by Newton's method.
    pub fn inverse(&self, image: DVec3) -> Result<DVec3, Unmapped> {
        if !image.is_finite() {
            return Err(Unmapped::NotFinite);
        }
        let linear = self.affine.matrix3.inverse();
        let mut point = self.affine.inverse().transform_point3(image);
        let mut off = image - self.image(point).ok_or(Unmapped::NotFinite)?;
        for _ in 0..MAX_STEPS {
            if off.length() <= CONVERGED_MM {
                break;
            }
            let derivative = self.derivative(point).ok_or(Unmapped::NotFinite)?;
            // Where the field folds, the affine leads out of the fold.
            let newton = self.keeps_handedness(derivative);
            let step = match newton {
                true => derivative.inverse() * off,
                false => linear * off,
            };
            let Some((next, rest)) = self.closer(point, step, image, off) else {
                // Between cells, the derivative of one cell may lead away.
                match self.closer(point, linear * off, image, off) {
                    Some(closer) => (point, off) = closer,
                    None => break,
                }
                continue;
            };
            (point, off) = (next, rest);
        }
        let voxel = self.grid.voxel_at(point);
        if !is_inside(self.grid.shape, voxel) {
            return Err(Unmapped::Outside);
        }
        let derivative = self.derivative(point).ok_or(Unmapped::NotFinite)?;
        match off.length() <= INVERSE_MM && self.keeps_handedness(derivative) {
            true => Ok(point),
            false => Err(Unmapped::NotInvertible),
        }
    }

    /// The point after a step, halved until its image is nearer; `None` if none is.
    fn closer(
        &self,
        point: DVec3,
        step: DVec3,
        image: DVec3,
        off: DVec3,
    ) -> Option<(DVec3, DVec3)> {
        let mut step = step;
        for _ in 0..=MAX_HALVINGS {
            let next = point + step;
            if let Some(found) = self.image(next) {
                let rest = image - found;
                if rest.length() < off.length() {
                    return Some((next, rest));
                }
            }
            step *= 0.5;
        }
        None
    }

    /// Whether a derivative has the handedness of the whole field: it does not where the field folds.
    fn keeps_handedness(&self, derivative: DMat3) -> bool {
        derivative.determinant() * self.affine.matrix3.determinant() > 0.0
    }

    /// Whether the field folds in the cell that begins at this voxel: at one of its corners, left and right would be
    /// exchanged. The last voxel of an axis begins no cell.
    pub fn folds_at(&self, voxel: [usize; 3]) -> bool {
        let shape = self.grid.shape;
        if (0..3).any(|a| shape[a] > 1 && voxel[a] + 1 >= shape[a]) {
            return false;
        }
        let images: [DVec3; 8] = std::array::from_fn(|corner| {
            let offset = [0, 1, 2].map(|a| corner >> a & 1);
            let at = std::array::from_fn(|a| (voxel[a] + offset[a]).min(shape[a] - 1));
            let vector = DVec3::from_array(self.vectors[self.grid.index(at)].map(f64::from));
            let place = DVec3::from_array(std::array::from_fn(|a| (voxel[a] + offset[a]) as f64));
            self.grid.world(place) + vector
        });
        let whole =
            self.affine.matrix3.determinant() * self.grid.world_from_voxel.matrix3.determinant();
        (0..8usize).any(|corner| {
            let edge = |a: usize| images[corner | 1 << a] - images[corner & !(1 << a)];
            let volume = edge(0).cross(edge(1)).dot(edge(2));
            volume.is_finite() && volume * whole <= 0.0
        })
    }

    /// The distances by which the voxels move, mm.
    pub fn lengths(&self) -> impl Iterator<Item = f64> {
        let vectors = self.vectors.iter();
        vectors.map(|v| DVec3::from_array(v.map(f64::from)).length())
    }

    /// Voxels whose vector is not finite.
    pub fn not_finite(&self) -> usize {
        let finite = |v: &&[f32; 3]| !v.iter().all(|c| c.is_finite());
        self.vectors.iter().filter(finite).count()
    }
}

/// Samples along each axis from which the best affine is found.
const SAMPLES: usize = 16;

/// The affine with the smallest squared distance from the displacements of the voxels, from samples of them; the mean
/// shift if these do not determine an affine that can be inverted.
fn best_affine(grid: &Grid, displacement: impl Fn(usize) -> DVec3) -> DAffine3 {
    let (affine, shift) = fitted_affine(grid, displacement);
    let linear = affine.matrix3;
    let scale = linear.x_axis.length() * linear.y_axis.length() * linear.z_axis.length();
    match affine.is_finite() && linear.determinant().abs() > 1e-3 * scale {
        true => affine,
        false => DAffine3::from_translation(shift),
    }
}

/// The affine with the smallest squared distance from the displacements of the voxels, and the mean of these. It may be
/// one that has no inverse.
pub fn fitted_affine(grid: &Grid, displacement: impl Fn(usize) -> DVec3) -> (DAffine3, DVec3) {
    let centre = grid.centre();
    let step = grid.shape.map(|n| n.div_ceil(SAMPLES));
    let (mut count, mut mean_from, mut mean_by) = (0.0, DVec3::ZERO, DVec3::ZERO);
    let mut samples = Vec::new();
    for z in (0..grid.shape[2]).step_by(step[2]) {
        for y in (0..grid.shape[1]).step_by(step[1]) {
            for x in (0..grid.shape[0]).step_by(step[0]) {
                let by = displacement(grid.index([x, y, z]));
                if by.is_finite() {
                    let from = grid.world(DVec3::new(x as f64, y as f64, z as f64)) - centre;
                    count += 1.0;
                    mean_from += from;
                    mean_by += by;
                    samples.push((from, by));
                }
            }
        }
    }
    if samples.is_empty() {
        return (DAffine3::IDENTITY, DVec3::ZERO);
    }
    (mean_from, mean_by) = (mean_from / count, mean_by / count);
    let (mut outer, mut cross) = (DMat3::ZERO, DMat3::ZERO);
    let product = |a: DVec3, b: DVec3| DMat3::from_cols(a * b.x, a * b.y, a * b.z);
    for (from, by) in &samples {
        let (from, by) = (*from - mean_from, *by - mean_by);
        outer += product(from, from);
        cross += product(by, from);
    }
    let size = outer.x_axis.length() * outer.y_axis.length() * outer.z_axis.length();
    // An axis of one voxel leaves the slope along it open.
    if !(outer.determinant() > 1e-9 * size) {
        return (DAffine3::from_translation(mean_by), mean_by);
    }
    let linear = DMat3::IDENTITY + cross * outer.inverse();
    let from = centre + mean_from;
    let affine = DAffine3::from_mat3_translation(linear, from + mean_by - linear * from);
    (affine, mean_by)
}

/// One transform of a chain, towards the moving image.
#[derive(Clone, Debug)]
pub enum WarpStep {
    /// An affine, world RAS mm.
    Affine(DAffine3),
    /// A field on the fixed side.
    Field(Arc<DisplacementField>),
    /// The inverse of a field, which lies on the moving side.
    InverseField(Arc<DisplacementField>),
}

impl WarpStep {
    fn pull(&self, point: DVec3) -> Result<DVec3, Unmapped> {
        match self {
            Self::Affine(affine) => Ok(affine.transform_point3(point)),
            Self::Field(field) => field.forward(point),
            Self::InverseField(field) => field.inverse(point),
        }
    }

    fn push(&self, point: DVec3) -> Result<DVec3, Unmapped> {
        match self {
            Self::Affine(affine) => Ok(affine.inverse().transform_point3(point)),
            Self::Field(field) => field.inverse(point),
            Self::InverseField(field) => field.forward(point),
        }
    }
}

/// A point that was pushed to the fixed image.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pushed {
    /// World RAS mm.
    pub point: DVec3,
    /// Distance between the original point and the one that the warp maps the result to, mm.
    pub error_mm: f64,
}

/// A chain of transforms from the fixed image to the moving one.
#[derive(Clone, Debug, Default)]
pub struct Warp {
    steps: Vec<WarpStep>,
}

impl Warp {
    /// The steps in the order in which they map points of the fixed image.
    pub fn new(steps: Vec<WarpStep>) -> Self {
        Self { steps }
    }

    /// The steps in the order in which they map points of the fixed image.
    pub fn steps(&self) -> &[WarpStep] {
        &self.steps
    }

    /// The point of the moving image that belongs to a point of the fixed image.
    pub fn pull(&self, fixed: DVec3) -> Result<DVec3, Unmapped> {
        let moving = self
            .steps
            .iter()
            .try_fold(fixed, |point, step| step.pull(point))?;
        match moving.is_finite() {
            true => Ok(moving),
            false => Err(Unmapped::NotFinite),
        }
    }

    /// The point of the fixed image that belongs to a point of the moving image, with the distance by which it misses.
    pub fn push(&self, moving: DVec3) -> Result<Pushed, Unmapped> {
        if !moving.is_finite() {
            return Err(Unmapped::NotFinite);
        }
        let mut steps = self.steps.iter().rev();
        let point = steps.try_fold(moving, |point, step| step.push(point))?;
        let error_mm = self.pull(point)?.distance(moving);
        match error_mm.is_finite() {
            true => Ok(Pushed { point, error_mm }),
            false => Err(Unmapped::NotFinite),
        }
    }
}

/// The choice of a value between voxels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarpInterpolation {
    /// Weighted mean of the eight voxels around a point.
    Linear,
    /// Value of the voxel that contains the point.
    Nearest,
    /// The label with the largest weight among the eight voxels.
    Labels,
}

super::keyed!(WarpInterpolation, serde {
    Linear = "linear",
    Nearest = "nearest",
    Labels = "labels",
});

/// The value at continuous voxel coordinates by linear interpolation; `None` outside the image. Voxels without weight
/// are not read, so that a NaN reaches no further than its neighbours.
pub fn linear_value(grid: &Grid, values: &[f32], voxel: DVec3) -> Option<f32> {
    let cell = Cell::at(grid.shape, voxel).filter(|_| is_inside(grid.shape, voxel))?;
    let mut sum = 0.0;
    for corner in 0..8 {
        let (at, weight) = cell.corner(corner);
        let value = f64::from(values[grid.index(at)]);
        if weight > NO_WEIGHT || (weight > 0.0 && value.is_finite()) {
            sum += weight * value;
        }
    }
    Some(sum as f32)
}

/// The voxel that contains a point; `None` outside the image.
pub fn nearest_voxel(grid: &Grid, voxel: DVec3) -> Option<usize> {
    if !is_inside(grid.shape, voxel) {
        return None;
    }
    let nearest =
        std::array::from_fn(|a| (voxel[a].round().max(0.0) as usize).min(grid.shape[a] - 1));
    Some(grid.index(nearest))
}

/// A voxel with the label that has the largest weight around a point; of labels with equal weights, that of the nearest
/// voxel. `None` outside the image.
pub fn label_voxel(grid: &Grid, values: &[f32], voxel: DVec3) -> Option<usize> {
    let cell = Cell::at(grid.shape, voxel).filter(|_| is_inside(grid.shape, voxel))?;
    let corners: [(usize, f64); 8] = std::array::from_fn(|corner| {
        let (at, weight) = cell.corner(corner);
        (grid.index(at), weight)
    });
    let nearest = nearest_voxel(grid, voxel)?;
    let weight = |label: f32| -> f64 {
        let same = corners.iter().filter(|(at, _)| values[*at] == label);
        same.map(|(_, weight)| weight).sum()
    };
    // Rounding must not decide between equal weights.
    const EQUAL: f64 = 1e-9;
    let mut best = (nearest, weight(values[nearest]) + EQUAL);
    for (at, _) in corners {
        let sum = weight(values[at]);
        if sum > best.1 {
            best = (at, sum);
        }
    }
    Some(best.0)
}
