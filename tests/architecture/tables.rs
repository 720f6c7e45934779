//! The architecture as constants; a change here is a decision, not a repair. Where a row goes beyond the design's
//! tables, a comment gives the reason.

/// The items that a module may use from another.
pub enum Take {
    All,
    /// Only these names directly in it.
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
        // Reading and writing can be cancelled, too; numbers are converted many at a time. Claims on cards are files, and
        // processes wait for each other while they claim.
        &[
            ("data", All),
            (
                "compute",
                Only(&[
                    "Cancelled",
                    "Control",
                    "card_claims",
                    "memory",
                    "simd",
                    "thread",
                ]),
            ),
        ],
    ),
    (
        "phantom",
        &[
            ("data", All),
            // The table of the scan.
            ("parameters", All),
            // Generating a head takes seconds and can be cancelled.
            ("compute", Only(&["Cancelled", "Control"])),
        ],
    ),
    (
        "solvers",
        &[("data", All), ("compute", All), ("parameters", All)],
    ),
    // Programs that use the engine without the window.
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
            // Its errors.
            ("solvers", Types),
            ("io", All),
        ],
    ),
    (
        "state",
        &[
            ("data", All),
            // Sizes as text, the same everywhere.
            ("compute", Only(&["memory"])),
            ("parameters", All),
            ("solvers", Types),
            ("jobs", Types),
            // The formats, their contents, and texts about files and JSON: plain values.
            (
                "io",
                Only(&[
                    "AffineReading",
                    "Content",
                    "DISCLAIMER",
                    "FieldConvention",
                    "Format",
                    // Streamlines that stay in their file, and those of them that are drawn; only jobs read more.
                    "InPlace",
                    "Reading",
                    "Remark",
                    "Sample",
                    "SampleLimits",
                    "Space",
                    // The files of a non-linear alignment.
                    "TransformFile",
                    "ViewPart",
                    "WarpReading",
                    "json",
                    "quoted",
                ]),
            ),
        ],
    ),
    ("scene", &[("data", All), ("state", All)]),
    (
        "render",
        &[
            ("data", All),
            // Threads that prepare what is uploaded, and one that computes the cut-out of slices while frames go on.
            ("compute", Only(&["parts", "thread"])),
            ("scene", Only(&["draw_list"])),
        ],
    ),
    (
        "ui",
        &[
            ("data", All),
            ("parameters", All),
            ("solvers", Types),
            ("state", All),
            ("scene", All),
            ("render", All),
            // The formats and their capabilities: a table of plain values; and the pixels of pictures in the program.
            ("io", Only(&["Content", "Format", "decoded_png"])),
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
            // The window without a screen, whose frames are measured.
            ("app", Only(&["offscreen"])),
        ],
    ),
    (
        "app",
        &[
            ("compute", All),
            // The action log, written line by line.
            ("io", Only(&["lines"])),
            ("jobs", All),
            ("state", All),
            ("scene", All),
            ("render", All),
            ("ui", All),
        ],
    ),
    // The pages of the guide: text.
    ("guide", &[]),
    // A package of its own, over the engine alone: its `crate` is not that of the window.
    (
        "python",
        &[
            ("data", All),
            ("compute", All),
            ("parameters", All),
            ("io", All),
            ("phantom", All),
            ("solvers", All),
        ],
    ),
    (
        "main",
        &[
            ("app", All),
            ("cli", All),
            ("compute", Only(&["HugePages"])),
        ],
    ),
    ("lib", &[]),
];

