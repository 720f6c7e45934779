//! Pictures of a view or of the window, without a window: one egui frame with our fonts, drawn into
//! a texture. Letters, convention and scale bar are part of the picture.

use super::views::Views;
use super::{paint_callback, theme};
use crate::render::offscreen::{Error, Picture};
use crate::render::{Renderer, cleared_target};
use crate::state::{Action, Layout, Pane, State, Tool};
use egui::{Context, RawInput, Ui, Vec2, ViewportId, pos2};
use egui_wgpu::{RendererOptions, ScreenDescriptor};

const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
/// Frames until panels and text have their final sizes.
const FRAMES: usize = 3;
/// Size of a view that is not on screen, points.
pub const DEFAULT_SIZE: Vec2 = Vec2::new(960.0, 720.0);

/// A picture's size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frame {
    /// Height of that panel, points.
    pub size: Vec2,
    pub pixels_per_point: f32,
}

impl Frame {
    /// A frame of this many pixels, in which text and lines have the same proportions as in `size` points.
    pub fn fitted(px: [u32; 2], size: Vec2) -> Self {
        let px = Vec2::new(px[0] as f32, px[1] as f32);
        let pixels_per_point = (px / size.max(Vec2::splat(1.0)))
            .min_elem()
            .clamp(0.5, 16.0);
        Self {
            size: px / pixels_per_point,
            pixels_per_point,
        }
    }
}

/// The size of all pictures of a turntable film, even if the panels of the window change meanwhile.
#[derive(Default, Debug)]
pub struct TurnSize(Option<Frame>);

impl TurnSize {
    /// The size of picture `index` of the turntable; `now` is the size of the view on screen.
    pub fn frame(&mut self, index: u32, now: Frame) -> Frame {
        if index == 0 {
            self.0 = Some(now);
        }
        *self.0.get_or_insert(now)
    }
}

/// A view alone, with everything that shows its orientation; `transparent`: transparent where nothing is drawn (3-D
/// view).
pub fn pane(
    renderer: &mut Option<Renderer>,
    state: &State,
    pane: Pane,
    frame: Frame,
    transparent: bool,
) -> Result<Picture, Error> {
    let borrowed = renderer.as_ref().ok_or(Error::NoDevice)?;
    Drawing::of_pane(borrowed, state, pane, frame, transparent)?.draw_to_end(renderer)
}

/// Recovers colours and opacity from one picture on black and one on white (Smith and Blinn 1996, two backgrounds).
fn recover_opacity(mut on_black: Picture, on_white: &Picture) -> Picture {
    let pixels = on_black.rgba.chunks_exact_mut(4);
    for (black, white) in pixels.zip(on_white.rgba.chunks_exact(4)) {
        let through: u32 = (0..3)
            .map(|c| u32::from(white[c].saturating_sub(black[c])))
            .sum();
        let covers = 255 - ((through + 1) / 3).min(255);
        for c in 0..3 {
            let colour = (u32::from(black[c]) * 255 + covers / 2).checked_div(covers);
            black[c] = colour.unwrap_or(0).min(255) as u8;
        }
        black[3] = covers as u8;
    }
    on_black
}

/// The state as pictures show it: no active tool, no animation, letters on; with `pane`, only that view and no region's
/// handles.
fn picture_state(state: &State, pane: Option<Pane>) -> State {
    let mut state = state.clone();
    let view = &mut state.view;
    view.visible.letters = true;
    view.moving = false;
    view.tool = Tool::Crosshair;
    if let Some(pane) = pane {
        // A mosaic is a picture of that view, too.
        if !(view.layout == Layout::Mosaic && view.mosaic_pane() == pane) {
            view.layout = Layout::Single;
        }
        view.single = pane;
        state.runtime.regions.selected = None;
    }
    state
}

/// Adds the views in the space that the window leaves for them.
pub type AddViews<'a> = dyn FnMut(&mut Ui, &mut Vec<Action>) + 'a;

/// The whole window, laid out by `window`, whose actions are ignored.
pub fn window(
    renderer: &mut Option<Renderer>,
    state: &State,
    size: impl Into<Vec2>,
    pixels_per_point: f32,
    window: &mut dyn FnMut(&mut Ui, &State, &mut AddViews),
) -> Result<Picture, Error> {
    let borrowed = renderer.as_ref().ok_or(Error::NoDevice)?;
    let frame = Frame {
        size: size.into(),
        pixels_per_point,
    };
    Drawing::of_window(borrowed, state, frame, window)?.draw_to_end(renderer)
}

