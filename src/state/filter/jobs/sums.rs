//! The signal explained by bundles of weighted streamlines together, and the course of all of them.

use crate::compute::{Backend, Control};
use crate::data::Shared;
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, Unfinished, Worker, memory_for_curves,
};
use crate::solvers::commit::dictionary::Dictionary;
use crate::solvers::tractogram::selection::SelectionRules;
use crate::state::filter::jobs::FitWeights;
use crate::state::filter::jobs::fit::marks_by_rules;
use crate::state::job_end::ended;
use crate::state::{Effect, State};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const SUMS: Slot = Slot::latest_wins("sums");

#[derive(Clone, Debug)]
pub struct SumBundles {
    /// The fit that gave the weights, with the present streamlines.
    pub fit: FitWeights,
    pub weights: Shared<f32>,
    /// The course of the same streamlines from an earlier fit or sum.
    pub course: Option<Arc<Dictionary>>,
    /// The sums of each bundle.
    pub rules: Vec<SelectionRules>,
}

/// A bundle that is not a group in the streamlines' file.
#[derive(Clone, Debug)]
pub struct SummedBundle {
    pub marks: Arc<[bool]>,
    pub count: u64,
    /// The sum of weight times length, mm.
    pub sum: f64,
}

#[derive(Clone, Debug)]
pub struct BundleSums {
    pub course: Arc<Dictionary>,
    /// Length of each streamline within the voxels of the fit.
    pub lengths_mm: Arc<[f64]>,
    /// Sums of weight times length for the groups in the file, and for streamlines in none.
    pub groups: BTreeMap<String, f64>,
    pub ungrouped: f64,
    pub bundles: Vec<SummedBundle>,
}

impl Job for SumBundles {
    type Output = BundleSums;

    fn slot(&self) -> Slot {
        SUMS
    }

    fn label(&self) -> String {
        "Summing weights".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<BundleSums>,
    ) -> Result<BundleSums, JobError> {
        self.sums(&worker.backend(), control)
    }
}

impl Receive<State> for SumBundles {
    fn receive(
        &self,
        delivery: Delivery<BundleSums>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, sums, _, _| {
            state.runtime.filter.sums.finish(sums);
        });
    }

    fn unfinished(&self, _: &Unfinished, state: &mut State) -> bool {
        state.runtime.filter.sums.fail();
        true
    }
}

impl SumBundles {
    fn sums(self, backend: &Backend, control: &Control) -> Result<BundleSums, JobError> {
        let course = match self.course {
            Some(course) => course,
            None => Arc::new(self.fit.course(memory_for_curves(), backend, control)?),
        };
        let mut lengths = course.lengths_mm();
        let lengths_mm: Arc<[f64]> = lengths.clone().into();
        let summed = |marks: Vec<bool>| {
            let each = marks.iter().zip(self.weights.iter().zip(&lengths));
            let own = each.filter(|(mark, _)| **mark).map(|(_, own)| own);
            SummedBundle {
                sum: own.map(|(weight, mm)| f64::from(*weight) * mm).sum(),
                count: marks.iter().filter(|mark| **mark).count() as u64,
                marks: marks.into(),
            }
        };
        let marks = match self.rules.is_empty() {
            true => Vec::new(),
            false => marks_by_rules(&self.fit, &self.rules, backend, control)?,
        };
        let bundles = marks.into_iter().map(summed).collect();
        let product = |i: usize, lengths: &[f64]| f64::from(self.weights[i]) * lengths[i];
        let groups = &self.fit.tractogram.groups;
        let sum = |members: &Arc<[u32]>| -> f64 {
            let each = members.iter().map(|m| product(*m as usize, &lengths));
            each.sum()
        };
        let of_groups = groups.iter().map(|(name, own)| (name.clone(), sum(own)));
        let of_groups = of_groups.collect();
        for member in groups.values().flat_map(|members| members.iter()) {
            lengths[*member as usize] = 0.0;
        }
        let ungrouped = (0..lengths.len()).map(|i| product(i, &lengths)).sum();
        Ok(BundleSums {
            course,
            lengths_mm,
            groups: of_groups,
            ungrouped,
            bundles,
        })
    }
}
