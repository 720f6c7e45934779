//! Images of the graphics driver that kernels write.

#![allow(
    unsafe_code,
    reason = "memory of another driver, imported by its handle"
)]

use super::external::OPERATION;
use super::{Device, Error};
use cudarc::driver::sys;
use std::sync::Arc;

/// An image with one 32-bit float per texel, for kernels that write it by `surf3Dwrite`. Dropping this only ends the
/// view of it; its contents remain.
pub struct Surface {
    context: Arc<cudarc::driver::CudaContext>,
    memory: sys::CUexternalMemory,
    levels: sys::CUmipmappedArray,
    object: sys::CUsurfObject,
}

impl Device {
    /// Identifies the card, as graphics drivers do, too.
    pub fn uuid(&self) -> Result<[u8; 16], Error> {
        let uuid = self.check("asking for its name", self.context().uuid())?;
        Ok(uuid.bytes.map(|b| b as u8))
    }

    /// An image in memory exported by a graphics driver: `bytes` behind `handle`, `size` texels along x, y, z,
    /// allocated for this image alone.
    #[cfg(unix)]
    pub fn surface(
        &self,
        handle: std::os::fd::OwnedFd,
        bytes: u64,
        size: [u32; 3],
    ) -> Result<Surface, Error> {
        const SURFACE_LDST: u32 = 2;
        let mut surface = Surface {
            memory: self.import(handle, bytes)?,
            context: self.context().clone(),
            levels: std::ptr::null_mut(),
            object: 0,
        };
        let described = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: size[0] as usize,
            Height: size[1] as usize,
            Depth: size[2] as usize,
            Format: sys::CUarray_format::CU_AD_FORMAT_FLOAT,
            NumChannels: 1,
            Flags: SURFACE_LDST,
        };
        // SAFETY: every pointer outlives its call. Everything created is recorded in `surface`, whose drop releases
        // it, whichever step fails.
        unsafe {
            let levels = sys::CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC {
                offset: 0,
                arrayDesc: described,
                numLevels: 1,
                reserved: [0; 16],
            };
            let mapped = sys::cuExternalMemoryGetMappedMipmappedArray(
                &mut surface.levels,
                surface.memory,
                &levels,
            );
            self.check(OPERATION, mapped.result())?;
            let mut array = std::ptr::null_mut();
            let level_result = sys::cuMipmappedArrayGetLevel(&mut array, surface.levels, 0);
            self.check(OPERATION, level_result.result())?;
            let resource = sys::CUDA_RESOURCE_DESC {
                resType: sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
                res: sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1 {
                    array: sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1 { hArray: array },
                },
                flags: 0,
            };
            let object_result = sys::cuSurfObjectCreate(&mut surface.object, &resource);
            self.check(OPERATION, object_result.result())?;
        }
        Ok(surface)
    }

    /// On other systems memory is exported differently: nothing is shared.
    #[cfg(windows)]
    pub fn surface(
        &self,
        _handle: std::os::windows::io::OwnedHandle,
        _bytes: u64,
        _size: [u32; 3],
    ) -> Result<Surface, Error> {
        Err(Error::Driver {
            doing: OPERATION.to_owned(),
            why: "it is supported only on Linux".to_owned(),
        })
    }
}

impl Surface {
    /// The handle passed to kernels.
    pub fn object(&self) -> u64 {
        self.object
    }
}

impl Drop for Surface {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_err() {
            return;
        }
        // SAFETY: each was created by `Device::surface` or is null; if the driver refuses, they are already lost.
        unsafe {
            if self.object != 0 {
                let _ = sys::cuSurfObjectDestroy(self.object);
            }
            if !self.levels.is_null() {
                let _ = sys::cuMipmappedArrayDestroy(self.levels);
            }
            if !self.memory.is_null() {
                let _ = sys::cuDestroyExternalMemory(self.memory);
            }
        }
    }
}
