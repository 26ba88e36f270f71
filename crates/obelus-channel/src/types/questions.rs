//! Questions, answers and standing consents.

use obelus_kernel::session::{About, QuestionStatus};
use obelus_runtime::people::{AnswerKind, QuestionView};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
#[cfg(feature = "http")]
use utoipa::ToSchema;

/// A question to a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct QuestionRow {
    /// The id by which it is answered: `SESSION:QUESTION`.
    pub id: String,
    /// The session.
    pub session: String,
    /// Its agent.
    pub agent: String,
    /// What it is about in one line.
    pub headline: String,
    /// What it is about: `call`, `plan`, `input` or `in_doubt`.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub about: About,
    /// `requested` while it waits, else `approved`, `denied`, `answered` or `expired`.
    #[cfg_attr(feature = "http", schema(value_type = String))]
    pub status: QuestionStatus,
    /// When it was asked.
    pub requested_at: String,
    /// When it expires.
    pub expires_at: String,
    /// What an answer may be: `approve`, `deny`, `edit`, `value`, `happened`, `did_not`, `consent`.
    #[serde(deserialize_with = "AnswerKind::known")]
    #[cfg_attr(feature = "http", schema(value_type = Vec<String>))]
    pub answers: Vec<AnswerKind>,
    /// The digest of what is shown. An answer with it is refused if the question has changed since.
    pub digest: String,
    /// The calls it is about.
    pub calls: Vec<Value>,
    /// What it is about, in the words of the journal.
    pub description: String,
    /// Why it is asked, in the words of the journal.
    pub reasons: Vec<String>,
    /// The schema of the value, if one is requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The question for people, as data.
    #[cfg_attr(feature = "http", schema(value_type = crate::schemas::QuestionShape))]
    pub view: QuestionView,
    /// The same as lines of text.
    pub text: String,
    /// Standing consents that an approval can include.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consents: Vec<ConsentOffer>,
    /// Whether there is a picture of its page: `/questions/{question}/picture`.
    pub has_picture: bool,
    /// Who answered, and from where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The same in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_words: Option<String>,
    /// When it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// Why it was denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The decision, if the question is requested by its id: `approve`, `deny`, `edit`, `value`, `happened`, `did_not`,
    /// `consent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "http", schema(value_type = Option<String>))]
    pub decision: Option<AnswerKind>,
}

/// A standing consent that an approval can include.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ConsentOffer {
    /// The kind of scope: `records`, `person`, `site` or `tool`.
    pub scope: String,
    /// What it covers, in words.
    pub covers: String,
    /// The code for the answer, so that the consent covers exactly what was shown.
    pub code: String,
}

/// A standing consent, in force or ended.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct ConsentRow {
    /// Its id, such as `c1`.
    pub id: String,
    /// What it covers, in words.
    pub covers: String,
    /// Whether it is in force.
    pub holds: bool,
    /// Who gave it, and from where.
    pub by: String,
    /// When.
    pub at: String,
    /// When it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// How many calls ran because of it.
    pub uses: u32,
}

/// Which questions are wanted.
#[derive(Clone, Debug, Default)]
pub struct InboxFilter {
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those of sessions with this agent.
    pub agent: Option<String>,
    /// Only those about this: `call`, `plan`, `input` or `in_doubt`.
    pub about: Option<String>,
    /// Only those that contain this text.
    pub text: Option<String>,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub enum AnswerBody {
    /// Yes, as it was shown.
    Approve {
        /// Indexes of calls; by default all open ones. Other calls of a plan are left out of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Vec<usize>>,
    },
    /// No.
    Deny {
        /// Why.
        #[serde(default)]
        reason: String,
        /// Indexes of calls; the others stay open. By default all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Vec<usize>>,
    },
    /// Yes, with these parameters instead.
    Edit {
        /// The parameters that replace those of the same name.
        params: Map<String, Value>,
    },
    /// The value that was asked for.
    Value {
        /// The value.
        value: Value,
    },
    /// The effect in doubt did happen.
    Happened {
        /// Its result, if it is known.
        #[serde(default)]
        result: Value,
    },
    /// The effect in doubt did not happen: it runs now.
    // Messages of sessions spell it as the command line does.
    #[serde(alias = "did-not")]
    DidNot,
    /// Yes, and for the rest of the session to what one of `consents` covers.
    Consent {
        /// The code of the offer.
        code: String,
        /// When it ends; by default with the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
}

/// An answer, and the digest of its question
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "http", derive(ToSchema))]
pub struct AnswerRequest {
    /// The decision.
    #[serde(flatten)]
    pub answer: AnswerBody,
    /// The `digest` of the question as shown: the answer is refused if the question has changed since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}
