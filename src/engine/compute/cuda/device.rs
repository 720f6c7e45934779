//! One graphics card: its kernels, its memory, its timing.

#![allow(unsafe_code, reason = "memory of the card is allocated uninitialised")]

use super::buffers::Buffers;
use super::error::{Error, driver_message, is_out_of_memory};
use super::pool::Pool;
use super::staging::{Staging, Wait};
use super::{library, nccl, probe};
use crate::compute::card_claims::{self, Claims};
use crate::compute::kernels::KernelFile;
use crate::compute::{Backend, DataId};
use cudarc::driver::sys::CUctx_flags::CU_CTX_SCHED_BLOCKING_SYNC;
use cudarc::driver::sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
use cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaSlice, CudaStream, CudaView,
    DevicePtr as _, DevicePtrMut as _, DeviceRepr, DriverError,
};
use cudarc::nvrtc::Ptx;
use rayon::prelude::*;
use std::collections::HashMap;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice;
use std::sync::{Arc, Mutex, PoisonError};

/// Elements of buffers: plain numbers, arrays of them, and `#[repr(C)]` structs of them.
pub trait Element: DeviceRepr + bytemuck::Pod + Send + Sync {}
impl<T: DeviceRepr + bytemuck::Pod + Send + Sync> Element for T {}

/// Memory left free for the driver and the window.
const RESERVE: u64 = 64 << 20;
/// The compute capability for which the PTX is built.
const MIN_CAPABILITY: (i32, i32) = (7, 0);

/// The kernels of a file, once they are loaded on the card.
type LoadedModule = Arc<Mutex<Option<Arc<CudaModule>>>>;

/// An open card. It may be used from several threads.
pub struct Device {
    number: usize,
    name: String,
    capability: (i32, i32),
    total: u64,
    multiprocessors: u32,
    stream: Arc<CudaStream>,
    shared: Arc<Shared>,
}

/// Belongs to a card, whatever stream is used.
struct Shared {
    modules: Mutex<HashMap<&'static str, LoadedModule>>,
    buffers: Buffers,
    staging: Staging,
    pool: Option<Pool>,
    /// Memory that this process is about to allocate.
    claims: Claims,
    /// The groups of several cards of which this is the first, by their numbers.
    joined: Mutex<HashMap<Vec<usize>, Option<Arc<nccl::Group>>>>,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{} {}", self.number, self.name)
    }
}

impl Device {
    /// Opens a card, counted from 0 in the driver's order, and runs its self-test.
    pub fn open(number: usize) -> Result<Self, Error> {
        let count = library::device_count()?;
        if number >= count {
            return Err(Error::NoSuchDevice { number, count });
        }
        let opening = |error| Error::from_driver("opening the graphics card", error);
        let context = CudaContext::new(number).map_err(|error| {
            if !is_out_of_memory(error) {
                return opening(error);
            }
            Error::OutOfMemory {
                what: "starting".to_owned(),
                needs: RESERVE,
                free: 0,
                lower: "choose another card",
            }
        })?;
        let name = library::name(context.cu_device()).map_err(opening)?;
        let capability = context.compute_capability().map_err(opening)?;
        if capability < MIN_CAPABILITY {
            return Err(Error::OldDevice { name, capability });
        }
        let total = context.total_mem().map_err(opening)? as u64;
        let uuid = context.uuid().map_err(opening)?.bytes.map(|b| b as u8);
        let multiprocessors = context
            .attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(opening)?;
        // Threads that wait for the card sleep: the window and the CPU's solvers need the cores.
        context
            .set_flags(CU_CTX_SCHED_BLOCKING_SYNC)
            .map_err(opening)?;
        let device = Self {
            number,
            name,
            capability,
            total,
            multiprocessors: u32::try_from(multiprocessors).unwrap_or(1),
            stream: context.new_stream().map_err(opening)?,
            shared: Arc::new(Shared {
                modules: Mutex::default(),
                buffers: Buffers::new(total / 2),
                staging: Staging::default(),
                pool: Pool::keep_memory(&context, total),
                claims: Claims::new(uuid, card_claims::ledger()),
                joined: Mutex::default(),
            }),
        };
        device.self_test(0x5EED)?;
        Ok(device)
    }

