//! What a pane shows, as plain values: built from the state, consumed by the renderer.
//!
//! Equal lists give equal pixels, so a pane is drawn again only when its list changed.

use crate::data::appearance::ColourMap;
pub use crate::data::appearance::{Colours, GlyphShape, Interpolation, LineStyle, Transfer};
use crate::data::{BrickImage, Mask, TensorField, Tractogram, Volume};
use glam::{DMat4, DVec3};

/// One slice view: images cut by a plane, streamlines near it.
#[derive(Clone, PartialEq, Debug)]
pub struct SlicePane {
    pub size_px: [u32; 2],
    /// Physical pixels per logical one: widths of lines are multiplied by it.
    pub scale: f32,
    /// World mm of the centre of the top-left pixel.
    pub origin: DVec3,
    /// World mm from one pixel to the next, to the right and down.
    pub right: DVec3,
    pub down: DVec3,
    /// Bottom to top.
    pub images: Vec<Image>,
    /// Over the images.
    pub contours: Vec<Contour>,
    pub lines: Vec<Lines>,
    /// Streamlines are drawn where they are within half of this of the plane, mm.
    pub slab_mm: f64,
    /// Over all else.
    pub glyphs: Option<TensorGlyphs>,
}

/// The 3-D view.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenePane {
    pub size_px: [u32; 2],
    /// Physical pixels per logical one: widths of lines are multiplied by it.
    pub scale: f32,
    /// Reverse depth is not used: depth 0 near, 1 far (wgpu's clip space, y up).
    pub clip_from_world: DMat4,
    /// World position of the eye, for lighting.
    pub eye: DVec3,
    /// sRGB.
    pub background: [u8; 3],
    pub slices: Vec<SliceQuad>,
    pub outline: Option<Outline>,
    pub lines: Vec<Lines>,
    /// Only what lies within it is drawn of the lines.
    pub slab: Option<Slab>,
    pub solids: Vec<Solid>,
    /// Opaque surfaces among them hide what is behind wherever they are; clouds that cross each other
    /// are drawn one after the other, as listed, each over those before.
    pub volumes: Vec<VolumeDraw>,
    /// As volumes that come after those.
    pub surfaces: Vec<BrickSurface>,
    pub glyphs: Option<TensorGlyphs>,
    /// The view is moving: the renderer may take coarser steps.
    pub moving: bool,
}

impl ScenePane {
    /// What is ray-cast through space: volumes and surfaces.
    pub fn ray_cast(&self) -> usize {
        self.volumes.len() + self.surfaces.len()
    }
}

/// What is within `half_mm` of a plane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slab {
    /// World mm: a point of the plane, and its unit normal.
    pub at: DVec3,
    pub normal: DVec3,
    pub half_mm: f64,
}

/// One image layer with its display.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    pub volume: ById<Volume>,
    pub frame: usize,
    /// Values shown as the first and last colour; ignored for RGB volumes.
    pub window: (f32, f32),
    pub colour_map: ColourMap,
    /// 0..1.
    pub opacity: f32,
    pub interpolation: Interpolation,
    /// RGB volumes are multiplied by this.
    pub brightness: f32,
    /// Voxels where this volume (FA) is below the limit are not drawn.
    pub hide_below: Option<(ById<Volume>, f32)>,
    /// Scalars below the window's low end are transparent (overlays), not the first colour.
    pub transparent_below: bool,
    /// Scalars fade out towards the window's high end, and above it nothing is drawn.
    pub fades: bool,
}

/// Lines of equal value on a slice.
#[derive(Clone, PartialEq, Debug)]
pub struct Contour {
    pub of: ContourOf,
    pub level: f32,
    /// At every multiple of this, but 0, instead of the level.
    pub every: Option<f32>,
    /// sRGB.
    pub colour: [u8; 3],
    /// 0..1.
    pub opacity: f32,
    /// Logical pixels.
    pub width_px: f32,
}

/// What is linearly interpolated between voxels.
#[derive(Clone, PartialEq, Debug)]
pub enum ContourOf {
    /// Its first frame.
    Image(ById<Volume>),
    Bricks(ById<BrickImage>),
}

/// A textured rectangle in 3-D; only where some image is not transparent. What lies outside `cut_out`, or
/// without one the black background, is discarded so that slices look like cut anatomy; of directions what
/// is black within it, too.
#[derive(Clone, PartialEq, Debug)]
pub struct SliceQuad {
    /// World mm: corner, and the two edges.
    pub origin: DVec3,
    pub edge_u: DVec3,
    pub edge_v: DVec3,
    pub images: Vec<Image>,
    /// Over the images.
    pub contours: Vec<Contour>,
    pub cut_out: Option<ById<Mask>>,
}

/// A mask ray-cast as a soft rim: bright where the surface is seen edge-on, clear where face-on.
#[derive(Clone, PartialEq, Debug)]
pub struct Outline {
    pub mask: ById<Mask>,
    /// sRGB.
    pub colour: [u8; 3],
    pub opacity: f32,
}

