//! Cleanup when the system ends the process: temporary files are removed and child programs are ended. Files that
//! belong together are all renamed or not at all.

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

/// A registered action; dropping it cancels the action.
pub struct AtEnd(u64);

/// Registers an action for the end of the process, unless the returned value is dropped before.
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

/// While this is held, [`end`] waits, so a signal does not end the process. One thread must not hold it twice.
pub fn undivided() -> RwLockReadGuard<'static, ()> {
    STEPS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Performs all registered actions. From now on, threads that would begin a file wait until the process is gone.
pub fn end() {
    let steps = STEPS.write().unwrap_or_else(PoisonError::into_inner);
    let waiting = std::mem::take(&mut acts().waiting);
    // A file is removed before the folder that was created for it.
    for act in waiting.into_values().rev() {
        act();
    }
    std::mem::forget(steps);
}
