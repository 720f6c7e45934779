//! Identities of immutable values.

use std::sync::atomic::{AtomicU64, Ordering};

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Identifies one immutable value during the lifetime of the process.
///
/// Data never changes after construction, so a cache keyed by `DataId` (textures, device buffers) never needs
/// explicit invalidation: a changed value is a new value with a new id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DataId(u64);

impl DataId {
    /// An id that no other value in this process has.
    pub fn fresh() -> Self {
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
