//! Recorded edits of streamlines after they were made or read, so that they can be repeated.

use super::{SelectionRules, select};
use crate::compute::memory::claim;
use crate::compute::{Backend, Control};
use crate::data::{ShellCommand, Tractogram};
use crate::solvers::Error;
use crate::solvers::bundles;
use crate::solvers::tractogram::error::InputError;
use glam::DAffine3;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One step; each keeps some of the streamlines that the previous one left, or divides all of them into groups.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    /// Selected by rules; a replay evaluates them again.
    Select(Box<SelectionRules>),
    /// Selected manually.
    Keep(Runs),
    /// Clustered: the clusters are their groups. A replay clusters them again.
    Cluster(bundles::Params),
    /// Divided into groups that are recorded.
    Group(Groups),
}

impl Edit {
    /// Whether it keeps some of the streamlines.
    pub fn selects(&self) -> bool {
        match self {
            Self::Select(_) | Self::Keep(_) => true,
            Self::Cluster(_) | Self::Group(_) => false,
        }
    }
}

/// Groups of `total` streamlines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Groups {
    /// Streamlines that were divided.
    pub total: u64,
    /// Name of each group, and start and length of each run of its streamlines, ascending.
    pub groups: Vec<(String, Vec<[u64; 2]>)>,
    /// How the groups were made.
    pub division: Division,
}

/// How streamlines were divided into groups that are recorded by their members.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Division {
    /// Into clusters.
    Clusters(bundles::Params),
    /// Into bundles, by the labels of a map.
    Labels {
        /// Name of the label map.
        map: String,
        /// The file of the recipe; `None`: the built-in one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        recipe: Option<PathBuf>,
        /// How the labels of ends are determined.
        params: bundles::RecognitionParams,
        /// The options that recognise the same bundles; `None` if the label map is in no file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        options: Option<SelectionOptions>,
    },
}

impl Groups {
    /// Records the groups of streamlines, and how they were made.
    pub fn new(tractogram: &Tractogram, division: Division) -> Self {
        let groups = tractogram.groups.iter().map(|(name, members)| {
            let mut runs: Vec<[u64; 2]> = Vec::new();
            for i in members.iter().map(|i| u64::from(*i)) {
                match runs.last_mut() {
                    Some([first, count]) if *first + *count == i => *count += 1,
                    _ => runs.push([i, 1]),
                }
            }
            (name.clone(), runs)
        });
        Self {
            total: tractogram.len() as u64,
            groups: groups.collect(),
            division,
        }
    }

    /// The streamlines with these groups in place of their own. Fails if their number is another one.
    fn applied_to(&self, tractogram: &Tractogram) -> Result<Tractogram, InputError> {
        check_number(tractogram.len(), self.total)?;
        let mut grouped = tractogram.clone().with_new_id();
        grouped.groups.clear();
        grouped.per_group.clear();
        for (name, runs) in &self.groups {
            let mut members = Vec::new();
            for [first, count] in runs {
                let end = first.checked_add(*count).filter(|end| *end <= self.total);
                let end = end.ok_or(InputError::BeyondLast {
                    chosen_from: self.total,
                })?;
                members.extend((*first..end).map(|i| i as u32));
            }
            grouped = grouped.with_group(name, members);
        }
        Ok(grouped)
    }
}

/// A subset of `total` streamlines.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Runs {
    /// Streamlines among which the subset was chosen.
    pub total: u64,
    /// Start and length of each run, ascending.
    pub runs: Vec<[u64; 2]>,
    /// The command that selects the same, if they were selected by rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection_options: Option<SelectionOptions>,
}

/// The selection or division on the command line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SelectionOptions {
    /// Commands that create its inputs.
    pub needs: Vec<ShellCommand>,
    /// Options of `arcuate select` or `arcuate bundles`.
    pub options: String,
}

