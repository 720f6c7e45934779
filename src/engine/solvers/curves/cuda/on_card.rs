//! Curves whose points stay on the cards until the host needs them: it then allocates once, and all threads copy.

use super::{GatherList, HalfPoints};
use crate::compute::Backend;
use crate::compute::cuda::{CardPart, Device, Error as CardError};
use crate::compute::kernels::KernelFile;
use crate::compute::memory::{self, Shortage};
use crate::data::Shared;
use crate::solvers::Error;
use crate::solvers::curves::Output;
use crate::solvers::curves::collect::{self, GATHER, JoinedCurves, PointValues, gather};
use crate::solvers::curves::regions::RegionTests;
use crate::solvers::on_card::LateValues;
use cudarc::driver::CudaSlice;
use std::sync::Arc;

/// Reciprocal share of the card's free memory that points may take before they are copied to the host.
const SHARE: u64 = 4;

/// Joined curves without their points, and the lists by which these are gathered.
pub struct Joined {
    pub curves: JoinedCurves,
    kept: GatherList,
    missed: GatherList,
}

impl Joined {
    /// No curves yet.
    pub fn new(region_tests: &RegionTests) -> Self {
        Self {
            curves: JoinedCurves::new(region_tests),
            kept: GatherList::default(),
            missed: GatherList::default(),
        }
    }

    /// The curves of all parts, in their order. Needs the backend's threads installed.
    pub fn of_parts(parts: Vec<Self>, region_tests: &RegionTests) -> Result<Self, Shortage> {
        let mut curves = Vec::with_capacity(parts.len());
        let (mut kept, mut missed) = (Vec::new(), Vec::new());
        for part in parts {
            kept.push(part.kept);
            missed.push(part.missed);
            curves.push(part.curves);
        }
        let mut all = JoinedCurves::new(region_tests);
        all.append(curves, None)?;
        Ok(Self {
            curves: all,
            kept: GatherList::joined(kept),
            missed: GatherList::joined(missed),
        })
    }

    /// Lists the points of the curve that was counted last, which missed the targets or is kept: the head from its end
    /// to the seed, the seed (world mm), and the tail.
    pub fn list(&mut self, missed: bool, head: HalfPoints, seed: [f32; 3], tail: HalfPoints) {
        let list = match missed {
            true => &mut self.missed,
            false => &mut self.kept,
        };
        list.add(head, seed, tail);
    }

    /// Number of listed points.
    pub fn points(&self) -> u64 {
        self.kept.points() + self.missed.points()
    }

    /// Gathers the points with the kernels of a file, from a grid of steps with this many slots.
    pub fn gather(
        self,
        device: &Device,
        file: KernelFile,
        (grid, slots): (&CudaSlice<f32>, usize),
        measured: bool,
    ) -> Result<Batch, CardError> {
        let mut gather_ms = 0.0;
        let mut gather = |list: &GatherList| -> Result<Points, CardError> {
            let slots = slots as u32;
            let (points, ms) = if measured {
                let ([xyz, along], ms) = list.gather(device, file, grid, slots, [3, 1])?;
                let along = Some(along);
                (Points { xyz, along }, ms)
            } else {
                let ([xyz], ms) = list.gather(device, file, grid, slots, [3])?;
                (Points { xyz, along: None }, ms)
            };
            gather_ms += ms;
            Ok(points)
        };
        let points = [gather(&self.kept)?, gather(&self.missed)?];
        Ok(Batch {
            curves: self.curves,
            points,
            gather_ms,
        })
    }
}

/// The curves of a batch, with their points on the card.
pub struct Batch {
    pub curves: JoinedCurves,
    /// Points of the kept curves, and of those that missed the targets.
    points: [Points; 2],
    /// Milliseconds that the kernels of gathering took.
    pub gather_ms: f64,
}

/// Points of curves, one after the other.
struct Points {
    /// World mm.
    xyz: CudaSlice<f32>,
    /// The connectivity measure of each point, only for geodesic rays.
    along: Option<CudaSlice<f32>>,
}

/// The curves of all batches on one card.
pub struct CurvesOnCard {
    devices: Arc<[Device]>,
    /// Index of the card among the devices.
    card: usize,
    curves: JoinedCurves,
    /// Points that are not on the host yet, by batch: of the kept curves, and of those that missed the targets.
    points: [Vec<Points>; 2],
    bytes: u64,
    /// Bytes of points that may stay on the card.
    limit: u64,
    /// Whether the points of earlier batches are on the host.
    has_moved: bool,
}

