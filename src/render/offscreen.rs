//! Pictures without a window: for tests, screenshots and the command line.

use super::ambient_occlusion::reach_px;
use super::{Faults, PaneId, Renderer, device_descriptor, instance, shortcoming, unsuitable};
use crate::scene::draw_list::{ScenePane, SlicePane};
use glam::{DMat4, DVec3, DVec4};
use std::ops::Range;

/// RGBA bytes, sRGB, top row first.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture {
    pub size_px: [u32; 2],
    pub rgba: Vec<u8>,
}

impl Picture {
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 4] {
        let at = (y as usize * self.size_px[0] as usize + x as usize) * 4;
        [0, 1, 2, 3].map(|c| self.rgba[at + c])
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Error {
    NoDevice,
    /// A sentence about the device found.
    Unsuitable(String),
    Refused(String),
    TooLarge {
        size_px: [u32; 2],
    },
    /// More than the device draws at once.
    TooLong {
        size_px: [u32; 2],
        max_px: u32,
    },
    Lost(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoDevice => f.write_str(
                "No graphics device was found; install a Vulkan driver (mesa-vulkan-drivers draws \
                 without a graphics card)",
            ),
            Self::Unsuitable(sentence) => f.write_str(sentence),
            Self::Refused(why) => write!(f, "The graphics device could not be opened: {why}"),
            Self::TooLarge {
                size_px: [width, height],
            } => write!(
                f,
                "Found a picture of {width} × {height} pixels, expected at most {} million; choose a smaller size",
                MAXIMUM_PIXELS / 1_000_000
            ),
            Self::TooLong {
                size_px: [width, height],
                max_px,
            } => write!(
                f,
                "Found a picture of {width} × {height} pixels, expected at most {max_px} per side on this \
                 graphics device; choose a smaller size"
            ),
            Self::Lost(why) => write!(f, "The graphics device failed while drawing: {why}"),
        }
    }
}

impl std::error::Error for Error {}

/// 16 384 × 12 288: 800 MB of bytes.
const MAXIMUM_PIXELS: u64 = 200_000_000;
/// Larger pictures are drawn in tiles, so that their samples fit the device's memory.
const TILE_PX: u32 = 4096;
const PANE: PaneId = PaneId(u32::MAX);

/// A renderer with a device of its own.
pub struct Offscreen {
    pub renderer: Renderer,
    /// Errors of its device: to be checked after the renderer is used directly.
    pub faults: Faults,
    adapter: wgpu::AdapterInfo,
}

impl Offscreen {
    pub fn new() -> Result<Self, Error> {
        Self::with_limits(|limits| limits)
    }

    /// A renderer with lower limits than the adapter's, to test smaller devices.
    pub fn with_limits(limit: impl Fn(wgpu::Limits) -> wgpu::Limits) -> Result<Self, Error> {
        let adapter = pollster::block_on(
            instance().request_adapter(&wgpu::RequestAdapterOptions {
                power_preference: wgpu::PowerPreference::from_env()
                    .unwrap_or(wgpu::PowerPreference::HighPerformance),
                ..Default::default()
            }),
        )
        .map_err(|_| Error::NoDevice)?;
        if let Some(sentence) = shortcoming(&adapter) {
            return Err(Error::Unsuitable(sentence));
        }
        let mut descriptor = device_descriptor(&adapter);
        descriptor.required_limits = limit(descriptor.required_limits);
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| Error::Refused(e.to_string()))?;
        let faults = Faults::watch(&device);
        let mut renderer = Renderer::new(device, queue);
        renderer.load_at_once();
        if let Some(why) = faults.take_error() {
            return Err(Error::Unsuitable(unsuitable(&adapter.get_info(), &why)));
        }
        Ok(Self {
            renderer,
            faults,
            adapter: adapter.get_info(),
        })
    }

    /// `llvmpipe (LLVM 15.0.6, 256 bits)`.
    pub fn device_name(&self) -> &str {
        &self.adapter.name
    }

    /// The exporter of images on the drawing device.
    pub fn lender(&self) -> Option<crate::data::ImageExporter> {
        super::image_exporter(self.renderer.device(), self.renderer.queue())
    }

    /// Whether a CPU does the drawing.
    pub fn is_software(&self) -> bool {
        self.adapter.device_type == wgpu::DeviceType::Cpu
    }

    pub fn slice(&mut self, list: &SlicePane) -> Result<Picture, Error> {
        let picture = self.renderer.slice_picture(list);
        self.faults.or_error(picture)
    }

    pub fn scene(&mut self, list: &ScenePane) -> Result<Picture, Error> {
        let picture = self.renderer.scene_picture(list);
        self.faults.or_error(picture)
    }
}

impl Renderer {
    /// A slice view as bytes; waits for the device.
    pub fn slice_picture(&mut self, list: &SlicePane) -> Result<Picture, Error> {
        self.draw_tiled(list.size_px, 0, |renderer, [x, y], size_px| {
            let part = SlicePane {
                size_px,
                origin: list.origin + list.right * f64::from(x) + list.down * f64::from(y),
                ..list.clone()
            };
            renderer.slice(&part, PANE);
        })
    }

