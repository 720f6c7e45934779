//! Pages and plots: escaping, structure, data URIs, positions of marks.

use crate::support::test;
use arcuate::io::html::{Cell, CellPicture, Column, Page, PagePicture, Row};
use arcuate::io::png;
use arcuate::io::svg::{Marks, Plot, Sample, escaped};
use libtest_mimic::Trial;

pub fn tests() -> Vec<Trial> {
    vec![
        test("html::text is escaped", text_is_escaped),
        test("html::pictures are data", pictures),
        test("html::sortable tables", sortable),
        test("html::plots have their marks in place", plots),
        test("html::plots of pixels show the same", plots_of_pixels),
    ]
}

fn text_is_escaped() {
    assert_eq!(
        escaped("a < b & \"c\" > 'd'\n\u{202E}e"),
        "a &lt; b &amp; &quot;c&quot; &gt; &#39;d&#39;  e"
    );
    let evil = "</title><script>alert('x')</script>";
    let mut page = Page::new(evil);
    page.heading(2, evil);
    page.paragraph(evil);
    page.note(evil);
    page.list(&[evil.to_owned()]);
    page.code(evil);
    page.table(evil, &[Column::text(evil)], &[vec![evil.to_owned()]]);
    let plot = Plot {
        title: evil.to_owned(),
        x: evil.to_owned(),
        y: evil.to_owned(),
        marks: Marks::Line(Vec::new()),
    };
    page.plot(&plot, evil);
    let text = page.html();
    assert!(
        !text.contains("<script") && !text.contains("alert('"),
        "{text}"
    );
    // The title, its heading, 5 blocks, 3 parts of the table, 5 of the plot.
    assert_eq!(text.matches("&lt;script&gt;").count(), 15, "{text}");
    assert!(text.starts_with("<!DOCTYPE html>") && text.contains("<html lang=\"en-GB\">"));
}

/// A page with a table to sort allows its own script and no other, and its cells state what they are sorted by.
fn sortable() {
    let mut page = Page::new("p");
    let row = |name: &str, value: f64, failed: bool| Row {
        cells: vec![
            Cell::text(name),
            Cell::number(value, "shown"),
            Cell::pictures(vec![CellPicture {
                png: vec![1, 2, 3],
                description: "a \"view\"".to_owned(),
                link: failed.then(|| "a b/\"ü\".png".to_owned()),
            }]),
        ],
        failed,
    };
    let rows = [row("<b>", 2.5, true), row("c", f64::NAN, false)];
    let columns = [
        Column::text("Name"),
        Column::number("Value"),
        Column::text("Pictures"),
    ];
    assert!(!page.html().contains("<script"));
    page.sortable_table("Caption", &columns, &rows);
    let text = page.html();
    assert_eq!(text.matches("<script>").count(), 1);
    let script = text
        .split("<script>")
        .nth(1)
        .and_then(|t| t.split("</script>").next());
    let sum = base64(&sha256(script.expect("a script")));
    assert!(
        text.contains(&format!("script-src 'sha256-{sum}'")),
        "{text}"
    );
    assert!(
        text.contains("<tr tabindex=\"0\" class=\"failed\"><th scope=\"row\">&lt;b&gt;</th>"),
        "{text}"
    );
    assert!(
        text.contains("<td class=\"number\" data-key=\"2.5\">shown</td>"),
        "{text}"
    );
    assert!(
        text.contains("<td class=\"number\" data-key=\"\">shown</td>"),
        "{text}"
    );
    assert!(
        text.contains("alt=\"a &quot;view&quot;\" src=\"data:image/png;base64,AQID\""),
        "{text}"
    );
    assert_eq!(text.matches("<button type=\"button\">").count(), 3);
    // A picture with a larger one leads there, and the address has no letter that ends an attribute.
    assert_eq!(text.matches("<img ").count(), 2);
    assert_eq!(text.matches("<a ").count(), 1);
    let link = "<a href=\"a%20b/%22%C3%BC%22.png\" target=\"_blank\"><img ";
    assert!(text.contains(link), "{text}");
}

/// The bytes of a checksum.
fn sha256(text: &str) -> Vec<u8> {
    let hex = arcuate::io::checksum::of_text(text);
    let byte = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).expect("digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= group.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    text
}

fn pictures() {
    let picture = PagePicture {
        size: [2, 1],
        rgba: vec![255, 0, 0, 255, 0, 0, 255, 255],
    };
    let mut page = Page::new("p");
    let shown = (&picture, "a \"red\" pixel".to_owned(), "caption".to_owned());
    page.pictures(&[shown]).expect("encoded");
    let text = page.html();
    assert!(text.contains("alt=\"a &quot;red&quot; pixel\""), "{text}");
    // The signature of a PNG in base64.
    assert!(
        text.contains("src=\"data:image/png;base64,iVBORw0KGgo"),
        "{text}"
    );
    assert!(text.contains("width=\"2\" height=\"1\""));
}

/// The numbers of an attribute, in order.
fn attributes(svg: &str, element: &str, name: &str) -> Vec<f64> {
    let elements = svg.split('<').filter(|part| part.starts_with(element));
    let value = |part: &str| {
        let from = part.split_once(&format!(" {name}=\""))?.1;
        from.split('"').next()?.parse().ok()
    };
    elements.filter_map(value).collect()
}

