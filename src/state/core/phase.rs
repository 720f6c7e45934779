//! Phases of a gesture.

/// Whether more edits of the same gesture (a drag, a moving slider) follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Live,
    Done,
}
