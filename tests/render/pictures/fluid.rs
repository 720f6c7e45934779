//! How long a picture may take while a view changes.

use crate::support::test;
use arcuate::render::fluid_ms;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![test("render::fluid_on_each_kind_of_device", fluid)]
}

/// A discrete card keeps up with 120 Hz; other cards with 60 Hz, so that their pictures are not coarser than needed.
fn fluid() {
    let [discrete, integrated, software] = [
        wgpu::DeviceType::DiscreteGpu,
        wgpu::DeviceType::IntegratedGpu,
        wgpu::DeviceType::Cpu,
    ]
    .map(fluid_ms);
    let interval_ms = |hz: f64| 1e3 / hz;
    assert!(discrete <= interval_ms(120.0));
    assert!(integrated > interval_ms(120.0) && integrated <= interval_ms(60.0));
    assert!(software > integrated);
    for kind in [wgpu::DeviceType::VirtualGpu, wgpu::DeviceType::Other] {
        assert_eq!(fluid_ms(kind), integrated);
    }
}
