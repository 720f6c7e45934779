//! The purpose of a path, which decides endings, titles and the action.

use super::distribution_files::files_of_distributions;
use crate::data::odf_field::Tissue;
use crate::data::region::RegionId;
use crate::io::Format;
use crate::state::files::types::RecentExports;
use crate::state::filter::{FilterAction, FilterFile};
use crate::state::pathways::{NoiseFile, PathwayAction, PathwayFile, PathwayNoiseAction};
use crate::state::segment::SegmentFile;
use crate::state::streamlines::BottomPanel;
use crate::state::streamlines::in_place::in_place;
use crate::state::tensors::types::fods::TissueChoice;
use crate::state::update::is_session;
use crate::state::{
    Action, AlignmentAction, Content, FigureAction, FigureTable, FilesAction, LayerId, Look, Pane,
    Picture, PictureAction, ProtocolAction, RegionAction, ReportAction, SaveLabels, SaveMasks,
    SegmentAction, SessionAction, State, StreamlineAction, TensorAction, TrackNoiseAction,
    Turntable, UnsavedAction, ValueNames,
};
use crate::ui::format;
use std::path::{Path, PathBuf};

/// Endings offered for images, the default first, with the names of their formats.
const IMAGES: [(&str, &str); 3] = [
    ("nii.gz", "NIfTI, compressed"),
    ("nii", "NIfTI"),
    ("mif", "MRtrix"),
];
/// File ending of sessions.
pub const SESSION: &str = "arcuate";

/// The purpose of a path.
#[derive(Clone, PartialEq, Debug)]
pub enum PathPurpose {
    Open,
    /// Streamlines or rays of a layer, or the live ones; rays include their measures.
    Streamlines {
        layer: Option<LayerId>,
        measured: bool,
        values: ValueNames,
        /// Only the streamlines that the filter keeps.
        filtered: bool,
    },
    Layer {
        layer: LayerId,
        /// Surfaces can be made from it.
        mask: bool,
        /// The layer is a label map, whose names go into a file next to it.
        labels: bool,
    },
    Region(RegionId),
    /// All regions, in the order of the list.
    Regions {
        as_labels: bool,
        names: Vec<String>,
    },
    Screenshot {
        pane: Option<Pane>,
        look: Look,
    },
    /// The report of what is open.
    Report,
    /// The protocol of what is open.
    Protocol,
    /// `next` follows once the session is saved.
    Session {
        next: Option<UnsavedAction>,
    },
    /// An affine that moves a layer.
    Affine {
        layer: LayerId,
    },
    /// Transforms of a non-linear alignment of a layer.
    Warp(LayerId),
    /// The files of a kept pathway, or of the live one.
    Pathway {
        layer: Option<LayerId>,
        file: PathwayFile,
    },
    /// A file of the repetitions of the live pathway.
    PathwayNoise(NoiseFile),
    /// A file of the repetitions of the live streamlines.
    TrackNoise(NoiseFile),
    /// A file of the segmented surface.
    Segment(SegmentFile),
    /// A table of an image's figures within a region.
    Figures(FigureTable),
    /// A file of a COMMIT fit, with the values of its streamlines.
    Filter(FilterFile, ValueNames),
    /// The report of distributions of these tissues, with their files beside it.
    Distributions {
        tissues: Vec<Tissue>,
        /// Tissues whose response function was measured in a region without a file.
        masks: Vec<Tissue>,
        /// Maps of a bootstrap are among them.
        with_bootstrap: bool,
    },
    /// Response functions, white matter first; or that of one tissue.
    Responses(Option<Tissue>),
    /// The timing of the gradients.
    Scheme,
    /// The truth that streamlines are scored against.
    Truth,
    /// The recipe by which bundles are recognised.
    BundleRecipe,
    /// Values that colour the streamlines of a layer.
    LineValues(LayerId),
    /// The content of the panel below the views, as a table.
    Csv(BottomPanel),
    /// A file of the session being opened, by its number.
    Locate {
        index: usize,
        /// The file's own name, whatever file replaces it.
        name: String,
    },
    /// A missing layer of the session, and the name of its file.
    Missing(LayerId, String),
}

fn selection_sentence(some: usize, all: usize) -> String {
    let [some, all] = [some, all].map(|n| format::count(n as u64));
    format!("{some} of {all} streamlines: those that pass the filter. Switch it off to export all")
}

