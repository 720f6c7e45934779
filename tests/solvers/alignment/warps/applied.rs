//! Streamlines, labels and parts of images under a warp.

use super::{
    ITK, any_grid, bend, covering, inner, opened, reading, save_grid, save_image, text, trilinear,
    voxel, write_ants, write_field,
};
use crate::support::Random;
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Tractogram, Volume, VolumeKind};
use arcuate::io::pieces::{Piece, Pieces};
use arcuate::io::{Error, Opened, open_with_reading, trx};
use glam::{DAffine3, DVec3};
use std::sync::Arc;

/// Streamlines with values and groups, in the moving image; some leave the field.
fn scattered(
    random: &mut Random,
    fixed: &Grid,
    map: &dyn Fn(DVec3) -> DVec3,
) -> (Tractogram, Vec<Vec<DVec3>>) {
    let mut origins = Vec::new();
    for number in 0..40 {
        let from = inner(random, fixed, 1.0);
        let to = inner(random, fixed, 1.0);
        let count = 2 + number % 7;
        let mut curve: Vec<DVec3> = (0..count)
            .map(|i| from.lerp(to, i as f64 / (count - 1) as f64))
            .collect();
        if number % 10 == 3 {
            curve.push(fixed.centre() + DVec3::new(900.0, 0.0, 0.0));
        }
        origins.push(curve);
    }
    let far = |p: &DVec3| p.distance(fixed.centre()) > 500.0;
    let moved = |p: &DVec3| match far(p) {
        true => *p,
        // The field is linear between the voxels.
        false => trilinear(fixed, map, *p).unwrap(),
    };
    let curves = origins.iter().map(|curve| {
        curve
            .iter()
            .map(|p| moved(p).as_vec3().to_array())
            .collect::<Vec<_>>()
    });
    let lines = Tractogram::of_curves(curves);
    let heights: Vec<f32> = (0..lines.points.len()).map(|i| i as f32).collect();
    let numbers: Vec<f32> = (0..lines.len()).map(|i| i as f32).collect();
    let lines = lines
        .with_per_point("height", heights)
        .with_per_streamline("number", numbers)
        .with_group("some", vec![1u32, 3, 5]);
    (lines, origins)
}

pub fn streamlines() {
    let mut random = Random::fresh("warp streamlines");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for _ in 0..5 {
        let fixed = any_grid(&mut random, [12, 13, 14]);
        let map = bend(&mut random, fixed.centre());
        let path = folder.join("1Warp.nii.gz");
        write_ants(&path, &fixed, &map);
        let (lines, origins) = scattered(&mut random, &fixed, &map);
        let file = folder.join("lines.trx");
        trx::save(&file, &lines, &Control::new()).unwrap();
        let opened =
            open_with_reading(&file, &reading(&[text(&path)], None, None), &Control::new())
                .unwrap();
        let remarks = opened.remarks();
        let Opened::Tractogram(found, _) = opened else {
            panic!("no streamlines")
        };
        assert_eq!(found.len(), lines.len());
        assert_eq!(
            found.per_streamline["number"],
            lines.per_streamline["number"]
        );
        assert_eq!(found.groups, lines.groups);
        assert!(found.grid.as_ref().unwrap().same_space(&fixed, 1e-3));
        for (number, origin) in origins.iter().enumerate() {
            if number % 10 == 3 {
                assert!(found.streamline(number).is_empty());
                continue;
            }
            let start = lines.offsets[number] as usize;
            let own = found.offsets[number] as usize;
            assert_eq!(found.streamline(number).len(), origin.len());
            for (i, expected) in origin.iter().enumerate() {
                let point = DVec3::from_array(found.streamline(number)[i].map(f64::from));
                // Points and header in single precision.
                assert!(point.distance(*expected) < 2e-3, "{point} {expected}");
                let heights = [&found, &lines].map(|t| t.per_point["height"].clone());
                assert_eq!(heights[0][own + i], heights[1][start + i]);
            }
        }
        let says = |text: &str| remarks.iter().any(|r| r.contains(text));
        assert!(
            says("4 of 40 streamlines cannot be mapped as a whole (4 points outside the field)"),
            "{remarks:?}"
        );
        assert!(
            says("mapped back, they miss their places by"),
            "{remarks:?}"
        );
        // The inverse of the file takes them the other way, without a search.
        let inverse = format!("inverse:{}", text(&path));
        let back = folder.join("back.trx");
        trx::save(&back, &found, &Control::new()).unwrap();
        let opened = open_with_reading(&back, &reading(&[&inverse], None, None), &Control::new());
        let Opened::Tractogram(returned, _) = opened.unwrap() else {
            panic!("no streamlines")
        };
        for number in (0..lines.len()).filter(|n| n % 10 != 3) {
            for (a, b) in returned
                .streamline(number)
                .iter()
                .zip(lines.streamline(number))
            {
                let [a, b] = [a, b].map(|p| DVec3::from_array(p.map(f64::from)));
                assert!(a.distance(b) < 2e-3, "{a} {b}");
            }
        }
    }
}

