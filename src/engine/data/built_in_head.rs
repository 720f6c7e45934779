//! Names a synthetic head by kind and seed.

use crate::keyed;

/// The kinds of synthetic heads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum HeadKind {
    /// Bundles that mostly keep clear of each other.
    #[default]
    Plain,
    /// Bundles that cross in equal shares.
    Crossing,
}

keyed!(HeadKind, serde {
    Plain = "plain",
    Crossing = "crossing",
});

impl HeadKind {
    /// Whether it is the head without crossings, which sessions omit.
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }
}

/// A synthetic head, which its kind and seed determine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BuiltInHead {
    /// Kind of head.
    pub kind: HeadKind,
    /// Seed that determines shape and bundles.
    pub seed: u64,
}

impl BuiltInHead {
    /// Head without crossings.
    pub fn plain(seed: u64) -> Self {
        let kind = HeadKind::Plain;
        Self { kind, seed }
    }

    /// Head with crossing bundles.
    pub fn crossing(seed: u64) -> Self {
        let kind = HeadKind::Crossing;
        Self { kind, seed }
    }
}
