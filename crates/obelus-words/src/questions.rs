//! Texts about questions and the results of steps, in every channel.

phrases! {
    /// The texts of a question.
    QuestionWords {
        call: "Нужно ваше решение", "Your decision is needed";
        calls: "Нужно ваше решение по {}", "Your decision is needed on {}";
        plan: "Выполнить этот план?", "May this plan run?";
        input: "Нужен ваш ответ", "Your answer is needed";
        in_doubt:
            "Неизвестно, произошло ли это. Проверьте, пожалуйста",
            "It is not known whether this happened. Please check";
        steps: "{} шагу|{} шагам|{} шагам", "{} step|{} steps";
        picture: "снимок страницы: ", "picture of the page: ";
        came_as: "перенесено со словами: ", "brought along with the words: ";
        because: "почему спрашиваю: ", "asked because ";
        for_step: "это часть шага ", "this is a part of the step ";
        result_read_by: "если это произошло, следующим шагам нужен результат: ", "if it happened, later steps need its result: ";
        done_before: "то же самое уже сделано в этой сессии: {}", "the same was done before in this session, at {}";
        marked: "отмеченного нет в ваших словах", "what is marked is not in your words";
        in_agents_words: "слова агента:", "in the agent's words:";
        result_to: "результат запишется в", "the result goes to";
        is_shown: "увидит", "is shown";
        carried_out_by: "выполнит", "is carried out by";
        tool: "инструмент", "tool";
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
        removed: "убрано", "removed";
        details:
            "ещё {} подробность|ещё {} подробности|ещё {} подробностей",
            "{} more detail|{} more details";
        number: "номер", "number";
        now: "сейчас ", "now ";
        now_unknown: "сейчас неизвестно", "now unknown";
        no_change: " (без изменений)", " (no change)";
        not_trusted: "взято из {}, непроверенный источник", "from {}, not trusted";
        after_reading: "после чтения {}, непроверенный источник", "after reading {}, not trusted";
        was_approved: "Разрешено ({}, {})", "Approved ({}, {})";
        was_edited: "Разрешено с изменениями ({}, {})", "Approved with changes ({}, {})";
        was_consented: "Разрешено, и дальше без вопроса ({}, {})", "Approved, with a standing consent ({}, {})";
        was_denied: "Отклонено ({}, {})", "Denied ({}, {})";
        was_answered: "Отвечено ({}, {})", "Answered ({}, {})";
        was_expired: "Срок ответа вышел ({}, {})", "It lapsed ({}, {})";
        asked_by: "«{}» спрашивает по ходу работы, своими словами:", "«{}» asks, in its own words:";
    }
}

phrases! {
    /// Elicitations, which a service sends while a call runs: the kinds of their fields.
    ElicitationWords {
        text: "текст", "text";
        integer: "целое число", "a whole number";
        number: "число", "a number";
        boolean: "да или нет", "yes or no";
        value: "значение", "a value";
        one_of: "одно из: {}", "one of {}";
        list_of: "список из: {}", "a list of {}";
        suggested: "предлагается {}", "{} is suggested";
        optional: "можно не указывать", "may be left out";
        cut: "показаны только первые знаки: {}", "only the first {} characters are shown";
    }
}

phrases! {
    /// What a field of a form accepts, after other input.
    FormWords {
        text: "Здесь нужен текст.", "This takes a text.";
        integer: "Здесь нужно целое число, например 12.", "This takes a whole number, such as 12.";
        number: "Здесь нужно число, например 12 или 12,5.", "This takes a number, such as 12 or 12.5.";
        boolean: "Здесь нужно «да» или «нет».", "This takes yes or no.";
        date: "Здесь нужна дата, например 2026-12-31 или 31.12.2026.", "This takes a day, such as 2026-12-31 or 31.12.2026.";
        date_time:
            "Здесь нужны дата и время, например 2026-12-31 10:30.",
            "This takes a day and a time, such as 2026-12-31 10:30.";
        choice: "Здесь нужно одно из значений: {}.", "This takes one of: {}.";
        json: "Здесь нужно значение в виде JSON.", "This takes a value as JSON.";
    }
}

phrases! {
    /// The result of a call.
    ResultWords {
        no: "нет", "no";
        nothing_found: "ничего не найдено", "nothing found";
        records: "найдено: {}", "{} found";
        records_of: "найдено: {}, показано: {}", "{} found, {} shown";
    }
}

