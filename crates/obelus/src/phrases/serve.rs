//! What the server says at its terminal.

use obelus_runtime::phrases;

phrases! {
    /// `obelus serve` and `obelus tokens`.
    ServingWords {
        listens: "Сервер слушает: {}", "The server listens: {}";
        first_token:
            "Первый токен создан, он в файле {} (его может прочесть только владелец)",
            "The first token was made: it is in {}, which only its owner can read";
        token: "Токен лежит в файле {}", "The token is in {}";
        ending: "завершаю работу…", "ending…";
        token_once: "Токен показан только сейчас, сохраните его:", "The token is shown only now, keep it:";
    }
}
