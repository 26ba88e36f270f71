//! The style sheet of an SVG picture, for light and dark pages.
//!
//! Colours are written out instead of CSS variables, which some SVG viewers do not support.

use std::fmt::Write as _;

use super::{
    NodeKind,
    palette::{INK, Tint},
};

/// The rules that are the same in all pictures.
const SHAPES: &str = "
.obelus{max-width:100%;height:auto;font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"Helvetica Neue\",Arial,sans-serif}
.obelus text{text-anchor:middle}
.obelus .heading{text-anchor:start;font-size:15px;font-weight:600}
.obelus .label{font-size:13px;font-weight:600}
.obelus .detail,.obelus .note{font-size:11px}
.obelus .halo{fill-opacity:.9}
.obelus g rect{stroke-width:1.4px}
.obelus .finish rect{stroke-width:2.4px}
.obelus .faulty rect{stroke-width:1.8px;stroke-dasharray:5 3}
.obelus .line{fill:none;stroke-width:1.4px}
.obelus .dashed{stroke-dasharray:5 4}
";

/// The style sheet of a picture with these kinds.
pub(super) fn sheet(kinds: impl Iterator<Item = NodeKind>) -> String {
    let mut light = page("#ffffff", INK, "#57606a", "#7d8790");
    let mut dark = page("#14171b", "#e9edf1", "#a3adb7", "#838e99");
    for kind in kinds {
        let paint = kind.paint();
        light.push_str(&rule(kind, &paint.light));
        dark.push_str(&rule(kind, &paint.dark));
    }
    format!("{SHAPES}{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n")
}

/// The colours of everything but boxes.
fn page(paper: &str, ink: &str, faint: &str, line: &str) -> String {
    format!(
        ".obelus .page,.obelus .halo{{fill:{paper}}}\n\
         .obelus text{{fill:{ink}}}\n\
         .obelus .detail,.obelus .note{{fill:{faint}}}\n\
         .obelus .line{{stroke:{line}}}\n\
         .obelus .tip{{fill:{line}}}\n"
    )
}

fn rule(kind: NodeKind, tint: &Tint) -> String {
    let class = kind.class();
    let Tint { fill, stroke } = tint;
    let mut rule = String::new();
    let _ = writeln!(rule, ".obelus .{class} rect{{fill:{fill};stroke:{stroke}}}");
    rule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_and_dark_mode_style_the_same_elements() {
        let sheet = sheet([NodeKind::Read, NodeKind::Delete].into_iter());
        let (light, dark) = sheet.split_once("@media").expect("a dark mode");
        for selector in [".halo{fill:", ".note{fill", ".line{stroke", ".read rect{fill", ".delete rect{fill"] {
            assert_eq!(light.matches(selector).count(), 1, "{selector}");
            assert_eq!(dark.matches(selector).count(), 1, "{selector}");
        }
        assert!(!sheet.contains(".create rect"));
        assert_eq!(sheet.matches('{').count(), sheet.matches('}').count());
    }

    #[test]
    fn the_sheet_is_plain_xml_text() {
        let sheet = sheet(NodeKind::ALL.into_iter());
        assert!(!sheet.contains(['<', '&']) && !sheet.contains("url("));
    }
}
