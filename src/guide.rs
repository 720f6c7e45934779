//! The guide: the pages of `assets/guide`, built into the program, and search in them.
//!
//! The window shows the pages in Help, `arcuate guide` prints them, and both search with [`search`].

pub mod synonyms;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A page of the guide, in Markdown.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// The name on the command line and, with `.md`, in links.
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! pages {
    ($($name:literal),* $(,)?) => {
        /// All pages, in reading order.
        pub const PAGES: &[Page] = &[$(Page {
            name: $name,
            text: include_str!(concat!("../assets/guide/", $name, ".md")),
        }),*];
    };
}

pages![
    "first-steps",
    "view",
    "regions",
    "track",
    "fod",
    "pathways",
    "segment",
    "filter",
    "streamlines",
    "phantoms",
    "score",
    "compare",
    "alignment",
    "pictures",
    "sessions",
    "protocols",
    "command-line",
    "python",
    "formats",
    "graphics-cards",
    "conventions",
    "limits",
    "references",
];

/// A heading with the text below it, up to the next heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The words of the heading, without `#`.
    pub heading: &'static str,
    /// Markdown, the heading included.
    pub text: &'static str,
}

/// A section that contains all words of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    pub page: &'static Page,
    /// Index into [`Page::sections`].
    pub section: usize,
    pub heading: &'static str,
    /// The words around the first match, without Markdown.
    pub excerpt: String,
}

impl Page {
    /// The page of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PAGES.iter().find(|page| page.name == name)
    }

    pub fn title(&self) -> &'static str {
        self.sections().first().map_or("", |s| s.heading)
    }

    pub fn sections(&self) -> Vec<Section> {
        let mut starts = Vec::new();
        let mut heading = None;
        for (event, range) in Parser::new_ext(self.text, options()).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(range.start),
                Event::End(TagEnd::Heading(_)) => starts.extend(heading.take()),
                _ => {}
            }
        }
        let ends = starts.iter().skip(1).copied();
        let ends = ends.chain([self.text.len()]);
        let sections = starts.iter().zip(ends).map(|(&start, end)| {
            let text = &self.text[start..end];
            let first = text.lines().next().unwrap_or_default();
            Section {
                heading: first.trim_start_matches('#').trim(),
                text,
            }
        });
        sections.collect()
    }
}

/// The sections that contain all of these words, ignoring case; those with all words in their heading come first.
pub fn search(terms: &str) -> Vec<Match> {
    let terms: Vec<String> = terms.split_whitespace().map(str::to_lowercase).collect();
    if terms.is_empty() {
        return Vec::new();
    }
    let mut matches = Vec::new();
    for page in PAGES {
        for (section, part) in page.sections().into_iter().enumerate() {
            let text = plain(part.text);
            let lower = text.to_lowercase();
            if terms.iter().all(|term| lower.contains(term)) {
                let heading = part.heading.to_lowercase();
                let elsewhere = !terms.iter().all(|term| heading.contains(term));
                let below = text.strip_prefix(part.heading).unwrap_or(&text);
                let excerpt = excerpt(below.trim_start(), &terms);
                matches.push((
                    elsewhere,
                    Match {
                        page,
                        section,
                        heading: part.heading,
                        excerpt,
                    },
                ));
            }
        }
    }
    matches.sort_by_key(|(elsewhere, _)| *elsewhere);
    matches.into_iter().map(|(_, matched)| matched).collect()
}

fn options() -> Options {
    Options::ENABLE_TABLES
}

/// The words of a Markdown text on one line.
fn plain(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    for event in Parser::new_ext(markdown, options()) {
        match event {
            Event::Text(part) | Event::Code(part) => text.push_str(&part),
            Event::SoftBreak | Event::HardBreak | Event::End(_) => text.push(' '),
            _ => {}
        }
    }
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    // Inline marks end in a space of their own before punctuation.
    for mark in [",", ".", ":", ";", ")"] {
        line = line.replace(&format!(" {mark}"), mark);
    }
    line
}

/// About a hundred characters around the first word that is found, from word to word.
fn excerpt(text: &str, sentence: &[String]) -> String {
    const BEFORE: usize = 40;
    const LENGTH: usize = 120;
    let is_match = |word: &str| {
        let lower = word.to_lowercase();
        sentence.iter().any(|w| lower.contains(w))
    };
    let all: Vec<&str> = text.split(' ').collect();
    let at = all.iter().position(|word| is_match(word)).unwrap_or(0);
    let mut start = at;
    let mut length = 0;
    while start > 0 && length + all[start - 1].len() < BEFORE {
        start -= 1;
        length += all[start].len() + 1;
    }
    let mut line = String::new();
    for word in &all[start..] {
        if line.len() + word.len() > LENGTH {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let whole = start + line.split(' ').count() >= all.len();
    match (start > 0, whole) {
        (false, true) => line,
        (true, true) => format!("… {line}"),
        (false, false) => format!("{line} …"),
        (true, false) => format!("… {line} …"),
    }
}
