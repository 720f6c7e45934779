//! Results that are finished in any order, passed on in the order of their numbers.
//!
//! # Example
//!
//! Three results in one text:
//!
//! ```
//! use arcuate_engine::compute::InOrder;
//!
//! let joined = InOrder::new(String::new());
//! let add = |text: &mut String, more: &str| -> Result<(), ()> {
//!     text.push_str(more);
//!     Ok(())
//! };
//! joined.finished(1, "arc", add)?;
//! joined.finished(0, "an ", add)?;
//! joined.finished(2, "uate", add)?;
//! assert_eq!(joined.into_inner(), "an arcuate");
//! # Ok::<(), ()>(())
//! ```

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What takes results in the order of their numbers, which begin with 0.
#[derive(Debug)]
pub struct InOrder<S, T> {
    sink: Mutex<S>,
    queue: Mutex<Queue<T>>,
}

#[derive(Debug)]
struct Queue<T> {
    /// The number that is taken next.
    next: u64,
    waiting: BTreeMap<u64, T>,
    /// Whether a thread takes results now, or failed to.
    is_taken: bool,
}

impl<S, T> InOrder<S, T> {
    /// Nothing is taken yet.
    pub fn new(sink: S) -> Self {
        let queue = Queue {
            next: 0,
            waiting: BTreeMap::new(),
            is_taken: false,
        };
        Self {
            sink: Mutex::new(sink),
            queue: Mutex::new(queue),
        }
    }

    /// Result `number` is finished. Has `take` take all results that are next, unless another thread does so: that
    /// thread then takes this one, too, and the caller goes on. Nothing is taken after an error.
    pub fn finished<E>(
        &self,
        number: u64,
        result: T,
        mut take: impl FnMut(&mut S, T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut queue = lock(&self.queue);
        queue.waiting.insert(number, result);
        if queue.is_taken {
            return Ok(());
        }
        queue.is_taken = true;
        loop {
            let next = queue.next;
            let Some(result) = queue.waiting.remove(&next) else {
                queue.is_taken = false;
                return Ok(());
            };
            queue.next += 1;
            // The others need not wait to leave theirs.
            drop(queue);
            take(&mut lock(&self.sink), result)?;
            queue = lock(&self.queue);
        }
    }

    /// What took the results.
    pub fn into_inner(self) -> S {
        self.sink
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
