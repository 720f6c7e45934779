//! Results on a synthetic head whose fibres are known, and on a real one.

use super::{ALONG, gradients, model, only, stick};
use crate::support::fields::backend;
use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::spherical_harmonics::{degrees, evaluate};
use arcuate::data::{Grid, Mask, OdfField, Tractogram, Volume, VolumeKind};
use arcuate::io;
use arcuate::phantom::{Arcs, Head, scan_grid};
use arcuate::solvers::commit::model::{Intra, Model, Zeppelin};
use arcuate::solvers::commit::operator::Precision;
use arcuate::solvers::commit::samples::Switches;
use arcuate::solvers::commit::solver::{Curve, Stop};
use arcuate::solvers::commit::{Fit, Inputs, Params, Prepared};
use arcuate::solvers::curves;
use arcuate::solvers::density::Walk;
use arcuate::solvers::{peaks, tensor_fit};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "commit::false streamlines of a head at SNR 30",
            false_streamlines,
        ),
        test("commit::two peaks of a crossing", crossing),
        data_test(
            "commit::50,000 streamlines of a real head, one shell",
            "dwi_a_philips32/dwi.nii.gz",
            real,
        ),
    ]
}

fn params(model: arcuate::solvers::commit::model::Model) -> Params {
    Params {
        model,
        switches: Switches {
            merge_b0: true,
            normalise_signal: true,
            normalise_kernels: true,
        },
        blur_mm: None,
        lasso: 0.0,
        group: 0.0,
        stop: Stop {
            iterations: 200,
            objective: 1e-5,
            kkt: 0.0,
            target: 0.0,
        },
        way: None,
        precision: Precision::Exact,
        force_model: false,
    }
}

fn fitted(inputs: &Inputs, tractogram: &Tractogram, params: &Params) -> (Prepared, Fit) {
    let (b, control) = (backend(2), Control::new());
    let prepared = Prepared::new(inputs, params, None, &b, &control).unwrap();
    let curve = Curve::default();
    let fit = prepared
        .fit(tractogram, params, None, None, &curve, &b, &control)
        .unwrap();
    (prepared, fit)
}

