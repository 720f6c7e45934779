//! Scores of a tractogram against bundles whose course is known.
//!
//! *Connections*, as the Tractometer defines them (Côté et al. 2013, Med Image Anal 17:844). Valid (VC): both ends lie
//! in the two end regions of one bundle, and the streamline never leaves the corridor of that bundle. Invalid (IC): the
//! ends lie in two regions that no bundle connects, or the streamline connects the regions of a bundle but leaves its
//! corridor; the latter are also counted as wrong paths (WPC of Renauld et al. 2023, Sci Rep 13:2347). No connection
//! (NC): all others, among them those with both ends in one region. The three add up to all streamlines. A bundle with
//! a valid connection is a valid bundle (VB); a pair of regions that no bundle connects and a streamline does is an
//! invalid bundle (IB).
//!
//! *Volumes* of the valid connections V of a bundle and of its true fibres T, in voxels that a streamline passes, as in
//! the ISMRM 2015 challenge (Maier-Hein et al. 2017, Nat Commun 8:1349): overlap OL = |V ∩ T| / |T|, overreach
//! OR = |V \ T| / |T|, F1 = 2 |V ∩ T| / (|V| + |T|), the harmonic mean of |V ∩ T| / |T| and |V ∩ T| / |V|. A bundle
//! without valid connections has 0 in all of them, and means are over all bundles of the truth.
//!
//! Where streamlines pass is exact: segments are cut at the faces between voxels (`Walk` of `density`). Neither the order
//! of the streamlines nor their direction changes a score.
//!
//! # Example
//!
//! One streamline connects the ends of a bundle, another stops halfway:
//!
//! ```
//! use arcuate_engine::compute::{Backend, BackendChoice, Control};
//! use arcuate_engine::data::{Grid, Mask, Tractogram, Volume};
//! use arcuate_engine::solvers::score::{TrueBundle, Truth, score};
//! # use glam::DVec3;
//! # use std::sync::Arc;
//! let grid = Arc::new(Grid::axis_aligned([5, 1, 1], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?);
//! let truth = Truth {
//!     regions: Volume::scalar(grid.clone(), vec![1.0, 0.0, 0.0, 0.0, 2.0]),
//!     bundles: vec![TrueBundle {
//!         name: "straight".to_owned(),
//!         ends: [1, 2],
//!         fibres: Tractogram::new(vec![[0.0; 3], [4.0, 0.0, 0.0]], vec![0, 2]),
//!         corridor: Mask::new(grid, vec![1; 5]),
//!     }],
//! };
//! let points = vec![[0.0; 3], [4.0, 0.0, 0.0], [0.0; 3], [2.0, 0.0, 0.0]];
//! let tracked = Tractogram::new(points, vec![0, 2, 4]);
//!
//! let (backend, control) = (Backend::choose(&BackendChoice::cpu(None))?, Control::new());
//! let scores = score(&tracked, &truth, &backend, &control)?;
//! assert_eq!((scores.valid(), scores.invalid(), scores.unconnected()), (1, 0, 1));
//! assert_eq!(scores.bundles[0].overlap(), 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;

pub use super::Error;
use super::density::Walk;
use crate::compute::{Backend, Cancelled, Control, memory};
use crate::data::{Grid, Mask, Tractogram, Volume};
pub use error::InputError;
use glam::{DVec3, Vec3};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// A bundle whose course is known.
#[derive(Clone, Debug)]
pub struct TrueBundle {
    /// Name in reports.
    pub name: String,
    /// Labels of the regions in which it ends.
    pub ends: [u32; 2],
    /// Fibres that fill the bundle.
    pub fibres: Tractogram,
    /// Voxels that its streamlines may pass besides those of its end regions, on the grid of the regions.
    pub corridor: Mask,
}

