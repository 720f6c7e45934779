//! Runs a protocol on a subject: each step is a command of this program in a process of its own, with the files of the
//! subject in place of the names in braces.
//!
//! A step works in a folder of its own, which gets its name when the step has succeeded. Its provenance lies in it: the
//! command, the checksums of inputs and results, version and backend. A step whose command and inputs have the same
//! checksums as in its provenance, and whose results still have theirs, is not run again.

pub mod arguments;
mod child;
pub mod files;
pub mod regions;
pub mod session;
pub mod steps;
pub mod subject;

use super::Failure;
use crate::data::protocol::{FOLDER_NAME, Protocol, ProtocolRegion, ProtocolStep, names, owner};
use crate::io;
use std::path::{Path, PathBuf};

/// Set for the commands of steps, whose reports state their backend.
pub const STEP_VARIABLE: &str = "ARCUATE_STEP";

/// A protocol with its file.
pub struct LoadedProtocol {
    pub path: PathBuf,
    pub protocol: Protocol,
    /// Checksum of the file.
    pub sha256: String,
}

impl LoadedProtocol {
    /// Reads and checks a protocol.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let loaded = Self::read(path)?;
        match loaded.problems().into_iter().next() {
            Some(problem) => Err(Failure::new(problem)),
            None => Ok(loaded),
        }
    }

    /// Reads a protocol, whose steps may have problems.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let failed = |e: io::Error| Failure::new(e.to_string());
        let protocol = io::protocol::read(path).map_err(failed)?;
        let sha256 =
            io::checksum::of_file(path, &crate::compute::Control::new()).map_err(failed)?;
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self {
            path,
            protocol,
            sha256,
        })
    }

    /// The folder in which the protocol lies.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    /// Sentences about what keeps it from running: unknown commands and options, regions drawn by hand, and files of regions
    /// that its folder lacks.
    pub fn problems(&self) -> Vec<String> {
        let file = self.path.display();
        let steps = self.protocol.steps.iter();
        let steps = steps.filter_map(|step| {
            let problem = arguments::check(step, &self.protocol).err()?;
            Some(format!("In the step “{}”: {problem}: {file}", step.name))
        });
        let drawn = self.used_regions().into_iter();
        let drawn = drawn.filter(|(_, region)| **region == ProtocolRegion::Drawn);
        let drawn = drawn.map(|(name, _)| {
            format!(
                "The region “{name}” was drawn by hand in one head and does not carry over; give it by labels of a map, \
                 or as a mask in the space of a template with a transform or a warp: {file}"
            )
        });
        steps.chain(drawn).chain(self.lost_files()).collect()
    }

    /// Sentences about files in the folder of the protocol that its regions name and that do not exist.
    fn lost_files(&self) -> Vec<String> {
        let regions = self.used_regions().into_iter();
        let lost = regions.flat_map(|(name, region)| {
            let texts = self.protocol.texts_of_region(region);
            let files = texts.filter_map(|text| {
                let (_, file) = text.split_once(&format!("{{{FOLDER_NAME}}}/"))?;
                Some(self.folder().join(file.trim()))
            });
            let lost = files.filter(|file| !file.is_file());
            lost.map(move |file| {
                format!(
                    "The region “{name}” names a file that does not exist, expected it at its place below the protocol; add \
                     it, or correct the name: {}",
                    file.display()
                )
            })
        });
        lost.collect()
    }

    /// Sentences about what may not fit other heads.
    pub fn doubts(&self) -> Vec<String> {
        let regions = self.used_regions().into_iter();
        let doubts = regions.filter_map(|(name, region)| match region {
            ProtocolRegion::Sphere { space: None, .. } | ProtocolRegion::Box(_) => Some(format!(
                "The region “{name}” is given in the space of each scan and fits only heads that are aligned with each \
                 other; name a space with a transform or a warp, or labels of a map"
            )),
            _ => None,
        });
        let inputs = self.protocol.inputs.iter().filter(|(_, input)| {
            input.patterns(false).is_empty() && input.patterns(true).is_empty()
        });
        let inputs = inputs.map(|(name, _)| {
            format!(
                "The input “{name}” has no pattern of its name, so that each run has to name it; add file or bids to \
                 [input.{name}]"
            )
        });
        doubts.chain(inputs).collect()
    }

    /// The inputs that steps need, also those of the regions that they name.
    pub fn used_inputs(&self) -> Vec<String> {
        let regions = self.used_regions().into_iter();
        let in_regions = regions.flat_map(|(_, region)| self.protocol.names_of_region(region));
        let mut used = used_names(&self.protocol.steps);
        used.extend(in_regions);
        used.retain(|name| self.protocol.inputs.contains_key(name));
        used.sort();
        used.dedup();
        used
    }

    /// The regions that a step names.
    pub fn used_regions(&self) -> Vec<(&String, &ProtocolRegion)> {
        let used = used_names(&self.protocol.steps);
        let regions = self.protocol.regions.iter();
        regions.filter(|(name, _)| used.contains(name)).collect()
    }
}

/// The inputs, regions and steps that steps name.
fn used_names(steps: &[ProtocolStep]) -> Vec<String> {
    let texts = steps.iter().flat_map(ProtocolStep::texts);
    let mut used: Vec<String> = texts
        .flat_map(names)
        .map(|name| owner(&name).to_owned())
        .collect();
    used.sort();
    used.dedup();
    used
}
