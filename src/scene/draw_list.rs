//! Content of a pane as plain values: built from the state, consumed by the renderer.
//!
//! Equal lists give equal pixels, so a pane is drawn again only when its list changed.

mod peaks;

use crate::data::appearance::ColourMap;
pub use crate::data::appearance::{
    Colours, GlyphShape, Interpolation, LineStyle, Transfer, TransferShape,
};
pub use crate::data::clip::{Clip, ClipShape};
pub use crate::data::joint_histogram::DerivedValue;
use crate::data::{BrickImage, Mask, OdfField, TensorField, Tractogram, Volume};
use glam::{DMat4, DVec3};
pub use peaks::{PeakColours, PeakGlyphs, PeakLimits};

/// One slice view: images cut by a plane, and streamlines near it.
#[derive(Clone, PartialEq, Debug)]
pub struct SlicePane {
    pub size_px: [u32; 2],
    /// Physical pixels per logical one: line widths are multiplied by it.
    pub scale: f32,
    /// World mm of the centre of the top-left pixel.
    pub origin: DVec3,
    /// World mm from one pixel to the next, to the right and down.
    pub right: DVec3,
    pub down: DVec3,
    /// Bottom to top.
    pub images: Vec<Image>,
    /// How many of the images, the topmost ones, cover the lines of the context: results, which these must not hide.
    pub images_above: usize,
    /// Drawn over the images.
    pub contours: Vec<Contour>,
    pub lines: Vec<Lines>,
    /// Drawn over the lines.
    pub ends: Vec<EndMarks>,
    /// Streamlines are drawn within half of this distance of the plane, mm.
    pub slab_mm: f64,
    /// Drawn over everything else.
    pub glyphs: Option<Glyphs>,
}

/// The 3-D view.
#[derive(Clone, PartialEq, Debug)]
pub struct ScenePane {
    pub size_px: [u32; 2],
    /// Physical pixels per logical one: line widths are multiplied by it.
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
    pub ends: Vec<EndMarks>,
    /// Lines and marks are drawn only within the slab.
    pub slab: Option<Slab>,
    pub solids: Vec<Solid>,
    /// Opaque surfaces among them hide everything behind them; clouds that cross each other are drawn one after the
    /// other in the listed order, each over those before.
    pub volumes: Vec<VolumeDraw>,
    /// Treated as volumes after those.
    pub surfaces: Vec<BrickSurface>,
    pub glyphs: Option<Glyphs>,
    /// How far objects at the far end of the scene take the colour of the background, 0..1.
    pub depth_cue: f32,
    pub clips: Clips,
    /// The view is moving: the renderer may take coarser steps.
    pub moving: bool,
}

/// Planes and boxes that hide parts of each kind of objects; glyphs have their own.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Clips {
    /// Clips of clouds and projections.
    pub volumes: Vec<Clip>,
    /// Clips of surfaces, and of regions.
    pub surfaces: Vec<Clip>,
    /// Clips of streamlines and their end marks.
    pub streamlines: Vec<Clip>,
}

impl Clips {
    /// Largest number of clips of one kind.
    pub const MAX_COUNT: usize = 6;
}

impl ScenePane {
    /// Number of ray-cast objects: volumes and surfaces.
    pub fn ray_cast(&self) -> usize {
        self.volumes.len() + self.surfaces.len()
    }
}

/// The space within `half_mm` of a plane.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slab {
    /// World mm: a point of the plane, and its unit normal.
    pub point: DVec3,
    pub normal: DVec3,
    pub half_mm: f64,
}

/// One image layer with its display.
#[derive(Clone, PartialEq, Debug)]
pub struct Image {
    pub volume: ById<Volume>,
    pub frame: usize,
    /// Values displayed as the first and last colour; ignored for RGB volumes.
    pub window: (f32, f32),
    pub colour_map: ColourMap,
    /// 0..1.
    pub opacity: f32,
    pub interpolation: Interpolation,
    /// RGB volumes are multiplied by this.
    pub brightness: f32,
    /// Voxels in which this volume (FA) is below the limit are not drawn.
    pub hide_below: Option<(ById<Volume>, f32)>,
    /// Scalars below the window's low end are transparent (overlays), not the first colour.
    pub transparent_below: bool,
    /// Scalars fade out towards the window's high end, and are not drawn above it.
    pub fades: bool,
    /// Scalars outside these limits are transparent.
    pub limits: Option<(f32, f32)>,
    /// The limits, and the opacity by value, are those of absolute values.
    pub is_symmetric: bool,
    /// The opacity of scalars rises with the value: from 0 at the window's low end, or of absolute values from 0.
    pub opacity_by_value: bool,
    /// A label map shows only the outlines of its labels.
    pub is_outlined: bool,
}

