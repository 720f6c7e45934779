//! Randomly damaged sessions: a document or a sentence, never a panic, and memory in proportion to the file.

use crate::support::entries::document;
use crate::support::session_window::Window;
use crate::support::{Random, damages_more, test};
use arcuate::data::Role;
use arcuate::io::text::is_control;
use arcuate::io::{json, session};
use libtest_mimic::Trial;
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

pub fn tests() -> Vec<Trial> {
    vec![
        test("sessions::mutations", mutations),
        test(
            "sessions::an error is one line whatever the file holds",
            one_line,
        ),
    ]
}

/// Number of damaged sessions; `ARCUATE_FUZZ_SECONDS` continues for longer.
const SESSIONS: usize = 500;

/// Everything between the text and the document, without the disk.
fn is_accepted(text: &str) -> bool {
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
    document(path, &file)
}

fn one_line() {
    let name = serde_json::from_str::<Role>("\"\\n\\u202e\"").expect_err("no role");
    let sentence = json::problem(&name);
    assert!(sentence.contains("in place of \"seed\""), "{sentence}");
    assert!(!sentence.contains(is_control), "{sentence}");
}

/// Changes a random value in a JSON text.
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
                    let copy = list[at].clone();
                    list.push(copy);
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
    assert!(is_accepted(&text));
    let whole: Value = serde_json::from_str(&text).expect("JSON");
    let mut random = Random::fresh("mutations");
    let started = Instant::now();
    let (mut tried, mut taken) = (0, 0);
    while damages_more(tried, SESSIONS, started) {
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
        taken += usize::from(is_accepted(&mutated));
    }
    println!("{tried} sessions, {taken} taken in");
    assert!(tried > 20 && taken > 0);
}
