//! A regular grid of voxels in world space.
//!
//! # Example
//!
//! A grid whose first axis points to the left, as most scanners store it:
//!
//! ```
//! use arcuate_engine::data::Grid;
//! use glam::DVec3;
//!
//! let step = DVec3::new(-2.0, 2.0, 2.0);
//! let grid = Grid::axis_aligned([10, 12, 8], step, DVec3::ZERO).ok_or("a valid grid")?;
//! assert_eq!(grid.orientation(), "LAS");
//! assert_eq!(grid.world(DVec3::new(1.0, 0.0, 0.0)), DVec3::new(-2.0, 0.0, 0.0));
//! assert_eq!(grid.nearest(DVec3::new(-4.1, 2.0, 0.0)), Some([2, 1, 0]));
//! assert_eq!(grid.nearest(DVec3::new(100.0, 0.0, 0.0)), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::data::keyed;
use glam::{DAffine3, DMat3, DVec3};

/// The header field that gave the affine. Only `Pixdim` leaves left and right unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AffineSource {
    /// The sform of a NIfTI header, any affine.
    Sform,
    /// The qform of a NIfTI header: a rotation with voxel sizes.
    Qform,
    /// Neither sform nor qform: voxel sizes only, image centre at 0, x assumed to increase to the patient's right.
    /// Every view must state "left and right unknown".
    Pixdim,
    /// The only affine of the format.
    Header,
    /// Computed by this program.
    Computed,
}

keyed!(AffineSource {
    Sform = "sform",
    Qform = "qform",
    Pixdim = "pixdim",
    Header = "header",
    Computed = "computed",
});

impl AffineSource {
    /// All sources.
    pub const ALL: &[Self] = &[
        Self::Sform,
        Self::Qform,
        Self::Pixdim,
        Self::Header,
        Self::Computed,
    ];

    /// Name in sentences.
    pub fn label(self) -> &'static str {
        match self {
            Self::Sform => "sform",
            Self::Qform => "qform",
            Self::Pixdim => "voxel sizes only",
            Self::Header => "header",
            Self::Computed => "computed",
        }
    }
}

/// Shape in voxels and the affine from voxel to world (RAS+ mm).
#[derive(Clone, Debug)]
pub struct Grid {
    /// Number of voxels along each axis.
    pub shape: [usize; 3],
    /// Voxel indices to world mm; integers are voxel centres.
    pub world_from_voxel: DAffine3,
    /// Inverse of `world_from_voxel`.
    pub voxel_from_world: DAffine3,
    /// Header field from which the affine was taken.
    pub source: AffineSource,
    /// The world space as NIfTI's code: 1 the scanner's, 2 aligned with another image's, 3 Talairach's, 4 MNI 152, 5
    /// another template's.
    pub space_code: i16,
    /// The affine of the header's qform, if it differs from the sform.
    qform: Option<DAffine3>,
}

/// Compares what is used; a different qform makes no different grid.
impl PartialEq for Grid {
    fn eq(&self, other: &Self) -> bool {
        let used = |g: &Self| (g.shape, g.world_from_voxel, g.source, g.space_code);
        used(self) == used(other)
    }
}

impl Grid {
    /// `None` if the affine is singular or not finite, or a side of the shape is 0.
    pub fn new(
        shape: [usize; 3],
        world_from_voxel: DAffine3,
        source: AffineSource,
    ) -> Option<Self> {
        let valid = world_from_voxel.is_finite() && shape.iter().all(|&n| n > 0);
        let [x, y, z] = [0, 1, 2].map(|a| world_from_voxel.matrix3.col(a));
        let volume = world_from_voxel.matrix3.determinant().abs();
        // Relative to the voxel's edges: an affine this flat has lost a dimension, as has one with an edge so short
        // that its length is zero.
        let edges = [x, y, z].map(DVec3::length);
        let regular =
            edges.iter().all(|&e| e > 0.0) && volume > 1e-9 * edges.iter().product::<f64>();
        (valid && regular).then(|| Self {
            shape,
            world_from_voxel,
            voxel_from_world: world_from_voxel.inverse(),
            source,
            space_code: 1,
            qform: None,
        })
    }

