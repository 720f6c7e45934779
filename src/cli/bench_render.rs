//! Speed of the 3-D view: 100,000 and 1,000,000 streamlines while the camera orbits, hundreds of regions, volumes, and
//! distributions.
//!
//! `loaded_s`: from the tractogram in memory until all of it was drawn, loaded as in the window (during a time slice
//! per frame, with almost no pause between); `bytes_per_point`: on the device, where a point takes 12 in memory;
//! `lines as triangles`: the same without compute shaders, which draw lines where the device draws triangles slowly;
//! `rate`: frames in motion, drawn more coarsely if they would take long, as in the window; `rest_ms`: the picture at
//! rest.
//!
//! `computed lines`, opaque and transparent, start a renderer of their own as the window does, which compiles its shaders
//! while the data is computed: `first_picture_s`, from the data to the first picture; `loaded_s`, to the complete one;
//! `complete_ms`, from a new viewpoint after a pause to the complete picture, whether in one piece or in several.

use super::bench::Choice;
use crate::compute::{Backend, thread};
use crate::data::Tractogram;
use crate::data::statistics::quantile;
use crate::render::offscreen::Offscreen;
use crate::render::{LineRaster, PaneId, Renderer};
use crate::scene::draw_list::{ById, LineColour, LineStyle, Lines, ScenePane};
use crate::state::Camera;
use glam::DVec3;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const POINTS: usize = 100;
const PANE: PaneId = PaneId(0);
/// Changes after this do not belong to a gesture with those before.
const PAUSE: Duration = Duration::from_millis(300);

pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let mut offscreen = match Offscreen::new() {
        Ok(offscreen) => offscreen,
        Err(error) => return vec![json!({"workload": "render", "error": error.to_string()})],
    };
    // Drawing on a CPU takes seconds for what a graphics card does in milliseconds.
    let small = choice.quick || offscreen.is_software();
    let (counts, size_px, frames): (&[usize], _, _) = if small {
        (&[10_000], [800, 600], 6)
    } else {
        (&[100_000, 1_000_000], [1600, 1000], 60)
    };
    let thin = LineStyle::Lines { width_px: 1.5 };
    let tubes = LineStyle::Tubes { radius_mm: 0.35 };
    let cases = [
        ("lines", thin, 1.0, LineRaster::Automatic),
        ("lines as triangles", thin, 1.0, LineRaster::Never),
        ("transparent lines", thin, 0.2, LineRaster::Automatic),
        (
            "transparent lines as triangles",
            thin,
            0.2,
            LineRaster::Never,
        ),
        ("tubes", tubes, 1.0, LineRaster::Automatic),
        ("tubes as triangles", tubes, 1.0, LineRaster::Never),
    ];
    let differ = offscreen.renderer.computes_lines();
    let mut results = Vec::new();
    for &count in counts {
        let tractogram = arcs(count);
        let taken = cases
            .into_iter()
            .filter(|c| choice.takes(c.0) && (differ || c.3 == LineRaster::Automatic));
        for (name, style, opacity, raster) in taken {
            offscreen.renderer.set_line_raster(raster);
            let list = |frame: usize| {
                let camera = Camera::framing(DVec3::splat(-80.0), DVec3::splat(80.0));
                let camera = camera.orbited(frame as f64 * 0.1, 0.0);
                scene(&tractogram, (style, opacity), &camera, size_px)
            };
            let mut result = orbit_case(&mut offscreen, (name, size_px), backend, list, frames);
            let points = count * POINTS;
            let bytes = offscreen.renderer.device_bytes() as f64;
            result["streamlines"] = json!(count);
            result["points"] = json!(points);
            result["bytes_per_point"] = json!(bytes / points as f64);
            results.push(result);
        }
        offscreen.renderer.set_line_raster(LineRaster::Automatic);
        offscreen.renderer.set_idle_budget(0);
    }
    results.extend(computed(choice, backend, (counts, size_px)));
    results.extend(super::bench_regions::run(choice, backend, &mut offscreen));
    results.extend(super::bench_volumes::run(choice, backend, &mut offscreen));
    results.extend(super::bench_glyphs::run(choice, backend, &mut offscreen));
    results.extend(super::bench_slices::run(choice, backend, &mut offscreen));
    results
}

