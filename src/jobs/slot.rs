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
    /// The program does the work by itself: it is not shown as long as it succeeds.
    in_background: bool,
    /// Its jobs have subjects of their own: the success of one does not remove the message that another failed.
    keeps_failures: bool,
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
            in_background: false,
            keeps_failures: false,
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

    /// This slot for work that the program does by itself: it is not shown as long as it succeeds.
    pub const fn in_background(mut self) -> Self {
        self.in_background = true;
        self
    }

    /// This slot for jobs with subjects of their own: the success of one does not remove the message that another
    /// failed.
    pub const fn keeping_failures(mut self) -> Self {
        self.keeps_failures = true;
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

    pub fn is_in_background(self) -> bool {
        self.in_background
    }

    pub fn keeps_failures(self) -> bool {
        self.keeps_failures
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
