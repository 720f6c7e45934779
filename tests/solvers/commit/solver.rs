//! The solver against the conditions of its minimum, and against planted weights.

use super::operator::operator;
use super::{cylinders, dictionary_of, model, only, relative_difference, samples, stick};
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::{Backend, Control};
use arcuate::phantom::Arcs;
use arcuate::solvers::commit;
use arcuate::solvers::commit::model::Model;
use arcuate::solvers::commit::operator::{Operator, OperatorKind};
use arcuate::solvers::commit::solver::{
    Curve, Ended, Group, Metric, Penalty, Problem, Solution, Stop, solve, solve_by_fista,
};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("commit::the gradient equals finite differences", || {
            gradient(&backend(2))
        }),
        test("commit::the minimum's conditions hold", || kkt(&backend(2))),
        test("commit::planted weights come back", || planted(&backend(2))),
        test("commit::a lasso leaves fewer, at last none", || {
            lasso(&backend(2))
        }),
        test("commit::groups go as one", || groups(&backend(2))),
        test("commit::the objective falls to the same place", || {
            same_place(&backend(2))
        }),
        test("commit::a warm start needs fewer iterations", || {
            warm(&backend(2))
        }),
        test(
            "commit::the plain solver falls as it must, ours faster",
            || plain(&backend(2)),
        ),
        test("commit::the usual stop is near the minimum", || {
            default_stop(&backend(2))
        }),
        test("commit::threads give the same bytes", threads),
        test("commit::a stopped fit keeps its weights", || {
            stopped(&backend(2))
        }),
    ]
}

const LONG: Stop = Stop {
    iterations: 4000,
    objective: 0.0,
    kkt: 1e-5,
    target: 0.0,
};

struct Setup {
    place: Backend,
    operator: Operator,
    metric: Metric,
    /// The signal of `x`.
    y: Vec<f32>,
    x: Vec<f32>,
}

/// Every third streamline has weights; the voxels have free water where the model has a column for it.
fn setup(count: usize, model: &Model, noise: f64, place: &Backend, random: &mut Random) -> Setup {
    let arcs = Arcs::new(count, 20, 7).unwrap();
    let dictionary = dictionary_of(&arcs, !model.extra.is_empty());
    let samples = samples(2, &[(1000.0, 12), (2000.0, 20)]);
    let responses = model.responses(&samples, true);
    let operator = operator(place, &dictionary, &responses, &samples);
    let shape = operator.shape();
    let mut x = vec![0.0; operator.columns()];
    for streamline in (0..count).step_by(3) {
        // Only one of the columns, so that radii are sparse, too.
        let atom = random.uniform(0.0, shape.atoms as f64) as usize;
        x[streamline * shape.atoms + atom] = random.uniform(0.05, 0.2) as f32;
    }
    for voxel in 0..dictionary.voxels.len() {
        for place in shape.peaks * shape.extra..shape.unknowns_per_voxel() {
            x[operator.own_column(voxel, place)] = 0.3;
        }
    }
    let mut y = vec![0.0; operator.rows()];
    operator.apply(&x, &mut y).unwrap();
    let mut signals = operator.unpack(&y, dictionary.voxels.len(), samples.count());
    let mean = signals.iter().map(|v| f64::from(*v)).sum::<f64>() / signals.len() as f64;
    for value in &mut signals {
        *value += (noise * mean * random.normal()) as f32;
    }
    let y = operator.pack(&signals, samples.count());
    Setup {
        place: place.clone(),
        metric: Metric::new(&operator).unwrap(),
        operator,
        y,
        x,
    }
}

impl Setup {
    fn problem<'a>(&'a self, penalty: &'a Penalty) -> Problem<'a> {
        Problem {
            operator: &self.operator,
            metric: &self.metric,
            y: &self.y,
            penalty,
            without: None,
        }
    }

    fn solve(&self, penalty: &Penalty, stop: &Stop) -> Solution {
        let run = || {
            solve(
                &self.problem(penalty),
                None,
                stop,
                &Curve::default(),
                &Control::new(),
            )
        };
        self.place.install(run).unwrap()
    }

    /// Aᵀ (A x − y).
    fn slope(&self, x: &[f32]) -> Vec<f32> {
        let mut residual = vec![0.0; self.y.len()];
        self.operator.apply(x, &mut residual).unwrap();
        residual.iter_mut().zip(&self.y).for_each(|(r, y)| *r -= y);
        let mut g = vec![0.0; x.len()];
        self.operator.adjoint(&residual, &mut g).unwrap();
        g
    }
}

