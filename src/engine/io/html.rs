//! Pages of HTML that are complete in one file: all text is escaped, pictures are data URIs, and a browser loads nothing
//! else, which the page itself forbids. Headings, tables and pictures have what a screen reader needs.

use super::svg::{Plot, escaped};
use super::{Error, atomic, png};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::path::Path;

/// Colours for light and dark screens and for paper.
const STYLE: &str = "\
:root{color-scheme:light dark;--back:#fff;--ink:#1b1d21;--soft:#5b6270;--line:#d7dbe2;--code:#f3f5f8;--mark:#2f6fb5}\
@media (prefers-color-scheme:dark){:root{--back:#15171b;--ink:#e6e8ec;--soft:#a0a7b4;--line:#343943;--code:#1f2329;--mark:#7fb3ea}}\
body{margin:0 auto;padding:2rem 1.5rem;max-width:64rem;background:var(--back);color:var(--ink);\
font:16px/1.5 system-ui,sans-serif}\
h1{font-size:1.8rem;line-height:1.2}h2{margin-top:2.5rem;font-size:1.3rem;border-bottom:1px solid var(--line)}\
h3{margin-top:1.8rem;font-size:1.05rem}\
p.note{color:var(--soft)}figcaption,caption{color:var(--soft);font-size:.9rem;text-align:left}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}\
th,td{padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}\
td.number,th.number{text-align:right}th{font-weight:600}\
tbody th{font-weight:400;overflow-wrap:anywhere}\
pre{padding:.7rem;background:var(--code);border-radius:.3rem;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}\
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr));gap:1rem}\
table.sortable{width:100%}th button{all:unset;cursor:pointer;text-align:inherit}\
th button::after{content:\" \\2195\";color:var(--soft)}th[aria-sort=ascending] button::after{content:\" \\2191\"}\
th[aria-sort=descending] button::after{content:\" \\2193\"}\
th button:focus-visible,tbody tr:focus-visible{outline:2px solid var(--mark);outline-offset:1px}\
tr.failed>*{background:var(--code)}tr.failed td.state{font-weight:600}\
td.pictures-cell{white-space:nowrap}td .thumb{display:inline-block;width:7.5rem;margin-right:.3rem}td{overflow-wrap:anywhere}\
table.sortable td{overflow-wrap:break-word}a:focus-visible{outline:2px solid var(--mark)}body:has(main.wide-page){max-width:none}\
figure{margin:0 0 1rem}img,svg.plot{display:block;width:100%;height:auto}svg.plot{max-width:44rem}\
svg.plot text{font-size:13px;fill:var(--soft)}.grid{stroke:var(--line)}.axis{stroke:var(--soft)}\
.band{fill:var(--mark);fill-opacity:.22}.line{fill:none;stroke:var(--mark);stroke-width:2}.bar{fill:var(--mark)}\
@media print{:root{--back:#fff;--ink:#000;--soft:#444;--line:#bbb;--code:#f5f5f5;--mark:#2f6fb5}\
body{max-width:none;padding:0;font-size:10pt}h2,h3,figcaption,caption{break-after:avoid}\
figure,tr,pre{break-inside:avoid}}";

/// Sorts a table by the column whose heading is pressed, and moves between its rows with the arrow keys.
const SCRIPT: &str = "\
for(const t of document.querySelectorAll('table.sortable')){const b=t.tBodies[0];\
t.querySelectorAll('thead button').forEach((h,i)=>h.addEventListener('click',()=>{\
const c=h.parentElement,d=c.getAttribute('aria-sort')==='ascending'?-1:1;\
t.querySelectorAll('thead th').forEach(x=>x.removeAttribute('aria-sort'));\
c.setAttribute('aria-sort',d>0?'ascending':'descending');\
const k=r=>{const e=r.cells[i],v=e.dataset.key;return v===undefined?e.textContent:v===''?NaN:Number(v)};\
[...b.rows].map(r=>[k(r),r]).sort(([x],[y])=>typeof x==='number'?(isNaN(x)-isNaN(y))||(x-y)*d:\
x.localeCompare(y,undefined,{numeric:true})*d).forEach(([,r])=>b.append(r))}));\
b.addEventListener('keydown',e=>{const r=e.target.closest('tr');if(!r)return;\
const n={ArrowDown:r.nextElementSibling,ArrowUp:r.previousElementSibling,Home:b.firstElementChild,\
End:b.lastElementChild}[e.key];if(n){e.preventDefault();r.tabIndex=-1;n.tabIndex=0;n.focus()}})}";

