//! Read-outs against closed forms, refusals and their wording, accuracy on a phantom tumour.

use super::{CURVATURE, DEFAULTS, GROWTH, STILL, axes, begin, grid, ones, run, sphere};
use crate::support::fields::backend;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{BrickImage, Mask, Shape, Surface, Volume};
use arcuate::solvers::level_set;
use arcuate::solvers::level_set::{
    Ended, Evolution, Inputs, Layout, Mode, Params, Probe, Sphere, Start, agreement, measures,
    surface,
};
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::f64::consts::PI;

pub fn tests() -> Vec<Trial> {
    vec![
        test("level_set::what is measured", measured),
        test("level_set::agreement with a reference", agreed),
        test("level_set::refusals are sentences", refusals),
        test("level_set::surfaces that vanish or fill the image", lost),
        test("level_set::a tumour in noise", tumour),
        test(
            "level_set::a surface at rest stays, a creeping one does not",
            at_rest,
        ),
        test("level_set::masks as starts", masks),
        test("level_set::what is drawn is what is solved", drawn),
    ]
}

/// The exported bricks hold φ of every voxel, as bricks come and go, at any size of the bricks.
fn drawn() {
    let mut random = Random::fresh("level set drawn");
    for brick in [8, 16] {
        let (image, place) = in_noise(&mut random);
        let layout = Layout {
            brick,
            ..Layout::BEST
        };
        let params = level_set::Params::defaults_for(1.0, 0.5);
        let mut evolution = begin(&image, &[place], &params, layout);
        let (backend, control) = (backend(2), Control::new());
        for _ in 0..4 {
            evolution.run_unchecked(31, &backend, &control).unwrap();
            let (image, field) = (evolution.image(None).unwrap(), evolution.field().unwrap());
            let pages = image.pages().expect("values");
            let ([nx, ny, _], edge) = (image.bricks_per_axis(), 1 << image.shift);
            assert_eq!(edge, brick);
            for i in 0..image.grid.voxel_count() {
                let voxel = image.grid.voxel(i);
                let [x, y, z] = voxel.map(|v| v / edge);
                let within = voxel.map(|v| v % edge);
                let at = within[0] + edge * (within[1] + edge * within[2]);
                let found = match pages.table[x + nx * (y + ny * z)] {
                    BrickImage::OUTSIDE => -image.clamp,
                    BrickImage::INSIDE => image.clamp,
                    page => pages.values[page as usize * image.page() + at],
                };
                assert_eq!(found, field.value(voxel), "{voxel:?}");
            }
        }
    }
}

fn measured() {
    let mut random = Random::fresh("level set measured");
    for (name, axes) in axes(&mut random) {
        let grid = grid(axes, 36.0);
        let (centre, r) = (random.direction(), random.uniform(9.0, 11.0));
        let evolution = begin(&ones(&grid), &[sphere(centre, r)], &CURVATURE, Layout::BEST);
        let field = evolution.field().unwrap();
        let found = backend(2).install(|| measures(&field));
        let exact = [
            4.0 / 3.0 * PI * r.powi(3) / 1000.0,
            4.0 * PI * r * r,
            2.0 * r,
        ];
        let shares = [found.volume_ml, found.area_mm2, found.diameter_mm];
        let off = [0, 1, 2].map(|i| shares[i] / exact[i] - 1.0);
        println!("{name}: volume, area and diameter off by {off:.4?}");
        assert!(
            off[0].abs() < 0.01 && off[1].abs() < 0.03 && off[2].abs() < 0.02,
            "{off:?}"
        );
        assert_eq!(found.voxels, field.mask().count() as u64);
        let mesh = surface(&field);
        closed(&mesh);
        // Facing outwards, with the volume of the ball.
        let volume = mesh.volume_mm3() / 1000.0;
        assert!(
            (volume / exact[0] - 1.0).abs() < 0.03,
            "{volume} {}",
            exact[0]
        );
    }
    // A surface that ends at the image's border is closed there.
    let grid = grid(DMat3::IDENTITY, 20.0);
    let evolution = begin(
        &ones(&grid),
        &[sphere(DVec3::X * 9.0, 6.0)],
        &CURVATURE,
        Layout::BEST,
    );
    closed(&surface(&evolution.field().unwrap()));
}