    /// The card with a stream of its own, for work beside that of [`Device::stream`]; kernels and cached buffers are
    /// shared.
    pub fn with_own_stream(&self) -> Result<Self, Error> {
        let stream = self.check("starting a stream", self.context().new_stream())?;
        Ok(Self {
            stream,
            name: self.name.clone(),
            shared: self.shared.clone(),
            ..*self
        })
    }

    /// Runs a kernel with known results; returns the milliseconds of the launch.
    pub fn self_test(&self, salt: u32) -> Result<f32, Error> {
        probe::run(self, salt)
    }

    /// Index in the driver's order, from 0: `cuda:1` is the second card.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Compute capability, major and minor.
    pub fn capability(&self) -> (i32, i32) {
        self.capability
    }

    /// Bytes of memory in total.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of multiprocessors.
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// Bytes free at this moment, and bytes in total. The free ones include memory that is kept for the next
    /// allocations, and exclude memory that other processes of this program are about to allocate.
    pub fn memory(&self) -> Result<(u64, u64), Error> {
        let others = self.shared.claims.of_others();
        let (free, total) = self.free_and_total()?;
        Ok((free.saturating_sub(others), total))
    }

    /// Free bytes, including memory that is kept for the next allocations, and bytes in total.
    fn free_and_total(&self) -> Result<(u64, u64), Error> {
        let requested = self.stream.context().mem_get_info();
        let (free, total) = self.check("asking for its memory", requested)?;
        let idle = self.shared.pool.as_ref().map_or(0, Pool::idle);
        Ok((free as u64 + idle, total as u64))
    }

    /// Waits for [`Device::stream`], and returns memory that nobody uses to the system, for allocations of any kind.
    fn release_memory(&self) -> Result<(), Error> {
        const OPERATION: &str = "freeing memory";
        self.synchronize(OPERATION)?;
        match &self.shared.pool {
            Some(pool) => self.check(OPERATION, pool.release()),
            None => Ok(()),
        }
    }

    /// CUDA context of the card.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// The stream of uploads, downloads and the launches of most solvers.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Waits until [`Device::stream`] is empty.
    pub fn synchronize(&self, doing: &str) -> Result<(), Error> {
        self.check(doing, self.stream.synchronize())
    }

    /// Converts a driver's error, with `doing` as the attempted action: "tracing rays".
    pub fn check<T>(&self, doing: &str, answer: Result<T, DriverError>) -> Result<T, Error> {
        answer.map_err(|error| {
            if is_out_of_memory(error) {
                return self.out_of_memory(doing, 0);
            }
            Error::from_driver(doing, error)
        })
    }

    fn out_of_memory(&self, what: &str, needs: u64) -> Error {
        Error::OutOfMemory {
            what: what.to_owned(),
            needs,
            free: self.context().mem_get_info().map_or(0, |m| m.0 as u64),
            lower: "ask for less at a time",
        }
    }

    /// The kernel `entry` of a file, whose PTX is loaded on first use.
    pub fn kernel(&self, file: KernelFile, entry: &str) -> Result<CudaFunction, Error> {
        let module = self.module(file)?;
        module
            .load_function(entry)
            .map_err(|error| unusable(file, error))
    }

    /// Has the driver compile the kernels of a file: takes seconds when this version of Arcuate first runs on a card;
    /// the driver caches the result.
    pub fn load(&self, file: KernelFile) -> Result<(), Error> {
        self.module(file).map(drop)
    }

    /// Threads that need the kernels of another file do not wait for these.
    fn module(&self, file: KernelFile) -> Result<Arc<CudaModule>, Error> {
        let mut modules = self
            .shared
            .modules
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let loaded = modules.entry(file.stem).or_default().clone();
        drop(modules);
        let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = &*loaded {
            return Ok(module.clone());
        }
        let module = self.context().load_module(Ptx::from_src(file.ptx));
        let module = module.map_err(|error| unusable(file, error))?;
        *loaded = Some(module.clone());
        Ok(module)
    }

