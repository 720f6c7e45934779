//! Converts between image formats: values keep their stored type, gradients go where the output format stores them.

use super::super::format::Format;
use super::super::gradients::{self, Rows, TableFiles};
use super::super::stored::{Pixel, Stored};
use super::super::text::counted;
use super::super::{
    Error, Reading, Remark, affine, as_mask, atomic, colours, detect, disk, image, in_world,
    label_table, mif, misnamed, moved_grid, nifti, nrrd, with_extension,
};
use crate::compute::Control;
use crate::data::labels::Labels;
use crate::data::odf_field::order_of_distributions;
use crate::data::spherical_harmonics::order_of_count;
use crate::data::text::file_name;
use crate::data::{Grid, Volume, VolumeKind};
use glam::DMat3;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An image to be written, with its gradients and labels.
#[derive(Clone, Debug)]
pub struct Image {
    stored: Stored,
    labels: Option<Arc<Labels>>,
    gradients: Option<Rows>,
    /// Whether the output's gradient files are the input's own, which already hold the gradients.
    in_place: bool,
    format: Format,
    pub notes: Vec<Remark>,
    /// Losses in the output, one sentence each.
    pub unsupported_contents: Vec<String>,
}

/// Reads an image that is to be written as `output`.
pub fn plan(
    input: &Path,
    output: &Path,
    format: Format,
    reported: &Reading,
    control: &Control,
) -> Result<Image, Error> {
    let named = detect(input)?;
    let read = image::stored(input, control);
    let (mut stored, mut info) = read.map_err(|e| misnamed(input, named, e))?;
    let labels = colours::of_stored(input, &stored, &mut info, reported)?;
    let labels = labels.filter(|l| !l.table.is_empty());
    let (mut gradients, mut losses) = table(input, &stored);
    let own = stored.grid.clone();
    losses.extend(own.by_qform().map(|other| {
        format!(
            "The qform of the header, which places voxels up to {:.3} mm elsewhere, is left out",
            own.separation_mm(&other)
        )
    }));
    let (mut mirrored, mut unturned) = (None, None);
    let moved = match &reported.affine {
        Some(by) => {
            let by = in_world(by, Some(&own), control)?;
            mirrored = affine::mirror_warning(by);
            if gradients.is_none() && !by.matrix3.abs_diff_eq(DMat3::IDENTITY, TRANSLATION) {
                unturned = check_directions(input, &stored)?;
            }
            Some(Arc::new(moved_grid(input, &own, by)?))
        }
        None => None,
    };
    if let Some(grid) = &moved {
        gradients = gradients.map(|rows| rows.moved(&own, grid));
    }
    let (whole, others) = in_format(format, stored, moved);
    stored = whole;
    losses.extend(others);
    // Their headers hold the gradients, in the world.
    let in_header = match format {
        Format::Nrrd => Some("NRRD"),
        Format::Mif => Some("MIF"),
        _ => None,
    };
    if format == Format::Nrrd {
        losses.extend(gradients.iter().flat_map(Rows::losses_in_nrrd));
    }
    if format == Format::Mif {
        losses.extend(gradients.as_ref().and_then(|rows| rows.lost_lengths("MIF")));
    }
    if let Some(name) = in_header
        && gradients.is_some()
        && !stored.grid.is_placed()
    {
        losses.push(format!(
            "{name} holds gradients only of an image that says where it lies in the patient"
        ));
        gradients = None;
    }
    let mut notes = info.remarks();
    notes.extend(mirrored.into_iter().chain(unturned).map(Remark::from));
    let scaled = gradients.as_ref().and_then(|rows| rows.scaled.clone());
    notes.extend(scaled.map(Remark::note));
    let files = gradients::find_companion(input).filter(|_| gradients.is_some());
    let before = files.as_ref().and_then(gradients::previous_files_note);
    notes.extend(before.map(Remark::from));
    if gradients.is_none() && stored.frames > 1 {
        notes.extend(foreign_table(input, output).map(Remark::from));
    }
    let in_place = reported.affine.is_none() && shares_table(input, output);
    Ok(Image {
        stored,
        labels,
        gradients,
        in_place,
        format,
        notes,
        unsupported_contents: losses,
    })
}

