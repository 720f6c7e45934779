//! Values on a card that the host copies when it needs them.

use crate::compute::cuda::Device;
use crate::compute::{memory, zeroed};
use crate::data::shared_slice::{Late, LateError};
use crate::solvers::Error;
use crate::solvers::tensor_fit::unshared;
use bytemuck::Pod;
use cudarc::driver::CudaSlice;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A part of a buffer on the first of some cards. The buffer is dropped as soon as the host has the values.
pub struct LateValues<T> {
    devices: Arc<[Device]>,
    buffer: Mutex<Option<Arc<CudaSlice<f32>>>>,
    /// The number at which the values begin in the buffer.
    first: usize,
    count: usize,
    values: OnceLock<Arc<[T]>>,
}

impl<T: Pod + Send + Sync> LateValues<T> {
    pub fn new(
        devices: &Arc<[Device]>,
        buffer: Arc<CudaSlice<f32>>,
        first: usize,
        count: usize,
    ) -> Self {
        Self {
            devices: devices.clone(),
            buffer: Mutex::new(Some(buffer)),
            first,
            count,
            values: OnceLock::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<CudaSlice<f32>>>> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn copied(&self, buffer: &CudaSlice<f32>) -> Result<Arc<[T]>, Error> {
        memory::claim_for::<T>("Copying results from the graphics card", self.count, 1)?;
        let mut values = zeroed::<T>(self.count);
        let numbers: &mut [f32] = bytemuck::cast_slice_mut(unshared(&mut values));
        self.devices[0].download_parts_into(buffer, self.first, numbers)?;
        Ok(values)
    }
}

impl<T: Pod + Send + Sync> Late<T> for LateValues<T> {
    fn count(&self) -> usize {
        self.count
    }

    fn values(&self) -> Result<&[T], LateError> {
        // Loops over voxels call this for each voxel.
        if let Some(values) = self.values.get() {
            return Ok(values);
        }
        // Not within the lock of `values`: a thread of the pool may be given other work that needs the same values.
        let buffer = self.lock().clone();
        if let Some(buffer) = buffer.filter(|_| self.values.get().is_none()) {
            let values = self.copied(&buffer)?;
            self.values.get_or_init(|| values);
            *self.lock() = None;
        }
        Ok(self.values.get().map_or(&[], |values| values))
    }
}
