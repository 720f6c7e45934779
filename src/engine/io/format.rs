//! The single table of file formats: names, extensions, contents. Dialogs, help texts, the guide and the sentences
//! about unsupported contents are derived from it.

use crate::data::tractogram::{Columns, LENGTH, columns};
use crate::data::{Shared, Tractogram};
use std::collections::BTreeMap;
use std::path::Path;

/// Kinds of files that are read or written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// NIfTI-1 and NIfTI-2, in one or two files, also compressed.
    Nifti,
    /// FreeSurfer's image format.
    Mgh,
    /// NRRD with attached or detached header.
    Nrrd,
    /// MRtrix's image format.
    Mif,
    /// FSL's `bval` and `bvec`.
    Fsl,
    /// MRtrix's gradient table: x y z b per row.
    Mrtrix,
    /// MRtrix's streamlines.
    Tck,
    /// TrackVis's streamlines.
    Trk,
    /// Streamlines with any number of values and groups, in a ZIP archive or a folder.
    Trx,
    /// Legacy VTK polylines.
    Vtk,
    /// XML VTK polylines.
    Vtp,
    /// Streamlines of DSI Studio.
    TinyTrack,
    /// Stanford's polygon mesh.
    Ply,
    /// Triangles of stereolithography, without shared corners.
    Stl,
    /// Wavefront's mesh, as text.
    Obj,
    /// Surface of FreeSurfer, HCP and other programs, in XML.
    Gifti,
    /// Picture of the window.
    Png,
}

/// Kinds of contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Voxels with an affine.
    Image,
    /// b-values and directions of a scan.
    Gradients,
    /// Streamlines and their values.
    Streamlines,
    /// Triangle mesh.
    Surface,
    /// Pixels of a view.
    Picture,
}

/// How many named values a format can store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameSupport {
    /// No named values.
    Nothing,
    /// At most this many named values.
    UpTo(usize),
    /// Any number of named values.
    Any,
}

/// Contents of a streamline format besides points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatCapabilities {
    pub per_point: NameSupport,
    pub per_streamline: NameSupport,
    pub groups: bool,
    /// The grid of the image to which the streamlines belong.
    pub grid: bool,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub format: Format,
    pub content: Content,
    pub name: &'static str,
    /// Extensions of its file names in lower case, without the first dot; the first is the default.
    pub extensions: &'static [&'static str],
    /// The variants that are read, as text; empty if it cannot be opened by itself.
    pub reads: &'static str,
    /// The variants that are written; empty if none.
    pub writes: &'static str,
    pub holds: FormatCapabilities,
}

const NO_CAPABILITIES: FormatCapabilities = FormatCapabilities {
    per_point: NameSupport::Nothing,
    per_streamline: NameSupport::Nothing,
    groups: false,
    grid: false,
};