impl PathPurpose {
    /// Streamlines or rays of a layer, or the live ones.
    pub fn streamlines(state: &State, layer: Option<LayerId>) -> Self {
        let tractogram = match layer {
            Some(id) => state.document.layer(id).and_then(|l| match &l.content {
                Content::Tractogram(tractogram) => Some(tractogram),
                Content::InPlace(lines) => Some(&lines.names),
                _ => None,
            }),
            None => state.runtime.track.live.value().map(|l| &l.output.kept),
        };
        Self::Streamlines {
            layer,
            measured: tractogram.is_some_and(ValueNames::has_measures),
            values: tractogram
                .map(ValueNames::from_tractogram)
                .unwrap_or_default(),
            filtered: layer.is_some_and(|id| state.has_rules(id)),
        }
    }

    /// Files for the values that accompany streamlines of this name, each with its description.
    pub(super) fn companion_files(&self, path: &Path) -> Vec<(String, PathBuf)> {
        let adjacent = match self {
            Self::Streamlines {
                values,
                filtered: false,
                ..
            } => values.companion_files(path),
            Self::Streamlines { values, .. } => values.named(path),
            Self::Filter(FilterFile::Kept | FilterFile::All, values) => values.named(path),
            Self::Distributions {
                tissues,
                masks,
                with_bootstrap,
            } => return files_of_distributions(tissues, masks, *with_bootstrap, path),
            _ => Vec::new(),
        };
        let described = adjacent.into_iter().map(|b| (ValueNames::text(&b), b.path));
        described.collect()
    }

    /// Export of the streamlines being filtered.
    pub fn filter(state: &State, what: FilterFile) -> Self {
        let filtered = state.document.filtered();
        let lines = filtered.map(|(layer, lines)| in_place(layer).map_or(lines, |own| &own.names));
        Self::Filter(
            what,
            lines.map(ValueNames::from_tractogram).unwrap_or_default(),
        )
    }

    /// For regions saved one per file: their number, and the name of the first.
    pub(super) fn numbered_files_note(&self, path: &Path) -> Option<String> {
        let Self::Regions {
            as_labels: false,
            names,
            ..
        } = self
        else {
            return None;
        };
        let files = SaveMasks::files(path, names);
        let first = files.first()?.file_name()?.to_string_lossy();
        Some(match files.len() {
            1 => format!("Writes {first}"),
            n => format!("Writes {} files: {first}, …", format::count(n as u64)),
        })
    }

    /// How many streamlines of a layer are written while its filter is active.
    pub(super) fn selection_note(&self, state: &State) -> Option<String> {
        let Self::Streamlines {
            layer: Some(layer),
            filtered: true,
            ..
        } = self
        else {
            return None;
        };
        if let Some(kept) = state.counted_in_place(*layer) {
            let all = kept.marks().len();
            return Some(selection_sentence(kept.outline.streamlines, all));
        }
        let some = state.selection_result(*layer)?.kept;
        let Content::Tractogram(lines) = &state.document.layer(*layer)?.content else {
            return None;
        };
        Some(selection_sentence(some, lines.len()))
    }

