//! Cleanup when the system ends the process: temporary files are removed and child programs are ended. Files that
//! belong together are all renamed or not at all.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

type EndAction = Box<dyn FnOnce() + Send>;

struct EndActions {
    next: u64,
    waiting: BTreeMap<u64, EndAction>,
}

static END_ACTIONS: Mutex<EndActions> = Mutex::new(EndActions {
    next: 0,
    waiting: BTreeMap::new(),
});
static STEPS: RwLock<()> = RwLock::new(());

fn lock_actions() -> MutexGuard<'static, EndActions> {
    END_ACTIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A registered action; dropping it cancels the action.
pub struct AtEnd(u64);

/// Registers an action for the end of the process, unless the returned value is dropped before.
pub fn at_end(act: impl FnOnce() + Send + 'static) -> AtEnd {
    let mut acts = lock_actions();
    let number = acts.next;
    acts.next += 1;
    acts.waiting.insert(number, Box::new(act));
    AtEnd(number)
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        lock_actions().waiting.remove(&self.0);
    }
}

/// While this is held, [`run_end_actions`] waits, so a signal does not end the process. One thread must not hold it twice.
pub fn hold_off_end() -> RwLockReadGuard<'static, ()> {
    STEPS.read().unwrap_or_else(PoisonError::into_inner)
}

/// Performs all registered actions. From now on, threads that would begin a file wait until the process is gone.
pub fn run_end_actions() {
    let steps = STEPS.write().unwrap_or_else(PoisonError::into_inner);
    let waiting = std::mem::take(&mut lock_actions().waiting);
    // A file is removed before the folder that was created for it.
    for act in waiting.into_values().rev() {
        act();
    }
    std::mem::forget(steps);
}
