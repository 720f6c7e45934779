//! Events of a slow frame keep their order.

use crate::support::test;
use arcuate::app::events::Queue;
use egui::{Event, Key, Modifiers, PointerButton, Pos2, pos2};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test(
        "views::events of a slow frame keep their order",
        order,
    )]
}

fn button(at: Pos2, pressed: bool) -> Event {
    let modifiers = Modifiers::NONE;
    Event::PointerButton {
        pos: at,
        button: PointerButton::Primary,
        pressed,
        modifiers,
    }
}

fn key(key: Key) -> Event {
    let modifiers = Modifiers::NONE;
    Event::Key {
        key,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers,
    }
}

/// Press S, go to A, click, go to B, press T, click: all before the first frame.
fn order() {
    let (a, b) = (pos2(10.0, 10.0), pos2(200.0, 50.0));
    let all = vec![
        key(Key::S),
        Event::PointerMoved(a),
        button(a, true),
        button(a, false),
        Event::PointerMoved(b),
        key(Key::T),
        button(b, true),
        button(b, false),
    ];
    let mut queue = Queue::default();
    let mut events = all.clone();
    let mut frames = Vec::new();
    let mut at = Pos2::ZERO;
    loop {
        let waits = queue.feed(&mut events);
        for event in &events {
            match event {
                Event::PointerMoved(to) => at = *to,
                // Where egui will think that the pointer is.
                Event::PointerButton { pos, .. } => assert_eq!(at, *pos),
                _ => {}
            }
        }
        let keys = events.iter().position(|e| matches!(e, Event::Key { .. }));
        let buttons = events
            .iter()
            .position(|e| matches!(e, Event::PointerButton { .. }));
        assert!(
            keys.is_none() || buttons.is_none(),
            "a key acts before the click after it"
        );
        assert!(
            buttons.is_none_or(|i| i + 1 == events.len()),
            "nothing follows a button"
        );
        frames.push(std::mem::take(&mut events));
        if !waits {
            break;
        }
    }
    assert_eq!(frames.concat(), all, "nothing is lost, nothing is swapped");
    assert!(!queue.feed(&mut events) && events.is_empty());
    // What happens between two frames on a fast machine passes at once.
    let mut quick = vec![Event::PointerMoved(a), Event::PointerMoved(b), key(Key::R)];
    assert!(!queue.feed(&mut quick));
    assert_eq!(quick.len(), 3);
}
