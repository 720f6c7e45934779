//! The passes that draw the objects of a scene: opaque ones, then translucent streamlines.

use super::{Part, Quality, ReadyGlyphs, Scenes, Targets, Tools};
use crate::render::end_marks;
use crate::render::glyphs::Look;
use crate::render::line_buffers::LineKey;
use crate::render::line_raster::PassLines;
use crate::render::lines::{LinePass, Rank, ReadyLines, overlap, pass_ranges};
use crate::render::slice::Layer;
use crate::render::solids;
use crate::render::textures::Key;
use crate::render::transparency::TransparencyTargets;
use crate::render::view::SceneView;
use crate::scene::draw_list::ScenePane;
use std::ops::Range;

/// The passes in which a part of a scene is drawn: lines of the background need depths of their own.
fn stages(context: bool, begins: bool, of_context: bool) -> &'static [Stage] {
    match (context, begins, of_context) {
        (false, ..) => &[Stage::All],
        (true, true, _) => &[Stage::Slices, Stage::Context, Stage::Rest],
        (true, false, true) => &[Stage::Context, Stage::Rest],
        (true, false, false) => &[Stage::Rest],
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Slices,
    /// Lines of the background.
    Context,
    /// Opaque lines and solids.
    Rest,
    /// Slices and the rest.
    All,
}

/// The objects of a scene, ready to draw.
pub(super) struct Objects {
    layers: Vec<Layer>,
    pub lines: Vec<ReadyLines>,
    solids: Vec<solids::Ready>,
    glyphs: Option<ReadyGlyphs>,
    ends: Vec<end_marks::Ready>,
}

/// The slots and rows that one part of a picture draws.
pub(super) struct Share<'a> {
    part: &'a Part,
    uses: [(LinePass, Range<usize>); 4],
    /// Rows of volumes.
    pub rows: Range<u32>,
}

impl<'a> Share<'a> {
    /// `height`: number of rows of volumes in the picture.
    pub fn new(part: &'a Part, strands: &[ReadyLines], height: u32) -> Self {
        Self {
            part,
            uses: pass_ranges(strands),
            rows: part.rows.start.min(height)..part.rows.end.min(height),
        }
    }

    /// Number of slots of the whole picture.
    pub fn all_slots(&self) -> usize {
        self.uses[3].1.end
    }

    /// The slots for a pass.
    fn slots_for(&self, for_use: LinePass) -> Range<usize> {
        let (_, own) = &self.uses[for_use as usize];
        overlap(&self.part.slots, own.clone())
    }

    /// Whether it draws the last opaque lines, after which the opaque scene is complete.
    fn completes_opaque(&self) -> bool {
        let last_opaque = self.uses[LinePass::Opaque as usize].1.end;
        let part = self.part;
        part.slots.end >= last_opaque && (part.begins || part.slots.start < last_opaque)
    }

    /// All slots of the picture for a pass, counted from its first one.
    fn all_slots_for(&self, for_use: LinePass) -> Range<usize> {
        0..self.uses[for_use as usize].1.len()
    }

    pub fn sees_through(&self) -> bool {
        !self.slots_for(LinePass::Translucent).is_empty()
    }
}

/// The pixels of a picture.
pub(super) struct Frame {
    /// The size of the corner that is drawn.
    pub drawn: [u32; 2],
    pub samples: u32,
    /// Lines are clipped to the view's slab or by its clips.
    pub cut: bool,
    /// Volumes are drawn after the lines.
    pub foggy: bool,
}

impl Frame {
    /// Limits a pass to the corner that is drawn.
    fn limit(&self, pass: &mut wgpu::RenderPass) {
        let [width, height] = self.drawn.map(|n| n as f32);
        pass.set_viewport(0.0, 0.0, width, height, 0.0, 1.0);
        pass.set_scissor_rect(0, 0, self.drawn[0], self.drawn[1]);
    }
}

