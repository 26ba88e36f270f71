//! Texts of messengers, and of clients that can only show text.

phrases! {
    /// The bot's own texts.
    BotWords {
        hello:
            "Здравствуйте! Пишите, что нужно сделать. /new — начать разговор заново, /stop — остановить работу.",
            "Hello! Write what is to be done. /new begins a new conversation, /stop stops the work.";
        begun_anew: "Начинаем разговор заново.", "This is a new conversation.";
        outsider:
            "Вас нет в списке тех, кому отвечает этот бот. Ваш номер: {}. Передайте его владельцу бота.",
            "You are not on the list of people whom this bot answers. Your number is {}. Tell it to the owner of the bot.";
        text_only:
            "Понимаю только текст: голос, картинки и файлы прочесть не могу. Напишите словами, пожалуйста.",
            "I understand text only: voice, pictures and files cannot be read. Please write it in words.";
        not_taken: "Не принято: {}", "Not taken: {}";
        stands_still: "Работа остановилась: {}", "The work stands still: {}";
        approve: "✅ Да, выполнить", "✅ Yes, do it";
        deny: "❌ Нет", "❌ No";
        deny_now: "❌ Нет, без причины", "❌ No, without a reason";
        edit: "✏ Изменить", "✏ Edit";
        consents: "✅ Да, и дальше без вопроса…", "✅ Yes, and also…";
        agree: "✅ Да, согласие {}", "✅ Yes, with consent {}";
        consents_end:
            "Согласие действует до конца этого разговора; список и отзыв: obelus sessions consents.",
            "A consent holds to the end of this session; obelus sessions consents lists it and takes it back.";
        offer_too_long:
            "Вариант {} и дальше сюда не помещаются: их показывает obelus answer.",
            "There is no room here for offer {} and those after it: obelus answer shows them.";
        which_field: "Какое поле изменить?", "Which field is to be changed?";
        first_fields:
            "Здесь первые {}; остальные меняются командой obelus answer.",
            "These are the first {}; the others are changed by obelus answer.";
        give_field:
            "Напишите новое значение поля «{}». Сейчас: {}",
            "Write the new value of “{}”. It is now: {}";
        give_field_in_group:
            "Ответьте на это сообщение новым значением поля «{}». Сейчас: {}",
            "Reply to this message with the new value of “{}”. It is now: {}";
        write_again: "Напишите значение ещё раз или нажмите «Назад».", "Write the value again, or press Back.";
        edited: "Выполнить с этим изменением?", "Is it to be done with this change?";
        approve_edit: "✅ Да, с изменением", "✅ Yes, with the change";
        edit_more: "✏ Изменить ещё", "✏ Edit again";
        drop_edit: "↩ Нет, без изменения", "↩ No, without the change";
        yes: "да", "yes";
        no: "нет", "no";
        back: "↩ Назад", "↩ Back";
        happened: "Это произошло", "It happened";
        did_not: "Этого не было, выполнить", "It did not, do it";
        decline: "❌ Не отвечать", "❌ Do not answer";
        give_value: "Ответьте на это сообщение значением.", "Reply to this message with the value.";
        give_reason:
            "Отклонить? Можно ответить на это сообщение причиной.",
            "Deny it? You may reply to this message with the reason.";
        file_failed:
            "Файл с полным текстом не отправился, поэтому одобрить здесь нельзя. Ответьте в консоли или в терминале.",
            "The file with all of it could not be sent, so it cannot be approved here. Answer in the console or in the terminal.";
        in_the_file: "Всё целиком — в файле выше.", "All of it is in the file above.";
        lapses_soon: "Этот вопрос ещё ждёт ответа, и скоро его срок выйдет.", "This question still waits, and lapses soon.";
        own_words_only:
            "Пересланное я не принимаю: это не ваши слова. Напишите своими словами.",
            "I take no forwarded messages: they are not your words. Write it in your own.";
        taken: "Принято", "Taken";
        not_yours: "Этот бот вам не отвечает.", "This bot does not answer you.";
        used: "На этот вопрос уже ответили.", "This question was answered already.";
        approved: "✅ Подтвердил(а): {}", "✅ Approved by {}";
        denied: "❌ Отклонил(а): {}", "❌ Denied by {}";
        answered: "✔ Ответил(а): {}", "✔ Answered by {}";
        approved_edited: "✅ Подтвердил(а) с изменениями: {}", "✅ Approved with changes by {}";
        approved_edited_elsewhere: "✅ Уже подтвердили с изменениями: {}", "✅ Already approved with changes by {}";
        approved_elsewhere: "✅ Уже подтвердили: {}", "✅ Already approved by {}";
        denied_elsewhere: "❌ Уже отклонили: {}", "❌ Already denied by {}";
        answered_elsewhere: "✔ Уже ответили: {}", "✔ Already answered by {}";
        expired: "⌛ Срок ответа вышел: это считается отказом.", "⌛ It lapsed: that is taken as a no.";
        name_in: "{} через {}", "{} in {}";
        at_terminal: "человек за терминалом", "a person at the terminal";
        at_command_line: "человек в командной строке", "a person at the command line";
        in_conversation: "пользователь, в разговоре", "the user, in conversation";
        reply_file: "Ответ длинный: целиком он в файле.", "The reply is long: all of it is in the file.";
    }
}

phrases! {
    /// How to answer a question by a code, for clients that can only show text.
    CodeWords {
        decide:
            "Чтобы ответить, напишите `approve {}` (да) или `deny {} причина` (нет).",
            "To answer, write `approve {}` or `deny {} reason`.";
        value: "Чтобы ответить, напишите `answer {} ответ`.", "To answer, write `answer {} your answer`.";
        in_doubt:
            "Чтобы ответить, напишите `happened {}` (произошло) или `did_not {}` (не произошло).",
            "To answer, write `happened {}` or `did_not {}`.";
        used:
            "Кода {} среди открытых вопросов нет: на этот вопрос уже ответили, или он изменился.",
            "No open question has the code {}: it was answered before, or has changed.";
        mistyped:
            "«{}» — не код открытого вопроса: ничего не решено, и агенту это не передано.",
            "“{}” is not the code of an open question: nothing was decided, and the agent was not told.";
        apart:
            "(Другой разговор начался так же. Этот отмечен кодом {}.)",
            "(Another conversation began alike. This one has the mark {}.)";
    }
}
