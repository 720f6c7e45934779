//! Undo and redo by cheap copies of the document. Only masks are expensive to copy: a step stores their differences
//! from the adjacent step (`compact_masks`).

use crate::state::Document;
use crate::state::compact_masks::PackedDocument;
use std::collections::BTreeSet;

/// Largest number of steps that can be undone.
const DEPTH: usize = 200;
/// Memory limit for streamlines that only steps hold; beyond it the oldest steps are dropped.
const TRACTOGRAM_BYTES: usize = 2 << 30;

#[derive(Clone, Debug, Default)]
pub struct History {
    past: Vec<Step>,
    future: Vec<Step>,
    /// The drag in progress: more edits with the same label join its step.
    open: Option<String>,
    /// Steps that could be redone before that drag.
    redoable: Vec<Step>,
    /// Number of steps recorded so far, including those that can no longer be undone.
    recorded: u64,
    /// The number of the present document among all that there were: a file requested before a change lacks it. Undo and
    /// redo restore it with the document.
    revision: u64,
    /// The largest number so far.
    newest_revision: u64,
    /// The stack whose last step is the document that an edit, undo or redo has left, until `take_left`.
    left: Option<Stack>,
}

#[derive(Clone, Copy, Debug)]
enum Stack {
    Past,
    Future,
}

/// The document that undo or redo restores. All except the last of a stack are packed against the one above.
#[derive(Clone, Debug)]
struct Step {
    label: String,
    document: PackedDocument,
    revision: u64,
}

/// Pushes a step, and packs the one that was the last.
fn push(pile: &mut Vec<Step>, label: &str, document: &Document, revision: u64) {
    if let Some(last) = pile.last_mut() {
        last.document.pack_against(document);
    }
    pile.push(Step {
        label: label.to_owned(),
        document: PackedDocument::new(document.clone()),
        revision,
    });
}

/// Pops the last step and unpacks the one below.
fn pop(pile: &mut Vec<Step>) -> Option<(String, Document, u64)> {
    let step = pile.pop()?;
    // The last of a stack is never packed.
    let document = step.document.into_document();
    if let Some(last) = pile.last_mut() {
        last.document.unpack_against(&document);
    }
    Some((step.label, document, step.revision))
}

impl History {
    /// The number of the present document.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The present document has changed, or is another one.
    pub fn change(&mut self) {
        self.newest_revision += 1;
        self.revision = self.newest_revision;
    }

    /// The document of a step becomes the present one.
    fn restore(&mut self, step: Option<(String, Document, u64)>) -> Option<(String, Document)> {
        let (label, document, revision) = step?;
        self.revision = revision;
        Some((label, document))
    }

    /// Makes the next edit a step of its own, whatever its label.
    pub fn close(&mut self) {
        self.open = None;
        self.redoable.clear();
    }

    /// Number of steps recorded.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// The document before the drag in progress, which records no step: what could be redone before it can be redone
    /// again.
    pub fn abandon(&mut self) -> Option<(String, Document)> {
        self.open.take()?;
        self.left = None;
        let step = pop(&mut self.past);
        self.future = std::mem::take(&mut self.redoable);
        self.restore(step)
    }

    /// Removes the newest step if the document before it, which the present one is again, lacks what its edit added, which
    /// was refused; returns whether it did.
    pub fn forget_newest(&mut self, lacks: impl FnOnce(&Document) -> bool) -> bool {
        let before = self
            .past
            .last_mut()
            .map(|step| step.document.document_mut());
        let is_newest = before.is_some_and(|before| lacks(before));
        if is_newest {
            let step = pop(&mut self.past);
            self.restore(step);
            self.left = None;
        }
        is_newest
    }

    /// Whether a drag is in progress.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether an edit with this label would join the step before.
    pub fn joins(&self, label: &str) -> bool {
        self.open.as_deref() == Some(label)
    }

