//! Selecting streamlines: regions against dense sampling, the logic of roles, values, random choice.

mod extremes;
mod groups;
mod images;
mod meeting;
mod parity;
mod pick;

use crate::support::fields::{cuboid, odd_grid, region, sphere};
use crate::support::{Random, cuda_test, test};
use arcuate::compute::{Backend, BackendChoice, BackendKind, Control};
use arcuate::data::{Grid, Mask, Region, Role, Shape, Tractogram, Volume};
use arcuate::solvers::curves::StopReason;
use arcuate::solvers::tractogram::selection::{
    Edit, RejectReason, Runs, Selection, SelectionRules, StreamlineRange, ValueCondition,
    apply_edits, column, copy_marked, means, select,
};
use glam::{DVec3, Vec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("selection::regions as in dense sampling", sampled),
        test("selection::roles as in formal logic", logic),
        test(
            "selection::what was cut at a region meets it",
            meeting::cut_at_a_region,
        ),
        test("selection::those of a group", groups::groups),
        test("selection::lengths and other values", values),
        test(
            "selection::lengths of very many points",
            extremes::very_many,
        ),
        test("selection::nothing of nothing", extremes::nothing),
        test("selection::a number at random", chance),
        test("selection::no number of threads changes it", threads),
        test("selection::odd streamlines", odd),
        test("selection::by why they stopped", stops),
        test("selection::by values that are given", given),
        test("selection::by an image's values", images::images),
        test("selection::steps that are done again", edits),
        test("selection::copies of some", copies),
        test(
            "selection::means of an image along streamlines",
            image_means,
        ),
        test("selection::the streamline under the pointer", pick::nearest),
        test("selection::streamlines within an outline", pick::enclosed),
        cuda_test("selection::parity of regions", parity::regions),
        cuda_test("selection::parity at borders of regions", parity::borders),
        cuda_test("selection::parity of distant segments", parity::distant),
        cuda_test("selection::parity of values", parity::values),
    ]
}

pub(super) fn on(threads: usize) -> Backend {
    Backend::choose(&BackendChoice {
        kind: BackendKind::Cpu,
        threads: Some(threads),
    })
    .unwrap()
}

fn run(tractogram: &Tractogram, rules: &SelectionRules) -> Selection {
    let selection = select(tractogram, rules, &on(2), &Control::new()).unwrap();
    let dropped: u64 = selection.dropped.iter().sum();
    assert_eq!(
        selection.kept_count() as u64 + dropped,
        tractogram.len() as u64,
        "each is kept or has a reason"
    );
    selection
}

fn by_regions(regions: Vec<Region>) -> SelectionRules {
    SelectionRules {
        regions,
        ..SelectionRules::default()
    }
}

/// Random walks of 1 to 90 points with segments of up to 4 mm, within some 30 mm.
pub(super) fn walks(random: &mut Random, count: usize) -> Tractogram {
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for _ in 0..count {
        let mut at = random.direction() * random.uniform(0.0, 25.0);
        let mut way = random.direction();
        for _ in 0..random.uniform(1.0, 91.0) as usize {
            points.push(at.as_vec3().to_array());
            way = (way + 0.3 * random.direction()).normalize();
            at += way * random.uniform(0.1, 4.0);
        }
        offsets.push(points.len() as u64);
    }
    Tractogram::new(points, offsets)
}

/// Voxels of a rotated, sheared grid, each inside at random.
fn speckles(random: &mut Random, share: f64) -> Mask {
    let grid = Arc::new(odd_grid(random));
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|_| u8::from(random.uniform(0.0, 1.0) < share))
        .collect();
    Mask::new(grid, inside)
}

fn a_region(random: &mut Random, role: Role) -> Region {
    let centre = random.direction() * random.uniform(0.0, 20.0);
    match (random.uniform(0.0, 3.0)) as u32 {
        0 => sphere(role, centre, random.uniform(0.5, 12.0)),
        1 => {
            let half = [0; 3].map(|_| random.uniform(0.3, 12.0));
            cuboid(role, centre, DVec3::from_array(half))
        }
        _ => region(role, Shape::Mask(speckles(random, 0.02))),
    }
}

