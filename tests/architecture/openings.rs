//! The first words of comments: a doc comment begins with the thing that it describes.

use crate::rules::{File, report, tree};
use crate::support::test;
use crate::vocabulary::NO_OPENINGS;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("architecture::openings of comments", || {
            report(tree().iter().flat_map(violations));
        }),
        test("architecture::planted openings", planted),
    ]
}

/// The forbidden openings in a file, one line each.
fn violations(file: &File) -> Vec<String> {
    let violation = |(line, word)| format!("{}:{line}: a comment begins with {word}", file.path);
    openings(file).into_iter().map(violation).collect()
}

/// Doc comments of src, and comments of kernels on lines of their own, that begin with a forbidden word.
fn openings(file: &File) -> Vec<(usize, &'static str)> {
    let marks: &[&str] = match &file.path {
        path if path.starts_with("src/") && path.ends_with(".rs") => &["///", "//!"],
        path if path.starts_with("kernels/") => &["//"],
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    // The text of the line above, if that is a comment of the same kind.
    let mut above: Option<(&str, &str)> = None;
    for (i, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let comment = marks
            .iter()
            .find_map(|mark| Some((*mark, line.strip_prefix(mark)?.trim())));
        if let Some((mark, text)) = comment {
            let begins = above.is_none_or(|(kind, before)| kind != mark || before.is_empty());
            let word = NO_OPENINGS.iter().find(|word| opens_with(text, word));
            if let Some(word) = word.filter(|_| begins) {
                found.push((i + 1, *word));
            }
        }
        above = comment;
    }
    found
}

/// Whether a text begins with a word, and not only with its letters.
fn opens_with(text: &str, word: &str) -> bool {
    let rest = text.strip_prefix(word);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c == '_' || c.is_alphanumeric()))
}

fn planted() {
    let in_file = |path: &str, text: &str| {
        let (path, text) = (path.to_owned(), text.to_owned());
        openings(&File { path, text })
    };
    for (path, text, line, word) in [
        (
            "src/ui/a.rs",
            "/// What a voxel holds.\nfn f() {}",
            1,
            "What",
        ),
        (
            "src/engine/a.rs",
            "use b::C;\n\n    /// Those of it.",
            3,
            "Those",
        ),
        ("src/cli/a.rs", "//! Which maps to write", 1, "Which"),
        (
            "src/cli/a.rs",
            "/// A map.\n///\n/// As it is written.",
            3,
            "As",
        ),
        ("src/cli/a.rs", "//! A map.\n/// Of a scan.", 2, "Of"),
        (
            "kernels/a.cu",
            "f();\n  // The same, in a warp.",
            2,
            "The same",
        ),
        ("kernels/a.cuh", "// Of this lane.", 1, "Of"),
    ] {
        assert_eq!(in_file(path, text), [(line, word)], "{text}");
    }
    for (path, text) in [
        // Within a paragraph, in a plain comment, in other words, and outside src and kernels.
        ("src/ui/a.rs", "/// A voxel.\n/// What it holds."),
        ("src/ui/a.rs", "// What a voxel holds.\nfn f() {}"),
        (
            "src/ui/a.rs",
            "/// Whatever it is. Offsets, Assets, `What`.",
        ),
        ("src/ui/a.rs", "/// Offsets.\nfn f() {}\n/// Assets."),
        ("kernels/a.cu", "f(); // The same."),
        ("tests/a.rs", "/// What a voxel holds."),
    ] {
        assert_eq!(in_file(path, text), [], "{text}");
    }
    let file = File {
        path: "src/ui/a.rs".to_owned(),
        text: "/// What a voxel holds.".to_owned(),
    };
    assert_eq!(violations(&file).len(), 1);
}