/// Lines of equal value on a slice.
#[derive(Clone, PartialEq, Debug)]
pub struct Contour {
    pub source: ContourSource,
    pub level: f32,
    /// At every multiple of this except 0, instead of the level.
    pub every: Option<f32>,
    /// sRGB.
    pub colour: [u8; 3],
    /// 0..1.
    pub opacity: f32,
    /// Logical pixels.
    pub width_px: f32,
    /// Whether the line is dashed.
    pub dashed: bool,
}

/// Values to contour, linearly interpolated between voxels.
#[derive(Clone, PartialEq, Debug)]
pub enum ContourSource {
    /// The image's first frame.
    Image(ById<Volume>),
    Bricks(ById<BrickImage>),
}

/// A textured rectangle in 3-D; drawn only where some image is not transparent. Pixels outside `cut_out`, or without
/// one the black background, are discarded so that slices look like cut anatomy; for directions also black pixels
/// within it.
#[derive(Clone, PartialEq, Debug)]
pub struct SliceQuad {
    /// World mm: corner, and the two edges.
    pub origin: DVec3,
    pub edge_u: DVec3,
    pub edge_v: DVec3,
    pub images: Vec<Image>,
    /// Drawn over the images.
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

/// A scalar image ray-cast through its own voxels, on any affine grid. Missing values (NaN) are not drawn: nothing is
/// interpolated between them and a number.
#[derive(Clone, PartialEq, Debug)]
pub struct VolumeDraw {
    pub volume: ById<Volume>,
    pub frame: usize,
    /// Values at the transfer function's 0 and 1; beyond them it continues as at its ends.
    pub window: (f32, f32),
    pub transfer: Transfer,
    /// Thickness of a layer that has the transfer function's opacities.
    pub reference_mm: f32,
    pub style: VolumeStyle,
    pub interpolation: Interpolation,
    /// Shaded where the value changes.
    pub lit: bool,
    pub cut: Option<CutAway>,
    pub inside: Option<Inside>,
    pub fade: Option<Fade>,
    /// Colours of a surface by another image, instead of one colour.
    pub coloured_by: Option<SurfaceColours>,
    /// Replaces the transfer function of a cloud.
    pub shapes: Option<ShapedTransfer>,
}

/// A transfer function of two values.
#[derive(Clone, PartialEq, Debug)]
pub struct ShapedTransfer {
    pub second: SecondSource,
    /// Values at 0 and 1 of the shapes' second axis.
    pub window: (f32, f32),
    /// A value that limits the shapes, with the values at 0 and 1 of these limits.
    pub third: Option<(DerivedValue, (f32, f32))>,
    pub shapes: Vec<TransferShape>,
}

/// Where the second value of a transfer function comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum SecondSource {
    /// Gradient magnitude of the image itself, units per mm.
    Gradient,
    /// Mean curvature of the surface of constant value, 1/mm; nothing is drawn where the image is flat.
    Curvature,
    /// Another image; nothing is drawn outside its grid.
    Image(ById<Volume>),
}

/// Colours of a surface by the values of another image at its points. A cut face that a mask limits excludes them.
#[derive(Clone, PartialEq, Debug)]
pub struct SurfaceColours {
    /// Beyond its grid, the values at its edge continue.
    pub image: ById<Volume>,
    /// Values of the first and the last colour. Missing values have the first one: of distances, the shortest.
    pub window: (f32, f32),
    pub colour_map: ColourMap,
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
    /// Colours by an image, instead of one colour.
    pub coloured_by: Option<SurfaceColours>,
}

/// Opacity by the distance from planes: full at the planes, and zero beyond a distance on either side.
#[derive(Clone, PartialEq, Debug)]
pub struct Fade {
    /// At most [`CutAway::MAXIMUM_PLANES`]; the distance is that to the start of the part in front of all of them.
    pub planes: Vec<CutPlane>,
    pub reach_mm: f32,
}