/// Both operators and the fit, in which rounding decides which of several equal streamlines keeps its weight.
fn threads() {
    let mut random = Random::fresh("commit threads");
    let arcs = Arcs::new(240, 16, 7).unwrap();
    let dictionary = dictionary_of(&arcs, true);
    let samples = samples(2, &[(1000.0, 12), (2000.0, 20)]);
    for intra in [stick(), cylinders(3)] {
        let responses = model(intra).responses(&samples, true);
        for way in [OperatorKind::Factorised, OperatorKind::Dense { side: 256 }] {
            let operator = Operator::new(&dictionary, &responses, &samples, Some(way));
            let n = operator.columns();
            let x: Vec<f32> = (0..n).map(|_| random.uniform(0.0, 0.2) as f32).collect();
            let mut y = vec![0.0; operator.rows()];
            operator.apply(&x, &mut y).unwrap();
            y.iter_mut()
                .for_each(|v| *v *= 1.0 + 0.1 * random.normal() as f32);
            let setup = |threads| Setup {
                place: backend(threads),
                metric: backend(threads).install(|| Metric::new(&operator)).unwrap(),
                operator: Operator::new(&dictionary, &responses, &samples, Some(way)),
                y: y.clone(),
                x: x.clone(),
            };
            let stop = Stop {
                iterations: 120,
                kkt: 0.0,
                ..LONG
            };
            let run = |threads| {
                let setup = setup(threads);
                let slope = setup.place.install(|| setup.slope(&x));
                (slope, setup.solve(&Penalty::default(), &stop))
            };
            let (slope, fit) = run(1);
            for count in [2, 3, 7] {
                let (other_slope, other) = run(count);
                assert!(slope == other_slope, "{way:?}, {count} threads: Aᵀ y");
                assert!(
                    fit.x == other.x && fit.objective == other.objective,
                    "{way:?}, {count} threads: {} {}",
                    fit.objective,
                    other.objective
                );
            }
        }
    }
}

pub fn gradient(place: &Backend) {
    let mut random = Random::fresh("commit gradient");
    let setup = setup(90, &model(stick()), 0.05, place, &mut random);
    let n = setup.operator.columns();
    let x: Vec<f32> = (0..n).map(|_| random.uniform(0.0, 0.2) as f32).collect();
    let way: Vec<f32> = (0..n).map(|_| random.uniform(-0.2, 0.2) as f32).collect();
    let objective = |t: f32| -> f64 {
        let at: Vec<f32> = x.iter().zip(&way).map(|(x, d)| x + t * d).collect();
        let mut y = vec![0.0; setup.y.len()];
        setup.operator.apply(&at, &mut y).unwrap();
        0.5 * y
            .iter()
            .zip(&setup.y)
            .map(|(a, b)| f64::from(a - b).powi(2))
            .sum::<f64>()
    };
    // Central differences are exact for a parabola at any step; a long one reduces rounding.
    let found = 0.5 * (objective(1.0) - objective(-1.0));
    let slope = setup.slope(&x);
    let requested: f64 = slope
        .iter()
        .zip(&way)
        .map(|(g, d)| f64::from(*g) * f64::from(*d))
        .sum();
    assert!(
        (found / requested - 1.0).abs() < 1e-4,
        "{found} {requested}"
    );
}

