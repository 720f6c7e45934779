//! What steers the surface.

use serde::{Deserialize, Serialize};

/// Which discretisation, and in which units.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// Speeds that mean the same on every scan; each term discretised by what it is.
    Scaled,
    /// Lefohn 2004, appendix A: grey values as they are, curvature and rescaling in one speed that is
    /// upwinded by its sign, voxels taken for cubes. For comparison.
    Paper,
}

/// Edge stopping: speed and curvature times g = 1 / (1 + (|∇I| / contrast)²), and advection along ∇g
/// (Caselles, Kimmel and Sapiro 1997, eq. 16).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Edge {
    /// 0: no edges; 1: the whole of g.
    pub weight: f32,
    /// Gradient of the smoothed image at which g is one half, grey values a mm.
    pub contrast: f32,
}

/// A speed out of another image: −1 at `low`, +1 at `high`, linear in between.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LayerSpeed {
    pub weight: f32,
    pub low: f32,
    pub high: f32,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    pub mode: Mode,
    /// T, grey value of what is looked for.
    pub target: f32,
    /// ε, how far from it the speed turns inwards.
    pub tolerance: f32,
    /// 1 − a, weight of the curvature against that of all other speeds, 0 to 1.
    pub smoothness: f32,
    /// Weight of the grey value's speed among those.
    pub intensity: f32,
    /// Weight of region statistics (Chan and Vese 2001): +1 at the mean inside, −1 at that outside.
    pub region: f32,
    pub edge: Option<Edge>,
    pub layer: Option<LayerSpeed>,
    /// Speed where "grow here" or "not here" is painted; the curvature's weight leaves it alone.
    pub bias: f32,
    /// How fast |∇φ| is drawn to 1, a unit of time; 0: not at all.
    pub rescaling: f32,
    /// Steps between two redistancings; 0: never.
    pub redistance_every: u32,
}

impl Params {
    /// Smooth enough for noise of a third of the contrast, rough enough to follow gyri and the horns of
    /// ventricles, which a surface of 0.25 and more does not enter; redistanced before speeds of opposite sign
    /// have squeezed the band.
    pub fn defaults_for(target: f32, tolerance: f32) -> Self {
        Self {
            mode: Mode::Scaled,
            target,
            tolerance,
            smoothness: 0.15,
            intensity: 1.0,
            region: 0.0,
            edge: None,
            layer: None,
            bias: 1.0,
            rescaling: 0.1,
            redistance_every: 20,
        }
    }

    /// a.
    pub fn advection(&self) -> f32 {
        1.0 - self.smoothness
    }

    pub fn check(&self) -> Result<(), String> {
        let wrong = |found: String, expected: &str, choose: &str| {
            Err(format!("Found {found}, expected {expected}; {choose}"))
        };
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return wrong(
                format!("a tolerance ε of {}", self.tolerance),
                "a number above 0",
                "probe more voxels or widen it",
            );
        }
        if !self.target.is_finite() {
            return wrong(
                format!("a target of {}", self.target),
                "a grey value",
                "probe voxels of what you look for",
            );
        }
        if !(0.0..=1.0).contains(&self.smoothness) {
            return wrong(
                format!("a smoothness of {}", self.smoothness),
                "0 to 1",
                "choose for example 0.3",
            );
        }
        let edge = self.edge.map_or(0.0, |e| e.weight);
        let layer = self.layer.map_or(0.0, |l| l.weight.abs());
        for (name, weight) in [
            ("intensity", self.intensity),
            ("region", self.region),
            ("layer", layer),
            ("bias", self.bias),
        ] {
            if !(0.0..=10.0).contains(&weight) {
                return wrong(
                    format!("a weight of {weight} for the {name} speed"),
                    "0 to 10",
                    "choose for example 1",
                );
            }
        }
        if !(0.0..=1.0).contains(&edge) {
            return wrong(
                format!("an edge weight of {edge}"),
                "0 to 1",
                "choose for example 0.8",
            );
        }
        if let Some(edge) = self.edge
            && !(edge.contrast > 0.0 && edge.contrast.is_finite())
        {
            return wrong(
                format!("an edge contrast of {}", edge.contrast),
                "grey values a mm above 0",
                "choose the gradient of an edge that counts",
            );
        }
        if let Some(layer) = self.layer
            && !(layer.low.is_finite() && layer.high.is_finite() && layer.low != layer.high)
        {
            return wrong(
                format!("a layer speed from {} to {}", layer.low, layer.high),
                "two different numbers",
                "choose the values where the surface shall shrink and grow",
            );
        }
        if !(0.0..=1.0).contains(&self.rescaling) {
            return wrong(
                format!("a rescaling of {}", self.rescaling),
                "0 to 1",
                "choose for example 0.1",
            );
        }
        let driven = self.advection() * (self.intensity + self.region + layer) + self.bias;
        if !(driven + self.smoothness + self.rescaling > 0.0) {
            return wrong(
                "speeds that are all 0".to_owned(),
                "one at least",
                "raise a weight",
            );
        }
        Ok(())
    }

    /// Whether more than one number a voxel is needed.
    pub(super) fn extra(&self) -> bool {
        self.mode == Mode::Scaled
            && (self.region > 0.0 || self.edge.is_some_and(|e| e.weight > 0.0))
    }
}

/// How the narrow band is kept: it decides how long a step takes, not what comes out.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Layout {
    /// Voxels of a brick's edge: 8 or 16; graphics cards have 8.
    pub brick: usize,
    /// |φ| is kept up to so many of the longest voxel edges.
    pub band: f32,
    /// All bricks are computed: for tests.
    pub everywhere: bool,
}

impl Layout {
    /// As the measured design: three voxels hold all that a step reads about the surface.
    pub const BEST: Self = Self {
        brick: 8,
        band: 3.0,
        everywhere: false,
    };

    pub fn check(&self) -> Result<(), String> {
        if !matches!(self.brick, 8 | 16) {
            return Err(format!(
                "Found bricks of {} voxels, expected 8 or 16; choose 8",
                self.brick
            ));
        }
        if !(2.0..=16.0).contains(&self.band) {
            return Err(format!(
                "Found a band of {} voxels, expected 2 to 16; choose 3",
                self.band
            ));
        }
        Ok(())
    }
}
