//! Ranks inside `state`: a file uses files of its own rank or lower, and a feature uses features to its left in
//! [`FEATURES`].

use crate::rules::{File, module_of, names, report, tree};
use crate::source::{definitions, paths, reexports, tokens};
use crate::support::test;
use crate::tables::FEATURES;
use libtest_mimic::Trial;
use std::collections::{BTreeMap, BTreeSet};

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

/// 1: `core`, which depends on no feature; 2: a feature's types and recipes, and the view, which is types as well; 3: the
/// document and its neighbours, and a feature's runtime state that contains documents or jobs; 4: updates and jobs of a
/// feature; 5: the code that runs all features.
fn rank(module: &[&str]) -> u8 {
    match module {
        ["core", ..] => 1,
        [feature] if FEATURES.contains(feature) => 2,
        ["view"] | [_, "types" | "recipe" | "mod", ..] => 2,
        [_, "runtime"] => 3,
        ["update" | "methods" | "report" | "changes", ..] => 5,
        [feature, ..] if FEATURES.contains(feature) => 4,
        _ => 3,
    }
}

/// Uses of a higher rank in files of `state`.
fn found(files: &[File]) -> Vec<String> {
    let names = Names(files.iter().filter_map(module_names).collect());
    let mut violations = Vec::new();
    for file in files {
        let Some(module) = module_of_state(file) else {
            continue;
        };
        let own: Vec<&str> = module.iter().map(String::as_str).collect();
        // A folder's first file lists its modules.
        if file.path.ends_with("/mod.rs") && own.len() < 3 {
            continue;
        }
        for path in paths(&tokens(&file.text), &own) {
            let Some(used) = names.module_of(&path.segments) else {
                continue;
            };
            let inner: Vec<&str> = used[1..].iter().map(String::as_str).collect();
            if !may_use(&own[1..], &inner) {
                let (place, path_used) = (&file.path, path.segments.join("::"));
                let (line, used) = (path.line, used.join("::"));
                violations.push(format!(
                    "{place}:{line}: {path_used}, of {used}, has a higher rank"
                ));
            }
        }
    }
    violations
}

/// `["state", "track", "update"]` for src/state/track/update.rs; `None` outside of `state`.
fn module_of_state(file: &File) -> Option<Vec<String>> {
    let module = module_of(&file.path)?;
    let module: Vec<String> = module.iter().map(|&m| m.to_owned()).collect();
    (module[0] == "state").then_some(module)
}

fn module_names(file: &File) -> Option<(Vec<String>, ModuleNames)> {
    let module = module_of_state(file)?;
    let own: Vec<&str> = module.iter().map(String::as_str).collect();
    let tokens = tokens(&file.text);
    let names = ModuleNames {
        defined: definitions(&tokens),
        reexported: reexports(&tokens, &own),
    };
    Some((module, names))
}

/// The names that other modules may use from one.
struct ModuleNames {
    defined: BTreeSet<String>,
    /// The re-exported names, each with its full path; `*` for all names of a module.
    reexported: Vec<(String, Vec<String>)>,
}

/// The modules of `state`.
struct Names(BTreeMap<Vec<String>, ModuleNames>);

impl Names {
    /// The module of `state` that defines what a path names, also if the path leads through re-exports; `None` if it
    /// leads elsewhere, or names the module `state` itself.
    fn module_of(&self, segments: &[String]) -> Option<Vec<String>> {
        let mut path = inner(segments)?.to_vec();
        // A bound keeps the test from hanging on re-exports in a circle, which do not compile.
        for _ in 0..8 {
            match self.reexported(&path) {
                Some(defined) => path = inner(&defined)?.to_vec(),
                None => break,
            }
        }
        let length = (1..=path.len())
            .rev()
            .find(|&n| self.0.contains_key(&path[..n]))?;
        (path.len() > 1).then(|| path[..length].to_vec())
    }

