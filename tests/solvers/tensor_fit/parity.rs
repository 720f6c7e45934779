//! The graphics card against the CPU: the fit, its maps and its bootstrap.

use super::{METHODS, backend, components, noisy, params, random_gradients, random_tensor, signal};
use crate::support::{Random, cuda_test, cuda_test_alone};
use arcuate::compute::{Backend, Control, simd};
use arcuate::data::{Gradients, Grid, Mask, TensorField, Volume, VolumeKind};
use arcuate::solvers::tensor_fit::{
    self, Error, FitMap, Maps, Method, Output, Residuals, fit, residuals,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        cuda_test("tensor_fit::parity of the fit", fits),
        cuda_test("tensor_fit::parity of spoilt samples", spoilt_samples),
        cuda_test("tensor_fit::parity of many volumes", many_volumes),
        cuda_test("tensor_fit::parity of repairs", repairs),
        cuda_test("tensor_fit::parity of the maps", maps),
        cuda_test("tensor_fit::parity of an imported field's maps", imported),
        cuda_test("tensor_fit::parity of the bootstrap", bootstrap),
        cuda_test(
            "tensor_fit::parity of a bootstrap of spoilt samples",
            spoilt_bootstrap,
        ),
        cuda_test("tensor_fit::the card gives equal bytes again", equal_bytes),
        cuda_test("tensor_fit::the card keeps the scan", keeps_the_scan),
        cuda_test("tensor_fit::the card can be cancelled", cancelled),
        cuda_test_alone(
            "tensor_fit::parity of slabs, where the scan does not fit",
            slabs,
        ),
    ]
}

struct Scan {
    dwi: Volume,
    gradients: Gradients,
    mask: Mask,
}

/// A block of voxels of random tensors with noise of S0 / `snr`, of which three quarters are in the mask.
fn scan(name: &'static str, gradients: Gradients, shape: [usize; 3], snr: f64) -> Scan {
    let mut random = Random::fresh(name);
    let grid = Grid::axis_aligned(shape, DVec3::splat(2.0), DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let n = grid.voxel_count();
    let mut values = vec![0f32; n * gradients.len()];
    for voxel in 0..n {
        let d = random_tensor(&mut random);
        let clean = signal(&d, random.uniform(10.0, 3000.0), &gradients);
        let samples = noisy(&mut random, &clean, clean[0] / snr);
        for (frame, sample) in samples.iter().enumerate() {
            values[frame * n + voxel] = *sample as f32;
        }
    }
    let inside: Vec<u8> = (0..n).map(|_| u8::from(random.bits() & 3 != 0)).collect();
    Scan {
        dwi: Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values),
        gradients,
        mask: Mask::new(grid, inside),
    }
}

fn one_shell(name: &'static str) -> Gradients {
    random_gradients(&mut Random::fresh(name), &[(0.0, 1), (1000.0, 64)])
}

fn fitted(scan: &Scan, method: Method, place: &Backend) -> Output {
    let Scan {
        dwi,
        gradients,
        mask,
    } = scan;
    fit(
        dwi,
        gradients,
        mask,
        &params(method),
        place,
        &Control::new(),
    )
    .unwrap()
}

/// Samples in place of some: of every kind that the fit leaves out, and whole voxels of them.
fn spoil(scan: &Scan, name: &'static str) -> Scan {
    const BAD: [f32; 8] = [
        0.0,
        -3.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        1e-40,
        1e-9,
        3e38,
    ];
    let mut random = Random::fresh(name);
    let (n, frames) = (scan.dwi.grid.voxel_count(), scan.dwi.frames);
    let mut values = scan.dwi.values.to_vec();
    for voxel in (0..n).step_by(3) {
        // From one sample to all of them.
        let share = random.uniform(0.0, 1.0).powi(2);
        for frame in 0..frames {
            if random.uniform(0.0, 1.0) < share {
                values[frame * n + voxel] = BAD[(random.bits() % 8) as usize];
            }
        }
    }
    // The fifth volume has no sample above 0 in the mask.
    for voxel in 0..n {
        let value = &mut values[4 * n + voxel];
        if scan.mask.inside[voxel] != 0 && (value.is_nan() || *value > 0.0) {
            *value = 0.0;
        }
    }
    Scan {
        dwi: Volume::new(scan.dwi.grid.clone(), frames, VolumeKind::Scalar, values),
        gradients: scan.gradients.clone(),
        mask: scan.mask.clone(),
    }
}

