//! Grids, volumes and regions: invariants.

use crate::support::{Random, test};
use arcuate::compute::memory;
use arcuate::data::appearance::ColourMap;
use arcuate::data::clip;
use arcuate::data::shared_slice::{Late, LateError};
use arcuate::data::text::{scientific, within_sentence};
use arcuate::data::{
    AffineSource, Grid, Mask, Shape, Shared, ShellCommand, Tractogram, Volume, cholesky,
};
use arcuate::solvers::curves::StopReason;
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub fn tests() -> Vec<Trial> {
    vec![
        test("data::grid_goes_there_and_back", grid_round_trip),
        test("data::grid_refuses_flat_affines", grid_refuses_flat_affines),
        test("data::orientation_letters", orientation_letters),
        test("data::percentiles_of_a_ramp", percentiles_of_a_ramp),
        test("data::shapes_that_meet", shapes_that_meet),
        test("data::percentiles_ignore_an_outlier", one_outlier),
        test("data::masks_know_their_extent", extent),
        test("data::filtered_streamlines_keep_their_values", filtered),
        test("data::the range of lengths is of the lengths", lengths),
        test("data::sizes have units", sizes),
        test("data::late values are copied once needed", late_values),
        test("data::late values that are lost are an error", lost_values),
        test("data::some streamlines of late points", late_streamlines),
        test("data::labels within sentences", labels_within_sentences),
        test("data::positive definite systems", cholesky_factors),
        test("data::commands that differ in their maps", joined_commands),
        test("data::sequential colour maps rise in lightness", lightness),
        test("data::boxes end at the bounds of the data", box_within),
    ]
}

/// Values that a card would copy; without any, the card has failed.
struct Copied {
    values: Option<Vec<f32>>,
    copies: Arc<AtomicUsize>,
}

impl Late<f32> for Copied {
    fn count(&self) -> usize {
        6
    }

