//! Streamlines of a file kept by rules.

use super::{Coverage, FileSummary, for_each_piece};
use crate::compute::{Backend, Control, memory};
use crate::data::tractogram::LENGTH;
use crate::data::{Shared, Tractogram};
use crate::io::convert::check_output;
use crate::io::pieces::{Contents, Copies, Outline, Pieces, Take};
use crate::io::{self, atomic::WriteStop};
use crate::jobs::{Job, JobError, PartialSender, Slot, ValueNames, Worker, save_contents};
use crate::solvers::tractogram::selection::{Selection, SelectionRules, select};
use crate::state::files::jobs::{ConvertedFiles, SAVE, label};
use crate::state::job_end::for_command_line;
use crate::state::streamlines::jobs::select::SELECT;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Finds the streamlines of a file that rules keep.
#[derive(Clone, Debug)]
pub struct SelectInFile {
    pub pieces: Arc<Pieces>,
    pub rules: SelectionRules,
    pub coverages: Vec<Coverage>,
    /// Whether the streamlines that the rules keep stay in memory if they are few.
    pub keeps_copies: bool,
}

#[derive(Clone, Debug)]
pub struct SelectedInFile {
    pub summary: FileSummary,
    pub dropped: Vec<u64>,
    pub kept: KeptStreamlines,
}

/// The selected streamlines of a file.
#[derive(Clone, Debug)]
pub struct KeptStreamlines {
    pieces: Arc<Pieces>,
    marks: Arc<[bool]>,
    copies: Copies,
    /// Values of all streamlines of the file that those of the file are written with.
    added: Option<(&'static str, Shared<f32>)>,
    pub outline: Outline,
}

/// Finds the streamlines of a file that are marked, for [`SaveSelected`].
#[derive(Clone, Debug)]
pub struct MarkedInFile {
    pub pieces: Arc<Pieces>,
    pub marks: Arc<[bool]>,
    /// Values of all streamlines with their name, which are written with the others.
    pub added: Option<(&'static str, Shared<f32>)>,
}

impl Job for MarkedInFile {
    type Output = KeptStreamlines;

    fn slot(&self) -> Slot {
        SELECT
    }

