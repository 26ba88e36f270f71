//! Sessions, the inbox, answers and runs at the command line.

use super::phrases;

phrases! {
    /// What is kept: sessions, their status, their story.
    Kept {
        none:
            "Сохранённых сессий нет: запустите что-нибудь с --session ИМЯ.",
            "There are no saved sessions: run something with --session NAME.";
        is_new: "не начата", "not begun";
        under_way: "не закончена", "under way";
        waits: "ждёт вас", "waits for you";
        paused: "на паузе", "paused";
        paused_by: "на паузе: {}", "paused by {}";
        done: "закончена", "done";
        degraded: "модель не ответила", "the model did not answer";
        limit: "достигнут предел", "a limit was reached";
        stopped: "остановлена", "stopped";
        unreadable: "не читается", "unreadable";
        agent: "агент", "agent";
        status: "статус", "status";
        mode: "режим", "mode";
        began: "начата", "began";
        last: "последняя запись", "last record";
        you: "Вы", "You";
        author: "Автор", "Author";
        story: "Разговор", "Conversation";
        memory: "Память", "Memory";
        calls: "Последний ход", "The latest turn";
        model: "модель", "model";
        the_turn: "последний ход: {}", "the latest turn: {}";
        from_elsewhere: "событие", "event";
        damaged: "с записи {} журнал повреждён: {}", "from record {} on it is damaged: {}";
    }
}

phrases! {
    /// Answers to questions from the command line.
    Answering {
        none: "Ничего не ждёт решения.", "There are no open questions.";
        until: "ждёт до {}", "waits until {}";
        how_call:
            "ответить: obelus approve {} · obelus deny {} --reason ПРИЧИНА",
            "to answer: obelus approve {} · obelus deny {} --reason REASON";
        how_input: "ответить: obelus answer {} value ОТВЕТ", "to answer: obelus answer {} value ANSWER";
        how_doubt:
            "ответить: obelus answer {} happened · obelus answer {} did-not",
            "to answer: obelus answer {} happened · obelus answer {} did-not";
        held:
            "принято; продолжает процесс {}, у которого открыто хранилище",
            "taken; process {} goes on with it";
        waiting:
            "жду ответа процесса, у которого открыто хранилище",
            "waiting for the process that holds the store";
        no_answer:
            "он не отвечает: возможно, остановлен или очень занят. Он ещё может принять сказанное, когда продолжит; посмотрите obelus inbox и obelus sessions show, прежде чем повторять",
            "it does not answer: it may be stopped or very busy. It may still take this when it goes on; look with `obelus inbox` and `obelus sessions show` before you say it again";
    }
}

phrases! {
    /// A run at the command line.
    Running {
        asking: "спрашиваю модель", "asking the model";
        answer_lost: "ответ потерян: {}", "its answer was lost: {}";
        lapses: "ждёт до {}", "lapses at {}";
        needs_decision: "нужно решение", "needs a decision";
        call_waits:
            "Этого ответа ждёт шаг: obelus answer {} value ОТВЕТ",
            "A call waits for it: obelus answer {} value ANSWER";
        waiting:
            "Нужен человек. Запустите это в терминале, чтобы ответить.",
            "Waiting for a person. Run it at a terminal to decide.";
        cut_short: "прервано на этом месте", "broken off here";
    }
}
