//! Reads session files, and compares the files that they refer to.

use crate::compute::Control;
use crate::io::session::{self, Entry, FileComparison, PackedMask, PackedNumbers};
use crate::io::{self, checksum};
use crate::jobs::{Delivery, Job, JobError, PartialSender, Receive, Slot, Worker};
use crate::state::core::text::file_name;
use crate::state::files::jobs::LOAD;
use crate::state::job_end::ended;
use crate::state::sessions::jobs::opened;
use crate::state::sessions::saved;
use crate::state::sessions::types::content::Content;
use crate::state::sessions::types::file::{FileStatus, ReadSession, UnreadableArray};
use crate::state::sessions::types::restore_error::ArrayError;
use crate::state::sessions::update::{self, checked};
use crate::state::{Effect, State, filter};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Comparing files with those of the session, byte by byte.
const VERIFY: Slot = Slot::queue("verify");

/// Reads a session file.
#[derive(Clone, Debug)]
pub struct OpenSession {
    pub path: PathBuf,
    /// Files are read even if size and age are unchanged.
    pub strict: bool,
    /// Missing files may be here, besides in the session's own folder.
    pub folders: Vec<PathBuf>,
}

impl Job for OpenSession {
    type Output = Arc<ReadSession>;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        format!("Opening {}", file_name(&self.path))
    }

    fn named_file(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<Arc<ReadSession>>,
    ) -> Result<Arc<ReadSession>, JobError> {
        Ok(Arc::new(read(self, control)?))
    }
}

impl Receive<State> for OpenSession {
    fn receive(
        &self,
        delivery: Delivery<Arc<ReadSession>>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        opened(state, self, delivery, effects, |state, read, _, effects| {
            update::was_read(state, read, effects);
        });
    }
}

/// Some of a session's files have new paths; other missing files may be in the same folders.
#[derive(Clone, Debug)]
pub struct RelocateFiles {
    pub files: Vec<FileStatus>,
    /// New paths by the files' numbers.
    pub new_paths: Vec<(usize, PathBuf)>,
}

impl Job for RelocateFiles {
    type Output = Vec<FileStatus>;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        "Looking for files".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<Vec<FileStatus>>,
    ) -> Result<Vec<FileStatus>, JobError> {
        Ok(relocate(self.files, self.new_paths, control)?)
    }
}

impl Receive<State> for RelocateFiles {
    fn receive(
        &self,
        delivery: Delivery<Vec<FileStatus>>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        opened(
            state,
            self,
            delivery,
            effects,
            |state, files, _, effects| {
                update::were_relocated(state, files, effects);
            },
        );
    }
}

/// Checks whether files that were accepted by size and age are those of a session; returns those that have changed,
/// with the reasons.
#[derive(Clone, Debug)]
pub struct VerifyFiles {
    pub files: Vec<(PathBuf, Entry)>,
}

impl Job for VerifyFiles {
    type Output = Vec<(PathBuf, FileComparison)>;

    fn slot(&self) -> Slot {
        VERIFY
    }

    fn label(&self) -> String {
        "Verifying the session's files".to_owned()
    }

    fn run(
        self,
        _: &Worker,
        control: &Control,
        _: &PartialSender<Vec<(PathBuf, FileComparison)>>,
    ) -> Result<Vec<(PathBuf, FileComparison)>, JobError> {
        Ok(verify(self.files, control)?)
    }
}

impl Receive<State> for VerifyFiles {
    fn receive(
        &self,
        delivery: Delivery<Vec<(PathBuf, FileComparison)>>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        ended(state, self, delivery, effects, |state, differ, _, _| {
            checked::verified(state, self.files.len(), &differ);
        });
    }
}

