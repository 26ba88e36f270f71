//! What the server says at its terminal.

phrases! {
    /// `obelus serve` and `obelus tokens`.
    ServingWords {
        listens: "Сервер слушает: {}", "The server listens: {}";
        first_token:
            "Первый токен создан, он в файле {} (его может прочесть только владелец)",
            "The first token was made: it is in {}, which only its owner can read";
        token: "Токен лежит в файле {}", "The token is in {}";
        talks: "Сессия {} на сервере {}", "The session {} on the server {}";
        remote_commands:
            "Здесь есть команды /stop и /quit.",
            "The commands here are /stop and /quit.";
        remote_ask:
            "Да (y), нет (n) или причина отказа; пустая строка — потом:",
            "Yes (y), no (n) or the reason of a no; an empty line leaves it open:";
        no_server: "у этой команды нет --server", "this command knows no --server";
        needs_token:
            "для --server нужен токен: укажите его файл в --token-file или задайте переменную {}",
            "--server needs a token: name its file with --token-file, or set {}";
        nameless: "сервер создал сессию, но не назвал её", "the server made a session without an id";
        no_offer: "--also {}: такого согласия вопрос не предлагает", "--also {}: the question offers no such consent";
        beside: "Сервер: {} (токен в файле {})", "Server: {} (its token is in {})";
        ending: "завершаю работу…", "ending…";
        token_once: "Токен показан только сейчас, сохраните его:", "The token is shown only now, keep it:";
    }
}
