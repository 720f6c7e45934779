//! Sessions: saving, opening, recovering.

pub(in crate::state) mod arriving;
pub(in crate::state) mod checked;
pub(in crate::state) mod demo;
pub(in crate::state) mod restore_missing;
mod save;

use crate::data::BuiltInPhantom;
use crate::io::Remark;
use crate::jobs::Receive;
use crate::state::core::layer::LayerId;
use crate::state::core::live::Live;
use crate::state::core::notices::{Message, Severity, Status, StatusSubject, Topic};
use crate::state::core::text::shortened_list;
use crate::state::core::viewpoint::ViewpointHistory;
use crate::state::edit::edit;
use crate::state::files::jobs::LOAD;
use crate::state::files::jobs::open::Loaded;
use crate::state::files::opening;
use crate::state::files::types::RecentKind;
use crate::state::origin::Origins;
use crate::state::sessions::jobs::head::MakeHead;
use crate::state::sessions::jobs::{
    LoadLayers, RelocateFiles, RemoveRecoveryCopy, RestoredLayer, RestoredLayers,
};
use crate::state::sessions::unsaved::{Base, DataInFiles};
use crate::state::sessions::{
    EXTENSION, FileComparison, FileDecision, FileStatus, Missing, Opening, ReadSession,
    RestoreProgress, ResultStorage, SessionContents, UnsavedAction, saved,
};
use crate::state::streamlines::StreamlineRuntime;
use crate::state::tensors::types::OfferedMask;
use crate::state::{Document, Effect, State, Task, View, tensors};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::save::failed;
pub(in crate::state) use self::save::{autosave, autosaved, save, save_ended};

pub(in crate::state) fn store_streamlines(state: &mut State, store: ResultStorage) {
    edit(state, "Streamlines in the session", false, |d| {
        d.session.store = store
    });
}

/// Reads the session's files at their new paths.
pub(in crate::state) fn relocate(
    state: &mut State,
    new_paths: Vec<(usize, PathBuf)>,
    effects: &mut Vec<Effect>,
) {
    state.runtime.forget_failures(LOAD);
    if let Some(opening) = &mut state.runtime.sessions.opening {
        for (index, _) in &new_paths {
            opening.decisions.remove(index);
        }
        let files = opening.session.files.clone();
        submit(effects, RelocateFiles { files, new_paths });
    }
}

pub(in crate::state) fn submit(effects: &mut Vec<Effect>, job: impl Receive<State>) {
    effects.push(Effect::submit(job));
}

/// A notice about missing kept results stays until they are restored.
pub fn follow(state: &mut State) {
    let of_results = |m: &&mut Message| m.topic == Some(Topic::NotStored);
    let mut stated = state
        .runtime
        .notices
        .messages
        .iter_mut()
        .filter(of_results)
        .peekable();
    if stated.peek().is_none() {
        return;
    }
    match saved::not_stored_text(&state.document) {
        Some(now) => stated.for_each(|message| message.text.clone_from(&now)),
        None => state.runtime.forget(Topic::NotStored),
    }
}

/// Closes the document, or asks first.
pub fn close_document(state: &mut State, pending_action: UnsavedAction, effects: &mut Vec<Effect>) {
    if state.asks_before_closing() {
        state.runtime.sessions.pending_action = Some(pending_action);
    } else {
        carry_out(state, pending_action, effects);
    }
}

pub(in crate::state) fn carry_out(
    state: &mut State,
    pending_action: UnsavedAction,
    effects: &mut Vec<Effect>,
) {
    match pending_action {
        UnsavedAction::Quit => effects.push(Effect::Close),
        UnsavedAction::New => {
            empty(state, effects);
            state.runtime.notices.messages.clear();
            state.runtime.notices.status.clear();
        }
        UnsavedAction::Demo { tour } => make_head(state, BuiltInPhantom::plain(1), tour, effects),
        UnsavedAction::Head(head) => make_head(state, head, false, effects),
        UnsavedAction::Open(path) => arriving::read(state, path, Vec::new(), effects),
        UnsavedAction::OpenWith { session, files } => {
            arriving::read(state, session, files, effects)
        }
        UnsavedAction::Recover(path) => {
            state.runtime.sessions.recovery.reading = Some(path.clone());
            arriving::read(state, path, Vec::new(), effects);
        }
    }
}