    /// Records the document before an edit. `live` edits with one label (a drag, a moving slider) form one step, which
    /// ends with the first edit that is not live.
    pub fn record(&mut self, before: &Document, label: &str, live: bool) {
        let joins = self.joins(label);
        self.open = live.then(|| label.to_owned());
        if !joins {
            self.redoable = std::mem::take(&mut self.future);
        }
        if !live {
            self.redoable.clear();
        }
        if joins {
            return;
        }
        self.recorded += 1;
        self.left = Some(Stack::Past);
        push(&mut self.past, label, before, self.revision);
        if self.past.len() > DEPTH {
            self.past.remove(0);
        }
        self.forget_beyond(TRACTOGRAM_BYTES);
    }

    /// Drops the oldest steps while the streamlines of all take more than `max_bytes`: each deletion creates a new
    /// tractogram.
    fn forget_beyond(&mut self, max_bytes: usize) {
        // The masks of the newest step are usually still in the document.
        let newest = self.past.last().into_iter();
        let here = newest.flat_map(|step| step.document.tractograms());
        let mut seen: BTreeSet<_> = here.map(|(id, _)| id).collect();
        let mut bytes = 0;
        let kept = self.past.iter().rev().take_while(|step| {
            for (id, own) in step.document.tractograms() {
                if seen.insert(id) {
                    bytes += own;
                }
            }
            bytes <= max_bytes
        });
        // The newest step stays, whatever its size.
        let kept = kept.count().max(1);
        let gone = self.past.len().saturating_sub(kept);
        self.past.drain(..gone);
    }

    /// Clears the history: another scan was opened in place of this one.
    pub fn clear(&mut self) {
        *self = Self {
            revision: self.revision,
            newest_revision: self.newest_revision,
            ..Self::default()
        };
    }

    /// All documents that undo or redo can restore; their regions' masks may be packed.
    pub fn documents_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        let beyond = self.future.iter_mut().chain(&mut self.redoable);
        let steps = self.past.iter_mut().chain(beyond);
        steps.map(|step| step.document.document_mut())
    }

    /// Whether a document was left since the last `take_left`.
    pub fn has_left(&self) -> bool {
        self.left.is_some()
    }

    /// The document that an edit, undo or redo has left since the last call.
    pub fn take_left(&mut self) -> Option<&mut Document> {
        let stack = match self.left.take()? {
            Stack::Past => &mut self.past,
            Stack::Future => &mut self.future,
        };
        Some(stack.last_mut()?.document.document_mut())
    }

    /// The documents that undo can restore, from the oldest on; their regions' masks may be packed.
    pub fn past_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        let steps = self.past.iter_mut();
        steps.map(|step| step.document.document_mut())
    }

    /// Bytes of masks; no other part of a step takes much memory.
    pub fn mask_bytes(&self) -> usize {
        let beyond = self.future.iter().chain(&self.redoable);
        let steps = self.past.iter().chain(beyond);
        steps.map(|step| step.document.mask_bytes()).sum()
    }

    /// The document before the last step; `now` is stored for redo.
    pub fn undo(&mut self, now: &Document) -> Option<(String, Document)> {
        self.close();
        let step = pop(&mut self.past)?;
        push(&mut self.future, &step.0, now, self.revision);
        self.left = Some(Stack::Future);
        self.restore(Some(step))
    }

    pub fn redo(&mut self, now: &Document) -> Option<(String, Document)> {
        self.close();
        let step = pop(&mut self.future)?;
        push(&mut self.past, &step.0, now, self.revision);
        self.left = Some(Stack::Past);
        self.restore(Some(step))
    }

    /// Label of the step that undo would revert.
    pub fn undo_label(&self) -> Option<&str> {
        self.past.last().map(|step| step.label.as_str())
    }

    pub fn redo_label(&self) -> Option<&str> {
        self.future.last().map(|step| step.label.as_str())
    }
}
