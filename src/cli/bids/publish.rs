//! The results of a participant under names of BIDS, each with a sidecar. Tractograms are named as the proposal for
//! tractography has it (BEP 46: `tract`, `tractogram`), maps of models as that for diffusion models (BEP 16: `model`,
//! `param`, `dwimap`).

use super::super::cohort::steps::read_provenance;
use super::Failure;
use super::description::{link_name, write_if_new};
use super::failed;
use super::units::Unit;
use crate::io::{self, Content, Format};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A label of BIDS: letters and digits only.
fn label(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The end of the name of a result, without the ending; `None` for files that stay in the folder of the step.
fn name_of(step: &str, command: &str, file: &Path) -> Option<(String, String)> {
    let name = file.file_name()?.to_string_lossy();
    let ending = io::extension(file);
    let stem = name.strip_suffix(&format!(".{ending}")).unwrap_or(&name);
    let (step_label, own) = (label(step), label(stem));
    let region = step.strip_prefix("region_");
    // The name of the file is left out where it repeats that of the step.
    let both = match own.eq_ignore_ascii_case(&step_label) {
        true => step_label.clone(),
        false => format!("{step_label}{own}"),
    };
    if ending == "csv" {
        let suffix = match command {
            "connectome" => "relmat",
            "profile" => "profile",
            _ => "table",
        };
        return Some((format!("desc-{both}_{suffix}"), "tsv".to_owned()));
    }
    let is_mask = stem.contains("mask") || stem == "pathway" || region.is_some();
    let end = match (Format::named(file)?.content(), command) {
        (Content::Streamlines, _) if own.eq_ignore_ascii_case(&step_label) => {
            format!("tract-{step_label}_tractogram")
        }
        (Content::Streamlines, _) => format!("tract-{step_label}_desc-{own}_tractogram"),
        (Content::Image, "fit") if is_mask => "desc-brain_mask".to_owned(),
        (Content::Image, _) if is_mask => match region {
            Some(region) => format!("desc-{}_mask", label(region)),
            None => format!("desc-{both}_mask"),
        },
        (Content::Image, "fit") => format!("model-tensor_param-{own}_dwimap"),
        (Content::Image, "fod") => format!("model-csd_param-{own}_dwimap"),
        (Content::Image, "density") => format!("tract-{step_label}_param-density_dwimap"),
        (Content::Image, _) => format!("desc-{both}_dwimap"),
        _ => return None,
    };
    Some((end, ending))
}

/// A file of the input as a URI of BIDS.
fn uri(file: &str, roots: &[PathBuf]) -> String {
    let relative = roots.iter().enumerate().find_map(|(i, root)| {
        let rest = Path::new(file).strip_prefix(root).ok()?;
        Some(format!("bids:{}:{}", link_name(roots, i), rest.display()))
    });
    relative.unwrap_or_else(|| file.to_owned())
}

/// The cells of a row of CSV.
pub fn cells(row: &str) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = row.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    cells
}

/// A table with tabs in place of commas, and n/a for what is missing.
fn tsv(csv: &str) -> String {
    let row = |row: &str| {
        let cells = cells(row).into_iter().map(|cell| match cell.trim() {
            "" | "nan" | "NaN" => "n/a".to_owned(),
            cell => cell.replace('\t', " "),
        });
        cells.collect::<Vec<_>>().join("\t") + "\n"
    };
    csv.lines().map(row).collect()
}

/// Names the results of the finished steps of a participant.
pub fn publish(
    unit: &Unit,
    output: &Path,
    roots: &[PathBuf],
    status: &Value,
) -> Result<(), Failure> {
    let mut folder = output.join(&unit.participant);
    if let Some(session) = &unit.session {
        folder.push(session);
    }
    let folder = folder.join("dwi");
    io::atomic::make_folder(&folder).map_err(failed)?;
    for step in status["steps"].as_array().into_iter().flatten() {
        let name = step["name"].as_str().unwrap_or_default();
        let of_step = unit.subject.out.join(name);
        let Some(provenance) = read_provenance(&of_step) else {
            continue;
        };
        let command = step["command"].as_str().unwrap_or_default();
        let command = command.split_whitespace().nth(1).unwrap_or_default();
        for result in provenance["outputs"].as_array().into_iter().flatten() {
            let Some(file) = result["file"].as_str() else {
                continue;
            };
            let Some((end, ending)) = name_of(name, command, Path::new(file)) else {
                continue;
            };
            let base = format!("{}_{end}", unit.entities());
            let (from, to) = (of_step.join(file), folder.join(format!("{base}.{ending}")));
            match ending.as_str() {
                "tsv" => {
                    let csv = io::text(&from).map_err(failed)?;
                    write_if_new(&to, &tsv(&csv))?;
                }
                _ if io::disk::are_same_file(&from, &to) => {}
                _ => io::cohort::link(&from, &to).map_err(failed)?,
            }
            let inputs = provenance["inputs"].as_array().into_iter().flatten();
            let inputs = inputs.filter_map(|input| input["file"].as_str());
            let sidecar = json!({
                "Description": format!("{file} of the step {name}"),
                "Sources": inputs.map(|input| uri(input, roots)).collect::<Vec<_>>(),
                "Command": provenance["command"], "Backend": provenance["backend"],
                "GeneratedBy": [{"Name": "Arcuate", "Version": provenance["program"]["version"]}],
                "ProtocolSHA256": provenance["protocol"]["sha256"], "SHA256": result["sha256"],
            });
            let text = serde_json::to_string_pretty(&sidecar).unwrap_or_default() + "\n";
            write_if_new(&folder.join(format!("{base}.json")), &text)?;
        }
    }
    Ok(())
}
