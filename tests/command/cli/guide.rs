//! The guide: its pages, links and commands, search, and `arcuate guide`.

use super::{arcuate, json, split_arguments};
use crate::support::test;
use arcuate::cli::Arguments;
use arcuate::guide::synonyms::{self, Subject};
use arcuate::guide::{PAGES, Page, search};
use clap::{CommandFactory as _, Parser as _};
use libtest_mimic::Trial;
use std::collections::BTreeMap;
use std::path::Path;

const README: &str = include_str!("../../../README.md");

pub fn tests() -> Vec<Trial> {
    vec![
        test(
            "cli::guide::every command of README and guide parses",
            parses,
        ),
        test("cli::guide::commands write different files", outputs),
        test("cli::guide::every link leads to a page", links),
        test("cli::guide::every command has its place", complete),
        test("cli::guide::options of colours", colour_options),
        test("cli::guide::sections and search", sections),
        test("cli::guide::pages, search and refusals", command),
        test("cli::guide::names in other programs", names_elsewhere),
    ]
}

/// The commands of README and guide, in their order and without comments.
fn commands() -> Vec<&'static str> {
    let texts = PAGES.iter().map(|page| page.text).chain([README]);
    let lines = texts.flat_map(str::lines);
    let lines = lines.filter(|line| line.starts_with("arcuate "));
    let commands = lines.map(|line| line.split(" #").next().unwrap_or(line).trim_end());
    commands.collect()
}

fn parses() {
    let commands = commands();
    assert!(commands.len() >= 40, "{commands:?}");
    for command in commands {
        let sentence = split_arguments(command);
        Arguments::try_parse_from(&sentence).unwrap_or_else(|e| panic!("{command}: {e}"));
    }
}

/// The files and folders that a command writes.
fn written(arguments: &[String]) -> Vec<String> {
    const OPTIONS: [&str; 4] = ["--out", "--noise", "--filtered", "--pairs"];
    let pairs = arguments.windows(2);
    let options = pairs.filter(|pair| OPTIONS.contains(&pair[0].as_str()));
    let mut written: Vec<String> = options.map(|pair| pair[1].clone()).collect();
    let positional = match arguments[1].as_str() {
        "convert" | "select" | "table" | "profile" => arguments.get(3),
        "connectome" => arguments.get(4),
        _ => None,
    };
    written.extend(positional.cloned());
    written
}

/// Pages may repeat a command, but no two different commands write the same file.
fn outputs() {
    let mut commands_by_output: BTreeMap<String, &str> = BTreeMap::new();
    for command in commands() {
        for output in written(&split_arguments(command)) {
            let first = *commands_by_output.entry(output.clone()).or_insert(command);
            assert_eq!(first, command, "both write {output}");
        }
    }
    assert!(commands_by_output.len() >= 40, "{commands_by_output:?}");
}

/// The targets of the links and pictures of a Markdown text.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
}

fn links() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("assets/guide");
    for page in PAGES {
        assert!(folder.join(format!("{}.md", page.name)).exists());
        for target in targets(page.text) {
            // The window follows links to pages; other files are pictures.
            let known = match target.strip_suffix(".md") {
                Some(name) => Page::named(name).is_some(),
                None => folder.join(target).exists(),
            };
            assert!(known, "{}: {target}", page.name);
        }
    }
    for target in targets(README) {
        assert!(root.join(target).exists(), "README.md: {target}");
    }
    // A page that is not built in would not be found.
    let files = std::fs::read_dir(&folder).expect("the guide").count();
    assert_eq!(files, PAGES.len());
}

/// The page about the command line names every command except the shell's own.
fn complete() {
    let page = Page::named("command-line").expect("a page").text;
    let all = <Arguments as clap::CommandFactory>::command();
    for command in all.get_subcommands() {
        let name = command.get_name();
        assert!(page.contains(&format!("arcuate {name}")), "{name}");
    }
}