/// x ≥ 0; ∇ = 0 where x > 0 and ≥ 0 where x = 0, relative to the size of Aᵀ y.
pub fn kkt(place: &Backend) {
    let mut random = Random::fresh("commit kkt");
    for (m, lasso) in [
        (model(stick()), 0.0),
        (model(cylinders(3)), 0.0),
        (model(stick()), 0.02),
    ] {
        let setup = setup(150, &m, 0.05, place, &mut random);
        let pull = setup.slope(&vec![0.0; setup.operator.columns()]);
        let most = pull.iter().map(|g| -g).fold(0.0, f32::max);
        let penalty = Penalty {
            lasso: lasso * most,
            groups: Vec::new(),
        };
        let solution = setup.solve(&penalty, &LONG);
        assert!(
            solution.kkt <= 2e-5,
            "{:?} {}",
            solution.ended,
            solution.kkt
        );
        let slope = setup.slope(&solution.x);
        let intra = setup.operator.shape().intra();
        for (i, (x, g)) in solution.x.iter().zip(&slope).enumerate() {
            let g = g + if i < intra { penalty.lasso } else { 0.0 };
            let pull = setup.operator.squares()[i].sqrt() * most.sqrt();
            assert!(*x >= 0.0);
            // 1e-3 of the gradient that a column of its length can have.
            let bound = 1e-3 * pull.max(0.01 * most);
            assert!(g >= -bound, "{i}: {g} {pull}");
            assert!(*x == 0.0 || g <= bound, "{i}: {x} {g} {pull}");
        }
        // No nearby point is lower.
        let objective = |x: &[f32]| -> f64 {
            let mut y = vec![0.0; setup.y.len()];
            setup.operator.apply(x, &mut y).unwrap();
            let fit = y
                .iter()
                .zip(&setup.y)
                .map(|(a, b)| f64::from(a - b).powi(2));
            0.5 * fit.sum::<f64>() + penalty.value(x, setup.operator.shape())
        };
        let least = objective(&solution.x);
        assert!((least / solution.objective - 1.0).abs() < 1e-5);
        for _ in 0..20 {
            let near = solution
                .x
                .iter()
                .map(|x| (x + random.uniform(-0.01, 0.01) as f32).max(0.0));
            assert!(objective(&near.collect::<Vec<_>>()) >= least * (1.0 - 1e-6));
        }
    }
}

/// Without noise, the relative error of weights that can be distinguished is below 1e-3.
pub fn planted(place: &Backend) {
    let mut random = Random::fresh("commit planted");
    for m in [only(stick()), model(stick())] {
        let setup = setup(60, &m, 0.0, place, &mut random);
        let stop = Stop { kkt: 1e-7, ..LONG };
        let solution = setup.solve(&Penalty::default(), &stop);
        let n = setup.operator.shape().streamlines;
        let weights = |x: &[f32]| -> Vec<f64> { x[..n].iter().map(|v| f64::from(*v)).collect() };
        let error = relative_difference(weights(&solution.x), weights(&setup.x));
        let iterations = solution.iterations;
        assert!(error < 1e-3, "{}: {error:e} after {iterations}", m.name());
        for (found, expected) in solution.x[..n].iter().zip(&setup.x) {
            assert!(*expected > 0.0 || *found < 1e-3, "{found} for 0");
        }
    }
}

pub fn lasso(place: &Backend) {
    let mut random = Random::fresh("commit lasso");
    let setup = setup(120, &only(stick()), 0.1, place, &mut random);
    let pull = setup.slope(&vec![0.0; setup.operator.columns()]);
    let most = pull.iter().map(|g| -g).fold(0.0, f32::max);
    let mut last = usize::MAX;
    for share in [0.0, 0.05, 0.3, 1.001] {
        let penalty = Penalty {
            lasso: share * most,
            groups: Vec::new(),
        };
        let solution = setup.solve(&penalty, &LONG);
        let above = solution.x.iter().filter(|x| **x > 0.0).count();
        assert!(above <= last, "{share}: {above} {last}");
        last = above;
    }
    assert_eq!(last, 0, "none is left");
}

/// A group's weights are all 0 exactly where |max(0, −∇)| ≤ λ, and ∇ + λ x / |x| = 0 elsewhere.
pub fn groups(place: &Backend) {
    let mut random = Random::fresh("commit groups");
    let setup = setup(120, &only(stick()), 0.1, place, &mut random);
    // Groups with weights, and groups without.
    let class = |rest: u32| (0..120).filter(|f| f % 3 == rest).collect::<Vec<u32>>();
    let pull = setup.slope(&vec![0.0; setup.operator.columns()]);
    let size = |streamlines: &[u32], g: &[f32]| -> f64 {
        let each = streamlines
            .iter()
            .map(|f| f64::from(-g[*f as usize]).max(0.0).powi(2));
        each.sum::<f64>().sqrt()
    };
    let weight = 0.02 * size(&class(0), &pull) as f32;
    let group = |rest| Group {
        streamlines: class(rest),
        weight,
    };
    let penalty = Penalty {
        lasso: 0.0,
        groups: vec![group(0), group(1), group(2)],
    };
    let solution = setup.solve(&penalty, &LONG);
    let slope = setup.slope(&solution.x);
    for rest in 0..3 {
        let streamlines = class(rest);
        let norm: f64 = streamlines
            .iter()
            .map(|f| f64::from(solution.x[*f as usize]).powi(2))
            .sum::<f64>()
            .sqrt();
        if norm == 0.0 {
            assert!(size(&streamlines, &slope) <= f64::from(weight) * 1.001);
            continue;
        }
        for f in streamlines {
            let (x, g) = (
                f64::from(solution.x[f as usize]),
                f64::from(slope[f as usize]),
            );
            let sum = g + f64::from(weight) * x / norm;
            assert!(
                sum > -0.01 * f64::from(weight) && (x == 0.0 || sum < 0.01 * f64::from(weight))
            );
        }
    }
    // A penalty so large that no group is left.
    let all = Penalty {
        lasso: 0.0,
        groups: (0..3)
            .map(|rest| Group {
                streamlines: class(rest),
                weight: 1.01 * size(&class(rest), &pull) as f32,
            })
            .collect(),
    };
    let none = setup.solve(&all, &LONG);
    assert!(none.x.iter().all(|x| *x == 0.0), "{:?}", none.objective);
}