    /// The 3-D view as bytes, never coarse; waits for the device.
    pub fn scene_picture(&mut self, list: &ScenePane) -> Result<Picture, Error> {
        if let Some(sentence) = self.no_scenes() {
            return Err(Error::Unsuitable(sentence.to_owned()));
        }
        let whole = list.size_px.map(f64::from);
        let margin = reach_px(list.scale);
        self.draw_tiled(list.size_px, margin, |renderer, corner, size_px| {
            // The tile's part of clip space, stretched to the whole.
            let share = [0, 1].map(|a| f64::from(size_px[a]) / whole[a]);
            let middle = [0, 1].map(|a| {
                (f64::from(corner[a]) + f64::from(size_px[a]) * 0.5) / whole[a] * 2.0 - 1.0
            });
            let crop = DMat4::from_cols(
                DVec4::X / share[0],
                DVec4::Y / share[1],
                DVec4::Z,
                DVec3::new(-middle[0] / share[0], middle[1] / share[1], 0.0).extend(1.0),
            );
            let part = ScenePane {
                size_px,
                clip_from_world: crop * list.clip_from_world,
                moving: false,
                ..list.clone()
            };
            renderer.scene(&part, PANE);
        })
    }

    /// A pane's texture as bytes (a rough picture fills only a corner); waits for the device. Panics if the pane was
    /// never drawn.
    pub fn read(&self, id: PaneId) -> Result<Picture, Error> {
        let texture = &self.panes[&id].texture;
        let size_px = [texture.width(), texture.height()];
        let mut rgba = Vec::with_capacity(size_px.iter().product::<u32>() as usize * 4);
        self.read_rows(id, |_, bytes| rgba.extend_from_slice(bytes))?;
        Ok(Picture { size_px, rgba })
    }

    /// Draws the tiles of a picture, each into the pane [`PANE`], and joins them. Tiles overlap by twice the margin, so
    /// that the neighbours that a pixel depends on are present.
    fn draw_tiled(
        &mut self,
        size_px: [u32; 2],
        margin: u32,
        mut draw: impl FnMut(&mut Self, [u32; 2], [u32; 2]),
    ) -> Result<Picture, Error> {
        let [width, height] = size_px;
        if u64::from(width) * u64::from(height) > MAXIMUM_PIXELS || width == 0 || height == 0 {
            return Err(Error::TooLarge { size_px });
        }
        let tile = TILE_PX.min(self.gpu.limits.max_texture_dimension_2d);
        let loading = self.loading.take();
        let mut rgba = vec![0; width as usize * height as usize * 4];
        let mut result = Ok(());
        'tiles: for y in tile_spans(height, tile, margin) {
            for x in tile_spans(width, tile, margin) {
                let size = [x.drawn.len() as u32, y.drawn.len() as u32];
                draw(self, [x.drawn.start, y.drawn.start], size);
                result = self.read_rows(PANE, |row, bytes| {
                    let row = y.drawn.start + row as u32;
                    if y.kept.contains(&row) {
                        let from = (x.kept.start - x.drawn.start) as usize * 4;
                        let count = x.kept.len() * 4;
                        let to = (row as usize * width as usize + x.kept.start as usize) * 4;
                        rgba[to..to + count].copy_from_slice(&bytes[from..from + count]);
                    }
                });
                if result.is_err() {
                    break 'tiles;
                }
            }
        }
        self.loading = loading;
        self.forget(PANE);
        result.map(|()| Picture { size_px, rgba })
    }

    /// Passes the rows of a pane to `take`.
    fn read_rows(&self, id: PaneId, take: impl FnMut(usize, &[u8])) -> Result<(), Error> {
        self.read_texture(&self.panes[&id].texture, take)
    }

    /// Passes the rows of a texture of 4 bytes per pixel to `take`; waits for the device.
    pub fn read_texture(
        &self,
        texture: &wgpu::Texture,
        mut take: impl FnMut(usize, &[u8]),
    ) -> Result<(), Error> {
        let lost = |e: &dyn std::fmt::Display| Error::Lost(e.to_string());
        let row_bytes = texture.width() * 4;
        // wgpu copies rows only at multiples of 256 bytes.
        let padded = row_bytes.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let device = &self.gpu.device;
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(padded) * u64::from(texture.height()),
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        let mut encoder = device.create_command_encoder(&Default::default());
        encoder.copy_texture_to_buffer(
            texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(padded),
                    rows_per_image: None,
                },
            },
            texture.size(),
        );
        self.gpu.queue.submit([encoder.finish()]);
        let (sender, mapped) = std::sync::mpsc::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver waits below; if it is gone, the picture is not needed.
            let _ = sender.send(result);
        });
        device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|e| lost(&e))?;
        mapped.recv().map_err(|e| lost(&e))?.map_err(|e| lost(&e))?;
        let bytes = buffer.get_mapped_range(..).map_err(|e| lost(&e))?;
        for (row, padded) in bytes.chunks_exact(padded as usize).enumerate() {
            take(row, &padded[..row_bytes as usize]);
        }
        Ok(())
    }
}

/// Pixels along one side that a tile draws, and those of them that it keeps.
struct Span {
    drawn: Range<u32>,
    kept: Range<u32>,
}

/// Tiles of at most `tile` pixels that cover `length`, each drawn with a margin next to a neighbour.
fn tile_spans(length: u32, tile: u32, margin: u32) -> Vec<Span> {
    if length <= tile {
        return vec![Span {
            drawn: 0..length,
            kept: 0..length,
        }];
    }
    // Starts stay multiples of 8, so that coarser pixel grids align.
    let margin = margin.min(tile / 4) / 8 * 8;
    let step = ((tile - 2 * margin) / 8 * 8).max(1);
    (0..length)
        .step_by(step as usize)
        .map(|start| {
            let kept = start..(start + step).min(length);
            let drawn = start.saturating_sub(margin)..(kept.end + margin).min(length);
            Span { drawn, kept }
        })
        .collect()
}
