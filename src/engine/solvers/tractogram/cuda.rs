//! Selection of streamlines whose points are on cards, and their values: equal to those of the CPU, bit by bit.

#![allow(unsafe_code, reason = "kernel launches")]

use super::sample::BORDER;
use super::selection::{PointStatistic, RejectReason};
use crate::compute::cuda::{Device, Error as CardError};
use crate::compute::{Backend, Control, kernel_struct, kernels};
use crate::data::bounding_chunks::Bounds;
use crate::data::{Shape, Shared, Tractogram, Volume};
use crate::solvers::Error;
use crate::solvers::on_card::{
    CurvesOfCard, CurvesOnCards, LINES_PER_BATCH, Places, batches, few_threads_each,
};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{CudaSlice, DeviceRepr, PushKernelArg as _};
use std::ops::Range;
use std::sync::Arc;

const OPERATION: &str = "selecting streamlines";
const LOWER: &str = "select among fewer streamlines";

/// `Values` in kernels/tractogram.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelValues {
    values: u64,
    count: u32,
    unused: u32,
}
kernel_struct!(KernelValues as "Values in kernels/tractogram.cu", 16 { values: 0, count: 8, unused: 12 });
// SAFETY: plain numbers, as the kernel declares them.
unsafe impl DeviceRepr for KernelValues {}

/// `Region` in kernels/tractogram.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelRegion {
    from_world: [f64; 12],
    low: [f64; 3],
    high: [f64; 3],
    radius_mm: f64,
    near_low: [f32; 3],
    near_high: [f32; 3],
    kind: u32,
    shape: [u32; 3],
    inside: u64,
}
kernel_struct!(KernelRegion as "Region in kernels/tractogram.cu", 200 {
    from_world: 0, low: 96, high: 120, radius_mm: 144, near_low: 152, near_high: 164, kind: 176, shape: 180,
    inside: 192,
});
// SAFETY: as above.
unsafe impl DeviceRepr for KernelRegion {}

/// `Rules` in kernels/tractogram.cu: how many regions have each role.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelRules {
    exclude: u32,
    include: u32,
    targets: u32,
    masks: u32,
    by_ends: u32,
}
kernel_struct!(KernelRules as "Rules in kernels/tractogram.cu", 20 {
    exclude: 0, include: 4, targets: 8, masks: 12, by_ends: 16,
});
// SAFETY: as above.
unsafe impl DeviceRepr for KernelRules {}

/// `Image` in kernels/tractogram.cu.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct KernelImage {
    from_world: [f32; 12],
    last: [f32; 3],
    border: f32,
    shape: [u32; 3],
    unused: u32,
}
kernel_struct!(KernelImage as "Image in kernels/tractogram.cu", 80 {
    from_world: 0, last: 48, border: 60, shape: 64, unused: 76,
});
// SAFETY: as above.
unsafe impl DeviceRepr for KernelImage {}

/// The verdicts of the kernel, by their numbers. Any other number means that the CPU has to test the streamline.
const VERDICTS: [Option<RejectReason>; 5] = [
    None,
    Some(RejectReason::TouchedExclude),
    Some(RejectReason::MissedInclude),
    Some(RejectReason::MissedTargets),
    Some(RejectReason::LeftMask),
];

/// A region and its bounding box, rounded outwards.
pub(super) struct RegionBounds<'a> {
    pub shape: &'a Shape,
    pub bounds: Bounds,
}

/// Regions by role, in the order in which they are tested.
pub(super) struct RegionRules<'a> {
    pub exclude: Vec<RegionBounds<'a>>,
    pub include: Vec<RegionBounds<'a>>,
    pub targets: Vec<RegionBounds<'a>>,
    pub masks: Vec<RegionBounds<'a>>,
    pub by_ends: bool,
}

/// Limits of an image's values along streamlines.
pub(super) struct ImageLimits<'a> {
    pub volume: &'a Volume,
    pub frame: usize,
    pub counting: PointStatistic,
    pub low: f32,
    pub high: f32,
}

/// Streamlines whose points are on cards.
pub(super) struct OnCards<'a> {
    curves: CurvesOnCards<'a>,
    cards: Vec<CurvesOfCard>,
    count: usize,
}

