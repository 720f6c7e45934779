//! Images and buffers whose memory a kernel on the same card can write: exported by Vulkan, drawn like any other.
//!
//! They are created here and exported as handles of their memory; a solver imports that, writes and waits. Nothing is
//! copied to the host, and neither side knows the other. If the window is not drawn by Vulkan, or if its driver exports
//! no memory, everything is uploaded instead.

#![allow(
    unsafe_code,
    reason = "the graphics driver's own calls: wgpu has none for memory of this kind"
)]

use crate::data::ImageExporter;

/// A texture that a kernel may have written.
#[cfg(target_os = "linux")]
pub(super) struct SharedTexture {
    pub texture: wgpu::Texture,
    /// Textures must not outlive it.
    pub device: wgpu::Device,
}

/// A buffer that a kernel may have written.
pub(super) struct SharedBuffer {
    pub buffer: wgpu::Buffer,
    pub device: wgpu::Device,
}

#[cfg(not(target_os = "linux"))]
pub fn image_exporter(_device: &wgpu::Device, _queue: &wgpu::Queue) -> Option<ImageExporter> {
    None
}

/// The exporter of images on this device; `None` if it cannot export.
#[cfg(target_os = "linux")]
pub fn image_exporter(device: &wgpu::Device, queue: &wgpu::Queue) -> Option<ImageExporter> {
    use crate::data::DeviceCopy;
    let exports = wgpu::Features::VULKAN_EXTERNAL_MEMORY_FD;
    if !device.features().contains(exports) {
        return None;
    }
    let card = linux::device_uuid(device)?;
    let (device, queue) = (device.clone(), queue.clone());
    let drawing = device.clone();
    let image = move |size| {
        let (texture, handle, bytes) = linux::texture(&device, &queue, size)?;
        let device = device.clone();
        Some(crate::data::ExportedImage {
            handle,
            bytes,
            size,
            copy: DeviceCopy::new(SharedTexture { texture, device }),
        })
    };
    let buffer = move |size| {
        let (buffer, handle, bytes) = linux::buffer(&drawing, size)?;
        let device = drawing.clone();
        Some(crate::data::ExportedBuffer {
            handle,
            bytes,
            size,
            copy: DeviceCopy::new(SharedBuffer { buffer, device }),
        })
    };
    Some(ImageExporter::new(card, image, buffer))
}

#[cfg(target_os = "linux")]
mod linux {
    use ash::vk;
    use std::os::fd::{FromRawFd as _, OwnedFd};
    use wgpu::hal::api::Vulkan;

    const HANDLE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;
    const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R32Float;

