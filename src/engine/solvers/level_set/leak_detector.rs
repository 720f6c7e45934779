//! The leak detector: notices a surface that runs out of the structure. It counts steps, never seconds.
//!
//! It is armed from the first step, and a change of speeds leaves it armed. Growth from a seed to a structure is no
//! leak, however fast: nothing distinguishes the two. A leak is
//!
//! 1. *contact*: the surface contains more background, or more voxels at the image's border, than at the start or
//!    after the last sphere;
//! 2. *growth after rest*: the surface had come to rest and grows again with unchanged speeds, several times as fast
//!    as its recent growth (a median over windows);
//! 3. *multiplication*: the volume multiplies after the surface had slowed down around something larger than its
//!    seed, by itself or after the speeds were changed: from a pace at which it hardly grew, or to several times its
//!    slowest pace. An added sphere is a new seed, unless it lies in the surface: its growth is judged separately
//!    ([`Seed`]), until it has slowed down or come to rest, or all structures together multiply.
//!
//! Growth that sets in again by itself, much faster than the surface was at its slowest and sustained, is suspected
//! once the volume has grown by half. Few voxels have joined by then, so only their values decide; if they are alike,
//! nothing else changes.
//!
//! A surface that multiplies by itself may also have passed a narrow part of the structure, such as the atrium of a
//! ventricle behind its choroid plexus; volumes alone do not distinguish that from a leak. Such growth is a suspicion
//! until the voxels that joined decide ([`Joined`]). If the run continues, its volume counts as that of a new seed.
//!
//! The detector cannot separate a structure from another one of the same values that it touches over a wide area: see
//! [`recent_growth`](super::recent_growth()).
//!
//! Each leak names the step to rewind to: the change of speeds that let the surface leak, otherwise the step at which
//! growth set in. Changes that follow one another before the surface rests count as one change, made at the first of
//! them.

mod allowances;
mod growth;
mod joined;
mod leak;
mod seed;

pub use joined::Joined;
pub use leak::{Cause, Leak};
pub use seed::SphereEdit;

use super::background::Contact;
use super::run_history::{Event, ScriptEvent};
use crate::data::Grid;
use allowances::{Allowances, BACKGROUND, BORDER};
use growth::{Course, MIN_GROWTH, Mark, REST_WINDOWS, Rest, UNCHANGED_RATIO};
use seed::Seed;

/// The surface has slowed down if it has left its seed and changes by less than this share in `REST_WINDOWS`, …
const SLOW: f64 = 0.02;
/// … and leaks at this many times the volume it had then: adding the second structure of a pair multiplies it by
/// less.
const MULTIPLE: f64 = 2.5;
/// It also leaks if it is this many times as fast as at its slowest since it left its seed, and multiplies the volume
/// that it had then.
const FAST_RATIO: f64 = 2.5;
/// Growth that sets in again without a change is suspected earlier: once the surface is this many times as fast as at
/// its slowest in this many successive windows, and has this many times the volume it had then.
const SUSPECT_RATIO: f64 = 5.0;
const SUSPECT_WINDOWS: usize = 3;
const SUSPECT_GROWTH: f64 = 1.5;
/// A cut must leave more than one part in this many of the volume; otherwise the remaining surface counts as a new
/// one.
const MAX_CUT_RATIO: f64 = 2.0;
/// If the surface was not at rest, changes at most this many steps apart count as one change.
const SERIES_STEPS: u64 = 100;
/// A change of a surface at rest is the cause of growth that sets in within this many steps, even if the surface came
/// to rest once more at another volume.
const CAUSE_STEPS: u64 = 500;
/// Smallest number of steps between two checks of the contact …
const LOOK: u64 = 50;
/// … which happen only if the volume has changed by one part in this many: otherwise the contact is unchanged.
const LOOK_GROWTH: u64 = 200;

