//! Gradient tables: FSL's `bval` and `bvec`, MRtrix's `.b`, and those in the header of an NRRD or an MRtrix image.
//!
//! An FSL vector is relative to the image's axes, with x negated if the affine's determinant is positive; rotating it
//! by the affine's rotation gives world axes. An MRtrix row is `x y z b` in world axes. Vectors are normalised to
//! unit length, and in MRtrix's files the b-value is multiplied by the square of the length.
//!
//! # Example
//!
//! A table beside its scan, in FSL's form:
//!
//! ```
//! use arcuate_engine::data::{Gradients, Grid};
//! use arcuate_engine::io::gradients::{TableFiles, read, save};
//! use glam::DVec3;
//!
//! let folder = tempfile::tempdir()?;
//! let (bval, bvec) = (folder.path().join("dwi.bval"), folder.path().join("dwi.bvec"));
//! let grid = Grid::axis_aligned([2, 2, 2], DVec3::ONE, DVec3::ZERO).ok_or("a valid grid")?;
//! let gradients = Gradients {
//!     b_s_per_mm2: vec![0.0, 1000.0],
//!     directions: vec![DVec3::ZERO, DVec3::Y],
//! };
//! save(&bval, &bvec, &gradients, &grid)?;
//! let table = read(&TableFiles::from_paths(&[bval, bvec])?, &grid, 2)?;
//! assert_eq!(table.gradients, gradients);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod lengths;
mod text;
mod units;

use super::format::{Content, Format};
use super::{Error, Remark, RemarkTopic, atomic, image, mif, nrrd, with_extension};
use crate::compute::Control;
use crate::data::Grid;
use crate::data::axis_change::{image_from_fsl, world_from_fsl};
use crate::data::gradients::{B0_LIMIT_S_PER_MM2, Gradients, Weighting, volume_numbers};
use crate::data::rotation::rotation;
use crate::data::text::file_name;
use crate::data::text::singular_or_plural;
use glam::{DMat3, DVec3};
use lengths::{has_no_direction, is_not_unit};
use std::path::{Path, PathBuf};
use text::{b_values, fsl_vectors, is_b_values, mrtrix_rows, rows, shape_text};

/// Axes that differ by less differ only by rounding.
const TURN: f64 = 1e-6;

/// The files that hold a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TableFiles {
    /// FSL's pair of text files.
    Fsl {
        /// File of b-values.
        bval: PathBuf,
        /// File of vectors.
        bvec: PathBuf,
    },
    /// MRtrix's table, one row per volume.
    Mrtrix(PathBuf),
    /// In the header of an image, mostly the scan itself.
    Header(PathBuf),
}

impl TableFiles {
    /// Paths of all files of the table.
    pub fn paths(&self) -> Vec<PathBuf> {
        match self {
            Self::Fsl { bval, bvec } => vec![bval.clone(), bvec.clone()],
            Self::Mrtrix(path) | Self::Header(path) => vec![path.clone()],
        }
    }