/// The other solvers that a solver may use. Streamlines and rays meet only in `curves`, and questions about curves do
/// not depend on how these were computed.
pub const SOLVERS: &[(&str, &[&str])] = &[
    ("alignment", &[]),
    // The voxels that a bundle passes.
    ("bundles", &["density"]),
    ("commit", &["density"]),
    // The voxels that a streamline passes, and the distances between borders.
    ("compare", &["density", "level_set"]),
    // The ends of streamlines on a card are examined there.
    ("connectivity", &["curves", "on_card", "region"]),
    ("csd", &[]),
    // Points stay on the card that computed them.
    ("curves", &["on_card"]),
    // Streamlines on a card are counted there.
    ("density", &["curves", "on_card"]),
    // Points on a card are written there as they are drawn.
    ("drawn_lines", &["on_card"]),
    ("eikonal", &["metric", "tensor_fit"]),
    // Rays in distributions start along peaks; those through a point start along the cheapest path to it.
    (
        "geodesic",
        &[
            "curves",
            "eikonal",
            "metric",
            "pathway",
            "peaks",
            "tensor_fit",
        ],
    ),
    // The best of the axis changes gives the longest streamlines.
    ("gradient_check", &["curves", "tensor_fit", "tracking"]),
    ("level_set", &["on_card"]),
    // The ε-pathway and paths are those of pathways in a metric; repetitions refit the distributions.
    ("lifted", &["csd", "metric", "pathway"]),
    ("metric", &["tensor_fit"]),
    // Bases are ranked by symmetry, frames as the axes of gradients are, with the same pictures as tensor orders.
    (
        "odf_check",
        &["gradient_check", "tensor_check", "tensor_fit"],
    ),
    ("on_card", &[]),
    // Probabilistic streamlines follow the repetitions of a bootstrap.
    ("odf_tracking", &["csd", "curves", "peaks"]),
    ("pathway", &["eikonal", "metric", "tensor_fit"]),
    ("peaks", &[]),
    ("region", &[]),
    ("response", &["csd", "peaks", "tensor_fit"]),
    // The voxels that a streamline passes.
    ("score", &["density"]),
    ("tensor_check", &["gradient_check", "tensor_fit"]),
    ("tensor_fit", &["on_card", "region"]),
    ("tracking", &["curves", "tensor_fit"]),
    // The voxels that a streamline passes; clusters are one of the recorded edits; streamlines on a card are tested there.
    ("tractogram", &["bundles", "curves", "density", "on_card"]),
    // Peaks of the repetitions of a bootstrap.
    ("uncertainty", &["csd", "peaks"]),
];

/// Modules, and the parts of the crate that they must not use, because these are above them.
pub const BELOW: &[(&str, &[&str])] = &[
    ("state/origin", &["state", "sessions"]),
    ("state/origin", &["state", "update"]),
    ("state/sessions/saved", &["state", "update"]),
];

/// The features of `state`. A feature may use those before it; later ones react to it through `follow`.
pub const FEATURES: &[&str] = &[
    "files",
    "regions",
    "tensors",
    "alignment",
    "track",
    "density",
    "pathways",
    "track_noise",
    "streamlines",
    "segment",
    "figures",
    "scene_look",
    "filter",
    "sampling",
    "snapshots",
    "pictures",
    "session_report",
    "protocols",
    "sessions",
    "device",
    "crosshair_link",
];

/// Files that may import more than their module, because work for a thread is next to the changes of its result. The
/// first row that matches a path decides.
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
    // Types of session files are plain values of io.
    (
        "state/sessions/types",
        &[
            ("data", All),
            ("parameters", All),
            ("solvers", Types),
            ("io", Types),
        ],
    ),
];

/// A crate or a part of std that only some places may use. A place is a folder or file of src/ or src/engine/, with `*`
/// for any one name.
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
    only(
        &["libloading"],
        &["compute/cuda/nccl", "compute/cuda/usage"],
    ),
    // `compute` creates the pools.
    Reserved {
        what: &["rayon"],
        places: &["compute", "io", "phantom", "solvers"],
        but_not: &["solvers/*/cuda"],
    },
    only(&["nifti"], &["io"]),
    only(&["flate2"], &["io"]),
    only(&["memmap2"], &["io"]),
    // Leases of files; advice about pages.
    only(&["libc"], &["io/mmap", "compute/huge_pages"]),
    only(&["rustix"], &["io/disk"]),
    only(&["signal_hook"], &["cli/signals"]),
    only(&["zip"], &["io"]),
    only(&["quick_xml"], &["io"]),
    only(&["base64"], &["io"]),
    only(&["toml"], &["io"]),
    only(&["png"], &["io"]),
    only(&["ab_glyph"], &["io"]),
    only(&["sha2"], &["io"]),
    // `main` gets the arguments from clap, `cli` defines them.
    only(&["clap"], &["cli", "main"]),
    only(&["pyo3"], &["python"]),
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
    // `/proc` gives the amount of memory, and the ignored signals.
    only(
        &["std", "fs", "read_to_string"],
        &["io/disk", "compute/memory", "cli/signals"],
    ),
    only(&["std", "fs", "write"], &["io/disk", "compute/memory"]),
    // A test makes each operation on the disk fail.
    only(&["std", "fs"], &["io/disk"]),
    // Inode and time of change; the subject of a lease.
    only(
        &["std", "os", "unix", "fs", "MetadataExt"],
        &["io/disk", "io/session/entry"],
    ),
    only(&["std", "os", "unix", "fs", "FileExt"], &["io/mmap"]),
    only(&["std", "os", "unix", "fs"], &["io/disk"]),
    only(&["std", "net"], &[]),
    // Environment variables that choose data, devices and records, and the path of ffmpeg; typed paths may start with
    // ~.
    only(
        &["std", "env"],
        &["io", "cli", "app", "main", "ui/files", "jobs/film"],
    ),
    // Names of temporary files contain the process id; equal graphics cards are shared among processes by it.
    only(&["std", "process", "id"], &["io", "compute/cuda/usage"]),
    // Exit codes; and ffmpeg, for films.
    only(&["std", "process"], &["cli", "main", "jobs/film"]),
    // wgpu returns a mapped buffer through a callback. A desktop's file dialog blocks, so it waits on a thread of its
    // own.
    only(
        &["std", "sync", "mpsc"],
        &[
            "jobs",
            "render/offscreen",
            // A thread of its own computes the shape that slices are cut to: it takes longer than a frame.
            "render/cut_outs",
            "ui/files/dialog",
            "compute/thread",
            "compute/opening",
            // The record of actions is written by a thread of its own.
            "app/action_log",
            // Waits for the jobs of a window without one.
            "cli/bench_live",
            // Waits for the engine and looks for signals meanwhile.
            "python/run",
        ],
    ),
    // A number, not a thread.
    only(&["std", "thread", "available_parallelism"], &["compute"]),
    // A thread for each card, which waits for it; one for the engine while Python goes on.
    only(
        &["std", "thread", "scope"],
        &["compute/backend", "python/run"],
    ),
    // All others start threads through this function, where a refusal does not panic.
    only(
        &["std", "thread", "Builder"],
        &[
            "compute",
            "io/mmap",
            "jobs/film",
            "cli/signals",
            "python/run",
        ],
    ),
    // An opened file is copied after it was shown; a set waits for another to get its names.
    only(
        &["std", "thread"],
        &["compute/thread", "io/mmap", "io/atomic/together", "jobs"],
    ),
];

