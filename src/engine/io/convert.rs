//! Converts between file formats: the kind of data in the input determines the possible outputs.
//!
//! # Example
//!
//! Streamlines from TCK to TRK; the plan says what the new file cannot hold before anything is written:
//!
//! ```
//! use arcuate_engine::compute::Control;
//! use arcuate_engine::data::{Grid, Tractogram, Volume};
//! use arcuate_engine::io::{Reading, convert, image, streamlines};
//! use glam::DVec3;
//! use std::sync::Arc;
//!
//! let control = Control::new();
//! let folder = tempfile::tempdir()?;
//! let path = |name: &str| folder.path().join(name);
//! let line = Tractogram::new(vec![[0.0; 3], [1.0, 2.0, 3.0]], vec![0, 2]);
//! streamlines::save(&path("line.tck"), &line, "an example", &control)?;
//! // A TRK file has a grid, which a TCK file lacks.
//! let grid = Grid::axis_aligned([4, 4, 4], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let brain = Volume::scalar(Arc::new(grid), vec![0.0; 64]);
//! image::save_volume(&path("brain.nii.gz"), &brain, "an example", &control)?;
//!
//! let (input, output, reference) = (path("line.tck"), path("line.trk"), path("brain.nii.gz"));
//! let reading = Reading::default();
//! let plan = convert::plan(&input, &output, Some(&reference), &reading, &control)?;
//! let converted = plan.write(false, "an example", &control)?;
//! assert_eq!(converted.content, "1 streamline");
//! assert!(output.is_file());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod images;

use super::format::{Content, Format};
use super::pieces::{Contents, Copies, Outline, Piece, Pieces, Spool};
use super::scalars::{self, CompanionFile};
use super::text::counted;
use super::{
    Error, Opened, Reading, Remark, as_mask, atomic, detect, extension, image, mif, nifti,
    open_with_reading, streamlines, surface, tck, trx,
};
use crate::compute::{Control, memory};
use crate::data::{Surface, Tractogram, Volume};
use images::Image;
use std::path::{Path, PathBuf};

/// A finished conversion.
#[derive(Clone, PartialEq, Debug)]
pub struct Converted {
    /// Such as `450 streamlines`.
    pub content: String,
    /// The output, and companion files with data that it cannot hold.
    pub written: Vec<PathBuf>,
    /// About the input, one sentence each.
    pub notes: Vec<Remark>,
    /// Losses in the output, one sentence each.
    pub unsupported_contents: Vec<String>,
}

/// Returns an error for output names that nothing can be converted to, before anything is read.
pub fn check_output(output: &Path) -> Result<Format, Error> {
    // An image in two files is named by the file with the header.
    let two = ["hdr", "img", "hdr.gz", "img.gz", "nhdr"].contains(&extension(output).as_str());
    let can = |f: &Format| !two && !matches!(f.content(), Content::Gradients | Content::Picture);
    Format::named(output)
        .filter(|f| f.saves() && can(f))
        .ok_or_else(|| {
            Error::unsupported(
                output,
                "a name without the ending of a writable format",
                format!(
                    "end it in one of {}, in .nii.gz, .nii, .nrrd or .mif for images, or in one of {} for surfaces of masks",
                    Format::streamline_endings(),
                    Format::endings(Format::of_saved_surfaces())
                ),
            )
        })
}

/// Checks whether the kind of file that the input is can become the output. An input that cannot be read passes.
pub fn check_kinds(input: &Path, output: &Path) -> Result<(), Error> {
    let (Ok(from), to) = (detect(input), check_output(output)?) else {
        return Ok(());
    };
    match (from.content(), to.content()) {
        (Content::Streamlines, Content::Image | Content::Surface) => Err(of_streamlines(input)),
        (Content::Image, Content::Streamlines) => Err(of_image(input)),
        _ => Ok(()),
    }
}

fn of_streamlines(input: &Path) -> Error {
    Error::unsupported(
        input,
        "a file of streamlines",
        format!(
            "end the output in one of {}; a map of where they pass is made by arcuate density",
            Format::streamline_endings()
        ),
    )
}