/// Two bundles cross at right angles in every voxel, each with water around it. A tensor has one direction for all of
/// that water; the two peaks of distributions explain the signal up to rounding. Only the directions of peaks count.
fn crossing() {
    const ORDER: usize = 8;
    let (b, control) = (backend(2), Control::new());
    let grid = Grid::axis_aligned([4; 3], DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let (grid, n) = (Arc::new(grid), 64);
    let gradients = gradients(2, &[(1000.0, 30), (2000.0, 30)]);
    let signal = |frame: usize| {
        let (b, g) = (gradients.b_s_per_mm2[frame], gradients.directions[frame]);
        let fibres = [DVec3::X, DVec3::Y].map(|axis| {
            let squared = g.dot(axis).powi(2);
            let around = (-b * (0.51e-3 + (ALONG - 0.51e-3) * squared)).exp();
            0.2 * (-b * ALONG * squared).exp() + 0.3 * around
        });
        (fibres[0] + fibres[1]) as f32
    };
    let frames = gradients.len();
    let values: Vec<f32> = (0..frames).flat_map(|f| vec![signal(f); n]).collect();
    let scan = Volume::new(grid.clone(), frames, VolumeKind::Scalar, values);
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for (i, j) in (0..16).map(|k| (2.0 * (k / 4) as f32, 2.0 * (k % 4) as f32)) {
        points.extend([[-0.9, i, j], [6.9, i, j], [i, -0.9, j], [i, 6.9, j]]);
        offsets.extend([points.len() as u64 - 2, points.len() as u64]);
    }
    let tractogram = Tractogram::new(points, offsets);
    // A lobe of 18° along each axis, without ringing.
    let lobes = [DVec3::X, DVec3::Y].map(|axis| evaluate(ORDER, axis));
    let coefficient = |(i, (l, _)): (usize, (usize, _))| {
        let narrow = (-0.05 * (l * (l + 1)) as f64).exp();
        (narrow * (lobes[0][i] + lobes[1][i])) as f32
    };
    let coefficients = degrees(ORDER).enumerate().map(coefficient);
    let coefficients: Vec<f32> = coefficients.flat_map(|c| vec![c; n]).collect();
    let field = OdfField::new(grid.clone(), ORDER, coefficients);
    let found = peaks::find(&field, &peaks::Params::defaults(), &b, &control).unwrap();
    for axis in [DVec3::X, DVec3::Y] {
        let cosines = found.peaks(0).map(|peak| peak.normalize().dot(axis).abs());
        assert!(cosines.fold(0.0, f64::max) > 0.9999);
    }
    assert_eq!(found.peaks(0).count(), 2);
    let mask = Mask::new(grid.clone(), vec![1; n]);
    let tensors = tensor_fit::Params::defaults();
    let tensors = tensor_fit::fit(&scan, &gradients, &mask, &tensors, &b, &control).unwrap();
    let maps = tensor_fit::maps(&tensors.field, &b, &control).unwrap();
    let params = params(Model {
        free: Vec::new(),
        ..model(stick())
    });
    let fit = |peaks: &Volume| {
        let inputs = Inputs {
            tractogram: &tractogram,
            scan: &scan,
            gradients: Some(&gradients),
            timing: &[],
            mask: None,
            peaks: Some(peaks),
        };
        fitted(&inputs, &tractogram, &params).1
    };
    let (of_tensors, of_fods) = (fit(&maps.direction), fit(&found.volume()));
    let errors = [of_fods.rmse, of_tensors.rmse];
    assert!(errors[0] < 0.5 * errors[1], "{errors:?}");
    // An image of the same directions has other lengths, and 0 where there is no peak.
    let halved = found.values.iter().map(|v| match v.is_finite() {
        true => 0.5 * v,
        false => 0.0,
    });
    let image = Volume::new(grid, 9, VolumeKind::Scalar, halved.collect::<Vec<f32>>());
    let of_image = fit(&image);
    assert_eq!(of_image.weights, of_fods.weights);
    assert_eq!(of_image.rmse.to_bits(), of_fods.rmse.to_bits());
}

/// The fibres of a head's bundles, and the same number of arcs through the same voxels that follow no bundle. The
/// signal of a voxel consists of the bundles' fibres as sticks by their exact segments (neither codes of directions nor
/// harmonics), a zeppelin along their main direction and free water, with Rician noise.
fn false_streamlines() {
    let mut random = Random::fresh("commit false streamlines");
    let head = Head::new(1);
    let grid = scan_grid(3.0).unwrap();
    let gradients = gradients(2, &[(1000.0, 24), (2000.0, 40)]);
    let fibres = head.true_fibres(16);
    let n = grid.voxel_count();
    let mut walk = Walk::new(&grid);
    let point = |p: [f32; 3]| DVec3::from_array(p.map(f64::from));
    let mut sticks = vec![0f64; gradients.len() * n];
    let mut dyads = vec![DMat3::ZERO; n];
    let mut lengths = vec![0f64; n];
    for line in fibres.streamlines() {
        let weight = random.uniform(0.5, 1.5);
        for pair in line.windows(2) {
            let way = point(pair[1]) - point(pair[0]);
            let (axis, mm) = (way.normalize_or_zero(), way.length() * weight);
            walk.segment(point(pair[0]), point(pair[1]), |voxel, (begin, end)| {
                let mm = mm * (end - begin);
                lengths[voxel] += mm;
                dyads[voxel] += DMat3::from_cols(axis * axis.x, axis * axis.y, axis * axis.z) * mm;
                for (frame, g) in gradients.directions.iter().enumerate() {
                    let b = gradients.b_s_per_mm2[frame];
                    sticks[frame * n + voxel] += mm * (-b * ALONG * g.dot(axis).powi(2)).exp();
                }
            });
        }
    }
    // Voxels well inside; on average half of their signal comes from sticks.
    let mut known: Vec<f64> = lengths.iter().copied().filter(|l| *l > 0.0).collect();
    known.sort_by(f64::total_cmp);
    let default_value = known[known.len() / 2];
    let inside: Vec<u8> = lengths
        .iter()
        .map(|l| u8::from(*l > 0.3 * default_value))
        .collect();
    let mask = Mask::new(grid.clone(), inside);
    let main = |dyad: DMat3| {
        let mut axis = DVec3::new(0.3, 0.5, 0.8);
        (0..50).for_each(|_| axis = (dyad * axis).normalize_or(DVec3::Z));
        axis
    };
    let axes: Vec<DVec3> = dyads.iter().map(|d| main(*d)).collect();
    let mut values = vec![0f32; gradients.len() * n];
    for frame in 0..gradients.len() {
        let (b, g) = (gradients.b_s_per_mm2[frame], gradients.directions[frame]);
        for voxel in mask.voxels_inside().map(|v| grid.index(v)) {
            let cosine = g.dot(axes[voxel]);
            let around = (-b * (0.51e-3 + (ALONG - 0.51e-3) * cosine * cosine)).exp();
            let free = 0.1 * (-b * 3.0e-3).exp();
            let clean = 0.5 / default_value * sticks[frame * n + voxel] + 0.4 * around + free;
            let noise = [0; 2].map(|_| random.normal() / 30.0);
            values[frame * n + voxel] = (clean + noise[0]).hypot(noise[1]) as f32;
        }
    }
    let scan = Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values);
    let plane = |a: usize| axes.iter().map(move |v| v[a] as f32);
    let peaks: Vec<f32> = (0..3).flat_map(plane).collect();
    let peaks = Volume::new(grid.clone(), 3, VolumeKind::Scalar, peaks);
    let mut points: Vec<[f32; 3]> = fibres.points.to_vec();
    let mut offsets: Vec<u64> = fibres.offsets.to_vec();
    let mut real = vec![true; fibres.len()];
    let inside: Vec<[usize; 3]> = mask.voxels_inside().collect();
    while real.len() < 2 * fibres.len() {
        let voxel = inside[random.uniform(0.0, inside.len() as f64) as usize];
        let centre = grid.world(DVec3::from_array(voxel.map(|v| v as f64)));
        let along = random.direction();
        let across = along.cross(random.direction()).normalize();
        let (k, half) = (random.uniform(0.002, 0.02), random.uniform(20.0, 50.0));
        let arc = (-(half as i32)..=half as i32).map(|i| {
            let s = f64::from(i);
            centre + along * ((k * s).sin() / k) + across * ((1.0 - (k * s).cos()) / k)
        });
        let in_mask = |p: &DVec3| {
            let voxel = grid.nearest(*p);
            voxel.is_some_and(|v| mask.inside[grid.index(v)] != 0)
        };
        let arc: Vec<DVec3> = arc.filter(in_mask).collect();
        if arc.len() > 20 {
            points.extend(arc.iter().map(|p| p.as_vec3().to_array()));
            offsets.push(points.len() as u64);
            real.push(false);
        }
    }
    let tractogram = Tractogram::new(points, offsets);
    let inputs = Inputs {
        tractogram: &tractogram,
        scan: &scan,
        gradients: Some(&gradients),
        timing: &[],
        mask: Some(&mask),
        peaks: Some(&peaks),
    };
    // Near-duplicates share a weight arbitrarily; a small penalty does not change the result.
    let params = Params {
        lasso: 0.005,
        ..params(model(stick()))
    };
    let (prepared, fit) = fitted(&inputs, &tractogram, &params);
    let area = Arcs::area_under_curve(&fit.weights, &real);
    println!(
        "area {area:.4}, rmse {:.4}, {} iterations, {} voxels",
        fit.rmse,
        fit.iterations,
        prepared.dictionary.voxels.len()
    );
    assert!(area >= 0.95, "{area}");
    // The fractions of the compartments are fractions.
    let maps = &fit.maps;
    for voxel in &prepared.dictionary.voxels {
        let value = |v: &Volume| v.values[*voxel as usize];
        let sum = value(&maps.intra) + value(&maps.extra) + value(&maps.free);
        assert!((sum - 1.0).abs() < 1e-4 || sum == 0.0, "{sum}");
    }
}