impl<'a> OnCards<'a> {
    /// `None` if no card has the points, or if the backend uses no card.
    pub fn new(tractogram: &'a Tractogram, backend: &Backend) -> Option<Self> {
        let curves = CurvesOnCards::new(tractogram, backend)?;
        let cards = curves.by_card(backend);
        Some(Self {
            curves,
            cards,
            count: tractogram.len(),
        })
    }

    /// The values that `work` computes of the streamlines, in the order of the tractogram.
    fn gathered<T: Copy + Default + Send>(
        &self,
        control: &Control,
        work: impl Fn(&Device, &CurvesOfCard, &mut dyn FnMut(Vec<T>)) -> Result<(), Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let each_card = self.curves.on_each_card(&self.cards, |device, own| {
            control.check()?;
            let mut values = Vec::with_capacity(own.lines.len());
            work(device, own, &mut |more| values.extend(more))?;
            Ok::<Vec<T>, Error>(values)
        })?;
        let mut all = vec![T::default(); self.count];
        for (own, values) in self.cards.iter().zip(each_card) {
            for (index, value) in own.indices.iter().zip(values) {
                all[*index as usize] = value;
            }
        }
        Ok(all)
    }

    /// The reason of the first rule about regions that each streamline fails; `None` also if the CPU has to decide about
    /// one of them.
    pub fn reject_reasons(
        &self,
        rules: &RegionRules<'_>,
        control: &Control,
    ) -> Result<Option<Vec<Option<RejectReason>>>, Error> {
        let verdicts = self.gathered(control, |device, own, found: &mut dyn FnMut(Vec<u8>)| {
            let regions = Regions::upload(device, rules)?;
            let kernel = device.kernel(kernels::TRACTOGRAM, "tractogram_select")?;
            for some in batches(own.lines.len(), LINES_PER_BATCH) {
                control.check()?;
                let lines = device.upload(&own.lines[some])?;
                let count = lines.len() as u32;
                let mut verdicts = device.alloc_zeros::<u8>(lines.len())?;
                // SAFETY: one thread for each of `count` streamlines, surplus threads return; their points lie in
                // buffers that `self.curves` keeps, and the voxels of masks in one that `regions` keeps.
                let launched = unsafe {
                    device
                        .stream()
                        .launch_builder(&kernel)
                        .arg(&lines)
                        .arg(&count)
                        .arg(&regions.list)
                        .arg(&regions.rules)
                        .arg(&mut verdicts)
                        .launch(few_threads_each(count))
                };
                device.check(OPERATION, launched)?;
                found(device.download(&verdicts, 0..lines.len())?);
            }
            Ok(())
        })?;
        let known = |verdict: u8| VERDICTS.get(usize::from(verdict)).copied();
        Ok(verdicts.into_iter().map(known).collect())
    }

    /// The length of each streamline, mm.
    pub fn lengths(&self, control: &Control) -> Result<Vec<f32>, Error> {
        self.gathered(control, |device, own, found: &mut dyn FnMut(Vec<f32>)| {
            for some in batches(own.lines.len(), LINES_PER_BATCH) {
                control.check()?;
                let lines = device.upload(&own.lines[some])?;
                found(numbers(device, "tractogram_lengths", &lines)?);
            }
            Ok(())
        })
    }