    /// The `xform_code` of NIfTI for a position taken from another image.
    pub const ALIGNED: i16 = 2;

    /// The grid after a transform of its voxels; `None` if it leaves no volume. If left and right were unknown, they
    /// still are.
    pub fn moved(&self, by: DAffine3) -> Option<Self> {
        let transformed = Self::new(self.shape, by * self.world_from_voxel, self.source)?;
        Some(transformed.with_space_code(Self::ALIGNED))
    }

    /// Stores the header's code of the world space.
    pub fn with_space_code(self, space_code: i16) -> Self {
        Self { space_code, ..self }
    }

    /// Stores the qform of a header whose sform differs.
    pub(crate) fn with_other_form(self, qform: DAffine3) -> Self {
        Self {
            qform: Some(qform),
            ..self
        }
    }

    /// The grid with its voxels placed by the qform of the header; `None` if it does not differ.
    pub fn by_qform(&self) -> Option<Self> {
        Self::new(self.shape, self.qform?, AffineSource::Qform)
    }

    /// A grid along the world axes, with `spacing` in mm and voxel (0, 0, 0) at `origin`.
    pub fn axis_aligned(shape: [usize; 3], spacing: DVec3, origin: DVec3) -> Option<Self> {
        let affine = DAffine3::from_mat3_translation(DMat3::from_diagonal(spacing), origin);
        Self::new(shape, affine, AffineSource::Computed)
    }

    /// Number of voxels of one volume.
    pub fn voxel_count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Offset of a voxel in file order, x fastest.
    pub fn index(&self, voxel: [usize; 3]) -> usize {
        voxel[0] + self.shape[0] * (voxel[1] + self.shape[1] * voxel[2])
    }

    /// Inverse of [`Grid::index`].
    pub fn voxel(&self, index: usize) -> [usize; 3] {
        let [nx, ny, _] = self.shape;
        [index % nx, (index / nx) % ny, index / (nx * ny)]
    }

    /// World point of continuous voxel coordinates, mm.
    pub fn world(&self, voxel: DVec3) -> DVec3 {
        self.world_from_voxel.transform_point3(voxel)
    }

    /// Continuous voxel coordinates of a world point.
    pub fn voxel_at(&self, world: DVec3) -> DVec3 {
        self.voxel_from_world.transform_point3(world)
    }

    /// The voxel whose box contains a world point, or `None` outside the grid.
    pub fn nearest(&self, world: DVec3) -> Option<[usize; 3]> {
        let v = self.voxel_at(world).round();
        let inside = (0..3).all(|a| v[a] >= 0.0 && v[a] < self.shape[a] as f64);
        inside.then_some([v.x as usize, v.y as usize, v.z as usize])
    }

    /// Edge lengths of one voxel, mm.
    pub fn spacing(&self) -> DVec3 {
        let m = self.world_from_voxel.matrix3;
        DVec3::new(m.x_axis.length(), m.y_axis.length(), m.z_axis.length())
    }

    /// World point at the centre of the grid.
    pub fn centre(&self) -> DVec3 {
        self.world((DVec3::from_array(self.shape.map(|n| n as f64)) - 1.0) * 0.5)
    }

    /// The eight outer corners (voxel faces, not centres), world mm.
    pub fn corners(&self) -> [DVec3; 8] {
        std::array::from_fn(|c| {
            let pick = |a: usize| {
                if c >> a & 1 == 1 {
                    self.shape[a] as f64 - 0.5
                } else {
                    -0.5
                }
            };
            self.world(DVec3::new(pick(0), pick(1), pick(2)))
        })
    }

