//! Writing and reading sessions.

use super::mask_files;
use super::{
    Found, Item, Memory, NotRestored, Parser, ReadSession, RecoverableSession, Restored,
    RestoredLayers, SessionDraft, Stored, StoredNumbers, ToSum, UnreadableArray,
};
use crate::compute::{Backend, Control};
use crate::data::Tractogram;
use crate::io::session::{
    self, Entry, FileComparison, PackedMask, PackedNumbers, SessionFile, Stamp, Sum,
};
use crate::io::{checksum, recovery};
use crate::jobs::memory_for_curves;
use crate::phantom;
use crate::solvers::density::{self, DensityGrid, Params};
use crate::solvers::tractogram::selection::{self, Edit, apply};
use crate::state::files::jobs::head;
use crate::state::files::jobs::open::{Loaded, Opened, OpenedFile, open};
use glam::DAffine3;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Recoverable sessions that this window does not hold yet, and whether other processes hold more.
pub fn left_behind(memory: &Memory) -> (Vec<RecoverableSession>, bool) {
    match recovery::root() {
        Some(root) => left_behind_in(&root, memory),
        None => (Vec::new(), false),
    }
}

fn left_behind_in(root: &Path, memory: &Memory) -> (Vec<RecoverableSession>, bool) {
    let mut found = Vec::new();
    for desk in recovery::recoverable_folders(root) {
        let path = desk.session();
        // A file that cannot be read is left as it is: a newer version may read it.
        let Ok(session) = session::read(&path) else {
            continue;
        };
        let list = |name: &str| {
            let list = session.content["document"][name].as_array();
            list.map_or(0, Vec::len)
        };
        found.push(RecoverableSession {
            written_s: session.saved_s,
            name: session.content["document"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            regions: list("regions"),
            layers: list("layers"),
            origin: session.content["origin"].as_str().map(PathBuf::from),
            session: path,
        });
        memory.lock().left.push(desk);
    }
    let inner = memory.lock();
    let here: Vec<_> = inner.left.iter().chain(&inner.desk).collect();
    (found, recovery::are_held(root, &here))
}

/// A session file of the present content.
fn compose(
    path: &Path,
    draft: &SessionDraft,
    memory: &Memory,
    control: &Control,
) -> Result<SessionFile, String> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    let known = |path: &Path| {
        let stamp = Stamp::new(path)?;
        let inner = memory.lock();
        let found = inner.files.get(path).filter(|(s, _)| *s == stamp);
        found.map(|(_, sum)| sum.clone())
    };
    let mut files = Vec::new();
    for listed in &draft.files {
        if let (true, Some((entry, from))) = (listed.as_known, &listed.known) {
            files.push(entry.moved(from, folder));
            continue;
        }
        let companions = session::companions(&listed.path, listed.scan);
        let paths = std::iter::once(listed.path.clone()).chain(companions);
        let before: Vec<_> = paths.map(|path| (Stamp::new(&path), path)).collect();
        let described = session::describe(&listed.path, listed.scan, folder, &known, control);
        files.push(match (described, &listed.known) {
            (Ok(entry), _) => {
                let mut inner = memory.lock();
                let all = std::iter::once(&entry).chain(&entry.companions);
                let sums: Vec<&String> = all.map(|e| &e.sha256).collect();
                if sums.len() == before.len() {
                    for ((stamp, path), sum) in before.into_iter().zip(sums) {
                        // A file that changed while it was read has no known checksum.
                        if let Some(stamp) = stamp.filter(|s| Stamp::new(&path) == Some(*s)) {
                            inner.files.insert(path, (stamp, sum.clone()));
                        }
                    }
                }
                entry
            }
            (Err(crate::io::Error::Cancelled), _) => return Err("Cancelled".to_owned()),
            (Err(_), Some((entry, from))) => entry.moved(from, folder),
            (Err(_), None) => Entry::unreadable(&listed.path, folder),
        });
    }
    let mut results = Vec::new();
    for result in &draft.results {
        let mut sum = match result {
            ToSum::Tensors(of, field) => memory.sum(field.id(), || Sum::of_tensors(of, field)),
            ToSum::Values(of, id, values) => memory.sum(*id, || Sum::of_values(of, values)),
            ToSum::Curves { of, tractogram, .. } => {
                memory.sum(tractogram.id(), || Sum::of_tractogram(of, tractogram))
            }
            ToSum::Known(sum, from) => {
                let file = sum.file.as_ref();
                let file = file.map(|file| Entry::unreadable(&from.join(file), folder).path);
                let sum = sum.clone();
                results.push(Sum { file, ..sum });
                continue;
            }
        };
        // One result may have two names: a live one that was kept.
        let (ToSum::Tensors(of, _) | ToSum::Values(of, ..) | ToSum::Curves { of, .. }) = result
        else {
            continue;
        };
        sum.of.clone_from(of);
        if let ToSum::Curves {
            tractogram, stored, ..
        } = result
            && *stored
            && draft.store.keeps(tractogram)
        {
            let known = |path: &Path| {
                let stamp = Stamp::new(path);
                stamp.is_some() && memory.lock().kept.get(path).copied() == stamp
            };
            let file = session::store(&absolute, tractogram, &sum.sha256, &known, control);
            let file = file.map_err(|e| e.to_string())?;
            let place = folder.join(&file);
            if let Some(stamp) = Stamp::new(&place) {
                memory.lock().kept.insert(place, stamp);
            }
            sum.file = Some(file);
        }
        results.push(sum);
    }
    let content = draft.content.value();
    let content = mask_files::added(content, &draft.mask_files, folder, &known, control)?;
    Ok(SessionFile {
        arcuate_session: session::VERSION,
        program: format!("Arcuate {}", env!("CARGO_PKG_VERSION")),
        saved_s: 0,
        computed_on: draft.computed_on.clone(),
        files,
        masks: draft
            .masks
            .iter()
            .map(|mask| packed(mask, memory))
            .collect(),
        numbers: numbers(&draft.numbers),
        results,
        content,
    })
}