    /// Checks whether `bytes` more would fit, after dropping unused cached buffers, and claims them among the processes
    /// of this program. To be called before a job that allocates much:
    /// `needs(bytes, "tracing rays", "ask for fewer rays")`.
    pub fn needs(&self, bytes: u64, what: &str, lower: &'static str) -> Result<(), Error> {
        let mut settled = false;
        let requested = bytes.saturating_add(RESERVE);
        loop {
            let mut free = Ok(0);
            let is_granted = self.shared.claims.claim(bytes, &mut |others| {
                free = self
                    .free_and_total()
                    .map(|(free, _)| free.saturating_sub(others));
                free.as_ref().is_ok_and(|free| requested <= *free)
            });
            let free = free?;
            if is_granted {
                return Ok(());
            }
            let evicted = self.shared.buffers.evict(requested - free);
            if !evicted && settled {
                return Err(Error::OutOfMemory {
                    what: what.to_owned(),
                    needs: bytes,
                    free: free.saturating_sub(RESERVE),
                    lower,
                });
            }
            // Dropped memory, including that dropped by other threads, is free after the next synchronisation.
            self.release_memory()?;
            settled = !evicted;
        }
    }

    /// Bytes of the buffers kept by [`Device::cached`].
    pub fn cached_bytes(&self) -> u64 {
        self.shared.buffers.bytes()
    }

    /// The buffer of an immutable value, uploaded on first use. `tag` distinguishes several forms of one value
    /// ("tensors", "mask").
    pub fn cached<T: Element, C: AsRef<[T]>>(
        &self,
        id: DataId,
        tag: &'static str,
        values: impl FnOnce() -> C,
    ) -> Result<Arc<CudaSlice<T>>, Error> {
        self.cached_as(id, tag, || self.upload(values().as_ref()))
    }

    /// Like [`Device::cached`], for data computed on the card.
    pub fn cached_as<T: Element, E>(
        &self,
        id: DataId,
        tag: &'static str,
        make: impl FnOnce() -> Result<CudaSlice<T>, E>,
    ) -> Result<Arc<CudaSlice<T>>, E> {
        self.shared.buffers.get(id, tag, make)
    }

    /// Keeps a buffer that others may still read until memory is short or [`Device::forget`] is called.
    pub fn keep<T: Element>(&self, id: DataId, tag: &'static str, buffer: Arc<CudaSlice<T>>) {
        self.shared.buffers.keep(id, tag, buffer);
    }

    /// Drops a buffer that [`Device::keep`] kept.
    pub fn forget<T: Element>(&self, id: DataId, tag: &'static str) {
        self.shared.buffers.forget::<T>(id, tag);
    }

    /// Whether [`Device::cached`] or [`Device::cached_as`] would find a buffer.
    pub fn has<T: Element>(&self, id: DataId, tag: &'static str) -> bool {
        self.shared.buffers.has::<T>(id, tag)
    }

    /// Copies values to a new buffer on the card.
    pub fn upload<T: Element>(&self, values: &[T]) -> Result<CudaSlice<T>, Error> {
        let mut buffer = self.alloc(values.len())?;
        if !values.is_empty() {
            self.check("copying", self.stream.memcpy_htod(values, &mut buffer))?;
        }
        Ok(buffer)
    }

    /// Copies many values to a buffer from element `first` on, on a few threads of its own: one thread does not read
    /// memory as fast as the card receives it.
    ///
    /// # Panics
    /// If the buffer ends before the last value.
    pub fn upload_wide_into<T: Element>(
        &self,
        from: &[T],
        to: &mut CudaSlice<T>,
        first: usize,
    ) -> Result<(), Error> {
        const THREADS: usize = 4;
        assert!(first + from.len() <= to.len(), "the values fit");
        let bytes: &[u8] = bytemuck::cast_slice(from);
        let share = bytes.len().div_ceil(THREADS).max(1);
        let (address, _written) = to.device_ptr_mut(&self.stream);
        let address = address + (first * size_of::<T>()) as u64;
        let parts: Vec<&[u8]> = bytes.chunks(share).collect();
        let sent = Backend::on_own_threads(parts.len(), |i| {
            let staging = &self.shared.staging;
            staging.upload(&self.stream, parts[i], address + (i * share) as u64)
        });
        let sent = sent.into_iter().collect::<Result<(), DriverError>>();
        self.check("copying", sent)
    }

