//! Density maps: closed forms, dense sampling, conservation on any grid.

pub mod parity;

use crate::support::fields::{backend, odd_grid};
use crate::support::{Random, lines, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram, Volume};
use arcuate::io::nifti;
use arcuate::solvers::Error;
use arcuate::solvers::density::{DensityGrid, Measure, Output, Params, density};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    let mut all = parity::tests();
    all.extend([
        test("density::straight lines in closed form", straight),
        test("density::no length is lost on any grid", conserved),
        test("density::lengths as in dense sampling", sampled),
        test("density::a streamline counts once in a voxel", once),
        test("density::finer voxels hold what coarse ones held", finer),
        test("density::colours are directions", directions),
        test("density::threads give the same bytes", threads),
        test("density::odd streamlines and grids", odd),
        test("density::a count beyond single precision is kept", counts),
    ]);
    all
}

fn plain(measure: Measure) -> Params {
    Params {
        measure,
        ..Params::defaults()
    }
}

fn run(tractogram: &Tractogram, grid: &Arc<Grid>, params: &Params) -> Output {
    density(tractogram, grid, params, None, &backend(2), &Control::new()).unwrap()
}

/// Random walks of 2 to 60 points, segments from a hundredth of a mm to several voxels long.
pub fn walks(random: &mut Random, count: usize, radius: f64) -> Tractogram {
    let walk = |_| {
        let mut at = random.direction() * random.uniform(0.0, radius);
        let mut way = random.direction();
        let mut line = Vec::new();
        for _ in 0..random.uniform(2.0, 61.0) as usize {
            line.push(at);
            way = (way + 0.4 * random.direction()).normalize();
            at += way * 10f64.powf(random.uniform(-2.0, 0.9));
        }
        line
    };
    lines(&(0..count).map(walk).collect::<Vec<_>>())
}

fn point(p: [f32; 3]) -> DVec3 {
    DVec3::from_array(p.map(f64::from))
}

/// Length in double precision, from the points as stored.
fn length_mm(tractogram: &Tractogram) -> f64 {
    let line = |l: &[[f32; 3]]| -> f64 {
        l.windows(2)
            .map(|p| point(p[0]).distance(point(p[1])))
            .sum()
    };
    tractogram.streamlines().map(line).sum()
}

fn sum(values: &[f32]) -> f64 {
    values.iter().copied().map(f64::from).sum()
}

/// A line along an axis leaves one voxel's edge in each voxel, one along a diagonal its diagonal; the end voxels hold
/// the length of their parts.
fn straight() {
    let mut random = Random::fresh("density straight");
    for _ in 0..20 {
        let grid = Arc::new(odd_grid(&mut random));
        let [nx, ny, nz] = grid.shape;
        let row = [ny / 2, nz / 3];
        let (begin, end) = (random.uniform(-0.45, 0.45), random.uniform(-0.45, 0.45));
        let at = |x: f64| grid.world(DVec3::new(x, row[0] as f64, row[1] as f64));
        let last = (nx - 1) as f64;
        let line = lines(&[vec![at(begin), at(last + end)]]);
        let map = run(&line, &grid, &plain(Measure::Length));
        let edge = grid.spacing().x;
        for x in 0..nx {
            let found = f64::from(map.volume.values[grid.index([x, row[0], row[1]])]);
            let requested = match x {
                0 => edge * (0.5 - begin),
                x if x == nx - 1 => edge * (0.5 + end),
                _ => edge,
            };
            // Points in f32 are off by some 1e-6 mm.
            assert!(
                (found - requested).abs() < 1e-5,
                "voxel {x}: {found} {requested}"
            );
        }
        assert_eq!(map.voxels, nx as u64);
        assert!(map.outside_mm < 1e-6);
        // Through the middles along the diagonal of the cells: nothing next to it beyond rounding.
        let n = nx.min(ny).min(nz);
        let diagonal = |t: f64| grid.world(DVec3::splat(t));
        let line = lines(&[vec![diagonal(0.0), diagonal((n - 1) as f64)]]);
        let map = run(&line, &grid, &plain(Measure::Length));
        let whole = grid.world_from_voxel.matrix3.mul_vec3(DVec3::ONE).length();
        for i in 1..n - 1 {
            let found = f64::from(map.volume.values[grid.index([i; 3])]);
            assert!((found - whole).abs() < 1e-4, "{found} {whole}");
        }
    }
}

