//! Properties that hold for every field.

use super::{PARAMS, cube, nested, oblique, source, spread, spread_by, swirl};
use crate::support::fields::{backend, cuboid, sphere};
use crate::support::{Random, test, thread_time};
use arcuate::compute::{Backend, Control};
use arcuate::data::{Grid, Mask, Region, Role, Shape};
use arcuate::solvers::eikonal::{
    CostField, CostSource, LocalSolver, Params, Prepared, Schedule, iterates, solve,
};
use arcuate::solvers::metric::Metric;
use glam::{DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("eikonal::any schedule gives the same", schedules),
        test("eikonal::u never rises between iterations", falling),
        test("eikonal::values come down from above", above),
        test("eikonal::symmetry and triangle inequality", symmetry),
        test("eikonal::costs of parts of a way", triangles),
        test("eikonal::the mask is never crossed", mask),
        test("eikonal::regions become sources", sources),
        test("eikonal::laying out is cancelled", cancelled),
        test("eikonal::refusals are sentences", refusals),
    ]
}

fn schedules() {
    let mut random = Random::fresh("schedules");
    let grid = cube(29);
    let speed = swirl(&mut random, &grid, 12.0);
    let hole = random.direction() * 7.0 + 14.0;
    let open = |v: [usize; 3]| DVec3::from_array(v.map(|c| c as f64)).distance(hole) > 4.0;
    let metric = Metric::from_speed(&grid, |v| open(v).then(|| speed(v))).unwrap();
    let from = [metric.voxel(random.bits() as usize % metric.len())];
    for local in LocalSolver::ALL {
        let reference = spread(&metric, local, &from);
        let tries = [
            ([4, 4], 4, 4, 1),
            ([4, 4], 1, 1, 2),
            ([1, 1], 2, 1, 1),
            ([8, 8], 20, 16, 2),
            ([2, 7], 3, 100, 4),
        ];
        for (brick, inner, one_in, threads) in tries {
            let schedule = Schedule {
                brick,
                inner,
                one_in,
            };
            let field = spread_by(&metric, local, &from, Some(schedule), threads);
            let pairs = field.values.iter().zip(reference.values.iter());
            let off = pairs
                .map(|(a, b)| {
                    assert_eq!(a.is_finite(), b.is_finite());
                    if a.is_finite() {
                        (a - b).abs() / b.max(1.0)
                    } else {
                        0.0
                    }
                })
                .fold(0.0, f32::max);
            println!("{} {schedule:?} on {threads}: {off:.1e}", local.key());
            // The tolerance times the number of hops to the farthest voxel.
            assert!(off <= 5e-5, "{off}");
        }
    }
}

/// All local solvers, schedules and numbers of threads: a visit writes only values below those it read, and no two
/// visits of a batch write to one brick.
fn falling() {
    let mut random = Random::fresh("falling");
    let grid = cube(31);
    let speed = swirl(&mut random, &grid, 9.0);
    let hole = random.direction() * 6.0 + 15.0;
    let open = |v: [usize; 3]| DVec3::from_array(v.map(|c| c as f64)).distance(hole) > 4.0;
    let metric = Metric::from_speed(&grid, |v| open(v).then(|| speed(v))).unwrap();
    let mut pick = || metric.voxel(random.bits() as usize % metric.len());
    let sources = [0; 2].map(|_| Arc::new(source(&metric, "A", &[pick()])));
    let control = Control::new();
    for local in LocalSolver::ALL {
        for (threads, inner, one_in) in [(1, 1, 1), (2, 4, 4), (4, 3, 16)] {
            let backend = backend(threads);
            let prepared = Prepared::new(&metric, local, &backend, &control).unwrap();
            let schedule = Some(Schedule {
                brick: [4, 4],
                inner,
                one_in,
            });
            let params = Params { schedule, ..PARAMS };
            let mut seen = vec![vec![f32::INFINITY; metric.len()]; 2];
            let (mut looks, mut fell) = (0, 0);
            let look = |values: Vec<Vec<f32>>| {
                for (before, now) in seen.iter().flatten().zip(values.iter().flatten()) {
                    assert!(now <= before, "{before} rose to {now}");
                    fell += usize::from(now < before && before.is_finite());
                }
                seen = values;
                looks += 1;
            };
            iterates(&prepared, &sources, &params, &backend, &control, look).unwrap();
            let reached = seen.iter().flatten().filter(|v| v.is_finite()).count();
            println!(
                "{} on {threads}: {looks} batches, {reached} values fell {fell} times once reached",
                local.key()
            );
            // Some are corrected after they were reached, so the test had something to check.
            assert!(looks > 2 && reached > 1000 && fell > 0);
            let fields = solve(&prepared, &sources, &params, &backend, &control).unwrap();
            for (seen, field) in seen.iter().zip(&fields) {
                for (a, b) in seen.iter().zip(field.values.iter()) {
                    assert!(a == b || (a - b).abs() <= 5e-5 * b.max(1.0), "{a} {b}");
                }
            }
        }
    }
}

