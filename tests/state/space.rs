//! Messages about misplaced data sets; silence about all others.

use crate::support::composed_nifti::ComposedNifti;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Mask, Tractogram, Volume};
use arcuate::io::{Opened, nifti};
use arcuate::state::alignment::space::{
    NamedData, SpatialData, compared, disagreements, shares_inside,
};
use glam::{DAffine3, DMat3, DVec3};
use libtest_mimic::Trial;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("space::agreement_is_silent", agreement),
        test("space::shifts_and_mirrors_are_named", shifts),
        test("space::streamlines_outside_are_counted", streamlines),
        test("space::small_masks_test_no_streamlines", small_masks),
        test("space::shares_inside_are_exact", shares),
        test("space::disagreements_name_their_pair", pairs),
        test("space::another_order_is_no_other_place", orders),
        test("space::forms_of_a_header_are_compared", forms),
    ]
}

/// Any axis order, handedness and obliquity.
fn grid(random: &mut Random) -> Grid {
    let edge = |random: &mut Random| random.uniform(0.8, 3.0);
    let edges = DVec3::new(edge(random), edge(random), edge(random));
    let sign = |random: &mut Random| if random.bits() & 1 == 0 { 1.0 } else { -1.0 };
    let signs = DVec3::new(sign(random), sign(random), sign(random));
    let axes = DMat3::from_quat(random.rotation()) * DMat3::from_diagonal(edges * signs);
    let shape = [0; 3].map(|_| 30 + (random.bits() % 30) as usize);
    let affine = DAffine3::from_mat3_translation(axes, random.direction() * 60.0);
    Grid::new(shape, affine, AffineSource::Sform).expect("regular")
}

fn moved(grid: &Grid, by: DAffine3) -> Grid {
    Grid::new(grid.shape, by * grid.world_from_voxel, AffineSource::Sform).expect("regular")
}

fn ball(grid: &Grid, share: f64) -> Mask {
    let radius = share
        * 0.5
        * (0..3)
            .map(|a| grid.shape[a] as f64 * grid.spacing()[a])
            .fold(1e9, f64::min);
    let inside = |i: usize| {
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        u8::from(at.distance(grid.centre()) < radius)
    };
    let inside: Vec<u8> = (0..grid.voxel_count()).map(inside).collect();
    Mask::new(Arc::new(grid.clone()), inside)
}

fn sentences(items: &[(&str, SpatialData)]) -> Vec<String> {
    let items: Vec<NamedData> = items
        .iter()
        .map(|(name, what)| NamedData { name, data: *what })
        .collect();
    disagreements(&items)
}

/// Every disagreement names the two data sets that a picture shows.
fn pairs() {
    let mut random = Random::fresh("pairs");
    let reference = grid(&mut random);
    let shifted = moved(&reference, DAffine3::from_translation(DVec3::splat(0.7)));
    let (good, bad) = (ball(&reference, 0.5), ball(&shifted, 0.5));
    let items = [
        ("t1", SpatialData::Image(&reference)),
        ("good", SpatialData::Mask(&good)),
        ("bad", SpatialData::Mask(&bad)),
    ];
    let items: Vec<NamedData> = items
        .iter()
        .map(|(name, what)| NamedData { name, data: *what })
        .collect();
    let found = compared(&items);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].between, Some([0, 2]));
    assert_eq!(disagreements(&items), [found[0].sentence.clone()]);
}

