//! A state as a user would have it: a head-like scan, its maps, regions and streamlines.

use arcuate::data::region::RegionId;
use arcuate::data::{
    Gradients, Grid, Mask, Region, Role, Shape, Tensor, TensorField, Tractogram, Volume, VolumeKind,
};
use arcuate::solvers::{curves, tensor_fit};
use arcuate::state::core::display;
use arcuate::state::files::types::{Recent, RecentKind};
use arcuate::state::origin::{FitMapRecipe, FitRecipe, Origin};
use arcuate::state::tensors::recipe::FitMask;
use arcuate::state::tensors::types::{FitKey, ResidualCache};
use arcuate::state::track::types::{CurveKey, CurveParams};
use arcuate::state::{Content, CurveResult, Display, Layer, LayerId, State, Tensors};
use glam::DVec3;
use std::path::PathBuf;
use std::sync::Arc;

pub const BACKEND: &str = "CPU 2 threads · AVX2";

fn gradients(n: usize) -> Gradients {
    let direction = |i: usize| {
        // Golden-angle spiral: evenly spread, no two alike.
        let z = 1.0 - 2.0 * (i as f64 + 0.5) / n as f64;
        let angle = i as f64 * 2.399_963;
        let r = (1.0 - z * z).sqrt();
        DVec3::new(r * angle.cos(), r * angle.sin(), z)
    };
    Gradients {
        b_s_per_mm2: std::iter::once(0.0).chain((0..n).map(|_| 1000.0)).collect(),
        directions: std::iter::once(DVec3::ZERO)
            .chain((0..n).map(direction))
            .collect(),
    }
}

/// An ellipsoid of fibres along the head's long axis.
pub fn state(shape: [usize; 3], directions: usize) -> State {
    // Quarters of a millimetre, as on scanners.
    let spacing = DVec3::new(142.0, 184.0, 150.0) / DVec3::from_array(shape.map(|n| n as f64));
    let spacing = (spacing * 4.0).round() / 4.0;
    let origin = DVec3::new(-71.0, -104.0, -66.0);
    let grid = Arc::new(Grid::axis_aligned(shape, spacing, origin).unwrap());
    let n = grid.voxel_count();
    let world = |i: usize| grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
    let centre = grid.centre();
    let depth = |i: usize| {
        let p = (world(i) - centre) / DVec3::new(62.0, 82.0, 64.0);
        1.0 - p.length()
    };
    let inside: Vec<u8> = (0..n).map(|i| u8::from(depth(i) > 0.0)).collect();
    let mask = Mask::new(grid.clone(), inside.clone());
    let fa: Vec<f32> = (0..n)
        .map(|i| (depth(i).max(0.0) * 1.2).min(0.87) as f32)
        .collect();
    let md: Vec<f32> = (0..n).map(|i| f32::from(inside[i]) * 0.71e-3).collect();
    let dec: Vec<f32> = (0..3 * n)
        .map(|i| fa[i % n] * [0.3, 0.8, 0.5][i / n])
        .collect();
    let dwi: Vec<f32> = (0..n * (directions + 1))
        .map(|i| f32::from(inside[i % n]) * if i < n { 1184.0 } else { 520.0 })
        .collect();
    let tensors: Vec<Tensor> = (0..n)
        .map(|i| {
            if inside[i] == 0 {
                return Tensor::default();
            }
            Tensor::new([0.5e-3, -0.1e-3, 0.1e-3, 0.9e-3, -0.3e-3, 0.8e-3])
        })
        .collect();

    let mut state = State::new(BACKEND.to_owned());
    let document = &mut state.document;
    document.name = "sub-01".to_owned();
    let fit = document.origins.add(FitRecipe {
        scan: document
            .origins
            .add(Origin::file("/data/sub-01/dwi.nii.gz")),
        mask: FitMask::Automatic,
        params: tensor_fit::Params::defaults(),
    });
    let map = |key: &str| {
        Origin::from(FitMapRecipe {
            fit,
            map: tensor_fit::FitMap::from_key(key).expect("a map"),
        })
    };
    let mut add = |name: &str, content, display, origin, unit, unit_scale| {
        let id = LayerId(document.fresh_id());
        let origin: Origin = origin;
        let origin = document.origins.add(origin);
        document.layers.push(Arc::new(Layer {
            unit,
            unit_scale,
            ..Layer::new(id, name.to_owned(), content, display, origin)
        }));
    };
    let hidden = |window| Display {
        visible: false,
        ..display::image_display(window)
    };
    let dwi = Volume::new(grid.clone(), directions + 1, VolumeKind::Scalar, dwi);
    let scan_id = dwi.id();
    let scan = Content::Scan {
        dwi,
        gradients: Some(Arc::new(gradients(directions))),
    };
    add(
        "dwi",
        scan,
        hidden((0.0, 1400.0)),
        Origin::file("/data/sub-01/dwi.nii.gz"),
        "",
        1.0,
    );
    let content = Content::Mask(mask.clone());
    add(
        "Brain mask",
        content,
        display::mask_display(),
        Origin::file("/data/sub-01/brain_mask.nii.gz"),
        "",
        1.0,
    );
    let fa = Volume::scalar(grid.clone(), fa);
    let content = Content::Image(Volume::scalar(grid.clone(), md));
    add(
        "MD",
        content,
        hidden((0.0, 3e-3)),
        map("md"),
        "×10⁻³ mm²/s",
        1e3,
    );
    add(
        "FA",
        Content::Image(fa.clone()),
        hidden((0.0, 0.87)),
        map("fa"),
        "",
        1.0,
    );
    let rgb = Volume::new(grid.clone(), 3, VolumeKind::Rgb, dec);
    let display = Display {
        brightness: 1.5,
        ..display::image_display((0.0, 1.0))
    };
    add("DEC", Content::Image(rgb), display, map("dec"), "", 1.0);
    document.fit.b_range_s_per_mm2 = (0.0, 1550.0);
    document.tensors = Some(Arc::new(Tensors {
        field: TensorField::new(grid.clone(), tensors),
        fa,
        head: mask.bounds_inside().unwrap_or_else(|| mask.grid.bounds()),
        mask,
        mask_report: None,
        key: FitKey {
            scan: scan_id,
            mask: None,
            params: document.fit.clone(),
        },
        origin: fit,
        fitted: 202_648,
        repaired: 214,
        unfitted: 0,
        without_direction: Vec::new(),
        outside_range: Vec::new(),
        wall_ms: 412.0,
        residuals: ResidualCache::default(),
    }));
    state.runtime.selected_layer = state.document.layer_named("DEC").map(|l| l.id);
    state.view.crosshair = DVec3::new(-21.0, -14.0, 8.0);
    state
}

