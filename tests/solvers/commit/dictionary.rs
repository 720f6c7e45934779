//! Lengths and directions of streamlines in voxels.

use super::dictionary_of;
use crate::density::walks;
use crate::support::fields::{backend, odd_grid};
use crate::support::{Random, lines, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume, VolumeKind};
use arcuate::phantom::Arcs;
use arcuate::solvers::commit::dictionary::{
    Dictionary, ImportedDictionary, Options, count_segments, estimate,
};
use arcuate::solvers::commit::directions;
use arcuate::solvers::commit::lines::{Lines, Survey, Take};
use arcuate::solvers::density::{Measure, Params, density};
use glam::DVec3;
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "commit::lengths are those in the grid, on any grid",
            conserved,
        ),
        test("commit::directions are the segments'", directed),
        test("commit::a blurred streamline keeps its length", blurred),
        test("commit::threads build the same dictionary", threads),
        test("commit::odd streamlines keep their place", odd),
        test("commit::peaks of voxels", peaks),
        test("commit::a dictionary from elsewhere", foreign),
        test("commit::segments are estimated", estimated),
        test("commit::streamlines in pieces", in_pieces),
    ]
}

fn build(tractogram: &Tractogram, grid: &Arc<Grid>, all: bool, blur: Option<f64>) -> Dictionary {
    let usable = vec![1u8; grid.voxel_count()];
    let options = Options {
        usable: &usable,
        all,
        blur_mm: blur,
        peaks: None,
    };
    Dictionary::build(tractogram, grid, &options, &Control::new()).unwrap()
}

fn conserved() {
    let mut random = Random::fresh("commit conserved");
    for _ in 0..20 {
        let grid = Arc::new(odd_grid(&mut random));
        let tractogram = walks(&mut random, 150, 20.0);
        let dictionary = backend(2).install(|| build(&tractogram, &grid, true, None));
        let params = Params {
            measure: Measure::Length,
            sent: None,
            by_direction: false,
        };
        let map = density(
            &tractogram,
            &grid,
            &params,
            None,
            &backend(2),
            &Control::new(),
        )
        .unwrap();
        let counts = dictionary.counts;
        assert!((counts.inside_mm - map.inside_mm).abs() < 1e-6 * map.inside_mm);
        assert!((counts.outside_mm - map.outside_mm).abs() < 1e-6 * map.outside_mm.max(1.0));
        // Half a unit per streamline.
        let sum: f64 = dictionary.lengths_mm().iter().sum();
        let bound = 0.5 * dictionary.unit_mm * tractogram.len() as f64;
        assert!(
            (sum - map.inside_mm).abs() <= bound + 1e-6 * sum,
            "{sum} {}",
            map.inside_mm
        );
        // One unit per record.
        for (i, &voxel) in dictionary.voxels.iter().enumerate() {
            let own = dictionary.in_voxel(i);
            let found: f64 = own.iter().map(|s| dictionary.length_mm(s)).sum();
            let requested = f64::from(map.volume.values[voxel as usize]);
            let bound = dictionary.unit_mm * (own.len() + 2) as f64 + 1e-5 * requested;
            assert!((found - requested).abs() <= bound, "{found} {requested}");
            assert!(
                own.is_sorted_by_key(|s| s.streamline),
                "in the streamlines' order"
            );
        }
    }
}