/// Removes everything that belongs to the document.
pub fn empty(state: &mut State, effects: &mut Vec<Effect>) {
    effects.push(Effect::CancelOfDocument);
    // The end of these jobs does not concern the next document.
    state
        .runtime
        .jobs
        .running
        .retain(|j| !j.slot.is_of_document());
    crate::state::pathways::update::close_document(state);
    // A result that arrives late finds no layer with its number.
    let next = state.document.next_id();
    state.document = Document::default();
    state.document.reserve_ids(next);
    state.document.track.streamlines = state.runtime.settings.track();
    state.document.track.rays = state.runtime.settings.rays();
    state.document.track.odf.rays = state.runtime.settings.odf_rays();
    state.history.clear();
    state.history.change();
    let runtime = &mut state.runtime;
    runtime.track.live = Default::default();
    runtime.track.at_crosshair = None;
    runtime.pending_transforms = Default::default();
    (runtime.track.ray_metric, runtime.track.odf_metric) = (None, None);
    runtime.tour = None;
    (runtime.selected_layer, runtime.regions.selected) = (None, None);
    (
        runtime.regions.drawn,
        runtime.regions.making,
        runtime.regions.labels,
    ) = (None, None, None);
    (runtime.track.cut, runtime.track.model_chosen_for) = (Default::default(), None);
    // Jobs for the CPU to repeat are of this document, too.
    runtime.device.fallback.requests.clear();
    runtime.device.fallback.live = false;
    (runtime.tensors.live, runtime.tensors.fods) = (Live::default(), Live::default());
    runtime.streamlines = StreamlineRuntime::default();
    runtime.filter = Default::default();
    runtime.figures = crate::state::figures::FigureRuntime {
        is_open: runtime.figures.is_open,
        ..Default::default()
    };
    runtime.segment = crate::state::segment::SegmentRuntime {
        run: runtime.segment.run + 1,
        ..Default::default()
    };
    (
        runtime.snapshots.all,
        runtime.snapshots.comparing,
        runtime.turning,
    ) = (Vec::new(), None, None);
    (runtime.tensors.orders, runtime.tensors.bases) = (None, None);
    let saving = &mut runtime.sessions;
    (saving.file, saving.opened, saving.opening) = (None, None, None);
    saving.arriving = None;
    (saving.seen, saving.changed_since, saving.verified) = (None, None, None);
    (saving.in_files, saving.base_being_saved) = (DataInFiles::default(), None);
    saving.recipe_only.clear();
    if saving.autosave.last.take().is_some() {
        submit(effects, RemoveRecoveryCopy);
    }
    untouched(state);
    let side_list = state.view.visible.side_list;
    state.viewpoints = ViewpointHistory::default();
    state.view = View {
        light_theme: state.view.light_theme,
        convention: state.view.convention,
        ..View::default()
    };
    state.view.visible.side_list = side_list;
}

/// Records the document as unchanged since its files were opened.
pub fn untouched(state: &mut State) {
    state.runtime.sessions.base = Arc::new(Base::untouched(state));
}

/// The files of the session being opened were compared at their new paths.
pub(in crate::state) fn were_relocated(
    state: &mut State,
    files: Vec<FileStatus>,
    effects: &mut Vec<Effect>,
) {
    if let Some(opening) = &mut state.runtime.sessions.opening {
        Arc::make_mut(&mut opening.session).files = files;
        opening.moved = true;
        if opening.changed_files().next().is_none() {
            load(state, effects);
        }
    }
}

const COPY_KEPT: &str = "The recovery copy is kept until everything is restored: recompute what is missing, or \
                         remove it, in Layers";

/// A session could not be read.
pub fn not_read(state: &mut State) {
    let saving = &mut state.runtime.sessions;
    saving.recovery.reading = None;
    saving.opening = saving.opening.take().filter(|opening| opening.asking);
}

/// `Session: 4 layers, 2 regions`.
fn summary(contents: &SessionContents) -> String {
    match &*contents.parts() {
        [] => "Session".to_owned(),
        parts => format!("Session: {}", parts.join(", ")),
    }
}

