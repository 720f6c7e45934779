//! The contacts with background and border that do not count as a leak.

use super::super::background::Contact;

/// Tolerated voxels in the background or at the border: their number, and the reciprocal of their share of all
/// inside.
pub const BACKGROUND: (u64, u64) = (50, 1000);
pub const BORDER: (u64, u64) = (30, 10_000);

/// A contact that does not count as a leak from this step on.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    step: u64,
    contact: Contact,
}

/// The contacts that a run allows, in the order of their steps.
#[derive(Clone, Debug)]
pub struct Allowances {
    start: Contact,
    later: Vec<Allowance>,
}

impl Allowances {
    pub fn at_start(start: Contact) -> Self {
        Self {
            start,
            later: Vec::new(),
        }
    }

    fn now(&self) -> Contact {
        self.later.last().map_or(self.start, |last| last.contact)
    }

    /// The contacts allowed at the start and by steps before this one.
    pub fn before(&self, step: u64) -> Self {
        let earlier = self.later.iter().filter(|a| a.step < step);
        Self {
            start: self.start,
            later: earlier.copied().collect(),
        }
    }

    pub fn allow(&mut self, step: u64, contact: Contact) {
        self.later.push(Allowance { step, contact });
    }

    /// Also allows what an added sphere touches, given the contacts before and after it.
    pub fn allow_added(&mut self, step: u64, [before, after]: [Contact; 2]) {
        let now = self.now();
        let contact = Contact {
            background: now.background + after.background.saturating_sub(before.background),
            border: now.border + after.border.saturating_sub(before.border),
        };
        self.allow(step, contact);
    }

    /// Whether this many voxels of one kind are a leak of a surface with `inside` voxels.
    pub fn is_exceeded(
        &self,
        voxels: u64,
        kind: fn(&Contact) -> u64,
        inside: u64,
        (min_voxels, part): (u64, u64),
    ) -> bool {
        voxels > (2 * kind(&self.now())).max(min_voxels).max(inside / part)
    }
}
