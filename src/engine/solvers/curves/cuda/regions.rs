//! Regions in the layout of the kernels: kernels/regions.cuh.

use crate::compute::cuda::Device;
use crate::compute::kernel_struct;
use crate::data::{Region, Role, Shape};
use crate::solvers::Error;
use crate::solvers::curves::cells::rows;
use crate::solvers::curves::error::InputError;
use crate::solvers::curves::regions::{Effect, RegionTests};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct KernelGate {
    kind: u32,
    effect: u32,
    target: u32,
    radius: f32,
    near_low: [f32; 3],
    near_high: [f32; 3],
    low: [f32; 3],
    high: [f32; 3],
    voxel: [[f32; 4]; 3],
    shape: [u32; 3],
    first: u32,
}
kernel_struct!(KernelGate as "Gate in kernels/regions.cuh", 128 {
    kind: 0, effect: 4, target: 8, radius: 12, near_low: 16, near_high: 28, low: 40, high: 52, voxel: 64,
    shape: 112, first: 124,
});
// SAFETY: plain numbers, as the kernels declare them.
unsafe impl DeviceRepr for KernelGate {}

/// The regions on a card during a job.
pub struct Regions {
    /// The regions that stop or count curves, in the order of [`RegionTests`], followed by the mask regions.
    pub gates: CudaSlice<KernelGate>,
    /// Voxels of all mask shapes.
    pub bytes: CudaSlice<u8>,
    /// The number of regions that stop or count curves, and the number of mask regions.
    pub count: (u32, u32),
}

impl Regions {
    /// `known`: the tests of the same regions.
    pub fn upload(device: &Device, regions: &[Region], known: &RegionTests) -> Result<Self, Error> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut gates = Vec::new();
        let mut masks = Vec::new();
        let mut effects = known.gates.iter();
        let parts = regions.iter();
        for region in parts.filter(|r| r.role.affects_curves() && r.role != Role::Seed) {
            let mut gate = kernel_gate(&region.shape, &mut bytes)?;
            if region.role == Role::Mask {
                masks.push(gate);
                continue;
            }
            let Some(bounds) = effects.next() else {
                continue;
            };
            (gate.effect, gate.target) = match bounds.effect {
                Effect::Target(target) => (0, target),
                Effect::Terminate => (1, 0),
                Effect::Include | Effect::AllTargets => (2, 0),
                Effect::Exclude => (3, 0),
            };
            (gate.near_low, gate.near_high) = (bounds.low, bounds.high);
            gates.push(gate);
        }
        let count = (gates.len() as u32, masks.len() as u32);
        gates.extend(masks);
        // A buffer must not be empty.
        gates.push(KernelGate::zeroed());
        bytes.push(0);
        Ok(Self {
            gates: device.upload(&gates)?,
            bytes: device.upload(&bytes)?,
            count,
        })
    }
}

/// A region in the kernel's layout; the bytes of a mask are appended to `bytes`.
fn kernel_gate(shape: &Shape, bytes: &mut Vec<u8>) -> Result<KernelGate, InputError> {
    let mut gate = KernelGate::zeroed();
    match shape {
        Shape::Sphere { centre, radius_mm } => {
            gate.radius = *radius_mm as f32;
            gate.low = centre.as_vec3().into();
        }
        Shape::Box { centre, half_mm } => {
            gate.kind = 1;
            gate.low = (*centre - *half_mm).as_vec3().into();
            gate.high = (*centre + *half_mm).as_vec3().into();
        }
        Shape::Mask(mask) => {
            gate.kind = 2;
            gate.first = u32::try_from(bytes.len()).map_err(|_| InputError::LargeMasks)?;
            gate.shape = mask.grid.shape.map(|n| n as u32);
            gate.voxel = rows(&mask.grid.voxel_from_world);
            bytes.extend(mask.inside.iter().map(|v| u8::from(*v != 0)));
        }
    }
    Ok(gate)
}
