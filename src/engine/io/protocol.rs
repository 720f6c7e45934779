//! Protocols: text in TOML, with a table for each input, space and region, and a table `[[step]]` for each step.

use super::source::read_text;
use super::{Error, atomic, json};
use crate::data::protocol::{
    BraceError, InputRole, LabelName, OptionValue, Protocol, ProtocolInput, ProtocolRegion,
    ProtocolSpace, ProtocolStep, VERSION, is_name, names, owner, parts,
};
use crate::data::text::number;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

const TEXT_LIMIT_BYTES: u64 = 1 << 22;
const EXPECTED: &str = "a protocol in TOML, with tables [input.NAME], [region.NAME] and [[step]]; see arcuate guide protocols";
/// Steps of a protocol.
const MAX_STEPS: usize = 1000;

/// The file as a whole.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    arcuate_protocol: u32,
    #[serde(default)]
    title: String,
    #[serde(default)]
    input: BTreeMap<String, Input>,
    #[serde(default)]
    space: BTreeMap<String, Space>,
    #[serde(default)]
    region: BTreeMap<String, Region>,
    #[serde(default)]
    step: Vec<Step>,
}

/// One text, or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl Texts {
    fn list(texts: Option<Self>) -> Vec<String> {
        match texts {
            None => Vec::new(),
            Some(Self::One(text)) => vec![text],
            Some(Self::Many(texts)) => texts,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    role: String,
    file: Option<Texts>,
    bids: Option<Texts>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Space {
    transform: String,
    fixed: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Number(u32),
    Name(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Region {
    map: Option<String>,
    labels: Option<Vec<Label>>,
    mask: Option<String>,
    sphere: Option<[f64; 4]>,
    #[serde(rename = "box")]
    cuboid: Option<[f64; 6]>,
    space: Option<String>,
    #[serde(default)]
    drawn: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    name: String,
    command: String,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    options: BTreeMap<String, toml::Value>,
}

/// Reads a protocol.
pub fn read(path: &Path) -> Result<Protocol, Error> {
    parse(&read_text(path, TEXT_LIMIT_BYTES)?, path)
}

/// The protocol in a text; errors name the path.
pub fn parse(text: &str, path: &Path) -> Result<Protocol, Error> {
    let malformed = |found: String| Error::malformed(path, found, EXPECTED);
    let file: Result<File, _> = toml::from_str(text);
    let file = file.map_err(|e| {
        let line = e
            .span()
            .map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map_or(String::new(), |line| format!(" in line {line}"));
        malformed(format!("{}{line}", json::of_data(e.message())))
    })?;
    if file.arcuate_protocol != VERSION {
        return Err(Error::malformed(
            path,
            format!("version {} of protocols", file.arcuate_protocol),
            (
                &*format!("version {VERSION}"),
                "open it with the version of Arcuate that wrote it",
            ),
        ));
    }
    let protocol = values(file).map_err(&malformed)?;
    check_names(&protocol).map_err(malformed)?;
    Ok(protocol)
}

/// The values of the file, or what is not permitted in it.
fn values(file: File) -> Result<Protocol, String> {
    if file.step.is_empty() || file.step.len() > MAX_STEPS {
        return Err(format!("{} steps", file.step.len()));
    }
    let inputs = file.input.into_iter().map(|(name, input)| {
        let role = InputRole::from_key(&input.role).ok_or_else(|| {
            let roles = InputRole::ALL.map(|role| role.key()).join(", ");
            format!(
                "the role “{}” of the input “{name}” in place of one of {roles}",
                input.role
            )
        })?;
        let input = ProtocolInput {
            role,
            files: Texts::list(input.file),
            bids: Texts::list(input.bids),
        };
        Ok((name, input))
    });
    let spaces = file.space.into_iter().map(|(name, space)| {
        let Space { transform, fixed } = space;
        (name, ProtocolSpace { transform, fixed })
    });
    let regions = file.region.into_iter().map(|(name, region)| {
        let region = region_value(&name, region)?;
        Ok((name, region))
    });
    let steps = file.step.into_iter().map(step_value);
    Ok(Protocol {
        title: file.title,
        inputs: inputs.collect::<Result<_, String>>()?,
        spaces: spaces.collect(),
        regions: regions.collect::<Result<_, String>>()?,
        steps: steps.collect::<Result<_, String>>()?,
    })
}

fn region_value(name: &str, region: Region) -> Result<ProtocolRegion, String> {
    let Region {
        map,
        labels,
        mask,
        sphere,
        cuboid,
        space,
        drawn,
    } = region;
    let forms = [
        map.is_some() || labels.is_some(),
        mask.is_some(),
        sphere.is_some(),
        cuboid.is_some(),
        drawn,
    ];
    if forms.iter().filter(|given| **given).count() != 1 {
        return Err(format!(
            "the region “{name}” without exactly one of labels, mask, sphere, box and drawn"
        ));
    }
    let has_space = space.is_some();
    let value = match (map, labels, mask, sphere, cuboid) {
        (Some(map), Some(labels), ..) if !labels.is_empty() => {
            let labels = labels.into_iter().map(|label| match label {
                Label::Number(number) => LabelName::Number(number),
                Label::Name(name) => LabelName::Name(name),
            });
            ProtocolRegion::Labels {
                map,
                labels: labels.collect(),
            }
        }
        (Some(_), ..) | (_, Some(_), ..) => {
            return Err(format!(
                "the region “{name}” without both map and a list of labels"
            ));
        }
        (_, _, Some(file), ..) => return Ok(ProtocolRegion::Mask { file, space }),
        (_, _, _, Some(numbers), _) => {
            if !numbers.iter().all(|n| n.is_finite()) || numbers[3] <= 0.0 {
                return Err(format!("a sphere of “{name}” without a radius above 0"));
            }
            return Ok(ProtocolRegion::Sphere { numbers, space });
        }
        (_, _, _, _, Some(numbers)) => {
            if !numbers.iter().all(|n| n.is_finite()) || numbers[3..].iter().any(|n| *n <= 0.0) {
                return Err(format!("a box of “{name}” without half-edges above 0"));
            }
            ProtocolRegion::Box(numbers)
        }
        _ => ProtocolRegion::Drawn,
    };
    match has_space {
        true => Err(format!(
            "a space of the region “{name}”, which only masks and spheres have"
        )),
        false => Ok(value),
    }
}

fn step_value(step: Step) -> Result<ProtocolStep, String> {
    let name = step.name;
    let options = step.options.into_iter().map(|(key, value)| {
        let value = option_value(&value).ok_or_else(|| {
            format!("a value of “{key}” in the step “{name}” that is no text, number, switch or list of these")
        })?;
        Ok((key, value))
    });
    Ok(ProtocolStep {
        options: options.collect::<Result<_, String>>()?,
        name: name.clone(),
        command: step.command,
        arguments: step.arguments,
    })
}

fn option_value(value: &toml::Value) -> Option<OptionValue> {
    let single = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        toml::Value::Boolean(on) => Some(OptionValue::Switch(*on)),
        toml::Value::Array(list) => {
            let list: Option<Vec<String>> = list.iter().map(single).collect();
            list.map(OptionValue::List)
        }
        value => single(value).map(OptionValue::Text),
    }
}

/// Checks that each name is one, is used once and stands for something that exists before.
fn check_names(protocol: &Protocol) -> Result<(), String> {
    let mut known = BTreeSet::new();
    let steps = protocol.steps.iter().map(|step| &step.name);
    let named = protocol.inputs.keys().chain(protocol.regions.keys());
    for name in named.chain(steps) {
        if !is_name(name) {
            return Err(format!(
                "the name “{name}” in place of one of small letters, digits, - and _"
            ));
        }
        if !known.insert(name.as_str()) {
            return Err(format!("the name “{name}” twice"));
        }
    }
    let brace = |e: BraceError| e.to_string();
    for (name, region) in &protocol.regions {
        let space = match region {
            ProtocolRegion::Mask { space, .. } | ProtocolRegion::Sphere { space, .. } => space,
            _ => &None,
        };
        if let Some(space) = space.as_ref().filter(|s| !protocol.spaces.contains_key(*s)) {
            return Err(format!(
                "the space “{space}” of the region “{name}”, which no table [space.{space}] describes"
            ));
        }
        for used in protocol.names_of_region(region) {
            let used = owner(&used);
            let is_file = protocol.inputs.contains_key(used) || used == FOLDER;
            if !is_file {
                return Err(format!(
                    "“{{{used}}}” in the region “{name}”, which is no input"
                ));
            }
        }
    }
    let mut before: BTreeSet<&str> = BTreeSet::new();
    for step in &protocol.steps {
        for text in step.texts() {
            parts(text).map_err(brace)?;
            for used in names(text) {
                let used = owner(&used);
                let exists = protocol.inputs.contains_key(used)
                    || protocol.regions.contains_key(used)
                    || before.contains(used)
                    || used == FOLDER;
                if !exists {
                    return Err(format!(
                        "“{{{used}}}” in the step “{}”, which is no input, region or earlier step",
                        step.name
                    ));
                }
            }
        }
        before.insert(&step.name);
    }
    Ok(())
}

const FOLDER: &str = crate::data::protocol::FOLDER_NAME;

/// A text in quotes, as TOML reads it.
fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => drop(write!(quoted, "\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn list(texts: &[String]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    match all.as_slice() {
        [one] => one.clone(),
        _ => format!("[{}]", all.join(", ")),
    }
}

/// A value that looks like a number or a switch is written as one.
fn value(text: &str) -> String {
    let is_plain = text.parse::<f64>().is_ok_and(f64::is_finite)
        && text
            .trim_start_matches('-')
            .starts_with(|c: char| c.is_ascii_digit())
        && !text.ends_with('.')
        && !(text.trim_start_matches('-').starts_with('0')
            && !text.contains('.')
            && text.trim_start_matches('-') != "0")
        && text.chars().all(|c| c.is_ascii_digit() || "-.".contains(c));
    match is_plain {
        true => text.to_owned(),
        false => quoted(text),
    }
}

/// The text of a protocol, with comments. `notes` are sentences about what does not carry over.
pub fn text(protocol: &Protocol, notes: &[String]) -> String {
    let mut text = String::from(
        "# A protocol of Arcuate: the same steps for each head of a cohort.\n\
         #   arcuate protocol check FILE             checks it\n\
         #   arcuate run FILE --subject-folder DIR   runs it on one subject\n\
         #   arcuate bids DATA OUT participant --protocol FILE   runs it on a BIDS dataset\n\
         # Names in braces stand for inputs, regions and files of earlier steps: {dwi}, {seed}, {fit/fa.nii.gz}.\n",
    );
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "arcuate_protocol = {VERSION}\ntitle = {}\n",
        quoted(&protocol.title)
    );
    for note in notes {
        let _ = writeln!(text, "\n# {}", note.replace('\n', " "));
    }
    if !protocol.inputs.is_empty() {
        text += "\n# Files of a subject. file: patterns of the name in a subject's folder; bids: patterns below the folder of a\n\
                 # subject or session of a BIDS dataset. The first pattern that matches one file is used.\n";
    }
    for (name, input) in &protocol.inputs {
        let _ = write!(
            text,
            "[input.{name}]\nrole = {}\n",
            quoted(input.role.key())
        );
        let patterns = |bids| -> Vec<String> {
            let all = input.patterns(bids).into_iter();
            all.map(str::to_owned).collect()
        };
        for (key, all) in [("file", patterns(false)), ("bids", patterns(true))] {
            match all.is_empty() {
                true => drop(writeln!(
                    text,
                    "# {key} = \"…\"  # state where this file is"
                )),
                false => drop(writeln!(text, "{key} = {}", list(&all))),
            }
        }
        text.push('\n');
    }
    for (name, space) in &protocol.spaces {
        let _ = writeln!(
            text,
            "# An affine of ITK, ANTs or FLIRT that moves images of this space to that of the scan.\n\
             [space.{name}]\ntransform = {}",
            quoted(&space.transform)
        );
        if let Some(fixed) = &space.fixed {
            let _ = writeln!(text, "fixed = {}", quoted(fixed));
        }
        text.push('\n');
    }
    for (name, region) in &protocol.regions {
        write_region(&mut text, name, region);
    }
    text += "# Each step is a command with its arguments and options (arcuate COMMAND --help lists them), and writes into a\n\
             # folder of its name.\n";
    for step in &protocol.steps {
        let _ = write!(
            text,
            "[[step]]\nname = {}\ncommand = {}\n",
            quoted(&step.name),
            quoted(&step.command)
        );
        if !step.arguments.is_empty() {
            let all: Vec<String> = step.arguments.iter().map(|text| quoted(text)).collect();
            let _ = writeln!(text, "arguments = [{}]", all.join(", "));
        }
        if !step.options.is_empty() {
            text += "[step.options]\n";
        }
        for (key, option) in &step.options {
            let option = match option {
                OptionValue::Text(text) => value(text),
                OptionValue::Switch(on) => on.to_string(),
                OptionValue::List(texts) => {
                    let all: Vec<String> = texts.iter().map(|text| value(text)).collect();
                    format!("[{}]", all.join(", "))
                }
            };
            let _ = writeln!(text, "{key} = {option}");
        }
        text.push('\n');
    }
    text
}

fn write_region(text: &mut String, name: &str, region: &ProtocolRegion) {
    let numbers = |all: &[f64]| -> String {
        let all: Vec<String> = all.iter().map(|n| number(*n)).collect();
        all.join(", ")
    };
    // Writing to a string does not fail.
    let (comment, members, space) = match region {
        ProtocolRegion::Labels { map, labels } => {
            let labels = labels.iter().map(|label| match label {
                LabelName::Number(number) => number.to_string(),
                LabelName::Name(name) => quoted(name),
            });
            let labels: Vec<String> = labels.collect();
            let members = format!("map = {}\nlabels = [{}]", quoted(map), labels.join(", "));
            ("", members, None)
        }
        ProtocolRegion::Mask { file, space } => {
            ("", format!("mask = {}", quoted(file)), space.as_ref())
        }
        ProtocolRegion::Sphere { numbers: n, space } => {
            let comment = match space {
                None => {
                    "# In the space of each scan: it fits other heads only if they are aligned with each other.\n"
                }
                Some(_) => "",
            };
            (
                comment,
                format!("sphere = [{}]", numbers(n)),
                space.as_ref(),
            )
        }
        ProtocolRegion::Box(n) => (
            "# In the space of each scan: it fits other heads only if they are aligned with each other.\n",
            format!("box = [{}]", numbers(n)),
            None,
        ),
        ProtocolRegion::Drawn => (
            "# Drawn by hand in one head: it does not carry over. Replace the next line by labels of a map, or by a mask in\n\
             # a space:\n\
             #   map = \"{labels}\"\n\
             #   labels = [1024]\n",
            "drawn = true".to_owned(),
            None,
        ),
    };
    let _ = write!(text, "[region.{name}]\n{comment}{members}\n");
    if let Some(space) = space {
        let _ = writeln!(text, "space = {}", quoted(space));
    }
    text.push('\n');
}

/// Writes a protocol.
pub fn save(path: &Path, protocol: &Protocol, notes: &[String]) -> Result<(), Error> {
    atomic::write_text(path, &text(protocol, notes))
}
