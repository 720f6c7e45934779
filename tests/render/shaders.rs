//! Every shader, assembled as the renderer assembles it, is valid WGSL.

use crate::support::test;
use arcuate::scene::draw_list::MarkShape;
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    let outlines = test("shaders::outlines of marks", outlines);
    let valid = arcuate::render::shader_sources()
        .into_iter()
        .map(|(name, source)| {
            let title = format!("shaders::valid {name}");
            test(&title, move || {
                let module = naga::front::wgsl::parse_str(&source)
                    .unwrap_or_else(|e| panic!("{}", e.emit_to_string(&source)));
                naga::valid::Validator::new(
                    naga::valid::ValidationFlags::all(),
                    // The renderer compiles this one only on devices with 64-bit atomics.
                    match name.as_str() {
                        "line raster" => {
                            naga::valid::Capabilities::SHADER_INT64
                                | naga::valid::Capabilities::SHADER_INT64_ATOMIC_ALL_OPS
                        }
                        _ => naga::valid::Capabilities::empty(),
                    },
                )
                .validate(&module)
                .unwrap_or_else(|e| panic!("{}", e.emit_to_string(&source)));
            })
        });
    std::iter::once(outlines).chain(valid).collect()
}

/// The shader has the numbers of the shapes that the window's legends draw, and reaches their farthest corner.
fn outlines() {
    let sources = arcuate::render::shader_sources();
    let (_, source) = sources
        .into_iter()
        .find(|(name, _)| name == "end marks")
        .expect("a shader");
    for (number, term) in [
        (MarkShape::DIAMOND, "side.x + side.y - "),
        (MarkShape::SQUARE, "max(side.x, side.y) - "),
        (MarkShape::TRIANGLE, "-at.y) - "),
    ] {
        let text = format!("{term}{number:.4} * radius");
        assert!(source.contains(&text), "{text}");
    }
    let farthest = MarkShape::Triangle.corners()[0][1];
    assert!(
        farthest <= 1.56 && source.contains("return 1.56 * "),
        "{farthest}"
    );
}
