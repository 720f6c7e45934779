//! The missing parts of a document that was opened from a session.

use crate::state::core::layer::LayerId;
use crate::state::document::Document;
use crate::state::sessions::types::file::ReadSession;
use crate::state::sessions::types::missing::{MissingItem, MissingLayer, MissingPart};
use std::sync::Arc;

impl Document {
    pub fn missing_layers(&self) -> impl Iterator<Item = &Arc<MissingLayer>> {
        self.session
            .unrestored
            .items
            .iter()
            .filter_map(|item| match item {
                MissingItem::Layer(layer) => Some(layer),
                _ => None,
            })
    }

    pub fn missing_layer(&self, id: LayerId) -> Option<&Arc<MissingLayer>> {
        self.missing_layers().find(|m| m.layer.id == id.0)
    }

    /// A loaded layer, as its session has it, if its origin cannot be read.
    pub fn missing_origin(&self, id: LayerId) -> Option<&Arc<MissingLayer>> {
        self.session
            .unrestored
            .items
            .iter()
            .find_map(|item| match item {
                MissingItem::Origin(layer) if layer.layer.id == id.0 => Some(layer),
                _ => None,
            })
    }

    /// Regions, pathways, weights and the surface.
    pub fn missing_parts(&self) -> impl Iterator<Item = &Arc<MissingPart>> {
        self.session
            .unrestored
            .items
            .iter()
            .filter_map(|item| match item {
                MissingItem::Part(part) => Some(part),
                _ => None,
            })
    }

    /// Removes a missing layer, which was restored or is not wanted any more.
    pub(in crate::state) fn remove_missing_layer(&mut self, id: LayerId) {
        let is = |item: &MissingItem| matches!(item, MissingItem::Layer(m) if m.layer.id == id.0);
        self.session.unrestored.items.retain(|item| !is(item));
    }

    /// Removes the missing parts that `is` selects.
    pub(in crate::state) fn remove_missing_parts(&mut self, is: impl Fn(&MissingPart) -> bool) {
        self.session
            .unrestored
            .items
            .retain(|item| !matches!(item, MissingItem::Part(part) if is(part)));
    }

    /// Looks for the files of everything else that is missing from a session where `now` has them.
    pub(in crate::state) fn replace_session(
        &mut self,
        before: &Arc<ReadSession>,
        now: &Arc<ReadSession>,
    ) {
        let replace = |read: &mut Arc<ReadSession>| {
            if Arc::ptr_eq(read, before) {
                read.clone_from(now);
            }
        };
        for item in &mut self.session.unrestored.items {
            replace(match item {
                MissingItem::Layer(layer) | MissingItem::Origin(layer) => {
                    &mut Arc::make_mut(layer).session
                }
                MissingItem::Part(part) => &mut Arc::make_mut(part).session,
            });
        }
        let unrestored = &mut self.session.unrestored;
        let awaited = unrestored.awaited.iter_mut();
        for awaited in awaited.chain(&mut unrestored.awaited_fods) {
            replace(&mut awaited.session);
        }
    }

    /// Number of missing layers and parts.
    pub(in crate::state) fn missing_count(&self) -> usize {
        self.missing_layers().count() + self.missing_parts().count()
    }

    /// Whether a session of the document holds all that its original holds: everything is loaded, except streamlines
    /// of which the original has only the recipe.
    pub fn is_whole(&self) -> bool {
        self.session.unrestored.items.iter().all(|item| match item {
            MissingItem::Layer(layer) => layer.is_recipe_alone(),
            MissingItem::Origin(_) | MissingItem::Part(_) => false,
        })
    }
}