impl Scenes {
    /// Prepares the objects of a scene; adds the textures that they use.
    pub(super) fn objects(
        &self,
        tools: &mut Tools,
        list: &ScenePane,
        keys: &[LineKey],
        (view, quality): (&SceneView, &Quality),
        used: &mut Vec<Key>,
    ) -> Objects {
        let Tools {
            gpu,
            textures,
            store,
            slices,
            lines,
            ..
        } = tools;
        let mut layers = Vec::new();
        for quad in &list.slices {
            let (m, how) = (&list.clip_from_world, (quality.samples, quality.rough));
            layers.extend(slices.quad_layers(gpu, textures, quad, m, how, used));
        }
        let strands: Vec<_> = list
            .lines
            .iter()
            .zip(keys)
            .map(|(l, &key)| {
                lines.ready_lines(gpu, (textures, store), l, key, view, quality.max_slots)
            })
            .collect();
        let clipped = !list.clips.surfaces.is_empty();
        let solids = (&list.solids[..], clipped);
        let solids = self.solids.groups(gpu, textures, solids, view, used);
        let looked = Look::scene(view, quality.rough);
        let glyphs = self.glyphs(gpu, list.glyphs.as_ref(), &looked);
        Objects {
            layers,
            lines: strands,
            solids,
            glyphs,
            ends: self.ends.in_scene(gpu, &list.ends, view),
        }
    }