/// Voxels stored from the other side keep their place: nothing is called wrong, and only left and right are mentioned.
/// FreeSurfer writes exchanged axes.
fn orders() {
    let shape = [40; 3];
    let last = 39.0;
    let stored = |axes: [usize; 3], back: [bool; 3]| {
        let col = |a: usize| DVec3::AXES[axes[a]] * if back[a] { -2.0 } else { 2.0 };
        let matrix = DMat3::from_cols(col(0), col(1), col(2));
        let mut origin = DVec3::new(-30.0, -40.0, -20.0);
        for a in 0..3 {
            origin[axes[a]] += if back[a] { 2.0 * last } else { 0.0 };
        }
        let affine = DAffine3::from_mat3_translation(matrix, origin);
        Grid::new(shape, affine, AffineSource::Sform).expect("regular")
    };
    let scan = stored([0, 1, 2], [true, false, false]);
    let compare = |grid: &Grid| {
        sentences(&[
            ("dwi", SpatialData::Image(&scan)),
            ("t1", SpatialData::Image(grid)),
        ])
    };
    let found = compare(&stored([0, 1, 2], [false; 3]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("in another order (RAS, not LAS)"),
        "{found:?}"
    );
    assert!(!found[0].contains("wrong"), "{found:?}");
    for (axes, back) in [
        ([0, 1, 2], [true, true, false]),
        ([0, 2, 1], [true, true, false]),
        ([2, 0, 1], [false; 3]),
    ] {
        assert_eq!(compare(&stored(axes, back)), Vec::<String>::new());
    }
}

/// A header whose two forms differ is reported with the difference, and the picture shows one data set.
fn forms() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.nii");
    let read = |created: &ComposedNifti| {
        created.write(&path);
        match arcuate::io::open(&path, &Control::new()).expect("opened") {
            Opened::Volume(volume, _) => volume.grid,
            Opened::Tractogram(..) => unreachable!("an image was written"),
        }
    };
    let mut created = ComposedNifti::ramp(1);
    created.qform_code = 1;
    created.quatern = [0.0, 1.0, 0.0];
    created.pixdim[0] = -1.0;
    // The sform of the ramp, moved by 3 mm; see io::images.
    created.qoffset = [7.0, -7.0, 11.0];
    let shifted = read(&created);
    let found = compared(&[NamedData {
        name: "a",
        data: SpatialData::Image(&shifted),
    }]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].between, Some([0, 0]));
    let text = &found[0].sentence;
    assert!(
        text.contains("3.00") && text.contains("to the right"),
        "{text}"
    );
    assert!(text.contains("the sform is used"), "{text}");
    // Without the half turn the first axis runs the other way.
    created.quatern = [0.0; 3];
    created.pixdim[0] = 1.0;
    let mirrored = read(&created);
    let found = sentences(&[("a", SpatialData::Image(&mirrored))]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("exchanges left and right"), "{found:?}");
    created.qform_code = 0;
    assert!(read(&created).by_qform().is_none());
}

/// Points of the ball, as one streamline.
fn inside(mask: &Mask, random: &mut Random) -> Tractogram {
    let grid = &mask.grid;
    let voxels: Vec<usize> = (0..grid.voxel_count())
        .filter(|&i| mask.inside[i] != 0)
        .collect();
    let point = |random: &mut Random| {
        let i = voxels[(random.bits() % voxels.len() as u64) as usize];
        let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        at.as_vec3().to_array()
    };
    let points: Vec<[f32; 3]> = (0..400).map(|_| point(random)).collect();
    Tractogram::new(points, vec![0, 400])
}

fn agreement() {
    let mut random = Random::fresh("space");
    for _ in 0..20 {
        let scan = grid(&mut random);
        let mask = ball(&scan, 0.8);
        let tracks = inside(&mask, &mut random).with_grid(scan.clone());
        // A coarser image of the same head: half the voxels, the same middle.
        let coarse = scan.world_from_voxel.matrix3 * 2.0;
        let shape = scan.shape.map(|n| n / 2);
        let last = DVec3::from_array(shape.map(|n| n as f64 - 1.0));
        let affine = DAffine3::from_mat3_translation(coarse, scan.centre() - coarse * last * 0.5);
        let t1 = Grid::new(shape, affine, AffineSource::Qform).expect("regular");
        let all = [
            ("dwi", SpatialData::Image(&scan)),
            ("mask", SpatialData::Mask(&mask)),
            ("t1", SpatialData::Image(&t1)),
            ("tracks", SpatialData::Streamlines(&tracks)),
        ];
        assert_eq!(sentences(&all), Vec::<String>::new());
    }
    assert_eq!(sentences(&[]), Vec::<String>::new());
}

