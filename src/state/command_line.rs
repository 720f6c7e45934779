//! The command line that recomputes a result. Nothing stores one: it is assembled on request, from the origin of a layer
//! or from the controls, with the files of the inputs in place of their origins.

mod steps;

pub use steps::StepCommand;

use crate::data::{PhantomKind, ShellCommand};
use crate::io::AffineReading;
use crate::io::Reading;
use crate::parameters::arguments;
use crate::solvers::geodesic::{self, RayMetricParams, Rays};
use crate::solvers::lifted::SensitivityTo;
use crate::solvers::tensor_fit::FitMap;
use crate::solvers::{curves, density};
use crate::state::core::chain::chain;
use crate::state::core::pane::Pane;
use crate::state::core::text::quoted_path;
use crate::state::pictures::Look;
use crate::state::regions::recipe::{
    MaskWithoutFile, RegionCommand, RegionSpec, SURFACE_REGION, region_arguments,
};
use crate::state::streamlines::recipe::{StreamlineInput, tables::TableCommand};
use crate::state::tensors::recipe::FitArguments;
use crate::state::tensors::recipe::ScanSource;
use crate::state::tensors::recipe::fod::FodArguments;
use crate::state::track::recipe::{OdfRayCommand, OdfTrackingCommand};
use crate::state::{filter, pathways, segment};
use glam::{DAffine3, DVec3};
use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use steps::step_commands;

/// Why no command computes a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoCommand {
    /// This region is a mask without a file.
    MaskWithoutFile(String),
    /// Distances are measured from this object, which is in no file.
    DistanceWithoutFile(String),
    /// `arcuate uncertainty` has no options for the parameters of the deconvolution.
    OtherDeconvolution,
    /// It is not known how the result was computed.
    OriginUnknown,
}

impl From<MaskWithoutFile> for NoCommand {
    fn from(MaskWithoutFile(region): MaskWithoutFile) -> Self {
        Self::MaskWithoutFile(region)
    }
}

impl From<NoCommand> for CommandLine {
    fn from(why: NoCommand) -> Self {
        Self::NoCommand(why)
    }
}

impl fmt::Display for NoCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaskWithoutFile(region) if region == SURFACE_REGION => f.write_str(
                "There is no command for this result, since the surface of Segment is in no file: keep it as a mask, export \
                 that mask and use it as a region instead, or save the session, whose command recomputes all of it",
            ),
            Self::MaskWithoutFile(region) => write!(
                f,
                "There is no command for this result, since the region “{region}” is a mask without a \
                 file: export that region as a mask first, or save the session, whose command recomputes all of \
                 it"
            ),
            Self::DistanceWithoutFile(name) => write!(
                f,
                "There is no command for these distances, since “{name}” is in no file: keep and export it as a mask, and \
                 choose that mask under Distance to"
            ),
            Self::OtherDeconvolution => f.write_str(
                "There is no command for these repetitions, since arcuate uncertainty deconvolves with default parameters \
                 but for the order and the random seed: save the session, which replay recomputes",
            ),
            Self::OriginUnknown => f.write_str(
                "There is no command for this result, since its origin is unknown: save the session, or compute \
                 the result again",
            ),
        }
    }
}

