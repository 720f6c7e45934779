//! Speed and memory of streamline files that stay on the disk: opening them, the first picture, the picture that is
//! refined, and the 3-D view of a part.
//!
//! The file is made up: arcs of 100 points, 1 mm apart, in a ball of the size of a head. It lies in the system's folder
//! for temporary files and takes 1.2 kB for each streamline; a TCK is written as well, to measure its index.

use super::bench::Choice;
use super::runner::Failure;
use crate::compute::{Backend, Control};
use crate::data::Tractogram;
use crate::data::random::Random;
use crate::io::atomic::Scratch;
use crate::io::pieces::{Contents, Outline};
use crate::io::{
    InPlace, Reading, SampleLimits, ViewPart, forget_peak, resident_bytes, streamlines,
};
use glam::{DMat4, DVec3};
use serde_json::{Value, json};
use std::f64::consts::TAU;
use std::path::Path;
use std::time::Instant;

/// Points of each streamline.
const POINTS: usize = 100;
/// Streamlines in memory while the file is written.
const PIECE: usize = 1 << 14;
const RADIUS_MM: f64 = 80.0;
/// Points of a picture, as in the window.
const PICTURE_POINTS: usize = 2_000_000;
/// Half a pixel of a view of the whole head, and of one that shows a tenth of its width.
const TOLERANCES_MM: [f32; 2] = [0.1, 0.01];

pub fn run(choice: Choice, backend: &Backend) -> Vec<Value> {
    let failed = |failure: Failure| vec![json!({"workload": "open", "error": failure.sentence})];
    if let Some(path) = choice.file {
        let ending = crate::io::extension(path);
        let mut lines = Lines::new(backend);
        let measured = measure(path, &ending, backend, &mut lines);
        return measured.map_or_else(failed, |()| lines.all);
    }
    let default = if choice.quick { 20_000 } else { 200_000 };
    let count = choice.streamlines.unwrap_or(default);
    let cases = ["trx", "tck"].into_iter().filter(|name| choice.takes(name));
    cases
        .flat_map(|ending| with_new_file(ending, count, backend).unwrap_or_else(failed))
        .collect()
}

/// An arc through a ball.
fn arc(index: usize, random: Random) -> Vec<[f32; 3]> {
    let at = |n: u64| random.stream(n).uniform(index as u64);
    let direction = |n: u64| random.stream(n).direction(index as u64);
    let centre = direction(1) * RADIUS_MM * at(2).cbrt();
    let radius = 30.0 + 60.0 * at(3);
    let a = direction(4);
    let b = a
        .cross(direction(5))
        .normalize_or(a.any_orthonormal_vector());
    let start = TAU * at(6);
    let point = |i: usize| {
        let (sin, cos) = (start + i as f64 / radius).sin_cos();
        (centre + radius * ((cos - start.cos()) * a + (sin - start.sin()) * b)).as_vec3()
    };
    (0..POINTS).map(|i| point(i).to_array()).collect()
}

fn write(path: &Path, count: usize) -> Result<(), Failure> {
    let random = Random::new(1);
    let mut outline = Outline::new(Tractogram::empty());
    (outline.streamlines, outline.points) = (count, count * POINTS);
    let mut contents = Contents {
        outline: &outline,
        pass: &mut |take| {
            (0..count).step_by(PIECE).try_for_each(|first| {
                let lines = first..(first + PIECE).min(count);
                take(&Tractogram::of_curves(lines.map(|i| arc(i, random))))
            })
        },
    };
    Ok(streamlines::save_pieces(
        path,
        &mut contents,
        "arcuate bench open",
        &Control::new(),
    )?)
}

/// The measured cases.
struct Lines<'a> {
    backend: &'a Backend,
    all: Vec<Value>,
}

impl<'a> Lines<'a> {
    fn new(backend: &'a Backend) -> Self {
        forget_peak();
        Self {
            backend,
            all: Vec::new(),
        }
    }

    fn add(&mut self, case: &str, (count, points): (usize, usize), seconds: f64, more: &Value) {
        let mut value = json!({
            "workload": "open",
            "case": case,
            "streamlines": count,
            "points": points,
            "wall_s": seconds,
            "rate": count as f64 / seconds.max(1e-9),
            "unit": "streamlines_per_s",
            "backend": self.backend.label(),
            "threads": self.backend.threads(),
        });
        for (name, figure) in more.as_object().into_iter().flatten() {
            value[name] = figure.clone();
        }
        if let Some((now, peak)) = resident_bytes() {
            (value["resident_bytes"], value["peak_bytes"]) = (json!(now), json!(peak));
        }
        forget_peak();
        self.all.push(value);
    }
}

/// Measures with a file that is made for this.
fn with_new_file(ending: &str, count: usize, backend: &Backend) -> Result<Vec<Value>, Failure> {
    let scratch = Scratch::new()?;
    let path = scratch.path().join(format!("t.{ending}"));
    let mut lines = Lines::new(backend);
    let started = Instant::now();
    write(&path, count)?;
    let bytes = InPlace::stored_bytes(&path);
    lines.add(
        &format!("{ending}: write"),
        (count, count * POINTS),
        started.elapsed().as_secs_f64(),
        &json!({"bytes": bytes}),
    );
    measure(&path, ending, backend, &mut lines)?;
    if let Some(place) = streamlines_index(&path) {
        let _ = crate::io::disk::remove_file(&place);
    }
    Ok(lines.all)
}

fn measure(path: &Path, ending: &str, backend: &Backend, lines: &mut Lines) -> Result<(), Failure> {
    let control = Control::new();
    let open = || {
        let started = Instant::now();
        let file = backend.install(|| InPlace::open(path, &Reading::default(), &control))?;
        let file = file.ok_or_else(|| Failure::new("the file does not stay on the disk"))?;
        Ok::<_, Failure>((file, started.elapsed().as_secs_f64()))
    };
    let size = |file: &InPlace| (file.len(), file.point_count());
    if ending == "tck" && streamlines_index(path).is_none() {
        let (file, seconds) = open()?;
        lines.add(
            &format!("{ending}: index"),
            size(&file),
            seconds,
            &json!({}),
        );
    }
    let (file, seconds) = open()?;
    let size = size(&file);
    lines.add(&format!("{ending}: open"), size, seconds, &json!({}));
    let view = ViewPart {
        clip_from_world: DMat4::from_scale(DVec3::splat(10.0 / RADIUS_MM)),
    };
    let limits = |points, tolerance_mm, view| SampleLimits {
        points,
        tolerance_mm,
        view,
    };
    let pictures = [
        ("first picture", limits(0, 0.0, None)),
        (
            "refined picture",
            limits(PICTURE_POINTS, TOLERANCES_MM[0], None),
        ),
        (
            "part of the view",
            limits(PICTURE_POINTS, TOLERANCES_MM[1], Some(view)),
        ),
    ];
    for (case, limits) in pictures {
        let started = Instant::now();
        let sample = backend.install(|| file.sample(&limits, None, &control, |_| {}))?;
        let more = json!({
            "drawn_streamlines": sample.numbers.len(),
            "drawn_points": sample.tractogram.points.len(),
            "one_in": 1u64 << sample.level,
        });
        let case = format!("{ending}: {case}");
        lines.add(&case, size, started.elapsed().as_secs_f64(), &more);
    }
    Ok(())
}

/// The index of a TCK that this run made.
fn streamlines_index(path: &Path) -> Option<std::path::PathBuf> {
    crate::io::tck::stored_index_path(path).filter(|place| place.is_file())
}
