//! The operator and the fit against the number of threads, and the operator against the share of streamlines without a
//! weight (Table 5.1 and Fig. 5.2 of Hernandez 2018).

use super::{CASES, Case, Inputs, random, signal, times};
use crate::cli::bench::Choice;
use crate::compute::{Backend, BackendChoice, Control};
use crate::data::statistics::quantile;
use crate::solvers::Error;
use crate::solvers::commit::operator::{Operator, OperatorCost};
use crate::solvers::commit::solver::{Curve, Metric, Penalty, Problem, Stop, solve};
use serde_json::{Value, json};
use std::time::Instant;

const NAME: &str = "scaling";
/// Shares of streamlines without a weight.
const WITHOUT: [f64; 6] = [0.0, 0.5, 0.75, 0.9, 0.95, 0.99];

/// 1, 2, 4 … threads, and all.
fn thread_counts(all: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |n| Some(2 * n))
        .take_while(|n| *n < all)
        .collect();
    counts.push(all.max(1));
    counts
}

/// One JSON object per number of threads and per share; only on request.
pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let is_requested = choice.takes(NAME) && choice.case.is_some();
    if !is_requested {
        return Vec::new();
    }
    let failed = |error: String| vec![json!({"workload": "commit", "case": NAME, "error": error})];
    let case = match choice.quick {
        true => &CASES[0],
        false => &CASES[1],
    };
    let control = Control::new();
    let inputs = match backend.install(|| Inputs::new(case, &control)) {
        Ok(inputs) => inputs,
        Err(error) => return failed(error.to_string()),
    };
    let all = backend.threads();
    let mut lines = Vec::new();
    let mut alone = None;
    for threads in thread_counts(all) {
        let measured = match Backend::choose(&BackendChoice::cpu(Some(threads))) {
            Ok(own) => own.install(|| with_threads(case, &inputs, choice, &own)),
            Err(error) => return failed(error.to_string()),
        };
        let (mut line, ms) = match measured {
            Ok(measured) => measured,
            Err(error) => return failed(error.to_string()),
        };
        let alone_ms = *alone.get_or_insert(ms);
        line["speed_up"] = json!(alone_ms / ms);
        line["efficiency"] = json!(alone_ms / ms / threads as f64);
        lines.push(line);
    }
    // Without a card: the curve is that of the processor.
    let own = backend.cpu();
    let sparse = own.install(|| against_sparsity(case, &inputs, choice, &own));
    lines.extend(sparse.unwrap_or_else(|error| failed(error.to_string())));
    lines
}

/// The operator of the case on the CPU, in the cheaper form.
fn operator(inputs: &Inputs) -> Operator {
    let (dictionary, responses, samples) = (&inputs.dictionary, &inputs.responses, &inputs.samples);
    let work = OperatorCost::new(dictionary, responses, samples);
    Operator::new(dictionary, responses, samples, Some(work.cheaper()))
}

/// A line, and the duration of an iteration in ms.
fn with_threads(
    case: &Case,
    inputs: &Inputs,
    choice: Choice,
    backend: &Backend,
) -> Result<(Value, f64), Error> {
    let operator = operator(inputs);
    let repeats = if choice.quick { 2 } else { 5 };
    let [a_x_s, at_y_s] = times(&operator, repeats)?;
    let y = signal(&operator, &inputs.arcs, &inputs.dictionary)?;
    let metric = Metric::new(&operator)?;
    let stop = Stop {
        iterations: if choice.quick { 5 } else { 20 },
        objective: 0.0,
        ..super::SETTLED
    };
    let problem = Problem {
        operator: &operator,
        metric: &metric,
        y: &y,
        penalty: &Penalty::default(),
        without: None,
    };
    let started = Instant::now();
    let solution = solve(&problem, None, &stop, &Curve::default(), &Control::new())?;
    let fit_s = started.elapsed().as_secs_f64();
    let iteration_ms = 1e3 * fit_s / f64::from(solution.iterations.max(1));
    let threads = backend.threads();
    let line = json!({
        "workload": "commit", "case": NAME, "against": "threads", "streamlines": case.streamlines,
        "segments": inputs.dictionary.segments.len(), "threads": threads, "a_x_ms": 1e3 * a_x_s,
        "at_y_ms": 1e3 * at_y_s, "fit_s": fit_s, "iterations": solution.iterations, "iteration_ms": iteration_ms,
        "backend": backend.name(),
    });
    Ok((line, iteration_ms))
}

/// Times of A x while the first streamlines of a random order have no weight.
fn against_sparsity(
    case: &Case,
    inputs: &Inputs,
    choice: Choice,
    backend: &Backend,
) -> Result<Vec<Value>, Error> {
    let operator = operator(inputs);
    let atoms = operator.shape().atoms;
    let order = random(case.streamlines, 7);
    let repeats = if choice.quick { 3 } else { 9 };
    let mut y = vec![0.0; operator.rows()];
    let mut lines = Vec::new();
    for share in WITHOUT {
        let mut x = random(operator.columns(), 5);
        for (streamline, place) in order.iter().enumerate() {
            if f64::from(*place) < share {
                x[streamline * atoms..(streamline + 1) * atoms].fill(0.0);
            }
        }
        let mut walls = Vec::new();
        for run in 0..=repeats {
            let started = Instant::now();
            operator.apply(&x, &mut y)?;
            // The first run fills the caches.
            if run > 0 {
                walls.push(started.elapsed().as_secs_f64());
            }
        }
        let without = order.iter().filter(|place| f64::from(**place) < share);
        lines.push(json!({
            "workload": "commit", "case": NAME, "against": "sparsity", "streamlines": case.streamlines,
            "without_weight": without.count() as f64 / case.streamlines as f64,
            "a_x_ms": quantile(&mut walls, 0.5).map(|s| 1e3 * s), "backend": backend.name(),
            "threads": backend.threads(),
        }));
    }
    Ok(lines)
}
