//! Real heads: a run from a probe in a ventricle ends in the ventricle without a leak notice, and too wide ranges leak.
//!
//! | head | probe, mm | range by default | volume, ml | reference | leak notice |
//! | --- | --- | --- | --- | --- | --- |
//! | t1_a, whole | -16, -32, 6.5 | 53 to 163 | 16.7 | both lateral ventricles, by eye | none |
//! | | 6.3, 14.2, 18.6 | 49 to 136 | 14.7 | the same | none |
//! | | 25.5, -12.7, 21.1 | 52 to 150 | 15.6 | the same | none |
//! | t1_a, brain only | -16, -32, 6.5 | 46 to 163 | 17.3 | the same | none |
//! | t1_b, brain only | -22.2, -3.5, 27.5 | 11 to 44 | 7.5 | left, 8.8 ml | none |
//! | | 12.8, -1.5, 30.6 | 9 to 43 | 7.2 | right, 8.3 ml | none |
//! | t1_c, a crop | 21, 66, 47 | 3 to 34 | 8.5 | one side of the 18.1 ml | none |
//! | | 57, 69, 42 | 3 to 35 | 7.9 | the other | none |
//! | | 15, 72, 35: choroid plexus | 6 to 46 | 28.6 | all 18.1 ml | a leak, rightly |

use super::whole_head::{advance, millilitres, probed, stripped};
use super::{begin, sphere};
use crate::support::data_test;
use crate::support::fields::backend;
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Mask, Volume};
use arcuate::io;
use arcuate::solvers::level_set::{Ended, Layout, Params, agreement};
use flate2::read::GzDecoder;
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        data_test(
            "level_set::real heads: a whole one",
            "t1_a_head/t1_head.nii.gz",
            whole,
        ),
        data_test(
            "level_set::real heads: a brain alone",
            "t1_b_freesurfer/t1_norm.nii.gz",
            brain,
        ),
        data_test(
            "level_set::real heads: a crop",
            "t1_c_itksnap_crop/MRIcrop-orig.gipl.gz",
            crop,
        ),
    ]
}

fn open(path: &Path) -> Volume {
    io::image::read(path, &Control::new()).expect("an image").0
}

/// The voxels of a label.
fn labelled(labels: &Volume, label: f32) -> Mask {
    let inside = labels.frame(0).iter().map(|v| u8::from(*v == label));
    Mask::new(labels.grid.clone(), inside.collect::<Vec<u8>>())
}

/// The result of a default run from a probe, which is not a leak.
fn ends(image: &Volume, at: DVec3) -> (f64, Mask, Params) {
    let (params, mut run) = probed(image, at);
    let ended = advance(&mut run, 3000);
    let volume = millilitres(&run);
    println!(
        "{at}: T {:.0} ε {:.0}, {volume:.2} ml, {ended:?} after {}",
        params.target,
        params.tolerance,
        run.step()
    );
    assert_eq!(ended, Ended::Converged, "{at}");
    (volume, run.field().expect("a field").mask(), params)
}

/// The volume at which a range of values leaks.
fn leaks(image: &Volume, at: DVec3, range: [f32; 2], default_value: &Params) -> f64 {
    let [low, high] = range;
    let params = Params {
        target: 0.5 * (low + high),
        tolerance: 0.5 * (high - low),
        ..default_value.clone()
    };
    let mut run = begin(image, &[sphere(at, 3.0)], &params, Layout::BEST);
    let ended = advance(&mut run, 3000);
    let volume = millilitres(&run);
    println!("{at}: {low} to {high}: {volume:.2} ml, {ended:?}");
    assert!(matches!(ended, Ended::Leaked(_)), "{ended:?}");
    volume
}

