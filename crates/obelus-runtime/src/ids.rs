//! The names by which the kernel knows what it hands out.

/// A call that was started.
pub(crate) type CallId = String;
/// A request to the model.
pub(crate) type RequestId = String;
/// A question to a person.
pub(crate) type QuestionId = String;
