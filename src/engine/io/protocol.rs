//! Protocols: text in TOML, with a table for each input, space and region, and a table `[[step]]` for each step.

mod write;

pub use write::{save, text};

use super::source::read_text;
use super::{Error, TransformFile, json};
use crate::data::protocol::{
    BraceError, InputRole, LabelName, OptionValue, Protocol, ProtocolInput, ProtocolRegion,
    ProtocolSpace, ProtocolStep, VERSION, is_file, is_name, names, owner, parts,
};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
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
    transform: Option<String>,
    warp: Option<Texts>,
    fixed: Option<String>,
    moving: Option<String>,
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
        let space = space_value(&name, space)?;
        Ok((name, space))
    });
    let regions = file.region.into_iter().map(|(name, region)| {
        let region = region_value(&name, region)?;
        Ok((name, region))
    });
    let steps = file.step.into_iter().map(step_value);
    Ok(Protocol {
        title: file.title,
        inputs: inputs.collect::<Result<_, String>>()?,
        spaces: spaces.collect::<Result<_, String>>()?,
        regions: regions.collect::<Result<_, String>>()?,
        steps: steps.collect::<Result<_, String>>()?,
    })
}

fn space_value(name: &str, space: Space) -> Result<ProtocolSpace, String> {
    let Space {
        transform,
        warp,
        fixed,
        moving,
    } = space;
    match (transform, warp) {
        (Some(transform), None) if moving.is_none() => {
            Ok(ProtocolSpace::Affine { transform, fixed })
        }
        (Some(_), None) => Err(format!(
            "a moving image of the space “{name}”, which only a space with a warp has"
        )),
        (None, Some(warp)) => {
            let transforms = Texts::list(Some(warp));
            let is_entry =
                |text: &String| is_file(&TransformFile::parse(text).path.to_string_lossy());
            if let Some(text) = transforms.iter().find(|text| !is_entry(text)) {
                return Err(format!(
                    "“{text}” in the warp of the space “{name}”, in place of a name in braces such as {{a}} or inverse:{{a}}"
                ));
            }
            match transforms.is_empty() {
                true => Err(format!("an empty warp of the space “{name}”")),
                false => Ok(ProtocolSpace::Warp {
                    transforms,
                    fixed,
                    moving,
                }),
            }
        }
        (Some(_), Some(_)) => Err(format!(
            "both a transform and a warp of the space “{name}”, in place of one of them"
        )),
        (None, None) => Err(format!("the space “{name}” without a transform or a warp")),
    }
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
        let space = region.space();
        if let Some(space) = space.filter(|s| !protocol.spaces.contains_key(*s)) {
            return Err(format!(
                "the space “{space}” of the region “{name}”, which no table [space.{space}] describes"
            ));
        }
        check_fixed(protocol, name, region)?;
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

/// A mask needs the grid of a fixed image where the warp begins with an inverse, since that of the first field is then not on
/// the fixed side.
fn check_fixed(protocol: &Protocol, name: &str, region: &ProtocolRegion) -> Result<(), String> {
    let ProtocolRegion::Mask {
        space: Some(space), ..
    } = region
    else {
        return Ok(());
    };
    match protocol.spaces.get(space) {
        Some(ProtocolSpace::Warp {
            transforms,
            fixed: None,
            ..
        }) if transforms
            .first()
            .is_some_and(|text| TransformFile::parse(text).inverse) =>
        {
            Err(format!(
                "the mask “{name}” in the space “{space}”, whose warp begins with an inverse, without the image whose voxels \
             the mask gets (fixed = \"{{dwi}}\")"
            ))
        }
        _ => Ok(()),
    }
}

const FOLDER: &str = crate::data::protocol::FOLDER_NAME;
