//! Images of fibre orientations: distributions as spherical harmonics, and peaks.
//!
//! Headers do not say what such images hold. The number of volumes allows some readings, the name suggests a tissue,
//! and the user states basis and axes ([`OdfLayout`]) unless MRtrix wrote the file.

use super::source::READING;
use super::text::counted;
use super::{AffineReading, Error, Format, dsi_studio, fixels, image, in_world, moved_grid};
use crate::compute::{Control, memory};
use crate::data::axis_change::world_from_fsl;
use crate::data::odf_field::{
    MAX_IMPLAUSIBLE_SHARE, OdfConversion, OdfField, OdfLayout, Tissue, order_of_distributions,
};
use crate::data::odf_turn::OdfTurn;
use crate::data::peak_field::dyads_prefix;
use crate::data::spherical_harmonics::count;
use crate::data::statistics::quantile;
use crate::data::text::file_name;
use crate::data::{Fixels, Grid, PeakField, Volume, VolumeKind};
use glam::{DAffine3, DMat3};
use rayon::prelude::*;
use std::f64::consts::PI;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Voxels that one thread converts at a time.
const CHUNK_VOXELS: usize = 4096;
/// Largest number of dyads that FSL writes.
const MAX_DYADS: usize = 9;

/// An image of distributions after reading.
#[derive(Clone, Debug)]
pub struct OpenedOdf {
    /// Distributions in the program's basis and in world axes.
    pub field: OdfField,
    /// Basis and frame of the file.
    pub layout: OdfLayout,
    /// The tissue in the file's name; an image of one volume has fibres of no direction.
    pub tissue: Option<Tissue>,
    /// The transform that has moved and turned them.
    pub affine: Option<DAffine3>,
    /// One sentence each, without the path.
    pub warnings: Vec<String>,
    /// Facts that are not irregular, one sentence each.
    pub notes: Vec<String>,
}

/// The layout of an image, if its format implies one: MRtrix writes its own basis in world axes.
pub fn implied_layout(path: &Path) -> Option<OdfLayout> {
    (Format::named(path) == Some(Format::Mif)).then_some(OdfLayout::MRTRIX)
}

/// The tissue of a distribution by its file's name. An image of several volumes without such a name is white matter,
/// because other tissues have no directions.
pub fn tissue_of(path: &Path, volumes: usize) -> Option<Tissue> {
    let name = file_name(path);
    Tissue::in_name(&name).or((volumes > 1).then_some(Tissue::WhiteMatter))
}

/// Opens distributions in a layout. An affine moves the image, and its fibres turn.
pub fn open_odf(
    path: &Path,
    layout: OdfLayout,
    affine: Option<&AffineReading>,
    control: &Control,
) -> Result<OpenedOdf, Error> {
    let (volume, info) = image::read(path, control)?;
    let field = odf_from_volume(path, &volume, layout, control)?;
    let mut warnings = info.warnings;
    let mut notes = info.notes;
    let share = field.implausible_share();
    if share > MAX_IMPLAUSIBLE_SHARE {
        warnings.push(format!(
            "In {:.0} % of the voxels the coefficients are those of no distribution of fibres; check the basis, or \
             whether the image holds distributions",
            100.0 * share
        ));
    }
    // The mean over all directions is the first harmonic, 1 / √(4π), times its coefficient.
    let first = &field.coefficients[..field.grid.voxel_count()];
    let means = first.iter().map(|c| f64::from(*c) / (4.0 * PI).sqrt());
    warnings.extend(amplitude_doubt(means));
    let affine = affine.map(|by| in_world(by, Some(&field.grid), control));
    let affine = affine.transpose()?;
    let field = match affine {
        Some(by) => {
            warnings.extend(super::affine::mirror_warning(by));
            notes.push("The orientations were turned with the image".to_owned());
            let grid = Arc::new(moved_grid(path, &field.grid, by)?);
            turn_odf(path, &field, grid, by.matrix3, true, control)?
        }
        None => field,
    };
    Ok(OpenedOdf {
        tissue: tissue_of(path, volume.frames),
        field,
        layout,
        affine,
        warnings,
        notes,
    })
}

