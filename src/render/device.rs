//! Requirements of the renderer for a graphics device.

/// Graphics backends in use: OpenGL only if there is no other, or if `WGPU_BACKEND` requests it.
pub fn backends() -> wgpu::Backends {
    chosen().0
}

/// An instance without a window.
pub fn instance() -> wgpu::Instance {
    chosen().1
}

/// If Vulkan and OpenGL are both loaded, NVIDIA's driver can deadlock while a Vulkan device is destroyed: in 4 of 59
/// runs of this renderer's tests on an H200, in none of 61 without OpenGL.
fn chosen() -> (wgpu::Backends, wgpu::Instance) {
    let with = |backends| {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        descriptor.backends = backends;
        (backends, wgpu::Instance::new(descriptor))
    };
    if let Some(chosen) = wgpu::Backends::from_env() {
        return with(chosen);
    }
    let first = with(wgpu::Backends::PRIMARY);
    if pollster::block_on(first.1.enumerate_adapters(first.0)).is_empty() {
        return with(wgpu::Backends::SECONDARY);
    }
    first
}

/// The device descriptor that suits the renderer best on this adapter: the adapter's own limits (large volumes and
/// tractograms need them), and timing, filtering and kernel-writable memory if they are offered. The window's device
/// must be requested with this, too.
pub fn device_descriptor(adapter: &wgpu::Adapter) -> wgpu::DeviceDescriptor<'static> {
    wgpu::DeviceDescriptor {
        label: Some("arcuate"),
        required_features: adapter.features()
            & (wgpu::Features::TIMESTAMP_QUERY
                | wgpu::Features::FLOAT32_FILTERABLE
                // For images that kernels write.
                | wgpu::Features::VULKAN_EXTERNAL_MEMORY_FD
                | super::line_raster::FEATURES),
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
