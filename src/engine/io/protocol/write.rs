//! The text of a protocol.

use crate::data::protocol::{
    LabelName, OptionValue, Protocol, ProtocolRegion, ProtocolSpace, VERSION,
};
use crate::data::text::number;
use crate::io::{Error, atomic};
use std::fmt::Write as _;
use std::path::Path;

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
        write_space(&mut text, name, space);
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

fn write_space(text: &mut String, name: &str, space: &ProtocolSpace) {
    // Writing to a string does not fail.
    let images = match space {
        ProtocolSpace::Affine { transform, fixed } => {
            let _ = writeln!(
                text,
                "# An affine of ITK, ANTs or FLIRT that moves images of this space to that of the scan.\n\
                 [space.{name}]\ntransform = {}",
                quoted(transform)
            );
            [("fixed", fixed), ("moving", &None)]
        }
        ProtocolSpace::Warp {
            transforms,
            fixed,
            moving,
        } => {
            let transforms: Vec<String> = transforms.iter().map(|text| quoted(text)).collect();
            let _ = writeln!(
                text,
                "# A warp of ANTs, ITK or FNIRT that takes images of this space to that of the scan, in the order of\n\
                 # arcuate convert --warp. fixed: the image whose voxels a mask gets.\n\
                 [space.{name}]\nwarp = [{}]",
                transforms.join(", ")
            );
            [("fixed", fixed), ("moving", moving)]
        }
    };
    for (key, image) in images {
        if let Some(image) = image {
            let _ = writeln!(text, "{key} = {}", quoted(image));
        }
    }
    text.push('\n');
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
