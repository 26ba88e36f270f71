//! Ids of calls, requests and questions.
//!
//! An id names something in one session: a call `2.0`, a request `7`, a question `q3`. In a delegate, the jobs that
//! lead there come first, outermost first: `2.0/q3`. Ids are parsed once, at the boundary, and are text everywhere
//! outside.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A call of a step, for one instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct JobRef {
    /// The step.
    pub(crate) step: u32,
    /// The job's place in it.
    pub(crate) job: u32,
}

impl JobRef {
    /// The job at a place of a step.
    pub(crate) fn new(step: u32, job: usize) -> Self {
        Self { step, job: u32::try_from(job).unwrap_or(u32::MAX) }
    }

    /// The job's place in its step.
    pub(crate) fn index(self) -> usize {
        self.job as usize
    }
}

impl fmt::Display for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.step, self.job)
    }
}

impl FromStr for JobRef {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let parts = text.split_once('.').and_then(|(step, job)| Some((step.parse().ok()?, job.parse().ok()?)));
        parts.map(|(step, job)| Self { step, job }).ok_or_else(|| BadId::of(text))
    }
}

/// The id of a started call.
pub type CallId = Routed<LocalCall>;
/// The id of a request to the model.
pub type RequestId = Routed<RequestNumber>;
/// The id of a question.
pub type QuestionId = Routed<QuestionNumber>;

/// Something in a session, or in one of its delegates.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Routed<T> {
    /// The jobs that lead to the delegate, outermost first; empty for the session itself.
    route: Vec<JobRef>,
    local: T,
}

/// A call within one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LocalCall {
    /// A call of a step.
    Job(JobRef),
    /// A call that was started before its answer was complete.
    Early {
        /// The request that is being answered.
        request: u64,
        /// The call's place in the answer.
        index: u32,
    },
    /// A read that shows what a question would change.
    PreviewRead {
        /// The question.
        question: u64,
        /// The call's place in the question.
        call: u32,
    },
}

/// The number of a request in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestNumber(pub(crate) u64);

/// The number of a question in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuestionNumber(pub(crate) u64);

/// A text that is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id")]
pub struct BadId(String);

impl BadId {
    fn of(text: &str) -> Self {
        Self(crate::visible(text))
    }
}

impl<T> Routed<T> {
    /// The id of something in the session itself.
    pub(crate) fn own(local: T) -> Self {
        Self { route: Vec::new(), local }
    }

    /// The same thing, seen from the session whose job the delegate carries out.
    pub(crate) fn below(mut self, job: JobRef) -> Self {
        self.route.insert(0, job);
        self
    }

    /// The jobs that lead to the delegate, outermost first.
    pub(crate) fn route(&self) -> &[JobRef] {
        &self.route
    }

    /// Removes the first job of the route, if there is one.
    pub(crate) fn pop_job(&mut self) -> Option<JobRef> {
        (!self.route.is_empty()).then(|| self.route.remove(0))
    }
}

impl<T> Routed<T> {
    /// The step and index of the call whose delegate this is in; none in the session itself.
    pub fn delegate_place(&self) -> Option<(u32, u32)> {
        self.route.first().map(|job| (job.step, job.job))
    }

    /// The calls whose delegates lead to it, outermost first.
    pub fn callers(&self) -> Vec<CallId> {
        let caller = |(depth, job): (usize, &JobRef)| Routed {
            route: self.route[..depth].to_vec(),
            local: LocalCall::Job(*job),
        };
        self.route.iter().enumerate().map(caller).collect()
    }
}

impl Routed<RequestNumber> {
    /// Whether it is the first request of its session or delegate.
    pub fn is_first(&self) -> bool {
        self.local.0 == 1
    }
}

impl Routed<LocalCall> {
    /// The id of the call at a step and index of the session itself.
    pub fn at((step, job): (u32, u32)) -> Self {
        Self::own(LocalCall::Job(JobRef { step, job }))
    }

    /// Whether it is a read that shows what a question would change.
    pub fn is_preview_read(&self) -> bool {
        matches!(self.local, LocalCall::PreviewRead { .. })
    }