fn read(job: OpenSession, control: &Control) -> Result<ReadSession, io::Error> {
    let OpenSession {
        path,
        strict,
        folders,
    } = job;
    let path = std::path::absolute(&path).unwrap_or(path);
    let sha256 = checksum::of_file(&path, control)?;
    let session = session::read(&path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    // Compressed text of a few bytes may expand to very much.
    let room = || io::available_bytes().map_or(1 << 34, |bytes| bytes / 2);
    let fits = session
        .masks
        .iter()
        .filter_map(PackedMask::voxels)
        .sum::<u64>()
        <= room();
    let mut masks = Vec::new();
    for packed in session.masks {
        let mask = match fits {
            true => packed.unpack().map_err(ArrayError::from),
            false => Err(ArrayError::MaskMemory),
        };
        // Items that refer to it report this.
        masks.push(mask.map_err(|reason| UnreadableArray {
            packed: Arc::new(packed),
            reason,
        }));
    }
    let numbers = session.numbers.iter().map(PackedNumbers::room_bytes);
    let fits = numbers.sum::<u64>() <= room();
    let mut numbers = Vec::new();
    for packed in session.numbers {
        let values = match fits || packed.room_bytes() == 0 {
            true => packed.unpack().map_err(ArrayError::from),
            false => Err(ArrayError::NumbersMemory),
        };
        numbers.push(values.map_err(|reason| UnreadableArray {
            packed: Arc::new(packed),
            reason,
        }));
    }
    let origin_is_same = origin_is_same(&session.content, control)?;
    let content = saved::parse(session.content);
    let (only_named, sorted_weights) = match &content {
        Ok((content, _)) => (
            content.files_only_named(),
            sorted_weights(content, &numbers),
        ),
        Err(_) => Default::default(),
    };
    let own = [folder.to_owned()].into_iter();
    let folders: Vec<PathBuf> = own.chain(folders).collect();
    let mut files = Vec::new();
    for (number, entry) in session.files.into_iter().enumerate() {
        let place = entry.path_from(folder);
        let is_read = !only_named.contains(&number);
        // Nothing else would find that the file has other voxels.
        let standing = session::check(&place, &entry, strict || !is_read, control)?;
        let suggestion = (is_read && matches!(standing, FileComparison::Missing(_)))
            .then(|| session::find_moved(&entry, &folders, control))
            .flatten();
        files.push(FileStatus {
            path: place,
            standing,
            is_read,
            suggestion,
            entry,
        });
    }
    Ok(ReadSession {
        origin_is_same,
        content,
        program: session.program,
        computed_on: session.computed_on,
        results: session.results,
        numbers,
        sorted_weights,
        path,
        sha256,
        files,
        masks,
    })
}

/// Sorts the weights of all layers here, since their number may be large.
fn sorted_weights(
    content: &Content,
    numbers: &[Result<Arc<[f32]>, UnreadableArray<PackedNumbers>>],
) -> BTreeMap<usize, Arc<[f32]>> {
    let known = content.weights().filter_map(|weights| {
        let values = numbers.get(weights.values)?.as_ref().ok()?;
        Some((weights.values, filter::sorted(values)))
    });
    known.collect()
}

/// Whether the session of a copy for recovery is unchanged since the copy was written.
fn origin_is_same(content: &Value, control: &Control) -> Result<bool, io::Error> {
    let [origin, sum] = ["origin", "origin_sha256"].map(|name| content[name].as_str());
    let (Some(origin), Some(sum)) = (origin, sum) else {
        return Ok(false);
    };
    match checksum::of_file(Path::new(origin), control) {
        Ok(actual) => Ok(actual == sum),
        Err(io::Error::Cancelled) => Err(io::Error::Cancelled),
        // Whatever the reason, it has changed.
        Err(_) => Ok(false),
    }
}

/// Reads every byte of files that were accepted as a session's by their size and age.
fn verify(
    files: Vec<(PathBuf, Entry)>,
    control: &Control,
) -> Result<Vec<(PathBuf, FileComparison)>, io::Error> {
    control.begin("Verifying the session's files", files.len() as u64);
    let mut differ = Vec::new();
    for (path, entry) in files {
        let standing = session::check(&path, &entry, true, control)?;
        if standing != FileComparison::Same {
            differ.push((path, standing));
        }
        control.advance(1);
    }
    Ok(differ)
}

fn relocate(
    mut files: Vec<FileStatus>,
    to: Vec<(usize, PathBuf)>,
    control: &Control,
) -> Result<Vec<FileStatus>, io::Error> {
    let folders: Vec<PathBuf> = to
        .iter()
        .filter_map(|(_, path)| path.parent().map(Path::to_owned))
        .collect();
    for (index, path) in to {
        let Some(file) = files.get_mut(index) else {
            continue;
        };
        file.standing = session::check(&path, &file.entry, false, control)?;
        file.path = path;
        file.suggestion = None;
    }
    let missing =
        |f: &&mut FileStatus| f.is_read && matches!(f.standing, FileComparison::Missing(_));
    for other in files.iter_mut().filter(missing) {
        let place = session::find_moved(&other.entry, &folders, control);
        other.suggestion = place.or(other.suggestion.take());
    }
    Ok(files)
}
