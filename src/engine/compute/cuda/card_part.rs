//! Parts of buffers on one or several cards, which the host copies into one allocation.

#![allow(
    unsafe_code,
    reason = "memory that no thread has cleared, which the copies initialise"
)]

use super::staging::Wait;
use super::{Device, Error};
use crate::compute::DataId;
use cudarc::driver::CudaSlice;
use rayon::prelude::*;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice;
use std::sync::{Arc, Weak};

/// Numbers of a buffer on a card.
#[derive(Clone)]
pub struct CardPart {
    /// Open cards, of which one has the buffer.
    pub devices: Arc<[Device]>,
    /// Index of that card.
    pub card: usize,
    /// Numbers of 32 bits on that card.
    pub buffer: Arc<CudaSlice<f32>>,
    /// The range in the buffer that belongs to the part.
    pub numbers: Range<usize>,
}

impl CardPart {
    /// All numbers of a buffer.
    pub fn whole(devices: &Arc<[Device]>, card: usize, buffer: CudaSlice<f32>) -> Self {
        Self {
            devices: devices.clone(),
            card,
            numbers: 0..buffer.len(),
            buffer: Arc::new(buffer),
        }
    }

    /// `count` values of a buffer on the first of some cards, from its number `first` on.
    pub fn of_values<T>(
        devices: &Arc<[Device]>,
        buffer: Arc<CudaSlice<f32>>,
        first: usize,
        count: usize,
    ) -> Self {
        Self {
            devices: devices.clone(),
            card: 0,
            buffer,
            numbers: first..first + count * size_of::<T>() / size_of::<f32>(),
        }
    }

    /// The card that has the buffer.
    pub fn device(&self) -> &Device {
        &self.devices[self.card]
    }

    /// Downloads parts, one after the other, as other elements, on all threads of the installed pool, into memory that
    /// no thread has cleared before. All cards copy at the same time. An incomplete last element is left out.
    pub fn download_all<U: bytemuck::Pod>(parts: &[Self]) -> Result<Vec<U>, Error> {
        /// Numbers that a thread copies at a time.
        const PIECE: usize = (2 << 20) / size_of::<f32>();
        let numbers: usize = parts.iter().map(|part| part.numbers.len()).sum();
        let count = numbers * size_of::<f32>() / size_of::<U>();
        let mut values: Vec<U> = Vec::with_capacity(count);
        let spare = &mut values.spare_capacity_mut()[..count];
        // SAFETY: the bytes of these elements, which may be uninitialised.
        let mut rest = unsafe {
            slice::from_raw_parts_mut(
                spare.as_mut_ptr().cast::<MaybeUninit<u8>>(),
                size_of_val(spare),
            )
        };
        let mut pieces = Vec::new();
        for part in parts {
            let bytes = part.numbers.len() * size_of::<f32>();
            let (own, others) = rest.split_at_mut(bytes.min(rest.len()));
            rest = others;
            let numbered = own.chunks_mut(PIECE * size_of::<f32>()).enumerate();
            pieces.extend(numbered.map(|(i, to)| (part, part.numbers.start + i * PIECE, to)));
        }
        let copy = |(part, start, to): (&Self, usize, &mut [MaybeUninit<u8>])| {
            part.device()
                .copy_to_host(&*part.buffer, start, to, Wait::Asleep)
        };
        pieces.into_par_iter().try_for_each(copy)?;
        // SAFETY: the parts have as many bytes, each piece is initialised, and any bytes are a valid `Pod`.
        unsafe {
            values.set_len(count);
        }
        Ok(values)
    }
}

/// A part of which the host has a copy: the card keeps its own until memory is short there.
pub struct CachedPart {
    devices: Arc<[Device]>,
    card: usize,
    buffer: Weak<CudaSlice<f32>>,
    numbers: Range<usize>,
    /// The key of the buffer among those that the card keeps.
    id: DataId,
}

impl CachedPart {
    const TAG: &'static str = "part";

    /// Puts the buffer of a part into the cache of its card.
    pub fn new(part: &CardPart) -> Self {
        let id = DataId::fresh();
        part.device().keep(id, Self::TAG, part.buffer.clone());
        Self {
            devices: part.devices.clone(),
            card: part.card,
            buffer: Arc::downgrade(&part.buffer),
            numbers: part.numbers.clone(),
            id,
        }
    }

    /// The part, which stays on the card while the result exists; `None` if the card no longer has it.
    pub fn part(&self) -> Option<CardPart> {
        Some(CardPart {
            devices: self.devices.clone(),
            card: self.card,
            buffer: self.buffer.upgrade()?,
            numbers: self.numbers.clone(),
        })
    }
}

impl Drop for CachedPart {
    fn drop(&mut self) {
        self.devices[self.card].forget::<f32>(self.id, Self::TAG);
    }
}
