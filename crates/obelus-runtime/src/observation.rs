//! The slot: the memory for observations.
//!
//! A tool with `x-keep: digest` returns `{"about": {…}, "text": "…", "changes": "…", "image": "FILE"}`. Text, changes
//! and image stay here, in memory; the session, its journal, the logs and subscribers get `about`, a digest and a
//! length. `changes` is optional: it is shown to a model that has seen the previous observation.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use obelus_kernel::session::{CallError, FailureCode, Observation, Outcome, Prompt, TranscriptEvent};
use obelus_kernel::{Tool, type_name};
use serde_json::{Map, Value};

/// The longest text, in bytes. Longer ones are cut and marked.
const MOST_TEXT: usize = 1_000_000;

/// The number and size of observation texts kept for the transcript.
const MOST_SHOWN: usize = 500;
const MOST_SHOWN_BYTES: usize = 8_000_000;

/// The observations of a session, shared by its actor, which shows them to the model, and its activities, which may
/// read the latest.
#[derive(Default)]
pub struct ObservationSlot(RwLock<Observed>);

#[derive(Default)]
struct Observed {
    latest: Option<Arc<Observation>>,
    /// Shown texts by digest, oldest first.
    shown: VecDeque<(String, Arc<str>)>,
}

impl ObservationSlot {
    /// The latest observation; none before the first, and after a restart.
    pub fn latest(&self) -> Option<Arc<Observation>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).latest.clone()
    }

    /// Stores an observation.
    pub fn put(&self, observation: Observation) -> Arc<Observation> {
        let observation = Arc::new(observation);
        let mut observed = self.0.write().unwrap_or_else(PoisonError::into_inner);
        observed.latest = Some(Arc::clone(&observation));
        observed.shown.retain(|(digest, _)| *digest != observation.digest);
        observed.shown.push_back((observation.digest.clone(), observation.shown().into()));
        let bytes = |observed: &Observed| observed.shown.iter().map(|(_, text)| text.len()).sum::<usize>();
        while observed.shown.len() > 1 && (observed.shown.len() > MOST_SHOWN || bytes(&observed) > MOST_SHOWN_BYTES) {
            observed.shown.pop_front();
        }
        observation
    }

    /// Fills in the observation texts of a prompt's transcript.
    pub fn fill(&self, prompt: &mut Prompt) {
        let observed = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for entry in prompt.transcript.iter().filter(|entry| !entry.is_digest) {
            let TranscriptEvent::Observed { about, .. } = &entry.what else { continue };
            let found = observed.shown.iter().find(|(digest, _)| about["digest"] == digest.as_str());
            prompt.observed.extend(found.cloned());
        }
    }

    /// Removes the observation from an outcome and stores it. The result may be stored and published.
    pub fn extract_observation(&self, tool: &Tool, outcome: Outcome) -> Outcome {
        let value = match outcome {
            Outcome::Value(value) => value,
            Outcome::Messages(_) => return not_an_observation("messages"),
            other => return other,
        };
        match observation(value) {
            Err(why) => not_an_observation(&why),
            Ok(ParsedObservation { mut about, text, changes, image }) => {
                let (text, is_cut) = capped(text);
                let is_part = changes.is_some();
                let stored = self.put(Observation::new(tool.name.as_str(), text, image).with_changes(changes));
                about.insert("digest".to_owned(), stored.digest.as_str().into());
                about.insert("chars".to_owned(), stored.shown().chars().count().into());
                if is_part {
                    about.insert("part".to_owned(), true.into());
                }
                if is_cut {
                    about.insert("cut".to_owned(), true.into());
                }
                Outcome::Value(about.into())
            }
        }
    }
}

impl fmt::Debug for ObservationSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObservationSlot").field(&self.latest()).finish()
    }
}

/// A parsed observation.
struct ParsedObservation {
    /// The part that may be published.
    about: Map<String, Value>,
    text: String,
    changes: Option<String>,
    image: Option<PathBuf>,
}

/// Parses an observation. An error contains only field names.
fn observation(value: Value) -> Result<ParsedObservation, String> {
    let Value::Object(mut fields) = value else { return Err(type_name(&value).to_owned()) };
    let text = match fields.shift_remove("text") {
        Some(Value::String(text)) => text,
        None => return Err("an object without `text`".to_owned()),
        Some(other) => return Err(format!("an object whose `text` is {}", type_name(&other))),
    };
    let about = match fields.shift_remove("about") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(about)) => about,
        Some(other) => return Err(format!("an object whose `about` is {}", type_name(&other))),
    };
    let mut optional = |name: &str| match fields.shift_remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!("an object whose `{name}` is {}", type_name(&other))),
    };
    let (changes, image) = (optional("changes")?, optional("image")?.map(PathBuf::from));
    match fields.len() {
        0 => Ok(ParsedObservation { about, text, changes, image }),
        n => Err(format!("an object with {n} further fields")),
    }
}

fn not_an_observation(found: &str) -> Outcome {
    let text = format!(
        "a tool with `x-keep: digest` brings an object with `text`, and with `about`, `changes` and `image` where it has \
         them; \
         this brought {found}"
    );
    Outcome::Error(CallError::new(FailureCode::BadResult, text).after_success())
}

/// A text within the limit, and whether it was cut.
fn capped(mut text: String) -> (String, bool) {
    if text.len() <= MOST_TEXT {
        return (text, false);
    }
    let end = text.floor_char_boundary(MOST_TEXT);
    let left_out = text[end..].chars().count();
    text.truncate(end);
    text.push_str(&format!("\n[cut here: {left_out} more characters]"));
    (text, true)
}

