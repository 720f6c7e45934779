//! Limits on the sizes of functions and structs, and the check that no name contains a word retired by the glossary.

use crate::rules::{File, report, tree};
use crate::source::{Token, tokens};
use crate::support::test;
use crate::tables::{MAX_FIELDS, MAX_FIELDS_OF, MAX_FUNCTION};
use crate::vocabulary::{FOREIGN_NAMES, NO_NAMES, PLAIN_IN_NAMES, RETIRED};
use libtest_mimic::Trial;
use std::collections::BTreeMap;

pub fn tests() -> Vec<Trial> {
    vec![
        test("architecture::function lengths", || {
            let found = sizes(functions);
            report(beyond(&found, MAX_FUNCTION, &[], "lines"));
        }),
        test("architecture::struct fields", || {
            let found = sizes(structs);
            let mut violations = beyond(&found, MAX_FIELDS, &[], "fields");
            violations.extend(beyond_own(&found, MAX_FIELDS_OF, "fields"));
            report(violations);
        }),
        test("architecture::retired words", || {
            report(retired(&tree(), RETIRED));
        }),
        test("architecture::names without content", || {
            report(tree().iter().flat_map(without_name));
        }),
        test("architecture::planted names", planted_without_name),
        test("architecture::planted sizes", planted_sizes),
        test("architecture::planted words", planted_names),
    ]
}

/// `path name` and size of each item in src.
fn sizes(items_in: fn(&[Token]) -> Vec<(String, usize)>) -> Vec<(String, usize)> {
    let sources = tree().into_iter().filter(|f| f.path.starts_with("src/"));
    let items = sources.flat_map(|file| {
        let items = items_in(&tokens(&file.text));
        let named = move |(name, size)| (format!("{} {name}", file.path), size);
        items.into_iter().map(named)
    });
    items.collect()
}

/// Items larger than `most` without an exception, or larger than their exception; and unnecessary exceptions.
fn beyond(
    found: &[(String, usize)],
    most: usize,
    exceptions: &[(&str, usize)],
    unit: &str,
) -> Vec<String> {
    let allowed = |name: &str| exceptions.iter().find(|(known, _)| *known == name);
    let mut violations: Vec<String> = found
        .iter()
        .filter(|(name, size)| *size > allowed(name).map_or(most, |(_, size)| *size))
        .map(|(name, size)| format!("{name}: {size} {unit}, at most {most}"))
        .collect();
    for (name, _) in exceptions {
        let is_needed = found
            .iter()
            .any(|(known, size)| known == name && *size > most);
        if !is_needed {
            violations.push(format!("{name}: needs no exception any more"));
        }
    }
    violations
}

/// Items larger than their own limit, and limits of items that do not exist.
fn beyond_own(found: &[(String, usize)], limits: &[(&str, usize)], unit: &str) -> Vec<String> {
    let violations = |&(name, most): &(&str, usize)| match found
        .iter()
        .find(|(known, _)| known == name)
    {
        Some((_, size)) if *size > most => Some(format!("{name}: {size} {unit}, at most {most}")),
        Some(_) => None,
        None => Some(format!("{name}: there is no such item")),
    };
    limits.iter().filter_map(violations).collect()
}

/// Functions with a body, and their lines from `fn` to the last brace.
fn functions(tokens: &[Token]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let Some(name) = tokens.get(i + 1).filter(|_| token.text == "fn") else {
            continue;
        };
        if let Some((_, close)) = body(tokens, i)
            && name.text != "("
        {
            found.push((name.text.clone(), tokens[close].line - token.line + 1));
        }
    }
    found
}

/// Structs with named fields, and their numbers of fields.
fn structs(tokens: &[Token]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (i, token) in tokens.iter().enumerate() {
        let Some(name) = tokens.get(i + 1).filter(|_| token.text == "struct") else {
            continue;
        };
        let Some((open, close)) = body(tokens, i) else {
            continue;
        };
        let (mut depth, mut fields) = (0, 0);
        for token in &tokens[open..close] {
            match token.text.as_str() {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                ":" if depth == 1 => fields += 1,
                _ => {}
            }
        }
        found.push((name.text.clone(), fields));
    }
    found
}

/// The braces of the item that begins at token `from`; `None` if it has none.
fn body(tokens: &[Token], from: usize) -> Option<(usize, usize)> {
    let mut depth = 0;
    let mut open = None;
    for (i, token) in tokens.iter().enumerate().skip(from) {
        match token.text.as_str() {
            ";" if depth == 0 => return None,
            "{" => {
                if depth == 0 {
                    open = Some(i);
                }
                depth += 1;
            }
            "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    return open.map(|open| (open, i));
                }
            }
            _ => {}
        }
    }
    None
}

