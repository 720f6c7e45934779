//! The built-in head as a new document.

use crate::data::{BuiltInPhantom, Gradients, Mask, PhantomKind, Volume};
use crate::solvers::tensor_fit;
use crate::state::core::layer::Content;
use crate::state::files::opening::{self, NewLayer};
use crate::state::origin::{Origin, PhantomPart};
use crate::state::sessions::update::{empty, untouched};
use crate::state::{Effect, State, tensors};
use std::sync::Arc;

/// Images of a built-in head.
pub struct HeadImages {
    pub head: BuiltInPhantom,
    pub dwi: Volume,
    pub gradients: Arc<Gradients>,
    pub t1: Volume,
    pub mask: Mask,
}

/// Replaces everything by a built-in head.
pub fn open(state: &mut State, images: HeadImages, effects: &mut Vec<Effect>) {
    let HeadImages {
        head,
        dwi,
        gradients,
        t1,
        mask,
    } = images;
    let tour = state.runtime.tour;
    // Chosen while it was being generated.
    let task = state.document.is_empty().then_some(state.view.task);
    empty(state, effects);
    state.runtime.tour = tour;
    state.view.task = task.unwrap_or(state.view.task);
    state.document.name = match head.kind {
        PhantomKind::Plain => "Demo head".to_owned(),
        PhantomKind::Crossing => "Head with crossings".to_owned(),
        kind => kind.label().to_owned(),
    };
    state.document.fit.b_range_s_per_mm2 = tensor_fit::Params::default_b_range(&gradients);
    let scan = Content::Scan {
        dwi,
        gradients: Some(gradients),
    };
    for (name, part, content) in [
        ("dwi", PhantomPart::Dwi, scan),
        ("T1", PhantomPart::T1, Content::Image(t1)),
        ("Brain mask", PhantomPart::BrainMask, Content::Mask(mask)),
    ] {
        let is_mask = part == PhantomPart::BrainMask;
        let new = NewLayer {
            name: name.to_owned(),
            content,
            origin: Origin::Phantom { head, part },
            notes: Vec::new(),
        };
        opening::add(state, new, |document, id| {
            if is_mask {
                document.fit_mask = Some(id);
            }
        });
    }
    opening::show_first(state);
    state.history.clear();
    untouched(state);
    tensors::update::fit(state, effects);
}
