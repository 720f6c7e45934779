//! The common part of all streamline formats: metadata of a file, checks after reading, comparison after writing, and
//! the choice of the format.
//!
//! # Example
//!
//! The extension of the name determines the format:
//!
//! ```
//! use arcuate_engine::compute::Control;
//! use arcuate_engine::data::Tractogram;
//! use arcuate_engine::io::{self, Opened, streamlines};
//!
//! let control = Control::new();
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("line.tck");
//! let line = Tractogram::new(vec![[0.0; 3], [1.0, 2.0, 3.0]], vec![0, 2]);
//! streamlines::save(&path, &line, "an example", &control)?;
//! match io::open(&path, &control)? {
//!     Opened::Tractogram(read, _) => assert_eq!(read.streamline(0), line.streamline(0)),
//!     Opened::Volume(..) => unreachable!("a .tck file contains streamlines"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::atomic::ReadBackDifference;
use super::format::{Content, Format};
use super::pieces::{Contents, all_finite};
use super::text::in_line;
use super::{DISCLAIMER, Error, Reading, Space, tck, tinytrack, trk, trx, vtk, vtp};
use crate::compute::Control;
use crate::data::text::{plural, singular_or_plural};
use crate::data::{Shared, Tractogram};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Metadata of a streamline file besides its points and values.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FibreInfo {
    /// Lines of the header, in their order.
    pub properties: Vec<(String, String)>,
    /// The space assumed for the points if the file does not name it.
    pub taken: Option<Space>,
    /// Problems that may make the result wrong, one sentence each, without the path.
    pub warnings: Vec<String>,
    /// Information without consequences for the result.
    pub notes: Vec<String>,
    /// Warnings about parts that were not read.
    pub unread: Vec<String>,
    /// Whether points or values are stored in float64, of which float32 is kept.
    pub is_rounded: bool,
}

/// Header keys that the writer sets itself, and keys that record how a file was made. VTK's title counts as the latter.
const RESTATED: [&str; 15] = [
    "count",
    "datatype",
    "file",
    "timestamp",
    "mrtrix_version",
    "command_history",
    "version",
    "voxel_order",
    "space",
    "title",
    "DIMENSIONS",
    "VOXEL_TO_RASMM",
    "NB_STREAMLINES",
    "NB_VERTICES",
    "CODES",
];

/// Largest number of value arrays in a file: each takes up to 200 bytes besides its values, however few these are.
pub(super) const MAX_LISTS: usize = 1 << 16;

/// The last value with this name.
pub(super) fn property<'a>(properties: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let property = properties.iter().rev().find(|(k, _)| k == key);
    property.map(|(_, value)| value.as_str())
}

impl FibreInfo {
    /// The last value of a header line.
    pub fn property(&self, key: &str) -> Option<&str> {
        property(&self.properties, key)
    }

