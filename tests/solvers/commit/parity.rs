//! The GPU against the CPU: the operator against the plain sum, the solver against the conditions of its minimum, whole
//! fits.

use super::operator::{Case, adjoint_error, cases, errors, operator};
use super::{TIMING, cylinders, model, only, samples, solver, stick};
use crate::support::fields::{backend, odd_grid};
use crate::support::{Random, cuda_test, cuda_test_alone, lines};
use arcuate::compute::{Accelerator, Backend, Control, cuda};
use arcuate::data::{Gradients, Tractogram, Volume, VolumeKind};
use arcuate::phantom::Arcs;
use arcuate::solvers::Error;
use arcuate::solvers::commit;
use arcuate::solvers::commit::dictionary::{Dictionary, Options};
use arcuate::solvers::commit::operator::{Operator, Precision};
use arcuate::solvers::commit::samples::Switches;
use arcuate::solvers::commit::solver::{Curve, Ended, Stop};
use arcuate::solvers::commit::{Fit, Inputs, Params, Prepared};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let repeated = |name: &str, run: fn(&Backend)| {
        cuda_test(&format!("parity::commit {name}"), move |cuda| run(&cuda))
    };
    vec![
        cuda_test("parity::commit A x and its transpose", products),
        repeated("the gradient is that of differences", solver::gradient),
        repeated("the minimum's conditions hold", solver::kkt),
        repeated("planted weights come back", solver::planted),
        repeated("a lasso leaves fewer, at last none", solver::lasso),
        repeated("groups go as one", solver::groups),
        repeated("the objective falls to the same place", solver::same_place),
        repeated("a warm start needs fewer iterations", solver::warm),
        repeated(
            "the plain solver falls as it must, ours faster",
            solver::plain,
        ),
        repeated("the usual stop is near the minimum", solver::default_stop),
        repeated("a stopped fit keeps its weights", solver::stopped),
        cuda_test("parity::commit whole fits agree", fits),
        cuda_test_alone("parity::commit on a card without room", full),
    ]
}

/// Streamlines that wander on an oblique grid of unequal sides: most of them anywhere, `crowd` of them through one
/// voxel, one alone through a far corner; every voxel takes part.
fn dictionary(random: &mut Random, crowd: usize) -> Dictionary {
    let grid = Arc::new(odd_grid(random));
    let world = |v: DVec3| grid.world_from_voxel.transform_point3(v);
    let size = DVec3::from_array(grid.shape.map(|n| n as f64));
    let mut walk = |from: DVec3, steps: usize| -> Vec<DVec3> {
        let (mut at, mut way) = (from, random.direction());
        let mut line = Vec::new();
        for _ in 0..steps {
            line.push(world(at));
            way = (way + 0.3 * random.direction()).normalize();
            at += 0.6 * way;
        }
        line
    };
    let mut all: Vec<Vec<DVec3>> = Vec::new();
    for i in 0..150 + crowd {
        let place = f64::from(i as u32 % 97) / 97.0;
        let from = match i < 150 {
            true => size * DVec3::new(place, 1.0 - place, (7.0 * place).fract()),
            false => (0.4 * size).floor(),
        };
        all.push(walk(from, if i < 150 { 25 } else { 3 }));
    }
    let corner = DVec3::splat(-0.3);
    all.push(vec![world(corner), world(corner + 0.1)]);
    let n = grid.voxel_count();
    let peaks: Vec<f32> = (0..6 * n)
        .map(|i| match i % 5 {
            // Some voxels have one, some none.
            0 | 1 => 0.0,
            _ => random.normal() as f32,
        })
        .collect();
    let peaks = Volume::new(grid.clone(), 6, VolumeKind::Scalar, peaks);
    let options = Options {
        usable: &vec![1; n],
        all: true,
        blur_mm: None,
        peaks: Some(&peaks),
    };
    Dictionary::build(&lines(&all), &grid, &options, &Control::new()).unwrap()
}