/// The page about streamlines names every option of their colours.
fn colour_options() {
    let page = Page::named("streamlines").expect("a page").text;
    let all = Arguments::command();
    let render = all.find_subcommand("render").expect("the command");
    let options = render
        .get_arguments()
        .filter_map(|option| option.get_long());
    let options: Vec<&str> = options.filter(|name| name.starts_with("line-")).collect();
    assert!(options.contains(&"line-colour"), "{options:?}");
    for option in options {
        let is_named = |text: &str| !text.starts_with(|c: char| c == '-' || c.is_alphanumeric());
        let option = format!("--{option}");
        let mut places = page.split(&option).skip(1);
        assert!(places.any(is_named), "{option}");
    }
}

fn sections() {
    for page in PAGES {
        let sections = page.sections();
        let whole: String = sections.iter().map(|s| s.text).collect();
        assert_eq!(whole, page.text, "{}", page.name);
        assert!(page.text.starts_with("# "), "{}", page.name);
    }
    // A shell comment is not a heading.
    let page = Page::named("command-line").expect("a page");
    assert_eq!(page.sections()[1].heading, "Common options");
    let found = search("Leak  ALARM");
    assert_eq!(found[0].page.name, "segment");
    assert!(
        found[0].excerpt.to_lowercase().contains("leak"),
        "{found:?}"
    );
    // A heading ranks before a mention.
    assert_eq!(search("recovery")[0].heading, "Recovery");
    assert!(search("  ").is_empty());
    assert!(search("no such words as these").is_empty());
    for found in search("the") {
        let marked = ["**", "](", "<kbd>", "`"]
            .iter()
            .any(|m| found.excerpt.contains(m));
        assert!(!marked, "{}", found.excerpt);
    }
}

fn command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = folder.path();
    let pages = json(&["guide"], here);
    assert_eq!(pages["pages"].as_array().map(Vec::len), Some(PAGES.len()));
    let page = json(&["guide", "track.md"], here);
    assert_eq!(page["title"], "Track");
    let output = arcuate(&["guide", "track"], here);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        text.trim(),
        Page::named("track").expect("a page").text.trim()
    );
    let found = json(&["guide", "--search", "leak alarm"], here);
    assert_eq!(found["sections"][0]["page"], "segment");
    for (arguments, code, phrase) in [
        (
            vec!["guide", "trakc"],
            2,
            "expected one of first-steps, view",
        ),
        (
            vec!["guide", "--search", "xyzzy"],
            1,
            "search for fewer: xyzzy",
        ),
    ] {
        let output = arcuate(&arguments, here);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(phrase), "{error}");
    }
}

/// One table serves the palette and the suggestions of commands.
fn names_elsewhere() {
    let commands = Arguments::command();
    for (word, command) in [
        ("cluster", "bundles"),
        ("coregister", "align"),
        ("cost", "pathway"),
        ("dti", "fit"),
        ("filter", "commit"),
        ("labels", "connectome"),
        ("levelset", "segment"),
        ("mask", "region"),
        ("open", "info"),
        ("picture", "render"),
        ("rays", "geodesic"),
        ("sift", "commit"),
        ("snake", "segment"),
        ("stats", "table"),
        ("tdi", "density"),
        ("tractogram", "track"),
        ("tractography", "track"),
        ("view", "render"),
    ] {
        assert_eq!(synonyms::command_of(word), Some(command), "{word}");
        assert!(commands.find_subcommand(command).is_some(), "{command}");
    }
    for word in ["", "roi sphere", "atlas", "Sift"] {
        assert_eq!(synonyms::command_of(word), None, "{word}");
    }
    for (subject, synonym) in [
        (Subject::Filter, "sift"),
        (Subject::Density, "tdi"),
        (Subject::ExcludeRegion, "not"),
        (Subject::Region, "sphere"),
    ] {
        let known = subject.synonyms();
        assert!(
            known.split(", ").any(|s| s == synonym),
            "{subject:?}: {known}"
        );
    }
}