/// The lists that fit, the first ones first.
fn numbers(all: &[StoredNumbers]) -> Vec<PackedNumbers> {
    let mut room = session::MAX_NUMBERS;
    let one = |numbers: &StoredNumbers| {
        let packed = match numbers {
            StoredNumbers::Numbers(values) => PackedNumbers::pack(values),
            StoredNumbers::AsTheyWere(packed) => (**packed).clone(),
        };
        match room.checked_sub(packed.bytes.len()) {
            Some(left) => {
                room = left;
                packed
            }
            None => PackedNumbers::left_out(packed.count),
        }
    };
    all.iter().map(one).collect()
}

fn packed(mask: &Stored, memory: &Memory) -> PackedMask {
    match mask {
        Stored::Mask(mask) => memory.packed(mask),
        Stored::AsItWas(packed) => (**packed).clone(),
    }
}

/// Outcome of saving a session.
pub enum Written {
    /// With the file's checksum, and how many lists of numbers did not fit.
    Saved(String, usize),
    /// Another program has changed the file, which was left unchanged.
    ChangedSince,
}

/// Writes a session; `known` is the checksum of the file that may be replaced, `None` if any may be.
pub fn write(
    path: &Path,
    draft: &SessionDraft,
    known: Option<&str>,
    memory: &Memory,
    control: &Control,
) -> Result<Written, String> {
    let has_changed = || match known {
        Some(known) if path.exists() => {
            let sum = checksum::of_file(path, control).map_err(|e| e.to_string())?;
            Ok::<_, String>(sum != known)
        }
        _ => Ok(false),
    };
    if has_changed()? {
        return Ok(Written::ChangedSince);
    }
    let session = compose(path, draft, memory, control)?;
    // Composing takes a while: it computes checksums of files and writes streamlines.
    if has_changed()? {
        return Ok(Written::ChangedSince);
    }
    let left_out = |n: &&PackedNumbers| n.bytes.is_empty() && n.count > 0;
    let left_out = session.numbers.iter().filter(left_out).count();
    Ok(Written::Saved(put(path, session)?, left_out))
}

/// Writes a session unless the same content is already on the disk.
pub fn write_if_new(
    path: &Path,
    draft: &SessionDraft,
    memory: &Memory,
    control: &Control,
) -> Result<(), String> {
    let session = compose(path, draft, memory, control)?;
    if memory.lock().last.as_ref() == Some(&session) {
        return Ok(());
    }
    put(path, session.clone())?;
    memory.lock().last = Some(session);
    Ok(())
}

/// Returns the checksum of the written file.
fn put(path: &Path, mut session: SessionFile) -> Result<String, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    session.saved_s = now.map_or(0, |d| d.as_secs());
    let sum = session::write(path, &session).map_err(|e| e.to_string())?;
    let names: Vec<String> = session.results.into_iter().filter_map(|r| r.file).collect();
    session::remove_unreferenced(path, &names);
    Ok(sum)
}