/// A command line of Arcuate, sometimes several, with the files and options of its inputs. A result also has an origin in
/// the document's table ([`Recipe`](crate::state::origin::Recipe)), which names its inputs by number and lasts as long as
/// the result; a command line also exists for what is in no table: live results, tables, a layer under a filter.
#[derive(Clone, PartialEq, Debug)]
pub enum CommandLine {
    /// Opened from a file, with the user's reading where the file leaves something open.
    File { file: PathBuf, reading: Reading },
    /// A scan whose gradients are not next to it, or of the built-in head.
    Scan(ScanSource),
    /// Brain mask found from a scan.
    BrainMask(ScanSource),
    /// A map of a tensor fit.
    Fit { fit: FitArguments, map: FitMap },
    /// Fibre orientation distributions and their maps.
    Fods(Box<FodArguments>),
    Track {
        fit: FitArguments,
        regions: Vec<RegionSpec>,
        params: curves::Params,
    },
    /// Streamlines along distributions.
    OdfStreamlines(Box<OdfTrackingCommand>),
    /// Rays along distributions.
    OdfRays(Box<OdfRayCommand>),
    /// A result that no command can compute.
    NoCommand(NoCommand),
    Geodesic {
        fit: FitArguments,
        regions: Vec<RegionSpec>,
        metric: RayMetricParams,
        params: geodesic::Params,
        cut: geodesic::Cut,
    },
    /// Cost fields between regions, and the pathway of a width.
    Pathway {
        fit: FitArguments,
        regions: Vec<RegionSpec>,
        params: crate::solvers::pathway::Params,
        epsilon: f64,
        /// Whether its result is the map of the voxels on which the pathway depends.
        is_map: bool,
    },
    /// A pathway through distributions.
    LiftedPathway(Box<pathways::recipe::LiftedPathwayCommand>),
    /// Repetitions of a pathway, into a folder.
    Uncertainty(Box<pathways::recipe::UncertaintyCommand>),
    /// Repetitions of streamlines, into a folder, with the streamlines themselves.
    StreamlineNoise {
        streamlines: Box<CommandLine>,
        /// The mask whose distance from the centre lines is requested.
        distance_to: Option<PathBuf>,
    },
    /// A mask by a level set.
    Segment(Box<segment::recipe::SegmentCommand>),
    /// Weights of streamlines, and maps of the fit.
    Commit(Box<filter::recipe::CommitCommand>),
    /// Tables of streamlines.
    Table(Box<TableCommand>),
    /// A region that is changed, or in which images are measured.
    Region(Box<RegionCommand>),
    /// Moved in the world.
    Moved {
        base: Box<CommandLine>,
        transform: DAffine3,
    },
    /// A map of where streamlines pass.
    Density {
        streamlines: Box<CommandLine>,
        /// `None`: the grid of the streamlines, or voxels around them.
        template: Option<PathBuf>,
        voxel_mm: Option<f64>,
        params: density::Params,
    },
    /// Streamlines some of which were kept, or which were divided into groups, step by step: a command, or none if they
    /// were selected manually or a region has no file.
    Edited {
        base: Box<CommandLine>,
        steps: Vec<Option<StepCommand>>,
    },
}

/// Default folder of the results of `arcuate uncertainty` and `arcuate track --noise`.
const UNCERTAINTY_FOLDER: &str = "noise";

impl CommandLine {
    /// The command line of the streamlines before some were kept.
    pub fn base(&self) -> &Self {
        match self {
            Self::Edited { base, .. } => base,
            line => line,
        }
    }

    /// The command line of an opened scan, with the gradients that are not next to it.
    pub fn with_gradients(self, dwi: &Path, gradients: Vec<PathBuf>) -> Self {
        if gradients.is_empty() {
            return self;
        }
        Self::Scan(ScanSource::File {
            dwi: dwi.to_owned(),
            gradients,
        })
    }
}

/// The options of `arcuate geodesic` for these rays: those of all curves, then those of rays.
fn geodesic_arguments(rays: &Rays) -> String {
    // By default rays run in one direction, which a row of their own sets.
    let walk = curves::Params {
        both_ways: true,
        deflection: None,
        repetitions: None,
        ..rays.params.curves.clone()
    };
    arguments(&walk) + &arguments(rays)
}

/// The options of `arcuate track` with default values.
pub fn track_defaults() -> String {
    arguments(&curves::Params::defaults())
}

/// The options of `arcuate geodesic` with default values.
pub fn geodesic_defaults() -> String {
    geodesic_arguments(&Rays::defaults())
}

/// The options of `arcuate density`.
pub fn density_arguments(
    params: &density::Params,
    template: Option<&Path>,
    voxel_mm: Option<f64>,
) -> String {
    let mut text = String::new();
    if let Some(template) = template {
        text += &format!(" --template {}", quoted_path(template));
    }
    let edge_mm = voxel_mm;
    text += &arguments(&density::Voxels { edge_mm });
    text + &arguments(params)
}

/// `moved_t1.nii.gz`.
fn moved_name(base: &CommandLine) -> String {
    let file = match base {
        CommandLine::File { file, .. } => file.file_name(),
        _ => None,
    };
    format!("moved_{}", file.unwrap_or_default().to_string_lossy())
}