/// In the order in which help texts and file dialogs list them.
pub const TABLE: &[Kind] = &[
    Kind {
        format: Format::Nifti,
        content: Content::Image,
        name: "NIfTI image",
        extensions: &["nii.gz", "nii", "hdr", "img", "hdr.gz", "img.gz"],
        reads: "NIfTI-1, NIfTI-2, every numeric type, both byte orders",
        writes: "NIfTI-1; the type of the values is kept",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Mgh,
        content: Content::Image,
        name: "FreeSurfer volume",
        extensions: &["mgz", "mgh", "mgh.gz"],
        reads: "uint8 to float32, gzip",
        writes: "",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Nrrd,
        content: Content::Image,
        name: "NRRD image",
        extensions: &["nrrd", "nhdr"],
        reads: "every number type, raw, gzip and text, samples in a file of their own",
        writes: "`.nrrd` in gzip, with the gradients of a scan; the type of the values is kept",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Mif,
        content: Content::Image,
        name: "MRtrix image",
        extensions: &["mif", "mif.gz", "mih"],
        reads: "every type of real numbers and bits, both byte orders, axes in any order, gzip, voxels in a file of \
                their own",
        writes: "`.mif`, `.mif.gz`, `.mih`, with the gradients of a scan; the type of the values is kept",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Fsl,
        content: Content::Gradients,
        name: "FSL gradients",
        extensions: &["bval", "bvec", "bvals", "bvecs"],
        reads: "",
        writes: "text",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Mrtrix,
        content: Content::Gradients,
        name: "MRtrix gradients",
        extensions: &["b"],
        reads: "",
        writes: "",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Tck,
        content: Content::Streamlines,
        name: "MRtrix streamlines",
        extensions: &["tck"],
        reads: "float32 and float64, both byte orders; TSF and weights beside it",
        writes: "float32; TSF and weights beside it",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Trk,
        content: Content::Streamlines,
        name: "TrackVis streamlines",
        extensions: &["trk", "trk.gz"],
        reads: "versions 1 to 3, both byte orders, gzip",
        writes: "version 2, gzip (`.trk.gz`); needs an image's grid",
        holds: FormatCapabilities {
            per_point: NameSupport::UpTo(10),
            per_streamline: NameSupport::UpTo(10),
            groups: false,
            grid: true,
        },
    },
    Kind {
        format: Format::Trx,
        content: Content::Streamlines,
        name: "TRX streamlines",
        extensions: &["trx"],
        reads: "zip (stored or deflated) and folder, every number type",
        writes: "float32, not compressed; zip, or folder (`tracks.trx/`)",
        holds: FormatCapabilities {
            per_point: NameSupport::Any,
            per_streamline: NameSupport::Any,
            groups: true,
            grid: true,
        },
    },
    Kind {
        format: Format::Vtk,
        content: Content::Streamlines,
        name: "VTK streamlines",
        extensions: &["vtk", "fib"],
        reads: "legacy polydata, ASCII and binary, versions up to 5.1",
        writes: "binary, version 3.0, `SPACE=RAS`",
        holds: FormatCapabilities {
            per_point: NameSupport::Any,
            per_streamline: NameSupport::Any,
            groups: false,
            grid: false,
        },
    },
    Kind {
        format: Format::Vtp,
        content: Content::Streamlines,
        name: "VTK XML streamlines",
        extensions: &["vtp"],
        reads: "ASCII, base64, appended (raw or base64), zlib",
        writes: "appended raw, `SPACE` RAS",
        holds: FormatCapabilities {
            per_point: NameSupport::Any,
            per_streamline: NameSupport::Any,
            groups: false,
            grid: false,
        },
    },
    Kind {
        format: Format::TinyTrack,
        content: Content::Streamlines,
        name: "DSI Studio streamlines",
        extensions: &["tt.gz"],
        reads: "with the clusters",
        writes: "",
        holds: FormatCapabilities {
            per_streamline: NameSupport::UpTo(1),
            grid: true,
            ..NO_CAPABILITIES
        },
    },
    Kind {
        format: Format::Ply,
        content: Content::Surface,
        name: "PLY surface",
        extensions: &["ply"],
        reads: "",
        writes: "binary, world mm",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Stl,
        content: Content::Surface,
        name: "STL surface",
        extensions: &["stl"],
        reads: "",
        writes: "binary, world mm",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Obj,
        content: Content::Surface,
        name: "OBJ surface",
        extensions: &["obj"],
        reads: "",
        writes: "text, world mm",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Gifti,
        content: Content::Surface,
        name: "GIfTI surface",
        extensions: &["gii"],
        reads: "",
        writes: "compressed, world mm",
        holds: NO_CAPABILITIES,
    },
    Kind {
        format: Format::Png,
        content: Content::Picture,
        name: "PNG picture",
        extensions: &["png"],
        reads: "",
        writes: "with the parameters inside",
        holds: NO_CAPABILITIES,
    },
];