/// A picture drawn in steps: it shows the state at its start.
pub struct Drawing {
    /// One, or the same on black and on white. The last is drawn first.
    frames: Vec<LaidOutFrame>,
    pictures: Vec<Picture>,
    /// Number of backgrounds.
    grounds: usize,
}

impl Drawing {
    /// See [`pane`].
    pub fn of_pane(
        renderer: &Renderer,
        state: &State,
        pane: Pane,
        frame: Frame,
        transparent: bool,
    ) -> Result<Self, Error> {
        if let Some(sentence) = renderer.no_scenes().filter(|_| pane == Pane::Scene) {
            return Err(Error::Unsuitable(sentence.to_owned()));
        }
        let mut state = picture_state(state, Some(pane));
        let grounds = match transparent && pane == Pane::Scene {
            true => vec![Some([255; 3]), Some([0; 3])],
            false => vec![None],
        };
        let on = |ground: Option<[u8; 3]>| {
            state.view.visible.ground = ground;
            let mut views = Views::still();
            let light = state.view.light_theme;
            LaidOutFrame::new(renderer, frame, light, &mut |ui| {
                views.show(ui, &state, &mut Vec::new());
            })
        };
        Ok(Self::new(
            grounds.into_iter().map(on).collect::<Result<_, _>>()?,
        ))
    }

    /// See [`window`].
    pub fn of_window(
        renderer: &Renderer,
        state: &State,
        frame: Frame,
        window: &mut dyn FnMut(&mut Ui, &State, &mut AddViews),
    ) -> Result<Self, Error> {
        let state = picture_state(state, None);
        let mut views = Views::still();
        let laid = LaidOutFrame::new(renderer, frame, state.view.light_theme, &mut |ui| {
            window(ui, &state, &mut |ui, actions| {
                views.show(ui, &state, actions);
            });
        })?;
        Ok(Self::new(vec![laid]))
    }

    fn new(frames: Vec<LaidOutFrame>) -> Self {
        Self {
            grounds: frames.len(),
            frames,
            pictures: Vec::new(),
        }
    }

    /// Draws the next step; returns the picture once it is complete. The renderer is borrowed meanwhile, so that its
    /// data need not be loaded again.
    pub fn step(&mut self, renderer: &mut Option<Renderer>) -> Result<Option<Picture>, Error> {
        let stills = |renderer: &mut Option<Renderer>, are| {
            if let Some(renderer) = renderer {
                renderer.set_stills(are);
            }
        };
        stills(renderer, true);
        let drawn = self.go_on(renderer);
        stills(renderer, false);
        drawn
    }

    /// Fraction drawn, 0 to 1.
    pub fn share(&self, renderer: &Renderer) -> f64 {
        let present = match self.frames.is_empty() {
            true => 0.0,
            false => renderer.share(Views::still_panes()),
        };
        (self.pictures.len() as f64 + present) / self.grounds.max(1) as f64
    }

    /// Releases what has been drawn so far.
    pub fn release(self, renderer: &mut Renderer) {
        Views::still_panes().for_each(|pane| renderer.forget(pane));
    }

    /// Draws the whole picture before it returns, for callers without a window that must stay responsive.
    fn draw_to_end(mut self, renderer: &mut Option<Renderer>) -> Result<Picture, Error> {
        loop {
            if let Some(renderer) = renderer {
                renderer.load_at_once();
            }
            let drawn = self.go_on(renderer);
            if let Some(renderer) = renderer {
                renderer.wait();
                renderer.load_in_pieces();
            }
            if let Some(picture) = drawn? {
                return Ok(picture);
            }
        }
    }

    fn go_on(&mut self, renderer: &mut Option<Renderer>) -> Result<Option<Picture>, Error> {
        if let Some(laid) = self.frames.last_mut() {
            let drawn = laid.draw(renderer);
            if matches!(drawn, Ok(None)) {
                return Ok(None);
            }
            if let Some(renderer) = renderer {
                Views::still_panes().for_each(|pane| renderer.forget(pane));
            }
            self.frames.pop();
            self.pictures.extend(drawn?);
        }
        if !self.frames.is_empty() {
            return Ok(None);
        }
        let (last, first) = (self.pictures.pop(), self.pictures.pop());
        Ok(match (first, last) {
            (Some(on_black), Some(on_white)) => Some(recover_opacity(on_black, &on_white)),
            (_, last) => last,
        })
    }
}

/// A laid-out frame, ready to be drawn.
struct LaidOutFrame {
    renderer: egui_wgpu::Renderer,
    triangles: Vec<egui::ClippedPrimitive>,
    screen: ScreenDescriptor,
}

