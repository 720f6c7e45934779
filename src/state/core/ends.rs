//! Kinds of ends of streamlines, by the reason why they stopped.

use crate::solvers::curves::StopReason;

/// The kind of an end; views show it by shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndKind {
    /// Where streamlines should end: in grey matter, at the brain stem or in a target.
    Desired,
    /// Within white matter: no direction to follow.
    White,
    Csf,
    /// An end for a reason that says nothing about tissue.
    Other,
}

impl EndKind {
    /// By the number of the reason; `None` for a seed from which only one half was requested, which is no end.
    pub fn by_reason() -> [Option<Self>; StopReason::COUNT] {
        StopReason::ALL
            .map(|reason| (reason != StopReason::Seed).then_some(Self::from_reason(reason)))
    }

    /// The kind of an end that stopped for this reason.
    pub fn from_reason(reason: StopReason) -> Self {
        match reason {
            StopReason::ReachedTarget
            | StopReason::CorticalGrey
            | StopReason::DeepGrey
            | StopReason::BrainStem => Self::Desired,
            StopReason::LowFa
            | StopReason::Angle
            | StopReason::LowAmplitude
            | StopReason::Loop
            | StopReason::Indefinite
            | StopReason::Leap => Self::White,
            StopReason::EnteredCsf => Self::Csf,
            StopReason::Terminated
            | StopReason::LeftVolume
            | StopReason::LeftMask
            | StopReason::MaxLength
            | StopReason::MaxSteps
            | StopReason::Seed => Self::Other,
        }
    }

    /// Whether the value of an end says that anatomical rules applied: only then are ends valid or not.
    pub fn has_rules(value: f32) -> bool {
        value >= f32::from(StopReason::CorticalGrey as u8)
    }
}
