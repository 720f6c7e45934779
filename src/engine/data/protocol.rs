//! Protocols: what is computed for each head of a cohort, with its inputs by role and its regions by labels, template or
//! named space.
//!
//! A step is a command of the command line, and its options are those of the command: the tables of the solvers are the
//! only list of parameters. Texts name inputs, regions and results of earlier steps in braces.
//!
//! # Example
//!
//! The names in a text:
//!
//! ```
//! use arcuate_engine::data::protocol::{Part, parts};
//!
//! let found = parts("mask:{brain}")?;
//! assert_eq!(found, [Part::Text("mask:".to_owned()), Part::Name("brain".to_owned())]);
//! # Ok::<(), arcuate_engine::data::protocol::BraceError>(())
//! ```

use super::keyed;
use std::collections::BTreeMap;
use std::fmt;

/// Version of the format, which a file states.
pub const VERSION: u32 = 1;

/// The name of the folder in which the protocol lies, in braces.
pub const FOLDER_NAME: &str = "protocol";

/// Steps and regions of a protocol.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Protocol {
    /// Shown in reports.
    pub title: String,
    /// Files of a subject, by name.
    pub inputs: BTreeMap<String, ProtocolInput>,
    /// Spaces other than that of the scan, by name.
    pub spaces: BTreeMap<String, ProtocolSpace>,
    /// Regions, by name.
    pub regions: BTreeMap<String, ProtocolRegion>,
    /// In the order in which they run.
    pub steps: Vec<ProtocolStep>,
}

/// The kind of a file of a subject.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum InputRole {
    /// Diffusion-weighted image with its gradients.
    Scan,
    /// T1-weighted image.
    T1,
    /// Brain mask, or another mask.
    Mask,
    /// Image with a label per voxel.
    Labels,
    /// Fractions of five tissues.
    Tissues,
    /// Fibre orientation distributions.
    Distributions,
    /// Any other image.
    Image,
    /// Streamlines.
    Streamlines,
    /// Affine or displacement field from one space to another.
    Transform,
    /// Gradients that do not lie beside their scan.
    Gradients,
}

keyed!(InputRole {
    Scan = "diffusion_scan",
    T1 = "t1",
    Mask = "mask",
    Labels = "label_map",
    Tissues = "tissues",
    Distributions = "distributions",
    Image = "image",
    Streamlines = "streamlines",
    Transform = "transform",
    Gradients = "gradients",
});

impl InputRole {
    /// All roles in the order of their declaration.
    pub const ALL: [Self; 10] = [
        Self::Scan,
        Self::T1,
        Self::Mask,
        Self::Labels,
        Self::Tissues,
        Self::Distributions,
        Self::Image,
        Self::Streamlines,
        Self::Transform,
        Self::Gradients,
    ];

    /// Name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scan => "diffusion scan",
            Self::T1 => "T1",
            Self::Mask => "mask",
            Self::Labels => "label map",
            Self::Tissues => "tissue image",
            Self::Distributions => "image of fibre orientation distributions",
            Self::Image => "image",
            Self::Streamlines => "streamline file",
            Self::Transform => "transform",
            Self::Gradients => "gradient file",
        }
    }

    /// Patterns of names in a subject's folder, the first match of which is used; empty if a protocol must state them.
    pub fn default_files(self) -> &'static [&'static str] {
        match self {
            Self::Scan => &["dwi.nii.gz", "*_dwi.nii.gz", "dwi.nii", "dwi.mif"],
            Self::T1 => &["t1.nii.gz", "*_T1w.nii.gz"],
            Self::Mask => &["brain_mask.nii.gz", "*brain_mask.nii.gz"],
            Self::Labels => &["labels.nii.gz", "*_dseg.nii.gz"],
            Self::Tissues => &["5tt.nii.gz", "*5tt.nii.gz"],
            Self::Distributions => &["wm_fod.nii.gz", "fod/wm_fod.nii.gz"],
            Self::Image | Self::Streamlines | Self::Transform | Self::Gradients => &[],
        }
    }

    /// Patterns below the folder of a subject or session of a BIDS dataset.
    pub fn default_bids(self) -> &'static [&'static str] {
        match self {
            Self::Scan => &["dwi/*_desc-preproc_dwi.nii.gz", "dwi/*_dwi.nii.gz"],
            Self::T1 => &["anat/*_desc-preproc_T1w.nii.gz", "anat/*_T1w.nii.gz"],
            Self::Mask => &[
                "dwi/*_desc-brain_mask.nii.gz",
                "anat/*_desc-brain_mask.nii.gz",
            ],
            Self::Labels => &["dwi/*_dseg.nii.gz", "anat/*_dseg.nii.gz"],
            Self::Tissues => &["anat/*_seg-hsvs_probseg.nii.gz", "anat/*5tt*.nii.gz"],
            Self::Distributions => &[
                "dwi/*_param-fod_label-WM_dwimap.mif.gz",
                "dwi/*_param-fod_label-WM_dwimap.nii.gz",
            ],
            Self::Image | Self::Streamlines | Self::Transform | Self::Gradients => &[],
        }
    }
}

