//! Imports, the places of code, and files that belong together: holds the sources to `architecture/tables.rs`.

use crate::planted;
use crate::source::{paths, tokens};
use crate::support::test;
use crate::tables::Take::{All, Only, Types};
use crate::tables::{
    BELOW, DISK_METHODS, DISK_QUESTIONS, MAX_LINES, MAX_LINES_IN, MAY_IMPORT, MAY_IMPORT_AT,
    MAY_WAIT, NEVER_WAITS, RESERVED, SOLVERS, STEMS, Take, UNSAFE, WITHOUT_FORM,
};
use libtest_mimic::Trial;
use std::path::Path;

pub fn tests() -> Vec<Trial> {
    let own = vec![
        test("architecture::imports", || {
            report(tree().iter().flat_map(imports))
        }),
        test("architecture::file lengths", || {
            report(tree().iter().filter_map(length));
        }),
        test("architecture::stems", || report(stems(&names()))),
    ];
    own.into_iter().chain(planted::tests()).collect()
}

pub fn report(violations: impl IntoIterator<Item = String>) {
    let violations: Vec<_> = violations.into_iter().collect();
    assert!(
        violations.is_empty(),
        "against tests/architecture/tables.rs:\n{}",
        violations.join("\n")
    );
}

/// A source file: its path from the repository's root, with `/`, and its text.
pub struct File {
    pub path: String,
    pub text: String,
}

/// Every Rust, WGSL and CUDA file of the repository.
pub fn tree() -> Vec<File> {
    let root = crate::support::root();
    let read = |path: String| File {
        text: std::fs::read_to_string(root.join(&path)).unwrap(),
        path,
    };
    let is_source = |path: &String| {
        [".rs", ".wgsl", ".cu", ".cuh"]
            .iter()
            .any(|e| path.ends_with(e))
    };
    names().into_iter().filter(is_source).map(read).collect()
}

/// Paths of all files under the folders that hold sources, with `/`.
pub fn names() -> Vec<String> {
    fn walk(folder: &Path, name: &str, found: &mut Vec<String>) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        for entry in entries {
            let entry = entry.unwrap();
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), &name, found);
            } else {
                found.push(name);
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["src", "tests", "shaders", "kernels"] {
        walk(&crate::support::root().join(folder), folder, &mut found);
    }
    found.sort();
    assert!(found.iter().any(|name| name == "src/lib.rs"), "{found:?}");
    found
}

/// `["ui", "forms", "tracking"]` for src/ui/forms/tracking.rs, `["ui"]` for src/ui/mod.rs and `["data", "grid"]` for
/// src/engine/data/grid.rs; `None` outside src.
pub fn module_of(path: &str) -> Option<Vec<&str>> {
    let inner = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    let inner = inner.strip_prefix("engine/").unwrap_or(inner);
    Some(
        inner
            .strip_suffix("/mod")
            .unwrap_or(inner)
            .split('/')
            .collect(),
    )
}

fn is_at(module: &[&str], places: &[&str]) -> bool {
    let matches = |place: &str| {
        let parts: Vec<&str> = place.split('/').collect();
        parts.len() <= module.len() && parts.iter().zip(module).all(|(p, m)| *p == "*" || p == m)
    };
    places.iter().any(|place| matches(place))
}

pub fn length(file: &File) -> Option<String> {
    let lines = file.text.lines().count();
    let own = MAX_LINES_IN.iter().find(|(path, _)| *path == file.path);
    let most = own.map_or(MAX_LINES, |(_, most)| *most);
    (lines == 0 || lines > most)
        .then(|| format!("{}: {lines} lines, at least 1, at most {most}", file.path))
}