    /// Copies a buffer on the card.
    pub fn copied<T: Element>(&self, from: &CudaSlice<T>) -> Result<CudaSlice<T>, Error> {
        let mut buffer = self.alloc(from.len())?;
        if !from.is_empty() {
            self.check("copying", self.stream.memcpy_dtod(from, &mut buffer))?;
        }
        Ok(buffer)
    }

    /// New buffer whose bytes are all 0.
    pub fn alloc_zeros<T: Element>(&self, len: usize) -> Result<CudaSlice<T>, Error> {
        let mut buffer = self.alloc::<T>(len)?;
        if len > 0 {
            let bytes = buffer.num_bytes();
            // SAFETY: the same bytes; all zeros are a value of every `Pod` type.
            let Some(mut whole) = (unsafe { buffer.transmute_mut::<u8>(bytes) }) else {
                unreachable!("as many bytes as the buffer has")
            };
            self.check("clearing memory", self.stream.memset_zeros(&mut whole))?;
        }
        Ok(buffer)
    }

    /// Allocates uninitialised memory; if it is short, retries once after releasing cached buffers and kept memory.
    fn alloc<T: Element>(&self, len: usize) -> Result<CudaSlice<T>, Error> {
        const OPERATION: &str = "this job";
        let Some(bytes) = len.checked_mul(size_of::<T>()) else {
            return Err(self.out_of_memory(OPERATION, u64::MAX));
        };
        let attempt = || {
            if len == 0 {
                return self.stream.null();
            }
            // SAFETY: private, and all callers write all of it before they return it.
            unsafe { self.stream.alloc(len) }
        };
        let retried = match attempt() {
            Err(error) if is_out_of_memory(error) => {
                self.shared.buffers.evict(bytes as u64);
                self.release_memory()?;
                attempt()
            }
            other => other,
        };
        match retried {
            Err(error) if is_out_of_memory(error) => {
                Err(self.out_of_memory(OPERATION, bytes as u64))
            }
            other => {
                let buffer = self.check("allocating memory", other)?;
                self.shared.claims.allocated(bytes as u64);
                Ok(buffer)
            }
        }
    }

    /// The address of a buffer on the card, for kernels that receive it as a number.
    pub fn address<T>(&self, buffer: &CudaSlice<T>) -> u64 {
        buffer.device_ptr(&self.stream).0
    }

    /// Downloads elements of a buffer after all earlier work on it.
    ///
    /// # Panics
    /// If the range does not lie in the buffer.
    pub fn download<T: Element>(
        &self,
        from: &CudaSlice<T>,
        range: Range<usize>,
    ) -> Result<Vec<T>, Error> {
        let mut values: Vec<T> = bytemuck::zeroed_vec(range.len());
        self.download_into(from, range.start, &mut values)?;
        Ok(values)
    }

    /// Does the same as [`Device::download`], from element `start` on, into memory that may have been used before:
    /// several times as fast for large results, because fresh pages cost more than the copy.
    ///
    /// # Panics
    /// If the buffer ends before `to` is full.
    pub fn download_into<T: Element>(
        &self,
        from: &CudaSlice<T>,
        start: usize,
        to: &mut [T],
    ) -> Result<(), Error> {
        self.copy_to_host(from, start, known(to), Wait::Asleep)
    }

    /// Downloads a whole buffer of a few numbers, for many short rounds of work in succession.
    ///
    /// # Panics
    /// If the buffer ends before `to` is full.
    pub fn poll_into<T: Element>(&self, from: &CudaSlice<T>, to: &mut [T]) -> Result<(), Error> {
        self.copy_to_host(from, 0, known(to), Wait::Awake)
    }

