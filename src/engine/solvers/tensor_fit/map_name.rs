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
    /// Mode of the deviator, −1 (planar) to +1 (linear).
    Mode,
    /// Linear anisotropy (λ₁ − λ₂) / λ₁, 0..=1.
    Cl,
    /// Planar anisotropy (λ₂ − λ₃) / λ₁, 0..=1.
    Cp,
    /// Sphericity λ₃ / λ₁, 0..=1.
    Cs,
    /// Frobenius norm of the tensor, mm²/s.
    Norm,
    /// Direction encoded colour.
    Dec,
    /// Colour of the mode times FA.
    ModeColour,
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
    Mode = "mode",
    Cl = "cl",
    Cp = "cp",
    Cs = "cs",
    Norm = "norm",
    Dec = "dec",
    ModeColour = "mode-colour",
    Direction = "direction",
    Tensor = "tensor",
    S0 = "s0",
    Mask = "mask",
    Repaired = "repaired",
});

impl FitMap {
    /// The maps of the shape of tensors, which [`shape_maps`](super::shape_maps) computes on request.
    pub const SHAPES: [Self; 6] = [
        Self::Mode,
        Self::Cl,
        Self::Cp,
        Self::Cs,
        Self::Norm,
        Self::ModeColour,
    ];

    /// Whether its values are diffusivities, mm²/s.
    pub fn is_diffusivity(self) -> bool {
        matches!(self, Self::Md | Self::Ad | Self::Rd | Self::Norm)
    }
}
