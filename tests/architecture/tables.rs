//! The architecture as constants; a change here is a decision, not a repair. Where a row goes beyond
//! the design's tables, a comment says why.

/// What a module may take from another.
pub enum Take {
    All,
    /// These names right inside it.
    Only(&'static [&'static str]),
    /// Types and constants, no functions.
    Types,
}
use Take::{All, Only, Types};

pub const MAY_IMPORT: &[(&str, &[(&str, Take)])] = &[
    ("data", &[("compute", Only(&["DataId", "DeviceCopy"]))]),
    ("compute", &[]),
    ("parameters", &[]),
    (
        "io",
        // Reading and writing can be cancelled, too; numbers are converted many at a time.
        &[
            ("data", All),
            ("compute", Only(&["Cancelled", "Control", "memory", "simd"])),
        ],
    ),
    (
        "phantom",
        &[
            ("data", All),
            // Making a head takes seconds and can be cancelled.
            ("compute", Only(&["Cancelled", "Control"])),
        ],
    ),
    (
        "solvers",
        &[("data", All), ("compute", All), ("parameters", All)],
    ),
    // Programs that show the engine at work without the window.
    (
        "examples",
        &[
            ("data", All),
            ("compute", All),
            ("io", All),
            ("phantom", All),
            ("solvers", All),
        ],
    ),
    (
        "jobs",
        &[
            ("data", All),
            ("compute", All),
            ("parameters", All),
            ("solvers", All),
            ("io", All),
            // The built-in head is opened like a file.
            ("phantom", All),
        ],
    ),
    (
        "state",
        &[
            ("data", All),
            // Sizes in words, the same everywhere.
            ("compute", Only(&["memory"])),
            ("parameters", All),
            ("solvers", Types),
            ("jobs", Types),
            // The formats, their contents, and words about files and JSON: plain values.
            (
                "io",
                Only(&[
                    "AffineReading",
                    "Content",
                    "DISCLAIMER",
                    "Format",
                    "Reading",
                    "Remark",
                    "Space",
                    "json",
                    "quoted",
                ]),
            ),
        ],
    ),
    ("scene", &[("data", All), ("state", All)]),
    ("render", &[("data", All), ("scene", Only(&["draw_list"]))]),
    (
        "ui",
        &[
            ("data", All),
            ("parameters", All),
            ("solvers", Types),
            ("state", All),
            ("scene", All),
            ("render", All),
            // Which formats there are and what they hold: a table of plain values.
            ("io", Only(&["Content", "Format"])),
            ("guide", All),
        ],
    ),
    (
        "cli",
        &[
            ("data", All),
            ("io", All),
            ("phantom", All),
            ("compute", All),
            ("parameters", All),
            ("solvers", All),
            ("jobs", All),
            ("state", All),
            ("scene", All),
            ("render", All),
            // Pictures of the window.
            ("ui", Only(&["Memory", "show", "snapshot"])),
            ("guide", All),
        ],
    ),
    (
        "app",
        &[
            ("compute", All),
            ("jobs", All),
            ("state", All),
            ("scene", All),
            ("render", All),
            ("ui", All),
        ],
    ),
    // The pages of the guide: text.
    ("guide", &[]),
    ("main", &[("app", All), ("cli", All)]),
    ("lib", &[]),
];

/// Which other solvers a solver may use. Streamlines and rays meet in `curves` alone, and questions about curves do not
/// depend on how these were made.
pub const SOLVERS: &[(&str, &[&str])] = &[
    ("alignment", &[]),
    ("commit", &["density"]),
    ("connectivity", &["curves", "region"]),
    ("curves", &[]),
    ("density", &["curves"]),
    ("eikonal", &["metric", "tensor_fit"]),
    ("geodesic", &["curves", "tensor_fit"]),
    // The best of the axes' turns gives the longest streamlines.
    ("gradient_check", &["curves", "tensor_fit", "tracking"]),
    ("level_set", &[]),
    ("metric", &["tensor_fit"]),
    ("pathway", &["eikonal", "metric"]),
    ("region", &[]),
    ("tensor_check", &["gradient_check", "tensor_fit"]),
    ("tensor_fit", &["region"]),
    ("tracking", &["curves", "tensor_fit"]),
    ("tractogram", &["curves"]),
];

