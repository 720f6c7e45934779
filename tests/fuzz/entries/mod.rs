//! Subjects of fuzzing: each entry passes bytes to one reader like a user's files, and requires a valid result or one
//! sentence. The fuzzers (`main.rs`, a package of its own) and the regression test (`tests/engine/fuzz.rs`) share this
//! file, so it uses only the library.

mod texts;

pub use texts::prepare;

use arcuate::compute::Control;
use arcuate::data::{Grid, Tractogram};
use arcuate::io::convert::{self, Plan};
use arcuate::io::gradients::TableFiles;
use arcuate::io::{self, Error, Opened, Reading, bids, image, session, streamlines};
use arcuate::state::State;
use arcuate::state::origin::Origins;
use arcuate::state::sessions::jobs::{LayerToRestore, RestoredLayer};
use arcuate::state::sessions::saved;
use arcuate::state::sessions::{
    Entry as FileEntry, FileComparison, FileStatus, NotRestored, ReadSession, UnreadableArray,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use glam::DVec3;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the bytes become files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// One file of this name.
    Plain(&'static str),
    /// One file of this name, which gzip compresses: no fuzzer finds its checksum.
    Packed(&'static str),
    /// Several files, each after its name: `<<name>>`. The first is opened.
    Several(&'static str),
}

/// A reader of files by others.
pub struct Entry {
    pub name: &'static str,
    form: Form,
    /// Reads the file; returns whether that succeeded.
    read: fn(&Path) -> bool,
}

pub const ENTRIES: &[Entry] = &[
    Entry::new("nifti", Form::Plain("a.nii"), read_any),
    Entry::new("nifti_gz", Form::Packed("a.nii.gz"), read_any),
    Entry::new("nifti_pair", Form::Several("a.hdr"), read_any),
    Entry::new("mgh", Form::Plain("a.mgh"), read_any),
    Entry::new("mgz", Form::Packed("a.mgz"), read_any),
    Entry::new("nrrd", Form::Plain("a.nrrd"), read_any),
    Entry::new("nhdr", Form::Several("a.nhdr"), read_any),
    Entry::new("mif", Form::Plain("a.mif"), read_any),
    Entry::new("mif_gz", Form::Packed("a.mif.gz"), read_any),
    Entry::new("mih", Form::Several("a.mih"), read_any),
    Entry::new("fsl_gradients", Form::Several("a.bval"), fsl_gradients),
    Entry::new("mrtrix_gradients", Form::Plain("a.b"), mrtrix_gradients),
    Entry::new("scheme", Form::Plain("a.scheme"), scheme),
    Entry::new("tck", Form::Plain("a.tck"), read_any),
    Entry::new("tck_values", Form::Several("a.tck"), read_any),
    Entry::new("weights", Form::Plain("a.txt"), weights),
    Entry::new("trk", Form::Plain("a.trk"), read_any),
    Entry::new("trk_gz", Form::Packed("a.trk.gz"), read_any),
    Entry::new("trx", Form::Plain("a.trx"), read_any),
    Entry::new("trx_folder", Form::Several("a.trx/header.json"), trx_folder),
    Entry::new("vtk", Form::Plain("a.vtk"), read_any),
    Entry::new("vtp", Form::Plain("a.vtp"), read_any),
    Entry::new("tinytrack", Form::Packed("a.tt.gz"), read_any),
    Entry::new("dsi_model", Form::Packed("a.fib.gz"), dsi_model),
    Entry::new("colours", Form::Plain("a.txt"), colours),
    Entry::new("affine", Form::Plain("a.mat"), affine),
    Entry::new("picture", Form::Plain("a.png"), picture),
    Entry::new("unnamed", Form::Plain("a"), read_any),
    Entry::new(
        "bids",
        Form::Several("dataset_description.json"),
        bids_folder,
    ),
    Entry::new("session", Form::Plain("s.arcuate"), a_session),
    Entry::new("settings", Form::Plain("a.json"), texts::settings),
    Entry::new("script", Form::Plain("run.json"), texts::script),
    Entry::new("command", Form::Plain("words.txt"), texts::command),
];

/// Memory limit for any input, and for each byte beyond that: for a compressed one, deflate's own limit times a float32
/// and its source.
const ALWAYS_BYTES: u64 = 48 << 20;
const TIMES: u64 = 64;
const TIMES_PACKED: u64 = 1032 * 8;

impl Entry {
    const fn new(name: &'static str, form: Form, read: fn(&Path) -> bool) -> Self {
        Self { name, form, read }
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        ENTRIES.iter().find(|e| e.name == name)
    }

    /// Memory limit for an input.
    pub fn allowed_bytes(&self, input: &[u8]) -> u64 {
        let holds = |magic: &[u8]| input.windows(magic.len()).any(|w| w == magic);
        let packed =
            matches!(self.form, Form::Packed(_)) || holds(b"\x1f\x8b") || holds(b"PK\x03\x04");
        // They choose their work and its resolution.
        let may_request_more = matches!(self.name, "command" | "script" | "session" | "picture");
        let times = if packed { TIMES_PACKED } else { TIMES };
        ALWAYS_BYTES + times * input.len() as u64 + if may_request_more { 512 << 20 } else { 0 }
    }

    /// Puts the bytes into an empty folder and reads them; returns whether they were understood. Panics if the answer
    /// is neither valid nor a sentence.
    pub fn run(&self, folder: &Path, input: &[u8]) -> bool {
        let opened = match self.form {
            Form::Plain(name) => put(folder, name, input),
            Form::Packed(name) => {
                let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
                packed.write_all(input).expect("a vector takes all");
                put(folder, name, &packed.finish().expect("a vector takes all"))
            }
            Form::Several(first) => {
                let _ = std::fs::remove_dir_all(folder);
                std::fs::create_dir_all(folder).expect("made");
                for (name, bytes) in parts(input, first) {
                    put(folder, &name, bytes);
                }
                folder.join(first)
            }
        };
        (self.read)(&opened)
    }
}

fn put(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    if let Some(above) = path.parent() {
        let _ = std::fs::create_dir_all(above);
    }
    // A name may be that of another part's folder: then there is no such file.
    let _ = std::fs::write(&path, bytes);
    path
}

/// `<<a.hdr>>…<<a.img>>…`: names and contents. Bytes before the first name belong to `first`.
pub fn parts<'a>(input: &'a [u8], first: &str) -> Vec<(String, &'a [u8])> {
    const MAXIMUM_PARTS: usize = 24;
    let (mut parts, mut name, mut begin, mut at) = (Vec::new(), first.to_owned(), 0, 0);
    while at + 1 < input.len() && parts.len() < MAXIMUM_PARTS {
        if let Some((next, end)) = name_at(input, at) {
            if at > begin || !parts.is_empty() || next != name {
                parts.push((name, &input[begin..at]));
            }
            (name, begin, at) = (next, end, end);
        } else {
            at += 1;
        }
    }
    parts.push((name, &input[begin..]));
    parts
}

/// The name in double brackets at a position, and the start of its content.
fn name_at(input: &[u8], at: usize) -> Option<(String, usize)> {
    let rest = input[at..].strip_prefix(b"<<")?;
    let rest = &rest[..rest.len().min(80)];
    let end = rest.windows(2).position(|w| w == b">>")?;
    let name = std::str::from_utf8(&rest[..end]).ok()?;
    let letter = |c: char| c.is_ascii_alphanumeric() || "._-/ []".contains(c);
    let is_inside = name.split('/').all(|part| !part.is_empty() && part != "..");
    (is_inside && name.chars().all(letter) && name.split('/').count() <= 5)
        .then(|| (name.to_owned(), at + 2 + end + 2))
}

/// The sentence of an error: one line, no full stop, the path last, no text of Rust's own.
pub fn sentence(error: &Error) -> String {
    let text = error.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!text.contains("os error"), "{text}");
    assert!(text.starts_with(|c: char| c.is_uppercase()), "{text}");
    if let Some(path) = error.path() {
        // A name from a file may contain anything.
        let plain = |c: char| if c.is_control() { '·' } else { c };
        let name: String = path.to_string_lossy().chars().map(plain).collect();
        let path = format!(": {name}");
        assert!(text.ends_with(&path), "{text}");
        let advice = text.trim_end_matches(&path);
        assert!(advice.len() > 15 && !advice.ends_with('.'), "{text}");
        // The advice.
        let remedies = ["; ", ", check", ", ask", ", choose", ", create"];
        assert!(remedies.iter().any(|r| advice.contains(r)), "{text}");
    }
    text
}

/// Whether there is a value; the sentence of an error is checked.
fn answered<T>(read: Result<T, Error>) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(error) => {
            sentence(&error);
            None
        }
    }
}

