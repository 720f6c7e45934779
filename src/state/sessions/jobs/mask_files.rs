//! The files that hold masks of a session, for commands.

use crate::compute::Control;
use crate::io::{self, session};
use crate::state::sessions::types::file::{Entry, FileComparison};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The member of a session's content that lists them. Workers write and read it, since it needs the files' checksums.
/// Nothing is read from these files: one that has changed or is missing is dropped without a question.
const MASK_FILES: &str = "mask_files";

#[derive(serde::Serialize, serde::Deserialize)]
struct MaskFile {
    mask: usize,
    file: Entry,
}

/// The content with the files that hold masks of the session. Files that cannot be read now are left out.
pub(in crate::state) fn added(
    mut content: Value,
    stored: &[(usize, PathBuf)],
    folder: &Path,
    known: &dyn Fn(&Path) -> Option<String>,
    control: &Control,
) -> Result<Value, io::Error> {
    let mut files = Vec::new();
    for (mask, path) in stored {
        match session::describe(path, false, folder, known, control) {
            Ok(file) => files.push(MaskFile { mask: *mask, file }),
            Err(io::Error::Cancelled) => return Err(io::Error::Cancelled),
            Err(_) => {}
        }
    }
    if let (Value::Object(members), false) = (&mut content, files.is_empty()) {
        let files = serde_json::to_value(files).unwrap_or(Value::Null);
        members.insert(MASK_FILES.to_owned(), files);
    }
    Ok(content)
}

/// Takes these files out of the content, and returns those that are unchanged.
pub(in crate::state) fn take_out(
    content: &mut Value,
    folder: &Path,
    control: &Control,
) -> Result<Vec<(usize, PathBuf)>, io::Error> {
    let list = content.as_object_mut().and_then(|m| m.remove(MASK_FILES));
    let list = list.and_then(|list| serde_json::from_value(list).ok());
    let list: Vec<MaskFile> = list.unwrap_or_default();
    let mut same = Vec::new();
    for MaskFile { mask, file } in list {
        let place = file.path_from(folder);
        let standing = session::check(&place, &file, true, control)?;
        if standing == FileComparison::Same {
            same.push((mask, place));
        }
    }
    Ok(same)
}
