//! Shares of the time of the stages of an estimation, so that its progress is one.

use super::{EstimateFods, Responses};
use crate::compute::Control;

/// Times of stages in a head with three tissues, order 12, relative to each other.
const BRAIN: f32 = 1.0;
const RESPONSES: f32 = 3.0;
const FIT: f32 = 8.0;
const PEAKS: f32 = 2.5;
const LOBES: f32 = 2.5;
/// Residuals beside the fit that they need.
const RESIDUALS: f32 = 0.3;

/// Stages within the estimation of response functions: a fit, its maps, and deconvolutions, whose number is not known.
const OF_RESPONSES: [f32; 4] = [0.3, 0.1, 0.4, 0.2];

/// The share of one repetition of a deconvolution in the time of an estimation without a bootstrap.
pub const REPETITION: f64 = (FIT / (BRAIN + RESPONSES + FIT + PEAKS + LOBES)) as f64;

/// Times of the stages of an estimation.
pub struct Stages {
    brain: f32,
    responses: f32,
    /// The deconvolution and all after it.
    fit: Vec<f32>,
}

impl Stages {
    pub fn new(job: &EstimateFods) -> Self {
        let mut fit = vec![FIT];
        let repetitions = job.params.repetitions;
        if job.wants_peaks || repetitions.is_some() {
            fit.push(PEAKS);
        }
        if job.wants_lobes {
            fit.push(LOBES);
        }
        if let Some(repetitions) = repetitions {
            fit.extend([FIT, RESIDUALS, repetitions as f32 * (FIT + PEAKS)]);
        }
        Self {
            brain: if job.mask.is_none() { BRAIN } else { 0.0 },
            responses: match job.responses {
                Responses::Estimated(_) | Responses::Each { .. } => RESPONSES,
                _ => 0.0,
            },
            fit,
        }
    }

    fn plan(&self, before: f32, times: impl IntoIterator<Item = f32>, control: &Control) {
        let all = self.brain + self.responses + self.fit.iter().sum::<f32>();
        let shares: Vec<f32> = times.into_iter().map(|time| time / all).collect();
        control.plan_from(before / all, &shares);
    }

    /// Before the brain is found.
    pub fn begin(&self, control: &Control) {
        self.plan(0.0, [self.brain], control);
    }

    pub fn begin_responses(&self, control: &Control) {
        let times = OF_RESPONSES.map(|share| share * self.responses);
        self.plan(self.brain, times, control);
    }

    pub fn begin_fit(&self, control: &Control) {
        let before = self.brain + self.responses;
        self.plan(before, self.fit.iter().copied(), control);
    }
}
