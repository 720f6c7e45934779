//! A parser for as much of Rust's grammar as is needed to list the paths that a file refers to.

use std::collections::{BTreeSet, HashMap};

#[derive(Clone, PartialEq, Debug)]
pub struct Token {
    /// An identifier or number, `::`, `..`, or one other character. Comments, strings, characters
    /// and lifetimes are left out.
    pub text: String,
    pub line: usize,
}

impl Token {
    fn is_name(&self) -> bool {
        self.text
            .starts_with(|c: char| c == '_' || c.is_alphabetic())
    }
}

pub fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let word = |c: char| c == '_' || c.is_alphanumeric();
    let mut tokens = Vec::new();
    let (mut i, mut line) = (0, 1);
    while i < chars.len() {
        let begin = i;
        let mut kept = false;
        match at(i) {
            '/' if at(i + 1) == '/' => {
                while i < chars.len() && at(i) != '\n' {
                    i += 1;
                }
            }
            '/' if at(i + 1) == '*' => {
                let mut depth = 1;
                i += 2;
                while i < chars.len() && depth > 0 {
                    match (at(i), at(i + 1)) {
                        ('/', '*') => (depth, i) = (depth + 1, i + 2),
                        ('*', '/') => (depth, i) = (depth - 1, i + 2),
                        _ => i += 1,
                    }
                }
            }
            '"' => i = after_quoted(&chars, i, '"'),
            '\'' if at(i + 1) == '\\' || at(i + 2) == '\'' => i = after_quoted(&chars, i, '\''),
            '\'' => {
                i += 1;
                while word(at(i)) {
                    i += 1;
                }
            }
            c if word(c) => {
                while word(at(i)) {
                    i += 1;
                }
                let name: String = chars[begin..i].iter().collect();
                let hashes = (i..).take_while(|&k| at(k) == '#').count();
                let raw = matches!(name.as_str(), "r" | "br" | "cr");
                if raw && at(i + hashes) == '"' {
                    i = after_raw(&chars, i, hashes);
                } else if matches!(name.as_str(), "b" | "c") && at(i) == '"' {
                    i = after_quoted(&chars, i, '"');
                } else if name == "b" && at(i) == '\'' {
                    i = after_quoted(&chars, i, '\'');
                } else {
                    kept = true;
                }
            }
            c => {
                i += if at(i + 1) == c && (c == ':' || c == '.') {
                    2
                } else {
                    1
                };
                kept = !c.is_whitespace();
            }
        }
        let text: String = chars[begin..i.min(chars.len())].iter().collect();
        let newlines = text.matches('\n').count();
        if kept {
            tokens.push(Token { text, line });
        }
        line += newlines;
    }
    tokens
}

/// The index after the literal that opens at `open` and closes with an unescaped `quote`.
fn after_quoted(chars: &[char], open: usize, quote: char) -> usize {
    let mut i = open + 1;
    while i < chars.len() && chars[i] != quote {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

/// The index after the raw string whose `hashes` begin at `from`.
fn after_raw(chars: &[char], from: usize, hashes: usize) -> usize {
    let closes = |i: usize| {
        chars[i] == '"' && (1..=hashes).all(|k| chars.get(i + k).is_some_and(|&c| c == '#'))
    };
    let open = from + hashes;
    let close = (open + 1..chars.len()).find(|&i| closes(i));
    close.map_or(chars.len(), |i| i + hashes + 1)
}

/// A path as if written from the crate's root (`crate::a::B`) or from an outside crate
/// (`std::fs::File`), with `self`, `super` and imported names resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    pub segments: Vec<String>,
    pub line: usize,
}

/// Every path of two or more segments, and every import, in the source of `module` (`["ui",
/// "theme"]` for src/ui/theme.rs). Names are resolved per file, not per block.
pub fn paths(tokens: &[Token], module: &[&str]) -> Vec<Path> {
    let found = Reader::found(tokens, module).into_iter();
    found
        .filter(|path| path.import.is_some() || path.segments.len() > 1)
        .map(|path| Path {
            segments: path.segments,
            line: path.line,
        })
        .collect()
}

/// The names that `module` re-exports, each with its full path; `*` for all names of a module.
pub fn reexports(tokens: &[Token], module: &[&str]) -> Vec<(String, Vec<String>)> {
    let found = Reader::found(tokens, module).into_iter();
    found
        .filter_map(|path| match path.import {
            Some(Import { name, public: true }) => Some((name, path.segments)),
            _ => None,
        })
        .collect()
}

/// The names of items that a source defines.
pub fn definitions(tokens: &[Token]) -> BTreeSet<String> {
    const ITEMS: [&str; 7] = ["const", "enum", "fn", "static", "struct", "trait", "type"];
    let defines = |pair: &&[Token]| ITEMS.contains(&pair[0].text.as_str()) && pair[1].is_name();
    let pairs = tokens.windows(2).filter(defines);
    pairs.map(|pair| pair[1].text.clone()).collect()
}

struct Found {
    segments: Vec<String>,
    line: usize,
    import: Option<Import>,
}

struct Import {
    name: String,
    public: bool,
}

struct Reader<'a> {
    tokens: &'a [Token],
    /// The reader's module, including inline modules.
    module: Vec<String>,
    found: Vec<Found>,
    /// Imported names and declared modules with their full paths.
    names: HashMap<String, Vec<String>>,
}

