//! A small document, and a window that shows its views without a screen.

use arcuate::data::region::RegionId;
use arcuate::data::{
    AffineSource, BuiltInPhantom, Grid, Mask, Region, Role, Shape, Tensor, TensorField, Volume,
};
use arcuate::solvers::{curves, tensor_fit};
use arcuate::state::core::display;
use arcuate::state::core::layer::{Content, LayerId};
use arcuate::state::origin::{FitRecipe, Origin, PhantomPart};
use arcuate::state::tensors::recipe::FitMask;
use arcuate::state::tensors::types::{FitKey, ResidualCache};
use arcuate::state::track::types::{CurveKey, CurveParams};
use arcuate::state::{
    Action, CurveResult, Display, Effect, Layer, Pane, State, Task, Tensors, ViewAction, update,
};
use arcuate::ui::theme;
use arcuate::ui::views::{Views, layout};
use egui::{Event, Modifiers, PointerButton, Pos2, Rect, pos2, vec2};
use glam::{DAffine3, DMat3, DVec3, dvec3};
use std::sync::Arc;

pub const SIZE: egui::Vec2 = vec2(902.0, 702.0);

/// A box of voxels that extends further to one side along every axis, so that nothing is symmetric by chance.
pub fn grid(source: AffineSource) -> Arc<Grid> {
    let matrix = DMat3::from_diagonal(dvec3(-2.0, 2.5, 3.0));
    let affine = DAffine3::from_mat3_translation(matrix, dvec3(60.0, -70.0, -40.0));
    Arc::new(Grid::new([50, 56, 40], affine, source).unwrap())
}

/// Bright on the patient's left, dark on the right.
pub fn left_volume(grid: &Arc<Grid>) -> Volume {
    let value = |i: usize| {
        let world = grid.world(DVec3::from_array(grid.voxel(i).map(|v| v as f64)));
        if world.x < grid.centre().x {
            100.0
        } else {
            20.0
        }
    };
    Volume::scalar(
        grid.clone(),
        (0..grid.voxel_count()).map(value).collect::<Vec<f32>>(),
    )
}

pub fn add_layer(state: &mut State, name: &str, content: Content, display: Display) -> LayerId {
    let id = LayerId(state.document.fresh_id());
    let origin = Origin::file(format!("/data/{name}.nii"));
    let origin = state.document.origins.add(origin);
    let layer = Layer::new(id, name.to_owned(), content, display, origin);
    state.document.layers.push(Arc::new(layer));
    id
}

/// One scalar image, and tensors over all of it except a margin.
pub fn state() -> State {
    state_with(AffineSource::Sform)
}

pub fn state_with(source: AffineSource) -> State {
    let grid = grid(source);
    let mut state = State::new("CPU".to_owned());
    state.document.name = "test".to_owned();
    let volume = left_volume(&grid);
    let display = display::image_display((0.0, 110.0));
    add_layer(&mut state, "image", Content::Image(volume.clone()), display);
    let inside = |i: usize| {
        let voxel = grid.voxel(i);
        u8::from((0..3).all(|a| voxel[a] >= 4 && voxel[a] + 4 < grid.shape[a]))
    };
    let inside: Vec<u8> = (0..grid.voxel_count()).map(inside).collect();
    let mask = Mask::new(grid.clone(), inside);
    let scan_id = volume.id();
    let along_y = Tensor::new([0.3e-3, 0.0, 0.0, 1.5e-3, 0.0, 0.3e-3]);
    let (head, part) = (BuiltInPhantom::plain(1), PhantomPart::Dwi);
    let origins = &state.document.origins;
    let fit = origins.add(FitRecipe {
        scan: origins.add(Origin::Phantom { head, part }),
        mask: FitMask::Automatic,
        params: tensor_fit::Params::defaults(),
    });
    state.document.tensors = Some(Arc::new(Tensors {
        field: TensorField::new(grid.clone(), vec![along_y; grid.voxel_count()]),
        fa: volume,
        head: mask.bounds_inside().unwrap(),
        mask,
        mask_report: None,
        key: FitKey {
            scan: scan_id,
            mask: None,
            params: state.document.fit.clone(),
        },
        origin: fit,
        fitted: 1,
        repaired: 0,
        unfitted: 0,
        without_direction: Vec::new(),
        outside_range: Vec::new(),
        wall_ms: 1.0,
        residuals: ResidualCache::default(),
    }));
    state.view.task = Task::Track;
    state.view.crosshair = grid.centre() + dvec3(6.0, -9.0, 4.0);
    update(&mut state, Action::View(ViewAction::FrameAll));
    state
}

