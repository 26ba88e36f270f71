//! Digests of the consequences of an input (DUR-12): its tasks and the appended messages.
//!
//! Both halves are hashes of a canonical form, which must not change: a version with other digests would refuse every
//! unfinished session. It covers what a task does and not how: no time limits, no prompts, and no idempotency keys,
//! because these begin with the session's name and differ in a fork.

use std::fmt::Display;

use obelus_kernel::memory::Member;
use obelus_kernel::session::{ElicitationAnswer, RepeatReason, Reply, Start, Task};
use obelus_kernel::{Context, Message};
use serde_json::Value;

use crate::store::Digest;

impl Digest {
    /// Whether the tasks are the same.
    pub(super) fn has_same_tasks(self, other: Self) -> bool {
        self.0 >> 32 == other.0 >> 32
    }

    /// Whether the messages are the same.
    pub(super) fn has_same_messages(self, other: Self) -> bool {
        self.0 << 32 == other.0 << 32
    }
}

/// The digest of an input's consequences: its tasks and the latest `appended` messages.
pub(crate) fn digest_of(tasks: &[Task], context: &Context, appended: usize) -> Digest {
    let mut of_tasks = Hash::default();
    tasks.iter().for_each(|task| of_tasks.task(task));
    let mut of_messages = Hash::default();
    context.latest().take(appended).for_each(|message| of_messages.message(message));
    Digest(of_tasks.half() << 32 | of_messages.half())
}

/// A hash of values, eight bytes at a time.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        // Any number except 0, which hashing words of 0 would not change.
        Self(0x6f62_656c_7573_0001)
    }
}

/// The members of an object, in any order.
#[derive(Default)]
struct Members {
    count: u64,
    sum: u64,
}

impl Members {
    fn add(&mut self, name: &str, value: impl FnOnce(&mut Hash)) {
        let mut hash = Hash::default();
        hash.text(name);
        value(&mut hash);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hash.0);
    }
}

impl Hash {
    fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn text(&mut self, text: &str) {
        let (words, rest) = text.as_bytes().as_chunks::<8>();
        self.word(text.len() as u64);
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
    }

    fn id(&mut self, id: &impl Display) {
        self.text(&id.to_string());
    }