    /// Warns that the files of a fit are those of other streamlines or settings than the present ones.
    pub(super) fn stale_note(&self, state: &State) -> Option<&'static str> {
        let is_stale = matches!(self, Self::Filter(..)) && state.weights_are_stale();
        is_stale.then(|| {
            if state.is_filtering() {
                "These weights are those of an earlier fit: wait for the running fit first"
            } else if state.has_weights_of_other_streamlines() {
                "These weights are from before the streamlines were changed or moved: run the fit again first"
            } else {
                "These weights are those of earlier settings: run the fit again first"
            }
        })
    }

    /// All files that would be written under this name.
    pub(super) fn files(&self, path: &Path) -> Vec<PathBuf> {
        let mut files = vec![self.named(path)];
        match self {
            Self::Layer { labels: true, .. }
            | Self::Regions {
                as_labels: true, ..
            } => files.push(SaveLabels::table(path)),
            Self::Regions { names, .. } => return SaveMasks::files(path, names),
            Self::Screenshot { pane, look } => {
                if let Some(turntable) = look.for_pane(*pane).turntable {
                    let frames = (0..turntable.frames).map(|i| turntable.path(path, i));
                    let film = turntable.film.then(|| Turntable::film_path(path));
                    return frames.chain(film).collect();
                }
            }
            _ => {}
        }
        files.extend(self.companion_files(path).into_iter().map(|(_, path)| path));
        files
    }

    /// The path with the ending of a session, which dialogs do not always add.
    fn named(&self, path: &Path) -> PathBuf {
        match self {
            Self::Session { .. } if !is_session(path) => {
                let mut name = path.file_name().unwrap_or_default().to_owned();
                name.push(".");
                name.push(SESSION);
                path.with_file_name(name)
            }
            _ => path.to_owned(),
        }
    }

    pub(super) fn saves(&self) -> bool {
        !matches!(
            self,
            Self::Open
                | Self::Locate { .. }
                | Self::Missing(..)
                | Self::Affine { .. }
                | Self::Warp(_)
                | Self::Scheme
                | Self::Truth
                | Self::BundleRecipe
                | Self::LineValues(_)
                | Self::Responses(_)
        )
    }

    pub(super) fn title(&self) -> String {
        let fixed = match self {
            Self::Open => "Open a file",
            Self::Streamlines { measured: true, .. } => "Export rays",
            Self::Streamlines { .. } => "Export streamlines",
            Self::Layer { .. } => "Export layer",
            Self::Region(_) => "Export region",
            Self::Regions {
                as_labels: true, ..
            } => "Export regions as label map",
            Self::Regions { .. } => "Export regions as masks, one file each",
            Self::Screenshot { .. } => "Save a screenshot",
            Self::Report => "Save a report",
            Self::Protocol => "Save as protocol",
            Self::Csv(BottomPanel::Table) => "Export the table",
            Self::Csv(BottomPanel::Profile) => "Export the profile",
            Self::Csv(BottomPanel::Matrix) => "Export the matrix",
            Self::Csv(BottomPanel::Bundles) => "Export the table of bundles",
            Self::Csv(BottomPanel::Scores) => "Export the scores",
            Self::Pathway { file, .. } => match file {
                PathwayFile::Mask => "Export the pathway",
                PathwayFile::Path => "Export the cheapest path",
                _ => "Export the cost",
            },
            Self::PathwayNoise(file) => match file {
                NoiseFile::Share => "Export the share of repetitions",
                NoiseFile::Paths => "Export the paths of the repetitions",
                NoiseFile::Distances => "Export the distances along the path",
            },
            Self::TrackNoise(file) => match file {
                NoiseFile::Share => "Export the share of repetitions",
                NoiseFile::Paths => "Export the centre lines of the repetitions",
                NoiseFile::Distances => "Export the distances along the centre line",
            },
            Self::Segment(file) => match file {
                SegmentFile::Labels => "Export the label map",
                SegmentFile::Surface => "Export the surface",
                SegmentFile::Script => "Export the run",
                SegmentFile::Structures => "Export structures as label map",
            },
            Self::Figures(FigureTable::Statistics) => "Export the figures",
            Self::Figures(FigureTable::Histograms) => "Export the histogram",
            Self::Filter(file, _) => match file {
                FilterFile::Weights => "Export the weights",
                FilterFile::Histogram => "Export the histogram of weights",
                FilterFile::Kept => "Export the kept streamlines",
                FilterFile::All => "Export the streamlines with their weights",
                FilterFile::Map(_) => "Export the map",
            },
            Self::Distributions { .. } => "Export fibre orientations",
            Self::Responses(None) => "Response functions, white matter first",
            Self::Responses(Some(tissue)) => {
                return format!("The response function of {}", tissue.name());
            }
            Self::Scheme => "A Camino scheme file",
            Self::Truth => "The folder of a truth, or its truth.json",
            Self::BundleRecipe => "A recipe of bundles (.toml)",
            Self::LineValues(_) => {
                "Values of the streamlines: TSF, or text with one number for each"
            }
            Self::Session { .. } => "Save the session",
            Self::Locate { name, .. } | Self::Missing(_, name) => {
                return format!("Where is {name} now?");
            }
            Self::Affine { .. } => "An affine of FLIRT or ITK",
            Self::Warp(_) => "Displacement fields and affines of ANTs, ITK or FSL",
        };
        fixed.to_owned()
    }

    /// The title with the name of the exported item, which does not change with the selection.
    pub(super) fn title_of(&self, state: &State) -> String {
        let layer = |id: LayerId| state.document.layer(id).map(|l| l.name.clone());
        let name = match self {
            Self::Layer { layer: id, .. } => layer(*id),
            Self::Streamlines {
                layer: Some(id), ..
            } => layer(*id),
            Self::Region(id) => state.document.region(*id).map(|r| r.name.clone()),
            _ => None,
        };
        name.map_or(self.title().to_owned(), |name| format!("Export {name}"))
    }

    /// The kind under which the last such file is remembered.
    pub(super) fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Streamlines { .. } | Self::Filter(..) => Some(RecentExports::STREAMLINES),
            Self::Layer { .. } => Some(RecentExports::LAYER),
            Self::Region(_) | Self::Regions { .. } => Some(RecentExports::REGION),
            Self::Screenshot { .. } => Some(RecentExports::PICTURE),
            Self::Pathway { file, .. } => Some(file.kind()),
            Self::PathwayNoise(file) | Self::TrackNoise(file) => file.kind(),
            Self::Segment(_) => Some(RecentExports::REGION),
            Self::Distributions { .. } => Some(RecentExports::LAYER),
            // Sessions, tables and the report have names of their own; other files are only read.
            _ => None,
        }
    }

    /// Endings that a file of this kind may have, the default first.
    pub(super) fn endings(&self) -> Vec<&'static str> {
        match self {
            Self::Open
            | Self::Locate { .. }
            | Self::Missing(..)
            | Self::Affine { .. }
            | Self::Warp(_)
            | Self::Scheme
            | Self::Truth
            | Self::BundleRecipe
            | Self::LineValues(_)
            | Self::Responses(_) => Vec::new(),
            Self::Filter(FilterFile::Weights, _) => vec!["txt"],
            Self::Filter(FilterFile::Histogram, _) => vec!["svg", "png", "csv"],
            Self::Session { .. } => vec![SESSION],
            Self::Streamlines { .. }
            | Self::Filter(FilterFile::Kept | FilterFile::All, _)
            | Self::PathwayNoise(NoiseFile::Paths)
            | Self::TrackNoise(NoiseFile::Paths)
            | Self::Pathway {
                file: PathwayFile::Path,
                ..
            } => Format::of_saved_streamlines()
                .map(|f| f.extensions()[0])
                .collect(),
            Self::Layer { mask: false, .. }
            | Self::Regions { .. }
            | Self::Filter(FilterFile::Map(_), _)
            | Self::PathwayNoise(NoiseFile::Share)
            | Self::TrackNoise(NoiseFile::Share)
            | Self::Pathway {
                file: PathwayFile::Total | PathwayFile::First | PathwayFile::Second,
                ..
            } => IMAGES.map(|(ending, _)| ending).to_vec(),
            Self::Layer { mask: true, .. }
            | Self::Region(_)
            | Self::Pathway {
                file: PathwayFile::Mask,
                ..
            } => {
                let surfaces = Format::of_saved_surfaces().map(|f| f.extensions()[0]);
                let images = IMAGES.map(|(ending, _)| ending);
                images.into_iter().chain(surfaces).collect()
            }
            Self::Segment(SegmentFile::Labels | SegmentFile::Structures) => {
                IMAGES.map(|(ending, _)| ending).to_vec()
            }
            Self::Segment(SegmentFile::Surface) => Format::of_saved_surfaces()
                .map(|f| f.extensions()[0])
                .collect(),
            Self::Segment(SegmentFile::Script) | Self::Distributions { .. } => vec!["json"],
            Self::Screenshot { .. } => vec!["png"],
            Self::Report => vec!["html"],
            Self::Protocol => vec!["toml"],
            Self::Csv(_)
            | Self::Figures(_)
            | Self::PathwayNoise(NoiseFile::Distances)
            | Self::TrackNoise(NoiseFile::Distances) => vec!["csv"],
        }
    }

    /// All accepted endings, longer ones before shorter ones.
    pub(super) fn accepted(&self) -> Vec<&'static str> {
        let mut all = match self {
            Self::Streamlines { .. }
            | Self::Filter(FilterFile::Kept | FilterFile::All, _)
            | Self::PathwayNoise(NoiseFile::Paths)
            | Self::TrackNoise(NoiseFile::Paths)
            | Self::Pathway {
                file: PathwayFile::Path,
                ..
            } => Format::of_saved_streamlines()
                .flat_map(|f| f.extensions().iter().copied())
                .collect(),
            _ => self.endings(),
        };
        // Compressed images of MRtrix have no button of their own.
        if all.contains(&"mif") {
            all.push("mif.gz");
        }
        all.sort_by_key(|e| std::cmp::Reverse(e.len()));
        all
    }

    /// Names of the formats of these endings.
    pub(super) fn format_names(&self) -> Vec<String> {
        match self {
            Self::Streamlines { .. }
            | Self::Filter(FilterFile::Kept | FilterFile::All, _)
            | Self::PathwayNoise(NoiseFile::Paths)
            | Self::TrackNoise(NoiseFile::Paths)
            | Self::Pathway {
                file: PathwayFile::Path,
                ..
            } => Format::of_saved_streamlines()
                .map(Format::short_name)
                .collect(),
            Self::Layer { mask: true, .. }
            | Self::Region(_)
            | Self::Pathway {
                file: PathwayFile::Mask,
                ..
            } => {
                let surfaces = Format::of_saved_surfaces().map(Format::short_name);
                let images = IMAGES.map(|(_, name)| name.replace(", compressed", " gz"));
                images.into_iter().chain(surfaces).collect()
            }
            Self::Segment(SegmentFile::Surface) => Format::of_saved_surfaces()
                .map(Format::short_name)
                .collect(),
            Self::Segment(SegmentFile::Script) | Self::Distributions { .. } => {
                vec!["JSON".to_owned()]
            }
            Self::Filter(FilterFile::Weights, _) => vec!["Text".to_owned()],
            Self::Filter(FilterFile::Histogram, _) => vec!["SVG".to_owned(), "CSV".to_owned()],
            Self::Report => vec!["HTML".to_owned()],
            Self::Protocol => vec!["TOML".to_owned()],
            _ => IMAGES.map(|(_, name)| name.to_owned()).to_vec(),
        }
    }

    pub(super) fn action(self, mut paths: Vec<PathBuf>) -> Option<Action> {
        if paths.is_empty() {
            return None;
        }
        if self == Self::Open {
            return Some(Action::Files(FilesAction::Open(paths)));
        }
        if self == Self::Responses(None) {
            return Some(Action::Tensors(TensorAction::ReadResponses(paths)));
        }
        if let Self::Warp(layer) = self {
            let add = AlignmentAction::AddTransforms { layer, paths };
            return Some(Action::Alignment(add));
        }
        let path = self.named(&paths.swap_remove(0));
        Some(match self {
            Self::Responses(Some(tissue)) => Action::Tensors(TensorAction::SetResponse {
                tissue,
                choice: TissueChoice::File(path),
            }),
            Self::Open | Self::Responses(None) | Self::Warp(_) => return None,
            Self::Session { next } => {
                let path = Some(path);
                Action::Session(SessionAction::Save { path, next })
            }
            Self::Locate { index, .. } => Action::Session(SessionAction::Relocate { index, path }),
            Self::Missing(layer, _) => Action::Session(SessionAction::Restore { layer, path }),
            Self::Affine { layer } => {
                Action::Alignment(AlignmentAction::ApplyAffine { layer, path })
            }
            Self::Streamlines { layer, .. } => {
                Action::Files(FilesAction::SaveStreamlines { layer, path })
            }
            Self::Layer { layer, .. } => Action::Files(FilesAction::SaveLayer { layer, path }),
            Self::Pathway { layer: kept, file } => Action::Pathway(PathwayAction::Save {
                layer: kept,
                file,
                path,
            }),
            Self::PathwayNoise(file) => {
                Action::Pathway(PathwayAction::Noise(PathwayNoiseAction::Save(file, path)))
            }
            Self::TrackNoise(file) => Action::TrackNoise(TrackNoiseAction::Save(file, path)),
            Self::Segment(file) => Action::Segment(SegmentAction::Save { file, path }),
            Self::Figures(table) => Action::Figures(FigureAction::Save { table, path }),
            Self::Filter(file, _) => Action::Filter(FilterAction::Save { file, path }),
            Self::Distributions { .. } => Action::Tensors(TensorAction::SaveFods(path)),
            Self::Scheme => Action::Filter(FilterAction::ReadScheme(path)),
            Self::Truth => Action::Streamline(StreamlineAction::SetTruth(path)),
            Self::BundleRecipe => Action::Streamline(StreamlineAction::SetRecipe(Some(path))),
            Self::LineValues(layer) => {
                Action::Streamline(StreamlineAction::ColourByFile { layer, path })
            }
            Self::Region(region) => Action::Region(RegionAction::Save { region, path }),
            Self::Regions { as_labels, .. } => {
                Action::Region(RegionAction::SaveAll { path, as_labels })
            }
            Self::Csv(BottomPanel::Table) => Action::Streamline(StreamlineAction::SaveTable(path)),
            Self::Csv(BottomPanel::Profile) => {
                Action::Streamline(StreamlineAction::SaveProfile(path))
            }
            Self::Csv(BottomPanel::Matrix) => {
                Action::Streamline(StreamlineAction::SaveMatrix(path))
            }
            Self::Csv(BottomPanel::Bundles) => {
                Action::Streamline(StreamlineAction::SaveBundles(path))
            }
            Self::Csv(BottomPanel::Scores) => {
                Action::Streamline(StreamlineAction::SaveScores(path))
            }
            Self::Report => Action::Report(ReportAction::Save(path)),
            Self::Protocol => Action::Protocol(ProtocolAction::Save(path)),
            Self::Screenshot { pane, look } => {
                Action::Picture(PictureAction::Take(Picture { pane, path, look }))
            }
        })
    }
}