pub fn imports(file: &File) -> Vec<String> {
    let Some(module) = module_of(&file.path) else {
        return Vec::new();
    };
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == module[0]) else {
        return vec![format!(
            "{}: {} is not a module of the table",
            file.path, module[0]
        )];
    };
    let at_place = MAY_IMPORT_AT.iter().find(|(at, _)| is_at(&module, &[*at]));
    let allowed = at_place.map_or(allowed, |(_, allowed)| allowed);
    let tokens = tokens(&file.text);
    let mut violations = Vec::new();
    let mut forbid = |line: usize, what: String| {
        violations.push(format!("{}:{line}: {what}", file.path));
    };
    if !is_at(&module, UNSAFE) {
        for token in tokens.iter().filter(|token| token.text == "unsafe") {
            forbid(token.line, format!("unsafe belongs in {UNSAFE:?}"));
        }
    }
    for window in tokens.windows(3) {
        if let ["[" | "(", "test", "]" | ")"] = [0, 1, 2].map(|k| window[k].text.as_str()) {
            forbid(window[0].line, "tests live in tests/".to_owned());
        }
    }
    if !is_at(&module, &["io/disk"]) {
        for pair in tokens.windows(2) {
            if pair[0].text == "." && DISK_METHODS.contains(&pair[1].text.as_str()) {
                forbid(pair[1].line, format!("{} belongs in io/disk", pair[1].text));
            }
        }
    }
    if is_at(&module, NEVER_WAITS) && !is_at(&module, MAY_WAIT) {
        for triple in tokens.windows(3) {
            let [before, name, after] = [0, 1, 2].map(|i| triple[i].text.as_str());
            if matches!(before, "." | "::") && after == "(" && DISK_QUESTIONS.contains(&name) {
                forbid(triple[1].line, format!("{name} belongs in a job"));
            }
        }
    }
    // main.rs and lib.rs are the crate's root, not modules in it.
    let root = matches!(module[..], ["main" | "lib"]);
    for path in paths(&tokens, if root { &[] } else { &module }) {
        let names: Vec<&str> = path.segments.iter().map(String::as_str).collect();
        let shown = names.join("::");
        if let ["crate" | "arcuate" | "arcuate_engine", other, rest @ ..] = names.as_slice() {
            let known = MAY_IMPORT.iter().any(|(name, _)| name == other);
            let own = root && names[0] != "arcuate";
            if BELOW
                .iter()
                .any(|(place, above)| is_at(&module, &[place]) && names[1..].starts_with(above))
            {
                forbid(path.line, format!("{} stands below {shown}", file.path));
            }
            if known && *other != module[0] && !own && !may_take(allowed, other, rest) {
                forbid(path.line, format!("{} may not import {shown}", module[0]));
            }
            if let (["solvers", solver, ..], "solvers", [used, ..]) = (&module[..], *other, rest)
                && !may_use(solver, used)
            {
                forbid(path.line, format!("solvers/{solver} may not use {shown}"));
            }
            // A solver without a kernel for an accelerator need not depend on accelerators.
            if module[0] != "compute" && rest.windows(2).any(is_kind) {
                forbid(path.line, format!("{shown}: ask Backend::accelerator"));
            }
            continue;
        }
        let names = without_reexports(&names);
        if let Some(rule) = RESERVED.iter().find(|rule| names.starts_with(rule.what))
            && (!is_at(&module, rule.places) || is_at(&module, rule.but_not))
        {
            forbid(path.line, format!("{shown} belongs in {:?}", rule.places));
        }
    }
    violations
}

/// Whether a solver may use another solver, or a module common to all.
fn may_use(solver: &str, used: &str) -> bool {
    let row = |name: &str| SOLVERS.iter().find(|(known, _)| *known == name);
    used == solver || row(used).is_none() || row(solver).is_some_and(|(_, may)| may.contains(&used))
}

/// A variant of the backend.
fn is_kind(names: &[&str]) -> bool {
    matches!(names, ["Backend", "Cpu" | "Cuda"])
}

