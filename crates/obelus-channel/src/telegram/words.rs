//! What the bot says of its own, in both languages.

use obelus_runtime::people::fill;
use obelus_runtime::{Language, phrases};

phrases! {
    /// What the bot says of its own.
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
        back: "↩ Назад", "↩ Back";
        happened: "Это произошло", "It happened";
        did_not: "Этого не было, выполнить", "It did not, do it";
        decline: "❌ Не отвечать", "❌ Do not answer";
        give_value: "Ответьте на это сообщение значением.", "Reply to this message with the value.";
        give_reason:
            "Отклонить? Можно ответить на это сообщение причиной.",
            "Deny it? You may reply to this message with the reason.";
        in_the_file: "Всё целиком — в файле выше.", "All of it is in the file above.";
        lapses_soon: "Этот вопрос ещё ждёт ответа, и скоро его срок выйдет.", "This question still waits, and lapses soon.";
        taken: "Принято", "Taken";
        not_yours: "Этот бот вам не отвечает.", "This bot does not answer you.";
        used: "На этот вопрос уже ответили.", "This question was answered already.";
        approved: "✅ Подтвердил(а): {}", "✅ Approved by {}";
        denied: "❌ Отклонил(а): {}", "❌ Denied by {}";
        answered: "✔ Ответил(а): {}", "✔ Answered by {}";
        approved_elsewhere: "✅ Уже подтвердили: {}", "✅ Already approved by {}";
        denied_elsewhere: "❌ Уже отклонили: {}", "❌ Already denied by {}";
        answered_elsewhere: "✔ Уже ответили: {}", "✔ Already answered by {}";
        expired: "⌛ Срок ответа вышел: это считается отказом.", "⌛ It lapsed: that is taken as a no.";
        name_in: "{} (откуда: {})", "{} in {}";
        at_terminal: "человек за терминалом", "a person at the terminal";
        at_command_line: "человек в командной строке", "a person at the command line";
        in_conversation: "пользователь, в разговоре", "the user, in conversation";
        reply_file: "Ответ длинный: целиком он в файле.", "The reply is long: all of it is in the file.";
    }
}

impl BotWords {
    pub(super) fn of(language: Language) -> &'static Self {
        static RU: BotWords = BotWords::RU;
        static EN: BotWords = BotWords::EN;
        match language {
            Language::Russian => &RU,
            Language::English => &EN,
        }
    }

    /// Who answered a question, and from where. `name_of` knows the names of the users here.
    pub(super) fn who(&self, by: &str, name_of: impl FnOnce(i64) -> Option<String>) -> String {
        match (by, by.split_once(':')) {
            ("a person at the terminal", _) => self.at_terminal.to_owned(),
            ("a person at the command line", _) => self.at_command_line.to_owned(),
            ("the user, in conversation", _) => self.in_conversation.to_owned(),
            (_, Some(("telegram", id))) => id.parse().ok().and_then(name_of).unwrap_or_else(|| id.to_owned()),
            (_, Some((channel, name))) => fill(self.name_in, &[&obelus_kernel::visible(name), channel]),
            (other, None) => obelus_kernel::visible(other),
        }
    }
}

/// The language of a user: that of the file, else that of their Telegram.
pub(super) fn language_of(wanted: Option<Language>, code: Option<&str>) -> Language {
    let is_russian = |code: &str| code == "ru" || code.starts_with("ru-");
    wanted.unwrap_or(if code.is_some_and(is_russian) { Language::Russian } else { Language::English })
}

#[cfg(test)]
mod tests {
    use super::*;
    use obelus_runtime::people::{PhraseTable as _, fault_of};

    #[test]
    fn every_phrase_says_the_same_in_both_languages() {
        for (russian, english) in BotWords::RU.all().into_iter().zip(BotWords::EN.all()) {
            assert_eq!(fault_of(russian, english), None, "{russian} / {english}");
        }
    }

    #[test]
    fn whoever_answered_is_named() {
        let words = BotWords::of(Language::English);
        let anna = |id| (id == 42).then(|| "Anna".to_owned());
        assert_eq!(words.who("telegram:42", anna), "Anna");
        assert_eq!(words.who("telegram:43", anna), "43");
        assert_eq!(words.who("api:boris", anna), "boris in api");
        assert_eq!(words.who("a person at the terminal", anna), "a person at the terminal");
        assert_eq!(BotWords::of(Language::Russian).who("a person at the terminal", anna), "человек за терминалом");
    }

    #[test]
    fn the_language_is_the_files_or_the_users() {
        assert_eq!(language_of(None, Some("ru-RU")), Language::Russian);
        assert_eq!(language_of(None, Some("rum")), Language::English);
        assert_eq!(language_of(None, None), Language::English);
        assert_eq!(language_of(Some(Language::Russian), Some("en")), Language::Russian);
    }
}
