//! Surfaces of regions: closed, oriented outwards, where the voxels are, and the same in every format.

use super::formats::grid;
use super::sentence;
use crate::support::{Random, test};
use arcuate::compute::Control;
use arcuate::data::{AffineSource, Grid, Mask, Shape, Surface};
use arcuate::io::surface;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use glam::{DVec3, Vec3};
use libtest_mimic::Trial;
use std::collections::HashMap;
use std::f64::consts::PI;
use std::io::Read as _;
use std::sync::Arc;

pub fn tests() -> Vec<Trial> {
    vec![
        test("io::surfaces::of_masks_in_every_axis_order", of_masks),
        test("io::surfaces::of_random_voxels_are_closed", random_voxels),
        test("io::surfaces::of_spheres_and_boxes", of_shapes),
        test("io::surfaces::files_hold_the_same", files),
    ]
}

/// Each edge is traversed equally often in both directions.
fn closed(surface: &Surface, what: &str) {
    let mut edges: HashMap<(u32, u32), i64> = HashMap::new();
    for t in &surface.triangles {
        for k in 0..3 {
            let (a, b) = (t[k], t[(k + 1) % 3]);
            assert_ne!(a, b, "{what}");
            let sense = if a < b { 1 } else { -1 };
            *edges.entry((a.min(b), a.max(b))).or_default() += sense;
        }
    }
    assert!(edges.values().all(|n| *n == 0), "{what}");
}

fn euler(surface: &Surface) -> i64 {
    let mut edges: Vec<(u32, u32)> = surface
        .triangles
        .iter()
        .flat_map(|t| [0, 1, 2].map(|k| (t[k].min(t[(k + 1) % 3]), t[k].max(t[(k + 1) % 3]))))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    surface.points.len() as i64 - edges.len() as i64 + surface.triangles.len() as i64
}

/// A ball in the centre of the grid.
fn ball(grid: &Grid, radius_mm: f64) -> Mask {
    let centre = grid.centre();
    let inside = |i: usize| {
        let world = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        u8::from(world.distance(centre) <= radius_mm)
    };
    let inside: Vec<u8> = (0..grid.voxel_count()).map(inside).collect();
    Mask::new(Arc::new(grid.clone()), inside)
}

fn of_masks() {
    let mut random = Random::fresh("surfaces");
    for order in 0..48 {
        let oblique = grid(order, true, &mut random);
        let grid = Grid::new([24, 25, 26], oblique.world_from_voxel, AffineSource::Sform);
        let grid = grid.expect("regular");
        let what = grid.orientation();
        let radius = 8.0 * grid.spacing().min_element();
        let mask = ball(&grid, radius);
        let surface = Surface::of_mask(&mask);
        closed(&surface, &what);
        assert_eq!(euler(&surface), 2, "{what}");
        // The surface is oriented outwards for either handedness of the grid; smoothing removes a little of the voxels.
        let ratio = surface.volume_mm3() / (1000.0 * mask.volume_ml());
        assert!((0.9..1.05).contains(&ratio), "{what}: {ratio}");
        // Nowhere farther from the ball than a voxel's diagonal.
        let diagonal = grid.spacing().length();
        for p in &surface.points {
            let far = Vec3::from(*p).as_dvec3().distance(grid.centre()) - radius;
            assert!(far.abs() <= diagonal, "{what}: {far} mm");
        }
    }
}

/// No voxel changes sides: centres inside stay inside, including those of single voxels and thin sheets.
fn random_voxels() {
    let mut random = Random::fresh("voxels");
    for share in [2, 5, 20] {
        let oblique = grid((random.bits() % 48) as usize, true, &mut random);
        let shape = [7, 8, 9];
        let grid = Grid::new(shape, oblique.world_from_voxel, AffineSource::Sform);
        let grid = Arc::new(grid.expect("regular"));
        let inside: Vec<u8> = (0..grid.voxel_count())
            .map(|_| u8::from(random.bits().is_multiple_of(share)))
            .collect();
        let mask = Mask::new(grid.clone(), inside.clone());
        let surface = Surface::of_mask(&mask);
        closed(&surface, "random voxels");
        for (i, &inside) in inside.iter().enumerate() {
            let at = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
            let turns = winding(&surface, at);
            let expected = f64::from(inside);
            assert!((turns - expected).abs() < 1e-3, "{turns} of {expected}");
        }
    }
    let grid = Arc::new(grid(0, false, &mut random));
    let empty = Mask::new(grid.clone(), vec![0; grid.voxel_count()]);
    assert_eq!(Surface::of_mask(&empty), Surface::default());
}

/// How often the surface winds around a point: the solid angles of its triangles (van Oosterom and Strackee 1983, IEEE
/// Trans Biomed Eng 30:125) over that of the sphere.
fn winding(surface: &Surface, at: DVec3) -> f64 {
    let angle = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|i| Vec3::from(surface.points[i as usize]).as_dvec3() - at);
        let [x, y, z] = [a, b, c].map(DVec3::length);
        let across = x * y * z + a.dot(b) * z + b.dot(c) * x + c.dot(a) * y;
        2.0 * a.dot(b.cross(c)).atan2(across)
    };
    surface.triangles.iter().map(angle).sum::<f64>() / (4.0 * PI)
}

