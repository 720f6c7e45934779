//! Options of glyphs of tensors, distributions and peaks.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::layers::{image, reveal};
use super::shapes::range;
use crate::scene;
use crate::scene::draw_list::{GlyphShape, TensorGlyphs};
use crate::state::core::glyph_look::{GlyphContent, GlyphLook, GlyphPlace, OdfLook};
use crate::state::core::overlay::Overlay;
use crate::state::{Display, FilesAction, Layer, LayerAction, LayerId, Phase, ViewAction};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Glyphs")]
pub struct GlyphOptions {
    /// Draw a glyph in each voxel of the slices
    #[arg(long, value_enum)]
    pub glyphs: Option<GlyphKind>,
    /// Image by whose value glyphs are smaller: from nothing at the low end of its range to the full size at its high end
    #[arg(long, value_name = "LAYER", requires = "glyphs")]
    pub glyph_scale: Option<String>,
    /// Open fixels (a folder of MRtrix with index and directions, or a list of values in it) and draw them as lines; a list
    /// gives their lengths
    #[arg(long, value_name = "FOLDER|FILE", conflicts_with = "glyphs")]
    pub fixels: Option<PathBuf>,
    /// Length of the lines of peaks and fixels: by value or same
    #[arg(long, value_enum)]
    pub peak_length: Option<PeakLength>,
    /// Colour of the lines of peaks and fixels: by direction, or by value in the layer's colour map and range
    #[arg(long, value_enum)]
    pub peak_colour: Option<PeakColour>,
    /// Values of fixels at the ends of their colour map; lines have the full length at the end farther from 0
    #[arg(long, value_name = "LOW..HIGH", requires = "fixels", value_parser = range, allow_hyphen_values = true)]
    pub fixel_range: Option<(f32, f32)>,
    /// Draw only fixels with values between these limits
    #[arg(long, value_name = "LOW..HIGH", requires = "fixels", value_parser = range, allow_hyphen_values = true)]
    pub fixel_limits: Option<(f32, f32)>,
}

/// The length of the lines of peaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum PeakLength {
    /// The full length at the high end of the layer's range
    Value,
    /// All the same
    Same,
}

/// The colour of the lines of peaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum PeakColour {
    /// Red along left–right, green along back–front, blue along bottom–top
    Direction,
    /// The colour map of the layer
    Value,
}

/// The glyphs of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum GlyphKind {
    /// Ellipsoids of tensors
    Ellipsoids,
    /// Superquadrics of tensors, whose edges distinguish shapes
    Superquadrics,
    /// Fibre orientation distributions of a session
    Distributions,
    /// Lines along the peaks of an image with three volumes per peak
    Peaks,
}

/// Opens a path, and returns its fixels; `None` if it has none. Fixels that were open before are other ones, even if they
/// lie above.
fn opened(path: &Path, window: &mut Headless) -> Result<Option<Arc<Layer>>, Failure> {
    let layers = window.state.document.layers.iter();
    let before: Vec<LayerId> = layers.map(|layer| layer.id).collect();
    window.act(FilesAction::Open(vec![path.to_owned()]))?;
    let document = &window.state.document;
    let is_opened = |layer: &&Arc<Layer>| {
        let volume = layer.content.volume();
        let is_fixels = volume.is_some_and(|volume| volume.fixels.is_some());
        // A file that is opened with another reading replaces its layer.
        is_fixels && (!before.contains(&layer.id) || document.path(layer) == Some(path))
    };
    Ok(document.layers.iter().rev().find(is_opened).cloned())
}

impl GlyphOptions {
    /// Opens the fixels, which are then shown.
    pub fn open(&self, window: &mut Headless) -> Result<(), Failure> {
        let Some(path) = &self.fixels else {
            return Ok(());
        };
        let Some(layer) = opened(path, window)? else {
            return Err(Failure::new(format!(
                "Found no fixels, expected a folder with index and directions, or a list of values in it; name one of these: {}",
                path.display()
            )));
        };
        self.must_have_values(path, &layer)?;
        let limits = self.fixel_limits.or(layer.display.overlay.limits);
        let display = Display {
            window: self.fixel_range.unwrap_or(layer.display.window),
            overlay: Overlay {
                limits,
                ..layer.display.overlay.clone()
            },
            ..layer.display.clone()
        };
        window.act(LayerAction::SetDisplay {
            layer: layer.id,
            display,
            phase: Phase::Done,
        })
    }

