//! Pictures of a view or of the window.

use super::App;
use crate::jobs::Request;
use crate::render::Renderer;
use crate::state::{Action, Shot, report};
use crate::ui::{self, Memory, paint_callback, snapshot};
use egui::Context;

impl App {
    /// Draws a picture with what the window's renderer has loaded; a job writes it.
    pub(super) fn take(&mut self, shot: Shot, gpu: &egui_wgpu::RenderState, ctx: &Context) {
        let resources = &mut gpu.renderer.write().callback_resources;
        let fresh = || Renderer::new(gpu.device.clone(), gpu.queue.clone());
        let mut renderer = paint_callback::take_renderer(resources).or_else(|| Some(fresh()));
        let pixels_per_point = ctx.pixels_per_point() * shot.scale.clamp(1, 4) as f32;
        let (state, size) = (&self.state, ctx.content_rect().size());
        let picture = match shot.pane {
            Some(pane) => {
                let on_screen = self.views.panes().iter().find(|(p, _)| *p == pane);
                let size = on_screen.map_or(snapshot::DEFAULT_SIZE, |(_, rect)| rect.size());
                snapshot::pane(&mut renderer, state, pane, size, pixels_per_point)
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
                    metadata: report::picture(&self.state),
                    path: shot.path,
                };
                Action::JobStarted(self.jobs.submit(request))
            }
            Err(error) => Action::ShotTaken(Err(error.to_string())),
        };
        self.act(vec![action], ctx);
    }
}
