//! A session as a protocol: the command of each result is a step, with names in place of files and regions.

use super::document_regions::DocumentRegions;
use super::known_files::KnownFiles;
use crate::data::ShellCommand;
use crate::data::protocol::{
    OptionValue, Protocol, ProtocolRegion, ProtocolStep, name_from, names, owner,
};
use crate::state::core::layer::Layer;
use crate::state::origin::Origin;
use crate::state::pathways::update::command_line as pathway_command;
use crate::state::{CommandLine, State};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The protocol of a session, and sentences about what does not carry over.
#[derive(Clone, Debug)]
pub struct SessionProtocol {
    pub protocol: Protocol,
    pub notes: Vec<String>,
}

/// The session has no result that a command could repeat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoProtocol;

impl fmt::Display for NoProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "Found no result that a protocol could repeat, expected at least one; fit, track, map a pathway or keep a \
             result first",
        )
    }
}

impl std::error::Error for NoProtocol {}

/// The name of each result that was computed here, with its command line.
fn results(state: &State) -> Vec<(String, CommandLine)> {
    let document = &state.document;
    let is_computed = |layer: &Arc<Layer>| {
        !matches!(
            document.origin(layer),
            Origin::Unknown
                | Origin::File { .. }
                | Origin::Phantom { .. }
                | Origin::Reoriented { .. }
        )
    };
    let layers = document.layers.iter().filter(|l| is_computed(l));
    let layers = layers.map(|l| (l.name.clone(), document.command_line(l)));
    let curves = state
        .final_live()
        .filter(|live| !live.output.kept.is_empty());
    let curves = curves.map(|live| ("Streamlines".to_owned(), document.live_command_line(live)));
    let pathway = pathway_command(state, None).map(|line| ("Pathway".to_owned(), line));
    let kept = document.kept_pathways.iter();
    let kept = kept.filter_map(|k| Some((k.name.clone(), pathway_command(state, Some(k.id))?)));
    layers.chain(curves).chain(pathway).chain(kept).collect()
}

/// Converts a session.
pub fn session_protocol(state: &State) -> Result<SessionProtocol, NoProtocol> {
    let mut files = KnownFiles::of_layers(state);
    let mut state = state.clone();
    let mut document = state.document.clone();
    let regions = DocumentRegions::new(&state, &mut document, &files);
    state.document = document;
    let mut notes = Vec::new();
    let mut commands: Vec<(String, ShellCommand)> = Vec::new();
    for (label, line) in results(&state) {
        if let Some(why) = line.no_command() {
            notes.push(format!("“{label}” is not part of this protocol. {why}."));
            continue;
        }
        let own = line.commands_named(&name_from(&label, "result"));
        let last = own.len().saturating_sub(1);
        for (i, command) in own.into_iter().enumerate() {
            if commands
                .iter_mut()
                .any(|(_, earlier)| earlier.includes(&command))
            {
                continue;
            }
            let label = if i == last { label.as_str() } else { "" };
            commands.push((label.to_owned(), command));
        }
    }
    let mut taken: BTreeSet<String> = files.inputs.keys().cloned().collect();
    taken.extend(regions.regions.keys().cloned());
    let mut steps = Steps {
        files: &mut files,
        regions: &regions,
        taken,
        outputs: BTreeMap::new(),
        steps: Vec::new(),
    };
    for (label, command) in commands {
        steps.add(&label, &split(&command.to_string()));
    }
    let steps = steps.steps;
    if steps.is_empty() {
        return Err(NoProtocol);
    }
    let texts = steps.iter().flat_map(ProtocolStep::texts).flat_map(names);
    let mut used: BTreeSet<String> = texts.map(|name| owner(&name).to_owned()).collect();
    let mut all = Protocol {
        title: state.document.name.clone(),
        inputs: files.inputs,
        spaces: regions.spaces,
        regions: regions.regions,
        steps,
    };
    let in_regions = all.regions.iter().filter(|(name, _)| used.contains(*name));
    let in_regions = in_regions.flat_map(|(_, region)| all.names_of_region(region));
    used.extend(in_regions.collect::<Vec<_>>());
    all.inputs.retain(|name, _| used.contains(name));
    all.regions.retain(|name, _| used.contains(name));
    let regions_used: Vec<&ProtocolRegion> = all.regions.values().collect();
    let is_used = |name: &String| {
        regions_used
            .iter()
            .any(|region| region.space() == Some(name))
    };
    all.spaces.retain(|name, _| is_used(name));
    for drawn in regions.drawn {
        notes.push(format!(
            "The region “{drawn}” was drawn by hand and does not carry over to other heads: replace it below by labels of \
             a map, or by a mask in the space of a template."
        ));
    }
    Ok(SessionProtocol {
        protocol: all,
        notes,
    })
}