/// All bundles, with the image in which their end regions are labelled.
#[derive(Clone, Debug)]
pub struct Truth {
    /// Label map of the end regions.
    pub regions: Volume,
    /// Bundles in the order of reports.
    pub bundles: Vec<TrueBundle>,
}

/// The regions or the bundle that a streamline connects. Bundles are numbered in the order of the truth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connection {
    /// Index of the bundle whose end regions it connects within the corridor.
    Valid(usize),
    /// The right ends outside the corridor.
    WrongPath(usize),
    /// Two regions that no bundle connects, the lower label first.
    Invalid([u32; 2]),
    /// No two end regions.
    None,
}

/// Scores of one bundle.
#[derive(Clone, PartialEq, Debug)]
pub struct BundleScore {
    /// Name of the bundle.
    pub name: String,
    /// Streamlines with a valid connection.
    pub valid: usize,
    /// Streamlines with the right ends that leave the corridor.
    pub wrong_paths: usize,
    /// Voxels of the true fibres.
    pub true_voxels: usize,
    /// True voxels that valid connections pass.
    pub shared_voxels: usize,
    /// Further voxels that valid connections pass.
    pub excess_voxels: usize,
}

impl BundleScore {
    /// Share of the true voxels that valid connections pass, 0..=1 (OL).
    pub fn overlap(&self) -> f64 {
        self.shared_voxels as f64 / self.true_voxels as f64
    }

    /// Voxels passed outside the truth, relative to the true voxels (OR); may exceed 1.
    pub fn overreach(&self) -> f64 {
        self.excess_voxels as f64 / self.true_voxels as f64
    }

    /// Dice coefficient of passed and true voxels, 0..=1.
    pub fn f1(&self) -> f64 {
        let passed = self.shared_voxels + self.excess_voxels;
        2.0 * self.shared_voxels as f64 / (passed + self.true_voxels) as f64
    }
}

/// Scores of a tractogram.
#[derive(Clone, PartialEq, Debug)]
pub struct Scores {
    /// Connection of each streamline.
    pub connections: Vec<Connection>,
    /// In the order of the truth.
    pub bundles: Vec<BundleScore>,
    /// Pairs of regions that no bundle connects, with their streamlines; the largest first.
    pub invalid_bundles: Vec<([u32; 2], usize)>,
    /// Streamlines with a point that is not finite; they count as no connection.
    pub not_finite: usize,
}

impl Scores {
    /// Valid connections of all bundles (VC).
    pub fn valid(&self) -> usize {
        self.bundles.iter().map(|b| b.valid).sum()
    }

    /// Wrong paths of all bundles (WPC).
    pub fn wrong_paths(&self) -> usize {
        self.bundles.iter().map(|b| b.wrong_paths).sum()
    }

    /// Invalid connections (IC), wrong paths included.
    pub fn invalid(&self) -> usize {
        let pairs: usize = self.invalid_bundles.iter().map(|(_, count)| count).sum();
        pairs + self.wrong_paths()
    }

    /// Streamlines that connect no two end regions (NC).
    pub fn unconnected(&self) -> usize {
        self.connections.len() - self.valid() - self.invalid()
    }

    /// Bundles with at least one valid connection (VB).
    pub fn valid_bundles(&self) -> usize {
        self.bundles.iter().filter(|b| b.valid > 0).count()
    }

    /// A score averaged over all bundles.
    pub fn mean(&self, score: impl Fn(&BundleScore) -> f64) -> f64 {
        self.bundles.iter().map(score).sum::<f64>() / self.bundles.len() as f64
    }
}

/// Streamlines per work item.
const PIECE: usize = 64;

