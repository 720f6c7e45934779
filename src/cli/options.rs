//! Options that several commands share, each defined once: the scan, its fit, regions, readings of files, random
//! numbers, sessions. Options of all commands (backend, threads, memory, …) are in [`super::Global`].

mod clouds;
mod common;
mod fitted_scan;
pub mod fod_scan;
mod glyphs;
mod images;
mod layers;
mod line_colours;
pub mod models;
mod orientations;
mod overlay;
mod parameters;
mod projections;
mod regions;
mod scene_look;
mod shapes;
pub mod signal;
mod value_error;
mod warp;

pub use clouds::CloudOptions;
pub use common::{ChanceOptions, LookOptions, SessionOptions, limits, whole_names};
pub use fitted_scan::{FitOptions, FittedScan};
pub use glyphs::GlyphOptions;
pub use images::ImageEnding;
pub use layers::layer_named;
pub use line_colours::LineColourOptions;
pub use orientations::{
    FodInputOptions, OdfInputOptions, OdfLayoutOptions, OrientationOptions, basis_keys,
    note_cpu_reason, open_distributions,
};
pub use overlay::OverlayOptions;
pub use parameters::{AllRows, GivenParameters, RowSelection, shared_option};
pub use projections::ProjectionOptions;
pub use regions::{DomainOptions, PassingOptions, RegionOptions, shape};
pub use scene_look::SceneLookOptions;
pub use shapes::ShapeOptions;
pub use value_error::ValueError;
pub use warp::{WarpOptions, interpolation};

use super::output::remark;
use super::runner::{Failure, Runner};
use crate::data::axis_change::AxisChange;
use crate::data::odf_field::order_of_distributions;
use crate::data::text::counted;
use crate::data::{
    BuiltInPhantom, Gradients, Mask, TensorFrame, TensorLayout, TensorOrder, Volume,
};
use crate::io::{self, AffineReading, Reading, Remark, Space};
use crate::solvers::tensor_fit::MaskReport;
use crate::state::files::jobs::open::{Loaded, OpenFile, Opened, OpenedFile};
use crate::state::files::types::PhantomName;
use crate::state::sessions::jobs::head::MakeHead;
use crate::state::tensors::mask_text;
use crate::state::tensors::recipe::ScanSource;
use signal::SignalNeed;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args, Clone, Debug)]
pub struct ScanOptions {
    /// Diffusion scan (NIfTI), phantom:SEED or phantom:KIND:SEED
    pub scan: String,
    /// Gradients as one MRtrix file, .b or an image with them in its header (default: the scan's header or files beside it)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bval", "bvec", "tensor_order"])]
    pub gradients: Option<PathBuf>,
    /// b-values, FSL format
    // `check_pairs` checks the pair: clap's `requires` would also demand --bvec with models that have neither option.
    #[arg(long, value_name = "FILE", conflicts_with = "tensor_order")]
    pub bval: Option<PathBuf>,
    /// Gradient directions, FSL format
    #[arg(long, value_name = "FILE")]
    pub bvec: Option<PathBuf>,
    /// Swap or flip the axes of the gradients (those of FSL's bvec), as `arcuate gradients check` suggests: y,-x,z
    #[arg(
        long,
        value_name = "AXES",
        allow_hyphen_values = true,
        conflicts_with = "tensor_order"
    )]
    pub turn: Option<AxisChange>,
    #[command(flatten)]
    pub tensors: TensorOptions,
}

/// How an image of six volumes holds tensors.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct TensorOptions {
    /// The image holds tensors in this order: fsl (xx xy xz yy yz zz), lower (xx xy yy xz yz zz: NIfTI, ANTs, Camino)
    /// or mrtrix (xx yy zz xy xz yz: also Arcuate)
    #[arg(long, value_name = "ORDER", value_parser = tensor_order)]
    pub tensor_order: Option<TensorOrder>,
    /// Axes of the tensors: voxel (those of FSL's bvec) or world (MRtrix and Arcuate)
    #[arg(long, value_name = "AXES", value_parser = tensor_frame)]
    pub tensor_frame: Option<TensorFrame>,
}

