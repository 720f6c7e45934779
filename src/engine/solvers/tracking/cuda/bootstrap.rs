//! Streamlines in the tensors of every repetition of a bootstrap.
//!
//! If all seeds fit in one batch, several repetitions are in progress at the same time; otherwise the batches of one
//! repetition are. The curves are the same.

use super::super::job::{Job, Sampled};
use super::{Batches, Cards, Stream};
use crate::compute::cuda::Device;
use crate::compute::{Backend, Control, overlap};
use crate::data::tractogram::REPETITION;
use crate::data::{Region, TensorField};
use crate::solvers::Error;
use crate::solvers::curves::collect::JoinedCurves;
use crate::solvers::curves::cuda::on_card::{self, Batch, CurvesOnCard};
use crate::solvers::curves::{Interpolation, Output, Params};
use crate::solvers::tensor_fit::Residuals;
use cudarc::driver::CudaSlice;
use std::ops::Range;
use std::sync::Mutex;

pub fn bootstrap(
    field: &TensorField,
    residuals: &Residuals,
    regions: &[Region],
    params: &Params,
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Output, Error> {
    let job = backend.install(|| Job::new(field, regions, params, memory, control))?;
    let bootstrap = Bootstrap {
        job: &job,
        residuals,
        regions,
        params,
        backend,
        control,
    };
    let (parts, kernel_ms) = bootstrap.run()?;
    let (mut curves, mut kept, mut missed) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        curves.push(part.curves);
        kept.extend(part.kept);
        missed.extend(part.missed);
    }
    let others = JoinedCurves::new(&job.gates);
    let mut output = on_card::output(curves, others, (&job.gates, false), backend)?;
    output.kernel_s = Some(kernel_ms * 1e-3);
    output.kept = output.kept.with_per_streamline(REPETITION, kept);
    output.missed = output.missed.with_per_streamline(REPETITION, missed);
    Ok(output)
}

struct Bootstrap<'a> {
    job: &'a Job<'a>,
    residuals: &'a Residuals,
    regions: &'a [Region],
    params: &'a Params,
    backend: &'a Backend,
    control: &'a Control,
}

/// Curves on one card, with the number of the repetition of each.
struct Part {
    curves: CurvesOnCard,
    kept: Vec<f32>,
    missed: Vec<f32>,
}

impl Bootstrap<'_> {
    /// The curves of all repetitions in order, and the milliseconds that kernels ran; cards run theirs at the same time.
    fn run(&self) -> Result<(Vec<Part>, f64), Error> {
        let seeds = self.job.seeds.len();
        let [device, ..] = self.backend.devices() else {
            return Ok((Vec::new(), 0.0));
        };
        if Cards::predicts_memory(self.job) {
            self.in_repetition(0, |cards| cards.predict_memory())?;
        }
        // The preparation of splines has a progress of its own.
        let is_trilinear = self.params.interpolation == Interpolation::Trilinear;
        if is_trilinear && Batches::new(self.job, device, seeds)?.size >= seeds {
            self.begin(0);
            let shares = self.backend.split_among_devices(self.job.repetitions);
            let parts = self
                .backend
                .on_each_device(|i, device| self.several_at_a_time(i, device, shares[i].clone()));
            let parts = parts.into_iter().collect::<Result<Vec<_>, Error>>()?;
            let (parts, kernel_ms): (Vec<Part>, Vec<f64>) = parts.into_iter().unzip();
            return Ok((parts, kernel_ms.into_iter().fold(0.0, f64::max)));
        }
        let (mut parts, mut kernel_ms) = (Vec::new(), 0.0);
        // The points of all repetitions together, not of each one, may take a share of the memory of a card.
        let mut remaining_bytes: Vec<u64> = Vec::new();
        for repetition in 0..self.job.repetitions {
            let curves = self.in_repetition(repetition, |cards| {
                self.begin(repetition);
                cards.follow_on_devices()
            })?;
            kernel_ms += curves.iter().map(|(_, ms)| *ms).fold(0.0, f64::max);
            for (card, (mut curves, _)) in curves.into_iter().enumerate() {
                if card == remaining_bytes.len() {
                    remaining_bytes.push(curves.limit());
                }
                match remaining_bytes[card].checked_sub(curves.bytes()) {
                    Some(remaining) => remaining_bytes[card] = remaining,
                    None => curves.move_to_host(self.backend)?,
                }
                let [kept, missed] = curves.counts().map(|n| vec![repetition as f32; n]);
                parts.push(Part {
                    curves,
                    kept,
                    missed,
                });
            }
        }
        Ok((parts, kernel_ms))
    }

    /// Shows the progress before this repetition.
    fn begin(&self, repetition: usize) {
        let seeds = self.job.seeds.len() as u64;
        self.control
            .begin("Repetitions", self.job.repetitions as u64 * seeds);
        self.control.advance(repetition as u64 * seeds);
    }

    /// Calls `run` with the tensors of a repetition.
    fn in_repetition<R>(
        &self,
        repetition: usize,
        run: impl FnOnce(&Cards) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let (seed, control) = (self.params.random_seed, self.control);
        let tensors = || self.residuals.field(seed, repetition as u64, control);
        // A card fits them without the threads of the pool.
        let field = match self.residuals.is_on_card() {
            true => tensors(),
            false => self.backend.install(tensors),
        }?;
        // Seeds start on the host.
        field.tensors.on_host()?;
        let interpolation = self.params.interpolation;
        let sampled = self
            .backend
            .install(|| Sampled::new(&field, interpolation, control))?;
        run(&Cards {
            field: &field,
            regions: self.regions,
            job: self.job,
            sampled: &sampled,
            backend: self.backend,
        })
    }

    /// Follows all seeds in each of these repetitions on one card; also returns the milliseconds that kernels ran.
    fn several_at_a_time(
        &self,
        card: usize,
        device: &Device,
        repetitions: Range<usize>,
    ) -> Result<(Part, f64), Error> {
        let mut part = Part {
            curves: CurvesOnCard::new(self.backend, card, &self.job.gates)?,
            kept: Vec::new(),
            missed: Vec::new(),
        };
        let mut kernel_ms = 0.0;
        if repetitions.is_empty() {
            return Ok((part, kernel_ms));
        }
        let seeds: Vec<u32> = (0..self.job.seeds.len() as u32).collect();
        let batches = Batches::new(self.job, device, seeds.len())?;
        let launching = Mutex::default();
        let follow = |device: &Device, points: &mut CudaSlice<f32>, i: usize| {
            let repetition = repetitions.start + i;
            self.in_repetition(repetition, |cards| {
                let inputs = cards.on_card(device, &launching)?;
                let (batch, follow_ms) =
                    cards.counted_batch(&inputs, Stream { device, points }, &seeds)?;
                Ok((batch, follow_ms, repetition as f32))
            })
        };
        let mut numbers = [Vec::new(), Vec::new()];
        overlap::overlapped(
            device,
            repetitions.len(),
            |device| Ok(device.alloc_zeros(batches.floats)?),
            follow,
            |(batch, follow_ms, repetition): (Batch, f64, f32)| {
                for (numbers, count) in numbers.iter_mut().zip(batch.curves.counts()) {
                    numbers.resize(numbers.len() + count, repetition);
                }
                kernel_ms += follow_ms + batch.gather_ms;
                part.curves.add(batch, self.backend)
            },
        )?;
        [part.kept, part.missed] = numbers;
        Ok((part, kernel_ms))
    }
}
