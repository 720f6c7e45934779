//! A pathway, and paths through its voxels.

use crate::data::{DataId, Mask, Region, Role, Tractogram, Volume};
use crate::solvers::metric::Places;
use crate::solvers::pathway::{Path, STRETCH_MM};
use crate::state::core::live::Detail;
use crate::state::pathways::{KnownCosts, PathwayCosts, PathwayKey};
use glam::DVec3;
use std::ops::Range;
use std::sync::Arc;

/// A pathway with the values to display.
#[derive(Clone, Debug)]
pub struct PathwayResult {
    pub pathway: PathwayCosts,
    /// (u₁ + u₂) / E* − 1, at most [`Self::MAXIMUM_EXCESS`], which also marks voxels without a path.
    pub excess: Volume,
    /// u₁ and u₂: NaN where there is no path.
    pub sides: [Volume; 2],
    /// Excess costs of all voxels as fractions of E*, ascending.
    pub shares: Arc<[f32]>,
    /// The ε of each voxel from which it belongs to the component that joins the ends, ascending.
    pub joining: Arc<[f32]>,
    /// The minimal path.
    pub path: Path,
    pub curve: Tractogram,
    /// The costliest stretch per mm; `None` for a path that hardly leaves the regions.
    pub weakest: Option<CostliestStretch>,
    /// Mean FA along the path; `None` through distributions.
    pub mean_fa: Option<f64>,
    /// Costs are known up to this share above the least one; `None`: everywhere.
    pub excess_limit: Option<f64>,
    pub voxels: usize,
    /// Voxels whose cost was too anisotropic, and was limited.
    pub limited: u64,
    pub key: PathwayKey,
    pub coarse: bool,
    pub kept: Option<u64>,
    /// Prepared costs for the next pathway; `None` for a kept one.
    pub prepared: Option<KnownCosts>,
    /// Whether the metric, or the costs in all directions, were computed for it, rather than taken from `prepared`.
    pub metric_was_computed: bool,
    pub prepare_ms: f64,
    pub solve_ms: f64,
    /// Ends that an excluded region takes a part of.
    pub clipped: Vec<ClippedEnd>,
}

/// An end of which only the part outside an excluded region counts.
#[derive(Clone, Debug)]
pub struct ClippedEnd {
    pub end: String,
    pub excluded: String,
}

impl ClippedEnd {
    pub fn all(regions: &[Region]) -> Vec<Self> {
        let excluded = || regions.iter().filter(|r| r.role == Role::Exclude);
        let ends = regions
            .iter()
            .filter(|r| matches!(r.role, Role::Seed | Role::Target));
        ends.flat_map(|end| {
            let overlapping = excluded().filter(|r| r.shape.overlaps(&end.shape));
            overlapping.map(|r| Self {
                end: end.name.clone(),
                excluded: r.name.clone(),
            })
        })
        .collect()
    }
}

/// A query for the path through a voxel of a pathway's image.
#[derive(Clone, Debug)]
pub struct PathQuery {
    pub pathway: Arc<PathwayResult>,
    pub voxel: [usize; 3],
}

/// The best path through a voxel.
#[derive(Clone, Debug)]
pub struct PathAtVoxel {
    /// Id of the pathway's image.
    pub pathway: DataId,
    pub voxel: [usize; 3],
    pub path: Path,
    pub curve: Tractogram,
    /// Cost above the least cost, as a fraction of the least cost.
    pub excess: f64,
    pub weakest: Option<CostliestStretch>,
}

/// The stretch of a path between regions that costs most per mm.
#[derive(Clone, Debug)]
pub struct CostliestStretch {
    /// Its centre, world mm.
    pub centre: DVec3,
    pub cost_per_mm: f64,
    /// The mean over the whole path between the regions.
    pub mean_per_mm: f64,
    pub length_mm: f64,
    /// Its start along the path, mm.
    pub from_mm: f64,
    pub curve: Tractogram,
    /// The path before and after it.
    pub rest: Tractogram,
}

impl CostliestStretch {
    /// Length of the reported stretch.
    pub const STRETCH_MM: f64 = STRETCH_MM;

    pub fn times_mean(&self) -> f64 {
        self.cost_per_mm / self.mean_per_mm.max(f64::MIN_POSITIVE)
    }

