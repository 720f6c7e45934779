//! Results that follow the controls: one scheduler decides what is computed now, and what is shown meanwhile.
//!
//! While a control moves, running coarse work is finished, since cancelling it at every move would show nothing during
//! a drag. When the control rests, a full result replaces the coarse one. A failed result is not tried again until the
//! key changes.

use std::sync::Arc;

/// A full result at most this slow needs no coarse one before it, even at every move of a drag.
const QUICK_MS: f64 = 30.0;
/// A full result slower than this comes after a coarse one.
const SLOW_MS: f64 = 300.0;

/// All that a result depends on.
pub trait LiveKey: Clone + PartialEq {
    /// Whether a result of this key may be shown until that of `requested` arrives.
    fn stands_in_for(&self, _wanted: &Self) -> bool {
        true
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    Coarse,
    Full,
}

/// How results follow a key that changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Only full results; the running one is finished before the next starts.
    InTurn,
    /// Only full results; the newest replaces the running one.
    Newest,
    /// Coarse results while a control moves, and before a full one that takes long.
    CoarseFirst,
}

/// The next step of a scheduler.
#[derive(Clone, PartialEq, Debug)]
pub enum Order<K> {
    Nothing,
    /// Submit a job for this key; it replaces the running one.
    Start(K, Detail),
    /// Stop the running job: its result is no longer needed.
    Cancel,
}

/// How the shown result relates to its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    Empty,
    /// The result of the requested key, with less detail.
    Coarse,
    /// The result of an earlier key; that of the requested one is being computed.
    Updating,
    Final,
    /// The result of an earlier key, and nothing is being computed.
    Stale,
    Failed,
}

#[derive(Clone, Debug)]
struct Shown<K, V> {
    key: K,
    detail: Detail,
    value: V,
}

/// A result that follows its key.
#[derive(Clone, Debug)]
pub struct Live<K, V> {
    shown: Option<Shown<K, V>>,
    running: Option<(K, Detail)>,
    /// The key that failed: another attempt would fail again.
    failed: Option<K>,
    /// The key whose coarse result failed: the full one is tried.
    coarse_failed: Option<K>,
    /// Duration of the last full result.
    full_ms: Option<f64>,
}

impl<K, V> Default for Live<K, V> {
    fn default() -> Self {
        Self {
            shown: None,
            running: None,
            failed: None,
            coarse_failed: None,
            full_ms: None,
        }
    }
}

impl<K: LiveKey, V> Live<K, V> {
    /// The next step for `requested`; called after every change of the state.
    pub fn follow(&mut self, requested: Option<&K>, dragging: bool, pace: Pace) -> Order<K> {
        let Some(requested) = requested else {
            (self.shown, self.failed, self.coarse_failed) = (None, None, None);
            return self.cancel();
        };
        if self.failed.as_ref() == Some(requested) {
            return Order::Nothing;
        }
        self.failed = None;
        let have = self.shown.as_ref().filter(|shown| shown.key == *requested);
        let have = have.map(|shown| shown.detail);
        if have == Some(Detail::Full) {
            return match pace {
                Pace::InTurn => Order::Nothing,
                // Its result exists; the running job was requested in between.
                Pace::Newest | Pace::CoarseFirst => self.cancel(),
            };
        }
        let detail = self.next(requested, have, dragging, pace);
        if have == Some(detail) {
            // The full result comes when the control rests.
            return Order::Nothing;
        }
        let waits = match &self.running {
            None => false,
            Some(_) if pace == Pace::InTurn => true,
            Some((key, running)) if key == requested => {
                *running == detail || *running == Detail::Full
            }
            // Cancelling at every move would show nothing during a drag.
            Some((_, running)) => dragging && *running == detail && pace == Pace::CoarseFirst,
        };
        if waits {
            return Order::Nothing;
        }
        self.running = Some((requested.clone(), detail));
        Order::Start(requested.clone(), detail)
    }