impl TensorOptions {
    pub fn layout(&self) -> Option<TensorLayout> {
        let (order, frame) = (self.tensor_order?, self.tensor_frame?);
        Some(TensorLayout { order, frame })
    }

    /// Refuses the order without the axes, and the axes without the order.
    pub fn check(&self) -> Result<(), Failure> {
        let given = [self.tensor_order.is_some(), self.tensor_frame.is_some()];
        let remedy = "name the order and the axes of the tensors, or neither for a scan";
        both_or_neither(["tensor-order", "tensor-frame"], given, remedy)
    }
}

/// Refuses one of two options without the other.
fn both_or_neither(
    [first, second]: [&str; 2],
    given: [bool; 2],
    remedy: &str,
) -> Result<(), Failure> {
    let (found, missing) = match given {
        [true, false] => (first, second),
        [false, true] => (second, first),
        _ => return Ok(()),
    };
    Err(Failure::usage(format!(
        "Found --{found} without --{missing}, expected both; {remedy}"
    )))
}

fn tensor_order(text: &str) -> Result<TensorOrder, ValueError> {
    TensorOrder::named(text).ok_or_else(|| ValueError::new("fsl, lower or mrtrix", text))
}

fn tensor_frame(text: &str) -> Result<TensorFrame, ValueError> {
    TensorFrame::named(text).ok_or_else(|| ValueError::new("voxel or world", text))
}

/// Answers of the user where files are silent.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(group = clap::ArgGroup::new("placed").args(["affine", "warp"]).multiple(true))]
pub struct ReadingOptions {
    /// Axes of VTK and VTP points if the file does not name them (default: ras)
    #[arg(long, value_name = "ras|lps", value_parser = space)]
    pub vtk_space: Option<Space>,
    /// Names and colours of a label map: a FreeSurfer, ITK-SNAP, BIDS or plain-text table (default: the table beside the
    /// map)
    #[arg(long, value_name = "FILE")]
    pub colours: Option<PathBuf>,
    /// Affine that moves the input (where a command reads streamlines and images, only the streamlines): FLIRT's .mat
    /// (with --fixed), an affine of ITK or ANTs, or matrix: and 12 numbers, row by row, in world mm; nothing is
    /// resampled
    #[arg(long, value_name = "FILE|matrix:…", allow_hyphen_values = true, value_parser = affine)]
    pub affine: Option<AffineReading>,
    /// Image to which the input was aligned (-ref of FLIRT, --ref of FNIRT, fixed image of ANTs); a warped image gets its
    /// voxels
    #[arg(long, value_name = "IMAGE", requires = "placed")]
    pub fixed: Option<PathBuf>,
    #[command(flatten)]
    pub warp: WarpOptions,
}

impl ReadingOptions {
    /// The options for an image that is read beside streamlines: an affine or a warp moves the streamlines alone, otherwise
    /// both would keep their relative position.
    pub fn without_affine(&self) -> Self {
        Self {
            affine: None,
            fixed: None,
            warp: WarpOptions::default(),
            ..self.clone()
        }
    }

    pub fn reading(&self) -> Reading {
        Reading {
            vtk_space: self.vtk_space,
            colours: self.colours.clone(),
            tensors: None,
            distributions: None,
            affine: self.affine.clone().map(|affine| {
                Box::new(match affine {
                    AffineReading::File { path, .. } => AffineReading::File {
                        path,
                        fixed: self.fixed.clone(),
                    },
                    matrix => matrix,
                })
            }),
            warp: self.warp.reading(self.fixed.as_ref()).map(Box::new),
        }
    }
}

