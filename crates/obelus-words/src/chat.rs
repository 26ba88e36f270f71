//! Texts of the chat program itself, beside those of the agent.

phrases! {
    /// The conversation: how it begins and ends, and what happens meanwhile.
    Chat {
        hello:
            "Пишите, что нужно сделать. /help — команды, Ctrl-D — выход.",
            "Tell the agent what to do. /help lists the commands, Ctrl-D exits.";
        kept: "Разговор «{}» сохраняется.", "The conversation is saved as `{}`.";
        not_kept:
            "Разговор не сохраняется; сохраняет obelus chat --session ИМЯ.",
            "The conversation is not saved; `obelus chat --session NAME` saves one.";
        going_on: "Продолжаем с того места, где остановились.", "Continuing the saved conversation.";
        bye: "До встречи.", "Goodbye.";
        bye_kept: "До встречи. Продолжить: obelus chat --session {}", "Goodbye. To continue: obelus chat --session {}";
        mode_is: "Режим {}: {}.", "Mode {}: {}.";
        thinking: "думаю", "thinking";
        told_elsewhere: "Пришёл ответ из другого места.", "An input came from another process.";
        stopping: "останавливаюсь; ещё раз Ctrl-C — выход", "stopping; Ctrl-C again exits";
        again_to_quit: "Ещё раз Ctrl-C — выход.", "Ctrl-C again exits.";
        of_so_many: "{} из {}", "{} of {}";
        waits: "{}: /inbox", "{}: /inbox";
        no_consents: "Без вопроса ничего не разрешено.", "Nothing runs by standing consent.";
        revoked: "Согласие {} отозвано: об этом снова будут спрашивать.", "The consent {} is taken back.";
        nothing_waits: "Ничего не ждёт решения.", "There are no open questions.";
        no_plan: "Плана нет.", "There is no plan.";
        no_state: "Состояния пока нет.", "There is no state yet.";
        cost: "Запросы к модели", "Requests to the model";
        cost_turn: "этот ход", "this turn";
        cost_session: "весь разговор", "the conversation";
        costs: "стоимость {}", "cost {}";
        help_keys:
            "Ctrl-C останавливает ход, дважды — выход. Ctrl-D — выход. Tab дополняет команды. Строка с пробелом в начале не попадает в историю.",
            "Ctrl-C stops the turn; Ctrl-C again or Ctrl-D exits. Tab completes commands. A line that begins with a space is not saved in the history.";
        picture_taken: "Картинка уйдёт вместе со следующим сообщением.", "The picture is added to your next message.";
        listens: "Жду событий портала по адресу {}", "Listening for events of the portal at {}";
        happened: "Событие портала: {}", "Portal event: {}";
    }
}

phrases! {
    /// What a mode permits.
    Modes {
        shadow: "ничего не выполняется, только план", "nothing is executed, only planned";
        canary:
            "чтение и создание; изменения не выполняются",
            "reads and creations; changes are not executed";
        full:
            "всё разрешённое; рискованное — после вашего «да»",
            "everything that is allowed; risky actions only after your approval";
    }
}

phrases! {
    /// Numbers with their nouns: for one, for few (in Russian), for many.
    Counts {
        tokens: "{} токен|{} токена|{} токенов", "{} token|{} tokens";
        requests: "{} запрос|{} запроса|{} запросов", "{} request|{} requests";
        questions:
            "{} вопрос ждёт решения|{} вопроса ждут решения|{} вопросов ждут решения",
            "{} question waits|{} questions wait";
    }
}

phrases! {
    /// The commands of the chat: how each is written, and what it does.
    Help {
        plan: "/plan|план и что с каждым шагом", "/plan|the plan and the status of its steps";
        state: "/state|что агент помнит", "/state|what the agent remembers";
        inbox: "/inbox|что ждёт вашего решения", "/inbox|open questions";
        approve: "/approve НОМЕР|разрешить", "/approve ID|approve a question";
        consents: "/consents|что разрешено без вопроса", "/consents|what runs without asking";
        revoke: "/revoke НОМЕР|отозвать такое согласие", "/revoke ID|take such a consent back";
        deny: "/deny НОМЕР ПРИЧИНА|отклонить", "/deny ID REASON|deny a question";
        mode: "/mode shadow|canary|full|как далеко агент может идти", "/mode shadow|canary|full|change the agent's mode";
        why: "/why †путь|откуда взялось значение", "/why †path|where a value comes from";
        image:
            "/image ФАЙЛ|показать картинку вместе со следующим сообщением",
            "/image FILE|add a picture to your next message";
        cost: "/cost|запросы к модели, токены и их стоимость", "/cost|requests to the model, tokens and cost";
        help: "/help|эта справка", "/help|this list";
        quit: "/quit|выход", "/quit|exit";
    }
}

phrases! {
    /// Messages about the session's files.
    Files {
        taken: "Ваши правки в файле состояния учтены: {}", "Your changes to the state are adopted: {}";
        refused:
            "Файл состояния не принят: {}: {}. Он остаётся как есть, пока его не исправят или не удалят; состояние записывается в {}",
            "The state file is refused: {}: {}. It stays unchanged until you correct or remove it; the state is written to {}";
        trouble:
            "Файл не записан: {}: {}. Ничего не потеряно: всё есть в журнале",
            "A file could not be written: {}: {}. Nothing is lost: the journal is complete";
    }
}

phrases! {
    /// Errors in typed lines.
    Errors {
        unknown: "Нет такой команды: {}.", "There is no command {}.";
        did_you_mean: "Возможно, {}?", "Did you mean {}?";
        see_help: "/help — список команд.", "/help lists them.";
        no_arguments: "После {} ничего не пишут.", "{} takes no arguments.";
        which_question:
            "Какой вопрос? {} НОМЕР; номера показывает /inbox.",
            "Which question? {} ID; /inbox shows the ids.";
        which_mode:
            "Режимы: shadow, canary, full. Например: /mode canary",
            "The modes are shadow, canary and full. For example: /mode canary";
        which_consent:
            "Какое согласие? /revoke НОМЕР; номера показывает /consents.",
            "Which consent? /revoke ID; /consents lists them.";
        which_path: "Какое значение? Например: /why †state.tasks", "Which value? For example: /why †state.tasks";
        which_picture: "Какой файл? Например: /image photo.png", "Which file? For example: /image photo.png";
        no_question:
            "Вопроса {} нет среди открытых; номера показывает /inbox.",
            "There is no open question {}; /inbox lists them.";
        needs_terminal:
            "{} здесь не действует: подтверждает только человек в терминале.",
            "{} does not work here: only a person at a terminal can approve.";
        bad_path: "{} — не один путь. Например: /why †state.tasks", "{} is not one path. For example: /why †state.tasks";
        long_line: "stdin: строка длиннее 1 МиБ", "stdin: a line is longer than 1 MiB";
        not_utf8: "stdin: строка не в UTF-8", "stdin: a line is not UTF-8";
    }
}
