//! OPR-3: texts, names of elements and pictures of pages are in no stored file and no output.

use std::fs;
use std::path::Path;

use crate::harness::Harness;
use crate::site::{CANARY_ID, CANARY_PICTURE, CANARY_TEXT, PASSWORD};
use crate::support::run;

/// The beginning of a PNG, and the same in base64.
const PICTURE: [&[u8]; 2] = [b"\x89PNG\r\n", b"iVBORw0KGgo"];

/// Searches all files and outputs of a harness. Pictures may only be in the folder of screenshots.
pub(crate) fn nothing_is_kept_of_pages(harness: &Harness) {
    // The sites must have shown the canaries, or the test proves nothing.
    assert!(harness.site.asked("GET", "/picture.svg") > 0, "no page was drawn");
    let mut places = Vec::new();
    files(Path::new(harness.folder.as_ref()), &mut places);
    assert!(places.iter().any(|(name, _)| name.ends_with("store/obelus.db")), "{:?}", names(&places));
    assert!(places.iter().any(|(name, _)| name.ends_with("states/s.json")), "{:?}", names(&places));
    for args in [
        &["sessions", "show", "s"][..],
        &["sessions", "show", "s", "--json"],
        &["sessions", "log", "s"],
        &["sessions", "log", "s", "--json"],
        &["sessions", "export", "s"],
        &["inbox", "--json"],
    ] {
        let ran = run(&mut harness.obelus(args), b"");
        assert!(!ran.stdout.is_empty(), "`{}` printed nothing: {}", args.join(" "), ran.stderr);
        places.push((args.join(" "), [ran.stdout, ran.stderr].concat().into_bytes()));
    }
    let shots = places.iter().filter(|(name, bytes)| name.contains("/shots/") && bytes.starts_with(PICTURE[0]));
    assert!(shots.count() > 0, "no screenshot was kept: {:?}", names(&places));
    for (place, bytes) in &places {
        for canary in [CANARY_TEXT, CANARY_ID, CANARY_PICTURE, PASSWORD] {
            assert!(!has(bytes, canary.as_bytes()), "`{canary}` is in {place}: {}", around(bytes, canary));
        }
        for begin in PICTURE.iter().filter(|_| !place.contains("/shots/")) {
            assert!(!has(bytes, begin), "a picture is in {place}");
        }
    }
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The text around a canary, to find the leak.
fn around(bytes: &[u8], canary: &str) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let at = text.find(canary).unwrap_or_default();
    let before: String = text[..at].chars().rev().take(200).collect::<Vec<_>>().into_iter().rev().collect();
    let after: String = text[at..].chars().take(100).collect();
    before + &after
}

fn names(places: &[(String, Vec<u8>)]) -> Vec<&str> {
    places.iter().map(|(name, _)| name.as_str()).collect()
}

/// Every file below a folder with its content.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.is_file() {
            found.push((path.display().to_string(), fs::read(&path).expect("readable")));
        }
    }
}
