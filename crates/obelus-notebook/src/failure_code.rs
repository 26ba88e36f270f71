//! Stable codes of failures: of calls, of requests to the model, and of turns that end without a result.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::fault::Rule;

/// Declares the codes: the variant, the text, the meaning.
macro_rules! codes {
    ($($variant:ident $text:literal $doc:literal;)*) => {
        /// Why a call, a request to the model or a turn failed. Services, programs and agents have codes of their own,
        /// so the list is open: it has the codes that this program itself looks at. In JSON a code is its text. Codes
        /// are read from texts with `from`, so that one text is always the same code.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum FailureCode {
            $(#[doc = $doc] $variant,)*
            /// `http_404`: a server answered with this status.
            Http(u16),
            /// `exit_3`: a program ended with this code.
            Exit(i32),
            /// `signal_9`: a program was killed by this signal.
            Signal(i32),
            /// `DEL-1`: the rule that was broken.
            Rule(Rule),
            /// `delegate_timeout`: a delegate ended with this code.
            Delegate(Box<FailureCode>),
            /// Any other code: of a service, a program or an agent.
            Other(String),
        }

        impl From<&str> for FailureCode {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    _ => Self::composed(text).unwrap_or_else(|| Self::Other(text.to_owned())),
                }
            }
        }

        impl fmt::Display for FailureCode {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant => f.write_str($text),)*
                    Self::Http(status) => write!(f, "http_{status}"),
                    Self::Exit(code) => write!(f, "exit_{code}"),
                    Self::Signal(signal) => write!(f, "signal_{signal}"),
                    Self::Rule(rule) => rule.fmt(f),
                    Self::Delegate(code) => write!(f, "{DELEGATE}{code}"),
                    Self::Other(text) => f.write_str(text),
                }
            }
        }
    };
}

codes! {
    BadAnswer "bad_answer" "The answer is not one of a model's server.";
    BadOutput "bad_output" "The output of an activity cannot be read.";
    BadRequest "bad_request" "The server takes no such request.";
    BadResult "bad_result" "The result is not what the tool returns.";
    BadRow "bad_row" "A row of a result cannot be told from the others.";
    BadSettings "bad_settings" "The settings of the model are wrong.";
    CutOff "cut_off" "The connection ended in the midst of the model's answer.";
    Declined "declined" "The model declined to answer.";
    DelegateUnreadable "delegate_unreadable" "The request of a delegate cannot be read.";
    Denied "denied" "A person denied the call.";
    Empty "empty" "The model answered nothing.";
    Ended "ended" "A delegate ended without a result.";
    Forbidden "forbidden" "The key does not permit the request.";
    Graph "graph" "The agent's graph of steps has an error.";
    InDoubt "in_doubt" "Nobody said in time whether the effect happened.";
    KindInUse "kind_in_use" "The kind for the rows of a result is in use.";
    Leaves "leaves" "What the tool declares beside its result cannot be written.";
    Limit "limit" "The turn reached a limit.";
    Lost "lost" "The answer was lost.";
    LostAnswer "lost_answer" "The connection broke before the answer was complete.";
    NoActivity "no_activity" "There is no such activity.";
    NoKey "no_key" "There is no key for the model.";
    NoKind "no_kind" "The call names no kind for the rows of its result.";
    NoModel "no_model" "There is no model.";
    NoResult "no_result" "A person did not give the result of the call before it.";
    NoRows "no_rows" "The list of the call has no rows, which is not a failure.";
    NoSecret "no_secret" "A secret is not set.";
    NotChosen "not_chosen" "The branch of the call was not chosen.";
    NotStarted "not_started" "The turn ended before the call could start.";
    NotUtf8 "not_utf8" "The answer is not UTF-8.";
    NoValue "no_value" "A value that the call needs never came.";
    OutOfFormat "out_of_format" "The model's answers could not be parsed.";
    OutputTooLarge "output_too_large" "The output of an activity is too large.";
    PlanDenied "plan_denied" "A person denied the plan.";
    Quota "quota" "The model's account has run out.";
    RateLimited "rate_limited" "The server takes fewer requests.";
    Redirected "redirected" "The answer leads to another page.";
    ResultNotKept "result_not_kept" "The effect happened, and its result could not be kept.";
    ResultTooLarge "result_too_large" "The result is larger than what is kept.";
    SameFailure "same_failure" "The same call failed in the same way again and again.";
    ServerError "server_error" "The server failed.";
    Stopped "stopped" "It was stopped.";
    Timeout "timeout" "There was no result in time.";
    TimeoutFirstByte "timeout_first_byte" "The model did not begin to answer in time.";
    TimeoutIdle "timeout_idle" "The model's answer paused too long.";
    TimeoutTotal "timeout_total" "The model's answer took too long.";
    TooDeep "too_deep" "Delegates are nested too deep.";
    TooLarge "too_large" "The answer is too large.";
    TooMany "too_many" "A result has too many rows.";
    Unauthorised "unauthorised" "The server does not take the key.";
    UnknownModel "unknown_model" "The server has no such model.";
    Unreachable "unreachable" "The server cannot be reached.";
}

