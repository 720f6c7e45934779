//! Parameters of a pathway besides tensors and regions, and their defaults.

use crate::data::Role;
use crate::parameters::{
    self, Choice, DefaultText, Kind, Limits, Number, Param, ParamError, Parameters, Scale, Text,
    Unit, used,
};
use crate::solvers::eikonal::LocalSolver;
use crate::solvers::metric;
use serde::{Deserialize, Serialize};

/// Parameters of a pathway. The metric has its own table.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Params {
    /// The cost of paths.
    pub metric: metric::Params,
    /// The local update scheme of the eikonal solver.
    #[serde(rename = "local_solver")]
    pub local: LocalSolver,
    /// Smallest FA of voxels that paths may use.
    pub min_fa: f64,
    /// Factor of the cost in costly regions, at least 1.
    #[serde(default = "Params::default_costly_factor")]
    pub costly_factor: f64,
}

/// Smallest relative decrease of a value that the cost fields of a pathway propagate.
pub const TOLERANCE: f32 = 1e-6;

impl Params {
    /// The metric of Jeong et al. 2007; the local solver with the smallest error.
    pub const fn defaults() -> Self {
        Self {
            metric: metric::Params::defaults(),
            local: LocalSolver::Hybrid,
            min_fa: 0.15,
            costly_factor: Self::default_costly_factor(),
        }
    }

    /// The default of [`Params::costly_factor`], also for pathways through distributions.
    pub const fn default_costly_factor() -> f64 {
        5.0
    }

    /// Checks the values by their tables.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }

    /// The parameters with defaults in place of invalid values, whatever a file contains.
    pub fn sanitized(&self) -> Self {
        Self {
            metric: parameters::sanitized(&self.metric),
            ..parameters::sanitized(self)
        }
    }

    /// Whether a region of this role affects pathways: seeds and targets are their ends, masks confine them, exclusions
    /// keep them out, and paths cost more inside costly regions.
    pub fn affects_pathways(role: Role) -> bool {
        matches!(
            role,
            Role::Seed | Role::Target | Role::Mask | Role::Exclude | Role::Costly
        )
    }
}

/// Key of the row of the factor of the cost in costly regions.
pub const COSTLY_FACTOR: &str = "costly-factor";

/// The row of the factor of the cost in costly regions, for the tables of both kinds of pathway.
pub const fn costly_row<P>(get: fn(&P) -> Option<f64>, set: fn(&mut P, Option<f64>)) -> Param<P> {
    let number = Number {
        scale: Scale::Logarithmic,
        decimals: 1,
        soft: (1.0, 100.0),
        hard: Limits::between(1.0, 1e4),
        ..Number::new(get, set)
    };
    Param {
        value_name: "X",
        help: "Factor by which costs are multiplied inside costly regions",
        reason: "a path then avoids a region unless the way around costs more than five times as much as the way \
                 through",
        ..Param::new(COSTLY_FACTOR, "Costly regions ×", Kind::Number(number))
    }
}

impl Parameters for Params {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            key: "min-fa",
            value_name: "FA",
            label: "Domain FA ≥",
            help: "Paths run only where the FA reaches this value, and inside mask regions, if there are any",
            reason: "lower values let paths through grey matter and CSF",
            hint: "",
            default_text: DefaultText::Noted("{}, without --within"),
            kind: Kind::Number(Number {
                soft: (0.0, 0.4),
                ..Number::new(|p| Some(p.min_fa), |p, v| p.min_fa = v.unwrap_or(p.min_fa))
            }),
            unused: used,
        },
        costly_row(
            |p| Some(p.costly_factor),
            |p, v| p.costly_factor = v.unwrap_or(p.costly_factor),
        ),
        Param {
            key: "local-solver",
            value_name: "LOCAL_SOLVER",
            label: "Local solver",
            help: "Local scheme that computes the cost of a voxel from those of its neighbours",
            reason: "it errs least",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::OneOf(&[
                Choice {
                    key: LocalSolver::Godunov6.key(),
                    label: "Godunov, 6 (paper)",
                    help: "6 neighbours, as in Jeong et al. 2007: overestimates the cost along oblique fibres",
                    is: |p| p.local == LocalSolver::Godunov6,
                    choose: |p| p.local = LocalSolver::Godunov6,
                },
                Choice {
                    key: LocalSolver::HopfLax26.key(),
                    label: "Hopf–Lax, 26",
                    help: "26 neighbours",
                    is: |p| p.local == LocalSolver::HopfLax26,
                    choose: |p| p.local = LocalSolver::HopfLax26,
                },
                Choice {
                    key: LocalSolver::Selling.key(),
                    label: "Selling",
                    help: "Long steps along fibres; thin masks may block them",
                    is: |p| p.local == LocalSolver::Selling,
                    choose: |p| p.local = LocalSolver::Selling,
                },
                Choice {
                    key: LocalSolver::Hybrid.key(),
                    label: "Hybrid",
                    help: "The lower cost of the two",
                    is: |p| p.local == LocalSolver::Hybrid,
                    choose: |p| p.local = LocalSolver::Hybrid,
                },
            ]),
            unused: used,
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }

    fn check_together(&self) -> Result<(), ParamError> {
        self.metric.check()
    }
}

