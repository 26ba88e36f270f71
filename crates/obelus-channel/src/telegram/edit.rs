//! A person changes a call on its card: they choose a field, write its value, and see the call as it will run before
//! it counts (ASK-3). The form and the edit as it will run are those of every channel.

use std::sync::Arc;

use obelus_runtime::{Language, system_clock};
use obelus_words::fill;

use super::Bot;
use super::action::ButtonAction;
use super::card::{self, CardFace};
use super::intake::ChatUser;
use super::state::{Card, Edit};
use crate::ChannelError;
use crate::types::{AnswerBody, FormFieldView, PreviewRequest, PreviewView, QuestionRow};

/// An open question as its card shows it.
pub(super) struct ShownCard {
    pub(super) face: CardFace,
    /// The question as text, with the edit if there is one.
    pub(super) text: String,
    /// The digest of what is shown.
    pub(super) digest: String,
}

impl Bot {
    /// The view of an open question. An edit that is no longer valid for the question is discarded.
    pub(super) async fn shown_on(&self, card: &Card, row: &QuestionRow, language: Language) -> ShownCard {
        let plain = |face| ShownCard { face, text: card::plain(&row.text, &row.id), digest: row.digest.clone() };
        let face = if card.is_denying {
            CardFace::Denying
        } else if card.is_consenting && !row.consents.is_empty() {
            CardFace::Consents
        } else {
            CardFace::Answers
        };
        let Some(edit) = &card.edit else { return plain(face) };
        let Ok(form) = self.service.form(&row.id, Some(language)).await else { return plain(face) };
        let field = edit.place.as_ref().and_then(|place| form.fields.iter().find(|field| field.place == *place));
        let face = match (field, edit.is_choosing || edit.typed.is_empty()) {
            (Some(field), _) => CardFace::Field(Box::new(field.clone())),
            (None, true) => CardFace::Fields(form.fields),
            (None, false) => CardFace::Edited,
        };
        if edit.typed.is_empty() {
            return plain(face);
        }
        match self.preview(&row.id, edit, language).await.map(|preview| (preview.text, preview.digest)) {
            Ok((Some(text), Some(digest))) => ShownCard { face, text: card::plain(&text, &row.id), digest },
            _ => plain(CardFace::Answers),
        }
    }

    async fn preview(&self, question: &str, edit: &Edit, language: Language) -> Result<PreviewView, ChannelError> {
        let request = PreviewRequest { typed: edit.typed.clone(), params: None };
        self.service.preview(question, request, Some(language)).await
    }

    /// Carries out a button that does not answer the question.
    pub(super) async fn step(self: &Arc<Self>, from: &ChatUser, token: &str, card: &Card, action: ButtonAction) {
        match action {
            ButtonAction::Deny => self.change_card(token, |card| card.is_denying = true),
            ButtonAction::Consents => self.change_card(token, |card| card.is_consenting = true),
            ButtonAction::Edit => {
                let edit = Edit { is_choosing: true, ..card.edit.clone().unwrap_or_default() };
                self.change_card(token, |card| card.edit = Some(edit));
            }
            ButtonAction::Back => {
                let edit = card.edit.clone().and_then(Edit::back);
                self.change_card(token, |card| card.edit = edit);
            }
            ButtonAction::Field(index) => {
                let Some(field) = self.field_of(card, |fields| fields.get(index)).await else { return };
                self.forget_fields(from);
                let mut edit = card.edit.clone().unwrap_or_default();
                edit.place = Some(field.place);
                edit.by = from.user;
                self.change_card(token, |card| card.edit = Some(edit));
            }
            ButtonAction::Choice(index) => {
                let place = card.edit.as_ref().and_then(|edit| edit.place.clone());
                let is_it = |field: &&FormFieldView| Some(&field.place) == place.as_ref();
                let Some(field) = self.field_of(card, |fields| fields.iter().find(is_it)).await else { return };
                if let Some((_, typed)) = card::choices_of(&field, from.language).into_iter().nth(index) {
                    self.take_value(from, token, card, &typed).await;
                }
            }
            _ => {}
        }
        self.refresh_later(token);
    }

