//! The contract: the texts that users and other programs rely on, one file each in tests/fixtures/contract.
//!
//! A change of an option, a JSON member, a CSV column or a sentence changes a fixture, so that a reviewer sees it.
//! `ARCUATE_WRITE_CONTRACT=1` writes the fixtures from the program's present output.

mod commands;
mod figures;
mod sessions;

use crate::support::test;
use libtest_mimic::Trial;
use std::path::PathBuf;

pub fn tests() -> Vec<Trial> {
    vec![
        test("contract::a changed word is detected", changed_word),
        test("contract::help of every command", commands::help),
        test("contract::output of every command", commands::outputs),
        test("contract::command texts of a session", sessions::commands),
        test("contract::methods of a session", sessions::methods),
        test("contract::report of a session", sessions::report),
        test("contract::file and replay of a session", sessions::file),
        figures::trial(),
    ]
}

/// Compares `text` with its fixture, or writes the fixture on request.
fn holds(name: &str, text: &str) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("tests/fixtures/contract").join(name);
    if std::env::var_os("ARCUATE_WRITE_CONTRACT").is_some() {
        std::fs::write(&path, text).expect("the fixture is written");
        return;
    }
    let kept = std::fs::read_to_string(&path).expect("the fixture is there");
    if let Some(change) = first_change(&kept, text) {
        panic!(
            "{name}: {change}\nIf this is meant, write the fixtures with ARCUATE_WRITE_CONTRACT=1 and \
             commit them"
        );
    }
}

/// The first line that two texts do not share, with its number and the line above it.
fn first_change(kept: &str, now: &str) -> Option<String> {
    let (mut old, mut new) = (kept.lines(), now.lines());
    let mut above = "";
    for number in 1.. {
        match (old.next(), new.next()) {
            (None, None) => return None,
            (a, b) if a == b => above = a.unwrap_or_default(),
            (a, b) => {
                let [a, b] = [a, b].map(|line| line.unwrap_or("(the end)"));
                return Some(format!(
                    "line {number}, below \"{above}\"\n  was {a}\n  is  {b}"
                ));
            }
        }
    }
    None
}

fn changed_word() {
    let kept = "--alpha <A>  Sharpening\n\"kept\": number\n";
    assert_eq!(first_change(kept, kept), None);
    let label = first_change(kept, &kept.replace("Sharpening", "Exponent"));
    assert!(
        label.is_some_and(|change| change.starts_with("line 1,") && change.contains("Exponent"))
    );
    let key = first_change(kept, &kept.replace("kept", "kept_count"));
    assert!(key.is_some_and(|change| change.starts_with("line 2,")));
    let shorter = first_change(kept, "--alpha <A>  Sharpening\n");
    assert!(shorter.is_some_and(|change| change.contains("(the end)")));
}