impl Reader<'_> {
    fn found(tokens: &[Token], module: &[&str]) -> Vec<Found> {
        let mut reader = Reader {
            tokens,
            module: module.iter().map(|&s| s.to_owned()).collect(),
            found: Vec::new(),
            names: HashMap::new(),
        };
        reader.read();
        let Reader {
            mut found, names, ..
        } = reader;
        for path in &mut found {
            if let Some(full) = names.get(&path.segments[0]) {
                path.segments.splice(0..1, full.iter().cloned());
            }
        }
        found
    }

    fn text(&self, i: usize) -> &str {
        self.tokens.get(i).map_or("", |token| &token.text)
    }

    fn is_name(&self, i: usize) -> bool {
        self.tokens.get(i).is_some_and(Token::is_name)
    }

    fn read(&mut self) {
        let mut i = 0;
        let mut depth = 0;
        // Whether a `use` is being read, and whether it is public.
        let mut import = None;
        // Brace depths at which inline modules end.
        let mut ends = Vec::new();
        while i < self.tokens.len() {
            match self.text(i) {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    if ends.last() == Some(&depth) {
                        ends.pop();
                        self.module.pop();
                    }
                }
                ";" => import = None,
                // `pub use`, or `pub(in crate::state) use`.
                "use" => import = Some(i > 0 && matches!(self.text(i - 1), "pub" | ")")),
                "mod" if self.is_name(i + 1) => {
                    let name = self.text(i + 1).to_owned();
                    self.names.insert(name.clone(), self.inside(&[&name]));
                    if self.text(i + 2) == "{" {
                        ends.push(depth);
                        self.module.push(name);
                    }
                    i += 2;
                    continue;
                }
                _ if self.begins_path(i) => {
                    i = self.tree(i, &[], import);
                    continue;
                }
                _ => {}
            }
            i += 1;
        }
    }

    fn begins_path(&self, i: usize) -> bool {
        let before = |k: usize| if i < k { "" } else { self.text(i - k) };
        // After `::` only in `::name`, which begins with a crate.
        self.is_name(i)
            && match before(1) {
                "." => false,
                "::" => i < 2 || !(self.is_name(i - 2) || before(2) == ">"),
                _ => true,
            }
    }

    /// Reads the path or import tree at `i`; returns the index after it.
    fn tree(&mut self, mut i: usize, prefix: &[String], import: Option<bool>) -> usize {
        let line = self.tokens[i].line;
        let mut segments = prefix.to_vec();
        loop {
            match self.text(i) {
                "{" => {
                    i += 1;
                    while i < self.tokens.len() && self.text(i) != "}" {
                        i = if self.text(i) == "," {
                            i + 1
                        } else {
                            self.tree(i, &segments, import)
                        };
                    }
                    return i + 1;
                }
                "self" if !segments.is_empty() => {}
                name => segments.push(name.to_owned()),
            }
            i += 1;
            let goes_on = self.text(i) == "::"
                && (self.is_name(i + 1) || matches!(self.text(i + 1), "{" | "*"));
            if !goes_on {
                break;
            }
            i += 1;
        }
        let segments = self.absolute(segments);
        let import = import.map(|public| {
            let mut name = segments.last().cloned().unwrap_or_default();
            if self.text(i) == "as" {
                name = self.text(i + 1).to_owned();
                i += 2;
            }
            // A module and a function in it may have one name; paths begin with the module.
            let known = self.names.entry(name.clone());
            known.or_insert_with(|| segments.clone());
            Import { name, public }
        });
        self.found.push(Found {
            segments,
            line,
            import,
        });
        i
    }

    /// `self::x` and `super::x` from the crate's root.
    fn absolute(&self, segments: Vec<String>) -> Vec<String> {
        let supers = segments.iter().take_while(|s| *s == "super").count();
        let rest = &segments[supers..];
        if supers > 0 {
            let kept = self.module.len().saturating_sub(supers);
            let mut full = vec!["crate".to_owned()];
            full.extend_from_slice(&self.module[..kept]);
            full.extend_from_slice(rest);
            full
        } else if segments[0] == "self" && segments.len() > 1 {
            self.inside(&segments[1..])
        } else {
            segments
        }
    }

    fn inside<S: AsRef<str>>(&self, names: &[S]) -> Vec<String> {
        let mut full = vec!["crate".to_owned()];
        full.extend_from_slice(&self.module);
        full.extend(names.iter().map(|name| name.as_ref().to_owned()));
        full
    }
}