fn may_take(allowed: &[(&str, Take)], other: &str, rest: &[&str]) -> bool {
    let capital = |name: &str| name.starts_with(char::is_uppercase);
    match allowed.iter().find(|(name, _)| *name == other) {
        None => false,
        Some((_, All)) => true,
        Some((_, Only(names))) => rest.first().is_some_and(|first| names.contains(first)),
        // A module may be imported; the items used from it are checked by their full paths.
        Some((_, Types)) => match rest {
            [] => true,
            [one] => capital(one) || is_module(&format!("{other}/{one}")),
            names => names.iter().any(|name| capital(name)),
        },
    }
}

/// `place` ("solvers/tracking") is a separate module in src.
fn is_module(place: &str) -> bool {
    ["src", "src/engine"].iter().any(|root| {
        let root = crate::support::root().join(root);
        root.join(place).is_dir() || root.join(format!("{place}.rs")).is_file()
    })
}

/// eframe and egui_wgpu re-export egui and wgpu: the crate actually meant.
fn without_reexports<'a>(names: &'a [&'a str]) -> &'a [&'a str] {
    match names {
        ["eframe" | "egui_wgpu", "egui" | "egui_wgpu" | "wgpu", ..] => {
            without_reexports(&names[1..])
        }
        _ => names,
    }
}

/// Missing counterparts among the files `names`.
pub fn stems(names: &[String]) -> Vec<String> {
    let has = |path: &str| names.iter().any(|name| name == path);
    let any_in = |folder: &str| names.iter().any(|name| name.starts_with(folder));
    let mut missing = Vec::new();
    let mut demand = |path: String, because: &str| {
        if !has(&path) {
            missing.push(format!("{path} is missing: {because}"));
        }
    };

    for (stem, command) in STEMS {
        let folder = format!("src/engine/solvers/{stem}/");
        let because = format!("{folder} exists");
        // A folder that contains only mod.rs has agreed types, but no implementation yet; a small solver is one file.
        let written = has(&format!("src/engine/solvers/{stem}.rs"))
            || names
                .iter()
                .any(|name| name.starts_with(&folder) && *name != format!("{folder}mod.rs"));
        if !written {
            continue;
        }
        demand(format!("tests/solvers/{stem}.rs"), &because);
        if let Some(command) = command {
            if any_in("src/ui/forms/") && !WITHOUT_FORM.contains(stem) {
                demand(format!("src/ui/forms/{stem}.rs"), &because);
            }
            if any_in("src/cli/") {
                demand(format!("src/cli/{command}.rs"), &because);
            }
        }
        if has(&format!("{folder}cuda.rs")) {
            demand(
                format!("kernels/{stem}.cu"),
                &format!("{folder}cuda.rs exists"),
            );
        }
    }
    for name in names {
        if let Some(shader) = name
            .strip_prefix("shaders/")
            .and_then(|n| n.strip_suffix(".wgsl"))
            && shader != "common"
        {
            demand(format!("src/render/{shader}.rs"), &format!("{name} exists"));
        }
        if let Some(kernel) = name
            .strip_prefix("kernels/")
            .and_then(|n| n.strip_suffix(".cu"))
            // The self-test of a card belongs to no solver.
            && kernel != "probe"
        {
            demand(
                format!("src/engine/solvers/{kernel}/cuda.rs"),
                &format!("{name} exists"),
            );
        }
    }
    for stem in WITHOUT_FORM {
        let form = format!("src/ui/forms/{stem}.rs");
        if has(&form) {
            missing.push(format!("{form} exists: take it off WITHOUT_FORM"));
        }
    }
    for name in names {
        if let Some((stem, _)) = name
            .strip_prefix("src/engine/solvers/")
            .and_then(|n| n.split_once('/').or_else(|| n.split_once(".rs")))
            && stem != "mod"
            && !STEMS.iter().any(|(known, _)| *known == stem)
        {
            missing.push(format!("{name}: {stem} is not a stem of the table"));
        }
    }
    missing
}