fn conserved() {
    let mut random = Random::fresh("density conserved");
    for _ in 0..30 {
        let grid = Arc::new(odd_grid(&mut random));
        let tractogram = walks(&mut random, 200, 25.0);
        let map = run(&tractogram, &grid, &plain(Measure::Length));
        let whole = length_mm(&tractogram);
        let found = map.inside_mm + map.outside_mm;
        // The stated bound; 2⁻²⁴ mm per streamline is far below it.
        assert!((found - whole).abs() < 1e-6 * whole, "{found} {whole}");
        // Values are rounded to f32 once each.
        let values = sum(&map.volume.values);
        assert!((values - map.inside_mm).abs() < 1e-6 * whole);
        // On a grid around all the streamlines nothing is outside.
        let around = DensityGrid::Around(random.uniform(0.7, 3.0));
        let grid = around.grid(tractogram.bounds()).unwrap();
        let map = run(&tractogram, &grid, &plain(Measure::Length));
        assert!(map.outside_mm < 1e-6 * whole, "{} mm", map.outside_mm);
        assert!((map.inside_mm - whole).abs() < 1e-6 * whole);
    }
}

fn sampled() {
    let mut random = Random::fresh("density sampled");
    const SAMPLES: usize = 2000;
    for _ in 0..6 {
        let grid = Arc::new(odd_grid(&mut random));
        let tractogram = walks(&mut random, 12, 20.0);
        let map = run(&tractogram, &grid, &plain(Measure::Length));
        let mut requested = vec![0.0; grid.voxel_count()];
        let mut error = vec![1e-6; grid.voxel_count()];
        for line in tractogram.streamlines() {
            for pair in line.windows(2) {
                let (from, to) = (point(pair[0]), point(pair[1]));
                let step = from.distance(to) / SAMPLES as f64;
                let mut before = None;
                for i in 0..SAMPLES {
                    let at = from.lerp(to, (i as f64 + 0.5) / SAMPLES as f64);
                    let voxel = grid.nearest(at).map(|v| grid.index(v));
                    if let Some(voxel) = voxel {
                        requested[voxel] += step;
                    }
                    if voxel != before {
                        // The position of a crossing is known to within a sample.
                        for v in [voxel, before].into_iter().flatten() {
                            error[v] += step;
                        }
                        before = voxel;
                    }
                }
                // Corners cut between two samples.
                let slack = step;
                error.iter_mut().for_each(|e| *e += 1e-9 * slack);
            }
        }
        for (voxel, found) in map.volume.values.iter().enumerate() {
            let difference = (f64::from(*found) - requested[voxel]).abs();
            // A voxel that no sample hit holds less than a sample of the longest segment.
            let allowed = error[voxel].max(8.0 / SAMPLES as f64);
            assert!(
                difference <= allowed,
                "{found} {} ± {allowed}",
                requested[voxel]
            );
        }
    }
}

/// Visits are the voxels in which a streamline has length, each once; those of many streamlines are the sum over the
/// single ones.
fn once() {
    let mut random = Random::fresh("density once");
    for _ in 0..10 {
        let grid = Arc::new(odd_grid(&mut random));
        let all = walks(&mut random, 15, 15.0);
        let mut requested = vec![0.0f32; grid.voxel_count()];
        for i in 0..all.len() {
            let mut marks = vec![false; all.len()];
            marks[i] = true;
            let one = all.filtered(&marks);
            let length = run(&one, &grid, &plain(Measure::Length));
            let visits = run(&one, &grid, &plain(Measure::Visits));
            for (voxel, value) in visits.volume.values.iter().enumerate() {
                assert!(*value == 0.0 || *value == 1.0);
                let mm = length.volume.values[voxel];
                // A piece below half a unit of 2⁻²⁴ mm has no length.
                assert!(*value == 1.0 || mm == 0.0, "{mm} mm unvisited");
                requested[voxel] += value;
            }
        }
        let together = run(&all, &grid, &plain(Measure::Visits));
        assert_eq!(&*together.volume.values, &*requested);
        let sent = 2 * all.len() as u64;
        let shares = Params {
            sent: Some(sent),
            ..plain(Measure::Visits)
        };
        let shares = run(&all, &grid, &shares);
        for (share, count) in shares.volume.values.iter().zip(&requested) {
            assert!((share - count / sent as f32).abs() < 1e-7);
        }
        // Back and forth still counts once.
        let forth: Vec<DVec3> = all.streamline(0).iter().map(|p| point(*p)).collect();
        let back: Vec<DVec3> = forth.iter().rev().copied().collect();
        let twice = lines(&[[forth.clone(), back].concat()]);
        let once = run(&lines(&[forth]), &grid, &plain(Measure::Visits));
        let twice = run(&twice, &grid, &plain(Measure::Visits));
        assert_eq!(once.volume.values, twice.volume.values);
    }
}

