//! Pictures that go along with a message: files of a kind that models take, and not too large.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::wire::{ContentPart, ImageUrl};
use crate::model::ChatMessage;

/// The largest picture that is sent, in bytes of its file.
const MOST_BYTES: u64 = 4_000_000;

/// The pictures of one request by the paths of their files: as `data:`, or why there is none.
#[derive(Default)]
pub(super) struct Pictures(BTreeMap<PathBuf, Result<String, String>>);

impl Pictures {
    /// Reads the pictures that these messages name.
    pub(super) async fn of(messages: &[ChatMessage]) -> Self {
        let mut paths: Vec<PathBuf> = messages.iter().flat_map(|message| &message.images).cloned().collect();
        if paths.is_empty() {
            return Self::default();
        }
        paths.dedup();
        let read = move || paths.into_iter().map(|path| (path.clone(), read(&path))).collect();
        Self(tokio::task::spawn_blocking(read).await.unwrap_or_default())
    }

    /// A picture as part of a message. One that cannot be sent is said to be missing.
    pub(super) fn part(&self, path: &Path) -> ContentPart {
        match self.0.get(path) {
            Some(Ok(url)) => ContentPart::ImageUrl { image_url: ImageUrl { url: url.clone() } },
            Some(Err(why)) => ContentPart::Text { text: format!("[The picture is missing: {why}.]") },
            None => ContentPart::Text { text: "[The picture is missing.]".to_owned() },
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("its file cannot be read ({})", error.kind());
    // A pipe would keep whoever opens it waiting.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(unreadable)?.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("it is larger than {} MB", MOST_BYTES / 1_000_000));
    }
    let kind = kind(&bytes).ok_or("it is no PNG, JPEG, WebP or GIF")?;
    Ok(format!("data:{kind};base64,{}", STANDARD.encode(bytes)))
}

/// What a picture is by its first bytes, whatever its name says: no other file is sent by mistake.
fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_known_by_its_first_bytes_and_by_nothing_else() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some("image/webp")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\x01\x02\x03\x04WAVE", None),
            (b"root:x:0:0", None),
            (b"<svg/>", None),
            (b"", None),
        ] {
            assert_eq!(kind(bytes), expected);
        }
    }

    #[test]
    fn what_cannot_be_sent_is_said_without_its_name() {
        let folder = std::env::temp_dir().join(format!("obelus-picture-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let large = folder.join("large.png");
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.resize(usize::try_from(MOST_BYTES).unwrap(), 0);
        std::fs::write(&large, &bytes).unwrap();
        assert!(read(&large).unwrap().starts_with("data:image/png;base64,iVBORw0KGgo"));
        bytes.push(0);
        std::fs::write(&large, &bytes).unwrap();
        assert_eq!(read(&large).unwrap_err(), "it is larger than 4 MB");
        assert_eq!(read(&folder).unwrap_err(), "it is no file");
        assert!(read(&folder.join("none.png")).unwrap_err().contains("cannot be read"));
        std::fs::write(&large, "root:x:0:0").unwrap();
        assert!(read(&large).unwrap_err().contains("no PNG"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