    /// The files that a user named: a `.b` file, one of an FSL pair (the other is looked for next to it), or both
    /// files of a pair in either order.
    pub fn from_paths(paths: &[PathBuf]) -> Result<Self, Error> {
        match paths {
            [path] => match kind_of(path) {
                Some(Part::BValues) => Ok(Self::Fsl {
                    bval: path.clone(),
                    bvec: pair_of(path, "bval", "bvec")?,
                }),
                Some(Part::Vectors) => Ok(Self::Fsl {
                    bval: pair_of(path, "bvec", "bval")?,
                    bvec: path.clone(),
                }),
                None if has_table_in_header(path) => Ok(Self::Header(path.clone())),
                None => Ok(Self::Mrtrix(path.clone())),
            },
            [a, b] => {
                let swapped =
                    kind_of(a) == Some(Part::Vectors) || kind_of(b) == Some(Part::BValues);
                let (bval, bvec) = if swapped { (b, a) } else { (a, b) };
                Ok(Self::Fsl {
                    bval: bval.clone(),
                    bvec: bvec.clone(),
                })
            }
            _ => Err(Error::malformed(
                paths.first().map_or(Path::new(""), PathBuf::as_path),
                format!("{} gradient files", paths.len()),
                "a bval and a bvec file, or one MRtrix file",
            )),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    BValues,
    Vectors,
}

fn kind_of(path: &Path) -> Option<Part> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    if name.contains("bvec") {
        Some(Part::Vectors)
    } else {
        name.contains("bval").then_some(Part::BValues)
    }
}

/// Whether files of this format can hold gradients in their header.
fn has_table_in_header(path: &Path) -> bool {
    matches!(Format::named(path), Some(Format::Nrrd | Format::Mif))
}

/// b-values and directions.
type HeaderRows = (Vec<f64>, Vec<DVec3>);

/// The gradients in the header of an image, if there are any.
fn header_rows(path: &Path) -> Result<Option<HeaderRows>, Error> {
    match Format::named(path) {
        Some(Format::Mif) => mif::gradients(path),
        _ => nrrd::gradients(path),
    }
}

/// Whether the header of a scan seems to hold its gradients. A header that cannot be read is reported when it is read.
fn is_own_table(scan: &Path) -> bool {
    match Format::named(scan) {
        Some(Format::Mif) => !matches!(mif::has_gradients(scan), Ok(false)),
        Some(Format::Nrrd) => !matches!(nrrd::gradients(scan), Ok(None)),
        _ => false,
    }
}

/// `dwi.bval` → `dwi.bvec`, which must exist.
fn pair_of(path: &Path, from: &str, to: &str) -> Result<PathBuf, Error> {
    let name = file_name(path);
    let other = path.with_file_name(name.replacen(from, to, 1));
    if other != path && other.is_file() {
        Ok(other)
    } else {
        Err(Error::malformed(
            path,
            format!("a {from} file alone"),
            (format!("the {to} file beside it"), "name both"),
        ))
    }
}

/// The table next to a scan: `dwi.nii.gz` → `dwi.bval` and `dwi.bvec`, `dwi.bvals` and `dwi.bvecs`, `dwi.b`, the
/// header of an NRRD or an MRtrix image, or the folder's `bvals` and `bvecs`, in this order.
pub fn find_companion(scan: &Path) -> Option<TableFiles> {
    let if_file = |path: PathBuf| Some(path).filter(|p| p.is_file());
    let own = |extension: &str| if_file(with_extension(scan, extension));
    let pair = |bval: Option<PathBuf>, bvec: Option<PathBuf>| {
        Some(TableFiles::Fsl {
            bval: bval?,
            bvec: bvec?,
        })
    };
    let of_folder = |name: &str| if_file(scan.with_file_name(name));
    pair(own("bval"), own("bvec"))
        .or_else(|| pair(own("bvals"), own("bvecs")))
        .or_else(|| own("b").map(TableFiles::Mrtrix))
        .or_else(|| is_own_table(scan).then(|| TableFiles::Header(scan.to_owned())))
        .or_else(|| pair(of_folder("bvals"), of_folder("bvecs")))
}

/// Half of an FSL table next to a scan without its other half.
pub fn unpaired_table(scan: &Path) -> Option<String> {
    let own = |ending: &str| with_extension(scan, ending).is_file();
    let pairs = [("bval", "bvec"), ("bvals", "bvecs")];
    let pairs = pairs.into_iter().flat_map(|(b, v)| [(b, v), (v, b)]);
    let mut halves = pairs.filter(|(here, missing)| own(here) && !own(missing));
    halves.next().map(|(here, missing)| {
        format!("Found the .{here} of this scan but no .{missing}; put it beside the scan")
    })
}

/// Returns an error if files do not hold what their options name. [`read`] accepts a pair in either order, which a
/// command that names each must not.
pub fn check_named(files: &TableFiles) -> Result<(), Error> {
    match files {
        TableFiles::Mrtrix(path) => mrtrix_rows(path).map(drop),
        TableFiles::Header(path) => header_rows(path).map(drop),
        TableFiles::Fsl { bval, bvec } => {
            let exchanged = || {
                let (b, v) = (rows(bval).ok()?, rows(bvec).ok()?);
                (is_b_values(&v) && !is_b_values(&b)).then(|| shape_text(&b))
            };
            if let Some(content) = exchanged() {
                return Err(Error::malformed(
                    bval,
                    format!("{content} in place of b-values"),
                    (
                        "one row or one column",
                        "exchange the names of the bval and the bvec file",
                    ),
                ));
            }
            b_values(bval)?;
            fsl_vectors(bvec).map(drop)
        }
    }
}

/// A gradient table after reading.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// b-values and directions in world axes.
    pub gradients: Gradients,
    /// Files from which it was read.
    pub files: Vec<PathBuf>,
    /// Warnings first.
    pub remarks: Vec<Remark>,
}