pub fn read(
    path: &Path,
    strict: bool,
    parser: &Parser,
    control: &Control,
) -> Result<ReadSession, String> {
    let sentence = |e: crate::io::Error| e.to_string();
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let sha256 = checksum::of_file(&path, control).map_err(sentence)?;
    let mut session = session::read(&path).map_err(sentence)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mask_files = mask_files::taken(&mut session.content, folder, control)?;
    const NO_ROOM: &str = "more memory than is available";
    // Compressed text of a few bytes may expand to very much.
    let room = || crate::io::available_bytes().map_or(1 << 34, |bytes| bytes / 2);
    let fits = session
        .masks
        .iter()
        .filter_map(PackedMask::voxels)
        .sum::<u64>()
        <= room();
    let mut masks = Vec::new();
    for packed in session.masks {
        let mask = match fits {
            true => packed.unpack(),
            false => Err(format!("it needs {NO_ROOM}")),
        };
        // Items that refer to it report this.
        masks.push(mask.map_err(|why| UnreadableArray {
            packed: Arc::new(packed),
            why,
        }));
    }
    let numbers = session.numbers.iter().map(PackedNumbers::room_bytes);
    let fits = numbers.sum::<u64>() <= room();
    let mut numbers = Vec::new();
    for packed in session.numbers {
        let values = match fits || packed.room_bytes() == 0 {
            true => packed.unpack(),
            false => Err(format!("they need {NO_ROOM}")),
        };
        numbers.push(values.map_err(|why| UnreadableArray {
            packed: Arc::new(packed),
            why,
        }));
    }
    let mut files = Vec::new();
    for entry in session.files {
        let place = entry.place(folder);
        let standing = session::check(&place, &entry, strict, control).map_err(sentence)?;
        let folders = [folder.to_owned()];
        let suggestion = matches!(standing, FileComparison::Missing(_))
            .then(|| session::find_moved(&entry, &folders, control))
            .flatten();
        files.push(Found {
            path: place,
            standing,
            suggestion,
            entry,
        });
    }
    let origin_is_same = origin_is_same(&session.content, control)?;
    Ok(ReadSession {
        origin_is_same,
        mask_files,
        content: (parser.0)(session.content),
        program: session.program,
        computed_on: session.computed_on,
        results: session.results,
        numbers,
        path,
        sha256,
        files,
        masks,
    })
}

/// Whether the session of a copy for recovery is unchanged since the copy was written.
fn origin_is_same(content: &Value, control: &Control) -> Result<bool, String> {
    let [origin, sum] = ["origin", "origin_sha256"].map(|name| content[name].as_str());
    let (Some(origin), Some(sum)) = (origin, sum) else {
        return Ok(false);
    };
    match checksum::of_file(Path::new(origin), control) {
        Ok(found) => Ok(found == sum),
        Err(crate::io::Error::Cancelled) => Err("Cancelled".to_owned()),
        // Whatever the reason, it has changed.
        Err(_) => Ok(false),
    }
}

/// Reads every byte of files that were accepted as a session's by their size and age.
pub fn verify(
    files: Vec<(PathBuf, Entry)>,
    control: &Control,
) -> Result<Vec<(PathBuf, FileComparison)>, String> {
    control.begin("Verifying files", files.len() as u64);
    let mut differ = Vec::new();
    for (path, entry) in files {
        let standing = session::check(&path, &entry, true, control).map_err(|e| e.to_string())?;
        if standing != FileComparison::Same {
            differ.push((path, standing));
        }
        control.advance(1);
    }
    Ok(differ)
}

pub fn relocate(
    mut files: Vec<Found>,
    to: Vec<(usize, PathBuf)>,
    control: &Control,
) -> Result<Vec<Found>, String> {
    let sentence = |e: crate::io::Error| e.to_string();
    let folders: Vec<PathBuf> = to
        .iter()
        .filter_map(|(_, path)| path.parent().map(Path::to_owned))
        .collect();
    for (index, path) in to {
        let Some(found) = files.get_mut(index) else {
            continue;
        };
        found.standing = session::check(&path, &found.entry, false, control).map_err(sentence)?;
        found.path = path;
        found.suggestion = None;
    }
    let missing = |f: &&mut Found| matches!(f.standing, FileComparison::Missing(_));
    for other in files.iter_mut().filter(missing) {
        let there = session::find_moved(&other.entry, &folders, control);
        other.suggestion = there.or(other.suggestion.take());
    }
    Ok(files)
}

fn file(
    path: &Path,
    gradients: &[PathBuf],
    reported: &crate::io::Reading,
    control: &Control,
) -> Result<Restored, String> {
    match open(path, gradients, reported, control)? {
        Opened::File(file) => {
            let OpenedFile {
                path,
                loaded,
                reading,
                notes,
                ..
            } = *file;
            Ok(Restored::File {
                path,
                loaded,
                reading,
                notes,
                changed: None,
                moved: Vec::new(),
            })
        }
        Opened::Folder(_) => Err(format!("Nothing was read: {}", path.display())),
    }
}