    /// The mean of the values of each streamline's points; `None` also if the cards of the points do not have the values.
    pub fn means(
        &self,
        tractogram: &Tractogram,
        values: &Shared<f32>,
        control: &Control,
    ) -> Result<Option<Vec<f32>>, Error> {
        // Numbers of cards can be compared within one list of open cards only.
        let devices = self.curves.points().devices();
        let places = Places::find(values).filter(|p| Arc::ptr_eq(p.devices(), devices));
        let Some(places) = places else {
            return Ok(None);
        };
        let line = |index: u32, card: usize| -> Option<KernelValues> {
            let offsets = &tractogram.offsets;
            let (first, end) = (offsets[index as usize], offsets[index as usize + 1]);
            let (own, address) = match first < end {
                true => places.place(first as usize, size_of::<f32>() as u64),
                false => (card, 0),
            };
            (own == card).then_some(KernelValues {
                values: address,
                count: (end - first) as u32,
                unused: 0,
            })
        };
        let lines = self.cards.iter().map(|own| {
            let lines = own.indices.iter().map(|index| line(*index, own.card));
            lines.collect::<Option<Vec<KernelValues>>>()
        });
        let Some(lines) = lines.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let cards: Vec<usize> = self.cards.iter().map(|own| own.card).collect();
        self.gathered(control, |device, own, found: &mut dyn FnMut(Vec<f32>)| {
            let at = cards.iter().position(|card| *card == own.card);
            let lines = at.map_or(&[][..], |at| &lines[at][..]);
            for some in batches(lines.len(), LINES_PER_BATCH) {
                control.check()?;
                let lines = device.upload(&lines[some])?;
                found(numbers(device, "tractogram_means", &lines)?);
            }
            Ok(())
        })
        .map(Some)
    }

    /// The mean of an image over each streamline's points inside it.
    pub fn image_means(
        &self,
        (volume, frame): (&Volume, usize),
        control: &Control,
    ) -> Result<Vec<f32>, Error> {
        let limits = ImageLimits {
            volume,
            frame,
            counting: PointStatistic::Mean,
            low: f32::NEG_INFINITY,
            high: f32::INFINITY,
        };
        let known = self.along_image(&limits, control)?;
        Ok(known.into_iter().map(|(mean, _)| mean).collect())
    }

    /// The reason why an image rejects each streamline.
    pub fn image_reasons(
        &self,
        limits: &ImageLimits<'_>,
        control: &Control,
    ) -> Result<Vec<Option<RejectReason>>, Error> {
        let reason = |(mean, flags): (f32, u8)| {
            let is = |bit: u8| flags >> bit & 1 == 1;
            let (passes, valued) = match limits.counting {
                PointStatistic::Mean => (limits.low <= mean && mean <= limits.high, !mean.is_nan()),
                PointStatistic::Any => (is(0), is(0) || is(2)),
                PointStatistic::All => (is(1), is(1) || is(2)),
            };
            match (passes, valued) {
                (true, _) => None,
                (false, true) => Some(RejectReason::Value),
                (false, false) => Some(RejectReason::NoValue),
            }
        };
        let known = self.along_image(limits, control)?;
        Ok(known.into_iter().map(reason).collect())
    }

    /// The mean of an image along each streamline, and flags: bits 0, 1 and 2 are set if any value lies within the limits,
    /// if all points have such a value, and if there is a value other than NaN.
    fn along_image(
        &self,
        limits: &ImageLimits<'_>,
        control: &Control,
    ) -> Result<Vec<(f32, u8)>, Error> {
        let grid = &limits.volume.grid;
        let affine = grid.voxel_from_world.as_affine3a();
        let image = KernelImage {
            from_world: affine.to_cols_array(),
            last: grid.shape.map(|n| (n - 1) as f32),
            border: BORDER,
            shape: grid.shape.map(|n| n as u32),
            unused: 0,
        };
        let voxels = limits.volume.frame(limits.frame);
        self.gathered(
            control,
            |device, own, found: &mut dyn FnMut(Vec<(f32, u8)>)| {
                // A mean and a flag for each curve.
                let lists = own.list_bytes(size_of::<f32>() + size_of::<u8>());
                device.needs(size_of_val(voxels) as u64 + lists, OPERATION, LOWER)?;
                let voxels = device.upload(voxels)?;
                let kernel = device.kernel(kernels::TRACTOGRAM, "tractogram_image")?;
                for some in batches(own.lines.len(), LINES_PER_BATCH) {
                    control.check()?;
                    let lines = device.upload(&own.lines[some])?;
                    let count = lines.len() as u32;
                    let mut means = device.alloc_zeros::<f32>(lines.len())?;
                    let mut flags = device.alloc_zeros::<u8>(lines.len())?;
                    // SAFETY: one thread for each of `count` streamlines, surplus threads return; their points lie in
                    // buffers that `self.curves` keeps, and `voxels` holds the grid of the image.
                    let launched = unsafe {
                        device
                            .stream()
                            .launch_builder(&kernel)
                            .arg(&lines)
                            .arg(&count)
                            .arg(&image)
                            .arg(&voxels)
                            .arg(&limits.low)
                            .arg(&limits.high)
                            .arg(&mut means)
                            .arg(&mut flags)
                            .launch(few_threads_each(count))
                    };
                    device.check(OPERATION, launched)?;
                    let means = device.download(&means, 0..lines.len())?;
                    let flags = device.download(&flags, 0..lines.len())?;
                    found(means.into_iter().zip(flags).collect());
                }
                Ok(())
            },
        )
    }
}