/// The table of a scan: from the files the user named, otherwise from those next to it, if any. If the grid is not
/// that of the file, the image was moved, and the directions rotate with it: FSL's because they are relative to the
/// image's axes, those in world axes here.
pub fn for_scan(
    scan: &Path,
    named: &[PathBuf],
    grid: &Grid,
    volumes: usize,
) -> Result<Option<Table>, Error> {
    let files = if named.is_empty() {
        find_companion(scan)
    } else {
        Some(TableFiles::from_paths(named)?)
    };
    // A scan that is not a file lies where its grid states.
    let own = match scan.is_file() && files.is_some() {
        true => Some(image::read_grid(scan, &Control::new())?),
        false => None,
    };
    let own = own.filter(|own| own.shape == grid.shape);
    files
        .map(|files| read_moved(&files, own.as_ref().unwrap_or(grid), grid, volumes))
        .transpose()
}

/// b-values and vectors as stored in files, neither normalised nor filtered, except where lengths stand for b-values.
#[derive(Clone, PartialEq, Debug)]
pub struct Rows {
    /// s/mm²
    pub b: Vec<f64>,
    vectors: Vec<DVec3>,
    /// Whether the vectors are relative to the image's axes, as FSL's are; otherwise they are in world axes.
    of_image: bool,
    /// A sentence about b-values that were multiplied by squared lengths.
    pub scaled: Option<String>,
}

impl Rows {
    /// The vectors in world axes.
    pub fn in_world(&self, grid: &Grid) -> Vec<DVec3> {
        if !self.of_image {
            return self.vectors.clone();
        }
        let world = world_from_fsl(grid);
        self.vectors.iter().map(|&v| world * v).collect()
    }

    /// The vectors in world axes, with lengths that MRtrix does not multiply with b-values.
    pub fn in_mif(&self, grid: &Grid) -> Vec<DVec3> {
        let vectors = self.in_world(grid).into_iter();
        vectors.map(lengths::without_scaling).collect()
    }

    /// Unit vectors in world axes; zero if a vector has no direction.
    pub fn directions(&self, grid: &Grid) -> Vec<DVec3> {
        let unit = |v: DVec3| match has_no_direction(v) {
            true => DVec3::ZERO,
            false => v.normalize(),
        };
        self.in_world(grid).into_iter().map(unit).collect()
    }

    /// The vectors relative to the image's axes, as FSL's.
    pub fn in_image(&self, grid: &Grid) -> Vec<DVec3> {
        if self.of_image {
            return self.vectors.clone();
        }
        let image = world_from_fsl(grid).transpose();
        self.vectors.iter().map(|&v| image * v).collect()
    }

    /// Rotates the vectors with an image that was moved. FSL's vectors do not change relative to the image's axes,
    /// and keep the sign of x that they have on their original grid, even for a mirrored image.
    pub fn moved(self, from: &Grid, to: &Grid) -> Self {
        let turn = match self.of_image {
            true => rotation(to.world_from_voxel.matrix3) * image_from_fsl(from),
            false => rotation((to.world_from_voxel * from.voxel_from_world).matrix3),
        };
        let vectors = self.vectors.into_iter().map(|v| turn * v).collect();
        Self {
            vectors,
            of_image: false,
            ..self
        }
    }

    /// The losses in an NRRD, where vector lengths encode shares of the largest b-value.
    pub fn losses_in_nrrd(&self) -> Vec<String> {
        let pairs = || self.b.iter().zip(&self.vectors);
        let silent = pairs()
            .filter(|(b, v)| **b > 0.0 && has_no_direction(**v))
            .count();
        let mut losses = Vec::new();
        if silent > 0 {
            losses.push(format!(
                "NRRD holds no b-value of a volume without a direction: {} b = 0",
                singular_or_plural(
                    silent,
                    "1 volume becomes",
                    &format!("{silent} volumes become")
                )
            ));
        }
        losses.extend(self.lost_lengths("NRRD"));
        losses
    }

