//! Reads untrusted files: with limits, and with helpful errors.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use obelus_words::{Language, fill};

/// Larger files are refused before they are read, to limit memory.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Documents with more values are refused: a value takes many times the memory of its bytes.
const MOST_VALUES: usize = 4_000_000;

/// Why a text cannot be read. The caller names the file.
#[derive(Debug)]
pub enum Unreadable {
    /// It does not exist.
    Missing,
    /// It is a folder.
    Folder,
    /// It is too large.
    TooLarge,
    /// It has too many values.
    TooMany,
    /// It is not valid UTF-8.
    NotUtf8 {
        /// The line at fault, from 1.
        line: usize,
        /// The offset of the first wrong byte.
        byte: usize,
    },
    /// An I/O error.
    Io(io::Error),
}

impl std::error::Error for Unreadable {}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words(Language::English))
    }
}

impl Unreadable {
    /// The error and the remedy, as text for people.
    pub fn in_words(&self, language: Language) -> String {
        let words = &language.words().file_errors;
        match self {
            Unreadable::Missing => words.missing.to_owned(),
            Unreadable::Folder => words.folder.to_owned(),
            Unreadable::TooLarge => fill(words.too_large, &[&(MOST_BYTES >> 20).to_string()]),
            Unreadable::TooMany => fill(words.too_many, &[&MOST_VALUES.to_string()]),
            Unreadable::NotUtf8 { line, byte } => fill(words.not_utf8, &[&line.to_string(), &byte.to_string()]),
            Unreadable::Io(error) => error.to_string(),
        }
    }
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Unreadable::Missing,
            io::ErrorKind::IsADirectory => Unreadable::Folder,
            _ => Unreadable::Io(error),
        }
    }
}

/// Reads a text file or a bundled one.
pub fn read_text(path: &Path) -> Result<String, Unreadable> {
    if let Some(text) = crate::bundled::text(path) {
        return Ok(text.to_owned());
    }
    let file = File::open(path)?;
    let about = file.metadata()?;
    if about.is_file() && about.len() > MOST_BYTES {
        return Err(Unreadable::TooLarge);
    }
    read_text_from(file)
}

/// Reads text from a stream that may never end.
pub fn read_text_from(from: impl Read) -> Result<String, Unreadable> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Unreadable::TooLarge);
    }
    must_be_small(&bytes)?;
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..byte].iter().filter(|&&b| b == b'\n').count() + 1;
        Unreadable::NotUtf8 { line, byte }
    })
}

/// Refuses a JSON or YAML document with too many values, estimated from its punctuation.
pub fn must_be_small(document: &[u8]) -> Result<(), Unreadable> {
    let (mut marks, mut lines) = (0, 0);
    for byte in document {
        match byte {
            b'{' | b'[' | b',' => marks += 1,
            b'\n' => lines += 1,
            _ => {}
        }
    }
    if marks > MOST_VALUES || lines > MOST_VALUES { Err(Unreadable::TooMany) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_file_is_refused() {
        assert!(matches!(read_text_from(io::repeat(b' ')), Err(Unreadable::TooLarge)));
        assert!(matches!(read_text(Path::new("/dev/zero")), Err(Unreadable::TooLarge)));
    }

    #[test]
    fn a_file_of_twenty_million_values_is_refused_before_it_is_read() {
        let many = format!("[{}{{}}]", "{},".repeat(20_000_000));
        assert!(matches!(read_text_from(many.as_bytes()), Err(Unreadable::TooMany)));
        let lines = "- \n".repeat(MOST_VALUES + 1);
        assert!(matches!(read_text_from(lines.as_bytes()), Err(Unreadable::TooMany)));
        assert!(read_text_from(&many.as_bytes()[..3_000_000]).is_ok());
    }

    #[test]
    fn an_invalid_byte_is_reported_with_its_line() {
        let error = read_text_from(&b"a\nb\xff"[..]).unwrap_err();
        assert_eq!(error.to_string(), "it is not UTF-8 (line 2, byte 3 of the file); save it as UTF-8");
    }
}