/// The longest common run of characters that is not a quotation.
const SHARED_BY_CHANCE: usize = 11;

/// Replaces parts of a message that quote a text with `…`. Differences in spaces and escaped quotes are ignored,
/// because a server repeats what it was sent in its own form.
pub(crate) fn without_parts(message: &str, text: &str) -> String {
    const RUN: usize = SHARED_BY_CHANCE + 1;
    let letters: Vec<char> = message.chars().collect();
    let plain = |letter: &char| !letter.is_whitespace() && *letter != '\\';
    let of_message: Vec<(usize, char)> =
        letters.iter().copied().enumerate().filter(|(_, letter)| plain(letter)).collect();
    let mut runs: BTreeMap<Vec<char>, Vec<usize>> = BTreeMap::new();
    for (at, run) in of_message.windows(RUN).enumerate() {
        runs.entry(run.iter().map(|(_, letter)| *letter).collect()).or_default().push(at);
    }
    let mut shared = vec![false; letters.len()];
    let of_text: Vec<char> = text.chars().filter(plain).collect();
    for run in of_text.windows(RUN) {
        for &at in runs.get(run).into_iter().flatten() {
            let (first, last) = (of_message[at].0, of_message[at + RUN - 1].0);
            shared[first..=last].fill(true);
        }
    }
    let mut left = String::new();
    for (letter, is_shared) in letters.into_iter().zip(shared) {
        if !is_shared {
            left.push(letter);
        } else if !left.ends_with('…') {
            left.push('…');
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool() -> Tool {
        Tool::parse("look", &json!({"x-effect": "read", "x-keep": "digest"})).unwrap()
    }

    #[test]
    fn text_and_picture_stay_in_the_slot_and_the_result_has_a_digest() {
        let slot = ObservationSlot::default();
        let brought = json!({"about": {"address": "/a", "digest": "x"}, "text": "наш текст", "image": "/tmp/a.png"});
        let Outcome::Value(stored) = slot.extract_observation(&tool(), Outcome::Value(brought)) else {
            panic!("it is a value")
        };
        let latest = slot.latest().unwrap();
        assert_eq!((latest.text.as_str(), latest.image.clone()), ("наш текст", Some(PathBuf::from("/tmp/a.png"))));
        assert_eq!(stored, json!({"address": "/a", "digest": latest.digest, "chars": 9}));
        assert!(latest.digest.starts_with("sha256:") && latest.digest.len() == 71);
        let printed = format!("{slot:?} {}", serde_json::to_string(&*latest).unwrap());
        assert!(
            printed.contains(&latest.digest) && !printed.contains("текст") && !printed.contains("a.png"),
            "{printed}"
        );
    }

    #[test]
    fn changes_are_shown_as_a_part_and_the_full_text_is_kept_beside_them() {
        let slot = ObservationSlot::default();
        let brought = json!({"text": "one two", "changes": "+ two"});
        let Outcome::Value(stored) = slot.extract_observation(&tool(), Outcome::Value(brought)) else {
            panic!("it is a value")
        };
        let latest = slot.latest().unwrap();
        assert_eq!((latest.text.as_str(), latest.shown()), ("one two", "+ two"));
        assert_eq!(stored, json!({"digest": latest.digest, "chars": 5, "part": true}));
        assert_eq!(latest.digest, Observation::new("look", "+ two", None).digest);
    }

    #[test]
    fn an_invalid_observation_is_an_error_without_its_content() {
        let slot = ObservationSlot::default();
        for wrong in [
            json!("CANARY"),
            json!({"about": {}}),
            json!({"text": ["CANARY"]}),
            json!({"text": "a", "about": "CANARY"}),
            json!({"text": "a", "image": {"data": "CANARY"}}),
            json!({"text": "a", "CANARY": "CANARY"}),
        ] {
            let Outcome::Error(error) = slot.extract_observation(&tool(), Outcome::Value(wrong)) else {
                panic!("an error")
            };
            assert!(error.code == "bad_result" && !error.message.contains("CANARY"), "{error:?}");
        }
        let Outcome::Error(_) = slot.extract_observation(&tool(), Outcome::Messages(vec![json!("CANARY")])) else {
            panic!()
        };
        assert_eq!(slot.latest(), None);
    }

    #[test]
    fn errors_do_not_repeat_the_observed_text() {
        let page = "- link \"Купить за 990 ₽\" [ref=e12]\n- text: CANARY-7f3a-91";
        let sent = serde_json::to_string(page).unwrap();
        let told = without_parts(&format!("the server answered 400: cannot parse {sent} at all"), page);
        assert!(told.starts_with("the server answered 400: cannot parse \"…") && told.ends_with("\" at all"), "{told}");
        assert!(!told.contains("CANARY") && !told.contains("Купить"), "{told}");
        for text in [page, ""] {
            assert_eq!(without_parts("you exceeded your quota", text), "you exceeded your quota");
        }
    }

    #[test]
    fn a_too_long_text_is_cut_with_a_note() {
        let slot = ObservationSlot::default();
        let long = "ы".repeat(MOST_TEXT / 2 + 10);
        let Outcome::Value(stored) = slot.extract_observation(&tool(), Outcome::Value(json!({"text": long}))) else {
            panic!()
        };
        assert_eq!(stored["cut"], true);
        let latest = slot.latest().unwrap();
        assert!(latest.text.ends_with("\n[cut here: 10 more characters]") && latest.text.len() < MOST_TEXT + 100);
        assert_eq!(stored["chars"], latest.text.chars().count());
    }
}
