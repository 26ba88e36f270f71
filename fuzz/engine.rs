//! A small fuzzer: runs a decoder on every seed of its corpus, and then on random mutations of the seeds.
//!
//! A target is a test that calls [`fuzz`] with its name; its seeds are the files in `fuzz/corpus/NAME/`. A usual run
//! tries a few thousand inputs, always the same. `cargo xtask fuzz` sets `OBELUS_FUZZ_SECONDS` and a new
//! `OBELUS_FUZZ_SEED`. An input that causes a panic is saved to a file named in the message. Move it to the corpus, so
//! that it is tried first from then on.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The number of mutations in a normal run.
const DEFAULT_INPUTS: u64 = 3_000;

/// The length of an input. Longer inputs find little more.
const MAX_LENGTH: usize = 8 * 1024;

/// The stack of a decoder: that of the main thread.
const STACK: usize = 8 * 1024 * 1024;

/// Pieces that are special to some decoder.
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

/// Runs a decoder on the seeds of its corpus and on mutations of them. The decoder must not panic, and returns whether
/// it accepted the input; too few accepted inputs mean that the seeds are bad.
pub(crate) fn fuzz(target: &str, decode: impl FnMut(&[u8]) -> bool + Send) {
    fuzz_some(target, DEFAULT_INPUTS, decode);
}

/// The same for a slow decoder, with fewer mutations in a normal run.
pub(crate) fn fuzz_some(target: &str, inputs: u64, decode: impl FnMut(&[u8]) -> bool + Send) {
    // Frames without optimisation are several times as large.
    let ended = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        thread.spawn_scoped(scope, || run_all(target, inputs, decode)).expect("a thread").join()
    });
    ended.unwrap_or_else(|panic| resume_unwind(panic));
}

fn run_all(target: &str, inputs: u64, mut decode: impl FnMut(&[u8]) -> bool) {
    let seeds = seeds(target);
    let mut accepted = 0_u64;
    let mut run = |input: &[u8]| match catch_unwind(AssertUnwindSafe(|| decode(input))) {
        Ok(is_accepted) => accepted += u64::from(is_accepted),
        Err(panic) => {
            let file = save_input(target, input);
            eprintln!("{target}: {:?}\nsaved to {}; move it to fuzz/corpus/{target}/", lossy(input), file.display());
            resume_unwind(panic);
        }
    };
    seeds.iter().for_each(|seed| run(seed));
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let end = number("OBELUS_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut random = Random(number("OBELUS_FUZZ_SEED").unwrap_or(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut count = 0;
    while end.map_or(count < inputs, |end| Instant::now() < end) {
        run(&random.mutated(&seeds));
        count += 1;
    }
    eprintln!("{target}: {} seeds, {count} mutations, {accepted} accepted", seeds.len());
    assert!(accepted > count / 50, "{target}: the decoder accepted {accepted} of {count} inputs; the seeds are bad");
}

/// The input as text.
pub(crate) fn lossy(input: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(input)
}

/// The size of the pieces for streaming decoders, 1 to 16, taken from the first byte of the input.
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

/// Saves an input to a temporary file.
fn save_input(target: &str, input: &[u8]) -> PathBuf {
    let sum = input
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let file = std::env::temp_dir().join(format!("obelus-fuzz-{target}-{sum:016x}"));
    if let Err(error) = fs::write(&file, input) {
        eprintln!("{}: {error}", file.display());
    }
    file
}

/// A random number generator (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap_or_default() % end.max(1)
    }

    /// A seed with a few changes.
    fn mutated(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(6) {
            self.mutate(&mut input, seeds);
        }
        input.truncate(MAX_LENGTH);
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
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
            // Deep nesting, for recursive decoders.
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
