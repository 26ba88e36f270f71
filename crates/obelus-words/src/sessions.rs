//! Sessions, the inbox, answers and runs at the command line.

phrases! {
    /// Stored sessions and their status.
    SessionListWords {
        none:
            "Сохранённых сессий нет: запустите что-нибудь с --session ИМЯ.",
            "There are no saved sessions: run something with --session NAME.";
        records: "{} запись|{} записи|{} записей", "{} record|{} records";
        is_new: "не начата", "not begun";
        under_way: "не закончена", "under way";
        waits: "ждёт вас", "waits for you";
        interrupted:
            "«{}»: работа прервана, и сейчас её никто не ведёт; продолжить: {}",
            "`{}` was interrupted, and nobody works on it now; to continue: {}";
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
        damaged_end:
            "конец журнала повреждён, начиная с записи {} ({}), и сессия не продолжается: в повреждённых записях могло быть что-то начато. Вернуться к последнему покою, записи {}: obelus sessions back {} --save ФАЙЛ",
            "the end of its journal is damaged from record {} on ({}), and it is not continued: the damaged records may have started something. To go back to its last rest, record {}: obelus sessions back {} --save FILE";
        no_calls_done:
            "«{}» ещё не выполнила ни одного вызова: повторять нечего",
            "`{}` has done no calls yet: there is nothing to run again";
        paths_begin_elsewhere:
            "относительные пути в плане отсчитываются от его папки, а в сессии — от {}: сохраните план туда (--out {}) или замените пути",
            "relative paths in the plan begin at its own folder, and in the session at {}: save the plan there (--out {}), or change the paths";
        order_is_lost:
            "такой план сделал бы другое: вызов {} («{}») читал {}, а вызов {} («{}») пишет туда же позже, и в плане читатель ждал бы его. Составьте план вручную или выгрузите часть сессии: obelus sessions fork",
            "the plan would do something else: call {} ({}) read {}, and call {} ({}) writes there too, so that in a plan the reader would wait for it. Write the plan by hand, or export a part of the session: obelus sessions fork";
        has_new_path:
            "{} пишется снова: у позднего результата в плане свой путь, {}",
            "{} is written again: in the plan, the later result has a path of its own, {}";
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
        nothing_to_do: "«{}» больше не на паузе; делать ей нечего", "`{}` is no longer paused; it has nothing to do";
        paused_now:
            "«{}» на паузе: ничего не начнётся до obelus sessions resume {}",
            "`{}` is paused: nothing starts until `obelus sessions resume {}`";
    }
}

phrases! {
    /// The story of a session, line by line.
    StoryWords {
        you: "Вы", "You";
        asked: "вопрос {}", "question {}";
        decided: "вопрос {}: {} ({})", "question {}: {} ({})";
        expired:
            "вопрос {}: срок вышел, никто не ответил",
            "question {}: it expired, and nobody answered";
        in_doubt: "{}: неизвестно, произошло ли это", "{}: it is not known whether it happened";
        closed: "вопрос {} закрыт без ответа: {}", "question {}: closed without an answer: {}";
        approved: "разрешено", "approved";
        consented: "разрешено, и дальше тоже: {}, {}", "approved, and from now on: {}, {}";
        approved_some: "разрешена часть", "approved in part";
        denied: "отклонено: {}", "denied: {}";
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
        fork_of: "копия «{}» после записи {}", "the fork of `{}` at {}";
    }
}

