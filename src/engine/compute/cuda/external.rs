//! Memory of the graphics driver, imported by its handle, and buffers in it.

#![allow(
    unsafe_code,
    reason = "memory of another driver, imported by its handle"
)]

use super::{Device, Error};
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr as _, sys};
use std::ops::Range;
use std::sync::Arc;

pub(super) const OPERATION: &str = "sharing memory with the window";

/// A buffer of the graphics driver. Dropping this only ends the view of it; its contents remain.
pub struct SharedBuffer {
    context: Arc<CudaContext>,
    memory: sys::CUexternalMemory,
    address: sys::CUdeviceptr,
    bytes: u64,
}

// SAFETY: the driver's handles may be used by any thread that binds the context, as each use here does.
unsafe impl Send for SharedBuffer {}
// SAFETY: as above; a shared reference changes only the card's memory, through its streams.
unsafe impl Sync for SharedBuffer {}

impl Device {
    /// Imports memory that was allocated for a single buffer or image.
    #[cfg(unix)]
    pub(super) fn import(
        &self,
        handle: std::os::fd::OwnedFd,
        bytes: u64,
    ) -> Result<sys::CUexternalMemory, Error> {
        use std::os::fd::{AsRawFd as _, IntoRawFd as _};
        const DEDICATED: u32 = 1;
        self.check(OPERATION, self.context().bind_to_thread())?;
        let import = sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
            type_: sys::CUexternalMemoryHandleType::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD,
            handle: sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1 {
                fd: handle.as_raw_fd(),
            },
            size: bytes,
            flags: DEDICATED,
            reserved: [0; 16],
        };
        let mut memory = std::ptr::null_mut();
        // SAFETY: the handle is open until the import takes ownership, and both pointers outlive the call.
        let imported = unsafe { sys::cuImportExternalMemory(&mut memory, &import) };
        self.check(OPERATION, imported.result())?;
        // The driver owns it now.
        let _ = handle.into_raw_fd();
        Ok(memory)
    }

    /// A buffer exported by a graphics driver: the first `bytes` of `memory` bytes behind `handle`, allocated for it
    /// alone.
    #[cfg(unix)]
    pub fn shared_buffer(
        &self,
        handle: std::os::fd::OwnedFd,
        memory: u64,
        bytes: u64,
    ) -> Result<SharedBuffer, Error> {
        let mut shared = SharedBuffer {
            context: self.context().clone(),
            memory: self.import(handle, memory)?,
            address: 0,
            bytes,
        };
        let requested = sys::CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
            offset: 0,
            size: bytes,
            flags: 0,
            reserved: [0; 16],
        };
        // SAFETY: the memory was just imported; its drop releases everything, whatever fails.
        let mapped = unsafe {
            sys::cuExternalMemoryGetMappedBuffer(&mut shared.address, shared.memory, &requested)
        };
        self.check(OPERATION, mapped.result())?;
        Ok(shared)
    }

    /// On other systems memory is exported differently: nothing is shared.
    #[cfg(windows)]
    pub fn shared_buffer(
        &self,
        _handle: std::os::windows::io::OwnedHandle,
        _memory: u64,
        _bytes: u64,
    ) -> Result<SharedBuffer, Error> {
        Err(Error::Driver {
            doing: OPERATION.to_owned(),
            why: "it is supported only on Linux".to_owned(),
        })
    }

    /// Enqueues a copy of elements to offset `at` of the shared buffer, in bytes.
    ///
    /// # Panics
    /// If the range does not lie in `from`, or does not fit.
    pub fn copy_shared<T>(
        &self,
        from: &CudaSlice<T>,
        range: Range<usize>,
        to: &SharedBuffer,
        at: u64,
        stream: &CudaStream,
    ) -> Result<(), Error> {
        let bytes = range.len() * size_of::<T>();
        assert!(range.end <= from.len() && at + bytes as u64 <= to.bytes);
        self.check(OPERATION, self.context().bind_to_thread())?;
        let first = from.device_ptr(stream).0 + (range.start * size_of::<T>()) as u64;
        // SAFETY: both ranges lie in their buffers, as just checked.
        let copied =
            unsafe { sys::cuMemcpyDtoDAsync_v2(to.address + at, first, bytes, stream.cu_stream()) };
        self.check(OPERATION, copied.result())
    }
}

impl SharedBuffer {
    /// Size of the buffer, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for SharedBuffer {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_err() {
            return;
        }
        // SAFETY: each was created by `Device::shared_buffer` or is null; if the driver refuses, they are already
        // lost.
        unsafe {
            if self.address != 0 {
                let _ = sys::cuMemFree_v2(self.address);
            }
            if !self.memory.is_null() {
                let _ = sys::cuDestroyExternalMemory(self.memory);
            }
        }
    }
}
