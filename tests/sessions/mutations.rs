//! Sessions that were damaged at random: a document or a sentence, never a panic, and memory in
//! proportion to the file.

use super::Window;
use crate::support::{Random, damages_more, test};
use arcuate::io::session;
use arcuate::jobs::session::{Entry, Found, Unread};
use arcuate::jobs::session::{Item, Parsed, ReadSession, Restored, Standing};
use arcuate::state::saved;
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

pub fn tests() -> Vec<Trial> {
    vec![test("sessions::mutations", mutations)]
}

/// How many sessions are damaged; `ARCUATE_FUZZ_SECONDS` goes on for longer.
const SESSIONS: usize = 500;

/// Everything between the text and the document, without the disk.
fn taken_in(text: &str) -> bool {
    let path = Path::new("/data/s.arcuate");
    let file = match session::parse(path, text) {
        Ok(file) => file,
        Err(error) => {
            let sentence = error.to_string();
            assert_eq!(sentence.lines().count(), 1, "{sentence}");
            assert!(
                sentence.ends_with("s.arcuate") && sentence.len() < 800,
                "{sentence}"
            );
            return false;
        }
    };
    let numbers = file.numbers.iter().map(|n| {
        n.unpack().map_err(|why| Unread {
            packed: Arc::new(n.clone()),
            why,
        })
    });
    let masks = file.masks.iter().map(|m| {
        let small = m.voxels().is_some_and(|n| n < 10_000_000);
        let mask = if small {
            m.unpack()
        } else {
            Err("too large".to_owned())
        };
        mask.map_err(|why| Unread {
            packed: Arc::new(m.clone()),
            why,
        })
    });
    let read = Arc::new(ReadSession {
        path: path.to_owned(),
        sha256: String::new(),
        content: Parsed::new(()),
        program: file.program.clone(),
        computed_on: file.computed_on.clone(),
        masks: masks.collect(),
        numbers: numbers.collect(),
        results: file.results.clone(),
        files: file
            .files
            .iter()
            .map(|entry: &Entry| Found {
                path: entry.place(Path::new("/data")),
                standing: Standing::Same,
                suggestion: None,
                entry: entry.clone(),
            })
            .collect(),
    });
    let Ok((content, _)) = saved::parse(file.content.clone()) else {
        return false;
    };
    let (items, absent) = saved::items(&content, &read);
    let none: Vec<(u64, Result<Restored, String>)> = items
        .into_iter()
        .map(|(id, _): (u64, Item)| (id, Err("not here".to_owned())))
        .collect();
    let mut document = saved::build(&content.document, &read, none, absent).document;
    document.fresh_id();
    document.bounds();
    let mut state = arcuate::state::State::new(String::new());
    state.document = document;
    if let Some(view) = &content.view {
        state.view = saved::view(view, &state.view);
        assert!(state.view.crosshair.is_finite() && state.view.camera.distance_mm > 0.0);
    }
    state.session.saving.opened = Some(read);
    let draft = saved::draft(&state);
    assert!(draft.content.value().is_object());
    true
}

/// Another value somewhere in a JSON text.
fn change(value: &mut Value, random: &mut Random) {
    let pick = |random: &mut Random, n: usize| (random.bits() % n.max(1) as u64) as usize;
    match value {
        Value::Object(map) if !map.is_empty() && pick(random, 8) > 0 => {
            let key = map.keys().nth(pick(random, map.len())).cloned();
            let key = key.expect("it is not empty");
            match pick(random, 30) {
                0 => drop(map.remove(&key)),
                1 => drop(map.insert("other".to_owned(), Value::Null)),
                _ => change(&mut map[&key], random),
            }
        }
        Value::Array(list) if !list.is_empty() && pick(random, 8) > 0 => {
            let at = pick(random, list.len());
            match pick(random, 20) {
                0 => drop(list.remove(at)),
                1 => {
                    let again = list[at].clone();
                    list.push(again);
                }
                _ => change(&mut list[at], random),
            }
        }
        value => {
            *value = match pick(random, 12) {
                0 => Value::Null,
                1 => Value::from(-1),
                2 => Value::from(u64::MAX),
                3 => Value::from(0),
                4 => Value::from(1e308),
                5 => Value::from("../../../../etc/passwd"),
                6 => Value::from("\n\u{202e}"),
                7 => Value::Array(vec![Value::from(1); 3]),
                8 => Value::from(0.5),
                9 => Value::from(1u64 << 40),
                10 => Value::Object(serde_json::Map::new()),
                _ => Value::from(true),
            }
        }
    }
}

fn mutations() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut window = Window::with_scan(folder.path());
    window.work();
    let path = folder.path().join("s.arcuate");
    window.save(&path);
    let text = std::fs::read_to_string(&path).expect("read");
    assert!(taken_in(&text));
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    let mut random = Random::fresh("mutations");
    let begun = Instant::now();
    let (mut tried, mut taken) = (0, 0);
    while damages_more(tried, SESSIONS, begun) {
        let mutated = if tried % 2 == 0 {
            let mut value = whole.clone();
            for _ in 0..1 + random.bits() % 3 {
                change(&mut value, &mut random);
            }
            value.to_string()
        } else {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..1 + random.bits() % 4 {
                if bytes.is_empty() {
                    break;
                }
                let at = (random.bits() % bytes.len() as u64) as usize;
                match random.bits() % 4 {
                    0 => bytes.truncate(at.max(1)),
                    1 => bytes[at] = (random.bits() % 128) as u8,
                    2 => drop(bytes.drain(at..(at + 30).min(bytes.len()))),
                    _ => bytes.insert(at, b"0123456789,:{}[]\"-e"[(random.bits() % 19) as usize]),
                }
            }
            String::from_utf8_lossy(&bytes).into_owned()
        };
        tried += 1;
        taken += usize::from(taken_in(&mutated));
    }
    println!("{tried} sessions, {taken} taken in");
    assert!(tried > 20 && taken > 0);
}