    /// The parts of the file that no written file has, one sentence each.
    pub(super) fn losses(&self) -> Vec<String> {
        let mut losses = Vec::new();
        let is_ours = |key: &str, value: &str| {
            RESTATED.contains(&key)
                || (["comments", "COMMENT"].contains(&key) && value == DISCLAIMER)
        };
        let mut keys: Vec<&str> = Vec::new();
        for (key, value) in &self.properties {
            if !is_ours(key, value) && !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
        if !keys.is_empty() {
            losses.push(in_line(
                &format!(
                    "These lines of the header are left out: {}",
                    keys.join(", ")
                ),
                '·',
            ));
        }
        if self.is_rounded {
            losses.push("Numbers in float64 are rounded to float32".to_owned());
        }
        losses
    }

    pub(super) fn add(&mut self, key: &str, value: impl ToString) {
        self.properties.push((key.to_owned(), value.to_string()));
    }

    pub(super) fn warn(&mut self, sentence: impl Into<String>) {
        // A name from the file may contain anything; a sentence is one line.
        self.warnings.push(in_line(&sentence.into(), '·'));
    }

    pub(super) fn note(&mut self, sentence: &str) {
        self.notes.push(in_line(sentence, '·'));
    }

    /// Warns about a part of the file that is missing or was not read.
    pub(super) fn warn_unread(&mut self, sentence: impl Into<String>) {
        self.warn(sentence);
        self.unread.extend(self.warnings.last().cloned());
    }

    /// Warns if the number of streamlines differs from the announced one, and about streamlines without length or
    /// direction.
    pub(super) fn check(&mut self, tractogram: &Tractogram, announced: Option<u64>) {
        let ends = tractogram.offsets.windows(2);
        let short = ends.filter(|w| w[1] - w[0] < 2).count();
        self.check_counts(tractogram.len(), short, announced);
    }

    /// Does the same as [`FibreInfo::check`] for `stored` streamlines, of which `short` have fewer than two points.
    pub(super) fn check_counts(&mut self, stored: usize, short: usize, announced: Option<u64>) {
        if let Some(stated) = announced.filter(|&n| n != stored as u64) {
            self.warn_unread(format!(
                "The header announces {stated} {}; the file holds {stored}",
                plural(stated as usize, "streamline")
            ));
        }
        match short {
            0 => {}
            n => self.warn(format!(
                "{n} {} fewer than two points; {} kept, so that indices still match",
                singular_or_plural(n, "streamline has", "streamlines have"),
                singular_or_plural(n, "it was", "they were")
            )),
        }
    }
}

/// A sentence about points that are not finite, if there are any. Examines every point, which [`read`] leaves to
/// callers that need all of them.
pub fn not_finite(tractogram: &Tractogram) -> Option<String> {
    let count = |points: &[[f32; 3]]| {
        if all_finite(points) {
            return 0;
        }
        let finite = |p: &&[f32; 3]| p.iter().all(|c| c.is_finite());
        points.len() - points.iter().filter(finite).count()
    };
    let counts = tractogram.points.par_chunks(1 << 16).map(count);
    not_finite_points(counts.sum())
}

/// The sentence about this many points that are not finite, unless there are none.
pub fn not_finite_points(points: usize) -> Option<String> {
    (points > 0).then(|| {
        format!(
            "{points} {} coordinates that are not finite; {} kept, so that indices still match",
            singular_or_plural(points, "point has", "points have"),
            singular_or_plural(points, "it was", "they were")
        )
    })
}

/// The sum of all coordinates, mm: pieces in single precision, added in double, as exact as the coordinates and as
/// fast as memory. For timing.
pub fn total(tractogram: &Tractogram) -> f64 {
    let piece = |values: &[f32]| {
        let (lanes, rest) = values.as_chunks::<16>();
        let mut sums = [0f32; 16];
        for lane in lanes {
            for (sum, v) in sums.iter_mut().zip(lane) {
                *sum += v;
            }
        }
        f64::from(sums.iter().sum::<f32>() + rest.iter().sum::<f32>())
    };
    let part = |values: &[f32]| values.chunks(4096).map(piece).sum::<f64>();
    let values = tractogram.points.as_flattened();
    // In order, so that the sum does not depend on the number of threads.
    values
        .par_chunks(1 << 18)
        .map(part)
        .collect::<Vec<f64>>()
        .iter()
        .sum()
}

/// Reads a streamline file.
pub fn read(
    format: Format,
    path: &Path,
    reported: &Reading,
    control: &Control,
) -> Result<(Tractogram, FibreInfo), Error> {
    match format {
        Format::Tck => tck::read_with_values(path, control),
        Format::Trk => trk::read(path, control),
        Format::Trx => trx::read(path, control),
        Format::Vtk => vtk::read(path, reported.vtk_space, control),
        Format::Vtp => vtp::read(path, reported.vtk_space, control),
        Format::TinyTrack => tinytrack::read(path, control),
        _ => Err(Error::Unknown {
            path: path.to_owned(),
        }),
    }
}

/// Writes a streamline file in the format of its name, with `command` as its history if the format has a place for
/// it. Contents that it cannot hold are left out: see [`Format::unsupported_contents`]. The file is read back and
/// compared before it is renamed.
pub fn save(
    path: &Path,
    tractogram: &Tractogram,
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    Contents::whole(tractogram, |contents| {
        save_pieces(path, contents, command, control)
    })
}

/// Does the same as [`save`] for streamlines that need not be in memory; VTK and VTP are written as a whole.
pub fn save_pieces(
    path: &Path,
    contents: &mut Contents,
    command: &str,
    control: &Control,
) -> Result<(), Error> {
    let named = Format::named(path).filter(|f| f.content() == Content::Streamlines && f.saves());
    match named {
        Some(Format::Tck) => tck::prepare(path, contents, command, control)?.rename_into_place(),
        Some(Format::Trk) => trk::save_pieces(path, contents, control),
        Some(Format::Trx) => trx::save_pieces(path, contents, control),
        Some(Format::Vtk) => vtk::save(path, &contents.joined(path)?, command, control),
        Some(Format::Vtp) => vtp::save(path, &contents.joined(path)?, control),
        _ => Err(Error::unsupported(
            path,
            "a name that no streamline file written here has",
            format!("end it in one of {}", Format::streamline_endings()),
        )),
    }
}

/// Whether two coordinates are equal up to a format's own rounding.
pub(super) fn nearly_equal(a: f32, b: f32, tolerance_mm: f32) -> bool {
    (a - b).abs() <= tolerance_mm || a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Describes how two tractograms differ beyond a format's own rounding, if they do: points by more than
/// `tolerance_mm`, values at all.
pub(super) fn difference(
    stored: &Tractogram,
    expected: &Tractogram,
    tolerance_mm: f32,
) -> Result<(), ReadBackDifference> {
    if stored.offsets != expected.offsets {
        return Err(ReadBackDifference::Streamlines);
    }
    let near = |(a, b): (&f32, &f32)| nearly_equal(*a, *b, tolerance_mm);
    let (a, b) = (stored.points.as_flattened(), expected.points.as_flattened());
    if !a.iter().zip(b).all(near) {
        return Err(ReadBackDifference::Points);
    }
    Ok(())
}

/// Describes how the values of a file differ from the intended ones, if they do.
pub(super) fn same_values(
    stored: &BTreeMap<String, Shared<f32>>,
    expected: &BTreeMap<String, Shared<f32>>,
) -> Result<(), ReadBackDifference> {
    if stored.len() != expected.len() {
        return Err(ReadBackDifference::MissingValues);
    }
    let same = |a: &[f32], b: &[f32]| {
        let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        a.len() == b.len() && a.iter().zip(b).all(same)
    };
    let differing = stored
        .iter()
        .find(|(name, values)| !expected.get(*name).is_some_and(|e| same(values, e)));
    match differing {
        Some((name, _)) => Err(ReadBackDifference::NamedValues(name.clone())),
        None => Ok(()),
    }
}

/// A name that is not in use: itself, otherwise with the first free number appended.
pub(super) fn free_name<T>(requested: &str, taken: &BTreeMap<String, T>) -> String {
    let requested = if requested.is_empty() {
        "value"
    } else {
        requested
    };
    let mut names = std::iter::once(requested.to_owned())
        .chain((2u64..).map(|n| format!("{requested} {n}")))
        .skip_while(|name| taken.contains_key(name));
    names.next().unwrap_or_default()
}