fn finer() {
    let mut random = Random::fresh("density finer");
    for _ in 0..10 {
        let turn = DMat3::from_quat(random.rotation());
        let affine = DAffine3::from_mat3_translation(turn * 2.0, random.direction() * 9.0);
        let source = arcuate::data::AffineSource::Computed;
        let grid = Arc::new(Grid::new([9, 7, 8], affine, source).unwrap());
        let tractogram = walks(&mut random, 60, 15.0);
        let parts = 1 + random.uniform(1.0, 4.99) as usize;
        let fine = DensityGrid::Within(grid.clone(), 2.0 / parts as f64);
        let fine = fine.grid(None).unwrap();
        assert_eq!(fine.shape, grid.shape.map(|n| n * parts));
        let whole = run(&tractogram, &grid, &plain(Measure::Length));
        let split = run(&tractogram, &fine, &plain(Measure::Length));
        let mut sums = vec![0.0; grid.voxel_count()];
        for (i, value) in split.volume.values.iter().enumerate() {
            let coarse = fine.voxel(i).map(|v| v / parts);
            sums[grid.index(coarse)] += f64::from(*value);
        }
        for (sum, value) in sums.iter().zip(whole.volume.values.iter()) {
            // Faces of the two grids differ by the rounding of their affines, 1e-14 mm.
            assert!((sum - f64::from(*value)).abs() < 1e-5, "{sum} {value}");
        }
        // Cubes that do not divide the box reach beyond it by less than one cube.
        let edge = random.uniform(0.3, 1.7);
        let over = DensityGrid::Within(grid.clone(), edge).grid(None).unwrap();
        for (n, cubes) in grid.shape.iter().zip(over.shape) {
            let reach = cubes as f64 * edge - *n as f64 * 2.0;
            assert!((-1e-5..edge).contains(&reach), "{reach}");
        }
        let first = grid.world(DVec3::splat(-0.5));
        assert!(over.world(DVec3::splat(-0.5)).distance(first) < 1e-9);
    }
}

fn directions() {
    let mut random = Random::fresh("density directions");
    let grid = Arc::new(odd_grid(&mut random));
    let by_direction = |measure| Params {
        by_direction: true,
        ..plain(measure)
    };
    let n = grid.voxel_count();
    // One line: every voxel has its colour.
    let way = random.direction();
    let line = lines(&[vec![way * -9.0, way * 9.0]]);
    let map = run(&line, &grid, &by_direction(Measure::Length));
    let scalar = run(&line, &grid, &plain(Measure::Length));
    assert_eq!(map.volume.frames, 3);
    for voxel in 0..n {
        let colour =
            DVec3::from_array([0, 1, 2].map(|f| f64::from(map.volume.values[f * n + voxel])));
        let value = f64::from(scalar.volume.values[voxel]);
        // Pieces shorter than this have directions in few units of 2⁻²⁴ mm.
        if value > 0.01 {
            assert!(
                colour.distance(way.abs() * value) < 1e-5 * value + 1e-6,
                "{colour}"
            );
        }
    }
    // Many lines: the norm is the value.
    let many = walks(&mut random, 100, 15.0);
    let map = run(&many, &grid, &by_direction(Measure::Visits));
    let scalar = run(&many, &grid, &plain(Measure::Visits));
    for voxel in 0..n {
        let colour =
            DVec3::from_array([0, 1, 2].map(|f| f64::from(map.volume.values[f * n + voxel])));
        let value = f64::from(scalar.volume.values[voxel]);
        assert!(
            (colour.length() - value).abs() < 1e-5 * value || value <= 1.0,
            "{colour} {value}"
        );
    }
    let picture = map.picture();
    assert_eq!(picture.kind, arcuate::data::VolumeKind::Rgb);
}

