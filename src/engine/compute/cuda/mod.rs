//! NVIDIA graphics cards through the driver's library, which is loaded if it is present.
//!
//! This module is independent of the computations: a solver's `cuda.rs` requests kernels, memory and copies from a
//! [`Device`], and launches. The driver's own types (`CudaSlice`, `CudaFunction`, `LaunchConfig`) are those of
//! `cudarc::driver`.

mod buffers;
mod card_part;
mod device;
mod error;
mod external;
mod library;
pub mod nccl;
mod pool;
mod probe;
mod staging;
mod surface;
mod usage;

pub use card_part::{CachedPart, CardPart};
pub use device::{Device, Element};
pub use error::Error;
pub use external::SharedBuffer;
pub use surface::Surface;
pub use usage::{CardUsage, least_used};

use super::choice::DeviceChoice;
use super::thread;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A driver that takes longer is considered hung, s. Eight cards without the persistence daemon take about ten seconds.
static LIMIT_S: AtomicU64 = AtomicU64::new(30);

/// Sets the number of seconds after which a driver that does not answer is considered hung.
pub fn wait_for_driver(seconds: u64) {
    LIMIT_S.store(seconds, Ordering::Relaxed);
}

/// The requested cards, each of which has passed the self-test.
pub fn open(which: DeviceChoice) -> Result<Vec<Device>, Error> {
    within_limit("opening the graphics card", move || open_now(which))
}

/// Whether a driver is installed; whether it works, only opening a card shows.
pub fn is_installed() -> bool {
    library::is_present()
}

/// The cards' names in the driver's order, without opening any of them.
pub fn names() -> Result<Vec<String>, Error> {
    within_limit("naming the graphics cards", library::names)
}

fn within_limit<R: Send + 'static>(
    doing: &'static str,
    work: impl FnOnce() -> Result<R, Error> + Send + 'static,
) -> Result<R, Error> {
    let seconds = LIMIT_S.load(Ordering::Relaxed);
    match thread::within(Duration::from_secs(seconds), "NVIDIA driver", work) {
        Ok(Some(result)) => result,
        Ok(None) => Err(Error::NoAnswer { doing, seconds }),
        Err(error) => Err(Error::Driver {
            doing: doing.to_owned(),
            why: error.to_string(),
        }),
    }
}

fn open_now(which: DeviceChoice) -> Result<Vec<Device>, Error> {
    let count = library::device_count()?;
    let numbers = match which {
        DeviceChoice::First => 0..1,
        DeviceChoice::Number(number) if number < count => number..number + 1,
        DeviceChoice::Number(number) => return Err(Error::NoSuchDevice { number, count }),
        DeviceChoice::LeastUsed => {
            let number = usage::least_used_now(count)?;
            number..number + 1
        }
        DeviceChoice::All => 0..count,
    };
    numbers.map(Device::open).collect()
}

/// Bytes in the unit in which cards are sold: `139 GB`, `3.2 GB`, `48 MB`; 1 GB is 2³⁰ bytes, unlike in file sizes
/// ([`super::memory::size`]).
pub fn gigabytes(bytes: u64) -> String {
    let gigabytes = bytes as f64 / (1u64 << 30) as f64;
    if gigabytes >= 99.95 {
        format!("{gigabytes:.0} GB")
    } else if gigabytes >= 0.995 {
        format!("{gigabytes:.1} GB").replace(".0 GB", " GB")
    } else {
        format!("{:.0} MB", (gigabytes * 1024.0).ceil())
    }
}
