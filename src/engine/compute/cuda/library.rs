//! Checks whether there is a usable driver. cudarc panics if the library or a function is missing, so nothing else
//! may be called before this check has passed.

#![allow(
    unsafe_code,
    reason = "calls into a library that is loaded at run time"
)]

use super::Error;
use super::error::driver_message;
use cudarc::driver::sys::{self, CUdevice, CUresult};
use cudarc::driver::{CudaContext, DriverError, result};
use std::ffi::c_int;

/// 1000 × major + 10 × minor: the version required by `cuda-12020` in Cargo.toml and by the PTX.
const MIN_VERSION: c_int = 12020;

/// Functions called before the version is known, and the newest ones called afterwards; a driver of that version has
/// all of them, another library of the same name does not.
const FUNCTIONS: [&str; 8] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorString",
    "cuDeviceGetCount",
    "cuDevicePrimaryCtxRetain",
    "cuCtxSetFlags",
    "cuMemAllocAsync",
    "cuModuleLoadData",
];

/// The cards' names in the driver's order, without opening any of them.
pub fn names() -> Result<Vec<String>, Error> {
    let name = |number: usize| name(result::device::get(number as c_int)?);
    let names: Result<Vec<String>, _> = (0..device_count()?).map(name).collect();
    names.map_err(|error| Error::from_driver("naming the graphics cards", error))
}

/// The card's name up to the first NUL, if it has one: cudarc's own function panics without it.
pub(super) fn name(device: CUdevice) -> Result<String, DriverError> {
    let mut buffer = [0u8; 256];
    // SAFETY: the driver writes at most the number of bytes passed to it.
    unsafe {
        sys::cuDeviceGetName(buffer.as_mut_ptr().cast(), buffer.len() as c_int, device).result()?;
    }
    let name = buffer.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).trim().to_owned())
}

/// Whether there is a library of this name.
pub fn is_present() -> bool {
    // SAFETY: loading the driver's library runs its initialisers, which every CUDA program does.
    unsafe { sys::is_culib_present() }
}

/// The number of cards the driver sees; at least one.
pub fn device_count() -> Result<usize, Error> {
    if !is_present() {
        return Err(Error::NoDriver);
    }
    // SAFETY: the library is present, so this loads it instead of panicking.
    let library = unsafe { sys::culib() };
    for lacks in FUNCTIONS {
        // SAFETY: the symbol is looked up and not called.
        if unsafe { library.get::<unsafe extern "C" fn()>(lacks.as_bytes()) }.is_err() {
            return Err(Error::Incomplete { lacks });
        }
    }
    let mut version = 0;
    // SAFETY: the function exists and writes one int; it may be called before cuInit.
    let requested = unsafe { sys::cuDriverGetVersion(&mut version) };
    // The library that a CUDA toolkit ships for linking has no driver behind it: every call returns this error.
    if requested == CUresult::CUDA_ERROR_STUB_LIBRARY {
        return Err(Error::NoDriver);
    }
    if version < MIN_VERSION {
        return Err(Error::OldDriver { version });
    }
    let count = CudaContext::device_count().map_err(|error| match error.0 {
        CUresult::CUDA_ERROR_NO_DEVICE => Error::NoDevice,
        CUresult::CUDA_ERROR_STUB_LIBRARY => Error::NoDriver,
        _ => Error::Driver {
            doing: "starting".to_owned(),
            why: driver_message(error),
        },
    })?;
    match usize::try_from(count) {
        Ok(0) | Err(_) => Err(Error::NoDevice),
        Ok(count) => Ok(count),
    }
}
