//! Pictures of the window and its views, drawn without a window.

use super::runner::{Failure, Runner};
use crate::render::offscreen::{self, Offscreen, Picture};
use crate::render::{Faults, Renderer};
use crate::scene;
use crate::state::pictures::jobs::SavePng;
use crate::state::{Pane, State, report};
use crate::ui::snapshot::{self, Frame};
use crate::ui::{Memory, show};
use glam::DVec2;
use std::path::Path;

pub struct Pictures {
    renderer: Option<Renderer>,
    faults: Faults,
    device: String,
}

impl Pictures {
    pub fn new() -> Result<Self, Failure> {
        let offscreen = Offscreen::new().map_err(|e| Failure::new(e.to_string()))?;
        let device = offscreen.device_name().to_owned();
        Ok(Self {
            renderer: Some(offscreen.renderer),
            faults: offscreen.faults,
            device,
        })
    }

    /// The graphics device that draws.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// One sentence if the device draws slices and no 3-D view.
    pub fn no_scenes(&self) -> Option<&str> {
        self.renderer.as_ref().and_then(Renderer::no_scenes)
    }

    /// Draws a view, or the whole window, and writes it as PNG with its parameters inside. `size` is in points, each of
    /// which becomes `scale` × `scale` pixels; `transparent` is for the 3-D view.
    pub fn save(
        &mut self,
        state: &State,
        pane: Option<Pane>,
        look: (DVec2, u32, bool),
        path: &Path,
        runner: &mut Runner,
    ) -> Result<(), Failure> {
        let picture = self.draw(state, pane, look)?;
        runner.run(SavePng {
            size: picture.size_px,
            rgba: picture.rgba,
            metadata: report::picture(state),
            path: path.to_owned(),
        })?;
        Ok(())
    }

    /// Draws a view, or the whole window, as in [`Self::save`].
    pub fn draw(
        &mut self,
        state: &State,
        pane: Option<Pane>,
        (size, scale, transparent): (DVec2, u32, bool),
    ) -> Result<Picture, Failure> {
        let size = [size.x as f32, size.y as f32];
        let scale = scale as f32;
        let picture = match pane {
            Some(pane) => {
                let frame = Frame {
                    size: size.into(),
                    pixels_per_point: scale,
                };
                snapshot::pane(&mut self.renderer, state, pane, frame, transparent)
            }
            None => {
                let mut memory = Memory::without_dialogs();
                snapshot::window(
                    &mut self.renderer,
                    state,
                    size,
                    scale,
                    &mut |ui, state, views| {
                        show(ui, state, &mut memory, views);
                    },
                )
            }
        };
        let picture = self.faults.or_error(picture);
        picture.map_err(|e| Failure::new(e.to_string()))
    }

    /// Draws a view without letters, titles and scale bars, which would cover a small picture. A pixel is a point.
    pub fn draw_plain(
        &mut self,
        state: &State,
        pane: Pane,
        size: DVec2,
    ) -> Result<Picture, Failure> {
        let size = scene::Size {
            points: size,
            pixels_per_point: 1.0,
        };
        let failed = |e: offscreen::Error| Failure::new(e.to_string());
        let no_scenes = self.no_scenes().filter(|_| pane == Pane::Scene);
        if let Some(sentence) = no_scenes {
            return Err(Failure::new(sentence));
        }
        let renderer = self.renderer.as_mut();
        let renderer = renderer.ok_or_else(|| failed(offscreen::Error::NoDevice))?;
        renderer.load_at_once();
        let picture = match scene::slice(state, pane, size) {
            Some(list) => renderer.slice_picture(&list),
            None => renderer.scene_picture(&scene::scene(state, size)),
        };
        self.faults.or_error(picture).map_err(failed)
    }
}