fn of_image(input: &Path) -> Error {
    Error::unsupported(
        input,
        "an image",
        "end the output in .nii.gz, .nrrd or .mif, or a mask's in .ply, .stl, .obj or .gii",
    )
}

/// Checks whether the output could be written here now without replacing anything.
pub fn check_place(output: &Path) -> Result<(), Error> {
    if Format::named(output) == Some(Format::Trx) && trx::means_folder(output) {
        return atomic::check_new_folder(output, trx::may_replace);
    }
    atomic::check_file(output)
}

/// The contents of an input.
#[derive(Clone, Debug)]
enum Stored {
    /// An image that becomes an image.
    Image(Box<Image>),
    /// An image that becomes something else.
    Volume(Volume),
    /// Streamlines, which are read again while they are written, unless they are few.
    Streamlines(Box<(Pieces, Outline, Copies)>),
}

/// An input that was read, and the losses in the output.
#[derive(Clone, Debug)]
pub struct Plan {
    input: PathBuf,
    output: PathBuf,
    format: Format,
    contents: Stored,
    /// Parts of the input that were not read, one sentence each.
    unread: Vec<String>,
    /// Companion files for values that the output cannot hold.
    companions: Vec<CompanionFile>,
    /// About the input, one sentence each.
    pub notes: Vec<Remark>,
    /// Losses in the output, one sentence each.
    pub unsupported_contents: Vec<String>,
}

/// Reads a file that is to be written as `output`, whose name determines the format. `reference` is the image whose
/// grid a tractogram receives; without it, the grid named in the input is kept.
pub fn plan(
    input: &Path,
    output: &Path,
    reference: Option<&Path>,
    reported: &Reading,
    control: &Control,
) -> Result<Plan, Error> {
    let format = check_output(output)?;
    let is_image = format.content() == Content::Image && detect(input)?.content() == Content::Image;
    if is_image && reported.warp.is_some() {
        images::check_warped_output(output, format)?;
    } else if is_image {
        let image = images::plan(input, output, format, reported, control)?;
        return Ok(Plan {
            input: input.to_owned(),
            output: output.to_owned(),
            format,
            unread: Vec::new(),
            companions: Vec::new(),
            notes: image.notes.clone(),
            unsupported_contents: image.unsupported_contents.clone(),
            contents: Stored::Image(Box::new(image)),
        });
    }
    if detect(input)?.content() == Content::Streamlines {
        if format.content() != Content::Streamlines {
            return Err(of_streamlines(input));
        }
        return plan_streamlines(input, output, format, (reference, reported), control);
    }
    let stored = open_with_reading(input, reported, control)?;
    let (notes, unread) = (stored.remarks(), stored.unread().to_vec());
    let Opened::Volume(volume, _) = stored else {
        return Err(of_streamlines(input));
    };
    Ok(Plan {
        input: input.to_owned(),
        output: output.to_owned(),
        format,
        unread,
        contents: Stored::Volume(volume),
        companions: Vec::new(),
        notes,
        unsupported_contents: Vec::new(),
    })
}

/// Reads streamlines once, for what must be known of them before they are written.
fn plan_streamlines(
    input: &Path,
    output: &Path,
    format: Format,
    (reference, reported): (Option<&Path>, &Reading),
    control: &Control,
) -> Result<Plan, Error> {
    let pieces = Pieces::open(input, reported, control)?;
    let mut outline = Outline::new(pieces.empty().clone());
    outline.groups = pieces.groups();
    let mut copies = Copies::default();
    let info = pieces.pass(control, |piece| {
        outline.add(&piece.tractogram);
        copies.add(piece.tractogram);
        Ok::<(), Error>(())
    })?;
    let mut notes = Remark::all(&info.warnings, &info.notes);
    notes.extend(streamlines::not_finite_points(outline.not_finite).map(Remark::from));
    if format == Format::Tck
        && let Some(line) = outline.first_not_finite
    {
        return Err(Error::unsupported(
            input,
            format!("a coordinate in streamline {} that is not finite", line + 1),
            "end the output in .trx, as TCK requires finite coordinates, or repair the input",
        ));
    }
    if let Some(reference) = reference {
        let grid = image::read_grid(reference, control)?;
        let own = outline.empty.grid.as_ref();
        if let Some(own) = own.filter(|own| !own.matches(&grid)) {
            let far = grid.separation_mm(own);
            let sentence = format!(
                "The file names another grid than the reference, whose corners lie up to \
                 {far:.1} mm away; the reference's grid was used and no points were moved"
            );
            notes.push(sentence.into());
        }
        outline.empty = outline.empty.with_grid(grid);
    }
    let (companions, mut losses) = parts(&outline, format, output);
    losses.extend(info.losses());
    Ok(Plan {
        input: input.to_owned(),
        output: output.to_owned(),
        format,
        unread: info.unread,
        contents: Stored::Streamlines(Box::new((pieces, outline, copies))),
        companions,
        notes,
        unsupported_contents: losses,
    })
}

