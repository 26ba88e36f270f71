//! Verdicts of the gate.

use obelus_kernel::policy::{Explanation, Gate, Policy, Proposal, Reason, Ruling};
use obelus_kernel::session::Mode;
use obelus_kernel::{Call, Context};
use obelus_notebook::origin::{Origin, Origins};
use serde_json::{Value, json};

/// A call to judge, and the origins of its parts. Everything is trusted unless a test says otherwise.
struct Case {
    policy: Value,
    mode: Mode,
    tool: Value,
    call: Value,
    proposer: Origins,
    params: Origins,
    may_follow: bool,
}

fn case(tool: Value) -> Case {
    let (policy, call) = (json!({}), json!({"_tool": "t", "to": 1, "sum": 2}));
    let (proposer, params) = (Origins::default(), Origins::default());
    Case { policy, mode: Mode::Full, tool, call, proposer, params, may_follow: false }
}

fn acting() -> Case {
    case(json!({"x-effect": "update", "x-target": ["to"]}))
}

fn page() -> Origins {
    Origins::of(Origin::Tool { name: "page".into(), trusted: false })
}

impl Case {
    fn explain(&self) -> Explanation {
        let context = Context::from_value(json!([{"type": "tool", "tool": {"t": self.tool}}])).unwrap();
        let policy: Policy = serde_json::from_value(self.policy.clone()).unwrap();
        let (call, faults) = Call::read(&self.call.clone().into(), &context);
        assert!(faults.is_empty(), "{faults:?}");
        let params = || Value::Object(call.params.iter().map(|(n, v)| (n.to_string(), v.outline())).collect());
        let tool = call.tool.as_ref().unwrap();
        Gate::new(&policy, self.mode).explain(&Proposal {
            may_follow: &|_| self.may_follow,
            ..Proposal::new(&call, tool, &params, &|_| Some(self.params.clone()), &self.proposer)
        })
    }

    fn verdict(&self) -> (Ruling, Vec<Reason>) {
        let verdict = self.explain().verdict;
        (verdict.ruling(), verdict.reasons().to_vec())
    }
}

#[test]
fn the_strictest_finding_wins() {
    let deletes = case(json!({"x-effect": "delete", "x-risky": ["sum"]}));
    let of = |policy: Value| Case { policy, ..case(deletes.tool.clone()) }.verdict();
    let both = vec![Reason::Risky("sum".to_owned()), Reason::Deletes];
    assert_eq!(of(json!({"allow": ["t"]})), (Ruling::Confirm, both.clone()), "an allow-list asks for nothing");
    let listed = [vec![Reason::Listed(Ruling::Confirm)], both].concat();
    assert_eq!(of(json!({"confirm": ["t"]})), (Ruling::Confirm, listed));
    let refused = (Ruling::Refuse, vec![Reason::Listed(Ruling::Refuse)]);
    assert_eq!(of(json!({"allow": ["t"], "confirm": ["t"], "refuse": ["t"]})), refused);
}

#[test]
fn a_tool_that_an_allow_list_leaves_out_is_refused() {
    let left_out = Case { policy: json!({"allow": ["u"]}), ..acting() };
    assert_eq!(left_out.verdict(), (Ruling::Refuse, vec![Reason::NotListed("t".to_owned())]));
}

#[test]
fn the_mode_refuses_before_the_policy_is_asked() {
    let forbidden = Case { mode: Mode::Shadow, policy: json!({"refuse": ["t"]}), proposer: page(), ..acting() };
    let Explanation { verdict, findings } = forbidden.explain();
    assert_eq!(verdict.ruling(), Ruling::Refuse);
    assert_eq!(verdict.reasons(), [Reason::Mode(Mode::Shadow, "update".to_owned())]);
    let by: Vec<String> = findings.iter().map(|finding| finding.by.to_string()).collect();
    assert_eq!(by, ["mode", "policy.refuse[0]", "origins"], "what lost is told all the same");
}

#[test]
fn canary_permits_reading_and_creating() {
    for (effect, permitted) in
        [("read", true), ("create", true), ("update", false), ("delete", false), ("configure", false)]
    {
        let case = Case { mode: Mode::Canary, ..case(json!({"x-effect": effect})) };
        let is_refused = matches!(&case.verdict(), (Ruling::Refuse, why) if matches!(why[..], [Reason::Mode(..)]));
        assert_eq!(!is_refused, permitted, "{effect}");
    }
}

#[test]
fn an_action_proposed_after_untrusted_data_needs_approval() {
    let proposed = vec![Reason::ProposedAfterReading(vec!["page".to_owned()])];
    assert_eq!(Case { proposer: page(), ..acting() }.verdict(), (Ruling::Confirm, proposed));
    let read = Case { proposer: page(), ..case(json!({"x-effect": "read"})) };
    assert_eq!(read.verdict().0, Ruling::Allow);
}

#[test]
fn an_untrusted_value_in_a_target_needs_approval() {
    let target = |path: &str| Reason::UntrustedTarget { path: path.to_owned(), sources: vec!["page".to_owned()] };
    assert_eq!(Case { params: page(), ..acting() }.verdict(), (Ruling::Confirm, vec![target("to")]));
    let undeclared = Case { params: page(), ..case(json!({"x-effect": "update"})) };
    assert_eq!(undeclared.verdict(), (Ruling::Confirm, vec![target("to"), target("sum")]), "every parameter is one");
    let none = Case { params: page(), ..case(json!({"x-effect": "update", "x-target": []})) };
    assert_eq!(none.verdict().0, Ruling::Allow);
}

#[test]
fn only_a_read_can_use_an_untrusted_target() {
    let of = |effect: &str, may_follow: bool| {
        let tool = json!({"x-effect": effect, "x-target": ["to"]});
        Case { params: page(), may_follow, ..case(tool) }.verdict().0
    };
    assert_eq!((of("read", true), of("read", false)), (Ruling::Allow, Ruling::Confirm));
    assert_eq!(of("update", true), Ruling::Confirm);
}