fn world(point: [f32; 3]) -> DVec3 {
    Vec3::from(point).as_dvec3()
}

/// Points a hundredth of each segment apart.
fn is_sampled_in(shape: &Shape, line: &[[f32; 3]]) -> bool {
    const PARTS: usize = 100;
    let segment = |w: &[[f32; 3]]| {
        let [a, b] = [w[0], w[1]].map(world);
        (0..=PARTS).any(|k| shape.contains(a.lerp(b, k as f64 / PARTS as f64)))
    };
    line.windows(2).any(segment) || line.first().is_some_and(|p| shape.contains(world(*p)))
}

fn sampled() {
    let mut random = Random::fresh("selection sampled");
    let (mut both, mut grazed) = (0, 0);
    for _ in 0..30 {
        let lines = walks(&mut random, 60);
        let region = a_region(&mut random, Role::Include);
        let shape = region.shape.clone();
        let found = run(&lines, &by_regions(vec![region]));
        for (line, found) in lines.streamlines().zip(&found.marks) {
            match (is_sampled_in(&shape, line), *found) {
                (true, true) => both += 1,
                (true, false) => panic!("a streamline with a point in the region is not found"),
                // Between two samples, 0.04 mm apart.
                (false, true) => grazed += 1,
                (false, false) => {}
            }
        }
    }
    assert!(both > 50, "{both}");
    assert!(
        grazed * 20 < both,
        "{grazed} of {both} only touch the region between samples"
    );
}

fn logic() {
    let mut random = Random::fresh("selection logic");
    for by_ends in [false, true] {
        let lines = walks(&mut random, 400);
        let some_regions = |role: Role, random: &mut Random| -> Vec<Region> {
            (0..2).map(|_| a_region(random, role)).collect()
        };
        let roles = [Role::Include, Role::Exclude, Role::Target, Role::Mask];
        let mut regions: Vec<Region> = roles
            .iter()
            .flat_map(|r| some_regions(*r, &mut random))
            .collect();
        // Some stay inside this one.
        regions.push(sphere(Role::Mask, DVec3::ZERO, 30.0));
        let ends = SelectionRules {
            by_ends,
            ..SelectionRules::default()
        };
        let alone = |region: &Region, role: Role, ends: &SelectionRules| {
            let region = Region {
                role,
                ..region.clone()
            };
            let rules = SelectionRules {
                regions: vec![region],
                ..ends.clone()
            };
            run(&lines, &rules).marks
        };
        let with = |role: Role| regions.iter().filter(move |r| r.role == role);
        let include: Vec<_> = with(Role::Include)
            .map(|r| alone(r, Role::Include, &ends))
            .collect();
        let target: Vec<_> = with(Role::Target)
            .map(|r| alone(r, Role::Target, &ends))
            .collect();
        // An exclude region is touched anywhere, even where ends count.
        let touched: Vec<_> = with(Role::Exclude)
            .map(|r| alone(r, Role::Exclude, &SelectionRules::default()))
            .map(|left| left.iter().map(|kept| !kept).collect::<Vec<bool>>())
            .collect();
        let inside = |line: &[[f32; 3]]| {
            let stored = |p: &[f32; 3]| with(Role::Mask).any(|m| m.shape.contains(world(*p)));
            line.iter().all(stored)
        };
        let expected: Vec<bool> = (0..lines.len())
            .map(|i| {
                include.iter().all(|m| m[i])
                    && target.iter().any(|m| m[i])
                    && !touched.iter().any(|m| m[i])
                    && inside(lines.streamline(i))
            })
            .collect();
        let rules = SelectionRules {
            regions: regions.clone(),
            ..ends.clone()
        };
        let found = run(&lines, &rules);
        assert_eq!(found.marks, expected);
        // The complement.
        let inverted = run(
            &lines,
            &SelectionRules {
                invert: true,
                ..rules
            },
        );
        assert!((0..lines.len()).all(|i| inverted.marks[i] != found.marks[i]));
        assert_eq!(
            inverted.dropped[RejectReason::Inverted as usize],
            found.kept_count() as u64
        );
        // A streamline that touches an exclude region meets it; otherwise only one cut at it does.
        let exclude = with(Role::Exclude).next().unwrap();
        let met = alone(exclude, Role::Include, &SelectionRules::default());
        for (i, line) in lines.streamlines().enumerate() {
            assert!(met[i] || !touched[0][i]);
            if met[i] && !touched[0][i] {
                let beyond = |from: [f32; 3], end: [f32; 3]| {
                    let along = (world(end) - world(from)).normalize();
                    (1..=100).any(|k| {
                        exclude
                            .shape
                            .contains(world(end) + along * f64::from(k) * 1e-5)
                    })
                };
                let last = line.len() - 1;
                assert!(beyond(line[1], line[0]) || beyond(line[last - 1], line[last]));
            }
        }
    }
}