    fn label(&self) -> String {
        "Selecting streamlines".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.pieces.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        self.find(&worker.backend(), control)
    }
}

impl MarkedInFile {
    /// Reads the file in pieces and collects the marked streamlines.
    pub fn find(self, backend: &Backend, control: &Control) -> Result<KeptStreamlines, JobError> {
        let (pieces, marks) = (&self.pieces, &self.marks);
        let empty = with_added(pieces, pieces.empty().clone(), 0, self.added.as_ref())?;
        let mut collected = Collected::new(empty, Copies::default());
        for_each_piece(pieces, Vec::new(), backend, control, |first, piece| {
            let own = pieces.part_of(marks, first..first + piece.len())?;
            let piece = with_added(pieces, piece, first, self.added.as_ref())?;
            collected.add(&piece, own)
        })?;
        let mut outline = collected.outline;
        outline.groups = kept_members(pieces, &pieces.groups(), marks)?;
        Ok(KeptStreamlines {
            pieces: pieces.clone(),
            marks: marks.clone(),
            copies: collected.copies,
            added: self.added,
            outline,
        })
    }
}

for_command_line!(MarkedInFile);

/// Some streamlines of a file, from the one with number `first` on, with further values.
fn with_added(
    pieces: &Pieces,
    lines: Tractogram,
    first: usize,
    added: Option<&(&'static str, Shared<f32>)>,
) -> Result<Tractogram, io::Error> {
    let Some((name, values)) = added else {
        return Ok(lines);
    };
    let own = pieces.part_of(values, first..first + lines.len())?;
    Ok(lines.with_per_streamline(name, own.to_vec()))
}

impl KeptStreamlines {
    /// Whether each streamline of the file is one of them.
    pub fn marks(&self) -> &Arc<[bool]> {
        &self.marks
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        self.pieces.path()
    }

    /// Reads these streamlines into memory.
    pub fn in_memory(&self, control: &Control) -> Result<Tractogram, JobError> {
        let mut contents = Contents {
            outline: &self.outline,
            pass: &mut |take| self.pass(control, take),
        };
        Ok(contents.joined(self.path())?)
    }

    /// Passes these streamlines on, piece by piece.
    fn pass(&self, control: &Control, take: &mut Take) -> Result<(), WriteStop> {
        if let Some(copies) = self.copies.pieces() {
            return copies.iter().try_for_each(take);
        }
        let pieces = &*self.pieces;
        let passed = pieces.pass(control, |piece| {
            let range = piece.first..piece.first + piece.tractogram.len();
            let own = pieces.part_of(&self.marks, range)?;
            let shown = ValueNames::shown(piece.tractogram);
            let shown = with_added(pieces, shown, piece.first, self.added.as_ref())?;
            take(&written(shown.filtered(own)))
        });
        passed.map(drop)
    }
}

impl Job for SelectInFile {
    type Output = SelectedInFile;

    fn slot(&self) -> Slot {
        SELECT
    }

    fn label(&self) -> String {
        "Selecting streamlines".to_owned()
    }

    fn named_file(&self) -> Option<&Path> {
        Some(self.pieces.path())
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<Self::Output>,
    ) -> Result<Self::Output, JobError> {
        self.find(&worker.backend(), control)
    }
}

impl SelectInFile {
    /// Reads the file in pieces and finds the streamlines that the rules keep.
    pub fn find(self, backend: &Backend, control: &Control) -> Result<SelectedInFile, JobError> {
        let (pieces, at_most) = (&self.pieces, self.rules.at_most);
        let rules = SelectionRules {
            at_most: None,
            ..self.rules
        };
        let groups = pieces.groups();
        let mut selection = Selection::empty();
        let copies = match self.keeps_copies {
            true => Copies::default(),
            false => Copies::none(),
        };
        let mut collected = Collected::new(pieces.empty().clone(), copies);
        let select = PieceSelection::new(&rules, &groups, backend, control)?;
        // An unknown group is refused even if there are no streamlines.
        select.select(0, pieces.empty().clone())?;
        let summary = for_each_piece(pieces, self.coverages, backend, control, |first, piece| {
            let (piece, next) = select.select(first, piece)?;
            selection.append(&next);
            match at_most {
                // Which of them remain is known at the end.
                Some(_) => Ok(()),
                None => collected.add(&piece, &next.marks),
            }
        })?;
        if let Some((max_count, seed)) = at_most {
            selection.limit(max_count, seed)?;
            let marks = &selection.marks;
            for_each_piece(pieces, Vec::new(), backend, control, |first, piece| {
                let own = pieces.part_of(marks, first..first + piece.len())?;
                collected.add(&piece, own)
            })?;
        }
        let mut outline = collected.outline;
        outline.groups = kept_members(pieces, &groups, &selection.marks)?;
        Ok(SelectedInFile {
            summary,
            dropped: selection.dropped.to_vec(),
            kept: KeptStreamlines {
                pieces: pieces.clone(),
                marks: selection.marks.into(),
                copies: collected.copies,
                added: None,
                outline,
            },
        })
    }
}

for_command_line!(SelectInFile);

/// Marks the streamlines of a file that each of several rules keeps, in one pass.
pub fn marks_by_rules(
    pieces: &Pieces,
    all: &[SelectionRules],
    backend: &Backend,
    control: &Control,
) -> Result<Vec<Vec<bool>>, JobError> {
    let groups = pieces.groups();
    let unlimited = all.iter().map(|rules| SelectionRules {
        at_most: None,
        ..rules.clone()
    });
    let unlimited: Vec<SelectionRules> = unlimited.collect();
    let each = unlimited.iter();
    let each = each.map(|rules| PieceSelection::new(rules, &groups, backend, control));
    let each: Vec<PieceSelection> = each.collect::<Result<_, _>>()?;
    let mut selections: Vec<Selection> = all.iter().map(|_| Selection::empty()).collect();
    for_each_piece(pieces, Vec::new(), backend, control, |first, piece| {
        for (select, selection) in each.iter().zip(&mut selections) {
            selection.append(&select.select(first, piece.clone())?.1);
        }
        Ok(())
    })?;
    for (selection, rules) in selections.iter_mut().zip(all) {
        if let Some((max_count, seed)) = rules.at_most {
            selection.limit(max_count, seed)?;
        }
    }
    Ok(selections.into_iter().map(|s| s.marks).collect())
}

/// Applies rules to one piece after the other.
struct PieceSelection<'a> {
    rules: &'a SelectionRules,
    groups: &'a BTreeMap<String, Arc<[u32]>>,
    /// Marks of the members of the group in the rules, if it exists.
    members: Option<Vec<bool>>,
    backend: &'a Backend,
    control: Control,
}

impl<'a> PieceSelection<'a> {
    fn new(
        rules: &'a SelectionRules,
        groups: &'a BTreeMap<String, Arc<[u32]>>,
        backend: &'a Backend,
        control: &Control,
    ) -> Result<Self, JobError> {
        let group = rules.group.as_ref().and_then(|name| groups.get(name));
        let members = group.map(|group| -> Result<Vec<bool>, JobError> {
            let count = group.iter().max().map_or(0, |last| *last as usize + 1);
            memory::claim_for::<bool>("The members of the group", count, 1)?;
            let mut marks = vec![false; count];
            group.iter().for_each(|i| marks[*i as usize] = true);
            Ok(marks)
        });
        Ok(Self {
            rules,
            groups,
            members: members.transpose()?,
            backend,
            control: control.silent(),
        })
    }