pub fn add_sphere(state: &mut State, role: Role, centre: DVec3, radius_mm: f64) -> RegionId {
    let id = RegionId(state.document.fresh_id());
    state.document.regions.push(Arc::new(Region {
        id,
        name: role.name().to_owned(),
        role,
        shape: Arc::new(Shape::Sphere { centre, radius_mm }),
        colour: None,
        visible: true,
        label_number: None,
    }));
    id
}

/// A live result without any computation.
pub fn add_live(state: &mut State, output: curves::Output) {
    let fit = state.document.tensors.as_ref().unwrap().origin;
    let document = &state.document;
    let key = CurveKey {
        field: document.tensors.as_ref().unwrap().field.id(),
        regions: document.regions.iter().map(|r| (**r).clone()).collect(),
        curves: CurveParams::Streamlines(document.track.streamlines.clone()),
        tissues: None,
        coarse: false,
    };
    state.runtime.track.show(Some(CurveResult {
        key,
        output: Arc::new(output),
        coarse: false,
        seeds: 100,
        wall_ms: 18.0,
        fit,
        targets: Vec::new(),
        rays: None,
    }));
}

/// The views with their state, an egui without a window, and a simulated pointer and keyboard.
pub struct ViewWindow {
    ctx: egui::Context,
    views: Views,
    state: State,
    actions: Vec<Action>,
    effects: Vec<Effect>,
    events: Vec<Event>,
    modifiers: Modifiers,
    time_s: f64,
    pub cursor: egui::CursorIcon,
}

const FRAME_S: f64 = 1.0 / 60.0;

