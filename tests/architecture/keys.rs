//! Keys in files: an enum that sessions, scripts or settings store does not write the names of its variants.

use crate::rules::{File, report, tree};
use crate::support::test;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("architecture::stored enums have keys", || {
            let sources = tree().into_iter().filter(|f| f.path.starts_with("src/"));
            report(sources.flat_map(|file| without_keys(&file)));
        }),
        test("architecture::planted enums without keys", planted),
    ]
}

const KEYS: &str = "#[serde(rename_all = \"snake_case\")]";

/// Enums whose stored values would be the names of their variants: `keyed!(.., serde { .. })` derives nothing.
fn without_keys(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    let (mut is_stored, mut has_keys) = (false, false);
    for (at, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        if line.starts_with("#[") {
            is_stored |= line.starts_with("#[derive(") && line.contains("Serialize");
            has_keys |= line == KEYS;
        } else if !line.starts_with("//") {
            if is_stored && !has_keys && line.split(' ').any(|word| word == "enum") {
                let place = format!("{}:{}", file.path, at + 1);
                found.push(format!("{place}: {line} is stored without {KEYS}"));
            }
            (is_stored, has_keys) = (false, false);
        }
    }
    found
}

fn planted() {
    let found = |text: &str| {
        without_keys(&File {
            path: "src/a.rs".to_owned(),
            text: text.to_owned(),
        })
        .len()
    };
    let derived = "#[derive(Clone, Serialize)]\n";
    assert_eq!(found(&format!("{derived}pub enum A {{\n    B,\n}}\n")), 1);
    assert_eq!(found(&format!("{derived}/// Doc.\nenum A {{ B }}\n")), 1);
    assert_eq!(found(&format!("{derived}{KEYS}\npub enum A {{ B }}\n")), 0);
    assert_eq!(
        found(&format!("{derived}pub struct A;\npub enum B {{ C }}\n")),
        0
    );
    assert_eq!(found("#[derive(Clone)]\npub enum A { B }\n"), 0);
}