    /// Points in a region or within a voxel of its boundary do not count: costs start from known values there, and the
    /// first voxel outside is charged for the step across the boundary.
    pub fn find(path: &Path, places: &Places, regions: &[Region]) -> Option<Self> {
        let between = path.between(places.grid.spacing().max_element(), |at| {
            let ends = |r: &&Region| matches!(r.role, Role::Seed | Role::Target);
            regions.iter().filter(ends).any(|r| r.shape.contains(at))
        });
        let stretch = path.weakest(Self::STRETCH_MM, between.clone());
        let last = stretch.end.checked_sub(1).filter(|l| *l > stretch.start)?;
        let (from_mm, to_mm) = (path.length_mm[stretch.start], path.length_mm[last]);
        let middle_mm = 0.5 * (from_mm + to_mm);
        let middle = path.length_mm.partition_point(|mm| *mm < middle_mm);
        let around = [0..stretch.start + 1, last..path.points.len()];
        Some(Self {
            centre: *path.points.get(middle)?,
            cost_per_mm: path.cost_per_mm_between(stretch.start, last),
            mean_per_mm: path.cost_per_mm_between(between.start, between.end - 1),
            length_mm: to_mm - from_mm,
            from_mm,
            curve: parts(path, &[stretch], places),
            rest: parts(path, &around, places),
        })
    }
}

/// Parts of a path as streamlines; single points are left out.
fn parts(path: &Path, ranges: &[Range<usize>], places: &Places) -> Tractogram {
    let ranges = ranges.iter().filter(|range| range.len() > 1);
    let parts = ranges.map(|range| path.streamline().skip(range.start).take(range.len()));
    Tractogram::of_curves(parts).with_grid(places.grid.clone())
}

impl PathQuery {
    /// `None` if there is no path.
    pub fn path(&self) -> Option<PathAtVoxel> {
        let Self { pathway, voxel } = self;
        let places = &pathway.pathway.places;
        let place = places.place_of(voxel.map(|v| v as i64))?;
        let excess = pathway.excess_at(place)?;
        let path = pathway.pathway.path_through(place)?;
        Some(PathAtVoxel {
            pathway: pathway.excess.id(),
            voxel: *voxel,
            curve: PathwayResult::line_of(&path, places),
            excess,
            weakest: CostliestStretch::find(&path, places, &pathway.key.regions),
            path,
        })
    }
}

impl PathwayResult {
    /// Excess costs above this are not distinguished: more than any width, since it also marks voxels without a path.
    pub const MAXIMUM_EXCESS: f32 = 2.0;

    pub fn detail(&self) -> Detail {
        match self.coarse {
            true => Detail::Coarse,
            false => Detail::Full,
        }
    }

    /// (u₁ + u₂) / E* − 1 at a place; `None` where no path leads, and beyond [`Self::excess_limit`]: some costs there are
    /// known, their neighbours' are not.
    pub fn excess_at(&self, place: usize) -> Option<f64> {
        let excess = f64::from(self.pathway.total[place]) / self.pathway.min_cost - 1.0;
        let is_known = match self.excess_limit {
            Some(limit) => excess <= limit * (1.0 + f64::from(f32::EPSILON)),
            None => excess.is_finite(),
        };
        is_known.then_some(excess)
    }

    /// The excess costs from the first colour to the last one, which is no farther than costs are known.
    pub fn excess_window(&self, last: f32) -> (f32, f32) {
        let limit = self.excess_limit.map_or(f32::MAX, |limit| limit as f32);
        (0.0, last.min(limit))
    }

    /// Its share of the memory while it is kept: neither the data for the next pathway nor those for other paths.
    pub fn to_keep(&self) -> Self {
        Self {
            pathway: self.pathway.to_keep(),
            prepared: None,
            ..self.clone()
        }
    }

    /// Voxels of the ε-pathway.
    pub fn count(&self, epsilon: f64) -> usize {
        self.shares.partition_point(|&s| f64::from(s) <= epsilon)
    }

    /// A path as a streamline with the accumulated cost at each point.
    pub fn line_of(path: &Path, places: &Places) -> Tractogram {
        let cost: Vec<f32> = path.cost.iter().map(|c| *c as f32).collect();
        Tractogram::of_curves([path.streamline()])
            .with_per_point("cost", cost)
            .with_per_streamline("length", vec![path.total_mm() as f32])
            .with_grid(places.grid.clone())
    }

    /// The component that joins the ends; if there is none, the whole set.
    pub fn mask(&self, epsilon: f64) -> Mask {
        let joined = self.pathway.joining_mask(epsilon);
        joined.unwrap_or_else(|| self.pathway.mask(epsilon))
    }

    /// Volume of the component that joins the ends; if there is none, volume of the whole set.
    pub fn volume_ml(&self, epsilon: f64) -> f64 {
        let count = match epsilon >= self.pathway.joining_epsilon {
            true => self.joining.partition_point(|&j| f64::from(j) <= epsilon),
            false => self.count(epsilon),
        };
        let voxel = self.pathway.places.grid.world_from_voxel.matrix3;
        count as f64 * voxel.determinant().abs() * 1e-3
    }
}