/// In `python/arrays`, memory that NumPy owns becomes a slice without a copy.
pub const UNSAFE: &[&str] = &[
    "compute",
    "io/mmap",
    "solvers/*/cuda",
    "render/shared",
    "python/arrays",
];

/// Largest number of lines in a file; those that follow have a tighter limit of their own.
pub const MAX_LINES: usize = 600;
pub const MAX_LINES_IN: &[(&str, usize)] = &[("src/main.rs", 60), ("src/app.rs", 150)];

/// Methods of std that access the disk although no path contains `std::fs`: only `io/disk` calls them.
pub const DISK_METHODS: &[&str] = &["read_dir", "read_link", "canonicalize", "sync_data"];

/// Methods of a path that access the disk, which may be slow.
pub const DISK_QUESTIONS: &[&str] = &[
    "exists",
    "is_dir",
    "is_file",
    "is_symlink",
    "metadata",
    "symlink_metadata",
    "try_exists",
];
/// Modules on the interface thread: they submit jobs that access the disk.
pub const NEVER_WAITS: &[&str] = &["state", "scene", "render", "ui"];
/// A desktop's dialog waits on a thread of its own, which also looks for the program to show it. Jobs have workers.
pub const MAY_WAIT: &[&str] = &["ui/files/dialog", "state/*/jobs"];

/// Stems without a form in the window: each row is removed when the form is added. Scores have a panel
/// (`ui/bottom_panel/scores.rs`); the agreement of a pathway is in `ui/forms/eikonal/agreement.rs`, and segmentations are
/// compared on the command line only.
pub const WITHOUT_FORM: &[&str] = &["score", "compare"];

/// One concept, one name in src/engine/solvers, kernels, tests and src/ui/forms; and its command, if the user meets it
/// separately.
pub const STEMS: &[(&str, Option<&str>)] = &[
    ("tensor_fit", Some("fit")),
    ("curves", None),
    ("tracking", Some("track")),
    ("geodesic", Some("geodesic")),
    ("tractogram", None),
    ("region", Some("region")),
    ("density", Some("density")),
    ("alignment", Some("align")),
    ("eikonal", Some("pathway")),
    ("level_set", Some("segment")),
    ("commit", Some("commit")),
    ("metric", None),
    ("connectivity", Some("connectome")),
    ("pathway", None),
    ("lifted", Some("pathway")),
    ("csd", Some("fod")),
    ("odf_tracking", Some("track")),
    ("peaks", None),
    ("response", None),
    ("score", Some("score")),
    ("compare", Some("compare")),
    ("bundles", Some("bundles")),
    ("gradient_check", None),
    ("tensor_check", None),
    ("odf_check", None),
    ("uncertainty", None),
    ("on_card", None),
    ("drawn_lines", None),
];

/// Largest number of lines of a function, from `fn` to its last brace.
pub const MAX_FUNCTION: usize = 120;

/// Largest number of named fields of a struct.
pub const MAX_FIELDS: usize = 20;

/// Structs with a tighter limit of their own.
pub const MAX_FIELDS_OF: &[(&str, usize)] = &[("src/app.rs App", 5)];