/// Retired words that occur in names of src, of the tests, kernels and shaders, and in keys of src: as a whole name, and as
/// a part of one (`asked` in `is_asked_for` and `AskedRegion`) unless the word is plain there.
fn retired(files: &[File], list: &[&str]) -> Vec<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    for file in files {
        let is_source = file.path.starts_with("src/");
        let is_other = ["tests/", "kernels/", "shaders/"];
        if !is_source && !is_other.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        let names = tokens(&file.text).into_iter().map(|token| token.text);
        // Tests declare no keys, but this file contains planted ones.
        let keys = match is_source {
            true => keys(&file.text),
            false => Vec::new(),
        };
        for name in names.chain(keys) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let names: Vec<(Vec<String>, &str, usize)> = counts
        .iter()
        .filter(|(name, _)| !FOREIGN_NAMES.contains(&name.as_str()))
        .map(|(name, count)| (parts(name), name.as_str(), *count))
        .collect();
    let violation = |word: &&str| {
        let sought = parts(word);
        let contains = |parts: &[String]| {
            !PLAIN_IN_NAMES.contains(word) && parts.windows(sought.len()).any(|some| some == sought)
        };
        let with_word = names
            .iter()
            .filter(|(parts, name, _)| name == word || contains(parts));
        let found: Vec<String> = with_word
            .map(|(_, name, count)| format!("{name} ({count} times)"))
            .collect();
        (!found.is_empty())
            .then(|| format!("{word} is retired: {}: see the glossary", found.join(", ")))
    };
    list.iter().filter_map(violation).collect()
}

/// Uses of a forbidden name in src and in the tests: as a function, parameter, variable or field. Only a path to an item of
/// another crate may end with one (`TypeId::of`).
fn without_name(file: &File) -> Vec<String> {
    if !file.path.starts_with("src/") && !file.path.starts_with("tests/") {
        return Vec::new();
    }
    let tokens = tokens(&file.text);
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let is_in_path = |i: usize| i > 0 && text(i - 1) == "::";
    let is_forbidden = |i: usize| NO_NAMES.contains(&text(i)) && !is_in_path(i);
    let places = (0..tokens.len()).filter(|&i| is_forbidden(i));
    let violation = |i: usize| {
        let line = tokens[i].line;
        format!("{}:{line}: name it by what it is or computes", file.path)
    };
    places.map(violation).collect()
}

/// The words of the strings in attributes of serde and in declarations of keys: names in files, and functions.
fn keys(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (opening, closing) in [("#[serde(", ")]"), ("keyed!(", "});")] {
        for (begin, _) in source.match_indices(opening) {
            let rest = &source[begin..];
            let end = rest.find(closing).unwrap_or(rest.len());
            let strings = rest[..end].split('"').skip(1).step_by(2);
            let pieces = strings.flat_map(|s| s.split(|c: char| c != '_' && !c.is_alphanumeric()));
            found.extend(pieces.map(str::to_owned));
        }
    }
    found
}

