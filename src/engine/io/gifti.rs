//! GIfTI surfaces ("GIFTI Surface Data Format", version 1.0): XML with the points and triangles as
//! compressed base64.

use super::surface::one_line;
use crate::data::Surface;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::io::Write as _;

pub(super) fn bytes(surface: &Surface, description: &str) -> Vec<u8> {
    // The only text that ends such a section.
    let description = one_line(description).replace("]]>", "]]");
    let numbers = surface.points.iter().flatten();
    let points: Vec<u8> = numbers.flat_map(|v| v.to_le_bytes()).collect();
    let indices = surface.triangles.iter().flatten();
    let triangles: Vec<u8> = indices.flat_map(|i| i.to_le_bytes()).collect();
    let space = "<CoordinateSystemTransformMatrix>\
                 <DataSpace><![CDATA[NIFTI_XFORM_SCANNER_ANAT]]></DataSpace>\
                 <TransformedSpace><![CDATA[NIFTI_XFORM_SCANNER_ANAT]]></TransformedSpace>\
                 <MatrixData>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</MatrixData>\
                 </CoordinateSystemTransformMatrix>";
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE GIFTI SYSTEM \"http://www.nitrc.org/frs/download.php/115/gifti.dtd\">\n\
         <GIFTI Version=\"1.0\" NumberOfDataArrays=\"2\">\n<MetaData><MD>\
         <Name><![CDATA[Description]]></Name><Value><![CDATA[{description}]]></Value>\
         </MD></MetaData>\n<LabelTable/>\n"
    );
    let points = (surface.points.len(), points.as_slice());
    let triangles = (surface.triangles.len(), triangles.as_slice());
    text += &array("POINTSET", "FLOAT32", points, space);
    text += &array("TRIANGLE", "INT32", triangles, "");
    text += "</GIFTI>\n";
    text.into_bytes()
}

/// Rows of three numbers.
fn array(intent: &str, number: &str, (rows, bytes): (usize, &[u8]), space: &str) -> String {
    format!(
        "<DataArray Intent=\"NIFTI_INTENT_{intent}\" DataType=\"NIFTI_TYPE_{number}\" \
         ArrayIndexingOrder=\"RowMajorOrder\" Dimensionality=\"2\" Dim0=\"{rows}\" Dim1=\"3\" \
         Encoding=\"GZipBase64Binary\" Endian=\"LittleEndian\" ExternalFileName=\"\" \
         ExternalFileOffset=\"\">\n<MetaData/>\n{space}<Data>{}</Data>\n</DataArray>\n",
        STANDARD.encode(packed(bytes))
    )
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}