impl Plan {
    /// Coefficients of distributions from another format that are written into a MIF, where programs expect MRtrix's basis
    /// and world axes; `None` for other contents.
    pub fn distributions_for_mrtrix(&self) -> Option<Volume> {
        let is_new = self.format == Format::Mif && Format::named(&self.input) != Some(Format::Mif);
        match &self.contents {
            Stored::Image(image) if is_new => image.distributions(),
            _ => None,
        }
    }

    /// Parts of the input that the output will not hold: those that were not read, and those left out.
    pub fn missing(&self) -> Vec<String> {
        [&*self.unread, &self.unsupported_contents].concat()
    }

    /// File that is converted.
    pub fn input(&self) -> &Path {
        &self.input
    }

    /// Writes the output. Companion files are replaced only if `replace` is set.
    pub fn write(
        self,
        replace: bool,
        command: &str,
        control: &Control,
    ) -> Result<Converted, Error> {
        let (format, output) = (self.format, &*self.output);
        let (content, written) = match &self.contents {
            Stored::Streamlines(stored) => {
                let (pieces, outline, copies) = &**stored;
                let content = counted(outline.streamlines, "streamline");
                let mut contents = Contents {
                    outline,
                    pass: &mut |take| match copies.pieces() {
                        Some(copies) => copies.iter().try_for_each(take),
                        None => {
                            let piece = |piece: Piece| take(&piece.tractogram);
                            pieces.pass(&control.silent(), piece).map(drop)
                        }
                    },
                };
                let written = streamlines(
                    &mut contents,
                    output,
                    self.companions,
                    replace,
                    command,
                    control,
                )?;
                (content, written)
            }
            Stored::Image(image) => image.write(output, replace, command, control)?,
            Stored::Volume(volume) if format.content() == Content::Image => {
                images::write_volume(volume, output, replace, command, control)?
            }
            Stored::Volume(volume) => {
                let content = surface_of(volume, &self.input, format, output, command, control)?;
                (content, vec![output.to_owned()])
            }
        };
        Ok(Converted {
            content,
            written,
            notes: self.notes,
            unsupported_contents: self.unsupported_contents,
        })
    }
}

/// Writes an image as NIfTI or for MRtrix, by the name: an opened image in the type of its file, if the file still
/// holds its values; others as [`image::save_volume`] does. Returns what the new file lacks of the opened one, one
/// sentence each.
pub fn save_volume(
    path: &Path,
    volume: &Volume,
    from: Option<&Path>,
    command: &str,
    control: &Control,
) -> Result<Vec<String>, Error> {
    let is_mif = mif::is_named(path);
    let format = if is_mif { Format::Mif } else { Format::Nifti };
    let (stored, losses) = match from {
        Some(from) if !mif::has_two_files(path) => {
            images::as_stored(from, volume, format, &control.silent())
        }
        _ => (None, Vec::new()),
    };
    control.check()?;
    match stored {
        Some(stored) if is_mif => {
            let files = mif::prepare_stored(path, &stored, None, command, control)?;
            atomic::rename_together(files)?;
        }
        Some(stored) => {
            nifti::prepare_stored(path, &stored, command, control)?.rename_into_place()?
        }
        None => image::save_volume(path, volume, command, control)?,
    }
    Ok(losses)
}

