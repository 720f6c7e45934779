//! Colour tables of label maps, as text: FreeSurfer's (`12 Left-Putamen 236 13 176 0`), ITK-SNAP's
//! (`12 236 13 176 1 1 1 "Left Putamen"`), MRtrix's, BIDS's `dseg.tsv`, and plain `12 Putamen`.

use super::mgh::VERSION as MGH;
use super::source::read_text;
use super::stored::Stored;
use super::{Error, Format, Reading, SpaceInfo, atomic, freesurfer, names_in};
use crate::data::labels::{LARGEST_WHOLE, Label, Labels};
use crate::data::text::file_name;
use crate::data::{Volume, VolumeKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// FreeSurfer's own table has 1,300 lines.
const TEXT_LIMIT_BYTES: u64 = 4 << 20;
/// An image of measured values has more distinct numbers.
const MAX_LABELS: usize = 4096;
/// Words in the names of label maps.
const NAMED: [&str; 11] = [
    "dseg",
    "aseg",
    "aparc",
    "wmparc",
    "seg",
    "segmentation",
    "label",
    "labels",
    "parc",
    "parcellation",
    "atlas",
];
/// NIFTI_INTENT_LABEL.
const INTENT_LABEL: i32 = 1002;

/// Reads a table in any of these forms.
pub fn read(path: &Path) -> Result<Labels, Error> {
    let text = read_text(path, TEXT_LIMIT_BYTES)?;
    let text = text.trim_start_matches('\u{feff}');
    let mut table = BTreeMap::new();
    let mut columns = None;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if table.is_empty() && columns.is_none() && line.to_lowercase().starts_with("index\t") {
            columns = Some(Columns::from_header(line));
            continue;
        }
        let entry = match &columns {
            Some(columns) => columns.entry(line),
            None => entry(&fields(line)),
        };
        let Some((number, label)) = entry else {
            return Err(Error::malformed(
                path,
                format!("line {} of a colour table, “{line}”", i + 1),
                "a number, a name and perhaps three colours from 0 to 255",
            ));
        };
        table.insert(number, label);
    }
    if table.is_empty() {
        return Err(Error::malformed(path, "no label", "a colour table"));
    }
    Ok(Labels { table })
}

/// The labels of an image: named by the user, by a table next to it, by its header or by its name; `None` for other
/// images. A table that the user names must fit.
pub(super) fn labels_of(
    path: &Path,
    volume: &Volume,
    info: &mut SpaceInfo,
    reported: &Reading,
) -> Result<Option<Arc<Labels>>, Error> {
    let is_single_volume = volume.frames == 1 && volume.kind == VolumeKind::Scalar;
    of_numbers(path, is_single_volume, || numbers(volume), info, reported)
}

/// Finds the labels of an image in its stored type.
pub(super) fn of_stored(
    path: &Path,
    stored: &Stored,
    info: &mut SpaceInfo,
    reported: &Reading,
) -> Result<Option<Arc<Labels>>, Error> {
    let numbers = || stored.labels(MAX_LABELS);
    of_numbers(path, stored.frames == 1, numbers, info, reported)
}

fn of_numbers(
    path: &Path,
    one_volume: bool,
    numbers: impl Fn() -> Option<BTreeSet<u32>>,
    info: &mut SpaceInfo,
    reported: &Reading,
) -> Result<Option<Arc<Labels>>, Error> {
    if let Some(table) = &reported.colours {
        let labels = read(table)?;
        if numbers().is_none() {
            return Err(Error::unsupported(
                path,
                format!(
                    "an image that is not a label map of one volume of at most {MAX_LABELS} whole numbers"
                ),
                "open it without a colour table",
            ));
        }
        return Ok(Some(labels.into()));
    }
    if !one_volume {
        return Ok(None);
    }
    let companion = companion_table(path);
    let called = info.intent_code == INTENT_LABEL
        || (info.version == MGH && info.stored_as == "int32")
        || is_named_labels(path);
    if companion.is_none() && !called {
        return Ok(None);
    }
    match numbers() {
        // An image with one label is a mask.
        Some(values) if values.len() > 1 || companion.is_some() => {
            // An arbitrary text file may happen to have this name.
            let before = companion
                .as_ref()
                .and_then(|table| atomic::previous_file(path, table));
            let was_replaced = before.is_some();
            let table = companion.clone();
            let labels = before.or(companion).and_then(|table| read(&table).ok());
            if let (true, Some(_), Some(table)) = (was_replaced, &labels, &table) {
                info.warnings.push(atomic::previous_files_note(&[table]));
            }
            let known = || freesurfer::label_names(&values).filter(|_| is_freesurfers(path, info));
            Ok(Some(labels.or_else(known).unwrap_or_default().into()))
        }
        _ => Ok(None),
    }
}

