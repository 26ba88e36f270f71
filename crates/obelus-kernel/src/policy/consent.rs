//! Standing consent (ASK-9): a rule of the session that a person gave along with an approval.
//!
//! It covers calls of one tool that set no fields other than those shown, within a scope. The gate checks it last: it
//! replaces a person's answer, and only for reasons that a person may answer in advance.

use std::collections::BTreeSet;

use obelus_notebook::canonical::{hex, write_canonical};
use obelus_notebook::consent_id::ConsentId;
use obelus_notebook::dotted::below;
use obelus_notebook::mention::addresses::{Address, addresses};
use obelus_notebook::mention::text::folded as folded_text;
use obelus_notebook::wording::plain_text;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::gate::{Proposal, Ruling};
use super::reason::Reason;
use super::{Callee, Place, values_at};
use crate::names::{PAYING, alike, folded, has_word};
use crate::time::Time;
use crate::tool::{Effect, Tool};
pub(crate) use obelus_notebook::mention::site::hosts;

/// The calls of the tool that a consent covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConsentScope {
    /// The records of a list.
    Records {
        /// The parameter with the record.
        path: String,
        /// The records.
        values: Vec<Value>,
        /// The other parameters that identify the record, such as its kind, and their values.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<(String, Value)>,
    },
    /// One person, or another addressee of the call.
    Person {
        /// The parameters with the addressee, and their values.
        values: Vec<(String, Value)>,
    },
    /// One site.
    Site {
        /// Its host.
        host: String,
    },
    /// All calls of the tool.
    Tool,
}

impl ConsentScope {
    /// The name of the kind of scope.
    pub fn name(&self) -> &'static str {
        match self {
            ConsentScope::Records { .. } => "records",
            ConsentScope::Person { .. } => "person",
            ConsentScope::Site { .. } => "site",
            ConsentScope::Tool => "tool",
        }
    }
}

/// What a consent covers: shown as text before it counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConsentTerms {
    /// The tool.
    pub tool: String,
    /// The fields that a call may set, as dotted paths without indexes.
    pub fields: Vec<String>,
    /// Which of its calls.
    pub scope: ConsentScope,
}

/// A person's consent for the rest of the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StandingConsent {
    /// Its number in the session.
    pub number: u64,
    /// What it covers.
    #[serde(flatten)]
    pub terms: ConsentTerms,
    /// Who gave it, and from where.
    pub by: String,
    /// When.
    pub at: Time,
    /// When it ends; none for the end of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
    /// Who revoked it, and when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<(Time, String)>,
    /// How many calls ran by it.
    #[serde(default)]
    pub uses: u32,
}

impl StandingConsent {
    /// Its id for people.
    pub fn id(&self) -> String {
        ConsentId(self.number).to_string()
    }

    /// Whether it is valid at this time.
    pub fn holds(&self, now: Time) -> bool {
        self.revoked.is_none() && self.until.is_none_or(|until| now < until)
    }
}

impl ConsentTerms {
    /// A short code for exactly these terms, so that a person agrees to what was shown.
    pub fn code(&self) -> String {
        let mut text = String::new();
        write_canonical(&serde_json::json!(self), &mut text);
        hex(&Sha256::digest(text)[..4])
    }

    /// Whether they cover a call that needs a person for these reasons.
    pub(super) fn answer_for(&self, proposal: &Proposal<'_>, reasons: &[Reason]) -> bool {
        let params = (proposal.params)();
        self.covers(proposal.tool, &params) && self.answer(reasons) && self.knows_addresses(proposal, &params)
    }

    /// Whether a person may answer all these reasons in advance.
    pub(crate) fn answer(&self, reasons: &[Reason]) -> bool {
        reasons.iter().all(|reason| self.answers(reason))
    }

