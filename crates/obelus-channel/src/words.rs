//! What channels say to people, in both languages.

use obelus_runtime::{Language, phrases};

phrases! {
    /// Why a call failed.
    ErrorWords {
        unknown_agent: "агента «{}» нет", "there is no agent `{}`";
        unknown_agent_near: "агента «{}» нет; может быть, «{}»?", "there is no agent `{}`; did you mean `{}`?";
        bad_agent: "в файле агента «{}» ошибки:\n{}", "the agent `{}` has errors:\n{}";
        unknown_question: "вопроса «{}» нет", "there is no question `{}`";
        unknown_session: "сессии «{}» нет", "there is no session `{}`";
        exists: "сессия «{}» уже есть", "there is a session `{}` already";
        bad_id:
            "«{}» — не имя сессии: нужны латинские буквы, цифры, `-` и `_`, не больше 64",
            "`{}` is no id: letters, digits, `-` and `_`, at most 64";
        no_record: "в журнале записей {}, а не {}", "the journal has {} records, not {}";
        not_found: "здесь этого нет: {}", "there is no such thing here: {}";
        changed:
            "вопрос «{}» изменился с тех пор, как его показали: посмотрите ещё раз",
            "the question `{}` has changed since it was shown: look at it again";
        bad_request: "запрос нельзя прочесть: {}", "the request cannot be read: {}";
        too_large: "слишком много: {}", "too large: {}";
        not_json:
            "тело запроса должно быть JSON с заголовком `Content-Type: application/json`",
            "the body must be JSON, with the header `Content-Type: application/json`";
        unauthorized:
            "нужен токен: заголовок `Authorization: Bearer TOKEN`",
            "a token is needed: send the header `Authorization: Bearer TOKEN`";
        forbidden: "для этого нужен токен с ролью {}", "this needs a token with the role {}";
        not_allowed: "{}: это значение здесь не разрешено", "the {} of the request is not allowed here";
        too_many: "слишком много запросов: попробуйте позже", "too many requests: try again later";
        timed_out: "запрос шёл слишком долго", "the request took too long to arrive";
        closing: "сервер завершает работу: попробуйте ещё раз", "the server is ending: try again";
        host: "не получилось ({})", "it did not work ({})";
    }
}

impl ErrorWords {
    pub(crate) fn of(language: Language) -> &'static Self {
        static RU: ErrorWords = ErrorWords::RU;
        static EN: ErrorWords = ErrorWords::EN;
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
        for (russian, english) in ErrorWords::RU.all().into_iter().zip(ErrorWords::EN.all()) {
            assert_eq!(fault_of(russian, english), None, "{russian} / {english}");
        }
    }
}
