//! Memory of graphics cards that a process has claimed and not allocated yet.
//!
//! Before a job allocates much memory, it checks whether the card has enough of it. Several processes that check at the
//! same time would all count on the same free memory. A process therefore records what it is about to allocate in a
//! [`Ledger`] that all of them share, and subtracts the claims of the others from the free memory. Each allocation
//! reduces its own claim.
//!
//! # Example
//!
//! A ledger in which another process has claimed 6 GB:
//!
//! ```
//! use arcuate_engine::compute::card_claims::{CardId, Claims, Ledger};
//! use std::sync::Arc;
//!
//! struct Other;
//! impl Ledger for Other {
//!     fn of_others(&self, _: &CardId) -> u64 {
//!         6_000_000_000
//!     }
//!     fn record(&self, _: &CardId, _: u64) {}
//!     fn in_turn(&self, _: &CardId, work: &mut dyn FnMut()) {
//!         work();
//!     }
//! }
//! let claims = Claims::new([7; 16], Some(Arc::new(Other)));
//! let free = 8_000_000_000;
//! let fits = |bytes: u64| claims.claim(bytes, &mut |others| bytes + others <= free);
//! assert!(fits(1_000_000_000) && !fits(3_000_000_000));
//! ```

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Identifies a card, for all processes alike: its UUID.
pub type CardId = [u8; 16];

/// Claims below this are neither recorded nor compared with those of others: the reserve of a card covers them.
pub const SMALL_BYTES: u64 = 64 << 20;
/// The record is updated once the claim has fallen by 1 / `PARTS` of the recorded bytes.
const PARTS: u64 = 16;

/// The claims of all processes.
pub trait Ledger: Send + Sync {
    /// Bytes that other processes have claimed on a card and not allocated yet.
    fn of_others(&self, card: &CardId) -> u64;
    /// Records the bytes that this process has claimed and not allocated yet; replaces its earlier record.
    fn record(&self, card: &CardId, bytes: u64);
    /// Does `work` while no other process claims memory of the card.
    fn in_turn(&self, card: &CardId, work: &mut dyn FnMut());
}

static LEDGER: RwLock<Option<Arc<dyn Ledger>>> = RwLock::new(None);

/// Sets the ledger for the claims on cards that are opened from now on.
pub fn keep_in(ledger: Arc<dyn Ledger>) {
    *LEDGER.write().unwrap_or_else(PoisonError::into_inner) = Some(ledger);
}

/// The ledger of this process, if there is one.
pub fn ledger() -> Option<Arc<dyn Ledger>> {
    LEDGER
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// The claims of this process on one card.
pub struct Claims {
    card: CardId,
    ledger: Option<Arc<dyn Ledger>>,
    /// Bytes claimed and not allocated yet.
    left: AtomicU64,
    /// Bytes of this claim in the ledger.
    recorded: AtomicU64,
}

impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl Claims {
    /// No claims yet. Without a ledger, no other processes are considered.
    pub fn new(card: CardId, ledger: Option<Arc<dyn Ledger>>) -> Self {
        Self {
            card,
            ledger,
            left: AtomicU64::new(0),
            recorded: AtomicU64::new(0),
        }
    }

    /// Bytes that other processes have claimed and not allocated yet.
    pub fn of_others(&self) -> u64 {
        let ledger = self.ledger.as_ref();
        ledger.map_or(0, |ledger| ledger.of_others(&self.card))
    }

    /// Claims bytes if `fits`, which receives the bytes that other processes have claimed, returns true; returns whether it
    /// did. Of two claims of this process the larger one counts: jobs claim a whole, then its parts.
    pub fn claim(&self, bytes: u64, fits: &mut dyn FnMut(u64) -> bool) -> bool {
        let Some(ledger) = self.ledger.as_ref().filter(|_| bytes >= SMALL_BYTES) else {
            return fits(0);
        };
        let mut is_granted = false;
        ledger.in_turn(&self.card, &mut || {
            is_granted = fits(ledger.of_others(&self.card));
            if is_granted {
                let before = self.left.fetch_max(bytes, Ordering::Relaxed);
                self.record(ledger, bytes.max(before));
            }
        });
        is_granted
    }

    /// Reduces the claim by bytes that this process has allocated.
    pub fn allocated(&self, bytes: u64) {
        let (Some(ledger), 1..) = (&self.ledger, self.left.load(Ordering::Relaxed)) else {
            return;
        };
        let fall = |left: u64| Some(left.saturating_sub(bytes));
        let before = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fall);
        let left = before.unwrap_or_else(|left| left).saturating_sub(bytes);
        let recorded = self.recorded.load(Ordering::Relaxed);
        if left == 0 || recorded.saturating_sub(left) >= recorded / PARTS {
            self.record(ledger, left);
        }
    }

    fn record(&self, ledger: &Arc<dyn Ledger>, bytes: u64) {
        self.recorded.store(bytes, Ordering::Relaxed);
        ledger.record(&self.card, bytes);
    }
}
