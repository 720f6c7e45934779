//! `arcuate info`: what files hold.

use super::options::{ScanOptions, ToldOptions};
use super::runner::{Failure, Runner};
use crate::data::tractogram::LENGTH;
use crate::data::{AffineSource, Gradients, Grid, Tractogram, Volume};
use crate::io::Told;
use crate::jobs::{Loaded, Output, Request};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arcuate info dwi.nii.gz mask.nii.gz tracks.tck
  arcuate info phantom:1 --json

Orientation names the end each voxel axis points to: LAS runs to the patient's left, front and top.";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Scans, images, masks, streamlines
    #[arg(required = true)]
    pub files: Vec<String>,
    #[command(flatten)]
    pub told: ToldOptions,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    let (mut values, mut text, mut failures) = (Vec::new(), String::new(), Vec::new());
    for file in &options.files {
        match describe(file, &options.told.told(), runner) {
            Ok((value, lines)) => {
                values.push(value);
                let _ = writeln!(text, "{file}\n{lines}");
            }
            Err(failure) => {
                values.push(json!({"path": file, "error": failure.sentence}));
                failures.push(failure);
            }
        }
    }
    runner.report(&json!({"command": "info", "files": values}), &text);
    // The files that can be read are described even if others cannot.
    failures.into_iter().next().map_or(Ok(()), Err)
}

fn describe(file: &str, told: &Told, runner: &mut Runner) -> Result<(Value, String), Failure> {
    if file.starts_with("phantom:") {
        let options = ScanOptions::of(file);
        let scan = options.open(runner)?;
        return Ok(image(file, &scan.dwi, Some(&scan.gradients), &[]));
    }
    let path = PathBuf::from(file);
    let (output, _) = runner.run(Request::OpenTold {
        path: path.clone(),
        told: told.clone(),
    })?;
    let Output::Opened { loaded, notes, .. } = output else {
        return Err(Failure::new(format!("Nothing to describe: {file}")));
    };
    Ok(match loaded {
        Loaded::Scan { dwi, gradients, .. } => image(file, &dwi, gradients.as_deref(), &notes),
        Loaded::Image(volume) => image(file, &volume, None, &notes),
        Loaded::Mask(mask) => {
            let (mut value, mut text) = grid(&path, &mask.grid, "mask", &notes);
            value["inside_voxels"] = json!(mask.count());
            value["inside_ml"] = json!(mask.volume_ml());
            let _ = writeln!(
                text,
                "  inside      {} voxels, {:.1} ml",
                mask.count(),
                mask.volume_ml()
            );
            (value, text)
        }
        Loaded::Tractogram(tractogram) => streamlines(&path, &tractogram, &notes),
    })
}

fn grid(path: &Path, grid: &Grid, kind: &str, notes: &[String]) -> (Value, String) {
    let [x, y, z] = grid.shape;
    let spacing = grid.spacing();
    let m = grid.world_from_voxel;
    let rows: Vec<[f64; 4]> = (0..3)
        .map(|r| {
            [
                m.matrix3.x_axis[r],
                m.matrix3.y_axis[r],
                m.matrix3.z_axis[r],
                m.translation[r],
            ]
        })
        .collect();
    let handed = if m.matrix3.determinant() > 0.0 {
        "right-handed"
    } else {
        "left-handed"
    };
    let value = json!({
        "path": path, "kind": kind, "shape": grid.shape, "spacing_mm": spacing.to_array(),
        "affine": rows, "affine_from": grid.source.name(), "orientation": grid.orientation(),
        "oblique_deg": grid.obliquity_deg(), "handedness": handed,
        "left_and_right_known": grid.source != AffineSource::Pixdim, "notes": notes,
    });
    let mut text = format!(
        "  kind        {kind}\n  grid        {x} × {y} × {z}, {:.3} × {:.3} × {:.3} mm\n",
        spacing.x, spacing.y, spacing.z
    );
    let known = if grid.source == AffineSource::Pixdim {
        "; left and right unknown"
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "  affine      from {}, {}, {handed}, {:.1}° oblique{known}",
        grid.source.name(),
        grid.orientation(),
        grid.obliquity_deg()
    );
    for row in rows {
        let _ = writeln!(
            text,
            "              {:9.4} {:9.4} {:9.4} {:10.4}",
            row[0], row[1], row[2], row[3]
        );
    }
    for note in notes {
        let _ = writeln!(text, "  note        {note}");
    }
    (value, text)
}