/// Fits from zero and from random weights end at the same minimum.
pub fn same_place(place: &Backend) {
    let mut random = Random::fresh("commit same place");
    let setup = setup(150, &model(stick()), 0.05, place, &mut random);
    let penalty = Penalty::default();
    let zero = setup.solve(&penalty, &LONG);
    let start: Vec<f32> = (0..setup.operator.columns())
        .map(|_| random.uniform(-0.1, 0.5) as f32)
        .collect();
    let curve = Curve::default();
    let problem = setup.problem(&penalty);
    let run = || solve(&problem, Some(&start), &LONG, &curve, &Control::new());
    let other = place.install(run).unwrap();
    assert!((zero.objective / other.objective - 1.0).abs() < 1e-4);
    let curve = curve.values();
    assert_eq!(curve.len(), other.iterations as usize + 1);
    assert!(curve[curve.len() - 1] < 0.1 * curve[0]);
    // The weights of single streamlines may differ among duplicates, their prediction may not.
    let both = zero.predicted.iter().zip(&other.predicted);
    let (a, b): (Vec<f64>, Vec<f64>) = both.map(|(a, b)| (f64::from(*a), f64::from(*b))).unzip();
    assert!(relative_difference(a, b) < 1e-3);
    // Some weights of the start were below 0.
    assert!(other.x.iter().all(|x| *x >= 0.0), "a weight below 0");
}

/// After some streamlines are removed: the same result as from zero, and sooner where a percent is enough. The last per
/// mille is the same slow tail from any start.
pub fn warm(place: &Backend) {
    let mut random = Random::fresh("commit warm");
    let setup = setup(150, &model(stick()), 0.05, place, &mut random);
    let penalty = Penalty::default();
    let before = setup.solve(&penalty, &LONG);
    let without: Vec<bool> = (0..150).map(|f| f % 25 == 0).collect();
    let problem = Problem {
        without: Some(&without),
        ..setup.problem(&penalty)
    };
    let run = |start: Option<&[f32]>, stop: &Stop| {
        let curve = Curve::default();
        let solved = place.install(|| solve(&problem, start, stop, &curve, &Control::new()));
        solved.unwrap()
    };
    let cold = run(None, &LONG);
    assert!(cold.objective > before.objective, "a lesion explains less");
    let stop = Stop {
        target: cold.objective * 1.01,
        ..LONG
    };
    let (repeated, warm) = (run(None, &stop), run(Some(&before.x), &stop));
    assert!((warm.objective / cold.objective - 1.0).abs() < 0.0101);
    assert!(
        warm.iterations < repeated.iterations,
        "{} {}",
        warm.iterations,
        repeated.iterations
    );
    assert!((0..150).all(|f| !without[f] || warm.x[f] == 0.0));
}

