//! Ranks inside `state`: a file uses files of its own rank or lower, and a feature uses features to its left in
//! [`FEATURES`].

use crate::rules::{File, module_of, names, report, tree};
use crate::source::{paths, tokens};
use crate::support::test;
use crate::tables::FEATURES;
use libtest_mimic::Trial;
use std::collections::BTreeSet;

pub fn tests() -> Vec<Trial> {
    vec![
        test("architecture::ranks inside state", || {
            report(found(&tree()));
        }),
        test("architecture::features", || report(unlisted(&names()))),
        test("architecture::planted ranks", planted_ranks),
        test("architecture::planted features", planted_features),
    ]
}

/// 1: `core`, which depends on no feature; 2: a feature's types and recipes; 3: the document and its neighbours; 4:
/// updates and jobs of a feature; 5: the code that runs all features.
fn rank(module: &[&str]) -> u8 {
    match module {
        ["core", ..] => 1,
        [feature] if FEATURES.contains(feature) => 2,
        [_, "types" | "recipe" | "mod", ..] => 2,
        ["update" | "methods" | "report" | "changes", ..] => 5,
        [feature, ..] if FEATURES.contains(feature) => 4,
        _ => 3,
    }
}

/// Uses of a higher rank in files of `state`.
fn found(files: &[File]) -> Vec<String> {
    let inside = |file: &File| {
        let module = module_of(&file.path)?;
        let module: Vec<String> = module.iter().map(|&m| m.to_owned()).collect();
        (module[0] == "state").then_some(module)
    };
    let modules: BTreeSet<Vec<String>> = files.iter().filter_map(inside).collect();
    let mut wrong = Vec::new();
    for file in files {
        let Some(module) = inside(file) else {
            continue;
        };
        let own: Vec<&str> = module.iter().map(String::as_str).collect();
        // A folder's first file lists its modules.
        if file.path.ends_with("/mod.rs") && own.len() < 3 {
            continue;
        }
        for path in paths(&tokens(&file.text), &own) {
            let Some(used) = target(&path.segments, &modules) else {
                continue;
            };
            if !may_use(&own[1..], &used[1..]) {
                let (place, used) = (&file.path, used.join("::"));
                wrong.push(format!("{place}:{}: {used} has a higher rank", path.line));
            }
        }
    }
    wrong
}

/// The module of `state` that a path leads into; `None` if it leads elsewhere, or to the state itself.
fn target<'a>(segments: &'a [String], modules: &BTreeSet<Vec<String>>) -> Option<Vec<&'a str>> {
    let rest = match segments {
        [krate, rest @ ..] if krate == "crate" => rest,
        _ => return None,
    };
    let lengths = (2..=rest.len()).rev();
    let length = lengths
        .into_iter()
        .find(|&n| modules.contains(&rest[..n]))?;
    Some(rest[..length].iter().map(String::as_str).collect())
}

fn may_use(own: &[&str], used: &[&str]) -> bool {
    let place = |module: &[&str]| FEATURES.iter().position(|f| module.first() == Some(f));
    let (from, to) = (rank(own), rank(used));
    let same_feature = own.first() == used.first();
    match (place(own), place(used)) {
        (Some(own), Some(used)) if from == 4 && to == 4 => used <= own,
        _ => to <= from || same_feature && from >= 2,
    }
}

/// Folders of `state` that [`FEATURES`] does not list, and features without a folder. An unlisted feature would have no
/// ranks.
fn unlisted(names: &[String]) -> Vec<String> {
    let folder = |name: &String| {
        let inner = name.strip_prefix("src/state/")?.strip_suffix("/mod.rs")?;
        (!inner.contains('/') && !["core", "update"].contains(&inner)).then(|| inner.to_owned())
    };
    let folders: BTreeSet<String> = names.iter().filter_map(folder).collect();
    let missing = folders.iter().filter(|f| !FEATURES.contains(&f.as_str()));
    let missing = missing.map(|f| format!("src/state/{f}: FEATURES does not list it"));
    let gone = FEATURES.iter().filter(|f| !folders.contains(**f));
    let gone = gone.map(|f| format!("{f} of FEATURES has no folder in src/state"));
    missing.chain(gone).collect()
}

fn planted_features() {
    let all = FEATURES.iter().map(|f| format!("src/state/{f}/mod.rs"));
    let mut all: Vec<String> = all.collect();
    all.extend(["core", "update"].map(|f| format!("src/state/{f}/mod.rs")));
    assert_eq!(unlisted(&all), [""; 0]);
    assert_eq!(unlisted(&all[1..]).len(), 1);
    all.push("src/state/wall/mod.rs".to_owned());
    assert_eq!(unlisted(&all).len(), 1);
}

fn planted_ranks() {
    let file = |path: &str, text: &str| File {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let files = |text: &str, at: &str| {
        let mut files = vec![
            file("src/state/mod.rs", ""),
            file("src/state/document.rs", ""),
            file("src/state/core/live.rs", ""),
            file("src/state/update/mod.rs", ""),
            file("src/state/track/update.rs", ""),
            file("src/state/filter/types.rs", ""),
            file("src/state/filter/update.rs", ""),
        ];
        files.retain(|f| f.path != at);
        files.push(file(at, text));
        files
    };
    let cases = [
        (
            "src/state/core/live.rs",
            "use crate::state::document::Document;",
            1,
        ),
        (
            "src/state/filter/types.rs",
            "use crate::state::core::live::Live;",
            0,
        ),
        (
            "src/state/filter/types.rs",
            "use crate::state::document::Document;",
            1,
        ),
        (
            "src/state/track/update.rs",
            "fn f() { crate::state::filter::update::follow() }",
            1,
        ),
        (
            "src/state/filter/update.rs",
            "use crate::state::track::update::follow;",
            0,
        ),
        (
            "src/state/filter/update.rs",
            "use super::types::Settings;",
            0,
        ),
        (
            "src/state/track/update.rs",
            "use crate::state::update::update;",
            1,
        ),
        (
            "src/state/core/live.rs",
            "use crate::state::filter::types::Settings;",
            1,
        ),
        (
            "src/state/filter/types.rs",
            "use crate::state::track::update::follow;",
            1,
        ),
        (
            "src/state/document.rs",
            "use crate::state::track::update::follow;",
            1,
        ),
        (
            "src/state/update/mod.rs",
            "use crate::state::filter::update::follow;",
            0,
        ),
    ];
    for (at, text, expected) in cases {
        let found = found(&files(text, at));
        assert_eq!(found.len(), expected, "{at}: {text}: {found:?}");
    }
}
