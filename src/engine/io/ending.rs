//! Cleanup when the system ends the process: temporary files are removed, programs that were started
//! end. Files that belong together get their names all or not at all.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

type Act = Box<dyn FnOnce() + Send>;

struct Acts {
    next: u64,
    waiting: BTreeMap<u64, Act>,
}

static ACTS: Mutex<Acts> = Mutex::new(Acts {
    next: 0,
    waiting: BTreeMap::new(),
});
static STEPS: RwLock<()> = RwLock::new(());

fn acts() -> MutexGuard<'static, Acts> {
    ACTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An act that waits; dropped, it is not done any more.
pub struct AtEnd(u64);

/// Does this when the process is told to end, unless what it returns was dropped before.
pub fn at_end(act: impl FnOnce() + Send + 'static) -> AtEnd {
    let mut acts = acts();
    let number = acts.next;
    acts.next += 1;
    acts.waiting.insert(number, Box::new(act));
    AtEnd(number)
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        acts().waiting.remove(&self.0);
    }
}

/// The process does not end by a signal of [`end`]'s while this is held. Not to be held twice by one thread.
pub fn undivided() -> RwLockReadGuard<'static, ()> {
    STEPS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Does all that waits. From now on whoever would begin a file waits until the process is gone.
pub fn end() {
    let steps = STEPS.write().unwrap_or_else(PoisonError::into_inner);
    let waiting = std::mem::take(&mut acts().waiting);
    // A file goes before the folder that was made for it.
    for act in waiting.into_values().rev() {
        act();
    }
    std::mem::forget(steps);
}