fn values() {
    let mut random = Random::fresh("selection values");
    let lines = walks(&mut random, 500);
    let fa: Vec<f32> = (0..lines.points.len())
        .map(|_| random.uniform(0.0, 1.0) as f32)
        .collect();
    let weight: Vec<f32> = (0..lines.len())
        .map(|i| if i == 7 { f32::NAN } else { i as f32 })
        .collect();
    let lines = lines
        .with_per_point("fa", fa)
        .with_per_streamline("weight", weight)
        // The lengths stored in the file may be outdated.
        .with_per_streamline("length", vec![0.0; 500]);
    let within = |name: &str, low: f32, high: f32| ValueCondition {
        name: name.to_owned(),
        low,
        high,
    };
    let with = |values: Vec<ValueCondition>| SelectionRules {
        values,
        ..SelectionRules::default()
    };
    let long = run(&lines, &with(vec![within("length", 50.0, f32::INFINITY)]));
    for (i, kept) in long.marks.iter().enumerate() {
        let mm: f64 = lines
            .streamline(i)
            .windows(2)
            .map(|w| world(w[0]).distance(world(w[1])))
            .sum();
        assert!(*kept == (mm >= 50.0) || (mm - 50.0).abs() < 1e-3, "{mm}");
    }
    let middle = run(
        &lines,
        &with(vec![within("weight", 3.0, 9.0), within("fa", 0.0, 1.0)]),
    );
    let kept: Vec<usize> = (0..500).filter(|&i| middle.marks[i]).collect();
    // Both limits are inclusive; NaN is within none.
    assert_eq!(kept, [3, 4, 5, 6, 8, 9]);
    assert_eq!(middle.dropped[RejectReason::Value as usize], 494);
    let high = run(&lines, &with(vec![within("fa", 0.5, 1.0)]));
    for (i, kept) in high.marks.iter().enumerate() {
        let own = lines.offsets[i] as usize..lines.offsets[i + 1] as usize;
        let own = &lines.per_point["fa"][own];
        let mean = own.iter().sum::<f32>() / own.len() as f32;
        assert!(*kept == (mean >= 0.5) || (mean - 0.5).abs() < 1e-5);
    }
    let unknown = with(vec![within("md", 0.0, 1.0)]);
    let error = select(&lines, &unknown, &on(1), &Control::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "The streamlines have no value “md”, expected one of length, fa, weight; name one of them"
    );
    // The values of the kept streamlines are kept too.
    let kept = lines.filtered(&middle.marks);
    assert_eq!(
        kept.per_streamline["weight"][..],
        [3.0, 4.0, 5.0, 6.0, 8.0, 9.0]
    );
    assert_eq!(kept.streamline(4), lines.streamline(8));
}

