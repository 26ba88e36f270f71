//! What can go wrong with a portal, and how a person is told.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use obelus_kernel::Time;
use obelus_kernel::session::CallError;
use obelus_kernel::visible;
use obelus_runtime::Language;

/// Why a call did not bring a result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// The portal's bucket is full: nothing was done.
    Busy,
    /// The method has used up its time: nothing was done. When it may be called again, in seconds since 1970.
    OutOfTime { reset_at: Option<u64> },
    /// The portal could not be reached: nothing was sent.
    NotSent(String),
    /// It was sent, and there is no answer: it may have been done.
    Lost(String),
    /// The answer is larger than can be taken.
    TooLarge,
    /// The portal says no.
    Portal(PortalError),
    /// The call itself is wrong, or cannot be made: nothing was sent.
    Wrong(CallError),
}

/// What the portal said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortalError {
    pub(super) code: String,
    pub(super) description: String,
    /// The parameter at fault, where it is told.
    pub(super) argument: Option<String>,
}

impl PortalError {
    pub(super) fn new(code: impl Into<String>, description: impl Into<String>) -> Self {
        Self { code: code.into(), description: description.into(), argument: None }
    }

    /// A name for what has none.
    fn plain_code(&self) -> String {
        if !self.code.is_empty() {
            return self.code.clone();
        }
        let described = self.description.to_lowercase();
        let known = [("not found", "not_found"), ("access denied", "access_denied"), ("not defined", "bad_id")];
        let code = known.iter().find(|(words, _)| described.contains(words)).map_or("portal_error", |(_, code)| code);
        code.to_owned()
    }

    /// What the portal said, and what to do about it.
    fn words(&self, method: &str, language: Language) -> String {
        let mut words = [self.code.as_str(), self.description.trim()].map(visible).join(": ");
        words = words.trim_matches([':', ' ']).to_owned();
        if let Some(argument) = &self.argument {
            words = format!("{words} ({})", visible(argument));
        }
        match hint(&self.plain_code(), method, language) {
            Some(hint) if words.is_empty() => hint.to_owned(),
            Some(hint) => format!("{words}. {hint}"),
            None if words.is_empty() => pick(language, "the portal refused it", "портал отказал").to_owned(),
            None => words,
        }
    }
}

/// The words of a language.
pub(super) fn pick<'a>(language: Language, english: &'a str, russian: &'a str) -> &'a str {
    match language {
        Language::English => english,
        Language::Russian => russian,
    }
}

fn hint(code: &str, method: &str, language: Language) -> Option<&'static str> {
    let (english, russian) = match code {
        "WRONG_AUTH_TYPE" if method.to_ascii_lowercase().starts_with("event.") => (
            "Subscriptions to events need an application of the portal; an incoming webhook cannot make them. \
             Ask the portal's administrator for a local application, or try it on the sandbox portal",
            "Подписка на события доступна только приложению портала, входящий вебхук её создать не может. \
             Попросите администратора портала создать локальное приложение или попробуйте на учебном портале",
        ),
        "WRONG_AUTH_TYPE" => (
            "This method is for applications of the portal; an incoming webhook cannot call it",
            "Этот метод доступен только приложениям портала, входящему вебхуку — нет",
        ),
        "insufficient_scope" => (
            "The webhook lacks the right to this part of the portal: its owner can add it in the webhook's settings",
            "У вебхука нет прав на этот раздел портала: владелец может добавить их в настройках вебхука",
        ),
        "ACCESS_DENIED" | "access_denied" | "user_access_error" => (
            "The user of the webhook has no access to this; someone with more rights must do it or grant it",
            "У пользователя вебхука нет доступа к этому; нужен человек с большими правами или выданный доступ",
        ),
        "NO_AUTH_FOUND" | "INVALID_CREDENTIALS" | "expired_token" | "http_401" => (
            "The portal does not accept the webhook: it may have been deleted or is mistyped; make a new one",
            "Портал не принимает вебхук: возможно, он удалён или указан с ошибкой; создайте новый",
        ),
        "OVERLOAD_LIMIT" => (
            "The portal has blocked requests by hand because of its load; only its support or administrator can lift that",
            "Портал вручную заблокировал запросы из-за нагрузки; снять блокировку может только поддержка или администратор",
        ),
        "ERROR_METHOD_NOT_FOUND" => (
            "The portal has no such method; check its name in the tool's file and the webhook's rights",
            "На портале нет такого метода; проверьте имя в файле инструмента и права вебхука",
        ),
        "not_found" => (
            "There is no such record, or it is not visible to the webhook",
            "Такой записи нет или она не видна вебхуку",
        ),
        _ => return None,
    };
    Some(pick(language, english, russian))
}

