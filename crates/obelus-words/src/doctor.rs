//! What `obelus doctor` says of this machine.

phrases! {
    /// The checks of `obelus doctor`, and what is missing for the operator's browser.
    DoctorWords {
        fine: "ок", "ok";
        missing: "нет", "missing";
        broken: "ошибка", "broken";
        terminal: "терминал", "terminal";
        agents: "агенты", "agents";
        version: "версия {}", "version {}";
        has_terminal: "здесь можно отвечать на вопросы", "questions can be answered here";
        no_terminal:
            "терминала нет: вопросы печатаются, и команда заканчивается с кодом 3",
            "no terminal: questions are printed, and the command exits with 3";
        no_agents:
            "папки `agents` здесь нет; создайте её или назовите другие папки в OBELUS_AGENTS",
            "there is no folder `agents` here; make one, or set OBELUS_AGENTS to others";
        agents_found: "найдено: {}", "{} found";
        faulty: "с ошибками: {}; их покажет `obelus agents check`", "faulty: {}; see `obelus agents check`";
        found: "есть", "found";
        needed: "{}; нужно агенту `operator`. Установить: {}", "{}; the operator needs it. Install it by: {}";
        without_node: "не запустить без `node`", "cannot be run without node";
        key_set: "задан", "is set";
        key_not_set:
            "не задан; для `playbook:FILE` и `replay:FILE` он не нужен",
            "is not set; playbook:FILE and replay:FILE need none";
        no_script:
            "OBELUS_PLAYWRIGHT_MCP — это путь к его `cli.js`, а файла {} нет",
            "OBELUS_PLAYWRIGHT_MCP is its cli.js, and there is no file {}";
        not_installed:
            "этого нет ни в `PATH`, ни в папке для него",
            "it is neither on the path nor in the folder for it";
        no_node: "в `PATH` нет `node`", "there is no `node` on the path";
        no_chromium: "этого нет в `PATH`", "it is not on the path";
        no_program: "OBELUS_CHROMIUM указывает на {}, а это не программа", "OBELUS_CHROMIUM names {}, which is no program";
    }
}
