//! Texts about a turn, its steps and its limits, in every channel.

phrases! {
    /// The result of a turn.
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
    /// The status of a step.
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
        outside_mode:
            "режим {} этого не выполняет; сменить: --mode full, в чате /mode full",
            "the mode {} does not execute this; to change it: --mode full, in chat /mode full";
        only_planned:
            "записано в план, режим shadow ничего не выполняет",
            "stays in the plan, the mode shadow executes nothing";
        not_started: "не начато: ход закончился раньше", "not started: the turn ended before";
        skipped: "пропущено: нет данных от предыдущих шагов", "skipped: earlier steps gave no value for it";
        no_result:
            "не выполнено: не указан результат шага, который для этого нужен",
            "not run: the result of the step that it needs was not given";
        planned: "в плане", "planned";
        edited_by: "изменено ({})", "edited by {}";
        wrong_call: "вызов составлен неверно", "the call is not made right";
        no_tool: "такого действия у агента нет", "the agent cannot do that";
        no_activity:
            "за этим не стоит действие: свяжите `{}` с действием в `activities`, или объявите `_output`, если \
             результат даёт сама модель",
            "no activity carries it out: bind `{}` in `activities`, or declare its `_output` if the model gives the \
             result";
        missing: "не хватает обязательных данных, укажите: {}", "required data is missing, please give: {}";
    }
}

phrases! {
    /// Why an input was refused, by the code of the refusal. `{}` is the session's own message.
    RefusalWords {
        unknown_question: "такого вопроса нет или он уже закрыт", "there is no such question, or it is closed";
        already_decided: "этот вопрос уже закрыт", "the question is closed already";
        paused:
            "сессия на паузе: сначала её нужно продолжить",
            "the session is paused: resume it first";
        id_reused:
            "этот ключ уже был у другого запроса: возьмите новый",
            "this id was used for another input: use a new id";
        expired: "срок ответа вышел, это считается отказом", "the question lapsed: it is taken as a no";
        ending: "ход заканчивается; ответьте, когда он закончится", "the turn is ending; answer when it has ended";
        unfit_answer:
            "так на этот вопрос не отвечают; как ответить, показывает obelus inbox",
            "this does not answer the question; `obelus inbox` shows how it is answered";
        unfit_call:
            "на этот вопрос отвечают словом `approve`, `deny` или `edit`",
            "this question is answered by approve, deny or edit";
        unfit_input: "на этот вопрос отвечают словом `value` или `deny`", "this question is answered by value or deny";
        in_doubt:
            "скажите, произошло ли это: happened или did-not",
            "say whether it happened: happened or did-not";
        no_change:
            "изменение ничего не меняет; чтобы выполнить вызов как есть, разрешите его (obelus approve)",
            "the edit changes nothing; to let the call run as it is, approve it (obelus approve)";
        bad_edit: "изменение не подходит: {}", "the edit does not fit: {}";
        bad_answer: "ответ не подходит: {}", "the answer does not fit: {}";
        question_changed:
            "вопрос с тех пор изменился; посмотрите ещё раз",
            "the question has changed since it was shown; look again";
        several_calls: "несколько шагов сразу изменить нельзя", "several calls cannot be edited as one";
        not_supported:
            "кластер такого агента не исполняет, запустите его на одной машине: {}",
            "a cluster does not run such an agent, run it on one machine: {}";
        at_work: "сессия уже работает", "the session is at work already";
        too_many_pictures: "слишком много картинок за раз", "too many pictures at once";
        consent_ended: "это согласие уже не действует", "the consent has ended already";
        unknown_consent: "такого согласия нет", "there is no such consent";
        unfit_consent: "так согласиться нельзя", "there is no such consent";
        consent_in_delegate:
            "это вопрос помощника: заранее согласиться с его шагами нельзя, ответьте просто «да»",
            "a question of a delegate takes no standing consent; answer with a plain yes";
        not_in_this_mode: "в этом режиме это не выполняется", "the mode does not permit it";
        no_plan: "в запросе нет плана", "the request has no plan to run";
        bad_state: "состояние не подходит: {}", "the state does not fit: {}";
        gone: "сессия тем временем закончила работу", "the session has ended its work meanwhile";
        damaged: "журнал сессии повреждён: {}", "the journal of the session is damaged: {}";
        unreadable: "сессию нельзя открыть: {}", "the session cannot be opened: {}";
        not_durable: "это не удалось сохранить, и ничего не сделано: {}", "it could not be kept, and nothing was done: {}";
    }
}

phrases! {
    /// The days of the week, starting with Monday.
    Days {
        monday: "понедельник", "Monday";
        tuesday: "вторник", "Tuesday";
        wednesday: "среда", "Wednesday";
        thursday: "четверг", "Thursday";
        friday: "пятница", "Friday";
        saturday: "суббота", "Saturday";
        sunday: "воскресенье", "Sunday";
    }
}

phrases! {
    /// The days of the week, abbreviated.
    ShortDays {
        monday: "пн", "Mon";
        tuesday: "вт", "Tue";
        wednesday: "ср", "Wed";
        thursday: "чт", "Thu";
        friday: "пт", "Fri";
        saturday: "сб", "Sat";
        sunday: "вс", "Sun";
    }
}

phrases! {
    /// The session's own texts for people, used as reasons. They are in journals and must not change: a journal replays
    /// to the same session, byte for byte.
    SessionWords {
        lapsed: "никто не ответил вовремя", "nobody answered in time";
        declined: "отклонено в разговоре", "declined in conversation";
        left_out: "человек убрал это из плана", "a person left it out of the plan";
        denied_before: "это уже отклонили раньше", "it was denied before";
        went_on:
            "пользователь не согласился, а написал другое",
            "the user did not agree, and said something else";
        stopped: "остановлено человеком", "stopped by a person";
        tool_removed: "в файле агента больше нет этого инструмента", "the agent's file no longer has this tool";
        tool_changed:
            "инструмент изменился, и этот вызов ему больше не подходит",
            "the tool has changed, and this call no longer fits it";
        answer_the_user: "Ответить пользователю", "Answer the user";
    }
}
