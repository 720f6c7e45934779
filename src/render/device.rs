//! What the renderer asks of a graphics device.

/// What may draw: OpenGL only where nothing else does, or `WGPU_BACKEND` asks for it.
pub fn backends() -> wgpu::Backends {
    chosen().0
}

/// An instance without a window.
pub fn instance() -> wgpu::Instance {
    chosen().1
}

/// Where Vulkan and OpenGL are both loaded, NVIDIA's driver can wait for itself for ever while a Vulkan
/// device is taken down: 4 of 59 runs of this renderer's tests on an H200, none of 61 without OpenGL.
fn chosen() -> (wgpu::Backends, wgpu::Instance) {
    let with = |backends| {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        descriptor.backends = backends;
        (backends, wgpu::Instance::new(descriptor))
    };
    if let Some(asked) = wgpu::Backends::from_env() {
        return with(asked);
    }
    let first = with(wgpu::Backends::PRIMARY);
    if pollster::block_on(first.1.enumerate_adapters(first.0)).is_empty() {
        return with(wgpu::Backends::SECONDARY);
    }
    first
}

/// The device that the renderer works with best on this adapter: the adapter's own limits (large
/// volumes and tractograms need them), and timing, filtering and memory that kernels can write where they
/// are offered. The window's device must be requested with this too.
pub fn device_descriptor(adapter: &wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> {
    wgpu::DeviceDescriptor {
        label: Some("arcuate"),
        required_features: adapter.features()
            & (wgpu::Features::TIMESTAMP_QUERY
                | wgpu::Features::FLOAT32_FILTERABLE
                // Images that kernels write.
                | wgpu::Features::VULKAN_EXTERNAL_MEMORY_FD),
        required_limits: adapter.limits(),
        ..Default::default()
    }
}

/// Why this adapter cannot draw our views, as a sentence; `None` if it can.
pub fn shortcoming(adapter: &wgpu::Adapter) -> Option<String> {
    let flags = adapter.get_downlevel_capabilities().flags;
    let needed = wgpu::DownlevelFlags::COMPUTE_SHADERS | wgpu::DownlevelFlags::VERTEX_STORAGE;
    let storage_buffers = adapter.limits().max_storage_buffers_per_shader_stage;
    let lacks = !flags.contains(needed) || storage_buffers < 3;
    lacks.then(|| unsuitable(&adapter.get_info(), "it has no compute shaders"))
}

/// The sentence about a device that draws slices and no 3-D view, as OpenGL does: its shaders cannot read depths.
pub fn without_scenes(info: &wgpu::AdapterInfo) -> String {
    format!(
        "The graphics device {} ({}) draws slices only; install a Vulkan driver for 3-D views \
         (mesa-vulkan-drivers draws without a graphics card)",
        info.name, info.backend
    )
}

/// The sentence about a device that cannot draw our views.
pub fn unsuitable(info: &wgpu::AdapterInfo, why: &str) -> String {
    format!(
        "The graphics device {} ({}) cannot draw the views ({why}); install a Vulkan driver \
         (mesa-vulkan-drivers draws without a graphics card)",
        info.name, info.backend
    )
}
