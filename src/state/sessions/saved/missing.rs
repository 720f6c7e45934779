//! Missing parts of a session, and those that cannot be read: what recomputes them, and sentences about them.

use crate::solvers::tractogram::selection::Edit;
use crate::state::document::Document;
use crate::state::origin::{Origin, Recipe};
use crate::state::sessions::saved::origins::edits;
use crate::state::sessions::types::file::ReadSession;
use crate::state::sessions::types::missing::{
    MissingGroup, MissingItem, MissingLayer, MissingPart, SessionPart,
};
use crate::state::sessions::types::origins::Table;
use crate::state::sessions::types::restore_error::PartError;
use crate::state::track::recipe::CurveRecipe;
use std::sync::Arc;

/// The missing kept results of a session, as one sentence.
pub fn not_stored_text(document: &Document) -> Option<String> {
    let kept = document.missing_layers().filter(|m| m.can_be_recomputed());
    let names: Vec<&str> = kept.map(|m| &*m.layer.name).collect();
    let (what, them) = match names.len() {
        0 => return None,
        1 => ("1 kept result is".to_owned(), "it"),
        n => (format!("{n} kept results are"), "them"),
    };
    Some(format!(
        "{what} not stored beside the session ({}): recompute {them}, or remove {them}, in Layers",
        names.join(", ")
    ))
}

/// Why the missing files of the session could not be opened.
pub fn unopened(document: &Document) -> Option<String> {
    let missing = document.missing_layers().filter(|m| m.file().is_some());
    let all: Vec<String> = missing.map(|m| m.reason.to_string()).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

impl MissingLayer {
    /// The recipe of its streamlines; `None` if they were not computed here.
    pub fn curve_recipe(&self, document: &Document) -> Option<Result<Arc<CurveRecipe>, PartError>> {
        if !self.can_be_recomputed() {
            return None;
        }
        let table = Table::new(&self.session);
        let origin = table
            .resolve(document, &self.session, [self.layer.origin])
            .get(table.unedited(self.layer.origin));
        Some(
            origin.and_then(|origin| match document.origins.base(origin) {
                Origin::Computed(Recipe::Curves(recipe)) => Ok(recipe.clone()),
                _ => Err(PartError::NoRecipe),
            }),
        )
    }

    /// The steps that kept some of its streamlines.
    pub fn edits(&self) -> Result<Vec<Edit>, PartError> {
        let table = Table::new(&self.session);
        edits(&self.session, &table.steps(self.layer.origin))
    }
}

pub(in crate::state) fn add_missing(
    document: &mut Document,
    session: &Arc<ReadSession>,
    what: SessionPart,
    reason: PartError,
) {
    let session = session.clone();
    let part = MissingPart {
        part: what,
        reason,
        session,
    };
    document
        .session
        .unrestored
        .items
        .push(MissingItem::Part(Arc::new(part)));
}

/// The missing parts, in a sentence for each reason.
pub fn missing_parts(document: &Document) -> Vec<(MissingGroup, String)> {
    let mut groups: Vec<(MissingGroup, Vec<&str>)> = Vec::new();
    for part in document.missing_parts() {
        match groups.iter_mut().find(|(group, _)| group.has(part)) {
            Some((_, names)) => names.push(part.part.name()),
            None => groups.push((MissingGroup::from_part(part), vec![part.part.name()])),
        }
    }
    let message = |(group, names): (MissingGroup, Vec<&str>)| {
        let sentence = group.sentence(&names);
        (group, sentence)
    };
    groups.into_iter().map(message).collect()
}
