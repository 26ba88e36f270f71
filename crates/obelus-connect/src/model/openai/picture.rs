//! Pictures in messages: checks their type and size, and encodes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use obelus_kernel::session::Picture;

use super::wire::{ContentPart, ImageUrl};
use crate::model::ChatMessage;

/// The largest picture, in bytes.
const MAX_BYTES: u64 = Picture::MOST_BYTES;

/// The pictures of one request by path: a `data:` URL, or why the picture cannot be sent.
#[derive(Default)]
pub(super) struct Pictures(BTreeMap<PathBuf, Result<String, String>>);

impl Pictures {
    /// Reads the pictures of these messages.
    pub(super) async fn of(messages: &[ChatMessage]) -> Self {
        let mut paths: Vec<PathBuf> = messages.iter().flat_map(|message| &message.images).cloned().collect();
        if paths.is_empty() {
            return Self::default();
        }
        paths.dedup();
        let read = move || paths.into_iter().map(|path| (path.clone(), read(&path))).collect();
        Self(tokio::task::spawn_blocking(read).await.unwrap_or_default())
    }

    /// A picture as part of a message; a text replaces a picture that cannot be sent.
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
    // Opening a pipe would block.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).map_err(unreadable)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {} MB", MAX_BYTES / 1_000_000));
    }
    let kind = Picture::kind(&bytes).ok_or("it is not a PNG, JPEG, WebP or GIF")?;
    Ok(format!("data:{kind};base64,{}", STANDARD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unusable_picture_is_reported_without_its_name() {
        let folder = std::env::temp_dir().join(format!("obelus-picture-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let large = folder.join("large.png");
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        bytes.resize(usize::try_from(MAX_BYTES).unwrap(), 0);
        std::fs::write(&large, &bytes).unwrap();
        assert!(read(&large).unwrap().starts_with("data:image/png;base64,iVBORw0KGgo"));
        bytes.push(0);
        std::fs::write(&large, &bytes).unwrap();
        assert_eq!(read(&large).unwrap_err(), "it is larger than 4 MB");
        assert_eq!(read(&folder).unwrap_err(), "it is not a file");
        assert!(read(&folder.join("none.png")).unwrap_err().contains("cannot be read"));
        std::fs::write(&large, "root:x:0:0").unwrap();
        assert!(read(&large).unwrap_err().contains("not a PNG"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
