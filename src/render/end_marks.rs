//! Marks at the ends of streamlines, in the 3-D view and on slices (shaders/end_marks.wgsl).

use super::clips::{self, ClipTable};
use super::gpu::{Gpu, Slot, blended, depth_test, source};
use super::pipelines::Drawing;
use super::slice_lines::slab_from_world;
use super::view::SceneView;
use crate::data::{DataId, Tractogram};
use crate::scene::draw_list::{EndMarks, SlicePane};
use bytemuck::{Pod, Zeroable};
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

const SHADER: &str = include_str!("../../shaders/end_marks.wgsl");

/// The source of the shader.
pub(super) fn shader() -> String {
    source(&format!("{}\n{SHADER}", clips::SHADER))
}

/// Width of the dark rim, logical pixels: without it marks would vanish among lines of their colour.
const RIM_PX: f32 = 0.75;
/// Number of tractograms whose ends stay on the device.
const KEPT: usize = 16;
/// Marked streamlines in a buffer: they are loaded within milliseconds, and their two ends take 2 MiB.
const PIECE: usize = 1 << 16;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ViewUniform {
    from_world: [[f32; 4]; 4],
    eye: [f32; 4],
    slab: [f32; 4],
    size: [f32; 4],
    depth_cue: [f32; 4],
    fading: [f32; 4],
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
    /// One of each buffer, with its number of marks.
    groups: Vec<(wgpu::BindGroup, u32)>,
    over: bool,
}

/// A tractogram, the spacing of the streamlines that are marked, and the names of the values of both ends.
type EndKey = (DataId, usize, [&'static str; 2]);

/// Ends of a tractogram on the device.
struct KeptEnds {
    key: EndKey,
    /// The first streamline that is not loaded.
    next: usize,
    /// One buffer for each piece, with its number of ends.
    places: Vec<(wgpu::Buffer, u32)>,
}

impl KeptEnds {
    fn new(key: EndKey) -> Self {
        Self {
            key,
            next: 0,
            places: Vec::new(),
        }
    }

    fn load_piece(&mut self, gpu: &Gpu, tractogram: &Tractogram) {
        let (_, every, values) = self.key;
        let until = (self.next + PIECE * every).min(tractogram.len());
        let places = places(tractogram, (self.next..until, every), values);
        if !places.is_empty() {
            let count = places.len() as u32;
            self.places.push((gpu.storage_of(&places), count));
        }
        self.next = until;
    }
}

fn key(marks: &EndMarks) -> EndKey {
    let tractogram = &marks.tractogram.0;
    (tractogram.id(), marks.every.max(1), marks.values)
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
            let module = gpu.shader("end marks", shader());
            let slots = [Slot::Uniform, Slot::Storage, Slot::Storage, Slot::Storage];
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
            depth_cue: view.depth_cue.as_vec4().to_array(),
            fading: view.fading(),
        };
        let [_, _, clips] = &view.clips;
        self.ready(gpu, all, (&uniform, clips), (view.pixel_scale, false))
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
            true => {
                let no_clips = ClipTable::new(&[]);
                self.ready(gpu, &pane.ends, (&uniform, &no_clips), (pane.scale, true))
            }
            false => Vec::new(),
        }
    }

    fn ready(
        &self,
        gpu: &Gpu,
        all: &[EndMarks],
        (uniform, clips): (&ViewUniform, &ClipTable),
        (scale, over): (f32, bool),
    ) -> Vec<Ready> {
        if all.is_empty() {
            return Vec::new();
        }
        let uniform = gpu.uniform(uniform);
        let clips = gpu.storage_of(std::slice::from_ref(clips));
        let of_one = |marks: &EndMarks| {
            let table = gpu.storage_of(&table(marks, scale));
            let group = |places: &wgpu::Buffer| {
                let resources = [
                    uniform.as_entire_binding(),
                    places.as_entire_binding(),
                    table.as_entire_binding(),
                    clips.as_entire_binding(),
                ];
                gpu.bind(&self.pipelines(gpu).layout, &resources)
            };
            let places = self.places(marks);
            Ready {
                groups: places.iter().map(|(p, count)| (group(p), *count)).collect(),
                over,
            }
        };
        all.iter().map(of_one).collect()
    }

    /// Continues loading the ends until the deadline, but by one piece at least; returns how many can be drawn, and whether
    /// these are all of them.
    pub fn advance(&self, gpu: &Gpu, all: &[EndMarks], deadline: Option<Instant>) -> (usize, bool) {
        let (mut count, mut complete) = (0, true);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for marks in all {
            let sought = key(marks);
            match kept.iter().position(|k| k.key == sought) {
                Some(known) => kept[..=known].rotate_right(1),
                None => kept.insert(0, KeptEnds::new(sought)),
            }
            if let Some(ends) = kept.first_mut() {
                let tractogram = &marks.tractogram.0;
                while ends.next < tractogram.len() {
                    ends.load_piece(gpu, tractogram);
                    if deadline.is_some_and(|d| Instant::now() > d) {
                        break;
                    }
                }
                count += ends.places.iter().map(|(_, n)| *n as usize).sum::<usize>();
                complete &= ends.next >= tractogram.len();
            }
        }
        kept.truncate(KEPT.max(all.len()));
        (count, complete)
    }

    /// The ends of the streamlines that are drawn, as far as they are loaded.
    fn places(&self, marks: &EndMarks) -> Vec<(wgpu::Buffer, u32)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept.iter().find(|k| k.key == key(marks));
        known.map_or_else(Vec::new, |known| known.places.clone())
    }

    pub fn draw(&self, gpu: &Gpu, pass: &mut wgpu::RenderPass, all: &[Ready], samples: u32) {
        for ready in all {
            let pipelines = self.pipelines(gpu);
            pass.set_pipeline(match ready.over {
                true => &pipelines.over,
                false => &pipelines.draw[usize::from(samples > 1)],
            });
            for (group, count) in &ready.groups {
                pass.set_bind_group(0, group, &[]);
                pass.draw(0..4, 0..*count);
            }
        }
    }
}

/// First and last points with the value of each end, of one streamline in `every` among these.
fn places(
    tractogram: &Tractogram,
    (streamlines, every): (Range<usize>, usize),
    values: [&str; 2],
) -> Vec<[f32; 4]> {
    let values = values.map(|name| tractogram.per_streamline.get(name));
    let ends = streamlines.step_by(every).flat_map(|line| {
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
