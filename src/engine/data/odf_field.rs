//! Fibre orientation distributions on a grid.
//!
//! A distribution is a series of even spherical harmonics in MRtrix's basis and along world axes. Images of other
//! programs differ in basis and axes, which no header states: [`OdfLayout`] names both, and [`OdfConversion`] converts
//! an image once.
//!
//! # Example
//!
//! The coefficients that represent the same distribution in every direction:
//!
//! ```
//! use arcuate_engine::data::spherical_harmonics::count;
//! use arcuate_engine::data::{Grid, OdfField};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let grid = Grid::axis_aligned([1, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let mut coefficients = vec![0.0; count(4)];
//! coefficients[0] = 1.0;
//! let field = OdfField::new(Arc::new(grid), 4, coefficients);
//! assert_eq!(field.order(), 4);
//! assert_eq!(field.coefficients_at(0)[0], 1.0);
//! assert_eq!(field.volume().frames, 15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::spherical_harmonics::{Basis, Rotation, count, degrees, order_of_count};
use super::{DataId, Grid, Mask, Shared, TensorFrame, Volume, VolumeKind, keyed};
use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The highest order of an image of distributions.
pub const MAX_ODF_ORDER: usize = 16;
/// Volumes before the coefficients in an image of Camino: exit code and ln S0.
const BEFORE_CAMINO: usize = 2;

/// How an image stores distributions. A basis that differs by signs alone turns fibres by 180° about z, and wrong axes
/// mirror them, so both are always stated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct OdfLayout {
    /// Basis of the spherical harmonics.
    pub basis: Basis,
    /// Axes to which directions refer.
    pub frame: TensorFrame,
}

impl OdfLayout {
    /// The layout in which this program and MRtrix write distributions.
    pub const MRTRIX: Self = Self {
        basis: Basis::MRtrix,
        frame: TensorFrame::World,
    };

    /// Every reading of an image of this many volumes: five bases, in the axes of the image and of the world.
    pub fn of_volumes(volumes: usize) -> impl Iterator<Item = Self> {
        let frames = |basis| TensorFrame::ALL.map(|frame| Self { basis, frame });
        let all = Basis::ALL.into_iter().flat_map(frames);
        all.filter(move |layout| layout.order(volumes).is_some())
    }

    /// The order of the harmonics in an image of this many volumes, and the number of volumes before them; `None` if
    /// there is none.
    fn order_and_first(self, volumes: usize) -> Option<(usize, usize)> {
        let order = |count: usize| order_of_count(count).filter(|order| *order <= MAX_ODF_ORDER);
        let whole = order(volumes).map(|order| (order, 0));
        let camino = || {
            let order = order(volumes.checked_sub(BEFORE_CAMINO)?)?;
            // Three volumes are a vector.
            (self.basis == Basis::Camino && order > 0).then_some((order, BEFORE_CAMINO))
        };
        whole.or_else(camino)
    }

    /// The order of the harmonics in an image of this many volumes; `None` if it cannot have this layout.
    pub fn order(self, volumes: usize) -> Option<usize> {
        self.order_and_first(volumes).map(|(order, _)| order)
    }

    /// The text `MRtrix 3, world axes`.
    pub fn description(self) -> String {
        format!("{}, {} axes", self.basis.label(), self.frame.name())
    }
}

/// Prints command options: ` --odf-basis mrtrix --odf-frame world`.
impl fmt::Display for OdfLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (basis, frame) = (self.basis.key(), self.frame.key());
        write!(f, " --odf-basis {basis} --odf-frame {frame}")
    }
}

/// The tissue that a distribution describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tissue {
    /// Tissue with fibres, the only one whose response depends on direction.
    WhiteMatter,
    /// Tissue of cell bodies, isotropic.
    GreyMatter,
    /// Free fluid, isotropic.
    Csf,
}

keyed!(Tissue, serde {
    WhiteMatter = "wm",
    GreyMatter = "gm",
    Csf = "csf",
});

impl Tissue {
    /// All tissues, white matter first.
    pub const ALL: [Self; 3] = [Self::WhiteMatter, Self::GreyMatter, Self::Csf];