/// A file of a subject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProtocolInput {
    /// The kind of file.
    pub role: InputRole,
    /// Patterns of its name in a subject's folder; empty: those of the role.
    pub files: Vec<String>,
    /// Patterns below a subject's folder of a BIDS dataset.
    pub bids: Vec<String>,
}

impl ProtocolInput {
    /// An input with the patterns of its role.
    pub fn new(role: InputRole) -> Self {
        Self {
            role,
            files: Vec::new(),
            bids: Vec::new(),
        }
    }

    /// The patterns of its name in a subject's folder, or below that of a BIDS dataset.
    pub fn patterns(&self, bids: bool) -> Vec<&str> {
        let (own, default) = match bids {
            true => (&self.bids, self.role.default_bids()),
            false => (&self.files, self.role.default_files()),
        };
        match own.is_empty() {
            true => default.to_vec(),
            false => own.iter().map(String::as_str).collect(),
        }
    }
}

/// A space in which regions are given, such as that of a template, with its alignment to the scan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProtocolSpace {
    /// Aligned by an affine.
    Affine {
        /// The affine from this space to that of the scan, as a text with a name.
        transform: String,
        /// The image to which FLIRT aligned.
        fixed: Option<String>,
    },
    /// Aligned by a warp, whose moving image lies in this space and whose fixed image in that of the scan.
    Warp {
        /// Affines and fields in the order in which they map points of the fixed image, each as a text with a name, perhaps
        /// behind `inverse:` and a convention.
        transforms: Vec<String>,
        /// The image whose voxels a mask gets.
        fixed: Option<String>,
        /// The image in this space to whose grid coordinates of FSL refer.
        moving: Option<String>,
    },
}

impl ProtocolSpace {
    /// The texts that name its files.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        let (transforms, fixed, moving) = match self {
            Self::Affine { transform, fixed } => (std::slice::from_ref(transform), fixed, &None),
            Self::Warp {
                transforms,
                fixed,
                moving,
            } => (transforms.as_slice(), fixed, moving),
        };
        transforms.iter().chain(fixed).chain(moving)
    }
}

/// A label, by its number or by its name in the table of the map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LabelName {
    /// The number in the voxels.
    Number(u32),
    /// The name in the table.
    Name(String),
}

impl fmt::Display for LabelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "“{name}”"),
        }
    }
}

/// A region that every subject has.
#[derive(Clone, PartialEq, Debug)]
pub enum ProtocolRegion {
    /// Voxels with these labels.
    Labels {
        /// The label map, as a text with a name.
        map: String,
        /// At least one.
        labels: Vec<LabelName>,
    },
    /// A mask, in a space if one is named.
    Mask {
        /// The file, as a text with a name.
        file: String,
        /// A name of [`Protocol::spaces`]; `None`: the space of the scan.
        space: Option<String>,
    },
    /// A sphere: centre and radius, mm.
    Sphere {
        /// x, y, z and the radius.
        numbers: [f64; 4],
        /// A name of [`Protocol::spaces`]; `None`: the space of the scan.
        space: Option<String>,
    },
    /// A box in the space of the scan: centre and half-edges, mm.
    Box([f64; 6]),
    /// Drawn by hand in one head: it does not carry over.
    Drawn,
}

impl ProtocolRegion {
    /// The name of its space, other than that of the scan.
    pub fn space(&self) -> Option<&String> {
        match self {
            Self::Mask { space, .. } | Self::Sphere { space, .. } => space.as_ref(),
            Self::Labels { .. } | Self::Box(_) | Self::Drawn => None,
        }
    }

    /// The texts that name its own files, without those of its space.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let text = match self {
            Self::Labels { map, .. } => Some(map.as_str()),
            Self::Mask { file, .. } => Some(file.as_str()),
            Self::Sphere { .. } | Self::Box(_) | Self::Drawn => None,
        };
        text.into_iter()
    }
}