/// Largest difference of a component in units of the tensor's largest, and how many components differ at all.
fn tensor_difference(card: &TensorField, cpu: &TensorField) -> (f64, usize) {
    let (mut largest, mut different) = (0f64, 0);
    for (a, b) in card.tensors.iter().zip(cpu.tensors.iter()) {
        assert_eq!((a.inside, a.unused), (b.inside, b.unused));
        let size =
            b.d.iter()
                .fold(1e-12, |m: f64, v| m.max(f64::from(*v).abs()));
        for (a, b) in a.d.iter().zip(b.d) {
            different += usize::from(a.to_bits() != b.to_bits());
            largest = largest.max((f64::from(*a) - f64::from(b)).abs() / size);
        }
    }
    (largest, different)
}

/// The card's operations are those of a processor with fused multiply-add, in the same order: only repairs, whose double
/// precision comes from other libraries, may differ in the last place of single precision. Other processors round more
/// often; 2e-5 is what noise-free tensors are known to.
fn assert_agrees(what: &str, card: &Output, cpu: &Output) {
    assert!(card.kernel_s.is_some() && cpu.kernel_s.is_none(), "{what}");
    let (largest, different) = tensor_difference(&card.field, &cpu.field);
    println!("{what}: tensors differ by {largest:.1e}, {different} components");
    let is_fused = simd::level() == simd::Level::Avx2;
    assert!(
        largest < if is_fused { 1e-6 } else { 2e-5 },
        "{what}: {largest}"
    );
    let (a, b) = (card.s0.as_ref().unwrap(), cpu.s0.as_ref().unwrap());
    for (a, b) in a.values.iter().zip(b.values.iter()) {
        assert!(
            (a - b).abs() <= if is_fused { 0.0 } else { 2e-5 * b },
            "{what}: {a} {b}"
        );
    }
    if is_fused {
        let repaired = cpu.repaired.count();
        assert!(different <= 6 * repaired, "{what}: {different} {repaired}");
        assert!(card.repaired.inside == cpu.repaired.inside, "{what}");
    }
    assert_eq!(card.unfitted, cpu.unfitted, "{what}");
    assert_eq!(card.without_signal, cpu.without_signal, "{what}");
}

/// A name, b-values with their numbers of volumes, and the ratio of signal to noise.
type Shells = (&'static str, &'static [(f64, usize)], f64);

fn fits(cuda: Backend) {
    let shells: [Shells; 4] = [
        ("parity 65", &[(0.0, 1), (1000.0, 64)], 30.0),
        ("parity 13", &[(0.0, 1), (1000.0, 12)], 50.0),
        ("parity shells", &[(500.0, 15), (3000.0, 45)], 20.0),
        ("parity noise", &[(0.0, 3), (1000.0, 20), (2000.0, 40)], 3.0),
    ];
    for (name, shells, snr) in shells {
        let gradients = random_gradients(&mut Random::fresh(name), shells);
        let scan = scan(name, gradients, [31, 17, 9], snr);
        let methods = METHODS.into_iter().chain([Method::Iwls { iterations: 10 }]);
        for method in methods {
            let (card, cpu) = (
                fitted(&scan, method, &cuda),
                fitted(&scan, method, &backend(2)),
            );
            assert_agrees(&format!("{name}, {method:?}"), &card, &cpu);
        }
    }
}

fn spoilt_samples(cuda: Backend) {
    let clean = scan(
        "parity spoilt",
        one_shell("parity spoilt"),
        [31, 17, 9],
        20.0,
    );
    let spoilt = spoil(&clean, "parity bad samples");
    for method in METHODS {
        let card = fitted(&spoilt, method, &cuda);
        let cpu = fitted(&spoilt, method, &backend(2));
        assert!(cpu.unfitted > 100 && cpu.without_signal == [4]);
        assert_agrees(&format!("spoilt, {method:?}"), &card, &cpu);
    }
}

/// The b range leaves volumes out, and there are more than a word of marks.
fn many_volumes(cuda: Backend) {
    let name = "parity many";
    let shells = [(0.0, 18), (1000.0, 90), (2000.0, 90), (3000.0, 90)];
    let gradients = random_gradients(&mut Random::fresh(name), &shells);
    let scan = scan(name, gradients, [13, 11, 7], 25.0);
    let control = Control::new();
    for b_range in [(0.0, 1550.0), (1500.0, f64::INFINITY)] {
        let params = tensor_fit::Params {
            b_range_s_per_mm2: b_range,
            ..params(METHODS[2])
        };
        let run = |place: &Backend| {
            fit(
                &scan.dwi,
                &scan.gradients,
                &scan.mask,
                &params,
                place,
                &control,
            )
            .unwrap()
        };
        assert_agrees(&format!("b in {b_range:?}"), &run(&cuda), &run(&backend(2)));
    }
}