fn above() {
    from_above(&backend(2));
}

/// No value is ever less than the solution, however early solving ends, and a larger region or mask never costs more:
/// iterations that only lower values, by monotone local solvers, guarantee this. On a card, where one launch computes a
/// field and nobody can look at it meanwhile, this is the part visible from outside; there no value rises by
/// construction, since the kernel writes values by atomicMin alone.
pub fn from_above(backend: &Backend) {
    let mut random = Random::fresh("from above");
    let grid = cube(31);
    let speed = swirl(&mut random, &grid, 9.0);
    let hole = random.direction() * 6.0 + 15.0;
    let open = |v: [usize; 3]| DVec3::from_array(v.map(|c| c as f64)).distance(hole) > 4.0;
    let holed = Metric::from_speed(&grid, |v| open(v).then(|| speed(v))).unwrap();
    let whole = Metric::from_speed(&grid, |v| Some(speed(v))).unwrap();
    let mut pick = || holed.voxel(random.bits() as usize % holed.len());
    let (a, b) = (pick(), pick());
    let control = Control::new();
    // Two ways to round one fixed point.
    const ROUNDING: f32 = 1e-5;
    let lower = |low: f32, high: f32| low <= high * (1.0 + ROUNDING);
    for local in LocalSolver::ALL {
        let solved = |metric: &Metric, zero: &[&[[i64; 3]]], tolerance: f32| -> Vec<CostField> {
            let prepared = Prepared::new(metric, local, backend, &control).unwrap();
            let params = Params {
                tolerance,
                ..PARAMS
            };
            let zero = zero.iter().map(|z| Arc::new(source(metric, "A", z)));
            let sources: Vec<Arc<CostSource>> = zero.collect();
            solve(&prepared, &sources, &params, backend, &control).unwrap()
        };
        let exact = solved(&holed, &[&[a], &[b], &[a, b]], 0.0);
        let mut above = Vec::new();
        for tolerance in [0.09, 0.02, 0.004] {
            let early = &solved(&holed, &[&[a]], tolerance)[0];
            let pairs = early.values.iter().zip(exact[0].values.iter());
            let mut sum = 0.0;
            for (early, exact) in pairs.filter(|(_, e)| e.is_finite() && **e > 0.0) {
                assert!(lower(*exact, *early), "{early} below {exact}");
                sum += f64::from(early / exact - 1.0);
            }
            above.push(sum / exact[0].values.len() as f64);
        }
        println!("{}: {above:.6?} above the solution", local.key());
        assert!(above[0] > 1e-5 && above[2] < 0.5 * above[0], "{above:?}");
        let [one, other, both] = [0, 1, 2].map(|k| &exact[k].values);
        let open = &solved(&whole, &[&[a]], 0.0)[0];
        for place in 0..holed.len() {
            assert!(lower(both[place], one[place].min(other[place])));
            // The hybrid charges a long step the cost of its dearer path, even of a path that opens.
            let in_whole = whole.place_of(holed.voxel(place)).unwrap();
            let more = local == LocalSolver::Hybrid || lower(open.values[in_whole], one[place]);
            assert!(more, "{} {}", open.values[in_whole], one[place]);
        }
    }
}

