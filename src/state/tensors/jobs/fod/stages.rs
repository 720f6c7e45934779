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
/// Streamlines or a pathway through the distributions of a repetition.
const CURVES: f32 = 0.8;

/// Stages within the estimation of response functions: a fit, its maps, and deconvolutions, whose number is not known.
const OF_RESPONSES: [f32; 4] = [0.3, 0.1, 0.4, 0.2];

/// The time of one repetition, ms, after an estimation that took `estimation_ms` with `repeated` repetitions of its own;
/// with the peaks of the repetition, as maps of uncertainty need them, or without.
pub fn repetition_ms(estimation_ms: f64, repeated: Option<usize>, with_peaks: bool) -> f64 {
    let once = BRAIN + RESPONSES + FIT + PEAKS + LOBES;
    let bootstrap = repeated.map_or(0.0, |repetitions| bootstrap(repetitions).iter().sum());
    let repetition = match with_peaks {
        true => FIT + PEAKS,
        false => FIT,
    };
    estimation_ms * f64::from(repetition / (once + bootstrap))
}

/// Shares of the progress of repetitions that curves follow: a deconvolution, its residuals, and the repetitions.
pub fn shares_of_curves(repetitions: usize) -> [f32; 3] {
    let times = [FIT, RESIDUALS, repetitions as f32 * (FIT + CURVES)];
    let all: f32 = times.iter().sum();
    times.map(|time| time / all)
}

/// Times of a bootstrap of an estimation: a deconvolution, its residuals, and the repetitions with their peaks.
fn bootstrap(repetitions: usize) -> [f32; 3] {
    [FIT, RESIDUALS, repetitions as f32 * (FIT + PEAKS)]
}

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
            fit.extend(bootstrap(repetitions));
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
