//! Results that follow the controls: one scheduler decides what is computed now, and what is shown meanwhile.
//!
//! While a control moves, coarse work in flight is finished, since cancelling it at every move would show nothing
//! during a drag; work that is older than [`LAG`] is cancelled once for newer work, which is then finished. When the
//! control rests, also in the middle of a drag, a full result replaces the coarse one. What failed is not tried
//! again until what is requested changes.

use crate::data::keyed;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A full result that takes at most this long needs no coarse one before it, also at every move of a drag.
pub const QUICK_MS: f64 = 30.0;
/// A full result that takes longer comes after a coarse one, also at rest.
pub const SLOW_MS: f64 = 300.0;
/// In a drag a coarse result lags behind the controls by this much at most without being dimmed.
pub const LAG: Duration = Duration::from_millis(150);

/// All that a result depends on.
pub trait LiveKey: Clone + PartialEq {
    /// Whether a result of this key may be shown until that of `requested` arrives.
    fn stands_in_for(&self, _requested: &Self) -> bool {
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
    /// A coarse result before the full one, where [`CoarseFirst`] requires it.
    CoarseFirst(CoarseFirst),
}

/// When a coarse result comes before the full one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoarseFirst {
    /// While a control moves: the full result then comes when the control rests.
    pub in_drag: bool,
    pub at_rest: bool,
    /// Age of the running job. It is [`Duration::ZERO`] where coarse work is never cancelled for the next move.
    pub age: Duration,
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

/// How a shown result relates to its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The complete result of the requested key.
    Final,
    /// The result of the requested key, with less detail.
    Coarse,
    /// The result of an earlier key; that of the requested one is being computed.
    Updating,
    /// The result of an earlier key, and nothing is being computed.
    OutOfDate,
}

keyed!(Standing {
    Final = "final",
    Coarse = "coarse",
    Updating = "updating",
    OutOfDate = "out-of-date",
});

/// How a shown result relates to what is requested, from which its standing follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relation {
    pub detail: Detail,
    /// It is the result of the requested key, and its inputs are not being recomputed.
    pub is_current: bool,
    /// A quick last step of it, such as the cut of rays, was done with other settings.
    pub lacks_step: bool,
    /// Work is running whose result replaces it, or completes it.
    pub is_updating: bool,
    /// A coarse result of an earlier key is not out of date yet: newer ones follow during the drag.
    pub may_lag: bool,
    /// Work that replaces a lagging result has been running for longer than [`LAG`].
    pub exceeds_lag: bool,
}

impl Relation {
    pub fn standing(self) -> Standing {
        match (self.is_current && !self.lacks_step, self.detail) {
            (true, Detail::Full) => Standing::Final,
            (true, Detail::Coarse) => Standing::Coarse,
            (false, Detail::Coarse) if self.may_lag && !self.is_current => Standing::Coarse,
            (false, _) if self.is_updating => Standing::Updating,
            (false, _) => Standing::OutOfDate,
        }
    }

    /// Whether the result is dimmed: it is that of an earlier key, and stays so for longer than a coarse one takes.
    pub fn is_stale(self) -> bool {
        !self.is_current && (self.standing() != Standing::Coarse || self.exceeds_lag)
    }
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
    /// When the last job was requested.
    started: Option<Instant>,
    /// The key that failed, and the reason if known; it is not tried again.
    failed: Option<(K, Option<String>)>,
    /// The key whose coarse result failed: the full one is tried.
    coarse_failed: Option<K>,
    /// A coarse job was cancelled for a newer one, which is finished however old it gets.
    was_preempted: bool,
    /// The key with which the controls rest, also in the middle of a drag; a drag of other controls leaves it.
    rested: Option<K>,
    /// A control moves, and the full result follows when it rests.
    waits_for_rest: bool,
}

impl<K, V> Default for Live<K, V> {
    fn default() -> Self {
        Self {
            shown: None,
            running: None,
            started: None,
            failed: None,
            coarse_failed: None,
            was_preempted: false,
            rested: None,
            waits_for_rest: false,
        }
    }
}

