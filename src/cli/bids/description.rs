//! `dataset_description.json`: that of the input is checked, that of the results is written.

use super::super::cohort::LoadedProtocol;
use super::{Failure, WORK, failed};
use crate::io;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const FILE: &str = "dataset_description.json";
/// Version of the standard that the results follow.
pub const BIDS_VERSION: &str = "1.10.0";

/// Checks that a folder describes itself as a dataset.
pub fn check(bids: &Path) -> Result<(), Failure> {
    let path = bids.join(FILE);
    if !path.is_file() {
        return Err(Failure::new(format!(
            "Found no {FILE}, expected one in a BIDS dataset; name its folder, or add --skip-bids-validation: {}",
            bids.display()
        )));
    }
    let text = io::text(&path).map_err(failed)?;
    let value: Result<Value, _> = serde_json::from_str(&text);
    let value = value.map_err(|e| {
        Failure::new(format!(
            "Found {}, expected JSON; correct it, or add --skip-bids-validation: {}",
            io::json::problem(&e),
            path.display()
        ))
    })?;
    let missing = ["Name", "BIDSVersion"]
        .into_iter()
        .find(|key| !value[key].is_string());
    match missing {
        None => Ok(()),
        Some(key) => Err(Failure::new(format!(
            "Found no “{key}”, expected Name and BIDSVersion; add it, or add --skip-bids-validation: {}",
            path.display()
        ))),
    }
}

/// The name of a dataset in BIDS URIs: `raw` for the last root, `derivatives1` and so on for the others.
pub fn link_name(roots: &[PathBuf], index: usize) -> String {
    match index + 1 == roots.len() {
        true => "raw".to_owned(),
        false => format!("derivatives{}", index + 1),
    }
}

/// Writes the text unless the file has it.
pub fn write_if_new(path: &Path, text: &str) -> Result<(), Failure> {
    if io::text(path).is_ok_and(|now| now == text) {
        return Ok(());
    }
    io::atomic::write_text(path, text).map_err(failed)
}

/// Describes the results.
pub fn save(output: &Path, roots: &[PathBuf], loaded: &LoadedProtocol) -> Result<(), Failure> {
    let protocol = &loaded.protocol;
    let links = roots.iter().enumerate();
    let links = links.map(|(i, root)| (link_name(roots, i), json!(root)));
    let links: serde_json::Map<String, Value> = links.collect();
    let title = match protocol.title.as_str() {
        "" => "Results of Arcuate".to_owned(),
        title => format!("Results of Arcuate: {title}"),
    };
    let sources = roots.iter().map(|root| json!({"URL": root}));
    let value = json!({
        "Name": title, "BIDSVersion": BIDS_VERSION, "DatasetType": "derivative",
        "GeneratedBy": [{
            "Name": "Arcuate", "Version": env!("CARGO_PKG_VERSION"),
            "Description": format!("Protocol with SHA-256 {}", loaded.sha256),
        }],
        "SourceDatasets": sources.collect::<Vec<_>>(), "DatasetLinks": links,
    });
    let text = serde_json::to_string_pretty(&value).unwrap_or_default() + "\n";
    write_if_new(&output.join(FILE), &text)?;
    write_if_new(&output.join(".bidsignore"), &format!("{WORK}/\n"))
}
