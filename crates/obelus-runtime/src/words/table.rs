//! What every channel says of a turn, its steps and its limits.

use super::Language;
use crate::phrases;

phrases! {
    /// What a turn came to.
    TurnWords {
        limit_reached: "Достигнут предел", "A limit was reached";
        limit_advice: "Скажите «продолжай», и работа пойдёт дальше.", "Say “continue” to go on.";
        stopped: "Остановлено.", "Stopped.";
        limit_requests: "обращений к модели за один ход: {}", "{} requests to the model in one turn";
        limit_tokens: "токенов за один ход: {}", "{} tokens in one turn";
        limit_calls: "действий за один ход: {}", "{} calls in one turn";
        limit_steps: "шагов за один ход: {}", "{} steps in one turn";
        same_failure:
            "одно и то же действие несколько раз подряд не вышло по одной и той же причине",
            "the same action failed several times in a row for the same reason";
        done: "Сделано", "Done";
        not_done: "Не сделано", "Not done";
        failed: "Не вышло", "Failed";
    }
}

phrases! {
    /// What became of a step.
    StepWords {
        done: "готово", "done";
        waits: "ждёт вашего решения", "waits for your decision";
        failed: "не вышло", "failed";
        stopped: "остановлено вами", "stopped by you";
        too_late: "не вышло: нет ответа за отведённое время", "failed: no answer in time";
        lost:
            "ответ потерян, и неизвестно, было ли это сделано: {}",
            "the answer was lost, and it is not known whether this happened: {}";
        denied: "отклонено", "denied";
        refused: "не разрешено", "not allowed";
        outside_mode: "режим {} этого не выполняет", "the mode {} does not execute this";
        only_planned:
            "записано в план, режим shadow ничего не выполняет",
            "stays in the plan, the mode shadow executes nothing";
        not_started: "не начато: ход закончился раньше", "not started: the turn ended before";
        skipped: "пропущено: нет данных от предыдущих шагов", "skipped: earlier steps gave no value for it";
        planned: "в плане", "planned";
        no_tool: "такого действия у агента нет", "the agent cannot do that";
        missing: "не хватает обязательных данных, укажите: {}", "required data is missing, please give: {}";
    }
}

phrases! {
    /// Why an input was refused, by the code of the refusal. `{}` is what the session says of it.
    RefusalWords {
        unknown_question: "такого вопроса нет или он уже закрыт", "there is no such question, or it is closed";
        already_decided: "на этот вопрос уже ответили", "the question is decided already";
        expired: "срок ответа вышел, это считается отказом", "the question lapsed: it is taken as a no";
        ending: "ход заканчивается; ответьте, когда он закончится", "the turn is ending; answer when it has ended";
        unfit_answer: "так на этот вопрос не отвечают: {}", "this does not answer the question: {}";
        in_doubt:
            "скажите, произошло ли это: happened или did-not",
            "say whether it happened: happened or did-not";
        bad_edit: "изменение не подходит: {}", "the edit does not fit: {}";
        bad_answer: "ответ не подходит: {}", "the answer does not fit: {}";
        question_changed:
            "вопрос с тех пор изменился; посмотрите ещё раз",
            "the question has changed since it was shown; look again";
        several_calls: "несколько шагов сразу изменить нельзя", "several calls cannot be edited as one";
        at_work: "сессия уже работает", "the session is at work already";
        too_many_pictures: "слишком много картинок за раз", "too many pictures at once";
        not_durable: "это не удалось сохранить, и ничего не сделано: {}", "it could not be kept, and nothing was done: {}";
    }
}

impl Language {
    /// What is said of turns.
    pub(crate) fn turn(self) -> &'static TurnWords {
        match self {
            Language::Russian => &TurnWords::RU,
            Language::English => &TurnWords::EN,
        }
    }

    /// What is said of steps.
    pub(crate) fn steps(self) -> &'static StepWords {
        match self {
            Language::Russian => &StepWords::RU,
            Language::English => &StepWords::EN,
        }
    }

    /// What is said of refusals.
    pub(crate) fn refusals(self) -> &'static RefusalWords {
        match self {
            Language::Russian => &RefusalWords::RU,
            Language::English => &RefusalWords::EN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{PhraseTable as _, fault_of};

    #[test]
    fn no_phrase_has_words_of_the_other_language() {
        let (ru, en) = (Language::Russian, Language::English);
        let all = |of: Language| {
            [
                of.turn().all(),
                of.steps().all(),
                of.refusals().all(),
                of.reasons().all(),
                of.misfits().all(),
                of.consents().all(),
                of.questions().all(),
                of.results().all(),
                of.forms().all(),
            ]
            .concat()
        };
        for (russian, english) in all(ru).into_iter().zip(all(en)) {
            assert_eq!(fault_of(russian, english), None);
        }
    }
}
