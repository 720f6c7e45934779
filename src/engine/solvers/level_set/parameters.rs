//! Parameters of the level set.

use super::error::InputError;
use crate::data::keyed;
use crate::parameters::{
    self, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Switch, Unit,
    shortest_f64, used,
};
use serde::{Deserialize, Serialize};

/// The discretisation and its units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Speeds with the same meaning on every scan; each term discretised by its type.
    Scaled,
    /// Lefohn 2004, appendix A: unscaled grey values, curvature and rescaling in one speed that is upwinded by its
    /// sign, voxels treated as cubes. For comparison.
    Paper,
}

keyed!(Mode, serde {
    Scaled = "scaled",
    Paper = "paper",
});

/// A speed from another image: −1 at `low`, +1 at `high`, linear in between.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LayerSpeed {
    /// The value at which the surface shrinks.
    pub low: f32,
    /// The value at which it grows.
    pub high: f32,
}

/// Parameters of a level set. Speeds are relative: only their ratios change the result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Discretisation and units of the speeds.
    pub mode: Mode,
    /// T, grey value of the structure.
    pub target: f32,
    /// ε, the distance from T at which the speed turns inwards.
    pub tolerance: f32,
    /// 1 − a, weight of the curvature relative to all other speeds, 0 to 1.
    pub smoothness: f32,
    /// Weight of the intensity speed among those.
    pub intensity: f32,
    /// Weight of region statistics (Chan and Vese 2001): +1 at the mean inside, −1 at the mean outside.
    pub region: f32,
    /// Weight of edge stopping, 0 for none: speed and curvature times 1 − edge + edge g with
    /// g = 1 / (1 + (|∇I| / contrast)²), and advection along ∇g (Caselles, Kimmel and Sapiro 1997, eq. 16).
    pub edge: f32,
    /// Gradient of the smoothed image at which g is one half, grey values per mm.
    pub edge_contrast: f32,
    /// Values of another image that define a speed.
    pub layer: Option<LayerSpeed>,
    /// Weight of that speed; a negative weight reverses it.
    pub layer_weight: f32,
    /// Speed where "grow here" or "not here" is painted; unaffected by the curvature's weight.
    pub bias: f32,
    /// Rate at which |∇φ| is drawn to 1, per unit of time; 0: not at all.
    pub rescaling: f32,
    /// Steps between two redistancings; 0: never.
    pub redistance_every: u32,
}

impl Params {
    /// Smooth enough for noise of a third of the contrast, rough enough to follow gyri and the horns of ventricles,
    /// which a surface with 0.25 or more does not enter; redistanced before speeds of opposite sign have compressed
    /// the band.
    pub fn defaults_for(target: f32, tolerance: f32) -> Self {
        Self {
            mode: Mode::Scaled,
            target,
            tolerance,
            smoothness: 0.15,
            intensity: 1.0,
            region: 0.0,
            edge: 0.0,
            // An edge whose values differ by twice the tolerance over 2 mm halves the speed.
            edge_contrast: tolerance,
            layer: None,
            layer_weight: 1.0,
            bias: 1.0,
            rescaling: 0.1,
            redistance_every: 20,
        }
    }

    /// a.
    pub fn advection(&self) -> f32 {
        1.0 - self.smoothness
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }

    /// Whether more than one number per voxel is needed.
    pub(super) fn extra(&self) -> bool {
        self.mode == Mode::Scaled && (self.region > 0.0 || self.edge > 0.0)
    }
}

/// Why a speed has no effect in Lefohn's form.
fn in_paper(params: &Params) -> Option<&'static str> {
    (params.mode == Mode::Paper).then_some("Lefohn's form has none")
}

