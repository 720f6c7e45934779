//! Distances from a surface to streamlines and to other surfaces, as they are drawn: φ is trilinear between voxel
//! centres, streamlines are straight between points. Distances are proven lower bounds; how far at most they lie below the
//! true distance is an argument.

mod crossings;
mod hull;
mod isosurface;
mod margin;
mod search;

pub use crossings::{Crossings, overlap, through};
pub use isosurface::Isosurface;
pub use margin::within;

use crate::data::Tractogram;
use crate::data::bounding_chunks::Bounds as PieceBounds;
use glam::{DVec3, Vec3};
use isosurface::Bounds;
use rayon::prelude::*;
use search::{CandidatePairs, Other, SmallestDistance, SurfaceSearch};

/// Points of the other object from which a first bound is computed.
const SAMPLES: usize = 64;
/// Streamlines that a thread processes at once.
const AT_ONCE: usize = 64;

/// Precision of distances that are shown, mm.
pub const EXACT_MM: f64 = 1e-3;

/// The shortest distance from a surface to another object.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Approach {
    /// Proven lower bound: nothing is closer.
    pub mm: f64,
    /// The distance between the two points below, an upper bound on the true distance.
    pub at_most_mm: f64,
    /// The point on the other object, world mm.
    pub point: DVec3,
    /// The nearest point on the surface, world mm.
    pub surface: DVec3,
}

fn world(point: &[f32; 3]) -> DVec3 {
    Vec3::from(*point).as_dvec3()
}

/// A streamline's segments between finite points; a single point is a segment of length 0.
fn segments(points: &[[f32; 3]]) -> impl Iterator<Item = [DVec3; 2]> {
    let alone = (points.len() == 1).then(|| [world(&points[0]); 2]);
    let all = points.windows(2).map(|w| [world(&w[0]), world(&w[1])]);
    let all = all.chain(alone);
    all.filter(|[a, b]| a.is_finite() && b.is_finite())
}

/// A box for [`crate::data::bounding_chunks::BoundingChunks::pieces_near`], slightly enlarged.
fn pieces_within(bounds: &Bounds, margin: f64) -> PieceBounds {
    let margin = DVec3::splat(margin.min(f64::from(f32::MAX)));
    let low = (bounds.low - margin).as_vec3().to_array();
    let high = (bounds.high + margin).as_vec3().to_array();
    PieceBounds {
        low: low.map(f32::next_down),
        high: high.map(f32::next_up),
    }
}

/// The shortest distance from a surface to any streamline; `None` where either is empty. `known`: a point of a
/// streamline that was close before, which shortens the search. The distance is at most `precision_mm` too small. Needs
/// the backend's threads installed.
pub fn to_streamlines(
    surface: &Isosurface,
    lines: &Tractogram,
    known: Option<DVec3>,
    precision_mm: f64,
) -> Option<Approach> {
    let all = surface.bounds()?;
    let search = SurfaceSearch {
        surface,
        other: None,
    };
    let smallest = SmallestDistance::new(f64::INFINITY);
    let look = |ends: &[[DVec3; 2]], pairs: &mut CandidatePairs| {
        let others: Vec<Other> = ends.iter().map(|s| Other::Segment(*s)).collect();
        let bounds = Bounds::enclosing(ends.iter().flatten().copied());
        search.pairs(&bounds, &others, &smallest, pairs);
    };
    let every = (lines.points.len() / SAMPLES).max(1);
    let some = lines.points.iter().step_by(every).map(world);
    let first = known.into_iter().chain(some).filter(|p| p.is_finite());
    for point in first {
        look(&[[point; 2]], &mut CandidatePairs::new());
    }
    let pieces = lines.pieces();
    let of_line = |mut pairs: CandidatePairs, line: usize| {
        let points = lines.streamline(line);
        let requested = pieces_within(&all, smallest.mm());
        for range in pieces.pieces_near(line, points.len(), requested) {
            let ends: Vec<[DVec3; 2]> = segments(&points[range]).collect();
            if !ends.is_empty() {
                look(&ends, &mut pairs);
            }
        }
        pairs
    };
    let each = (0..lines.len()).into_par_iter().with_min_len(AT_ONCE);
    let mut pairs = each
        .fold(CandidatePairs::new, of_line)
        .reduce(CandidatePairs::new, CandidatePairs::with);
    pairs.drop_far(&smallest);
    search.refine(pairs, precision_mm)
}

/// The shortest distance from a surface to another; `None` where either is empty. `known`: a point of the other
/// surface that was close before. The distance is at most `precision_mm` too small. Needs the backend's threads installed.
pub fn to_surface(
    surface: &Isosurface,
    other: &Isosurface,
    known: Option<DVec3>,
    precision_mm: f64,
) -> Option<Approach> {
    surface.bounds()?;
    let search = SurfaceSearch {
        surface,
        other: Some(other),
    };
    let smallest = SmallestDistance::new(f64::INFINITY);
    let every = (other.cells().len() / SAMPLES).max(1);
    let some = other.cells().step_by(every);
    let some = some.filter_map(|cell| other.crossings(cell.into()).next());
    for point in known.into_iter().chain(some) {
        let bounds = Bounds::enclosing([point].into_iter());
        let others = [Other::Segment([point; 2])];
        search.pairs(&bounds, &others, &smallest, &mut CandidatePairs::new());
    }
    let of_cell = |mut pairs: CandidatePairs, cell: u32| {
        let bounds = other.bounds_of(cell);
        search.pairs(&bounds, &[Other::Part(cell.into())], &smallest, &mut pairs);
        pairs
    };
    let each = other.cells().into_par_iter().with_min_len(AT_ONCE);
    let mut pairs = each
        .fold(CandidatePairs::new, of_cell)
        .reduce(CandidatePairs::new, CandidatePairs::with);
    pairs.drop_far(&smallest);
    search.refine(pairs, precision_mm)
}
