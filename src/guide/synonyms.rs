//! Names that other programs of the field use for what this one does: the palette finds its entries by them, and the
//! command line suggests commands.

/// A subject that has other names in other programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    Export,
    Picture,
    Methods,
    Report,
    Protocol,
    Snapshot,
    Tracking,
    Pathways,
    Segmentation,
    Filter,
    Fill,
    Polygon,
    Drawing,
    ExcludeRegion,
    TargetRegion,
    Region,
    Distance,
    ManualSelection,
    Threshold,
    LabelMap,
    WholeBrain,
    Density,
    GeodesicRays,
    GradientAxes,
    Convention,
    Letters,
    Crosshair,
    CrosshairLink,
    Mosaic,
    ObliqueSlices,
    Commissures,
    Viewpoint,
    OneView,
    FrameEverything,
    Slab,
    Table,
    Profile,
    Matrix,
    Bundles,
    Settings,
    Keys,
    Tour,
    Selection,
    Alignment,
    TensorFit,
    FibreOrientations,
    Score,
    Information,
    Clips,
    Opening,
    Session,
    Glyphs,
    Cloud,
    SurfaceIn3d,
    Maximum,
    Minimum,
    Theme,
    Panels,
    Outline,
    SlicesIn3d,
    FromFront,
    FromSide,
    FromAbove,
    Enlarge,
    Quit,
    Layer,
    Formats,
}

impl Subject {
    /// Its names in other programs, separated by commas: the palette searches them.
    pub fn synonyms(self) -> &'static str {
        let of_subject = NAMES.iter().find(|row| row.subject == self);
        of_subject.map_or("", |row| row.synonyms)
    }
}

/// A subject with its names here and elsewhere.
struct Names {
    subject: Subject,
    /// Words that name it elsewhere, separated by commas; the palette searches them.
    synonyms: &'static str,
    /// The command that does it.
    command: Option<&'static str>,
    /// Further words that stand for the command: parts of entries' names, and short forms that are typed.
    typed: &'static [&'static str],
}