/// Σ ℓ o oᵀ of the records equals that of the segments, except for merged bends and the codes' cells.
fn directed() {
    let mut random = Random::fresh("commit directed");
    let grid =
        Arc::new(Grid::axis_aligned([40; 3], DVec3::splat(2.0), DVec3::splat(-39.0)).unwrap());
    for _ in 0..20 {
        let tractogram = walks(&mut random, 1, 20.0);
        let dictionary = build(&tractogram, &grid, false, None);
        if dictionary.counts.outside_mm > 0.0 {
            continue;
        }
        let dyad = |v: DVec3| {
            [
                v.x * v.x,
                v.x * v.y,
                v.x * v.z,
                v.y * v.y,
                v.y * v.z,
                v.z * v.z,
            ]
        };
        let (mut found, mut requested, mut length) = ([0.0; 6], [0.0; 6], 0.0);
        for segment in &dictionary.segments {
            let axis = directions::axis(segment.direction).as_dvec3();
            let mm = dictionary.length_mm(segment);
            found
                .iter_mut()
                .zip(dyad(axis))
                .for_each(|(f, d)| *f += mm * d);
        }
        let point = |p: [f32; 3]| DVec3::from_array(p.map(f64::from));
        for pair in tractogram.streamline(0).windows(2) {
            let way = point(pair[1]) - point(pair[0]);
            length += way.length();
            let axis = way.normalize_or_zero();
            let mm = way.length();
            requested
                .iter_mut()
                .zip(dyad(axis))
                .for_each(|(w, d)| *w += mm * d);
        }
        // 0.6° is 0.0105.
        let error = found
            .iter()
            .zip(requested)
            .map(|(f, w)| (f - w).abs())
            .fold(0.0, f64::max);
        assert!(error < 0.013 * length, "{error} of {length}");
    }
}

fn blurred() {
    let grid = Arc::new(Grid::axis_aligned([30; 3], DVec3::ONE, DVec3::splat(-14.5)).unwrap());
    let line = |turn: f64| -> Vec<DVec3> {
        let at = |i: i32| {
            let s = f64::from(i) * 0.5;
            DVec3::new(s, turn * s * s, 0.3 * s)
        };
        (-16..=16).map(at).collect()
    };
    let straight = lines(&[line(0.0)]);
    let bent = lines(&[line(0.03)]);
    for (tractogram, tolerance) in [(&straight, 1e-6), (&bent, 0.02)] {
        let plain = build(tractogram, &grid, false, None);
        let blurred = build(tractogram, &grid, false, Some(2.0));
        let (a, b) = (plain.counts.inside_mm, blurred.counts.inside_mm);
        // Copies inside a bend are shorter, copies outside longer.
        assert!((a - b).abs() < tolerance * a, "{a} {b}");
        assert!(blurred.voxels.len() > 3 * plain.voxels.len());
        for &voxel in &blurred.voxels {
            let at = grid.world(DVec3::from_array(
                grid.voxel(voxel as usize).map(|v| v as f64),
            ));
            let point = |p: &[f32; 3]| DVec3::from_array(p.map(f64::from));
            let near = tractogram
                .streamline(0)
                .iter()
                .map(|p| point(p).distance(at));
            // The radius, half a diagonal and half a step.
            assert!(near.fold(f64::INFINITY, f64::min) < 2.0 + 0.87 + 0.3);
        }
    }
}

fn threads() {
    let arcs = Arcs::new(700, 24, 3).unwrap();
    let one = backend(1).install(|| dictionary_of(&arcs, true));
    let two = backend(2).install(|| dictionary_of(&arcs, true));
    assert_eq!(one.segments, two.segments);
    assert_eq!(
        (one.offsets, one.voxels, one.peaks),
        (two.offsets, two.voxels, two.peaks)
    );
}

