//! What is wrong, where, and which rule says so.

use std::fmt;

/// A rule of the behaviour that an input broke. Its name is stable: programs and models act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A message of an unknown type, of the wrong shape, or nested too deep.
    Ctx3,
    /// A write that cannot be folded into what is there.
    Ctx4,
    /// A written value that breaks the schema of its kind.
    Ctx7,
    /// A path that may not be written.
    Ctx11,
    /// An expression that cannot be read.
    Ctx12,
    /// A latent call without its output.
    Call1,
    /// A call that does not fit its tool: name, parameters, scopes or instance.
    Call3,
    /// An activity's message outside of what its call may write.
    Call5,
    /// Calls that wait for each other.
    Plan2,
    /// A reference that nobody feeds and nobody has.
    Plan4,
    /// Several writers of one path at the same time.
    Plan5,
    /// A latent call that has not chosen its path.
    Plan8,
    /// A lazy plan that carries results.
    Plan9,
    /// A value written as one type and read as another.
    Plan11,
    /// A tool that is not well defined.
    Tool1,
    /// A tool that names an activity which does not exist.
    Tool3,
    /// An output that breaks the schema of the request.
    Loop1,
    /// A call that the mode does not permit.
    Pol1,
    /// A call that the policy does not permit.
    Pol2,
    /// A delegate that is not allowed.
    Del1,
}

impl Rule {
    /// The name by which the rule is known, such as `CTX-3`.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Ctx3 => "CTX-3",
            Rule::Ctx4 => "CTX-4",
            Rule::Ctx7 => "CTX-7",
            Rule::Ctx11 => "CTX-11",
            Rule::Ctx12 => "CTX-12",
            Rule::Call1 => "CALL-1",
            Rule::Call3 => "CALL-3",
            Rule::Call5 => "CALL-5",
            Rule::Plan2 => "PLAN-2",
            Rule::Plan4 => "PLAN-4",
            Rule::Plan5 => "PLAN-5",
            Rule::Plan8 => "PLAN-8",
            Rule::Plan9 => "PLAN-9",
            Rule::Plan11 => "PLAN-11",
            Rule::Tool1 => "TOOL-1",
            Rule::Tool3 => "TOOL-3",
            Rule::Loop1 => "LOOP-1",
            Rule::Pol1 => "POL-1",
            Rule::Pol2 => "POL-2",
            Rule::Del1 => "DEL-1",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A breach of a rule, with the place at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// The rule that was broken.
    pub rule: Rule,
    /// Index of the message in its batch or context.
    pub message: Option<usize>,
    /// Index of the call in its plan or solution.
    pub call: Option<usize>,
    /// The field at fault, such as `filter.items[0]`; empty for the whole.
    pub field: String,
    /// What is wrong and what would be right.
    pub text: String,
}

impl Fault {
    /// A fault whose place is filled in by the callers that know it.
    pub fn new(rule: Rule, text: impl Into<String>) -> Self {
        Self { rule, message: None, call: None, field: String::new(), text: text.into() }
    }

    /// What is wrong and at which field, for whoever knows the rule and the call already.
    pub fn words(&self) -> String {
        if self.field.is_empty() { self.text.clone() } else { format!("`{}`: {}", self.field, self.text) }
    }

    /// The same fault, in the message of this index.
    #[must_use]
    pub fn in_message(mut self, index: usize) -> Self {
        self.message.get_or_insert(index);
        self
    }

    /// The same fault, in the call of this index.
    #[must_use]
    pub fn in_call(mut self, index: usize) -> Self {
        self.call.get_or_insert(index);
        self
    }

    /// The same fault, at this field; an outer field is put before an inner one.
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
