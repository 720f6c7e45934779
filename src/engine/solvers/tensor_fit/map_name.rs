//! Keys of the maps of a fit: values of `arcuate fit --maps`, parts of file names, and members of sessions.

use crate::data::keyed;

/// A map of a fit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FitMap {
    /// Fractional anisotropy, 0..=1.
    Fa,
    /// Mean diffusivity, mm²/s.
    Md,
    /// Axial diffusivity, mm²/s.
    Ad,
    /// Radial diffusivity, mm²/s.
    Rd,
    /// Direction encoded colour.
    Dec,
    /// Principal eigenvector, three volumes.
    Direction,
    /// Tensor components, six volumes.
    Tensor,
    /// Signal at b = 0 by the fit.
    S0,
    /// Voxels that were fitted.
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