/// The positive numbers of an image of whole numbers; `None` if it has others, or too many.
fn numbers(volume: &Volume) -> Option<BTreeSet<u32>> {
    if volume.frames != 1 || volume.kind != VolumeKind::Scalar {
        return None;
    }
    let mut label_numbers = BTreeSet::new();
    let mut last = 0.0;
    for &value in volume.values.iter() {
        if value == last {
            continue;
        }
        if !((0.0..=LARGEST_WHOLE).contains(&value) && value.fract() == 0.0) {
            return None;
        }
        last = value;
        if value > 0.0 && label_numbers.insert(value as u32) && label_numbers.len() > MAX_LABELS {
            return None;
        }
    }
    Some(label_numbers)
}

fn is_named_labels(path: &Path) -> bool {
    has_word(path, |word| NAMED.contains(&word))
}

/// Whether the numbers are FreeSurfer's: by the format, or by a name such as `aparc+aseg.nii.gz`.
fn is_freesurfers(path: &Path, info: &SpaceInfo) -> bool {
    let own = |word: &str| {
        ["aseg", "aparc", "wmparc"]
            .iter()
            .any(|w| word.starts_with(w))
    };
    info.version == MGH || has_word(path, own)
}

fn has_word(path: &Path, is_meant: impl Fn(&str) -> bool) -> bool {
    let name = file_name(path);
    let name = name.to_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(is_meant)
}

/// `a.txt` next to `a.nii.gz`, `a.lut` and the like; otherwise that of a BIDS data set, or FreeSurfer's own.
fn companion_table(path: &Path) -> Option<PathBuf> {
    let own = Format::COLOUR_TABLE_ENDINGS.map(|e| super::with_extension(path, e));
    if let Some(own) = own.into_iter().find(|p| p.is_file()) {
        return Some(own);
    }
    if let Some(inherited) = super::bids::inherited_table(path) {
        return Some(inherited);
    }
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
    let names = names_in(folder.unwrap_or(Path::new("."))).ok()?;
    let shared = |p: &PathBuf| {
        let name = file_name(p);
        name.starts_with("FreeSurferColorLUT") && Format::may_be_colour_table(p)
    };
    names
        .into_iter()
        .find(|p| shared(p) && is_named_labels(path))
}

/// Splits at blanks, except within quotes.
fn fields(line: &str) -> Vec<String> {
    let mut columns = Vec::new();
    for (i, part) in line.split('"').enumerate() {
        match i % 2 {
            0 => columns.extend(part.split_whitespace().map(str::to_owned)),
            _ => columns.push(part.to_owned()),
        }
    }
    columns
}

fn colour(fields: &[String]) -> Option<[u8; 3]> {
    let channel = |i: usize| fields.get(i)?.parse::<u8>().ok();
    Some([channel(0)?, channel(1)?, channel(2)?])
}

fn entry(fields: &[String]) -> Option<(u32, Label)> {
    let number = fields.first()?.parse().ok()?;
    let label = |name: &str, colour| {
        let name = name.trim().to_owned();
        Some((number, Label { name, colour }))
    };
    match &fields[1..] {
        [] => None,
        // ITK-SNAP: colours first, the name last.
        [rest @ .., name] if rest.len() >= 3 && colour(rest).is_some() => label(name, colour(rest)),
        rest => {
            // The name is the text before three numbers, one word or several, or before the last four if a line ends
            // with as many: a name may end with a number, too.
            let number = |word: &String| word.parse::<f32>().is_ok();
            let opacity = rest.len().checked_sub(4).filter(|&i| i > 0);
            let first_colour = opacity.filter(|&i| rest[i..].iter().all(number));
            let at =
                (first_colour.unwrap_or(1)..rest.len()).find(|&i| colour(&rest[i..]).is_some());
            let name = &rest[..at.unwrap_or(rest.len())];
            label(&name.join(" "), at.and_then(|i| colour(&rest[i..])))
        }
    }
}

/// Columns of a BIDS table.
struct Columns {
    name: Option<usize>,
    colour: Option<usize>,
}

impl Columns {
    fn from_header(line: &str) -> Self {
        let names: Vec<String> = line.split('\t').map(|n| n.trim().to_lowercase()).collect();
        let at = |requested: &[&str]| names.iter().position(|n| requested.contains(&n.as_str()));
        Self {
            name: at(&["name"]),
            colour: at(&["color", "colour"]),
        }
    }

    fn entry(&self, line: &str) -> Option<(u32, Label)> {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        let number = cells.first()?.parse().ok()?;
        let cell = |at: Option<usize>| at.and_then(|i| cells.get(i).copied());
        let colour = cell(self.colour).and_then(|text| {
            let digits = text
                .strip_prefix('#')
                .filter(|d| d.len() == 6 && d.is_ascii())?;
            let channel = |i: usize| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).ok();
            Some([channel(0)?, channel(1)?, channel(2)?])
        });
        let name = cell(self.name).unwrap_or_default().to_owned();
        Some((number, Label { name, colour }))
    }
}
