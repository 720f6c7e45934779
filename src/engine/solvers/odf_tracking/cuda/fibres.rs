//! The distributions of a field on a card.

use crate::compute::Control;
use crate::compute::cuda::Device;
use crate::data::OdfField;
use crate::data::spherical_harmonics::{EvenRecurrence, count};
use crate::solvers::Error;
use crate::solvers::odf_tracking::plausible_records;
use crate::solvers::odf_tracking::prepare::Job;
use crate::solvers::odf_tracking::records::Records;
use cudarc::driver::CudaSlice;
use std::borrow::Cow;
use std::sync::Arc;

/// The order of the kernel that takes a series; coefficients of higher degrees are 0.
pub fn kernel_order(order: usize) -> usize {
    if order <= 8 { 8 } else { 12 }
}

/// The distributions of a field on a card.
pub struct Fibres {
    pub records: Arc<CudaSlice<f32>>,
    pub record_of: Arc<CudaSlice<u32>>,
}

const RECORDS: &str = "records of distributions";
const RECORD_OF: &str = "voxels of distributions";

impl Fibres {
    /// Uploads to all cards what they lack; refuses images that hold no distributions.
    pub fn upload(job: &Job, field: &OdfField, devices: &[Device]) -> Result<Vec<Self>, Error> {
        let id = field.id();
        let has = |d: &Device| d.has::<f32>(id, RECORDS) && d.has::<u32>(id, RECORD_OF);
        let built = match devices.iter().all(has) {
            true => None,
            false => Some(
                job.backend
                    .install(|| plausible_records(field, job.control))?,
            ),
        };
        // Another thread may have freed them since.
        let records = || match &built {
            Some(records) => Ok(Cow::Borrowed(records)),
            None => {
                let rebuilt = || Records::new(field, &Control::new());
                job.backend.install(rebuilt).map(Cow::Owned)
            }
        };
        let upload = |device: &Device| -> Result<Self, Error> {
            let of_card = device.cached_as(id, RECORDS, || {
                let records = records()?;
                let ordered = job.backend.install(|| in_order_of_kernel(&records));
                Ok::<_, Error>(device.upload(&ordered)?)
            })?;
            let record_of = device.cached_as(id, RECORD_OF, || {
                Ok::<_, Error>(device.upload(&records()?.record_of)?)
            })?;
            Ok(Self {
                records: of_card,
                record_of,
            })
        };
        devices.iter().map(upload).collect()
    }
}

/// Records in the order in which the recurrence visits the functions, in whole fours.
fn in_order_of_kernel(records: &Records) -> Vec<f32> {
    let order = kernel_order(records.order);
    let rows = EvenRecurrence::new(order).rows;
    let steps = rows
        .iter()
        .enumerate()
        .flat_map(|(m, (_, steps))| steps.iter().map(move |s| (m, s)));
    let functions = steps.flat_map(|(m, s)| [Some(s.plus), (m > 0).then_some(s.minus)]);
    let functions: Vec<usize> = functions.flatten().collect();
    let width = count(order).next_multiple_of(4);
    records.reordered(&functions, width)
}