/// Scores a tractogram.
pub fn score(
    tractogram: &Tractogram,
    truth: &Truth,
    backend: &Backend,
    control: &Control,
) -> Result<Scores, Error> {
    let checked = Checked::new(truth)?;
    // The connection of each streamline, and for each bundle the voxels of both tractograms.
    let bytes = tractogram.len() * size_of::<Connection>()
        + 2 * truth.regions.grid.voxel_count() * truth.bundles.len();
    memory::claim("The scores", bytes as u64)?;
    control.begin("Scoring", (tractogram.len() + truth.bundles.len()) as u64);
    backend.install(|| {
        let (connections, not_finite) = checked.connections(tractogram, control)?;
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); truth.bundles.len()];
        let mut wrong_paths = vec![0; truth.bundles.len()];
        let mut pairs: BTreeMap<[u32; 2], usize> = BTreeMap::new();
        for (line, connection) in connections.iter().enumerate() {
            match *connection {
                Connection::Valid(bundle) => members[bundle].push(line),
                Connection::WrongPath(bundle) => wrong_paths[bundle] += 1,
                Connection::Invalid(pair) => *pairs.entry(pair).or_default() += 1,
                Connection::None => {}
            }
        }
        let scored = |(bundle, lines): (&TrueBundle, &Vec<usize>)| -> Result<BundleScore, Error> {
            control.check()?;
            let grid = &truth.regions.grid;
            let all = 0..bundle.fibres.len();
            let real = passed_voxels(grid, all.map(|i| bundle.fibres.streamline(i)));
            let passed = passed_voxels(grid, lines.iter().map(|i| tractogram.streamline(*i)));
            let count = |matches: fn(bool, bool) -> bool| {
                let pairs = real.iter().zip(&passed);
                pairs
                    .filter(|(real, passed)| matches(**real, **passed))
                    .count()
            };
            control.advance(1);
            let true_voxels = count(|real, _| real);
            if true_voxels == 0 {
                return Err(InputError::NoFibres(bundle.name.clone()).into());
            }
            Ok(BundleScore {
                name: bundle.name.clone(),
                valid: lines.len(),
                wrong_paths: 0,
                true_voxels,
                shared_voxels: count(|real, passed| real && passed),
                excess_voxels: count(|real, passed| !real && passed),
            })
        };
        let bundles = truth.bundles.par_iter().zip(&members).map(scored);
        let mut bundles = bundles.collect::<Result<Vec<_>, Error>>()?;
        for (bundle, count) in bundles.iter_mut().zip(wrong_paths) {
            bundle.wrong_paths = count;
        }
        let mut invalid_bundles: Vec<_> = pairs.into_iter().collect();
        invalid_bundles.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Ok(Scores {
            connections,
            bundles,
            invalid_bundles,
            not_finite,
        })
    })
}

fn world(point: [f32; 3]) -> DVec3 {
    Vec3::from(point).as_dvec3()
}

/// Marks of the voxels that any of these streamlines passes.
fn passed_voxels<'a>(grid: &Grid, lines: impl Iterator<Item = &'a [[f32; 3]]>) -> Vec<bool> {
    let mut passed = vec![false; grid.voxel_count()];
    let mut walk = Walk::new(grid);
    for line in lines {
        let finite = |point: &&[f32; 3]| point.iter().all(|c| c.is_finite());
        let points: Vec<DVec3> = line.iter().filter(finite).map(|p| world(*p)).collect();
        for pair in points.windows(2) {
            walk.segment(pair[0], pair[1], |voxel, _| passed[voxel] = true);
        }
    }
    passed
}

/// A truth without contradictions.
struct Checked<'a> {
    truth: &'a Truth,
    labels: Vec<u32>,
    corridors: Vec<Mask>,
    /// Bundles by the labels of their ends, the lower one first.
    bundles_of: BTreeMap<[u32; 2], Vec<usize>>,
}

