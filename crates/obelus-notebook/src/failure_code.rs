//! Stable codes of failures: of calls, of requests to the model, and of turns that end without a result.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

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
            /// Any other code.
            Other(String),
        }

        impl From<&str> for FailureCode {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    _ => Self::numbered(text).unwrap_or_else(|| Self::Other(text.to_owned())),
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
    BadSettings "bad_settings" "The settings of the model are wrong.";
    CutOff "cut_off" "The connection ended in the midst of the model's answer.";
    Declined "declined" "The model declined to answer.";
    Empty "empty" "The model answered nothing.";
    Forbidden "forbidden" "The key does not permit the request.";
    LostAnswer "lost_answer" "The connection broke before the answer was complete.";
    NoKey "no_key" "There is no key for the model.";
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
    Quota "quota" "The model's account has run out.";
    RateLimited "rate_limited" "The server takes fewer requests.";
    Redirected "redirected" "The answer leads to another page.";
    ResultNotKept "result_not_kept" "The effect happened, and its result could not be kept.";
    SameFailure "same_failure" "The same call failed in the same way again and again.";
    ServerError "server_error" "The server failed.";
    Stopped "stopped" "It was stopped.";
    Timeout "timeout" "There was no result in time.";
    TimeoutFirstByte "timeout_first_byte" "The model did not begin to answer in time.";
    TimeoutIdle "timeout_idle" "The model's answer paused too long.";
    TimeoutTotal "timeout_total" "The model's answer took too long.";
    TooLarge "too_large" "The answer is too large.";
    Unauthorised "unauthorised" "The server does not take the key.";
    UnknownModel "unknown_model" "The server has no such model.";
    Unreachable "unreachable" "The server cannot be reached.";
}

impl FailureCode {
    fn numbered(text: &str) -> Option<Self> {
        fn number<T: FromStr + ToString>(text: &str) -> Option<T> {
            text.parse().ok().filter(|number: &T| number.to_string() == text)
        }
        match text.split_once('_')? {
            ("http", status) => number(status).map(Self::Http),
            ("exit", code) => number(code).map(Self::Exit),
            ("signal", signal) => number(signal).map(Self::Signal),
            _ => None,
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
            ("DEL-1", FailureCode::Other("DEL-1".to_owned())),
            ("", FailureCode::Other(String::new())),
        ] {
            assert_eq!(read(text), code);
            assert_eq!(serde_json::to_value(code).unwrap(), text);
        }
    }
}