fn shifts() {
    let mut random = Random::fresh("space");
    for _ in 0..20 {
        let scan = grid(&mut random);
        let edge = scan.spacing().min_element();
        // Half a voxel to the left.
        let shift = DVec3::new(-0.5 * edge, 0.0, 0.0);
        let mask = ball(&moved(&scan, DAffine3::from_translation(shift)), 0.5);
        let found = sentences(&[
            ("dwi", SpatialData::Image(&scan)),
            ("mask", SpatialData::Mask(&mask)),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("0.50 of a voxel's edge"), "{found:?}");
        assert!(found[0].contains("to the left"), "{found:?}");
        assert!(
            !found[0].contains("up") && !found[0].contains("front"),
            "{found:?}"
        );
        // The scan's voxels, mirrored about the middle of the head.
        let centre = scan.centre();
        let mirror = DAffine3::from_translation(DVec3::new(2.0 * centre.x, 0.0, 0.0))
            * DAffine3::from_scale(DVec3::new(-1.0, 1.0, 1.0));
        let other = moved(&scan, mirror);
        let found = sentences(&[
            ("dwi", SpatialData::Image(&scan)),
            ("t1", SpatialData::Image(&other)),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("left and right swapped"), "{found:?}");
        // An image of another head.
        let far = moved(
            &scan,
            DAffine3::from_translation(DVec3::new(0.0, 900.0, 0.0)),
        );
        let far =
            Grid::new([20, 20, 20], far.world_from_voxel, AffineSource::Sform).expect("regular");
        let found = sentences(&[
            ("dwi", SpatialData::Image(&scan)),
            ("t1", SpatialData::Image(&far)),
        ]);
        assert!(
            found[0].contains("does not overlap dwi at all"),
            "{found:?}"
        );
        let unknown =
            Grid::new([9; 3], scan.world_from_voxel, AffineSource::Pixdim).expect("regular");
        let found = sentences(&[("t1", SpatialData::Image(&unknown))]);
        assert!(found[0].contains("left and right are unknown"), "{found:?}");
        // Moving it reports nothing about them; a saved file contains the moved place.
        let by = DAffine3::from_translation(random.direction() * 30.0);
        let by = by * DAffine3::from_quat(random.rotation());
        let moved = unknown.moved(by).expect("regular");
        let found = sentences(&[("t1", SpatialData::Image(&moved))]);
        assert!(found[0].contains("left and right are unknown"), "{found:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("moved.nii");
        let volume = Volume::scalar(Arc::new(moved.clone()), vec![1.0; 729]);
        nifti::save_volume(&path, &volume, "", &Control::new()).expect("written");
        let repeated = nifti::read_grid(&path, &Control::new()).expect("read");
        assert!(repeated.same_space(&moved, 1e-3));
    }
}

fn streamlines() {
    let mut random = Random::fresh("space");
    for _ in 0..10 {
        let scan = grid(&mut random);
        let mask = ball(&scan, 0.7);
        let right = inside(&mask, &mut random);
        let all = |tracks: &Tractogram| {
            sentences(&[
                ("dwi", SpatialData::Image(&scan)),
                ("brain", SpatialData::Mask(&mask)),
                ("tracks", SpatialData::Streamlines(tracks)),
            ])
        };
        assert_eq!(all(&right), Vec::<String>::new());
        // Without a mask only the image's box can be tested, and the message states it.
        let away: Vec<[f32; 3]> = right
            .points
            .iter()
            .map(|p| [p[0] + 1e3, p[1], p[2]])
            .collect();
        let away = Tractogram::new(away, vec![0, 400]);
        let found = sentences(&[
            ("dwi", SpatialData::Image(&scan)),
            ("tracks", SpatialData::Streamlines(&away)),
        ]);
        let text = "of tracks lie outside the box of dwi, the only test";
        assert!(found[0].contains(text), "{found:?}");
        // Left where right should be; a head in the middle would hide that.
        if scan.centre().x.abs() < 40.0 {
            continue;
        }
        let flipped: Vec<[f32; 3]> = right.points.iter().map(|p| [-p[0], p[1], p[2]]).collect();
        let found = all(&Tractogram::new(flipped, vec![0, 400]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("of tracks lie outside brain"),
            "{found:?}"
        );
        assert!(
            found[0].contains("if left and right were swapped"),
            "{found:?}"
        );
        let lps: Vec<[f32; 3]> = right.points.iter().map(|p| [-p[0], -p[1], p[2]]).collect();
        if scan.centre().y.abs() > 40.0 {
            let found = all(&Tractogram::new(lps, vec![0, 400]));
            assert!(found[0].contains("LPS, not RAS"), "{found:?}");
        }
    }
}

/// Streamlines of a brain leave the mask of a tumour: nothing is misplaced.
fn small_masks() {
    let mut random = Random::fresh("space small masks");
    for _ in 0..10 {
        let scan = grid(&mut random);
        let (brain, tumour) = (ball(&scan, 0.8), ball(&scan, 0.25));
        let tracks = inside(&brain, &mut random);
        let image = ("t1", SpatialData::Image(&scan));
        let small = ("tumour_core", SpatialData::Mask(&tumour));
        let lines = ("fibres", SpatialData::Streamlines(&tracks));
        assert_eq!(sentences(&[image, lines, small]), Vec::<String>::new());
        // Next to a brain mask, too.
        let whole = ("brain", SpatialData::Mask(&brain));
        assert_eq!(
            sentences(&[image, small, lines, whole]),
            Vec::<String>::new()
        );
    }
}

/// Points in known voxels: this many of them are inside the first image and inside each mask.
fn shares() {
    let mut random = Random::fresh("space shares");
    let grid = Arc::new(grid(&mut random));
    let inside: Vec<u8> = (0..grid.voxel_count())
        .map(|_| u8::from(random.uniform(0.0, 1.0) < 0.6))
        .collect();
    let (mut in_grid, mut in_mask) = (0, 0);
    let shape = DVec3::from_array(grid.shape.map(|n| n as f64));
    let all = 1 + (random.bits() % 3000) as usize;
    let mut uniform = |low, high| DVec3::from_array([(); 3].map(|()| random.uniform(low, high)));
    let mut points = Vec::new();
    for _ in 0..all {
        // Well within a voxel; some voxels are outside the grid.
        let voxel = (uniform(-0.1, 1.1) * shape).floor();
        if voxel.cmpge(DVec3::ZERO).all() && voxel.cmplt(shape).all() {
            in_grid += 1;
            let at = voxel.to_array().map(|v| v as usize);
            in_mask += usize::from(inside[grid.index(at)] > 0);
        }
        points.push(grid.world(voxel + uniform(-0.4, 0.4)).as_vec3().to_array());
    }
    let lines = Tractogram::new(points, vec![0, all as u64]);
    let mask = Mask::new(grid.clone(), inside);
    let images = ["image", "another image"].map(|name| (name, SpatialData::Image(&grid)));
    let others = [
        ("lines", SpatialData::Streamlines(&lines)),
        ("mask", SpatialData::Mask(&mask)),
    ];
    let items = others.into_iter().chain(images);
    let items: Vec<NamedData> = items.map(|(name, data)| NamedData { name, data }).collect();
    let share = |n: usize| n as f64 / all as f64;
    assert_eq!(
        shares_inside(&items),
        [
            ("lines", "image", share(in_grid)),
            ("lines", "mask", share(in_mask))
        ]
    );
}