/// A cell of a table that a reader can sort.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cell {
    text: String,
    /// The number by which its column is sorted; `None`: by its text.
    key: Option<f64>,
    pictures: Vec<CellPicture>,
}

/// A small picture in a cell.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct CellPicture {
    /// A PNG file.
    pub png: Vec<u8>,
    /// The content of the picture in words.
    pub description: String,
    /// The larger picture that opens when this one is pressed, as a path from the page.
    pub link: Option<String>,
}

impl Cell {
    /// A text.
    pub fn text(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            ..Self::default()
        }
    }

    /// A number, written in this way; a value that is not finite comes last.
    pub fn number(value: f64, text: &str) -> Self {
        Self {
            key: Some(value),
            ..Self::text(text)
        }
    }

    /// Small pictures.
    pub fn pictures(pictures: Vec<CellPicture>) -> Self {
        Self {
            pictures,
            ..Self::default()
        }
    }

    fn html(&self) -> String {
        let mut html = escaped(&self.text);
        for picture in &self.pictures {
            let data = STANDARD.encode(&picture.png);
            let image = format!(
                "<img class=\"thumb\" loading=\"lazy\" alt=\"{}\" src=\"data:image/png;base64,{data}\">",
                escaped(&picture.description)
            );
            // Writing to a string does not fail.
            let _ = match &picture.link {
                Some(link) => write!(
                    html,
                    "<a href=\"{}\" target=\"_blank\">{image}</a>",
                    address(link)
                ),
                None => write!(html, "{image}"),
            };
        }
        html
    }

    fn attribute(&self) -> String {
        if !self.pictures.is_empty() {
            return " class=\"pictures-cell\"".to_owned();
        }
        match self.key {
            None => String::new(),
            Some(key) if key.is_finite() => format!(" data-key=\"{key}\""),
            Some(_) => " data-key=\"\"".to_owned(),
        }
    }
}

/// A path as an address: only letters, digits and `-._~/` stay as they are.
fn address(path: &str) -> String {
    let mut address = String::new();
    for byte in path.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b'/' => address.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => address.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => drop(write!(address, "%{byte:02X}")),
        }
    }
    address
}

/// A row of a table that a reader can sort.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// In the order of the columns; the first names the row.
    pub cells: Vec<Cell>,
    /// Whether it stands for something that failed.
    pub failed: bool,
}

/// A picture of 8-bit RGBA pixels, rows from the top.
#[derive(Clone, PartialEq, Debug)]
pub struct PagePicture {
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Four bytes per pixel.
    pub rgba: Vec<u8>,
}

/// A column of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    heading: String,
    is_number: bool,
}

impl Column {
    /// A column of texts.
    pub fn text(heading: &str) -> Self {
        Self {
            heading: heading.to_owned(),
            is_number: false,
        }
    }

    /// A column of numbers, which stand at its right.
    pub fn number(heading: &str) -> Self {
        Self {
            is_number: true,
            ..Self::text(heading)
        }
    }
}

/// A page that grows from the top.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
    /// Whether a table can be sorted.
    has_script: bool,
}

impl Page {
    /// A page with this title, which is its first heading, too.
    pub fn new(title: &str) -> Self {
        let title = escaped(title);
        let body = format!("<h1>{title}</h1>\n");
        Self {
            title,
            body,
            has_script: false,
        }
    }

    // Writing to a string does not fail.

