//! The command that measures the same image within the same voxels.

use crate::data::Region;
use crate::io::quoted;
use crate::state::core::layer::Content;
use crate::state::core::text::quoted_path;
use crate::state::figures::FigureSubject;
use crate::state::origin::commands::file_and_command;
use crate::state::pathways::update::command_line as pathway_command;
use crate::state::regions::recipe::{MaskWithoutFile, RegionCommand};
use crate::state::{CommandLine, State};
use std::path::{Path, PathBuf};

/// The folder of a pathway's command, and the pathway in it.
const PATHWAY: &str = "pathway";
const PATHWAY_MASK: &str = "pathway/pathway.nii.gz";

/// The command line of the figures shown; `None` if there is nothing to measure.
pub fn command_line(state: &State) -> Option<CommandLine> {
    let (subject, name) = state.figure_subject()?;
    let (layer, ..) = state.figure_image()?;
    let mut command = RegionCommand {
        needs: Vec::new(),
        options: String::new(),
        writes: false,
        unfiled: None,
    };
    add_subject(state, (subject, name), &mut command)?;
    let document = &state.document;
    // The command measures every volume, whichever is shown.
    let plain = || {
        let origin = document.origin(layer);
        let path = document.path(layer).filter(|_| origin.is_plain_file());
        Some((path?.to_owned(), None))
    };
    match file_and_command(document, layer).or_else(plain) {
        Some((file, need)) => {
            command.needs.extend(need);
            command.options += &format!(" --stats {}", quoted_path(&file));
        }
        None => {
            let name = format!("“{}”", layer.name);
            command.unfiled.get_or_insert(name);
        }
    }
    command.options += " --csv figures.csv";
    Some(CommandLine::Region(Box::new(command)))
}

/// Adds the option that names the measured voxels.
fn add_subject(
    state: &State,
    (subject, name): (FigureSubject, &str),
    command: &mut RegionCommand,
) -> Option<()> {
    let document = &state.document;
    let mut mask = |file: Option<PathBuf>| match file {
        Some(file) => {
            let text = format!("mask:{}", file.display());
            command.options += &format!(" --union {}", quoted(&text));
        }
        None => command.unfiled = Some(format!("“{name}”")),
    };
    match subject {
        FigureSubject::Region(id) => {
            let region: &Region = document.region(id)?;
            match document.specs(std::slice::from_ref(region)) {
                Ok(specs) => {
                    let text = specs.first()?.shape.to_string();
                    command.options += &format!(" --union {}", quoted(&text));
                }
                Err(MaskWithoutFile(name)) => {
                    command.unfiled = Some(format!("the region “{name}”"));
                }
            }
        }
        FigureSubject::Mask(id) => {
            let layer = document.layer(id)?;
            let Content::Mask(voxels) = &layer.content else {
                return None;
            };
            let file = document.mask_file(voxels).map(Path::to_owned);
            let computed = file_and_command(document, layer).filter(|_| file.is_none());
            match computed {
                Some((file, need)) => {
                    mask(Some(file));
                    command.needs.extend(need);
                }
                None => mask(file),
            }
        }
        FigureSubject::Pathway(id) => {
            let line = pathway_command(state, id)?;
            if line.no_command().is_some() {
                command.unfiled = Some(format!("“{name}”"));
                return Some(());
            }
            command.needs.push(line.text_to(Path::new(PATHWAY)).into());
            command.options += &format!(" --union mask:{PATHWAY_MASK}");
        }
        FigureSubject::Surface => command.unfiled = Some("the surface".to_owned()),
    }
    Some(())
}