    /// Draws a share of the slices, the background's lines, opaque lines and solids.
    pub(super) fn draw_opaque(
        &self,
        tools: &Tools,
        encoder: &mut wgpu::CommandEncoder,
        (frame, background): (&Frame, [u8; 3]),
        objects: &Objects,
        share: &Share,
        targets: &mut Targets,
    ) {
        let (gpu, samples, part) = (tools.gpu, frame.samples, share.part);
        let [r, g, b] = background.map(|c| f64::from(c) / 255.0);
        let complete = part.ends;
        let context = [LinePass::ContextDepth, LinePass::ContextColour];
        let of_context = context.iter().any(|&u| !share.slots_for(u).is_empty());
        let stages = stages(
            objects.lines.iter().any(|s| s.is_in_rank(Rank::Context)),
            part.begins,
            of_context,
        );
        let computed = self.compute_lines(tools, encoder, frame, objects, share, targets);
        for (i, &stage) in stages.iter().enumerate() {
            let (first, last) = (i == 0, i + 1 == stages.len());
            let clears = first && part.begins;
            let resolves = share.completes_opaque() && last;
            if stage == Stage::Context && part.begins {
                targets.set_aside(gpu, encoder);
            }
            let depth = match (stage, &targets.line_depth) {
                (Stage::Context, Some((_, aside))) => aside,
                _ => &targets.depth,
            };
            let clear = wgpu::Color { r, g, b, a: 1.0 };
            let ends_here = last && !complete && !share.sees_through() && share.rows.is_empty();
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("scene"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &targets.colour,
                    depth_slice: None,
                    resolve_target: (samples > 1 && resolves).then_some(&targets.base),
                    ops: wgpu::Operations {
                        load: if clears {
                            wgpu::LoadOp::Clear(clear)
                        } else {
                            wgpu::LoadOp::Load
                        },
                        store: if samples > 1 && resolves && complete {
                            wgpu::StoreOp::Discard
                        } else {
                            wgpu::StoreOp::Store
                        },
                    },
                })],
                depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                    view: depth,
                    depth_ops: Some(wgpu::Operations {
                        load: if clears {
                            wgpu::LoadOp::Clear(1.0)
                        } else {
                            wgpu::LoadOp::Load
                        },
                        store: wgpu::StoreOp::Store,
                    }),
                    stencil_ops: None,
                }),
                timestamp_writes: tools.stopwatch.writes(first && !computed, ends_here),
                occlusion_query_set: None,
                multiview_mask: None,
            });
            frame.limit(&mut pass);
            let ribbons = |pass: &mut wgpu::RenderPass, for_use| {
                let (own, strands) = ((for_use, &share.slots_for(for_use)), &objects.lines);
                let how = (samples, frame.cut);
                tools.lines.draw_scene(gpu, pass, strands, how, own);
            };
            if stage == Stage::Context {
                for for_use in context {
                    ribbons(&mut pass, for_use);
                }
                continue;
            }
            if stage != Stage::Rest && part.begins {
                tools.slices.draw_quads(&mut pass, &objects.layers, samples);
            }
            match &targets.nearest {
                _ if stage == Stage::Slices => {}
                Some(nearest) if computed => {
                    let rasteriser = &self.line_rasteriser;
                    rasteriser.write(gpu, &mut pass, nearest, frame.drawn);
                }
                _ => ribbons(&mut pass, LinePass::Opaque),
            }
            if resolves {
                match &objects.glyphs {
                    Some(ReadyGlyphs::Tensors(ready)) => {
                        self.tensor_glyphs.draw(gpu, &mut pass, ready, samples);
                    }
                    Some(ReadyGlyphs::Odfs(ready)) => {
                        self.odf_glyphs.draw(gpu, &mut pass, ready, samples);
                    }
                    None => {}
                }
                self.ends.draw(gpu, &mut pass, &objects.ends, samples);
                // Solids hide translucent lines behind them: little is lost, and such lines in front of a solid are
                // correct.
                self.solids.draw(gpu, &mut pass, &objects.solids, samples);
            }
        }
    }

    /// Finds the nearest of a share's opaque lines by compute shaders, if these are to draw them; returns whether they are.
    fn compute_lines(
        &self,
        tools: &Tools,
        encoder: &mut wgpu::CommandEncoder,
        frame: &Frame,
        objects: &Objects,
        share: &Share,
        targets: &mut Targets,
    ) -> bool {
        let own = PassLines {
            all: &objects.lines,
            pass: LinePass::Opaque,
            slots: &share.slots_for(LinePass::Opaque),
            drawn: frame.drawn,
            samples: frame.samples,
            cut: frame.cut,
        };
        let computed = self.line_rasteriser.takes(tools.gpu, own);
        if computed {
            self.line_rasteriser.draw(
                tools.gpu,
                encoder,
                (&tools.lines.layout, own),
                &mut targets.nearest,
                tools.stopwatch.compute_writes(true, false),
            );
        }
        computed
    }

    /// Draws a share of the translucent streamlines.
    pub(super) fn draw_transparent_lines(
        &self,
        tools: &Tools,
        encoder: &mut wgpu::CommandEncoder,
        frame: &Frame,
        strands: &[ReadyLines],
        share: &Share,
        targets: &mut Targets,
    ) {
        let gpu = tools.gpu;
        let make = || TransparencyTargets::new(gpu, targets.size);
        let textures = targets.transparency.get_or_insert_with(make);
        let depth = (&targets.depth, frame.samples);
        let own = share.slots_for(LinePass::Translucent);
        let begins = own.start == 0;
        let depth = self
            .first_depth
            .depth_for(gpu, encoder, depth, textures, begins);
        let all = share.all_slots_for(LinePass::Translucent);
        let lines = PassLines {
            all: strands,
            pass: LinePass::Translucent,
            slots: &own,
            drawn: frame.drawn,
            samples: 1,
            cut: frame.cut,
        };
        let rasteriser = &self.line_rasteriser;
        // The parts of a picture share their sums, so its first part decides for all.
        let computed = match begins {
            true => rasteriser.takes(
                gpu,
                PassLines {
                    slots: &all,
                    ..lines
                },
            ),
            false => targets.blended.as_ref().is_some_and(|b| b.in_use),
        };
        if computed {
            rasteriser.blend(
                gpu,
                encoder,
                (&tools.lines.layout, lines),
                (depth, frame.foggy),
                &mut targets.blended,
            );
        }
        let ends_here = !share.part.ends && share.rows.is_empty();
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("transparent lines"),
            color_attachments: &textures.attachments(begins),
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: depth,
                // Read only.
                depth_ops: None,
                stencil_ops: None,
            }),
            timestamp_writes: tools.stopwatch.writes(false, ends_here),
            ..Default::default()
        });
        frame.limit(&mut pass);
        match &targets.blended {
            Some(blended) if computed => {
                // The sums may exceed half precision until they are complete and scaled.
                if own.end == all.end {
                    rasteriser.write_blended(gpu, &mut pass, blended, frame.drawn);
                }
            }
            _ => {
                let own = (LinePass::Translucent, &own);
                let how = (1, frame.cut);
                tools.lines.draw_scene(gpu, &mut pass, strands, how, own);
            }
        }
    }
}
