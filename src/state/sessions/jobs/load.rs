//! Reads the layers of a session, and computes those that are in no file.

use crate::compute::{Backend, Cancelled, Control};
use crate::data::{BuiltInPhantom, Tractogram, Volume};
use crate::io::session::{self, Change, Entry, FileComparison};
use crate::io::{Reading, Remark};
use crate::jobs::{
    Delivery, Job, JobError, PartialSender, Receive, Slot, ValueNames, Worker, memory_for_curves,
};
use crate::phantom;
use crate::solvers::density::{self, DensityGrid, Params};
use crate::solvers::tractogram::selection::{self, Edit, apply_edits};
use crate::state::core::layer::StreamlinesInPlace;
use crate::state::density::jobs::density_in_place;
use crate::state::files::jobs::LOAD;
use crate::state::files::jobs::open::{
    Loaded, Opened, OpenedFile, StayInFile, open, open_in_place, with_lengths,
};
use crate::state::sessions::RestoreProgress;
use crate::state::sessions::jobs::{head, opened};
use crate::state::sessions::types::restore_error::NotRestored;
use crate::state::sessions::update;
use crate::state::streamlines::jobs::from_file::select::{MarkedInFile, SelectInFile};
use crate::state::{Effect, State};
use glam::DAffine3;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads or computes layers.
#[derive(Clone, Debug)]
pub struct LoadLayers {
    /// By the layers' numbers.
    pub items: Vec<(u64, LayerToRestore)>,
    /// Shared with the window.
    pub progress: RestoreProgress,
    /// The condition under which streamlines without edits stay in their file.
    pub stay: StayInFile,
}

impl LoadLayers {
    pub fn new(items: Vec<(u64, LayerToRestore)>) -> Self {
        let progress = RestoreProgress::new(items.len());
        let stay = StayInFile::Never;
        Self {
            items,
            progress,
            stay,
        }
    }
}

impl LoadLayers {
    /// Lets the streamlines of a large file stay there, unless they were edited.
    pub fn staying(self, stay: StayInFile) -> Self {
        Self { stay, ..self }
    }
}

impl Job for LoadLayers {
    type Output = RestoredLayers;

    fn slot(&self) -> Slot {
        LOAD
    }

    fn label(&self) -> String {
        "Opening the session's files".to_owned()
    }

    fn run(
        self,
        worker: &Worker,
        control: &Control,
        _: &PartialSender<RestoredLayers>,
    ) -> Result<RestoredLayers, JobError> {
        Ok(load(self, &worker.backend(), control)?)
    }

    fn curves(output: &RestoredLayers) -> Vec<&Tractogram> {
        let read = output.iter().filter_map(|(_, layer)| layer.as_ref().ok());
        read.flat_map(RestoredLayer::all_curves).collect()
    }
}

impl Receive<State> for LoadLayers {
    fn receive(
        &self,
        delivery: Delivery<RestoredLayers>,
        state: &mut State,
        effects: &mut Vec<Effect>,
    ) {
        opened(
            state,
            self,
            delivery,
            effects,
            |state, restored, _, effects| {
                update::was_loaded(state, restored, effects);
            },
        );
    }
}

/// A layer to be read or computed again.
#[derive(Clone, Debug)]
pub enum LayerToRestore {
    File {
        path: PathBuf,
        gradients: Vec<PathBuf>,
        reading: Reading,
        /// Edits of the streamlines since.
        edits: Vec<Edit>,
        /// Transforms for which the streamlines are needed, too.
        moves: Vec<DAffine3>,
        /// The entry of the file, if it has not been compared.
        entry: Option<Box<Entry>>,
    },
    /// The built-in head.
    Head { head: BuiltInPhantom },
    /// Streamlines stored next to the session.
    Stored { path: PathBuf, sha256: String },
    /// A density map of another layer's streamlines; its grid was checked.
    Density {
        layer: u64,
        /// These streamlines, if they are not among the items.
        streamlines: Option<Box<Tractogram>>,
        /// Transform of that layer.
        transform: DAffine3,
        grid: density::DensityGrid,
        params: density::Params,
    },
}

/// By the layers' numbers.
pub type RestoredLayers = Vec<(u64, Result<RestoredLayer, NotRestored>)>;

/// The result of a [`LayerToRestore`].
#[derive(Clone, Debug)]
pub enum RestoredLayer {
    File {
        path: PathBuf,
        loaded: Loaded,
        reading: Reading,
        notes: Vec<Remark>,
        /// How it differs from before.
        changed: Option<Change>,
        /// A file next to a scan that appears to be its brain mask.
        companion_mask: Option<PathBuf>,
        /// Its transformed streamlines.
        moved: Vec<(DAffine3, Result<Tractogram, NotRestored>)>,
    },
    Head(Arc<phantom::Demo>),
    Curves(Tractogram),
    Density(Volume),
}

impl RestoredLayer {
    /// The streamlines of a layer.
    pub(in crate::state) fn curves(&self) -> Option<&Tractogram> {
        match self {
            Self::Curves(tractogram)
            | Self::File {
                loaded: Loaded::Tractogram(tractogram),
                ..
            } => Some(tractogram),
            _ => None,
        }
    }