/// A scalar image ray-cast through its own voxels, on whatever affine grid they are. What is not a
/// number is not there: nothing is interpolated between it and a number.
#[derive(Clone, PartialEq, Debug)]
pub struct VolumeDraw {
    pub volume: ById<Volume>,
    pub frame: usize,
    /// Values at the transfer function's 0 and 1; beyond them it goes on as at its ends.
    pub window: (f32, f32),
    pub transfer: Transfer,
    /// The transfer function's opacities are those of a layer this thick.
    pub reference_mm: f32,
    pub style: VolumeStyle,
    pub interpolation: Interpolation,
    /// Lit where the value changes.
    pub lit: bool,
    pub cut: Option<CutAway>,
    pub inside: Option<Inside>,
    pub fade: Option<Fade>,
}

/// The surface φ = 0 of a level set, ray-cast through the bricks that hold it.
#[derive(Clone, PartialEq, Debug)]
pub struct BrickSurface {
    pub phi: ById<BrickImage>,
    /// sRGB.
    pub colour: [u8; 3],
    /// 0..1, the same at any thickness.
    pub opacity: f32,
    pub lit: bool,
    pub fade: Option<Fade>,
}

/// Opacity by the distance to planes: all of it there, and none from so far on to either side.
#[derive(Clone, PartialEq, Debug)]
pub struct Fade {
    /// At most [`CutAway::MOST`]; the distance is that to where what is before all of them begins.
    pub planes: Vec<CutPlane>,
    pub reach_mm: f32,
}

/// A surface within which a volume is shown as it is.
#[derive(Clone, PartialEq, Debug)]
pub struct Inside {
    pub phi: ById<BrickImage>,
    /// What is left of a cloud's density outside, 0..1.
    pub outside: f32,
    /// sRGB of the surface's crossing with cut faces.
    pub line: [u8; 3],
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum VolumeStyle {
    Cloud,
    /// Where the image has this value.
    Surface {
        level: f32,
        /// What is inside has lower values, not higher ones.
        below: bool,
        /// sRGB.
        colour: [u8; 3],
        /// 0..1, the same at any thickness.
        opacity: f32,
    },
}

/// What of a volume is not drawn: all that is in front of all planes.
#[derive(Clone, PartialEq, Debug)]
pub struct CutAway {
    /// At most [`CutAway::MOST`].
    pub planes: Vec<CutPlane>,
    /// The planes show the image itself.
    pub face: Option<CutFace>,
}

impl CutAway {
    pub const MOST: usize = 3;
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CutPlane {
    /// World mm.
    pub at: DVec3,
    /// To the front, which goes.
    pub normal: DVec3,
}

/// How a plane shows the image that it cuts.
#[derive(Clone, PartialEq, Debug)]
pub struct CutFace {
    pub window: (f32, f32),
    pub colour_map: ColourMap,
    pub opacity: f32,
    /// Only within it; without one, only where the image is not black.
    pub within: Option<ById<Mask>>,
}

/// Tensors as glyphs, of the voxels that planes cross, coloured by direction.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorGlyphs {
    pub tensors: ById<TensorField>,
    pub place: GlyphPlace,
    pub shape: GlyphShape,
    /// Longest axis over a voxel's edge.
    pub size: f32,
    /// One voxel in so many, along each axis of a plane, or of the grid.
    pub every: usize,
}

impl TensorGlyphs {
    /// As many as fit the smallest buffers.
    pub const MOST: usize = 1_000_000;
}

/// Which tensors are drawn.
#[derive(Clone, PartialEq, Debug)]
pub enum GlyphPlace {
    /// Of the voxels that these cross.
    Planes(Vec<CutPlane>),
    /// Where one of these images is at most so much at the nearest voxel.
    Below(Vec<(ById<Volume>, f32)>),
}

/// Streamlines with their display.
#[derive(Clone, PartialEq, Debug)]
pub struct Lines {
    pub tractogram: ById<Tractogram>,
    pub colour: LineColour,
    pub style: LineStyle,
    /// 0..1.
    pub opacity: f32,
    /// Draw one streamline in this many (1 draws all).
    pub every: usize,
    /// In the 3-D view other lines and solids are drawn over these, wherever they are: what these
    /// show must not hide what they are the background of.
    pub context: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum LineColour {
    /// abs(tangent) as red (x), green (y), blue (z).
    Direction,
    /// One sRGB colour.
    Fixed([u8; 3]),
    /// A `per_point` value (or, if there is none of that name, `per_streamline`) through a map.
    Scalar {
        name: String,
        range: (f32, f32),
        colour_map: ColourMap,
    },
}

/// A region in 3-D.
#[derive(Clone, PartialEq, Debug)]
pub struct Solid {
    pub shape: SolidShape,
    /// sRGB.
    pub colour: [u8; 3],
    /// 0..1.
    pub opacity: f32,
    pub selected: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SolidShape {
    Sphere { centre: DVec3, radius_mm: f64 },
    Box { centre: DVec3, half_mm: DVec3 },
    Mask(ById<Mask>),
}

/// A value compared by its id: equal ids are equal values, since data never changes.
#[derive(Clone, Debug)]
pub struct ById<T>(pub T);

macro_rules! compare_by_id {
    ($($t:ty),*) => { $(impl PartialEq for ById<$t> {
        fn eq(&self, other: &Self) -> bool {
            self.0.id() == other.0.id()
        }
    })* };
}
compare_by_id!(Volume, BrickImage, Mask, Tractogram, TensorField);
