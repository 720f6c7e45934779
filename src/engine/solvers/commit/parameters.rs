//! Parameters of a fit, and their defaults.

use super::cylinder::GammaRadii;
use super::model::{DIFFUSIVITIES, Intra, Model, Zeppelin};
use super::operator::{OperatorKind, Precision};
use super::samples::Switches;
use super::solver::Stop;
use super::water_parameters::{BALL, RADIAL};
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Switch,
    Text, Unit, number_text, shortest_f64, used,
};
use serde::{Deserialize, Serialize};

/// Parameters of a COMMIT fit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// Compartments of the signal and their columns.
    pub model: Model,
    /// Options of preprocessing and normalisation.
    pub switches: Switches,
    /// Spreads each streamline over a disc of this radius, mm.
    pub blur_mm: Option<f64>,
    /// λ as a share of the smallest that leaves no streamline, 0 for none.
    pub lasso: f32,
    /// The penalty of groups of streamlines, each times the square root of its number of streamlines.
    pub group: f32,
    /// Criteria that end the iterations.
    pub stop: Stop,
    /// `None`: the one that takes less work.
    #[serde(rename = "operator")]
    pub way: Option<OperatorKind>,
    /// Used on graphics cards.
    pub precision: Precision,
    /// Fits a model even if the scan does not determine it.
    #[serde(default)]
    pub force_model: bool,
}

/// Diffusivity along fibres, mm²/s.
const ALONG: f64 = 1.7e-3;

impl Params {
    /// Checks the values by their table; [`super::model::Model::check`] checks the model.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }

    /// Whether both prepare the same fit: only its penalties and the end of its iterations may differ.
    pub fn same_preparation(&self, other: &Self) -> bool {
        *self
            == Self {
                lasso: self.lasso,
                group: self.group,
                stop: self.stop,
                ..other.clone()
            }
    }

