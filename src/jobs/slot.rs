//! Slots: queues for jobs of one kind, with a policy for those that wait.

use std::fmt;

/// Whether the jobs of a slot wait for those before them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
enum Policy {
    /// The newest job cancels the running one and replaces those that wait.
    LatestWins,
    Queue,
}

/// A name with a policy; each slot ever used has a thread of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot {
    key: &'static str,
    /// Distinguishes slots of one key that run in parallel.
    instance: u32,
    policy: Policy,
    /// The work belongs to the document: it is cancelled when another document replaces it.
    of_document: bool,
    /// The work is finished even when the window closes.
    finishes_on_exit: bool,
    /// A result is used even if the job was cancelled.
    keeps_result: bool,
}

impl Slot {
    const fn new(key: &'static str, policy: Policy) -> Self {
        Self {
            key,
            instance: 0,
            policy,
            of_document: true,
            finishes_on_exit: false,
            keeps_result: false,
        }
    }

    /// A slot in which the newest job wins.
    pub const fn latest_wins(key: &'static str) -> Self {
        Self::new(key, Policy::LatestWins)
    }

    /// A slot in which jobs queue.
    pub const fn queue(key: &'static str) -> Self {
        Self::new(key, Policy::Queue)
    }

    /// This slot for work that outlives the document.
    pub const fn beyond_document(mut self) -> Self {
        self.of_document = false;
        self
    }

    /// This slot for work that writes files: it is finished on closing, and its result is used even if the user stopped
    /// it.
    pub const fn writing(mut self) -> Self {
        (self.of_document, self.finishes_on_exit) = (false, true);
        self.keeping_result()
    }

    /// This slot for work whose result is used even if the user stopped it: a backend, the last weights of a fit.
    pub const fn keeping_result(mut self) -> Self {
        self.keeps_result = true;
        self
    }

    /// The slot of the same key with another number, whose jobs run in parallel to this one's.
    pub const fn instance(mut self, number: u32) -> Self {
        self.instance = number;
        self
    }

    /// Whether jobs wait for those before them; otherwise the newest replaces all.
    pub fn queues(self) -> bool {
        self.policy == Policy::Queue
    }

    pub fn is_of_document(self) -> bool {
        self.of_document
    }

    pub(super) fn finishes_on_exit(self) -> bool {
        self.finishes_on_exit
    }

    pub(super) fn keeps_result(self) -> bool {
        self.keeps_result
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.instance {
            0 => f.write_str(self.key),
            number => write!(f, "{} {number}", self.key),
        }
    }
}

/// Slots that have not moved to their jobs yet, and those that several features use.
#[allow(
    non_upper_case_globals,
    reason = "each takes upper case when it moves beside its job"
)]
impl Slot {
    /// Opening files.
    pub const Load: Self = Self::queue("load").beyond_document();
    /// Finding and opening graphics cards.
    pub const Device: Self = Self::queue("device").beyond_document().keeping_result();
    pub const Save: Self = Self::queue("save").writing();
    /// Recomputing kept streamlines of a session, one after the other.
    pub const RecomputeCurves: Self = Self::queue("recompute_curves");
    /// Comparing files with those of the session, byte by byte.
    pub const Verify: Self = Self::queue("verify");
    /// Saving for recovery, in case the window ends unexpectedly.
    pub const Recovery: Self = Self::queue("recovery").writing();
    /// Checking typed paths before they are read or written.
    pub const Path: Self = Self::latest_wins("path").beyond_document();
    /// Pictures: the window draws them itself, a piece per frame.
    pub const Picture: Self = Self::queue("picture").beyond_document();
}
