//! The last item of a plan: the answer to the user (OPR-2).

use std::sync::LazyLock;

use obelus_words::Language;
use regex::Regex;

/// Matches plan items that tell the user something.
static TELLS: LazyLock<Regex> = LazyLock::new(|| {
    let english =
        r"\b(answer|reply|respond|report|tell|inform|summari[sz]e|sum up|present|give the (user|result)|let .* know)";
    let russian = r"ответ|сообщ|рассказ|скажу|сказать|доложи|отчит|подвести итог|подытож|итог|показать (вам|пользователю|результат)";
    Regex::new(&format!("(?i:{english}|{russian})")).unwrap_or_else(|error| unreachable!("{error}"))
});

/// The answer item that a plan lacks at its end, in the plan's language; none if it has one.
pub(super) fn missing(plan: &[String]) -> Option<&'static str> {
    let last = plan.last()?;
    if TELLS.is_match(last) {
        return None;
    }
    let is_russian = plan.iter().any(|item| item.chars().any(|letter| matches!(letter, 'а'..='я' | 'А'..='Я')));
    let language = if is_russian { Language::Russian } else { Language::English };
    Some(language.words().session.answer_the_user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_must_end_with_the_answer() {
        for (last, lacks) in [
            ("Answer with the cheapest one", None),
            ("Tell the user which is cheaper", None),
            ("Sum up what was found", None),
            ("Сообщить цену и срок", None),
            ("Ответ", None),
            ("Press the button", Some("Answer the user")),
            ("Compare the prices", Some("Answer the user")),
            ("Нажать «Купить»", Some("Ответить пользователю")),
        ] {
            assert_eq!(missing(&["Open".to_owned(), last.to_owned()]), lacks, "{last}");
        }
        assert_eq!(missing(&[]), None);
    }
}
