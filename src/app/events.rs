//! Events in the order and at the time they happened, however long a frame takes.
//!
//! egui looks at the pointer once a frame: where a slow machine puts a key, a click and the way to
//! the next click into one frame, the click would come before the key and land at the end of the
//! way. So a frame gets the events up to the next button that goes down or up, and the rest waits.
//! In the same way a key that may open, leave or close a field ends its frame: what is typed behind
//! Ctrl+S belongs to the field that opens, what is typed before Tab to the field that is left.
//! egui also takes the time of a frame for that of its events: frames that work off what came
//! together are given the time at which it came, or no two clicks would be a double click.

use egui::{Event, Key, RawInput};
use std::collections::{HashSet, VecDeque};

/// Two clicks within this are a double click, seconds: egui's own default.
const DOUBLE_CLICK_S: f64 = 0.3;
/// Frames longer than this are not made up for, seconds.
const LONGEST_FRAME_S: f64 = 0.7;

#[derive(Default)]
pub struct Queue {
    /// With the time at which they came, seconds.
    waiting: VecDeque<(f64, Event)>,
    /// Time of the last frame as it was told to egui, and as it was.
    told_s: f64,
    now_s: f64,
    /// How long frames take that follow one another.
    frame_s: f64,
    /// Keys that are down.
    held: HashSet<Key>,
}

impl Queue {
    /// Leaves in `input` what may share a frame; returns whether something waits for the next.
    /// `busy`: this frame was asked for as soon as the one before was ready.
    pub fn feed(&mut self, input: &mut RawInput, busy: bool) -> bool {
        let now = input.time.unwrap_or(self.told_s);
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
            self.hold(&event);
            input.events.push(event);
            if button || turns {
                break;
            }
        }
        self.told_s = time.max(self.told_s);
        input.time = Some(self.told_s);
        !self.waiting.is_empty()
    }

    /// How far apart two clicks of a double click may seem: events have no time of their own, and
    /// those that came during a frame are taken for as late as its end.
    pub fn double_click_s(&self) -> f64 {
        DOUBLE_CLICK_S + self.frame_s.clamp(0.0, LONGEST_FRAME_S)
    }

    /// Whether a key may take what follows to another field, and whether it does so at the start of its
    /// frame, before egui hands out the letters. One that is held down does again what it did.
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
        if self.held.contains(key) {
            return (false, false);
        }
        let tab = *key == Key::Tab;
        let leaves = tab || matches!(key, Key::Enter | Key::Escape);
        (leaves || modifiers.command, tab)
    }

    /// Which keys are down by now: egui tells repeats only after this.
    fn hold(&mut self, event: &Event) {
        match event {
            Event::Key {
                key, pressed: true, ..
            } => {
                self.held.insert(*key);
            }
            Event::Key { key, .. } => {
                self.held.remove(key);
            }
            Event::WindowFocused(_) => self.held.clear(),
            _ => {}
        }
    }
}