    /// Name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::WhiteMatter => "white matter",
            Self::GreyMatter => "grey matter",
            Self::Csf => "CSF",
        }
    }

    /// Name as a label.
    pub fn label(self) -> &'static str {
        match self {
            Self::WhiteMatter => "White matter",
            Self::GreyMatter => "Grey matter",
            Self::Csf => "CSF",
        }
    }

    /// The tissue in a file's name: a label as in QSIRecon's `…_label-WM_dwimap.mif.gz`, otherwise a word as in
    /// MRtrix's `wmfod.mif` and `gm.nii.gz`, also where intensities were corrected (`wmFODmtnormed`).
    pub fn in_name(file_name: &str) -> Option<Self> {
        let name = file_name.to_ascii_lowercase();
        let parts = || name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let label = parts().find_map(|part| part.strip_prefix("label-"));
        let tissue = |word: &str| match without_correction(word) {
            "wm" | "wmfod" | "fodwm" => Some(Self::WhiteMatter),
            "gm" | "gmfod" | "fodgm" => Some(Self::GreyMatter),
            "csf" | "csffod" | "fodcsf" => Some(Self::Csf),
            _ => None,
        };
        match label {
            Some(label) => tissue(label),
            None => parts().flat_map(|part| part.split('-')).find_map(tissue),
        }
    }
}

/// A word without the ending that says that MRtrix's `mtnormalise` has corrected the intensities.
fn without_correction(word: &str) -> &str {
    let endings = ["mtnormed", "mtnorm", "normed", "norm"];
    let mut without = endings.iter().filter_map(|end| word.strip_suffix(end));
    without.next().unwrap_or(word)
}

/// Fibre orientation distributions, one per voxel.
#[derive(Clone, Debug)]
pub struct OdfField {
    id: DataId,
    /// Grid of the distributions.
    pub grid: Arc<Grid>,
    order: usize,
    /// `coefficients[i * voxel_count + grid.index(voxel)]`, in MRtrix's basis and world axes; 0 or NaN where there is
    /// none.
    pub coefficients: Shared<f32>,
}

impl OdfField {
    /// Panics if the number of coefficients does not match the grid and the order (a broken invariant, not data).
    pub fn new(grid: Arc<Grid>, order: usize, coefficients: impl Into<Shared<f32>>) -> Self {
        let coefficients = coefficients.into();
        assert_eq!(
            coefficients.len(),
            grid.voxel_count() * count(order),
            "coefficients against their grid"
        );
        Self {
            id: DataId::fresh(),
            grid,
            order,
            coefficients,
        }
    }

    /// Identity of the values, shared by clones; caches use it as their key.
    pub fn id(&self) -> DataId {
        self.id
    }

    /// The highest degree of the harmonics.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Coefficients of a voxel.
    pub fn coefficients_at(&self, voxel: usize) -> Vec<f64> {
        let n = self.grid.voxel_count();
        let planes = self.coefficients.chunks_exact(n);
        planes.map(|plane| f64::from(plane[voxel])).collect()
    }

    /// The image of the coefficients, in the layout [`OdfLayout::MRTRIX`]. It shares their memory.
    pub fn volume(&self) -> Volume {
        Volume::new(
            self.grid.clone(),
            count(self.order),
            VolumeKind::Scalar,
            self.coefficients.clone(),
        )
    }

    /// The voxels that have a distribution.
    pub fn mask(&self) -> Mask {
        let voxels = 0..self.grid.voxel_count();
        let inside: Vec<u8> = voxels.map(|v| u8::from(self.has_distribution(v))).collect();
        Mask::new(self.grid.clone(), inside)
    }

    /// Whether a voxel has a distribution: coefficients that are finite and not all 0.
    pub fn has_distribution(&self, voxel: usize) -> bool {
        let n = self.grid.voxel_count();
        is_distribution(self.order, |i| self.coefficients[i * n + voxel])
    }

    /// The share of voxels with a distribution whose coefficients no function without negative values can have:
    /// |c_lm| ≤ √(2l + 1) c_00. Ringing of noisy data exceeds it in a few. Large images are sampled.
    pub fn implausible_share(&self) -> f64 {
        implausible_share(self.order, self.grid.voxel_count(), &self.coefficients)
    }