impl CurvesOnCard {
    /// No curves yet; `card` is an index among the backend's devices.
    pub fn new(
        backend: &Backend,
        card: usize,
        region_tests: &RegionTests,
    ) -> Result<Self, CardError> {
        let devices = backend.shared_devices();
        Ok(Self {
            limit: devices[card].memory()?.0 / SHARE,
            devices,
            card,
            curves: JoinedCurves::new(region_tests),
            points: [Vec::new(), Vec::new()],
            bytes: 0,
            has_moved: false,
        })
    }

    /// Numbers of the kept curves, and of those that missed the targets.
    pub fn counts(&self) -> [usize; 2] {
        self.curves.counts()
    }

    /// Bytes of the points that are still on the card.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of points that may stay on the card.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Adds the curves of the next batch.
    pub fn add(&mut self, batch: Batch, backend: &Backend) -> Result<(), Error> {
        backend.install(|| self.curves.append(vec![batch.curves], None))?;
        for (all, points) in self.points.iter_mut().zip(batch.points) {
            let along = points.along.as_ref().map_or(0, CudaSlice::num_bytes);
            self.bytes += (points.xyz.num_bytes() + along) as u64;
            all.push(points);
        }
        if self.bytes > self.limit {
            self.move_to_host(backend)?;
        }
        Ok(())
    }

    /// Copies the points to the host and frees their memory on the card.
    pub fn move_to_host(&mut self, backend: &Backend) -> Result<(), Error> {
        let JoinedCurves { kept, missed, .. } = &mut self.curves;
        // Points that are on the host already may have to move.
        let present: usize = [&kept.points, &missed.points]
            .map(|points| size_of_val(&points[..]))
            .iter()
            .sum();
        let growth = match present {
            0 => 0,
            _ => present as u64 + self.bytes,
        };
        memory::claim(GATHER, self.bytes + growth)?;
        self.bytes = 0;
        self.has_moved = true;
        for (lines, points) in [kept, missed].into_iter().zip(&mut self.points) {
            let points = std::mem::take(points);
            let (mut xyz, mut along) = (Vec::new(), Vec::new());
            list(points, (&self.devices, self.card), &mut xyz, &mut along);
            backend.install(|| {
                append_values(&mut lines.points, &xyz)?;
                append_values(&mut lines.along, &along)
            })?;
        }
        Ok(())
    }
}

/// The output of the curves of all cards, in their order, and of `others`, which have no points. The points stay on the
/// cards until the host needs them, unless those of a card did not fit there.
pub fn output(
    mut shards: Vec<CurvesOnCard>,
    others: JoinedCurves,
    (region_tests, measured): (&RegionTests, bool),
    backend: &Backend,
) -> Result<Output, Error> {
    if shards.iter().any(|shard| shard.has_moved) {
        for shard in &mut shards {
            shard.move_to_host(backend)?;
        }
        let mut parts: Vec<JoinedCurves> = shards.into_iter().map(|shard| shard.curves).collect();
        parts.push(others);
        return Ok(backend.install(|| gather(parts, region_tests, measured))?);
    }
    let mut values = [(); 2].map(|()| (Vec::new(), Vec::new()));
    let mut parts = Vec::new();
    for shard in shards {
        for (points, (xyz, along)) in shard.points.into_iter().zip(&mut values) {
            list(points, (&shard.devices, shard.card), xyz, along);
        }
        parts.push(shard.curves);
    }
    parts.push(others);
    let points = values.map(|(xyz, along)| PointValues {
        xyz: late(xyz),
        along: late(along),
    });
    backend.install(|| {
        let mut all = JoinedCurves::new(region_tests);
        all.append(parts, None)?;
        Ok(collect::output(all, points, region_tests, measured))
    })
}

fn late<T: bytemuck::Pod + Send + Sync>(parts: Vec<CardPart>) -> Shared<T> {
    match parts.is_empty() {
        true => Shared::default(),
        false => Shared::late(LateValues::staying(parts)),
    }
}

/// Adds the buffers of points and of their measures to lists of parts.
fn list(
    points: Vec<Points>,
    (devices, card): (&Arc<[Device]>, usize),
    xyz: &mut Vec<CardPart>,
    along: &mut Vec<CardPart>,
) {
    let part = |buffer| CardPart::whole(devices, card, buffer);
    for points in points {
        if points.xyz.num_bytes() > 0 {
            xyz.push(part(points.xyz));
            along.extend(points.along.map(part));
        }
    }
}

/// Appends the values of buffers, on all threads of the installed pool.
fn append_values<T: bytemuck::Pod + Send + Sync>(
    all: &mut Vec<T>,
    parts: &[CardPart],
) -> Result<(), CardError> {
    let fresh: Vec<T> = CardPart::download_all(parts)?;
    match all.is_empty() {
        true => *all = fresh,
        false => memory::append(all, vec![fresh]),
    }
    Ok(())
}
