//! Metrics of several tensor fields in the same voxels, prepared as those of one field, in copies of the mask side by side:
//! as many fronts then advance at the same time, and a graphics card computes the metrics, too.

use super::cuda::MetricLayout;
use super::{LocalSolver, Prepared};
use crate::compute::{Accelerator, Backend, Control, DataId};
use crate::data::Tensor;
use crate::solvers::Error;
use crate::solvers::metric::{self, Metric, Stack};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// Copies of the voxels of a metric, and what all metrics in them share.
#[derive(Debug)]
pub struct Copies {
    /// The voxels, and their copies.
    pub stack: Stack,
    part: Metric,
    local: LocalSolver,
    /// The layout on a card, built on first use.
    layout: OnceLock<MetricLayout>,
}

impl Copies {
    /// The voxels of a metric, this many times; `None` for no voxel or no copy.
    pub fn new(part: &Metric, copies: usize, local: LocalSolver) -> Option<Self> {
        Some(Self {
            stack: Stack::new(part, copies)?,
            part: part.clone(),
            local,
            layout: OnceLock::new(),
        })
    }

    /// The metrics of tensors, by copy and place: at most as many as there are copies, and at least one. Copies without
    /// tensors have those of the last one. They have the unit of cost and the costly places of the metric of
    /// [`Self::new`]. Must be called on the backend's threads.
    pub fn prepared(
        &self,
        tensors: &[Vec<Tensor>],
        params: &metric::Params,
        backend: &Backend,
        control: &Control,
    ) -> Result<Prepared, Error> {
        let copies = self.stack.copies();
        let last = tensors.len().saturating_sub(1);
        let of_copy = |copy: usize| &tensors[copy.min(last)];
        match backend.accelerator() {
            Some(Accelerator::Cuda(devices)) if MetricLayout::supports(self.local) => {
                let layout = self.layout(control)?;
                let tensors: Vec<Tensor> = (0..copies).flat_map(of_copy).copied().collect();
                let (card, metric) =
                    layout.metric(&tensors, params, self.part.scale(), &devices[0])?;
                Ok(Prepared {
                    id: DataId::fresh(),
                    metric,
                    local: self.local,
                    selling: Arc::default(),
                    alone: false,
                    layout: Arc::default(),
                    bricks: layout.bricks.clone(),
                    card: Some(card),
                })
            }
            _ => {
                let metrics = (0..copies).into_par_iter();
                let metrics = metrics.map(|copy| {
                    control.check()?;
                    Ok(self.part.with_tensors(of_copy(copy), params))
                });
                let metrics: Vec<Metric> = metrics.collect::<Result<_, Error>>()?;
                Prepared::new(&self.stack.metric(&metrics), self.local, backend, control)
            }
        }
    }

    fn layout(&self, control: &Control) -> Result<&MetricLayout, Error> {
        if let Some(known) = self.layout.get() {
            return Ok(known);
        }
        let copies = self.stack.copies();
        let factors = match self.part.factors() {
            Some(of_part) => of_part.repeat(copies),
            None => vec![1.0; self.part.len() * copies],
        };
        let layout = MetricLayout::new(self.stack.all(), factors, self.local, control)?;
        Ok(self.layout.get_or_init(|| layout))
    }
}
