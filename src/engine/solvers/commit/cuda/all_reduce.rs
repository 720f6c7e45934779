//! Adds the streamlines' columns over all cards, so that all cards have the same sums.

use super::buffers::Buffers;
use super::{KERNELS, OPERATION, Part, THREADS, blocks};
use crate::compute::cuda::nccl::Group;
use crate::compute::cuda::{self, Device};
use cudarc::driver::{CudaFunction, CudaSlice, PushKernelArg as _};
use std::sync::Arc;

pub enum Adder {
    /// There is only one slab.
    Alone,
    Nccl(Arc<Group>),
    /// Through the first card, one card after the other: incoming numbers are buffered here and a kernel adds them.
    Copies {
        arrived: CudaSlice<f32>,
        combine: CudaFunction,
    },
}

impl Adder {
    /// An all-reduce of `count` numbers per card; two slabs may lie on one card.
    pub fn new(devices: &[&Device], count: usize) -> Result<Self, cuda::Error> {
        let [first, others @ ..] = devices else {
            return Ok(Self::Alone);
        };
        if others.is_empty() {
            return Ok(Self::Alone);
        }
        let numbers = || devices.iter().map(|d| d.number());
        let different = numbers().all(|n| numbers().filter(|other| *other == n).count() == 1);
        if let Some(group) = different.then(|| Device::nccl_group(devices)).flatten() {
            return Ok(Self::Nccl(group));
        }
        Ok(Self::Copies {
            arrived: first.alloc_zeros(count)?,
            combine: first.kernel(KERNELS, "commit_combine")?,
        })
    }

    /// The method as text; `None` if nothing is added.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Alone => None,
            Self::Nccl(_) => Some("through NCCL"),
            Self::Copies { .. } => Some("by copies, without NCCL"),
        }
    }

    /// Enqueues the sum of the streamlines' columns over all cards.
    pub fn all_reduce(
        &mut self,
        parts: &[Part],
        buffers: &mut [Buffers],
    ) -> Result<(), cuda::Error> {
        match self {
            Self::Alone => Ok(()),
            Self::Nccl(group) => {
                let mut each: Vec<_> = buffers.iter_mut().map(|b| &mut b.mixed).collect();
                group.sum_across_devices(&mut each)
            }
            Self::Copies { arrived, combine } => {
                let [(first, sum), others @ ..] = &mut *parts
                    .iter()
                    .zip(buffers.iter_mut().map(|b| &mut b.mixed))
                    .collect::<Vec<_>>()
                else {
                    return Ok(());
                };
                let device = first.device();
                let count = sum.len() as u64;
                let (one, to, from) = (1f32, device.address(sum), device.address(arrived));
                for (_, share) in others.iter() {
                    device.check(OPERATION, device.stream().memcpy_dtod(*share, arrived))?;
                    first.launch(combine, blocks(count, THREADS), |l| {
                        l.arg(&count).arg(&one).arg(&to).arg(&one).arg(&from);
                        l.arg(&to);
                    })?;
                }
                for (part, share) in others.iter_mut() {
                    let own = part.device();
                    own.check(OPERATION, own.stream().memcpy_dtod(*sum, *share))?;
                    // The sum must not be overwritten before this.
                    device.check(OPERATION, device.stream().join(own.stream()))?;
                }
                Ok(())
            }
        }
    }
}