/// Every edge belongs to two triangles, in opposite directions.
fn closed(mesh: &Surface) {
    let mut edges = std::collections::HashMap::new();
    for [a, b, c] in &mesh.triangles {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            *edges.entry((*from, *to)).or_insert(0) += 1;
        }
    }
    assert!(!edges.is_empty());
    for ((from, to), count) in &edges {
        assert_eq!(edges.get(&(*to, *from)), Some(count));
    }
}

fn agreed() {
    let mut random = Random::fresh("level set agreed");
    let grid = grid(DMat3::from_diagonal(DVec3::new(1.0, 1.2, 1.7)), 30.0);
    let ball = |centre: DVec3, radius_mm: f64| Shape::Sphere { centre, radius_mm }.mask_on(&grid);
    let a = ball(random.direction(), random.uniform(6.0, 8.0));
    let b = ball(random.direction() * 3.0, random.uniform(6.0, 9.0));
    let found = backend(2).install(|| agreement(&a, &b)).unwrap();
    // The figures by their definitions.
    let pairs: Vec<(bool, bool)> = a
        .inside
        .iter()
        .zip(b.inside.iter())
        .map(|(a, b)| (*a != 0, *b != 0))
        .collect();
    let count = |x: bool, y: bool| pairs.iter().filter(|p| **p == (x, y)).count() as f64;
    let (both, only_a, only_b, none) = (
        count(true, true),
        count(true, false),
        count(false, true),
        count(false, false),
    );
    let close = |x: f64, y: f64| assert!((x - y).abs() < 1e-5, "{x} {y}");
    close(found.dice, 2.0 * both / (2.0 * both + only_a + only_b));
    close(found.sensitivity, both / (both + only_b));
    close(found.specificity, none / (none + only_a));
    close(found.correct, (both + none) / pairs.len() as f64);
    let border = |mask: &Mask| -> Vec<DVec3> {
        let world = |v: [usize; 3]| grid.world(DVec3::from_array(v.map(|c| c as f64)));
        let out = |v: [usize; 3]| {
            (0..3).any(|axis| {
                [-1i64, 1].into_iter().any(|step| {
                    let mut next = v.map(|c| c as i64);
                    next[axis] += step;
                    let outside = next[axis] < 0 || next[axis] >= grid.shape[axis] as i64;
                    outside || mask.inside[grid.index(next.map(|c| c as usize))] == 0
                })
            })
        };
        mask.voxels_inside()
            .filter(|v| out(*v))
            .map(world)
            .collect()
    };
    let (p, q) = (border(&a), border(&b));
    let away = |from: &[DVec3], to: &[DVec3]| {
        let least = |p: &DVec3| {
            to.iter()
                .map(|q| p.distance(*q))
                .fold(f64::INFINITY, f64::min)
        };
        let mut all: Vec<f64> = from.iter().map(least).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let ways = [away(&p, &q), away(&q, &p)];
    let sum: f64 = ways.iter().flatten().sum();
    close(found.mean_mm, sum / (p.len() + q.len()) as f64);
    let high = |d: &Vec<f64>| d[(0.95 * d.len() as f64).ceil() as usize - 1];
    close(found.hausdorff95_mm, high(&ways[0]).max(high(&ways[1])));
    let same = backend(2).install(|| agreement(&a, &a)).unwrap();
    assert_eq!(
        (same.dice, same.mean_mm, same.hausdorff95_mm),
        (1.0, 0.0, 0.0)
    );
    assert!(agreement(&a, &Mask::empty(&grid)).is_err());
}

/// The error of a start, one sentence.
fn refused(image: &Volume, spheres: &[Sphere], params: &Params) -> String {
    let (backend, control) = (backend(1), Control::new());
    let begin = Start {
        mask: None,
        spheres: spheres.to_vec(),
    };
    let inputs = match backend.install(|| Inputs::new(image, 0)) {
        Ok(inputs) => inputs,
        Err(error) => return error.to_string(),
    };
    let evolution = Evolution::new(&inputs, &begin, params, Layout::BEST, &backend, &control);
    evolution.err().map(|e| e.to_string()).unwrap_or_default()
}

fn refusals() {
    let grid = grid(DMat3::IDENTITY, 20.0);
    let good = ones(&grid);
    let ball = [sphere(DVec3::ZERO, 5.0)];
    let flat = Volume::scalar(grid.clone(), vec![3.0; grid.voxel_count()]);
    let empty = Volume::scalar(grid.clone(), vec![f32::NAN; grid.voxel_count()]);
    let with = |change: &dyn Fn(&mut Params)| {
        let mut params = DEFAULTS;
        change(&mut params);
        refused(&good, &ball, &params)
    };
    let all = [
        (
            refused(&good, &[sphere(DVec3::X * 90.0, 5.0)], &DEFAULTS),
            "holds no voxel",
        ),
        (
            refused(&good, &[sphere(DVec3::ZERO, 0.0)], &DEFAULTS),
            "radius",
        ),
        (
            refused(&good, &[sphere(DVec3::ZERO, f64::NAN)], &DEFAULTS),
            "radius",
        ),
        (refused(&good, &[], &DEFAULTS), "add a sphere"),
        (
            refused(&good, &[sphere(DVec3::ZERO, 100.0)], &DEFAULTS),
            "make it smaller",
        ),
        (refused(&flat, &ball, &DEFAULTS), "contrast"),
        (refused(&empty, &ball, &DEFAULTS), "no voxel with a value"),
        (with(&|p| p.tolerance = 0.0), "tolerance"),
        (with(&|p| p.tolerance = f32::NAN), "tolerance"),
        (with(&|p| p.target = f32::NAN), "target"),
        (with(&|p| p.smoothness = 1.5), "smoothness"),
        (with(&|p| p.region = -1.0), "region"),
        (with(&|p| p.rescaling = f32::INFINITY), "rescaling"),
        (
            with(&|p| {
                p.layer = Some(arcuate::solvers::level_set::LayerSpeed {
                    low: 0.0,
                    high: 1.0,
                });
            }),
            "without a layer",
        ),
    ];
    for (sentence, word) in all {
        assert!(sentence.contains(word), "{word}: {sentence:?}");
        assert!(
            sentence.starts_with("Found") && sentence.contains("expected"),
            "{sentence}"
        );
    }
    // Nothing is painted and no term moves the surface: refused, and a run on the way is unchanged.
    let unmoved = Params {
        intensity: 0.0,
        bias: 1.0,
        ..STILL
    };
    assert!(refused(&good, &ball, &unmoved).contains("paint where it grows"));
    let mut evolution = begin(&good, &ball, &DEFAULTS, Layout::BEST);
    run(&mut evolution, 20);
    let before = (
        evolution.field().unwrap().values_by_voxel(),
        evolution.script(),
    );
    assert!(evolution.set(&unmoved, &backend(1)).is_err());
    assert_eq!(
        (
            evolution.field().unwrap().values_by_voxel(),
            evolution.script()
        ),
        before
    );
    // Voxels without a value keep the surface out and do no harm.
    let mut values = vec![1.0f32; grid.voxel_count()];
    for (i, v) in values.iter_mut().enumerate() {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|c| c as f64)));
        if at.x > 3.0 {
            *v = if i % 2 == 0 { f32::NAN } else { f32::INFINITY };
        }
        if at.x < -8.0 {
            *v = 0.0;
        }
    }
    let missing = values.iter().filter(|v| !v.is_finite()).count();
    let image = Volume::scalar(grid.clone(), values);
    let inputs = backend(1).install(|| Inputs::new(&image, 0)).unwrap();
    assert_eq!(inputs.missing, missing);
    // Also where region statistics alone draw it to voxels that resemble its inside.
    let by_region = Params {
        intensity: 0.0,
        region: 1.0,
        ..DEFAULTS
    };
    for params in [DEFAULTS, by_region] {
        let ball = [sphere(DVec3::X * -2.0, 4.0)];
        let mut evolution = begin(&image, &ball, &params, Layout::BEST);
        run(&mut evolution, 120);
        let field = evolution.field().unwrap();
        assert!(field.values_by_voxel().iter().all(|v| v.is_finite()));
        let mask = field.mask();
        let farthest = mask.voxels_inside().map(|v| v[0]).max().unwrap();
        assert!((11..=13).contains(&farthest), "{farthest}");
    }
    let probe = |image: &Volume, voxels: &[usize]| Probe::new(image, 0, voxels);
    assert!(
        probe(&good, &[])
            .unwrap_err()
            .to_string()
            .contains("probe more")
    );
    assert!(
        probe(&flat, &[5])
            .unwrap_err()
            .to_string()
            .contains("a tissue that differs")
    );
}

