//! A file of lines, rotated by size.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::atomic_file;

/// The size and the number of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rotation {
    /// The size of a file in bytes. A longer line has a file of its own.
    pub bytes: u64,
    /// The number of files, including the newest.
    pub files: u32,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { bytes: 10 << 20, files: 5 }
    }
}

pub(super) struct Lines {
    path: PathBuf,
    rotation: Rotation,
    file: Option<(File, u64)>,
}

impl Lines {
    pub(super) fn new(path: PathBuf, rotation: Rotation) -> Self {
        Self { path, rotation, file: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line in one call.
    pub(super) fn append(&mut self, mut line: String) -> io::Result<()> {
        debug_assert!(!line.contains('\n'));
        line.push('\n');
        let appended = self.try_append(line.as_bytes());
        if appended.is_err() {
            // After an error the next line reopens the file.
            self.file = None;
        }
        appended
    }

    fn try_append(&mut self, line: &[u8]) -> io::Result<()> {
        let (_, size) = self.opened()?;
        if *size > 0 && *size + line.len() as u64 > self.rotation.bytes {
            self.rotate()?;
        }
        let (file, size) = self.opened()?;
        file.write_all(line)?;
        *size += line.len() as u64;
        Ok(())
    }

    fn opened(&mut self) -> io::Result<&mut (File, u64)> {
        if self.file.is_none() {
            let mut file = atomic_file::private().read(true).append(true).create(true).open(&self.path)?;
            let mut size = file.metadata()?.len();
            // A crash may have left half a line: it stays, and the next line begins after it.
            if size > 0 {
                let mut last = [0];
                file.seek(SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
                if last != *b"\n" {
                    file.write_all(b"\n")?;
                    size += 1;
                }
            }
            self.file = Some((file, size));
        }
        self.file.as_mut().ok_or_else(|| io::Error::other("it is not open"))
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file = None;
        for number in (0..self.rotation.files.saturating_sub(1)).rev() {
            match fs::rename(self.numbered(number), self.numbered(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self.rotation.files <= 1 {
            fs::remove_file(&self.path)?;
        }
        Ok(())
    }

    /// The file with this number; the newest is 0.
    fn numbered(&self, number: u32) -> PathBuf {
        if number == 0 { self.path.clone() } else { self.path.with_extension(format!("{number}.jsonl")) }
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        for number in 0..self.rotation.files {
            match fs::remove_file(self.numbered(number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_are_rotated_by_size_and_the_oldest_is_removed() {
        let folder = std::env::temp_dir().join(format!("obelus-lines-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let rotation = Rotation { bytes: 30, files: 3 };
        let path = folder.join("s.jsonl");
        let line = |n: usize| format!("{{\"n\":{n:02}}}");
        for n in 0..20 {
            // A new process every other line: existing lines are counted.
            let mut lines = Lines::new(path.clone(), rotation);
            lines.append(line(2 * n)).unwrap();
            lines.append(line(2 * n + 1)).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let all = format!("{}{}{}", read("s.2.jsonl"), read("s.1.jsonl"), read("s.jsonl"));
        let expected: Vec<String> = (33..40).map(line).collect();
        assert_eq!(all.lines().collect::<Vec<_>>(), expected);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
        for file in fs::read_dir(&folder).unwrap() {
            let meta = file.unwrap().metadata().unwrap();
            assert!(meta.len() <= 30);
            assert_eq!(meta.permissions().mode() & 0o777, 0o600);
        }
        // A line longer than a file is written alone and whole.
        let mut lines = Lines::new(path.clone(), rotation);
        lines.append("x".repeat(100)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap().len(), 101);
        lines.remove().unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_incomplete_line_does_not_damage_the_next_one() {
        let folder = std::env::temp_dir().join(format!("obelus-half-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("s.jsonl");
        fs::write(&path, "{\"n\":1}\n{\"n\":").unwrap();
        Lines::new(path.clone(), Rotation::default()).append("{\"n\":3}".to_owned()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"n\":1}\n{\"n\":\n{\"n\":3}\n");
        fs::remove_dir_all(folder).unwrap();
    }
}
