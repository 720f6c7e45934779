//! Esc while a button is down abandons the drag.

use crate::state::State;
use crate::state::action::BeforeDrag;
use egui::{Event, Key, Ui};

/// The state that a drag may have changed, kept from the press on.
#[derive(Default)]
pub struct Watch {
    before: Option<Box<BeforeDrag>>,
}

impl Watch {
    /// Called before anything else in every frame; returns the state before a drag that Esc abandons in this one.
    pub fn given_up(&mut self, ui: &Ui, state: &State) -> Option<Box<BeforeDrag>> {
        let (pressed, down) = ui.input(|i| (i.pointer.any_pressed(), i.pointer.any_down()));
        if pressed && self.before.is_none() {
            self.before = Some(Box::new(BeforeDrag::from_state(state)));
        }
        let before = self.before.take_if(|_| escapes(ui));
        if !down {
            self.before = None;
        }
        before
    }
}

/// Whether Esc was pressed in this frame before a button was released: a slow frame may contain both.
fn escapes(ui: &Ui) -> bool {
    let ends = |event: &Event| match event {
        Event::Key {
            key: Key::Escape,
            pressed: true,
            ..
        } => Some(true),
        Event::PointerButton { pressed: false, .. } => Some(false),
        _ => None,
    };
    ui.input(|i| i.events.iter().find_map(ends) == Some(true))
}
