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
                    capabilities(&name),
                )
                .validate(&module)
                .unwrap_or_else(|e| panic!("{}", e.emit_to_string(&source)));
            })
        });
    std::iter::once(outlines).chain(valid).collect()
}

/// The features beyond WebGPU that a shader may use; the renderer compiles it only on devices that have them.
fn capabilities(name: &str) -> naga::valid::Capabilities {
    use naga::valid::Capabilities as C;
    match name {
        "line raster" | "line blend" => {
            C::SHADER_INT64 | C::SHADER_INT64_ATOMIC_ALL_OPS | C::MULTISAMPLED_SHADING
        }
        _ => C::empty(),
    }
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
