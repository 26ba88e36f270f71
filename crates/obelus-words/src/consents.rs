//! Standing consent (ASK-9): its scope and its status.

phrases! {
    /// The scope and the status of a consent.
    ConsentWords {
        covers:
            "«{}» без вопроса, если меняется только: {}",
            "“{}” without asking, if it sets nothing but: {}";
        covers_plainly: "«{}» без вопроса", "“{}” without asking";
        records: "для записей этого списка: {}", "for the records of this list: {}";
        person: "если {} — {}", "if {} is {}";
        site: "на сайте {}", "on the site {}";
        tool: "для любых записей", "for any record";
        until: "до {}", "until {}";
        to_the_end: "до конца этого разговора", "to the end of this session";
        more: "и ещё {}", "and {} more";
        given: "{}: {}. Согласие дано {} ({}), шагов без вопроса: {}", "{}: {}. Given {} ({}), steps without a question: {}";
        revoked: "отозвано {}", "taken back {}";
        ended: "срок вышел", "its time is over";
        by_consent: "по вашему согласию {}", "by your consent {}";
        never_effect:
            "об удалении и о настройках спрашивают каждый раз",
            "deletions and configuration are asked about every time";
        never_payment: "о платежах спрашивают каждый раз", "payments are asked about every time";
        never_secret: "о секретах спрашивают каждый раз", "secrets are asked about every time";
        never_delegate:
            "это вопрос помощника: о его шагах спрашивают каждый раз",
            "this is a question of a delegate: its calls are asked about every time";
        never_here:
            "об этом спрашивают каждый раз: получатель или запись взяты из непроверенного",
            "this is asked about every time: its target comes from what is not trusted";
    }
}
