//! Tissues of the head, and their fractions in a sample.

use super::implicit::cover;

/// A material with its own signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Tissue {
    /// Outside the head, and its cavities.
    Air = 0,
    /// Skin and the fat under it.
    Scalp = 1,
    /// Muscle under the skin.
    Muscle = 2,
    /// Compact bone.
    Skull = 3,
    /// Fatty marrow between the tables of the skull.
    Marrow = 4,
    /// Eyeball.
    Eye = 5,
    /// Outside the brain and in its sulci.
    Csf = 6,
    /// Fluid in the ventricles.
    Ventricle = 7,
    /// Cortex of the cerebrum.
    Grey = 8,
    /// White matter of the cerebrum.
    White = 9,
    /// Thalamus, striatum, pallidum, hippocampus, amygdala.
    DeepGrey = 10,
    /// Cortex of the cerebellum.
    CerebellarGrey = 11,
    /// White matter of the cerebellum.
    CerebellarWhite = 12,
    /// Midbrain, pons and medulla.
    BrainStem = 13,
}

impl Tissue {
    /// Number of tissues.
    pub const COUNT: usize = 14;

    /// All tissues in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Air,
        Self::Scalp,
        Self::Muscle,
        Self::Skull,
        Self::Marrow,
        Self::Eye,
        Self::Csf,
        Self::Ventricle,
        Self::Grey,
        Self::White,
        Self::DeepGrey,
        Self::CerebellarGrey,
        Self::CerebellarWhite,
        Self::BrainStem,
    ];

    /// Name in label tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Air => "Air",
            Self::Scalp => "Scalp",
            Self::Muscle => "Muscle",
            Self::Skull => "Skull",
            Self::Marrow => "Marrow",
            Self::Eye => "Eye",
            Self::Csf => "CSF",
            Self::Ventricle => "Ventricles",
            Self::Grey => "Cortex",
            Self::White => "White matter",
            Self::DeepGrey => "Deep grey matter",
            Self::CerebellarGrey => "Cerebellar cortex",
            Self::CerebellarWhite => "Cerebellar white matter",
            Self::BrainStem => "Brain stem",
        }
    }

    /// Tissue whose water follows fibres.
    pub fn is_white(self) -> bool {
        matches!(self, Self::White | Self::CerebellarWhite | Self::BrainStem)
    }
}

/// Fractions of the tissues in a sample; they sum to 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Fractions(pub [f32; Tissue::COUNT]);

impl Fractions {
    /// Fraction of one tissue, 0..=1.
    pub fn fraction(&self, tissue: Tissue) -> f32 {
        self.0[tissue as usize]
    }

    /// Sum over the tissues that count as white matter.
    pub fn white(&self) -> f32 {
        let white = Tissue::ALL.into_iter().filter(|tissue| tissue.is_white());
        white.map(|tissue| self.fraction(tissue)).sum()
    }

    /// Sum over the tissues of the brain, ventricles included.
    pub fn brain(&self) -> f32 {
        self.0[Tissue::Ventricle as usize..].iter().sum()
    }

    /// The tissue with the largest fraction.
    pub fn main(&self) -> Tissue {
        Tissue::ALL.into_iter().fold(Tissue::Air, |a, b| {
            if self.fraction(b) > self.fraction(a) {
                b
            } else {
                a
            }
        })
    }

    pub(super) fn add(&mut self, other: &Self, weight: f32) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a += weight * b;
        }
    }
}

/// Layers on top of each other, the first one uppermost; each takes its share of what the layers above leave.
pub(super) struct Layers {
    pub fractions: Fractions,
    left: f64,
    width: f64,
    /// Distance to the nearest surface encountered, mm: a narrower sample contains a single tissue.
    pub clear_mm: f64,
}

impl Layers {
    /// Layers for samples of `width` mm.
    pub fn new(width: f64) -> Self {
        Self {
            fractions: Fractions::default(),
            left: 1.0,
            width,
            clear_mm: f64::INFINITY,
        }
    }

    /// Adds a tissue bounded by a surface at signed distance `distance` (negative inside).
    pub fn add_tissue(&mut self, tissue: Tissue, distance: f64) {
        self.add_thin_tissue(tissue, distance, 1.0);
    }

    /// Adds a tissue that leaves a fraction of `1 − strength` to those below.
    pub fn add_thin_tissue(&mut self, tissue: Tissue, distance: f64, strength: f64) {
        let share = self.left * strength * cover(distance, self.width);
        self.fractions.0[tissue as usize] += share as f32;
        self.left -= share;
        self.clear_mm = self.clear_mm.min(distance.abs());
    }

    /// Whether no layer below contributes any more.
    pub fn full(&self) -> bool {
        self.left <= 1e-9
    }

    /// The last layer takes the remainder.
    pub fn fill(&mut self, tissue: Tissue) {
        self.fractions.0[tissue as usize] += self.left as f32;
        self.left = 0.0;
    }
}
