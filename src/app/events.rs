//! Events in the order they happened, however long a frame takes.
//!
//! egui looks at the pointer once a frame: where a slow machine puts a key, a click and the way to
//! the next click into one frame, the click would come before the key and land at the end of the
//! way. So a frame gets the events up to the next button that goes down or up, and the rest waits.

use egui::Event;
use std::collections::VecDeque;

#[derive(Default)]
pub struct Queue(VecDeque<Event>);

impl Queue {
    /// Leaves in `events` what may share a frame; returns whether something waits for the next.
    pub fn feed(&mut self, events: &mut Vec<Event>) -> bool {
        self.0.extend(events.drain(..));
        let mut keys = false;
        while let Some(event) = self.0.pop_front() {
            let button = matches!(event, Event::PointerButton { .. });
            if button && keys {
                self.0.push_front(event);
                break;
            }
            keys |= matches!(event, Event::Key { .. } | Event::Text(_));
            events.push(event);
            if button {
                break;
            }
        }
        !self.0.is_empty()
    }
}