/// Refuses formats in which resampled values are not written.
pub fn check_warped_output(output: &Path, format: Format) -> Result<(), Error> {
    match format {
        Format::Nrrd => Err(Error::unsupported(
            output,
            "a name of an NRRD, which is not written for an image that was resampled",
            "end it in .nii.gz, .nii or .mif",
        )),
        _ => Ok(()),
    }
}

/// Largest label of a label map that is written with 16 bits.
const MAX_LABEL: f32 = 65535.0;

/// Writes an image that has no stored type, as it was resampled: masks and labels as whole numbers, other values as
/// float32. Returns a description and the written files.
pub fn write_volume(
    volume: &Volume,
    output: &Path,
    replace: bool,
    command: &str,
    control: &Control,
) -> Result<(String, Vec<PathBuf>), Error> {
    let [x, y, z] = volume.grid.shape;
    let size = format!("{x} × {y} × {z} voxels");
    let mut written = vec![output.to_owned()];
    let is_label = |v: &f32| (0.0..=MAX_LABEL).contains(v) && v.fract() == 0.0;
    if let Some(mask) = as_mask(volume) {
        image::save_mask(output, &mask, command, control)?;
        return Ok((format!("a mask of {size}"), written));
    }
    let labels = volume.labels.as_ref();
    let Some(labels) = labels.filter(|_| volume.frames == 1 && volume.values.iter().all(is_label))
    else {
        image::save_volume(output, volume, command, control)?;
        let volumes = counted(volume.frames, "volume");
        let content = match (volume.kind, volume.frames) {
            (VolumeKind::Rgb, _) => format!("a colour image of {size}"),
            (_, 1) => format!("an image of {size} in float32"),
            _ => format!("an image of {volumes} of {size} in float32"),
        };
        return Ok((content, written));
    };
    let table = (!labels.table.is_empty()).then(|| label_table::table_path(output));
    if let Some(table) = table.filter(|table| !replace && table.exists()) {
        return Err(Error::unsupported(
            &table,
            "an existing file, which names of the labels would replace",
            "add --force to replace it",
        ));
    }
    let numbers: Vec<u16> = volume.values.iter().map(|v| *v as u16).collect();
    image::save_labels(output, &volume.grid, &numbers, command, control)?;
    written.extend(label_table::save_of(output, Some(labels))?);
    Ok((format!("a label map of {size}"), written))
}

/// A transform whose linear part differs from 1 by less than this only shifts.
const TRANSLATION: f64 = 1e-9;

/// The values of an image that may hold a list of numbers for each voxel, such as coefficients or vectors.
fn list(stored: &Stored) -> Option<Volume> {
    let is_float = matches!(stored.pixel, Pixel::Number(number) if number.is_float());
    (stored.frames >= 3 && is_float).then(|| {
        let mut values = Vec::with_capacity(stored.frames * stored.grid.voxel_count());
        stored.for_each_value(|value, _| values.push(value as f32));
        let (grid, frames) = (stored.grid.clone(), stored.frames);
        Volume::new(grid, frames, VolumeKind::Scalar, values)
    })
}

/// Refuses distributions of fibres, which must turn with an image that is turned. Returns a sentence about other values
/// that may be directions.
fn check_directions(input: &Path, stored: &Stored) -> Result<Option<String>, Error> {
    let Some(volume) = list(stored) else {
        return Ok(None);
    };
    let has_negative = volume.values.iter().any(|value| *value < 0.0);
    if let Some(order) = order_of_distributions(&volume) {
        return Err(Error::unsupported(
            input,
            format!(
                "an image of fibre orientation distributions (harmonics of order {order}), which must turn with it"
            ),
            "state their basis and axes with --odf-basis and --odf-frame (MRtrix: mrtrix and world)",
        ));
    }
    let may_be_vectors = has_negative && stored.frames.is_multiple_of(3);
    Ok(may_be_vectors.then(|| {
        "The values were not turned with the image; if they are peaks, state --peaks".to_owned()
    }))
}