/// Observes the number of voxels inside after each step, and contacts at intervals.
#[derive(Clone, Debug)]
pub struct LeakDetector {
    step: u64,
    /// Voxels inside.
    now: u64,
    rest: Rest,
    course: Course,
    seed: Seed,
    /// Voxels of the seed at the start.
    first_seed: u64,
    /// The points where the surface last slowed down and where it was slowest.
    slow: Option<Mark>,
    slowest: Option<(Mark, f64)>,
    /// Number of successive windows in which it is much faster than at its slowest.
    much_faster: usize,
    /// Changes of speeds: the first of each series.
    changes: Vec<Mark>,
    series: Series,
    /// The point where the surface last rested.
    base: Option<Base>,
    allowances: Allowances,
    /// The contact at the last check.
    touched: Contact,
    /// Voxels inside at the last check without a leak, and the last step at which the surface still had that volume.
    looked: Mark,
    leak: Option<Leak>,
    /// A leak if the voxels that joined do not belong; `early`: suspected before the volume has multiplied.
    suspected: Option<Leak>,
    early: bool,
    /// Step of the slowest stretch after which growth was suspected early and found to belong.
    answered: Option<u64>,
    /// Voxels inside at a leak after which speeds were changed: growth beyond them is another leak.
    known: u64,
}

/// The changes of speeds since the surface last rested, whose first is the last of [`LeakDetector::changes`].
#[derive(Clone, Copy, Debug, Default)]
struct Series {
    /// Step of the last change.
    last: u64,
    /// Whether the surface was at rest before the first change.
    calm: bool,
    /// Whether it has come to rest since the last change.
    rested: bool,
}

/// A surface at rest.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// The volume at rest; the step is the last one known to be at rest, or that of the first change of speeds since
    /// then, at which the surface had not moved yet.
    mark: Mark,
    changed: bool,
}

impl LeakDetector {
    /// The detector at the start of a run from spheres, which grow to a structure.
    pub fn new(inside: u64, contact: Contact) -> Self {
        Self::with_seed(inside, inside, contact)
    }

    /// The detector at the start of a run from a mask, which is a structure already: once it has slowed down, wherever
    /// that is, multiplication is a leak.
    pub fn from_structure(inside: u64, contact: Contact) -> Self {
        Self::with_seed(0, inside, contact)
    }

    fn with_seed(first_seed: u64, inside: u64, contact: Contact) -> Self {
        Self {
            step: 0,
            now: inside,
            rest: Rest::new(0, inside),
            course: Course::new(0, inside),
            first_seed,
            seed: Seed::at_start(first_seed),
            slow: None,
            slowest: None,
            much_faster: 0,
            changes: Vec::new(),
            series: Series::default(),
            base: None,
            allowances: Allowances::at_start(contact),
            touched: contact,
            looked: Mark { step: 0, inside },
            leak: None,
            suspected: None,
            early: false,
            answered: None,
            known: 0,
        }
    }

    /// Returns the detector for this run rewound to its first steps, given their growth and changes, whose leaks are
    /// past; `contact`: the contact after the last of these steps. It allows what the run allowed before that step: a
    /// contact that the rewound surface already has is not a reason to allow it.
    pub(super) fn rewound(
        &self,
        growth: &[u64],
        events: &[Event],
        contact: Contact,
        grid: &Grid,
    ) -> Self {
        let inside = growth.first().copied().unwrap_or(0);
        let mut detector = Self::with_seed(self.first_seed, inside, contact);
        let mut events = events.iter().peekable();
        for (step, inside) in (0..).zip(growth) {
            // After the step of a sphere, the growth holds the volume with the sphere, not the one before it.
            let edited = events
                .clone()
                .any(|e| e.step == step && matches!(e.event, ScriptEvent::Sphere(_)));
            if step > 0 {
                detector.record(if edited { detector.now } else { *inside });
                detector.drop_suspicion();
            }
            while let Some(event) = events.next_if(|e| e.step <= step) {
                match &event.event {
                    ScriptEvent::Params(_) | ScriptEvent::Inputs(_) => detector.record_change(),
                    ScriptEvent::Sphere(sphere) => {
                        detector.record_sphere(*inside, sphere.placed(grid), [contact; 2])
                    }
                }
            }
        }
        detector.leak = None;
        detector.looked = detector.current_mark();
        detector.allowances = self.allowances.before(detector.step);
        detector.touched = contact;
        detector
    }

    /// Whether renewed growth counts as a leak at once.
    pub fn is_at_rest(&self) -> bool {
        self.rest.since.is_some()
    }

    /// The leak noticed in this run; `None` if there is none.
    pub fn leak(&self) -> Option<Leak> {
        self.leak
    }

    /// The step since which growth has been suspected of being a leak, until it is judged.
    pub fn suspected_since(&self) -> Option<u64> {
        let open = self.leak.is_none();
        self.suspected.filter(|_| open).map(|leak| leak.rewind_step)
    }