    /// Refuses images without directions and those that hold something else.
    pub fn check(&self) -> Result<(), InvalidOdf> {
        if self.order == 0 {
            return Err(InvalidOdf::NoDirections);
        }
        match self.implausible_share() {
            share if share > MAX_IMPLAUSIBLE_SHARE => Err(InvalidOdf::Implausible { share }),
            _ => Ok(()),
        }
    }
}

fn is_distribution(order: usize, coefficient: impl Fn(usize) -> f32) -> bool {
    let all = || (0..count(order)).map(&coefficient);
    all().all(f32::is_finite) && all().any(|c| c != 0.0)
}

/// Like [`OdfField::implausible_share`], for planes of `n` coefficients one after the other in any basis.
pub fn implausible_share(order: usize, n: usize, planes: &[f32]) -> f64 {
    let (mut used, mut implausible) = (0usize, 0usize);
    for voxel in (0..n).step_by((n / EXAMINED).max(1)) {
        let coefficient = |i: usize| planes[i * n + voxel];
        if is_distribution(order, coefficient) {
            used += 1;
            implausible += usize::from(exceeds_mean(order, coefficient));
        }
    }
    match used {
        0 => 1.0,
        used => implausible as f64 / used as f64,
    }
}

/// An image with a larger share of implausible voxels does not hold distributions; noise and ringing cause far smaller
/// shares.
pub const MAX_IMPLAUSIBLE_SHARE: f64 = 0.25;

/// Why an image does not hold fibre orientation distributions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum InvalidOdf {
    /// Distributions of order 0, which have no directions.
    NoDirections,
    /// The share of voxels whose coefficients no distribution can have.
    Implausible {
        /// Fraction, 0..=1.
        share: f64,
    },
}

impl fmt::Display for InvalidOdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDirections => f.write_str(
                "Found distributions of order 0, expected order 2 or more; choose the image of white matter",
            ),
            Self::Implausible { share } => write!(
                f,
                "Found coefficients that no fibre orientation distribution can have in {:.0} % of the voxels, expected \
                 less than {:.0} %; choose an image of fibre orientation distributions, or state its basis",
                100.0 * share,
                100.0 * MAX_IMPLAUSIBLE_SHARE
            ),
        }
    }
}

impl std::error::Error for InvalidOdf {}

/// The typical amplitude of fibres in white matter, from the largest amplitude of each voxel: the median of those that
/// are at least a third of the largest one but for outliers, since spurious lobes in other tissue stay below. `None`
/// unless some are above 0.
pub fn typical_amplitude(mut largest: Vec<f32>) -> Option<f32> {
    const WHITE_MATTER_SHARE: f32 = 0.33;
    const OUTLIERS: f64 = 0.005;
    largest.retain(|amplitude| amplitude.is_finite());
    largest.sort_unstable_by(f32::total_cmp);
    let outliers = (OUTLIERS * largest.len() as f64) as usize;
    let highest = largest[largest.len().checked_sub(1 + outliers)?];
    let limit = WHITE_MATTER_SHARE * highest;
    let white_matter = &largest[largest.partition_point(|amplitude| *amplitude < limit)..];
    let median = white_matter.get(white_matter.len() / 2).copied();
    median.filter(|amplitude| *amplitude > 0.0)
}

/// Converts coefficients of a layout to MRtrix's basis and world axes.
#[derive(Clone, Debug)]
pub struct OdfConversion {
    order: usize,
    first: usize,
    /// For each coefficient, the volume after the first and its factor.
    table: Vec<(usize, f64)>,
    /// `None` if the image is in world axes.
    rotation: Option<Rotation>,
}

impl OdfConversion {
    /// For an image of this many volumes; `None` if it cannot have the layout.
    pub fn new(layout: OdfLayout, volumes: usize, grid: &Grid) -> Option<Self> {
        let (order, first) = layout.order_and_first(volumes)?;
        let matrix = layout.frame.world_from_frame(grid);
        Some(Self {
            order,
            first,
            table: layout.basis.table(order),
            rotation: (matrix != DMat3::IDENTITY).then(|| Rotation::new(order, matrix)),
        })
    }

    /// The highest degree of the converted harmonics, even.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Volumes before the coefficients.
    pub fn first_volume(&self) -> usize {
        self.first
    }

    /// Whether coefficients stay as they are.
    pub fn is_identity(&self) -> bool {
        let same = |(i, &(from, factor)): (usize, &(usize, f64))| from == i && factor == 1.0;
        self.first == 0 && self.rotation.is_none() && self.table.iter().enumerate().all(same)
    }

