//! Undo and redo by cheap copies of the document.

use super::Document;

/// How many steps can be undone.
const DEPTH: usize = 200;

#[derive(Clone, Debug, Default)]
pub struct History {
    past: Vec<(String, Document)>,
    future: Vec<(String, Document)>,
    /// The drag in progress: more edits with the same label join its step.
    open: Option<String>,
}

impl History {
    /// Remembers the document as it is before an edit. `live` edits with one label (a drag, a
    /// moving slider) are one step, which ends with the first edit that is not live.
    pub fn record(&mut self, before: &Document, label: &str, live: bool) {
        let joins = self.open.as_deref() == Some(label);
        self.open = live.then(|| label.to_owned());
        if joins {
            return;
        }
        self.past.push((label.to_owned(), before.clone()));
        if self.past.len() > DEPTH {
            self.past.remove(0);
        }
        self.future.clear();
    }

    /// Forgets everything: another scan was opened in place of this one.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// All documents that undo or redo would bring back.
    pub fn documents_mut(&mut self) -> impl Iterator<Item = &mut Document> {
        let steps = self.past.iter_mut().chain(&mut self.future);
        steps.map(|(_, document)| document)
    }

    /// The document before the last step; `now` is kept for redo.
    pub fn undo(&mut self, now: &Document) -> Option<(String, Document)> {
        self.open = None;
        let (label, document) = self.past.pop()?;
        self.future.push((label.clone(), now.clone()));
        Some((label, document))
    }

    pub fn redo(&mut self, now: &Document) -> Option<(String, Document)> {
        self.open = None;
        let (label, document) = self.future.pop()?;
        self.past.push((label.clone(), now.clone()));
        Some((label, document))
    }

    /// Label of the step that undo would take back.
    pub fn undo_label(&self) -> Option<&str> {
        self.past.last().map(|(label, _)| label.as_str())
    }

    pub fn redo_label(&self) -> Option<&str> {
        self.future.last().map(|(label, _)| label.as_str())
    }
}