/// Plausible amplitudes of fibres. Distributions have means of about 0.1 in white matter, fractions and unit vectors are at
/// most 1; diffusion tensors (mm²/s) and deformation fields (mm) are not within these limits, and thresholds of amplitude
/// mean nothing there.
const PLAUSIBLE_AMPLITUDES: [f64; 2] = [0.01, 10.0];
/// The quantile of the amplitudes that is compared: single voxels may hold anything.
const COMPARED_QUANTILE: f64 = 0.99;

/// A sentence if the largest amplitudes, but for outliers, are those of no fibres.
fn amplitude_doubt(amplitudes: impl Iterator<Item = f64>) -> Option<String> {
    let mut positive: Vec<f64> = amplitudes.filter(|a| *a > 0.0 && a.is_finite()).collect();
    let high = quantile(&mut positive, COMPARED_QUANTILE)?;
    let [least, most] = PLAUSIBLE_AMPLITUDES;
    (!(least..=most).contains(&high)).then(|| {
        format!(
            "The largest amplitudes are about {high:.1e}, expected {least} to {most}; check whether the image holds \
             fibres, and scale it or the thresholds of amplitude"
        )
    })
}

/// Distributions in MRtrix's basis and world axes from an image in a layout.
pub fn odf_from_volume(
    path: &Path,
    volume: &Volume,
    layout: OdfLayout,
    control: &Control,
) -> Result<OdfField, Error> {
    let conversion = OdfConversion::new(layout, volume.frames, &volume.grid);
    let conversion = conversion.filter(|_| volume.kind == VolumeKind::Scalar);
    let Some(conversion) = conversion else {
        return Err(Error::malformed(
            path,
            counted(volume.frames, "volume"),
            (
                "1, 6, 15, 28, 45, 66 or 91 coefficients of even harmonics (Camino: two volumes more)",
                "name an image of fibre orientation distributions",
            ),
        ));
    };
    let (grid, order) = (volume.grid.clone(), conversion.order());
    if conversion.is_identity() {
        return Ok(OdfField::new(grid, order, volume.values.clone()));
    }
    let first = conversion.first_volume() * grid.voxel_count();
    let convert = |stored: &[f64]| conversion.convert(stored);
    let values = mapped(
        path,
        &volume.values[first..],
        &grid,
        order,
        convert,
        control,
    )?;
    Ok(OdfField::new(grid, order, values))
}

/// Distributions on a moved grid, turned by the linear part of the transform. `modulated`: densities change with the
/// width of bundles.
pub fn turn_odf(
    path: &Path,
    field: &OdfField,
    grid: Arc<Grid>,
    linear: DMat3,
    modulated: bool,
    control: &Control,
) -> Result<OdfField, Error> {
    let order = field.order();
    let turn = OdfTurn::new(order, linear, modulated);
    let turned = |stored: &[f64]| turn.apply(stored);
    let values = mapped(
        path,
        &field.coefficients,
        &field.grid,
        order,
        turned,
        control,
    )?;
    Ok(OdfField::new(grid, order, values))
}

/// Coefficients of every voxel after a function of them. Voxels without a distribution keep their 0 or NaN.
fn mapped(
    path: &Path,
    stored: &[f32],
    grid: &Grid,
    order: usize,
    map: impl Fn(&[f64]) -> Vec<f64> + Sync,
    control: &Control,
) -> Result<Vec<f32>, Error> {
    let (n, size) = (grid.voxel_count(), count(order));
    let memory_error = |e| Error::memory(path, e);
    memory::claim_for::<f32>(READING, n * size, 1).map_err(memory_error)?;
    let mut values = vec![0f32; n * size];
    // The parts of all planes that belong to the same voxels.
    let mut parts: Vec<Vec<&mut [f32]>> = (0..n.div_ceil(CHUNK_VOXELS))
        .map(|_| Vec::with_capacity(size))
        .collect();
    for plane in values.chunks_mut(n) {
        for (part, piece) in parts.iter_mut().zip(plane.chunks_mut(CHUNK_VOXELS)) {
            part.push(piece);
        }
    }
    control.begin("Turning fibre orientations", n as u64);
    let parts = parts.into_par_iter().enumerate();
    parts.try_for_each(|(chunk, mut planes)| -> Result<(), Error> {
        control.check()?;
        let voxels = planes.first().map_or(0, |plane| plane.len());
        let mut own = vec![0f64; size];
        for i in 0..voxels {
            let voxel = chunk * CHUNK_VOXELS + i;
            for (k, own) in own.iter_mut().enumerate() {
                *own = f64::from(stored[k * n + voxel]);
            }
            let is_empty = own.iter().all(|c| *c == 0.0) || own.iter().any(|c| !c.is_finite());
            let mapped = if is_empty { own.clone() } else { map(&own) };
            for (plane, value) in planes.iter_mut().zip(mapped) {
                plane[i] = value as f32;
            }
        }
        control.advance(voxels as u64);
        Ok(())
    })?;
    Ok(values)
}