    /// Refuses options of values for fixels that have none.
    fn must_have_values(&self, path: &Path, layer: &Layer) -> Result<(), Failure> {
        let given = [
            ("--fixel-range", self.fixel_range.is_some()),
            ("--fixel-limits", self.fixel_limits.is_some()),
            (
                "--peak-colour value",
                self.peak_colour == Some(PeakColour::Value),
            ),
        ];
        let fixels = layer.content.volume().and_then(|v| v.fixels.as_ref());
        let option = given.iter().find(|(_, is_given)| *is_given);
        match (option, fixels) {
            (Some((option, _)), Some(fixels)) if !fixels.has_values() => {
                Err(Failure::new(format!(
                    "Found fixels without values, expected a list of values for {option}; name a list of this folder, or leave {option} out: {}",
                    path.display()
                )))
            }
            _ => Ok(()),
        }
    }

    /// Shows the glyphs, if there is anything that they can show.
    pub fn apply(&self, window: &mut Headless) -> Result<(), Failure> {
        self.show(window)?;
        let mut look = window.state.view.glyphs;
        if self.fixels.is_some()
            && let Some(layer) = window.state.document.shown_peaks(look.peaks).cloned()
        {
            // The option --show may have hidden it.
            reveal(&layer, window)?;
        }
        look.peaks.same_length = match self.peak_length {
            Some(length) => length == PeakLength::Same,
            None => look.peaks.same_length,
        };
        look.peaks.by_value = match self.peak_colour {
            Some(colour) => colour == PeakColour::Value,
            None => look.peaks.by_value,
        };
        if look != window.state.view.glyphs {
            window.act(ViewAction::SetGlyphs(look))?;
        }
        let is_peaks = look.shown && look.content == GlyphContent::Peaks;
        if let Some(thinned) = scene::thinned_peaks(&window.state).filter(|_| is_peaks) {
            note!(
                "More than {} lines: those of {} of {} voxels on the slices are drawn, one in {} along each axis",
                TensorGlyphs::MAXIMUM_COUNT,
                thinned.drawn,
                thinned.requested,
                thinned.every
            );
        }
        Ok(())
    }

    fn show(&self, window: &mut Headless) -> Result<(), Failure> {
        let Some(kind) = self.glyphs else {
            return Ok(());
        };
        let content = match kind {
            GlyphKind::Distributions => GlyphContent::Distributions,
            GlyphKind::Peaks => GlyphContent::Peaks,
            GlyphKind::Ellipsoids | GlyphKind::Superquadrics => GlyphContent::Tensors,
        };
        if window.state.document.glyph_content(content) != Some(content) {
            return Err(Failure::usage(match content {
                GlyphContent::Tensors => {
                    "Found no tensors for glyphs, expected a scan with its gradients; add one, or leave --glyphs out"
                }
                GlyphContent::Distributions => {
                    "Found no distributions for glyphs, expected a session with them; open one, or leave --glyphs out"
                }
                GlyphContent::Peaks => {
                    "Found no peaks, expected an image with three volumes for each; add one, or leave --glyphs out"
                }
            }));
        }
        let look = window.state.view.glyphs;
        let scaled_by = match &self.glyph_scale {
            Some(name) => Some(image(name, window)?.id),
            None => look.scaled_by,
        };
        let shape = match kind {
            GlyphKind::Superquadrics => GlyphShape::Superquadric,
            GlyphKind::Ellipsoids => GlyphShape::Ellipsoid,
            GlyphKind::Distributions | GlyphKind::Peaks => look.shape,
        };
        window.act(ViewAction::SetGlyphs(GlyphLook {
            shown: true,
            content,
            place: GlyphPlace::Slices,
            shape,
            scaled_by,
            distributions: OdfLook {
                place: GlyphPlace::Slices,
                ..look.distributions
            },
            ..look
        }))
    }
}