fn chance() {
    let mut random = Random::fresh("selection chance");
    let lines = walks(&mut random, 200);
    let some = |n: usize, seed: u64| SelectionRules {
        at_most: Some((n, seed)),
        ..SelectionRules::default()
    };
    let mut times = vec![0u32; lines.len()];
    const ROUNDS: u64 = 400;
    for seed in 0..ROUNDS {
        let found = run(&lines, &some(50, seed));
        assert_eq!(found.kept_count(), 50);
        assert_eq!(found.dropped[RejectReason::Chance as usize], 150);
        for (times, kept) in times.iter_mut().zip(&found.marks) {
            *times += u32::from(*kept);
        }
        if seed == 0 {
            assert_eq!(found, run(&lines, &some(50, seed)), "the same again");
            // A smaller number is a subset of a larger one.
            let fewer = run(&lines, &some(20, seed));
            assert!((0..200).all(|i| !fewer.marks[i] || found.marks[i]));
        }
    }
    // Each is drawn in a quarter of the rounds: 100 times, give or take 8.7; a deviation of six times that has odds of
    // 1 in 10⁹.
    assert!(times.iter().all(|t| (48..=152).contains(t)), "{times:?}");
    // Nor are early ones drawn more often than late ones: the mean place of the drawn ones is the middle, give or take
    // 57.7 √(150 / 199 / 50 / 400) = 0.35; six times that.
    let places = times.iter().enumerate();
    let sum: u64 = places.map(|(i, t)| i as u64 * u64::from(*t)).sum();
    let mean = sum as f64 / (50 * ROUNDS) as f64;
    assert!((mean - 99.5).abs() < 2.2, "{mean}");
    assert_eq!(run(&lines, &some(1000, 1)).kept_count(), 200);
    assert_eq!(run(&lines, &some(0, 1)).kept_count(), 0);
}

fn threads() {
    let mut random = Random::fresh("selection threads");
    let lines = walks(&mut random, 9000);
    let regions = vec![
        sphere(Role::Include, DVec3::new(5.0, 3.0, -2.0), 9.0),
        region(Role::Exclude, Shape::Mask(speckles(&mut random, 0.01))),
    ];
    let rules = SelectionRules {
        at_most: Some((500, 3)),
        ..by_regions(regions)
    };
    let one = select(&lines, &rules, &on(1), &Control::new()).unwrap();
    // Each has its own boxes.
    let repeated = Tractogram::new(lines.points.clone(), lines.offsets.clone());
    let four = select(&repeated, &rules, &on(4), &Control::new()).unwrap();
    assert!(one.kept_count() > 100);
    assert_eq!(one, four);
    let control = Control::new();
    control.cancel();
    assert!(select(&lines, &rules, &on(2), &control).is_err());
}

/// Nothing, a point, points of NaN, an empty mask.
fn odd() {
    let nan = [f32::NAN, 0.0, 0.0];
    let points = vec![
        [0.0, 0.0, 0.0],
        nan,
        nan,
        [-9.0, 0.0, 0.0],
        nan,
        [9.0, 0.0, 0.0],
    ];
    let lines = Tractogram::new(points, vec![0, 0, 1, 3, 6]);
    let ball = |role| sphere(role, DVec3::ZERO, 2.0);
    let found = run(&lines, &by_regions(vec![ball(Role::Include)]));
    assert_eq!(found.marks, [false, true, false, false]);
    let found = run(&lines, &by_regions(vec![ball(Role::Exclude)]));
    assert_eq!(found.marks, [true, false, true, true]);
    let found = run(&lines, &by_regions(vec![ball(Role::Mask)]));
    assert_eq!(found.marks, [true, true, false, false]);
    let mut random = Random::fresh("selection odd");
    let empty = speckles(&mut random, 0.0);
    let found = run(
        &lines,
        &by_regions(vec![region(Role::Include, Shape::Mask(empty))]),
    );
    assert_eq!(found.kept_count(), 0);
    assert_eq!(found.dropped[RejectReason::MissedInclude as usize], 4);
    assert_eq!(
        run(&Tractogram::empty(), &by_regions(vec![ball(Role::Target)])).kept_count(),
        0
    );
}

