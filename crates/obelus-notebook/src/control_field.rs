//! Control fields of calls: they stand beside the parameters, and control the engine (CALL-1).

/// Declares the control fields, in the order in which texts list them.
macro_rules! control_fields {
    ($($(#[$doc:meta])* $field:ident = $name:literal,)*) => {
        /// A field of a call that controls the engine, unless the tool declares a parameter of this name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ControlField {
            $($(#[$doc])* $field,)*
        }

        impl ControlField {
            /// The names of all control fields.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            /// Its name in a call.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$field => $name,)*
                }
            }

            /// The control field with a name.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$field),)*
                    _ => None,
                }
            }
        }
    };
}

control_fields! {
    /// The model wants a person to check the call.
    RequiresConfirmation = "requires_confirmation",
    /// The model reports that the user agreed.
    Confirmed = "confirmed",
    /// The decision of the user that the model reports.
    ConfirmationDecision = "confirmation_decision",
    /// The reason for the confirmation, or for the decision.
    ConfirmationReason = "confirmation_reason",
    /// A remark for people.
    Comment = "comment",
    /// The method of an HTTP request.
    HttpMethod = "http_method",
}