/// Voxels that touch only along edges: only laying them out takes time.
fn cancelled() {
    let grid = cube(112);
    let isolated = |v: [usize; 3]| (v[0] + v[1] + v[2]).is_multiple_of(2);
    let metric = Metric::from_speed(&grid, |v| isolated(v).then_some(DMat3::IDENTITY)).unwrap();
    let backend = backend(1);
    let sources = [Arc::new(source(&metric, "A", &[[4, 4, 4]]))];
    // CPU time of the only worker, which other programs do not change.
    let solve = |control: &Control| {
        let prepared = Prepared::new(&metric, LocalSolver::HopfLax26, &backend, control).unwrap();
        backend.install(|| {
            let before = thread_time();
            let solved = solve(&prepared, &sources, &PARAMS, &backend, control);
            (solved, thread_time() - before)
        })
    };
    let (solved, whole) = solve(&Control::new());
    let reached = solved.unwrap()[0]
        .values
        .iter()
        .filter(|v| v.is_finite())
        .count();
    assert_eq!(reached, 1);
    // The system may wake the sleeping thread late, so a run may need another attempt.
    let early = (0..10).any(|_| {
        let control = Control::new();
        let (solved, early) = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(whole / 5);
                control.cancel();
            });
            solve(&control)
        });
        println!("laid out and solved in {whole:.1?}, cancelled in {early:.1?}");
        solved.is_err_and(|e| e.to_string() == "Cancelled") && early < whole * 4 / 5
    });
    assert!(early, "the cancel is noticed only after all the work");
}

fn symmetry() {
    let mut random = Random::fresh("symmetry");
    for n in [17i64, 33] {
        let grid = cube(n as usize);
        let speed = oblique(&mut random, 4.0);
        let wave = |v: [usize; 3]| 1.0 + 0.5 * (v[0] as f64 / n as f64 * 6.0).sin();
        let metric = Metric::from_speed(&grid, |v| Some(speed * wave(v))).unwrap();
        let at = |i: i64, j: i64, k: i64| [i * (n - 1) / 8, j * (n - 1) / 8, k * (n - 1) / 8];
        let points = [at(1, 2, 1), at(6, 3, 7), at(2, 7, 5)];
        let fields = points.map(|p| spread(&metric, LocalSolver::Hybrid, &[p]));
        let u =
            |a: usize, b: usize| f64::from(fields[a].values[metric.place_of(points[b]).unwrap()]);
        let mut worst = 0.0f64;
        for (a, b, c) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            worst = worst.max((u(a, b) / u(b, a) - 1.0).abs());
            assert!(u(a, c) <= (u(a, b) + u(b, c)) * 1.02);
        }
        println!("{n}: there and back differ by {worst:.4}");
        // First order: a few percent at most on these grids.
        assert!(worst < 1.2 / n as f64);
    }
}

