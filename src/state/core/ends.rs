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
    /// The kinds indexed by stop reason; `None` for a seed from which only one half was requested, which is not an end.
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

    /// Whether anatomical rules applied, from the counts of the reasons of first and last ends: only then are ends valid
    /// or not.
    pub fn have_rules(counts: &[Vec<u64>; 2]) -> bool {
        let first = StopReason::CorticalGrey as usize;
        let mut counts = counts.iter().flat_map(|counts| counts.iter().skip(first));
        counts.any(|count| *count > 0)
    }
}