/// An image of peaks after reading.
#[derive(Clone, Debug)]
pub struct OpenedPeaks {
    /// Peaks in world axes.
    pub field: PeakField,
    /// The fixels from which they were read, if any.
    pub fixels: Option<Arc<Fixels>>,
    /// All files that were read.
    pub files: Vec<PathBuf>,
    /// One sentence each, without the path.
    pub warnings: Vec<String>,
    /// Facts that are not irregular, one sentence each.
    pub notes: Vec<String>,
}

/// Opens peaks: FSL's `dyads1` with the dyads and mean fractions beside it, a model of DSI Studio (`.fib.gz`), a folder of
/// MRtrix's fixels or one of its lists, otherwise an image of three volumes per peak in world axes, as MRtrix writes it. An
/// affine moves the image, and the peaks turn.
pub fn open_peaks(
    path: &Path,
    affine: Option<&AffineReading>,
    control: &Control,
) -> Result<OpenedPeaks, Error> {
    let mut opened = match dyad_stem(path) {
        Some(stem) => open_dyads(path, &stem, control)?,
        None if path.is_dir() => {
            let files = fixels::Files::named_by(path).ok_or_else(|| fixels::no_fixels(path))?;
            fixels::read_peaks(files, control)?
        }
        None if super::extension(path) == "fib.gz" => {
            let (field, warnings) = dsi_studio::read_peaks(path, control)?;
            OpenedPeaks {
                field,
                fixels: None,
                files: vec![path.to_owned()],
                warnings,
                notes: Vec::new(),
            }
        }
        None => match fixels::Files::named_by(path) {
            Some(files) => fixels::read_peaks(files, control)?,
            None => open_vectors(path, control)?,
        },
    };
    let field = &opened.field;
    let longest = (0..field.grid.voxel_count()).map(|voxel| {
        let lengths = field.peaks(voxel).map(|peak| peak.length());
        lengths.fold(0.0, f64::max)
    });
    let doubt = amplitude_doubt(longest);
    opened.warnings.extend(doubt);
    if let Some(by) = affine {
        let by = in_world(by, Some(&opened.field.grid), control)?;
        opened.warnings.extend(super::affine::mirror_warning(by));
        opened
            .notes
            .push("The peaks were turned with the image".to_owned());
        let grid = Arc::new(moved_grid(path, &opened.field.grid, by)?);
        opened.field = opened.field.turned(grid, by.matrix3, true);
    }
    Ok(opened)
}

/// Opens fixels for display: a folder of them, one of its lists, or its index or directions. The lengths of the peaks are
/// the values, in any unit. An affine moves the image and turns the directions, but changes no value. `None` for other
/// paths.
pub fn open_fixels(
    path: &Path,
    affine: Option<&AffineReading>,
    control: &Control,
) -> Result<Option<(Volume, OpenedPeaks)>, Error> {
    if let Some(error) = fixels::incomplete(path) {
        return Err(error);
    }
    let Some(files) = fixels::Files::named_by(path) else {
        return Ok(None);
    };
    let mut opened = fixels::read_peaks(files, control)?;
    if let Some(by) = affine {
        let by = in_world(by, Some(&opened.field.grid), control)?;
        opened.warnings.extend(super::affine::mirror_warning(by));
        let note = "The directions were turned with the image";
        opened.notes.push(note.to_owned());
        let grid = Arc::new(moved_grid(path, &opened.field.grid, by)?);
        opened.field = opened.field.turned(grid, by.matrix3, false);
    }
    let volume = opened.field.volume();
    let volume = match &opened.fixels {
        Some(fixels) => volume.with_fixels(fixels.clone()),
        None => volume,
    };
    Ok(Some((volume, opened)))
}