    /// The loss of lengths other than 1 in a format of this name.
    pub fn lost_lengths(&self, format: &str) -> Option<String> {
        let vectors = self.vectors.iter();
        let odd = vectors.filter(|v| !has_no_direction(**v) && is_not_unit(v.length()));
        let odd = odd.count();
        let several = format!("{odd} lengths become");
        let lost = singular_or_plural(odd, "1 length becomes", &several);
        (odd > 0).then(|| format!("{format} holds no lengths of vectors: {lost} 1"))
    }
}

/// The rows of a scan's table next to it or in its header, if there is one: for another file.
pub fn rows_of(scan: &Path, volumes: usize) -> Result<Option<Rows>, Error> {
    let Some(files) = find_companion(scan) else {
        return Ok(None);
    };
    // A folder's own table belongs to one scan among its images.
    let of_folder = matches!(&files, TableFiles::Fsl { bval, .. } if bval.file_stem() == Some("bvals".as_ref()));
    match table_rows(&files, volumes) {
        Err(Error::Counts { .. }) if of_folder || volumes == 1 => Ok(None),
        rows => rows.map(Some),
    }
}

fn table_rows(files: &TableFiles, volumes: usize) -> Result<Rows, Error> {
    let (mut b, mut vectors, path) = match files {
        TableFiles::Fsl { bval, bvec } => {
            let before = |file: &Path| previous_file(bval, file).unwrap_or(file.to_owned());
            let (b, v) = (b_values(&before(bval))?, fsl_vectors(&before(bvec))?);
            if b.len() != volumes || v.len() != volumes {
                let shorter = if v.len() == volumes { bval } else { bvec };
                return Err(Error::Counts {
                    path: shorter.clone(),
                    b_values: b.len(),
                    vectors: Some(v.len()),
                    volumes,
                });
            }
            (b, v, bval)
        }
        TableFiles::Mrtrix(path) | TableFiles::Header(path) => {
            let (b, v) = match files {
                TableFiles::Header(_) => header_rows(path)?.unwrap_or_default(),
                _ => mrtrix_rows(path)?,
            };
            if b.len() != volumes {
                return Err(Error::Counts {
                    path: path.clone(),
                    b_values: b.len(),
                    vectors: None,
                    volumes,
                });
            }
            (b, v, path)
        }
    };
    if let Some(i) = b.iter().position(|b| !b.is_finite() || *b < 0.0) {
        return Err(Error::malformed(
            path,
            format!("the b-value {} of volume {}", b[i], volume_numbers(&[i])),
            ("a finite number of at least 0", "correct it in an editor"),
        ));
    }
    let of_mrtrix = match files {
        TableFiles::Fsl { .. } => false,
        TableFiles::Mrtrix(_) => true,
        TableFiles::Header(path) => Format::named(path) == Some(Format::Mif),
    };
    let scaled = of_mrtrix.then(|| lengths::scale(&mut b, &mut vectors));
    Ok(Rows {
        b,
        vectors,
        of_image: matches!(files, TableFiles::Fsl { .. }),
        scaled: scaled.flatten(),
    })
}

/// A file of a table as it was before a process that began to replace the table, alone or with its image, was killed.
fn previous_file(bval: &Path, file: &Path) -> Option<PathBuf> {
    let images = Format::all()
        .filter(|f| f.content() == Content::Image)
        .flat_map(Format::extensions);
    let images = images.map(|ending| with_extension(bval, ending));
    std::iter::once(bval.to_owned())
        .chain(images)
        .find_map(|first| atomic::previous_file(&first, file))
}

/// The sentence about table files whose earlier versions were read instead.
pub fn previous_files_note(files: &TableFiles) -> Option<String> {
    let TableFiles::Fsl { bval, bvec } = files else {
        return None;
    };
    let files = [bval, bvec].into_iter().map(PathBuf::as_path);
    let has_previous = |file: &&Path| previous_file(bval, file).is_some();
    let replaced: Vec<&Path> = files.filter(has_previous).collect();
    (!replaced.is_empty()).then(|| atomic::previous_files_note(&replaced))
}

/// Reads a table for a scan with `volumes` volumes on `grid`.
pub fn read(files: &TableFiles, grid: &Grid, volumes: usize) -> Result<Table, Error> {
    read_moved(files, grid, grid, volumes)
}

