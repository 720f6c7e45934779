//! What bundles of weighed streamlines explain together, and where all of them run.

use super::commit::FitCommit;
use super::fault::Fault;
use super::request::memory_for_curves;
use crate::compute::{Backend, Control};
use crate::solvers::commit::dictionary::Dictionary;
use crate::solvers::tracking::selection::{Rules, select};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct SumBundles {
    /// The fit that the weights are from, of the streamlines as they are.
    pub fit: FitCommit,
    pub weights: Arc<[f32]>,
    /// What an earlier fit or sum found of the same streamlines.
    pub course: Option<Arc<Dictionary>>,
    /// Of each bundle.
    pub rules: Vec<Rules>,
}

/// A bundle that is no group of the streamlines' file.
#[derive(Clone, Debug)]
pub struct Summed {
    pub marks: Arc<[bool]>,
    pub count: u64,
    /// Of weight times length, mm.
    pub sum: f64,
}

#[derive(Clone, Debug)]
pub struct BundleSums {
    pub course: Arc<Dictionary>,
    pub bundles: Vec<Summed>,
}

impl SumBundles {
    pub(super) fn run(self, backend: &Backend, control: &Control) -> Result<BundleSums, Fault> {
        let course = match self.course {
            Some(course) => course,
            None => Arc::new(self.fit.course(memory_for_curves(), backend, control)?),
        };
        let lengths = course.lengths_mm();
        let one = |rules: &Rules| -> Result<Summed, Fault> {
            let marks = select(&self.fit.tractogram, rules, backend, control)?.marks;
            let each = marks.iter().zip(self.weights.iter().zip(&lengths));
            let own = each.filter(|(mark, _)| **mark).map(|(_, own)| own);
            Ok(Summed {
                sum: own.map(|(weight, mm)| f64::from(*weight) * mm).sum(),
                count: marks.iter().filter(|mark| **mark).count() as u64,
                marks: marks.into(),
            })
        };
        let bundles = self.rules.iter().map(one).collect::<Result<_, _>>()?;
        Ok(BundleSums { course, bundles })
    }
}