pub fn pieces() {
    let mut random = Random::fresh("warp pieces");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let control = Control::new();
    let fixed = any_grid(&mut random, [12, 13, 14]);
    let map = bend(&mut random, fixed.centre());
    let path = folder.join("1Warp.nii.gz");
    write_ants(&path, &fixed, &map);
    let (lines, _) = scattered(&mut random, &fixed, &map);
    let file = folder.join("lines.trx");
    trx::save(&file, &lines, &control).unwrap();
    let reading = reading(&[text(&path)], None, None);
    let opened = open_with_reading(&file, &reading, &control).unwrap();
    let remarks = opened.remarks();
    let Opened::Tractogram(whole, _) = opened else {
        panic!("no streamlines")
    };
    for at_once in [1, 30, 1 << 20] {
        let pieces = Pieces::open(&file, &reading, &control)
            .unwrap()
            .with_points_at_once(at_once);
        assert_eq!(pieces.empty().grid, whole.grid);
        // A second pass finds the same.
        for _ in 0..2 {
            let (mut points, mut lengths, mut first_ones) = (Vec::new(), Vec::new(), Vec::new());
            let info = pieces
                .pass(&control, |piece: Piece| -> Result<(), Error> {
                    first_ones.push(piece.first);
                    points.extend_from_slice(&piece.tractogram.points);
                    lengths.extend(piece.tractogram.streamlines().map(<[_]>::len));
                    Ok(())
                })
                .unwrap();
            assert_eq!(points, *whole.points);
            let expected: Vec<usize> = whole.streamlines().map(<[_]>::len).collect();
            assert_eq!(lengths, expected);
            let found: Vec<String> = info.warnings.iter().chain(&info.notes).cloned().collect();
            let expected: Vec<String> = remarks.iter().map(|r| r.sentence.clone()).collect();
            assert_eq!(found, expected);
        }
    }
}