/// Reads a table for a scan that was moved from its own grid to another.
fn read_moved(files: &TableFiles, own: &Grid, grid: &Grid, volumes: usize) -> Result<Table, Error> {
    let mut rows = table_rows(files, volumes)?;
    let by = grid.world_from_voxel * own.voxel_from_world;
    let turns = !rotation(by.matrix3).abs_diff_eq(DMat3::IDENTITY, TURN);
    let turned = turns && !rows.of_image;
    if turns {
        rows = rows.moved(own, grid);
    }
    let vectors = rows.in_world(grid);
    let scaled = rows.scaled.take().map(Remark::note);
    let (b_values, unit) = units::in_s_per_mm2(rows.b, &vectors).map_err(|error| {
        let path = files.paths().into_iter().next().unwrap_or_default();
        Error::malformed(&path, error.to_string(), units::expected_b_values())
    })?;
    let (gradients, warnings) = checked(b_values, vectors);
    let unit = unit.into_iter().map(Remark::from);
    let previous = previous_files_note(files).map(Remark::from);
    let note = "The gradients are in world axes and were rotated with the image";
    Ok(Table {
        gradients,
        files: files.paths(),
        remarks: unit
            .chain(warnings)
            .chain(previous)
            .chain(scaled)
            .chain(turned.then(|| Remark::note(note.to_owned())))
            .collect(),
    })
}

/// Unit vectors, zero if a vector is unusable or not needed, and warnings about them.
fn checked(b_values: Vec<f64>, vectors: Vec<DVec3>) -> (Gradients, Vec<Remark>) {
    let mut odd_lengths = Vec::new();
    let directions = b_values.iter().zip(vectors).map(|(&b, v)| {
        let length = v.length();
        if b <= B0_LIMIT_S_PER_MM2 || has_no_direction(v) {
            return DVec3::ZERO;
        }
        if is_not_unit(length) {
            odd_lengths.push(length);
        }
        v / length
    });
    let directions = directions.collect();
    let gradients = Gradients {
        b_s_per_mm2: b_values,
        directions,
    };
    let odd_lengths = lengths::warning(&odd_lengths).map(Remark::from);
    let mut warnings: Vec<Remark> = odd_lengths.into_iter().collect();
    let volumes_with = |requested: Weighting| -> Vec<usize> {
        let volumes = 0..gradients.len();
        volumes
            .filter(|&v| gradients.weighting(v) == requested)
            .collect()
    };
    let without = volumes_with(Weighting::NoDirection);
    if !without.is_empty() {
        let several = format!("{} diffusion-weighted volumes have", without.len());
        warnings.push(Remark::from(format!(
            "{} no direction and {} left out of fits: {}",
            singular_or_plural(without.len(), "1 diffusion-weighted volume has", &several),
            singular_or_plural(without.len(), "is", "are"),
            volume_numbers(&without)
        )));
    }
    if volumes_with(Weighting::Diffusion).is_empty() {
        let sentence = format!(
            "No volume is diffusion-weighted: no b-value with a direction is above {B0_LIMIT_S_PER_MM2} s/mm²"
        );
        warnings.push(Remark::warning_about(RemarkTopic::NoneWeighted, sentence));
    }
    (gradients, warnings)
}

/// Writes an FSL pair for a scan on `grid`, the inverse of reading. Every digit is written, so that reading it gives
/// the same values up to rounding.
pub fn save(bval: &Path, bvec: &Path, gradients: &Gradients, grid: &Grid) -> Result<(), Error> {
    let rows = Rows {
        b: gradients.b_s_per_mm2.clone(),
        vectors: gradients.directions.clone(),
        of_image: false,
        scaled: None,
    };
    atomic::rename_together(prepare(bval, bvec, &rows, grid)?.into())
}

/// Writes an FSL pair under temporary names.
pub(super) fn prepare(
    bval: &Path,
    bvec: &Path,
    rows: &Rows,
    grid: &Grid,
) -> Result<[atomic::PreparedFile; 2], Error> {
    let vectors = rows.in_image(grid);
    let line = |numbers: Vec<String>| numbers.join(" ") + "\n";
    let b_values = line(rows.b.iter().map(f64::to_string).collect());
    // Adding 0 turns -0 into 0.
    let row = |a: usize| line(vectors.iter().map(|v| (v[a] + 0.0).to_string()).collect());
    Ok([
        atomic::prepare_text(bval, &b_values)?,
        atomic::prepare_text(bvec, &(row(0) + &row(1) + &row(2)))?,
    ])
}
