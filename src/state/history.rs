//! Undo and redo by cheap copies of the document. Masks are the one part that is not cheap to copy:
//! of those a step keeps what differs from the step beside it (`packed`).

use crate::state::Document;
use crate::state::compact_masks::Packed;
use std::collections::BTreeSet;

/// How many steps can be undone.
const DEPTH: usize = 200;
/// Streamlines that only steps hold on to take at most this much, or the oldest steps go.
const TRACTOGRAM_BYTES: usize = 2 << 30;

#[derive(Clone, Debug, Default)]
pub struct History {
    past: Vec<Step>,
    future: Vec<Step>,
    /// The drag in progress: more edits with the same label join its step.
    open: Option<String>,
    /// What could be redone before that drag.
    redoable: Vec<Step>,
    /// Steps recorded so far, whether they can still be undone or not.
    recorded: u64,
}

/// Where undo or redo leads. All but the last of a pile are packed against the one above.
#[derive(Clone, Debug)]
struct Step {
    label: String,
    document: Packed,
}

/// Lays a step on a pile, and packs the one that was the last.
fn push(pile: &mut Vec<Step>, label: &str, document: &Document) {
    if let Some(last) = pile.last_mut() {
        last.document.pack_against(document);
    }
    pile.push(Step {
        label: label.to_owned(),
        document: Packed::new(document.clone()),
    });
}

/// Takes the last step off a pile and unpacks the one below.
fn pop(pile: &mut Vec<Step>) -> Option<(String, Document)> {
    let step = pile.pop()?;
    // The last of a pile is whole.
    let document = step.document.into_document();
    if let Some(last) = pile.last_mut() {
        last.document.unpack_against(&document);
    }
    Some((step.label, document))
}

impl History {
    /// The next edit is a step of its own, whatever its label.
    pub fn close(&mut self) {
        self.open = None;
        self.redoable.clear();
    }

    /// How many steps have been recorded.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// The document before the drag in progress, which leaves no step: what could be redone before it can be
    /// redone again.
    pub fn abandon(&mut self) -> Option<(String, Document)> {
        self.open.take()?;
        let step = pop(&mut self.past);
        self.future = std::mem::take(&mut self.redoable);
        step
    }

    /// Removes the newest step if it has this label, because its edit was refused; whether it had.
    pub fn forget_newest(&mut self, label: &str) -> bool {
        let is_newest = self.undo_label() == Some(label);
        if is_newest {
            pop(&mut self.past);
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

    /// Remembers the document as it is before an edit. `live` edits with one label (a drag, a
    /// moving slider) are one step, which ends with the first edit that is not live.
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
        push(&mut self.past, label, before);
        if self.past.len() > DEPTH {
            self.past.remove(0);
        }
        self.forget_beyond(TRACTOGRAM_BYTES);
    }

    /// Forgets the oldest steps while the streamlines of all take more: each deletion makes a tractogram
    /// of its own.
    fn forget_beyond(&mut self, most: usize) {
        // Those of the newest step are, as a rule, still those of the document.
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
            bytes <= most
        });
        // The newest step stays whatever it takes.
        let kept = kept.count().max(1);
        let gone = self.past.len().saturating_sub(kept);
        self.past.drain(..gone);
    }

    /// Forgets everything: another scan was opened in place of this one.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// All documents that undo or redo would bring back; their regions' masks may be packed away.
    pub fn documents_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        let beyond = self.future.iter_mut().chain(&mut self.redoable);
        let steps = self.past.iter_mut().chain(beyond);
        steps.map(|step| step.document.document_mut())
    }

    /// Bytes that masks take, which no other part of a step does in earnest.
    pub fn mask_bytes(&self) -> usize {
        let beyond = self.future.iter().chain(&self.redoable);
        let steps = self.past.iter().chain(beyond);
        steps.map(|step| step.document.mask_bytes()).sum()
    }

    /// The document before the last step; `now` is kept for redo.
    pub fn undo(&mut self, now: &Document) -> Option<(String, Document)> {
        self.close();
        let (label, document) = pop(&mut self.past)?;
        push(&mut self.future, &label, now);
        Some((label, document))
    }

    pub fn redo(&mut self, now: &Document) -> Option<(String, Document)> {
        self.close();
        let (label, document) = pop(&mut self.future)?;
        push(&mut self.past, &label, now);
        Some((label, document))
    }

    /// Label of the step that undo would take back.
    pub fn undo_label(&self) -> Option<&str> {
        self.past.last().map(|step| step.label.as_str())
    }

    pub fn redo_label(&self) -> Option<&str> {
        self.future.last().map(|step| step.label.as_str())
    }
}