    /// The path behind a re-export.
    fn reexported(&self, path: &[String]) -> Option<Vec<String>> {
        (1..path.len()).rev().find_map(|n| {
            let (module, rest) = path.split_at(n);
            let names = self.0.get(module)?;
            if self.0.contains_key(&path[..=n]) || names.defined.contains(&rest[0]) {
                return None;
            }
            let mut full = self.export(&names.reexported, &rest[0])?;
            full.extend_from_slice(&rest[1..]);
            Some(full)
        })
    }

    /// The path of a name among re-exports, also if one of them is of all names of a module.
    fn export(&self, all: &[(String, Vec<String>)], name: &str) -> Option<Vec<String>> {
        if let Some((_, full)) = all.iter().find(|(exported, _)| exported == name) {
            return Some(full.clone());
        }
        let globs = all.iter().filter(|(exported, _)| exported == "*");
        globs.into_iter().find_map(|(_, full)| {
            let (_, from) = full.split_last()?;
            let names = self.0.get(inner(from)?)?;
            if names.defined.contains(name) {
                return Some([from, &[name.to_owned()]].concat());
            }
            let mut named = names.reexported.iter();
            named
                .find(|(exported, _)| exported == name)
                .map(|(_, full)| full.clone())
        })
    }
}

/// A path in the crate without `crate`.
fn inner(segments: &[String]) -> Option<&[String]> {
    match segments {
        [krate, rest @ ..] if krate == "crate" => Some(rest),
        _ => None,
    }
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
            file(
                "src/state/mod.rs",
                "pub mod document; pub mod filter; pub mod update; pub use crate::jobs::Slot;
                 pub use document::{Document, Document as Everything}; pub use update::update;
                 pub struct State;",
            ),
            file("src/state/document.rs", ""),
            file("src/state/view.rs", ""),
            file("src/state/core/live.rs", ""),
            file("src/state/update/mod.rs", ""),
            file("src/state/track/update.rs", ""),
            file(
                "src/state/filter/mod.rs",
                "mod runtime; mod types; mod update; pub use runtime::*; pub use types::*;
                 pub(in crate::state) use update::follow;",
            ),
            file(
                "src/state/filter/types.rs",
                "pub use super::update::Work; pub enum Settings {}",
            ),
            file("src/state/filter/runtime.rs", "pub struct Fitting;"),
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
        (
            "src/state/filter/types.rs",
            "use crate::state::view::View;",
            0,
        ),
        (
            "src/state/view.rs",
            "use crate::state::document::Document;",
            1,
        ),
        (
            "src/state/filter/runtime.rs",
            "use crate::state::document::Document;",
            0,
        ),
        (
            "src/state/document.rs",
            "use crate::state::filter::runtime::Runtime;",
            0,
        ),
        (
            "src/state/track/types.rs",
            "use crate::state::filter::runtime::Runtime;",
            1,
        ),
        // Uses through re-exports.
        (
            "src/state/filter/types.rs",
            "use crate::state::Document;",
            1,
        ),
        (
            "src/state/filter/types.rs",
            "use crate::state::Everything;",
            1,
        ),
        (
            "src/state/filter/types.rs",
            "use crate::state::{Slot, update};",
            1,
        ),
        (
            "src/state/filter/types.rs",
            "impl crate::state::State {}",
            1,
        ),
        (
            "src/state/filter/types.rs",
            "fn f(slot: crate::state::Slot) {}",
            0,
        ),
        (
            "src/state/track/update.rs",
            "use crate::state::{Document, State};",
            0,
        ),
        (
            "src/state/core/live.rs",
            "use crate::state::filter::Settings;",
            1,
        ),
        (
            "src/state/document.rs",
            "use crate::state::filter::Settings;",
            0,
        ),
        (
            "src/state/document.rs",
            "use crate::state::filter::follow;",
            1,
        ),
        (
            "src/state/document.rs",
            "use crate::state::filter::Fitting;",
            0,
        ),
        (
            "src/state/track/types.rs",
            "use crate::state::filter::{Fitting, Settings};",
            1,
        ),
        (
            "src/state/document.rs",
            "use crate::state::filter::Work;",
            1,
        ),
    ];
    for (at, text, expected) in cases {
        let found = found(&files(text, at));
        assert_eq!(found.len(), expected, "{at}: {text}: {found:?}");
    }
}
