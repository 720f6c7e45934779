//! The driver's pool of freed memory on a card, which keeps some of it for the next allocations.
//!
//! By default the driver returns freed memory to the system whenever a program waits for the card, and mapping it again
//! takes longer than most of the kernels here run. When the memory of the card is short, the driver also gives kept memory
//! to allocations of other kinds in this process (measured with `cuMemAlloc` and `cuMemCreate`), so that it counts as free.

#![allow(unsafe_code, reason = "attributes of the driver's memory pool")]

use cudarc::driver::result::{device, mem_pool};
use cudarc::driver::sys::{CUmemPool_attribute_enum as Attribute, CUmemoryPool};
use cudarc::driver::{CudaContext, DriverError};

/// The pool keeps at most the card's memory divided by this: other programs may use the card.
const KEPT_SHARE: u64 = 8;

/// The pool that serves the allocations of a card.
pub struct Pool(CUmemoryPool);

// SAFETY: the driver's handle may be used by any thread, and the pool belongs to the card as long as the process runs.
unsafe impl Send for Pool {}
// SAFETY: as above; the driver serialises changes of a pool.
unsafe impl Sync for Pool {}

impl Pool {
    /// The pool of the card of a context, which from now on keeps memory; `total`: bytes of the card's memory. `None` if
    /// the card has no pools, or refuses to keep memory.
    pub fn keep_memory(context: &CudaContext, total: u64) -> Option<Self> {
        if !context.has_async_alloc() {
            return None;
        }
        // SAFETY: the device belongs to the context.
        let pool = unsafe { device::get_default_mem_pool(context.cu_device()) }.ok()?;
        let mut kept = total / KEPT_SHARE;
        let threshold = Attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the pool was just returned, and this attribute has 64 bits.
        unsafe { mem_pool::set_attribute(pool, threshold, (&raw mut kept).cast()) }.ok()?;
        Some(Self(pool))
    }

    /// Bytes that the pool keeps and nobody uses.
    pub fn idle(&self) -> u64 {
        let reserved = self.bytes(Attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        let used = self.bytes(Attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
        reserved.saturating_sub(used)
    }

    fn bytes(&self, attribute: Attribute) -> u64 {
        let mut bytes = 0u64;
        // SAFETY: the pool is valid, and both attributes that are asked for have 64 bits.
        let known = unsafe { mem_pool::get_attribute(self.0, attribute, (&raw mut bytes).cast()) };
        known.map_or(0, |()| bytes)
    }

    /// Returns all memory that nobody uses to the system.
    pub fn release(&self) -> Result<(), DriverError> {
        // SAFETY: the pool is valid.
        unsafe { mem_pool::trim_to(self.0, 0) }
    }
}