fn odd() {
    let grid = Arc::new(Grid::axis_aligned([10; 3], DVec3::ONE, DVec3::ZERO).unwrap());
    let p = DVec3::new;
    let nan = p(f64::NAN, 2.0, 2.0);
    let all = lines(&[
        vec![p(1.0, 1.0, 1.0)],
        vec![],
        vec![p(50.0, 1.0, 1.0), p(60.0, 1.0, 1.0)],
        vec![p(2.0, 2.0, 2.0), p(4.0, 2.0, 2.0)],
        vec![p(2.0, 3.0, 2.0), nan, p(4.0, 3.0, 2.0), p(5.0, 3.0, 2.0)],
        vec![p(3.0, 3.0, 3.0), p(3.0, 3.0, 3.0)],
        vec![p(-100.0, 5.0, 5.0), p(100.0, 5.0, 5.0)],
    ]);
    let dictionary = build(&all, &grid, false, None);
    let counts = dictionary.counts;
    assert_eq!(dictionary.streamlines, 7);
    assert_eq!(
        (counts.single_points, counts.outside, counts.not_finite),
        (2, 2, 2)
    );
    let lengths = dictionary.lengths_mm();
    for (found, expected) in lengths.iter().zip([0.0, 0.0, 0.0, 2.0, 1.0, 0.0, 10.0]) {
        assert!((found - expected).abs() < 1e-4, "{lengths:?}");
    }
    // Back and forth in one voxel more often than a record can hold.
    let round_trip: Vec<DVec3> = (0..400)
        .map(|i| p(5.0 + 0.4 * f64::from(i % 2), 5.0, 5.0))
        .collect();
    let dictionary = build(&lines(&[round_trip]), &grid, false, None);
    assert!((dictionary.lengths_mm()[0] - 399.0 * 0.4).abs() < 1e-3);
    assert!(dictionary.segments.len() > 10);
}

fn peaks() {
    let grid = Arc::new(Grid::axis_aligned([2, 1, 1], DVec3::ONE, DVec3::ZERO).unwrap());
    // Two peaks and one that is too short; then NaN and one peak.
    let first = [DVec3::X, DVec3::Y * 0.5, DVec3::Z * 0.05];
    let second = [DVec3::NAN, DVec3::ZERO, DVec3::new(0.6, 0.0, -0.8)];
    let mut values = vec![0f32; 18];
    for peak in 0..3 {
        for axis in 0..3 {
            values[(3 * peak + axis) * 2] = first[peak][axis] as f32;
            values[(3 * peak + axis) * 2 + 1] = second[peak][axis] as f32;
        }
    }
    let volume = Volume::new(grid.clone(), 9, VolumeKind::Scalar, values);
    let options = Options {
        usable: &[1, 1],
        all: true,
        blur_mm: None,
        peaks: Some(&volume),
    };
    let dictionary =
        Dictionary::build(&Tractogram::empty(), &grid, &options, &Control::new()).unwrap();
    let near = |code: u16, axis: DVec3| directions::axis(code).as_dvec3().dot(axis).abs() > 0.9999;
    let [a, b] = [0, 1].map(|v| dictionary.peaks_in(v));
    assert!(
        a.len() == 2 && near(a[0], DVec3::X) && near(a[1], DVec3::Y),
        "{a:?}"
    );
    assert!(b.len() == 1 && near(b[0], second[2]), "{b:?}");
    assert_eq!(dictionary.peak_count(), 3);
}

fn foreign() {
    let given = ImportedDictionary {
        streamline: &[3, 0, 1],
        voxel: &[2, 0, 2],
        direction: &[7, 8, 9],
        length: &[1.5, 0.5, 2.0],
        peak_voxel: &[1, 2, 2],
        peak_direction: &[4, 5, 6],
        streamlines: 4,
        voxels: 3,
    };
    let dictionary = given.dictionary().unwrap();
    assert_eq!(dictionary.offsets, [0, 1, 1, 3]);
    let own = dictionary.in_voxel(2);
    assert_eq!((own[0].streamline, own[0].direction), (3, 7));
    assert_eq!((own[1].streamline, own[1].direction), (1, 9));
    assert!((dictionary.length_mm(&own[0]) - 1.5).abs() < 1e-4);
    assert!(dictionary.peaks_in(0).is_empty());
    assert_eq!(
        (dictionary.peaks_in(1), dictionary.peaks_in(2)),
        (&[4][..], &[5, 6][..])
    );
}

