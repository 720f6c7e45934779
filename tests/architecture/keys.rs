//! Keys in files: an enum that sessions, scripts or settings store declares its keys with `keyed!`, and one whose
//! variants have fields does not write the names of these variants.

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

/// Enums whose stored values would be the names of their variants, and enums without fields whose keys are not
/// declared with `keyed!(.., serde { .. })`, which needs no derive.
fn without_keys(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    let (mut is_stored, mut has_keys) = (false, false);
    let lines: Vec<&str> = file.text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim_start();
        if line.starts_with("#[") {
            is_stored |= line.starts_with("#[derive(") && line.contains("Serialize");
            has_keys |= line == KEYS;
        } else if !line.starts_with("//") {
            if is_stored && line.split(' ').any(|word| word == "enum") {
                let place = format!("{}:{}", file.path, at + 1);
                if !has_fields(&lines[at..]) {
                    found.push(format!(
                        "{place}: {line} is stored: declare its keys with keyed!(.., serde {{ .. }})"
                    ));
                } else if !has_keys {
                    found.push(format!("{place}: {line} is stored without {KEYS}"));
                }
            }
            (is_stored, has_keys) = (false, false);
        }
    }
    found
}

/// Whether a variant of the enum that begins with the first line has fields.
fn has_fields(lines: &[&str]) -> bool {
    let mut depth = 0;
    for line in lines {
        let code = line.trim_start();
        if code.starts_with("//") || code.starts_with("#[") {
            continue;
        }
        for letter in code.chars() {
            match letter {
                '{' | '(' if depth > 0 => return true,
                '{' => depth += 1,
                '}' => return false,
                _ => {}
            }
        }
    }
    false
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
    let fields = "pub enum A {\n    /// One (1).\n    #[default]\n    B,\n    C { d: u8 },\n}\n";
    assert_eq!(found(&format!("{derived}{fields}")), 1);
    assert_eq!(found(&format!("{derived}{KEYS}\n{fields}")), 0);
    assert_eq!(
        found(&format!("{derived}/// Doc.\nenum A {{ B(u8) }}\n")),
        1
    );
    let plain = "pub enum A {\n    /// One (1).\n    #[default]\n    B,\n}\nstruct C(u8);\n";
    assert_eq!(found(&format!("{derived}{KEYS}\n{plain}")), 1);
    assert_eq!(found(&format!("{derived}{plain}")), 1);
    assert_eq!(
        found(&format!("{derived}pub struct A;\npub enum B {{ C }}\n")),
        0
    );
    assert_eq!(found("#[derive(Clone)]\npub enum A { B }\n"), 0);
}