impl Runs {
    /// Run-length form of marks, one per streamline.
    pub fn new(marks: &[bool]) -> Self {
        let mut runs: Vec<[u64; 2]> = Vec::new();
        for (i, _) in marks.iter().enumerate().filter(|(_, m)| **m) {
            match runs.last_mut() {
                Some([first, count]) if *first + *count == i as u64 => *count += 1,
                _ => runs.push([i as u64, 1]),
            }
        }
        Self {
            total: marks.len() as u64,
            runs,
            selection_options: None,
        }
    }

    /// `None` if a run lies beyond the end.
    pub fn marks(&self) -> Option<Vec<bool>> {
        let mut marks = vec![false; usize::try_from(self.total).ok()?];
        for [first, count] in &self.runs {
            let first = usize::try_from(*first).ok()?;
            let end = first.checked_add(usize::try_from(*count).ok()?)?;
            marks.get_mut(first..end)?.fill(true);
        }
        Some(marks)
    }

    /// The marks of this many streamlines; an error if the subset was chosen from another number of them.
    pub fn marks_among(&self, streamlines: usize) -> Result<Vec<bool>, Error> {
        check_number(streamlines, self.total)?;
        let chosen_from = self.total;
        Ok(self.marks().ok_or(InputError::BeyondLast { chosen_from })?)
    }
}

/// The marked streamlines; returns an error if they would take more than this many bytes of memory.
pub fn copy_marked(
    tractogram: &Tractogram,
    marks: &[bool],
    memory: Option<u64>,
) -> Result<Tractogram, Error> {
    let ends = tractogram.offsets.windows(2).zip(marks);
    let points: u64 = ends.filter(|(_, m)| **m).map(|(e, _)| e[1] - e[0]).sum();
    let each = size_of::<[f32; 3]>() + size_of::<f32>() * tractogram.per_point.len();
    let kept = marks.iter().filter(|m| **m).count();
    check_memory(kept, points * each as u64, memory)?;
    Ok(tractogram.filtered(marks))
}

/// Returns an error if a copy of this many streamlines, of this many bytes, exceeds the memory.
fn check_memory(streamlines: usize, bytes: u64, memory: Option<u64>) -> Result<(), Error> {
    let Some(free) = memory.filter(|free| bytes > *free) else {
        return Ok(claim("The copy of the streamlines", bytes)?);
    };
    let error = InputError::CopyMemory {
        streamlines,
        bytes,
        free_bytes: free,
    };
    Err(error.into())
}

/// A transformed copy of all streamlines; returns an error as a copy does.
pub fn copy_transformed(
    tractogram: &Tractogram,
    by: DAffine3,
    memory: Option<u64>,
) -> Result<Tractogram, Error> {
    let bytes = size_of_val(&*tractogram.points) as u64;
    check_memory(tractogram.len(), bytes, memory)?;
    Ok(tractogram.moved(by))
}

/// Fails unless the streamlines are as many as those from which some were chosen.
fn check_number(streamlines: usize, chosen_from: u64) -> Result<(), InputError> {
    match streamlines as u64 == chosen_from {
        true => Ok(()),
        false => Err(InputError::OtherNumber {
            streamlines,
            chosen_from,
        }),
    }
}

/// Applies the steps one after the other; the result of each may take at most this many bytes of memory.
pub fn apply_edits(
    tractogram: &Tractogram,
    edits: &[Edit],
    memory: Option<u64>,
    backend: &Backend,
    control: &Control,
) -> Result<Tractogram, Error> {
    let mut left = tractogram.clone();
    for edit in edits {
        let marks = match edit {
            Edit::Select(rules) => select(&left, rules, backend, control)?.marks,
            Edit::Keep(runs) => runs.marks_among(left.len())?,
            Edit::Cluster(params) => {
                let clusters = bundles::cluster(&left, None, params, backend, control)?;
                left = clusters.grouped(&left);
                continue;
            }
            Edit::Group(groups) => {
                left = groups.applied_to(&left)?;
                continue;
            }
        };
        control.check()?;
        left = copy_marked(&left, &marks, memory)?;
    }
    Ok(left)
}