/// Places, and what of the crate they may not use: it stands above them and uses them.
pub const BELOW: &[(&str, &[&str])] = &[
    ("state/origin", &["state", "sessions"]),
    ("state/origin", &["state", "update"]),
    ("state/recipes", &["state", "sessions", "saved"]),
    ("state/recipes", &["state", "update"]),
    ("state/sessions/saved", &["state", "update"]),
];

/// The features of `state`. What one does may use what those before it do; the others see it through `follow`.
pub const FEATURES: &[&str] = &[
    "files",
    "regions",
    "tensors",
    "alignment",
    "density",
    "track",
    "pathways",
    "streamlines",
    "segment",
    "filter",
    "sampling",
    "snapshots",
    "pictures",
    "sessions",
    "device",
];

/// Files of `state` that use a higher rank today, and how often: the numbers may only fall, and end at 0.
pub const RANK_EXCEPTIONS: &[(&str, usize)] = &[
    ("src/state/action.rs", 2),
    ("src/state/alignment/jobs.rs", 1),
    ("src/state/alignment/saved.rs", 1),
    ("src/state/alignment/types.rs", 8),
    ("src/state/alignment/update.rs", 1),
    ("src/state/core/compact_masks.rs", 2),
    ("src/state/core/words/mask.rs", 9),
    ("src/state/density/jobs.rs", 1),
    ("src/state/density/methods.rs", 1),
    ("src/state/density/saved.rs", 2),
    ("src/state/density/update.rs", 3),
    ("src/state/device/jobs.rs", 1),
    ("src/state/document.rs", 5),
    ("src/state/files/jobs.rs", 1),
    ("src/state/files/jobs/head.rs", 1),
    ("src/state/files/jobs/open.rs", 1),
    ("src/state/files/opening.rs", 10),
    ("src/state/files/paths.rs", 1),
    ("src/state/files/update.rs", 2),
    ("src/state/filter/changes.rs", 4),
    ("src/state/filter/inputs.rs", 2),
    ("src/state/filter/jobs/fit.rs", 1),
    ("src/state/filter/jobs/scheme.rs", 1),
    ("src/state/filter/jobs/sums.rs", 1),
    ("src/state/filter/methods.rs", 1),
    ("src/state/filter/recipe.rs", 5),
    ("src/state/filter/saved.rs", 7),
    ("src/state/filter/types.rs", 3),
    ("src/state/filter/update.rs", 2),
    ("src/state/filter/update/apply_fit.rs", 2),
    ("src/state/pathways/changes.rs", 9),
    ("src/state/pathways/jobs.rs", 1),
    ("src/state/pathways/jobs/compare.rs", 1),
    ("src/state/pathways/jobs/find.rs", 2),
    ("src/state/pathways/jobs/region.rs", 1),
    ("src/state/pathways/methods.rs", 2),
    ("src/state/pathways/recipe.rs", 3),
    ("src/state/pathways/saved.rs", 12),
    ("src/state/pathways/types.rs", 10),
    ("src/state/pathways/update.rs", 2),
    ("src/state/pathways/update/kept.rs", 2),
    ("src/state/recipe.rs", 2),
    ("src/state/recipes.rs", 2),
    ("src/state/regions/changes.rs", 6),
    ("src/state/regions/draw.rs", 3),
    ("src/state/regions/jobs/labels.rs", 1),
    ("src/state/regions/jobs/make.rs", 1),
    ("src/state/regions/make.rs", 5),
    ("src/state/regions/saved.rs", 15),
    ("src/state/regions/update.rs", 7),
    ("src/state/sampling/types.rs", 1),
    ("src/state/sampling/update.rs", 1),
    ("src/state/segment/changes.rs", 2),
    ("src/state/segment/jobs.rs", 1),
    ("src/state/segment/jobs/run.rs", 1),
    ("src/state/segment/methods.rs", 3),
    ("src/state/segment/recipe.rs", 3),
    ("src/state/segment/saved.rs", 20),
    ("src/state/segment/types.rs", 10),
    ("src/state/segment/update.rs", 5),
    ("src/state/segment/update/back.rs", 1),
    ("src/state/segment/update/keep.rs", 1),
    ("src/state/session.rs", 4),
    ("src/state/sessions/jobs.rs", 1),
    ("src/state/sessions/update.rs", 3),
    ("src/state/sessions/update/later.rs", 3),
    ("src/state/snapshots/saved.rs", 16),
    ("src/state/streamlines/changes.rs", 5),
    ("src/state/streamlines/jobs/connectome.rs", 1),
    ("src/state/streamlines/jobs/edit.rs", 1),
    ("src/state/streamlines/jobs/pick.rs", 1),
    ("src/state/streamlines/jobs/profile.rs", 1),
    ("src/state/streamlines/jobs/select.rs", 1),
    ("src/state/streamlines/jobs/table.rs", 1),
    ("src/state/streamlines/types.rs", 2),
    ("src/state/streamlines/update.rs", 1),
    ("src/state/streamlines/update/edits.rs", 1),
    ("src/state/streamlines/update/measure.rs", 1),
    ("src/state/tensors/axes.rs", 1),
    ("src/state/tensors/jobs.rs", 1),
    ("src/state/tensors/jobs/fit.rs", 2),
    ("src/state/tensors/orders.rs", 1),
    ("src/state/tensors/update.rs", 5),
    ("src/state/track/changes.rs", 6),
    ("src/state/track/jobs.rs", 1),
    ("src/state/track/jobs/cut.rs", 1),
    ("src/state/track/jobs/stopped.rs", 1),
    ("src/state/track/jobs/streamlines.rs", 1),
    ("src/state/track/kept.rs", 2),
    ("src/state/track/rays.rs", 1),
    ("src/state/track/update.rs", 1),
];