    /// Whether the values of the joined voxels alone decide.
    pub fn suspects_early(&self) -> bool {
        self.early
    }

    /// Takes the decision whether the voxels that joined since the suspected step belong to those that were inside
    /// then.
    pub fn decide_suspicion(&mut self, belongs: bool) {
        if belongs && self.early {
            self.dismiss_early_suspicion();
        } else if belongs {
            self.accept_growth();
        } else if let Some(leak) = self.suspected.take() {
            self.leak.get_or_insert(leak);
        }
    }

    /// Drops an open suspicion when a run is replayed: the first run continued past this step, or its leak has
    /// already been reported. A judgement now would compare with a much older surface.
    pub fn drop_suspicion(&mut self) {
        match self.suspected.is_some() {
            true if self.early => self.dismiss_early_suspicion(),
            true => self.accept_growth(),
            false => {}
        }
    }

    /// The voxels have been alike so far: from here on the volume decides.
    fn dismiss_early_suspicion(&mut self) {
        (self.suspected, self.early) = (None, false);
        self.answered = self.slowest.map(|(mark, _)| mark.step);
    }

    /// The structure continues beyond a narrow part.
    fn accept_growth(&mut self) {
        (self.suspected, self.slow, self.slowest) = (None, None, None);
        self.much_faster = 0;
        self.seed = Seed::whole(self.now);
    }

    /// The structure of the last seed has slowed down, or little is left of all: from here on their growth counts
    /// together.
    fn settle(&mut self) {
        if self.seed.unsettled_since().is_some() {
            self.seed = self.seed.settled(self.now);
            (self.slowest, self.much_faster) = (None, 0);
        }
    }

    /// The step after which the seed was added whose growth is judged separately.
    pub fn seed_since(&self) -> Option<u64> {
        self.seed.unsettled_since()
    }

    /// The first change of the last series, if that series is the cause of a leak from a later step: rewinding to a
    /// value in the middle of a drag would not help.
    fn causing_change(&self, from: u64) -> Option<u64> {
        let Series { last, calm, rested } = self.series;
        let first = self.changes.last().filter(|first| first.step < from)?;
        let moved = || !first.is_near(self.course.at(from), UNCHANGED_RATIO - 1.0);
        let soon = || from.saturating_sub(last) <= CAUSE_STEPS && moved();
        (from <= last || calm && (!rested || soon())).then_some(first.step)
    }

    fn leaks(&mut self, rewind_step: u64, cause: Cause) {
        let rewind_step = self.causing_change(rewind_step).unwrap_or(rewind_step);
        let noticed = self.step;
        self.leak.get_or_insert(Leak {
            rewind_step,
            noticed,
            cause,
        });
    }

    fn current_mark(&self) -> Mark {
        Mark {
            step: self.step,
            inside: self.now,
        }
    }

    /// The step before the surface left its state at `mark`, and whether a change of speeds was the cause: rewinding
    /// to a change restores the speeds before it.
    fn rewind_target(&self, mark: Mark) -> (u64, Cause) {
        let unchanged = self.seed.multiple(UNCHANGED_RATIO, mark.inside);
        let rises = self.course.last_below(mark, unchanged);
        let near = |m: &&Mark| m.step >= mark.step && (m.inside as f64) < unchanged;
        match self.changes.iter().rev().find(near) {
            Some(change) => (change.step, Cause::Change),
            None if self.causing_change(rises).is_some() => (rises, Cause::Change),
            None => (rises, Cause::Growth),
        }
    }