    async fn field_of(
        &self,
        card: &Card,
        find: impl FnOnce(&[FormFieldView]) -> Option<&FormFieldView>,
    ) -> Option<FormFieldView> {
        let form = self.service.form(&card.question, None).await.ok()?;
        find(&form.fields).cloned()
    }

    /// Shows something else on a card, instead of what it shows.
    fn change_card(&self, token: &str, change: impl FnOnce(&mut Card)) {
        self.keep(|saved| {
            if let Some(card) = saved.cards.get_mut(token) {
                (card.is_denying, card.is_consenting, card.edit) = (false, false, None);
                change(card);
            }
        });
    }

    /// The card that waits for the value of a field from a user in a chat.
    pub(super) fn card_for_value(&self, from: &ChatUser) -> Option<String> {
        let waits = |card: &Card| {
            let edit = card.edit.as_ref();
            card.chat == from.chat && edit.is_some_and(|edit| edit.place.is_some() && edit.by == from.user)
        };
        self.state_file.read(|saved| saved.cards.iter().find(|(_, card)| waits(card)).map(|(token, _)| token.clone()))
    }

    /// From now on messages of the user go to the session again, not to a field.
    pub(super) fn forget_fields(self: &Arc<Self>, from: &ChatUser) {
        while let Some(token) = self.card_for_value(from) {
            let forgotten = self.keep(|saved| {
                let edit = saved.cards.get_mut(&token).and_then(|card| card.edit.as_mut());
                edit.is_some_and(|edit| edit.place.take().is_some())
            });
            self.refresh_later(&token);
            if forgotten != Some(true) {
                return;
            }
        }
    }

    /// Takes a message as the value of the chosen field, and shows the call as it will run. An invalid value is
    /// reported, and the user can write another one.
    pub(super) async fn take_value(self: &Arc<Self>, from: &ChatUser, token: &str, card: &Card, text: &str) {
        let Some(place) = card.edit.as_ref().and_then(|edit| edit.place.clone()) else { return };
        let mut edit = Edit { place: None, is_choosing: false, ..card.edit.clone().unwrap_or_default() };
        edit.typed.insert(place, text.to_owned());
        let words = from.language.words();
        let edit = match self.preview(&card.question, &edit, from.language).await {
            Err(error) => return self.not_taken(from, &error),
            Ok(preview) if !preview.problems.is_empty() => {
                let problems: Vec<&str> = preview.problems.iter().map(|problem| problem.message.as_str()).collect();
                let text = fill(words.bot.not_taken, &[&problems.join("; ")]);
                return self.note(from.chat, format!("{text}\n{}", words.bot.write_again));
            }
            Ok(preview) if preview.params.is_empty() => {
                self.note(from.chat, words.ask.nothing_edited.to_owned());
                None
            }
            Ok(_) => Some(edit),
        };
        self.change_card(token, |card| card.edit = edit);
        self.keep(|saved| {
            // If the update is repeated, it is not taken for a message to the session.
            saved.offset = from.update.saturating_add(1);
            saved.offset_at = system_clock().0;
        });
        self.refresh_later(token);
    }

    /// The answer that "yes" on a card gives: an approval, or the edit that the card shows.
    pub(super) async fn approval_of(&self, card: &Card, language: Language) -> Result<AnswerBody, ChannelError> {
        let Some(edit) = card.edit.as_ref().filter(|edit| !edit.typed.is_empty()) else {
            return Ok(AnswerBody::Approve { only: None });
        };
        let preview = self.preview(&card.question, edit, language).await?;
        if preview.params.is_empty() {
            Err(ChannelError::Changed(card.question.clone()))
        } else {
            Ok(AnswerBody::Edit { params: preview.params })
        }
    }
}