    /// The step and index of a call of the session itself, as in its report.
    pub fn place(&self) -> Option<(u32, u32)> {
        match self.local()? {
            LocalCall::Job(at) => Some((at.step, at.job)),
            LocalCall::Early { .. } | LocalCall::PreviewRead { .. } => None,
        }
    }
}

impl<T: Copy> Routed<T> {
    /// The id within the session or delegate that it belongs to.
    pub(crate) fn within(&self) -> T {
        self.local
    }

    /// The id within the session; none if it is in a delegate.
    pub(crate) fn local(&self) -> Option<T> {
        self.route.is_empty().then_some(self.local)
    }
}

impl<T: fmt::Display> fmt::Display for Routed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for job in &self.route {
            write!(f, "{job}/")?;
        }
        self.local.fmt(f)
    }
}

impl<T: FromStr> FromStr for Routed<T> {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId::of(text);
        let (route, local) = match text.rsplit_once('/') {
            Some((route, local)) => {
                (route.split('/').map(str::parse).collect::<Result<_, _>>().map_err(|_| bad())?, local)
            }
            None => (Vec::new(), text),
        };
        Ok(Self { route, local: local.parse().map_err(|_| bad())? })
    }
}

impl<T: fmt::Display> Serialize for Routed<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de, T: FromStr> Deserialize<'de> for Routed<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'_, str>::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for LocalCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LocalCall::Job(job) => job.fmt(f),
            LocalCall::Early { request, index } => write!(f, "e{request}.{index}"),
            LocalCall::PreviewRead { question, call } => write!(f, "q{question}:{call}"),
        }
    }
}

impl FromStr for LocalCall {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let two = |text: &str, sign: char| -> Option<(u64, u32)> {
            let (first, second) = text.split_once(sign)?;
            Some((first.parse().ok()?, second.parse().ok()?))
        };
        let early = || two(text.strip_prefix('e')?, '.').map(|(request, index)| LocalCall::Early { request, index });
        let preview =
            || two(text.strip_prefix('q')?, ':').map(|(question, call)| LocalCall::PreviewRead { question, call });
        let job = text.parse().ok().map(LocalCall::Job);
        job.or_else(early).or_else(preview).ok_or_else(|| BadId::of(text))
    }
}

impl fmt::Display for RequestNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RequestNumber {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        text.parse().map(Self).map_err(|_| BadId::of(text))
    }
}

impl fmt::Display for QuestionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q{}", self.0)
    }
}

impl FromStr for QuestionNumber {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let number = text.strip_prefix('q').and_then(|number| number.parse().ok());
        number.map(Self).ok_or_else(|| BadId::of(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_and_read_back() {
        for text in ["0.1", "2.0/7.13", "e3.1", "4.0/e3.1", "q1:0", "1.0/2.0/q1:4"] {
            assert_eq!(text.parse::<CallId>().unwrap().to_string(), text);
        }
        for text in ["q1", "3.1/q12"] {
            assert_eq!(text.parse::<QuestionId>().unwrap().to_string(), text);
        }
        for text in ["1", "3.1/12"] {
            assert_eq!(text.parse::<RequestId>().unwrap().to_string(), text);
        }
        for text in ["", "q", "0", "0.", ".1", "-1.0", "0.1/", "/0.1", "a/0.1", "0.1 ", "e1", "q1:", "9999999999.0"] {
            assert!(text.parse::<CallId>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_id_addresses_nested_delegates_level_by_level() {
        let mut id: QuestionId = "2.0/7.1/q3".parse().unwrap();
        assert_eq!((id.local(), id.pop_job().unwrap().to_string()), (None, "2.0".to_owned()));
        assert_eq!(id.clone().below("2.0".parse().unwrap()).to_string(), "2.0/7.1/q3");
        assert_eq!((id.pop_job().unwrap().to_string(), id.pop_job()), ("7.1".to_owned(), None));
        assert_eq!(id.local(), Some(QuestionNumber(3)));
    }
}