fn notes<T: AsRef<str>>(notes: &[T]) {
    for note in notes.iter().map(AsRef::as_ref) {
        assert_eq!(note.lines().count(), 1, "{note}");
    }
}

/// An image or streamlines, through every reader.
fn read_any(path: &Path) -> bool {
    let control = Control::new();
    let Some(opened) = answered(io::open(path, &control)) else {
        return false;
    };
    notes(&opened.remarks());
    match &opened {
        Opened::Tractogram(tractogram, _) => {
            streamlines(tractogram);
            tractogram_again(path, tractogram);
        }
        Opened::Volume(volume, _) => {
            let values = volume.values.len();
            assert_eq!(values, volume.frames * volume.grid.voxel_count());
            assert!(volume.grid.world_from_voxel.is_finite());
            let grid = answered(image::read_grid(path, &control)).expect("a grid of what was read");
            assert_eq!(grid.shape, volume.grid.shape);
            // The first volume, with the sums of all: the whole was read, so this succeeds, too.
            if let Some(seen) = answered(image::overview(path, &control)).expect("an overview") {
                assert_eq!(seen.frames, volume.frames);
            }
            answered(io::mask_on_own_grid(path));
            answered(io::gradients::rows_of(path, volume.frames));
            image_again(path);
        }
    }
    true
}