impl Format {
    /// All formats in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|kind| kind.format)
    }

    /// Row of the table.
    pub fn kind(self) -> &'static Kind {
        // Every format has a row; a test checks this.
        TABLE
            .iter()
            .find(|kind| kind.format == self)
            .unwrap_or(&TABLE[0])
    }

    /// Name in sentences and dialogs.
    pub fn name(self) -> &'static str {
        self.kind().name
    }

    /// Kind of data that it holds.
    pub fn content(self) -> Content {
        self.kind().content
    }

    /// Extensions in lower case, without the first dot; the default comes first.
    pub fn extensions(self) -> &'static [&'static str] {
        self.kind().extensions
    }

    /// The default extension in capitals, as the format is commonly called.
    pub fn short_name(self) -> String {
        self.extensions()[0].to_uppercase()
    }

    /// Whether `open` reads it. Gradients are read together with a scan.
    pub fn opens(self) -> bool {
        !self.kind().reads.is_empty()
    }

    /// Whether results can be saved in it.
    pub fn saves(self) -> bool {
        !self.kind().writes.is_empty()
    }

    /// The format given by a file's name.
    pub fn named(path: &Path) -> Option<Self> {
        let extension = super::extension(path);
        Self::all().find(|f| f.extensions().contains(&extension.as_str()))
    }

    /// Whether a file's name is that of a table of gradients.
    pub fn is_gradients(path: &Path) -> bool {
        Self::named(path).is_some_and(|format| format.content() == Content::Gradients)
    }

    /// Extensions of colour tables for label maps, which are text in several forms.
    pub const COLOUR_TABLE_ENDINGS: [&str; 5] = ["txt", "lut", "tsv", "label", "ctab"];

    /// Whether a file's name may be that of a colour table: other text has the same endings.
    pub fn may_be_colour_table(path: &Path) -> bool {
        Self::COLOUR_TABLE_ENDINGS.contains(&super::extension(path).as_str())
    }

    /// Formats in which streamlines can be saved.
    pub fn of_saved_streamlines() -> impl Iterator<Item = Self> {
        Self::all().filter(|f| f.content() == Content::Streamlines && f.saves())
    }

    /// Formats in which surfaces can be saved.
    pub fn of_saved_surfaces() -> impl Iterator<Item = Self> {
        Self::all().filter(|f| f.content() == Content::Surface && f.saves())
    }

    /// Endings of the names under which images are saved, the default first.
    pub const SAVED_IMAGE_ENDINGS: [&str; 4] = ["nii.gz", "nii", "mif", "mif.gz"];

    /// Whether an image can be saved under this name.
    pub fn saves_image(path: &Path) -> bool {
        Self::SAVED_IMAGE_ENDINGS.contains(&super::extension(path).as_str())
    }

    /// `.tck, .trk, .trx`: the default extensions of those formats.
    pub fn streamline_endings() -> String {
        Self::endings(Self::of_saved_streamlines())
    }

    /// The default extensions of some formats, with dots.
    pub fn endings(formats: impl Iterator<Item = Self>) -> String {
        let endings = formats.map(|f| format!(".{}", f.extensions()[0]));
        endings.collect::<Vec<_>>().join(", ")
    }

    /// `NIfTI image (.nii.gz, .nii, …)`, for help texts.
    pub fn described(self) -> String {
        let dotted: Vec<String> = self.extensions().iter().map(|e| format!(".{e}")).collect();
        format!("{} ({})", self.name(), dotted.join(", "))
    }

    /// `an image (.nii.gz, .mgz, .nrrd) or streamlines (.tck, .trk)`: the default extensions of readable files.
    pub(crate) fn readable_names() -> String {
        let kinds = [
            ("an image", Content::Image),
            ("streamlines", Content::Streamlines),
        ];
        let kinds = kinds.map(|(what, content)| {
            let read = Self::all().filter(|f| f.content() == content && f.opens());
            format!("{what} ({})", Self::endings(read))
        });
        kinds.join(" or ")
    }

    /// Whether a file of this format holds this many named values per point, and per streamline.
    pub fn holds_values(self, [per_point, per_streamline]: [usize; 2]) -> bool {
        let holds = self.kind().holds;
        let all = [
            (per_point, holds.per_point),
            (per_streamline, holds.per_streamline),
        ];
        all.into_iter().all(|(values, room)| match room {
            NameSupport::Any => true,
            NameSupport::UpTo(max_values) => values <= max_values,
            NameSupport::Nothing => values == 0,
        })
    }

    /// Contents of a tractogram that a file of this format cannot hold, one sentence each. Lengths do not count: they
    /// follow from the points.
    pub fn unsupported_contents(self, tractogram: &Tractogram) -> Vec<String> {
        let holds = self.kind().holds;
        let format_name = self.short_name();
        let mut losses = Vec::new();
        let values = [
            ("point", holds.per_point, &tractogram.per_point),
            (
                "streamline",
                holds.per_streamline,
                &tractogram.per_streamline,
            ),
        ];
        for (each, room, values) in values {
            losses.extend(unsupported_values(&format_name, each, room, values));
        }
        if !holds.groups && !tractogram.groups.is_empty() {
            let names: Vec<&str> = tractogram.groups.keys().map(String::as_str).collect();
            losses.push(format!(
                "{format_name} holds no groups: {}",
                list_names(&names)
            ));
        }
        losses.extend(self.renamed(tractogram).into_iter().map(|(old, new)| {
            format!("{format_name} cannot hold the name “{old}” and writes “{new}”")
        }));
        losses
    }

    /// A sentence about a grid that a file of this format cannot name.
    pub fn unsupported_grid(self, tractogram: &Tractogram) -> Option<String> {
        let lost = tractogram.grid.is_some() && !self.kind().holds.grid;
        lost.then(|| {
            format!(
                "{} does not store the image grid of the streamlines",
                self.short_name()
            )
        })
    }

    /// Names that must change in this format.
    fn renamed(self, tractogram: &Tractogram) -> Vec<(String, String)> {
        match self {
            Self::Trk => super::trk::renamed(tractogram),
            Self::Trx => super::trx::renamed(tractogram),
            _ => Vec::new(),
        }
    }

    /// The table of streamline formats in `assets/guide/formats.md`.
    pub fn markdown() -> String {
        let mut text = String::from(
            "| streamlines | read | written | besides points |\n| --- | --- | --- | --- |\n",
        );
        let or_dash = |cell: &'static str| if cell.is_empty() { "–" } else { cell };
        for kind in TABLE.iter().filter(|k| k.content == Content::Streamlines) {
            let endings: Vec<String> = kind.extensions.iter().map(|e| format!("`.{e}`")).collect();
            text += &format!(
                "| {} {} | {} | {} | {} |\n",
                kind.name.trim_end_matches(" streamlines"),
                endings.join(" "),
                or_dash(kind.reads),
                or_dash(kind.writes),
                kind.holds.description()
            );
        }
        text
    }
}

