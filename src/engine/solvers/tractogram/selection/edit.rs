//! Recorded edits of streamlines after they were made or read, so that they can be repeated.

use super::{SelectionRules, select};
use crate::compute::memory::claim;
use crate::compute::{Backend, Control};
use crate::data::{ShellCommand, Tractogram};
use crate::solvers::Error;
use crate::solvers::tractogram::error::InputError;
use glam::DAffine3;
use serde::{Deserialize, Serialize};

/// One step; each keeps some of the streamlines that the previous one left.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    /// Selected by rules; a replay evaluates them again.
    Select(Box<SelectionRules>),
    /// Selected manually.
    Keep(Runs),
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

/// The selection on the command line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SelectionOptions {
    /// Commands that create its inputs.
    pub needs: Vec<ShellCommand>,
    /// Options of `arcuate select`.
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
            Edit::Keep(runs) => {
                let chosen_from = runs.total;
                if chosen_from != left.len() as u64 {
                    let error = InputError::OtherNumber {
                        streamlines: left.len(),
                        chosen_from,
                    };
                    return Err(error.into());
                }
                let marks = runs.marks();
                marks.ok_or(InputError::BeyondLast { chosen_from })?
            }
        };
        control.check()?;
        left = copy_marked(&left, &marks, memory)?;
    }
    Ok(left)
}