/// The value of an option.
#[derive(Clone, PartialEq, Debug)]
pub enum OptionValue {
    /// `--key VALUE`.
    Text(String),
    /// `--key` if true, nothing if false.
    Switch(bool),
    /// `--key` several times.
    List(Vec<String>),
}

/// A command with its arguments and options.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProtocolStep {
    /// Also the name of the folder of its results.
    pub name: String,
    /// The name of the command.
    pub command: String,
    /// Its arguments without a name, in their order.
    pub arguments: Vec<String>,
    /// Its options, by key.
    pub options: BTreeMap<String, OptionValue>,
}

impl ProtocolStep {
    /// All texts of its arguments and options.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let options = self.options.values().flat_map(|value| match value {
            OptionValue::Text(text) => std::slice::from_ref(text),
            OptionValue::Switch(_) => &[],
            OptionValue::List(texts) => texts,
        });
        self.arguments.iter().chain(options).map(String::as_str)
    }
}

/// A part of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// A text that stays as it is.
    Text(String),
    /// The name between braces: `brain`, or `fit/fa.nii.gz` for a file of a step.
    Name(String),
}

/// A text with a brace that has no partner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BraceError(pub String);

impl fmt::Display for BraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.0;
        write!(
            f,
            "“{text}” has a brace without its partner, expected a name between two braces"
        )
    }
}

impl std::error::Error for BraceError {}

/// The parts of a text.
pub fn parts(text: &str) -> Result<Vec<Part>, BraceError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let unmatched = || BraceError(text.to_owned());
        let (name, behind) = after.split_once('}').ok_or_else(unmatched)?;
        if name.contains('{') || before.contains('}') {
            return Err(unmatched());
        }
        if !before.is_empty() {
            parts.push(Part::Text(before.to_owned()));
        }
        parts.push(Part::Name(name.trim().to_owned()));
        rest = behind;
    }
    if rest.contains('}') {
        return Err(BraceError(text.to_owned()));
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

/// The names in a text; none if a brace has no partner.
pub fn names(text: &str) -> Vec<String> {
    let names = parts(text).unwrap_or_default().into_iter();
    names
        .filter_map(|part| match part {
            Part::Name(name) => Some(name),
            Part::Text(_) => None,
        })
        .collect()
}

/// Whether a text stands for one file: `{name}`, or `{protocol}/file`.
pub fn is_file(text: &str) -> bool {
    match parts(text.trim()).as_deref() {
        Ok([Part::Name(_)]) => true,
        Ok([Part::Name(folder), Part::Text(rest)]) => {
            folder == FOLDER_NAME && rest.starts_with('/')
        }
        _ => false,
    }
}

/// The step, region or input that a name belongs to, without the file.
pub fn owner(name: &str) -> &str {
    name.split_once('/').map_or(name, |(owner, _)| owner)
}

/// Whether a text may name an input, a region, a space or a step: also a folder of any system.
pub fn is_name(text: &str) -> bool {
    let permitted = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    !text.is_empty()
        && text.len() <= 60
        && text.chars().all(permitted)
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text != FOLDER_NAME
}

/// A name made from a label: `CST, left` becomes `cst_left`.
pub fn name_from(label: &str, otherwise: &str) -> String {
    let parts = label.split(|c: char| !c.is_ascii_alphanumeric());
    let parts = parts.filter(|part| !part.is_empty()).map(str::to_lowercase);
    let mut name = parts.collect::<Vec<_>>().join("_");
    name.truncate(40);
    match is_name(&name) {
        true => name,
        false => otherwise.to_owned(),
    }
}

impl Protocol {
    /// The texts that name the files of a region: its own, and those of its space.
    pub fn texts_of_region<'a>(
        &'a self,
        region: &'a ProtocolRegion,
    ) -> impl Iterator<Item = &'a str> {
        let space = region.space().and_then(|name| self.spaces.get(name));
        let of_space = space.into_iter().flat_map(ProtocolSpace::texts);
        region.texts().chain(of_space.map(String::as_str))
    }

    /// Names in braces that stand for files of a subject, needed by a step: the regions that it names add theirs.
    pub fn names_of_region(&self, region: &ProtocolRegion) -> Vec<String> {
        self.texts_of_region(region).flat_map(names).collect()
    }
}