    fn next(&self, requested: &K, have: Option<Detail>, dragging: bool, pace: Pace) -> Detail {
        if pace != Pace::CoarseFirst || self.coarse_failed.as_ref() == Some(requested) {
            return Detail::Full;
        }
        let quick = self.full_ms.is_some_and(|ms| ms <= QUICK_MS);
        let slow = self.full_ms.is_none_or(|ms| ms > SLOW_MS);
        match dragging {
            true if !quick => Detail::Coarse,
            false if slow && have.is_none() => Detail::Coarse,
            _ => Detail::Full,
        }
    }

    fn cancel(&mut self) -> Order<K> {
        match self.running.take() {
            Some(_) => Order::Cancel,
            None => Order::Nothing,
        }
    }

    /// The key to submit a job for, for results without coarse ones, whose running job is finished first.
    pub fn ask(&mut self, requested: Option<K>) -> Option<K> {
        match self.follow(requested.as_ref(), false, Pace::InTurn) {
            Order::Start(key, _) => Some(key),
            Order::Nothing | Order::Cancel => None,
        }
    }

    /// Receives a result; returns whether it is now shown.
    pub fn done(
        &mut self,
        key: K,
        detail: Detail,
        value: V,
        wall_ms: f64,
        requested: Option<&K>,
    ) -> bool {
        if detail == Detail::Full {
            self.full_ms = Some(wall_ms);
        }
        let is_running = |(of, running): &mut (K, Detail)| *of == key && *running == detail;
        let was_running = self.running.take_if(is_running).is_some();
        let Some(requested) = requested else {
            return false;
        };
        let current = key == *requested;
        let shown = self.shown.as_ref().filter(|shown| shown.key == *requested);
        let is_better = match shown {
            // Late results of other keys, and coarse ones after the full one.
            Some(shown) => current && !(shown.detail == Detail::Full && detail == Detail::Coarse),
            // A result replaced meanwhile is older than the one shown.
            None => current || was_running && key.stands_in_for(requested),
        };
        if is_better {
            self.shown = Some(Shown { key, detail, value });
        }
        is_better
    }

    /// Receives the result of the running job, which carries no key; `None` if it is no longer needed.
    pub fn finish(&mut self, value: V) -> Option<K> {
        let (key, detail) = self.running.take()?;
        let of = key.clone();
        self.shown = Some(Shown { key, detail, value });
        Some(of)
    }

    /// The running job failed, or the user stopped it.
    pub fn fail(&mut self) {
        match self.running.take() {
            Some((key, Detail::Coarse)) => self.coarse_failed = Some(key),
            Some((key, Detail::Full)) => self.failed = Some(key),
            None => {}
        }
    }

    /// The running job was cancelled for another reason: its key may be requested again.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// Permits another attempt for a key that failed.
    pub fn retry(&mut self) {
        (self.failed, self.coarse_failed) = (None, None);
    }

    pub fn running(&self) -> Option<&K> {
        self.running.as_ref().map(|(key, _)| key)
    }

    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The newest result with its key, which may be an earlier one.
    pub fn shown(&self) -> Option<(&K, &V)> {
        self.shown.as_ref().map(|shown| (&shown.key, &shown.value))
    }

    pub fn standing(&self, requested: Option<&K>) -> Standing {
        let Some(requested) = requested else {
            return Standing::Empty;
        };
        if self.failed.as_ref() == Some(requested) {
            return Standing::Failed;
        }
        match &self.shown {
            None => Standing::Empty,
            Some(shown) if shown.key == *requested => match shown.detail {
                Detail::Coarse => Standing::Coarse,
                Detail::Full => Standing::Final,
            },
            Some(_) if self.running.is_some() => Standing::Updating,
            Some(_) => Standing::Stale,
        }
    }

    /// The full result of exactly this key.
    pub fn final_value(&self, requested: Option<&K>) -> Option<&V> {
        let shown = self.shown.as_ref()?;
        let is_final = shown.detail == Detail::Full && requested == Some(&shown.key);
        is_final.then_some(&shown.value)
    }
}

/// Values that are equal only if they are the same allocation.
#[derive(Debug)]
pub struct SameArc<T>(pub Arc<[T]>);

impl<T> Clone for SameArc<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> PartialEq for SameArc<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> LiveKey for SameArc<T> {}

impl<K: LiveKey> LiveKey for Vec<K> {}
