//! What a fit depends on besides streamlines and scan, and the values it starts with.

use super::cylinder::Gamma;
use super::model::{Intra, Model, Zeppelin};
use super::operator::{Precision, Way};
use super::samples::Switches;
use super::solver::Stop;
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    pub model: Model,
    pub switches: Switches,
    /// Spreads each streamline over a disc of this radius, mm.
    pub blur_mm: Option<f64>,
    /// λ as a share of the smallest that leaves no streamline, 0 for none.
    pub lasso: f32,
    /// The penalty of groups of streamlines, each times the root of their number.
    pub group: f32,
    pub stop: Stop,
    /// `None`: whichever takes less work.
    pub way: Option<Way>,
    /// On a graphics card.
    pub precision: Precision,
    /// Fits a model that the scan does not determine.
    #[serde(default)]
    pub force_model: bool,
}

impl Params {
    /// Diffusivities are COMMIT's for the living brain (Daducci et al. 2015): 1.7 × 10⁻³ mm²/s along fibres, 0.51
    /// across them outside, which is what a volume fraction of 0.7 leaves (Szafer et al. 1995), free water in
    /// tissue and in cerebrospinal fluid.
    pub fn defaults_for(shells: usize) -> Self {
        const ALONG: f64 = 1.7e-3;
        let zeppelin = |across: f64| Zeppelin {
            along: ALONG,
            across,
        };
        Self {
            model: Model {
                intra: Intra::Stick { along: ALONG },
                // One shell does not tell free water from the others: a rounder zeppelin takes its part.
                extra: match shells {
                    0 | 1 => vec![zeppelin(0.51e-3), zeppelin(1.2e-3)],
                    _ => vec![zeppelin(0.51e-3)],
                },
                free: match shells {
                    0 | 1 => Vec::new(),
                    _ => vec![ALONG, 3.0e-3],
                },
            },
            switches: Switches {
                merge_b0: true,
                normalise_signal: true,
                normalise_kernels: true,
            },
            blur_mm: None,
            lasso: 0.0,
            group: 0.0,
            stop: Stop {
                iterations: DEFAULT_ITERATIONS,
                objective: 0.0,
                kkt: 0.0,
                target: 0.0,
            }
            .with_tolerance(1e-5),
            way: None,
            precision: Precision::Exact,
            force_model: false,
        }
    }
}

/// Largest number of iterations of a fit. Fits of one bundle of nearly equal streamlines took 760 to 1 600 to the
/// default tolerance (about a second), fits of whole brains 350.
pub const DEFAULT_ITERATIONS: u32 = 5000;

/// From 0.5 to 5 µm, as COMMIT's demonstrations have them.
pub const DEFAULT_RADII_UM: [f64; 4] = [0.5, 2.0, 3.5, 5.0];

/// A mean radius of 1 µm, as axons of the living brain have (Alexander et al. 2010).
pub const DEFAULT_GAMMA: Gamma = Gamma {
    shape: 2.0,
    scale_um: 0.5,
};
