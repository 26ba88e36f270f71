//! Sessions, the inbox, answers and runs at the command line.

use obelus_runtime::phrases;

phrases! {
    /// What is kept: sessions and their status.
    KeptWords {
        none:
            "Сохранённых сессий нет: запустите что-нибудь с --session ИМЯ.",
            "There are no saved sessions: run something with --session NAME.";
        records: "{} запись|{} записи|{} записей", "{} record|{} records";
        is_new: "не начата", "not begun";
        under_way: "не закончена", "under way";
        waits: "ждёт вас", "waits for you";
        paused: "на паузе", "paused";
        done: "закончена", "done";
        degraded: "без модели", "without the model";
        limit: "достигнут предел", "at a limit";
        stopped: "остановлена", "stopped";
        unreadable: "не читается", "unreadable";
        head: "{} · {} · режим {}", "{} · {} · mode {}";
        since: "начата {}, последняя запись {}", "began {}, last record {}";
        memory: "Память", "Memory";
        model: "модель", "model";
        the_turn: "; последний ход: {}", "; the latest turn: {}";
        in_and_out: " (запросы {}, ответы {})", " ({} in, {} out)";
        damaged: "с записи {} журнал повреждён: {}", "from record {} on it is damaged: {}";
        no_calls_done:
            "«{}» ещё не выполнила ни одного вызова: повторять нечего",
            "`{}` has done no calls yet: there is nothing to run again";
        paths_begin_elsewhere:
            "относительные пути в плане отсчитываются от его папки; в сессии они отсчитывались от {}",
            "relative paths in the plan begin at its own folder; in the session they began at {}";
        needs_servers:
            "у плана нет своих серверов MCP: назовите их так: obelus plan run --mcp FILE",
            "the plan has no MCP servers of its own: name them with plan run --mcp FILE";
        paused_by: "«{}» на паузе ({}): obelus sessions resume {}", "`{}` was paused by {}: obelus sessions resume {}";
        not_paused: "«{}» не на паузе", "`{}` is not paused";
        noted:
            "ответ записан; сессия на паузе ({}) и продолжит после obelus sessions resume {}",
            "it is noted; the session was paused by {}, and goes on with `obelus sessions resume {}`";
        rules_hold:
            "{}: файл агента изменился, действуют новые правила: {}",
            "{}: the agent's file has changed, and its present rules hold: {}";
        rules_missing:
            "{}: файла агента больше нет, действуют прежние правила: {}",
            "{}: the agent's file is gone, and the rules that it had still hold: {}";
        rules_policy: "политика", "the policy";
        rules_mode: "режим {} → {}", "the mode {} → {}";
        rules_settings: "настройки", "settings";
        rules_tools: "инструменты: {}", "tools: {}";
        rules_removed: "больше нет: {}", "no longer there: {}";
        paused_now:
            "«{}» на паузе: ничего не начнётся до obelus sessions resume {}",
            "`{}` is paused: nothing starts until `obelus sessions resume {}`";
    }
}

phrases! {
    /// What happened in a session, line by line.
    StoryWords {
        you: "Вы", "You";
        asked: "вопрос {}", "question {}";
        decided: "вопрос {}: {} ({})", "question {}: {} ({})";
        expired:
            "вопрос {}: срок вышел, никто не ответил",
            "question {}: it expired, and nobody answered";
        approved: "разрешено", "approved";
        consented: "разрешено, и дальше тоже: {}, {}", "approved, and from now on: {}, {}";
        approved_some: "разрешена часть", "approved in part";
        denied: "отказано: {}", "denied: {}";
        edited: "изменено и разрешено", "edited and approved";
        answered: "дан ответ", "answered";
        happened: "это произошло", "it happened";
        did_not: "этого не было", "it did not happen";
        state_edited: "состояние изменено ({})", "the state was edited ({})";
        mode: "режим {}", "mode {}";
        rules: "действуют новые правила из файла агента", "the present rules of the agent's file hold";
        paused: "пауза ({})", "paused ({})";
        resumed: "продолжено ({})", "resumed ({})";
        stopped: "ход остановлен", "the turn was stopped";
        result: "итог: {}", "result: {}";
        at_terminal: "человек в терминале", "a person at the terminal";
        at_command_line: "человек в командной строке", "a person at the command line";
        nobody: "никто", "nobody";
        in_conversation: "пользователь, в разговоре", "the user, in conversation";
        for_the_user: "агент со слов пользователя", "the agent, for the user";
        state_file: "файл состояния", "the state's file";
        import_of: "импорт {}", "the import of {}";
    }
}