    /// The streamlines of a layer, if they stay in their file.
    fn in_place(&self) -> Option<&Arc<StreamlinesInPlace>> {
        match self {
            Self::File {
                loaded: Loaded::InPlace(lines),
                ..
            } => Some(lines),
            _ => None,
        }
    }

    /// All of them, including transformed ones.
    pub(in crate::state) fn all_curves(&self) -> impl Iterator<Item = &Tractogram> {
        let elsewhere = match self {
            Self::File { moved, .. } => &**moved,
            _ => &[],
        };
        let copies = elsewhere.iter().filter_map(|(_, copy)| copy.as_ref().ok());
        self.curves().into_iter().chain(copies)
    }

    /// The transformed streamlines of a layer, if they were requested.
    pub fn transformed(&self, by: DAffine3) -> Result<Option<Tractogram>, NotRestored> {
        let Self::File { moved, .. } = self else {
            return Ok(None);
        };
        let copy = moved.iter().find(|(to, _)| *to == by);
        copy.map(|(_, copy)| copy.clone()).transpose()
    }
}

fn file(
    path: &Path,
    gradients: &[PathBuf],
    reported: &crate::io::Reading,
    stay: StayInFile,
    control: &Control,
) -> Result<RestoredLayer, NotRestored> {
    let opened = match open_in_place(path, reported, stay, control)? {
        Some(file) => Opened::File(Box::new(file)),
        None => open(path, gradients, reported, control)?,
    };
    match opened {
        Opened::File(file) => {
            let OpenedFile {
                path,
                loaded,
                reading,
                notes,
                companion_mask,
                ..
            } = *file;
            Ok(RestoredLayer::File {
                path,
                loaded,
                reading,
                notes,
                changed: None,
                companion_mask,
                moved: Vec::new(),
            })
        }
        Opened::Folder(_) => Err(NotRestored::Empty(path.to_owned())),
    }
}

/// The content of a file, with a warning if the file has changed.
fn with_change(
    mut restored: RestoredLayer,
    path: &Path,
    entry: Option<&Entry>,
    control: &Control,
) -> Result<RestoredLayer, NotRestored> {
    if let (RestoredLayer::File { changed, .. }, Some(entry)) = (&mut restored, entry) {
        let standing = session::check(path, entry, false, control)?;
        *changed = match standing {
            FileComparison::Changed(why) => Some(why),
            FileComparison::Same | FileComparison::Missing(_) => None,
        };
    }
    Ok(restored)
}

impl StayInFile {
    /// Streamlines that were moved have to be in memory, and so have those with edits that do not begin with a
    /// selection.
    fn for_edits(self, edits: &[Edit], moves: &[DAffine3]) -> Self {
        let first = edits.first();
        let may_stay = first.is_none_or(|edit| matches!(edit, Edit::Select(_) | Edit::Keep(_)));
        match may_stay && moves.is_empty() {
            true => self,
            false => Self::Never,
        }
    }
}

/// Reads the streamlines that were kept from a large file by the first of the edits; returns the other edits.
fn kept_from_file(
    restored: RestoredLayer,
    mut edits: Vec<Edit>,
    backend: &Backend,
    control: &Control,
) -> Result<(RestoredLayer, Vec<Edit>), NotRestored> {
    let file = restored.in_place().map(|lines| lines.file.clone());
    let Some(file) = file.filter(|_| !edits.is_empty()) else {
        return Ok((restored, edits));
    };
    let pieces = file.pieces().clone();
    let kept = match edits.remove(0) {
        Edit::Select(rules) => {
            let select = SelectInFile {
                pieces,
                rules: *rules,
                coverages: Vec::new(),
                keeps_copies: true,
            };
            select.find(backend, control).map(|selected| selected.kept)
        }
        Edit::Keep(runs) => {
            let marks = runs.marks_among(file.len());
            let marks = marks.map_err(|error| NotRestored::Curves {
                error,
                path: file.path().to_owned(),
            })?;
            let select = MarkedInFile {
                pieces,
                marks: marks.into(),
                added: None,
            };
            select.find(backend, control)
        }
        other => {
            edits.insert(0, other);
            return Ok((restored, edits));
        }
    };
    let kept = kept.and_then(|kept| kept.in_memory(control));
    let kept = kept.map_err(|error| match error {
        JobError::Sentence(sentence) => NotRestored::KeptFromFile(sentence.for_window().to_owned()),
        JobError::Device(error) => NotRestored::KeptFromFile(error.to_string()),
    })?;
    let left = backend.install(|| with_lengths(ValueNames::shown(kept)));
    let restored = match restored {
        RestoredLayer::File {
            path,
            reading,
            notes,
            changed,
            companion_mask,
            moved,
            ..
        } => RestoredLayer::File {
            loaded: Loaded::Tractogram(left),
            path,
            reading,
            notes,
            changed,
            companion_mask,
            moved,
        },
        restored => restored,
    };
    Ok((restored, edits))
}

