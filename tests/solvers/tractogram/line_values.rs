//! Values of streamlines for their colours, against closed forms and plain loops.

use super::selection::{on, walks};
use crate::support::fields::odd_grid;
use crate::support::{Random, data_test, test};
use arcuate::compute::Control;
use arcuate::data::{Grid, Labels, Mask, Shape, Shared, Tractogram, Volume, VolumeKind};
use arcuate::io;
use arcuate::solvers::region::distances_around;
use arcuate::solvers::tractogram::line_values::{
    LineStatistic, LineValues, end_to_end, of_colour_image, of_file, of_groups, of_image,
    of_labels, of_region, packed, ranges,
};
use arcuate::solvers::tractogram::sample_frame;
use glam::{DVec3, Vec3};
use libtest_mimic::Trial;
use std::path::PathBuf;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("line values::a linear image is exact", linear),
        test("line values::the same as one point at a time", as_single),
        test("line values::over streamlines as in plain loops", combined),
        test("line values::of the file", of_the_file),
        test("line values::distances from shapes", shapes),
        test("line values::distances from a mask", from_mask),
        test("line values::groups and ends are colours", colours),
        test("line values::colour images", colour_images),
        test("line values::ranges are percentiles", percentiles),
        test("line values::no number of threads changes them", threads),
        data_test(
            "line values::of a bundle as by numpy",
            "tractograms/arcuate_groups_stored.trx",
            real_bundle,
        ),
    ]
}

fn image_values(tractogram: &Tractogram, volume: &Volume, statistic: LineStatistic) -> Shared<f32> {
    let values = of_image(tractogram, (volume, 0), statistic, &on(2), &Control::new());
    values.expect("values").values().clone()
}

