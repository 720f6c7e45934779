//! The card that other programs use least, for processes that share the cards of a machine.
//!
//! The management library of the driver (NVML) states free memory and load without opening a card. It is loaded as NCCL is,
//! since five of its functions suffice. It counts cards in another order than CUDA, and all of them where
//! `CUDA_VISIBLE_DEVICES` hides some, so cards are paired by their address on the bus. Without it, each card is opened to
//! ask for its free memory, and its load remains unknown.

#![allow(
    unsafe_code,
    reason = "calls into a library that is loaded at run time"
)]

use super::Error;
use crate::compute::card_claims;
use cudarc::driver::{CudaContext, result, sys};
use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};

const NAMES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];
/// Free memory of two cards that differs by less than this share of the memory counts as equal.
const EQUAL_MEMORY: f64 = 0.02;
/// Load that differs by less than this, in percent, counts as equal.
const EQUAL_LOAD: u32 = 10;

/// Free memory and load of a card.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CardUsage {
    /// Free memory, bytes.
    pub free: u64,
    /// Memory in total, bytes.
    pub total: u64,
    /// Percentage of the time in which a kernel ran; `None` if it is unknown.
    pub load: Option<u32>,
}

impl CardUsage {
    fn free_share(&self) -> f64 {
        self.free as f64 / self.total.max(1) as f64
    }
}

/// The index of the card with the most free memory as a share of its own; among cards with about the same, the one with the
/// least load. `salt` chooses among equal cards, so that processes that start together do not all choose the first. `None`
/// without cards; a card whose usage is unknown is chosen only if all are.
pub fn least_used(cards: &[Option<CardUsage>], salt: u32) -> Option<usize> {
    let known = || {
        let cards = cards.iter().enumerate();
        cards.filter_map(|(i, usage)| Some((i, (*usage)?)))
    };
    let Some(most) = known()
        .map(|(_, usage)| usage.free_share())
        .reduce(f64::max)
    else {
        return (!cards.is_empty()).then_some(0);
    };
    let freest = || known().filter(|(_, usage)| most - usage.free_share() < EQUAL_MEMORY);
    let load = |usage: &CardUsage| usage.load.unwrap_or(100);
    let least = freest().map(|(_, usage)| load(&usage)).min()?;
    let equal: Vec<usize> = freest()
        .filter(|(_, usage)| load(usage) - least < EQUAL_LOAD)
        .map(|(i, _)| i)
        .collect();
    equal.get(salt as usize % equal.len().max(1)).copied()
}

/// The number of the least used card, in the driver's order.
pub(super) fn least_used_now(count: usize) -> Result<usize, Error> {
    if count == 1 {
        return Ok(0);
    }
    let nvml = Nvml::load();
    let usage = |number: usize| {
        let stated = nvml.as_ref().and_then(|nvml| nvml.usage(number));
        let stated = stated.or_else(|| usage_of_open(number))?;
        Some(CardUsage {
            free: stated.free.saturating_sub(claimed(number)),
            ..stated
        })
    };
    let cards: Vec<_> = (0..count).map(usage).collect();
    least_used(&cards, std::process::id()).ok_or(Error::NoDevice)
}

/// Bytes that other processes of this program are about to allocate on a card.
fn claimed(number: usize) -> u64 {
    let uuid = || {
        let device = result::device::get(c_int::try_from(number).ok()?).ok()?;
        result::device::get_uuid(device).ok()
    };
    match (card_claims::ledger(), uuid()) {
        (Some(ledger), Some(uuid)) => ledger.of_others(&uuid.bytes.map(|b| b as u8)),
        _ => 0,
    }
}

/// The free memory of a card, which is opened for this; `None` if it cannot be opened.
fn usage_of_open(number: usize) -> Option<CardUsage> {
    let context = CudaContext::new(number).ok()?;
    let (free, total) = context.mem_get_info().ok()?;
    Some(CardUsage {
        free: free as u64,
        total: total as u64,
        load: None,
    })
}

/// `nvmlMemory_t`.
#[repr(C)]
#[derive(Default)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `nvmlUtilization_t`.
#[repr(C)]
#[derive(Default)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

type Card = *mut c_void;

/// The functions of the library, which is closed when this is dropped.
struct Nvml {
    shut_down: unsafe extern "C" fn() -> c_int,
    card_at: unsafe extern "C" fn(*const c_char, *mut Card) -> c_int,
    memory: unsafe extern "C" fn(Card, *mut Memory) -> c_int,
    utilization: unsafe extern "C" fn(Card, *mut Utilization) -> c_int,
    /// Keeps the functions loaded.
    _library: Library,
}

impl Nvml {
    /// `None` if it is missing or does not start.
    fn load() -> Option<Self> {
        // SAFETY: loading the library runs its initialisers, which every program that uses it does.
        let mut libraries = NAMES.iter().map(|name| unsafe { Library::new(*name) });
        let library = libraries.find_map(Result::ok)?;
        // SAFETY: the types are those of nvml.h, which keeps them for each name, and the library stays loaded as long as the
        // functions exist.
        unsafe {
            let start: unsafe extern "C" fn() -> c_int = *library.get(b"nvmlInit_v2").ok()?;
            let loaded = Self {
                shut_down: *library.get(b"nvmlShutdown").ok()?,
                card_at: *library.get(b"nvmlDeviceGetHandleByPciBusId_v2").ok()?,
                memory: *library.get(b"nvmlDeviceGetMemoryInfo").ok()?,
                utilization: *library.get(b"nvmlDeviceGetUtilizationRates").ok()?,
                _library: library,
            };
            match start() {
                0 => Some(loaded),
                _ => {
                    // Nothing has started, so dropping it must not shut it down.
                    std::mem::forget(loaded);
                    None
                }
            }
        }
    }

    /// `None` if the card is unknown to it, as a part of a divided card is.
    fn usage(&self, number: usize) -> Option<CardUsage> {
        let mut address = [0u8; 32];
        let device = result::device::get(c_int::try_from(number).ok()?).ok()?;
        let (mut card, mut memory, mut load) = (
            std::ptr::null_mut(),
            Memory::default(),
            Utilization::default(),
        );
        // SAFETY: the driver writes at most as many bytes as it is given room for, with a NUL at their end; NVML reads that
        // text and fills structs of its own layout, and its card is used only if it was found.
        unsafe {
            let room = address.len() as c_int;
            let written = sys::cuDeviceGetPCIBusId(address.as_mut_ptr().cast(), room, device);
            written.result().ok()?;
            if (self.card_at)(address.as_ptr().cast(), &raw mut card) != 0
                || (self.memory)(card, &raw mut memory) != 0
            {
                return None;
            }
            let has_load = (self.utilization)(card, &raw mut load) == 0;
            Some(CardUsage {
                free: memory.free,
                total: memory.total,
                load: has_load.then_some(load.gpu),
            })
        }
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: it was started once, by `load`.
        let _ = unsafe { (self.shut_down)() };
    }
}