pub(in crate::state) fn was_read(
    state: &mut State,
    session: Arc<ReadSession>,
    effects: &mut Vec<Effect>,
) {
    let recovered = state.runtime.sessions.recovery.reading.take().is_some();
    let (content, unknown) = match &session.content {
        Ok((content, unknown)) => (content.clone(), unknown.clone()),
        Err(why) => {
            let path = session.path.display();
            let sentence = format!("{why}, expected one saved by Arcuate: {path}");
            state.runtime.notify_failure(LOAD, sentence);
            return arriving::open_waiting(state, effects);
        }
    };
    state.runtime.forget(Topic::UnknownParts);
    if !unknown.is_empty() {
        const NAMED: usize = 4;
        let names: Vec<&str> = unknown.iter().map(String::as_str).collect();
        let names = shortened_list(&names, NAMED);
        let path = session.path.display();
        state.runtime.notify_about(
            Topic::UnknownParts,
            Severity::Warning,
            format!(
                "This version does not know {names} in the session and leaves it out when it \
                 saves: {path}"
            ),
        );
    }
    let opening = Opening {
        session,
        content,
        recovered,
        asking: false,
        moved: false,
        decisions: BTreeMap::new(),
        unknown: !unknown.is_empty(),
        unreadable: Vec::new(),
        progress: RestoreProgress::default(),
    };
    let asking = opening.changed_files().next().is_some();
    state.runtime.sessions.opening = Some(Opening { asking, ..opening });
    if !asking {
        load(state, effects);
    }
}

/// Reads the parts of the session being opened.
pub(in crate::state) fn load(state: &mut State, effects: &mut Vec<Effect>) {
    let Some(opening) = &mut state.runtime.sessions.opening else {
        return;
    };
    opening.asking = false;
    // A changed file is read if that was accepted, and otherwise stays in the session.
    let answers = &opening.decisions;
    let files = &mut Arc::make_mut(&mut opening.session).files;
    for (index, file) in files.iter_mut().enumerate() {
        if let FileComparison::Changed(why) = &file.standing
            && answers.get(&index) != Some(&FileDecision::UseAsItIs)
        {
            file.standing = FileComparison::Missing(Missing::Rejected(why.clone()));
        }
    }
    let (items, unreadable) = saved::items(&opening.content, &opening.session);
    opening.unreadable = unreadable;
    let job = LoadLayers::new(items).staying(state.runtime.files.stay);
    opening.progress = job.progress.clone();
    submit(effects, job);
}

