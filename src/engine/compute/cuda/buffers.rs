//! A cache of uploaded data by id.

use crate::compute::DataId;
use crate::compute::lru::Lru;
use cudarc::driver::CudaSlice;
use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The value, its form, and its element type.
type Key = (DataId, &'static str, TypeId);
type Buffer = Arc<dyn Any + Send + Sync>;

/// The device buffers of one card, dropped when memory is short and no other handle to them exists.
pub struct Buffers {
    buffers: Mutex<Lru<Key, Buffer>>,
    /// Largest number of bytes kept.
    capacity: u64,
    /// Permits one upload at a time, so that two threads never upload the same value.
    uploading: Mutex<()>,
}

impl Buffers {
    pub fn new(capacity: u64) -> Self {
        Self {
            buffers: Mutex::new(Lru::new()),
            capacity,
            uploading: Mutex::new(()),
        }
    }

    fn lock_buffers(&self) -> MutexGuard<'_, Lru<Key, Buffer>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn bytes(&self) -> u64 {
        self.lock_buffers().bytes()
    }

    fn find<T: 'static>(&self, key: &Key) -> Option<Arc<CudaSlice<T>>> {
        self.lock_buffers().get(key)?.clone().downcast().ok()
    }

    /// Whether there is a buffer with this key.
    pub fn has<T: 'static>(&self, id: DataId, tag: &'static str) -> bool {
        self.find::<T>(&(id, tag, TypeId::of::<T>())).is_some()
    }

    /// The buffer with this key; `upload` creates it if it is missing.
    pub fn get<T: 'static, E>(
        &self,
        id: DataId,
        tag: &'static str,
        upload: impl FnOnce() -> Result<CudaSlice<T>, E>,
    ) -> Result<Arc<CudaSlice<T>>, E> {
        let key = (id, tag, TypeId::of::<T>());
        if let Some(cached) = self.find(&key) {
            return Ok(cached);
        }
        let _one = self
            .uploading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = self.find(&key) {
            return Ok(cached);
        }
        let uploaded = Arc::new(upload()?);
        self.insert(key, uploaded.clone());
        Ok(uploaded)
    }

    /// Keeps a buffer until memory is short or [`Self::forget`] is called.
    pub fn keep<T: 'static>(&self, id: DataId, tag: &'static str, buffer: Arc<CudaSlice<T>>)
    where
        CudaSlice<T>: Send + Sync,
    {
        self.insert((id, tag, TypeId::of::<T>()), buffer);
    }

    /// Drops a buffer that [`Self::keep`] kept.
    pub fn forget<T: 'static>(&self, id: DataId, tag: &'static str) {
        let gone = self.lock_buffers().remove(&(id, tag, TypeId::of::<T>()));
        drop(gone);
    }

    fn insert<T: 'static>(&self, key: Key, buffer: Arc<CudaSlice<T>>)
    where
        CudaSlice<T>: Send + Sync,
    {
        let bytes = buffer.num_bytes() as u64;
        let mut kept = self.lock_buffers();
        let over = (kept.bytes() + bytes).saturating_sub(self.capacity);
        let mut gone = kept.evict(over, unused);
        gone.extend(kept.insert(key, buffer, bytes));
        // Freeing waits for the card; others may use the cache meanwhile.
        drop(kept);
        drop(gone);
    }

    /// Frees unused buffers until they total `requested` bytes; false if there were none.
    pub fn evict(&self, requested: u64) -> bool {
        let gone = self.lock_buffers().evict(requested, unused);
        !gone.is_empty()
    }
}

fn unused(buffer: &Buffer) -> bool {
    Arc::strong_count(buffer) == 1
}
