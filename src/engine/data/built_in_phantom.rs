//! Names a built-in phantom by kind and seed.

use crate::keyed;

/// The kinds of built-in phantoms: heads, and blocks of grey matter with a few bundles.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PhantomKind {
    /// A head whose bundles mostly keep clear of each other.
    #[default]
    Plain,
    /// A head whose bundles cross in equal shares.
    Crossing,
    /// A block with a bundle along a helix.
    Helix,
    /// A block with a straight bundle between two corners.
    Diagonal,
    /// A block with a bundle along a U.
    UFibre,
    /// A flat block whose bundles cross, touch and fan out.
    Planar,
}

keyed!(PhantomKind, serde {
    Plain = "plain",
    Crossing = "crossing",
    Helix = "helix",
    Diagonal = "diagonal",
    UFibre = "u-fibre",
    Planar = "planar",
});

impl PhantomKind {
    /// All kinds in the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::Plain,
        Self::Crossing,
        Self::Helix,
        Self::Diagonal,
        Self::UFibre,
        Self::Planar,
    ];

    /// Whether it is the head without crossings, which sessions omit.
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// Whether it is a head, and not a block.
    pub fn is_head(self) -> bool {
        matches!(self, Self::Plain | Self::Crossing)
    }

    /// Such as `Helix`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Plain => "Head",
            Self::Crossing => "Crossing head",
            Self::Helix => "Helix",
            Self::Diagonal => "Diagonal bundle",
            Self::UFibre => "U-fibre",
            Self::Planar => "Planar bundles",
        }
    }

    /// Its name within a sentence, such as `helix`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Plain => "head",
            Self::Crossing => "crossing head",
            Self::Helix => "helix",
            Self::Diagonal => "diagonal bundle",
            Self::UFibre => "U-fibre",
            Self::Planar => "block of planar bundles",
        }
    }
}

/// A built-in phantom, which its kind and seed determine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BuiltInPhantom {
    /// Kind of phantom.
    pub kind: PhantomKind,
    /// Seed of the noise; that of a head determines its shape as well.
    pub seed: u64,
}

impl BuiltInPhantom {
    /// Head without crossings.
    pub fn plain(seed: u64) -> Self {
        let kind = PhantomKind::Plain;
        Self { kind, seed }
    }

    /// Head with crossing bundles.
    pub fn crossing(seed: u64) -> Self {
        let kind = PhantomKind::Crossing;
        Self { kind, seed }
    }
}