    /// COMMIT's diffusivities for the living brain (Daducci et al. 2015): 1.7 × 10⁻³ mm²/s along fibres, 0.51 × 10⁻³
    /// mm²/s across them outside, which follows from a volume fraction of 0.7 (Szafer et al. 1995), and free water in
    /// tissue and in cerebrospinal fluid.
    pub fn defaults_for(shells: usize) -> Self {
        let zeppelin = |across: f64| Zeppelin {
            along: ALONG,
            across,
        };
        Self {
            model: Model {
                intra: Intra::Stick { along: ALONG },
                // One shell does not separate free water from the other compartments: a rounder zeppelin represents
                // it.
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

/// Largest number of iterations of a fit, more than the default tolerance requires: fits of 200 to 400 streamlines took
/// about 200, fits of 400 000 streamlines with nine radii each about 2000.
pub const DEFAULT_ITERATIONS: u32 = 5000;

/// From 0.5 to 5 µm, as in COMMIT's demonstrations.
pub const DEFAULT_RADII_UM: [f64; 4] = [0.5, 2.0, 3.5, 5.0];

/// A mean radius of 1 µm, as of axons in the living brain (Alexander et al. 2010).
pub const DEFAULT_GAMMA: GammaRadii = GammaRadii {
    shape: 2.0,
    scale_um: 0.5,
};

/// Numbers separated by commas.
fn list(values: impl IntoIterator<Item = f64>) -> String {
    let each: Vec<String> = values.into_iter().map(number_text).collect();
    each.join(",")
}

/// Reads such a list of finite, non-negative numbers.
fn read_list(text: &str) -> Option<Vec<f64>> {
    let parts = text.split([',', ';', ' ']).filter(|part| !part.is_empty());
    let numbers: Option<Vec<f64>> = parts.map(|part| part.parse().ok()).collect();
    numbers.filter(|n| !n.is_empty() && n.iter().all(|v| v.is_finite() && *v >= 0.0))
}

/// Reads such a list without its zeros; a single 0 stands for an empty list.
fn read_some(text: &str) -> Option<Vec<f64>> {
    let numbers = read_list(text)?;
    Some(numbers.into_iter().filter(|v| *v > 0.0).collect())
}

fn list_or_none(values: impl IntoIterator<Item = f64>) -> Option<String> {
    let text = list(values);
    Some(if text.is_empty() {
        "0".to_owned()
    } else {
        text
    })
}

fn is_density(params: &Params) -> bool {
    params.model.intra == Intra::Density
}

/// Why a diffusivity has no effect.
fn no_water(params: &Params) -> Option<&'static str> {
    is_density(params).then_some("streamline density has no water")
}

/// Why a parameter of signals has no effect.
fn no_signal(params: &Params) -> Option<&'static str> {
    is_density(params).then_some("streamline density has no signal")
}

impl Params {
    fn along(&self) -> Option<f64> {
        match self.model.intra {
            Intra::Stick { along }
            | Intra::Cylinders { along, .. }
            | Intra::GammaCylinders { along, .. } => Some(along),
            Intra::Density => None,
        }
    }

    fn set_along(&mut self, to: f64) {
        match &mut self.model.intra {
            Intra::Stick { along }
            | Intra::Cylinders { along, .. }
            | Intra::GammaCylinders { along, .. } => *along = to,
            Intra::Density => {}
        }
        self.model.extra.iter_mut().for_each(|z| z.along = to);
    }

    /// The density model uses neither directions nor other compartments.
    fn set_density(&mut self) {
        self.model = Model {
            intra: Intra::Density,
            extra: Vec::new(),
            free: Vec::new(),
        };
    }
}

/// A penalty, as a share of the smallest one that leaves no streamline.
const fn penalty(
    get: fn(&Params) -> Option<f64>,
    set: fn(&mut Params, Option<f64>),
) -> Kind<Params> {
    Kind::Number(Number {
        scale: Scale::Logarithmic,
        decimals: 4,
        soft: (1e-4, 1.0),
        off: Some("off"),
        ..Number::new(get, set)
    })
}

/// A penalty of 0 counts as off.
fn penalty_of(value: f32) -> Option<f64> {
    (value > 0.0 || value.is_nan()).then(|| shortest_f64(value))
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            key: "model",
            value_name: "MODEL",
            label: "Intra-axonal",
            help: "Signal model of the water inside fibres",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::OneOf(&[
                Choice {
                    key: "stick",
                    label: "Sticks",
                    help: "Diffusion along the fibre alone",
                    is: |p| matches!(p.model.intra, Intra::Stick { .. }),
                    choose: |p| {
                        let along = p.along().unwrap_or(ALONG);
                        p.model.intra = Intra::Stick { along };
                    },
                },
                Choice {
                    key: "cylinder",
                    label: "Cylinders",
                    help: "Cylinders of several radii give nearly equal signals: their fit takes up to ten times the \
                           iterations and may end up to 13 tolerances above the minimum",
                    is: |p| matches!(p.model.intra, Intra::Cylinders { .. }),
                    choose: |p| {
                        p.model.intra = Intra::Cylinders {
                            along: p.along().unwrap_or(ALONG),
                            radii_um: DEFAULT_RADII_UM.to_vec(),
                        };
                    },
                },
                Choice {
                    key: "gamma-cylinder",
                    label: "Gamma cylinders",
                    help: "Cylinders of gamma-distributed radii",
                    is: |p| matches!(p.model.intra, Intra::GammaCylinders { .. }),
                    choose: |p| {
                        p.model.intra = Intra::GammaCylinders {
                            along: p.along().unwrap_or(ALONG),
                            radii: vec![DEFAULT_GAMMA],
                        };
                    },
                },
                Choice {
                    key: "density",
                    label: "Streamline density",
                    help: "One number per segment, its length, as in SIFT2",
                    is: is_density,
                    choose: Params::set_density,
                },
            ]),
            unused: used,
        },
        Param {
            key: "along",
            value_name: "D",
            label: "Axial",
            help: "Diffusivity along fibres, inside them and around them, mm²/s",
            reason: "COMMIT's for the living brain (Daducci et al. 2015)",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                unit: Unit::Diffusivity,
                soft: (0.5, 3.0),
                hard: DIFFUSIVITIES,
                ..Number::new(
                    |p| Some(p.along().unwrap_or(ALONG)),
                    |p, v| p.set_along(v.or(p.along()).unwrap_or(ALONG)),
                )
            }),
            unused: no_water,
        },
        Param {
            key: "across",
            value_name: "D",
            label: RADIAL,
            help: "Diffusivity across fibres of the water around them, mm²/s; 0: no such water",
            reason: "what a volume fraction of 0.7 leaves (Szafer et al. 1995)",
            hint: "",
            default_text: DefaultText::Noted("0.00051; with one shell 0.00051,0.0012"),
            kind: Kind::Text(Text {
                expected: "numbers with commas between them, or 0 for none",
                short: false,
                get: |p| list_or_none(p.model.extra.iter().map(|z| z.across)),
                set: |p, text| {
                    let along = p.along().unwrap_or(ALONG);
                    let zeppelin = |across| Zeppelin { along, across };
                    p.model.extra = read_some(text?)?.into_iter().map(zeppelin).collect();
                    Some(())
                },
                off: None,
            }),
            unused: no_water,
        },
        Param {
            key: "free",
            value_name: "D",
            label: BALL,
            help: "Diffusivity of free water, mm²/s; 0: none",
            reason: "in tissue and in cerebrospinal fluid; one shell cannot separate it from the others",
            hint: "",
            default_text: DefaultText::Noted("0.0017,0.003 with two shells and more"),
            kind: Kind::Text(Text {
                expected: "numbers with commas between them, or 0 for none",
                short: false,
                get: |p| list_or_none(p.model.free.iter().copied()),
                set: |p, text| {
                    p.model.free = read_some(text?)?;
                    Some(())
                },
                off: None,
            }),
            unused: no_water,
        },
        Param {
            key: "force-model",
            value_name: "",
            label: "Fit undetermined models",
            help: "Fit the model even if the scan does not determine all of it (ball with one shell), with a warning",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Switch(Switch {
                flag: true,
                labels: None,
                get: |p| p.force_model,
                set: |p, on| p.force_model = on,
            }),
            unused: used,
        },
        Param {
            key: "radii",
            value_name: "R",
            label: "Radii",
            help: "Radii of cylinders, µm: each streamline has one weight for each radius",
            reason: "as in COMMIT's demonstrations",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Text(Text {
                expected: "numbers above 0 with commas between them",
                short: false,
                get: |p| match &p.model.intra {
                    Intra::Cylinders { radii_um, .. } => Some(list(radii_um.iter().copied())),
                    _ => Some(list(DEFAULT_RADII_UM)),
                },
                set: |p, text| {
                    let read = read_list(text?)?;
                    read.iter().all(|r| *r > 0.0).then_some(())?;
                    if let Intra::Cylinders { radii_um, .. } = &mut p.model.intra {
                        *radii_um = read;
                    }
                    Some(())
                },
                off: None,
            }),
            unused: |p| {
                let cylinders = matches!(p.model.intra, Intra::Cylinders { .. });
                (!cylinders).then_some("only cylinders have radii")
            },
        },
        Param {
            key: "blur",
            value_name: "MM",
            label: "Blur",
            help: "Spread each streamline over a disc of this radius, mm",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                unit: Unit::Mm,
                scale: Scale::Logarithmic,
                soft: (0.25, 4.0),
                hard: Limits::above(0.0, 20.0),
                off: Some("off"),
                ..Number::new(|p| p.blur_mm, |p, v| p.blur_mm = v)
            }),
            unused: used,
        },
        Param {
            key: "lasso",
            value_name: "X",
            label: "Sparsity λ",
            help: "Penalty on the sum of weights, as a fraction of the smallest penalty that sets all weights \
                   to 0; higher values set more weights to 0",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: penalty(
                |p| penalty_of(p.lasso),
                |p, v| p.lasso = v.unwrap_or(0.0) as f32,
            ),
            unused: used,
        },
        Param {
            key: "group",
            value_name: "X",
            label: "Bundle penalty",
            help: "Penalty on the groups of the file (TRX), each kept or discarded as a whole (COMMIT2), as a \
                   fraction of the smallest penalty that discards all of them",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: penalty(
                |p| penalty_of(p.group),
                |p, v| p.group = v.unwrap_or(0.0) as f32,
            ),
            unused: used,
        },
        Param {
            key: "keep-b0",
            value_name: "",
            label: "Merge b = 0 volumes",
            help: "Keep the b = 0 volumes separate",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Switch(Switch {
                flag: false,
                labels: None,
                get: |p| p.switches.merge_b0,
                set: |p, on| p.switches.merge_b0 = on,
            }),
            unused: no_signal,
        },
        Param {
            key: "raw-signal",
            value_name: "",
            label: "Signals relative to b = 0",
            help: "Do not divide the signals by that at b = 0",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Switch(Switch {
                flag: false,
                labels: None,
                get: |p| p.switches.normalise_signal,
                set: |p, on| p.switches.normalise_signal = on,
            }),
            unused: no_signal,
        },
        Param {
            key: "raw-kernels",
            value_name: "",
            label: "Kernels of equal length",
            help: "Do not scale the columns to equal length",
            reason: "a penalty then treats all columns equally",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Switch(Switch {
                flag: false,
                labels: None,
                get: |p| p.switches.normalise_kernels,
                set: |p, on| p.switches.normalise_kernels = on,
            }),
            unused: used,
        },
        Param {
            key: "iterations",
            value_name: "N",
            label: "Iteration limit",
            help: "End the fit after N iterations even if the objective is still falling",
            reason: "fits of whole brains take 350, of nearly equal streamlines up to 1600",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                scale: Scale::Logarithmic,
                decimals: 0,
                soft: (50.0, 10_000.0),
                hard: Limits::whole(0.0, u32::MAX as f64),
                ..Number::new(
                    |p| Some(f64::from(p.stop.iterations)),
                    |p, v| p.stop.iterations = v.map_or(p.stop.iterations, |v| v as u32),
                )
            }),
            unused: used,
        },
        Param {
            key: "tolerance",
            value_name: "X",
            label: "Stop at change",
            help: "End the fit when the objective, extrapolated from the last 50 iterations, would fall by \
                   less than this fraction, or when the optimality (KKT) is below a tenth of it",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                scale: Scale::Logarithmic,
                decimals: 8,
                soft: (1e-8, 1e-3),
                hard: Limits::between(0.0, 1.0),
                ..Number::new(
                    |p| Some(p.stop.objective),
                    |p, v| p.stop = p.stop.with_tolerance(v.unwrap_or(p.stop.objective)),
                )
            }),
            unused: used,
        },
        Param {
            key: "operator",
            value_name: "OPERATOR",
            label: "Operator",
            help: "Method of applying the operator: all give the same result except the coarse table",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::OneOf(&[
                Choice {
                    key: "auto",
                    label: "Whichever is quicker",
                    help: "Whichever needs less work",
                    is: |p| p.way.is_none(),
                    choose: |p| p.way = None,
                },
                Choice {
                    key: "factorised",
                    label: "Harmonics",
                    help: "In spherical harmonics",
                    is: |p| p.way == Some(OperatorKind::Factorised),
                    choose: |p| p.way = Some(OperatorKind::Factorised),
                },
                Choice {
                    key: "dense",
                    label: "Look-up table",
                    help: "With a look-up table of 65536 directions: the same result",
                    is: |p| matches!(p.way, Some(OperatorKind::Dense { side }) if side != COARSE),
                    choose: |p| p.way = Some(OperatorKind::Dense { side: 256 }),
                },
                Choice {
                    key: "coarse",
                    label: "Coarse table",
                    help: "With a table of 4096 directions, accurate to 2.4°: faster if voxels hold few segments",
                    is: |p| p.way == Some(OperatorKind::Dense { side: COARSE }),
                    choose: |p| p.way = Some(OperatorKind::Dense { side: COARSE }),
                },
            ]),
            unused: used,
        },
        Param {
            key: "precision",
            value_name: "PRECISION",
            label: "Precision",
            help: "Precision with which a graphics card computes cylinders",
            reason: "",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::OneOf(&[
                Choice {
                    key: Precision::Exact.key(),
                    label: "Single",
                    help: "In single precision",
                    is: |p| p.precision == Precision::Exact,
                    choose: |p| p.precision = Precision::Exact,
                },
                Choice {
                    key: Precision::Fast.key(),
                    label: "Half",
                    help: "In half precision, accurate to a thousandth of the signal",
                    is: |p| p.precision == Precision::Fast,
                    choose: |p| p.precision = Precision::Fast,
                },
            ]),
            unused: used,
        },
    ];

    /// Defaults for a scan of several shells.
    fn defaults() -> Self {
        Self::defaults_for(2)
    }
}

/// Directions along an edge of the coarse look-up table.
const COARSE: u16 = 64;
