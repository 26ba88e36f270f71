//! Why a step failed, by the code of its error. Activities and services have messages of their own, mostly in English;
//! these texts replace them for users of another language.

use crate::Language;

/// A code, and its meaning in Russian and in English.
const CAUSES: &[(&str, &str, &str)] = &[
    ("timeout", "нет ответа за отведённое время", "no answer in time"),
    ("stopped", "остановлено", "stopped"),
    ("not_started", "не начато: ход закончился раньше", "not started: the turn ended before"),
    ("lost", "результат потерян", "the result was lost"),
    ("lost_answer", "запрос отправлен, но ответ потерян", "the request was sent, and its answer is lost"),
    ("in_doubt", "неизвестно, произошло ли это", "it is not known whether this happened"),
    ("unreachable", "служба недоступна", "the service cannot be reached"),
    ("no_tls", "нет защищённого соединения", "there is no secure connection"),
    ("no_secret", "не задана нужная переменная окружения", "a variable of the environment is not set"),
    ("no_activity", "этого действия здесь нет", "nothing carries this out here"),
    ("no_browser", "браузер не установлен", "there is no browser"),
    ("login", "служба не пускает: нужен вход", "the service wants a login"),
    ("refused", "в этом отказано", "it was refused"),
    ("mcp_start", "сервер MCP не запускается", "the MCP server does not start"),
    ("mcp_closed", "сервер MCP закрыт", "the MCP server is closed"),
    ("tool_changed", "инструмент изменился с начала этой сессии", "the tool has changed since this session began"),
    ("failed", "не получилось", "it failed"),
    ("exec", "программу нельзя запустить", "the program cannot be started"),
    ("bad_params", "данные не подходят", "the data does not fit"),
    ("bad_output", "ответ нельзя прочесть", "the answer cannot be read"),
    ("bad_result", "результат не подходит", "the result does not fit"),
    (
        "result_not_kept",
        "это сделано, но результат не удалось сохранить",
        "it is done, but its result could not be kept",
    ),
    ("result_too_large", "результат слишком велик", "the result is too large"),
    ("output_too_large", "ответ слишком велик", "the answer is too large"),
    ("unresolved_reference", "нет данных от другого шага", "another step brought no data"),
];

/// The meaning of an error's code. Codes such as `http_503` and `exit_1` contain a number.
pub fn failure(code: &str, language: Language) -> Option<String> {
    let words = |russian: &'static str, english: &'static str| language.choose(russian, english);
    if let Some((_, russian, english)) = CAUSES.iter().find(|(known, ..)| *known == code) {
        return Some(words(russian, english).to_owned());
    }
    let (kind, number) = code.split_once('_').filter(|(_, number)| number.parse::<u32>().is_ok())?;
    let phrase = match kind {
        "http" => words("служба ответила отказом {}", "the service answered {}"),
        "exit" => words("программа закончилась с кодом {}", "the program ended with exit code {}"),
        "signal" => words("программа прервана сигналом {}", "the program was ended by signal {}"),
        _ => return None,
    };
    Some(crate::fill(phrase, &[number]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_failure_is_chosen_by_its_code() {
        assert_eq!(failure("timeout", Language::English).as_deref(), Some("no answer in time"));
        assert_eq!(failure("http_503", Language::Russian).as_deref(), Some("служба ответила отказом 503"));
        assert_eq!(failure("ERROR_CORE", Language::Russian), None);
        for (_, russian, english) in CAUSES {
            assert_eq!((Language::of(russian), Language::of(english)), (Language::Russian, Language::English));
        }
    }
}
