//! `arcuate info`: describes the content of files.

mod streamlines;

use super::options::{OdfLayoutOptions, ReadingOptions, ScanOptions, TensorOptions, basis_keys};
use super::output::{error, one_line, remark};
use super::runner::{Failure, Runner};
use crate::compute::Control;
use crate::data::text::counted;
use crate::data::text::file_name;
use crate::data::{AffineSource, Fixels, Gradients, Grid, Volume, VolumeKind, keyed};
use crate::io::bids::{Folder, Kind, Visit};
use crate::io::image::Overview;
use crate::io::pieces::Pieces;
use crate::io::{self, Reading};
use crate::solvers::odf_check;
use crate::state::alignment::space::{NamedData, SpatialData, disagreements, shares_inside};
use crate::state::core::text::{count, file_stem};
use crate::state::files::jobs::open::{Loaded, OpenFile, Opened, OpenedFile, table};
use crate::state::files::types::PhantomName;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  arcuate info dwi.nii.gz mask.nii.gz tracks.tck
  arcuate info phantom:1 --json
  arcuate info study/            (a BIDS folder: its contents)

If several files disagree, a sentence says how: a mask half a voxel off, streamlines outside the brain. The
orientation names the direction of each voxel axis: LAS points to the patient's left, front and top.";

#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    mut_arg("odf_basis", |arg| arg.help(format!(
        "The image holds fibre orientation distributions in this basis: {}",
        basis_keys()
    ))),
)]
pub struct Options {
    /// Scans, images, masks, streamlines
    #[arg(required = true)]
    pub files: Vec<String>,
    #[command(flatten)]
    pub reading: ReadingOptions,
    #[command(flatten)]
    pub tensors: TensorOptions,
    #[command(flatten)]
    pub distributions: OdfLayoutOptions,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    options.tensors.check()?;
    let (mut values, mut text, mut failures) = (Vec::new(), String::new(), Vec::new());
    let mut kept = Vec::new();
    for file in &options.files {
        let reported = Reading {
            tensors: options.tensors.layout(),
            distributions: options.distributions.layout(),
            ..options.reading.reading()
        };
        match describe(file, &reported, options.files.len() > 1, runner) {
            Ok((value, lines, data)) => {
                values.push(value);
                let _ = writeln!(text, "{}\n{lines}", one_line(file));
                let name = file_name(Path::new(file));
                kept.extend(data.map(|data| (name, data)));
            }
            Err(failure) => {
                values.push(json!({"path": file, "error": failure.sentence}));
                failures.push(failure);
            }
        }
    }
    let items = items(&kept);
    let (differences, inside) = (disagreements(&items), shares_inside(&items));
    if kept.len() > 1 {
        text += "Space\n";
        for (tracks, image, share) in &inside {
            let percent = 100.0 * share;
            let _ = writeln!(
                text,
                "  inside      {percent:.1} % of {} lie inside {}",
                one_line(tracks),
                one_line(image)
            );
        }
        for sentence in &differences {
            let _ = writeln!(text, "  differs     {}", one_line(sentence));
        }
        if differences.is_empty() {
            text += "  compared    no disagreement found between the spaces of these files\n";
        }
    }
    let inside: Vec<Value> = inside
        .iter()
        .map(|(tracks, image, share)| json!({"streamlines": tracks, "inside": image, "share": share}))
        .collect();
    let report = json!({
        "command": "info", "files": values, "disagreements": differences, "inside": inside,
    });
    runner.report(&report, &text);
    // The files that can be read are described even if others cannot.
    let last = failures.pop();
    for failure in failures {
        error(&failure.sentence);
    }
    last.map_or(Ok(()), Err)
}