fn products(cuda: Backend) {
    let mut random = Random::fresh("parity commit products");
    let Some(Accelerator::Cuda(devices)) = cuda.accelerator() else {
        panic!("no card")
    };
    let nine = Case {
        name: "nine radii",
        model: model(cylinders(9)),
        samples: samples(2, &[(1000.0, 12), (3000.0, 16)]),
    };
    for crowd in [0, 2500] {
        let dictionary = dictionary(&mut random, crowd);
        let counts = dictionary.offsets.windows(2).map(|p| p[1] - p[0]);
        let (least, most) = (counts.clone().min(), counts.clone().max());
        assert!(least == Some(0) && most >= Some(crowd as u64));
        for case in cases().into_iter().chain([Case {
            samples: nine.samples.clone(),
            model: nine.model.clone(),
            ..nine
        }]) {
            let responses = case.model.responses(&case.samples, true);
            let all = &case.samples;
            let exact = operator(&cuda, &dictionary, &responses, all);
            let off = errors(&exact, &dictionary, &responses, all, &mut random);
            let gap_exact = adjoint_error(&exact, &dictionary, all, &mut random);
            let fast = Precision::Fast;
            let fast = Operator::new_on_cards(&dictionary, &responses, all, fast, devices).unwrap();
            let off_fast = errors(&fast, &dictionary, &responses, all, &mut random);
            let gap_fast = adjoint_error(&fast, &dictionary, all, &mut random);
            println!(
                "{}: {off:?}, adjoint {gap_exact:.1e}; fast {off_fast:?}, {gap_fast:.1e}",
                case.name
            );
            // Exact = CPU to 1e-5: both are within half of that of the same reference.
            assert!(off.iter().all(|e| *e < 5e-6) && gap_exact <= 1e-6);
            assert!(off_fast.iter().all(|e| *e < 1e-3) && gap_fast <= 1e-5);
        }
    }
}

/// A scan of arcs as the CPU predicts it from known weights, and the weights fitted to it.
struct Scan {
    arcs: Arcs,
    gradients: Gradients,
    volume: Volume,
    params: Params,
}

impl Scan {
    fn new(random: &mut Random) -> Self {
        let arcs = Arcs::new(200, 16, random.bits()).unwrap();
        let gradients = super::gradients(2, &[(1000.0, 12), (2000.0, 20)]);
        let params = Params {
            model: model(cylinders(4)),
            switches: Switches {
                merge_b0: false,
                normalise_signal: false,
                normalise_kernels: true,
            },
            stop: Stop {
                iterations: 3000,
                objective: 0.0,
                kkt: 1e-5,
                target: 0.0,
            },
            ..commit::Params::defaults_for(2)
        };
        let n = arcs.grid.voxel_count();
        let ones = vec![1.0; n * gradients.len()];
        let kind = VolumeKind::Scalar;
        let mut created = Self {
            volume: Volume::new(arcs.grid.clone(), gradients.len(), kind, ones),
            arcs,
            gradients,
            params,
        };
        let prepared = created.prepared(&backend(2));
        let operator = &prepared.operator;
        let mut x = vec![0f32; operator.columns()];
        for column in (0..operator.shape().intra()).step_by(3) {
            x[column] = random.uniform(0.01, 0.05) as f32;
        }
        let mut y = vec![0.0; operator.rows()];
        operator.apply(&x, &mut y).unwrap();
        let count = prepared.samples.count();
        let signals = operator.unpack(&y, prepared.dictionary.voxels.len(), count);
        let mut values = vec![1f32; n * created.gradients.len()];
        for (i, voxel) in prepared.dictionary.voxels.iter().enumerate() {
            for sample in 0..count {
                let [frame] = prepared.samples.volumes(sample) else {
                    panic!("samples are single volumes")
                };
                let noise = 0.02 * random.normal() as f32;
                let value = signals[i * count + sample] + noise + 0.1;
                values[frame * n + *voxel as usize] = value;
            }
        }
        created.volume = Volume::new(
            created.arcs.grid.clone(),
            created.gradients.len(),
            kind,
            values,
        );
        created
    }