phrases! {
    /// Answers to questions from the command line.
    Answering {
        none: "Ничего не ждёт решения.", "There are no open questions.";
        unread:
            "Не удалось прочитать сессий: {}. Что в них ждёт решения, неизвестно.",
            "Sessions that cannot be read: {}. What waits in them is not known.";
        no_store: "хранилища нет: {}", "there is no store: {}";
        until: "ждёт до {}", "waits until {}";
        other_scopes: "так разрешить нельзя: {}; можно: {}", "there is no such consent: {}; there is: {}";
        to_agree:
            "Ничего ещё не решено. Чтобы это действовало: obelus answer {} approve --also {} --agreed {}",
            "Nothing is decided yet. To let it count: obelus answer {} approve --also {} --agreed {}";
        how_call:
            "ответить: obelus approve {} · obelus deny {} --reason ПРИЧИНА",
            "to answer: obelus approve {} · obelus deny {} --reason REASON";
        or_only: " · obelus answer {} approve --only 1-3", " · obelus answer {} approve --only 1-3";
        one_with_json:
            "с --json отвечают на один вопрос за раз",
            "with --json, one question is answered at a time";
        or_edit: " · obelus answer {} edit --params JSON", " · obelus answer {} edit --params JSON";
        how_input: "ответить: obelus answer {} value ОТВЕТ", "to answer: obelus answer {} value ANSWER";
        how_doubt:
            "ответить: obelus answer {} happened [--result JSON] · obelus answer {} did-not",
            "to answer: obelus answer {} happened [--result JSON] · obelus answer {} did-not";
        needs_result:
            "следующим шагам нужен результат: {}. Добавьте --result JSON; если результат неизвестен, --result null, и тогда эти шаги не выполнятся",
            "later steps need its result: {}. Add --result JSON; if it is not known, --result null, and then they do not run";
        held_by: "хранилище занято ({})", "the store is held by {}";
        no_question: "в сессии «{}» нет вопроса «{}»", "the session `{}` has no question `{}`";
        not_an_id:
            "«{}» — не номер вопроса: он пишется СЕССИЯ:ВОПРОС, как его показывает obelus inbox",
            "`{}` is no question: it is SESSION:QUESTION, as `obelus inbox` prints";
        is_json: "{}: это не JSON (строка {}, столбец {})", "{} is not JSON (line {}, column {})";
        is_an_object: "{}: нужен объект JSON", "{} is a JSON object";
        no_consent: "«{}» — не согласие: нужен его номер, например c1", "`{}` is no consent: it is a number such as c1";
        no_time: "«{}» — не время: нужно, например, 2030-01-31T12:00:00Z", "`{}` is no time: it is written as 2030-01-31T12:00:00Z";
        already: "на вопрос {} уже ответили: {}", "`{}` is {} already";
        closed: "вопрос {} закрыт без ответа: {}", "`{}` is closed without an answer: {}";
        was_approved: "разрешено", "approved";
        was_denied: "отклонено", "denied";
        was_answered: "дан ответ", "answered";
        was_expired: "срок вышел", "expired";
        was_asked: "вопрос открыт", "open";
        held:
            "принято; продолжает процесс {}, у которого открыто хранилище",
            "taken; process {} goes on with it";
        end_unknown:
            "принято, но чем кончилось, неизвестно: {} завершается или не отвечает. Посмотрите: obelus inbox{}",
            "it was taken, but it is not known how it ended: {} has ended or does not answer. Look with `obelus inbox{}`";
        end_of_lost_unknown:
            "возможно, принято; чем кончилось, неизвестно: {} завершается или не отвечает. Посмотрите: obelus inbox{}",
            "it may have been taken, and it is not known how it ended: {} has ended or does not answer. Look with `obelus inbox{}`";
        by_server: "сервер {}", "the server {}";
        by_holder: "процесс, у которого открыто хранилище,", "the process that holds the store";
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
        stdout_failed: "ответ не удалось вывести: {}", "the answer could not be written: {}";
        in_shadow:
            "Режим shadow ничего не выполняет. Чтобы выполнять, добавьте --mode full.",
            "The mode shadow executes nothing. To carry it out, add --mode full.";
        call_waits:
            "Этого ответа ждёт шаг: obelus answer {} value ОТВЕТ",
            "A call waits for it: obelus answer {} value ANSWER";
        waiting:
            "Нужен человек. Запустите это в терминале, чтобы ответить.",
            "Waiting for a person. Run it at a terminal to decide.";
        others_wait: "Эти вопросы ещё ждут; целиком: obelus inbox{}", "These questions still wait; in full: obelus inbox{}";
        waiting_kept:
            "Нужен человек. Ответьте этой командой или запустите это в терминале; всё, что ждёт: obelus inbox{}",
            "Waiting for a person. Answer with that command, or run this at a terminal; everything that waits: obelus inbox{}";
        short_secret:
            "секрет {} короче 8 знаков: в результатах и сообщениях он не скрывается (короткий текст совпал бы с обычными словами), только в ошибках и журналах; возьмите более длинный",
            "the secret {} has fewer than 8 characters: it is not masked in results and messages, where it would match ordinary words, but only in errors and logs; use a longer one";
        characters: "всего знаков: {}", "{} characters in all";
        error: "ошибка", "error";
        warning: "предупреждение", "warning";
        starting: "запускаю серверы MCP: {}", "starting MCP servers: {}";
        unpinned:
            "MCP: {}: описания инструментов никто не проверил, поэтому они считаются непроверенными; проверить: obelus agents pin {}",
            "MCP: {}: nobody has checked what it says of its tools, so they count as untrusted; to check them: obelus agents pin {}";
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
        by_the_tour: "  (за вас отвечает демонстрация)", "  (the tour answers for you)";
        cut_short: "прервано на этом месте", "broken off here";
    }
}

