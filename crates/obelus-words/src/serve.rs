//! Texts of the server at its terminal.

phrases! {
    /// `obelus serve` and `obelus tokens`.
    ServingWords {
        listens: "Сервер слушает: {}", "The server listens: {}";
        worker_works: "Исполнитель работает, кластер: {}", "The worker works for the cluster at {}";
        worker_engine:
            "исполнитель работает с сессиями кластера: --engine restate --restate URL",
            "a worker works at the sessions of a cluster: --engine restate --restate URL";
        restate_without_engine:
            "--restate действует только вместе с --engine restate",
            "--restate works only together with --engine restate";
        worker_advertise:
            "по адресу {} кластер не найдёт исполнителя: назовите в --advertise URL, по которому он доступен",
            "the cluster cannot find a worker at {}: name the URL that reaches it with --advertise URL";
        worker_earlier:
            "Новую работу получают исполнители по адресу {}: они зарегистрированы позже. Этот исполнитель закончит прежнюю работу; \
             с {} он возьмёт и новую",
            "New work goes to the workers at {}, which registered later. This worker finishes earlier work; with {} it takes \
             the new work too";
        worker_cannot_open:
            "Этот исполнитель не может открыть сессию {} (агенты ищутся по тому же пути, что на других машинах, или в {})",
            "This worker cannot open the session {} (agents are looked for at the same path as on other machines, or below {})";
        worker_waits: "Жду кластер Restate: {}", "Waiting for the Restate cluster: {}";
        console:
            "Консоль (ссылка действует один раз): {}",
            "The console (the link works once): {}";
        console_by_token:
            "Консоль (для входа нужен токен): {}",
            "The console (sign in with a token): {}";
        first_token:
            "Первый токен создан, он в файле {} (его может прочесть только владелец)",
            "The first token was made: it is in {}, which only its owner can read";
        token: "Токен лежит в файле {}", "The token is in {}";
        talks: "Сессия {} на сервере {}", "The session {} on the server {}";
        remote_stop: "/stop|остановить ход", "/stop|stop the turn";
        remote_mode:
            "Режим сессии на сервере задаётся, когда её создают: obelus chat --server {} --mode {} (больше, чем в файле агента, — с токеном администратора).",
            "The mode of a session on a server is set when it is created: obelus chat --server {} --mode {} (beyond the agent's file only with an admin's token).";
        remote_image:
            "Картинки на сервер не отправляются: покажите её агенту в obelus chat без --server.",
            "Pictures are not sent to a server: show it to an agent in obelus chat without --server.";
        remote_ask:
            "y — да, n или «n причина» — нет; пустая строка — потом:",
            "y approves, n or n REASON denies; an empty line leaves it open:";
        remote_unclear:
            "Это не ответ: решение не принято.",
            "That is no answer: nothing was decided.";
        remote_doubt:
            "Введите happened [РЕЗУЛЬТАТ как JSON] (это произошло) или did-not (этого не было, выполнить); пустая строка — потом:",
            "Type happened [RESULT as JSON], or did-not to run it; an empty line leaves it open:";
        remote_result:
            "Следующим шагам нужен результат: {}. Введите happened и результат как JSON; happened null — результат неизвестен, и они не выполнятся.",
            "Later steps need its result: {}. Type happened and the result as JSON; happened null means that it is not known, and they do not run.";
        no_token:
            "для --server нужен токен: назовите его файл в --token-file или задайте {}",
            "--server needs a token: name its file with --token-file, or set {}";
        at_the_store:
            "`obelus {}` работает с самим хранилищем: остановите сервер и запустите команду на его машине с --store",
            "`obelus {}` works on the store itself: end the server, and run it on that machine with --store";
        at_its_machine:
            "`obelus {}` читает файлы агента: запустите команду на машине сервера с --store (сервер может работать)",
            "`obelus {}` reads the agent's files: run it on the server's machine with --store (the server may go on)";
        not_remote: "у этой команды нет --server", "this command knows no --server";
        beside: "Сервер: {} (токен в файле {})", "Server: {} (its token is in {})";
        broken_agent: "агент «{}» не запустится: {}", "the agent `{}` cannot be used: {}";
        ending: "завершаю работу…", "ending…";
        token_once: "Токен показан только сейчас, сохраните его:", "The token is shown only now, keep it:";
    }
}