/// The first and the complete pictures of streamlines that compute shaders draw.
fn computed(
    choice: Choice,
    backend: &Backend,
    (counts, size_px): (&[usize], [u32; 2]),
) -> Vec<Value> {
    let cases = [("computed lines", 1.0), ("computed transparent lines", 0.2)];
    let mut results = Vec::new();
    for &count in counts {
        for (name, opacity) in cases.into_iter().filter(|c| choice.takes(c.0)) {
            let mut offscreen = match Offscreen::new() {
                Ok(offscreen) => offscreen,
                Err(error) => {
                    results.push(
                        json!({"workload": "render", "case": name, "error": error.to_string()}),
                    );
                    continue;
                }
            };
            // Elsewhere, the rasteriser draws them.
            if !offscreen.renderer.computes_lines() {
                continue;
            }
            let renderer = &mut offscreen.renderer;
            renderer.create_ahead();
            // The thread compiles while they are computed, in each case for as long.
            let tractogram = arcs(count);
            let thin = LineStyle::Lines { width_px: 1.5 };
            let list = |step: usize| {
                let camera = Camera::framing(DVec3::splat(-80.0), DVec3::splat(80.0));
                let camera = camera.orbited(step as f64 * 0.1, 0.0);
                scene(&tractogram, (thin, opacity), &camera, size_px)
            };
            let started = Instant::now();
            renderer.load_in_pieces();
            renderer.scene(&list(0), PANE);
            renderer.wait();
            let first_s = started.elapsed().as_secs_f64();
            complete(renderer, &list(0));
            let loaded_s = started.elapsed().as_secs_f64();
            let mut all: Vec<f64> = (1..=6)
                .map(|step| {
                    thread::pause(PAUSE);
                    let started = Instant::now();
                    complete(renderer, &list(step));
                    started.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            let complete_ms = quantile(&mut all[1..], 0.5).unwrap_or(0.0);
            if renderer.computed_passes() == 0 {
                let error = "The device drew the lines as triangles";
                results.push(json!({"workload": "render", "case": name, "error": error}));
                continue;
            }
            results.push(json!({
                "workload": "render", "case": name, "size": size_px, "streamlines": count, "points": count * POINTS,
                "rate": 1e3 / complete_ms.max(1e-6), "unit": "pictures_per_s", "complete_ms": complete_ms,
                "device_ms": renderer.device_ms(), "first_picture_s": first_s, "loaded_s": loaded_s,
                "wall_s": started.elapsed().as_secs_f64(), "backend": "wgpu", "threads": backend.threads(),
                "detail": offscreen.device_name(),
            }));
        }
    }
    results
}

/// Draws until the picture is complete.
fn complete(renderer: &mut Renderer, list: &ScenePane) {
    renderer.scene(list, PANE);
    renderer.wait();
    while let Some(pause) = renderer.next_frame_in() {
        thread::pause(pause);
        renderer.scene(list, PANE);
        renderer.wait();
    }
}

/// Loads the content of a list, then draws frames of it: the line of a case.
pub(super) fn orbit_case(
    offscreen: &mut Offscreen,
    (case, size_px): (&str, [u32; 2]),
    backend: &Backend,
    list: impl Fn(usize) -> ScenePane,
    frames: usize,
) -> Value {
    let mut result = orbit(&mut offscreen.renderer, list, frames);
    result["workload"] = json!("render");
    result["case"] = json!(case);
    result["size"] = json!(size_px);
    result["backend"] = json!("wgpu");
    result["detail"] = json!(offscreen.device_name());
    result["threads"] = json!(backend.threads());
    result
}

fn orbit(renderer: &mut Renderer, list: impl Fn(usize) -> ScenePane, frames: usize) -> Value {
    let started = Instant::now();
    renderer.load_in_pieces();
    let first = list(0);
    let mut first_s = None;
    while first_s.is_none() || renderer.is_busy() {
        renderer.scene(&first, PANE);
        renderer.wait();
        first_s.get_or_insert_with(|| started.elapsed().as_secs_f64());
    }
    let loaded_s = started.elapsed().as_secs_f64();
    let draw = |renderer: &mut Renderer, frames, moving| {
        let (mut device, mut encode, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        for frame in 1..=frames {
            let began = Instant::now();
            let list = ScenePane {
                moving,
                ..list(frame)
            };
            renderer.scene(&list, PANE);
            renderer.wait();
            whole.push(began.elapsed().as_secs_f64() * 1e3);
            device.push(renderer.device_ms());
            encode.push(renderer.encode_ms());
        }
        // The first frames determine how coarse the rest must be.
        [whole, device, encode].map(|mut ms| quantile(&mut ms[frames / 4..], 0.5).unwrap_or(0.0))
    };
    let [frame_ms, device_ms, encode_ms] = draw(renderer, frames, true);
    // At full quality, however long it takes.
    renderer.load_at_once();
    let [rest_ms, ..] = draw(renderer, frames / 6, false);
    renderer.forget(PANE);
    json!({
        "frames": frames, "frame_ms": frame_ms, "device_ms": device_ms, "encode_ms": encode_ms,
        "rate": 1e3 / frame_ms.max(1e-6), "unit": "frames_per_s", "rest_ms": rest_ms,
        "first_picture_s": first_s, "loaded_s": loaded_s,
        "wall_s": started.elapsed().as_secs_f64(),
    })
}

fn scene(
    tractogram: &Tractogram,
    (style, opacity): (LineStyle, f32),
    camera: &Camera,
    size_px: [u32; 2],
) -> ScenePane {
    ScenePane {
        lines: vec![Lines {
            tractogram: ById(tractogram.clone()),
            colour: LineColour::Direction,
            style,
            opacity,
            every: 1,
            context: false,
        }],
        ..bare(camera, size_px)
    }
}

/// A black scene without content.
pub(super) fn bare(camera: &Camera, size_px: [u32; 2]) -> ScenePane {
    let aspect = f64::from(size_px[0]) / f64::from(size_px[1]);
    ScenePane {
        size_px,
        scale: 1.0,
        clip_from_world: camera.clip_from_world(aspect),
        eye: camera.eye(),
        background: [0, 0, 0],
        slices: Vec::new(),
        outline: None,
        lines: Vec::new(),
        ends: Vec::new(),
        slab: None,
        depth_cue: 0.0,
        clips: Default::default(),
        solids: Vec::new(),
        volumes: Vec::new(),
        surfaces: Vec::new(),
        glyphs: None,
        moving: false,
    }
}

/// Half circles about the origin in all planes: as long, as dense and with as many crossings as in a brain.
fn arcs(count: usize) -> Tractogram {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let mut points = Vec::with_capacity(count * POINTS);
    let mut offsets = vec![0];
    for i in 0..count {
        let z = 1.0 - 2.0 * (i as f64 + 0.5) / count as f64;
        let (sin, cos) = (golden * i as f64).sin_cos();
        let across = DVec3::new(cos * (1.0 - z * z).sqrt(), sin * (1.0 - z * z).sqrt(), z);
        let along = across.any_orthonormal_vector();
        let radius = 20.0 + 50.0 * ((i as f64 * 0.618_034).fract());
        for k in 0..POINTS {
            let (s, c) = (std::f64::consts::PI * k as f64 / (POINTS - 1) as f64).sin_cos();
            points.push(((along * c + across * s) * radius).as_vec3().to_array());
        }
        offsets.push(points.len() as u64);
    }
    let arcs = Tractogram::new(points, offsets);
    // Jobs compute them when they read a file.
    arcs.bounds();
    arcs
}