fn lost() {
    let grid = grid(DMat3::IDENTITY, 18.0);
    let image = ones(&grid);
    let mut evolution = begin(
        &image,
        &[sphere(DVec3::ZERO, 6.0)],
        &CURVATURE,
        Layout::BEST,
    );
    let ended = run(&mut evolution, 1000);
    assert_eq!(ended, Ended::Vanished);
    assert!(ended.sentence().unwrap().contains("its last state is kept"));
    // Everything kept is complete: a surface, and all data that belong to it.
    let inside = *evolution.growth().last().unwrap();
    assert!(inside > 0 && evolution.field().unwrap().mask().count() as u64 == inside);
    assert_eq!(evolution.growth().len() as u64, evolution.step() + 1);
    assert_eq!(run(&mut evolution, 1000), Ended::Vanished);

    let full = Volume::scalar(grid.clone(), {
        let mut values = vec![1.0; grid.voxel_count()];
        values[0] = 0.9;
        values
    });
    let mut evolution = begin(&full, &[sphere(DVec3::ZERO, 5.0)], &GROWTH, Layout::BEST);
    assert_eq!(run(&mut evolution, 1000), Ended::Filled);
    let kept = evolution.field().unwrap().values_by_voxel();
    // A cut that leaves nothing is refused, and changes nothing.
    let all = Sphere {
        add: false,
        ..sphere(DVec3::ZERO, 40.0)
    };
    let error = evolution
        .apply_sphere(&all, &backend(1))
        .unwrap_err()
        .to_string();
    assert!(error.contains("cut away less"), "{error}");
    assert_eq!(evolution.field().unwrap().values_by_voxel(), kept);
    let control = Control::new();
    control.cancel();
    assert!(evolution.run(10, &backend(1), &control).is_err());
}

