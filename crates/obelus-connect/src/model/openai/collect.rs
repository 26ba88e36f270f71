//! Joins the pieces that a server sends to one answer.

use obelus_kernel::dialect::Dialect;
use obelus_kernel::dialect::Reader;
use obelus_kernel::session::{Answer, Money};
use obelus_runtime::{Part, Parts, Used};

use super::failure::{Code, ModelFailure, shorten};
use super::options::Price;
use super::wire::{Choice, Chunk, Usage};

/// The longest answer, in bytes.
pub(super) const MAX_TEXT: usize = 4 * 1024 * 1024;

/// The answer received so far.
pub(super) struct Collected {
    dialect: Dialect,
    text: String,
    refusal: String,
    reader: Option<Reader>,
    /// Whether a part of the answer was already passed on, so that it cannot be replaced.
    pub(super) has_published: bool,
    usage: Option<Usage>,
    finish: Option<String>,
    /// The server has marked the end.
    is_done: bool,
}

impl Collected {
    pub(super) fn new(dialect: Dialect, has_listener: bool) -> Self {
        Self {
            dialect,
            text: String::new(),
            refusal: String::new(),
            reader: has_listener.then(|| Reader::new(dialect)),
            has_published: false,
            usage: None,
            finish: None,
            is_done: false,
        }
    }

    /// Adds one event of a stream.
    pub(super) fn event(&mut self, data: &str, parts: &Parts) -> Result<(), ModelFailure> {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        if data.trim().is_empty() {
            return Ok(());
        }
        self.chunk(data, parts)
    }

    /// Adds a whole answer, or a piece of one.
    pub(super) fn chunk(&mut self, json: &str, parts: &Parts) -> Result<(), ModelFailure> {
        let chunk: Chunk = serde_json::from_str(json).map_err(|error| {
            let words = format!("the server does not speak Chat Completions: {error}: {}", shorten(json));
            ModelFailure::new(Code::BadAnswer, words)
        })?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(ModelFailure::of_event(&error));
        }
        self.usage = chunk.usage.or(self.usage);
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.choice(choice, parts)?;
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice, parts: &Parts) -> Result<(), ModelFailure> {
        if let Some(finish) = choice.finish_reason {
            self.finish = Some(finish);
        }
        let Some(said) = choice.delta.or(choice.message) else { return Ok(()) };
        if let Some(refusal) = said.refusal {
            self.refusal.push_str(&refusal);
        }
        let text = said.content.map(super::wire::WireText::into_string).unwrap_or_default();
        if self.text.len() + self.refusal.len() + text.len() > MAX_TEXT {
            return Err(ModelFailure::too_large());
        }
        if let Some(reader) = &mut self.reader {
            reader.push(&text, |piece| {
                self.has_published = true;
                parts.tell(Part::Piece(piece));
            });
        }
        self.text.push_str(&text);
        Ok(())
    }

    /// The tokens and cost of the request, if the server reports them.
    pub(super) fn used(&self, price: Option<Price>) -> Option<Used> {
        let usage = self.usage?;
        let (input, mut output) = (usage.prompt_tokens, usage.completion_tokens);
        output = output.max(usage.total_tokens.saturating_sub(input));
        let million = |tokens: u64| tokens as f64 / 1e6;
        let cost = price.map(|price| Money::from(million(input) * price.input + million(output) * price.output));
        Some(Used { input, output, cost })
    }

    /// The answer, after the end of the stream or body.
    pub(super) fn into_answer(self) -> Result<Answer, ModelFailure> {
        let used = self.used(None).unwrap_or_default();
        let tokens = used.input + used.output;
        if !self.refusal.trim().is_empty() {
            return Err(ModelFailure::new(Code::Declined, format!("the model declines: {}", shorten(&self.refusal))));
        }
        match self.finish.as_deref() {
            None if !self.is_done => {
                return Err(ModelFailure::new(Code::CutOff, "the connection ended in the midst of the answer"));
            }
            Some("content_filter") => {
                return Err(ModelFailure::new(Code::Declined, "the server's filter has stopped the answer"));
            }
            _ => {}
        }
        if self.text.trim().is_empty() {
            return Err(ModelFailure::new(Code::Empty, "the server's answer has no text"));
        }
        let is_short = self.finish.as_deref() == Some("length");
        Ok(match self.dialect.read(&self.text) {
            Ok(solution) => Answer::Solution { solution, tokens },
            Err(error) if is_short => {
                let error = format!("the answer was cut off at the limit of its length; write a shorter one ({error})");
                Answer::OutOfFormat { text: self.text, error, tokens }
            }
            Err(error) => Answer::OutOfFormat { text: self.text, error, tokens },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use obelus_runtime::text::plain_text;
    use serde_json::{Value, json};

    fn collected(events: &[Value]) -> Result<Answer, ModelFailure> {
        let mut all = Collected::new(Dialect::Json, true);
        for event in events {
            all.event(&plain_text(event), &Parts::without_listener())?;
        }
        all.into_answer()
    }

    fn delta(text: &str, finish: Option<&str>) -> Value {
        json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})
    }

    #[test]
    fn pieces_of_a_stream_are_joined_into_one_answer() {
        let usage = json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}});
        let role = json!({"choices": [{"delta": {"role": "assistant", "content": null}}]});
        let answer =
            collected(&[role, delta("{\"say\":", None), delta("\"a\"}", Some("stop")), usage, "[DONE]".into()]);
        let Ok(Answer::Solution { solution, tokens }) = answer else { panic!("{answer:?}") };
        assert_eq!((solution.say.as_deref(), tokens), (Some("a"), 7));
    }

    #[test]
    fn incomplete_answers_have_distinct_error_codes() {
        let code = |events: &[Value]| collected(events).unwrap_err().code;
        assert_eq!(code(&[delta("{\"say\": \"a\"}", None)]), Code::CutOff);
        assert_eq!(code(&[delta(" ", Some("stop"))]), Code::Empty);
        assert_eq!(code(&["[DONE]".into()]), Code::Empty);
        assert_eq!(code(&["hello".into()]), Code::BadAnswer);
        assert_eq!(code(&[json!({"error": {"message": "overloaded"}})]), Code::ServerError);
        assert_eq!(code(&[delta("{", Some("content_filter"))]), Code::Declined);
        assert_eq!(
            code(&[json!({"choices": [{"delta": {"refusal": "I cannot"}, "finish_reason": "stop"}]})]),
            Code::Declined
        );
        let Ok(Answer::OutOfFormat { error, .. }) = collected(&[delta("{\"say\": ", Some("length"))]) else { panic!() };
        assert!(error.contains("shorter"), "{error}");
        assert_eq!(code(&[delta(&"x".repeat(MAX_TEXT + 1), None)]), Code::TooLarge);
    }

    #[test]
    fn a_price_gives_a_cost() {
        let mut all = Collected::new(Dialect::Json, false);
        all.usage = Some(Usage { prompt_tokens: 1_000_000, completion_tokens: 500_000, total_tokens: 0 });
        let used = all.used(Some(Price { input: 2.0, output: 8.0 })).unwrap();
        assert_eq!(used.cost, Some(Money::from(6.0)));
        assert_eq!(all.used(None).unwrap().cost, None);
    }
}