phrases! {
    /// Sessions that are copied, moved, imported and removed.
    CarriedWords {
        stays: "{} остаётся: {}", "{} stays: {}";
        stays_after: "{} остаётся; удалено до неё: {}", "{} stays; removed before it: {}";
        removed: "удалена {} сессия|удалены {} сессии|удалено {} сессий", "{} session removed|{} sessions removed";
        would_remove:
            "была бы удалена {} сессия|были бы удалены {} сессии|было бы удалено {} сессий",
            "{} session would be removed|{} sessions would be removed";
        not_shrunk:
            "сессии удалены, а файл хранилища не уменьшился",
            "the sessions are removed, and the store's file is as large as before";
        shrunk:
            "файл хранилища стал меньше на {} байт|файл хранилища стал меньше на {} байта|файл хранилища стал меньше на {} байт",
            "the store's file is {} byte smaller|the store's file is {} bytes smaller";
        gone: "сессия «{}» удалена", "`{}` is removed";
        has_questions:
            "сессия «{}» ждёт ответа ({}): ответьте или удалите её вместе с вопросом, добавив --yes",
            "the session `{}` waits for an answer ({}): answer it, or add --yes to remove it with its question";
        done_after_fork:
            "«{}» после записи {} сделала и это: {}. Если «{}» продолжит работу оттуда, это может быть сделано ещё раз",
            "`{}` has, after record {}, also done: {}. If `{}` goes on from there, this may be done again";
        export_differs:
            "{}: файл изменён или повреждён: {}. Ничего не загружено; выгрузите сессию ещё раз",
            "{}: the file was changed or damaged: {}. Nothing was imported; export the session again";
        forked: "«{}» начинается там, где «{}» была после записи {}", "`{}` begins where `{}` was after record {}";
        forked_paused:
            "«{}» начинается там, где «{}» была после записи {}, и стоит на паузе: посмотреть: obelus sessions show {}; продолжить: obelus sessions resume {}",
            "`{}` begins where `{}` was after record {}, and is paused: look at it with `obelus sessions show {}`, let it go on with `obelus sessions resume {}`";
        file_exists:
            "{}: такой файл уже есть и не изменён; назовите другой или удалите этот",
            "{}: the file exists already, and was not changed; name another one, or remove it first";
        imported: "«{}»: записей {}", "`{}`: {} records";
        could_use: "Эта сессия может запускать программы и обращаться по адресам:", "This session could start and reach:";
        uses_nothing:
            "Здесь не видно ни программ, ни адресов этой сессии; файл её агента может назвать их там, где она продолжится",
            "No program and no address of this session is known here; the file of its agent may name some where it continues";
        imported_paused:
            "«{}» стоит на паузе и ничего не запускает. Разрешить: obelus sessions resume {}; удалить: obelus sessions rm {}. Свои файлы загружайте с --trusted: тогда паузы не будет",
            "`{}` is paused and starts nothing. Let it go on with `obelus sessions resume {}`, or remove it with `obelus sessions rm {}`. Import files of your own with --trusted: then there is no pause";
        use_activity: "активность «{}»", "activity `{}`";
        use_server: "MCP-сервер «{}»", "MCP server `{}`";
        use_browser: "браузер", "browser";
        use_model: "модель", "model";
        use_delegates: "сохранённые запросы", "saved requests";
        use_program: "программа {} в папке {}", "program {} in {}";
        use_address: "адрес {}", "address {}";
        use_variable: "адрес из переменной {}", "the address in the variable {}";
        nothing_to_go_back:
            "«{}» можно продолжать как есть: возвращаться не из чего",
            "`{}` can be continued as it is: there is nothing to go back from";
        went_back:
            "{} снова у записи {}; журнал в файле {}. Что сделано после этой записи, сессия больше не знает: прежде чем одобрить шаг, проверьте, не сделан ли он уже",
            "{} is back at record {}; the journal is in {}. It no longer knows what was done after that record: before you approve a step, look whether it was done already";
        at_line: "{}, строка {}", "{}, line {}";
        long_line: "строка длиннее {} МиБ", "the line is longer than {} MiB";
        large_export: "выгрузка больше {} МиБ", "the export is larger than {} MiB";
        no_export:
            "{}: это начинается не так, как выгрузка сессии",
            "{}: it does not begin as an exported session does";
        other_form:
            "{}: выгрузка версии {}, а эта программа понимает версию {}",
            "{}: the export is of form {}, and this version knows form {}";
        out_of_order:
            "{}: здесь запись {}, а ожидается запись {}",
            "{}: record {} stands where record {} is expected";
        other_count:
            "{}: записей {}, а в первой строке сказано {}",
            "{}: it has {} records, and its first line says {}";
        part_unreadable: "часть «{}» нельзя прочесть: {}", "part of `{}` cannot be read: {}";
        adopt_exists: "{}: назовите другую ключом --session", "{}: name another one with --session";
        adopted: "продолжить «{}»: obelus chat --session {}", "continue `{}` with `obelus chat --session {}`";
    }
}