/// The voxels of a pathway: a table of its own, because a change needs no new solution where the costs are known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Width {
    /// ε: voxels whose cost is at most (1 + ε) times the minimum.
    pub epsilon: f64,
}

impl Parameters for Width {
    const TABLE: &'static [Param<Self>] = &[Param {
        key: "epsilon",
        value_name: "X",
        label: "Pathway width ε",
        help: "Width of the pathway: its voxels cost at most this fraction more than the cheapest path",
        reason: "on voxels of 2 mm most pathways join their ends from 10 to 20 % on",
        hint: "Width of the pathway: its voxels cost at most this fraction more than the cheapest path; a \
               change needs no new solution, except beyond 30 % through crossings",
        default_text: DefaultText::Stated,
        kind: Kind::Number(Number {
            unit: Unit::Percent,
            scale: Scale::Logarithmic,
            decimals: 1,
            soft: (0.5, 50.0),
            // A pathway of the largest width contains every reachable voxel.
            hard: Limits::between(0.0, 1e8),
            ..Number::new(
                |p| Some(p.epsilon),
                |p, v| p.epsilon = v.unwrap_or(p.epsilon),
            )
        }),
        unused: used,
    }];

    fn defaults() -> Self {
        Self {
            epsilon: DEFAULT_EPSILON,
        }
    }
}

/// On voxels of 2 mm most pathways join their regions from ε = 10 to 20 % on, and up to there lie within their bundle
/// (tests/solvers/pathway/phantom.rs).
pub const DEFAULT_EPSILON: f64 = 0.2;

/// Parameters of the repetitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RepetitionParams {
    /// Number of repetitions.
    pub repetitions: usize,
    /// Seed of the signs.
    pub random_seed: u64,
}

impl RepetitionParams {
    /// 200 repetitions determine a share to within 7 percentage points (95 % of the time).
    pub const fn defaults() -> Self {
        Self {
            repetitions: 200,
            random_seed: 1,
        }
    }

    /// Checks the values by their table.
    pub fn check(&self) -> Result<(), ParamError> {
        parameters::check(self)
    }
}

impl Parameters for RepetitionParams {
    const TABLE: &'static [Param<Self>] = &[
        Param {
            key: "repetitions",
            value_name: "N",
            label: "Repetitions",
            help: "Number of repetitions; each refits the model to the scan with random signs of the residuals and recomputes \
                   the pathway",
            reason: "200 repetitions determine the share of a voxel to within 7 percentage points, 95 % of the time",
            hint: "",
            default_text: DefaultText::Stated,
            kind: Kind::Number(Number {
                scale: Scale::Logarithmic,
                decimals: 0,
                soft: (20.0, 1000.0),
                hard: Limits::whole(2.0, 100_000.0),
                ..Number::new(
                    |p| Some(p.repetitions as f64),
                    |p, v| p.repetitions = v.map_or(p.repetitions, |v| v as usize),
                )
            }),
            unused: used,
        },
        Param {
            value_name: "N",
            help: "Seed of the random signs; the same seed gives the same repetitions",
            default_text: DefaultText::Stated,
            ..Param::new(
                "random-seed",
                "Random seed",
                Kind::Text(Text {
                    expected: "a whole number from 0",
                    short: true,
                    get: |p: &Self| Some(p.random_seed.to_string()),
                    set: |p: &mut Self, text| {
                        p.random_seed = text?.parse().ok()?;
                        Some(())
                    },
                    off: None,
                }),
            )
        },
    ];

    fn defaults() -> Self {
        Self::defaults()
    }
}