impl<K: LiveKey, V> Live<K, V> {
    /// The next step for `requested`; called after every change of the state.
    pub fn follow(&mut self, requested: Option<&K>, dragging: bool, pace: Pace) -> Order<K> {
        self.waits_for_rest = false;
        let Some(requested) = requested else {
            (self.shown, self.failed, self.coarse_failed) = (None, None, None);
            return self.cancel();
        };
        if !dragging {
            self.rest(Some(requested));
        }
        if self.has_failed_for(requested) {
            return Order::Nothing;
        }
        self.failed = None;
        let have = self.shown.as_ref().filter(|shown| shown.key == *requested);
        let have = have.map(|shown| shown.detail);
        if have == Some(Detail::Full) {
            return match pace {
                Pace::InTurn => Order::Nothing,
                // The running job is for a key requested meanwhile.
                Pace::Newest | Pace::CoarseFirst(_) => self.cancel(),
            };
        }
        let moving = dragging && self.rested.as_ref() != Some(requested);
        let detail = self.next(requested, have, moving, pace);
        self.waits_for_rest = moving && detail == Detail::Coarse;
        if have == Some(detail) {
            // The full result comes when the control rests.
            return Order::Nothing;
        }
        if self.waits(requested, detail, moving, pace) {
            return Order::Nothing;
        }
        let is_coarse = |(_, running): &(K, Detail)| *running == Detail::Coarse;
        self.was_preempted = self.waits_for_rest && self.running.as_ref().is_some_and(is_coarse);
        self.running = Some((requested.clone(), detail));
        self.started = Some(Instant::now());
        Order::Start(requested.clone(), detail)
    }

    /// The detail of the next result; equal to `have` if nothing needs to be computed now.
    fn next(&self, requested: &K, have: Option<Detail>, moving: bool, pace: Pace) -> Detail {
        let Pace::CoarseFirst(first) = pace else {
            return Detail::Full;
        };
        if self.coarse_failed.as_ref() == Some(requested) {
            return Detail::Full;
        }
        match moving {
            true if first.in_drag => Detail::Coarse,
            false if first.at_rest && have.is_none() => Detail::Coarse,
            _ => Detail::Full,
        }
    }

    /// Whether the running job is finished before one of this detail starts.
    fn waits(&self, requested: &K, detail: Detail, moving: bool, pace: Pace) -> bool {
        match (&self.running, pace) {
            (None, _) => false,
            (Some(_), Pace::InTurn) => true,
            (Some((key, running)), _) if key == requested => {
                *running == detail || *running == Detail::Full
            }
            (Some(_), Pace::Newest) => false,
            // Cancelling at every move would show nothing during a drag.
            (Some((_, running)), Pace::CoarseFirst(first)) => {
                let is_old = detail == Detail::Coarse && first.age >= LAG && !self.was_preempted;
                moving && *running == detail && !is_old
            }
        }
    }

    fn cancel(&mut self) -> Order<K> {
        self.was_preempted = false;
        match self.running.take() {
            Some(_) => Order::Cancel,
            None => Order::Nothing,
        }
    }

    /// Whether the result of exactly this key has failed.
    pub fn has_failed_for(&self, requested: &K) -> bool {
        self.failed
            .as_ref()
            .is_some_and(|(key, _)| key == requested)
    }

    /// The controls rest, also in the middle of a drag: the full result follows unless they move on.
    pub fn rest(&mut self, requested: Option<&K>) {
        if self.rested.as_ref() != requested {
            self.rested = requested.cloned();
        }
    }

    /// Whether the full result follows when the control rests.
    pub fn waits_for_rest(&self) -> bool {
        self.waits_for_rest
    }

    /// The key to submit a job for, for results without coarse ones. A running job is finished before the next starts,
    /// even if another result is now requested; without a request, it is forgotten and its result is dropped.
    pub fn ask(&mut self, requested: Option<K>) -> Option<K> {
        match self.follow(requested.as_ref(), false, Pace::InTurn) {
            Order::Start(key, _) => Some(key),
            Order::Nothing | Order::Cancel => None,
        }
    }

