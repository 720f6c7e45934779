//! A lifted pathway: the costs of two regions, and paths between them.

use super::error::InputError;
use super::trace::{smoothed, states};
use super::{LiftedField, Prepared, UNREACHED, opposite};
use crate::compute::memory;
use crate::solvers::Error;
use crate::solvers::pathway::{CostEnd, JointCosts, Path};
use rayon::prelude::*;
use std::ops::Deref;
use std::sync::Arc;

/// The costs between two regions, which it dereferences to; cheap to clone.
#[derive(Clone, Debug)]
pub struct LiftedPathway {
    /// The cost fields of the two regions.
    pub fields: [LiftedField; 2],
    /// Their sum, least over all directions.
    pub joint: JointCosts,
    /// By place the direction in which the sum is least.
    pub(super) best: Arc<[u16]>,
}

impl Deref for LiftedPathway {
    type Target = JointCosts;

    fn deref(&self) -> &JointCosts {
        &self.joint
    }
}

impl LiftedPathway {
    /// The pathway between two fields of one preparation: u₁(x, n) + u₂(x, −n), least over n. Must be called on the
    /// backend's threads.
    pub fn new(a: LiftedField, b: LiftedField) -> Result<Self, Error> {
        if a.prepared.id() != b.prepared.id() {
            let names = [&a, &b].map(|field| field.source.name.clone());
            return Err(InputError::OtherCosts(names).into());
        }
        let places = &a.prepared.places;
        memory::claim_for::<f32>("The pathway", places.len(), 4)?;
        let least = |place: usize| {
            let sums = (0..a.prepared.directions.len())
                .map(|d| (a.value(d, place) + b.value(opposite(d), place), d));
            sums.fold(
                (UNREACHED, 0),
                |best, sum| if sum.0 < best.0 { sum } else { best },
            )
        };
        let (total, best): (Vec<f32>, Vec<u16>) = (0..places.len())
            .into_par_iter()
            .map(|place| {
                let (sum, d) = least(place);
                let sum = if sum < UNREACHED { sum } else { f32::INFINITY };
                (sum, d as u16)
            })
            .unzip();
        let end = |from: &LiftedField, to: &LiftedField| {
            let values = to.source.zero.iter().map(|&p| from.least(p as usize));
            f64::from(values.fold(f32::INFINITY, f32::min))
        };
        let ends = [&a, &b].map(|field| CostEnd {
            name: field.source.name.clone(),
            zero: field.source.zero.clone().into(),
        });
        let cost_at_ends = [end(&a, &b), end(&b, &a)];
        Ok(Self {
            joint: JointCosts::new(places, ends, total.into(), cost_at_ends)?,
            fields: [a, b],
            best: best.into(),
        })
    }

    /// Costs from which both fields were computed.
    pub fn prepared(&self) -> &Prepared {
        &self.fields[0].prepared
    }

    /// The best path between the regions through a voxel, smoothed, with the cost along it; `None` if there is none.
    pub fn path_through(&self, place: usize) -> Option<Path> {
        self.total.get(place).filter(|t| t.is_finite())?;
        let direction = usize::from(self.best[place]);
        let mut chain = states(&self.fields[0], place, direction)?;
        chain.reverse();
        let back = states(&self.fields[1], place, opposite(direction))?;
        chain.extend(back.into_iter().skip(1));
        Some(smoothed(self.prepared(), &chain))
    }

    /// The path of least cost, from region 1 to region 2.
    pub fn minimal_path(&self) -> Option<Path> {
        self.path_through(self.middle)
    }
}