    /// Records the voxels inside after a step.
    pub fn record(&mut self, inside: u64) {
        self.step += 1;
        self.now = inside;
        if self.rest.record(inside) {
            if let Some(from) = self.rest.leaks(self.seed.others) {
                self.leaks(from, Cause::Growth);
            }
            if self.is_at_rest() {
                self.settle();
            }
            if self.rest.is_still() {
                self.series.rested = true;
                self.record_rest();
            }
        }
        if !self.course.record(self.step, inside) {
            return;
        }
        if !self.has_changed() {
            self.looked.step = self.step;
        }
        let grown = inside >= self.seed.left;
        let others = self.seed.others;
        let share = self
            .course
            .change(REST_WINDOWS, others, |n| n.max(1.0).ln());
        if share.is_some_and(|share| share.abs() < SLOW) {
            if grown {
                self.settle();
                self.slow = Some(self.current_mark());
            }
            // A surface that creeps away is not at rest; one that slowed down elsewhere is.
            let creeps = |base: Base| base.mark.is_near(inside, UNCHANGED_RATIO - 1.0);
            if !self.base.is_some_and(creeps) {
                self.record_rest();
            }
        }
        let seed = self.seed;
        if let Some((before, speed)) = self.course.pace(seed.others)
            && before >= seed.left
        {
            if let Some((mark, slowest)) = self.slowest
                && speed >= FAST_RATIO * slowest
                && inside as f64 >= seed.multiple(MULTIPLE, mark.inside)
            {
                let sets_in = self.course.last_slow(speed, seed.others);
                self.record_rise(sets_in.filter(|m| m.step > mark.step).unwrap_or(mark));
            }
            self.check_renewed_growth(speed);
            if self.slowest.is_none_or(|(_, slowest)| speed <= slowest) {
                self.slowest = Some((self.current_mark(), speed));
            }
        }
        if let Some(slow) = self.slow
            && inside as f64 >= MULTIPLE * slow.inside as f64
        {
            self.record_rise(slow);
        }
    }

    /// Growth that sets in again by itself, before the volume has multiplied: the joined voxels decide.
    fn check_renewed_growth(&mut self, speed: f64) {
        let slowest = self
            .slowest
            .filter(|(_, slowest_speed)| speed >= SUSPECT_RATIO * slowest_speed);
        let Some((mark, _)) = slowest else {
            self.much_faster = 0;
            return;
        };
        self.much_faster += 1;
        let now = self.now as f64;
        let grown = now >= self.seed.multiple(SUSPECT_GROWTH, mark.inside)
            && now >= UNCHANGED_RATIO * self.known as f64;
        let open = self.suspected.is_none() && self.answered != Some(mark.step);
        if self.much_faster < SUSPECT_WINDOWS || !grown || !open {
            return;
        }
        let (rewind_step, cause) = self.rewind_target(self.plateau().unwrap_or(mark));
        // After a change it is a leak at once, but only if the volume multiplies.
        if cause == Cause::Growth {
            let noticed = self.step;
            self.early = true;
            self.suspected = Some(Leak {
                rewind_step,
                noticed,
                cause,
            });
        }
    }

    /// Where the surface last was about as slow as at its slowest.
    fn plateau(&self) -> Option<Mark> {
        let (mark, slowest) = self.slowest?;
        let others = self.seed.others;
        let plateau = self.course.last_within(FAST_RATIO * slowest, others)?;
        Some(plateau).filter(|plateau| plateau.step > mark.step)
    }

    /// The plateau that the surface has since left, much faster than it was there: that growth produced the present
    /// contact, however late it is noticed.
    fn left_plateau(&self) -> Option<Mark> {
        let (mark, slowest) = self.slowest?;
        let plateau = self.plateau().unwrap_or(mark);
        let seed = self.seed;
        let grown = self.now as f64 >= seed.multiple(UNCHANGED_RATIO, plateau.inside);
        let fast = self.course.fastest_since(plateau.step, seed.others) >= SUSPECT_RATIO * slowest;
        (grown && fast).then_some(plateau)
    }

    fn record_rest(&mut self) {
        self.base = Some(Base {
            mark: self.current_mark(),
            changed: false,
        });
    }

    fn record_rise(&mut self, mark: Mark) {
        if self.now as f64 >= UNCHANGED_RATIO * self.known as f64 {
            let (rewind_step, cause) = self.rewind_target(mark);
            if cause == Cause::Growth {
                let noticed = self.step;
                self.early &= self.suspected.is_some();
                self.suspected.get_or_insert(Leak {
                    rewind_step,
                    noticed,
                    cause,
                });
            } else {
                self.leaks(rewind_step, cause);
            }
        }
    }

    /// Whether the volume differs from that at the last check.
    fn has_changed(&self) -> bool {
        let before = self.looked.inside;
        self.now.abs_diff(before) * LOOK_GROWTH >= before
    }

    /// Whether to check contacts after this step.
    pub fn needs_contact(&self) -> bool {
        self.step.is_multiple_of(LOOK) && self.has_changed()
    }