/// A surface inside which a volume keeps its opacity.
#[derive(Clone, PartialEq, Debug)]
pub struct Inside {
    pub phi: ById<BrickImage>,
    /// Fraction of a cloud's density that remains outside, 0..1.
    pub outside: f32,
    /// sRGB of the line where the surface crosses cut faces.
    pub line: [u8; 3],
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum VolumeStyle {
    Cloud,
    /// The isosurface at this value.
    Surface {
        level: f32,
        /// The inside has lower values, not higher ones.
        below: bool,
        /// sRGB.
        colour: [u8; 3],
        /// 0..1, the same at any thickness.
        opacity: f32,
    },
    /// The largest value along each ray, in the colours of the transfer function over the window; a single colour is that
    /// of the window's high end, from black. Values at or below the window's low end do not count.
    Projection {
        /// The smallest value instead.
        smallest: bool,
        /// 0..1.
        opacity: f32,
    },
}

/// The part of a volume that is not drawn: everything in front of all planes.
#[derive(Clone, PartialEq, Debug)]
pub struct CutAway {
    /// At most [`CutAway::MAXIMUM_PLANES`].
    pub planes: Vec<CutPlane>,
    /// The planes show the image itself.
    pub face: Option<CutFace>,
}

impl CutAway {
    pub const MAXIMUM_PLANES: usize = 3;
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CutPlane {
    /// World mm.
    pub point: DVec3,
    /// Towards the front, which is cut away.
    pub normal: DVec3,
}

/// How a plane shows the image that it cuts.
#[derive(Clone, PartialEq, Debug)]
pub struct CutFace {
    pub window: (f32, f32),
    pub colour_map: ColourMap,
    pub opacity: f32,
    /// Shown only within this mask; without one, only where the image is not black.
    pub mask: Option<ById<Mask>>,
}

/// Sizes of glyphs by the value of an image at their centres: from nothing at the low end of the window to the full size
/// at its high end, and above it.
#[derive(Clone, PartialEq, Debug)]
pub struct GlyphScale {
    pub image: ById<Volume>,
    pub frame: usize,
    pub window: (f32, f32),
}

impl GlyphScale {
    /// The size at a world position relative to the full one, 0..1; 0 where the image has no value.
    pub fn factor(&self, at: DVec3) -> f32 {
        let (low, high) = self.window;
        let value = self.image.0.nearest(self.frame, at);
        match value.filter(|v| v.is_finite()) {
            Some(value) if high > low => ((value - low) / (high - low)).clamp(0.0, 1.0),
            Some(value) if value > low => 1.0,
            _ => 0.0,
        }
    }

    /// The full size without an image.
    pub fn factor_or_full(scale: Option<&Self>, at: DVec3) -> f32 {
        scale.map_or(1.0, |scale| scale.factor(at))
    }
}

/// Content of a voxel, drawn as a shape coloured by direction.
#[derive(Clone, PartialEq, Debug)]
pub enum Glyphs {
    Tensors(TensorGlyphs),
    Odfs(OdfGlyphs),
    Peaks(PeakGlyphs),
}

/// Fibre orientation distributions as surfaces: the distance from the centre is the amplitude.
#[derive(Clone, PartialEq, Debug)]
pub struct OdfGlyphs {
    pub field: ById<OdfField>,
    pub place: GlyphPlace,
    /// Diameter of the largest surface relative to a voxel's edge.
    pub size: f32,
    /// One voxel in this many, along each axis of a plane, or of the grid.
    pub every: usize,
    /// The amplitude with the full size; `None`: the peak of each distribution has it.
    pub full_amplitude: Option<f32>,
    /// Distributions whose peak is lower are not drawn.
    pub min_peak: f32,
    /// Glyphs whose full size is at least this many pixels on screen are ray-cast instead of drawn as meshes.
    pub cast_from_px: f32,
    /// Glyphs whose centres one of these hides are not drawn.
    pub clips: Vec<Clip>,
    /// `None`: all have the full size.
    pub scale: Option<GlyphScale>,
}

impl OdfGlyphs {
    /// Default size from which glyphs are ray-cast; on smaller ones, the edges of a mesh do not show.
    pub const CAST_FROM_PX: f32 = 200.0;
    /// The largest number that fits the smallest buffers.
    pub const MAX_COUNT: usize = 100_000;
}

/// Tensors as glyphs, in the voxels that planes cross, coloured by direction.
#[derive(Clone, PartialEq, Debug)]
pub struct TensorGlyphs {
    pub tensors: ById<TensorField>,
    pub place: GlyphPlace,
    pub shape: GlyphShape,
    /// Length of the longest axis relative to a voxel's edge.
    pub size: f32,
    /// One voxel in this many, along each axis of a plane, or of the grid.
    pub every: usize,
    /// Glyphs whose centres one of these hides are not drawn.
    pub clips: Vec<Clip>,
    /// `None`: all have the full size.
    pub scale: Option<GlyphScale>,
}

impl TensorGlyphs {
    /// The largest number that fits the smallest buffers.
    pub const MAXIMUM_COUNT: usize = 1_000_000;
}

/// The voxels whose glyphs are drawn.
#[derive(Clone, PartialEq, Debug)]
pub enum GlyphPlace {
    /// In the voxels that these planes cross.
    Planes(Vec<CutPlane>),
    /// Where one of these images is at most this value at the nearest voxel.
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
    /// In the 3-D view other lines and solids are drawn over these, wherever they are, and on slices the images of
    /// results: a background must not hide its foreground.
    pub context: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum LineColour {
    /// abs(tangent) as red (x), green (y), blue (z).
    Direction,
    /// One sRGB colour.
    Fixed([u8; 3]),
    /// A `per_point` value (or, if there is none of that name, `per_streamline`) through a colour map.
    Scalar {
        name: String,
        range: (f32, f32),
        colour_map: ColourMap,
        /// The range is divided by the logarithm; its ends are positive.
        logarithmic: bool,
        /// Parts with other values, and those without a value, are not drawn.
        limits: Option<(f32, f32)>,
    },
    /// Values that are colours, 65536 red + 256 green + blue.
    Packed { name: String },
}

impl LineColour {
    /// The name of the values that it shows.
    pub fn values(&self) -> Option<&str> {
        match self {
            Self::Scalar { name, .. } | Self::Packed { name } => Some(name),
            Self::Direction | Self::Fixed(_) => None,
        }
    }

