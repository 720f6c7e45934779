//! The outline of streamlines, which a writer needs before it writes the first one.

use super::{all_finite, without_streamlines};
use crate::compute::memory;
use crate::data::Tractogram;
use crate::io::Error;
use crate::io::atomic::WriteStop;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Points that one thread examines at a time.
const BATCH: usize = 1 << 14;

/// Names the work in a claim of memory.
const JOINING: &str = "Joining the streamlines";

/// Numbers and names of streamlines, found in a pass over them.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The streamlines without any of them: names of values, meanings of codes, names of groups, grid.
    pub empty: Tractogram,
    /// Members of the groups, by the numbers of the streamlines.
    pub groups: BTreeMap<String, Arc<[u32]>>,
    /// Number of streamlines.
    pub streamlines: usize,
    /// Number of points.
    pub points: usize,
    /// Number of points with a coordinate that is not finite.
    pub not_finite: usize,
    /// The first streamline with such a point.
    pub first_not_finite: Option<usize>,
    /// Names of the values per point of which any is not finite.
    pub values_not_finite: BTreeSet<String>,
    /// World bounds of the finite points, mm; `None` if there are none.
    pub bounds: Option<(DVec3, DVec3)>,
}

impl Outline {
    /// No streamlines yet, with the names of values and groups of `empty`.
    pub fn new(empty: Tractogram) -> Self {
        Self {
            empty,
            groups: BTreeMap::new(),
            streamlines: 0,
            points: 0,
            not_finite: 0,
            first_not_finite: None,
            values_not_finite: BTreeSet::new(),
            bounds: None,
        }
    }

    /// The outline of a whole tractogram.
    pub fn whole(tractogram: &Tractogram) -> Self {
        let mut outline = Self::new(without_streamlines(tractogram));
        outline.groups = tractogram.groups.clone();
        outline.add(tractogram);
        outline
    }

    /// Adds the next streamlines. Examines every point and every value per point.
    pub fn add(&mut self, piece: &Tractogram) {
        let extents = piece.points.par_chunks(BATCH).map(Extent::new);
        let extent = extents.reduce(Extent::default, Extent::joined);
        if extent.not_finite > 0 && self.first_not_finite.is_none() {
            let mut streamlines = piece.streamlines();
            let first = streamlines.position(|s| !all_finite(s));
            self.first_not_finite = first.map(|i| self.streamlines + i);
        }
        self.not_finite += extent.not_finite;
        self.bounds = match (self.bounds, extent.bounds()) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        for (name, values) in &piece.per_point {
            let finite = |values: &[f32]| values.iter().all(|v| v.is_finite());
            if !self.values_not_finite.contains(name) && !values.par_chunks(BATCH).all(finite) {
                self.values_not_finite.insert(name.clone());
            }
        }
        self.streamlines += piece.len();
        self.points += piece.points.len();
    }

    /// The largest distance of a finite coordinate from the world's origin, mm.
    pub(in crate::io) fn reach(&self) -> f32 {
        let farthest = |(low, high): (DVec3, DVec3)| low.abs().max(high.abs()).max_element();
        self.bounds.map_or(0.0, farthest) as f32
    }
}

/// The points that are not finite, and the extent of the others.
#[derive(Clone, Copy)]
struct Extent {
    not_finite: usize,
    low: Vec3,
    high: Vec3,
}

impl Default for Extent {
    fn default() -> Self {
        Self {
            not_finite: 0,
            low: Vec3::INFINITY,
            high: Vec3::NEG_INFINITY,
        }
    }
}

impl Extent {
    fn new(points: &[[f32; 3]]) -> Self {
        /// Whole registers of coordinates.
        const LANES: usize = 48;
        if !all_finite(points) {
            let points = points.iter().map(|p| Vec3::from(*p));
            let (finite, others): (Vec<Vec3>, Vec<Vec3>) = points.partition(|p| p.is_finite());
            let finite = finite.into_iter().fold(Self::default(), Self::with);
            return Self {
                not_finite: others.len(),
                ..finite
            };
        }
        let (many, rest) = points.as_flattened().as_chunks::<LANES>();
        let (mut low, mut high) = ([f32::INFINITY; LANES], [f32::NEG_INFINITY; LANES]);
        for values in many {
            for i in 0..LANES {
                low[i] = if values[i] < low[i] {
                    values[i]
                } else {
                    low[i]
                };
                high[i] = if values[i] > high[i] {
                    values[i]
                } else {
                    high[i]
                };
            }
        }
        let corners = low.as_chunks::<3>().0.iter().zip(high.as_chunks::<3>().0);
        let corners = corners.map(|(low, high)| Self {
            not_finite: 0,
            low: Vec3::from(*low),
            high: Vec3::from(*high),
        });
        let points = rest.as_chunks::<3>().0.iter().map(|p| Vec3::from(*p));
        points.fold(corners.fold(Self::default(), Self::joined), Self::with)
    }

