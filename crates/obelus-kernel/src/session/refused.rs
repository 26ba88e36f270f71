//! Refused inputs and their errors.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::dotted;
use crate::policy::Reason;
use crate::schema::Breach;
use crate::visible::visible;
use obelus_notebook::edited::UnknownName;

/// A refused input; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Refused {
    /// A stable code.
    pub code: RefusalCode,
    /// The error and the remedy.
    pub text: String,
    /// The same for channels with their own texts, if a person gave an invalid value or name.
    pub misfit: Option<Box<InvalidValue>>,
}

/// Why a person's value or name does not fit. Channels translate by variant and keyword.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvalidValue {
    /// A value violates its schema.
    Schema {
        /// The place in the value, as a dotted path; empty for the whole.
        place: String,
        /// The violated keyword, such as `type` or `required`.
        keyword: String,
        /// What the keyword requires: a limit, the valid types or values, the missing name, the unexpected names.
        demand: Value,
    },
    /// The call has no parameter of this name.
    UnknownParam(UnknownName),
    /// The policy forbids it.
    Policy(Reason),
}

impl Refused {
    /// A refusal with a code and a text.
    pub fn new(code: RefusalCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), misfit: None }
    }

    /// A person's value or name does not fit.
    pub(super) fn misfit(code: RefusalCode, text: impl Into<String>, misfit: InvalidValue) -> Self {
        Self { misfit: Some(Box::new(misfit)), ..Self::new(code, text) }
    }

    /// A person's value violates its schema.
    pub(super) fn breach(code: RefusalCode, breach: Breach) -> Self {
        let Breach { place, keyword, demand, text, .. } = breach;
        let place = visible(&dotted(&place));
        let text = if place.is_empty() { text } else { format!("`{place}`: {text}") };
        Self::misfit(code, text, InvalidValue::Schema { place, keyword, demand })
    }
}

/// Declares the codes: the variant, the name, the meaning.
macro_rules! codes {
    ($($variant:ident $name:literal $doc:literal;)*) => {
        /// Why an input was refused, as a stable code. Drivers refuse with codes of this list too.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "String", into = "&'static str")]
        pub enum RefusalCode {
            $(#[doc = $doc] $variant,)*
            /// Any other reason, such as one of a newer version.
            Refused,
        }

        impl RefusalCode {
            /// The name of the code.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Refused => "refused",
                }
            }

            /// The code of this name.
            pub fn named(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    _ => Self::Refused,
                }
            }
        }
    };
}

codes! {
    AlreadyDecided "already_decided" "The question is decided already.";
    AtWork "at_work" "A turn is running, which must end first.";
    BadAnswer "bad_answer" "The value does not fit what the question asks for.";
    BadEdit "bad_edit" "The edit does not fit the call.";
    BadEvent "bad_event" "The event is invalid.";
    BadPicture "bad_picture" "The picture is invalid.";
    BadRules "bad_rules" "The rules of the agent's file are invalid.";
    BadState "bad_state" "The edited state is invalid.";
    ConsentEnded "consent_ended" "The standing consent has ended.";
    ConsentInDelegate "consent_in_delegate" "Delegates take no standing consents.";
    Damaged "damaged" "A part of the session that is needed cannot be read.";
    Ending "ending" "The turn is ending at a limit or a stop.";
    Expired "expired" "The question has expired.";
    Gone "gone" "The session has ended.";
    IdReused "id_reused" "The id of the input was used for another one (DUR-13).";
    Internal "internal" "The work was not done because of a fault of this program.";
    NoPlan "no_plan" "There is no plan to run.";
    NotDurable "not_durable" "The journal could not be written: nothing was stored or done.";
    NotFromOutside "not_from_outside" "Such an input comes from the runtime alone.";
    NotInThisMode "not_in_this_mode" "The mode does not permit the call.";
    NotSupported "not_supported" "This engine does not support it.";
    OutcomeUnknown "outcome_unknown" "A sync failed: whether the input was stored is known when the store is opened again.";
    Paused "paused" "The session is paused.";
    QuestionChanged "question_changed" "The question is not the one that was shown.";
    SeveralCalls "several_calls" "The question is about several calls: the edit must name one.";
    TooManyPictures "too_many_pictures" "A message takes fewer pictures.";
    UnfitAnswer "unfit_answer" "The question does not take this answer.";
    UnfitConsent "unfit_consent" "The call cannot have a standing consent.";
    UnknownCall "unknown_call" "There is no such call.";
    UnknownConsent "unknown_consent" "There is no such standing consent.";
    UnknownQuestion "unknown_question" "There is no such question.";
    Unreachable "unreachable" "The cluster cannot be reached.";
    Unreadable "unreadable" "What was stored cannot be read.";
    Unsupported "unsupported" "The protocol of the client has no such thing here.";
}

impl From<String> for RefusalCode {
    fn from(name: String) -> Self {
        Self::named(&name)
    }
}

impl From<RefusalCode> for &'static str {
    fn from(code: RefusalCode) -> Self {
        code.name()
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