/// The content with the recorded edits of streamlines applied.
fn edited(
    restored: RestoredLayer,
    edits: &[Edit],
    backend: &Backend,
    control: &Control,
) -> Result<RestoredLayer, NotRestored> {
    match restored {
        RestoredLayer::File {
            loaded: Loaded::Tractogram(tractogram),
            path,
            reading,
            notes,
            changed,
            companion_mask,
            moved,
        } if !edits.is_empty() => {
            let memory = memory_for_curves();
            let left = apply_edits(&tractogram, edits, memory, backend, control);
            let left = left.map_err(|error| NotRestored::Curves {
                error,
                path: path.clone(),
            })?;
            left.bounds();
            left.stop_counts();
            Ok(RestoredLayer::File {
                loaded: Loaded::Tractogram(left),
                path,
                reading,
                notes,
                changed,
                companion_mask,
                moved,
            })
        }
        restored => Ok(restored),
    }
}

/// The restored file, also with its streamlines transformed by each of these affines.
fn with_transforms(mut restored: RestoredLayer, moves: &[DAffine3]) -> RestoredLayer {
    if let RestoredLayer::File {
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
                let copy = selection::copy_transformed(tractogram, *by, memory_for_curves());
                let copy = copy.map_err(|error| NotRestored::Curves {
                    error,
                    path: path.clone(),
                });
                if let Ok(copy) = &copy {
                    copy.bounds();
                    copy.stop_counts();
                }
                (*by, copy)
            })
            .collect();
    }
    restored
}

fn load(
    LoadLayers {
        items,
        progress,
        stay,
    }: LoadLayers,
    backend: &Backend,
    control: &Control,
) -> Result<RestoredLayers, Cancelled> {
    let mut generated: Option<(BuiltInPhantom, Arc<phantom::Demo>)> = None;
    let mut restored: RestoredLayers = Vec::new();
    // Maps come after the layers that they are computed from.
    let (maps, others): (Vec<_>, Vec<_>) = items
        .into_iter()
        .partition(|(_, item)| matches!(item, LayerToRestore::Density { .. }));
    for (layer, item) in others.into_iter().chain(maps) {
        let result = match item {
            LayerToRestore::File {
                path,
                gradients,
                reading,
                edits,
                moves,
                entry,
            } => {
                let stay = stay.for_edits(&edits, &moves);
                file(&path, &gradients, &reading, stay, control)
                    .and_then(|restored| with_change(restored, &path, entry.as_deref(), control))
                    .and_then(|restored| kept_from_file(restored, edits, backend, control))
                    .and_then(|(restored, edits)| edited(restored, &edits, backend, control))
                    .map(|restored| with_transforms(restored, &moves))
            }
            LayerToRestore::Head { head } => match &generated {
                Some((known, demo)) if *known == head => Ok(RestoredLayer::Head(demo.clone())),
                _ => head::make(head, backend, control)
                    .map(|demo| {
                        let demo = Arc::new(demo);
                        generated = Some((head, demo.clone()));
                        RestoredLayer::Head(demo)
                    })
                    .map_err(NotRestored::from),
            },
            LayerToRestore::Density {
                layer: input,
                streamlines,
                transform,
                grid,
                params,
            } => {
                let input = restored.iter().find(|(layer, _)| *layer == input);
                let input = input.and_then(|(_, result)| result.as_ref().ok());
                if let Some(lines) = input.and_then(RestoredLayer::in_place) {
                    let pieces = lines.file.pieces();
                    let result: Result<_, NotRestored> =
                        density_in_place(pieces, &grid, &params, backend, control);
                    control.check()?;
                    restored.push((layer, result.map(restored_map)));
                    progress.advance();
                    continue;
                }
                let copy = input.and_then(|result| result.transformed(transform).ok().flatten());
                let streamlines = streamlines.as_deref().or_else(|| input?.curves());
                let moved = copy.or_else(|| match transform == DAffine3::IDENTITY {
                    true => streamlines.cloned(),
                    false => streamlines.map(|t| t.moved(transform)),
                });
                density(moved.as_ref(), &grid, &params, backend, control)
            }
            LayerToRestore::Stored { path, sha256 } => session::restore(&path, &sha256, control)
                .map(|tractogram| {
                    tractogram.bounds();
                    tractogram.stop_counts();
                    RestoredLayer::Curves(tractogram)
                })
                .map_err(|e| match e {
                    crate::io::Error::Missing { path } => NotRestored::Gone(path),
                    other => NotRestored::File(other),
                }),
        };
        control.check()?;
        restored.push((layer, result));
        progress.advance();
    }
    Ok(restored)
}

fn density(
    streamlines: Option<&Tractogram>,
    on: &DensityGrid,
    params: &Params,
    backend: &Backend,
    control: &Control,
) -> Result<RestoredLayer, NotRestored> {
    let streamlines = streamlines.ok_or(NotRestored::NoStreamlines)?;
    let grid = on.grid(streamlines.bounds())?;
    let computed = density::density(
        streamlines,
        &grid,
        params,
        memory_for_curves(),
        backend,
        control,
    );
    Ok(restored_map(computed?))
}

fn restored_map(output: density::Output) -> RestoredLayer {
    let picture = output.picture();
    picture.precompute_windows();
    RestoredLayer::Density(picture)
}
