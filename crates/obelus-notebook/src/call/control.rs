//! The control fields of a parsed call.

use serde_json::Value;

use super::Call;
use crate::control_field::ControlField;
use crate::tool::Tool;

impl ControlField {
    /// Whether a field of a call is a control field; `tool` is the call's tool, if it is known.
    pub fn is_in_call_of(tool: Option<&Tool>, name: &str) -> bool {
        Self::named(name).is_some() && tool.is_none_or(|tool| tool.param(name).is_none())
    }
}

impl Call {
    /// Whether a field of this name is one of its control fields.
    pub fn is_control_field(&self, name: &str) -> bool {
        self.control_fields.as_ref().is_some_and(|fields| fields.contains_key(name))
    }

    /// Whether the model wants a person to check the call.
    pub fn asks_confirmation(&self) -> bool {
        self.control_field(ControlField::RequiresConfirmation) == Some(&Value::Bool(true))
    }

    /// Whether the model reports that the user agreed.
    pub fn is_confirmed(&self) -> bool {
        self.control_field(ControlField::Confirmed) == Some(&Value::Bool(true))
    }

    /// Whether the model reports that the user declined.
    pub fn is_declined(&self) -> bool {
        self.control_field(ControlField::ConfirmationDecision).is_some_and(|decision| decision == "deny")
    }

    /// The reason for the confirmation, or for the decision.
    pub fn confirmation_reason(&self) -> Option<&str> {
        self.control_field(ControlField::ConfirmationReason)?.as_str()
    }

    fn control_field(&self, field: ControlField) -> Option<&Value> {
        self.control_fields.as_ref()?.get(field.name())
    }
}