fn plots() {
    // Bars: the heights are in proportion to the counts, and the tallest reaches the top of the axis.
    let plot = Plot {
        title: "t".to_owned(),
        x: "x".to_owned(),
        y: "y".to_owned(),
        marks: Marks::Bars {
            range: (0.0, 4.0),
            counts: vec![1, 0, 4, 2],
        },
    };
    let file = plot.file();
    assert!(file.contains("xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(!plot.element().contains("xmlns"));
    let heights = attributes(&file, "rect class=\"bar\"", "height");
    assert_eq!(heights.len(), 3, "{file}");
    assert!((heights[1] / heights[0] - 4.0).abs() < 1e-3, "{heights:?}");
    assert!((heights[2] / heights[0] - 2.0).abs() < 1e-3, "{heights:?}");
    let left = attributes(&file, "rect class=\"bar\"", "x");
    assert!(
        (left[2] - left[1] - (left[1] - left[0]) / 2.0).abs() < 0.02,
        "{left:?}"
    );
    // A line with a gap at a value that is not finite has two parts; a constant still has an axis.
    let sample = |x: f64, mean: f64| Sample { x, mean, sd: 0.0 };
    let line = |means: [f64; 4]| Plot {
        marks: Marks::Line((0..4).map(|i| sample(i as f64, means[i])).collect()),
        ..plot.clone()
    };
    let text = line([1.0, 2.0, f64::NAN, 2.0]).element();
    assert_eq!(text.matches("<polyline").count(), 2, "{text}");
    let constant = line([3.0; 4]).element();
    assert!(
        !constant.contains("NaN") && !constant.contains("inf"),
        "{constant}"
    );
    let nothing = Plot {
        marks: Marks::Line(Vec::new()),
        ..plot
    };
    assert!(!nothing.element().contains("NaN"));
}

/// Each bar has the height of its count, in the colour of the SVG; the texts lie at the axes, the one of the vertical axis
/// turned; the file has the title, and a constant line lies at its value.
fn plots_of_pixels() {
    let counts = vec![0, 10, 4, 7];
    let plot = Plot {
        title: "Weights – of 21 streamlines".to_owned(),
        x: "log10 of the weight".to_owned(),
        y: "Streamlines".to_owned(),
        marks: Marks::Bars {
            range: (0.0, 4.0),
            counts: counts.clone(),
        },
    };
    let ([width, height], rgba) = plot.pixels().expect("the font");
    assert_eq!([width, height], [1280, 560]);
    let pixel = |rgba: &[u8], x: usize, y: usize| -> [u8; 4] {
        let at = 4 * (x + y * 1280);
        rgba[at..at + 4].try_into().expect("four bytes")
    };
    const BLUE: [u8; 4] = [0x2f, 0x6f, 0xb5, 0xff];
    // The axes leave 72 and 16 units beside the bars, 16 and 48 above and below, of two pixels each.
    let (wide, high) = (
        2.0 * (640.0 - 72.0 - 16.0) / 4.0,
        2.0 * (280.0 - 16.0 - 48.0),
    );
    for (i, count) in counts.iter().enumerate() {
        let x = (144.0 + (i as f64 + 0.4) * wide) as usize;
        let blue = (0..560).filter(|y| pixel(&rgba, x, *y) == BLUE).count();
        let expected = high * *count as f64 / 10.0;
        // The axis covers the last pixel or two, and the edge above may be a part of one.
        let missing = expected - blue as f64;
        assert!((0.0..=3.0).contains(&missing), "{blue} {expected}");
    }
    let inked = |x: std::ops::Range<usize>, y: std::ops::Range<usize>| {
        let all = y.flat_map(|y| x.clone().map(move |x| (x, y)));
        all.filter(|(x, y)| pixel(&rgba, *x, *y)[0] < 0x60).count()
    };
    // “Streamlines” is longer than high, and runs upwards.
    assert!(inked(8..44, 150..330) > 300 && inked(8..44, 0..130) == 0);
    assert!(inked(500..900, 520..560) > 300 && inked(150..420, 520..560) == 0);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("weights.png");
    plot.save(&path).expect("saved");
    let read = png::read(&path).expect("a picture");
    assert_eq!(read.rgba, rgba);
    let title = ("Title".to_owned(), plot.title.clone());
    assert_eq!(read.metadata, [title]);

    let flat = Plot {
        marks: Marks::Line(
            [0.0, 1.0, 2.0]
                .map(|x| Sample {
                    x,
                    mean: 5.0,
                    sd: 2.0,
                })
                .to_vec(),
        ),
        ..plot
    };
    let (_, rgba) = flat.pixels().expect("the font");
    let middle = 16 * 2 + (high / 2.0) as usize;
    for x in [200, 700, 1200] {
        assert_eq!(pixel(&rgba, x, middle), BLUE);
        let band = pixel(&rgba, x, middle + 60);
        assert!(band[0] < 0xf0 && band[0] > BLUE[0], "{band:?}");
    }
}