    /// World axis-aligned bounds of the grid, mm.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        let corners = self.corners();
        corners
            .iter()
            .fold((corners[0], corners[0]), |(lo, hi), &c| {
                (lo.min(c), hi.max(c))
            })
    }

    /// World axis-aligned bounds of the boxes of the voxels from `low` to `high`, mm.
    pub fn block_bounds(&self, (low, high): ([usize; 3], [usize; 3])) -> (DVec3, DVec3) {
        let corner = |c: usize| {
            let pick = |a: usize| match c >> a & 1 {
                0 => low[a] as f64 - 0.5,
                _ => high[a] as f64 + 0.5,
            };
            self.world(DVec3::new(pick(0), pick(1), pick(2)))
        };
        let first = corner(0);
        (1..8)
            .map(corner)
            .fold((first, first), |(lo, hi), c| (lo.min(c), hi.max(c)))
    }

    /// First and last voxel whose centres may lie in a box around a world point, with the box given in voxels along
    /// each voxel axis; `None` if there is none.
    pub(crate) fn block_around(&self, low: DVec3, high: DVec3) -> Option<([usize; 3], [usize; 3])> {
        let mut block = ([0; 3], [0; 3]);
        for a in 0..3 {
            // A small margin, so that rounding leaves none out.
            let (first, last) = ((low[a] - 1e-6).ceil().max(0.0), (high[a] + 1e-6).floor());
            let last = last.min(self.shape[a] as f64 - 1.0);
            // This also covers NaN.
            if !(first <= last) {
                return None;
            }
            (block.0[a], block.1[a]) = (first as usize, last as usize);
        }
        Some(block)
    }

    /// The extent of a ball of radius 1 mm along each voxel axis, in voxels.
    pub(crate) fn voxels_per_mm(&self) -> DVec3 {
        let rows = self.voxel_from_world.matrix3.transpose();
        DVec3::new(
            rows.x_axis.length(),
            rows.y_axis.length(),
            rows.z_axis.length(),
        )
    }

    /// Whether the shapes are equal and no voxel centre is farther than `tolerance_mm` from its counterpart.
    pub fn same_space(&self, other: &Grid, tolerance_mm: f64) -> bool {
        self.shape == other.shape
            && self
                .corners()
                .iter()
                .zip(other.corners())
                .all(|(a, b)| a.distance(b) <= tolerance_mm)
    }

    /// Whether the position of the image in the patient was given by a header or by a transform.
    pub fn is_placed(&self) -> bool {
        self.source != AffineSource::Pixdim || self.space_code == Self::ALIGNED
    }

    /// Whether a file written for `other` has this grid. For an image with unknown position, a file states the voxel
    /// sizes alone.
    pub fn is_written_as(&self, other: &Grid, tolerance_mm: f64) -> bool {
        if other.is_placed() {
            return self.same_space(other, tolerance_mm);
        }
        let off = (self.spacing() - other.spacing()).abs().max_element();
        self.shape == other.shape && !self.is_placed() && off <= tolerance_mm
    }

    /// Whether voxels correspond one to one: equal shapes, and no centre farther from its counterpart than a tenth of
    /// the smallest voxel edge. Headers of other programs round; registrations move by more.
    pub fn matches(&self, other: &Grid) -> bool {
        self.same_space(other, 0.1 * self.spacing().min_element())
    }

    /// The transform from `other`'s voxels to ours if they are the same voxels, each within a tenth of an edge, with
    /// axes reversed or exchanged. `None` for any other grid.
    pub fn reordered(&self, other: &Grid) -> Option<DAffine3> {
        let from = self.voxel_from_world * other.world_from_voxel;
        let mut taken = [false; 3];
        for a in 0..3 {
            // Each axis is one of ours, forwards or backwards.
            let along = from.matrix3.col(a);
            let axis = (0..3).max_by(|&i, &j| along[i].abs().total_cmp(&along[j].abs()))?;
            let exact = DVec3::AXES[axis] * along[axis].signum();
            // The difference accumulates up to the far end of the axis.
            let off = (along - exact).length() * other.shape[a] as f64;
            let same_side = other.shape[a] == self.shape[axis];
            if std::mem::replace(&mut taken[axis], true) || off > 0.1 || !same_side {
                return None;
            }
        }
        // The difference is largest at a corner.
        let ours = (0..8).all(|c| {
            let last = |a: usize| (c >> a & 1) as f64 * (other.shape[a] as f64 - 1.0);
            let at = from.transform_point3(DVec3::new(last(0), last(1), last(2)));
            let nearest = at.round();
            let within = (0..3).all(|a| (0.0..self.shape[a] as f64).contains(&nearest[a]));
            within && (at - nearest).abs().max_element() <= 0.1
        });
        ours.then_some(from)
    }

    /// The largest distance of a voxel centre from its counterpart, mm.
    pub fn separation_mm(&self, other: &Grid) -> f64 {
        let corners = self.corners().into_iter().zip(other.corners());
        corners.map(|(a, b)| a.distance(b)).fold(0.0, f64::max)
    }

    /// The difference from the grid of a scan, for parentheses: `3 × 3 × 3 voxels, the scan has 96 × 96 × 60`.
    pub fn difference_from_scan(&self, scan: &Grid) -> String {
        let shape = |[x, y, z]: [usize; 3]| format!("{x} × {y} × {z}");
        match self.shape == scan.shape {
            true => format!(
                "up to {:.1} mm away from the scan's voxels",
                scan.separation_mm(self)
            ),
            false => {
                let (own, of_scan) = (shape(self.shape), shape(scan.shape));
                format!("{own} voxels, the scan has {of_scan}")
            }
        }
    }

    /// Nearest anatomical letters of the three voxel axes, as in `LAS` (the direction in which each points).
    pub fn orientation(&self) -> String {
        let letter = |(world, same): (usize, bool)| {
            [['L', 'R'], ['P', 'A'], ['I', 'S']][world][usize::from(same)]
        };
        self.world_axes().into_iter().map(letter).collect()
    }

    /// The world axis nearest to each voxel axis, and whether both point the same way. Each world axis occurs once.
    pub fn world_axes(&self) -> [(usize, bool); 3] {
        let m = self.world_from_voxel.matrix3;
        let mut free = [true; 3];
        let mut axes = [(0, true); 3];
        // The most certain axis is assigned first so that no world axis is used twice.
        let mut order: Vec<usize> = (0..3).collect();
        let certainty = |a: usize| m.col(a).normalize_or_zero().abs().max_element();
        order.sort_by(|&a, &b| certainty(b).total_cmp(&certainty(a)));
        for a in order {
            let d = m.col(a);
            let world = (0..3)
                .filter(|&w| free[w])
                .max_by(|&i, &j| d[i].abs().total_cmp(&d[j].abs()));
            let Some(world) = world else { continue };
            free[world] = false;
            axes[a] = (world, d[world] >= 0.0);
        }
        axes
    }

    /// The coordinates of a voxel if the axes were stored in the order RAS: they do not depend on how the image is
    /// stored.
    pub fn voxel_in_ras_order(&self, index: usize) -> [usize; 3] {
        let voxel = self.voxel(index);
        let mut in_order = [0; 3];
        for (a, (world, same)) in self.world_axes().into_iter().enumerate() {
            in_order[world] = match same {
                true => voxel[a],
                false => self.shape[a] - 1 - voxel[a],
            };
        }
        in_order
    }

    /// The largest deviation of two voxel axes from a right angle, degrees.
    pub fn shear_deg(&self) -> f64 {
        let m = self.world_from_voxel.matrix3;
        let off = |(a, b): (usize, usize)| {
            let between = m
                .col(a)
                .normalize_or_zero()
                .dot(m.col(b).normalize_or_zero());
            between.abs().min(1.0).asin().to_degrees()
        };
        [(0, 1), (1, 2), (0, 2)]
            .map(off)
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// Largest angle in degrees between a voxel axis and the world axis nearest to it.
    pub fn obliquity_deg(&self) -> f64 {
        let m = self.world_from_voxel.matrix3;
        (0..3)
            .map(|a| {
                m.col(a)
                    .normalize_or_zero()
                    .abs()
                    .max_element()
                    .min(1.0)
                    .acos()
                    .to_degrees()
            })
            .fold(0.0, f64::max)
    }
}
