//! Tables of arcs and of lobes, which do not depend on the distributions.

use crate::compute::cuda::{self, Device};
use crate::data::HalfSphere;
use crate::solvers::odf_tracking::arcs::{CANDIDATES, azimuth};
use cudarc::driver::CudaSlice;

/// Tables on a card.
pub struct Tables {
    /// Cosine and sine of each candidate's azimuth.
    pub azimuths: CudaSlice<[f32; 2]>,
    /// Directions among which the largest peak is searched, and the six around each.
    pub vertices: CudaSlice<[f32; 4]>,
    pub neighbours: CudaSlice<u32>,
}

/// `VERTICES` in kernels/odf_tracking.cuh.
const VERTICES: usize = 321;

impl Tables {
    pub fn upload(device: &Device) -> Result<Self, cuda::Error> {
        let azimuths = (0..CANDIDATES).map(|k| {
            let (sine, cosine) = azimuth(k).sin_cos();
            [cosine as f32, sine as f32]
        });
        let sphere = HalfSphere::subdivided(3);
        let vertices = sphere.vertices[..VERTICES].iter();
        let vertices = vertices.map(|u| [u.x as f32, u.y as f32, u.z as f32, 0.0]);
        let neighbours = sphere.neighbours[..VERTICES].as_flattened();
        Ok(Self {
            azimuths: device.upload(&azimuths.collect::<Vec<_>>())?,
            vertices: device.upload(&vertices.collect::<Vec<_>>())?,
            neighbours: device.upload(&neighbours.iter().map(|n| *n as u32).collect::<Vec<_>>())?,
        })
    }
}