fn streamlines(tractogram: &Tractogram) {
    let points = tractogram.points.len();
    assert_eq!(tractogram.offsets.last().copied(), Some(points as u64));
    assert!(tractogram.offsets.is_sorted());
    assert!(tractogram.per_point.values().all(|v| v.len() == points));
    let lines = tractogram.len();
    assert!(tractogram.per_streamline.values().all(|v| v.len() == lines));
    let mut members = tractogram.groups.values().flat_map(|m| m.iter());
    assert!(members.all(|&m| (m as usize) < lines));
    tractogram.bounds();
    streamlines::total(tractogram);
}

/// Writes the data in a format chosen by the length: they are read back correctly, or refused.
fn tractogram_again(path: &Path, tractogram: &Tractogram) {
    let endings = ["tck", "trk", "trx", "vtk", "vtp"];
    let bytes = io::length_of(path).unwrap_or_default() as usize;
    let Some(ending) = endings.get(bytes % (2 * endings.len())) else {
        return;
    };
    let out = path.with_file_name(format!("out.{ending}"));
    if tractogram.points.len() > 100_000 {
        return;
    }
    written(streamlines::save(
        &out,
        tractogram,
        "arcuate",
        &Control::new(),
    ));
    let _ = std::fs::remove_file(&out);
}

/// Writes an image again in the type of its values.
fn image_again(path: &Path) {
    let bytes = io::length_of(path).unwrap_or_default();
    let ending = match bytes % 4 {
        0 => "nii",
        1 => "nrrd",
        2 => "mif",
        _ => return,
    };
    let out = path.with_file_name(format!("out.{ending}"));
    let (reading, control) = (Reading::default(), Control::new());
    if let Some(plan) = answered(convert::plan(path, &out, None, &reading, &control)) {
        notes(&plan.notes);
        notes(&plan.unsupported_contents);
        notes(&Plan::missing(&plan));
        written(plan.write(true, "arcuate", &control));
    }
    let tables = ["bval", "bvec"].map(|e| path.with_file_name(format!("out.{e}")));
    for file in tables.iter().chain([&out]) {
        let _ = std::fs::remove_file(file);
    }
}

/// Data that were read can be written, or the format cannot hold them.
fn written<T>(done: Result<T, Error>) {
    if let Err(error) = done {
        sentence(&error);
        assert!(!matches!(error, Error::ReadBack { .. }), "{error}");
    }
}

/// Seven volumes on a small grid.
fn scan_grid() -> Grid {
    Grid::axis_aligned([4; 3], DVec3::ONE, DVec3::ZERO).expect("a grid")
}

fn gradient_table(files: &TableFiles) -> bool {
    let Some(table) = answered(io::gradients::read(files, &scan_grid(), 7)) else {
        return false;
    };
    notes(&table.remarks);
    assert_eq!(table.gradients.len(), 7);
    assert!(table.gradients.directions.iter().all(|d| d.is_finite()));
    assert!(table.gradients.b_s_per_mm2.iter().all(|b| b.is_finite()));
    true
}

fn fsl_gradients(bval: &Path) -> bool {
    let bvec = bval.with_extension("bvec");
    gradient_table(&TableFiles::Fsl {
        bval: bval.to_owned(),
        bvec,
    })
}

fn mrtrix_gradients(path: &Path) -> bool {
    gradient_table(&TableFiles::Mrtrix(path.to_owned()))
}

/// Peaks of a model of DSI Studio.
fn dsi_model(path: &Path) -> bool {
    let Some(peaks) = answered(io::orientations::open_peaks(path, None, &Control::new())) else {
        return false;
    };
    notes(&peaks.warnings);
    let field = &peaks.field;
    assert_eq!(
        field.values.len(),
        3 * field.count() * field.grid.voxel_count()
    );
    true
}

