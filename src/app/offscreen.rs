//! The window without a screen: the program's own [`App`], whose frames are drawn into a texture.
//!
//! A frame does what eframe does for a window: the events of the pointer go through egui to the views and forms, the
//! results of jobs to the state, and the panes through the paint callbacks to the renderer. The frame then waits for
//! the device, so that its duration ends with the finished picture. A frame is due when an event has arrived or when
//! the program has requested one; nothing waits for a monitor.

pub mod stroke;

use super::{App, StartError, start};
use crate::compute::{Backend, BackendKind};
use crate::render::cleared_target;
use crate::state::{Action, Pane, State};
use eframe::{App as _, CreationContext};
use egui::accesskit::{self, NodeId};
use egui::{
    Context, Event, Modifiers, MouseWheelSource, MouseWheelUnit, PointerButton, RawInput, Rect,
    Role, TouchPhase, pos2, vec2,
};
use egui_wgpu::{RenderState, RendererOptions, ScreenDescriptor};
use glam::{DVec2, DVec3};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Inset of a slider's track from the place where it can be dragged: the radius of its handle, points.
const HANDLE: f32 = 6.0;
/// Distance of one turn of the wheel, points, and the largest number of turns to a slider.
const SCROLL: f32 = 80.0;
const SCROLLS: usize = 30;
/// Share of the window's height at which the wheel turns: where panels have their controls, above the results.
const ABOVE: f64 = 0.3;

/// User input, in points from the window's top left corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Input {
    Move(DVec2),
    /// The primary button goes down.
    Press(DVec2),
    Release(DVec2),
    /// The key Delete goes down and up.
    Delete,
}

/// Durations of one frame, seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct FrameTimes {
    /// The interface thread's share without drawing: events, state, layout and tessellation.
    pub interface_s: f64,
    /// From the start until the device has finished the picture.
    pub whole_s: f64,
}

/// A frame that the program requests.
#[derive(Clone, Copy)]
struct RequestedFrame {
    due: Instant,
    /// Number of layouts that were complete when it was requested.
    layouts: u64,
}

/// The requested frames.
#[derive(Default)]
struct FrameRequests {
    pending: Mutex<Vec<RequestedFrame>>,
    changed: Condvar,
}

