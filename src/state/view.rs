//! Where the user looks: task, layout, crosshair, planes and camera.

use crate::data::Role;
use crate::data::keyed;
use crate::solvers::curves::StopReason;
use crate::state::core::camera::Camera;
use crate::state::core::glyph_look::GlyphLook;
use crate::state::core::pane::Pane;
use crate::state::core::phase::Phase;
use crate::state::core::slice_turn::{Commissures, SliceTurn, last_within};
use crate::state::core::task::Task;
use crate::state::core::viewpoint::NamedViewpoint;
pub use crate::state::core::viewpoint::{SliceCamera, Viewpoint};
use crate::state::regions::types::Drawing;
use crate::state::streamlines::{BottomPanel, TableView};
use glam::{DVec2, DVec3};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Axial and sagittal above, coronal and 3-D below.
    Grid,
    /// A large 3-D view, with three slices next to it.
    SceneFirst,
    /// One pane.
    Single,
    /// Slices of one orientation in rows.
    Mosaic,
    /// A slice of the image next to the same slice of the speeds, 3-D below.
    SpeedComparison,
}

keyed!(Layout, serde {
    Grid = "grid",
    SceneFirst = "scene_first",
    Single = "single",
    Mosaic = "mosaic",
    SpeedComparison = "speed_comparison",
});

/// The part of streamlines that the 3-D view shows: only near a slice.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Slab {
    /// The slice view whose plane defines it.
    pub pane: Pane,
    pub thickness_mm: f64,
}

impl Slab {
    pub const DEFAULT_MM: f64 = 10.0;
    pub const LIMITS_MM: std::ops::RangeInclusive<f64> = 0.1..=500.0;

    pub fn is_valid(&self) -> bool {
        self.pane != Pane::Scene && Self::LIMITS_MM.contains(&self.thickness_mm)
    }
}

/// The side of the screen that shows the patient's right. A view switch, never a data flip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Convention {
    /// Patient right on screen left.
    Radiological,
    Neurological,
}

keyed!(Convention, serde {
    Radiological = "radiological",
    Neurological = "neurological",
});

impl Default for Convention {
    /// The patient's right on the left, as is customary in clinics.
    fn default() -> Self {
        Self::Radiological
    }
}

impl Convention {
    pub fn name(self) -> &'static str {
        match self {
            Self::Radiological => "Radiological",
            Self::Neurological => "Neurological",
        }
    }
}

/// The effect of the next click in a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    Crosshair,
    /// Place a sphere (or, with `cube`, a box) of this role.
    NewRegion {
        role: Role,
        cube: bool,
    },
    /// Add a sphere to the segmented surface, or cut one from it.
    Sphere {
        add: bool,
    },
    /// Sample values of the segmented image.
    Sample,
    /// Paint or erase voxels of the region being drawn.
    Brush,
    Rectangle,
    Polygon,
    /// Fill the voxels connected to a click.
    Fill,
    /// A region from the values of an image.
    Threshold,
    /// Grow, smooth or combine the selected region.
    Change,
    /// Regions of a label map.
    Labels,
    /// Select streamlines: by a click, or all within an outline.
    Pick,
    /// Measure a distance, or the angle at the second of three points.
    Ruler,
    Angle,
    /// Turn the slices by three points: the commissures and the midline.
    Commissures,
}

impl Tool {
    /// Whether the tool draws on a region.
    pub fn draws(self) -> bool {
        matches!(
            self,
            Self::Brush | Self::Rectangle | Self::Polygon | Self::Fill
        )
    }
}

/// The lists that open beside the views where the window is too narrow for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SideList {
    Layers,
    Regions,
    Crosshair,
}

keyed!(SideList, serde {
    Layers = "layers",
    Regions = "regions",
    Crosshair = "crosshair",
});

