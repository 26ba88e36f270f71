//! A digest of what a question shows, by which an answer says what it is an answer to (ASK-1).

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::question::{About, AskedCall, Question};
use crate::canonical::write_canonical;

/// So many bytes of the hash are enough to tell two forms of one question apart.
const BYTES: usize = 16;

impl Question {
    /// A digest of what is shown: the calls with their marks, what they change, the names of values, the reasons. It
    /// changes with any of them, and neither with the time nor with the place from which the question is seen.
    pub fn digest(&self) -> String {
        let call = |asked: &AskedCall| json!([asked.call, asked.decided, asked.marks]);
        // The words for calls are made of the calls.
        let words = (self.about == About::Input).then_some(&self.description);
        let shown = json!({
            "about": self.about,
            "calls": self.calls.iter().map(call).collect::<Vec<Value>>(),
            "words": words,
            "headline": self.headline,
            "reasons": self.reasons,
            "changes": self.changes,
            "names": self.names,
            "schema": self.schema,
        });
        let mut text = String::new();
        write_canonical(&shown, &mut text);
        Sha256::digest(text).iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect()
    }
}