/// The words of a command, as a shell reads the quotes that [`crate::io::quoted`] writes.
fn split(command: &str) -> Vec<String> {
    let (mut line, mut word, mut quoted, mut is_open) = (Vec::new(), String::new(), false, false);
    let mut letters = command.chars();
    while let Some(c) = letters.next() {
        match c {
            '\'' => {
                quoted = !quoted;
                is_open = true;
            }
            '\\' if !quoted => word.extend(letters.next()),
            ' ' if !quoted => {
                if is_open || !word.is_empty() {
                    line.push(std::mem::take(&mut word));
                }
                is_open = false;
            }
            c => word.push(c),
        }
    }
    if is_open || !word.is_empty() {
        line.push(word);
    }
    line
}

/// Steps as they are added.
struct Steps<'a> {
    files: &'a mut KnownFiles,
    regions: &'a DocumentRegions,
    taken: BTreeSet<String>,
    /// The files and folders that earlier commands write, each with the name that later ones use.
    outputs: BTreeMap<String, String>,
    steps: Vec<ProtocolStep>,
}

/// Commands with a second word.
const NESTED: [&str; 1] = ["gradients"];

impl Steps<'_> {
    fn add(&mut self, label: &str, line: &[String]) {
        let mut line = line.iter().skip(1);
        let Some(first) = line.next() else {
            return;
        };
        let mut command = first.clone();
        if NESTED.contains(&first.as_str())
            && let Some(second) = line.next()
        {
            command = format!("{command} {second}");
        }
        let base = match first.as_str() {
            "fit" | "fod" => first.clone(),
            _ => name_from(label, first),
        };
        let name = self.free(&base);
        let mut step = ProtocolStep {
            name: name.clone(),
            command,
            ..ProtocolStep::default()
        };
        let line: Vec<&String> = line.collect();
        let mut i = 0;
        while let Some(word) = line.get(i) {
            i += 1;
            let Some(option) = word.strip_prefix("--") else {
                let value = self.value(word, "", &name);
                step.arguments.push(value);
                continue;
            };
            let (key, value) = match option.split_once('=') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => {
                    let next = line.get(i).filter(|next| !next.starts_with("--"));
                    i += usize::from(next.is_some());
                    (option, next.map(|next| (*next).clone()))
                }
            };
            self.add_option(&mut step, key, value);
        }
        self.steps.push(step);
    }

    fn add_option(&mut self, step: &mut ProtocolStep, key: &str, value: Option<String>) {
        let Some(value) = value else {
            step.options
                .insert(key.to_owned(), OptionValue::Switch(true));
            return;
        };
        // A folder of results is the step's own.
        let is_folder = key == "out" && Path::new(&value).extension().is_none();
        let value = match is_folder {
            true => {
                self.outputs.insert(value, step.name.clone());
                ".".to_owned()
            }
            false => self.value(&value, key, &step.name),
        };
        let value = match step.options.remove(key) {
            None => OptionValue::Text(value),
            Some(OptionValue::List(mut texts)) => {
                texts.push(value);
                OptionValue::List(texts)
            }
            Some(OptionValue::Text(text)) => OptionValue::List(vec![text, value]),
            Some(OptionValue::Switch(_)) => OptionValue::Text(value),
        };
        step.options.insert(key.to_owned(), value);
    }

    /// A value with names in place of files and regions. A relative name that no step has written is an output of `step`.
    fn value(&mut self, text: &str, option: &str, step: &str) -> String {
        if let Some(region) = self.regions.names.get(text) {
            return format!("{{{region}}}");
        }
        if let Some(path) = text.strip_prefix("mask:") {
            return format!("mask:{}", self.path(path, option));
        }
        if text.starts_with("phantom:") && option.is_empty() {
            return format!("{{{}}}", self.files.built_in_scan());
        }
        // Limits follow a file after a colon.
        if let Some((path, limits)) = text.rsplit_once(':')
            && Path::new(path).is_absolute()
        {
            return format!("{}:{limits}", self.path(path, option));
        }
        let replaced = self.path(text, option);
        let is_output = replaced == text && (option.is_empty() || option == "out");
        if is_output && Path::new(text).extension().is_some() {
            self.outputs
                .insert(text.to_owned(), format!("{step}/{text}"));
        }
        replaced
    }

    /// The name of a file in braces, or the text as it is.
    fn path(&mut self, text: &str, option: &str) -> String {
        if let Some(output) = self.outputs.get(text) {
            return format!("{{{output}}}");
        }
        if let Some((folder, file)) = text.split_once('/')
            && let Some(output) = self.outputs.get(folder)
        {
            return format!("{{{output}/{file}}}");
        }
        match self.files.name(Path::new(text), option) {
            Some(name) => format!("{{{name}}}"),
            None => text.to_owned(),
        }
    }

    fn free(&mut self, base: &str) -> String {
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let mut names = std::iter::once(base.to_owned()).chain(numbered);
        let free = names.find(|name| !self.taken.contains(name));
        let free = free.unwrap_or_default();
        self.taken.insert(free.clone());
        free
    }
}