/// The numbers that a kernel computes, one of each streamline.
fn numbers<T: DeviceRepr + Pod + Send + Sync>(
    device: &Device,
    entry: &str,
    lines: &CudaSlice<T>,
) -> Result<Vec<f32>, CardError> {
    let kernel = device.kernel(kernels::TRACTOGRAM, entry)?;
    let count = lines.len() as u32;
    let mut found = device.alloc_zeros::<f32>(lines.len())?;
    // SAFETY: one thread for each of `count` streamlines, surplus threads return; their points or values lie in buffers
    // that the caller keeps.
    let launched = unsafe {
        device
            .stream()
            .launch_builder(&kernel)
            .arg(lines)
            .arg(&count)
            .arg(&mut found)
            .launch(few_threads_each(count))
    };
    device.check(OPERATION, launched)?;
    device.download(&found, 0..lines.len())
}

/// Regions on a card.
struct Regions {
    list: CudaSlice<KernelRegion>,
    rules: KernelRules,
    /// Voxels of all masks, to which the list points.
    _inside: CudaSlice<u8>,
}

impl Regions {
    fn upload(device: &Device, rules: &RegionRules<'_>) -> Result<Self, CardError> {
        let by_role = [&rules.exclude, &rules.include, &rules.targets, &rules.masks];
        let all = || by_role.into_iter().flatten();
        let mut bytes = 0;
        let ranges: Vec<Range<usize>> = all()
            .map(|region| {
                let first = bytes;
                if let Shape::Mask(mask) = region.shape {
                    bytes += mask.inside.len();
                }
                first..bytes
            })
            .collect();
        let list = (all().count() + 1) * size_of::<KernelRegion>();
        device.needs((bytes + list) as u64, OPERATION, "select by fewer masks")?;
        // A buffer must not be empty.
        let mut inside = device.alloc_zeros::<u8>(bytes.max(1))?;
        let address = device.address(&inside);
        for (region, range) in all().zip(&ranges) {
            if let Shape::Mask(mask) = region.shape {
                device.upload_wide_into(&mask.inside[..], &mut inside, range.start)?;
            }
        }
        let regions = all().zip(&ranges);
        let regions =
            regions.map(|(region, range)| kernel_region(region, address + range.start as u64));
        let mut list: Vec<KernelRegion> = regions.collect();
        list.push(KernelRegion::zeroed());
        let [exclude, include, targets, masks] = by_role.map(|regions| regions.len() as u32);
        Ok(Self {
            list: device.upload(&list)?,
            rules: KernelRules {
                exclude,
                include,
                targets,
                masks,
                by_ends: u32::from(rules.by_ends),
            },
            _inside: inside,
        })
    }
}

fn kernel_region(region: &RegionBounds<'_>, inside: u64) -> KernelRegion {
    let mut own = KernelRegion {
        near_low: region.bounds.low,
        near_high: region.bounds.high,
        ..KernelRegion::zeroed()
    };
    match region.shape {
        Shape::Sphere { centre, radius_mm } => {
            own.low = centre.to_array();
            own.radius_mm = *radius_mm;
        }
        Shape::Box { centre, half_mm } => {
            own.kind = 1;
            own.low = (*centre - *half_mm).to_array();
            own.high = (*centre + *half_mm).to_array();
        }
        Shape::Mask(mask) => {
            own.kind = 2;
            own.from_world = mask.grid.voxel_from_world.to_cols_array();
            own.shape = mask.grid.shape.map(|n| n as u32);
            own.inside = inside;
        }
    }
    own
}