    fn select(
        &self,
        first: usize,
        mut piece: Tractogram,
    ) -> Result<(Tractogram, Selection), JobError> {
        if let Some(name) = &self.rules.group {
            let names = self.groups.keys();
            piece.groups = names.map(|name| (name.clone(), Arc::default())).collect();
            if let Some(marks) = &self.members {
                let is_member = |i: &u32| marks.get(first + *i as usize).is_some_and(|m| *m);
                let own: Vec<u32> = (0..piece.len() as u32).filter(is_member).collect();
                piece = piece.with_group(name, own);
            }
        }
        let selection = select(&piece, self.rules, self.backend, &self.control)?;
        piece.groups.clear();
        Ok((piece, selection))
    }
}

/// Selected streamlines, in the form in which they are written.
struct Collected {
    copies: Copies,
    outline: Outline,
}

/// The values that files hold: every program computes lengths from the points.
fn written(tractogram: Tractogram) -> Tractogram {
    let mut tractogram = ValueNames::written(tractogram);
    tractogram.per_streamline.remove(LENGTH);
    tractogram
}

impl Collected {
    fn new(empty: Tractogram, copies: Copies) -> Self {
        let empty = ValueNames::shown(empty);
        Self {
            copies,
            outline: Outline::new(written(empty)),
        }
    }

    /// Adds the marked streamlines of a piece.
    fn add(&mut self, piece: &Tractogram, marks: &[bool]) -> Result<(), JobError> {
        let each = size_of::<[f32; 3]>() + size_of::<f32>() * piece.per_point.len();
        let bytes = (piece.points.len() * each) as u64;
        memory::claim("The copy of the streamlines", bytes)?;
        let kept = written(piece.filtered(marks));
        self.outline.add(&kept);
        self.copies.add(kept);
        Ok(())
    }
}

/// The members of groups among the marked streamlines, by their new numbers.
fn kept_members(
    pieces: &Pieces,
    groups: &BTreeMap<String, Arc<[u32]>>,
    marks: &[bool],
) -> Result<BTreeMap<String, Arc<[u32]>>, JobError> {
    if groups.is_empty() {
        return Ok(BTreeMap::new());
    }
    memory::claim_for::<Option<u32>>("The members of the groups", marks.len(), 1)?;
    let mut next = 0;
    let index = marks.iter().map(|&m| m.then(|| (next, next += 1).0));
    let index: Vec<Option<u32>> = index.collect();
    let mut kept = BTreeMap::new();
    for (name, members) in groups {
        let new = members.iter().map(|&i| index.get(i as usize).copied());
        let new = new.collect::<Option<Vec<Option<u32>>>>();
        let new = new.ok_or_else(|| pieces.changed())?;
        kept.insert(name.clone(), new.into_iter().flatten().collect());
    }
    Ok(kept)
}

/// Writes the selected streamlines of a file, with all their values.
#[derive(Clone, Debug)]
pub struct SaveSelected {
    pub kept: KeptStreamlines,
    pub path: PathBuf,
    pub command: String,
    /// Files next to it may be replaced.
    pub replace: bool,
}

impl Job for SaveSelected {
    type Output = ConvertedFiles;

    fn slot(&self) -> Slot {
        SAVE
    }

    fn label(&self) -> String {
        label("Saving", &self.path)
    }

    fn named_file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<ConvertedFiles>,
    ) -> Result<ConvertedFiles, JobError> {
        let format = check_output(&self.path)?;
        let kept = &self.kept;
        let mut contents = Contents {
            outline: &kept.outline,
            pass: &mut |take| kept.pass(&control.silent(), take),
        };
        let (path, command) = (&self.path, &self.command);
        let converted = save_contents(&mut contents, format, path, command, self.replace, control)?;
        Ok(ConvertedFiles {
            converted,
            whole: None,
        })
    }
}

for_command_line!(SaveSelected);
