//! `arcuate guide`: prints pages of the guide and searches them.

use super::runner::{Failure, Runner};
use crate::guide::{self, Match, PAGES, Page};
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  arcuate guide                        list the pages
  arcuate guide track                  print a page, as Markdown
  arcuate guide --search \"leak alarm\"  list the sections that contain these words

The window shows the same pages in Help (F1).";

#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Page to print
    #[arg(conflicts_with = "search")]
    pub page: Option<String>,
    /// List the sections that contain all of these words
    #[arg(long, value_name = "WORDS")]
    pub search: Option<String>,
}

pub fn run(options: &Options, runner: &mut Runner) -> Result<(), Failure> {
    match (&options.page, &options.search) {
        (_, Some(phrase)) => search(phrase),
        (Some(name), None) => page(name),
        (None, None) => list(),
    }
    .map(|(report, text)| runner.report(&report, text.trim_end()))
}

type Report = (serde_json::Value, String);

fn list() -> Result<Report, Failure> {
    let width = PAGES.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let lines = PAGES
        .iter()
        .map(|p| format!("{:width$}  {}\n", p.name, p.title()));
    let pages = PAGES.iter().map(entry).collect::<Vec<_>>();
    Ok((
        json!({ "command": "guide", "pages": pages }),
        lines.collect(),
    ))
}

fn page(name: &str) -> Result<Report, Failure> {
    let name = name.to_lowercase();
    let name = name.trim_end_matches(".md");
    let Some(page) = Page::named(name) else {
        let names: Vec<&str> = PAGES.iter().map(|p| p.name).collect();
        return Err(Failure::usage(format!(
            "Found no page “{name}”, expected one of {}",
            names.join(", ")
        )));
    };
    let mut report = entry(page);
    report["command"] = "guide".into();
    report["text"] = page.text.into();
    Ok((report, page.text.to_owned()))
}

fn search(text: &str) -> Result<Report, Failure> {
    let matches = guide::search(text);
    if matches.is_empty() {
        return Err(Failure::new(format!(
            "No section of the guide contains all of these words; search for fewer: {text}"
        )));
    }
    let lines = matches.iter().map(|m| {
        let Match {
            page,
            heading,
            excerpt,
            ..
        } = m;
        format!("{}: {heading}\n    {excerpt}\n", page.name)
    });
    let sections = matches
        .iter()
        .map(|m| json!({ "page": m.page.name, "heading": m.heading, "excerpt": m.excerpt }));
    let sections = sections.collect::<Vec<_>>();
    Ok((
        json!({ "command": "guide", "search": text, "sections": sections }),
        lines.collect(),
    ))
}

fn entry(page: &Page) -> serde_json::Value {
    json!({ "page": page.name, "title": page.title() })
}