    /// Whether every address in the texts of a call is trusted, grounded (POL-7) or named by the consent. An address
    /// from a page or a record cannot be agreed to in advance.
    fn knows_addresses(&self, proposal: &Proposal<'_>, params: &Value) -> bool {
        let callee = Callee { tool: proposal.tool, params };
        let mut knows_all = true;
        each_field(params, "", &mut |path, value| {
            let Some(text) = value.as_str().filter(|_| knows_all) else { return };
            let found = addresses(&folded_text(text));
            let is_trusted = || (proposal.origins)(Place::Path(path)).is_some_and(|origins| origins.is_trusted());
            let is_grounded =
                || proposal.grounding.is_some_and(|grounding| grounding.knows_addresses(callee, path, value));
            knows_all = found.is_empty() || self.scope.names(path, text, &found) || is_trusted() || is_grounded();
        });
        knows_all
    }

    fn covers(&self, tool: &Tool, params: &Value) -> bool {
        let fields: BTreeSet<String> = self.fields.iter().map(|field| folded(field)).collect();
        tool.name == self.tool
            && never(tool, params).is_none()
            && self.scope.fits(tool)
            && fields_of(params).iter().all(|field| fields.contains(&folded(field)))
            && self.scope.covers(params)
    }

    /// Whether a person may answer this reason in advance. An ungrounded target only if the consent names all its
    /// possible values.
    fn answers(&self, reason: &Reason) -> bool {
        match reason {
            Reason::Author(_)
            | Reason::Listed(Ruling::Confirm)
            | Reason::Risky(_)
            | Reason::AgentAsks
            | Reason::ProposedAfterReading(_) => true,
            Reason::UntrustedTarget { path, .. } => {
                matches!(&self.scope, ConsentScope::Records { path: own, .. } if alike(own, path))
            }
            _ => false,
        }
    }
}

impl ConsentScope {
    /// Whether the scope is sufficient for a tool. A read that asks and declares no target may send anything
    /// anywhere, so it needs the scope of a site.
    fn fits(&self, tool: &Tool) -> bool {
        let has_targets = tool.target.as_ref().is_some_and(|targets| !targets.is_empty());
        tool.effect.acts() || has_targets || matches!(self, ConsentScope::Site { .. })
    }

    /// Whether the scope names the addresses in a value of a call that it covers. A site's address counts only as the
    /// whole value, not within a text.
    fn names(&self, path: &str, text: &str, found: &[Address]) -> bool {
        match self {
            ConsentScope::Records { path: own, others, .. } => {
                alike(own, path) || others.iter().any(|(own, _)| alike(own, path))
            }
            ConsentScope::Person { values } => values.iter().any(|(own, _)| alike(own, path)),
            ConsentScope::Site { .. } => {
                !text.trim().contains(char::is_whitespace) && found.iter().all(|one| matches!(one, Address::Words(_)))
            }
            ConsentScope::Tool => false,
        }
    }

    fn covers(&self, params: &Value) -> bool {
        // Ids as numbers and as texts of digits are equal.
        let is_same = |one: &Value, other: &Value| plain_text(one) == plain_text(other);
        let has_all = |pinned: &[(String, Value)]| {
            pinned.iter().all(|(path, value)| {
                let found = values_at(params, path);
                !found.is_empty() && found.iter().all(|(_, other)| is_same(value, other))
            })
        };
        match self {
            ConsentScope::Tool => true,
            ConsentScope::Records { path, values, others } => {
                let found = values_at(params, path);
                let is_listed = |found: &Value| values.iter().any(|known| is_same(known, found));
                !found.is_empty() && found.iter().all(|(_, value)| is_listed(value)) && has_all(others)
            }
            ConsentScope::Person { values } => has_all(values),
            ConsentScope::Site { host } => hosts(params).is_some_and(|found| found.len() == 1 && found[0] == *host),
        }
    }
}

/// Why a standing consent is never possible for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeverStanding {
    /// It deletes or configures.
    Effect,
    /// It pays.
    Payment,
    /// It hands over a secret.
    Secret,
    /// A delegate asks about it.
    Delegate,
}

/// Words in the names of parameters with secrets.
const SECRET: [&str; 9] =
    ["secret", "secrets", "password", "passwd", "passphrase", "token", "pin", "otp", "credentials"];

/// Whether a tool pays, by its name. A tool with another name declares `x-pays`.
pub(crate) fn pays(tool: &Tool) -> bool {
    tool.declares_payment() || has_word(&tool.name, &PAYING)
}