/// All digits of a value, with a power of ten if most of them were zeros.
fn value_text(value: f32) -> String {
    match value == 0.0 || !value.is_finite() || (1e-6..1e9).contains(&value.abs()) {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// The value with one decimal, and without a minus sign before zero.
fn tenths(value: f64) -> String {
    match format!("{value:.1}") {
        nought if nought == "-0.0" => "0.0".to_owned(),
        text => text,
    }
}

/// The contents of the files, by their names.
fn items(kept: &[(String, Loaded)]) -> Vec<NamedData<'_>> {
    let items = kept.iter().map(|(name, data)| NamedData {
        name,
        data: match data {
            Loaded::Scan { dwi: volume, .. } | Loaded::Image(volume) => {
                SpatialData::Image(&volume.grid)
            }
            Loaded::Mask(mask) => SpatialData::Mask(mask),
            Loaded::Tractogram(tractogram) => SpatialData::Streamlines(tractogram),
            Loaded::InPlace(lines) => SpatialData::Streamlines(&lines.first.tractogram),
        },
    });
    items.collect()
}

fn describe(
    file: &str,
    reported: &Reading,
    compared: bool,
    runner: &mut Runner,
) -> Result<(Value, String, Option<Loaded>), Failure> {
    if PhantomName::read(file).is_some() {
        let options = ScanOptions::from_name(file);
        let scan = options.open(runner)?;
        let (value, text) = image(file, &scan.dwi, None, scan.gradients.as_deref());
        return Ok((value, text, Some(Loaded::Image(scan.dwi))));
    }
    let path = PathBuf::from(file);
    if *reported == Reading::default()
        && let Some((value, text, first)) = series(file, &path)?
    {
        return Ok((value, text, Some(Loaded::Image(first))));
    }
    if Pieces::can_open(&path) {
        return streamlines::describe(path, reported, compared, runner);
    }
    let open = OpenFile::with_reading(path.clone(), reported.clone());
    let OpenedFile { loaded, notes, .. } = match runner.run(open)?.0 {
        Opened::Folder(listing) => return Ok(folder(&listing)),
        Opened::File(opened) => *opened,
    };
    notes.iter().for_each(|note| remark(note, file));
    let (value, text) = match &loaded {
        Loaded::Scan { dwi, gradients, .. } => {
            let (mut value, mut text) = image(file, dwi, None, gradients.as_deref());
            if let Some(layout) = reported.distributions {
                let order = layout.order(dwi.frames).ok_or_else(|| {
                    let error = odf_check::InputError {
                        volumes: dwi.frames,
                    };
                    Failure::new(format!("{error}: {}", path.display()))
                })?;
                value["kind"] = json!(DataKind::Distributions.key());
                value["distributions"] = json!({
                    "order": order, "basis": layout.basis.key(), "frame": layout.frame.key(),
                });
                let _ = writeln!(
                    text,
                    "  fibres      order {order}, {}",
                    layout.description()
                );
            }
            (value, text)
        }
        Loaded::Image(volume) => image(file, volume, None, None),
        Loaded::Mask(mask) => {
            let (mut value, mut text) = grid(&path, &mask.grid, DataKind::Mask);
            value["inside_voxels"] = json!(mask.count());
            value["inside_ml"] = json!(mask.volume_ml());
            let _ = writeln!(
                text,
                "  inside      {}, {:.1} ml",
                counted(mask.count(), "voxel"),
                mask.volume_ml()
            );
            (value, text)
        }
        Loaded::Tractogram(_) | Loaded::InPlace(_) => {
            // Not recognised as streamlines before it was read.
            return streamlines::describe(path, reported, compared, runner);
        }
    };
    Ok((value, text, Some(loaded)))
}

/// Rounding to single precision in a header rotates axes by less.
const SHEARED_DEG: f64 = 0.05;

/// Describes a BIDS folder.
fn folder(folder: &Folder) -> (Value, String, Option<Loaded>) {
    let relative = |path: &Path| {
        let inside = path.strip_prefix(&folder.path).unwrap_or(path);
        inside.to_string_lossy().into_owned()
    };
    let mut text = format!(
        "  kind        BIDS folder\n  subjects    {}\n",
        count(folder.subjects.len() as u64)
    );
    let visits = folder.visits();
    if visits.len() > 1 {
        let names: Vec<String> = visits.iter().map(Visit::name).collect();
        let _ = writeln!(text, "  to choose from  {}", one_line(&names.join(", ")));
    }
    for file in &folder.files {
        let place = one_line(&relative(&file.path));
        let _ = writeln!(text, "  {:<15} {place}", file.kind.name());
        match (file.kind, file.gradients.as_slice()) {
            (Kind::Scan, []) => text += "  no gradients\n",
            (Kind::Scan, files) => {
                let names: Vec<String> = files.iter().map(|p| relative(p)).collect();
                let _ = writeln!(text, "                  {}", one_line(&names.join(", ")));
            }
            _ => {}
        }
    }
    for folder in &folder.unreadable {
        warning!(
            "This folder cannot be read, so its files are missing from this list; grant permission to read it: {}",
            folder.display()
        );
    }
    if folder.cut {
        warning!(
            "The folder holds more files than one list takes; name one subject's folder: {}",
            folder.path.display()
        );
    }
    let files: Vec<Value> = folder
        .files
        .iter()
        .map(|f| {
            json!({
                "kind": f.kind.key(), "path": f.path, "subject": f.subject, "session": f.session, "derived": f.derived,
                "gradients": f.gradients,
            })
        })
        .collect();
    let value = json!({
        "path": folder.path,
        "kind": DataKind::BidsFolder.key(),
        "subjects": folder.subjects,
        "visits": visits.iter().map(Visit::name).collect::<Vec<_>>(),
        "files": files,
        "unreadable": folder.unreadable,
        "complete": !folder.cut && folder.unreadable.is_empty(),
    });
    (value, text, None)
}

/// Kind of the content of a file or folder.
#[derive(Clone, Copy)]
enum DataKind {
    DiffusionScan,
    LabelMap,
    ColourImage,
    Tensors,
    Image,
    Fixels,
    Mask,
    Distributions,
    Tractogram,
    BidsFolder,
}

keyed!(DataKind, key {
    DiffusionScan = "diffusion_scan",
    LabelMap = "label_map",
    ColourImage = "colour_image",
    Tensors = "tensors",
    Image = "image",
    Fixels = "fixels",
    Mask = "mask",
    Distributions = "distributions",
    Tractogram = "tractogram",
    BidsFolder = "bids_folder",
});

impl DataKind {
    /// Name in text.
    fn label(self) -> &'static str {
        match self {
            Self::DiffusionScan => "diffusion scan",
            Self::LabelMap => "label map",
            Self::ColourImage => "colour image",
            Self::BidsFolder => "BIDS folder",
            Self::Tensors => "tensors",
            Self::Image => "image",
            Self::Fixels => "fixels",
            Self::Mask => "mask",
            Self::Distributions => "distributions",
            Self::Tractogram => "tractogram",
        }
    }
}