fn stops() {
    let mut random = Random::fresh("selection stops");
    let all = StopReason::ALL;
    let lines = walks(&mut random, 300);
    let mut draw = || -> Vec<f32> {
        let one = |_| f32::from(all[random.uniform(0.0, all.len() as f64) as usize] as u8);
        (0..300).map(one).collect()
    };
    let (start, end) = (draw(), draw());
    let rules = |stop| SelectionRules {
        stop: Some(stop),
        ..SelectionRules::default()
    };
    let error = select(&lines, &rules(StopReason::LowFa), &on(1), &Control::new()).unwrap_err();
    assert!(error.to_string().contains("no stop reasons"), "{error}");
    let lines = lines
        .with_per_streamline("stop_start", start.clone())
        .with_per_streamline("stop_end", end.clone());
    for reason in all {
        let found = run(&lines, &rules(reason));
        let requested = f32::from(reason as u8);
        for (i, mark) in found.marks.iter().enumerate() {
            assert_eq!(*mark, start[i] == requested || end[i] == requested);
        }
        assert_eq!(
            found.dropped[RejectReason::Stop as usize],
            300 - found.kept_count() as u64
        );
    }
}

fn given() {
    let mut random = Random::fresh("selection given");
    let lines = walks(&mut random, 200);
    let mut values: Vec<f32> = (0..200).map(|_| random.uniform(0.0, 1.0) as f32).collect();
    values[7] = f32::NAN;
    let rules = |values: &[f32]| SelectionRules {
        given: vec![StreamlineRange {
            values: values.into(),
            low: 0.25,
            high: f32::INFINITY,
        }],
        ..SelectionRules::default()
    };
    let found = run(&lines, &rules(&values));
    let expected: Vec<bool> = values.iter().map(|v| *v >= 0.25).collect();
    assert_eq!(found.marks, expected);
    let error = select(&lines, &rules(&values[1..]), &on(1), &Control::new()).unwrap_err();
    assert!(error.to_string().contains("Found 199 values"), "{error}");
}

/// Consecutive steps leave what the marks of each leave.
fn edits() {
    let mut random = Random::fresh("selection edits");
    let lines = walks(&mut random, 500);
    let ids: Vec<f32> = (0..500).map(|i| i as f32).collect();
    let lines = lines.with_per_streamline("id", ids);
    let by_region = by_regions(vec![a_region(&mut random, Role::Exclude)]);
    let first = run(&lines, &by_region);
    let left = lines.filtered(&first.marks);
    let manual: Vec<bool> = (0..left.len())
        .map(|_| random.uniform(0.0, 1.0) < 0.6)
        .collect();
    let runs = Runs::new(&manual);
    assert_eq!(runs.marks().unwrap(), manual);
    let some = SelectionRules {
        at_most: Some((50, 3)),
        ..SelectionRules::default()
    };
    let steps = [
        Edit::Select(Box::new(by_region)),
        Edit::Keep(runs.clone()),
        Edit::Select(Box::new(some.clone())),
    ];
    let found = apply_edits(&lines, &steps, None, &on(2), &Control::new()).unwrap();
    let left = left.filtered(&manual);
    let left = left.filtered(&run(&left, &some).marks);
    assert_eq!(found.per_streamline["id"], left.per_streamline["id"]);
    assert_eq!(found.points[..], left.points[..]);
    assert_eq!(found.len(), 50);
    // The same numbers in another set would be other streamlines.
    let others = manual.len() - 1;
    let fewer = lines.filtered(&(0..500).map(|i| i < others).collect::<Vec<_>>());
    let error =
        apply_edits(&fewer, &[Edit::Keep(runs)], None, &on(1), &Control::new()).unwrap_err();
    let text = format!("Found {others} streamlines");
    assert!(error.to_string().contains(&text), "{error}");
    let beyond = Runs {
        selection_options: None,
        total: 500,
        runs: vec![[499, 2]],
    };
    let error =
        apply_edits(&lines, &[Edit::Keep(beyond)], None, &on(1), &Control::new()).unwrap_err();
    assert!(error.to_string().contains("beyond the last"), "{error}");
}

