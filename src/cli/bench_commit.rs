//! `arcuate bench commit`: the operator and whole fits on bundles of arcs.
//!
//! Synthetic streamlines ([`crate::phantom::Arcs`]) in n³ voxels of 2 mm, 5 volumes of b = 0, 30 of b = 1000 and 60 of
//! b = 2000, two peaks per voxel. The signal is that of weights on only the bundles' streamlines and of free water,
//! with noise (SNR 30). `a_x` and `at_y` are medians, on a graphics card without copies; one fit runs for this many
//! iterations (on a card as many as in the thesis), another until the objective settles, and `refit_after_edit` starts
//! from its weights without every tenth streamline. `plain_fista` runs as many iterations as the first in the manner of
//! other programs, with one step length and no restarts, on the same operator, one A x and one Aᵀ y each;
//! `to_same_objective` is ours from zero until its objective is no higher. `thesis` has the size of Hernandez
//! 2018: 399,758 streamlines, 9 radii, 1 zeppelin, 2 balls and 512 samples.
//!
//! `scaling`, on request only, repeats the operator and a few iterations with 1, 2, 4 … threads, and the operator for
//! shares of streamlines without a weight (Table 5.1 and Fig. 5.2 of the thesis): bench_commit/scaling.rs.
//!
//! `ARCUATE_BENCH_FILES` names a folder with a dictionary and a table of dmri-commit (written by
//! `tests/peers/commit.py`): then its operator is timed on them, and the signal it predicts is written there.

mod peer;
mod scaling;

use super::bench::Choice;
use crate::compute::{Accelerator, Backend, Control};
use crate::data::Gradients;
use crate::data::random::Stream;
use crate::data::statistics::quantile;
use crate::phantom::{Arcs, directions};
use crate::solvers::Error;
use crate::solvers::commit::cylinder::Timing;
use crate::solvers::commit::dictionary::{self, Dictionary};
use crate::solvers::commit::model::{Intra, Model, Responses, Zeppelin};
use crate::solvers::commit::operator::{Operator, OperatorCost, OperatorKind, Precision};
use crate::solvers::commit::samples::{Samples, Switches};
use crate::solvers::commit::solver::{
    Curve, Ended, Metric, Penalty, Problem, Stop, solve, solve_by_fista,
};
use glam::DVec3;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Instant;

const FILES_VARIABLE: &str = "ARCUATE_BENCH_FILES";

struct Case {
    name: &'static str,
    streamlines: usize,
    side: usize,
    cylinders: usize,
    /// Number of b = 0 volumes; each shell has a b-value and a number of directions.
    b0: usize,
    shells: &'static [(f64, usize)],
    iterations: u32,
}

const TWO: &[(f64, usize)] = &[(1000.0, 30), (2000.0, 60)];
const FOUR: &[(f64, usize)] = &[(1000.0, 64), (3000.0, 64), (5000.0, 128), (10_000.0, 240)];

const CASES: [Case; 6] = [
    Case {
        name: "stick 5000",
        streamlines: 5_000,
        side: 48,
        cylinders: 0,
        b0: 5,
        shells: TWO,
        iterations: 100,
    },
    Case {
        name: "stick 10000",
        streamlines: 10_000,
        side: 54,
        cylinders: 0,
        b0: 5,
        shells: TWO,
        iterations: 100,
    },
    Case {
        name: "stick 20000",
        streamlines: 20_000,
        side: 64,
        cylinders: 0,
        b0: 5,
        shells: TWO,
        iterations: 100,
    },
    Case {
        name: "cylinder 5000",
        streamlines: 5_000,
        side: 48,
        cylinders: 4,
        b0: 5,
        shells: TWO,
        iterations: 50,
    },
    Case {
        name: "cylinder 20000",
        streamlines: 20_000,
        side: 64,
        cylinders: 4,
        b0: 5,
        shells: TWO,
        iterations: 50,
    },
    // 64,309 voxels, 47,082,501 segments and 188,151 peaks, approximately.
    Case {
        name: "thesis",
        streamlines: 399_758,
        side: 57,
        cylinders: 9,
        b0: 16,
        shells: FOUR,
        iterations: 10,
    },
];

/// COMMIT's own stopping rule.
const SETTLED: Stop = Stop {
    iterations: 2136,
    objective: 1e-5,
    kkt: 0.0,
    target: 0.0,
};

