//! Why a request of a channel failed.

phrases! {
    /// Why a call failed.
    ChannelWords {
        unknown_agent: "агента «{}» нет", "there is no agent `{}`";
        unknown_agent_near: "агента «{}» нет; может быть, «{}»?", "there is no agent `{}`; did you mean `{}`?";
        bad_agent: "в файле агента «{}» ошибки:\n{}", "the agent `{}` has errors:\n{}";
        unknown_question: "вопроса «{}» нет", "there is no question `{}`";
        unknown_session: "сессии «{}» нет", "there is no session `{}`";
        exists: "сессия «{}» уже есть", "there is a session `{}` already";
        bad_id:
            "«{}» — не имя сессии: нужны латинские буквы, цифры, `-` и `_`, не больше 64",
            "`{}` is no id: Latin letters, digits, `-` and `_`, at most 64";
        no_record: "в журнале записей {}, а не {}", "the journal has {} records, not {}";
        not_found: "здесь этого нет: {}", "there is no such thing here: {}";
        wrong_method: "у этого адреса нет такого метода", "this path has no such method";
        changed:
            "вопрос «{}» изменился с тех пор, как его показали: посмотрите ещё раз",
            "the question `{}` has changed since it was shown: look at it again";
        unknown_chat:
            "этого разговора здесь не было: начните новый или пришлите {} или {}",
            "this conversation did not take place here: begin a new one, or send {} or {}";
        bad_request: "запрос нельзя прочесть: {}", "the request cannot be read: {}";
        too_large: "слишком много: {}", "too large: {}";
        not_json:
            "тело запроса должно быть JSON с заголовком {}",
            "the body must be JSON, with the header {}";
        unauthorized:
            "нужен токен: заголовок {}",
            "a token is needed: send the header {}";
        not_written: "сюда ещё ничего не записано", "nothing has written there";
        unknown_token:
            "этот токен не известен: он удалён или введён с ошибкой; токены показывает {}",
            "this token is not known: it was removed, or mistyped; {} shows those that there are";
        used_link:
            "эта ссылка уже использована или устарела: войдите с токеном (первый лежит в файле {}) или перезапустите сервер, он напечатает новую",
            "this link was used already, or is too old: sign in with a token (the first one is in the file {}), or restart the server, which prints a new link";
        forbidden: "для этого нужен токен с ролью {}", "this needs a token with the role {}";
        imported:
            "сессия «{}» загружена из файла, и продолжить её может только токен с ролью `admin`; что она может запустить, показывает `obelus sessions show`",
            "the session `{}` was imported: only a token with the role admin may resume it; `obelus sessions show` lists what it could start";
        not_allowed:
            "{}: это значение здесь не разрешено; другие разрешает {}",
            "the {} of the request is not allowed here; {} allows others";
        too_many: "слишком много запросов: попробуйте позже", "too many requests: try again later";
        timed_out: "запрос шёл слишком долго", "the request took too long to arrive";
        closing: "сервер завершает работу: попробуйте ещё раз", "the server is ending: try again";
        host: "не получилось ({})", "it did not work ({})";
    }
}
