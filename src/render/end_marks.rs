//! Marks at the ends of streamlines, in the 3-D view and on slices (shaders/end_marks.wgsl).

use super::gpu::{Gpu, Slot, blended, depth_test, source};
use super::pipelines::Drawing;
use super::slice_lines::slab_from_world;
use super::view::SceneView;
use crate::data::{DataId, Tractogram};
use crate::scene::draw_list::{EndMarks, SlicePane};
use bytemuck::{Pod, Zeroable};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(super) const SHADER: &str = include_str!("../../shaders/end_marks.wgsl");

/// Width of the dark rim, logical pixels: without it marks would vanish among lines of their colour.
const RIM_PX: f32 = 0.75;
/// Number of tractograms whose ends stay on the device.
const KEPT: usize = 16;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ViewUniform {
    from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    slab: [f32; 4],
    size: [f32; 4],
}

struct Pipelines {
    layout: wgpu::BindGroupLayout,
    /// In the 3-D view, for 1 and for 4 samples.
    draw: [wgpu::RenderPipeline; 2],
    /// On slices.
    over: wgpu::RenderPipeline,
}

/// Marks of one tractogram, ready to draw.
pub(super) struct Ready {
    group: wgpu::BindGroup,
    count: u32,
    over: bool,
}

/// Ends of a tractogram on the device.
struct KeptEnds {
    of: (DataId, usize, [&'static str; 2]),
    /// `None` without ends.
    places: Option<Arc<wgpu::Buffer>>,
    count: u32,
}

#[derive(Default)]
pub(super) struct EndMarkRenderer {
    pipelines: OnceLock<Pipelines>,
    /// Most recently used first.
    kept: Mutex<Vec<KeptEnds>>,
}

impl EndMarkRenderer {
    fn pipelines(&self, gpu: &Gpu) -> &Pipelines {
        self.pipelines.get_or_init(|| {
            let module = gpu.shader("end marks", source(SHADER));
            let slots = [Slot::Uniform, Slot::Storage, Slot::Storage];
            let layout = gpu.layout(wgpu::ShaderStages::VERTEX_FRAGMENT, &slots);
            let pipeline = |entries, samples, depth_stencil| {
                let own = Drawing {
                    primitive: wgpu::PrimitiveState {
                        topology: wgpu::PrimitiveTopology::TriangleStrip,
                        ..Default::default()
                    },
                    samples,
                    depth_stencil,
                    targets: &[Some(blended())],
                };
                gpu.render_pipeline((&module, &layout), entries, own)
            };
            let draw = [1, 4].map(|n| pipeline(["vs_mark", "fs_mark"], n, Some(depth_test(true))));
            let over = pipeline(["vs_mark_over", "fs_mark_over"], 1, None);
            Pipelines { layout, draw, over }
        })
    }

    /// Releases the ends.
    pub fn clear(&mut self) {
        self.kept = Mutex::default();
    }

    /// Marks of the 3-D view.
    pub fn in_scene(&self, gpu: &Gpu, all: &[EndMarks], view: &SceneView) -> Vec<Ready> {
        let [width, height] = view.size_px.map(|n| n as f32);
        let uniform = ViewUniform {
            from_world: view.clip_from_world.as_mat4().to_cols_array_2d(),
            eye: view.eye.as_vec4().to_array(),
            slab: view.slab.as_vec4().to_array(),
            size: [width, height, view.px_per_mm as f32, 0.0],
        };
        self.ready(gpu, all, (&uniform, view.pixel_scale, false))
    }

    /// Marks of a slice, once its other content is complete.
    pub fn on_slice(&self, gpu: &Gpu, pane: &SlicePane, is_complete: bool) -> Vec<Ready> {
        let [width, height] = pane.size_px.map(|n| n as f32);
        let uniform = ViewUniform {
            from_world: slab_from_world(pane).as_mat4().to_cols_array_2d(),
            size: [width, height, 1.0, 0.0],
            ..ViewUniform::zeroed()
        };
        match is_complete {
            true => self.ready(gpu, &pane.ends, (&uniform, pane.scale, true)),
            false => Vec::new(),
        }
    }

    fn ready(
        &self,
        gpu: &Gpu,
        all: &[EndMarks],
        (uniform, scale, over): (&ViewUniform, f32, bool),
    ) -> Vec<Ready> {
        if all.is_empty() {
            return Vec::new();
        }
        let uniform = gpu.uniform(uniform);
        let of_one = |marks: &EndMarks| {
            let (places, count) = self.places(gpu, marks)?;
            let table = gpu.storage_of(&table(marks, scale));
            let resources = [
                uniform.as_entire_binding(),
                places.as_entire_binding(),
                table.as_entire_binding(),
            ];
            Some(Ready {
                group: gpu.bind(&self.pipelines(gpu).layout, &resources),
                count,
                over,
            })
        };
        all.iter().filter_map(of_one).collect()
    }

    /// The ends of the streamlines that are drawn; `None` if there are none.
    fn places(&self, gpu: &Gpu, marks: &EndMarks) -> Option<(Arc<wgpu::Buffer>, u32)> {
        let tractogram = &marks.tractogram.0;
        let key = (tractogram.id(), marks.every.max(1), marks.values);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match kept.iter().position(|k| k.of == key) {
            Some(known) => kept[..=known].rotate_right(1),
            None => {
                let mut places = places(tractogram, key.1, key.2);
                places.truncate(gpu.limits.max_storage_buffer_binding_size as usize / 16);
                let fresh = KeptEnds {
                    of: key,
                    count: places.len() as u32,
                    places: (!places.is_empty()).then(|| Arc::new(gpu.storage_of(&places))),
                };
                kept.insert(0, fresh);
                kept.truncate(KEPT);
            }
        }
        let first = kept.first()?;
        Some((first.places.clone()?, first.count))
    }

    pub fn draw(&self, gpu: &Gpu, pass: &mut wgpu::RenderPass, all: &[Ready], samples: u32) {
        for ready in all {
            let pipelines = self.pipelines(gpu);
            pass.set_pipeline(match ready.over {
                true => &pipelines.over,
                false => &pipelines.draw[usize::from(samples > 1)],
            });
            pass.set_bind_group(0, &ready.group, &[]);
            pass.draw(0..4, 0..ready.count);
        }
    }
}

/// First and last points with the value of each end, of one streamline in `every`.
fn places(tractogram: &Tractogram, every: usize, values: [&str; 2]) -> Vec<[f32; 4]> {
    let values = values.map(|name| tractogram.per_streamline.get(name));
    let ends = (0..tractogram.len()).step_by(every).flat_map(|line| {
        let [from, to] = [line, line + 1].map(|i| tractogram.offsets[i] as usize);
        let at = |value: Option<f32>, point: usize| {
            let value = value.filter(|v| *v >= 0.0)?;
            let [x, y, z] = *tractogram.points.get(point)?;
            Some([x, y, z, value])
        };
        let [first, last] = values.map(|values| values.map(|values| values[line]));
        match to > from {
            true => [at(first, from), at(last, to - 1)],
            false => [None; 2],
        }
    });
    ends.flatten().collect()
}

/// By value: colour and opacity, then shape, radius and rim in pixels; the last entry, without a mark, is that of all
/// larger values.
fn table(marks: &EndMarks, scale: f32) -> Vec<[[f32; 4]; 2]> {
    let entry = |mark: &Option<crate::scene::draw_list::Mark>| {
        let Some(mark) = mark else {
            return [[0.0; 4]; 2];
        };
        let [r, g, b] = mark.colour.map(|c| f32::from(c) / 255.0);
        let form = [
            f32::from(mark.shape as u8),
            mark.radius_px * scale,
            RIM_PX * scale,
            0.0,
        ];
        [[r, g, b, marks.opacity], form]
    };
    marks.marks.iter().chain([&None]).map(entry).collect()
}