fn grid(path: &Path, grid: &Grid, kind: DataKind) -> (Value, String) {
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
        "path": path, "kind": kind.key(), "shape": grid.shape, "spacing_mm": spacing.to_array(),
        "affine": rows, "affine_from": grid.source.key(), "orientation": grid.orientation(),
        "oblique_deg": grid.obliquity_deg(), "handedness": handed, "sheared_deg": grid.shear_deg(),
        "left_and_right_known": grid.source != AffineSource::Pixdim,
    });
    let mut text = format!(
        "  kind        {}\n  grid        {x} × {y} × {z}, {:.3} × {:.3} × {:.3} mm\n",
        kind.label(),
        spacing.x,
        spacing.y,
        spacing.z
    );
    let known = if grid.source == AffineSource::Pixdim {
        "; left and right unknown"
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "  affine      from {}, {}, {handed}, {:.1}° oblique{known}",
        grid.source.label(),
        grid.orientation(),
        grid.obliquity_deg()
    );
    let shear = grid.shear_deg();
    if shear > SHEARED_DEG {
        let _ = writeln!(
            text,
            "  sheared     the axes are not at right angles, but {shear:.1}° off"
        );
    }
    for row in rows {
        let _ = writeln!(
            text,
            "              {:9.4} {:9.4} {:9.4} {:10.4}",
            row[0], row[1], row[2], row[3]
        );
    }
    (value, text)
}

/// A series of volumes, read with the memory of the first one, which is returned with its description; `None` for
/// anything else, and for a file that cannot be read: opening it as a whole gives the reason.
fn series(name: &str, path: &Path) -> Result<Option<(Value, String, Volume)>, Failure> {
    if path.is_dir() {
        return Ok(None);
    }
    let Ok(Some(series)) = io::image::overview(path, &Control::new()) else {
        return Ok(None);
    };
    let (grid, frames) = (&series.first.grid, series.frames);
    let table = table(path, &[], grid, frames)?;
    for note in series.remarks.iter().chain(&table.notes) {
        remark(note, name);
    }
    let gradients = table.gradients.as_deref();
    let (value, text) = image(name, &series.first, Some(&series), gradients);
    Ok(Some((value, text, series.first)))
}