fn affine(text: &str) -> Result<AffineReading, ValueError> {
    let Some(numbers) = text.strip_prefix("matrix:") else {
        let path = PathBuf::from(text);
        return Ok(AffineReading::File { path, fixed: None });
    };
    let rows: Option<Vec<f64>> = numbers.split(',').map(|n| n.trim().parse().ok()).collect();
    let rows = rows.and_then(|rows| <[f64; 12]>::try_from(rows).ok());
    rows.filter(|rows| rows.iter().all(|n| n.is_finite()))
        .map(AffineReading::Matrix)
        .ok_or_else(|| ValueError::new("a file, or matrix: and 12 numbers", text))
}

fn space(text: &str) -> Result<Space, ValueError> {
    Space::named(text).ok_or_else(|| ValueError::new("ras or lps", text))
}

/// A scan with its gradients, and where it comes from.
pub struct Scan {
    pub dwi: Volume,
    /// `None` for an image of tensors.
    pub gradients: Option<Arc<Gradients>>,
    pub notes: Vec<Remark>,
    /// The phantom's true brain mask; `None` for other scans.
    pub true_mask: Option<Mask>,
    pub t1: Option<Volume>,
    /// A file that appears to be its brain mask.
    pub companion_mask: Option<PathBuf>,
}

/// Refuses limits in the wrong order.
pub fn not_reversed<T: PartialOrd + std::fmt::Display>(
    text: &str,
    limits: Option<(T, T)>,
) -> Result<(), ValueError> {
    match limits {
        Some((low, high)) if low > high => Err(ValueError::Reversed {
            low: low.to_string(),
            high: high.to_string(),
            found: text.to_owned(),
        }),
        _ => Ok(()),
    }
}

pub fn whole<T: std::str::FromStr>(text: &str) -> Result<T, ValueError> {
    text.parse()
        .map_err(|_| ValueError::new("a whole number from 0", text))
}

/// Parses a whole number from `min` to `max`.
pub fn whole_from<T>(
    min: T,
    max: T,
) -> impl Fn(&str) -> Result<T, ValueError> + Clone + Send + Sync + 'static
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display + Copy + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|n| (min..=max).contains(n));
        number.ok_or_else(|| ValueError::new(format!("a whole number from {min} to {max}"), text))
    }
}

pub fn positive(text: &str) -> Result<f64, ValueError> {
    let parsed = text
        .parse::<f64>()
        .ok()
        .filter(|v| v.is_finite() && *v > 0.0);
    parsed.ok_or_else(|| ValueError::new("a number above 0", text))
}

pub fn not_negative(text: &str) -> Result<f64, ValueError> {
    let parsed = text
        .parse::<f64>()
        .ok()
        .filter(|v| v.is_finite() && *v >= 0.0);
    parsed.ok_or_else(|| ValueError::new("a number of at least 0", text))
}

/// A mask; remarks about its file go to standard error.
pub fn noted(read: Result<(Mask, Vec<Remark>), io::Error>, path: &Path) -> Result<Mask, Failure> {
    let (mask, notes) = read.map_err(|e| Failure::new(e.to_string()))?;
    for note in &notes {
        remark(note, path.display());
    }
    Ok(mask)
}

/// An image, with the gradients of a scan.
pub type OpenedVolume = (Volume, Option<Arc<Gradients>>);

/// An image; remarks about its file go to standard error.
pub fn noted_volume(path: &Path, runner: &mut Runner) -> Result<OpenedVolume, Failure> {
    let (volume, notes) = opened_volume(path, runner)?;
    for note in &notes {
        remark(note, path.display());
    }
    Ok(volume)
}

/// An image with the remarks about its file.
pub fn opened_volume(
    path: &Path,
    runner: &mut Runner,
) -> Result<(OpenedVolume, Vec<io::Remark>), Failure> {
    let (Opened::File(file), _) = runner.run(OpenFile::new(path.to_owned()))? else {
        return Err(Failure::new(format!(
            "Found a folder, expected an image; name a file in it: {}",
            path.display()
        )));
    };
    let OpenedFile { loaded, notes, .. } = *file;
    let volume = match loaded {
        Loaded::Scan { dwi, gradients, .. } => (dwi, gradients),
        Loaded::Image(volume) => (volume, None),
        Loaded::Mask(mask) => (mask.image().clone(), None),
        Loaded::Tractogram(_) | Loaded::InPlace(_) => {
            return Err(Failure::new(format!(
                "Found streamlines, expected an image; name one: {}",
                path.display()
            )));
        }
    };
    Ok((volume, notes))
}