fn threads() {
    let mut random = Random::fresh("density threads");
    let grid = Arc::new(odd_grid(&mut random));
    let tractogram = walks(&mut random, 3000, 20.0);
    for measure in [Measure::Visits, Measure::Length] {
        let params = Params {
            by_direction: measure == Measure::Length,
            ..plain(measure)
        };
        let with = |n| {
            density(
                &tractogram,
                &grid,
                &params,
                None,
                &backend(n),
                &Control::new(),
            )
        };
        let [one, three] = [with(1).unwrap(), with(3).unwrap()];
        assert_eq!(one.volume.values, three.volume.values);
        assert_eq!(one.inside_mm, three.inside_mm);
    }
}

fn odd() {
    let grid = Grid::axis_aligned([4; 3], DVec3::ONE, DVec3::ZERO).unwrap();
    let grid = Arc::new(grid);
    // A single point is a visit without length; a point outside is none, nor is an empty streamline.
    let alone = lines(&[vec![DVec3::ONE], vec![DVec3::splat(90.0)], vec![]]);
    let map = run(&alone, &grid, &plain(Measure::Visits));
    assert_eq!(map.volume.values[grid.index([1, 1, 1])], 1.0);
    assert_eq!((sum(&map.volume.values), map.inside_mm), (1.0, 0.0));
    // Distant ends are cut off; NaN is left out and counted.
    let mut far = lines(&[vec![DVec3::new(-1e7, 1.0, 1.0), DVec3::new(1e7, 1.0, 1.0)]]);
    let map = run(&far, &grid, &plain(Measure::Visits));
    assert_eq!(map.voxels, 4);
    far = Tractogram::new(
        vec![
            [0.0, 0.0, 0.0],
            [f32::NAN, 0.0, 0.0],
            [0.0; 3],
            [2.0, 0.0, 0.0],
        ],
        vec![0, 4],
    );
    let map = run(&far, &grid, &plain(Measure::Length));
    assert_eq!((map.not_finite, map.inside_mm), (2, 2.0));
    // On the face between two voxels: counted in one of them.
    let face = lines(&[vec![DVec3::new(0.5, 0.0, 0.0), DVec3::new(0.5, 3.0, 0.0)]]);
    let map = run(&face, &grid, &plain(Measure::Length));
    assert_eq!((map.inside_mm, map.voxels), (3.0, 4));
    let refused = |on: DensityGrid| matches!(on.grid(None), Err(Error::Input(_)));
    assert!(
        refused(DensityGrid::Around(1.0)),
        "no points to place voxels around"
    );
    assert!(refused(DensityGrid::Within(grid.clone(), 0.0)));
    assert!(refused(DensityGrid::Within(grid.clone(), 1e-9)));
    let short = density(
        &face,
        &grid,
        &plain(Measure::Length),
        Some(10),
        &backend(1),
        &Control::new(),
    );
    assert!(matches!(short, Err(Error::Input(_))));
}

/// More streamlines in a voxel than float32 can count: a map's file holds each one.
fn counts() {
    let grid = Grid::axis_aligned([2, 1, 1], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let grid = Arc::new(grid);
    for (most, code, values) in [
        (
            16_777_217u32,
            768i16,
            [16_777_217u32.to_le_bytes(), 3u32.to_le_bytes()],
        ),
        (
            16_777_216,
            16,
            [16_777_216f32.to_le_bytes(), 3f32.to_le_bytes()],
        ),
    ] {
        let map = Volume::of_counts(grid.clone(), vec![most, 3]);
        assert_eq!(map.counts().is_some(), most > 1 << 24);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("d.nii");
        nifti::save_volume(&path, &map, "test", &Control::new()).expect("saved");
        let bytes = std::fs::read(&path).expect("written");
        assert_eq!(i16::from_le_bytes([bytes[70], bytes[71]]), code);
        assert_eq!(bytes[bytes.len() - 8..], values.concat());
    }
    // This many streamlines of one point each, all in one voxel.
    let n = (1u64 << 24) + 1;
    let points = vec![[0.0f32, 0.0, 0.0]; n as usize];
    let all = Tractogram::new(points, (0..=n).collect::<Vec<u64>>());
    let map = run(&all, &grid, &plain(Measure::Visits));
    assert_eq!(map.volume.counts(), Some(&[n as u32, 0][..]));
}