fn moved_command(base: &CommandLine, transform: DAffine3, out: &Path) -> String {
    let affine = AffineReading::matrix(transform);
    let (file, reading) = match base {
        CommandLine::File { file, reading } => (file, reading),
        // The file on disk is not moved.
        base => return base.text(),
    };
    format!(
        "arcuate convert {} {}{reading}{affine}",
        quoted_path(file),
        quoted_path(out)
    )
}

/// The commands of a density map: those of streamlines that have no file come first.
fn density_commands(
    streamlines: &CommandLine,
    template: Option<&Path>,
    voxel_mm: Option<f64>,
    params: &density::Params,
    out: &Path,
) -> Vec<ShellCommand> {
    let arguments = density_arguments(params, template, voxel_mm);
    let StreamlineInput { first, tracks, .. } = streamlines.as_streamline_input();
    let out = quoted_path(out);
    let mut commands = first;
    let text = format!("arcuate density {tracks}{arguments} --out {out}");
    commands.push(text.into());
    commands
}

/// The options of `arcuate track` that compare the repetitions of its bootstrap.
pub fn noise_arguments(folder: &Path, distance_to: Option<&Path>) -> String {
    let text = format!(" --noise {}", quoted_path(folder));
    text + &distance_to.map_or_else(String::new, pathways::recipe::distance_argument)
}

/// The commands of streamlines, the last of which also compares their repetitions.
fn noise_commands(streamlines: &CommandLine, distance_to: Option<&Path>) -> Vec<ShellCommand> {
    let mut commands = streamlines.commands_to(Path::new(streamlines.default_name()));
    if let Some(last) = commands.last_mut()
        && streamlines.no_command().is_none()
    {
        last.add_options(&noise_arguments(Path::new(UNCERTAINTY_FOLDER), distance_to));
    }
    commands
}

/// The command of a picture of a session: of a view, or of the whole window, with this crosshair.
pub fn picture(session: &Path, pane: Option<Pane>, look: &Look, at: DVec3) -> String {
    let options = picture_options(pane, look, at);
    format!("arcuate render {}{options}", quoted_path(session))
}

/// The options of a picture: its view, its crosshair, its size and its file.
pub fn picture_options(pane: Option<Pane>, look: &Look, at: DVec3) -> String {
    let mut text = format!(" --view {}", Pane::option(pane));
    let _ = write!(text, " --at {},{},{}", at.x, at.y, at.z);
    match look.size_px {
        Some([x, y]) => text += &format!(" --size {x}x{y}"),
        None if look.scale > 1 => text += &format!(" --scale {}", look.scale),
        None => {}
    }
    if look.transparent {
        text += " --transparent";
    }
    if let Some(turn) = look.turntable {
        let _ = write!(text, " --turntable {}", turn.frames);
        text += if turn.film { " --film" } else { "" };
    }
    text + " --out view.png"
}

impl From<ScanSource> for CommandLine {
    /// The command line of the scan's own layer.
    fn from(source: ScanSource) -> Self {
        match source {
            ScanSource::File { dwi, gradients } if gradients.is_empty() => Self::File {
                file: dwi,
                reading: Reading::default(),
            },
            ScanSource::Tensors { file, layout } => Self::File {
                file,
                reading: Reading {
                    tensors: Some(layout),
                    ..Reading::default()
                },
            },
            ScanSource::Distributions {
                file,
                layout,
                transform,
            } => {
                let base = Self::File {
                    file,
                    reading: Reading {
                        distributions: Some(layout),
                        ..Reading::default()
                    },
                };
                match transform {
                    None => base,
                    Some(transform) => Self::Moved {
                        base: Box::new(base),
                        transform: *transform,
                    },
                }
            }
            source => Self::Scan(source),
        }
    }
}

/// The command that recomputes all results of a session.
pub fn replay(session: &Path) -> String {
    format!("arcuate replay {}", quoted_path(session))
}

