//! Values on graphics cards that the host copies when it needs them.

use crate::compute::cuda::CardPart;
use crate::compute::memory;
use crate::data::Shared;
use crate::data::shared_slice::{Late, LateError};
use bytemuck::Pod;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Parts of buffers, one after the other. The buffers are dropped as soon as the host has the values.
pub struct LateValues<T> {
    parts: Mutex<Option<Arc<[CardPart]>>>,
    count: usize,
    values: OnceLock<Vec<T>>,
}

impl<T: Pod + Send + Sync + 'static> LateValues<T> {
    /// Values that whole numbers of 32 bits make up.
    pub fn new(parts: Vec<CardPart>) -> Self {
        let numbers: usize = parts.iter().map(|part| part.numbers.len()).sum();
        Self {
            parts: Mutex::new(Some(parts.into())),
            count: numbers * size_of::<f32>() / size_of::<T>(),
            values: OnceLock::new(),
        }
    }

    /// The values of one part, as an array of results.
    pub fn shared(part: CardPart) -> Shared<T> {
        Shared::late(Self::new(vec![part]))
    }

    /// The parts on the cards; `None` if the host has the values.
    pub fn parts(&self) -> Option<Arc<[CardPart]>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<[CardPart]>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Pod + Send + Sync + 'static> Late<T> for LateValues<T> {
    fn count(&self) -> usize {
        self.count
    }

    fn is_on_host(&self) -> bool {
        self.values.get().is_some()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn values(&self) -> Result<&[T], LateError> {
        // Loops over voxels call this for each voxel.
        if let Some(values) = self.values.get() {
            return Ok(values);
        }
        // Not within the lock of `values`: a thread of the pool may be given other work that needs the same values.
        let parts = self.lock().clone();
        if let Some(parts) = parts.filter(|_| self.values.get().is_none()) {
            memory::claim_for::<T>("Copying results from the graphics card", self.count, 1)?;
            let values = CardPart::download_all(&parts)?;
            self.values.get_or_init(|| values);
            *self.lock() = None;
        }
        Ok(self.values.get().map_or(&[], |values| values))
    }
}
