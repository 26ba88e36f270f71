//! Pictures that the user shows: the session has their names and digests, the driver their files.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::canonical::hex;

/// A picture that the user shows. It belongs to the next message, and the model sees it in that turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// The name of its file among the session's; made from the digest, never from its original name.
    pub name: String,
    /// SHA-256 of the file, as `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The path of the file, for the model's client; set by the driver, and not stored.
    #[serde(skip)]
    pub path: Option<PathBuf>,
}

impl Picture {
    /// The size limit, in bytes.
    pub const MOST_BYTES: u64 = 4_000_000;
    /// The limit of pictures of one message.
    pub const MOST_AT_ONCE: usize = 8;

    /// The picture of these bytes, if they are one.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let ending = Self::kind(bytes)?.strip_prefix("image/")?;
        let digest = digest(bytes);
        Some(Self { name: format!("user-{}.{ending}", &digest[7..23]), digest, path: None })
    }

    /// The type by the first bytes, whatever the name, so that no other file is sent by mistake: `image/png`,
    /// `image/jpeg`, `image/webp` or `image/gif`.
    pub fn kind(bytes: &[u8]) -> Option<&'static str> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
            [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
            _ => None,
        }
    }

    /// Whether its name is a valid file name here.
    pub fn is_plainly_named(&self) -> bool {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !self.name.is_empty()
            && self.name.len() <= 100
            && !self.name.starts_with('.')
            && self.name.chars().all(is_plain)
    }
}

/// SHA-256 in the stored form of digests.
pub(crate) fn digest(bytes: impl AsRef<[u8]>) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_recognised_by_its_first_bytes_only() {
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
            assert_eq!(Picture::kind(bytes), expected);
            let picture = Picture::of(bytes);
            assert_eq!(picture.is_some(), expected.is_some());
            assert!(picture.is_none_or(|picture| picture.is_plainly_named() && picture.digest.len() == 71));
        }
    }

    #[test]
    fn a_picture_name_cannot_leave_its_folder() {
        let named = |name: &str| Picture { name: name.to_owned(), digest: String::new(), path: None };
        assert!(named("user-0a.png").is_plainly_named());
        for name in ["", "..", "../a.png", "/a.png", "a/b.png", ".a", "a\nb", "é.png", &"a".repeat(101)] {
            assert!(!named(name).is_plainly_named(), "{name}");
        }
    }
}
