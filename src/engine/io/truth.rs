//! The folder of a truth against which streamlines are scored: `truth.json` names an image of end regions, and for each
//! bundle the labels of its ends, its true fibres and its corridor, as files in the same folder.

use super::source::read_text;
use super::{Error, disk, json};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The file that names the others.
pub const FILE: &str = "truth.json";

const TEXT_LIMIT_BYTES: u64 = 1 << 22;
const EXPECTED: &str =
    "the truth of a head with end regions and bundles, as arcuate phantom --crossing writes it";

/// The members of `truth.json` about the bundles; paths are relative to its folder.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TruthFiles {
    /// Labels of the end regions.
    pub ends: PathBuf,
    /// Bundles in the order of the file.
    pub bundles: Vec<BundleFiles>,
}

/// Members of one bundle.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BundleFiles {
    /// Name of the bundle.
    pub name: String,
    /// Label of its first end region.
    pub start: u32,
    /// Label of its second end region.
    pub end: u32,
    /// Its true fibres.
    pub fibres: PathBuf,
    /// The mask that valid streamlines do not leave.
    pub corridor: PathBuf,
}

/// The files of a truth, with the folder before each.
pub fn read(folder: &Path) -> Result<TruthFiles, Error> {
    if disk::metadata(folder).is_ok_and(|metadata| !metadata.is_dir()) {
        let expected = (
            "a folder with truth.json and the files that it names",
            "name the folder",
        );
        return Err(Error::malformed(folder, "a file", expected));
    }
    let path = folder.join(FILE);
    let is_missing =
        |path: &Path| disk::metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    if is_missing(&path) {
        let found = match is_missing(folder) {
            true => "no folder of this name",
            false => "a folder without truth.json",
        };
        let expected = (
            "a folder with truth.json and the files that it names",
            "name one that arcuate phantom --crossing has written",
        );
        return Err(Error::malformed(folder, found, expected));
    }
    let text = read_text(&path, TEXT_LIMIT_BYTES)?;
    let members = serde_json::from_str::<serde_json::Value>(&text);
    if members.is_ok_and(|members| members.is_object() && members.get("ends").is_none()) {
        let expected = (
            "one with end regions and bundles",
            "make the head with arcuate phantom --crossing",
        );
        return Err(Error::malformed(
            &path,
            "a truth without end regions",
            expected,
        ));
    }
    let files: Result<TruthFiles, _> = serde_json::from_str(&text);
    let mut files = files.map_err(|e| Error::malformed(&path, json::problem(&e), EXPECTED))?;
    files.ends = folder.join(&files.ends);
    for bundle in &mut files.bundles {
        bundle.fibres = folder.join(&bundle.fibres);
        bundle.corridor = folder.join(&bundle.corridor);
    }
    Ok(files)
}