impl Names {
    const fn command(self, name: &'static str, typed: &'static [&'static str]) -> Self {
        Self {
            command: Some(name),
            typed,
            ..self
        }
    }
}

const fn row(subject: Subject, synonyms: &'static str) -> Names {
    Names {
        subject,
        synonyms,
        command: None,
        typed: &[],
    }
}

const NAMES: &[Names] = &[
    row(Subject::Export, "save, write, streamlines, tracks, image, tck, trk, nifti"),
    row(Subject::Picture, "picture, capture, image, movie, video, figure, png, animation")
        .command("render", &["screenshot", "view"]),
    row(Subject::Methods, "citation, references, paper"),
    row(Subject::Report, "html, summary, page, document").command("report", &["summary"]),
    row(
        Subject::Protocol,
        "batch, cohort, group, recipe, bids, pipeline",
    )
    .command("protocol", &["batch", "recipe", "pipeline"]),
    row(Subject::Snapshot, "compare, bookmark, a/b"),
    row(
        Subject::Tracking,
        "tractography, streamlines, deterministic, bootstrap, uncertainty, fibre tracking, fiber tracking, fibers, tracts, bundle",
    )
    .command("track", &[]),
    row(Subject::Pathways, "cost, geodesic, eikonal, connectivity")
        .command("pathway", &["costs", "path"]),
    row(
        Subject::Segmentation,
        "level set, active contour, snake, tumour, tumor, lesion, ventricles",
    )
    .command("segment", &["levelset"]),
    row(Subject::Filter, "commit, sift, weights").command("commit", &["filter"]),
    row(Subject::Fill, "flood, bucket, grow from a click, wand"),
    row(Subject::Polygon, "lasso, outline"),
    row(Subject::Drawing, "paint, roi"),
    row(Subject::ExcludeRegion, "not, roi"),
    row(Subject::TargetRegion, "waypoint, include, and, or, roi"),
    row(Subject::Region, "roi, sphere, box, seed point"),
    row(Subject::Distance, "ruler, length, mm"),
    row(
        Subject::ManualSelection,
        "pick, select, delete, prune, lasso",
    ),
    row(Subject::Threshold, "roi, mask, binarise, binarize, isolate").command("region", &[]),
    row(Subject::LabelMap, "roi, atlas, parcellation, aparc"),
    row(Subject::WholeBrain, "whole-brain tractography, tractogram, fibre tracking, fiber tracking").command("track", &[]),
    row(
        Subject::Density,
        "track-density image, tdi, visitation map, probabilistic, heat map",
    )
    .command("density", &[]),
    row(Subject::GeodesicRays, "ray tracing, riemannian").command("geodesic", &["rays"]),
    row(Subject::GradientAxes, "bvec, flip, gradient table, check"),
    row(Subject::Convention, "flip, left, right, convention, mirror"),
    row(Subject::Letters, "orientation, labels"),
    row(Subject::Crosshair, "cursor"),
    row(
        Subject::CrosshairLink,
        "sync, synchronise, yoke, share, cursor, side by side",
    ),
    row(
        Subject::Viewpoint,
        "camera, bookmark, undo, previous, next, scene view",
    ),
    row(Subject::Mosaic, "lightbox, montage"),
    row(
        Subject::ObliqueSlices,
        "oblique, reformat, MPR, rotate, tilt, turn, reset",
    ),
    row(
        Subject::Commissures,
        "ACPC, AC-PC, commissure, midline, oblique, reformat, rotate, turn, align",
    ),
    row(Subject::OneView, "single"),
    row(Subject::FrameEverything, "reset view, fit, home, recentre, recenter, zoom"),
    row(Subject::Slab, "slab, crop, clip"),
    row(Subject::Table, "statistics, scalars, csv, length, spreadsheet, count").command("table", &["stats"]),
    row(Subject::Profile, "tract profile, along-tract, afq"),
    row(Subject::Matrix, "connectome, connectivity").command("connectome", &["labels", "matrix"]),
    row(
        Subject::Bundles,
        "quickbundles, cluster, clustering, segmentation of tracts, tract segmentation",
    )
    .command("bundles", &["clusters"]),
    row(Subject::Settings, "preferences, options, mouse, memory"),
    row(Subject::Keys, "shortcuts, help, bindings"),
    row(Subject::Tour, "tutorial, help"),
    row(Subject::Selection, "subset").command("select", &[]),
    row(
        Subject::Alignment,
        "coregister, register, registration, flirt, warp, antsApplyTransforms, applywarp, FNIRT",
    )
    .command("align", &[]),
    row(Subject::TensorFit, "dti, tensors, westin, cl, cp, cs, shape").command("fit", &[]),
    row(
        Subject::FibreOrientations,
        "csd, odf, fodf, dwi2fod, dwi2response, spherical deconvolution",
    )
    .command("fod", &["response"]),
    row(Subject::Score, "tractometer, evaluate, ground truth").command("score", &[]),
    row(Subject::Information, "open").command("info", &[]),
    row(
        Subject::Clips,
        "add clip, new clip, clipping plane, cut plane, cutaway, crop",
    ),
    row(Subject::Opening, "load, import, add file, read, scan, nifti"),
    row(Subject::Session, "project, workspace, state, write"),
    row(
        Subject::Glyphs,
        "ellipsoids, tensors, odf, fod, peaks, fixels, sticks, vectors",
    ),
    row(
        Subject::Cloud,
        "volume rendering, render volume, ray casting, transfer function, transparency",
    ),
    row(
        Subject::SurfaceIn3d,
        "isosurface, mesh, marching cubes, render surface, 3d model",
    ),
    row(Subject::Maximum, "mip, maximum intensity projection, angiography"),
    row(Subject::Minimum, "minip, minimum intensity projection"),
    row(
        Subject::Theme,
        "dark mode, light mode, night, white background, black background, background colour",
    ),
    row(
        Subject::Panels,
        "full screen, fullscreen, sidebar, hide panels, toolbar",
    ),
    row(Subject::Outline, "glass brain, brain outline, skull, silhouette"),
    row(
        Subject::SlicesIn3d,
        "planes, orthogonal, hide slices, show slices, cross sections",
    ),
    row(Subject::FromFront, "anterior, coronal view, rotate, camera"),
    row(Subject::FromSide, "lateral, sagittal view, rotate, camera"),
    row(
        Subject::FromAbove,
        "superior, dorsal, axial view, top view, rotate, camera",
    ),
    row(Subject::Enlarge, "maximise, zoom, big, only view"),
    row(Subject::Quit, "exit, close"),
    row(Subject::Layer, "overlay, image, volume, toggle, visibility"),
    row(
        Subject::Formats,
        "dicom, nifti, mif, trk, tck, trx, vtk, mrtrix, fsl, freesurfer",
    ),
];

/// The command that a word of lower-case letters stands for elsewhere.
pub fn command_of(word: &str) -> Option<&'static str> {
    let is_known = |row: &&Names| {
        let typed: &[&str] = row.typed;
        typed.contains(&word) || row.synonyms.split(", ").any(|known| known == word)
    };
    let mut of_commands = NAMES.iter().filter(|row| row.command.is_some());
    of_commands.find(is_known)?.command
}
