//! Geodesic rays: closed forms, invariants, orders of convergence, ranking.

mod behaviour;
mod closed_forms;
mod fans;
mod lobes;
mod noise;
mod parity;
mod rays;
mod symbols;
mod through;

use crate::support::fields::{backend, field, sphere};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Grid, Region, Role, TensorField};
use arcuate::phantom::fields::Field;
use arcuate::solvers::Error;
use arcuate::solvers::curves::{self, Integrator, Interpolation, Seeding, StopReason};
use arcuate::solvers::geodesic::{
    Directions, Form, Output, Params, Precision, RayMetric, Sharpening, trace,
};
use glam::DVec3;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    let all = [
        closed_forms::tests(),
        behaviour::tests(),
        fans::tests(),
        lobes::tests(),
        noise::tests(),
        parity::tests(),
        rays::tests(),
        symbols::tests(),
        through::tests(),
    ];
    all.into_iter().flatten().collect()
}

/// An analytic field on a grid.
fn sampled(grid: Grid, analytic: &impl Field) -> TensorField {
    field(grid, |x| Some(analytic.tensor(x)))
}

fn metric(field: &TensorField, interpolation: Interpolation, precision: Precision) -> RayMetric {
    sharpened(field, 1.0, interpolation, precision)
}

fn sharpened(
    field: &TensorField,
    alpha: f64,
    interpolation: Interpolation,
    precision: Precision,
) -> RayMetric {
    let sharpening = Sharpening::Power { alpha };
    prepared_on(&backend(2), field, sharpening, interpolation, precision)
}

fn prepared_on(
    backend: &Backend,
    field: &TensorField,
    sharpening: Sharpening,
    interpolation: Interpolation,
    precision: Precision,
) -> RayMetric {
    let control = Control::new();
    RayMetric::new(
        field,
        sharpening,
        precision,
        interpolation,
        backend,
        &control,
    )
    .unwrap()
}

/// Unmodified tensors, in single precision.
fn as_they_are(backend: &Backend, field: &TensorField, interpolation: Interpolation) -> RayMetric {
    let sharpening = Sharpening::Power { alpha: 1.0 };
    prepared_on(backend, field, sharpening, interpolation, Precision::Single)
}

/// Every optional stop switched off; one direction along x.
fn params(interpolation: Interpolation) -> Params {
    Params {
        curves: curves::Params {
            integrator: Integrator::Rk4,
            interpolation,
            seeding: Seeding::Grid { spacing_mm: 1.0 },
            both_ways: false,
            ..crate::support::fields::params()
        },
        form: Form::Hamiltonian,
        directions: Directions::Towards {
            direction: [1.0, 0.0, 0.0],
        },
        keep_every: 1,
        loop_guard: false,
        through: None,
    }
}

fn towards(params: &Params, direction: DVec3) -> Params {
    Params {
        directions: Directions::Towards {
            direction: direction.into(),
        },
        ..params.clone()
    }
}

fn try_run(metric: &RayMetric, regions: &[Region], params: &Params) -> Result<Output, Error> {
    trace(metric, regions, params, &backend(2), &Control::new())
}

fn run(metric: &RayMetric, regions: &[Region], params: &Params) -> Output {
    run_on(&backend(2), metric, regions, params)
}

/// Computes rays and checks the properties of every output.
fn run_on(backend: &Backend, metric: &RayMetric, regions: &[Region], params: &Params) -> Output {
    let output = trace(metric, regions, params, backend, &Control::new()).unwrap();
    let rays = &output.rays;
    let started = rays.seed_outcomes[..5].iter().sum::<u64>();
    assert_eq!(rays.stops.iter().sum::<u64>(), 2 * started);
    assert_eq!(
        started + rays.seed_outcomes[5],
        output.seeds * output.directions
    );
    assert_eq!(rays.seed_outcomes[0], rays.kept.len() as u64);
    for values in [&rays.kept.per_streamline["cm"], &rays.kept.per_point["cm"]] {
        assert!(values.iter().all(|m| *m > 0.0 && m.is_finite()));
    }
    output
}

fn ray(metric: &RayMetric, at: DVec3, params: &Params) -> (Vec<DVec3>, Output) {
    ray_on(&backend(2), metric, at, params)
}

/// The points of the only ray from `at` in the given direction.
fn ray_on(
    backend: &Backend,
    metric: &RayMetric,
    at: DVec3,
    params: &Params,
) -> (Vec<DVec3>, Output) {
    let output = run_on(backend, metric, &[sphere(Role::Seed, at, 1e-3)], params);
    assert_eq!(output.rays.kept.len(), 1, "{:?}", output.rays.seed_outcomes);
    let line = output.rays.kept.streamline(0).iter();
    let points = line.map(|p| glam::Vec3::from(*p).as_dvec3()).collect();
    (points, output)
}

fn last_stop(output: &Output) -> StopReason {
    let number = output.rays.kept.per_streamline["stop_end"][0];
    [
        StopReason::LeftVolume,
        StopReason::MaxSteps,
        StopReason::MaxLength,
        StopReason::Loop,
    ]
    .into_iter()
    .find(|s| *s as u8 as f32 == number)
    .unwrap()
}
