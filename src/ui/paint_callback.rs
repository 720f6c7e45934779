//! The only place where egui meets the renderer: each pane is drawn into a texture of its own before egui's pass, and
//! shown in it.

use crate::render::{PaneId, Renderer, Surface};
use crate::scene::draw_list::{Lines, ScenePane, SlicePane};
use egui::{Context, Event, Id, InputState, PaintCallbackInfo, Rect, Shape};
use egui_wgpu::{CallbackResources, CallbackTrait, ScreenDescriptor};
use std::sync::Arc;

/// The content of a pane.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "each pane has one, so the size difference between variants is harmless"
)]
pub enum PaneContent {
    Slice(SlicePane),
    Scene(ScenePane),
}

struct Pixels {
    content: PaneContent,
    pane: PaneId,
    ctx: Context,
}

/// The pixels of a pane, to be added to a painter.
pub fn pixels(ctx: &Context, rect: Rect, pane: PaneId, list: PaneContent) -> Shape {
    let callback = Pixels {
        content: list,
        pane,
        ctx: ctx.clone(),
    };
    egui_wgpu::Callback::new_paint_callback(rect, callback).into()
}

/// Whether the last frame's 3-D picture in a pane had all streamlines of this list.
pub fn shows(ctx: &Context, pane: PaneId, list: &ScenePane) -> bool {
    let shown = ctx.data(|d| d.get_temp::<Shown>(shown_id(pane)));
    shown.is_some_and(|lines| *lines == list.lines)
}

/// The sentence about a device that draws no 3-D view, once something was drawn on it.
pub fn no_scene_message(ctx: &Context) -> Option<Arc<str>> {
    ctx.data(|d| d.get_temp(Id::unique("no 3-D view")))
}

/// Makes the 3-D view show why it is empty if this renderer cannot draw it.
pub fn set_no_scene_message(ctx: &Context, renderer: &Renderer) {
    if let Some(sentence) = renderer.no_scenes() {
        let (id, sentence): (_, Arc<str>) = (Id::unique("no 3-D view"), sentence.into());
        ctx.data_mut(|d| d.insert_temp(id, sentence));
    }
}

/// Streamlines that a pane shows, all of them.
type Shown = Arc<Vec<Lines>>;

fn shown_id(pane: PaneId) -> Id {
    Id::unique(("streamlines shown", pane))
}

/// Records whether a pane shows all streamlines of a list; requests a frame to report it.
fn note(ctx: &Context, pane: PaneId, list: &ScenePane, all: bool) {
    let id = shown_id(pane);
    if all == shows(ctx, pane, list) {
        return;
    }
    ctx.data_mut(|d| {
        if all {
            d.insert_temp::<Shown>(id, Arc::new(list.lines.clone()));
        } else {
            d.remove::<Shown>(id);
        }
    });
    ctx.request_repaint();
}

/// Sets the target format of egui's pass. Without it, a window's default format is assumed to be `Rgba8Unorm`, as in
/// tests.
pub fn install(resources: &mut CallbackResources, format: wgpu::TextureFormat, samples: u32) {
    resources.insert(Surface {
        format,
        samples,
        depth: None,
    });
}

/// Takes the renderer, with everything it has loaded, out of a window's egui renderer.
pub fn take_renderer(resources: &mut CallbackResources) -> Option<Renderer> {
    resources.remove::<Renderer>()
}

pub fn renderer(resources: &CallbackResources) -> Option<&Renderer> {
    resources.get::<Renderer>()
}

pub fn put_renderer(resources: &mut CallbackResources, renderer: Renderer) {
    resources.insert(renderer);
}

/// Releases everything shown; to be called when there is nothing to show any more.
pub fn clear(ctx: &Context, resources: &mut CallbackResources) {
    ctx.data_mut(|d| d.remove_by_type::<Shown>());
    if let Some(renderer) = resources.get_mut::<Renderer>() {
        renderer.clear();
    }
}

/// Whether an action must be visible at once. A pointer that merely moves is ignored: it may never rest.
fn user_is_interacting(input: &InputState) -> bool {
    let wanders = |e: &Event| {
        matches!(
            e,
            Event::PointerMoved(_) | Event::MouseMoved(_) | Event::PointerGone
        )
    };
    input.pointer.any_down() || !input.events.iter().all(wanders)
}

impl CallbackTrait for Pixels {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _screen: &ScreenDescriptor,
        _encoder: &mut wgpu::CommandEncoder,
        resources: &mut CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        let surface = resources.get::<Surface>().copied().unwrap_or(Surface {
            format: wgpu::TextureFormat::Rgba8Unorm,
            samples: 1,
            depth: None,
        });
        let renderer = resources.entry::<Renderer>().or_insert_with(|| {
            let mut renderer = Renderer::new(device.clone(), queue.clone());
            renderer.create_ahead();
            renderer
        });
        if self.ctx.input(user_is_interacting) {
            renderer.record_interaction();
        }
        match &self.content {
            PaneContent::Slice(list) => drop(renderer.slice(list, self.pane)),
            PaneContent::Scene(list) => {
                renderer.scene(list, self.pane);
                set_no_scene_message(&self.ctx, renderer);
                let all = renderer.shows(list, self.pane);
                note(&self.ctx, self.pane, list, all);
            }
        }
        renderer.prepare_blit(surface);
        if let Some(wait) = renderer.next_frame_in() {
            self.ctx.request_repaint_after(wait);
        }
        Vec::new()
    }

    fn paint(
        &self,
        _info: PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        resources: &CallbackResources,
    ) {
        if let Some(renderer) = resources.get::<Renderer>() {
            renderer.blit(self.pane, pass);
        }
    }
}
