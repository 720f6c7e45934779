//! Pipelines of the renderer, described by their differences.

use super::gpu::Gpu;

/// Differences between drawing shaders, besides their layout and their entry points.
pub(super) struct Drawing<'a> {
    pub primitive: wgpu::PrimitiveState,
    /// Samples per pixel of the targets.
    pub samples: u32,
    pub depth_stencil: Option<wgpu::DepthStencilState>,
    pub targets: &'a [Option<wgpu::ColorTargetState>],
}

impl Gpu {
    fn pipeline_layout(&self, groups: &[&wgpu::BindGroupLayout]) -> wgpu::PipelineLayout {
        let groups: Vec<_> = groups.iter().map(|group| Some(*group)).collect();
        self.device
            .create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: None,
                bind_group_layouts: &groups,
                immediate_size: 0,
            })
    }

    /// There is no vertex buffer: shaders compute vertices from their index.
    pub fn render_pipeline(
        &self,
        (module, group): (&wgpu::ShaderModule, &wgpu::BindGroupLayout),
        [vertex, fragment]: [&str; 2],
        drawing: Drawing,
    ) -> wgpu::RenderPipeline {
        self.device
            .create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(fragment),
                layout: Some(&self.pipeline_layout(&[group])),
                vertex: wgpu::VertexState {
                    module,
                    entry_point: Some(vertex),
                    compilation_options: Default::default(),
                    buffers: &[],
                },
                primitive: drawing.primitive,
                depth_stencil: drawing.depth_stencil,
                multisample: wgpu::MultisampleState {
                    count: drawing.samples,
                    ..Default::default()
                },
                fragment: Some(wgpu::FragmentState {
                    module,
                    entry_point: Some(fragment),
                    compilation_options: Default::default(),
                    targets: drawing.targets,
                }),
                multiview_mask: None,
                cache: None,
            })
    }

    pub fn compute_pipeline(
        &self,
        (module, group): (&wgpu::ShaderModule, &wgpu::BindGroupLayout),
        entry: &str,
    ) -> wgpu::ComputePipeline {
        self.compute_pipeline_of(module, &[group], entry)
    }

    /// A compute pipeline with resources in several groups.
    pub fn compute_pipeline_of(
        &self,
        module: &wgpu::ShaderModule,
        groups: &[&wgpu::BindGroupLayout],
        entry: &str,
    ) -> wgpu::ComputePipeline {
        self.device
            .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: Some(&self.pipeline_layout(groups)),
                module,
                entry_point: Some(entry),
                compilation_options: Default::default(),
                cache: None,
            })
    }
}

/// A pass of its own with this many workgroups.
pub(super) fn dispatch(
    encoder: &mut wgpu::CommandEncoder,
    label: &str,
    (pipeline, group): (&wgpu::ComputePipeline, &wgpu::BindGroup),
    [x, y, z]: [u32; 3],
) {
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: Some(label),
        timestamp_writes: None,
    });
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, group, &[]);
    pass.dispatch_workgroups(x, y, z);
}
