//! The files that one export writes.

use crate::compute::Control;
use crate::data::Tractogram;
use crate::data::text::file_name;
use crate::data::tractogram::LENGTH;
use crate::io::convert::{Converted, check_output, parts, streamlines, with_values};
use crate::io::pieces::Contents;
use crate::io::scalars::{self, CompanionFile};
use crate::io::text::counted;
use crate::io::{self, Format};
use std::path::Path;

/// Names of values written in files next to a TCK: per point as TSF, per streamline as weights. Other formats contain
/// them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ValueNames {
    points: Vec<String>,
    lines: Vec<String>,
}

impl ValueNames {
    /// The connectivity measures of rays.
    const MEASURE: &str = "cm";
    /// Name for the measures of whole rays: "cm" colours by the value at each point.
    const SHOWN: &str = "measure";

    /// The streamlines with the measures of whole rays, if they have any, as the window displays them.
    pub fn shown(tractogram: Tractogram) -> Tractogram {
        match tractogram.per_streamline.get(Self::MEASURE).cloned() {
            Some(measures) if Self::has_measures(&tractogram) => {
                tractogram.with_per_streamline(Self::SHOWN, measures)
            }
            _ => tractogram,
        }
    }

    /// The form written to files: measures under one name.
    pub fn written(mut tractogram: Tractogram) -> Tractogram {
        if Self::has_measures(&tractogram) {
            tractogram.per_streamline.remove(Self::SHOWN);
        }
        tractogram
    }

    /// Whether there are measures of rays to be written.
    pub fn has_measures(tractogram: &Tractogram) -> bool {
        tractogram.per_point.contains_key(Self::MEASURE)
            && tractogram.per_streamline.contains_key(Self::MEASURE)
    }

    /// All its values, except lengths, which every program computes from the points.
    pub fn from_tractogram(tractogram: &Tractogram) -> Self {
        let shown = Self::has_measures(tractogram).then_some(Self::SHOWN);
        let lines = tractogram.per_streamline.keys();
        let lines = lines.filter(|name| *name != LENGTH && Some(name.as_str()) != shown);
        Self {
            points: tractogram.per_point.keys().cloned().collect(),
            lines: lines.cloned().collect(),
        }
    }

    /// All values that tracking, or tracing rays, may give.
    pub fn expected_columns(rays: bool) -> Self {
        let measure = rays.then_some(Self::MEASURE);
        let names = |own: &[&str]| {
            own.iter()
                .copied()
                .chain(measure)
                .map(str::to_owned)
                .collect()
        };
        Self {
            points: names(&["fa"]),
            lines: names(&["seed", "stop_start", "stop_end", "target", "repetition"]),
        }
    }

    /// Whether measures of rays are among them.
    pub fn are_measures(&self) -> bool {
        let among = |names: &[String]| names.iter().any(|n| n == Self::MEASURE);
        among(&self.points) && among(&self.lines)
    }

    /// Files for the values next to this file, each with its name.
    pub fn named(&self, file: &Path) -> Vec<CompanionFile> {
        match Format::named(file) {
            Some(Format::Tck) => scalars::files(file, self.points.iter(), self.lines.iter()),
            _ => Vec::new(),
        }
    }

    /// Files for the values next to this file; measures take the file's own name, as they are the purpose of a file of
    /// rays.
    pub fn companion_files(&self, file: &Path) -> Vec<CompanionFile> {
        let mut all = self.named(file);
        let measures = all.iter_mut().filter(|b| b.name == Self::MEASURE);
        for adjacent in measures.filter(|_| self.are_measures()) {
            adjacent.path = file.with_extension(match adjacent.per_point {
                true => "tsf",
                false => "weights.txt",
            });
        }
        all
    }

