//! Whether a person's message says yes.

use serde::{Deserialize, Serialize};

/// The words that make or void a consent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConsentWords {
    /// A consent begins with one of these.
    pub yes: Vec<String>,
    /// Words that may accompany a yes: polite words, and words that only repeat it.
    pub polite: Vec<String>,
    /// Any of these words voids consent.
    pub but: Vec<String>,
    /// A short message that begins with one of these declines.
    pub no: Vec<String>,
    /// A short message that begins with one of these asks to continue.
    pub go_on: Vec<String>,
}

impl Default for ConsentWords {
    fn default() -> Self {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect();
        let phrases = |text: &str| text.split('|').map(str::to_owned).collect();
        Self {
            yes: words(
                "да ок подтверждаю согласен согласна одобряю разрешаю yes ok okay approve approved confirm confirmed agreed",
            ),
            polite: words("пожалуйста спасибо давай давайте делай делайте please thanks go ahead do it"),
            but: words(
                "нет не нельзя стоп подожди подождите отмена но только кроме no not don't stop wait cancel but only except",
            ),
            no: phrases(
                "нет|не надо|не нужно|не стоит|не подтверждаю|не согласен|не согласна|не одобряю|не разрешаю|не меняй|не меняйте|не делай|не делайте|отмена|отмени|отмените|отменить|отклоняю|отклони|отклоните|отклонить|отказываюсь|стоп|no|nope|not now|cancel|deny|denied|decline|reject|rejected|stop|don't|do not",
            ),
            go_on: phrases(
                "продолжай|продолжайте|продолжи|продолжите|продолжить|продолжаем|давай дальше|дальше|далее|continue|go on|go ahead|keep going|carry on|proceed|resume",
            ),
        }
    }
}

/// A longer message is a request of its own, not only an answer.
const SHORT: usize = 5;

/// A message in lower case, with one kind of apostrophe.
fn lowered(message: &str) -> String {
    message.to_lowercase().replace(['’', '‘', 'ʼ', '´', '′', '＇', '`'], "'")
}

fn words(lower: &str) -> impl Iterator<Item = &str> {
    lower.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty())
}

/// Whether one of these is a word, in any case.
fn has(known: &[String], word: &str) -> bool {
    known.iter().any(|known| known.to_lowercase() == word)
}

/// Whether a short message without numbers begins with one of these phrases.
fn is_short_and_begins(message: &str, phrases: &[String]) -> bool {
    let lower = lowered(message);
    let words: Vec<&str> = words(&lower).collect();
    let begins = |phrase: &String| {
        let phrase = phrase.to_lowercase();
        words.starts_with(&phrase.split(' ').collect::<Vec<_>>())
    };
    words.len() <= SHORT && !lower.contains(char::is_numeric) && phrases.iter().any(begins)
}

impl ConsentWords {
    /// Whether the message only answers, without a new request.
    pub fn only_answers(&self, message: &str) -> bool {
        self.consents(message) || is_short_and_begins(message, &self.no) || self.goes_on(message)
    }

    /// Whether the message only asks to continue.
    pub fn goes_on(&self, message: &str) -> bool {
        is_short_and_begins(message, &self.go_on)
    }

    /// Whether a short message may be meant as an answer to a question, whether or not it counts as one.
    pub fn may_be_meant_as_answer(&self, message: &str) -> bool {
        const ASSENTS: &str = "давай давайте делай делайте ага угу ладно хорошо можно go do sure yep yeah fine please";
        let lower = lowered(message);
        let is_assent = |word: &str| has(&self.yes, word) || ASSENTS.split(' ').any(|one| one == word);
        let is_short = words(&lower).count() <= SHORT && !message.contains('?');
        self.only_answers(message) || is_short && words(&lower).any(is_assent)
    }

    /// Whether the message is only a yes, with polite words.
    pub fn only_consents(&self, message: &str) -> bool {
        let lower = lowered(message);
        self.consents(message) && words(&lower).all(|word| has(&self.yes, word) || has(&self.polite, word))
    }

    /// Whether the message consents: a yes first, no digit, and nothing that voids it.
    pub fn consents(&self, message: &str) -> bool {
        let lower = lowered(message);
        words(&lower).next().is_some_and(|first| has(&self.yes, first))
            && !lower.contains(char::is_numeric)
            && !words(&lower).any(|word| has(&self.but, word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_answers_and_wishes_are_distinguished() {
        let words = ConsentWords::default();
        for answer in ["Да", "Нет, спасибо", "не надо", "Продолжай!", "go on", "Don’t", "Отмена"]
        {
            assert!(words.only_answers(answer), "{answer}");
        }
        for wish in [
            "Создай сделку",
            "Нет, поставь 200000",
            "Не забудь позвонить",
            "Продолжай работу со сделкой 5",
            "дальность?",
        ] {
            assert!(!words.only_answers(wish), "{wish}");
        }
    }

    #[test]
    fn a_yes_with_other_words_is_not_a_plain_yes() {
        let words = ConsentWords::default();
        for yes in ["Да", "да, пожалуйста!", "OK, thanks", "Подтверждаю.", "да, давай", "ок, делай", "yes, go ahead"]
        {
            assert!(words.only_consents(yes), "{yes}");
        }
        for other in
            ["Да, покажи, пожалуйста", "yes, show it please", "пожалуйста", "", "да, меняйте", "давай", "go ahead"]
        {
            assert!(!words.only_consents(other), "{other}");
        }
    }

    #[test]
    fn a_short_assent_may_be_meant_as_an_answer_and_a_request_is_not() {
        let words = ConsentWords::default();
        for answer in
            ["да", "ну да же, давай", "ага, он есть, всё ок", "давай", "go ahead", "нет", "да, меняйте", "Do it"]
        {
            assert!(words.may_be_meant_as_answer(answer), "{answer}");
        }
        for other in ["покажи сделки", "да или нет?", "поставь Илье задачу по причалу: давай на понедельник", ""]
        {
            assert!(!words.may_be_meant_as_answer(other), "{other}");
        }
    }

    #[test]
    fn a_consent_is_a_plain_yes() {
        let words = ConsentWords::default();
        for yes in ["Да", "да, меняйте", "ОК!", "Подтверждаю.", "yes please", "«Да»"] {
            assert!(words.consents(yes), "{yes}");
        }
        for no in [
            "",
            "Хм",
            "да нет",
            "Да, но позже",
            "да, 200000",
            "Нет",
            "не надо",
            "yes, but wait",
            "ok, don't",
            "ok, don’t",
            "ну да",
            "данные покажи",
            "Да, только завтра",
            "да ٣",
        ] {
            assert!(!words.consents(no), "{no}");
        }
    }
}
