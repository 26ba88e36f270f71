//! Texts of `obelus policy explain`.

phrases! {
    /// Whether a call may run, and why.
    PolicyWords {
        faulty:
            "вызов неверен и до правил не доходит",
            "the call is invalid and does not reach the policy";
        error: "ошибка", "error";
        runs: "выполняется", "it runs";
        person_decides: "решает человек", "a person decides";
        does_not_run: "не выполняется", "it does not run";
        effect_and_mode: "эффект {}, режим {}", "effect {}, mode {}";
        no_rule: "ни одно правило не подходит", "no rule applies";
        note: "замечание: {}", "note: {}";
        model_call:
            "за этим не стоит действие, это выполняет сама модель: ничего не меняется, и так в любом режиме",
            "no activity is bound to it, so the model carries it out: it does not act and runs in every mode";
        any_param: "любом параметре", "any parameter";
        no_origins:
            "не сказано, откуда значения: непроверенное значение в {} требует подтверждения (задайте `_from`)",
            "the origins of its values are not given: an untrusted value in {} needs a confirmation (use `_from`)";
        no_shown:
            "не сказано, что модель прочла до этого: непроверенные данные требуют подтверждения (задайте `_shown`)",
            "what the model had read before is not given: untrusted data needs a confirmation (use `_shown`)";
        no_such_tool: "у агента нет инструмента `{}`", "the agent has no tool `{}`";
        meant_tool: "; возможно, `{}`?", "; did you mean `{}`?";
    }
}