phrases! {
    /// Why a person is asked, or a call is refused.
    ReasonWords {
        sets: "меняется {}", "it sets {}";
        after_reading:
            "агент решил это после чтения: {}",
            "it was decided after reading {}";
        is_shown: "ему передают данные из непроверенного источника: {}", "it is shown what is not trusted: {}";
        and_more: "{} и ещё {}", "{} and {} more";
        comes_from: "{} взято из непроверенного: {}", "{} comes from what is not trusted: {}";
        come_from: "{} взяты из непроверенного: {}", "{} come from what is not trusted: {}";
        deletes: "это удаляет", "it deletes";
        configures: "это меняет настройки на будущее", "it changes how things behave from now on";
        agent_asks: "так просит агент", "the agent asks for it";
        listed: "это в списке разрешённого", "it is on the allow-list";
        policy_allows: "это разрешают правила", "the policy allows it";
        policy_asks: "так требуют правила", "the policy asks for it";
        policy_forbids: "это запрещают правила", "the policy forbids it";
        consented: "на это есть ваше согласие {}", "your standing consent {} covers it";
        not_listed: "«{}» нет в списке разрешённого", "“{}” is not on the allow-list";
        depends_on:
            "{} зависит от непроверенного, что прочитано в этой сессии: {}",
            "{} depends on what was read in this session and is not trusted: {}";
        the_call: "это действие", "this action";
        ask_anew:
            "Попросите об этом в новой сессии, пока там этого не читали, или сделайте это сами.",
            "Ask for it in a new session, before that is read, or do it yourself.";
        in_shadow: "в режиме shadow ничего не выполняется", "in the mode shadow nothing is executed";
        in_canary:
            "в режиме canary выполняются только чтение и создание",
            "in the mode canary only reading and creating are executed";
        plan: "план выполняется только с вашего согласия", "a plan runs when it is approved";
        happened:
            "такой же вызов уже сделан, но его результат не удалось сохранить: {}; «да» сделает это ещё раз",
            "the same call has happened before, but its result could not be kept: {}; a yes does it again";
        may_have_happened:
            "такой же вызов, возможно, уже сделан: никто не сказал, произошло ли это; «да» может сделать это второй раз",
            "the same call may have happened before: nobody said whether it did; a yes may do it twice";
        was_in_doubt:
            "такой же вызов уже начинали, и какое-то время его исход был неизвестен; «да» сделает это ещё раз",
            "the same call was started before, and its outcome was unknown for a time; a yes makes it once more";
        denied_before:
            "такой же вызов раньше не одобрили или исключили из плана",
            "the same call was not approved before, or left out of a plan";
        interrupted:
            "работа прервалась, и неизвестно, было ли это сделано",
            "the work was interrupted, and it is not known whether this happened";
        lost:
            "ответ потерян, и неизвестно, было ли это сделано: {}",
            "its answer was lost, and it is not known whether this happened: {}";
        was_interrupted: "работа прервалась", "the work was interrupted";
        no_result: "нет ответа за отведённое время", "no result in time";
        started:
            "начато {}; чем закончилось, неизвестно: если это было недавно, оно может ещё выполняться, проверьте, прежде чем отвечать",
            "it was started at {}, and it is not known how it ended: if that was a short time ago, it may still be running, so check before you answer";
    }
}

phrases! {
    /// The error in a value or a name.
    MisfitWords {
        at: "`{}`: {}", "`{}`: {}";
        missing: "не хватает `{}`", "`{}` is missing";
        wrong_type: "здесь должно быть: {}", "it must be: {}";
        one_of: "подходит только одно из: {}", "it must be one of: {}";
        at_least: "должно быть не меньше {}", "it must be at least {}";
        at_most: "должно быть не больше {}", "it must be at most {}";
        more_than: "должно быть больше {}", "it must be more than {}";
        less_than: "должно быть меньше {}", "it must be less than {}";
        too_short: "слишком коротко, символов нужно не меньше {}", "it is too short: at least {} characters";
        too_long: "слишком длинно, символов можно не больше {}", "it is too long: at most {} characters";
        too_few: "слишком мало, элементов нужно не меньше {}", "there are too few: at least {} items";
        too_many: "слишком много, элементов можно не больше {}", "there are too many: at most {} items";
        wrong_format: "значение не вида {}", "it is not a valid {}";
        wrong_date: "нужна дата, которая есть в календаре, в виде 2026-12-31", "it must be a day of the calendar, as in 2026-12-31";
        no_such_field: "такого здесь нет: {}", "it has no such field: {}";
        no_param: "параметра `{}` нет", "there is no parameter `{}`";
        no_param_near: "параметра `{}` нет; возможно, `{}`?", "there is no parameter `{}`; did you mean `{}`?";
        known_params: " (есть: {})", " (there are: {})";
        or: " или ", " or ";
        text: "текст", "text";
        whole_number: "целое число", "a whole number";
        number: "число", "a number";
        boolean: "да или нет (`true`, `false`)", "yes or no (`true`, `false`)";
        list: "список", "a list";
        object: "объект", "an object";
        nothing: "пусто (`null`)", "nothing (`null`)";
        other: "значение не подходит ({})", "the value does not fit ({})";
    }
}