/// Why a standing consent is not possible for a call, if so.
pub(crate) fn never(tool: &Tool, params: &Value) -> Option<NeverStanding> {
    let hands_over_secret = || fields_of(params).iter().any(|field| has_word(field, &SECRET));
    match tool.effect {
        Effect::Delete | Effect::Configure => Some(NeverStanding::Effect),
        _ if pays(tool) => Some(NeverStanding::Payment),
        _ if hands_over_secret() => Some(NeverStanding::Secret),
        _ => None,
    }
}

/// The fields that a call sets, as dotted paths without indexes, in order.
pub(crate) fn fields_of(params: &Value) -> Vec<String> {
    let mut found = Vec::new();
    each_field(params, "", &mut |path, _| {
        if !found.iter().any(|known| known == path) {
            found.push(path.to_owned());
        }
    });
    found
}

fn each_field(value: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, inner) in fields {
                each_field(inner, &below(path, name), visit);
            }
        }
        Value::Array(items) if !items.is_empty() => items.iter().for_each(|item| each_field(item, path, visit)),
        leaf => visit(path, leaf),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, schema: Value) -> Tool {
        Tool::parse(name, &schema).expect("a tool")
    }

    #[test]
    fn some_calls_never_get_a_standing_consent() {
        for (name, schema, params, expected) in [
            ("a.delete", json!({"x-effect": "delete"}), json!({}), Some(NeverStanding::Effect)),
            ("a.set", json!({"x-effect": "configure"}), json!({}), Some(NeverStanding::Effect)),
            ("bank.payOut", json!({"x-effect": "create"}), json!({}), Some(NeverStanding::Payment)),
            ("settle", json!({"x-effect": "create", "x-pays": true}), json!({}), Some(NeverStanding::Payment)),
            ("fill", json!({}), json!({"form": {"userPassword": "x"}}), Some(NeverStanding::Secret)),
            ("crm.deal.update", json!({}), json!({"id": 1, "fields": {"TITLE": "x"}}), None),
            ("display", json!({}), json!({"spin": 1}), None),
        ] {
            assert_eq!(never(&tool(name, schema), &params), expected, "{name}");
        }
    }

    #[test]
    fn a_read_without_targets_gets_a_consent_for_its_site_only() {
        let terms = |scope| ConsentTerms { tool: "leave".to_owned(), fields: vec!["url".to_owned()], scope };
        let params = json!({"url": "https://shop.example.test/x"});
        let site = ConsentScope::Site { host: "shop.example.test".to_owned() };
        for (targets, by_tool) in [(json!(null), false), (json!([]), false), (json!(["url"]), true)] {
            let mut schema = json!({"x-effect": "read"});
            if !targets.is_null() {
                schema["x-target"] = targets;
            }
            let leave = tool("leave", schema);
            assert_eq!(terms(ConsentScope::Tool).covers(&leave, &params), by_tool);
            assert!(terms(site.clone()).covers(&leave, &params));
        }
    }

    #[test]
    fn a_consent_covers_the_same_fields_within_its_scope() {
        let tool = tool("deal.update", json!({}));
        let fields = vec!["id".to_owned(), "fields.SUM".to_owned()];
        let terms = |scope| ConsentTerms { tool: "deal.update".to_owned(), fields: fields.clone(), scope };
        let list = terms(ConsentScope::Records {
            path: "id".to_owned(),
            values: vec![json!("1"), json!(2)],
            others: Vec::new(),
        });
        assert!(list.covers(&tool, &json!({"id": 1, "fields": {"sum": 5}})), "case does not matter, nor does the type");
        assert!(!list.covers(&tool, &json!({"id": 3, "fields": {"SUM": 5}})));
        assert!(!list.covers(&tool, &json!({"id": 1, "fields": {"SUM": 5, "STAGE": "x"}})), "another field");
        assert!(!list.covers(&tool, &json!({"fields": {"SUM": 5}})), "no record");
        assert!(terms(ConsentScope::Tool).covers(&tool, &json!({"id": 3, "fields": {"SUM": 5}})));
    }
}