/// Creates a folder for results, with its parents; they are removed with the returned value unless they contain files.
pub fn make_folder(folder: &Path) -> Result<io::atomic::OutputFolder, Failure> {
    io::atomic::OutputFolder::make(folder).map_err(|e| Failure::new(e.to_string()))
}

/// Writes to standard error how reliable a mask computed from the scan is.
pub fn about_mask(report: &MaskReport, adjacent: Option<&Path>) {
    if let Some(doubt) = mask_text::doubtful(report) {
        warning!("{doubt}");
    }
    if let Some(path) = adjacent {
        note!(
            "A mask lies beside the scan and was not used; name it with --mask: {}",
            path.display()
        );
    }
}

impl ScanOptions {
    /// Refuses options of which another one is missing.
    fn check_pairs(&self) -> Result<(), Failure> {
        let given = [self.bval.is_some(), self.bvec.is_some()];
        let remedy = "name both files, or neither if they lie beside the scan";
        both_or_neither(["bval", "bvec"], given, remedy)?;
        self.tensors.check()
    }

    fn gradient_files(&self) -> Vec<PathBuf> {
        match (&self.gradients, &self.bval, &self.bvec) {
            (Some(b), _, _) => vec![b.clone()],
            (None, Some(bval), Some(bvec)) => vec![bval.clone(), bvec.clone()],
            _ => Vec::new(),
        }
    }

    /// A scan by name alone: its gradients, if any, are next to it.
    pub fn from_name(scan: &str) -> Self {
        Self {
            scan: scan.to_owned(),
            gradients: None,
            bval: None,
            bvec: None,
            turn: None,
            tensors: TensorOptions::default(),
        }
    }

    /// The phantom that a name such as `phantom:1` or `phantom:helix` stands for.
    pub fn built_in_phantom(&self) -> Result<Option<BuiltInPhantom>, Failure> {
        match PhantomName::read(&self.scan) {
            None => Ok(None),
            // The scan is the head's only one.
            Some(Ok(name)) if !name.is_scan => Ok(Some(name.head)),
            Some(_) => Err(Failure::usage(format!(
                "“{}” is not a built-in phantom: expected {}",
                self.scan,
                PhantomName::EXPECTED
            ))),
        }
    }

    pub fn source(&self) -> ScanSource {
        let base = self.untouched();
        match self.turn.filter(|t| *t != AxisChange::NONE) {
            Some(turn) => ScanSource::Turned {
                base: Box::new(base),
                turn,
            },
            None => base,
        }
    }

    fn untouched(&self) -> ScanSource {
        match (self.built_in_phantom(), self.tensors.layout()) {
            (Ok(Some(head)), _) => ScanSource::Phantom { head },
            (_, Some(layout)) => ScanSource::Tensors {
                file: PathBuf::from(&self.scan),
                layout,
            },
            _ => ScanSource::File {
                dwi: PathBuf::from(&self.scan),
                gradients: self.gradient_files(),
            },
        }
    }

    /// Each option accepts one kind of file; the window, which accepts any, guesses.
    fn check_gradients(&self) -> Result<(), Failure> {
        use io::gradients::{TableFiles, check_named};
        let is_image = |path: &Path| io::Format::named(path) == Some(io::Format::Mif);
        let files = match self.gradient_files().as_slice() {
            [table] if is_image(table) => TableFiles::Header(table.clone()),
            [table] => TableFiles::Mrtrix(table.clone()),
            [bval, bvec] => TableFiles::Fsl {
                bval: bval.clone(),
                bvec: bvec.clone(),
            },
            _ => return Ok(()),
        };
        check_named(&files).map_err(|e| Failure::new(e.to_string()))
    }

