//! The scripted conversation of the demo: explanations, and the user's messages.

phrases! {
    /// Five messages: reading, creating, a risky change, a denial, and a batch with one question for all.
    TourWords {
        reading:
            "1. Чтение: никого спрашивать не нужно, агент просто смотрит.",
            "1. Reading: nobody needs to be asked, the agent just looks.";
        ask_stages: "Какие у нас стадии продаж?", "What are our sales stages?";
        creating:
            "2. Создание: то, о чём вы попросили сами, подтверждать не нужно.",
            "2. Creating: what you asked for yourself needs no approval.";
        create_deal:
            "Создай сделку «Поставка окон» на 250000 и поставь задачу Илье: подготовить предложение до пятницы",
            "Create a deal “Window supply” for 250000 and give Ian a task: prepare an offer by Friday";
        risky:
            "3. Рискованное изменение: деньги меняются только с вашего «да».",
            "3. A risky change: money changes only with your yes.";
        change_amount: "Измени сумму сделки 1 на 100000", "Change the amount of deal 1 to 100000";
        denial: "4. Отказ: ничего не происходит.", "4. A denial: nothing happens.";
        move_deal: "Переведи сделку 3 на стадию «Сделка провалена»", "Move deal 3 to the stage “Deal lost”";
        not_yet: "клиент ещё думает", "the customer is still thinking";
        batch:
            "5. Двадцать сделок сразу: один вопрос обо всех.",
            "5. Twenty deals at once: one question about all of them.";
        hand_over: "Передай 20 сделок менеджера Ильи Дарье", "Hand 20 deals of Ian over to Dora";
        stuck: "показ не может продолжаться: {}", "the tour cannot go on: {}";
        nothing_waits: "ничего не ждёт решения", "nothing waits for a decision";
        broken_off: "показ прерван", "the tour was broken off";
    }
}