/// Places whose files may import more than their module: there the work for a thread stands beside what its result
/// changes. The first row that matches a path decides.
pub const MAY_IMPORT_AT: &[(&str, &[(&str, Take)])] = &[
    (
        "state/*/jobs",
        &[
            ("data", All),
            ("compute", All),
            ("solvers", All),
            ("io", All),
            ("phantom", All),
            ("jobs", All),
        ],
    ),
    // Sessions open files, fit and track again as the features do; they move to `state/sessions/jobs` last.
    (
        "jobs/session",
        &[
            ("data", All),
            ("compute", All),
            ("parameters", All),
            ("solvers", All),
            ("io", All),
            ("phantom", All),
            ("state", Only(&["files", "tensors", "track"])),
        ],
    ),
];

/// A crate or a part of std that only some places may name. A place is a folder or file of src/ or src/engine/,
/// `*` standing for any one name.
pub struct Reserved {
    pub what: &'static [&'static str],
    pub places: &'static [&'static str],
    pub but_not: &'static [&'static str],
}

const fn only(what: &'static [&'static str], places: &'static [&'static str]) -> Reserved {
    Reserved {
        what,
        places,
        but_not: &[],
    }
}

/// The first row that matches a path decides.
pub const RESERVED: &[Reserved] = &[
    only(&["cudarc"], &["compute", "solvers/*/cuda"]),
    only(&["libloading"], &["compute/cuda/nccl"]),
    // `compute` makes the pools.
    Reserved {
        what: &["rayon"],
        places: &["compute", "io", "phantom", "solvers"],
        but_not: &["solvers/*/cuda"],
    },
    only(&["nifti"], &["io"]),
    only(&["flate2"], &["io"]),
    only(&["memmap2"], &["io"]),
    only(&["libc"], &["io/mmap"]),
    only(&["rustix"], &["io/disk"]),
    only(&["signal_hook"], &["cli/signals"]),
    only(&["zip"], &["io"]),
    only(&["quick_xml"], &["io"]),
    only(&["base64"], &["io"]),
    only(&["png"], &["io"]),
    only(&["sha2"], &["io"]),
    // `main` asks clap for the arguments, `cli` says what they are.
    only(&["clap"], &["cli", "main"]),
    only(&["indicatif"], &["cli"]),
    // `snapshot` draws the window into a texture of its own.
    only(
        &["wgpu"],
        &["render", "ui/paint_callback", "ui/snapshot", "app"],
    ),
    only(&["ash"], &["render/shared"]),
    only(&["egui_wgpu"], &["ui/paint_callback", "ui/snapshot", "app"]),
    only(&["egui"], &["ui", "app"]),
    only(&["eframe"], &["app"]),
    only(&["rfd"], &["ui/files/dialog"]),
    // `/proc` says how much memory there is, and which signals are ignored.
    only(
        &["std", "fs", "read_to_string"],
        &["io/disk", "compute/memory", "cli/signals"],
    ),
    only(&["std", "fs", "write"], &["io/disk", "compute/memory"]),
    // A test makes each operation on the disk fail.
    only(&["std", "fs"], &["io/disk"]),
    // Inode and time of change; what a lease is about.
    only(
        &["std", "os", "unix", "fs", "MetadataExt"],
        &["io/disk", "io/session/entry"],
    ),
    only(&["std", "os", "unix", "fs", "FileExt"], &["io/mmap"]),
    only(&["std", "os", "unix", "fs"], &["io/disk"]),
    only(&["std", "net"], &[]),
    // Environment variables that choose data, devices and records, and where ffmpeg is; typed paths
    // may start with ~.
    only(
        &["std", "env"],
        &["io", "cli", "app", "main", "ui/files", "jobs/film"],
    ),
    // In the names of temporary files.
    only(&["std", "process", "id"], &["io"]),
    // Exit codes; and ffmpeg, which makes films.
    only(&["std", "process"], &["cli", "main", "jobs/film"]),
    // wgpu hands a mapped buffer back through a callback. A desktop's file dialog blocks, so it
    // waits on a thread of its own.
    only(
        &["std", "sync", "mpsc"],
        &[
            "jobs",
            "render/offscreen",
            "ui/files/dialog",
            "compute/thread",
        ],
    ),
    // A number, no thread.
    only(&["std", "thread", "available_parallelism"], &["compute"]),
    // A thread for each card, which waits for it.
    only(&["std", "thread", "scope"], &["compute/backend"]),
    // Everybody else starts threads there, where a refusal is no panic.
    only(
        &["std", "thread", "Builder"],
        &["compute", "io/mmap", "jobs/film", "cli/signals"],
    ),
    // A file that was opened is copied after it was shown; a set waits until another has its names.
    only(
        &["std", "thread"],
        &["compute/thread", "io/mmap", "io/atomic/together", "jobs"],
    ),
];