impl CommandLine {
    /// The streamlines that this command writes, as the input of another one.
    pub fn as_streamline_input(&self) -> StreamlineInput {
        let (first, tracks) = match self {
            Self::File { file, reading } => (Vec::new(), format!("{}{reading}", quoted_path(file))),
            command => {
                let file = Path::new("tracks.trx");
                (command.commands_to(file), quoted_path(file))
            }
        };
        let no_command = self.no_command();
        StreamlineInput {
            tracks,
            first,
            no_command,
        }
    }

    /// Why there is no command, and what to do about it.
    pub fn no_command(&self) -> Option<String> {
        match self {
            Self::NoCommand(reason) => Some(reason.to_string()),
            Self::Segment(command) => command.no_command(),
            Self::OdfStreamlines(command) => command.no_command(),
            Self::Commit(command) => command.no_command(),
            Self::Table(command) => command.no_command(),
            Self::Region(command) => command.no_command(),
            Self::Density { streamlines: base, .. }
            | Self::StreamlineNoise { streamlines: base, .. }
            | Self::Moved { base, .. } => base.no_command(),
            Self::Edited { base, steps } => base.no_command().or_else(|| {
                steps.contains(&None).then(|| {
                    "There is no command for these streamlines, since some were chosen by hand, or by a region or \
                     a label map without a file: save the session, whose command recomputes all of it"
                        .to_owned()
                })
            }),
            _ => None,
        }
    }

    /// The command line that gives the same result without a window; a comment if there is none.
    pub fn text(&self) -> String {
        match self.base() {
            _ if self.has_groups() => self.text_to(Path::new("tracks.trx")),
            Self::Moved { base, .. } => self.text_to(Path::new(&moved_name(base))),
            _ => self.text_to(Path::new(self.default_name())),
        }
    }

    /// Whether a step divides its streamlines into groups, which only TRX holds.
    fn has_groups(&self) -> bool {
        let is_group = |step: &Option<StepCommand>| matches!(step, Some(StepCommand::Group(_)));
        matches!(self, Self::Edited { steps, .. } if steps.iter().any(is_group))
    }