/// The beginning of a delegate's code.
const DELEGATE: &str = "delegate_";

impl FailureCode {
    /// The code of a delegate that ended with `code`. It is the same however many delegates it came through.
    #[must_use]
    pub fn of_delegate(code: Self) -> Self {
        match code {
            Self::Delegate(_) | Self::DelegateUnreadable => code,
            Self::Other(ref text) if text.starts_with(DELEGATE) => code,
            own => Self::Delegate(Box::new(own)),
        }
    }

    fn composed(text: &str) -> Option<Self> {
        fn number<T: FromStr + ToString>(text: &str) -> Option<T> {
            text.parse().ok().filter(|number: &T| number.to_string() == text)
        }
        // A service's code may repeat the prefix without end; it is kept as a text.
        if let Some(code) = text.strip_prefix(DELEGATE).filter(|code| !code.starts_with(DELEGATE)) {
            return Some(Self::Delegate(Box::new(code.into())));
        }
        match text.split_once('_') {
            Some(("http", status)) => number(status).map(Self::Http),
            Some(("exit", code)) => number(code).map(Self::Exit),
            Some(("signal", signal)) => number(signal).map(Self::Signal),
            _ => Rule::named(text).map(Self::Rule),
        }
    }
}

impl From<String> for FailureCode {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<FailureCode> for String {
    fn from(code: FailureCode) -> Self {
        code.to_string()
    }
}

impl PartialEq<&str> for FailureCode {
    fn eq(&self, text: &&str) -> bool {
        let code = Self::from(*text);
        *self == code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_a_code_and_stays_as_it_is() {
        let read = |text: &str| serde_json::from_value::<FailureCode>(text.into()).unwrap();
        for (text, code) in [
            ("timeout", FailureCode::Timeout),
            ("http_404", FailureCode::Http(404)),
            ("exit_-1", FailureCode::Exit(-1)),
            ("signal_9", FailureCode::Signal(9)),
            ("http_0404", FailureCode::Other("http_0404".to_owned())),
            ("exit_+3", FailureCode::Other("exit_+3".to_owned())),
            ("DEL-1", FailureCode::Rule(Rule::Del1)),
            ("DEL-x", FailureCode::Other("DEL-x".to_owned())),
            ("delegate_exit_3", FailureCode::of_delegate(FailureCode::Exit(3))),
            ("delegate_unreadable", FailureCode::of_delegate(FailureCode::DelegateUnreadable)),
            ("delegate_", FailureCode::of_delegate(FailureCode::Other(String::new()))),
            ("", FailureCode::Other(String::new())),
        ] {
            assert_eq!(read(text), code);
            assert_eq!(serde_json::to_value(code).unwrap(), text);
        }
    }

    #[test]
    fn a_prefix_that_a_service_repeats_without_end_is_a_plain_text() {
        let text = "delegate_".repeat(100_000);
        let code = FailureCode::from(text.as_str());
        assert_eq!(code, FailureCode::Other(text.clone()));
        assert_eq!(FailureCode::of_delegate(code).to_string(), text);
    }
}
