//! LOOP-4: texts for a turn that ended without the model: what happened, and what the user can do.

use crate::Language;

/// A text in Russian and in English.
type BilingualText = [&'static str; 2];

/// Why a model did not answer, by the stable code of the cause.
struct Cause {
    code: &'static str,
    what: BilingualText,
    advice: BilingualText,
}

macro_rules! cause {
    ($code:literal, $what_ru:literal / $what_en:literal, $do_ru:literal / $do_en:literal) => {
        Cause {
            code: $code,
            what: [$what_ru, $what_en],
            advice: [
                concat!("Автоматические действия пока выключены. Ваши слова и состояние сохранены. ", $do_ru),
                concat!("Automatic actions are off for now. Your words and the state are kept. ", $do_en),
            ],
        }
    };
}

/// The text for any other cause.
const OTHER: Cause = cause!(
    "",
    "Модель сейчас недоступна" / "The model cannot be asked now",
    "Устраните причину и повторите." / "Mend the cause and try again."
);

const CAUSES: &[Cause] = &[
    cause!(
        "out_of_format",
        "Ответ модели нельзя прочесть" / "The model's answer cannot be read",
        "Повторите; если не поможет, скажите иначе или выберите другую модель."
            / "Try again; if that does not help, put it in other words or choose another model."
    ),
    cause!(
        "graph",
        "В файле агента ошибка" / "The agent's file is at fault",
        "Исправьте её (obelus agents check) и повторите." / "Mend it (obelus agents check) and try again."
    ),
    cause!(
        "no_model",
        "Модель не выбрана" / "No model was chosen",
        "Назовите её ключом --model или в файле агента и повторите."
            / "Name one with --model or in the agent's file, and try again."
    ),
    cause!(
        "no_key",
        "Нет ключа для модели" / "There is no key for the model",
        "Задайте переменную OPENAI_API_KEY или назовите в OPENAI_API_BASE сервер, которому ключ не нужен, и повторите."
            / "Set OPENAI_API_KEY and try again."
    ),
    cause!(
        "no_secret",
        "Не хватает переменной окружения для запроса к модели"
            / "A variable that the request to the model needs is not set",
        "Задайте её и повторите." / "Set it and try again."
    ),
    cause!(
        "bad_settings",
        "Настройки модели неверны" / "The settings of the model are wrong",
        "Исправьте их и повторите." / "Correct them and try again."
    ),
    cause!(
        "unauthorised",
        "Сервер модели не принял ключ" / "The model's server does not accept the key",
        "Проверьте OPENAI_API_KEY: верен ли он и для этого ли сервера; затем повторите."
            / "Check OPENAI_API_KEY: is it right, and for this server? Then try again."
    ),
    cause!(
        "forbidden",
        "С этим ключом модель использовать нельзя" / "This key may not use the model",
        "Попросите доступ у владельца ключа или выберите другую модель."
            / "Ask the key's owner for access, or choose another model."
    ),
    cause!(
        "unknown_model",
        "Такой модели на сервере нет" / "The server has no such model",
        "Проверьте имя модели и адрес OPENAI_API_BASE (обычно он кончается на /v1) и повторите."
            / "Check the model's name and OPENAI_API_BASE (mostly it ends with /v1), and try again."
    ),
    cause!(
        "quota",
        "Квота на модель исчерпана" / "The quota for the model is used up",
        "Пополните счёт или возьмите другой ключ и повторите."
            / "Top up the account or use another key, and try again."
    ),
    cause!(
        "rate_limited",
        "Сервер модели просит подождать: слишком много запросов" / "The model's server asks to wait: too many requests",
        "Подождите немного и повторите." / "Wait a little and try again."
    ),
    cause!(
        "bad_request",
        "Сервер модели отклонил запрос" / "The model's server refused the request",
        "Посмотрите, что он говорит: часто дело в параметре, которого модель не знает, или в слишком длинном разговоре."
            / "See what it says: often a setting that the model does not know, or a conversation that is too long."
    ),
    cause!(
        "redirected",
        "Сервер модели отправляет на другой адрес" / "The model's server points to another address",
        "Туда ничего не послано. Если адрес верен, задайте его в OPENAI_API_BASE."
            / "Nothing was sent there. If that address is right, set it in OPENAI_API_BASE."
    ),
    cause!(
        "unreachable",
        "Модель сейчас недоступна" / "The model cannot be reached now",
        "Проверьте сеть, адрес OPENAI_API_BASE и прокси и повторите."
            / "Check the network, OPENAI_API_BASE and the proxy, and try again."
    ),
    cause!(
        "server_error",
        "На сервере модели ошибка" / "The model's server has an error",
        "Повторите через несколько минут." / "Try again in a few minutes."
    ),
    cause!(
        "timeout_first_byte",
        "Модель не начала отвечать вовремя" / "The model did not begin to answer in time",
        "Повторите; если она долго думает, увеличьте timeouts.first_byte в файле агента."
            / "Try again; if it thinks for long, raise timeouts.first_byte in the agent's file."
    ),
    cause!(
        "timeout_idle",
        "Модель замолчала на середине ответа" / "The model fell silent in the midst of its answer",
        "Повторите; если это бывает часто, увеличьте timeouts.idle в файле агента."
            / "Try again; if that happens often, raise timeouts.idle in the agent's file."
    ),
    cause!(
        "timeout_total",
        "Модель не уложилась в отведённое время" / "The model did not answer within its time",
        "Повторите; если ответы длинные, увеличьте timeouts.total в файле агента."
            / "Try again; if answers are long, raise timeouts.total in the agent's file."
    ),
    cause!(
        "cut_off",
        "Ответ модели оборвался" / "The model's answer broke off",
        "Ничего из него не выполнено, кроме чтения. Повторите." / "Nothing of it was done but reading. Try again."
    ),
    cause!(
        "too_large",
        "Ответ модели слишком велик" / "The model's answer is too large",
        "Он не дочитан. Повторите или попросите меньше за раз."
            / "It was not read to its end. Try again, or ask for less at once."
    ),
    cause!(
        "not_utf8",
        "Ответ модели испорчен: это не текст UTF-8" / "The model's answer is damaged: it is no UTF-8 text",
        "Повторите; если не поможет, проверьте сервер и прокси."
            / "Try again; if that does not help, check the server and the proxy."
    ),
    cause!(
        "empty",
        "Модель ничего не ответила" / "The model answered nothing",
        "Повторите или скажите иначе." / "Try again, or put it in other words."
    ),
    cause!(
        "bad_answer",
        "Это не похоже на сервер модели" / "This does not look like a model's server",
        "Проверьте адрес OPENAI_API_BASE: он должен вести к Chat Completions."
            / "Check OPENAI_API_BASE: it must lead to Chat Completions."
    ),
    cause!(
        "declined",
        "Модель отказалась отвечать" / "The model declined to answer",
        "Скажите иначе или выберите другую модель." / "Put it in other words, or choose another model."
    ),
];

/// What happened when a turn ended without the model, and what to do, by the stable code of the cause.
pub fn degraded(code: &str, language: Language) -> (&'static str, &'static str) {
    let cause = CAUSES.iter().find(|cause| cause.code == code).unwrap_or(&OTHER);
    let [what_ru, what_en] = cause.what;
    let [do_ru, do_en] = cause.advice;
    (language.choose(what_ru, what_en), language.choose(do_ru, do_en))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_distinct_text_in_both_languages() {
        let (other, _) = degraded("something new", Language::English);
        for cause in CAUSES {
            let (russian, advice) = degraded(cause.code, Language::Russian);
            assert_eq!(Language::of(russian), Language::Russian, "{russian}");
            assert!(advice.contains("сохранены") && advice.ends_with('.'), "{advice}");
            let (english, advice) = degraded(cause.code, Language::English);
            assert_eq!(Language::of(english), Language::English, "{english}");
            assert!(advice.contains("are kept") && advice.ends_with('.'), "{advice}");
            assert_ne!(english, other, "{}", cause.code);
        }
    }

    #[test]
    fn causes_are_unique() {
        let mut codes: Vec<&str> = CAUSES.iter().map(|cause| cause.code).collect();
        codes.sort_unstable();
        let count = codes.len();
        codes.dedup();
        assert_eq!(codes.len(), count);
    }
}