pub fn labels() {
    let mut random = Random::fresh("warp labels");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let fixed = any_grid(&mut random, [14, 14, 14]);
    let moving = covering(&mut random, &fixed);
    let map = bend(&mut random, fixed.centre());
    let path = folder.join("1Warp.nii.gz");
    write_ants(&path, &fixed, &map);
    // Two halves: the label with the larger weight is that of the side on which the point lies.
    let middle = moving.voxel_at(fixed.centre()).x.round();
    let side = |at: DVec3| if at.x < middle { 3.0 } else { 250.0 };
    let values: Vec<f32> = (0..moving.voxel_count())
        .map(|i| side(voxel(&moving, i)))
        .collect();
    let image = folder.join("two_dseg.nii.gz");
    save_image(
        &image,
        &Volume::scalar(Arc::new(moving.clone()), values.clone()),
    );
    let labels = reading(&[text(&path)], None, None);
    let (found, remarks) = opened(&image, &labels).unwrap();
    assert!(
        remarks
            .iter()
            .any(|r| r.contains("the label of the largest weight")),
        "{remarks:?}"
    );
    let mut checked = 0;
    for i in 0..fixed.voxel_count() {
        let at = moving.voxel_at(map(fixed.world(voxel(&fixed, i))));
        // Between the centres of two voxels, the nearer one decides; this margin covers single precision.
        if (at.x - (middle - 0.5)).abs() > 1e-3 && (0..3).all(|a| at[a] > 0.0 && at[a] < 29.0) {
            checked += 1;
            assert_eq!(
                found.values[i],
                side(DVec3::new((at.x + 0.5).floor(), 0.0, 0.0)),
                "{at}"
            );
        }
    }
    assert!(checked > 500, "{checked}");
    // A mask of these halves stays a mask: it has only zeros and ones.
    let ones: Vec<f32> = values.iter().map(|v| f32::from(*v > 100.0)).collect();
    let image = folder.join("mask.nii.gz");
    save_image(&image, &Volume::scalar(Arc::new(moving.clone()), ones));
    let (found, _) = opened(&image, &labels).unwrap();
    assert!(found.values.iter().all(|v| *v == 0.0 || *v == 1.0));
    assert!(found.values.contains(&0.0) && found.values.contains(&1.0));
    // Four volumes are resampled each for itself.
    let many: Vec<f32> = (0..4)
        .flat_map(|f| values.iter().map(move |v| v * f as f32))
        .collect();
    let image = folder.join("four.nii.gz");
    let volume = Volume::new(Arc::new(moving), 4, VolumeKind::Scalar, many);
    save_image(&image, &volume);
    let (found, _) = opened(&image, &labels).unwrap();
    assert_eq!(found.frames, 4);
    for (one, three) in found.frame(1).iter().zip(found.frame(3)) {
        assert!((3.0 * one - three).abs() < 1e-3);
    }
}

pub fn partial() {
    let mut random = Random::fresh("warp partial");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let moving = any_grid(&mut random, [20, 20, 20]);
    // The field covers a part of the fixed image only, and one of its voxels is no number.
    let small = Grid::new(
        [8, 8, 8],
        moving.world_from_voxel * DAffine3::from_translation(DVec3::splat(4.0)),
        AffineSource::Sform,
    )
    .unwrap();
    let mut vectors = vec![DVec3::ZERO; small.voxel_count()];
    vectors[small.index([2, 2, 2])] = DVec3::NAN;
    let path = folder.join("warp.nii");
    write_field(&path, &small, ITK.0, ITK.1, &vectors);
    let image = folder.join("image.nii.gz");
    let values = vec![7f32; moving.voxel_count()];
    save_image(&image, &Volume::scalar(Arc::new(moving.clone()), values));
    let (found, remarks) = opened(&image, &reading(&[text(&path)], Some(&image), None)).unwrap();
    let inside = |v: [usize; 3]| v.iter().all(|n| (4..12).contains(n)) && v != [6; 3];
    for i in 0..moving.voxel_count() {
        let expected = if inside(moving.voxel(i)) { 7.0 } else { 0.0 };
        assert!(
            (found.values[i] - expected).abs() < 1e-4,
            "{:?}",
            moving.voxel(i)
        );
    }
    let says = |text: &str| remarks.iter().any(|r| r.contains(text));
    // 20³ - 8³ + 1.
    assert!(
        says("7\u{202f}489 voxels of the fixed image"),
        "{remarks:?}"
    );
    assert!(
        says("1 of the field's 512 voxels hold no number"),
        "{remarks:?}"
    );
    // Nothing in common.
    let far = moving
        .moved(DAffine3::from_translation(DVec3::splat(4000.0)))
        .unwrap();
    let far_path = folder.join("far.nii");
    save_grid(&far_path, &far);
    let error = opened(&image, &reading(&[text(&path)], Some(&far_path), None)).unwrap_err();
    assert!(error.to_string().contains("maps nowhere"), "{error}");
}
