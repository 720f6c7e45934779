//! Names that other programs of the field use for what this one does: the palette finds its entries by them, and the
//! command line suggests commands.

/// A subject under its names here and elsewhere.
struct Subject {
    /// Beginnings of the names of palette entries; the first subject that matches counts.
    entries: &'static [&'static str],
    /// Words that name it elsewhere, separated by commas; the palette searches them.
    synonyms: &'static str,
    /// The command that does it.
    command: Option<&'static str>,
    /// Further words that stand for the command: parts of entries' names, and short forms that are typed.
    typed: &'static [&'static str],
}

impl Subject {
    const fn command(self, name: &'static str, typed: &'static [&'static str]) -> Self {
        Self {
            command: Some(name),
            typed,
            ..self
        }
    }
}

const fn row(entries: &'static [&'static str], synonyms: &'static str) -> Subject {
    Subject {
        entries,
        synonyms,
        command: None,
        typed: &[],
    }
}

const SUBJECTS: &[Subject] = &[
    row(
        &["Export what is shown"],
        "save, write, streamlines, tracks, image",
    ),
    row(
        &["Save a screenshot"],
        "picture, capture, image, movie, video",
    )
    .command("render", &["screenshot", "view"]),
    row(&["Copy methods paragraph"], "citation, references, paper"),
    row(&["Take a snapshot"], "compare, bookmark, a/b"),
    row(
        &["Task: Track"],
        "tractography, streamlines, deterministic, bootstrap",
    )
    .command("track", &[]),
    row(&["Task: Pathways"], "cost, geodesic, eikonal, connectivity")
        .command("pathway", &["costs", "path"]),
    row(
        &["Task: Segment"],
        "level set, active contour, snake, tumour, lesion",
    )
    .command("segment", &["levelset"]),
    row(&["Task: Filter", "Filter: run"], "commit, sift, weights").command("commit", &["filter"]),
    row(&["Draw: fill"], "flood, bucket, grow from a click, wand"),
    row(&["Draw: polygon"], "lasso, outline"),
    row(&["Draw:"], "paint, roi"),
    row(&["Place: exclude"], "not, roi"),
    row(&["Place: target"], "waypoint, include, and, or, roi"),
    row(&["Place:"], "roi, sphere"),
    row(&["Measure: distance"], "ruler, length, mm"),
    row(
        &["Choose streamlines"],
        "pick, select, delete, prune, lasso",
    ),
    row(&["Region from a threshold"], "roi, mask, binarise").command("region", &[]),
    row(
        &["Regions from a label map"],
        "roi, atlas, parcellation, aparc",
    ),
    row(
        &["Track the whole brain"],
        "whole-brain tractography, tractogram",
    )
    .command("track", &[]),
    row(
        &["Map the density"],
        "track-density image, tdi, visitation map, probabilistic",
    )
    .command("density", &[]),
    row(&["Track: geodesic rays"], "ray tracing, riemannian").command("geodesic", &["rays"]),
    row(
        &["Compare the axes of the gradients"],
        "bvec, flip, gradient table, check",
    ),
    row(
        &["Radiological or neurological"],
        "flip, left, right, convention, mirror",
    ),
    row(&["Letters"], "orientation, labels"),
    row(&["Crosshair"], "cursor"),
    row(&["Layout: mosaic"], "lightbox, montage"),
    row(&["Layout: one view"], "single"),
    row(&["Frame everything"], "reset view, fit, home"),
    row(&["Streamlines: near"], "slab, crop, clip"),
    row(
        &["Table of streamlines"],
        "statistics, scalars, csv, length",
    )
    .command("table", &["stats"]),
    row(
        &["Profile along streamlines"],
        "tract profile, along-tract, afq",
    ),
    row(&["Matrix of connections"], "connectome, connectivity")
        .command("connectome", &["labels", "matrix"]),
    row(&["Settings"], "preferences, options, mouse, memory"),
    row(&["Keys and mouse"], "shortcuts, help, bindings"),
    row(&["Start the guide"], "tutorial, help"),
    row(&[], "cluster").command("select", &[]),
    row(&[], "tractometer, evaluate, ground truth").command("score", &[]),
    row(&[], "coregister, register").command("align", &[]),
    row(&[], "dti, tensors").command("fit", &[]),
    row(
        &[],
        "csd, odf, fodf, dwi2fod, dwi2response, spherical deconvolution",
    )
    .command("fod", &["response"]),
    row(&[], "open").command("info", &[]),
];

/// Other names of a palette entry, separated by commas.
pub fn of_entry(name: &str) -> &'static str {
    let is_named = |subject: &&Subject| subject.entries.iter().any(|e| name.starts_with(e));
    let found = SUBJECTS.iter().find(is_named);
    found.map_or("", |subject| subject.synonyms)
}

/// The command that a word of lower-case letters stands for elsewhere.
pub fn command_of(word: &str) -> Option<&'static str> {
    let is_known = |subject: &&Subject| {
        let typed: &[&str] = subject.typed;
        typed.contains(&word) || subject.synonyms.split(", ").any(|known| known == word)
    };
    let mut of_commands = SUBJECTS.iter().filter(|s| s.command.is_some());
    of_commands.find(is_known)?.command
}