/// The state with a seed, a target and an exclude region, and the streamlines between them.
pub fn tracked(mut state: State) -> State {
    let mut region = |name: &str, role, shape, visible| {
        let id = RegionId(state.document.fresh_id());
        let name = name.to_owned();
        let region = Region {
            id,
            name,
            role,
            shape: Arc::new(shape),
            colour: None,
            visible,
            label_number: None,
        };
        state.document.regions.push(Arc::new(region));
        id
    };
    let sphere = |x, y, z, radius_mm| Shape::Sphere {
        centre: DVec3::new(x, y, z),
        radius_mm,
    };
    let seed = region(
        "Capsule L",
        Role::Seed,
        sphere(-21.0, -14.0, 8.0, 6.0),
        true,
    );
    let target = region(
        "Motor L",
        Role::Target,
        sphere(-30.0, -22.0, 58.0, 11.0),
        true,
    );
    let half_mm = DVec3::splat(7.0);
    let cube = Shape::Box {
        centre: DVec3::new(0.0, -10.0, 10.0),
        half_mm,
    };
    region("Midline", Role::Exclude, cube, false);
    let fit = state.document.tensors.as_ref().unwrap().origin;
    let key = CurveKey {
        field: state.document.tensors.as_ref().unwrap().field.id(),
        regions: state
            .document
            .regions
            .iter()
            .map(|r| (**r).clone())
            .collect(),
        curves: CurveParams::Streamlines(state.document.track.streamlines.clone()),
        tissues: None,
        coarse: false,
    };
    state.runtime.track.show(Some(CurveResult {
        key,
        output: Arc::new(output(450)),
        coarse: false,
        seeds: 1500,
        wall_ms: 18.0,
        fit,
        targets: vec![target],
        rays: None,
    }));
    state.runtime.regions.selected = Some(seed);
    state.runtime.selected_layer = None;
    state.runtime.notices.status = "Tracked 1\u{202F}492 streamlines in 18\u{202F}ms".into();
    state
}

/// Straight streamlines of two populations of length.
pub fn output(kept: usize) -> curves::Output {
    let mut points = Vec::new();
    let mut offsets = vec![0u64];
    let mut lengths = Vec::new();
    for i in 0..kept {
        // A smooth pseudo-random walk over lengths; a third is about 120 mm, the rest about 64.
        let u = (i as f32 * 0.618_034).fract() + (i as f32 * 0.414_214).fract() - 1.0;
        let length = if i % 3 == 0 {
            118.0 + 22.0 * u
        } else {
            62.0 + 26.0 * u
        };
        let x = -21.0 + (i % 20) as f32 * 0.3;
        points.push([x, -14.0, 8.0]);
        points.push([x, -14.0, 8.0 + length]);
        offsets.push(points.len() as u64);
        lengths.push(length);
    }
    let n = points.len();
    curves::Output {
        kept: Tractogram::new(points, offsets)
            .with_per_streamline("length", lengths)
            .with_per_streamline("target", vec![0.0; kept])
            .with_per_point("fa", vec![0.5; n]),
        missed: Tractogram::empty(),
        missed_every: 7,
        seed_outcomes: [kept as u64, 812, 0, 37, 193, 8, 0, 0],
        stops: [450, 0, 0, 194, 1561, 787, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        per_target: vec![kept as u64],
        steps: 1_000_000,
        kernel_s: None,
        starts: None,
        tissue_doubt: None,
    }
}

/// Files opened before, at fixed times.
pub fn with_recent(mut state: State) -> (State, u64) {
    // 2026-11-21 12:00 UTC.
    let now = 1_795_262_400;
    let recent = |path: &str, summary: &str, age_days: u64| Recent {
        path: PathBuf::from(path),
        kind: RecentKind::Image,
        summary: summary.to_owned(),
        opened: now - age_days * 86_400,
        window: None,
    };
    state.runtime.files.recent = vec![
        recent(
            "/data/sub-01/dwi.nii.gz",
            "81 × 105 × 60 × 33, 1 × b 0, 32 × b 1000",
            1,
        ),
        recent("/data/sub-02/t1.nii.gz", "181 × 217 × 181", 9),
    ];
    (state, now)
}
