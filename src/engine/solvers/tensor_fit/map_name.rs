//! Keys of the maps of a fit: values of `arcuate fit --maps`, parts of file names, and members of sessions.

use crate::data::keyed;

/// A map of a fit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FitMap {
    Fa,
    Md,
    Ad,
    Rd,
    /// Direction encoded colour.
    Dec,
    Direction,
    Tensor,
    S0,
    Mask,
    /// Voxels whose tensor was repaired.
    Repaired,
}

keyed!(FitMap, serde {
    Fa = "fa",
    Md = "md",
    Ad = "ad",
    Rd = "rd",
    Dec = "dec",
    Direction = "direction",
    Tensor = "tensor",
    S0 = "s0",
    Mask = "mask",
    Repaired = "repaired",
});

impl FitMap {
    /// Whether its values are diffusivities, mm²/s.
    pub fn is_diffusivity(self) -> bool {
        matches!(self, Self::Md | Self::Ad | Self::Rd)
    }
}
