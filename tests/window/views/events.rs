//! Events of a slow frame keep their order.

use crate::support::test;
use arcuate::app::events::Queue;
use egui::{
    Context, Event, Key, Modifiers, PointerButton, Pos2, RawInput, Rect, Sense, Ui, pos2, vec2,
};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("views::events of a slow frame keep their order", order),
        test(
            "views::text typed after a shortcut waits for the opened field",
            typed_behind,
        ),
        test("views::a double click in slow frames is one", double_click),
    ]
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
    let mut input = RawInput {
        events: all.clone(),
        ..RawInput::default()
    };
    let mut frames = Vec::new();
    let mut at = Pos2::ZERO;
    loop {
        let waits = queue.feed(&mut input, false);
        let events = &mut input.events;
        for event in events.iter() {
            match event {
                Event::PointerMoved(to) => at = *to,
                // The pointer position that egui will assume.
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
        frames.push(std::mem::take(events));
        if !waits {
            break;
        }
    }
    assert_eq!(frames.concat(), all, "nothing is lost, nothing is swapped");
    assert!(!queue.feed(&mut input, false) && input.events.is_empty());
    // Events between two frames on a fast machine pass at once.
    input.events = vec![Event::PointerMoved(a), Event::PointerMoved(b), key(Key::R)];
    assert!(!queue.feed(&mut input, false));
    assert_eq!(input.events.len(), 3);
}

/// Ctrl+O, a path, Tab, more, Enter: each field gets what was typed into it.
fn typed_behind() {
    let ctrl = || Event::Key {
        key: Key::O,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Modifiers::COMMAND,
    };
    let text = |letters: &str| Event::Text(letters.to_owned());
    let parts = [
        vec![ctrl()],
        vec![text("/a"), text("b")],
        vec![key(Key::Tab)],
        vec![text("c"), key(Key::Enter)],
        // Held down, it does the same again.
        vec![ctrl(), ctrl()],
    ];
    let mut queue = Queue::default();
    let mut input = RawInput {
        events: parts.concat(),
        ..RawInput::default()
    };
    for (i, part) in parts.iter().enumerate() {
        let waits = queue.feed(&mut input, false);
        assert_eq!(&std::mem::take(&mut input.events), part, "{i}");
        assert_eq!(waits, i + 1 < parts.len());
    }
}

/// The number of double clicks that a button sees for clicks at these times, in frames of `frame_s`.
fn doubles(clicks_s: &[f64], frame_s: f64) -> usize {
    let at = pos2(50.0, 50.0);
    let (context, mut queue) = (Context::default(), Queue::default());
    let mut coming: Vec<f64> = clicks_s.iter().map(|t| t + 1.0).collect();
    let (mut count, mut now, mut waits) = (0, 0.0, true);
    while waits || !coming.is_empty() || now < 1.0 {
        now += frame_s;
        let mut events = vec![Event::PointerMoved(at)];
        coming.retain(|&t| {
            if t <= now {
                events.extend([button(at, true), button(at, false)]);
            }
            t > now
        });
        let mut input = RawInput {
            time: Some(now),
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, vec2(100.0, 100.0))),
            events,
            ..RawInput::default()
        };
        waits = queue.feed(&mut input, true);
        let interval_s = queue.double_click_s();
        context.options_mut(|o| o.input_options.max_double_click_delay = interval_s);
        let output = context.run_ui(input, |ui: &mut Ui| {
            let response = ui.allocate_response(ui.available_size(), Sense::click());
            count += usize::from(response.double_clicked());
        });
        output.drop_without_applying_deltas();
    }
    count
}

fn double_click() {
    // 100 ms apart, in one slow frame or on both sides of the end of one.
    for start in [0.0, 0.1, 0.2, 0.3, 0.4, 0.45] {
        assert_eq!(doubles(&[start, start + 0.1], 0.5), 1, "{start}");
    }
    assert_eq!(doubles(&[0.0, 0.1], 0.01), 1);
    // Two separate clicks stay two.
    assert_eq!(doubles(&[0.0, 0.5], 0.01), 0);
    assert_eq!(doubles(&[0.0, 1.6], 0.5), 0);
}