    /// Copies elements from `start` on, as many as `bytes` has room for; all of its bytes are then initialised.
    pub(super) fn copy_to_host<T: Element>(
        &self,
        from: &CudaSlice<T>,
        start: usize,
        bytes: &mut [MaybeUninit<u8>],
        wait: Wait,
    ) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        let view = from.slice(start..start + bytes.len() / size_of::<T>());
        // SAFETY: the same bytes, all of them initialised by uploads, by clearing or by kernels, and any bytes are a
        // valid `Pod`.
        let whole: Option<CudaView<u8>> = unsafe { view.transmute(bytes.len()) };
        let Some(whole) = whole else {
            unreachable!("as many bytes as the view has")
        };
        let copied = self
            .shared
            .staging
            .download(&self.stream, &whole, bytes, wait);
        self.check("copying results", copied)
    }

    /// Downloads a whole buffer into existing memory, on all threads of the installed pool.
    ///
    /// # Panics
    /// If the buffer ends before `to` is full.
    pub fn download_wide_into<T: Element>(
        &self,
        from: &CudaSlice<T>,
        to: &mut [T],
    ) -> Result<(), Error> {
        const PART: usize = 16 << 20;
        let part = PART / size_of::<T>();
        to.par_chunks_mut(part)
            .enumerate()
            .try_for_each(|(i, to)| self.download_into(from, i * part, to))
    }

    /// Downloads elements of a buffer from `start` on, as [`Device::download_wide_into`] downloads a whole one, in smaller
    /// parts: those of some megabytes, too, are divided among threads.
    ///
    /// # Panics
    /// If the buffer ends before `to` is full.
    pub fn download_parts_into<T: Element>(
        &self,
        from: &CudaSlice<T>,
        start: usize,
        to: &mut [T],
    ) -> Result<(), Error> {
        const PART: usize = 2 << 20;
        let part = PART / size_of::<T>();
        to.par_chunks_mut(part)
            .enumerate()
            .try_for_each(|(i, to)| self.download_into(from, start + i * part, to))
    }

    /// Records an event on [`Device::stream`], for [`Device::elapsed_ms`].
    pub fn record_event(&self) -> Result<CudaEvent, Error> {
        // Without the flag an event has no time.
        self.check("timing", self.stream.record_event(Some(CU_EVENT_DEFAULT)))
    }

    /// These cards as a group for sums, cached by the first card; `None` without NCCL.
    pub fn nccl_group(devices: &[&Self]) -> Option<Arc<nccl::Group>> {
        let numbers = devices.iter().map(|d| d.number).collect();
        let known = devices.first()?.shared.joined.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let group = known.entry(numbers);
        group
            .or_insert_with(|| nccl::Group::new(devices).map(Arc::new))
            .clone()
    }

    /// Milliseconds on the card between two events; waits for the later one.
    pub fn elapsed_ms(&self, from: &CudaEvent, to: &CudaEvent) -> Result<f32, Error> {
        self.check("timing", from.elapsed_ms(to))
    }

    /// The result of `work`, and the milliseconds that its launches on [`Device::stream`] took; waits for them.
    pub fn elapsed<R>(&self, work: impl FnOnce() -> Result<R, Error>) -> Result<(R, f32), Error> {
        let from = self.record_event()?;
        let result = work()?;
        let to = self.record_event()?;
        Ok((result, self.elapsed_ms(&from, &to)?))
    }
}

/// Initialised elements as bytes that a copy overwrites.
fn known<T: Element>(to: &mut [T]) -> &mut [MaybeUninit<u8>] {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(to);
    // SAFETY: the same bytes; `copy_to_host` writes only initialised ones.
    unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len()) }
}

fn unusable(file: KernelFile, error: DriverError) -> Error {
    Error::Module {
        stem: file.stem.to_owned(),
        why: driver_message(error),
    }
}
