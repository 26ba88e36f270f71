//! What is said of questions and of what came of steps, in every channel.

use super::Language;
use crate::phrases;

phrases! {
    /// The words of a question.
    QuestionWords {
        call: "Нужно ваше решение", "Your decision is needed";
        calls: "Нужно ваше решение по {}", "Your decision is needed on {}";
        plan: "Выполнить этот план?", "May this plan run?";
        input: "Нужен ваш ответ", "Your answer is needed";
        in_doubt:
            "Неизвестно, произошло ли это. Проверьте, пожалуйста",
            "It is not known whether this happened. Please check";
        steps: "{} шагу|{} шагам|{} шагам", "{} step|{} steps";
        came_as: "перенесено со словами: ", "brought along with the words: ";
        because: "почему спрашиваю: ", "asked because ";
        marked: "отмеченного нет в ваших словах", "what is marked is not in your words";
        in_agents_words: "слова агента:", "in the agent's words:";
        result_to: "результат запишется в", "the result goes to";
        is_shown: "увидит", "is shown";
        carried_out_by: "выполнит", "is carried out by";
        hash: "хеш вызова", "hash of the call";
        in_your_words: "названо вами", "named by you";
        in_result: "из проверенного ответа «{}»", "from what “{}” returned, which is trusted";
        by_name: "вы назвали эту запись", "you named this record";
        created_here: "создано в этом разговоре", "created in this conversation";
        in_message: "сообщение {}", "message {}";
        in_answer: "в вашем ответе", "in your answer";
        edited: "Будет выполнено с вашими изменениями", "With your changes, this will run";
        instead_of: "   ✎ вместо {}", "   ✎ instead of {}";
        not_set: "ничего", "nothing";
        details:
            "ещё {} подробность|ещё {} подробности|ещё {} подробностей",
            "{} more detail|{} more details";
        number: "номер", "number";
        now: "сейчас ", "now ";
        now_unknown: "сейчас неизвестно", "now unknown";
        no_change: " (без изменений)", " (no change)";
        not_trusted: "взято из {}, непроверенный источник", "from {}, not trusted";
        asked_by: "«{}» спрашивает по ходу работы, своими словами:", "«{}» asks, in its own words:";
    }
}

phrases! {
    /// What a call brought.
    ResultWords {
        no: "нет", "no";
        nothing_found: "ничего не найдено", "nothing found";
        records: "найдено: {}", "{} found";
        records_of: "найдено: {}, показано: {}", "{} found, {} shown";
    }
}

impl Language {
    /// What is said of questions.
    pub(crate) fn questions(self) -> &'static QuestionWords {
        match self {
            Language::Russian => &QuestionWords::RU,
            Language::English => &QuestionWords::EN,
        }
    }

    /// What is said of results.
    pub(crate) fn results(self) -> &'static ResultWords {
        match self {
            Language::Russian => &ResultWords::RU,
            Language::English => &ResultWords::EN,
        }
    }
}