/// An opened image in the stored type of its file, on its current grid; `None` if the file does not hold these
/// values. The second result lists what a file of the format loses, one sentence each.
pub(super) fn as_stored(
    from: &Path,
    volume: &Volume,
    format: Format,
    control: &Control,
) -> (Option<Stored>, Vec<String>) {
    let name = || file_name(from);
    let lost = |why: String| {
        let what =
            "the saved file has float32 values and no other fields or extensions of that header";
        (None, vec![format!("{why}: {what}")])
    };
    let stored = match image::stored(from, control) {
        Ok((stored, _)) => stored,
        Err(error) => return lost(format!("{} cannot be read again ({error})", name())),
    };
    if !holds(&stored, volume) {
        return lost(format!(
            "{} holds other values than when it was opened",
            name()
        ));
    }
    let mut losses = Vec::new();
    if stored.frames > 1 && matches!(gradients::rows_of(from, stored.frames), Ok(Some(_))) {
        losses.push(
            "The gradients of this scan are not saved; arcuate convert writes them beside the image"
                .to_owned(),
        );
    }
    let grid = (stored.grid != volume.grid).then(|| volume.grid.clone());
    let (stored, others) = in_format(format, stored, grid);
    losses.extend(others);
    (Some(stored), losses)
}

/// Whether the file still holds the values of the opened image, compared as float32.
fn holds(stored: &Stored, volume: &Volume) -> bool {
    if stored.grid.shape != volume.grid.shape {
        return false;
    }
    if let (Pixel::Rgb | Pixel::Rgba, VolumeKind::Rgb) = (stored.pixel, volume.kind) {
        let planes: Vec<&[f32]> = (0..volume.frames).map(|c| volume.frame(c)).collect();
        let mut voxels = stored.bytes.chunks_exact(stored.pixel.bytes()).enumerate();
        let same = |i: usize, colour: &[u8]| {
            let mut pairs = planes.iter().zip(colour);
            pairs.all(|(plane, byte)| (plane[i] * 255.0).round() == f32::from(*byte))
        };
        return stored.frames == 1 && voxels.all(|(i, colour)| same(i, colour));
    }
    if volume.kind != VolumeKind::Scalar || stored.frames != volume.frames {
        return false;
    }
    let mut values = volume.values.iter();
    let mut same = matches!(stored.pixel, Pixel::Number(_));
    stored.for_each_value(|value, _| {
        let owned = values.next().copied();
        same &= owned.is_some_and(|v| v == value as f32 || (v.is_nan() && value.is_nan()));
    });
    same && values.next().is_none()
}

/// An image in the form of a format, on the grid `moved` if there is one. The second result lists the losses, one
/// sentence each.
fn in_format(
    format: Format,
    mut stored: Stored,
    moved: Option<Arc<Grid>>,
) -> (Stored, Vec<String>) {
    let mut losses = Vec::new();
    if let Some(grid) = moved {
        stored.grid = grid;
        // The output does not record the earlier position.
        losses.extend(stored.meaning.drop_position());
    }
    match format {
        Format::Nrrd => {
            // NRRD has no slope and intercept.
            let (whole, loss) = stored.with_scaling_applied();
            losses.extend(loss);
            losses.extend(nrrd::unsupported_contents(&whole));
            (whole, losses)
        }
        Format::Mif => {
            losses.extend(mif::unsupported_contents(&stored));
            let (whole, loss) = mif::separate_colours(stored);
            losses.extend(loss);
            (whole, losses)
        }
        _ => {
            if !nifti::holds_scaling(&stored) {
                let (whole, loss) = stored.with_scaling_applied();
                stored = whole;
                losses.extend(loss);
            }
            losses.extend(nifti::unsupported_contents(&stored));
            (stored, losses)
        }
    }
}

/// The gradients of a scan, or a sentence about why they are left out.
fn table(input: &Path, stored: &Stored) -> (Option<Rows>, Vec<String>) {
    let says = |why: &str| vec![format!("The gradients of this scan are left out: {why}")];
    match gradients::rows_of(input, stored.frames) {
        Ok(Some(rows)) => (Some(rows), Vec::new()),
        Ok(None) => {
            let half = gradients::unpaired_table(input).filter(|_| stored.frames > 1);
            (None, half.map_or(Vec::new(), |why| says(&why)))
        }
        Err(error) => (None, says(&error.to_string())),
    }
}