fn scheme(path: &Path) -> bool {
    answered(io::scheme::timing(path)).is_some_and(|read| !read.rows.is_empty())
}

/// A number for each of five streamlines.
fn weights(path: &Path) -> bool {
    // Streamlines of one point each.
    let five = Tractogram::new(vec![[0.0; 3]; 5], (0..=5).collect::<Vec<_>>());
    let read = answered(io::scalars::open_weights(path, &five));
    read.is_some_and(|weights| {
        assert_eq!(weights.len(), 5);
        true
    })
}

fn trx_folder(header: &Path) -> bool {
    read_any(header.parent().expect("a folder"))
}

fn colours(path: &Path) -> bool {
    let Some(labels) = answered(io::colours::read(path)) else {
        return false;
    };
    assert!(!labels.table.is_empty());
    for &number in labels.table.keys() {
        let _ = (labels.described(number), labels.colour(number));
    }
    true
}

fn affine(path: &Path) -> bool {
    let Some(affine) = answered(io::affine::read(path)) else {
        return false;
    };
    let grid = scan_grid();
    if let Some(moved) = affine.in_world(Some(&grid), Some(&grid)) {
        let out = path.with_file_name("out.txt");
        written(io::affine::save_itk(&out, moved));
        let _ = std::fs::remove_file(out);
        let _ = grid.moved(moved);
    }
    true
}

fn picture(path: &Path) -> bool {
    answered(io::png::read(path)).is_some()
}

/// A folder whose names determine its content; its files are opened as by the window for a visit.
fn bids_folder(description: &Path) -> bool {
    let folder = description.parent().expect("a folder");
    bids::is_folder(folder);
    let Some(found) = answered(bids::find(folder)) else {
        return false;
    };
    for visit in found.visits() {
        let _ = visit.name();
        for file in found.chosen(&visit) {
            answered(io::open(&file.path, &Control::new()));
        }
    }
    true
}

/// Everything between the text of a session and the window's document, without the disk.
fn a_session(path: &Path) -> bool {
    let Some(file) = answered(session::read(path)) else {
        return false;
    };
    let reread = session::parse(path, &serde_json::to_string(&file).expect("JSON"));
    assert_eq!(reread.as_ref().map(|f| &f.program), Ok(&file.program));
    document(path, &file)
}

/// The document of a readable session file.
pub fn document(path: &Path, file: &session::SessionFile) -> bool {
    let folder = path.parent().expect("a folder");
    let numbers = file.numbers.iter().map(|n| {
        n.unpack().map_err(|reason| UnreadableArray {
            packed: Arc::new(n.clone()),
            reason: reason.into(),
        })
    });
    let masks = file.masks.iter().map(|m| {
        m.unpack().map_err(|reason| UnreadableArray {
            packed: Arc::new(m.clone()),
            reason: reason.into(),
        })
    });
    let read = Arc::new(ReadSession {
        origin_is_same: false,
        path: path.to_owned(),
        sha256: String::new(),
        content: saved::parse(file.content.clone()),
        program: file.program.clone(),
        computed_on: file.computed_on.clone(),
        masks: masks.collect(),
        numbers: numbers.collect(),
        sorted_weights: Default::default(),
        results: file.results.clone(),
        files: file
            .files
            .iter()
            .map(|entry: &FileEntry| FileStatus {
                path: entry.path_from(folder),
                standing: FileComparison::Same,
                is_read: true,
                suggestion: None,
                entry: entry.clone(),
            })
            .collect(),
    });
    let (content, _) = match saved::parse(file.content.clone()) {
        Ok(parsed) => parsed,
        Err(reason) => {
            assert_eq!(reason.to_string().lines().count(), 1, "{reason}");
            return false;
        }
    };
    let (items, missing) = saved::items(&content, &read);
    let none: Vec<(u64, Result<RestoredLayer, NotRestored>)> = items
        .into_iter()
        .map(|(id, _): (u64, LayerToRestore)| (id, Err(NotRestored::NotRead)))
        .collect();
    let mut document =
        saved::build(&Origins::default(), &content.document, &read, none, missing).document;
    document.fresh_id();
    document.bounds();
    let mut state = State::new(String::new());
    state.document = document;
    if let Some(view) = &content.view {
        state.view = saved::view(view, &state.view);
        assert!(state.view.crosshair.is_finite() && state.view.camera.distance_mm > 0.0);
    }
    state.runtime.sessions.opened = Some(read);
    let draft = saved::draft(&state);
    assert!(draft.content.value().is_object());
    true
}
