//! The digest of what a question shows, which binds an answer to it (ASK-1).

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::question::{About, AskedCall, Question};
use crate::canonical::{hex, write_canonical};

/// This many bytes of the hash distinguish two versions of a question.
const BYTES: usize = 16;

impl Question {
    /// The digest of what is shown: the calls with their marks, their changes, the names of values, the reasons. It
    /// does not depend on the time or on where the question is seen from.
    pub fn digest(&self) -> String {
        let call = |asked: &AskedCall| json!([asked.call, asked.decided, asked.marks]);
        // The text of calls is derived from the calls.
        let text = (self.about == About::Input).then_some(&self.description);
        let shown = json!({
            "about": self.about,
            "calls": self.calls.iter().map(call).collect::<Vec<Value>>(),
            "words": text,
            "headline": self.headline,
            "reasons": self.reasons,
            "changes": self.changes,
            "names": self.names,
            "schema": self.schema,
        });
        let mut text = String::new();
        write_canonical(&shown, &mut text);
        hex(&Sha256::digest(text)[..BYTES])
    }
}