/// A linear function of the position, on a rotated and sheared grid.
fn linear_image(random: &mut Random) -> (Volume, DVec3, f64) {
    let grid = odd_grid(random);
    let slope = random.direction() * random.uniform(0.1, 2.0);
    let offset = random.uniform(-20.0, 20.0);
    let at = |i: usize| {
        let voxel = DVec3::from_array(grid.voxel(i).map(|c| c as f64));
        (slope.dot(grid.world(voxel)) + offset) as f32
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(at).collect();
    (Volume::scalar(Arc::new(grid), values), slope, offset)
}

fn linear() {
    let mut random = Random::fresh("linear values along streamlines");
    for _ in 0..10 {
        let (volume, slope, offset) = linear_image(&mut random);
        let all = walks(&mut random, 40);
        let values = image_values(&all, &volume, LineStatistic::EachPoint);
        let grid = &volume.grid;
        let last = DVec3::from_array(grid.shape.map(|n| (n - 1) as f64));
        let mut between = 0;
        for (point, value) in all.points.iter().zip(values.iter()) {
            let world = Vec3::from(*point).as_dvec3();
            let voxel = grid.voxel_from_world.transform_point3(world);
            let beyond = (-voxel).max(voxel - last).max_element();
            // Single precision may put a point on the border on either side of it.
            if beyond > 0.502 {
                assert!(value.is_nan(), "{voxel}: {value}");
            } else if beyond < 0.0 {
                let expected = slope.dot(world) + offset;
                assert!(
                    (f64::from(*value) - expected).abs() < 2e-4,
                    "{value} {expected}"
                );
                between += 1;
            }
        }
        assert!(between > 0);
    }
}

fn noise(random: &mut Random) -> Volume {
    let grid = odd_grid(random);
    let value = |_| match random.uniform(0.0, 1.0) {
        share if share < 0.02 => f32::NAN,
        share => share as f32,
    };
    let values: Vec<f32> = (0..grid.voxel_count()).map(value).collect();
    Volume::scalar(Arc::new(grid), values)
}

fn as_single() {
    let mut random = Random::fresh("values along streamlines, one at a time");
    for _ in 0..10 {
        let volume = noise(&mut random);
        let all = walks(&mut random, 60);
        let at = sample_frame(&volume, 0);
        let values = image_values(&all, &volume, LineStatistic::EachPoint);
        for (point, value) in all.points.iter().zip(values.iter()) {
            let expected = at(point);
            assert_eq!(value.is_nan(), expected.is_nan(), "{point:?}");
            // A fused multiply-add rounds once; values are up to 1 and voxels up to 20.
            let error = (value - expected).abs();
            assert!(error.is_nan() || error < 1e-5, "{value} {expected}");
        }
    }
    // Points that are not finite have no value; a grid one voxel thick has some.
    let grid = Grid::axis_aligned([2, 1, 1], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let flat = Volume::scalar(Arc::new(grid), vec![1.0, 3.0]);
    let points = vec![[f32::NAN, 0.0, 0.0], [0.5, 0.2, -0.3], [f32::INFINITY; 3]];
    let line = Tractogram::new(points, vec![0, 3]);
    let values = image_values(&line, &flat, LineStatistic::EachPoint);
    assert!(values[0].is_nan() && values[2].is_nan());
    assert_eq!(values[1], 2.0);
}

fn combined() {
    let mut random = Random::fresh("values over streamlines");
    let volume = noise(&mut random);
    let all = walks(&mut random, 1500);
    let points = image_values(&all, &volume, LineStatistic::EachPoint);
    for statistic in LineStatistic::ALL.into_iter().skip(1) {
        let values = image_values(&all, &volume, statistic);
        assert_eq!(values.len(), all.len());
        for (line, value) in values.iter().enumerate() {
            let own = all.offsets[line] as usize..all.offsets[line + 1] as usize;
            let mut own = points[own].to_vec();
            own.retain(|v| !v.is_nan());
            own.sort_by(f32::total_cmp);
            let expected = match statistic {
                _ if own.is_empty() => f32::NAN,
                LineStatistic::Minimum => own[0],
                LineStatistic::Maximum => own[own.len() - 1],
                _ => own.iter().sum::<f32>() / own.len() as f32,
            };
            let error = (value - expected).abs();
            assert_eq!(value.is_nan(), expected.is_nan());
            assert!(error.is_nan() || error < 1e-5, "{value} {expected}");
        }
    }
}

fn of_the_file() {
    let mut random = Random::fresh("values of the file");
    let all = walks(&mut random, 30);
    let values: Vec<f32> = (0..all.points.len()).map(|i| i as f32).collect();
    let each: Vec<f32> = (0..30).map(|i| i as f32 * 0.5).collect();
    let all = all
        .with_per_point("along", values.clone())
        .with_per_streamline("each", each.clone());
    let read = |name: &str, statistic| of_file(&all, name, statistic, &on(2), &Control::new());
    let points = read("along", LineStatistic::EachPoint).expect("values");
    assert_eq!(points, LineValues::PerPoint(values.into()));
    // Consecutive numbers have the middle of their ends as their mean.
    let mean = read("along", LineStatistic::Mean).expect("values");
    for (line, mean) in mean.values().iter().enumerate() {
        let (first, end) = (all.offsets[line], all.offsets[line + 1]);
        assert_eq!(*mean, (first + end - 1) as f32 * 0.5);
    }
    let whole = read("each", LineStatistic::Mean).expect("values");
    assert_eq!(whole, LineValues::PerStreamline(each.into()));
    let error = read("other", LineStatistic::Mean).expect_err("no such value");
    assert!(error.to_string().contains("length, each, along"), "{error}");
}

fn shapes() {
    let mut random = Random::fresh("distances from shapes");
    let all = walks(&mut random, 30);
    let distances = |shape: &Shape, statistic| {
        let values = of_region(&all, (shape, None), statistic, &on(2), &Control::new());
        values.expect("values").values().clone()
    };
    let (centre, radius_mm) = (DVec3::new(3.0, -2.0, 5.0), 7.5);
    let sphere = Shape::Sphere { centre, radius_mm };
    let half_mm = DVec3::new(2.0, 9.0, 4.0);
    let cuboid = Shape::Box { centre, half_mm };
    let points = LineStatistic::EachPoint;
    let (to_sphere, to_box) = (distances(&sphere, points), distances(&cuboid, points));
    for (i, point) in all.points.iter().enumerate() {
        let p = Vec3::from(*point).as_dvec3();
        let expected = (p.distance(centre) - radius_mm).max(0.0);
        assert!((f64::from(to_sphere[i]) - expected).abs() < 1e-5);
        let nearest = p.clamp(centre - half_mm, centre + half_mm);
        assert!((f64::from(to_box[i]) - p.distance(nearest)).abs() < 1e-5);
    }
    let least = distances(&sphere, LineStatistic::Minimum);
    for (line, least) in least.iter().enumerate() {
        let own = all.offsets[line] as usize..all.offsets[line + 1] as usize;
        let expected = to_sphere[own].iter().copied().fold(f32::INFINITY, f32::min);
        assert_eq!(*least, expected);
    }
}

/// From a mask of one voxel of 2 mm, along a line: the distance from its face, to within the voxels of the image, and
/// no more than that reaches.
fn from_mask() {
    let grid = Grid::axis_aligned([20; 3], DVec3::splat(2.0), DVec3::ZERO).expect("a grid");
    let mut inside = vec![0; grid.voxel_count()];
    inside[grid.index([5, 5, 5])] = 1;
    let mask = Mask::new(Arc::new(grid), inside);
    let line: Vec<DVec3> = (0..50)
        .map(|x| DVec3::new(f64::from(x), 10.0, 10.0))
        .collect();
    let all = crate::support::lines(&[line]);
    let (backend, control) = (on(2), Control::new());
    let image = backend.install(|| distances_around(&mask, 20.0, &control));
    let image = image.expect("distances").expect("an image");
    let from = |distances| {
        let shape = Shape::Mask(mask.clone());
        of_region(
            &all,
            (&shape, distances),
            LineStatistic::EachPoint,
            &backend,
            &control,
        )
    };
    let values = from(Some(&image)).expect("values");
    let largest = image.frame(0).iter().copied().fold(0.0, f32::max);
    for (x, value) in values.values().iter().enumerate() {
        let expected = ((x as f32 - 10.0).abs() - 1.0).max(0.0);
        match expected {
            0.0..20.0 => assert!((value - expected).abs() <= 0.51, "{x}: {value} {expected}"),
            _ => assert!(*value >= 20.0 && *value <= largest, "{x}: {value}"),
        }
    }
    let error = from(None).expect_err("no distances");
    assert!(error.to_string().contains("right angles"), "{error}");
}

fn colours() {
    let line = |to: DVec3| vec![DVec3::ZERO, DVec3::ONE, to];
    let ends = [DVec3::X * 9.0, DVec3::new(0.0, -3.0, 4.0), DVec3::ZERO];
    let all = crate::support::lines(&ends.map(line));
    let values = end_to_end(&all, &on(1), &Control::new()).expect("colours");
    let values = values.values();
    assert_eq!(values[0], packed([255, 0, 0]));
    assert_eq!(values[1], packed([0, 153, 204]));
    assert!(values[2].is_nan(), "it returns to its start");
    let grouped = all
        .with_group("a", vec![1])
        .with_group("b", vec![0, 1])
        .with_group("c", vec![]);
    let number = |number: usize| [number as u8 + 1, 0, 0];
    let values = of_groups(&grouped, number);
    let values = values.values();
    assert_eq!(values[..2], [packed([2, 0, 0]), packed([1, 0, 0])]);
    assert!(values[2].is_nan(), "it is in no group");
    assert_eq!(packed([255; 3]), 16_777_215.0);
}

fn colour_images() {
    let grid = Grid::axis_aligned([3, 1, 1], DVec3::ONE, DVec3::ZERO).expect("a grid");
    let (r, g, b) = ([0.0, 1.0, 0.2], [0.5, 0.0, 0.2], [1.0, 0.0, 0.2]);
    let values = [r, g, b].concat();
    let volume = Volume::new(Arc::new(grid), 3, VolumeKind::Rgb, values);
    let points = vec![[0.0; 3], [0.5, 0.0, 0.0], [2.0, 0.0, 0.0], [9.0; 3]];
    let line = Tractogram::new(points, vec![0, 4]);
    let colours_at = |brightness| {
        let values = of_colour_image(&line, &volume, brightness, &on(1), &Control::new());
        values.expect("colours").values().clone()
    };
    let values = colours_at(1.0);
    assert_eq!(values[0], packed([0, 128, 255]));
    assert_eq!(values[1], packed([128, 64, 128]));
    assert_eq!(values[2], packed([51; 3]));
    assert!(values[3].is_nan());
    assert_eq!(colours_at(2.0)[2], packed([102; 3]));

    // A label map gives the colour of the nearest voxel, none in its background.
    let numbers = Volume::scalar(volume.grid.clone(), vec![0.0, 7.0, 8.0]);
    let labels = Labels::default();
    let expected = [f32::NAN, packed(labels.colour(7)), packed(labels.colour(8))];
    let map = numbers.with_labels(Arc::new(labels));
    let points = vec![[0.2, 0.0, 0.0], [0.6, 0.0, 0.0], [2.2, 0.0, 0.0]];
    let line = Tractogram::new(points, vec![0, 3]);
    let values = of_labels(&line, &map, &on(1), &Control::new()).expect("colours");
    let values = values.values();
    assert!(values[0].is_nan());
    assert_eq!(values[1..], expected[1..]);
}

fn percentiles() {
    let backend = on(2);
    let mut values: Vec<f32> = (0..=1000).map(|i| (i as f32 - 100.0) * 0.01).collect();
    values.reverse();
    values.extend([f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
    let found = ranges(&values, &backend).expect("ranges");
    assert_eq!(found.extent, (-1.0, 9.0));
    let near = |(low, high): (f32, f32), expected: (f32, f32)| {
        assert!((low - expected.0).abs() < 0.02, "{low} {expected:?}");
        assert!((high - expected.1).abs() < 0.02, "{high} {expected:?}");
    };
    near(found.automatic, (-0.8, 8.8));
    near(found.positive.expect("some are positive"), (0.19, 8.82));
    // Where nearly all values are equal, the range is that of all.
    let mut values = vec![2.0; 1000];
    values.push(5.0);
    let found = ranges(&values, &backend).expect("ranges");
    assert_eq!(found.automatic, (2.0, 5.0));
    assert_eq!(ranges(&[f32::NAN; 4], &backend), None);
    let found = ranges(&[-1.0; 3], &backend).expect("ranges");
    assert_eq!((found.automatic, found.positive), ((-1.0, -1.0), None));
}

fn threads() {
    let mut random = Random::fresh("threads of line values");
    let volume = noise(&mut random);
    let all = walks(&mut random, 3000);
    for statistic in LineStatistic::ALL {
        let bits_on = |threads| {
            let backend = on(threads);
            let values = of_image(&all, (&volume, 0), statistic, &backend, &Control::new());
            let values = values.expect("values");
            let bits = values.values().iter().map(|v| v.to_bits());
            bits.collect::<Vec<u32>>()
        };
        assert_eq!(bits_on(1), bits_on(2));
    }
}

/// Percentiles of the values of a real image along a real bundle, which numpy computed from the files in double precision.
fn real_bundle(bundle: PathBuf) {
    let control = Control::new();
    let image = bundle.with_file_name("arcuate_groups_b0.nii.gz");
    let tractogram = match io::open(&bundle, &control) {
        Ok(io::Opened::Tractogram(tractogram, _)) => tractogram,
        other => panic!("{other:?}"),
    };
    let volume = match io::open(&image, &control) {
        Ok(io::Opened::Volume(volume, _)) => volume,
        other => panic!("{other:?}"),
    };
    for (statistic, low, high) in [
        (LineStatistic::EachPoint, 395.387_01, 748.364_5),
        (LineStatistic::Mean, 493.841_6, 612.995_2),
    ] {
        let values = image_values(&tractogram, &volume, statistic);
        let found = ranges(&values, &on(2)).expect("ranges").automatic;
        // Percentiles between two values are not interpolated here.
        let tolerance = if statistic == LineStatistic::Mean {
            2.0
        } else {
            0.05
        };
        assert!((found.0 - low).abs() < tolerance, "{found:?}");
        assert!((found.1 - high).abs() < tolerance, "{found:?}");
    }
}
