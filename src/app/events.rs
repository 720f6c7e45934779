//! Events in the order and at the time they happened, however long a frame takes.
//!
//! egui samples the pointer once per frame: if a slow machine puts a key, a click and the movement to the next click
//! into one frame, the click would precede the key and land at the end of the movement. So a frame gets the events up
//! to the next button that goes down or up, and the rest waits. In the same way a key that may open, leave or close a
//! field ends its frame: text typed after Ctrl+S belongs to the field that opens, text typed before Tab to the field
//! that is left. egui also takes the time of a frame for that of its events: frames that process events of one moment
//! are given the time of that moment, or no two clicks would be a double click.

use egui::{Event, Key, RawInput};
use std::collections::{HashSet, VecDeque};

/// Two clicks within this are a double click, seconds: egui's own default.
const DOUBLE_CLICK_S: f64 = 0.3;
/// Longer frames are not compensated for, seconds.
const LONGEST_FRAME_S: f64 = 0.7;

#[derive(Default)]
pub struct Queue {
    /// Each with the time at which it arrived, seconds.
    waiting: VecDeque<(f64, Event)>,
    /// Time of the last frame as passed to egui, and its real time.
    reported_s: f64,
    now_s: f64,
    /// Duration of consecutive frames.
    frame_s: f64,
    /// Keys that are down.
    pressed: HashSet<Key>,
}

impl Queue {
    /// Leaves in `input` the events that may share a frame; returns whether events wait for the next. `busy`: this
    /// frame was requested as soon as the one before was ready.
    pub fn feed(&mut self, input: &mut RawInput, busy: bool) -> bool {
        let now = input.time.unwrap_or(self.reported_s);
        if busy {
            self.frame_s = now - self.now_s;
        }
        self.now_s = now;
        let fresh = input.events.drain(..).map(|event| (now, event));
        self.waiting.extend(fresh);
        let (mut keys, mut time) = (false, now);
        while let Some((came, event)) = self.waiting.pop_front() {
            let button = matches!(event, Event::PointerButton { .. });
            let (turns, tab) = self.turns(&event);
            if (button || tab) && keys {
                self.waiting.push_front((came, event));
                break;
            }
            keys |= matches!(event, Event::Key { .. } | Event::Text(_));
            time = came;
            self.track_keys(&event);
            input.events.push(event);
            if button || turns {
                break;
            }
        }
        self.reported_s = time.max(self.reported_s);
        input.time = Some(self.reported_s);
        !self.waiting.is_empty()
    }

    /// Largest apparent interval between the clicks of a double click: events have no time of their own, and those that
    /// arrive during a frame count as late as its end.
    pub fn double_click_s(&self) -> f64 {
        DOUBLE_CLICK_S + self.frame_s.clamp(0.0, LONGEST_FRAME_S)
    }

    /// Whether a key may send the following input to another field, and whether it does so at the start of its frame,
    /// before egui distributes the letters. A held key repeats its effect.
    fn turns(&self, event: &Event) -> (bool, bool) {
        let Event::Key {
            key,
            pressed: true,
            modifiers,
            ..
        } = event
        else {
            return (false, false);
        };
        if self.pressed.contains(key) {
            return (false, false);
        }
        let tab = *key == Key::Tab;
        let leaves = tab || matches!(key, Key::Enter | Key::Escape);
        (leaves || modifiers.command, tab)
    }

    /// Tracks the keys that are down: egui detects repeats only later.
    fn track_keys(&mut self, event: &Event) {
        match event {
            Event::Key {
                key, pressed: true, ..
            } => {
                self.pressed.insert(*key);
            }
            Event::Key { key, .. } => {
                self.pressed.remove(key);
            }
            Event::WindowFocused(_) => self.pressed.clear(),
            _ => {}
        }
    }
}