    fn is_on_host(&self) -> bool {
        self.copies.load(Ordering::Relaxed) > 0
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn values(&self) -> Result<&[f32], LateError> {
        self.copies.fetch_add(1, Ordering::Relaxed);
        Ok(self.values.as_ref().ok_or("the card was lost")?)
    }
}

fn late(values: Option<Vec<f32>>) -> (Shared<f32>, Arc<AtomicUsize>) {
    let copies = Arc::new(AtomicUsize::new(0));
    let late = Copied {
        values,
        copies: copies.clone(),
    };
    (Shared::late(late), copies)
}

/// A selection copies nothing before its values are needed, and has then those of the selected streamlines.
fn late_streamlines() {
    let (values, copies) = late(Some(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let points: Vec<[f32; 3]> = (0..6u8).map(|i| [f32::from(i); 3]).collect();
    let lines = Tractogram::new(points, vec![0, 2, 3, 6]).with_per_point("late", values.clone());
    let some = lines.filtered(&[false, true, true]);
    let few = some.filtered(&[false, true]);
    let own = |lines: &Tractogram| lines.per_point["late"].clone();
    assert_eq!([own(&some).len(), own(&few).len()], [4, 3]);
    assert_eq!(copies.load(Ordering::Relaxed), 0);
    assert!(!own(&few).is_on_host() && own(&lines).is_same(&values));
    few.on_host().unwrap();
    assert!(own(&few).is_on_host() && own(&some).is_on_host() && values.is_on_host());
    assert_eq!(own(&few)[..], [4.0, 5.0, 6.0]);
    assert_eq!(own(&some)[..], [3.0, 4.0, 5.0, 6.0]);

    let (lost, _) = late(None);
    let lines = lines
        .with_per_point("lost", lost)
        .filtered(&[true, false, false]);
    let error = lines.on_host().unwrap_err().to_string();
    assert_eq!(error, "the card was lost");
}

/// An image knows its size, and clones share it, before the values are there.
fn late_values() {
    let grid = Grid::axis_aligned([3, 1, 1], DVec3::ONE, DVec3::ZERO).unwrap();
    let (values, copies) = late(Some(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert!(values.is_unshared() && !values.is_view() && !values.is_empty());
    let image = Volume::new(Arc::new(grid), 2, arcuate::data::VolumeKind::Scalar, values);
    let clone = image.clone();
    assert!(!clone.values.is_unshared());
    assert_eq!(copies.load(Ordering::Relaxed), 0);
    image.values.on_host().unwrap();
    assert_eq!(copies.load(Ordering::Relaxed), 1);
    assert_eq!(clone.frame(1), [4.0, 5.0, 6.0]);
}

fn lost_values() {
    let (values, _) = late(None);
    assert_eq!(values.len(), 6);
    let error = values.on_host().unwrap_err();
    assert_eq!(error.to_string(), "the card was lost");
    let solver = arcuate::solvers::Error::from(error);
    assert_eq!(solver.to_string(), "the card was lost");
}

/// CIE L* of an sRGB colour.
fn lightness_of(colour: [u8; 3]) -> f64 {
    let linear = colour.map(|c| match f64::from(c) / 255.0 {
        c if c <= 0.04045 => c / 12.92,
        c => ((c + 0.055) / 1.055).powf(2.4),
    });
    let y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    match y > (6.0f64 / 29.0).powi(3) {
        true => 116.0 * y.cbrt() - 16.0,
        false => y * (29.0f64 / 3.0).powi(3),
    }
}

/// From dark to light without a step back, so that values can be ranked by lightness alone.
fn lightness() {
    use ColourMap::{Cividis, Grey, Magma, Share, Viridis};
    for map in [Grey, Viridis, Magma, Cividis, Share] {
        let levels: Vec<f64> = (0..=64)
            .map(|i| lightness_of(map.at(i as f32 / 64.0)))
            .collect();
        // Components are rounded to 1/255, which is less than 0.5 in L*.
        let rises = |pair: &[f64]| pair[1] > pair[0] - 0.5;
        assert!(levels.windows(2).all(rises), "{map:?}: {levels:?}");
        assert!(levels[0] < 25.0 && levels[64] > 85.0, "{map:?}: {levels:?}");
        let eighths: Vec<f64> = levels.iter().copied().step_by(8).collect();
        assert!(eighths.windows(2).all(|pair| pair[1] > pair[0]), "{map:?}");
    }
}

/// The factor gives the matrix back, and a solution its right-hand side.
fn cholesky_factors() {
    let mut random = Random::fresh("cholesky");
    for size in [1, 2, 7, 48] {
        // B Bᵀ + I.
        let b: Vec<f64> = (0..size * size).map(|_| random.normal()).collect();
        let product = |row: usize, column: usize| -> f64 {
            let pairs = (0..size).map(|k| b[row * size + k] * b[column * size + k]);
            pairs.sum::<f64>() + f64::from(u8::from(row == column))
        };
        let matrix: Vec<f64> = (0..size * size)
            .map(|e| product(e / size, e % size))
            .collect();
        let factor = cholesky::factor(matrix.clone(), size);
        for row in 0..size {
            for column in 0..=row {
                let terms =
                    (0..=column).map(|k| factor[row * size + k] * factor[column * size + k]);
                let off = terms.sum::<f64>() - matrix[row * size + column];
                assert!(off.abs() < 1e-11 * size as f64, "{size}: {off}");
            }
        }
        let right: Vec<f64> = (0..size).map(|_| random.normal()).collect();
        let mut x = right.clone();
        cholesky::solve(&factor, size, &mut x);
        for (row, expected) in matrix.chunks_exact(size).zip(&right) {
            let value: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            assert!(
                (value - expected).abs() < 1e-10,
                "{size}: {value} {expected}"
            );
        }
    }
}

/// One command takes the maps of another one that differs in nothing else.
fn joined_commands() {
    let fit = |maps: &[&str], out: &str| {
        ShellCommand::with_maps("arcuate fit dwi".to_owned(), maps, format!(" --out {out}"))
    };
    let mut first = fit(&["fa", "md"], "maps");
    assert!(first.includes(&fit(&["md", "dec"], "maps")));
    assert_eq!(
        first.to_string(),
        "arcuate fit dwi --maps fa,md,dec --out maps"
    );
    assert!(!first.includes(&fit(&["fa"], "elsewhere")));
    let plain = ShellCommand::from("arcuate fit dwi --out maps".to_owned());
    assert!(!first.includes(&plain));
    assert!(plain.clone().includes(&plain));
    let text = serde_json::to_string(&first).expect("text");
    let read: ShellCommand = serde_json::from_str(&text).expect("the same");
    assert_eq!(read, first);
}

/// Abbreviations keep their capitals.
fn labels_within_sentences() {
    let pairs = [
        ("CSF", "CSF"),
        ("T1 image", "T1 image"),
        ("Reading t1.nii.gz", "reading t1.nii.gz"),
        ("Ångström", "ångström"),
        ("A seed", "a seed"),
        ("", ""),
    ];
    for (label, text) in pairs {
        assert_eq!(within_sentence(label), text);
    }
    for label in StopReason::ALL.map(StopReason::label) {
        let is_abbreviation = label.chars().take(2).all(char::is_uppercase);
        assert_eq!(within_sentence(label) == label, is_abbreviation, "{label}");
    }
}

/// A rotated, sheared, anisotropic grid.
fn random_grid(random: &mut Random) -> Grid {
    let spacing = DVec3::from_array([0; 3].map(|_| random.uniform(0.5, 4.0)));
    let shear = DMat3::from_cols(
        DVec3::X,
        DVec3::new(random.uniform(-0.3, 0.3), 1.0, 0.0),
        DVec3::Z,
    );
    let rotated = DMat3::from_quat(random.rotation()) * shear * DMat3::from_diagonal(spacing);
    let origin = random.direction() * 100.0;
    let affine = DAffine3::from_mat3_translation(rotated, origin);
    Grid::new([7, 5, 3], affine, AffineSource::Computed).expect("a regular affine")
}

fn grid_round_trip() {
    let mut random = Random::fresh("grid");
    for _ in 0..50 {
        let grid = random_grid(&mut random);
        for index in 0..grid.voxel_count() {
            let voxel = grid.voxel(index);
            assert_eq!(grid.index(voxel), index);
            // Anywhere in the voxel's box, not only its centre.
            let inside = DVec3::from_array(voxel.map(|v| v as f64 + random.uniform(-0.49, 0.49)));
            assert_eq!(grid.nearest(grid.world(inside)), Some(voxel));
        }
        assert_eq!(grid.nearest(grid.world(DVec3::new(-0.51, 0.0, 0.0))), None);
        assert_eq!(grid.nearest(grid.world(DVec3::new(0.0, 4.51, 0.0))), None);
    }
}

fn grid_refuses_flat_affines() {
    let flat = DMat3::from_cols(DVec3::X, DVec3::Y, DVec3::X + DVec3::Y);
    for matrix in [
        flat,
        DMat3::ZERO,
        DMat3::from_diagonal(DVec3::new(1.0, f64::NAN, 1.0)),
    ] {
        let affine = DAffine3::from_mat3_translation(matrix, DVec3::ZERO);
        assert!(Grid::new([2, 2, 2], affine, AffineSource::Sform).is_none());
    }
    let valid = DAffine3::from_scale(DVec3::splat(1e-3));
    assert!(Grid::new([2, 2, 2], valid, AffineSource::Sform).is_some());
    // The square of such an edge is zero, and so is its length.
    let short = DAffine3::from_mat3(DMat3::from_diagonal(DVec3::new(1.0, 2.0, 1e-270)));
    assert!(Grid::new([2, 2, 2], short, AffineSource::Sform).is_none());
    assert!(Grid::new([2, 0, 2], valid, AffineSource::Sform).is_none());
}

fn orientation_letters() {
    let las = DMat3::from_diagonal(DVec3::new(-2.0, 2.0, 3.0));
    let tilted = DMat3::from_rotation_x(20f64.to_radians()) * las;
    for matrix in [las, tilted] {
        let grid = Grid::new([4, 4, 4], DAffine3::from_mat3(matrix), AffineSource::Sform)
            .expect("regular");
        assert_eq!(grid.orientation(), "LAS");
    }
    let psr = DMat3::from_cols(-DVec3::Y, DVec3::Z, DVec3::X);
    let grid =
        Grid::new([4, 4, 4], DAffine3::from_mat3(psr), AffineSource::Sform).expect("regular");
    assert_eq!(grid.orientation(), "PSR");
}

fn random_shape(random: &mut Random) -> Shape {
    let centre = random.direction() * random.uniform(0.0, 10.0);
    if random.bits().is_multiple_of(2) {
        let radius_mm = random.uniform(0.5, 6.0);
        return Shape::Sphere { centre, radius_mm };
    }
    let half_mm = DVec3::from_array([0; 3].map(|_| random.uniform(0.5, 6.0)));
    Shape::Box { centre, half_mm }
}

/// Compares with a search through all voxels, and through points along the line between two shapes.
fn shapes_that_meet() {
    let mut random = Random::fresh("shapes that meet");
    let (mut touching, mut overlapping) = (0, 0);
    for round in 0..900 {
        let spacing = DVec3::from_array([0; 3].map(|_| random.uniform(0.5, 3.0)));
        let turn = DMat3::from_quat(random.rotation()) * DMat3::from_diagonal(spacing);
        let affine = DAffine3::from_mat3_translation(turn, random.direction() * 8.0);
        let grid = Grid::new([6, 5, 4], affine, AffineSource::Sform).expect("regular");
        let inside: Vec<u8> = (0..120)
            .map(|_| u8::from(random.bits().is_multiple_of(8)))
            .collect();
        let mask = Mask::new(Arc::new(grid), inside);
        let world = |i: usize| {
            let voxel = mask.grid.voxel(i).map(|v| v as f64);
            mask.grid.world(DVec3::from_array(voxel))
        };
        let (a, b) = (random_shape(&mut random), random_shape(&mut random));
        let mut stored = (0..120).filter(|&i| mask.inside[i] != 0 && a.contains(world(i)));
        let found = stored.next().is_some() || mask.contains(a.centre());
        assert_eq!(a.touches(&mask), found, "{a:?}");
        assert_eq!(a.overlaps(&Shape::Mask(mask.clone())), found);
        touching += usize::from(found);
        // The other search takes long.
        if round >= 300 {
            continue;
        }

        // The nearest points of two convex shapes, by alternating projection.
        let nearest = |shape: &Shape, to: DVec3| match shape {
            Shape::Sphere { centre, radius_mm } => {
                *centre + (to - *centre).clamp_length_max(*radius_mm)
            }
            Shape::Box { centre, half_mm } => to.clamp(*centre - *half_mm, *centre + *half_mm),
            Shape::Mask(_) => to,
        };
        let (mut p, mut q) = (a.centre(), b.centre());
        for _ in 0..2_000 {
            p = nearest(&a, q);
            q = nearest(&b, p);
        }
        let gap = p.distance(q);
        // Too close to decide: alternating projections of touching shapes converge slowly.
        if !(1e-9..=1e-2).contains(&gap) {
            assert_eq!(a.overlaps(&b), gap < 1e-9, "{a:?} {b:?}: {gap}");
            assert_eq!(b.overlaps(&a), a.overlaps(&b));
        }
        overlapping += usize::from(gap < 1e-9);
    }
    assert!(
        touching > 30 && overlapping > 30,
        "{touching} {overlapping}"
    );
}

fn percentiles_of_a_ramp() {
    let grid = Grid::axis_aligned([100, 100, 1], DVec3::ONE, DVec3::ZERO).expect("regular");
    let mut values: Vec<f32> = (1..=10_000).map(|v| v as f32).collect();
    values[17] = f32::NAN;
    let volume = Volume::scalar(Arc::new(grid), values);
    let (low, high) = volume.percentiles(0, 0.01, 0.99);
    // One bin of the 4096 is 2.4 wide.
    assert!(
        (low - 100.0).abs() < 5.0 && (high - 9_900.0).abs() < 5.0,
        "{low} {high}"
    );
}

/// One voxel of 10⁶ times the others moves neither end.
fn one_outlier() {
    let mut random = Random::fresh("one outlier");
    let grid =
        Arc::new(Grid::axis_aligned([50, 40, 10], DVec3::ONE, DVec3::ZERO).expect("regular"));
    let mut values: Vec<f32> = (0..20_000)
        .map(|_| random.uniform(100.0, 1100.0) as f32)
        .collect();
    for outlier in [1e9, -1e9, f32::MAX] {
        values[777] = outlier;
        let (low, high) = Volume::scalar(grid.clone(), values.clone()).percentiles(0, 0.01, 0.99);
        let mut sorted = values.clone();
        sorted.sort_by(f32::total_cmp);
        // 1/256 of their distance, 980.
        assert!((low - sorted[200]).abs() < 4.0, "{low} {}", sorted[200]);
        assert!(
            (high - sorted[19_800]).abs() < 4.0,
            "{high} {}",
            sorted[19_800]
        );
    }
    let constant = Volume::scalar(grid.clone(), vec![7.5; 20_000]);
    assert_eq!(constant.percentiles(0, 0.01, 0.99), (7.5, 7.5));
    let nothing = Volume::scalar(grid.clone(), vec![0.0; 20_000]);
    assert_eq!(nothing.percentiles(0, 0.01, 0.99), (0.0, 0.0));
    // An image of some voxels has the window of their values.
    let known = &values[..5_000];
    let mut image = vec![f32::NAN; 20_000];
    image[3_000..8_000].copy_from_slice(known);
    let [early, late] = [(); 2].map(|()| Volume::scalar(grid.clone(), image.clone()));
    early.precompute_window_from(known);
    assert_eq!(
        early.percentiles(0, 0.01, 0.99),
        late.percentiles(0, 0.01, 0.99)
    );
}

/// Bounds and centre of mass against a plain sum over the voxels.
fn extent() {
    let mut random = Random::fresh("extent");
    let grid = Arc::new(random_grid(&mut random));
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|_| u8::from(random.uniform(0.0, 1.0) < 0.1))
        .collect();
    let mask = Mask::new(grid.clone(), inside.clone());
    let set: Vec<DVec3> = (0..grid.voxel_count())
        .filter(|&i| inside[i] != 0)
        .map(|i| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64))))
        .collect();
    let centre = set.iter().sum::<DVec3>() / set.len() as f64;
    assert!(
        mask.centre_inside()
            .is_some_and(|c| c.distance(centre) < 1e-9)
    );
    let (low, high) = mask.bounds_inside().expect("some voxel");
    assert!(
        set.iter()
            .all(|p| p.cmpgt(low).all() && p.cmplt(high).all())
    );
    let empty = Mask::new(grid.clone(), vec![0; grid.voxel_count()]);
    assert_eq!((empty.centre_inside(), empty.bounds_inside()), (None, None));
}

/// Every point, streamline and group member carries its identity: after a selection of streamlines all of them still
/// match; after a transform their grid has moved with them.
fn filtered() {
    let mut random = Random::fresh("filtered");
    for _ in 0..10 {
        let count = 40;
        let (mut points, mut offsets) = (Vec::new(), vec![0]);
        for _ in 0..count {
            points.extend((0..random.bits() % 6).map(|_| random.direction().as_vec3().to_array()));
            offsets.push(points.len() as u64);
        }
        let own: Vec<f32> = points
            .iter()
            .map(|p: &[f32; 3]| 10.0 * p[0] + p[1])
            .collect();
        let ids: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let members: Vec<u32> = (0..count as u32)
            .filter(|_| random.bits() & 1 == 0)
            .collect();
        let grid = random_grid(&mut random);
        let all = Tractogram::new(points, offsets)
            .with_per_point("own", own)
            .with_per_streamline("id", ids)
            .with_group("some", members.clone())
            .with_per_group("some", "colour", vec![1.0, 2.0, 3.0])
            .with_grid(grid.clone());
        let marks: Vec<bool> = (0..count).map(|_| random.bits() & 1 == 0).collect();
        let left = all.filtered(&marks);
        let chosen: Vec<usize> = (0..count).filter(|i| marks[*i]).collect();
        assert_eq!(left.len(), chosen.len());
        for (new, &old) in chosen.iter().enumerate() {
            assert_eq!(left.streamline(new), all.streamline(old));
            assert_eq!(left.per_streamline["id"][new], old as f32);
        }
        for (point, value) in left.points.iter().zip(left.per_point["own"].iter()) {
            assert_eq!(*value, 10.0 * point[0] + point[1]);
        }
        let named = |&i: &u32| left.per_streamline["id"][i as usize] as u32;
        let found: Vec<u32> = left.groups["some"].iter().map(named).collect();
        let expected = members.iter().copied().filter(|&i| marks[i as usize]);
        assert_eq!(found, expected.collect::<Vec<u32>>());
        assert_eq!(left.per_group, all.per_group);
        assert_eq!(left.grid, all.grid);

        let by = DAffine3::from_rotation_translation(random.rotation(), random.direction() * 30.0);
        let moved = left.moved(by);
        let target = moved.grid.as_ref().expect("a grid");
        for (before, after) in left.points.iter().zip(moved.points.iter()) {
            let [before, after] = [before, after].map(|p| DVec3::from_array(p.map(f64::from)));
            // In voxels the position is unchanged; points in single precision are off by some 1e-6 mm.
            let distance = target.voxel_at(after).distance(grid.voxel_at(before));
            assert!(distance < 1e-4, "{distance}");
        }
        assert_eq!(moved.per_point, left.per_point);
        assert_eq!(moved.groups, left.groups);
    }
}

fn lengths() {
    let line = |mm: f32| [[0.0; 3], [mm, 0.0, 0.0]];
    let points: Vec<[f32; 3]> = [3.0, 5.0, 4.0].into_iter().flat_map(line).collect();
    let lines = Tractogram::new(points, vec![0, 2, 4, 6]);
    assert_eq!(lines.length_range(), None);
    let known = |values: [f32; 3]| lines.clone().with_per_streamline("length", values.to_vec());
    let measured = known([3.0, 5.0, 4.0]);
    assert_eq!(measured.length_range(), Some((3.0, 5.0)));
    assert_eq!(
        known([3.0, f32::NAN, f32::INFINITY]).length_range(),
        Some((3.0, 3.0))
    );
    assert_eq!(known([f32::NAN; 3]).length_range(), None);
    // Other values replace the known ones.
    let others = measured
        .clone()
        .with_per_streamline("length", vec![7.0, 8.0, 9.0]);
    assert_eq!(others.length_range(), Some((7.0, 9.0)));
    assert_eq!(
        measured.filtered(&[true, false, true]).length_range(),
        Some((3.0, 4.0))
    );
    let mut without = measured.clone();
    without.per_streamline.remove("length");
    assert_eq!(without.length_range(), None);
    let twice = measured.moved(DAffine3::from_scale(DVec3::splat(2.0)));
    assert_eq!(twice.length_range(), Some((6.0, 10.0)));
}

fn sizes() {
    let text = [
        (0, "0 bytes"),
        (949, "949 bytes"),
        (3_100, "3.1 kB"),
        (480_000_000, "480 MB"),
        (950_000_000, "0.9 GB"),
        (12_500_000_000, "12.5 GB"),
        (3_200_000_000_000, "3.2 TB"),
    ];
    for (bytes, expected) in text {
        assert_eq!(memory::size(bytes), expected);
    }
    for (value, expected) in [
        (99_900_000_000.0, "9.99 × 10¹⁰"),
        (-2.5e-7, "-2.50 × 10⁻⁷"),
        (f64::INFINITY, "inf"),
    ] {
        assert_eq!(scientific(value), expected);
    }
}

/// The outline of a box that is larger than the data is that of the part within them; a box beside them is whole.
fn box_within() {
    let bounds = (DVec3::splat(-10.0), DVec3::splat(10.0));
    let within = |low: DVec3, high: DVec3| clip::box_within((low, high), bounds);
    let (low, high) = (DVec3::new(-4.0, -500.0, -3.0), DVec3::new(5.0, 500.0, 40.0));
    let expected = (DVec3::new(-4.0, -10.0, -3.0), DVec3::new(5.0, 10.0, 10.0));
    assert_eq!(within(low, high), expected);
    assert_eq!(within(DVec3::splat(-1e5), DVec3::splat(1e5)), bounds);
    let aside = (DVec3::new(20.0, -1.0, -1.0), DVec3::new(30.0, 1.0, 1.0));
    assert_eq!(within(aside.0, aside.1), aside);
}