    /// Receives a result; returns whether it is now shown.
    pub fn done(&mut self, key: K, detail: Detail, value: V, requested: Option<&K>) -> bool {
        let is_running =
            |(running_key, running): &mut (K, Detail)| *running_key == key && *running == detail;
        let was_running = self.running.take_if(is_running).is_some();
        self.was_preempted &= !was_running;
        let Some(requested) = requested else {
            return false;
        };
        let current = key == *requested;
        let shown = self.shown.as_ref().filter(|shown| shown.key == *requested);
        let is_better = match shown {
            // Neither late results of other keys nor coarse results after the full one replace it.
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
        let shown_key = key.clone();
        self.shown = Some(Shown { key, detail, value });
        Some(shown_key)
    }

    /// The running job failed.
    pub fn fail(&mut self) {
        self.end(None);
    }

    /// The running job failed, and why.
    pub fn fail_because(&mut self, why: &str) {
        self.end(Some(why.to_owned()));
    }

    /// The job of this key ended without a result: it failed, and why, or it was cancelled for something else. Nothing
    /// changes if another job is running, or none, since the job may belong to a closed document, or the user stopped it.
    pub fn end_without_result(&mut self, key: &K, why: Option<&str>) {
        if self.running() != Some(key) {
            return;
        }
        match why {
            Some(why) => self.fail_because(why),
            None => self.stop(),
        }
    }

    fn end(&mut self, why: Option<String>) {
        self.was_preempted = false;
        match self.running.take() {
            Some((key, Detail::Coarse)) => self.coarse_failed = Some(key),
            Some((key, Detail::Full)) => self.failed = Some((key, why)),
            None => {}
        }
    }

    /// The user stopped the job: the requested key, else that of the running job, is not tried again. In a drag the
    /// running job may be for an earlier key.
    pub fn give_up(&mut self, requested: Option<&K>, why: Option<&str>) {
        if let Some(key) = requested {
            self.running = self.running.take().map(|(_, detail)| (key.clone(), detail));
        }
        self.halt(requested, why);
    }

    /// The running job failed, and coarse and full results fail alike: its key, else `requested`, is not tried again.
    pub fn halt(&mut self, requested: Option<&K>, why: Option<&str>) {
        self.was_preempted = false;
        let running = self.running.take().map(|(key, _)| key);
        if let Some(key) = running.or_else(|| requested.cloned()) {
            self.failed = Some((key, why.map(str::to_owned)));
        }
    }

    /// The running job was cancelled for something else: its key may be requested again.
    pub fn stop(&mut self) {
        (self.running, self.was_preempted) = (None, false);
    }

    /// Nobody sees the result: the shown one stays, and nothing waits for the control to rest.
    pub fn pause(&mut self) {
        self.waits_for_rest = false;
    }

    /// Gives the shown result another key and detail, where these depend on what is requested.
    pub fn rekey(&mut self, key_of: impl FnOnce(&V) -> (K, Detail)) {
        if let Some(shown) = &mut self.shown {
            (shown.key, shown.detail) = key_of(&shown.value);
        }
    }

    /// Makes this the result that is shown.
    pub fn set_shown(&mut self, shown: Option<(K, Detail, V)>) {
        self.shown = shown.map(|(key, detail, value)| Shown { key, detail, value });
    }

    /// The result that is shown proves unusable: it is dropped, and its key has failed.
    pub fn fail_shown(&mut self, why: &str) {
        if let Some(shown) = self.shown.take() {
            self.failed = Some((shown.key, Some(why.to_owned())));
        }
    }

    /// Drops the result that is shown.
    pub fn clear_shown(&mut self) {
        self.shown = None;
    }

    /// Permits another attempt for a key that failed.
    pub fn retry(&mut self) {
        (self.failed, self.coarse_failed) = (None, None);
    }

    pub fn running(&self) -> Option<&K> {
        self.running.as_ref().map(|(key, _)| key)
    }

    /// Whether the running job is that of this key and detail.
    pub fn is_running(&self, key: &K, detail: Detail) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|(running_key, running)| running_key == key && *running == detail)
    }

    /// Whether the running job has been running for longer than [`LAG`].
    pub fn lags(&self) -> bool {
        let started = self.started.filter(|_| self.running.is_some());
        started.is_some_and(|started| started.elapsed() > LAG)
    }

    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Why the last full result failed, where it is known.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_ref()?.1.as_deref()
    }

    /// The newest result, which may be that of an earlier key.
    pub fn value(&self) -> Option<&V> {
        self.shown.as_ref().map(|shown| &shown.value)
    }

    /// The newest result, to be changed in place.
    pub fn value_mut(&mut self) -> Option<&mut V> {
        self.shown.as_mut().map(|shown| &mut shown.value)
    }

    /// The newest result with its key, which may be an earlier one.
    pub fn shown(&self) -> Option<(&K, &V)> {
        self.shown.as_ref().map(|shown| (&shown.key, &shown.value))
    }

    /// The newest result with its key, unless another one is being computed, has failed or was stopped.
    pub fn settled(&self) -> Option<(&K, &V)> {
        let is_settled = self.running.is_none() && self.failed.is_none();
        self.shown().filter(|_| is_settled)
    }

    /// How the shown result relates to the requested key; `None` if nothing is shown or requested.
    pub fn standing(&self, requested: Option<&K>) -> Option<Standing> {
        let relation = self.relation(requested)?;
        requested.is_some().then(|| relation.standing())
    }

    /// How the shown result relates to the requested key by what is known here; `None` if nothing is shown.
    pub fn relation(&self, requested: Option<&K>) -> Option<Relation> {
        let shown = self.shown.as_ref()?;
        Some(Relation {
            detail: shown.detail,
            is_current: requested == Some(&shown.key),
            lacks_step: false,
            is_updating: self.running.is_some(),
            may_lag: false,
            exceeds_lag: false,
        })
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
