//! The meaning of the buttons of cards, and the tokens that bind them to their cards.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The meaning of a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ButtonAction {
    Approve,
    /// A denial; a reason may follow.
    Deny,
    /// A denial without a reason.
    DenyNow,
    /// One step back.
    Back,
    Happened,
    DidNot,
    /// One of the values that are offered.
    Value(usize),
    /// Shows the fields that can be changed.
    Edit,
    /// Chooses the field that is to be changed.
    Field(usize),
    /// One of the values that the field can have.
    Choice(usize),
    /// Shows the standing consents that an approval can include.
    Consents,
    /// Approves, and gives the standing consent with this code, which the card describes.
    Consent(u32),
}

impl ButtonAction {
    pub(super) fn name(self) -> String {
        match self {
            Self::Approve => "a".to_owned(),
            Self::Deny => "d".to_owned(),
            Self::DenyNow => "n".to_owned(),
            Self::Back => "b".to_owned(),
            Self::Happened => "h".to_owned(),
            Self::DidNot => "x".to_owned(),
            Self::Value(index) => format!("v{index}"),
            Self::Edit => "e".to_owned(),
            Self::Field(index) => format!("f{index}"),
            Self::Choice(index) => format!("c{index}"),
            Self::Consents => "m".to_owned(),
            Self::Consent(code) => format!("g{code:08x}"),
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "a" => Self::Approve,
            "d" => Self::Deny,
            "n" => Self::DenyNow,
            "b" => Self::Back,
            "h" => Self::Happened,
            "x" => Self::DidNot,
            "e" => Self::Edit,
            "m" => Self::Consents,
            other => {
                let kind = other.chars().next()?;
                let rest = &other[kind.len_utf8()..];
                let index = || rest.parse().ok();
                match kind {
                    'v' => Self::Value(index()?),
                    'f' => Self::Field(index()?),
                    'c' => Self::Choice(index()?),
                    'g' => Self::Consent(u32::from_str_radix(rest, 16).ok()?),
                    _ => return None,
                }
            }
        })
    }

    /// Whether it only changes the view of the card and does not answer the question.
    pub(super) fn is_step(self) -> bool {
        matches!(self, Self::Deny | Self::Back | Self::Edit | Self::Field(_) | Self::Choice(_) | Self::Consents)
    }
}

/// A random token.
pub(super) fn draw_token() -> Result<String, String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system gives no random bytes: {error}"))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The token and the meaning of a pressed button.
pub(super) fn read_data(data: &str) -> Option<(&str, ButtonAction)> {
    let (token, action) = data.split_once(':')?;
    Some((token, ButtonAction::named(action)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn button_data_fits_into_64_bytes_and_is_parsed_back() {
        let (one, other) = (draw_token().unwrap(), draw_token().unwrap());
        assert!(one != other && one.len() == 22);
        let all = [
            ButtonAction::Approve,
            ButtonAction::Deny,
            ButtonAction::DenyNow,
            ButtonAction::Back,
            ButtonAction::Happened,
            ButtonAction::DidNot,
            ButtonAction::Value(7),
            ButtonAction::Edit,
            ButtonAction::Field(39),
            ButtonAction::Choice(7),
            ButtonAction::Consents,
            ButtonAction::Consent(0x0012_abcd),
        ];
        for action in all {
            let data = format!("{one}:{}", action.name());
            assert!(data.len() <= 64);
            assert_eq!(read_data(&data), Some((one.as_str(), action)));
        }
        for wrong in ["", "abc", "abc:", "abc:z", "abc:v", "abc:v-1", "abc:g", "abc:gxyz", "abc:ю"] {
            assert_eq!(read_data(wrong), None, "{wrong}");
        }
    }
}