    /// Whether some of the parts may be hidden.
    pub fn has_limits(&self) -> bool {
        matches!(
            self,
            Self::Scalar {
                limits: Some(_),
                ..
            }
        )
    }
}

/// Marks at both ends of streamlines, of a fixed size on screen, chosen by a value of each end.
#[derive(Clone, PartialEq, Debug)]
pub struct EndMarks {
    pub tractogram: ById<Tractogram>,
    /// Names of the values per streamline of its first and last point.
    pub values: [&'static str; 2],
    /// Mark of each value; ends with other values have none.
    pub marks: Vec<Option<Mark>>,
    /// 0..1.
    pub opacity: f32,
    /// Mark one streamline in this many (1 marks all).
    pub every: usize,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mark {
    pub shape: MarkShape,
    /// sRGB.
    pub colour: [u8; 3],
    /// Radius of a disc of the same area, logical pixels.
    pub radius_px: f32,
}

/// A shape that is recognised without its colour. The numbers are those of the shader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum MarkShape {
    Disc = 0,
    /// A square that stands on a corner.
    Diamond = 1,
    Square = 2,
    /// Points up.
    Triangle = 3,
}

impl MarkShape {
    /// Distance of a diamond's corners from the middle, for the area of a disc of radius 1: √(π/2).
    pub const DIAMOND: f32 = 1.2533;
    /// Half the side of a square of this area: √π/2.
    pub const SQUARE: f32 = 0.8862;
    /// Distance of the sides of a triangle of this area from its middle: √(π/(3√3)).
    pub const TRIANGLE: f32 = 0.7776;

    /// Its corners, x to the right and y up, for the area of a disc of radius 1; none of a disc.
    pub fn corners(self) -> Vec<[f32; 2]> {
        let (d, s, t) = (Self::DIAMOND, Self::SQUARE, Self::TRIANGLE);
        match self {
            Self::Disc => Vec::new(),
            Self::Diamond => vec![[0.0, d], [d, 0.0], [0.0, -d], [-d, 0.0]],
            Self::Square => vec![[-s, s], [s, s], [s, -s], [-s, -s]],
            Self::Triangle => {
                let half = t * 3f32.sqrt();
                vec![[0.0, 2.0 * t], [half, -t], [-half, -t]]
            }
        }
    }
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

/// A value compared by its id: equal ids mean equal values, since data never changes.
#[derive(Clone, Debug)]
pub struct ById<T>(pub T);

macro_rules! compare_by_id {
    ($($t:ty),*) => { $(impl PartialEq for ById<$t> {
        fn eq(&self, other: &Self) -> bool {
            self.0.id() == other.0.id()
        }
    })* };
}
compare_by_id!(Volume, BrickImage, Mask, Tractogram, TensorField, OdfField);
