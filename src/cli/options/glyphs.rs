//! Options of glyphs of tensors, distributions and peaks.

use super::super::headless::Headless;
use super::super::runner::Failure;
use super::shapes::image;
use crate::scene::draw_list::GlyphShape;
use crate::state::ViewAction;
use crate::state::core::glyph_look::{GlyphContent, GlyphLook, GlyphPlace, OdfLook};

#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Glyphs")]
pub struct GlyphOptions {
    /// Draw a glyph in each voxel of the slices
    #[arg(long, value_enum)]
    pub glyphs: Option<GlyphKind>,
    /// Image by whose value glyphs are smaller: from nothing at the low end of its range to the full size at its high end
    #[arg(long, value_name = "LAYER", requires = "glyphs")]
    pub glyph_scale: Option<String>,
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

impl GlyphOptions {
    /// Shows the glyphs, if there is anything that they can show.
    pub fn apply(&self, window: &mut Headless) -> Result<(), Failure> {
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
