//! The files of a subject, by their names in the protocol.

use super::super::Failure;
use super::LoadedProtocol;
use crate::compute::Control;
use crate::data::protocol::{FOLDER_NAME, InputRole};
use crate::io::{self, PointWarp, WarpReading};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A subject, or one session of it.
pub struct Subject {
    /// `sub-01 ses-1`, or the name of the folder.
    pub name: String,
    /// Folders in which its files are looked for, in this order.
    pub folders: Vec<PathBuf>,
    /// Whether these belong to BIDS datasets.
    pub bids: bool,
    /// Files that were named, by input.
    pub given: BTreeMap<String, PathBuf>,
    /// The folder of its results.
    pub out: PathBuf,
}

/// Files of a subject that were found, with their checksums.
pub struct SubjectFiles<'a> {
    pub loaded: &'a LoadedProtocol,
    pub subject: &'a Subject,
    found: BTreeMap<String, PathBuf>,
    sums: BTreeMap<PathBuf, String>,
    /// Warps that moved a sphere: a field may have hundreds of megabytes, and a protocol many spheres.
    warps: Vec<(WarpReading, Arc<PointWarp>)>,
}

impl<'a> SubjectFiles<'a> {
    pub fn new(loaded: &'a LoadedProtocol, subject: &'a Subject) -> Self {
        Self {
            loaded,
            subject,
            found: subject.given.clone(),
            sums: BTreeMap::new(),
            warps: Vec::new(),
        }
    }

    /// The file of an input.
    pub fn input(&mut self, name: &str) -> Result<PathBuf, Failure> {
        if let Some(path) = self.found.get(name) {
            return Ok(path.clone());
        }
        let path = self.find(name)?;
        self.found.insert(name.to_owned(), path.clone());
        Ok(path)
    }

    /// Finds all inputs that steps need, before the first of them runs; the error names all that are missing.
    pub fn find_all(&mut self) -> Result<(), Failure> {
        let mut lost = Vec::new();
        for name in self.loaded.used_inputs() {
            if let Err(failure) = self.input(&name) {
                lost.push((name, failure));
            }
        }
        let mut lost = lost.into_iter();
        let Some((_, first)) = lost.next() else {
            return Ok(());
        };
        let others: Vec<String> = lost.map(|(name, _)| format!("“{name}”")).collect();
        Err(match others.is_empty() {
            true => first,
            false => Failure {
                sentence: format!(
                    "{}; further inputs that are missing: {}",
                    first.sentence,
                    others.join(", ")
                ),
                ..first
            },
        })
    }

    fn find(&self, name: &str) -> Result<PathBuf, Failure> {
        let (subject, protocol) = (self.subject, &self.loaded.protocol);
        let Some(input) = protocol.inputs.get(name) else {
            return Err(Failure::new(format!("The protocol has no input “{name}”")));
        };
        let role = input.role.name();
        let patterns = input.patterns(subject.bids);
        for pattern in &patterns {
            for folder in &subject.folders {
                let mut matches = io::cohort::matching(folder, pattern);
                leave_out_templates(&mut matches);
                match matches.as_slice() {
                    [] => {}
                    [path] => return Ok(path.clone()),
                    [first, second, ..] => {
                        return Err(Failure::new(format!(
                            "{} has {} files that match “{pattern}”, expected one {role}; state a narrower pattern in \
                             [input.{name}]: {}, {}",
                            subject.name,
                            matches.len(),
                            first.display(),
                            second.display()
                        )));
                    }
                }
            }
        }
        let folders = subject.folders.iter().map(|f| f.display().to_string());
        let folders = folders.collect::<Vec<_>>().join(", ");
        let advice = match subject.bids {
            true => "name the dataset that has it with --derivatives",
            false => "add it",
        };
        Err(Failure::new(match patterns.is_empty() {
            true => format!(
                "The input “{name}” ({role}) has no pattern of its name; add one to [input.{name}], or name the file with \
                 --input {name}=FILE"
            ),
            false => format!(
                "{} has no {role} “{name}”: found no file that matches {} in {folders}; {advice}, or state its name in \
                 [input.{name}]",
                subject.name,
                patterns.join(" or ")
            ),
        }))
    }

