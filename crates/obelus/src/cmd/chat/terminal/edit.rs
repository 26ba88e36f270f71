//! Editing a call field by field, with a preview before it counts (ASK-3).

use anyhow::Result;
use obelus_kernel::session::{Decision, Question};
use obelus_runtime::people::EditForm;
use serde_json::{Map, Value};

use super::super::approve::{Pressed, ShownQuestion, listed, numbers};
use super::super::editor::Typed;
use super::super::screen::OutputKind;
use super::super::text::{PLAIN, StyledLine};
use super::{AskResult, Terminal};
use crate::language::fill;
use crate::output::{BOLD, DIM};

/// What the person has typed so far. It is offered again if it is invalid.
#[derive(Default)]
struct EditDraft {
    /// The fields that are being changed.
    chosen: Vec<usize>,
    /// Their values.
    values: Vec<(usize, Value)>,
    /// Parameters typed as JSON instead of fields.
    line: String,
    /// The parsed parameters.
    params: Option<Map<String, Value>>,
}

/// The result of a part of the form.
enum Filled {
    Whole,
    /// The person gave up.
    Nothing,
    /// Something else came first.
    Instead(AskResult),
}

impl Terminal {
    /// Lets the person edit a call; `None` if they give up.
    pub(super) async fn edit(&mut self, question: &Question) -> Result<Option<AskResult>> {
        let Some(form) = self.talk.form(question).await? else {
            self.talk.screen.lock().complain(self.talk.phrases.ask.no_edit);
            return Ok(None);
        };
        let mut draft = EditDraft::default();
        loop {
            let mut filled = self.choose(&form, &mut draft).await?;
            if matches!(filled, Filled::Whole) {
                filled = self.fill_in(&form, &mut draft).await?;
            }
            match filled {
                Filled::Whole => {}
                Filled::Nothing => return Ok(self.nothing_edited()),
                Filled::Instead(answered) => return Ok(Some(answered)),
            }
            let params = draft.params.clone().unwrap_or_else(|| form.params(&draft.values));
            if params.is_empty() {
                return Ok(self.nothing_edited());
            }
            let view = match self.talk.edited(&question.id, &params).await? {
                Ok(view) => view,
                Err(words) => {
                    self.talk.screen.lock().complain(&words);
                    draft.params = None;
                    continue;
                }
            };
            let asked = ShownQuestion::edited(question, self.talk.phrases).with_details(view.has_details());
            self.show(&view, &asked, false);
            loop {
                let Some((key, more)) = self.key().await? else { return Ok(Some(self.overtaken())) };
                match asked.key(key, &more) {
                    Pressed::Decided(_) => {
                        return Ok(Some(AskResult::Decided(Decision::Edit { params }, view.digest)));
                    }
                    Pressed::Details => self.show(&view, &asked, true),
                    Pressed::Edit => break,
                    Pressed::Leave => return Ok(Some(AskResult::Leave)),
                    Pressed::Later | Pressed::BreakOff => return Ok(self.nothing_edited()),
                    Pressed::Nothing(words) => self.talk.screen.lock().complain(&words),
                    Pressed::Type(_) => {}
                }
            }
            (draft.chosen, draft.params) = (Vec::new(), None);
        }
    }

    fn nothing_edited(&self) -> Option<AskResult> {
        self.talk.screen.lock().note(self.talk.phrases.ask.nothing_edited);
        None
    }

    /// Asks which fields to change. Parameters may be typed as JSON instead.
    async fn choose(&mut self, form: &EditForm, draft: &mut EditDraft) -> Result<Filled> {
        // Invalid values are typed again.
        if !draft.chosen.is_empty() {
            return Ok(Filled::Whole);
        }
        let all: Vec<usize> = (0..form.fields.len()).collect();
        if draft.line.is_empty() {
            let line = |index: &usize| {
                let field = &form.fields[*index];
                let value = draft.values.iter().find(|(at, _)| at == index).map_or(&field.value, |(_, value)| value);
                let head = StyledLine::of(BOLD, format!("  {:>2} ", index + 1)).shown(PLAIN, &field.label);
                head.own(DIM, ": ").shown(DIM, &value.to_string()).hanging(5)
            };
            self.talk.screen.lock().write(OutputKind::Note, &all.iter().map(line).collect::<Vec<_>>());
        }
        loop {
            let ask = &self.talk.phrases.ask;
            let line = match self.read_answer(ask.which_fields, &draft.line.clone()).await? {
                Typed::Line(line) => line,
                Typed::Interrupted => return Ok(Filled::Instead(self.overtaken())),
                Typed::BreakOff => return Ok(Filled::Nothing),
                Typed::Leave => return Ok(Filled::Instead(AskResult::Leave)),
            };
            let words = match line.trim() {
                "" => return Ok(Filled::Nothing),
                json if json.starts_with(['{', '[']) => match serde_json::from_str(json) {
                    Ok(Value::Object(params)) => {
                        (draft.line, draft.params) = (line, Some(params));
                        return Ok(Filled::Whole);
                    }
                    Ok(_) => ask.not_an_object.to_owned(),
                    Err(error) => fill(ask.bad_params, &[&error.to_string()]),
                },
                text => match numbers(text, &all) {
                    Ok(chosen) => {
                        (draft.line, draft.chosen) = (String::new(), chosen.into_iter().collect());
                        return Ok(Filled::Whole);
                    }
                    Err(wrong) => fill(ask.bad_numbers, &[&wrong, &listed(&all)]),
                },
            };
            self.talk.screen.lock().complain(&words);
            draft.line = line;
        }
    }

    /// Asks for the value of each chosen field, until it has the field's type.
    async fn fill_in(&mut self, form: &EditForm, draft: &mut EditDraft) -> Result<Filled> {
        for index in draft.chosen.clone() {
            let Some(field) = form.fields.get(index) else { continue };
            let typed = draft.values.iter().find(|(at, _)| *at == index).map(|(_, value)| field.typed(value));
            let mut begin = typed.unwrap_or_else(|| field.typed(&field.value));
            loop {
                let line = match self.read_answer(&field.label, &begin).await? {
                    Typed::Line(line) => line,
                    Typed::Interrupted => return Ok(Filled::Instead(self.overtaken())),
                    Typed::BreakOff => return Ok(Filled::Nothing),
                    Typed::Leave => return Ok(Filled::Instead(AskResult::Leave)),
                };
                match form.read(index, &line) {
                    _ if line == begin && begin == field.typed(&field.value) => break,
                    Ok(value) => {
                        draft.values.retain(|(at, _)| *at != index);
                        draft.values.push((index, value));
                        break;
                    }
                    Err(words) => {
                        self.talk.screen.lock().complain(&words);
                        begin = line;
                    }
                }
            }
        }
        Ok(Filled::Whole)
    }
}