phrases! {
    /// Answers to questions from the command line.
    Answering {
        none: "Ничего не ждёт решения.", "There are no open questions.";
        until: "ждёт до {}", "waits until {}";
        other_scopes: "так разрешить нельзя: {}; можно: {}", "there is no such consent: {}; there is: {}";
        to_agree:
            "Ничего ещё не решено. Чтобы это действовало: obelus answer {} approve --also {} --agreed {}",
            "Nothing is decided yet. To let it count: obelus answer {} approve --also {} --agreed {}";
        how_call:
            "ответить: obelus approve {} · obelus deny {} --reason ПРИЧИНА",
            "to answer: obelus approve {} · obelus deny {} --reason REASON";
        how_input: "ответить: obelus answer {} value ОТВЕТ", "to answer: obelus answer {} value ANSWER";
        how_doubt:
            "ответить: obelus answer {} happened · obelus answer {} did-not",
            "to answer: obelus answer {} happened · obelus answer {} did-not";
        held_by: "хранилище открыто: {}", "the store is held by {}";
        no_question: "в сессии «{}» нет вопроса «{}»", "the session `{}` has no question `{}`";
        not_an_id:
            "«{}» — не номер вопроса: он пишется СЕССИЯ:ВОПРОС, как его показывает obelus inbox",
            "`{}` is no question: it is SESSION:QUESTION, as `obelus inbox` prints";
        already: "на вопрос {} уже ответили: {}", "`{}` is {} already";
        was_approved: "разрешено", "approved";
        was_denied: "отказано", "denied";
        was_answered: "дан ответ", "answered";
        was_expired: "срок вышел", "expired";
        was_asked: "вопрос открыт", "open";
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
        lapses: "ждёт до {}", "lapses at {}";
        needs_decision: "нужно решение", "needs a decision";
        call_waits:
            "Этого ответа ждёт шаг: obelus answer {} value ОТВЕТ",
            "A call waits for it: obelus answer {} value ANSWER";
        waiting:
            "Нужен человек. Запустите это в терминале, чтобы ответить.",
            "Waiting for a person. Run it at a terminal to decide.";
        waiting_kept:
            "Нужен человек. Ответьте этой командой или запустите это в терминале; всё, что ждёт: obelus inbox",
            "Waiting for a person. Answer with that command, or run this at a terminal; everything that waits: obelus inbox";
        error: "ошибка", "error";
        warning: "предупреждение", "warning";
        starting: "запускаю серверы MCP: {}", "starting MCP servers: {}";
        unpinned:
            "MCP: {}: описания инструментов никто не проверил, поэтому они считаются непроверенными; проверить: obelus agents pin {}",
            "MCP: {}: nobody has checked what it says of its tools, so they count as untrusted; to check them: obelus agents pin {}";
        cut:
            "{}: конец журнала повреждён с записи {} ({}) и отрезан, потеряно записей: {}. Что там было в работе, неизвестно.",
            "{}: the end of its journal was damaged from record {} on ({}), and was cut off; records lost: {}. What was under way there is in doubt.";
        not_answerable:
            "другие процессы не смогут отвечать этой сессии: {}",
            "others cannot answer this session meanwhile: {}";
        not_begun: "сессия не начата: скажите ей что-нибудь", "the session has not begun: say something to it";
        sandbox: "Портал-песочница:", "Sandbox portal:";
        no_key_needed:
            "Ключ и сеть не нужны: модель отвечает по правилам. Попробуйте:",
            "No key and no network needed: the model follows rules. Try:";
        yes: "да", "yes";
        no_because: "нет: {}", "no: {}";
        by_the_tour: "  (за вас отвечает показ)", "  (the tour answers for you)";
        cut_short: "прервано на этом месте", "broken off here";
    }
}