    /// The inputs that were found or named.
    pub fn found(&self) -> impl Iterator<Item = (InputRole, &PathBuf)> {
        let inputs = &self.loaded.protocol.inputs;
        let found = self.found.iter();
        found.filter_map(|(name, path)| Some((inputs.get(name)?.role, path)))
    }

    /// A file of the protocol's folder, or that folder.
    pub fn in_protocol_folder(&self, name: &str) -> PathBuf {
        let rest = name.strip_prefix(FOLDER_NAME).unwrap_or_default();
        self.loaded.folder().join(rest.trim_start_matches('/'))
    }

    /// The file of a finished step.
    pub fn of_step(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = |step: &str| self.subject.out.join(step);
        if let Some((step, file)) = name.split_once('/') {
            let path = folder(step).join(file);
            return match path.exists() {
                true => Ok(path),
                false => Err(Failure::new(format!(
                    "The step “{step}” wrote no file “{file}”; name one of its files, as its folder lists them: {}",
                    folder(step).display()
                ))),
            };
        }
        let files =
            io::cohort::files_below(&folder(name)).map_err(|e| Failure::new(e.to_string()))?;
        let mut files = files
            .into_iter()
            .filter(|f| f != Path::new(super::steps::PROVENANCE));
        match (files.next(), files.next()) {
            (Some(file), None) => Ok(folder(name).join(file)),
            (None, _) => Err(Failure::new(format!("The step “{name}” wrote no file"))),
            (Some(file), Some(_)) => Err(Failure::new(format!(
                "The step “{name}” wrote several files, expected the name of one, as in {{{name}/{}}}",
                file.display()
            ))),
        }
    }

    /// The checksum of a file, read once.
    pub fn sum(&mut self, path: &Path) -> Result<String, Failure> {
        if let Some(sum) = self.sums.get(path) {
            return Ok(sum.clone());
        }
        let sum = io::checksum::of_file(path, &Control::new());
        let sum = sum.map_err(|e| Failure::new(e.to_string()))?;
        self.sums.insert(path.to_owned(), sum.clone());
        Ok(sum)
    }

    /// The warp with these files, read once, and whether it was read now.
    pub fn warp(&mut self, reading: &WarpReading) -> Result<(Arc<PointWarp>, bool), io::Error> {
        if let Some((_, warp)) = self.warps.iter().find(|(known, _)| known == reading) {
            return Ok((warp.clone(), false));
        }
        let warp = Arc::new(PointWarp::open(reading, &Control::new())?);
        self.warps.push((reading.clone(), warp.clone()));
        Ok((warp, true))
    }

    /// The gradients of a scan: beside it, or inherited from above it in a dataset; empty if there are none.
    pub fn gradients(scan: &Path) -> Vec<PathBuf> {
        let adjacent = ["bval", "bvec", "b"].map(|ending| io::with_extension(scan, ending));
        let adjacent: Vec<PathBuf> = adjacent.into_iter().filter(|file| file.is_file()).collect();
        match adjacent.is_empty() {
            false => adjacent,
            true => io::bids::inherited_gradients(scan).map_or_else(Vec::new, Into::into),
        }
    }
}

/// Leaves out files in the space of a template where others exist: QSIPrep before version 1 writes the T1 and its mask in
/// that of the subject and in that of the template, under names that differ by this entity alone.
fn leave_out_templates(files: &mut Vec<PathBuf>) {
    let is_template = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.contains("_space-MNI")
    };
    if files.iter().any(|file| !is_template(file)) {
        files.retain(|file| !is_template(file));
    }
}