fn whole(path: PathBuf) {
    let image = open(&path);
    let probes = [
        DVec3::new(-16.0, -32.0, 6.5),
        DVec3::new(6.3, 14.2, 18.6),
        DVec3::new(25.5, -12.7, 21.1),
    ];
    // Both lateral ventricles: two probes give nearly the same.
    let found = probes.map(|at| ends(&image, at));
    for (volume, mask, _) in &found {
        assert!((14.0..18.0).contains(volume), "{volume}");
        let dice = agreement(mask, &found[0].1).expect("one grid").dice;
        assert!(dice > 0.9, "{dice}");
    }
    let default_value = &found[0].2;
    // Narrower ranges end in one of them or in both, past narrow places at which the surface nearly stops.
    for range in [[55.0, 145.0], [63.0, 137.0], [38.0, 129.0]] {
        let params = Params {
            target: 0.5 * (range[0] + range[1]),
            tolerance: 0.5 * (range[1] - range[0]),
            ..default_value.clone()
        };
        let mut run = begin(&image, &[sphere(probes[0], 3.0)], &params, Layout::BEST);
        let ended = advance(&mut run, 3000);
        let volume = millilitres(&run);
        println!("{range:?}: {volume:.2} ml, {ended:?}");
        assert_eq!(ended, Ended::Converged, "{range:?}");
        assert!((6.0..16.0).contains(&volume), "{volume}");
    }
    // Values nearer to those of air let it out into cisterns and sulci.
    for range in [[38.0, 163.0], [38.0, 147.0]] {
        let volume = leaks(&image, probes[0], range, default_value);
        assert!(volume < 30.0, "{volume}");
    }
    // So do the values of a small sample: the surface nearly stops at 17 ml, and the rewind leads there.
    let at = DVec3::new(24.5, 6.8, 24.2);
    let params = Params {
        target: 86.6,
        tolerance: 51.8,
        ..default_value.clone()
    };
    let mut run = begin(&image, &[sphere(at, 3.0)], &params, Layout::BEST);
    let Ended::Leaked(leak) = advance(&mut run, 3000) else {
        panic!("no leak: {:.1} ml", millilitres(&run));
    };
    let before = run.growth()[leak.rewind_step as usize];
    println!("{leak:?}: {before} voxels, {:.1} ml", millilitres(&run));
    assert!((15_000..20_000).contains(&before), "{before}");
    assert!(millilitres(&run) < 28.0, "{}", millilitres(&run));
    // The image without scalp and skull.
    let mask = open(&path.with_file_name("brain_mask_robex.nii.gz"));
    let inside = mask.frame(0).iter().map(|v| u8::from(*v != 0.0));
    let mask = Mask::new(image.grid.clone(), inside.collect::<Vec<u8>>());
    let image = stripped(&image, &mask);
    let (volume, _, params) = ends(&image, probes[0]);
    assert!((14.0..18.5).contains(&volume), "{volume}");
    // The surface rests there, then the range is twice as wide.
    let mut run = begin(&image, &[sphere(probes[0], 3.0)], &params, Layout::BEST);
    advance(&mut run, 3000);
    let rests = run.step();
    let wide = Params {
        tolerance: 2.0 * params.tolerance,
        ..params
    };
    run.set(&wide, &backend(2)).expect("set");
    let Ended::Leaked(leak) = advance(&mut run, 3000) else {
        panic!("no leak: {:.0} ml", millilitres(&run));
    };
    assert_eq!(leak.rewind_step, rests, "{leak:?}");
}

fn brain(path: PathBuf) {
    let image = open(&path);
    let labels = open(&path.with_file_name("aparc.a2009s+aseg.mgz"));
    for (at, label) in [
        (DVec3::new(-22.2, -3.5, 27.5), 4.0),
        (DVec3::new(12.8, -1.5, 30.6), 43.0),
    ] {
        let (_, mask, params) = ends(&image, at);
        let dice = agreement(&mask, &labelled(&labels, label)).expect("one grid");
        println!("{at}: Dice {:.3}", dice.dice);
        assert!(dice.dice > 0.8, "{}", dice.dice);
        let volume = leaks(&image, at, [11.0, 65.0], &params);
        assert!(volume < 60.0, "{volume}");
    }
}

/// GIPL: a header of 256 bytes, big-endian.
fn gipl(path: &Path) -> Volume {
    let file = std::fs::File::open(path).expect("a file");
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).expect("gzip");
    let two = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let shape = [0, 2, 4].map(|at| usize::from(two(at)));
    let count: usize = shape.iter().product();
    let value = |i: usize| match two(8) {
        8 => f32::from(bytes[256 + i]),
        15 => f32::from(two(256 + 2 * i).cast_signed()),
        other => panic!("type {other}"),
    };
    // Voxels of 1 mm.
    let affine = DAffine3::from_mat3(DMat3::IDENTITY);
    let grid = Arc::new(Grid::new(shape, affine, AffineSource::Computed).expect("a grid"));
    Volume::scalar(grid, (0..count).map(value).collect::<Vec<f32>>())
}

fn crop(path: PathBuf) {
    let image = gipl(&path);
    let labels = gipl(&path.with_file_name("MRIcrop-seg.gipl.gz"));
    let ventricles = labelled(&labels, 1.0);
    for at in [DVec3::new(21.0, 66.0, 47.0), DVec3::new(57.0, 69.0, 42.0)] {
        let (_, found, _) = ends(&image, at);
        // The label contains both sides: the side of the probe.
        let grid = &image.grid;
        let side = |i: usize| (grid.voxel(i)[0] < 39) == (at.x < 39.0);
        let stored = ventricles.inside.iter().enumerate();
        let one: Vec<u8> = stored.map(|(i, v)| v * u8::from(side(i))).collect();
        let dice = agreement(&found, &Mask::new(grid.clone(), one)).expect("one grid");
        println!("{at}: Dice {:.3}", dice.dice);
        assert!(dice.dice > 0.8, "{}", dice.dice);
    }
    // The sample is choroid plexus, whose values are those of borders.
    let at = DVec3::new(15.0, 72.0, 35.0);
    let (params, mut run) = probed(&image, at);
    let ended = advance(&mut run, 3000);
    let volume = millilitres(&run);
    println!(
        "{at}: T {:.0} ε {:.0}, {volume:.2} ml, {ended:?}",
        params.target, params.tolerance
    );
    assert!(matches!(ended, Ended::Leaked(_)), "{ended:?}");
    assert!(volume < 40.0, "{volume}");
}
