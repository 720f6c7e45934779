//! Names that other programs of the field use for the commands of the palette.

/// Keyed by the beginning of a name; the first match counts.
const SYNONYMS: &[(&str, &str)] = &[
    (
        "Export what is shown",
        "save, write, streamlines, tracks, image",
    ),
    ("Save a screenshot", "picture, capture, image, movie, video"),
    ("Copy methods paragraph", "citation, references, paper"),
    ("Take a snapshot", "compare, bookmark, a/b"),
    (
        "Task: Track",
        "tractography, streamlines, deterministic, bootstrap",
    ),
    ("Task: Pathways", "cost, geodesic, eikonal, connectivity"),
    (
        "Task: Segment",
        "level set, active contour, snake, tumour, lesion",
    ),
    ("Task: Filter", "commit, sift, weights"),
    ("Filter: run", "commit, sift, weights"),
    ("Draw: fill", "flood, bucket, grow from a click, wand"),
    ("Draw: polygon", "lasso, outline"),
    ("Draw:", "paint, roi"),
    ("Place: exclude", "not, roi"),
    ("Place: target", "waypoint, include, and, or, roi"),
    ("Place:", "roi, sphere"),
    ("Measure: distance", "ruler, length, mm"),
    ("Choose streamlines", "pick, select, delete, prune, lasso"),
    ("Region from a threshold", "roi, mask, binarise"),
    (
        "Regions from a label map",
        "roi, atlas, parcellation, aparc",
    ),
    (
        "Track the whole brain",
        "whole-brain tractography, tractogram",
    ),
    (
        "Map the density",
        "track-density image, tdi, visitation map, probabilistic",
    ),
    ("Track: geodesic rays", "ray tracing, riemannian"),
    (
        "Compare the axes of the gradients",
        "bvec, flip, gradient table, check",
    ),
    (
        "Radiological or neurological",
        "flip, left, right, convention, mirror",
    ),
    ("Letters", "orientation, labels"),
    ("Crosshair", "cursor"),
    ("Layout: mosaic", "lightbox, montage"),
    ("Layout: one view", "single"),
    ("Frame everything", "reset view, fit, home"),
    ("Streamlines: near", "slab, crop, clip"),
    ("Table of streamlines", "statistics, scalars, csv, length"),
    (
        "Profile along streamlines",
        "tract profile, along-tract, afq",
    ),
    ("Matrix of connections", "connectome, connectivity"),
    ("Settings", "preferences, options, mouse, memory"),
    ("Keys and mouse", "shortcuts, help, bindings"),
    ("Start the guide", "tutorial, help"),
];

pub(super) fn known_as(name: &str) -> &'static str {
    let mut text = SYNONYMS.iter();
    let found = text.find(|(begins, _)| name.starts_with(begins));
    found.map_or("", |(_, text)| text)
}