/// u(a, c) ≤ u(a, b) + u(b, c), with every local solver; on the way from a to c it is nearly equal.
fn triangles() {
    let mut random = Random::fresh("triangles");
    let metrics = nested(&mut random, 4.0);
    let mut sums = (0.0, 0.0);
    for local in LocalSolver::ALL {
        let worst = metrics.each_ref().map(|(metric, q)| {
            let (backend, control) = (backend(2), Control::new());
            let prepared = Prepared::new(metric, local, &backend, &control).unwrap();
            let at = |fine: [i64; 3]| metric.place_of(fine.map(|c| c / q)).unwrap();
            let points = [
                [8, 8, 12],
                [40, 36, 32],
                [12, 40, 20],
                [28, 24, 24],
                [24, 20, 20],
            ]
            .map(at);
            let source =
                |place: usize| Arc::new(CostSource::places(metric, "A", vec![place as u32]));
            let fields =
                solve(&prepared, &points.map(source), &PARAMS, &backend, &control).unwrap();
            let u = |a: usize, b: usize| f64::from(fields[a].values[points[b]]);
            let mut worst = (f64::NEG_INFINITY, 0.0f64);
            for a in 0..5 {
                for c in (0..5).filter(|c| *c != a) {
                    worst.1 += (u(a, c) / u(c, a) - 1.0).abs() / 20.0;
                    for b in (0..5).filter(|b| *b != a && *b != c) {
                        worst.0 = worst.0.max(u(a, c) / (u(a, b) + u(b, c)) - 1.0);
                    }
                }
            }
            worst
        });
        println!("{}: {worst:.4?} at h = 2, 1, ½ mm", local.key());
        for ((sides, _), h) in worst.iter().zip([2.0, 1.0, 0.5]) {
            // A step is charged by the metric where it ends, so b's field and a's differ on the way by as much as the
            // outward path and its reverse: first order.
            assert!(*sides < 0.06 * h, "{sides}");
        }
        // The outward path equals its reverse on average: first order, less a logarithm at either source.
        let [coarse, _, fine] = worst.map(|w| w.1);
        assert!(fine < 0.1, "{fine}");
        sums = (sums.0 + coarse, sums.1 + fine);
    }
    // A single local solver may have small errors on the coarse grid by chance.
    assert!(sums.1 < 0.9 * sums.0, "{sums:?}");
}

/// Chambers that touch along an edge, at a corner, or through a door.
fn mask() {
    let mut random = Random::fresh("mask");
    let grid = cube(16);
    let speed = oblique(&mut random, 10.0);
    let chamber = |v: [usize; 3]| [v[0] / 8, v[1] / 8, v[2] / 8];
    for local in LocalSolver::ALL {
        // Chambers 000 and 011 share an edge, 000 and 111 a corner.
        for other in [[0, 1, 1], [1, 1, 1]] {
            let inside = |v: [usize; 3]| chamber(v) == [0; 3] || chamber(v) == other;
            let metric = Metric::from_speed(&grid, |v| inside(v).then_some(speed)).unwrap();
            let field = spread(&metric, local, &[[3, 3, 3]]);
            for place in 0..metric.len() {
                let here = chamber(metric.voxel(place).map(|c| c as usize)) == [0; 3];
                let reached = field.values[place].is_finite();
                assert!(!reached || here, "{} slips through", local.key());
                assert!(reached || !here || local == LocalSolver::Selling);
            }
        }
        // A wall at x = 8 with one door: every path behind it passes the door.
        let door = [8, 2, 13];
        let inside = |v: [usize; 3]| v[0] != 8 || v == door;
        let metric = Metric::from_speed(&grid, |v| inside(v).then_some(DMat3::IDENTITY)).unwrap();
        let from = [2, 12, 3];
        let field = spread(&metric, local, &[from]);
        let to = |v: [f64; 3]| DVec3::from_array(v);
        let through = to(door.map(|c| c as f64));
        for place in 0..metric.len() {
            let x = to(metric.voxel(place).map(|c| c as f64));
            let way = if x.x > 8.0 {
                to(from.map(|c| c as f64)).distance(through) + through.distance(x)
            } else {
                to(from.map(|c| c as f64)).distance(x)
            };
            assert!(f64::from(field.values[place]) >= way * (1.0 - 1e-5));
        }
    }
}