impl LaidOutFrame {
    /// The content that `add` shows in the frame.
    fn new(
        lent: &Renderer,
        frame: Frame,
        light: bool,
        add: &mut dyn FnMut(&mut Ui),
    ) -> Result<Self, Error> {
        let (device, queue) = (lent.device(), lent.queue());
        let Frame {
            size,
            pixels_per_point,
        } = frame;
        let px = (size * pixels_per_point).round();
        let size_px = [px.x.max(1.0) as u32, px.y.max(1.0) as u32];
        let max_px = device.limits().max_texture_dimension_2d;
        if size_px.iter().any(|&n| n > max_px) {
            return Err(Error::TooLong { size_px, max_px });
        }
        let options = RendererOptions {
            dithering: false,
            ..RendererOptions::default()
        };
        let mut renderer = egui_wgpu::Renderer::new(device, FORMAT, options);
        paint_callback::install(&mut renderer.callback_resources, FORMAT, 1);

        let ctx = Context::default();
        theme::install(&ctx);
        theme::select(&ctx, light);
        paint_callback::set_no_scene_message(&ctx, lent);
        ctx.all_styles_mut(|style| style.animation_time = 0.0);
        let mut input = RawInput {
            screen_rect: Some(egui::Rect::from_min_size(pos2(0.0, 0.0), size)),
            max_texture_side: Some(max_px as usize),
            focused: false,
            ..RawInput::default()
        };
        if let Some(viewport) = input.viewports.get_mut(&ViewportId::ROOT) {
            viewport.native_pixels_per_point = Some(pixels_per_point);
        }
        let mut shapes = Vec::new();
        for frame in 0..FRAMES {
            input.time = Some(frame as f64);
            let mut output = ctx.run_ui(input.clone(), |ui| add(ui));
            for (id, deltas) in output.textures_delta.set.drain() {
                for delta in deltas {
                    renderer.update_texture(device, queue, id, &delta);
                }
            }
            for id in output.textures_delta.free.drain() {
                renderer.free_texture(&id);
            }
            shapes = std::mem::take(&mut output.shapes);
        }
        Ok(Self {
            renderer,
            triangles: ctx.tessellate(shapes, pixels_per_point),
            screen: ScreenDescriptor {
                size_in_pixels: size_px,
                pixels_per_point,
            },
        })
    }

    /// Draws more of its panes, and the whole frame once they are ready.
    fn draw(&mut self, renderer: &mut Option<Renderer>) -> Result<Option<Picture>, Error> {
        let taken = renderer.take().ok_or(Error::NoDevice)?;
        let (device, queue) = (taken.device().clone(), taken.queue().clone());
        let Self {
            renderer: own,
            triangles,
            screen,
        } = self;
        paint_callback::put_renderer(&mut own.callback_resources, taken);
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut buffers = own.update_buffers(&device, &queue, &mut encoder, triangles, screen);
        let whole = paint_callback::renderer(&own.callback_resources)
            .is_some_and(|taken| taken.is_whole(Views::still_panes()));
        let texture = whole.then(|| {
            let texture = surface(&device, screen.size_in_pixels);
            let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
            let mut pass = encoder
                .begin_render_pass(&wgpu::RenderPassDescriptor {
                    label: Some("picture"),
                    color_attachments: &cleared_target(&view),
                    ..Default::default()
                })
                .forget_lifetime();
            own.render(&mut pass, triangles, screen);
            texture
        });
        buffers.push(encoder.finish());
        queue.submit(buffers);
        *renderer = paint_callback::take_renderer(&mut own.callback_resources);
        let borrowed = renderer.as_ref().ok_or(Error::NoDevice)?;
        texture.map(|texture| read(borrowed, &texture)).transpose()
    }
}

/// The texture that a picture is drawn to.
fn surface(device: &wgpu::Device, [width, height]: [u32; 2]) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some("picture"),
        size: wgpu::Extent3d {
            width,
            height,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: FORMAT,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    })
}

fn read(renderer: &Renderer, texture: &wgpu::Texture) -> Result<Picture, Error> {
    let size_px = [texture.width(), texture.height()];
    let row_bytes = size_px[0] as usize * 4;
    let mut rgba = vec![0; row_bytes * size_px[1] as usize];
    renderer.read_texture(texture, |row, bytes| {
        rgba[row * row_bytes..(row + 1) * row_bytes].copy_from_slice(bytes);
    })?;
    // A window's surface is opaque.
    rgba.chunks_exact_mut(4).for_each(|pixel| pixel[3] = 255);
    Ok(Picture { size_px, rgba })
}