    /// The step to rewind to from a contact. Checks are rare, so that the last one without a leak may come after the
    /// change of speeds that let the surface out.
    fn before_the_contact(&self) -> u64 {
        let looked = self.looked;
        match self.base {
            Some(base) if base.changed => base.mark.step,
            Some(base) => base.mark.step.min(looked.step),
            // The surface has not been at rest: rewind to the last change at which its contact was about that of the
            // last check, otherwise to the plateau that it left.
            None => {
                let fine = |m: &&Mark| {
                    m.step <= looked.step || looked.is_near(m.inside, UNCHANGED_RATIO - 1.0)
                };
                let change = self.changes.iter().rev().find(fine);
                let plateau = || self.left_plateau().map(|mark| mark.step.min(looked.step));
                let change = change.map(|change| change.step);
                change.or_else(plateau).unwrap_or(looked.step)
            }
        }
    }

    /// Records what the surface touches after this step.
    pub fn record_contact(&mut self, contact: Contact) {
        let before = std::mem::replace(&mut self.touched, contact);
        let over = |voxels: fn(&Contact) -> u64, tolerated: (u64, u64)| {
            // A receding surface does not leak.
            let increases = voxels(&contact) > voxels(&before);
            increases
                && self
                    .allowances
                    .is_exceeded(voxels(&contact), voxels, self.now, tolerated)
        };
        let cause = if over(|c| c.background, BACKGROUND) {
            Cause::Background
        } else if over(|c| c.border, BORDER) {
            Cause::Border
        } else {
            self.looked = self.current_mark();
            return;
        };
        self.leaks(self.before_the_contact(), cause);
    }

    /// Records that speeds were changed after this step.
    pub fn record_change(&mut self) {
        self.rest = Rest::new(self.step, self.now);
        let now = self.current_mark();
        let Series { last, calm, rested } = self.series;
        let goes_on = !rested && (calm || now.step - last <= SERIES_STEPS);
        if self.changes.is_empty() || !goes_on {
            self.changes.push(now);
            let here = |base: Base| base.mark.is_near(now.inside, MIN_GROWTH);
            self.series.calm = rested || self.base.is_some_and(here);
        }
        (self.series.last, self.series.rested) = (now.step, false);
        if let Some(base) = &mut self.base
            && !base.changed
            && base.mark.is_near(now.inside, MIN_GROWTH)
        {
            base.mark.step = now.step;
            base.changed = true;
        }
        (self.suspected, self.early) = (None, false);
        if self.leak.take().is_some() {
            self.known = self.now;
        }
    }

    /// Starts from a surface that the user made; its earlier states are irrelevant.
    fn restart(&mut self) {
        self.rest = Rest::new(self.step, self.now);
        self.course = Course::new(self.step, self.now);
        (self.slowest, self.much_faster) = (None, 0);
        self.changes.clear();
        self.series = Series::default();
        self.base = None;
        self.looked = self.current_mark();
        (self.leak, self.suspected, self.early) = (None, None, false);
    }

    /// Records that a sphere was placed, with the voxels inside afterwards and the contacts before and after. What an
    /// added sphere itself touches is allowed.
    pub fn record_sphere(
        &mut self,
        inside: u64,
        placed: SphereEdit,
        [before, after]: [Contact; 2],
    ) {
        let is_seed = placed.is_seed(self.now, inside);
        if is_seed {
            // Where the others had slowed down, a multiple of their volume is suspected, whatever grows.
            let before = self.current_mark();
            self.slow = self.slow.map(|_| before);
            self.seed = Seed::added(self.step, self.now, inside);
        }
        // A sphere within the surface, and a cut that leaves most of it, do not disarm the detector: the surface was
        // slow and continues from here.
        let goes_on = !is_seed && inside as f64 * MAX_CUT_RATIO >= self.now as f64;
        let here = Mark {
            step: self.step,
            inside,
        };
        let slowest = self
            .slowest
            .filter(|_| goes_on)
            .map(|(_, pace)| (here, pace));
        let cut_to_less = placed == SphereEdit::Cut && !goes_on;
        self.now = inside;
        if cut_to_less {
            self.settle();
        }
        match cut_to_less {
            true => self.allowances.allow(self.step, after),
            false => self.allowances.allow_added(self.step, [before, after]),
        }
        self.touched = after;
        self.restart();
        self.slowest = slowest;
    }

    /// The user lets the run continue: what it touches now is allowed.
    pub fn allow_contact(&mut self, contact: Contact) {
        self.slow = None;
        self.seed = Seed::whole(self.now);
        self.allowances.allow(self.step, contact);
        self.touched = contact;
        self.restart();
    }
}