    /// A heading of level 2 or 3.
    pub fn heading(&mut self, level: u8, text: &str) {
        let level = level.clamp(2, 3);
        let _ = writeln!(self.body, "<h{level}>{}</h{level}>", escaped(text));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escaped(text));
    }

    /// A remark, in a softer colour.
    pub fn note(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p class=\"note\">{}</p>", escaped(text));
    }

    /// A list of sentences.
    pub fn list(&mut self, items: &[String]) {
        let items: String = items
            .iter()
            .map(|item| format!("<li>{}</li>", escaped(item)))
            .collect();
        let _ = writeln!(self.body, "<ul>{items}</ul>");
    }

    /// Commands, line by line.
    pub fn code(&mut self, text: &str) {
        let lines: Vec<String> = text.lines().map(escaped).collect();
        let _ = writeln!(self.body, "<pre><code>{}</code></pre>", lines.join("\n"));
    }

    /// A table; the first cell of each row names the row.
    pub fn table(&mut self, caption: &str, columns: &[Column], rows: &[Vec<String>]) {
        let class = |column: Option<&Column>| match column.is_some_and(|c| c.is_number) {
            true => " class=\"number\"",
            false => "",
        };
        let _ = write!(
            self.body,
            "<div class=\"wide\"><table><caption>{}</caption><thead><tr>",
            escaped(caption)
        );
        for column in columns {
            let heading = escaped(&column.heading);
            let _ = write!(
                self.body,
                "<th scope=\"col\"{}>{heading}</th>",
                class(Some(column))
            );
        }
        self.body.push_str("</tr></thead><tbody>\n");
        for row in rows {
            self.body.push_str("<tr>");
            for (i, cell) in row.iter().enumerate() {
                let text = escaped(cell);
                let _ = match i {
                    0 => write!(self.body, "<th scope=\"row\">{text}</th>"),
                    _ => write!(self.body, "<td{}>{text}</td>", class(columns.get(i))),
                };
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// A table that a reader sorts by pressing a heading; without scripts it keeps the order of the rows.
    pub fn sortable_table(&mut self, caption: &str, columns: &[Column], rows: &[Row]) {
        self.has_script = true;
        let class = |column: Option<&Column>| match column.is_some_and(|c| c.is_number) {
            true => " class=\"number\"",
            false => "",
        };
        let _ = write!(
            self.body,
            "<div class=\"wide\"><table class=\"sortable\"><caption>{}</caption><thead><tr>",
            escaped(caption)
        );
        for column in columns {
            let heading = escaped(&column.heading);
            let class = class(Some(column));
            let _ = write!(
                self.body,
                "<th scope=\"col\"{class}><button type=\"button\">{heading}</button></th>"
            );
        }
        self.body.push_str("</tr></thead><tbody>\n");
        for (i, row) in rows.iter().enumerate() {
            // One row is reached by Tab, the others by the arrow keys.
            let tab = if i == 0 { 0 } else { -1 };
            let failed = if row.failed { " class=\"failed\"" } else { "" };
            let _ = write!(self.body, "<tr tabindex=\"{tab}\"{failed}>");
            for (i, cell) in row.cells.iter().enumerate() {
                let (html, key) = (cell.html(), cell.attribute());
                let _ = match i {
                    0 => write!(self.body, "<th scope=\"row\"{key}>{html}</th>"),
                    _ => write!(self.body, "<td{}{key}>{html}</td>", class(columns.get(i))),
                };
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// Pictures side by side, each with its description and its caption.
    pub fn pictures(&mut self, pictures: &[(&PagePicture, String, String)]) -> Result<(), Error> {
        self.body.push_str("<div class=\"pictures\">\n");
        for (picture, description, caption) in pictures {
            let [width, height] = picture.size;
            let data = STANDARD.encode(png::bytes(picture.size, &picture.rgba)?);
            let _ = writeln!(
                self.body,
                "<figure><img width=\"{width}\" height=\"{height}\" alt=\"{}\" src=\"data:image/png;base64,{data}\">\
                 <figcaption>{}</figcaption></figure>",
                escaped(description),
                escaped(caption)
            );
        }
        self.body.push_str("</div>\n");
        Ok(())
    }

    /// A plot with its caption.
    pub fn plot(&mut self, plot: &Plot, caption: &str) {
        let _ = writeln!(
            self.body,
            "<figure>{}<figcaption>{}</figcaption></figure>",
            plot.element(),
            escaped(caption)
        );
    }

    /// The whole page.
    pub fn html(&self) -> String {
        let (policy, script) = match self.has_script {
            false => (String::new(), String::new()),
            true => {
                let sum = STANDARD.encode(Sha256::digest(SCRIPT));
                let policy = format!("; script-src 'sha256-{sum}'");
                (policy, format!("<script>{SCRIPT}</script>\n"))
            }
        };
        let body_class = if self.has_script {
            " class=\"wide-page\""
        } else {
            ""
        };
        format!(
            "<!DOCTYPE html>\n<html lang=\"en-GB\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src \
             'unsafe-inline'{policy}\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main{body_class}>\n{}</main>\n{script}</body>\n</html>\n",
            self.title, self.body
        )
    }

    /// Writes the page, and compares it with the file.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        atomic::write_text(path, &self.html())
    }
}
