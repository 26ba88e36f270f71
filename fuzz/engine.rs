//! Inputs for decoders that nobody thought of: every seed of a target's corpus, and then what chance makes of them.
//!
//! A target is a test that calls [`fuzz`] with its name; its seeds are the files in `fuzz/corpus/NAME/`. In a usual run
//! it tries a few thousand inputs, always the same. `cargo xtask fuzz` sets `OBELUS_FUZZ_SECONDS` and a new
//! `OBELUS_FUZZ_SEED`. An input that makes a decoder panic is kept in a file, which the message names: put it into the
//! corpus, and it is tried first from then on.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Inputs of a usual run.
const USUAL: u64 = 3_000;

/// Longer inputs find little that shorter ones do not.
const LONGEST: usize = 8 * 1024;

/// Pieces that mean something to one decoder or another.
const PIECES: [&[u8]; 48] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\\u",
    b"\\ud83d",
    b":",
    b",",
    b"null",
    b"true",
    b"-0",
    b"1e999",
    b"99999999999999999999",
    b"0.1",
    b" ",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"\t",
    b"\0",
    b"\xff",
    b"\xf0\x9f",
    b"\xef\xbb\xbf",
    "†".as_bytes(),
    "†state.".as_bytes(),
    "†a.b[-1]".as_bytes(),
    "ё".as_bytes(),
    "\u{202e}".as_bytes(),
    b" || ",
    b"&&",
    b"(",
    b")",
    b".",
    b"'",
    b"THOUGHT:",
    b"\nACTION:\n",
    b"\nASSISTANT:\n",
    b"```json\n",
    b"```",
    b"data:",
    b"data: [DONE]\n\n",
    b"&",
    b"=",
    b"%5B",
    b"[]",
    b"_outputPath",
];

/// Tries a decoder with the seeds of its corpus, then with what chance makes of them. It must panic at none, and says
/// of each whether it took it: a target that takes nothing tries nothing.
pub(crate) fn fuzz(target: &str, mut decode: impl FnMut(&[u8]) -> bool) {
    let seeds = seeds(target);
    let mut taken = 0_u64;
    let mut tried = |input: &[u8]| match catch_unwind(AssertUnwindSafe(|| decode(input))) {
        Ok(is_taken) => taken += u64::from(is_taken),
        Err(panic) => {
            let kept = keep(target, input);
            eprintln!("{target}: {:?}\nkept in {}; move it to fuzz/corpus/{target}/", lossy(input), kept.display());
            resume_unwind(panic);
        }
    };
    seeds.iter().for_each(|seed| tried(seed));
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let end = number("OBELUS_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut chance = Chance(number("OBELUS_FUZZ_SEED").unwrap_or(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut count = 0;
    while end.map_or(count < USUAL, |end| Instant::now() < end) {
        tried(&chance.changed(&seeds));
        count += 1;
    }
    eprintln!("{target}: {} seeds, {count} inputs made of them, {taken} taken", seeds.len());
    assert!(taken > count / 50, "{target}: of {count} inputs the decoder took {taken}; the seeds are of no use");
}

/// The same text for decoders of text.
pub(crate) fn lossy(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// An input in pieces of up to so many bytes, as a network would deliver it. The first byte of the input says how many.
pub(crate) fn piece_of(input: &[u8]) -> usize {
    usize::from(input.first().copied().unwrap_or_default() % 16) + 1
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no seeds", folder.display());
    files.iter().map(|file| fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))).collect()
}

/// Writes an input where it outlives the test.
fn keep(target: &str, input: &[u8]) -> PathBuf {
    let sum = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let file = std::env::temp_dir().join(format!("obelus-fuzz-{target}-{sum:016x}"));
    if let Err(error) = fs::write(&file, input) {
        eprintln!("{}: {error}", file.display());
    }
    file
}

/// Chance that comes out the same for the same seed (xorshift64*).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(drawn).unwrap_or_default() % end.max(1)
    }

    /// A seed with a few changes.
    fn changed(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(6) {
            self.change(&mut input, seeds);
        }
        input.truncate(LONGEST);
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(input.len() + 1);
        let to = at + self.below((input.len() - at).min(64) + 1);
        match self.below(16) {
            0..=4 => insert(input, at, PIECES[self.below(PIECES.len())]),
            5 | 6 => drop(input.drain(at..to)),
            7 | 8 => {
                let part = input[at..to].to_vec();
                let place = self.below(input.len() + 1);
                insert(input, place, &part);
            }
            9 => input.truncate(at),
            10 | 11 => {
                let byte = u8::try_from(self.below(256)).unwrap_or_default();
                if let Some(place) = input.get_mut(at) {
                    *place = byte;
                }
            }
            12 => {
                if let Some(place) = input.get_mut(at) {
                    *place ^= 1 << self.below(8);
                }
            }
            13 | 14 => {
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            // Depth is what breaks decoders that recurse.
            _ => {
                let times = self.below(1_500);
                let piece = PIECES[self.below(PIECES.len())];
                insert(input, at, &piece.repeat(times));
            }
        }
    }
}

fn insert(input: &mut Vec<u8>, at: usize, part: &[u8]) {
    input.splice(at..at, part.iter().copied());
}