/// A weight of a speed.
const fn weight(
    get: fn(&Params) -> Option<f64>,
    set: fn(&mut Params, Option<f64>),
) -> Kind<Params> {
    Kind::Number(Number {
        soft: (0.0, 2.0),
        hard: Limits::between(0.0, 10.0),
        ..Number::new(get, set)
    })
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            key: "smoothness",
            value_name: "X",
            label: "Smoothness",
            help: "Weight of curvature relative to that of all speeds",
            reason: "smooth enough for noise of a third of the contrast, rough enough to follow gyri",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number::new(
                |p| Some(shortest_f64(p.smoothness)),
                |p, v| p.smoothness = v.map_or(p.smoothness, |v| v as f32),
            )),
            unused: used,
        },
        Param {
            key: "intensity",
            value_name: "X",
            label: "Intensity",
            help: "Weight of the grey-value speed",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: weight(
                |p| Some(shortest_f64(p.intensity)),
                |p, v| p.intensity = v.map_or(p.intensity, |v| v as f32),
            ),
            unused: in_paper,
        },
        Param {
            key: "region",
            value_name: "X",
            label: "Region means",
            help: "Weight of region statistics (Chan and Vese 2001): the surface grows where values are closer \
                   to the mean inside than to the mean outside",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: weight(
                |p| Some(shortest_f64(p.region)),
                |p, v| p.region = v.map_or(p.region, |v| v as f32),
            ),
            unused: in_paper,
        },
        Param {
            key: "edge",
            value_name: "X",
            label: "Edge stopping",
            help: "How strongly edges slow and attract the surface (geodesic active contour)",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number::new(
                |p| Some(shortest_f64(p.edge)),
                |p, v| p.edge = v.map_or(p.edge, |v| v as f32),
            )),
            unused: in_paper,
        },
        Param {
            key: "edge-contrast",
            value_name: "V",
            label: "Edge contrast",
            help: "Gradient at which the speed is halved, grey values per mm",
            reason: "",
            hint: "",
            default_text: DefaultText::Noted("the tolerance"),
            kind: Kind::Number(Number {
                unit: Unit::PerMm,
                scale: Scale::Logarithmic,
                decimals: 3,
                soft: (1e-3, 1e3),
                hard: Limits::above(0.0, 1e9),
                ..Number::new(
                    |p| Some(shortest_f64(p.edge_contrast)),
                    |p, v| p.edge_contrast = v.map_or(p.edge_contrast, |v| v as f32),
                )
            }),
            unused: |p| in_paper(p).or((p.edge == 0.0).then_some("edge stopping is off")),
        },
        Param {
            key: "layer-weight",
            value_name: "X",
            label: "Layer weight",
            help: "Weight of the speed image, which moves the surface inwards at the low end of its range and \
                   outwards at the high end; a negative weight reverses it",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                soft: (0.0, 2.0),
                hard: Limits::between(-10.0, 10.0),
                ..Number::new(
                    |p| Some(shortest_f64(p.layer_weight)),
                    |p, v| p.layer_weight = v.map_or(p.layer_weight, |v| v as f32),
                )
            }),
            unused: |p| in_paper(p).or(p.layer.is_none().then_some("no layer gives a speed")),
        },
        Param {
            key: "bias",
            value_name: "X",
            label: "Speed of regions",
            help: "Speed in regions that draw the surface outwards or keep it out; smoothness does not change it",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: weight(
                |p| Some(shortest_f64(p.bias)),
                |p, v| p.bias = v.map_or(p.bias, |v| v as f32),
            ),
            unused: in_paper,
        },
        Param {
            key: "paper",
            value_name: "",
            label: "As in Lefohn 2004",
            help: "Use the discretisation and units of Lefohn 2004, for comparison: only grey values, \
                   smoothness and rescaling",
            reason: "speeds then mean the same on every scan",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Switch(Switch {
                flag: true,
                labels: None,
                get: |p| p.mode == Mode::Paper,
                set: |p, on| p.mode = if on { Mode::Paper } else { Mode::Scaled },
            }),
            unused: used,
        },
        Param {
            key: "rescaling",
            value_name: "X",
            label: "Rescaling",
            help: "How strongly φ is kept a signed distance, per unit of time",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number::new(
                |p| Some(shortest_f64(p.rescaling)),
                |p, v| p.rescaling = v.map_or(p.rescaling, |v| v as f32),
            )),
            unused: used,
        },
        Param {
            key: "redistance-every",
            value_name: "N",
            label: "Redistance every",
            help: "Number of steps between two redistancings; 0: none",
            reason: "before speeds of opposite sign have squeezed the band",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                unit: Unit::Steps,
                decimals: 0,
                soft: (0.0, 100.0),
                hard: Limits::whole(0.0, 1e6),
                ..Number::new(
                    |p| Some(f64::from(p.redistance_every)),
                    |p, v| p.redistance_every = v.map_or(p.redistance_every, |v| v as u32),
                )
            }),
            unused: in_paper,
        },
    ];

    /// Defaults for values from 0 to 1, until the target is estimated from the image.
    fn defaults() -> Self {
        Self::defaults_for(0.5, 0.1)
    }

    fn check_together(&self) -> Result<(), ParamError> {
        let unusable = |found: String, expected: &str, action: &str| {
            Err(ParamError::Combination {
                found,
                expected: expected.to_owned(),
                action: action.to_owned(),
            })
        };
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return unusable(
                format!("a tolerance ε of {}", self.tolerance),
                "a number above 0",
                "probe more voxels or widen it",
            );
        }
        if !self.target.is_finite() {
            return unusable(
                format!("a target of {}", self.target),
                "a grey value",
                "probe voxels of the structure",
            );
        }
        if let Some(layer) = self.layer
            && !(layer.low.is_finite() && layer.high.is_finite() && layer.low != layer.high)
        {
            return unusable(
                format!("a layer speed from {} to {}", layer.low, layer.high),
                "two different numbers",
                "choose the values at which the surface should shrink and grow",
            );
        }
        let layer = self.layer.map_or(0.0, |_| self.layer_weight.abs());
        let driven = self.advection() * (self.intensity + self.region + layer) + self.bias;
        if !(driven + self.smoothness + self.rescaling > 0.0) {
            return unusable(
                "speeds that are all 0".to_owned(),
                "one at least",
                "raise a weight",
            );
        }
        Ok(())
    }
}

/// Layout of the narrow band: it affects the duration of a step, not its result.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Layout {
    /// Voxels along a brick's edge: 8 or 16; graphics cards use 8.
    pub brick: usize,
    /// |φ| is limited to this many longest voxel edges.
    pub band: f32,
    /// Computes all bricks: for tests.
    pub everywhere: bool,
}

impl Layout {
    /// The fastest measured layout: three voxels hold all that a step reads about the surface.
    pub const BEST: Self = Self {
        brick: 8,
        band: 3.0,
        everywhere: false,
    };

    /// An error unless bricks and band have supported sizes.
    pub fn check(&self) -> Result<(), InputError> {
        if !matches!(self.brick, 8 | 16) {
            return Err(InputError::Brick(self.brick));
        }
        if !(2.0..=16.0).contains(&self.band) {
            return Err(InputError::Band(self.band));
        }
        Ok(())
    }
}