/// At the usual stop the objective is within a few of its tolerances of the minimum. Three short steps in a row, as
/// after a restart, are weaker evidence.
pub fn default_stop(place: &Backend) {
    let mut random = Random::fresh("commit usual stop");
    let default_value = commit::Params::defaults_for(2).stop;
    let mut early = 0;
    for (count, m, noise) in [
        (200, model(stick()), 0.05),
        (400, model(stick()), 0.1),
        (400, only(stick()), 0.1),
    ] {
        let setup = setup(count, &m, noise, place, &mut random);
        let penalty = Penalty::default();
        let problem = setup.problem(&penalty);
        let curve = Curve::default();
        let run = |stop: &Stop, curve: &Curve| {
            let run = || solve(&problem, None, stop, curve, &Control::new());
            setup.place.install(run).unwrap()
        };
        let stop = Stop {
            iterations: 20_000,
            kkt: 3e-7,
            objective: 1e-9,
            target: 0.0,
        };
        let best = run(&stop, &curve);
        let most = Stop {
            iterations: 20_000,
            ..default_value
        };
        let ended = run(&most, &Curve::default());
        let gap = ended.objective / best.objective - 1.0;
        let reached = curve.values();
        // Three short steps in a row would have ended it here; a step without change does not count.
        let mut short = 0;
        let steps = reached.windows(2).position(|w| {
            let change = (w[0] - w[1]) / w[1];
            if change != 0.0 {
                short = if change.abs() < default_value.objective {
                    short + 1
                } else {
                    0
                };
            }
            short == 3
        });
        let three = steps.map_or(0.0, |i| reached[i + 1] / best.objective - 1.0);
        println!(
            "{}: {gap:.1e} after {} iterations ({:?}), {three:.1e} after {steps:?}, of {}",
            m.name(),
            ended.iterations,
            ended.ended,
            best.iterations
        );
        assert!(gap < 5.0 * default_value.objective, "{}: {gap:e}", m.name());
        early += usize::from(three > 5.0 * default_value.objective);
    }
    assert!(early > 0, "short steps would have done");
}

pub fn stopped(place: &Backend) {
    let mut random = Random::fresh("commit stopped");
    let setup = setup(60, &only(stick()), 0.05, place, &mut random);
    let penalty = Penalty::default();
    let some = setup.solve(
        &penalty,
        &Stop {
            iterations: 7,
            ..LONG
        },
    );
    assert_eq!((some.ended, some.iterations), (Ended::Iterations, 7));
    let control = Control::new();
    control.cancel();
    let problem = setup.problem(&penalty);
    let kept = solve(&problem, Some(&some.x), &LONG, &Curve::default(), &control).unwrap();
    assert_eq!(kept.ended, Ended::Cancelled);
    assert_eq!(kept.x, some.x);
}

/// F(x_k) − F* ≤ 2 L |x₀ − x*|² / (k + 1)² (Beck and Teboulle 2009, theorem 4.4), with L = |A|².
pub fn plain(place: &Backend) {
    let mut random = Random::fresh("commit plain");
    let setup = setup(120, &model(stick()), 0.05, place, &mut random);
    let penalty = Penalty::default();
    let best = setup.solve(&penalty, &LONG);
    let size = |x: &[f32]| x.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
    // Power iterations from another start than the solver's.
    let mut x: Vec<f32> = (0..setup.operator.columns())
        .map(|_| random.uniform(0.5, 1.0) as f32)
        .collect();
    let mut y = vec![0.0; setup.y.len()];
    let mut norm = 0.0;
    for _ in 0..100 {
        let by = size(&x).sqrt();
        x.iter_mut().for_each(|v| *v = (f64::from(*v) / by) as f32);
        setup.operator.apply(&x, &mut y).unwrap();
        norm = size(&y);
        setup.operator.adjoint(&y, &mut x).unwrap();
    }
    let uniform = Metric::uniform(&setup.operator).unwrap();
    let problem = Problem {
        metric: &uniform,
        ..setup.problem(&penalty)
    };
    let stop = Stop {
        iterations: 300,
        kkt: 0.0,
        ..LONG
    };
    let (curve, control) = (Curve::default(), Control::new());
    let run = || solve_by_fista(&problem, &stop, &curve, &control);
    let converged = setup.place.install(run).unwrap();
    assert!(converged.ended == Ended::Iterations && converged.iterations == 300);
    let reached = curve.values();
    for (k, objective) in reached.iter().enumerate().skip(1) {
        // Steps are shorter by a hundredth, or by a twentieth where |A|² was found to be larger during the run.
        let bound = 2.0 * 1.1 * norm * size(&best.x) / (k as f64 + 1.0).powi(2);
        assert!(
            objective - best.objective <= bound,
            "{k}: {objective} {bound}"
        );
    }
    // It reaches the same objective in fewer iterations.
    let target = Stop {
        target: converged.objective,
        kkt: 0.0,
        ..LONG
    };
    let same = setup.solve(&penalty, &target);
    println!(
        "{} and {} iterations",
        same.iterations, converged.iterations
    );
    assert!(same.ended == Ended::Target && same.iterations < converged.iterations);
}
