//! Page-locked memory for large transfers, which the card reads and writes at full speed.

#![allow(
    unsafe_code,
    reason = "page-locked memory is uninitialised, and the driver uses it without the compiler's knowledge"
)]

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::sys::CUevent_flags::{CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING};
use cudarc::driver::{CudaEvent, CudaStream, DevicePtr, DriverError, PinnedHostSlice, result};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Large enough to hide the latency of a copy, small enough to be still in the processor's cache when it is copied
/// again.
const CHUNK: usize = 1 << 20;

/// How a thread waits for the card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// The thread sleeps, which leaves the processor to others but delays its wake-up.
    Asleep,
    /// The thread spins: for short work between two waits, for which a late wake-up would matter.
    Awake,
}

/// Two chunks: the card fills one while the other is emptied.
type Pair = [PinnedHostSlice<u8>; 2];

/// Pairs that are not in use.
#[derive(Default)]
pub struct Staging(Mutex<Vec<Pair>>);

impl Staging {
    fn take_pair(&self, stream: &CudaStream) -> Result<Pair, DriverError> {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(pair) = free {
            return Ok(pair);
        }
        let chunk = || {
            // Not `alloc_pinned`: its write-combined memory is slow to read.
            // SAFETY: read only where a copy has written.
            let mut chunk = unsafe { stream.context().alloc_pinned_with_flags::<u8>(CHUNK, 0)? };
            chunk.as_mut_slice()?.fill(0);
            Ok::<_, DriverError>(chunk)
        };
        Ok([chunk()?, chunk()?])
    }

    /// Copies bytes to memory of the card that no other work uses, and waits.
    pub fn upload(
        &self,
        stream: &Arc<CudaStream>,
        from: &[u8],
        to: CUdeviceptr,
    ) -> Result<(), DriverError> {
        stream.context().bind_to_thread()?;
        let mut pair = self.take_pair(stream)?;
        let sent = send(stream, from, to, &mut pair);
        self.give_back(stream, pair, sent)
    }

    /// Keeps the pair for the next transfer.
    fn give_back(
        &self,
        stream: &CudaStream,
        pair: Pair,
        done: Result<(), DriverError>,
    ) -> Result<(), DriverError> {
        if done.is_err() {
            // The card may still be using a chunk that is about to be freed.
            let _ = stream.synchronize();
            return done;
        }
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(pair);
        Ok(())
    }

    /// Copies bytes from the card after all earlier work on them, and waits. Every byte of `to` is then initialised, unless
    /// the card fails.
    pub fn download(
        &self,
        stream: &Arc<CudaStream>,
        from: &impl DevicePtr<u8>,
        to: &mut [MaybeUninit<u8>],
        wait: Wait,
    ) -> Result<(), DriverError> {
        assert_eq!(from.len(), to.len(), "as many bytes as asked for");
        stream.context().bind_to_thread()?;
        let mut pair = self.take_pair(stream)?;
        let copied = copy(stream, from, to, wait, &mut pair);
        self.give_back(stream, pair, copied)
    }
}

fn send(
    stream: &Arc<CudaStream>,
    from: &[u8],
    to: CUdeviceptr,
    pair: &mut Pair,
) -> Result<(), DriverError> {
    let mut sent = [None, None];
    for (i, part) in from.chunks(CHUNK).enumerate() {
        let chunk = pair[i % 2].as_mut_slice()?;
        if let Some(event) = sent[i % 2].take() {
            CudaEvent::synchronize(&event)?;
        }
        chunk[..part.len()].copy_from_slice(part);
        // SAFETY: the caller owns the memory at `to`; the chunk is not written or freed before the event below has
        // completed.
        unsafe {
            result::memcpy_htod_async(
                to + (i * CHUNK) as u64,
                &chunk[..part.len()],
                stream.cu_stream(),
            )?;
        }
        sent[i % 2] = Some(stream.record_event(Some(CU_EVENT_BLOCKING_SYNC))?);
    }
    sent.iter().flatten().try_for_each(CudaEvent::synchronize)
}

fn copy(
    stream: &Arc<CudaStream>,
    from: &impl DevicePtr<u8>,
    to: &mut [MaybeUninit<u8>],
    wait: Wait,
    pair: &mut Pair,
) -> Result<(), DriverError> {
    let flag = match wait {
        Wait::Asleep => CU_EVENT_BLOCKING_SYNC,
        Wait::Awake => CU_EVENT_DISABLE_TIMING,
    };
    let (source, _read) = from.device_ptr(stream);
    let mut waiting = None;
    for (i, begin) in (0..to.len()).step_by(CHUNK).enumerate() {
        let range = begin..to.len().min(begin + CHUNK);
        let chunk = pair[i % 2].as_mut_slice()?;
        // SAFETY: the range lies in `from`, whose length equals that of `to`; the chunk is not read, written or freed
        // before the event below has completed.
        unsafe {
            result::memcpy_dtoh_async(
                &mut chunk[..range.len()],
                source + range.start as u64,
                stream.cu_stream(),
            )?;
        }
        let event = stream.record_event(Some(flag))?;
        if let Some((range, event, which)) = waiting.replace((range, event, i % 2)) {
            event.synchronize()?;
            empty(&pair[which], to, range)?;
        }
    }
    if let Some((range, event, which)) = waiting {
        event.synchronize()?;
        empty(&pair[which], to, range)?;
    }
    Ok(())
}

fn empty(
    chunk: &PinnedHostSlice<u8>,
    to: &mut [MaybeUninit<u8>],
    range: Range<usize>,
) -> Result<(), DriverError> {
    to[range.clone()].write_copy_of_slice(&chunk.as_slice()?[..range.len()]);
    Ok(())
}
