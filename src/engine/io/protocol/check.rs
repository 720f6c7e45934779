//! Checks of the names in a protocol.

use super::mistake::{Mistake, in_braces, listed};
use crate::data::protocol::{
    FOLDER_NAME, Protocol, ProtocolRegion, ProtocolSpace, ProtocolStep, is_name, names, owner,
    parts,
};
use crate::io::TransformFile;
use std::collections::BTreeSet;

/// Checks that each name is well formed and used once, and that each reference names something that exists before it.
pub(super) fn check_names(protocol: &Protocol) -> Result<(), Mistake> {
    let mut known = BTreeSet::new();
    let inputs = protocol.inputs.keys().map(|name| ("input", name));
    let regions = protocol.regions.keys().map(|name| ("region", name));
    let steps = protocol.steps.iter().map(|step| ("step", &step.name));
    for (kind, name) in inputs.chain(regions).chain(steps) {
        if !is_name(name) {
            return Err(Mistake::new(
                format!("the name “{name}” of the {kind}"),
                format!(
                    "at most 60 small letters, digits, - and _, the first a letter or a digit, and not “{FOLDER_NAME}”"
                ),
                format!("rename the {kind}"),
            ));
        }
        if !known.insert(name.as_str()) {
            return Err(Mistake::new(
                format!("the name “{name}” twice"),
                "a name of its own for each input, region and step",
                format!("rename the {kind} or the other one"),
            ));
        }
    }
    for (name, region) in &protocol.regions {
        check_region(protocol, name, region)?;
    }
    for (i, step) in protocol.steps.iter().enumerate() {
        check_step(protocol, i, step)?;
    }
    Ok(())
}

fn check_region(protocol: &Protocol, name: &str, region: &ProtocolRegion) -> Result<(), Mistake> {
    if let Some(space) = region.space()
        && !protocol.spaces.contains_key(space)
    {
        let spaces = listed(protocol.spaces.keys().cloned());
        return Err(Mistake::new(
            format!("the space “{space}” of the region “{name}”"),
            match spaces.is_empty() {
                true => "the name of a table [space.NAME], of which there is none".to_owned(),
                false => format!("the name of a table [space.NAME]: {spaces}"),
            },
            format!("correct the name in [region.{name}], or add [space.{space}]"),
        ));
    }
    check_fixed(protocol, name, region)?;
    let own = region.texts().map(|text| (text, None));
    let space = region.space();
    let of_space = space.and_then(|space| protocol.spaces.get(space));
    let of_space = of_space.into_iter().flat_map(ProtocolSpace::texts);
    let of_space = of_space.map(|text| (text.as_str(), space));
    for (text, space) in own.chain(of_space) {
        for used in names(text) {
            let input = owner(&used);
            if protocol.inputs.contains_key(input) || input == FOLDER_NAME {
                continue;
            }
            let inputs = protocol.inputs.keys().map(String::as_str);
            let (place, table) = match space {
                Some(space) => (
                    format!("the region “{name}”, in its space “{space}”"),
                    format!("[space.{space}]"),
                ),
                None => (format!("the region “{name}”"), format!("[region.{name}]")),
            };
            return Err(Mistake::new(
                format!("“{{{used}}}” in {place}"),
                format!(
                    "the name of an input: {}",
                    in_braces(inputs.chain([FOLDER_NAME]))
                ),
                format!("correct the name in {table}, or add [input.{input}]"),
            ));
        }
    }
    Ok(())
}

fn check_step(protocol: &Protocol, index: usize, step: &ProtocolStep) -> Result<(), Mistake> {
    let name = &step.name;
    let before = protocol.steps.iter().take(index);
    let before: Vec<&str> = before.map(|step| step.name.as_str()).collect();
    for text in step.texts() {
        if parts(text).is_err() {
            return Err(Mistake::new(
                format!("“{text}” in the step “{name}”, with a brace without its partner"),
                "a name between two braces",
                format!("correct it in the step “{name}”"),
            ));
        }
        for used in names(text) {
            let own = owner(&used);
            let exists = protocol.inputs.contains_key(own)
                || protocol.regions.contains_key(own)
                || before.contains(&own)
                || own == FOLDER_NAME;
            if exists {
                continue;
            }
            if protocol.steps.iter().any(|step| step.name == own) {
                return Err(Mistake::new(
                    format!("“{{{used}}}” in the step “{name}”"),
                    "a result of an earlier step",
                    match own == name {
                        true => format!("name another file in the step “{name}”"),
                        false => format!("move the step “{own}” before the step “{name}”"),
                    },
                ));
            }
            let inputs = protocol.inputs.keys().chain(protocol.regions.keys());
            let known = inputs.map(String::as_str).chain(before.iter().copied());
            return Err(Mistake::new(
                format!("“{{{used}}}” in the step “{name}”"),
                format!(
                    "the name of an input, a region or an earlier step: {}",
                    in_braces(known.chain([FOLDER_NAME]))
                ),
                format!("correct the name in the step “{name}”"),
            ));
        }
    }
    Ok(())
}

/// A mask needs the grid of a fixed image where the warp begins with an inverse, since that of the first field is then not on
/// the fixed side.
fn check_fixed(protocol: &Protocol, name: &str, region: &ProtocolRegion) -> Result<(), Mistake> {
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
            Err(Mistake::new(
                format!(
                    "the mask “{name}” in the space “{space}”, whose warp begins with an inverse"
                ),
                "the image whose voxels the mask gets, as in fixed = \"{dwi}\"",
                format!("add fixed to [space.{space}]"),
            ))
        }
        _ => Ok(()),
    }
}