/// Bodies with a contrast of this many standard deviations of the noise, one sphere in each, T and ε sampled inside,
/// all other parameters at their defaults.
fn tumour() {
    let mut random = Random::fresh("level set tumour");
    // A large one with bumps, and a ball of nine voxels.
    body_in_noise(&mut random, 14.0, 1.0);
    body_in_noise(&mut random, 9.0, 0.0);
}

fn body_in_noise(random: &mut Random, radius: f64, bumpy: f64) {
    let grid = grid(DMat3::IDENTITY, 2.0 * radius + 24.0);
    let waves: [(DVec3, f64); 4] = [0; 4].map(|_| {
        (
            random.direction() * random.uniform(0.1, 0.35),
            random.uniform(0.0, 6.0),
        )
    });
    let inside = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let bumps: f64 = waves.iter().map(|(k, p)| (k.dot(at) + p).sin()).sum();
        at.length() < radius + bumpy * bumps
    };
    let truth: Vec<u8> = (0..grid.voxel_count())
        .map(|i| u8::from(inside(i)))
        .collect();
    let truth = Mask::new(grid.clone(), truth);
    for (cnr, least) in [
        (2.0, 0.9),
        (3.0, 0.95),
        (4.0, 0.95),
        (6.0, 0.95),
        (10.0, 0.95),
    ] {
        let values: Vec<f32> = truth
            .inside
            .iter()
            .map(|t| (100.0 + 20.0 * (cnr * f64::from(*t) + random.normal())) as f32)
            .collect();
        let image = Volume::scalar(grid.clone(), values);
        let near = Shape::Sphere {
            centre: DVec3::ZERO,
            radius_mm: 4.0,
        };
        let near = near.mask_on(&grid);
        let near: Vec<usize> = near.voxels_inside().map(|v| grid.index(v)).collect();
        let probe = backend(2).install(|| Probe::new(&image, 0, &near)).unwrap();
        let params = level_set::Params::defaults_for(probe.target, probe.tolerance);
        let mut evolution = begin(&image, &[sphere(DVec3::ZERO, 5.0)], &params, Layout::BEST);
        // Where noise is half the contrast, some of the background lies in the range and the leak detector pauses the
        // run before it has reached the border. Other tests cover the detector.
        evolution.watched = false;
        let ended = run(&mut evolution, 600);
        let mask = evolution.field().unwrap().mask();
        let agreement = backend(2).install(|| agreement(&mask, &truth)).unwrap();
        println!(
            "{radius} mm, CNR {cnr}: {agreement:.3?} after {} steps, {ended:?}",
            evolution.step()
        );
        assert!(agreement.dice >= least, "{}", agreement.dice);
        // In noise of up to a sixth of the contrast the leak detector stays silent until the surface rests.
        if cnr >= 6.0 {
            let mut evolution = begin(&image, &[sphere(DVec3::ZERO, 5.0)], &params, Layout::BEST);
            assert!(evolution.watched);
            let ended = evolution.run(600, &backend(2), &Control::new()).unwrap();
            assert_eq!(ended, Ended::Converged, "{radius} mm, CNR {cnr}");
        }
    }
}