pub const UNSAFE: &[&str] = &["compute", "io/mmap", "solvers/*/cuda", "render/shared"];

/// Most lines of a file; those that follow have a tighter limit of their own.
pub const MAX_LINES: usize = 600;
pub const MAX_LINES_OF: &[(&str, usize)] = &[("src/main.rs", 60), ("src/app.rs", 150)];

/// Methods of std that operate on the disk where no path names `std::fs`: `io/disk` alone calls them.
pub const DISK_METHODS: &[&str] = &["read_dir", "read_link", "canonicalize", "sync_data"];

/// Methods of a path that ask the disk, which may be slow.
pub const DISK_QUESTIONS: &[&str] = &[
    "exists",
    "is_dir",
    "is_file",
    "is_symlink",
    "metadata",
    "symlink_metadata",
    "try_exists",
];
/// Modules on the window's thread: they submit jobs that ask the disk.
pub const NEVER_WAITS: &[&str] = &["state", "scene", "render", "ui"];
/// A desktop's dialog waits on a thread of its own, and looks there for what shows it. Jobs run on a worker's thread.
pub const MAY_WAIT: &[&str] = &["ui/files/dialog", "state/*/jobs"];

/// Stems whose form the window does not have yet: each leaves with its form.
pub const WITHOUT_FORM: &[&str] = &[];

/// One concept, one name in src/engine/solvers, kernels, tests and src/ui/forms; and its command, where
/// the user meets it by itself.
pub const STEMS: &[(&str, Option<&str>)] = &[
    ("tensor_fit", Some("fit")),
    ("curves", None),
    ("tracking", Some("track")),
    ("geodesic", Some("geodesic")),
    ("tractogram", None),
    ("region", Some("region")),
    ("density", Some("density")),
    ("alignment", Some("align")),
    ("eikonal", Some("cost")),
    ("level_set", Some("segment")),
    ("commit", Some("commit")),
    ("metric", None),
    ("connectivity", Some("connectome")),
    ("pathway", None),
];