/// Writes the surface of a mask; returns a description of it.
fn surface_of(
    volume: &Volume,
    input: &Path,
    format: Format,
    output: &Path,
    command: &str,
    control: &Control,
) -> Result<String, Error> {
    match format.content() {
        Content::Surface => {
            let Some(mask) = as_mask(volume) else {
                return Err(Error::unsupported(
                    input,
                    "an image that is not a mask of zeros and ones",
                    "name a mask to make a surface of",
                ));
            };
            let voxels = mask.grid.voxel_count();
            let room = memory::claim_for::<u32>("The surface of the mask", voxels, 1);
            room.map_err(|e| Error::memory(input, e))?;
            let net = Surface::of_mask(&mask);
            surface::save(output, &net, command, control)?;
            Ok(format!(
                "a surface of {}",
                counted(net.triangles.len(), "triangle")
            ))
        }
        _ => Err(of_image(input)),
    }
}

/// Writes streamlines and, next to a TCK, those of the values that it cannot hold ([`parts`]): all files or none.
/// Returns the written files.
pub fn streamlines(
    contents: &mut Contents,
    output: &Path,
    adjacent: Vec<CompanionFile>,
    replace: bool,
    command: &str,
    control: &Control,
) -> Result<Vec<PathBuf>, Error> {
    let exists = |b: &&CompanionFile| !replace && b.path.exists();
    if let Some(existing) = adjacent.iter().find(exists) {
        return Err(Error::unsupported(
            &existing.path,
            "an existing file, which values of the streamlines would replace",
            "add --force to replace it",
        ));
    }
    pieces_with_values(contents, output, &adjacent, command, control)?;
    let values = adjacent.into_iter().map(|b| b.path);
    Ok(std::iter::once(output.to_owned()).chain(values).collect())
}

/// Values for companion files, and values that no file can hold.
pub fn parts(
    outline: &Outline,
    format: Format,
    output: &Path,
) -> (Vec<CompanionFile>, Vec<String>) {
    let empty = &outline.empty;
    let (points, lines) = (&empty.per_point, &empty.per_streamline);
    let adjacent = match format {
        Format::Tck => scalars::files(output, points.keys(), lines.keys()),
        _ => Vec::new(),
    };
    let (adjacent, not_finite): (Vec<_>, Vec<_>) = adjacent
        .into_iter()
        .partition(|b| b.holds_outlined(outline));
    // Values in companion files are not lost.
    let mut left = empty.clone();
    if format == Format::Tck {
        left.per_point.clear();
        left.per_streamline.clear();
    }
    let mut losses = format.unsupported_contents(&left);
    losses.extend(not_finite.iter().map(CompanionFile::refusal));
    losses.extend(format.unsupported_grid(empty));
    (adjacent, losses)
}

/// Writes a streamline file and its companion files of values: all files or none.
pub fn with_values(
    tractogram: &Tractogram,
    output: &Path,
    adjacent: &[CompanionFile],
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    Contents::whole(tractogram, |contents| {
        pieces_with_values(contents, output, adjacent, command, control)
    })
}

/// Does the same as [`with_values`] for streamlines that need not be in memory.
fn pieces_with_values(
    contents: &mut Contents,
    output: &Path,
    adjacent: &[CompanionFile],
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    if adjacent.is_empty() {
        return streamlines::save_pieces(output, contents, command, control);
    }
    // Checked before the long work.
    for values in adjacent {
        atomic::check_file(&values.path)?;
    }
    let outline = contents.outline;
    let mut spool = Spool::new(output, adjacent.len());
    let pass = &mut *contents.pass;
    let mut with_spool = Contents {
        outline,
        pass: &mut |take| {
            pass(&mut |piece| {
                for (index, values) in adjacent.iter().enumerate() {
                    spool.put(index, &values.encode(piece))?;
                }
                take(piece)
            })
        },
    };
    let mut files = vec![tck::prepare(output, &mut with_spool, command, control)?];
    for (index, values) in adjacent.iter().enumerate() {
        control.check()?;
        let file = values.prepare(files[0].file(), outline, control, |file| {
            spool.array(index, |bytes| Ok(file.write_all(bytes)?))
        })?;
        files.push(file);
    }
    control.check()?;
    atomic::rename_together(files)
}