    fn with(self, point: Vec3) -> Self {
        Self {
            low: self.low.min(point),
            high: self.high.max(point),
            ..self
        }
    }

    fn joined(self, other: Self) -> Self {
        Self {
            not_finite: self.not_finite + other.not_finite,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }

    fn bounds(self) -> Option<(DVec3, DVec3)> {
        (self.low.x <= self.high.x).then(|| (self.low.as_dvec3(), self.high.as_dvec3()))
    }
}

/// Receives streamlines.
pub type Take<'a> = dyn FnMut(&Tractogram) -> Result<(), WriteStop> + Send + 'a;

/// Streamlines to be written.
pub struct Contents<'a> {
    /// Known before the first is written.
    pub outline: &'a Outline,
    /// Passes all of them on, in their order, piece by piece; pieces have no groups.
    pub pass: &'a mut (dyn FnMut(&mut Take) -> Result<(), WriteStop> + 'a),
}

impl Contents<'_> {
    /// Calls `write` with a whole tractogram as one piece.
    pub fn whole<T>(tractogram: &Tractogram, write: impl FnOnce(&mut Contents) -> T) -> T {
        write(&mut Contents {
            outline: &Outline::whole(tractogram),
            pass: &mut |take| take(tractogram),
        })
    }

    /// All streamlines in memory, for a format that is written as a whole.
    pub fn joined(&mut self, path: &Path) -> Result<Tractogram, Error> {
        let outline = self.outline;
        let mut pieces: Vec<Tractogram> = Vec::new();
        let collected = (self.pass)(&mut |piece| {
            // One piece is shared; several are in memory twice while they are joined.
            if pieces.is_empty() && piece.len() < outline.streamlines {
                let each = size_of::<[f32; 3]>() + size_of::<f32>() * piece.per_point.len();
                let claimed = memory::claim_for::<u8>(JOINING, outline.points, 2 * each);
                claimed.map_err(|shortage| Error::NoRoomToJoin {
                    path: path.to_owned(),
                    bytes: shortage.bytes,
                })?;
            }
            pieces.push(piece.clone());
            Ok(())
        });
        collected.map_err(|stop| match stop {
            WriteStop::Error(error) => error,
            WriteStop::Io(error) => Error::writing(path, &error),
        })?;
        let mut all = match pieces.len() {
            0 => outline.empty.clone(),
            1 => pieces.remove(0),
            _ => joined(&pieces),
        };
        all.groups = outline.groups.clone();
        all.codes = outline.empty.codes.clone();
        all.per_group = outline.empty.per_group.clone();
        all.grid = outline.empty.grid.clone();
        Ok(all)
    }
}

/// The streamlines of several pieces with their values.
fn joined(pieces: &[Tractogram]) -> Tractogram {
    let points: Vec<[f32; 3]> = pieces
        .iter()
        .flat_map(|p| p.points.iter().copied())
        .collect();
    let mut offsets = vec![0u64];
    for piece in pieces {
        let before = offsets.last().copied().unwrap_or(0);
        offsets.extend(piece.offsets[1..].iter().map(|end| before + end));
    }
    let mut all = Tractogram::new(points, offsets);
    let Some(first) = pieces.first() else {
        return all;
    };
    for name in first.per_point.keys() {
        let values = pieces.iter().filter_map(|p| p.per_point.get(name));
        let values: Vec<f32> = values.flat_map(|v| v.iter().copied()).collect();
        all = all.with_per_point(name, values);
    }
    for name in first.per_streamline.keys() {
        let values = pieces.iter().filter_map(|p| p.per_streamline.get(name));
        let values: Vec<f32> = values.flat_map(|v| v.iter().copied()).collect();
        all = all.with_per_streamline(name, values);
    }
    all
}