    /// The coefficients of one voxel from its stored ones.
    pub fn convert(&self, stored: &[f64]) -> Vec<f64> {
        let in_basis = self
            .table
            .iter()
            .map(|&(from, factor)| factor * stored[from]);
        let in_basis: Vec<f64> = in_basis.collect();
        match &self.rotation {
            Some(rotation) => rotation.apply(&in_basis),
            None => in_basis,
        }
    }
}

/// Lower orders are not recognised: the elements of a tensor are as many as the coefficients up to order 2.
const MIN_RECOGNISED_ORDER: usize = 4;
/// Largest number of voxels that are examined.
const EXAMINED: usize = 20_000;
/// Largest share of voxels whose first coefficient is not positive, and of those with an implausible coefficient.
const NOT_POSITIVE: f64 = 0.2;
const IMPLAUSIBLE: f64 = 0.2;
/// Smallest share of each sign among the other coefficients. The signal of a scan is never negative.
const EACH_SIGN: f64 = 0.2;

/// The order of the spherical harmonics if an image appears to hold distributions, in whatever basis: the number of its
/// volumes fits, the first coefficient is positive, the others have both signs, and few are larger than those of a
/// function without negative values.
pub fn order_of_distributions(volume: &Volume) -> Option<usize> {
    let recognised = MIN_RECOGNISED_ORDER..=MAX_ODF_ORDER;
    let order = order_of_count(volume.frames).filter(|order| recognised.contains(order))?;
    if volume.kind != VolumeKind::Scalar {
        return None;
    }
    let n = volume.grid.voxel_count();
    let planes: Vec<&[f32]> = volume.values.chunks_exact(n).collect();
    let (mut used, mut not_positive, mut implausible) = (0usize, 0usize, 0usize);
    let (mut negative, mut nonzero) = (0usize, 0usize);
    for voxel in (0..n).step_by((n / EXAMINED).max(1)) {
        let mean = planes[0][voxel];
        let others = || planes[1..].iter().map(|plane| plane[voxel]);
        if !mean.is_finite() || others().all(|c| c == 0.0 || c.is_nan()) {
            continue;
        }
        used += 1;
        nonzero += others().filter(|c| *c != 0.0).count();
        negative += others().filter(|c| *c < 0.0).count();
        not_positive += usize::from(mean <= 0.0);
        implausible += usize::from(exceeds_mean(order, |i| planes[i][voxel]));
    }
    let share = |count: usize, total: usize| count as f64 / total.max(1) as f64;
    let both_signs = (EACH_SIGN..=1.0 - EACH_SIGN).contains(&share(negative, nonzero));
    let is_positive = share(not_positive, used) <= NOT_POSITIVE;
    let is_plausible = share(implausible, used) <= IMPLAUSIBLE;
    (used > 0 && both_signs && is_positive && is_plausible).then_some(order)
}

/// Whether a coefficient is larger than that of any function without negative values: |c_lm| ≤ √(2l + 1) c_00.
fn exceeds_mean(order: usize, coefficient: impl Fn(usize) -> f32) -> bool {
    let mean = coefficient(0);
    let largest = |l: usize| (2.0 * l as f32 + 1.0).sqrt() * mean * 1.001;
    let mut all = degrees(order).enumerate();
    all.any(|(i, (l, _))| coefficient(i).abs() > largest(l))
}

/// A matrix without its reflection and rotation is close to 1 by less than this for a rigid transform.
const RIGID: f64 = 1e-6;

/// Whether a linear transform keeps lengths.
pub fn is_rigid(linear: DMat3) -> bool {
    (linear.transpose() * linear).abs_diff_eq(DMat3::IDENTITY, RIGID)
}

/// The direction of a fibre after a linear transform of the space, and the factor of its density: a bundle that becomes
/// wider or shorter keeps the number of its fibres (Raffelt et al. 2012, Magn Reson Med 67:844).
pub fn moved_fibre(linear: DMat3, direction: DVec3) -> (DVec3, f64) {
    let moved = linear * direction;
    let factor = moved.length() / linear.determinant().abs();
    (moved.normalize_or_zero(), factor)
}