/// Whether the FSL pair next to the output is the one from which the input's gradients were read.
fn shares_table(input: &Path, output: &Path) -> bool {
    let Some(TableFiles::Fsl { bval, bvec }) = gradients::find_companion(input) else {
        return false;
    };
    let [b, v] = fsl_names(output);
    disk::is_same(&bval, &b) && disk::is_same(&bvec, &v)
}

/// A table next to the output that would be taken for its own and does not belong to the input.
fn foreign_table(input: &Path, output: &Path) -> Option<String> {
    let ([target, _], [own, _]) = (fsl_names(output), fsl_names(input));
    (target.exists() && !disk::is_same(&target, &own)).then(|| {
        format!(
            "A table of gradients lies beside the output and does not belong to this image; move it elsewhere: {}",
            target.display()
        )
    })
}

fn fsl_names(image: &Path) -> [PathBuf; 2] {
    ["bval", "bvec"].map(|ending| with_extension(image, ending))
}

impl Image {
    /// The coefficients that the image appears to hold.
    pub fn distributions(&self) -> Option<Volume> {
        // Most scans have other numbers of volumes: their samples need not be copied.
        order_of_count(self.stored.frames)?;
        list(&self.stored).filter(|volume| order_of_distributions(volume).is_some())
    }

    /// The gradients to write into companion files of the image.
    fn table(&self) -> Option<&Rows> {
        let separate = self.format == Format::Nifti && !self.in_place;
        self.gradients.as_ref().filter(|_| separate)
    }

    /// The companion files, which hold what the image cannot.
    fn companion_files(&self, output: &Path) -> Vec<(PathBuf, &'static str)> {
        let mut files = Vec::new();
        if mif::has_two_files(output) {
            files.push((mif::data_path(output), "the voxels of the image"));
        }
        if self.table().is_some() {
            files.extend(fsl_names(output).map(|path| (path, "the gradients of the scan")));
        }
        if self.labels.is_some() {
            files.push((label_table::table_path(output), "names of the labels"));
        }
        files
    }

    /// Writes the image and its companion files: all or none. Returns a description and the written files.
    pub fn write(
        &self,
        output: &Path,
        replace: bool,
        command: &str,
        control: &Control,
    ) -> Result<(String, Vec<PathBuf>), Error> {
        let adjacent = self.companion_files(output);
        if let Some((target, what)) = adjacent.iter().find(|(path, _)| !replace && path.exists()) {
            return Err(Error::unsupported(
                target,
                format!("an existing file, which {what} would replace"),
                "add --force to replace it",
            ));
        }
        // Checked before the long work.
        for (path, _) in &adjacent {
            atomic::check_file(path)?;
        }
        let rows = self.gradients.as_ref();
        let mut files = match self.format {
            Format::Nrrd => vec![nrrd::prepare(output, &self.stored, rows, command, control)?],
            Format::Mif => mif::prepare_stored(output, &self.stored, rows, command, control)?,
            _ => vec![nifti::prepare_stored(
                output,
                &self.stored,
                command,
                control,
            )?],
        };
        if let Some(rows) = self.table() {
            let [bval, bvec] = fsl_names(output);
            files.extend(gradients::prepare(&bval, &bvec, rows, &self.stored.grid)?);
        }
        if let Some(labels) = &self.labels {
            files.push(label_table::prepare_of(output, labels)?);
        }
        control.check()?;
        atomic::rename_together(files)?;
        let values = match self.format {
            Format::Mif => mif::stored_type_name(&self.stored),
            _ => self.stored.pixel.name(),
        };
        let volumes = counted(self.stored.frames, "volume");
        let what = match (self.stored.frames, &self.gradients) {
            (_, Some(_)) => format!("a scan of {volumes} in {values}, with its gradients"),
            (1, None) => format!("an image in {values}"),
            _ => format!("an image of {volumes} in {values}"),
        };
        let paths = adjacent.into_iter().map(|(path, _)| path);
        Ok((
            what,
            std::iter::once(output.to_owned()).chain(paths).collect(),
        ))
    }
}
