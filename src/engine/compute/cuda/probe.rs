//! The self-test: a kernel with known results.

#![allow(unsafe_code, reason = "a kernel launch")]

use super::{Device, Error};
use crate::compute::kernels;
use cudarc::driver::{LaunchConfig, PushKernelArg as _};

/// Not a multiple of the block size, so that the bounds check is tested, too.
const COUNT: u32 = 4099;

/// The value that `kernels/probe.cu` writes at `i`.
fn value_at(i: u32, salt: u32) -> u32 {
    let value = (i ^ salt).wrapping_mul(0x9E37_79B1);
    let value = value ^ (value >> 15);
    value.wrapping_mul(0x85EB_CA6B).wrapping_add(i)
}

/// Runs the kernel and compares; returns the milliseconds that the launch took on the card.
pub fn run(device: &Device, salt: u32) -> Result<f32, Error> {
    let fill = device.kernel(kernels::PROBE, "probe_fill")?;
    // One element more than the kernel may write.
    let mut out = device.alloc_zeros::<u32>(COUNT as usize + 1)?;
    let ((), wall_ms) = device.elapsed(|| {
        let launch = LaunchConfig::for_num_elems(COUNT);
        // SAFETY: `out` holds more than the `COUNT` elements that the kernel may write.
        let launched = unsafe {
            device
                .stream()
                .launch_builder(&fill)
                .arg(&mut out)
                .arg(&COUNT)
                .arg(&salt)
                .launch(launch)
        };
        device.check("the self-test", launched)?;
        Ok(())
    })?;
    let computed = device.download(&out, 0..out.len())?;
    let right = (0..COUNT).map(|i| value_at(i, salt)).chain([0]);
    if !right.eq(computed) {
        return Err(Error::WrongAnswer {
            name: device.name().to_owned(),
        });
    }
    Ok(wall_ms)
}