pub(in crate::state) fn was_loaded(
    state: &mut State,
    restored: RestoredLayers,
    effects: &mut Vec<Effect>,
) {
    let Some(opening) = state.runtime.sessions.opening.take() else {
        return restore_missing::was_restored(state, restored, effects);
    };
    let Opening {
        session,
        content,
        recovered,
        moved,
        unreadable,
        unknown,
        ..
    } = opening;
    let origins = Origins::default();
    let reported = saved::snapshots(&origins, &content, &session, &restored, &unreadable);
    let (snapshots, lacks) = (reported.snapshots, reported.lacks);
    let own = |id: &u64| content.document.layers.iter().any(|l| l.id == *id);
    let restored = restored.into_iter().filter(|(id, _)| own(id)).collect();
    let unreadable = unreadable.into_iter().filter(|(id, _)| own(id)).collect();
    let offered_mask = offered_mask(&restored);
    let built = saved::build(&origins, &content.document, &session, restored, unreadable);
    let (document, mut notes) = (built.document, built.notes);
    // A remark about the present document also holds for the same layer of a snapshot.
    let mut known = notes.clone();
    for (name, note) in reported.notes {
        if !known.contains(&note) {
            known.push(note.clone());
            let sentence = format!("Snapshot {name}: {note}");
            notes.push(Remark { sentence, ..note });
        }
    }
    notes.extend(omitted_parts(&content.document, built.omitted, lacks));
    let mut kept = std::mem::take(&mut state.runtime.notices.messages);
    let arriving = state.runtime.sessions.arriving.take();
    empty(state, effects);
    // The message that appeared while the session was read is about it.
    kept.retain(|m| m.topic == Some(Topic::UnknownParts));
    state.runtime.notices.messages = kept;
    for note in &notes {
        state
            .runtime
            .notify(Severity::from(note), note.sentence.clone());
    }
    if let Some(sentence) = saved::not_stored_text(&document) {
        state
            .runtime
            .notify_about(Topic::NotStored, Severity::Information, sentence);
    }
    let missing = document.missing_layers().any(|m| !m.can_be_recomputed());
    let mut all = snapshots.iter().map(|s| &s.document).chain([&document]);
    let whole = !unknown && all.all(Document::is_whole);
    drop(all);
    let source = document.distributions.settings.source;
    // A model that the session holds stays.
    state.runtime.track.model_chosen_for = Some(source);
    state.runtime.pathways.model_chosen_for = Some(source);
    state.document = document;
    state.runtime.tensors.offered_mask = offered_mask;
    state.runtime.snapshots.all = snapshots;
    state.viewpoints = ViewpointHistory::default();
    state.view = content.view.as_ref().map_or_else(
        || state.view.clone(),
        |saved| saved::view(saved, &state.view),
    );
    state.runtime.segment.framed = saved::surface_cameras(content.surface_cameras);
    // Segment shows its image alone.
    if state.view.task != Task::Segment {
        state.runtime.selected_layer = topmost_shown(&state.document, &content.document.layers);
    }
    let base = match recovered {
        true => Base::recovered(state, content.in_session(&session)),
        false => Base::saved(state),
    };
    let saving = &mut state.runtime.sessions;
    saving.opened = Some(session.clone());
    saving.view = Some(state.view.clone());
    saving.base = Arc::new(base);
    if recovered {
        saving.file.clone_from(&content.origin);
        saving.seen.clone_from(&content.origin_sha256);
        saving
            .recovery
            .sessions
            .retain(|l| l.session != session.path);
        // A copy with parts unknown to this version is not replaced.
        saving.recovery.source = (!unknown).then(|| session.path.clone());
    } else {
        saving.file = Some(session.path.clone());
        saving.seen = Some(session.sha256.clone());
    }
    if recovered || moved || missing || !notes.is_empty() {
        crate::state::edit::changed(state);
    }
    let status = if recovered {
        if !whole {
            state
                .runtime
                .notify_about(Topic::CopyKept, Severity::Warning, COPY_KEPT);
        }
        restore_missing::notify_recovered(state, &SessionContents::from_saved(&content.document))
    } else {
        // Layers of the fit come later.
        let summary = summary(&SessionContents::from_saved(&content.document));
        let path = session.path.clone();
        opening::remember(state, path, RecentKind::Session, summary, effects);
        format!("Opened session: {}", session.path.display())
    };
    state.runtime.notices.status = Status::about(StatusSubject::OpenedSession, status);
    checked::verify(state, effects);
    arriving::add(state, arriving.unwrap_or_default(), effects);
    tensors::update::fit(state, effects);
}

/// The parts of a session that are left out, one remark each.
fn omitted_parts(
    saved: &saved::SavedDocument,
    omitted: Vec<String>,
    lacks: Vec<String>,
) -> Vec<Remark> {
    let all = omitted.into_iter().chain(lacks);
    all.chain(saved.scene_look.omitted())
        .map(Remark::from)
        .collect()
}

/// The file next to the scan that appears to be its brain mask.
fn offered_mask(restored: &RestoredLayers) -> Option<OfferedMask> {
    let files = restored.iter().filter_map(|(_, layer)| layer.as_ref().ok());
    let mut offered = files.filter_map(|layer| match layer {
        RestoredLayer::File {
            loaded: Loaded::Scan { dwi, .. },
            companion_mask: Some(path),
            ..
        } => Some(OfferedMask {
            scan: dwi.id(),
            path: path.clone(),
            requested: false,
        }),
        _ => None,
    });
    offered.next()
}

/// The topmost layer that the session shows, which may be a map that comes with the fit.
fn topmost_shown(document: &Document, saved: &[saved::SavedLayer]) -> Option<LayerId> {
    let shown = saved.iter().rev().filter(|layer| layer.display.visible);
    let mut ids = shown.map(|layer| LayerId(layer.id));
    ids.find(|id| document.layer(*id).is_some() || document.awaits(*id))
}

/// Whether a path is that of a session file.
pub fn is_session(path: &Path) -> bool {
    let ending = path.extension().and_then(|e| e.to_str());
    ending.is_some_and(|e| e.eq_ignore_ascii_case(EXTENSION))
}

fn make_head(state: &mut State, head: BuiltInPhantom, tour: bool, effects: &mut Vec<Effect>) {
    match tour {
        true => state.runtime.start_tour(),
        false => state.runtime.tour = None,
    }
    effects.push(Effect::submit(MakeHead { head }));
}
