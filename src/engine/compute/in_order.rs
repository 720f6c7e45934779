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

/// A sink that receives results in the order of their numbers, which begin with 0.
#[derive(Debug)]
pub struct InOrder<S, T> {
    sink: Mutex<S>,
    queue: Mutex<Queue<T>>,
}

#[derive(Debug)]
struct Queue<T> {
    /// The number of the result that comes next.
    next: u64,
    waiting: BTreeMap<u64, T>,
    /// Whether a thread is passing results on, or failed to.
    is_busy: bool,
}

impl<S, T> InOrder<S, T> {
    /// A queue in front of this sink.
    pub fn new(sink: S) -> Self {
        let queue = Queue {
            next: 0,
            waiting: BTreeMap::new(),
            is_busy: false,
        };
        Self {
            sink: Mutex::new(sink),
            queue: Mutex::new(queue),
        }
    }

    /// Adds result `number`, then passes all results that come next to `take`, unless another thread is doing so: that
    /// thread then passes on this one, too, and the call returns at once. After an error, no result is passed on.
    pub fn finished<E>(
        &self,
        number: u64,
        result: T,
        mut take: impl FnMut(&mut S, T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut queue = lock(&self.queue);
        queue.waiting.insert(number, result);
        if queue.is_busy {
            return Ok(());
        }
        queue.is_busy = true;
        loop {
            let next = queue.next;
            let Some(result) = queue.waiting.remove(&next) else {
                queue.is_busy = false;
                return Ok(());
            };
            queue.next += 1;
            // Other threads add their results meanwhile.
            drop(queue);
            take(&mut lock(&self.sink), result)?;
            queue = lock(&self.queue);
        }
    }

    /// The sink.
    pub fn into_inner(self) -> S {
        self.sink
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
