//! Every shader, assembled as the renderer assembles it, is valid WGSL.

use crate::support::test;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    arcuate::render::shader_sources()
        .into_iter()
        .map(|(name, source)| {
            test(&format!("shaders::valid {name}"), move || {
                let module = naga::front::wgsl::parse_str(&source)
                    .unwrap_or_else(|e| panic!("{}", e.emit_to_string(&source)));
                naga::valid::Validator::new(
                    naga::valid::ValidationFlags::all(),
                    naga::valid::Capabilities::empty(),
                )
                .validate(&module)
                .unwrap_or_else(|e| panic!("{}", e.emit_to_string(&source)));
            })
        })
        .collect()
}