phrases! {
    /// Why a session cannot start or continue.
    Starting {
        no_agent: "агента «{}» нет", "there is no agent `{}`";
        did_you_mean: "; возможно, `{}`?", "; did you mean `{}`?";
        there_are: "; есть: {}", "; there are: {}";
        all_sessions: "; все сессии: {}", "; all sessions: `{}`";
        did_you_mean_agent: "{}; возможно, агент `{}`?", "{}; did you mean the agent `{}`?";
        no_file_no_agent:
            "{}; агента с таким именем тоже нет; есть: {}",
            "{}; there is no agent of this name either; there are: {}";
        which_agent: "какой агент? назовите его ключом --agent: {}", "which agent? name one with --agent: {}";
        not_started: "агента не удалось запустить", "the agent cannot be started";
        other_agent:
            "сессия «{}» ведётся с агентом из папки {}, а не с «{}»: не называйте --agent или выберите другую сессию",
            "the session `{}` is with the agent in {}, not with `{}`: leave --agent out, or name another session";
        is_a_plan:
            "{}: здесь план, а модели нет; назовите её ключом --model или выполните сам план: obelus plan run {}",
            "{}: it has a plan, and there is no model; name one with --model, or run the plan itself: obelus plan run {}";
        say_something: "агенту нужно что-то сказать: добавьте --say 'ТЕКСТ'", "an agent answers to words: add --say 'TEXT'";
        empty_message: "сообщение в --say пустое", "the message in --say is empty";
        no_bundled:
            "встроенного агента «{}» нет; все агенты: obelus agents list",
            "there is no bundled agent `{}`; `obelus agents list` lists them";
        folder_exists:
            "{}: такая папка уже есть и не изменена; выберите другое имя",
            "{} exists already and was not changed; choose another name";
        copy_exists:
            "{}: такая папка уже есть и не изменена; назовите копию иначе: --as ИМЯ",
            "{} exists already and was not changed; give the copy another name: --as NAME";
        bad_agent_name:
            "«{}» не годится как имя агента: нужны латинские буквы, цифры, `-` и `_`, от 1 до 64",
            "`{}` is not a valid name of an agent: use 1 to 64 Latin letters, digits, `-` and `_`";
        made_agent:
            "Проверить: obelus agents check {}\nПоговорить: obelus chat --agent {}",
            "Check it: obelus agents check {}\nTalk to it: obelus chat --agent {}";
        no_browser: "у него нет браузера, который мог бы открыть сайт", "it has no browser that could be on a site";
        no_token:
            "--events: задайте в {} токен приложения, который портал присылает с каждым событием",
            "--events: set {} to the application's token, which the portal sends with every event";
        not_the_same:
            "сессия «{}» не продолжается с {}: {}; назовите другую сессию ключом --session или удалите эту: obelus sessions rm {}",
            "the session `{}` does not go on with {}: {}; name another session with --session, or remove this one with `obelus sessions rm {}`";
        made_of_file: "она создана из файла {}", "it was made of the file {}";
        made_of_agent: "она создана с агентом «{}» из папки {}", "it was made of the agent `{}` in {}";
        other_plan: "она создана с другим планом", "it was made with another plan";
        other_input: "она создана с другими входными данными", "it was made with another input";
        other_message:
            "она создана с другим контекстом: отличается сообщение {}",
            "it was made with another context: message {} differs";
        other_schema: "она создана с другой схемой результата", "it was made with another schema of the result";
        mode_under_way:
            "«{}» прервана в режиме {}: дайте ей закончить, потом меняйте режим",
            "`{}` was cut off in the mode {}: let it end, then change the mode";
        tool_gone:
            "инструмента `{}` на сервере больше нет: вызвать его не получится",
            "the tool `{}` is not offered any more: calls to it will fail";
        tool_changed:
            "инструмент `{}` изменился с начала этой сессии и не вызывается; новая сессия возьмёт его таким, какой он сейчас",
            "the tool `{}` has changed since this session began, and is not called; a new session takes it as it is now";
        tools_cut:
            "Сервер MCP `{}`: инструментов {}, взяты только {}",
            "MCP server `{}` has {} tools; all but {} are left out";
        tool_twice:
            "Сервер MCP `{}`: инструментов `{}` два, один не взят",
            "MCP server `{}` has two tools `{}`; one is left out";
        tool_left_out:
            "Сервер MCP `{}`: инструмент `{}` не взят: {}",
            "MCP server `{}`: its tool `{}` is left out: {}";
        tool_not_there:
            "Сервер MCP `{}`: инструмента `{}`, который назван в файле агента, там нет",
            "MCP server `{}` has no tool `{}`, which the agent's file names";
        new_tools: "новые инструменты, они есть только у новой сессии: {}", "new tools, which only a new session has: {}";
        calls_will_fail: "{}; вызвать его инструменты не получится", "{}; calls to its tools will fail";
    }
}