fn image(
    path: &str,
    volume: &Volume,
    gradients: Option<&Gradients>,
    notes: &[String],
) -> (Value, String) {
    let kind = if gradients.is_some() {
        "diffusion scan"
    } else {
        "image"
    };
    let (mut value, mut text) = grid(Path::new(path), &volume.grid, kind, notes);
    let (low, high) = volume.range(0);
    value["volumes"] = json!(volume.frames);
    value["range"] = json!([low, high]);
    let _ = writeln!(
        text,
        "  volumes     {}; first from {low} to {high}",
        volume.frames
    );
    if let Some(gradients) = gradients {
        let shells: Vec<Value> = gradients
            .shells()
            .into_iter()
            .map(|(b, n)| json!({"b_s_per_mm2": b, "volumes": n}))
            .collect();
        value["shells"] = json!(shells);
        let _ = writeln!(text, "  gradients   {} (s/mm²)", gradients.summary());
    }
    (value, text)
}

fn streamlines(path: &Path, tractogram: &Tractogram, notes: &[String]) -> (Value, String) {
    let mut lengths: Vec<f32> = (0..tractogram.len())
        .map(|i| tractogram.length_mm(i))
        .collect();
    lengths.sort_by(f32::total_cmp);
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or(0.0);
    let range = (
        lengths.first().copied().unwrap_or(0.0),
        lengths.last().copied().unwrap_or(0.0),
    );
    let names = |values: &std::collections::BTreeMap<String, std::sync::Arc<[f32]>>| {
        let names = values.keys().filter(|name| *name != LENGTH);
        names.cloned().collect::<Vec<String>>()
    };
    let (of_points, of_lines) = (
        names(&tractogram.per_point),
        names(&tractogram.per_streamline),
    );
    let groups: serde_json::Map<String, Value> = tractogram
        .groups
        .iter()
        .map(|(name, members)| (name.clone(), json!(members.len())))
        .collect();
    let bounds = tractogram
        .bounds()
        .map(|(low, high)| [low.to_array(), high.to_array()]);
    let grid = tractogram.grid.as_ref();
    let value = json!({
        "path": path, "kind": "tractogram", "streamlines": tractogram.len(),
        "points": tractogram.points.len(), "median_length_mm": median, "length_mm": [range.0, range.1],
        "bounds_mm": bounds, "per_point": of_points, "per_streamline": of_lines, "groups": groups,
        "grid": grid.map(|g| json!({
            "shape": g.shape, "spacing_mm": g.spacing().to_array(), "orientation": g.orientation(),
        })),
        "notes": notes,
    });
    let mut text = format!(
        "  kind        tractogram\n  streamlines {}, {} points\n  length      {:.1} to {:.1} mm, median {median:.1} mm\n",
        tractogram.len(),
        tractogram.points.len(),
        range.0,
        range.1
    );
    if let Some([low, high]) = bounds {
        let [x, y, z] = [0, 1, 2].map(|a| format!("{:.1} to {:.1}", low[a], high[a]));
        let _ = writeln!(
            text,
            "  extent      x {x}, y {y}, z {z} mm (right, front, up)"
        );
    }
    if let Some(grid) = grid {
        let ([x, y, z], spacing) = (grid.shape, grid.spacing());
        let _ = writeln!(
            text,
            "  grid        {x} × {y} × {z}, {:.3} × {:.3} × {:.3} mm, {}",
            spacing.x,
            spacing.y,
            spacing.z,
            grid.orientation()
        );
    }
    let groups = tractogram
        .groups
        .iter()
        .map(|(name, m)| format!("{name} ({})", m.len()));
    for (what, names) in [
        ("per point", of_points),
        ("per line", of_lines),
        ("groups", groups.collect()),
    ] {
        if !names.is_empty() {
            let _ = writeln!(text, "  {what:<11} {}", names.join(", "));
        }
    }
    for note in notes {
        let _ = writeln!(text, "  note        {note}");
    }
    (value, text)
}