    /// The UUID of a device's card, as CUDA also reports it.
    pub fn device_uuid(device: &wgpu::Device) -> Option<[u8; 16]> {
        // SAFETY: the device is only queried.
        unsafe {
            let hal = device.as_hal::<Vulkan>()?;
            let mut id = vk::PhysicalDeviceIDProperties::default();
            let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut id);
            let instance = hal.shared_instance().raw_instance();
            instance.get_physical_device_properties2(hal.raw_physical_device(), &mut all);
            Some(id.device_uuid)
        }
    }

    /// Exportable memory of the card, bound by `bind` to the single resource that it is dedicated to, and its handle.
    ///
    /// # Safety
    /// `alone` and `bind` must refer to one resource of this device, with these requirements.
    unsafe fn export_memory(
        hal: &wgpu::hal::vulkan::Device,
        needs: &vk::MemoryRequirements,
        mut alone: vk::MemoryDedicatedAllocateInfo<'_>,
        bind: impl FnOnce(vk::DeviceMemory) -> ash::prelude::VkResult<()>,
    ) -> Option<(vk::DeviceMemory, OwnedFd)> {
        let (raw, instance) = (hal.raw_device(), hal.shared_instance().raw_instance());
        let exports = ash::khr::external_memory_fd::Device::new(instance, raw);
        let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(HANDLE);
        // SAFETY: the device is alive; memory is freed if it cannot be bound or exported.
        unsafe {
            let kinds = instance.get_physical_device_memory_properties(hal.raw_physical_device());
            let local = (0..kinds.memory_type_count).find(|i| {
                let flags = kinds.memory_types[*i as usize].property_flags;
                needs.memory_type_bits & (1 << i) != 0
                    && flags.contains(vk::MemoryPropertyFlags::DEVICE_LOCAL)
            })?;
            let requested = vk::MemoryAllocateInfo::default()
                .allocation_size(needs.size)
                .memory_type_index(local)
                .push_next(&mut export)
                .push_next(&mut alone);
            let memory = raw.allocate_memory(&requested, None).ok()?;
            let handle = bind(memory).and_then(|()| {
                let info = vk::MemoryGetFdInfoKHR::default();
                exports.get_memory_fd(&info.memory(memory).handle_type(HANDLE))
            });
            match handle {
                Ok(handle) => Some((memory, OwnedFd::from_raw_fd(handle))),
                Err(_) => {
                    raw.free_memory(memory, None);
                    None
                }
            }
        }
    }

    /// A buffer that shaders read, the memory behind it, and its number of bytes.
    pub fn buffer(device: &wgpu::Device, size: u64) -> Option<(wgpu::Buffer, OwnedFd, u64)> {
        let limits = device.limits();
        if size == 0 || size > limits.max_buffer_size {
            return None;
        }
        let usage = wgpu::BufferUsages::STORAGE;
        // SAFETY: buffer and memory are created here from this device; every failure destroys what was created before
        // it. wgpu receives both and frees them with the buffer.
        unsafe {
            let hal = device.as_hal::<Vulkan>()?;
            let raw = hal.raw_device();
            let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(HANDLE);
            let described = vk::BufferCreateInfo::default()
                .size(size)
                .usage(vk::BufferUsageFlags::STORAGE_BUFFER)
                .push_next(&mut external);
            let buffer = raw.create_buffer(&described, None).ok()?;
            let needs = raw.get_buffer_memory_requirements(buffer);
            let alone = vk::MemoryDedicatedAllocateInfo::default().buffer(buffer);
            let bind = |memory| raw.bind_buffer_memory(buffer, memory, 0);
            let Some((memory, handle)) = export_memory(&hal, &needs, alone, bind) else {
                raw.destroy_buffer(buffer, None);
                return None;
            };
            let buffer = wgpu::hal::vulkan::Buffer::from_raw_managed(buffer, memory, 0, needs.size);
            drop(hal);
            let buffer = device.create_buffer_from_hal::<Vulkan>(
                buffer,
                &wgpu::BufferDescriptor {
                    label: Some("shared"),
                    size,
                    usage,
                    mapped_at_creation: false,
                },
            );
            Some((buffer, handle, needs.size))
        }
    }

    /// A texture of `size` texels, the memory behind it, and its number of bytes.
    pub fn texture(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        size: [u32; 3],
    ) -> Option<(wgpu::Texture, OwnedFd, u64)> {
        let max_edge = device.limits().max_texture_dimension_3d;
        if size.iter().any(|n| *n == 0 || *n > max_edge) {
            return None;
        }
        let extent = wgpu::Extent3d {
            width: size[0],
            height: size[1],
            depth_or_array_layers: size[2],
        };
        // SAFETY: image and memory are created here from this device; every failure destroys what was created before
        // it. wgpu receives both and frees them with the texture.
        let (texture, handle, bytes) = unsafe {
            let hal = device.as_hal::<Vulkan>()?;
            let raw = hal.raw_device();
            let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(HANDLE);
            let described = vk::ImageCreateInfo::default()
                .image_type(vk::ImageType::TYPE_3D)
                .format(vk::Format::R32_SFLOAT)
                .extent(vk::Extent3D {
                    width: size[0],
                    height: size[1],
                    depth: size[2],
                })
                .mip_levels(1)
                .array_layers(1)
                .samples(vk::SampleCountFlags::TYPE_1)
                .tiling(vk::ImageTiling::OPTIMAL)
                .usage(
                    vk::ImageUsageFlags::SAMPLED
                        | vk::ImageUsageFlags::STORAGE
                        | vk::ImageUsageFlags::TRANSFER_DST,
                )
                .push_next(&mut external);
            let image = raw.create_image(&described, None).ok()?;
            let needs = raw.get_image_memory_requirements(image);
            let alone = vk::MemoryDedicatedAllocateInfo::default().image(image);
            let bind = |memory| raw.bind_image_memory(image, memory, 0);
            let Some((memory, handle)) = export_memory(&hal, &needs, alone, bind) else {
                raw.destroy_image(image, None);
                return None;
            };
            let texture = hal.texture_from_raw(
                image,
                &wgpu::hal::TextureDescriptor {
                    label: Some("shared"),
                    size: extent,
                    mip_level_count: 1,
                    sample_count: 1,
                    dimension: wgpu::TextureDimension::D3,
                    format: FORMAT,
                    usage: wgpu::TextureUses::RESOURCE | wgpu::TextureUses::COPY_DST,
                    memory_flags: wgpu::hal::MemoryFlags::empty(),
                    view_formats: Vec::new(),
                },
                None,
                wgpu::hal::vulkan::TextureMemory::Dedicated(memory),
            );
            drop(hal);
            let texture = device.create_texture_from_hal::<Vulkan>(
                texture,
                &wgpu::TextureDescriptor {
                    label: Some("shared"),
                    size: extent,
                    mip_level_count: 1,
                    sample_count: 1,
                    dimension: wgpu::TextureDimension::D3,
                    format: FORMAT,
                    usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
                    view_formats: &[],
                },
                wgpu::TextureUses::UNINITIALIZED,
            );
            (texture, handle, needs.size)
        };
        // One texel, so that the image has a layout before a kernel writes it: a later change of layout preserves the
        // content.
        queue.write_texture(
            texture.as_image_copy(),
            &[0; 4],
            wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(4),
                rows_per_image: Some(1),
            },
            wgpu::Extent3d {
                width: 1,
                height: 1,
                depth_or_array_layers: 1,
            },
        );
        let submitted = queue.submit([]);
        let wait = wgpu::PollType::Wait {
            submission_index: Some(submitted),
            timeout: None,
        };
        device.poll(wait).ok()?;
        Some((texture, handle, bytes))
    }
}