/// A body of 14 voxels in noise of a quarter of its contrast, and a sphere in it.
pub fn in_noise(random: &mut Random) -> (Volume, Sphere) {
    let grid = grid(DMat3::IDENTITY, 52.0);
    let waves: [(DVec3, f64); 4] = [0; 4].map(|_| {
        (
            random.direction() * random.uniform(0.1, 0.35),
            random.uniform(0.0, 6.0),
        )
    });
    let values: Vec<f32> = (0..grid.voxel_count())
        .map(|i| {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            let bumps: f64 = waves.iter().map(|(k, p)| (k.dot(at) + p).sin()).sum();
            let depth = 14.0 + bumps - at.length();
            (1.0 / (1.0 + (-1.7 * depth).exp()) + 0.25 * random.normal()) as f32
        })
        .collect();
    (Volume::scalar(grid, values), sphere(DVec3::ZERO, 6.0))
}

fn at_rest() {
    let mut random = Random::fresh("level set at rest");
    let (image, place) = in_noise(&mut random);
    let default_value = level_set::Params::defaults_for(1.0, 0.5);
    let every = |redistance_every, rescaling| Params {
        redistance_every,
        rescaling,
        ..default_value.clone()
    };
    let paper = Params {
        mode: Mode::Paper,
        ..default_value.clone()
    };
    // Without any term that keeps distances φ ends as a step, with single voxels in its middle, and a run ends where
    // the surface creeps by less than 0.005 voxels in 100 steps.
    let step = Params {
        smoothness: 0.0,
        ..every(0, 0.0)
    };
    for (name, params, most) in [
        ("redistanced every 20", every(20, 0.1), 0.02),
        ("redistanced every 30", every(30, 0.1), 0.02),
        ("rescaled", every(0, 0.1), 0.02),
        ("rescaled a little", every(0, 0.02), 0.02),
        ("free", every(0, 0.0), 0.02),
        ("paper", paper, 0.02),
        ("a step", step, 6.0 * 0.005 + 0.01),
    ] {
        let mut evolution = begin(&image, &[place], &params, Layout::BEST);
        // Noise may set off the leak detector, which other tests cover.
        evolution.watched = false;
        let (backend, control) = (backend(2), Control::new());
        let ended = evolution.run(3000, &backend, &control).unwrap();
        let (step, found) = (evolution.step(), evolution.field().unwrap());
        assert_eq!(ended, Ended::Converged, "{name}");
        // It stays there.
        evolution.run_unchecked(600, &backend, &control).unwrap();
        let later = evolution.field().unwrap();
        let moved = backend.install(|| later.moved(&found));
        println!("{name}: {step} steps, {moved:.4} voxels in 600 more");
        assert!(moved < most, "{name}: {moved}");
    }
    // A twentieth of a voxel in 100 steps: a user's change or a leak may begin this way.
    let grid = grid(DMat3::IDENTITY, 36.0);
    for (redistance_every, rescaling) in [(20, 0.1), (0, 0.1), (0, 0.0)] {
        let creeping = Params {
            target: 1.4995,
            smoothness: 0.0,
            rescaling,
            redistance_every,
            ..DEFAULTS
        };
        let ball = sphere(DVec3::ZERO, 9.0);
        let mut evolution = begin(&ones(&grid), &[ball], &creeping, Layout::BEST);
        evolution.watched = false;
        let before = evolution.field().unwrap();
        let ended = evolution.run(1000, &backend(2), &Control::new()).unwrap();
        let moved = evolution.field().unwrap().moved(&before);
        println!("creeping, redistanced every {redistance_every}: {moved:.3} voxels in 1000 steps");
        assert!(ended == Ended::Steps && moved > 0.2, "{ended:?} {moved}");
    }
    moves(&mut random);
}