/// Parts of the window and of the views that are switched on and off.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Visibility {
    #[serde(rename = "show_crosshair")]
    pub crosshair: bool,
    #[serde(rename = "show_letters")]
    pub letters: bool,
    #[serde(rename = "show_panels")]
    pub panels: bool,
    #[serde(rename = "show_slices_in_scene")]
    pub slices_in_scene: bool,
    /// Whether the 3-D view shows slices in the tasks Track and Pathways, where they hide the results.
    #[serde(rename = "show_slices_with_tracks")]
    pub slices_with_tracks: bool,
    #[serde(rename = "show_outline")]
    pub outline: bool,
    /// Whether streamlines that miss the targets are shown, in grey.
    #[serde(rename = "show_missed")]
    pub missed: bool,
    /// The list that is open where the window is narrow.
    pub side_list: Option<SideList>,
    /// Height of the panel below the views, points.
    pub bottom_panel_height: f32,
    /// Background of the 3-D view, if it differs from the theme's; sRGB.
    #[serde(skip)]
    pub ground: Option<[u8; 3]>,
}

impl Default for Visibility {
    fn default() -> Self {
        Self {
            crosshair: true,
            letters: true,
            panels: true,
            slices_in_scene: true,
            slices_with_tracks: false,
            outline: true,
            missed: true,
            side_list: None,
            bottom_panel_height: 260.0,
            ground: None,
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct View {
    pub task: Task,
    pub layout: Layout,
    /// The pane of [`Layout::Single`] and [`Layout::Mosaic`], and of a maximised view.
    pub single: Pane,
    /// Distance between the slices of a mosaic, mm.
    pub mosaic_mm: f64,
    /// World mm.
    pub crosshair: DVec3,
    pub convention: Convention,
    /// Parts that are switched on and off.
    #[serde(flatten)]
    pub visible: Visibility,
    /// `None`: streamlines are shown whole.
    pub slab: Option<Slab>,
    /// Glyphs of tensors and distributions.
    pub glyphs: GlyphLook,
    /// The 3-D view shows only live curves with an end that stopped for this reason.
    pub stop: Option<StopReason>,
    pub tool: Tool,
    #[serde(default)]
    pub drawing: Drawing,
    /// Axial, sagittal, coronal: the order of [`Pane::ALL`].
    pub slices: [SliceCamera; 3],
    /// The rotation of all slices.
    #[serde(skip_serializing_if = "SliceTurn::is_straight")]
    pub turn: SliceTurn,
    pub camera: Camera,
    /// Viewpoints that the session keeps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<NamedViewpoint>,
    /// The camera is being dragged: pictures are coarser.
    #[serde(skip)]
    pub moving: bool,
    pub light_theme: bool,
    /// The panel below the views.
    pub bottom_panel: Option<BottomPanel>,
    pub table: TableView,
}

impl Default for View {
    fn default() -> Self {
        Self {
            task: Task::View,
            layout: Layout::Grid,
            single: Pane::Axial,
            mosaic_mm: Self::MOSAIC_MM,
            crosshair: DVec3::ZERO,
            convention: Convention::Radiological,
            visible: Visibility::default(),
            slab: None,
            glyphs: GlyphLook::default(),
            stop: None,
            tool: Tool::Crosshair,
            drawing: Drawing::default(),
            slices: [SliceCamera::default(); 3],
            turn: SliceTurn::STRAIGHT,
            camera: Camera::framing(DVec3::splat(-90.0), DVec3::splat(90.0)),
            named: Vec::new(),
            moving: false,
            light_theme: false,
            bottom_panel: None,
            table: TableView::default(),
        }
    }
}

impl View {
    pub const MOSAIC_MM: f64 = 8.0;
    pub const MOSAIC_LIMITS_MM: std::ops::RangeInclusive<f64> = 0.5..=100.0;
    /// Smaller slices would be illegible.
    pub const MAXIMUM_SLICES: usize = 120;
}

/// The plane of a slice view, with the pane's geometry: maps between pixels and the world.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plane {
    /// World mm at the pane's centre.
    pub centre: DVec3,
    /// Unit vectors of screen right and screen down in world axes.
    pub right: DVec3,
    pub down: DVec3,
    /// World mm per logical point.
    pub mm_per_point: f64,
    pub size: DVec2,
}

impl Plane {
    /// World point under a position (points from the pane's top left).
    pub fn world(&self, at: DVec2) -> DVec3 {
        let offset = (at - self.size * 0.5) * self.mm_per_point;
        self.centre + self.right * offset.x + self.down * offset.y
    }

    /// Position in the pane of a world point, projected along the normal.
    pub fn position(&self, world: DVec3) -> DVec2 {
        let d = world - self.centre;
        DVec2::new(d.dot(self.right), d.dot(self.down)) / self.mm_per_point + self.size * 0.5
    }

    pub fn normal(&self) -> DVec3 {
        self.right.cross(self.down)
    }

    /// Signed distance of a world point from the plane, mm.
    pub fn distance(&self, world: DVec3) -> f64 {
        (world - self.centre).dot(self.normal())
    }
}

impl View {
    pub fn viewpoint(&self) -> Viewpoint {
        Viewpoint {
            crosshair: self.crosshair,
            slices: self.slices,
            turn: self.turn,
            camera: self.camera,
        }
    }

    /// Looks from a viewpoint, with the crosshair within these bounds.
    pub fn look_from(&mut self, viewpoint: Viewpoint, (low, high): (DVec3, DVec3)) {
        let Viewpoint {
            crosshair,
            slices,
            turn,
            camera,
        } = viewpoint;
        self.crosshair = crosshair.clamp(low, high);
        (self.slices, self.turn, self.camera) = (slices, turn, camera);
        self.moving = false;
    }

    /// Position of a slice through the crosshair along its normal, mm, given the axis of the straight slice.
    pub fn place(&self, axis: usize) -> f64 {
        self.turn.straight_point(self.crosshair)[axis]
    }

    /// Moves the crosshair along the normal of a slice view, to this position.
    pub fn look_at_place(&mut self, axis: usize, place: f64) {
        let mut straight = self.turn.straight_point(self.crosshair);
        straight[axis] = place;
        self.crosshair = self.turn.point(straight);
    }

    /// The point of a slice view's plane nearest to a point, as far as the bounds allow.
    pub fn on_slice(&self, pane: Pane, world: DVec3, bounds: (DVec3, DVec3)) -> DVec3 {
        let (Some(axis), Some(normal)) = (pane.normal_axis(), self.normal(pane)) else {
            return world;
        };
        if self.turn.is_straight() {
            let mut world = world.clamp(bounds.0, bounds.1);
            world[axis] = self.crosshair[axis];
            return world;
        }
        let on_plane = world - normal * (world - self.crosshair).dot(normal);
        last_within(self.crosshair, on_plane, bounds)
    }

    /// The crosshair moved along the normal of a slice view, as far as the bounds allow.
    pub fn stepped_along(&self, pane: Pane, mm: f64, bounds: (DVec3, DVec3)) -> DVec3 {
        let Some(normal) = self.normal(pane) else {
            return self.crosshair;
        };
        match (self.turn.is_straight(), pane.normal_axis()) {
            (true, Some(axis)) => {
                let mut world = self.crosshair;
                world[axis] += mm;
                world.clamp(bounds.0, bounds.1)
            }
            _ => last_within(self.crosshair, self.crosshair + normal * mm, bounds),
        }
    }

    /// Whether the 3-D view shows the slices: as set in the task, and always while a region is placed or painted, since
    /// that is done on them.
    pub fn slices_in_scene(&self) -> bool {
        let switched_on = match self.task {
            Task::View | Task::Segment => self.visible.slices_in_scene,
            Task::Track | Task::Pathways | Task::Filter => self.visible.slices_with_tracks,
        };
        let placed_on = matches!(
            self.tool,
            Tool::NewRegion { .. } | Tool::Sphere { .. } | Tool::Brush
        );
        switched_on || placed_on
    }

    /// Unit normal of a slice view: along the world's axis if the slices are straight.
    pub fn normal(&self, pane: Pane) -> Option<DVec3> {
        Some(self.turn.direction(DVec3::AXES[pane.normal_axis()?]))
    }

    /// Screen right and screen down of a slice view in world axes.
    pub fn screen_axes(&self, pane: Pane) -> Option<(DVec3, DVec3)> {
        let (right, down) = self.straight_axes(pane)?;
        Some((self.turn.direction(right), self.turn.direction(down)))
    }

    /// Screen right and screen down of a straight slice.
    fn straight_axes(&self, pane: Pane) -> Option<(DVec3, DVec3)> {
        let towards_left = match self.convention {
            Convention::Radiological => DVec3::NEG_X,
            Convention::Neurological => DVec3::X,
        };
        match pane {
            Pane::Axial => Some((towards_left, DVec3::NEG_Y)),
            Pane::Coronal => Some((towards_left, DVec3::NEG_Z)),
            // Nose to the left in either convention.
            Pane::Sagittal => Some((DVec3::NEG_Y, DVec3::NEG_Z)),
            Pane::Scene => None,
        }
    }

    /// Zoom and pan of a slice view as set by the user.
    pub fn slice_camera(&self, pane: Pane) -> Option<SliceCamera> {
        let at = Pane::ALL.iter().position(|&p| p == pane)?;
        self.slices.get(at).copied()
    }

    /// The plane a slice view shows; `bounds` are those it frames, `size` the pane's in points.
    pub fn plane(&self, pane: Pane, bounds: (DVec3, DVec3), size: DVec2) -> Option<Plane> {
        // The scale is that of straight slices, so that a turn does not change it.
        let (right, down) = self.straight_axes(pane)?;
        let axis = pane.normal_axis()?;
        let slice = self.slice_camera(pane)?;
        let extent = bounds.1 - bounds.0;
        let fit = (extent.dot(right.abs()) / size.x.max(1.0))
            .max(extent.dot(down.abs()) / size.y.max(1.0));
        let mut centre = (bounds.0 + bounds.1) * 0.5 + slice.pan_mm;
        centre[axis] = self.place(axis);
        // 4 % of margin so that letters do not cover the head.
        let mm_per_point = (fit * 1.04 / slice.zoom).max(1e-6);
        Some(Plane {
            centre: self.turn.point(centre),
            right: self.turn.direction(right),
            down: self.turn.direction(down),
            mm_per_point,
            size,
        })
    }

    /// The plane nearest to the one that a slice view shows: its own unless the turn brings it nearer to another.
    pub fn shown_plane(&self, pane: Pane) -> Pane {
        let (Some(normal), Some(own)) = (self.normal(pane), pane.normal_axis()) else {
            return pane;
        };
        // Between two planes, such as at 45°, rounding must not rename the view.
        let other_is_nearer = normal.abs().max_element() > normal[own].abs() + 1e-9;
        match other_is_nearer {
            true => nearest_plane(normal),
            false => pane,
        }
    }

    /// The name of the plane that a slice view shows: `Axial`, or `Oblique coronal` by the axis nearest to the normal of a turned slice.
    pub fn slice_name(&self, pane: Pane) -> String {
        let normal = self.normal(pane).filter(|_| !self.turn.is_straight());
        let Some(normal) = normal else {
            return pane.name().to_owned();
        };
        let name = self.shown_plane(pane).name();
        match tilt_deg(normal) < STRAIGHT_DEG {
            true => name.to_owned(),
            false => format!("Oblique {}", name.to_lowercase()),
        }
    }

    /// The view of a slice that is named after another plane, because the turn brings it nearer to that: `axial view`.
    pub fn turned_view(&self, pane: Pane) -> Option<String> {
        let is_other = self.shown_plane(pane) != pane;
        is_other.then(|| format!("{} view", pane.name().to_lowercase()))
    }

    /// Letters at the pane's left, right, top and bottom edge: one each on straight slices.
    pub fn letters(&self, pane: Pane) -> Option<[String; 4]> {
        let (right, down) = self.screen_axes(pane)?;
        Some([-right, right, -down, down].map(letters))
    }
}

/// A slice tilted by less than this is named like a straight one, degrees.
pub const STRAIGHT_DEG: f64 = 0.05;

/// The slice view whose axis is nearest to a normal.
pub fn nearest_plane(normal: DVec3) -> Pane {
    let axis = Some(nearest_axis(normal));
    let mut panes = Pane::ALL.into_iter();
    panes
        .find(|pane| pane.normal_axis() == axis)
        .unwrap_or(Pane::Axial)
}

/// Angle between a unit normal and the nearest axis, degrees.
pub fn tilt_deg(normal: DVec3) -> f64 {
    let axis = nearest_axis(normal);
    let mut off = normal;
    off[axis] = 0.0;
    off.length().atan2(normal[axis].abs()).to_degrees()
}

/// Sine of the angle from which on a direction has a second letter: 5°.
const SECOND_LETTER: f64 = 0.087_155_742_747_658_17;

/// The anatomical letter of a direction, followed by that of the next nearest axis if it leans towards that: `R` or
/// `RA`.
pub fn letters(direction: DVec3) -> String {
    let nearest = letter(direction);
    let mut rest = direction;
    rest[nearest_axis(direction)] = 0.0;
    match rest.abs().max_element() >= SECOND_LETTER {
        true => String::from_iter([nearest, letter(rest)]),
        false => nearest.to_string(),
    }
}

/// The world axis nearest to a direction.
pub fn nearest_axis(direction: DVec3) -> usize {
    (0..3)
        .max_by(|&a, &b| direction[a].abs().total_cmp(&direction[b].abs()))
        .unwrap_or(0)
}

/// The anatomical letter of the world axis nearest to a direction.
pub fn letter(direction: DVec3) -> char {
    let axis = nearest_axis(direction);
    [['L', 'R'], ['P', 'A'], ['I', 'S']][axis][usize::from(direction[axis] >= 0.0)]
}

/// Actions on the views.
#[derive(Clone, Debug)]
pub enum ViewAction {
    SelectTask(Task),
    SetLayout(Layout),
    /// Orientation, and distance between slices in mm.
    SetMosaic(Pane, f64),
    /// Shows one pane alone, or returns to the grid.
    ToggleMaximised(Pane),
    MoveCrosshair(DVec3),
    /// Along a pane's normal, in voxels of the topmost visible image (or mm without one).
    StepSlice {
        pane: Pane,
        steps: i32,
    },
    SetSlice {
        pane: Pane,
        slice: SliceCamera,
    },
    SetCamera {
        camera: Camera,
        phase: Phase,
    },
    FrameAll,
    /// Turns all slices.
    TurnSlices(SliceTurn),
    /// Turns the slices so that the commissures lie as in the standard position, and looks at the anterior one.
    AlignToCommissures(Commissures),
    /// Places the next point of the tool that aligns the slices; with the third they turn.
    PlaceCommissure(DVec3),
    /// Takes the newest of these points back.
    TakeBackCommissure,
    /// Turns the slices back to the axes.
    StraightenSlices,
    Viewpoint(ViewpointAction),
    SetConvention(Convention),
    SetTool(Tool),
    ToggleCrosshair,
    ToggleLetters,
    TogglePanels,
    /// Opens a list beside the views where the window is narrow, or closes it.
    OpenList(Option<SideList>),
    ToggleSlicesInScene,
    ToggleOutline,
    /// The 3-D view shows only the parts of streamlines near a slice.
    CutToSlab(Option<Slab>),
    SetGlyphs(GlyphLook),
    /// Shows or hides glyphs as they were set last.
    ToggleGlyphs,
    ToggleMissed,
    /// The 3-D view shows only live curves with an end that stopped for this reason; `None`: all.
    ShowStop(Option<StopReason>),
    ToggleTheme,
}

/// Actions on viewpoints; those with an index concern the named ones.
#[derive(Clone, PartialEq, Debug)]
pub enum ViewpointAction {
    /// The views rest.
    Remember,
    Back,
    Forward,
    /// Keeps the present one, under a name of its own.
    Save,
    Show(usize),
    Rename {
        index: usize,
        name: String,
    },
    Delete(usize),
}
