//! The inputs of streamlines and rays of the regions.

use crate::data::{Region, Role};
use crate::solvers::curves::{self, Seeding};
use crate::state::Document;
use crate::state::core::live::LiveKey;
use crate::state::document::Method;
use crate::state::track::types::{CurveKey, CurveParams};
use std::sync::Arc;

/// Largest number of seeds during a drag: a few milliseconds of work.
const COARSE_SEEDS: usize = 400;
/// Each repetition refits every voxel.
const COARSE_REPETITIONS: usize = 2;

impl Document {
    /// The key of the full streamlines or rays of the document; `None` without tensors or a seed.
    pub fn curve_key(&self) -> Option<CurveKey> {
        let tensors = self.tensors.as_ref()?;
        let is_seeded = self.regions.iter().any(|r| r.role == Role::Seed);
        is_seeded.then(|| CurveKey {
            field: tensors.field.id(),
            regions: regions(self),
            curves: match self.track.method {
                Method::Streamlines => CurveParams::Streamlines(self.track.streamlines.clone()),
                Method::Rays => {
                    CurveParams::Rays(self.track.rays.metric, self.track.rays.params.clone())
                }
            },
            coarse: false,
        })
    }
}

/// The participating regions: hundreds from a label map do not slow down tracking.
pub fn regions(document: &Document) -> Vec<Region> {
    let regions = document.regions.iter();
    let taking_part = regions.filter(|r| r.role != Role::Region);
    taking_part.map(|r| (**r).clone()).collect()
}

/// The parameters of streamlines while something is dragged.
pub fn coarse_params(params: &curves::Params) -> curves::Params {
    let mut params = params.clone();
    params.seeding = match params.seeding {
        Seeding::Random { count } => Seeding::Random {
            count: count.min(COARSE_SEEDS),
        },
        Seeding::Grid { .. } | Seeding::PerVoxel { .. } => Seeding::Random {
            count: COARSE_SEEDS,
        },
    };
    params.repetitions = params.repetitions.map(|n| n.min(COARSE_REPETITIONS));
    params
}

impl CurveKey {
    /// Whether curves of this key are those of the document as it is, all or some of them.
    pub fn is_current(&self, document: &Document) -> bool {
        document.curve_key().is_some_and(|full| self.is_of(&full))
    }

    /// Whether curves of this key are those of `full`, or some of them.
    pub fn is_of(&self, full: &Self) -> bool {
        let is_same = match (&self.curves, &full.curves) {
            (own, full) if !self.coarse => own == full,
            (CurveParams::Streamlines(own), CurveParams::Streamlines(full)) => {
                *own == coarse_params(full)
            }
            (CurveParams::Rays(own_medium, own), CurveParams::Rays(metric, full)) => {
                let mut some = full.clone();
                // The number of coarse rays depends on the speed of the last ones.
                some.curves.seeding = own.curves.seeding;
                own_medium == metric && *own == some
            }
            (CurveParams::Streamlines(_), CurveParams::Rays(..))
            | (CurveParams::Rays(..), CurveParams::Streamlines(_)) => false,
        };
        is_same && self.has_regions_of(full)
    }

    /// Whether the regions have not been moved since, and everything except the parameters is equal.
    fn has_regions_of(&self, other: &Self) -> bool {
        let same = |(a, b): (&Region, &Region)| Arc::ptr_eq(&a.shape, &b.shape);
        self.stands_in_for(other) && self.regions.iter().zip(&other.regions).all(same)
    }
}

impl PartialEq for CurveKey {
    fn eq(&self, other: &Self) -> bool {
        (self.coarse, &self.curves) == (other.coarse, &other.curves) && self.has_regions_of(other)
    }
}

impl LiveKey for CurveKey {
    /// Whether tensors, method and regions are the same; regions may have been moved since.
    fn stands_in_for(&self, requested: &Self) -> bool {
        let same = |(a, b): (&Region, &Region)| (a.id, a.role) == (b.id, b.role);
        self.field == requested.field
            && std::mem::discriminant(&self.curves) == std::mem::discriminant(&requested.curves)
            && self.regions.len() == requested.regions.len()
            && self.regions.iter().zip(&requested.regions).all(same)
    }
}