impl Case {
    /// Stops after this many iterations, and when the objective settles.
    fn stops(&self, choice: Choice, backend: &Backend) -> [Stop; 2] {
        let [iterations, settled_iterations] = match backend.accelerator() {
            _ if choice.quick => [5, 20],
            Some(Accelerator::Cuda(_)) => [SETTLED.iterations; 2],
            _ => [self.iterations, 4 * self.iterations],
        };
        let first = Stop {
            iterations,
            objective: 0.0,
            ..SETTLED
        };
        let settled = Stop {
            iterations: settled_iterations,
            ..SETTLED
        };
        [first, settled]
    }
}

/// Uniform numbers in `0..1`.
fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut stream = Stream::new(seed, 0);
    move || stream.uniform()
}

fn random(n: usize, seed: u64) -> Vec<f32> {
    let mut next = uniform(seed);
    (0..n).map(|_| next() as f32).collect()
}

fn gradients(case: &Case) -> Gradients {
    let mut b_s_per_mm2 = vec![0.0; case.b0];
    let mut all = vec![DVec3::ZERO; case.b0];
    for &(b, count) in case.shells {
        b_s_per_mm2.extend(std::iter::repeat_n(b, count));
        all.extend(directions::half_sphere(count));
    }
    Gradients {
        b_s_per_mm2,
        directions: all,
    }
}

fn model(cylinders: usize) -> Model {
    let along = 1.7e-3;
    let radius = |i: usize| 0.5 + 4.5 * i as f64 / (cylinders.max(2) - 1) as f64;
    Model {
        intra: match cylinders {
            0 => Intra::Stick { along },
            n => Intra::Cylinders {
                along,
                radii_um: (0..n).map(radius).collect(),
            },
        },
        extra: vec![Zeppelin {
            along,
            across: 0.51e-3,
        }],
        free: vec![1.7e-3, 3.0e-3],
    }
}

/// Median seconds of A x and Aᵀ y on random numbers; on a graphics card without the copies.
fn times(operator: &Operator, repeats: usize) -> Result<[f64; 2], Error> {
    let (x, y) = (random(operator.columns(), 5), random(operator.rows(), 6));
    if let Some(cards) = operator.on_cards() {
        let seconds = |ms: Vec<f32>| ms.into_iter().map(|v| 1e-3 * f64::from(v)).collect();
        let each: [Vec<f64>; 2] = cards.times_ms(&x, &y, 4 * repeats)?.map(seconds);
        return Ok(each.map(|mut walls| quantile(&mut walls, 0.5).unwrap_or(f64::NAN)));
    }
    let (mut ax, mut aty) = (vec![0.0; y.len()], vec![0.0; x.len()]);
    let mut walls = [Vec::new(), Vec::new()];
    for _ in 0..=repeats {
        let started = Instant::now();
        operator.apply(&x, &mut ax)?;
        walls[0].push(started.elapsed().as_secs_f64());
        let started = Instant::now();
        operator.adjoint(&y, &mut aty)?;
        walls[1].push(started.elapsed().as_secs_f64());
    }
    // The first run fills the caches.
    Ok(walls.map(|w| quantile(&mut w[1..].to_vec(), 0.5).unwrap_or(f64::NAN)))
}

/// The signal of the bundles' streamlines and of free water, with noise of a thirtieth of its mean.
fn signal(operator: &Operator, arcs: &Arcs, dictionary: &Dictionary) -> Result<Vec<f32>, Error> {
    let shape = operator.shape();
    let mut x = vec![0.0; operator.columns()];
    let mut next = uniform(9);
    for streamline in (0..shape.streamlines).filter(|f| arcs.real[*f]) {
        for atom in 0..shape.atoms {
            x[streamline * shape.atoms + atom] =
                ((0.005 + 0.015 * next()) / shape.atoms as f64) as f32;
        }
    }
    for voxel in 0..dictionary.voxels.len() {
        for place in shape.peaks * shape.extra..shape.unknowns_per_voxel() {
            x[operator.own_column(voxel, place)] = 0.1;
        }
    }
    let mut y = vec![0.0; operator.rows()];
    operator.apply(&x, &mut y)?;
    let above = y.iter().filter(|v| **v > 0.0);
    let mean = above.clone().map(|v| f64::from(*v)).sum::<f64>() / above.count().max(1) as f64;
    for value in y.iter_mut().filter(|v| **v > 0.0) {
        let radius = (-2.0 * next().max(1e-300).ln()).sqrt();
        *value += (mean / 30.0 * radius * (std::f64::consts::TAU * next()).cos()) as f32;
    }
    Ok(y)
}