fn ascending([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

impl<'a> Checked<'a> {
    fn new(truth: &'a Truth) -> Result<Self, InputError> {
        let regions = &truth.regions;
        if truth.bundles.is_empty() {
            return Err(InputError::NoBundles);
        }
        if regions.frames != 1 {
            return Err(InputError::Volumes(regions.frames));
        }
        let whole = |value: &f32| value.is_finite() && *value >= 0.0 && value.fract() == 0.0;
        if let Some(value) = regions.values.iter().find(|value| !whole(value)) {
            return Err(InputError::NoLabel(*value));
        }
        let labels: Vec<u32> = regions.values.iter().map(|v| *v as u32).collect();
        let known: std::collections::BTreeSet<u32> = labels.iter().copied().collect();
        let mut bundles_of: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
        let mut corridors = Vec::new();
        for (number, bundle) in truth.bundles.iter().enumerate() {
            let name = || bundle.name.clone();
            let [start, end] = bundle.ends;
            if start == end {
                return Err(InputError::SameEnds(name(), start));
            }
            if let Some(label) = bundle
                .ends
                .into_iter()
                .find(|l| *l == 0 || !known.contains(l))
            {
                return Err(InputError::NoRegion(name(), label));
            }
            let corridor = bundle.corridor.on_whole_grid();
            if !corridor.grid.matches(&regions.grid) {
                return Err(InputError::CorridorGrid(name()));
            }
            corridors.push(corridor);
            let pair = ascending(bundle.ends);
            bundles_of.entry(pair).or_default().push(number);
        }
        Ok(Self {
            truth,
            labels,
            corridors,
            bundles_of,
        })
    }

    /// The connection of each streamline, and the number of those with a point that is not finite.
    fn connections(
        &self,
        tractogram: &Tractogram,
        control: &Control,
    ) -> Result<(Vec<Connection>, usize), Cancelled> {
        let pieces = tractogram.len().div_ceil(PIECE);
        let connections = (0..pieces).into_par_iter().map_init(
            || Walk::new(&self.truth.regions.grid),
            |walk, piece| {
                control.check()?;
                let lines = piece * PIECE..tractogram.len().min((piece + 1) * PIECE);
                control.advance(lines.len() as u64);
                let connections = lines.map(|i| self.connection(tractogram.streamline(i), walk));
                Ok(connections.collect::<Vec<_>>())
            },
        );
        let connections = connections.collect::<Result<Vec<_>, Cancelled>>()?.concat();
        let not_finite = connections.iter().filter(|c| c.is_none()).count();
        let known = connections
            .into_iter()
            .map(|c| c.unwrap_or(Connection::None));
        Ok((known.collect(), not_finite))
    }

    /// `None` if a point is not finite.
    fn connection(&self, line: &[[f32; 3]], walk: &mut Walk) -> Option<Connection> {
        if !line.iter().flatten().all(|c| c.is_finite()) {
            return None;
        }
        let label = |point: Option<&[f32; 3]>| {
            let voxel = walk.point(world(*point?))?;
            Some(self.labels[voxel]).filter(|label| *label > 0)
        };
        let (Some(a), Some(b)) = (label(line.first()), label(line.last())) else {
            return Some(Connection::None);
        };
        if a == b {
            return Some(Connection::None);
        }
        let pair = ascending([a, b]);
        let Some(bundles) = self.bundles_of.get(&pair) else {
            return Some(Connection::Invalid(pair));
        };
        let within = bundles.iter().find(|b| self.stays_in(**b, line, walk));
        Some(match within {
            Some(bundle) => Connection::Valid(*bundle),
            None => Connection::WrongPath(bundles[0]),
        })
    }

    /// Whether a streamline passes only voxels of a bundle's corridor and end regions.
    fn stays_in(&self, bundle: usize, line: &[[f32; 3]], walk: &mut Walk) -> bool {
        let corridor = &self.corridors[bundle].inside;
        let ends = self.truth.bundles[bundle].ends;
        let mut stays = line.iter().all(|point| walk.point(world(*point)).is_some());
        for pair in line.windows(2) {
            walk.segment(world(pair[0]), world(pair[1]), |voxel, _| {
                stays &= corridor[voxel] != 0 || ends.contains(&self.labels[voxel]);
            });
        }
        stays
    }
}