/// The words of a name in snake_case or CamelCase, in lower case.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let letters: Vec<char> = name.chars().collect();
    for (i, letter) in letters.iter().enumerate() {
        let before = i.checked_sub(1).map(|k| letters[k]);
        let after = letters.get(i + 1);
        // `DWIScan` has the words `DWI` and `Scan`.
        let begins = letter.is_uppercase()
            && before.is_some_and(|b| !b.is_uppercase() || after.is_some_and(|a| a.is_lowercase()));
        if begins || *letter == '_' {
            parts.push(String::new());
        }
        if *letter != '_' {
            parts
                .last_mut()
                .expect("one part at least")
                .extend(letter.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn planted_sizes() {
    let text = "fn short() {}\nfn long<T: Copy>(a: [T; 2])\nwhere\n    T: Clone,\n{\n    if a {\n    }\n}\ntrait A {\n    fn none(&self);\n}\nfn type_of(f: fn(u8)) {\n}\n";
    let expected = [("short", 1), ("long", 7), ("type_of", 2)];
    let expected = expected.map(|(name, lines)| (name.to_owned(), lines));
    assert_eq!(functions(&tokens(text)), expected);
    let text = "struct Unit;\nstruct Pair(u8, u8);\nstruct Wide<T: Copy> {\n    /// a: b\n    pub a: std::sync::Arc<T>,\n    b: fn(x: u8) -> u8,\n    c: [u8; 3],\n}\n";
    assert_eq!(structs(&tokens(text)), [("Wide".to_owned(), 3)]);
    let found = [("a f".to_owned(), 12), ("a g".to_owned(), 9)];
    assert_eq!(beyond(&found, 10, &[], "lines").len(), 1);
    assert_eq!(beyond(&found, 10, &[("a f", 12)], "lines").len(), 0);
    assert_eq!(beyond(&found, 10, &[("a f", 11)], "lines").len(), 1);
    assert_eq!(beyond(&found, 12, &[("a f", 12)], "lines").len(), 1);
    assert_eq!(beyond_own(&found, &[("a f", 12)], "lines").len(), 0);
    assert_eq!(beyond_own(&found, &[("a f", 11)], "lines").len(), 1);
    assert_eq!(beyond_own(&found, &[("a h", 12)], "lines").len(), 1);
}

fn planted_without_name() {
    let count = |path: &str, text: &str| {
        let (path, text) = (path.to_owned(), text.to_owned());
        without_name(&File { path, text }).len()
    };
    for text in [
        "fn of(x: u8) -> u8 { x }",
        "pub fn of<T>(x: T) {}",
        "fn f() { let of = |x: u8| x; }",
        "fn f() { let mut of = || 1; }",
        "fn f() { let of = move |x| x; }",
        "fn f() { let of: u8 = 1; }",
        "fn f(of: u8) {}",
        "fn f((a, of): (u8, u8)) {}",
        "fn f() { g(|of| 1); }",
        "fn f() { g(|a: u8, &of| 1); }",
        "fn f() { for of in g() {} }",
        "fn f() { for (of, a) in g() {} }",
        "fn f() { if let Some(of) = g() {} }",
        "fn f() { match g() { A::B(of) => {} } }",
        "fn f(a: A) { let A { of, .. } = a; }",
        "struct A { of: u8 }",
    ] {
        assert_eq!(count("src/a.rs", text), 1, "{text}");
        assert_eq!(count("tests/a.rs", text), 1, "{text}");
        assert_eq!(count("kernels/a.cu", text), 0, "{text}");
    }
    for text in [
        "fn of_mask(x: u8) {}",
        "fn f() { TypeId::of::<u8>(); }",
        "fn f() { g(\"of\"); }",
        "fn f() { let of_voxel = |x: u8| x; }",
        "// fn of(x: u8)",
    ] {
        assert_eq!(count("src/a.rs", text), 0, "{text}");
    }
}

fn planted_names() {
    let file = |path: &str| File {
        path: path.to_owned(),
        text: "struct Voice; // Voice\nfn f(v: Voice) { \"Voice\" }".to_owned(),
    };
    for (path, count) in [
        ("src/a.rs", 1),
        ("tests/a.rs", 1),
        ("kernels/a.cu", 1),
        ("shaders/a.wgsl", 1),
        ("assets/a.rs", 0),
    ] {
        assert_eq!(retired(&[file(path)], &["Voice"]).len(), count, "{path}");
    }
    let [both] = &retired(&[file("src/a.rs"), file("tests/a.rs")], &["Voice"])[..] else {
        panic!("one violation for each word")
    };
    assert!(both.contains("Voice (4 times)"), "{both}");
    assert_eq!(parts("is_asked_for"), ["is", "asked", "for"]);
    assert_eq!(
        parts("MOST_PointsDWIScan2"),
        ["most", "points", "dwi", "scan2"]
    );
    let one = |name: &str| {
        [File {
            path: "src/a.rs".to_owned(),
            text: format!("fn {name}() {{}} // asked\n"),
        }]
    };
    for name in [
        "asked",
        "is_asked_for",
        "ASKED_MM",
        "AskedRegion",
        "wasAsked",
    ] {
        assert_eq!(retired(&one(name), &["asked"]).len(), 1, "{name}");
    }
    for name in ["basked", "masked_region", "Unmasked", "task_ed"] {
        assert_eq!(retired(&one(name), &["asked"]).len(), 0, "{name}");
    }
    // Keys of files.
    for text in [
        "#[serde(default, rename = \"asked\")]\nb: u8,",
        "#[serde(\n    skip_serializing_if = \"A::is_asked\"\n)]",
        "keyed!(A {\n    B = \"as-asked\",\n});",
    ] {
        let file = [File {
            path: "src/a.rs".to_owned(),
            text: text.to_owned(),
        }];
        assert_eq!(retired(&file, &["asked"]).len(), 1, "{text}");
    }
    // Words in a row, in the same order.
    assert_eq!(retired(&one("must_take_in_all"), &["take_in"]).len(), 1);
    assert_eq!(retired(&one("in_take"), &["take_in"]).len(), 0);
    // Plain within other names, and names of other crates.
    assert_eq!(retired(&one("Place"), &["Place"]).len(), 1);
    assert_eq!(retired(&one("rename_into_place"), &["Place"]).len(), 0);
    assert_eq!(retired(&one("PointingHand"), &["Hand"]).len(), 0);
}