    /// A JSON value.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.word(0),
            Value::Bool(value) => self.word(1 + u64::from(*value)),
            Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(whole), ..) => [3, whole.cast_unsigned()].iter().for_each(|word| self.word(*word)),
                (_, Some(whole), _) => [4, whole].iter().for_each(|word| self.word(*word)),
                (.., real) => [5, real.unwrap_or_default().to_bits()].iter().for_each(|word| self.word(*word)),
            },
            Value::String(text) => {
                self.word(6);
                self.text(text);
            }
            Value::Array(items) => {
                self.word(7);
                self.word(items.len() as u64);
                items.iter().for_each(|item| self.value(item));
            }
            Value::Object(fields) => {
                let mut members = Members::default();
                fields.iter().for_each(|(name, value)| members.add(name, |hash| hash.value(value)));
                self.object(&members);
            }
        }
    }

    fn object(&mut self, members: &Members) {
        self.word(8);
        self.word(members.count);
        self.word(members.sum);
    }

    /// The canonical form of a message. Data are hashed in place, because results are long.
    fn message(&mut self, message: &Message) {
        let Message::Data(data) = message else { return self.value(&message.to_json()) };
        let mut members = Members::default();
        data.each_member(&mut |name, member| members.add(name, |hash| hash.member(&member)));
        self.object(&members);
    }

    fn member(&mut self, member: &Member<'_>) {
        match member {
            Member::Text(text) => {
                self.word(6);
                self.text(text);
            }
            Member::Value(value) => self.value(value),
            Member::Labels(origins) => {
                self.word(7);
                self.word(origins.iter().count() as u64);
                for origin in origins.iter() {
                    self.word(6);
                    self.id(origin);
                }
            }
            Member::Nested([], value) => self.value(value),
            Member::Nested([first, below @ ..], value) => {
                let mut members = Members::default();
                members.add(&first.key(), |hash| hash.member(&Member::Nested(below, value)));
                self.object(&members);
            }
        }
    }

    fn task(&mut self, task: &Task) {
        match task {
            Task::AskModel { id } => {
                self.word(1);
                self.id(id);
            }
            Task::Call(start) => self.start(start),
            Task::Load { id, path } => {
                self.word(3);
                self.id(id);
                self.text(path);
            }
            Task::Say(words) => {
                self.word(4);
                self.text(words);
            }
            Task::Ask { id } => {
                self.word(5);
                self.id(id);
            }
            Task::AskAgain { id, because } => {
                self.word(match because {
                    RepeatReason::MoreIsKnown => 6,
                    RepeatReason::ItWillLapse => 7,
                });
                self.id(id);
            }
            Task::AnswerElicitation { id, key, answer } => self.answer(id, key, answer),
            Task::Rest(reply) => self.rest(reply),
        }
    }

    fn start(&mut self, start: &Start) {
        self.word(2);
        self.id(&start.id);
        self.text(start.activity());
        self.value(&start.call);
        self.word(start.attempt.into());
    }

    fn answer(&mut self, id: &impl Display, key: &str, answer: &ElicitationAnswer) {
        self.word(8);
        self.id(id);
        self.text(key);
        match answer {
            ElicitationAnswer::Value(value) => self.value(value),
            ElicitationAnswer::Declined { reason } => self.text(reason),
            ElicitationAnswer::Gone => self.word(0),
        }
    }

    fn rest(&mut self, reply: &Reply) {
        self.word(9);
        self.value(&serde_json::to_value(reply.ends).unwrap_or_default());
        self.value(&reply.output);
        reply.waiting.iter().for_each(|id| self.id(id));
    }

    /// The hash as half of a digest.
    fn half(mut self) -> u64 {
        self.word(0);
        self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use obelus_kernel::Context;
    use obelus_kernel::Time;
    use obelus_kernel::session::{Input, Mode, Session, Settings};
    use serde_json::json;

    use super::*;
    use crate::restore::advance;

    fn of_value(value: &Value) -> u64 {
        let mut hash = Hash::default();
        hash.value(value);
        hash.0
    }

    #[test]
    fn different_values_have_different_hashes_and_the_order_of_members_does_not_matter() {
        let all = [
            json!(null),
            json!(false),
            json!(true),
            json!(0),
            json!(-1),
            json!(u64::MAX),
            json!(0.5),
            json!(""),
            json!("a"),
            json!("a\0"),
            json!([]),
            json!([[]]),
            json!([1, 2]),
            json!([2, 1]),
            json!({}),
            json!({"a": 1, "b": 2}),
            json!({"a": 2, "b": 1}),
            json!({"a": {"b": 1}}),
            json!({"a": {}, "b": 1}),
        ];
        for (i, one) in all.iter().enumerate() {
            for other in &all[..i] {
                assert_ne!(of_value(one), of_value(other), "{one} and {other}");
            }
        }
        let (one, other) = (r#"{"a": 1, "b": {"c": 2, "d": 3}}"#, r#"{"b": {"d": 3, "c": 2}, "a": 1}"#);
        assert_eq!(of_value(&serde_json::from_str(one).unwrap()), of_value(&serde_json::from_str(other).unwrap()));
    }

    #[test]
    fn a_message_has_the_hash_of_its_json() {
        let call = json!({"_tool": "t", "n": 1, "_outputPath": "†state.deal.rows"});
        let messages = json!([
            {"type": "text", "role": "user", "text": "hello"},
            {"type": "tool", "tool": {"t": {"properties": {}}}},
            {"type": "plan", "plan": [{"_tool": "t"}]},
            {"type": "state", "data": {"deal": {"rows": {"id": 7}}}, "_call": call, "_outputPath": "†state.deal.rows",
             "_date": "2026-01-01T00:00:00Z", "_labels": ["user", "untrusted:t"], "_partLabels": {"id": ["author"]}},
            {"type": "state", "data": {"deal": 1, "beside": 2}, "_call": {"_tool": "t"}, "_outputPath": "†state.deal"},
            {"type": "data", "kind": "notes", "data": [1], "description": "Notes", "schema": {"type": "array"},
             "_instance": "one", "_reasoningForCall": "none", "_outputMethod": "concat"},
            {"type": "error", "data": {"error": {"message": "no"}}},
        ]);
        for message in Context::from_value(messages).unwrap().messages() {
            let mut hash = Hash::default();
            hash.message(message);
            assert_eq!(hash.0, of_value(&message.to_json()), "{message:?}");
        }
    }

    /// Journals contain these digests: changing them would stop every session in the middle of a turn.
    #[test]
    fn the_digests_of_a_known_session_stay_as_they_are() {
        let tool = json!({"type": "object", "properties": {"n": {}}, "x-effect": "create", "x-trust": "trusted"});
        let call = json!({"_tool": "step", "n": 1, "_outputPath": "†state.v"});
        let messages = json!([{"type": "tool", "tool": {"step": tool}}, {"type": "plan", "plan": [call]}]);
        let settings = Settings { mode: Mode::Full, activities: ["step".to_owned()].into(), ..Settings::default() };
        let context = Context::from_value(messages).unwrap();
        let mut session = Session::new("s", context, None, Arc::new(settings)).unwrap();
        let ended = json!({"ended": {"id": "0.0", "outcome": {"value": {"n": 2}}}});
        let inputs = [Input::RunPlan, serde_json::from_value(ended).unwrap(), Input::Tick];
        let digests = inputs.map(|input| String::from(advance(&mut session, Time(1_000), input).unwrap().digest));
        assert_eq!(digests, ["44d1cd30c52354c0", "1bc0c155df73885a", "c52354c0c52354c0"]);
    }
}
