//! Faults: what is wrong, where, and by which rule.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Declares the rules, each with its meaning and its stable name.
macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident = $name:literal,)*) => {
        /// A rule that an input broke. Programs and models use its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// The stable name, such as `CTX-3`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Rule::$rule => $name,)*
                }
            }

            /// The rule with a name.
            pub(crate) fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Rule::$rule),)*
                    _ => None,
                }
            }
        }
    };
}

rules! {
    /// A message of an unknown type, of the wrong shape, or nested too deep.
    Ctx3 = "CTX-3",
    /// A write that cannot be combined with the value at its path.
    Ctx4 = "CTX-4",
    /// A written value that breaks the schema of its kind.
    Ctx7 = "CTX-7",
    /// A text that looks like a reference.
    Ctx9 = "CTX-9",
    /// A path that may not be written.
    Ctx11 = "CTX-11",
    /// An invalid expression.
    Ctx12 = "CTX-12",
    /// A model call without its output.
    Call1 = "CALL-1",
    /// A call that does not fit its tool: name, parameters, scopes or instance.
    Call3 = "CALL-3",
    /// A scope that names nothing.
    Call4 = "CALL-4",
    /// An activity's message outside of the paths that its call may write.
    Call5 = "CALL-5",
    /// Calls that depend on each other in a cycle.
    Plan2 = "PLAN-2",
    /// A reference without a value that no call writes.
    Plan4 = "PLAN-4",
    /// Several writers of one path at the same time.
    Plan5 = "PLAN-5",
    /// A model call without a chosen path.
    Plan8 = "PLAN-8",
    /// A lazy plan that contains results.
    Plan9 = "PLAN-9",
    /// A value written as one type and read as another.
    Plan11 = "PLAN-11",
    /// A saved plan that contains a result of the model.
    Plan12 = "PLAN-12",
    /// An invalid definition of a tool.
    Tool1 = "TOOL-1",
    /// A tool whose activity does not exist.
    Tool3 = "TOOL-3",
    /// An unknown annotation of a tool, or one that it lacks.
    Tool4 = "TOOL-4",
    /// A wrong or unused binding.
    Tool7 = "TOOL-7",
    /// An output that breaks the schema of the request.
    Loop1 = "LOOP-1",
    /// A call that the mode does not permit.
    Pol1 = "POL-1",
    /// A call that the policy does not permit.
    Pol2 = "POL-2",
    /// A rule of a policy that matches nothing.
    Pol3 = "POL-3",
    /// A delegate that is not allowed.
    Del1 = "DEL-1",
    /// Parameters that do not fit the input of a delegate.
    Del2 = "DEL-2",
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'_, str>::deserialize(from)?;
        Rule::named(&name).ok_or_else(|| D::Error::custom(format!("there is no rule `{name}`")))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A breach of a rule, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// The rule that was broken.
    pub rule: Rule,
    /// Index of the message in its batch or context.
    pub message: Option<usize>,
    /// Index of the call in its plan or solution.
    pub call: Option<usize>,
    /// The invalid field, such as `filter.items[0]`; empty for the whole.
    pub field: String,
    /// What is wrong and what would be correct.
    pub text: String,
    /// What programs need to know besides the text.
    pub detail: Option<Box<FaultDetail>>,
}

/// What programs need to know of a fault besides its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultDetail {
    /// The column of an expression that cannot be parsed, counted from 1.
    Column(usize),
    /// The required property that the value in the field lacks.
    MissingProperty(Box<str>),
    /// The schema itself is invalid, not the data.
    InvalidSchema,
}

impl Fault {
    /// A fault without a position; callers add it.
    pub fn new(rule: Rule, text: impl Into<String>) -> Self {
        Self { rule, message: None, call: None, field: String::new(), text: text.into(), detail: None }
    }

    /// A fault at a column of an expression, counted from 1.
    pub(crate) fn at_column(rule: Rule, column: usize, text: impl fmt::Display) -> Self {
        let detail = Some(Box::new(FaultDetail::Column(column)));
        Self { detail, ..Self::new(rule, format!("column {column}: {text}")) }
    }

    /// A fault because the value in `field` lacks a required property.
    pub(crate) fn missing_property(rule: Rule, name: &str, text: impl Into<String>) -> Self {
        Self { detail: Some(Box::new(FaultDetail::MissingProperty(name.into()))), ..Self::new(rule, text) }
    }

    /// A fault because a schema itself is invalid.
    pub(crate) fn invalid_schema(rule: Rule, text: impl Into<String>) -> Self {
        Self { detail: Some(Box::new(FaultDetail::InvalidSchema)), ..Self::new(rule, text) }
    }

    /// Whether the schema itself is invalid, not the data.
    pub fn is_of_schema(&self) -> bool {
        self.detail.as_deref() == Some(&FaultDetail::InvalidSchema)
    }

    /// The column of an expression that cannot be parsed, counted from 1.
    pub fn column(&self) -> Option<usize> {
        match self.detail.as_deref() {
            Some(FaultDetail::Column(column)) => Some(*column),
            _ => None,
        }
    }

    /// The required property that the value in `field` lacks.
    pub fn property(&self) -> Option<&str> {
        match self.detail.as_deref() {
            Some(FaultDetail::MissingProperty(name)) => Some(name),
            _ => None,
        }
    }

    /// The text with its field, without rule, message and call.
    pub fn words(&self) -> String {
        if self.field.is_empty() { self.text.clone() } else { format!("`{}`: {}", self.field, self.text) }
    }

    /// Sets the index of the message, unless it is set.
    #[must_use]
    pub fn in_message(mut self, index: usize) -> Self {
        self.message.get_or_insert(index);
        self
    }

    /// Sets the index of the call, unless it is set.
    #[must_use]
    pub fn in_call(mut self, index: usize) -> Self {
        self.call.get_or_insert(index);
        self
    }

    /// Prefixes the field with this one.
    #[must_use]
    pub fn at(mut self, field: &str) -> Self {
        if self.field.is_empty() {
            field.clone_into(&mut self.field);
        } else if self.field.starts_with('[') {
            self.field.insert_str(0, field);
        } else {
            self.field = format!("{field}.{}", self.field);
        }
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.rule)?;
        let mut places = Vec::new();
        places.extend(self.message.map(|index| format!("message {index}")));
        places.extend(self.call.map(|index| format!("call {index}")));
        if !self.field.is_empty() {
            places.push(format!("`{}`", self.field));
        }
        if !places.is_empty() {
            write!(f, "{}: ", places.join(", "))?;
        }
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_its_rule_and_its_place() {
        let fault = Fault::new(Rule::Ctx12, "expected a segment").at("[1]").at("filter").in_call(2);
        assert_eq!(fault.to_string(), "CTX-12: call 2, `filter[1]`: expected a segment");
    }
}
