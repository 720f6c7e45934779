//! Protocols: text in TOML, with a table for each input, space and region, and a table `[[step]]` for each step.

mod check;
mod mistake;
mod write;

pub use write::{save, text};

use super::source::read_text;
use super::{Error, TransformFile, json};
use crate::data::protocol::{
    InputRole, LabelName, OptionValue, Protocol, ProtocolInput, ProtocolRegion, ProtocolSpace,
    ProtocolStep, VERSION, is_file,
};
use check::check_names;
use mistake::Mistake;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

const TEXT_LIMIT_BYTES: u64 = 1 << 22;
const EXPECTED: &str = "a protocol in TOML, with tables [input.NAME], [region.NAME] and [[step]]";
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
    let file: Result<File, _> = toml::from_str(text);
    let file = file.map_err(|e| {
        let line = e
            .span()
            .map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let found = json::of_data(e.message());
        let (found, place) = match line {
            Some(line) => (format!("{found} in line {line}"), format!("line {line}")),
            None => (found, "the file".to_owned()),
        };
        let advice = format!("correct {place}, as arcuate guide protocols describes");
        Mistake::new(found, EXPECTED, advice).error(path)
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
    let checked = values(file).and_then(|protocol| {
        check_names(&protocol)?;
        Ok(protocol)
    });
    checked.map_err(|mistake| mistake.error(path))
}

/// The values of the file, or what is not permitted in it.
fn values(file: File) -> Result<Protocol, Mistake> {
    if file.step.is_empty() || file.step.len() > MAX_STEPS {
        return Err(Mistake::new(
            format!("{} steps", file.step.len()),
            format!("from 1 to {MAX_STEPS} tables [[step]]"),
            match file.step.is_empty() {
                true => "add one",
                false => "divide the protocol",
            },
        ));
    }
    let inputs = file.input.into_iter().map(|(name, input)| {
        let role = InputRole::from_key(&input.role).ok_or_else(|| {
            let roles = InputRole::ALL.map(|role| role.key()).join(", ");
            Mistake::new(
                format!("the role “{}” of the input “{name}”", input.role),
                format!("one of {roles}"),
                format!("correct role in [input.{name}]"),
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
        inputs: inputs.collect::<Result<_, Mistake>>()?,
        spaces: spaces.collect::<Result<_, Mistake>>()?,
        regions: regions.collect::<Result<_, Mistake>>()?,
        steps: steps.collect::<Result<_, Mistake>>()?,
    })
}

fn space_value(name: &str, space: Space) -> Result<ProtocolSpace, Mistake> {
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
        (Some(_), None) => Err(Mistake::new(
            format!("a moving image of the space “{name}”, which has a transform"),
            "one only in a space with a warp",
            format!("remove moving from [space.{name}]"),
        )),
        (None, Some(warp)) => {
            let transforms = Texts::list(Some(warp));
            let is_entry =
                |text: &String| is_file(&TransformFile::parse(text).path.to_string_lossy());
            if let Some(text) = transforms.iter().find(|text| !is_entry(text)) {
                return Err(Mistake::new(
                    format!("“{text}” in the warp of the space “{name}”"),
                    "a name in braces, as in {field} or inverse:{affine}",
                    format!("correct warp in [space.{name}]"),
                ));
            }
            match transforms.is_empty() {
                true => Err(Mistake::new(
                    format!("an empty warp of the space “{name}”"),
                    "at least one transform",
                    format!("name it in [space.{name}]"),
                )),
                false => Ok(ProtocolSpace::Warp {
                    transforms,
                    fixed,
                    moving,
                }),
            }
        }
        (Some(_), Some(_)) => Err(Mistake::new(
            format!("both a transform and a warp of the space “{name}”"),
            "one of them",
            format!("remove the other from [space.{name}]"),
        )),
        (None, None) => Err(Mistake::new(
            format!("the space “{name}” without a transform or a warp"),
            "one of them",
            format!("add it to [space.{name}]"),
        )),
    }
}

fn region_value(name: &str, region: Region) -> Result<ProtocolRegion, Mistake> {
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
    let count = forms.iter().filter(|given| **given).count();
    if count != 1 {
        return Err(Mistake::new(
            format!("the region “{name}” in {count} forms"),
            "exactly one of labels with their map, mask, sphere, box and drawn",
            format!("correct [region.{name}]"),
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
            return Err(Mistake::new(
                format!("the region “{name}” without a map or without labels"),
                "a map and a list of labels, as in map = \"{labels}\" and labels = [1024]",
                format!("complete [region.{name}]"),
            ));
        }
        (_, _, Some(file), ..) => return Ok(ProtocolRegion::Mask { file, space }),
        (_, _, _, Some(numbers), _) => {
            if !numbers.iter().all(|n| n.is_finite()) || numbers[3] <= 0.0 {
                return Err(Mistake::new(
                    format!("a sphere of the region “{name}” without a radius above 0"),
                    "sphere = [x, y, z, radius], in mm",
                    format!("correct it in [region.{name}]"),
                ));
            }
            return Ok(ProtocolRegion::Sphere { numbers, space });
        }
        (_, _, _, _, Some(numbers)) => {
            if !numbers.iter().all(|n| n.is_finite()) || numbers[3..].iter().any(|n| *n <= 0.0) {
                return Err(Mistake::new(
                    format!("a box of the region “{name}” without half-edges above 0"),
                    "box = [x, y, z, hx, hy, hz], its centre and its half-edges in mm",
                    format!("correct it in [region.{name}]"),
                ));
            }
            ProtocolRegion::Box(numbers)
        }
        _ => ProtocolRegion::Drawn,
    };
    match has_space {
        true => Err(Mistake::new(
            format!("a space of the region “{name}”"),
            "one only for a mask or a sphere",
            format!("remove space from [region.{name}]"),
        )),
        false => Ok(value),
    }
}

fn step_value(step: Step) -> Result<ProtocolStep, Mistake> {
    let name = step.name;
    let options = step.options.into_iter().map(|(key, value)| {
        let value = option_value(&value).ok_or_else(|| {
            Mistake::new(
                format!("a value of “{key}” in the step “{name}” that is no text, number, switch or list"),
                "one of these",
                format!("correct “{key}” in the step “{name}”"),
            )
        })?;
        Ok((key, value))
    });
    Ok(ProtocolStep {
        options: options.collect::<Result<_, Mistake>>()?,
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