fn of_shapes() {
    let mut random = Random::fresh("shapes");
    let centre = random.direction() * 40.0;
    let radius_mm = random.uniform(2.0, 30.0);
    let sphere = Surface::of_shape(&Shape::Sphere { centre, radius_mm });
    closed(&sphere, "sphere");
    assert_eq!(euler(&sphere), 2);
    let ratio = sphere.volume_mm3() / (4.0 / 3.0 * PI * radius_mm.powi(3));
    // Flat triangles between 96 meridians.
    assert!((0.995..1.0).contains(&ratio), "{ratio}");
    let half_mm = DVec3::new(1.0, 2.0, 3.5);
    let cuboid = Surface::of_shape(&Shape::Box { centre, half_mm });
    closed(&cuboid, "box");
    assert_eq!(euler(&cuboid), 2);
    assert!((cuboid.volume_mm3() - 56.0).abs() < 1e-2);
    assert!((winding(&cuboid, centre) - 1.0).abs() < 1e-6);
}

fn files() {
    let mut random = Random::fresh("files");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let oblique = grid(21, true, &mut random);
    let grid = Grid::new([9, 9, 9], oblique.world_from_voxel, AffineSource::Sform);
    let grid = grid.expect("regular");
    let composed = Surface::of_mask(&ball(&grid, 3.0 * grid.spacing().min_element()));
    let save = |name: &str| {
        let path = folder.path().join(name);
        surface::save(&path, &composed, "a test ]]> \n", &Control::new()).expect(name);
        std::fs::read(&path).expect("readable")
    };
    let corners = |t: &[u32; 3]| t.map(|i| composed.points[i as usize]);
    let triangles: Vec<[[f32; 3]; 3]> = composed.triangles.iter().map(corners).collect();
    let float = |bytes: &[u8]| f32::from_le_bytes(bytes[..4].try_into().expect("four"));
    let triplet = |bytes: &[u8]| [0, 4, 8].map(|at| float(&bytes[at..]));

    let stl = save("a.stl");
    assert_eq!(stl.len(), 84 + 50 * triangles.len());
    for (record, expected) in stl[84..].chunks_exact(50).zip(&triangles) {
        assert_eq!([12, 24, 36].map(|at| triplet(&record[at..])), *expected);
        let [a, b, c] = expected.map(Vec3::from);
        let normal = Vec3::from(triplet(record));
        assert!(normal.dot((b - a).cross(c - a)) >= 0.0);
    }
    let obj = String::from_utf8(save("a.obj")).expect("text");
    let rows = |key: &str| -> Vec<Vec<f64>> {
        let lines = obj.lines().filter_map(|l| l.strip_prefix(key));
        let row = |l: &str| {
            l.split_whitespace()
                .map(|w| w.parse().expect("a number"))
                .collect()
        };
        lines.map(row).collect()
    };
    let (points, faces) = (rows("v "), rows("f "));
    for (face, expected) in faces.iter().zip(&triangles) {
        let corner = |k: usize| [0, 1, 2].map(|a| points[face[k] as usize - 1][a] as f32);
        assert_eq!([corner(0), corner(1), corner(2)], *expected);
    }
    assert_eq!(faces.len(), triangles.len());
    let ply = save("a.ply");
    let end = b"end_header\n";
    let at = ply
        .windows(end.len())
        .position(|w| w == end)
        .expect("an end")
        + end.len();
    let header = String::from_utf8_lossy(&ply[..at]).into_owned();
    assert!(header.contains(&format!("element vertex {}\n", composed.points.len())));
    let body = &ply[at..];
    for (bytes, expected) in body.chunks_exact(12).zip(&composed.points) {
        assert_eq!(triplet(bytes), *expected);
    }
    let faces = &body[12 * composed.points.len()..];
    assert_eq!(faces.len(), 13 * triangles.len());
    for (record, expected) in faces.chunks_exact(13).zip(&composed.triangles) {
        let index =
            |k: usize| u32::from_le_bytes(record[1 + 4 * k..5 + 4 * k].try_into().expect("four"));
        assert_eq!((record[0], [index(0), index(1), index(2)]), (3, *expected));
    }
    let gifti = String::from_utf8(save("a.surf.gii")).expect("text");
    assert!(gifti.contains("NIFTI_INTENT_POINTSET") && gifti.contains("NIFTI_INTENT_TRIANGLE"));
    let arrays = gifti.split("<Data>").skip(1).map(|rest| {
        let text = rest.split("</Data>").next().unwrap_or_default();
        let packed = STANDARD.decode(text.trim()).expect("base64");
        let mut bytes = Vec::new();
        let mut decoder = ZlibDecoder::new(&*packed);
        decoder.read_to_end(&mut bytes).expect("zlib");
        bytes
    });
    let arrays: Vec<Vec<u8>> = arrays.collect();
    let points: Vec<[f32; 3]> = arrays[0].chunks_exact(12).map(triplet).collect();
    assert_eq!(points, composed.points);
    let index =
        |b: &[u8], k: usize| u32::from_le_bytes(b[4 * k..4 * k + 4].try_into().expect("four"));
    let triangle = |b: &[u8]| [0, 1, 2].map(|k| index(b, k));
    let found: Vec<[u32; 3]> = arrays[1].chunks_exact(12).map(triangle).collect();
    assert_eq!(found, composed.triangles);
    for name in ["a.nii", "a", "a.vtk"] {
        let path = folder.path().join(name);
        let error = surface::save(&path, &composed, "", &Control::new()).expect_err(name);
        sentence(&error);
    }
    let nothing = Surface::default();
    let path = folder.path().join("b.ply");
    sentence(&surface::save(&path, &nothing, "", &Control::new()).expect_err("nothing"));
    assert!(!path.exists());
}
