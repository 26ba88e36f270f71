//! What is said to people in chats, in both languages.

use obelus_runtime::{Language, phrases};

phrases! {
    /// How a question is answered by words.
    ChatWords {
        decide:
            "Чтобы ответить, напишите `approve {}` (да) или `deny {} причина` (нет).",
            "To answer, write `approve {}` or `deny {} reason`.";
        value: "Чтобы ответить, напишите `answer {} ответ`.", "To answer, write `answer {} your answer`.";
        in_doubt:
            "Чтобы ответить, напишите `happened {}` (произошло) или `did_not {}` (не произошло).",
            "To answer, write `happened {}` or `did_not {}`.";
        used:
            "Кода {} среди открытых вопросов нет: на этот вопрос уже ответили, или он изменился.",
            "No open question has the code {}: it was answered before, or has changed.";
    }
}

impl ChatWords {
    pub(super) fn of(language: Language) -> &'static Self {
        static RU: ChatWords = ChatWords::RU;
        static EN: ChatWords = ChatWords::EN;
        match language {
            Language::Russian => &RU,
            Language::English => &EN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use obelus_runtime::people::{PhraseTable as _, fault_of};

    #[test]
    fn every_phrase_says_the_same_in_both_languages() {
        for (russian, english) in ChatWords::RU.all().into_iter().zip(ChatWords::EN.all()) {
            assert_eq!(fault_of(russian, english), None, "{russian} / {english}");
        }
    }
}