fn estimated() {
    for (count, n) in [(300, 20), (2000, 48)] {
        let arcs = Arcs::new(count, n, 5).unwrap();
        let found = dictionary_of(&arcs, false).segments.len() as f64;
        let reported = estimate(
            count_segments(&arcs.tractogram, &arcs.grid),
            &arcs.grid,
            None,
        );
        assert!(
            (reported.segments as f64 / found - 1.0).abs() < 0.05,
            "{reported:?} {found}"
        );
    }
    // Streamlines that turn by 5° at each step.
    let spacing = DVec3::new(2.0, 2.0, 2.5);
    let grid = Arc::new(Grid::axis_aligned([40; 3], spacing, DVec3::ZERO).unwrap());
    let mut random = Random::fresh("commit estimated");
    let (mut points, mut offsets) = (Vec::new(), vec![0]);
    for _ in 0..200 {
        let [u, v] = [random.direction(), random.direction()];
        let v = (v - u * u.dot(v)).normalize();
        let centre = DVec3::from_array([(); 3].map(|()| random.uniform(10.0, 60.0)));
        for step in 0..60 {
            let angle = f64::from(step) * 5f64.to_radians();
            let at = centre + 6.0 * (u * angle.cos() + v * angle.sin());
            points.push(at.as_vec3().to_array());
        }
        offsets.push(points.len() as u64);
    }
    let turning = Tractogram::new(points, offsets);
    let found = build(&turning, &grid, false, None).segments.len() as f64;
    let reported = estimate(count_segments(&turning, &grid), &grid, None).segments as f64;
    assert!((reported / found - 1.0).abs() < 0.05, "{reported} {found}");
}

/// Streamlines that are passed on a few at a time, as from a file.
struct Pieces(Tractogram, usize);

impl Lines for Pieces {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn has_groups(&self) -> bool {
        false
    }

    fn survey(&self, grid: &Grid, control: &Control) -> Result<Survey, arcuate::solvers::Error> {
        let mut survey = Survey::default();
        self.pass(control, &mut |_, piece| {
            survey.add(piece, grid);
            Ok(())
        })?;
        Ok(survey)
    }

    fn pass(&self, _: &Control, take: &mut Take) -> Result<(), arcuate::solvers::Error> {
        for first in (0..self.0.len()).step_by(self.1) {
            let own = first..(first + self.1).min(self.0.len());
            let marks: Vec<bool> = (0..self.0.len()).map(|i| own.contains(&i)).collect();
            take(first, &self.0.filtered(&marks))?;
        }
        Ok(())
    }
}

fn in_pieces() {
    let mut random = Random::fresh("commit in pieces");
    for size in [1, 7, 300, 1000] {
        let grid = Arc::new(odd_grid(&mut random));
        let whole = walks(&mut random, 700, 20.0);
        let pieces = Pieces(whole.clone(), size);
        let control = Control::new();
        let surveys = backend(2).install(|| {
            [
                whole.survey(&grid, &control).unwrap(),
                pieces.survey(&grid, &control).unwrap(),
            ]
        });
        assert_eq!(surveys[0], surveys[1], "pieces of {size}");
        let usable = vec![1u8; grid.voxel_count()];
        let options = Options {
            usable: &usable,
            all: false,
            blur_mm: None,
            peaks: None,
        };
        let built = |lines: &dyn Lines| {
            let built = || Dictionary::build(lines, &grid, &options, &control);
            backend(2).install(built).unwrap()
        };
        let (a, b) = (built(&whole), built(&pieces));
        assert!(!a.segments.is_empty());
        assert!(a.segments == b.segments, "pieces of {size}");
        assert_eq!((a.offsets, a.voxels), (b.offsets, b.voxels));
        assert_eq!(a.streamlines, b.streamlines);
        // Sums in another order.
        let rounding = 1e-9 * a.counts.inside_mm;
        assert!((a.counts.inside_mm - b.counts.inside_mm).abs() < rounding);
        assert_eq!(a.counts.outside, b.counts.outside);
    }
}
