//! Values on graphics cards that the host copies when it needs them.

use crate::compute::cuda::{CachedPart, CardPart};
use crate::compute::memory;
use crate::data::Shared;
use crate::data::shared_slice::{Late, LateError};
use bytemuck::Pod;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Parts of buffers, one after the other. As soon as the host has the values, the buffers are dropped or, if other kernels
/// may read them, stay until memory is short on their cards.
pub struct LateValues<T> {
    parts: Mutex<Parts>,
    /// Whether kernels may read the buffers after the host has copied the values.
    stays: bool,
    count: usize,
    values: OnceLock<Vec<T>>,
}

/// The parts on the cards.
enum Parts {
    /// Only the cards have the values.
    OnCards(Arc<[CardPart]>),
    /// The host has the values, too; the list is empty if the buffers were dropped.
    Cached(Vec<CachedPart>),
}

impl<T: Pod + Send + Sync + 'static> LateValues<T> {
    /// Values that whole numbers of 32 bits make up.
    pub fn new(parts: Vec<CardPart>) -> Self {
        let numbers: usize = parts.iter().map(|part| part.numbers.len()).sum();
        Self {
            parts: Mutex::new(Parts::OnCards(parts.into())),
            stays: false,
            count: numbers * size_of::<f32>() / size_of::<T>(),
            values: OnceLock::new(),
        }
    }

    /// Values that other kernels read where they are, also after the host has copied them.
    pub fn staying(parts: Vec<CardPart>) -> Self {
        Self {
            stays: true,
            ..Self::new(parts)
        }
    }

    /// The values of one part, as an array of results.
    pub fn shared(part: CardPart) -> Shared<T> {
        Shared::late(Self::new(vec![part]))
    }

    /// The parts on the cards; `None` if the cards no longer have them.
    pub fn parts(&self) -> Option<Arc<[CardPart]>> {
        match &*self.lock() {
            Parts::OnCards(parts) => Some(parts.clone()),
            Parts::Cached(parts) if parts.is_empty() => None,
            Parts::Cached(parts) => parts.iter().map(CachedPart::part).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Parts> {
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
        let parts = match &*self.lock() {
            Parts::OnCards(parts) => Some(parts.clone()),
            Parts::Cached(_) => None,
        };
        if let Some(parts) = parts.filter(|_| self.values.get().is_none()) {
            memory::claim_for::<T>("Copying results from the graphics card", self.count, 1)?;
            let values = CardPart::download_all(&parts)?;
            self.values.get_or_init(|| values);
            let mut kept = self.lock();
            if matches!(&*kept, Parts::OnCards(_)) {
                let cached = match self.stays {
                    true => parts.iter().map(CachedPart::new).collect(),
                    false => Vec::new(),
                };
                *kept = Parts::Cached(cached);
            }
        }
        Ok(self.values.get().map_or(&[], |values| values))
    }
}