    /// The names of the values that a file of this name holds itself, if it holds all of them.
    pub fn in_file(&self, file: &Path) -> Vec<&str> {
        let numbers = [self.points.len(), self.lines.len()];
        if !Format::named(file).is_some_and(|format| format.holds_values(numbers)) {
            return Vec::new();
        }
        let mut labels: Vec<&str> = Vec::new();
        for name in self.points.iter().chain(&self.lines) {
            let label = Self::label(name);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }

    /// Text about the content of one of these files.
    pub fn text(adjacent: &CompanionFile) -> String {
        match (adjacent.name.as_str(), adjacent.per_point) {
            (Self::MEASURE, true) => "CM along the rays".to_owned(),
            (Self::MEASURE, false) => "CM of whole rays".to_owned(),
            (name, true) => format!("{} at each point", Self::label(name)),
            (name, false) => format!("{} of each streamline", Self::label(name)),
        }
    }

    /// The label of a value that this program names; another program's name stays as it is.
    fn label(name: &str) -> &str {
        match name {
            Self::MEASURE => "CM",
            "fa" => "FA",
            "length" => "Length",
            "seed" => "Seed",
            "target" => "Target",
            "repetition" => "Repetition",
            "stop_start" => "Stop reason at the start",
            "stop_end" => "Stop reason at the end",
            "commit" => "Weight",
            name => name,
        }
    }

    /// The tractogram without these values, for the streamlines' own file.
    pub fn without(&self, tractogram: &Tractogram) -> Tractogram {
        let mut left = Self::written(tractogram.clone());
        left.per_point.retain(|name, _| !self.points.contains(name));
        left.per_streamline
            .retain(|name, _| !self.lines.contains(name));
        left
    }

    /// Data that neither a file of this name nor the files next to it can hold, one sentence each.
    pub fn losses(&self, tractogram: &Tractogram, path: &Path) -> Vec<String> {
        let Some(format) = Format::named(path) else {
            return Vec::new();
        };
        match self.companion_files(path).is_empty() {
            false => format.unsupported_contents(&self.without(tractogram)),
            true => format.unsupported_contents(&Self::written(tractogram.clone())),
        }
    }

    /// Values that files next to a TCK cannot hold, one sentence each. Examines every value.
    pub fn refusals(&self, tractogram: &Tractogram, tck: &Path) -> Vec<String> {
        let adjacent = self.companion_files(tck).into_iter();
        let refused = adjacent.filter(|b| !b.holds(tractogram));
        refused.map(|b| b.refusal()).collect()
    }

    /// Values that files next to a TCK cannot hold, without a full examination: with very many numbers, the result only
    /// warns of the possibility, because the window does not wait; the message after writing lists the values left out.
    pub fn refusals_seen(&self, tractogram: &Tractogram, tck: &Path) -> Vec<String> {
        const LOOKED_AT: usize = 8_000_000;
        if self.points.len() * tractogram.points.len() <= LOOKED_AT
            || self.companion_files(tck).is_empty()
        {
            return self.refusals(tractogram, tck);
        }
        vec![
            "TSF holds finite numbers only: values per point are left out if one of them is NaN or infinite"
                .to_owned(),
        ]
    }
}

/// Writes a streamline file and, next to a TCK, these values: all files or none. Returns what was written, and whether
/// the files hold all of it.
pub fn save_tractogram(
    tractogram: Tractogram,
    values: &ValueNames,
    path: &Path,
    command: &str,
    control: &Control,
) -> Result<(String, bool), io::Error> {
    let mut whole = values.losses(&tractogram, path).is_empty();
    let tractogram = ValueNames::written(tractogram);
    let (companions, left): (Vec<_>, Vec<_>) = values
        .companion_files(path)
        .into_iter()
        .partition(|b| b.holds(&tractogram));
    with_values(&tractogram, path, &companions, command, control)?;
    let kind = match ValueNames::has_measures(&tractogram) {
        true => "ray",
        false => "streamline",
    };
    let mut what = counted(tractogram.len(), kind);
    let names = |some: &[CompanionFile], name: fn(&CompanionFile) -> String| {
        some.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    if !companions.is_empty() {
        let file = |b: &CompanionFile| file_name(&b.path);
        what += &format!(" with {}", names(&companions, file));
    }
    whole &= left.is_empty();
    if !left.is_empty() {
        let left = names(&left, |b| b.name.clone());
        what += &format!(", without {left}, which TSF does not hold");
    }
    Ok((what, whole))
}

/// Writes every value that the format holds and, next to a TCK, those that it does not.
pub fn save_with_values(
    tractogram: Tractogram,
    path: &Path,
    command: &str,
    replace: bool,
    control: &Control,
) -> Result<Converted, io::Error> {
    let format = check_output(path)?;
    let mut tractogram = ValueNames::written(tractogram);
    // Every program computes lengths from the points.
    tractogram.per_streamline.remove(LENGTH);
    Contents::whole(&tractogram, |contents| {
        save_contents(contents, format, path, command, replace, control)
    })
}

/// Writes streamlines that need not be in memory like [`save_with_values`].
pub fn save_contents(
    contents: &mut Contents,
    format: Format,
    path: &Path,
    command: &str,
    replace: bool,
    control: &Control,
) -> Result<Converted, io::Error> {
    let (companions, losses) = parts(contents.outline, format, path);
    let count = contents.outline.streamlines;
    let written = streamlines(contents, path, companions, replace, command, control)?;
    Ok(Converted {
        content: counted(count, "streamline"),
        written,
        notes: Vec::new(),
        unsupported_contents: losses,
    })
}
