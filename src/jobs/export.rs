//! The files that one export writes.

use crate::compute::Control;
use crate::data::Tractogram;
use crate::data::tractogram::LENGTH;
use crate::io::convert::{Converted, check_output, streamlines};
use crate::io::{self, Format};
use std::path::{Path, PathBuf};

/// Values that are written beside a streamline file: per point as TSF, per streamline as weights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Values {
    /// In the tractogram.
    pub name: String,
    pub tsf: PathBuf,
    pub weights: PathBuf,
}

impl Values {
    /// The connectivity measures of rays.
    const MEASURE: &str = "cm";
    /// What those of whole rays are shown by: "cm" colours by the value at each point.
    const SHOWN: &str = "measure";

    /// With the measures of whole rays, where it has some, as the window shows them.
    pub(super) fn shown(tractogram: Tractogram) -> Tractogram {
        match tractogram.per_streamline.get(Self::MEASURE).cloned() {
            Some(measures) if Self::are_in(&tractogram) => {
                tractogram.with_per_streamline(Self::SHOWN, measures)
            }
            _ => tractogram,
        }
    }

    /// As files hold it: measures under one name.
    pub fn written(mut tractogram: Tractogram) -> Tractogram {
        if Self::are_in(&tractogram) {
            tractogram.per_streamline.remove(Self::SHOWN);
        }
        tractogram
    }

    /// Measures, beside a TCK: other formats hold them themselves.
    pub fn beside(file: &Path) -> Option<Self> {
        (Format::named(file) == Some(Format::Tck)).then(|| Self {
            name: Self::MEASURE.to_owned(),
            tsf: file.with_extension("tsf"),
            weights: file.with_extension("weights.txt"),
        })
    }

    /// Whether there are measures to be written.
    pub fn are_in(tractogram: &Tractogram) -> bool {
        tractogram.per_point.contains_key(Self::MEASURE)
            && tractogram.per_streamline.contains_key(Self::MEASURE)
    }

    /// What is left for the streamlines' own file.
    pub fn without(&self, tractogram: &Tractogram) -> Tractogram {
        let mut left = Self::written(tractogram.clone());
        left.per_point.remove(&self.name);
        left.per_streamline.remove(&self.name);
        left
    }

    pub fn files(&self) -> [&Path; 2] {
        [&self.tsf, &self.weights]
    }
}

/// Where files may go. Asks the disk: not for the window's thread.
pub struct SavePlace;

impl SavePlace {
    /// Whether a file could be made in this folder now.
    pub fn takes_files(folder: &Path) -> bool {
        io::atomic::check_file(&folder.join("a file")).is_ok()
    }
}

/// A name that was begun, as far as what is in its folder leaves only one way to go on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Completed {
    pub text: String,
    /// All that begin so, where there are several ways.
    pub names: Vec<String>,
}

impl Completed {
    /// Of a path's last name; `within`: of what is in that folder.
    pub fn of(path: &Path, within: bool) -> Self {
        let begun = path.file_name().filter(|_| !within);
        let begun = begun.unwrap_or_default().to_string_lossy().into_owned();
        let folder = if within { Some(path) } else { path.parent() };
        let paths = folder.map(io::names_in).and_then(Result::ok);
        let named = |path: &PathBuf| {
            let name = path.file_name()?.to_string_lossy().into_owned();
            let hidden = name.starts_with('.') && !begun.starts_with('.');
            let ending = if path.is_dir() { "/" } else { "" };
            (name.starts_with(&begun) && !hidden).then(|| format!("{name}{ending}"))
        };
        let names: Vec<String> = paths.iter().flatten().filter_map(named).collect();
        match names.as_slice() {
            [] => Self {
                text: begun,
                names: Vec::new(),
            },
            [one] => Self {
                text: one.clone(),
                names: Vec::new(),
            },
            [first, others @ ..] => Self {
                text: others.iter().fold(first.clone(), |a, b| common(&a, b)),
                names,
            },
        }
    }
}

/// What two names begin with.
fn common(a: &str, b: &str) -> String {
    let same = a.chars().zip(b.chars()).take_while(|(x, y)| x == y);
    same.map(|(x, _)| x).collect()
}

/// Every value that the format holds, and beside a TCK those that it does not.
pub(super) fn save_with_values(
    tractogram: Tractogram,
    path: &Path,
    command: &str,
    replace: bool,
    control: &Control,
) -> Result<Converted, io::Error> {
    let format = check_output(path)?;
    let mut tractogram = Values::written(tractogram);
    // Every program finds lengths in the points.
    tractogram.per_streamline.remove(LENGTH);
    let (written, losses) = streamlines(&tractogram, format, path, replace, command, control)?;
    Ok(Converted {
        what: format!("{} streamlines", tractogram.len()),
        written,
        notes: Vec::new(),
        losses,
    })
}
