//! A value that a table does not list could be set by no option, checked by no limit and named by no text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Fields that no row sets: the struct, the field, and why.
const WITHOUT_ROW: &[(&str, &str, &str)] = &[
    ("Params", "from", "the present position of the images"),
    ("Params", "metric", "has a table of its own"),
    ("Params", "target", "set by the table of the target's parts"),
    (
        "Params",
        "tolerance",
        "set by the table of the target's parts",
    ),
    (
        "DirectionParts",
        "towards",
        "three numbers in the text of the whole value",
    ),
    ("GlyphLook", "shown", "set by an action of the view"),
    ("GlyphLook", "content", "set by an action of the view"),
    ("GlyphLook", "distributions", "has a table of its own"),
    ("GlyphLook", "place", "set by an action of the view"),
    ("GlyphLook", "scaled_by", "set by an action of the view"),
    ("GlyphLook", "peaks", "set by an action of the view"),
    ("GlyphLook", "shape", "set by an action of the view"),
    ("OdfLook", "place", "set by an action of the view"),
];

/// All source files of the program.
fn sources() -> Vec<(PathBuf, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../src")];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                sources.push((path, text));
            }
        }
    }
    sources
}

/// The structs with a table in a source file.
fn tables_in(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines();
    let names = lines.filter_map(|line| line.strip_prefix("impl Parameters for "));
    names.map(|name| name.trim_end_matches(" {"))
}

/// The list of tests has a line for each `impl Parameters for …` of the program, and no table twice.
pub fn all_tested() {
    let mut tables = Vec::new();
    for (path, text) in sources() {
        let path = path.display();
        tables.extend(tables_in(&text).map(|name| format!("{name} in {path}")));
    }
    let list = include_str!("../parameters.rs")
        .split("\n}\n")
        .next()
        .unwrap();
    let tested: Vec<&str> = list
        .split("table::<")
        .skip(1)
        .filter_map(|line| line.split('>').next())
        .collect();
    let distinct: BTreeSet<&&str> = tested.iter().filter(|name| **name != "Sample").collect();
    assert_eq!(distinct.len() + 1, tested.len(), "{tested:?}");
    assert_eq!(distinct.len(), tables.len(), "{tables:#?}");
}

/// Each field of a struct with a table is read by one of its rows.
pub fn rows_of_fields() {
    let sources = sources();
    let mut missing = Vec::new();
    let mut exceptions = Vec::new();
    for (path, text) in &sources {
        for name in tables_in(text) {
            let fields = fields_of(name, path, &sources);
            assert!(!fields.is_empty(), "{name} in {}", path.display());
            for field in fields.iter().filter(|field| !has_row(text, name, field)) {
                let known = WITHOUT_ROW
                    .iter()
                    .position(|(of_struct, known, _)| (*of_struct, *known) == (name, field));
                match known {
                    Some(known) => exceptions.push(known),
                    None => missing.push(format!("{name}.{field} in {}", path.display())),
                }
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    exceptions.sort_unstable();
    assert_eq!(exceptions, Vec::from_iter(0..WITHOUT_ROW.len()));
    // Planted fields: two with a row, one that only the solver reads, and one that only shorthand names.
    assert_eq!(named_fields(PLANTED, "P"), ["a", "b", "c", "d"]);
    let with_row = ["a", "b", "c", "d"].map(|field| has_row(PLANTED, "P", field));
    assert_eq!(with_row, [true, true, false, false]);
}

const PLANTED: &str = "pub struct P {
    pub a: u8,
    pub b: u8,
    pub c: u8,
    pub d: u8,
}
impl Parameters for P {
    const TABLE: &'static [Param<Self>] = &[
        Param::new(|p| p.a),
        share!(
            \"key\",
            b,
        ),
    ];

    fn defaults() -> Self {
        Self {
            d,
        }
    }
}
fn f() { g(params.c) }
";

/// The fields of a struct that is declared in this file, or in another one of its folder.
fn fields_of(name: &str, path: &Path, sources: &[(PathBuf, String)]) -> Vec<String> {
    let own = sources.iter().filter(|(other, _)| other == path);
    let folder = sources.iter();
    let folder = folder.filter(|(other, _)| other.parent() == path.parent());
    let all = own.chain(folder).map(|(_, text)| named_fields(text, name));
    all.into_iter()
        .find(|fields| !fields.is_empty())
        .unwrap_or_default()
}

fn named_fields(text: &str, name: &str) -> Vec<String> {
    let Some((_, after)) = text.split_once(&format!("pub struct {name} {{\n")) else {
        return Vec::new();
    };
    let body = after.split("\n}").next().unwrap_or_default();
    let lines = body.lines().map(str::trim);
    let lines = lines.filter(|line| !line.starts_with("//") && !line.starts_with('#'));
    let fields = lines.filter_map(|line| line.split_once(": "));
    fields
        .map(|(field, _)| field.trim_start_matches("pub ").to_owned())
        .collect()
}

/// The rows of a struct's table; empty if the file has no such table.
fn table_of<'a>(text: &'a str, name: &str) -> &'a str {
    let own = text.split_once(&format!("impl Parameters for {name} {{\n"));
    let rows = own.and_then(|(_, own)| own.split_once("const TABLE"));
    let rows = rows.map_or("", |(_, rows)| rows);
    let ends = ["\n    ];\n", "\n    }];\n"].map(|end| rows.find(end));
    let end = ends.into_iter().flatten().min();
    &rows[..end.unwrap_or(0)]
}

/// Rows read a field as `p.field`; inside the table, an argument of a macro names it alone on a line.
fn has_row(text: &str, name: &str, field: &str) -> bool {
    let read = format!("p.{field}");
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let is_read = text.match_indices(&read).any(|(at, _)| {
        !text[..at].ends_with(is_word) && !text[at + read.len()..].starts_with(is_word)
    });
    is_read
        || table_of(text, name)
            .lines()
            .any(|line| line.trim().trim_end_matches(',') == field)
}