/// Tensors with eigenvalues around and below the smallest permitted.
fn repairs(cuda: Backend) {
    let name = "parity repairs";
    let gradients = one_shell(name);
    let mut random = Random::fresh(name);
    let count = 5000;
    let grid = Grid::axis_aligned([count, 1, 1], DVec3::ONE, DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let mut values = vec![0f32; count * gradients.len()];
    for voxel in 0..count {
        let eigenvalues = DVec3::from_array([(); 3].map(|()| {
            let size = 10f64.powf(random.uniform(-6.0, -2.7));
            if random.bits() & 3 == 0 { -size } else { size }
        }));
        let turn = DMat3::from_quat(random.rotation());
        let d = turn * DMat3::from_diagonal(eigenvalues) * turn.transpose();
        for (frame, sample) in signal(&d, 100.0, &gradients).iter().enumerate() {
            values[frame * count + voxel] = *sample as f32;
        }
    }
    let scan = Scan {
        dwi: Volume::new(grid.clone(), gradients.len(), VolumeKind::Scalar, values),
        gradients,
        mask: Mask::new(grid, vec![1u8; count]),
    };
    for method in METHODS {
        let (card, cpu) = (
            fitted(&scan, method, &cuda),
            fitted(&scan, method, &backend(2)),
        );
        assert!(cpu.repaired.count() > 1000 && cpu.repaired.count() < count);
        assert_agrees(&format!("repairs, {method:?}"), &card, &cpu);
        for tensor in card.field.tensors.iter() {
            let values = tensor_fit::eigen_symmetric(tensor.d.map(f64::from)).0;
            // Single precision holds 1e-5 beside 2e-3 to a few parts in 1e5.
            assert!(values[2] > 0.999 * super::MIN_EIGENVALUE, "{values:?}");
        }
    }
}

fn all_maps(maps: &Maps) -> [&Volume; 6] {
    let Maps { fa, md, ad, rd, .. } = maps;
    [fa, md, ad, rd, &maps.dec, &maps.direction]
}

/// Largest difference of two maps, in units of the second's largest value.
fn map_difference(a: &Volume, b: &Volume) -> f64 {
    assert_eq!((a.frames, a.kind), (b.frames, b.kind));
    let size = b.values.iter().fold(0f32, |m, v| m.max(v.abs()));
    let pairs = a.values.iter().zip(b.values.iter());
    let largest = pairs.fold(0f32, |m, (a, b)| {
        assert!(a.is_finite() && b.is_finite());
        m.max((a - b).abs())
    });
    f64::from(largest) / f64::from(size.max(1e-30))
}

/// The maps of one field on both: the card's operations are those of a processor with fused multiply-add; without, a
/// direction is known to 1e-4 where eigenvalues are 1e-3 apart.
fn assert_maps_agree(field: &TensorField, cuda: &Backend) {
    let control = Control::new();
    let tolerance = match simd::level() {
        simd::Level::Avx2 => 1e-6,
        simd::Level::Base => 1e-3,
    };
    let card = tensor_fit::maps(field, cuda, &control).unwrap();
    let cpu = tensor_fit::maps(field, &backend(2), &control).unwrap();
    assert!(card.kernel_s.is_some());
    for (i, (a, b)) in all_maps(&card).into_iter().zip(all_maps(&cpu)).enumerate() {
        let difference = map_difference(a, b);
        println!("map {i}: {difference:.1e}");
        assert!(difference <= tolerance, "map {i}: {difference}");
    }
    let shapes =
        |place: &Backend| tensor_fit::shape_maps(field, &FitMap::SHAPES, place, &control).unwrap();
    for ((key, a), (other, b)) in shapes(cuda).iter().zip(&shapes(&backend(2))) {
        assert_eq!(key, other);
        let difference = map_difference(a, b);
        println!("{key:?}: {difference:.1e}");
        assert!(difference <= tolerance, "{key:?}: {difference}");
    }
    let one = tensor_fit::shape_maps(field, &[FitMap::Norm, FitMap::Fa], cuda, &control).unwrap();
    assert_eq!(one.len(), 1);
}

fn maps(cuda: Backend) {
    let scan = scan("parity maps", one_shell("parity maps"), [31, 17, 9], 15.0);
    let card = fitted(&scan, METHODS[2], &cuda);
    // Before the host has the tensors.
    assert_maps_agree(&card.field, &cuda);
    card.on_host().unwrap();
    assert_maps_agree(&card.field, &cuda);
}

/// A field that was not computed on the card, with isotropic tensors, a plane and a line.
fn imported(cuda: Backend) {
    let mut random = Random::fresh("parity imported");
    let mut tensor = |i: usize| {
        let d = match i % 5 {
            0 => DMat3::from_diagonal(DVec3::splat(1e-3)),
            1 => DMat3::from_diagonal(DVec3::new(1e-3, 1e-3, 1e-4)),
            2 => DMat3::from_diagonal(DVec3::new(1e-4, 2e-3, 1e-4)),
            3 => DMat3::ZERO,
            _ => random_tensor(&mut random),
        };
        match i % 5 {
            3 => arcuate::data::Tensor::default(),
            _ => arcuate::data::Tensor::new(components(&d).map(|v| v as f32)),
        }
    };
    let tensors: Vec<_> = (0..1237).map(&mut tensor).collect();
    let grid = Grid::axis_aligned([tensors.len(), 1, 1], DVec3::ONE, DVec3::ZERO).unwrap();
    assert_maps_agree(&TensorField::new(Arc::new(grid), tensors), &cuda);
}

fn left(scan: &Scan, method: Method, place: &Backend) -> Residuals {
    let Scan {
        dwi,
        gradients,
        mask,
    } = scan;
    let (params, control) = (params(method), Control::new());
    residuals(dwi, gradients, mask, &params, None, place, &control).unwrap()
}

fn assert_bootstraps_agree(scan: &Scan, cuda: &Backend) {
    let control = Control::new();
    let tolerance = match simd::level() {
        simd::Level::Avx2 => 1e-6,
        simd::Level::Base => 1e-4,
    };
    for method in METHODS {
        let (card, cpu) = (left(scan, method, cuda), left(scan, method, &backend(2)));
        assert!(card.is_on_card() && !cpu.is_on_card());
        assert_eq!(card.voxels(), cpu.voxels());
        // Not a whole number of those that a thread sums.
        let batch = card.tensors_of_all(7, 3..10, &control).unwrap();
        let of_cpu = cpu.tensors_of_all(7, 3..10, &control).unwrap();
        assert_eq!((batch.len(), of_cpu.len()), (7, 7));
        for (number, (a, b)) in batch.iter().zip(&of_cpu).enumerate() {
            let grid = Grid::axis_aligned([a.len(), 1, 1], DVec3::ONE, DVec3::ZERO).unwrap();
            let grid = Arc::new(grid);
            let field = |tensors: &[_]| TensorField::new(grid.clone(), tensors.to_vec());
            let (largest, _) = tensor_difference(&field(a), &field(b));
            assert!(largest < tolerance, "{method:?}, {number}: {largest}");
            assert!(a == &card.tensors(7, 3 + number as u64, &control).unwrap());
            let whole = card.field(7, 3 + number as u64, &control).unwrap();
            let at_voxels = card.voxels().iter().map(|voxel| whole.tensors[*voxel]);
            assert!(at_voxels.eq(a.iter().copied()));
            assert_eq!(whole.mask().count(), field(a).mask().count());
        }
        assert!(batch[0] != batch[1]);
    }
}

fn bootstrap(cuda: Backend) {
    let scan = scan("parity wild", one_shell("parity wild"), [31, 17, 9], 25.0);
    assert_bootstraps_agree(&scan, &cuda);
}

fn spoilt_bootstrap(cuda: Backend) {
    let clean = scan(
        "parity spoilt wild",
        one_shell("parity spoilt wild"),
        [23, 17, 5],
        20.0,
    );
    assert_bootstraps_agree(&spoil(&clean, "parity bad residuals"), &cuda);
}

fn equal_bytes(cuda: Backend) {
    let scan = scan("parity again", one_shell("parity again"), [40, 41, 23], 5.0);
    let run = || {
        let fit = fitted(&scan, METHODS[2], &cuda);
        assert!(fit.repaired.count() > 10);
        let mut bytes = bytemuck::cast_slice::<_, u8>(&fit.field.tensors).to_vec();
        bytes.extend_from_slice(bytemuck::cast_slice(&fit.s0.unwrap().values));
        bytes.extend_from_slice(&fit.repaired.inside);
        bytes
    };
    let first = run();
    assert!((0..5).all(|_| run() == first));
}

fn keeps_the_scan(cuda: Backend) {
    let scan = scan("parity kept", one_shell("parity kept"), [31, 17, 9], 20.0);
    let device = &cuda.devices()[0];
    assert!(!device.has::<f32>(scan.dwi.id(), "scan"));
    let fit = fitted(&scan, Method::Ols, &cuda);
    assert!(device.has::<f32>(scan.dwi.id(), "scan"));
    assert!(device.has::<f32>(fit.field.id(), "tensors"));
    assert_eq!(fit.field.tensors.len(), scan.dwi.grid.voxel_count());
    // Another mask, after the host has dropped its samples' cache line.
    let part = Mask::new(scan.dwi.grid.clone(), {
        let mut inside = vec![0u8; scan.dwi.grid.voxel_count()];
        inside[17..1000].fill(1);
        inside
    });
    let part = Scan { mask: part, ..scan };
    let cpu = fitted(&part, Method::Wls, &backend(2));
    assert_agrees("another mask", &fitted(&part, Method::Wls, &cuda), &cpu);
}

fn cancelled(cuda: Backend) {
    let scan = scan("parity cancel", one_shell("parity cancel"), [9, 9, 9], 20.0);
    let control = Control::new();
    control.cancel();
    let Scan {
        dwi,
        gradients,
        mask,
    } = &scan;
    let params = params(METHODS[2]);
    let result = fit(dwi, gradients, mask, &params, &cuda, &control);
    assert_eq!(result.err(), Some(Error::Cancelled));
    let field = fitted(&scan, METHODS[2], &cuda).field;
    let maps = tensor_fit::maps(&field, &cuda, &control);
    assert_eq!(maps.err(), Some(Error::Cancelled));
    let left = residuals(dwi, gradients, mask, &params, None, &cuda, &control);
    assert_eq!(left.err(), Some(Error::Cancelled));
}

/// Most of the card's memory is in use, so that the scan does not fit beside it.
fn slabs(cuda: Backend) {
    let name = "parity slabs";
    let gradients = random_gradients(&mut Random::fresh(name), &[(0.0, 1), (1000.0, 32)]);
    // 8 voxels repeat in 4 million: 528 MB.
    let small = scan(name, gradients, [2, 2, 2], 20.0);
    let shape = [256, 128, 128];
    let grid = Grid::axis_aligned(shape, DVec3::ONE, DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    let n = grid.voxel_count();
    let frames = small.dwi.frames;
    let repeated = (0..frames).flat_map(|frame| small.dwi.frame(frame).iter().cycle().take(n));
    let values: Vec<f32> = repeated.copied().collect();
    let mut inside = vec![0u8; n];
    inside[5..n - 777].fill(1);
    let large = Scan {
        dwi: Volume::new(grid.clone(), frames, VolumeKind::Scalar, values),
        gradients: small.gradients.clone(),
        mask: Mask::new(grid, inside),
    };
    let device = &cuda.devices()[0];
    // Drops cached buffers of other tests, which would make room later.
    assert!(device.needs(device.total(), "everything", "").is_err());
    let (free, _) = device.memory().unwrap();
    // Room for the outputs of 4 million voxels, 184 MB, and slabs.
    let taken = device
        .alloc_zeros::<u8>((free - (480 << 20)) as usize)
        .unwrap();
    let card = fitted(&large, METHODS[2], &cuda);
    assert!(!device.has::<f32>(large.dwi.id(), "scan"));
    drop(taken);
    device.synchronize("freeing memory").unwrap();
    let small = Scan {
        mask: Mask::new(small.dwi.grid.clone(), vec![1u8; 8]),
        ..small
    };
    let cpu = fitted(&small, METHODS[2], &backend(2));
    let inside = large.mask.inside.iter().zip(card.field.tensors.iter());
    for (voxel, (inside, tensor)) in inside.enumerate() {
        let expected = cpu.field.tensors[voxel % 8];
        let difference = tensor.d.iter().zip(expected.d);
        let difference = difference.fold(0f32, |m, (a, b)| m.max((a - b).abs()));
        let expected = f32::from(*inside);
        assert!(
            tensor.inside == expected && (difference < 1e-7 || *inside == 0),
            "{voxel}"
        );
    }
    assert_eq!(card.unfitted, 0);
}