/// The density model and sticks with zeppelins; Ball is refused.
fn real(path: PathBuf) {
    let control = Control::new();
    let io::Opened::Volume(scan, _) = io::open(&path, &control).unwrap() else {
        panic!("an image");
    };
    let files = io::gradients::find_companion(&path).unwrap();
    let table = io::gradients::read(&files, &scan.grid, scan.frames).unwrap();
    let (mask, _) = io::mask(&path.with_file_name("brain_mask.nii.gz"), &scan.grid).unwrap();
    let fit = tensor_fit::fit(
        &scan,
        &table.gradients,
        &mask,
        &tensor_fit::Params::defaults(),
        &backend(2),
        &control,
    );
    let fit = fit.unwrap();
    let peaks = tensor_fit::maps(&fit.field, &backend(2), &control)
        .unwrap()
        .direction;
    let mut track = curves::Params::defaults();
    track.seeding = arcuate::solvers::curves::Seeding::Random { count: 160_000 };
    let tracked =
        arcuate::solvers::tracking::track(&fit.field, &[], &track, &backend(2), &control).unwrap();
    let tractogram = tracked.kept;
    assert!(tractogram.len() > 45_000, "{}", tractogram.len());
    let inputs = Inputs {
        tractogram: &tractogram,
        scan: &scan,
        gradients: Some(&table.gradients),
        timing: &[],
        mask: Some(&mask),
        peaks: Some(&peaks),
    };
    let three = model(stick());
    let error = inputs
        .check(
            &params(three.clone()),
            &inputs.survey(&Control::new()).unwrap(),
        )
        .unwrap_err()
        .to_string();
    assert!(error.contains("needs at least two shells"), "{error}");
    let mut two = three;
    two.free.clear();
    // A rounder zeppelin takes the signal that free water would.
    two.extra.push(Zeppelin {
        along: ALONG,
        across: 1.2e-3,
    });
    for model in [two, only(Intra::Density)] {
        let name = model.name();
        let mut params = params(model);
        params.stop.iterations = 60;
        let (prepared, fit) = fitted(&inputs, &tractogram, &params);
        let above = fit.weights.iter().filter(|w| **w > 0.0).count();
        println!(
            "{name}: {} segments in {} voxels, {above} of {} streamlines, rmse {:.4}, {} iterations",
            prepared.dictionary.segments.len(),
            prepared.dictionary.voxels.len(),
            tractogram.len(),
            fit.rmse,
            fit.iterations
        );
        assert!(above > tractogram.len() / 20 && above < tractogram.len());
        assert!(fit.rmse.is_finite() && fit.rmse > 0.0);
        // The unexplained part has its own root mean square.
        let zero: f64 = prepared
            .y
            .iter()
            .map(|v| f64::from(*v).powi(2))
            .sum::<f64>()
            / (prepared.dictionary.voxels.len() * prepared.samples.count()) as f64;
        assert!(fit.rmse < 0.5 * zero.sqrt(), "{} {}", fit.rmse, zero.sqrt());
    }
}
