//! Questions to a person: what is asked, why, and where values come from.

phrases! {
    /// The texts of a question.
    Asking {
        key_yes: "да, выполнить", "yes, do it";
        key_all: "да, все", "yes, all";
        key_part: "только часть", "some of them";
        key_edit: "изменить", "edit";
        key_edit_again: "изменить ещё", "edit again";
        key_details: "подробности", "details";
        key_back: "назад", "back";
        key_no: "нет", "no";
        key_answer: "ответить", "answer";
        key_decline: "отказаться", "decline";
        key_happened: "да, произошло", "yes, it happened";
        key_did_not: "нет, выполнить сейчас", "no, do it now";
        key_more: "да, и дальше без вопроса…", "yes, and also…";
        consents: "Да, и в этом разговоре также:", "Yes, and in this session also:";
        which_consent: "Номер (Enter — ничего)", "Number (Enter for none)";
        consented: "Вы разрешили, и дальше тоже: {}", "You approved it, and from now on: {}";
        key_later: "позже", "later";
        press_a_key:
            "Нажмите одну из клавиш: {}. Enter ничего не подтверждает.",
            "Press one of the keys: {}. Enter approves nothing.";
        one_key:
            "Нажато сразу несколько клавиш; ничего не подтверждено. Нажмите одну.",
            "Several keys came at once; nothing is approved. Press one key.";
        reason: "Почему нет", "Reason";
        no_reason: "без объяснения", "declined";
        numbers: "Какие выполнить (например 1-3, 7)", "Which ones (such as 1-3, 7)";
        bad_numbers: "«{}» — не номер из списка. Номера: {}.", "`{}` is not in the list. The list has: {}.";
        which_fields:
            "Какие поля изменить (например 1-3, 7; или параметры как JSON)",
            "Which fields to change (such as 1-3, 7; or parameters as JSON)";
        bad_params: "Это не JSON: {}", "This is not JSON: {}";
        not_an_object:
            "Параметры — это объект JSON: {\"имя\": значение}.",
            "Parameters are a JSON object: {\"name\": value}.";
        no_edit:
            "Несколько шагов сразу изменить нельзя; выберите часть (p) или отклоните (n).",
            "Several steps cannot be edited as one; choose some of them (p) or decline (n).";
        nothing_edited: "Ничего не изменено; вопрос остаётся.", "Nothing was changed; the question stays.";
        answer: "Ответ", "Answer";
        result:
            "Результат: его ждут следующие шаги (пусто — неизвестен, и они не выполнятся)",
            "Its result, which later steps need (empty: not known, and they do not run)";
        left_open:
            "Это сообщение не ответило на вопрос {}: {}. Ответьте на сам вопрос, клавишей или командой.",
            "This message did not answer the question {}: {}. Answer the question itself, by a key or a command.";
        left_several: "словами отвечают, только когда ждёт один вопрос об одном шаге", "words answer only if a single question about a single step waits";
        left_direct: "на такой вопрос отвечает только «да» без других слов, сразу после него", "only a plain “yes” right after it answers such a question";
        left_doubt: "нужно сказать, произошло ли это", "it asks whether something happened";
        left_never: "настройки агента не позволяют отвечать словами", "the agent's file does not let words answer";
        left_by_agent: "агент не передал это как согласие", "the agent did not pass it on as a consent";
        put_off_kept:
            "Отложено: {}. obelus inbox{} покажет вопрос и команды для ответа.",
            "Postponed: {}. `obelus inbox{}` shows the question, and the commands that answer it.";
        put_off_lost:
            "Отложено, но запуск не сохраняется; с --session ИМЯ ответить можно и потом.",
            "Postponed, but this run is not saved; with --session NAME it can be answered later.";
        put_off: "Отложено. /inbox — вернуться к вопросу.", "Postponed. /inbox shows it again.";
        approved: "Вы разрешили.", "You approved it.";
        approved_some: "Вы разрешили: {}.", "You approved {}.";
        edited: "Вы изменили и разрешили.", "You edited and approved it.";
        denied: "Вы отклонили: {}", "You denied it: {}";
        answered: "Ответ принят.", "Your answer is accepted.";
        happened: "Записано: это произошло.", "Noted: it happened.";
        did_not: "Записано: этого не было, выполняю.", "Noted: it did not happen, doing it now.";
        will_lapse:
            "Вопрос {} ждёт до {}, потом будет считаться отказом. /inbox — ответить.",
            "The question {} expires at {} and then counts as denied. /inbox answers it.";
        not_trusted: "взято из {}, непроверенный источник", "from {}, not trusted";
        elsewhere:
            "Клавиши работают только в терминале. Откройте obelus chat --session {} в терминале или ответьте: obelus answer {} approve",
            "Keys work at a terminal only. Open obelus chat --session {} at one, or answer: obelus answer {} approve";
        doubt_elsewhere:
            "Скажите, произошло ли это: obelus answer {} happened · obelus answer {} did-not",
            "Say whether it happened: obelus answer {} happened · obelus answer {} did-not";
        answer_elsewhere:
            "Этого ответа ждёт шаг: obelus answer {} value ОТВЕТ",
            "A step waits for this answer: obelus answer {} value ANSWER";
        doubt_not_kept:
            "Здесь на это не ответить: нужен терминал.",
            "It cannot be answered here: that needs a terminal.";
        not_kept:
            "Клавиши работают только в терминале. Запустите obelus chat в терминале или с --session ИМЯ, тогда ответить можно и потом.",
            "Keys work at a terminal only. Run obelus chat at one, or with --session NAME, to answer later.";
    }
}

phrases! {
    /// The origin of a value.
    Because {
        nothing: "сюда никто ничего не записывал", "nothing has written it";
        nearest: "Возможно, {}?", "Did you mean {}?";
        author: "из настроек агента", "from the agent's file";
        person: "от человека", "from a person";
        edited_by: "изменено человеком: {}", "edited by a person: {}";
        tool: "шаг «{}»", "the step «{}»";
        untrusted_tool: "шаг «{}», непроверенный источник", "the step «{}», a source that is not trusted";
        model: "сама модель, шаг «{}»", "the model itself, in the step «{}»";
        delegate: "помощник, шаг «{}»", "a delegate, in the step «{}»";
        elsewhere: "шаг «{}», выполненный не здесь", "the step «{}», not of this session";
        runtime: "сообщение об ошибке", "an error message";
        by_consent: "по вашему согласию {}", "by your consent {}";
        after_reading: "решено после чтения: {}", "decided after reading {}";
        as_proposed: "так предложено в плане", "as it was proposed";
        edited: "изменено человеком", "changed by a person";
        in_words: "ваши слова (a)", "your words (a)";
        in_result: "есть в ответе «{}» (b)", "it is in what “{}” returned (b)";
        by_name: "вы назвали эту запись (c)", "you named this record (c)";
        created: "создано в этом разговоре (d)", "created in this conversation (d)";
        was_shown: "видел ", "was shown ";
        earlier: "и ещё записей раньше: {}", "and {} earlier writes";
        written: "(сообщение {} → {})", "(message {} → {})";
        shown_above: "об этом уже сказано выше", "see above";
    }
}