impl ViewWindow {
    pub fn new(state: State) -> Self {
        let ctx = egui::Context::default();
        theme::install(&ctx);
        ctx.all_styles_mut(|style| style.animation_time = 0.0);
        let mut views = Self {
            ctx,
            views: Views::default(),
            state,
            actions: Vec::new(),
            effects: Vec::new(),
            events: Vec::new(),
            modifiers: Modifiers::NONE,
            time_s: 10.0,
            cursor: egui::CursorIcon::Default,
        };
        // Widgets react to the pointer from the second frame on.
        views.step();
        views.step();
        views.actions.clear();
        views
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn act(&mut self, action: Action) {
        self.effects.extend(update(&mut self.state, action));
    }

    /// The actions since the last call.
    pub fn take(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// One frame with the events so far.
    pub fn step(&mut self) {
        self.time_s += FRAME_S;
        let input = egui::RawInput {
            screen_rect: Some(Rect::from_min_size(pos2(0.0, 0.0), SIZE)),
            time: Some(self.time_s),
            events: std::mem::take(&mut self.events),
            focused: true,
            ..egui::RawInput::default()
        };
        let mut actions = Vec::new();
        let (views, state) = (&mut self.views, &self.state);
        let output = self
            .ctx
            .run_ui(input, |ui| views.show(ui, state, &mut actions));
        self.cursor = output.platform_output.cursor_icon;
        output.drop_without_applying_deltas();
        for action in actions {
            self.actions.push(action.clone());
            self.act(action);
        }
    }

    /// Lets time pass.
    pub fn wait(&mut self, seconds: f64) {
        for _ in 0..(seconds / FRAME_S).ceil() as usize {
            self.step();
        }
    }

    pub fn rect(&self, pane: Pane) -> Rect {
        let view = &self.state.view;
        let area = Rect::from_min_size(pos2(0.0, 0.0), SIZE);
        let panes = layout::panes(view.layout, view.single, area, 1.0);
        panes.into_iter().find(|p| p.0 == pane).unwrap().1
    }

    pub fn move_to(&mut self, at: Pos2) {
        self.events.push(Event::PointerMoved(at));
        self.step();
    }

    fn hold(&mut self, modifiers: Modifiers) {
        self.modifiers = modifiers;
        self.events.push(Event::ModifiersChanged(modifiers));
    }

    fn button(&mut self, at: Pos2, button: PointerButton, pressed: bool) {
        self.events.push(Event::PointerButton {
            pos: at,
            button,
            pressed,
            modifiers: self.modifiers,
        });
    }

    pub fn press(&mut self, at: Pos2, button: PointerButton, modifiers: Modifiers) {
        self.move_to(at);
        self.hold(modifiers);
        self.button(at, button, true);
        self.step();
    }

    pub fn release(&mut self, at: Pos2, button: PointerButton) {
        self.button(at, button, false);
        self.step();
        self.hold(Modifiers::NONE);
    }

    /// Presses at the first position, moves along the others, releases at the last.
    pub fn drag(&mut self, path: &[Pos2], button: PointerButton, modifiers: Modifiers) {
        self.press(path[0], button, modifiers);
        for at in &path[1..] {
            self.move_to(*at);
        }
        self.release(*path.last().unwrap(), button);
    }

    /// A whole drag and its end within one frame, as on a slow machine.
    pub fn fast_drag(&mut self, path: &[Pos2], button: PointerButton) {
        self.press(path[0], button, Modifiers::NONE);
        let moves = path[1..].iter().map(|at| Event::PointerMoved(*at));
        self.events.extend(moves);
        self.release(*path.last().unwrap(), button);
    }

    pub fn click(&mut self, at: Pos2) {
        self.drag(&[at], PointerButton::Primary, Modifiers::NONE);
    }

    /// Press and release between two frames, as by a fast user on a slow machine.
    pub fn fast_click(&mut self, at: Pos2) {
        self.move_to(at);
        self.button(at, PointerButton::Primary, true);
        self.button(at, PointerButton::Primary, false);
        self.step();
    }

    pub fn key(&mut self, key: egui::Key, modifiers: Modifiers) {
        self.hold(modifiers);
        for pressed in [true, false] {
            self.events.push(Event::Key {
                key,
                physical_key: None,
                pressed,
                repeat: false,
                modifiers,
            });
        }
        self.step();
        self.hold(Modifiers::NONE);
    }

    /// Presses and holds a key, or releases it.
    pub fn hold_key(&mut self, key: egui::Key, pressed: bool) {
        self.events.push(Event::Key {
            key,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: Modifiers::NONE,
        });
        self.step();
    }

    pub fn wheel(&mut self, at: Pos2, lines: f32, modifiers: Modifiers) {
        self.move_to(at);
        self.hold(modifiers);
        self.events.push(Event::MouseWheel {
            unit: egui::MouseWheelUnit::Line,
            delta: vec2(0.0, lines),
            phase: egui::TouchPhase::Move,
            source: egui::MouseWheelSource::Unknown,
            modifiers,
        });
        // egui spreads zooming over several frames.
        self.wait(0.5);
        self.hold(Modifiers::NONE);
    }

    pub fn slice_plane(&self, pane: Pane) -> arcuate::state::view::Plane {
        let rect = self.rect(pane);
        let size = glam::DVec2::new(f64::from(rect.width()), f64::from(rect.height()));
        self.state.plane(pane, size).unwrap()
    }

    /// Position of a world point on screen, in a slice view.
    pub fn screen(&self, pane: Pane, world: DVec3) -> Pos2 {
        let at = self.slice_plane(pane).position(world);
        self.rect(pane).min + vec2(at.x as f32, at.y as f32)
    }

    pub fn world(&self, pane: Pane, at: Pos2) -> DVec3 {
        let d = at - self.rect(pane).min;
        self.slice_plane(pane)
            .world(glam::DVec2::new(f64::from(d.x), f64::from(d.y)))
    }

    /// Position of a world point on screen, in the 3-D view.
    pub fn scene_screen(&self, world: DVec3) -> Pos2 {
        let rect = self.rect(Pane::Scene);
        let aspect = f64::from(rect.width()) / f64::from(rect.height());
        let (at, _) = self.state.view.camera.project(world, aspect).unwrap();
        rect.min + vec2(at.x as f32 * rect.width(), at.y as f32 * rect.height())
    }
}

/// Tolerance for world points in mm: positions on screen are 32-bit numbers of points.
pub const POINT_MM: f64 = 1e-3;

pub fn near(a: DVec3, b: DVec3, mm: f64) {
    assert!(
        a.distance(b) < mm,
        "{a} against {b}, {} mm apart",
        a.distance(b)
    );
}