/// The operator and backend that are measured.
#[derive(Clone, Copy, PartialEq, Debug)]
enum MeasuredOperator {
    Cpu(OperatorKind),
    Card(Precision),
}

impl MeasuredOperator {
    /// All that the backend offers.
    fn all(case: &Case, backend: &Backend) -> Vec<Self> {
        match backend.accelerator() {
            Some(Accelerator::Cuda(_)) => {
                vec![Self::Card(Precision::Exact), Self::Card(Precision::Fast)]
            }
            // A table of nine radii and 512 samples would take a gigabyte.
            _ if case.name == "thesis" => vec![Self::Cpu(OperatorKind::Factorised)],
            _ => {
                let ways = [
                    OperatorKind::Factorised,
                    OperatorKind::Dense { side: 256 },
                    OperatorKind::Dense { side: 64 },
                ];
                ways.map(Self::Cpu).to_vec()
            }
        }
    }
}

/// The inputs of an operator.
struct Inputs {
    arcs: Arcs,
    samples: Samples,
    responses: Responses,
    dictionary: Dictionary,
    arcs_s: f64,
    dictionary_s: f64,
}

impl Inputs {
    fn new(case: &Case, control: &Control) -> Result<Self, Error> {
        let started = Instant::now();
        let arcs = match case.name {
            "thesis" => Arcs::wandering(case.streamlines, case.side, 89.0, 11),
            _ => Arcs::new(case.streamlines, case.side, 11),
        };
        let arcs = arcs.ok_or_else(|| Error::Input("The arcs have no grid".to_owned().into()))?;
        let arcs_s = started.elapsed().as_secs_f64();
        let switches = Switches {
            merge_b0: false,
            normalise_signal: false,
            normalise_kernels: true,
        };
        let timing = [Timing {
            pulse_ms: 32.2,
            between_ms: 43.1,
        }];
        let samples = Samples::new(&gradients(case), &timing, &switches)?;
        let model = model(case.cylinders);
        let responses = model.responses(&samples, switches.normalise_kernels);
        let options = dictionary::Options {
            usable: &arcs.mask.inside,
            all: false,
            blur_mm: None,
            peaks: Some(&arcs.peaks),
        };
        let started = Instant::now();
        let dictionary = Dictionary::build(&arcs.tractogram, &arcs.grid, &options, control)?;
        let dictionary_s = started.elapsed().as_secs_f64();
        Ok(Self {
            arcs,
            samples,
            responses,
            dictionary,
            arcs_s,
            dictionary_s,
        })
    }
}