    pub fn open(&self, runner: &mut Runner) -> Result<Scan, Failure> {
        self.open_for(None, runner)
    }

    fn open_for(&self, need: Option<SignalNeed>, runner: &mut Runner) -> Result<Scan, Failure> {
        let mut scan = self.open_untouched(need, runner)?;
        if let (Some(turn), Some(gradients)) = (self.turn, &scan.gradients) {
            scan.gradients = Some(Arc::new(gradients.rotated(turn.in_world(&scan.dwi.grid))));
        }
        Ok(scan)
    }

    fn open_untouched(
        &self,
        need: Option<SignalNeed>,
        runner: &mut Runner,
    ) -> Result<Scan, Failure> {
        self.check_pairs()?;
        if let Some(head) = self.built_in_phantom()? {
            let (head, _) = runner.run(MakeHead { head })?;
            return Ok(Scan {
                dwi: head.dwi,
                gradients: Some(Arc::new(head.gradients)),
                notes: Vec::new(),
                true_mask: Some(head.mask),
                t1: Some(head.t1),
                companion_mask: None,
            });
        }
        self.check_gradients()?;
        let path = PathBuf::from(&self.scan);
        let open = match self.tensors.layout() {
            None => OpenFile::with_gradients(path.clone(), self.gradient_files()),
            tensors => {
                let reading = Reading {
                    tensors,
                    ..Reading::default()
                };
                OpenFile::with_reading(path.clone(), reading)
            }
        };
        let file = match runner.run(open)?.0 {
            Opened::File(file) => Some(*file),
            Opened::Folder(_) => None,
        };
        match file {
            Some(OpenedFile {
                loaded: Loaded::Scan { dwi, gradients, .. },
                notes,
                companion_mask,
                ..
            }) if gradients.is_some() || dwi.tensors.is_some() => Ok(Scan {
                dwi,
                gradients,
                notes,
                true_mask: None,
                t1: None,
                companion_mask,
            }),
            // An unusable table is the only error reported. The reason is that of this reading: another program may
            // have corrected the table meanwhile.
            Some(OpenedFile {
                loaded: Loaded::Scan { .. },
                gradients_refused: Some(why),
                ..
            }) => Err(Failure::new(why)),
            Some(OpenedFile {
                loaded: Loaded::Scan { dwi, .. },
                ..
            }) if order_of_distributions(&dwi).is_some() => Err(Failure::new(format!(
                "Found an image of fibre orientation distributions ({}), expected a scan with its gradients; name the \
                 scan, or state the basis and the axes of the distributions to “arcuate fod” with --odf-basis and \
                 --odf-frame, which “arcuate gradients distributions” compares: {}",
                counted(dwi.frames, "volume"),
                path.display()
            ))),
            Some(OpenedFile {
                loaded: Loaded::Scan { dwi, .. },
                notes,
                ..
            }) => {
                // A table of another length in the header is not used, and is the reason.
                let header = io::gradients::TableFiles::Header(path.clone());
                let own = io::gradients::read(&header, &dwi.grid, dwi.frames);
                if let Err(why @ io::Error::Counts { b_values: 1.., .. }) = own {
                    return Err(why.into());
                }
                need.map_or(Ok(()), |need| need.refuse_six_volumes(&dwi, self))?;
                for note in &notes {
                    remark(note, &self.scan);
                }
                let tensors = match dwi.frames {
                    TensorLayout::VOLUMES => {
                        "; if its six volumes are tensors, say so with --tensor-order and --tensor-frame"
                    }
                    _ => "",
                };
                Err(Failure::new(format!(
                    "Found no gradients beside the scan, expected a .bval and a .bvec; name them with --bval and \
                     --bvec, or --gradients{tensors}: {}",
                    path.display()
                )))
            }
            _ => Err(Failure::new(format!(
                "Found no diffusion scan, expected an image of several volumes; name the scan itself: {}",
                path.display()
            ))),
        }
    }
}