    fn inputs(&self) -> Inputs<'_> {
        Inputs {
            tractogram: &self.arcs.tractogram,
            scan: &self.volume,
            gradients: Some(&self.gradients),
            timing: &[TIMING],
            mask: Some(&self.arcs.mask),
            peaks: Some(&self.arcs.peaks),
        }
    }

    fn prepared(&self, backend: &Backend) -> Prepared {
        Prepared::new(&self.inputs(), &self.params, None, backend, &Control::new()).unwrap()
    }

    fn fit(&self, prepared: &Prepared, without: Option<&[bool]>, backend: &Backend) -> Fit {
        let (curve, control) = (Curve::default(), Control::new());
        let tractogram: &Tractogram = &self.arcs.tractogram;
        let fit = prepared.fit(
            tractogram,
            &self.params,
            None,
            without,
            &curve,
            backend,
            &control,
        );
        let fit = fit.unwrap();
        let curve = curve.values();
        assert_eq!(curve.len(), fit.iterations as usize + 1);
        assert_eq!(curve.last(), Some(&fit.objective));
        fit
    }
}

fn fits(cuda: Backend) {
    let mut random = Random::fresh("parity commit fits");
    let mut scan = Scan::new(&mut random);
    for (lasso, precision) in [
        (0.0, Precision::Exact),
        (0.01, Precision::Exact),
        (0.0, Precision::Fast),
    ] {
        scan.params.lasso = lasso;
        scan.params.precision = precision;
        let without: Vec<bool> = (0..200).map(|f| f % 7 == 0).collect();
        for without in [None, Some(without.as_slice())] {
            let [cpu, gpu] = [&backend(2), &cuda].map(|place| {
                let prepared = scan.prepared(place);
                assert!(prepared.supports(place));
                scan.fit(&prepared, without, place)
            });
            let off = (cpu.objective / gpu.objective - 1.0).abs();
            println!(
                "lasso {lasso}, {precision:?}: {} and {} iterations ({:?}), objectives {:.1e} apart, {:.1e} in rmse",
                cpu.iterations,
                gpu.iterations,
                gpu.ended,
                off,
                (cpu.rmse / gpu.rmse - 1.0).abs()
            );
            let bound = match precision {
                Precision::Exact => 1e-4,
                Precision::Fast => 1e-2,
            };
            assert!(off < bound, "{off}");
            assert!((cpu.rmse / gpu.rmse - 1.0).abs() < bound);
            for (f, weight) in gpu.weights.iter().enumerate() {
                assert!(weight.is_finite() && *weight >= 0.0);
                assert!(*weight == 0.0 || without.is_none_or(|w| !w[f]));
            }
        }
    }
    let prepared = scan.prepared(&cuda);
    // It is prepared again for another backend.
    assert!(!prepared.supports(&backend(2)));
}

fn full(cuda: Backend) {
    let device = &cuda.devices()[0];
    let scan = Scan {
        params: Params {
            model: only(stick()),
            ..commit::Params::defaults_for(2)
        },
        ..Scan::new(&mut Random::fresh("parity commit full"))
    };
    // Memory that other tests left behind is released, but that is not enough.
    let all = device.needs(2 * device.total(), "everything", "ask for less");
    assert!(all.is_err() && device.cached_bytes() == 0);
    // Memory that others freed is used first, so the free memory stays the same.
    const LEFT: u64 = 60 << 20;
    let mut ballast = Vec::new();
    for _ in 0..8 {
        device.synchronize("freeing memory").unwrap();
        let (free, _) = device.memory().unwrap();
        if free > LEFT {
            let more = device.alloc_zeros::<u8>((free - LEFT) as usize);
            ballast.push(more.unwrap());
        }
    }
    let created = Prepared::new(&scan.inputs(), &scan.params, None, &cuda, &Control::new());
    let Err(error) = created else {
        panic!("there was room")
    };
    let message = error.to_string();
    println!("{message}");
    assert!(
        message.starts_with("Fitting weights to that many streamlines needs ")
            && message.contains("; take every second streamline, or a mask, close"),
        "{message}"
    );
    let is_memory = matches!(error, Error::Card(cuda::Error::OutOfMemory { .. }));
    assert!(is_memory, "{error:?}");
    drop(ballast);
    device.synchronize("freeing memory").unwrap();
    let prepared = scan.prepared(&cuda);
    let fit = scan.fit(&prepared, None, &cuda);
    assert!(fit.ended != Ended::Cancelled && fit.objective.is_finite());
}