/// The content of a file, with a warning if the file has changed.
fn looked_at(
    mut restored: Restored,
    path: &Path,
    entry: Option<&Entry>,
    control: &Control,
) -> Result<Restored, String> {
    if let (Restored::File { changed, .. }, Some(entry)) = (&mut restored, entry) {
        let standing = session::check(path, entry, false, control).map_err(|e| e.to_string())?;
        *changed = match standing {
            FileComparison::Changed(why) => Some(why),
            FileComparison::Same | FileComparison::Missing(_) => None,
        };
    }
    Ok(restored)
}

/// The content with the recorded edits of streamlines applied.
fn edited(
    restored: Restored,
    edits: &[Edit],
    backend: &Backend,
    control: &Control,
) -> Result<Restored, String> {
    match restored {
        Restored::File {
            loaded: Loaded::Tractogram(tractogram),
            path,
            reading,
            notes,
            changed,
            moved,
        } if !edits.is_empty() => {
            let memory = memory_for_curves();
            let left = apply(&tractogram, edits, memory, backend, control);
            let left = left.map_err(|e| format!("{e}: {}", path.display()))?;
            left.bounds();
            Ok(Restored::File {
                loaded: Loaded::Tractogram(left),
                path,
                reading,
                notes,
                changed,
                moved,
            })
        }
        restored => Ok(restored),
    }
}

/// The restored file, also with its streamlines transformed by each of these affines.
fn elsewhere(mut restored: Restored, moves: &[DAffine3]) -> Restored {
    if let Restored::File {
        loaded: Loaded::Tractogram(tractogram),
        path,
        moved,
        ..
    } = &mut restored
    {
        let valid = |by: &&DAffine3| by.is_finite() && **by != DAffine3::IDENTITY;
        *moved = moves
            .iter()
            .filter(valid)
            .map(|by| {
                let there = selection::moved(tractogram, *by, memory_for_curves());
                let there = there.map_err(|e| format!("{e}: {}", path.display()));
                if let Ok(there) = &there {
                    there.bounds();
                }
                (*by, there)
            })
            .collect();
    }
    restored
}

pub fn load(
    items: Vec<(u64, Item)>,
    backend: &Backend,
    control: &Control,
) -> Result<RestoredLayers, String> {
    let mut head: Option<(u64, Arc<phantom::Demo>)> = None;
    let mut restored: RestoredLayers = Vec::new();
    // Maps come after the layers that they are computed from.
    let (maps, others): (Vec<_>, Vec<_>) = items
        .into_iter()
        .partition(|(_, item)| matches!(item, Item::Density { .. }));
    for (layer, item) in others.into_iter().chain(maps) {
        let one = match item {
            Item::File {
                path,
                gradients,
                reading,
                edits,
                moves,
                entry,
            } => file(&path, &gradients, &reading, control)
                .and_then(|restored| looked_at(restored, &path, entry.as_deref(), control))
                .and_then(|restored| edited(restored, &edits, backend, control))
                .map(|restored| elsewhere(restored, &moves))
                .map_err(NotRestored::from),
            Item::Head { seed } => match &head {
                Some((made, demo)) if *made == seed => Ok(Restored::Head(demo.clone())),
                _ => head::make(seed, backend, control)
                    .map(|demo| {
                        let demo = Arc::new(demo);
                        head = Some((seed, demo.clone()));
                        Restored::Head(demo)
                    })
                    .map_err(NotRestored::from),
            },
            Item::Density { of, by, on, params } => {
                let of = restored.iter().find(|(layer, _)| *layer == of);
                let of = of.and_then(|(_, one)| one.as_ref().ok());
                let of = of.and_then(|one| {
                    let there = one.moved_to(by).ok().flatten();
                    there.or_else(|| match by == DAffine3::IDENTITY {
                        true => one.curves().cloned(),
                        false => one.curves().map(|t| t.moved(by)),
                    })
                });
                density(of.as_ref(), &on, &params, backend, control).map_err(NotRestored::from)
            }
            Item::Stored { path, sha256 } => session::restore(&path, &sha256, control)
                .map(|tractogram| {
                    tractogram.bounds();
                    Restored::Curves(tractogram)
                })
                .map_err(|e| match e {
                    crate::io::Error::Missing { path } => NotRestored::Gone(path),
                    other => NotRestored::Other(other.to_string()),
                }),
        };
        control.check().map_err(|_| "Cancelled".to_owned())?;
        restored.push((layer, one));
    }
    Ok(restored)
}

fn density(
    of: Option<&Tractogram>,
    on: &DensityGrid,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<Restored, String> {
    let of = of.ok_or("The streamlines that it maps are missing")?;
    let grid = on.grid(of.bounds()).map_err(|e| e.to_string())?;
    let made = density::density(of, &grid, params, memory_for_curves(), backend, control);
    let picture = made.map_err(|e| e.to_string())?.picture();
    picture.precompute_windows();
    Ok(Restored::Density(picture))
}