fn sources() {
    let grid = cube(20);
    let metric = Metric::from_speed(&grid, |v| (v[0] > 1).then_some(DMat3::IDENTITY)).unwrap();
    let ball = sphere(Role::Seed, DVec3::new(9.0, 10.0, 11.0), 3.3);
    let source = CostSource::region(&metric, &ball).unwrap();
    let stored = |place: usize| {
        let voxel = metric.voxel(place).map(|c| c as f64);
        ball.shape.contains(DVec3::from_array(voxel))
    };
    for place in 0..metric.len() {
        let zero = source.zero.binary_search(&(place as u32)).is_ok();
        assert_eq!(zero, stored(place));
    }
    // The metric is flat in the ball around it: straight paths to the nearest voxel.
    for seed in &source.seeds {
        let ways = source.zero.iter().map(|&z| {
            let [a, b] = [z, seed.place]
                .map(|p| DVec3::from_array(metric.voxel(p as usize).map(|c| c as f64)));
            a.distance(b)
        });
        let least = ways.fold(f64::INFINITY, f64::min);
        assert!((f64::from(seed.value) - least).abs() < 1e-5);
    }
    // A region between voxel centres is represented by the voxel that contains its centre.
    let small = sphere(Role::Seed, DVec3::new(5.3, 5.3, 5.3), 0.1);
    let one = CostSource::region(&metric, &small).unwrap();
    assert_eq!(one.zero, [metric.place_of([5, 5, 5]).unwrap() as u32]);
    // A thin region on a finer grid between their centres, drawn on another scan: the voxels that contain it.
    let fine = Grid::axis_aligned([80; 3], DVec3::splat(0.25), DVec3::splat(0.125)).unwrap();
    let fine = Arc::new(fine);
    let sheet = |v: usize| {
        let [x, y, z] = fine.voxel(v);
        u8::from(y == 25 && (20..40).contains(&x) && (20..40).contains(&z))
    };
    let sheet = Mask::new(
        fine.clone(),
        (0..fine.voxel_count()).map(sheet).collect::<Vec<u8>>(),
    );
    let thin = Region {
        shape: Arc::new(Shape::Mask(sheet)),
        ..ball.clone()
    };
    let thin = CostSource::region(&metric, &thin).unwrap();
    for &place in &thin.zero {
        let [x, y, z] = metric.voxel(place as usize);
        assert!(y == 6 && (5..=10).contains(&x) && (5..=10).contains(&z));
    }
    assert_eq!(thin.zero.len(), 36);
}

fn refusals() {
    let grid = cube(8);
    let metric = Metric::from_speed(&grid, |v| (v[0] < 4).then_some(DMat3::IDENTITY)).unwrap();
    let away = cuboid(Role::Target, DVec3::new(7.0, 4.0, 4.0), DVec3::ONE);
    let error = CostSource::region(&metric, &away).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("Region “Target” lies outside the mask")
    );
    let nothing = Metric::from_speed(&grid, |_| None).unwrap_err();
    assert!(
        nothing.to_string().contains("expected at least one"),
        "{nothing}"
    );
    let (backend, control) = (backend(1), Control::new());
    let prepared = Prepared::new(&metric, LocalSolver::Hybrid, &backend, &control).unwrap();
    let sources = [Arc::new(source(&metric, "A", &[[1, 1, 1]]))];
    let params = Params {
        tolerance: f32::NAN,
        ..PARAMS
    };
    let error = solve(&prepared, &sources, &params, &backend, &control).unwrap_err();
    assert!(error.to_string().contains("a tolerance of NaN"), "{error}");
    let small = Metric::from_speed(&cube(2), |_| Some(DMat3::IDENTITY)).unwrap();
    let other = Prepared::new(&small, LocalSolver::Hybrid, &backend, &control).unwrap();
    let error = solve(&other, &sources, &PARAMS, &backend, &control).unwrap_err();
    assert!(
        error.to_string().contains("made for another mask"),
        "{error}"
    );
    control.cancel();
    let error = solve(&prepared, &sources, &PARAMS, &backend, &control).unwrap_err();
    assert_eq!(error.to_string(), "Cancelled");
}