    /// The default name of its file or folder.
    fn default_name(&self) -> &'static str {
        match self.base() {
            Self::Geodesic { .. } | Self::OdfRays(_) => "rays.tck",
            Self::Density { .. } => "density.nii.gz",
            Self::Region(_) => "region.nii.gz",
            Self::Pathway { is_map: true, .. } => "sensitivity.nii.gz",
            Self::LiftedPathway(command) if command.map.is_some() => "sensitivity.nii.gz",
            Self::Pathway { .. } | Self::LiftedPathway(_) => "pathway",
            Self::Uncertainty(_) | Self::StreamlineNoise { .. } => UNCERTAINTY_FOLDER,
            Self::Segment(_) => "segmentation",
            Self::Commit(_) => "commit",
            Self::Fods(_) => "fod",
            Self::Table(table) => table.file(),
            _ => "tracks.tck",
        }
    }

    /// The command that recomputes the result and writes it to this file, after those whose results it needs.
    pub fn text_to(&self, out: &Path) -> String {
        chain(self.commands_to(out))
    }

    /// The commands that write the result under a name of its own, in the order in which they run.
    pub(in crate::state) fn commands_named(&self, stem: &str) -> Vec<ShellCommand> {
        let default = self.default_name();
        let out = match (self.base(), default.split_once('.')) {
            // Later commands name their files in these folders.
            (Self::Fit { .. } | Self::BrainMask(_) | Self::Fods(_), _) | (_, None) => {
                default.to_owned()
            }
            (_, Some((_, "tck"))) => format!("{stem}.trx"),
            (_, Some((_, ending))) => format!("{stem}.{ending}"),
        };
        self.commands_to(Path::new(&out))
    }

    /// The commands of [`Self::text_to`], one after another.
    fn commands_to(&self, out: &Path) -> Vec<ShellCommand> {
        match self {
            Self::OdfStreamlines(command) => command.commands(out),
            Self::OdfRays(command) => command.commands(out),
            Self::LiftedPathway(command) => command.commands(out),
            Self::Region(command) if command.unfiled.is_none() => command.commands(out),
            // The folder has a file for each result.
            Self::Uncertainty(command) => command.commands(Path::new(UNCERTAINTY_FOLDER)),
            Self::StreamlineNoise {
                streamlines,
                distance_to,
            } => noise_commands(streamlines, distance_to.as_deref()),
            Self::Density {
                streamlines: base,
                template,
                voxel_mm,
                params,
            } => density_commands(base, template.as_deref(), *voxel_mm, params, out),
            Self::Edited { base, steps } if self.no_command().is_none() => {
                step_commands(base, steps, out)
            }
            line => vec![line.own_command_to(out)],
        }
    }

    /// The command of a map, which needs no other, into the default folder.
    pub fn command(&self) -> ShellCommand {
        self.own_command_to(Path::new(self.default_name()))
    }

    /// A command that needs no other.
    fn own_command_to(&self, out: &Path) -> ShellCommand {
        let into_maps = || " --out maps".to_owned();
        match self {
            Self::Fods(command) => command.command(out),
            Self::BrainMask(source) => {
                let text = format!("arcuate fit {}", source.arguments());
                ShellCommand::with_maps(text, &["mask"], into_maps())
            }
            Self::Fit { fit, map } => {
                let text = format!("arcuate fit {}", fit.text());
                ShellCommand::with_maps(text, &[map.key()], into_maps())
            }
            line => line.own_text_to(out).into(),
        }
    }

    /// The text of a command that needs no other.
    fn own_text_to(&self, out: &Path) -> String {
        let to_out = || format!(" --out {}", quoted_path(out));
        match self {
            Self::Segment(command) => command.text(out),
            Self::Commit(command) => command.text(out),
            Self::Fods(_) | Self::BrainMask(_) | Self::Fit { .. } => {
                self.own_command_to(out).to_string()
            }
            Self::Table(command) => command.text(out),
            Self::NoCommand(_) | Self::Edited { .. } | Self::Region(_) => {
                format!("# {}", self.no_command().unwrap_or_default())
            }
            Self::OdfStreamlines(_)
            | Self::OdfRays(_)
            | Self::LiftedPathway(_)
            | Self::Uncertainty(_)
            | Self::StreamlineNoise { .. }
            | Self::Density { .. } => chain(self.commands_to(out)),
            Self::Scan(ScanSource::File { dwi, .. }) => {
                format!("arcuate info {}", quoted_path(dwi))
            }
            Self::Scan(source @ ScanSource::Turned { .. }) => {
                format!(
                    "arcuate gradients turn {} --out corrected",
                    source.arguments()
                )
            }
            Self::Scan(
                source @ (ScanSource::Tensors { .. } | ScanSource::Distributions { .. }),
            ) => {
                format!("arcuate info {}", source.arguments())
            }
            Self::Scan(ScanSource::Phantom { head }) => {
                let kind = phantom_option(head.kind);
                let folder = if head.kind.is_head() {
                    "head"
                } else {
                    "phantom"
                };
                format!("arcuate phantom{kind} --seed {} --out {folder}", head.seed)
            }
            Self::File { file, reading } => {
                format!("arcuate info {}{reading}", quoted_path(file))
            }
            Self::Moved { base, transform } => moved_command(base, *transform, out),
            Self::Geodesic {
                fit,
                regions,
                metric,
                params,
                cut,
            } => {
                let mut text = format!("arcuate geodesic {}", fit.text());
                text += &region_arguments(regions);
                text += &geodesic_arguments(&Rays {
                    metric: *metric,
                    params: params.clone(),
                    cut: *cut,
                });
                text + &to_out()
            }
            Self::Pathway {
                fit,
                regions,
                params,
                epsilon,
                is_map,
            } => {
                let (folder, map) =
                    pathways::recipe::outputs(out, is_map.then_some(SensitivityTo::Cost));
                pathways::recipe::command("pathway", fit, regions, params, *epsilon, folder) + &map
            }
            Self::Track {
                fit,
                regions,
                params,
            } => {
                let mut text = format!("arcuate track {}", fit.text());
                text += &region_arguments(regions);
                text + &arguments(params) + &to_out()
            }
        }
    }
}

/// The option of `arcuate phantom` for a kind, with a space before it.
pub fn phantom_option(kind: PhantomKind) -> String {
    match kind {
        PhantomKind::Plain => String::new(),
        PhantomKind::Crossing => " --crossing".to_owned(),
        kind => format!(" --kind {}", kind.key()),
    }
}