/// A ball that grew by a known step, on any grid and however steep its φ is.
fn moves(random: &mut Random) {
    for (name, axes) in axes(random) {
        let grid = grid(axes, 44.0);
        let (centre, by) = (random.direction(), random.uniform(0.05, 0.3));
        let h = grid.spacing().min_element();
        let at = |radius: f64, slope: f32| {
            let ball = [sphere(centre, radius)];
            let mut field = begin(&ones(&grid), &ball, &GROWTH, Layout::BEST)
                .field()
                .unwrap();
            let clamp = field.clamp;
            let pages = field.pages.iter_mut();
            pages.for_each(|v| *v = (*v * slope).clamp(-clamp, clamp));
            field
        };
        for slope in [0.6, 1.0, 3.0] {
            let found = at(14.0 + by * h, slope).moved(&at(14.0, slope));
            // ∫ of the squared difference of two ramps of width 1 / slope.
            let s = f64::from(slope);
            let exact = by * (s * (1.0 - s * by / 3.0)).sqrt();
            println!("{name}, slope {slope}: {found:.4} of {exact:.4}");
            // Voxels that change; where ramps are steep on a flat grid there are a few hundred, and whole patches of a
            // layer lie within them or not.
            let thick = (by + 1.0 / s) * h;
            let voxels =
                4.0 * PI * 14.0 * 14.0 * thick / grid.world_from_voxel.matrix3.determinant().abs();
            let most = (3.0 / voxels.sqrt()).max(0.05);
            assert!(
                (found / exact - 1.0).abs() < most,
                "{found} {exact} {voxels}"
            );
        }
    }
}

fn masks() {
    let mut random = Random::fresh("level set masks");
    let grid = grid(DMat3::IDENTITY, 30.0);
    let centre = random.direction();
    let ball = Shape::Sphere {
        centre,
        radius_mm: 9.0,
    };
    let mask = ball.mask_on(&grid);
    let begin = Start {
        mask: Some(mask.clone()),
        spheres: Vec::new(),
    };
    let (backend, control) = (backend(2), Control::new());
    let inputs = backend.install(|| Inputs::new(&ones(&grid), 0)).unwrap();
    let evolution = Evolution::new(
        &inputs,
        &begin,
        &CURVATURE,
        Layout::BEST,
        &backend,
        &control,
    )
    .unwrap();
    // The field has the mask's voxels, with a distance around them.
    assert_eq!(evolution.field().unwrap().mask().inside, mask.inside);
    let (mean, worst) = super::radius(&evolution.field().unwrap(), centre, 9.0);
    println!("{mean:.3}, off by {worst:.3} at most");
    assert!((mean - 9.0).abs() < 0.2 && worst < 0.9, "{mean} {worst}");
    let depth = evolution.field().unwrap().values_by_voxel();
    for (i, phi) in depth.iter().enumerate() {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        let exact = (9.0 - at.distance(centre)).clamp(-3.0, 3.0) as f32;
        assert!((phi - exact).abs() < 1.2, "{phi} {exact}");
    }
}