/// The marked streamlines, each with all its data; refused where there is too little memory for them.
fn copies() {
    let mut random = Random::fresh("selection copies");
    let lines = walks(&mut random, 300);
    let ids: Vec<f32> = (0..300).map(|i| i as f32).collect();
    let values: Vec<f32> = (0..lines.points.len()).map(|i| i as f32).collect();
    let members: Vec<u32> = (0..300).filter(|i| i % 7 == 0).collect();
    let lines = lines.with_per_streamline("id", ids);
    let lines = lines
        .with_per_point("value", values)
        .with_group("some", members);
    // Runs of every length, at the ends too.
    let share = random.uniform(0.0, 1.0);
    let mut marks: Vec<bool> = (0..300).map(|_| random.uniform(0.0, 1.0) < share).collect();
    (marks[0], marks[299]) = (true, random.uniform(0.0, 1.0) < 0.5);
    let some = copy_marked(&lines, &marks, None).unwrap();
    let kept: Vec<usize> = (0..300).filter(|&i| marks[i]).collect();
    assert_eq!(some.len(), kept.len());
    for (new, &old) in kept.iter().enumerate() {
        assert_eq!(some.streamline(new), lines.streamline(old));
        assert_eq!(some.per_streamline["id"][new], old as f32);
        let at = |t: &Tractogram, i: usize| t.offsets[i] as usize..t.offsets[i + 1] as usize;
        let values = |t: &Tractogram, i: usize| t.per_point["value"][at(t, i)].to_vec();
        assert_eq!(values(&some, new), values(&lines, old));
        assert_eq!(some.groups["some"].contains(&(new as u32)), old % 7 == 0);
    }
    // Twelve bytes per point, and four for its value.
    let bytes = 16 * some.points.len() as u64;
    assert!(copy_marked(&lines, &marks, Some(bytes)).is_ok());
    let error = copy_marked(&lines, &marks, Some(bytes - 1)).unwrap_err();
    let text = format!("A copy of {} streamlines", kept.len());
    assert!(error.to_string().starts_with(&text), "{error}");
}

fn image_means() {
    let mut random = Random::fresh("selection means");
    let grid = Grid::axis_aligned([40; 3], DVec3::splat(2.0), DVec3::splat(-40.0)).unwrap();
    let slope = random.direction() * 0.1;
    let value_at = |at: DVec3| 3.0 + slope.dot(at);
    let n = grid.voxel_count();
    let world = |i: usize| grid.world(DVec3::from_array(grid.voxel(i % n).map(|c| c as f64)));
    // Trilinear values of a linear field are exact; the second frame is that times two.
    let value = |i: usize| (value_at(world(i)) * if i < n { 1.0 } else { 2.0 }) as f32;
    let values: Vec<f32> = (0..2 * n).map(value).collect();
    let kind = arcuate::data::VolumeKind::Scalar;
    let volume = Volume::new(Arc::new(grid.clone()), 2, kind, values);
    let lines = walks(&mut random, 300);
    for frame in 0..2 {
        let found = means(&lines, &volume, frame, &on(2), &Control::new()).unwrap();
        for (line, found) in lines.streamlines().zip(&found) {
            let (low, high) = (DVec3::splat(-40.0), DVec3::splat(38.0));
            // Points in no voxel do not count; the border belongs to the image, with a thousandth of a voxel.
            let inside = |p: &&[f32; 3]| {
                glam::Vec3::from(**p).as_dvec3() == world_in(**p, low - 1.002, high + 1.002)
            };
            let points: Vec<f64> = line
                .iter()
                .filter(inside)
                .map(|p| value_at(world_in(*p, low, high)))
                .collect();
            let mean = points.iter().sum::<f64>() / points.len() as f64 * (frame + 1) as f64;
            let same = (f64::from(*found) - mean).abs() < 1e-4;
            assert!(
                same || (points.is_empty() && found.is_nan()),
                "{found} for {mean}"
            );
        }
    }
    let lengths = column(&lines, "length", &on(2), &Control::new()).unwrap();
    assert!((0..300).all(|i| lengths[i] == lines.length_mm(i)));
    let error = column(&lines, "fa", &on(2), &Control::new()).unwrap_err();
    assert!(error.to_string().contains("no value “fa”"), "{error}");
}

fn world_in(point: [f32; 3], low: DVec3, high: DVec3) -> DVec3 {
    world(point).clamp(low, high)
}