impl FormatCapabilities {
    fn description(self) -> String {
        let named = |room: NameSupport, each: &str| match room {
            NameSupport::Nothing => None,
            NameSupport::UpTo(1) => Some(format!("a value per {each}")),
            NameSupport::UpTo(n) => Some(format!("{n} values per {each}")),
            NameSupport::Any => Some(format!("values per {each}")),
        };
        let parts = [
            named(self.per_point, "point"),
            named(self.per_streamline, "streamline"),
            self.groups.then(|| "groups and their values".to_owned()),
            self.grid.then(|| "the grid".to_owned()),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            "–".to_owned()
        } else {
            parts.join(", ")
        }
    }
}

/// The sentence about named values that do not fit.
fn unsupported_values(
    format: &str,
    each: &str,
    room: NameSupport,
    values: &BTreeMap<String, Shared<f32>>,
) -> Option<String> {
    let columns = columns(values);
    let requested = columns.iter().filter(|c| c.name != LENGTH);
    let names: Vec<&str> = requested.map(|c| c.name).collect();
    match room {
        NameSupport::Any => None,
        NameSupport::UpTo(n) => {
            let kept = columns_within(&columns, n);
            let lost = names
                .iter()
                .filter(|name| !kept.iter().any(|c| c.name == **name));
            let lost: Vec<&str> = lost.copied().collect();
            (!lost.is_empty()).then(|| {
                format!(
                    "{format} holds at most {n} values per {each} and leaves out {}",
                    list_names(&lost)
                )
            })
        }
        NameSupport::Nothing => (!names.is_empty()).then(|| {
            format!(
                "{format} holds no values per {each}: {}",
                list_names(&names)
            )
        }),
    }
}

/// The first `room` values; another value takes the place of a length.
pub(super) fn columns_within<'a, 'b>(
    columns: &'b [Columns<'a>],
    room: usize,
) -> Vec<&'b Columns<'a>> {
    let crowded = columns.len() > room;
    let chosen = columns.iter().filter(|c| !crowded || c.name != LENGTH);
    chosen.take(room).collect()
}

/// Names for a sentence, limited in number.
fn list_names(names: &[&str]) -> String {
    const MAX_NAMES: usize = 6;
    match names.len().checked_sub(MAX_NAMES) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..MAX_NAMES].join(", ")),
    }
}