impl FrameRequests {
    fn lock(&self) -> MutexGuard<'_, Vec<RequestedFrame>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, delay: Duration, layouts: u64) {
        if let Some(due) = Instant::now().checked_add(delay) {
            self.lock().push(RequestedFrame { due, layouts });
            self.changed.notify_all();
        }
    }

    /// Drops the requests that eframe would ignore: those made more than one layout ago.
    fn expire(&self, layouts: u64) {
        self.lock().retain(|request| request.layouts + 1 >= layouts);
    }

    /// Waits until this moment, even if a frame is due before it.
    fn pause(&self, until: Instant) {
        let mut requests = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(requests, left);
            requests = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until a frame is due, at most until `until`; returns whether one is.
    fn wait(&self, until: Instant) -> bool {
        let mut requests = self.lock();
        loop {
            let now = Instant::now();
            let first = requests.iter().map(|request| request.due).min();
            if first.is_some_and(|due| due <= now) {
                return true;
            }
            let next = first.map_or(until, |due| due.min(until));
            let left = next.saturating_duration_since(now);
            if left.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(requests, left);
            requests = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The program's window on a texture of a device of its own.
pub struct OffscreenWindow {
    app: App,
    ctx: Context,
    frame: eframe::Frame,
    gpu: RenderState,
    target: wgpu::TextureView,
    screen: ScreenDescriptor,
    requests: Arc<FrameRequests>,
    began: Instant,
    events: Vec<Event>,
}

impl OffscreenWindow {
    /// Opens an empty window of this size in points, each of which is a pixel, with the default settings.
    pub fn open(backend: Backend, size: [u32; 2]) -> Result<Self, StartError> {
        let options = start::options();
        let setup = &options.wgpu_options;
        let instance = pollster::block_on(setup.wgpu_setup.new_instance());
        let drawing = RendererOptions {
            dithering: options.dithering,
            ..RendererOptions::default()
        };
        let gpu = RenderState::create(setup, &instance, None, drawing);
        let gpu = pollster::block_on(gpu);
        let gpu = gpu.map_err(|error| StartError::Window(eframe::Error::Wgpu(error)))?;
        let target = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("window"),
            size: wgpu::Extent3d {
                width: size[0],
                height: size[1],
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: gpu.target_format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        let ctx = Context::default();
        ctx.set_embed_viewports(false);
        let requests = Arc::new(FrameRequests::default());
        let added = requests.clone();
        ctx.set_request_repaint_callback(move |request| {
            added.add(request.delay, request.current_cumulative_pass_nr);
        });
        let mut creation = CreationContext::_new_kittest(ctx.clone());
        creation.wgpu_render_state = Some(gpu.clone());
        let opened = Some((BackendKind::Auto, backend));
        let app = start::create(&creation, opened, None, Vec::new())?;
        let mut frame = eframe::Frame::_new_kittest();
        frame.wgpu_render_state = Some(gpu.clone());
        Ok(Self {
            app,
            ctx,
            frame,
            target: target.create_view(&wgpu::TextureViewDescriptor::default()),
            screen: ScreenDescriptor {
                size_in_pixels: size,
                pixels_per_point: 1.0,
            },
            gpu,
            requests,
            began: Instant::now(),
            events: Vec::new(),
        })
    }

    pub fn state(&self) -> &State {
        &self.app.state
    }

    /// `llvmpipe (LLVM 15.0.6, 256 bits)`.
    pub fn device_name(&self) -> String {
        self.gpu.adapter.get_info().name
    }

    /// Whether a CPU does the drawing.
    pub fn is_software(&self) -> bool {
        self.gpu.adapter.get_info().device_type == wgpu::DeviceType::Cpu
    }

    /// Prepares what is measured without the pointer.
    pub fn act(&mut self, action: Action) {
        self.app.act(vec![action], &self.ctx);
    }

    /// Gives the next frame an event.
    pub fn input(&mut self, input: Input) {
        let place = |at: DVec2| pos2(at.x as f32, at.y as f32);
        let button = |at, pressed| Event::PointerButton {
            pos: place(at),
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        };
        let delete = |pressed| Event::Key {
            key: egui::Key::Delete,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: Modifiers::NONE,
        };
        match input {
            Input::Move(at) => self.events.push(Event::PointerMoved(place(at))),
            Input::Press(at) => self.events.push(button(at, true)),
            Input::Release(at) => self.events.push(button(at, false)),
            Input::Delete => self.events.extend([delete(true), delete(false)]),
        }
    }

    /// Waits until the program requests a frame, at most until `until`; returns whether it does.
    pub fn wait(&self, until: Instant) -> bool {
        self.requests.wait(until)
    }

    /// Waits until this moment without drawing.
    pub fn pause(&self, until: Instant) {
        self.requests.pause(until);
    }

    /// Runs a frame and waits for its picture; `shown` gets the state that it shows.
    pub fn frame(&mut self, shown: &mut dyn FnMut(&State)) -> FrameTimes {
        let started = Instant::now();
        self.run(started, shown).1
    }

    fn run(
        &mut self,
        started: Instant,
        shown: &mut dyn FnMut(&State),
    ) -> (Option<accesskit::TreeUpdate>, FrameTimes) {
        // Earlier requests are met by this frame.
        self.requests.lock().clear();
        let [width, height] = self.screen.size_in_pixels;
        let size = vec2(width as f32, height as f32);
        let mut input = RawInput {
            screen_rect: Some(Rect::from_min_size(egui::Pos2::ZERO, size)),
            time: Some(self.began.elapsed().as_secs_f64()),
            events: std::mem::take(&mut self.events),
            max_texture_side: Some(self.gpu.device.limits().max_texture_dimension_2d as usize),
            focused: true,
            ..RawInput::default()
        };
        if let Some(viewport) = input.viewports.get_mut(&input.viewport_id) {
            viewport.native_pixels_per_point = Some(self.screen.pixels_per_point);
            viewport.focused = Some(true);
        }
        self.app.raw_input_hook(&self.ctx, &mut input);
        let (app, frame) = (&mut self.app, &mut self.frame);
        let output = self.ctx.run_ui(input, |ui| {
            app.logic(ui.ctx(), frame);
            // The actions of this frame's events change the state after it was laid out.
            shown(&app.state);
            app.ui(ui, frame);
        });
        self.requests.expire(self.ctx.cumulative_pass_nr());
        let egui::FullOutput {
            platform_output,
            textures_delta,
            shapes,
            pixels_per_point,
            ..
        } = output;
        let triangles = self.ctx.tessellate(shapes, pixels_per_point);
        let interface_s = started.elapsed().as_secs_f64();
        self.draw(&triangles, textures_delta);
        let times = FrameTimes {
            interface_s,
            whole_s: started.elapsed().as_secs_f64(),
        };
        (platform_output.accesskit_update, times)
    }

    fn draw(&self, triangles: &[egui::ClippedPrimitive], mut textures: egui::TexturesDelta) {
        let (device, queue) = (&self.gpu.device, &self.gpu.queue);
        let mut renderer = self.gpu.renderer.write();
        for (id, deltas) in textures.set.drain() {
            for delta in deltas {
                renderer.update_texture(device, queue, id, &delta);
            }
        }
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut buffers =
            renderer.update_buffers(device, queue, &mut encoder, triangles, &self.screen);
        let mut pass = encoder
            .begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("window"),
                color_attachments: &cleared_target(&self.target),
                ..Default::default()
            })
            .forget_lifetime();
        renderer.render(&mut pass, triangles, &self.screen);
        drop(pass);
        buffers.push(encoder.finish());
        queue.submit(buffers);
        for id in textures.free.drain() {
            renderer.free_texture(&id);
        }
        drop(renderer);
        // A device that is lost is reported by the window itself.
        let _ = device.poll(wgpu::PollType::wait_indefinitely());
    }

    /// The position of a point of the patient in a slice view; `None` if the window does not show the view.
    pub fn on_slice(&self, pane: Pane, world: DVec3) -> Option<DVec2> {
        let panes = self.app.interface.views.panes();
        let (_, rect) = panes.iter().find(|(shown, _)| *shown == pane)?;
        let size = DVec2::new(f64::from(rect.width()), f64::from(rect.height()));
        let plane = self.app.state.plane(pane, size)?;
        let corner = DVec2::new(f64::from(rect.left()), f64::from(rect.top()));
        Some(corner + plane.position(world))
    }

    /// Corners of a view on screen.
    pub fn pane(&self, pane: Pane) -> Option<[DVec2; 2]> {
        let panes = self.app.interface.views.panes();
        let (_, rect) = panes.iter().find(|(shown, _)| *shown == pane)?;
        Some([rect.min, rect.max].map(|p| DVec2::new(f64::from(p.x), f64::from(p.y))))
    }

    /// Both ends of the track of the slider with this name, scrolled into view by the wheel; `None` if there is none.
    /// It is found as a screen reader finds it.
    pub fn slider(&mut self, name: &str) -> Option<[DVec2; 2]> {
        for _ in 0..SCROLLS {
            let (track, is_visible) = self.find_slider(name)?;
            if is_visible {
                return Some(track);
            }
            let height = f64::from(self.screen.size_in_pixels[1]);
            let middle = 0.5 * (track[0].x + track[1].x);
            self.input(Input::Move(DVec2::new(middle, ABOVE * height)));
            let down = track[0].y > ABOVE * height;
            self.events.push(Event::MouseWheel {
                unit: MouseWheelUnit::Point,
                delta: vec2(0.0, if down { -SCROLL } else { SCROLL }),
                phase: TouchPhase::Move,
                modifiers: Modifiers::NONE,
                source: MouseWheelSource::Unknown,
            });
            stroke::rest(self);
        }
        None
    }

    /// The track of a slider, and whether its whole height is in sight.
    fn find_slider(&mut self, name: &str) -> Option<([DVec2; 2], bool)> {
        self.ctx.enable_accesskit();
        let (tree, _) = self.run(Instant::now(), &mut |_| {});
        self.ctx.disable_accesskit();
        let nodes: Vec<(NodeId, accesskit::Node)> = tree?.nodes;
        let is_named = |node: &accesskit::Node| node.label() == Some(name);
        let (id, _) = nodes
            .iter()
            .find(|(_, node)| node.role() == Role::Slider && is_named(node))?;
        let shown = self.ctx.viewport(|viewport| {
            let mut widgets = viewport.prev_pass.widgets.layers().flat_map(|(_, w)| w);
            widgets.find(|w| w.id.accesskit_id() == *id).copied()
        })?;
        let middle = f64::from(shown.rect.center().y);
        let ends = [shown.rect.left() + HANDLE, shown.rect.right() - HANDLE];
        let track = ends.map(|x| DVec2::new(f64::from(x), middle));
        Some((track, shown.interact_rect.contains_rect(shown.rect)))
    }
}

impl Drop for OffscreenWindow {
    fn drop(&mut self) {
        self.app.on_exit();
    }
}