fn measure(case: &Case, choice: Choice, backend: &Backend) -> Result<Vec<Value>, Error> {
    let control = Control::new();
    let Inputs {
        arcs,
        samples,
        responses,
        dictionary,
        arcs_s,
        dictionary_s,
    } = Inputs::new(case, &control)?;
    let work = OperatorCost::new(&dictionary, &responses, &samples);
    let repeats = if choice.quick { 2 } else { 5 };
    let mut lines = Vec::new();
    for measured in MeasuredOperator::all(case, backend) {
        let started = Instant::now();
        let operator = match (measured, backend.accelerator()) {
            (MeasuredOperator::Card(precision), Some(Accelerator::Cuda(devices))) => {
                Operator::new_on_cards(&dictionary, &responses, &samples, precision, devices)?
            }
            (MeasuredOperator::Cpu(way), _) => {
                Operator::new(&dictionary, &responses, &samples, Some(way))
            }
            (MeasuredOperator::Card(_), _) => continue,
        };
        let operator_s = started.elapsed().as_secs_f64();
        let [a_x_s, at_y_s] = times(&operator, repeats)?;
        let y = signal(&operator, &arcs, &dictionary)?;
        let started = Instant::now();
        let metric = Metric::new(&operator)?;
        let metric_s = started.elapsed().as_secs_f64();
        let penalty = Penalty::default();
        let fitted = |without: Option<&[bool]>, start: Option<&[f32]>, stop: &Stop| {
            let started = Instant::now();
            let problem = Problem {
                operator: &operator,
                metric: &metric,
                y: &y,
                penalty: &penalty,
                without,
            };
            let solution = solve(&problem, start, stop, &Curve::default(), &control)?;
            Ok::<_, Error>((solution, started.elapsed().as_secs_f64()))
        };
        let [long, until] = case.stops(choice, backend);
        let (solution, fit_s) = fitted(None, None, &long)?;
        let (settled, settled_s) = fitted(None, None, &until)?;
        // Every tenth streamline is removed.
        let without: Vec<bool> = (0..case.streamlines).map(|f| f % 10 == 0).collect();
        let (refit, refit_s) = fitted(Some(&without), Some(&settled.x), &until)?;
        let uniform = Metric::uniform(&operator)?;
        let started = Instant::now();
        let problem = Problem {
            operator: &operator,
            metric: &uniform,
            y: &y,
            penalty: &penalty,
            without: None,
        };
        let plain = solve_by_fista(&problem, &long, &Curve::default(), &control)?;
        let plain_s = started.elapsed().as_secs_f64();
        let until_as_low = Stop {
            target: plain.objective,
            ..long
        };
        let (same, same_s) = fitted(None, None, &until_as_low)?;
        let shape = operator.shape();
        let weight = |f: usize| -> f64 {
            let own = &solution.x[f * shape.atoms..(f + 1) * shape.atoms];
            own.iter().map(|w| f64::from(*w)).sum()
        };
        let weights: Vec<f64> = (0..shape.streamlines).map(weight).collect();
        let picked = match measured {
            MeasuredOperator::Cpu(way) => work.cheaper() == way,
            MeasuredOperator::Card(precision) => precision == Precision::Exact,
        };
        lines.push(json!({
            "workload": "commit", "case": case.name, "operator": format!("{measured:?}"),
            "picked": picked, "streamlines": case.streamlines,
            "segments": dictionary.segments.len(), "voxels": dictionary.voxels.len(),
            "peaks": dictionary.peak_count(), "samples": samples.count(), "columns": shape.atoms,
            "worked_on": operator.rank(), "a_x_ms": 1e3 * a_x_s, "at_y_ms": 1e3 * at_y_s,
            "fit_s": fit_s, "iterations": solution.iterations, "objective": solution.objective,
            "iteration_ms": 1e3 * fit_s / f64::from(solution.iterations),
            "settled_s": settled_s, "settled_iterations": settled.iterations,
            "settled_objective": settled.objective, "refit_after_edit_s": refit_s,
            "refit_after_edit_iterations": refit.iterations,
            "refit_after_edit_objective": refit.objective, "plain_fista_s": plain_s,
            "plain_fista_iterations": plain.iterations, "plain_fista_objective": plain.objective,
            "to_same_objective_s": same_s, "to_same_objective_iterations": same.iterations,
            "to_same_objective_reached": same.ended == Ended::Target, "kkt": solution.kkt,
            "area_under_curve": Arcs::area_under_curve(&weights, &arcs.real), "arcs_s": arcs_s,
            "dictionary_s": dictionary_s, "operator_s": operator_s, "metric_s": metric_s,
            "card_bytes": operator.on_cards().map(|cards| cards.bytes()),
            "cards": operator.on_cards().map(|cards| cards.cards()),
            "cards_add_up": operator.on_cards().and_then(|cards| cards.adds_up()),
            "backend": backend.name(), "threads": backend.threads(),
        }));
    }
    Ok(lines)
}

/// One JSON object per case and operator.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let failed =
        |case: &str, error: String| json!({"workload": "commit", "case": case, "error": error});
    if let Some(folder) = std::env::var_os(FILES_VARIABLE) {
        let folder = PathBuf::from(folder);
        let measured = || peer::measure(&folder, choice.quick, backend).map_err(|e| e.to_string());
        return vec![
            backend
                .install(measured)
                .unwrap_or_else(|e| failed("peer", e)),
        ];
    }
    let requested = CASES.iter().filter(|case| choice.takes(case.name));
    // The large ones only on request.
    let requested = requested.filter(|case| match choice.case {
        None => case.name != "thesis" && !(choice.quick && case.streamlines > 5_000),
        Some(_) => true,
    });
    let lines = requested.flat_map(|case| {
        let measured = backend.install(|| measure(case, choice, backend));
        measured.unwrap_or_else(|e| vec![failed(case.name, e.to_string())])
    });
    let mut lines: Vec<Value> = lines.collect();
    lines.extend(scaling::run(choice, backend));
    lines
}
