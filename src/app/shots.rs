//! Pictures of a view or of the window.

use super::App;
use crate::jobs::Request;
use crate::render::Renderer;
use crate::state::{Action, Shot, State, report};
use crate::ui::{self, Memory, paint_callback, snapshot};
use egui::Context;

impl App {
    /// Draws a picture with what the window's renderer has loaded; a job writes it. It shows `seen`, or
    /// the window's state.
    pub(super) fn take(
        &mut self,
        shot: Shot,
        seen: Option<&State>,
        gpu: &egui_wgpu::RenderState,
        ctx: &Context,
    ) {
        let resources = &mut gpu.renderer.write().callback_resources;
        let fresh = || Renderer::new(gpu.device.clone(), gpu.queue.clone());
        let mut renderer = paint_callback::take_renderer(resources).or_else(|| Some(fresh()));
        let look = shot.look;
        let pixels_per_point = ctx.pixels_per_point() * look.scale.clamp(1, 4) as f32;
        let (state, size) = (seen.unwrap_or(&self.state), ctx.content_rect().size());
        let metadata = report::picture(state);
        let picture = match shot.pane {
            Some(pane) => {
                let on_screen = self.views.panes().iter().find(|(p, _)| *p == pane);
                let size = on_screen.map_or(snapshot::DEFAULT_SIZE, |(_, rect)| rect.size());
                let frame = match look.size_px {
                    // Letters keep their share of the picture.
                    Some(px) => snapshot::Frame::fitted(px, size),
                    None => snapshot::Frame {
                        size,
                        pixels_per_point,
                    },
                };
                snapshot::pane(&mut renderer, state, pane, frame, look.transparent)
            }
            None => {
                let mut memory = Memory::without_dialogs();
                snapshot::window(
                    &mut renderer,
                    state,
                    size,
                    pixels_per_point,
                    &mut |ui, state, views| {
                        ui::show(ui, state, &mut memory, views);
                    },
                )
            }
        };
        if let Some(renderer) = renderer {
            paint_callback::put_renderer(resources, renderer);
        }
        let action = match picture {
            Ok(picture) => {
                let request = Request::SavePng {
                    size: picture.size_px,
                    rgba: picture.rgba,
                    metadata,
                    path: shot.path,
                };
                Action::JobStarted(self.jobs.submit(request))
            }
            Err(error) => Action::ShotTaken(Err(error.to_string())),
        };
        self.act(vec![action], ctx);
    }
}