impl Failure {
    /// The failure as the error of a call.
    pub(super) fn into_error(self, method: &str, portal: &str, language: Language) -> CallError {
        let pick = |english, russian| pick(language, english, russian).to_owned();
        match self {
            Failure::Busy => CallError::new(
                "QUERY_LIMIT_EXCEEDED",
                pick(
                    "the portal is busy, and stayed so; try again in a minute",
                    "портал перегружен запросами; повторите через минуту",
                ),
            ),
            Failure::OutOfTime { reset_at } => {
                let when = reset_at.map(|seconds| at(seconds, language)).unwrap_or_default();
                let words = pick(
                    "the portal has used up its time for this kind of request",
                    "портал исчерпал время на такие запросы",
                );
                CallError::new("OPERATION_TIME_LIMIT", format!("{words}{when}"))
            }
            Failure::NotSent(cause) => {
                let words = pick("cannot be reached; nothing was sent", "недоступен; ничего не отправлено");
                CallError::new("unreachable", format!("{portal} {words}: {cause}"))
            }
            Failure::Lost(cause) => CallError::new("lost_answer", format!("{portal}: {cause}")),
            Failure::TooLarge => CallError::new(
                "output_too_large",
                pick(
                    "the answer is too large; ask for fewer rows or fields",
                    "ответ слишком большой; запросите меньше строк или полей",
                ),
            ),
            Failure::Portal(error) => CallError::new(error.plain_code(), error.words(method, language)),
            Failure::Wrong(error) => error,
        }
    }
}

/// When, and how long that is.
fn at(seconds: u64, language: Language) -> String {
    let time = Time(i64::try_from(seconds).unwrap_or_default().saturating_mul(1000));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let minutes = Duration::from_secs(seconds).saturating_sub(now).as_secs().div_ceil(60);
    match language {
        Language::English => format!("; it takes them again at {time} (in {minutes} min)"),
        Language::Russian => format!("; снова принимает с {time} (через {minutes} мин)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b24_10_errors_are_passed_on_with_code_description_and_plain_words() {
        for (code, description, method, expected_code, words) in [
            ("", "Not found", "crm.deal.get", "not_found", "Not found. There is no such record"),
            ("", "Access denied.", "crm.deal.get", "access_denied", "has no access"),
            ("", "ID is not defined or invalid.", "crm.deal.get", "bad_id", "ID is not defined or invalid."),
            (
                "insufficient_scope",
                "",
                "tasks.task.list",
                "insufficient_scope",
                "insufficient_scope. The webhook lacks",
            ),
            ("WRONG_AUTH_TYPE", "x", "event.bind", "WRONG_AUTH_TYPE", "Subscriptions to events"),
            ("WRONG_AUTH_TYPE", "x", "app.info", "WRONG_AUTH_TYPE", "for applications"),
            ("ERROR_CORE", "Сумма неверна", "crm.deal.update", "ERROR_CORE", "ERROR_CORE: Сумма неверна"),
            ("", "", "crm.deal.update", "portal_error", "the portal refused it"),
        ] {
            let error = Failure::Portal(PortalError::new(code, description)).into_error(method, "p", Language::English);
            assert_eq!(error.code, expected_code);
            assert!(error.message.contains(words), "{}", error.message);
        }
    }

    #[test]
    fn hints_are_in_the_language_of_the_agent() {
        let error =
            Failure::Portal(PortalError::new("", "Not found")).into_error("crm.deal.get", "p", Language::Russian);
        assert_eq!(error.message, "Not found. Такой записи нет или она не видна вебхуку");
        let late = Failure::OutOfTime { reset_at: Some(1_700_000_000) }.into_error("m", "p", Language::Russian);
        assert!(late.message.contains("2023-11-14T22:13:20Z"), "{}", late.message);
    }

    #[test]
    fn what_the_portal_says_cannot_steer_a_terminal() {
        let error =
            Failure::Portal(PortalError::new("X\u{1b}[2J", "a\u{202e}b")).into_error("m", "p", Language::English);
        assert!(!error.message.contains(['\u{1b}', '\u{202e}']), "{}", error.message);
    }
}