/// Describes fixels: how many there are, and the lists of values in their folder.
fn fixels(path: &str, volume: &Volume, fixels: &Fixels) -> (Value, String) {
    let (mut value, mut text) = grid(Path::new(path), &volume.grid, DataKind::Fixels);
    let name = |list: &PathBuf| file_stem(list);
    let lists: Vec<String> = fixels.lists.iter().map(name).collect();
    let values = fixels.values_list.as_ref().map(name);
    value["fixels"] = json!(fixels.count);
    value["most_per_voxel"] = json!(volume.frames / 3);
    value["lists"] = json!(lists);
    value["values"] = json!(values);
    value["range"] = json!([fixels.range.0, fixels.range.1]);
    let _ = writeln!(
        text,
        "  fixels      {}, up to {} in a voxel",
        count(fixels.count as u64),
        volume.frames / 3
    );
    if let Some(values) = values {
        let (low, high) = (value_text(fixels.range.0), value_text(fixels.range.1));
        let _ = writeln!(text, "  values      {values}, from {low} to {high}");
    }
    if !lists.is_empty() {
        let _ = writeln!(text, "  lists       {}", lists.join(", "));
    }
    (value, text)
}

/// `series`: the number of volumes, the first of which is `volume`.
fn image(
    path: &str,
    volume: &Volume,
    series: Option<&Overview>,
    gradients: Option<&Gradients>,
) -> (Value, String) {
    if let Some(known) = &volume.fixels {
        return fixels(path, volume, known);
    }
    let kind = match (gradients, &volume.labels) {
        (Some(_), _) => DataKind::DiffusionScan,
        (None, Some(_)) => DataKind::LabelMap,
        _ if volume.kind == VolumeKind::Rgb => DataKind::ColourImage,
        _ if volume.tensors.is_some() => DataKind::Tensors,
        (None, None) => DataKind::Image,
    };
    let (mut value, mut text) = grid(Path::new(path), &volume.grid, kind);
    let (low, high) = volume.range(0);
    let none_finite = !volume.frame(0).iter().any(|v| v.is_finite());
    let rgb = volume.kind == VolumeKind::Rgb;
    let frames = series.map_or(volume.frames, |series| series.frames);
    value["volumes"] = json!(if rgb { 1 } else { frames });
    value["range"] = json!([low, high]);
    let _ = match rgb {
        true => writeln!(text, "  volumes     1 in colour; red from {low} to {high}"),
        false if none_finite => writeln!(
            text,
            "  volumes     {}; first without a finite number",
            count(frames as u64)
        ),
        false => writeln!(
            text,
            "  volumes     {}; first from {} to {}",
            count(frames as u64),
            value_text(low),
            value_text(high)
        ),
    };
    let (none, infinite) = match series {
        Some(series) => (series.not_a_number, series.infinite),
        None => (
            volume.values.iter().filter(|v| v.is_nan()).count(),
            volume.values.iter().filter(|v| v.is_infinite()).count(),
        ),
    };
    (value["not_a_number"], value["infinite"]) = (json!(none), json!(infinite));
    let odd = [(none, "not a number"), (infinite, "infinite")];
    let odd = odd.into_iter().filter(|(n, _)| *n > 0);
    let odd: Vec<String> = odd
        .map(|(n, what)| format!("{} are {what}", count(n as u64)))
        .collect();
    if !odd.is_empty() {
        let _ = writeln!(text, "  values      {}", odd.join(", "));
    }
    if let Some(layout) = volume.tensors {
        value["tensors"] = json!(layout.description());
        let _ = writeln!(text, "  tensors     {}", layout.description());
    }
    if let Some(labels) = &volume.labels {
        let mut numbers: Vec<u32> = volume.frame(0).iter().map(|v| *v as u32).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let numbers: Vec<u32> = numbers.into_iter().filter(|n| *n > 0).collect();
        let named = numbers
            .iter()
            .filter(|n| labels.name(**n).is_some())
            .count();
        value["labels"] = json!(numbers);
        let (all, named) = (count(numbers.len() as u64), count(named as u64));
        let _ = writeln!(text, "  labels      {all}, {named} with names");
    }
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