/// Largest number of lines of a function, from `fn` to its last brace.
pub const MAX_FUNCTION: usize = 120;
/// Functions that are longer today: their lines may only fall.
pub const LONG_FUNCTIONS: &[(&str, usize)] = &[
    ("src/cli/phantom.rs run", 158),
    ("src/cli/render.rs run", 165),
    ("src/engine/io/error.rs write_sentence", 156),
    ("src/engine/io/nrrd/header.rs parse", 135),
    ("src/engine/io/trk/write.rs save", 158),
    ("src/engine/io/vtp/mod.rs parse", 143),
    ("src/engine/solvers/commit/cuda/buffers.rs new", 127),
    ("src/engine/solvers/geodesic/follow.rs run", 141),
    ("src/render/scene.rs draw", 234),
    ("src/render/volume.rs march", 126),
    ("src/state/methods.rs curves", 147),
    ("src/state/pathways/jobs/find.rs solve", 135),
    ("src/state/update/mod.rs apply", 285),
    ("src/ui/files.rs contents", 144),
    ("src/ui/forms/eikonal/results.rs row", 122),
    ("src/ui/palette.rs entries", 232),
];

/// Largest number of named fields of a struct.
pub const MAX_FIELDS: usize = 20;
/// Structs that have more today: their number may only fall.
pub const WIDE_STRUCTS: &[(&str, usize)] = &[
    ("src/cli/segment.rs Options", 21),
    ("src/engine/io/nifti/header.rs Header", 23),
    ("src/engine/solvers/geodesic/cuda.rs KernelRules", 22),
    ("src/engine/solvers/level_set/cuda.rs Engine", 21),
    ("src/engine/solvers/level_set/cuda/tables.rs Tables", 24),
    ("src/state/document.rs Document", 29),
    ("src/state/sessions/types.rs Saving", 23),
    ("src/state/session.rs Session", 52),
    ("src/state/view.rs View", 26),
    ("src/ui/mod.rs Memory", 33),
    ("src/ui/views/mod.rs Views", 22),
];

/// Names that the glossary retires, and how often they still stand in src: the numbers may only fall, and end at 0.
pub const RETIRED: &[(&str, usize)] = &[
    ("Absent", 12),
    ("Aim", 0),
    ("Alarm", 11),
    ("Apart", 11),
    ("Asked", 0),
    ("Beside", 10),
    ("CardFailure", 0),
    ("CommitNeeds", 0),
    ("Committed", 0),
    ("Derived", 0),
    ("Desk", 0),
    ("Draft", 0),
    ("Fate", 0),
    ("Fault", 0),
    ("ForBundle", 0),
    ("ForRegions", 0),
    ("ForSegment", 0),
    ("Gates", 0),
    ("Hand", 7),
    ("Held", 62),
    ("Journey", 0),
    ("Judged", 0),
    ("Kinded", 6),
    ("Lacking", 3),
    ("LackingWeights", 0),
    ("Leaving", 0),
    ("LeftBehind", 3),
    ("LeftOut", 13),
    ("LendImage", 0),
    ("LentImage", 0),
    ("Lesioned", 0),
    ("MadeMask", 0),
    ("MediumRecipe", 19),
    ("Met", 0),
    ("OfBundle", 0),
    ("OfRegions", 0),
    ("Place", 150),
    ("Placed", 0),
    ("Request", 0),
    ("Room", 0),
    ("Said", 5),
    ("Shifting", 0),
    ("Shoot", 0),
    ("Sieve", 0),
    ("Sifted", 0),
    ("Steered", 0),
    ("Stranded", 0),
    ("Surfaced", 0),
    ("There", 0),
    ("Thing", 0),
    ("Through", 21),
    ("Together", 0),
    ("Told", 0),
    ("ToldAffine", 0),
    ("Unread", 10),
    ("Vacant", 0),
    ("Voice", 0),
    ("Wording", 6),
    ("Working", 0),
    ("anew", 10),
    ("asked", 71),
    ("asked_of", 5),
    ("begun", 15),
    ("beside", 57),
    ("cut_again", 0),
    ("foresee", 4),
    ("foretell", 7),
    ("held", 82),
    ("is_heard", 0),
    ("kept_again", 2),
    ("lay", 32),
    ("let_leak", 2),
    ("moved_words", 4),
    ("owes_better", 11),
    ("put_off", 2),
    ("retrack", 27),
    ("said", 49),
    ("say", 38),
    ("sifted", 36),
    ("sound", 27),
    ("take_in", 0),
    ("taken_in", 3),
    ("tell", 11),
    ("tell_warnings", 2),
    ("told", 38),
    ("told_stage", 2),
    ("twin", 11),
    ("usual", 14),
    ("wanted", 67),
    ("wanted_fit", 5),
    ("weigh", 7),
    ("weighed", 170),
    ("weighed_of", 14),
    ("weighs", 7),
    ("words", 385),
];