/// Refuses coefficients of distributions where peaks are expected: 45 of them are not 15 peaks.
pub fn must_not_be_distributions(path: &Path, volume: &Volume) -> Result<(), Error> {
    match order_of_distributions(volume) {
        None => Ok(()),
        Some(order) => Err(Error::malformed(
            path,
            format!(
                "{} with coefficients of spherical harmonics of order {order}",
                counted(volume.frames, "volume")
            ),
            (
                "three volumes per peak",
                "name an image of peaks, or state that it holds distributions (--odf-basis and --odf-frame; --fod in \
                 arcuate track)",
            ),
        )),
    }
}

fn open_vectors(path: &Path, control: &Control) -> Result<OpenedPeaks, Error> {
    let (volume, info) = image::read(path, control)?;
    must_not_be_distributions(path, &volume)?;
    let field = PeakField::from_volume(&volume).ok_or_else(|| {
        Error::malformed(
            path,
            counted(volume.frames, "volume"),
            ("three volumes per peak", "name an image of peaks"),
        )
    })?;
    Ok(OpenedPeaks {
        field,
        fixels: None,
        files: vec![path.to_owned()],
        warnings: info.warnings,
        notes: info.notes,
    })
}

/// `sub_` of `sub_dyads1.nii.gz`.
fn dyad_stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    dyads_prefix(&name).map(str::to_owned)
}

/// FSL's directions are in the axes of its bvec; fractions are the means of their samples.
fn open_dyads(path: &Path, stem: &str, control: &Control) -> Result<OpenedPeaks, Error> {
    let ending = super::extension(path);
    let named = |name: String| path.with_file_name(format!("{stem}{name}.{ending}"));
    let mut opened: Vec<(Volume, Volume)> = Vec::new();
    let (mut files, mut warnings, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=MAX_DYADS {
        let dyads = named(format!("dyads{number}"));
        if number > 1 && !dyads.is_file() {
            break;
        }
        let fractions = named(format!("mean_f{number}samples"));
        let (directions, info) = image::read(&dyads, control)?;
        if !fractions.is_file() {
            let missing = fractions.file_name().unwrap_or_default();
            return Err(Error::malformed(
                &dyads,
                "directions without their fractions",
                (
                    format!("{} beside them", missing.to_string_lossy()),
                    "copy all files of bedpostx into one folder",
                ),
            ));
        }
        let (fraction, _) = image::read(&fractions, control)?;
        let malformed = |found: String, what: &str, path: &Path| {
            Error::malformed(
                path,
                found,
                (what, "name the dyads1 of one run of bedpostx"),
            )
        };
        if directions.frames != 3 || directions.kind != VolumeKind::Scalar {
            let found = counted(directions.frames, "volume");
            return Err(malformed(found, "the three of a direction", &dyads));
        }
        if fraction.frames != 1 {
            let found = counted(fraction.frames, "volume");
            return Err(malformed(found, "one of fractions", &fractions));
        }
        let grid = opened
            .first()
            .map_or(&directions.grid, |(first, _)| &first.grid);
        for (volume, file) in [(&directions, &dyads), (&fraction, &fractions)] {
            if !volume.grid.matches(grid) {
                let found = "an image on another grid".to_owned();
                return Err(malformed(found, "the grid of dyads1", file));
            }
        }
        if number == 1 {
            warnings.extend(info.warnings);
            notes.extend(info.notes);
        }
        files.extend([dyads, fractions]);
        opened.push((directions, fraction));
    }
    let Some((first, _)) = opened.first() else {
        return Err(Error::malformed(
            path,
            "no dyads1",
            ("it beside the others", "name it"),
        ));
    };
    let grid = first.grid.clone();
    let peaks: Vec<([&[f32]; 3], &[f32])> = opened
        .iter()
        .map(|(d, f)| ([d.frame(0), d.frame(1), d.frame(2)], f.frame(0)))
        .collect();
    let field = PeakField::from_directions(grid.clone(), world_from_fsl(&grid), &peaks);
    notes.push(format!(
        "Read {} of FSL, in the axes of its bvec",
        counted(peaks.len(), "direction")
    ));
    Ok(OpenedPeaks {
        field,
        fixels: None,
        files,
        warnings,
        notes,
    })
}
