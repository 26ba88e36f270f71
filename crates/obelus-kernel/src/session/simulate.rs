//! The dry run of a plan under a mode and a policy.

use serde_json::{Value, json};

use super::policy::{Policy, Verdict};
use super::settings::Mode;
use crate::context::Context;
use crate::origin::{Origin, Origins};
use crate::plan::{self, Check, Simulation};
use crate::tool::Tool;

/// Runs a checked plan dry. `is_latent` says which tools the model carries out itself.
pub fn simulate(
    check: &Check,
    context: &Context,
    mode: Mode,
    policy: &Policy,
    is_latent: impl Fn(&Tool) -> bool,
) -> Simulation {
    plan::simulate(check, context, is_latent, |call, tool, params: &Value| {
        match policy.verdict(call, tool, params, mode, &|_| Origins::of(Origin::User)) {
            Verdict::Allow => json!({"verdict": "allow"}),
            Verdict::Confirm(reasons) => json!({"verdict": "confirm", "reasons": reasons}),
            Verdict::Refuse { reason, .. } => json!({"verdict": "refuse", "reasons": [reason]}),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::message::PlanMode;

    #[test]
    fn each_branch_says_what_it_leaves_out_and_what_needs_a_person() {
        let context = Context::from_value(json!([
            {"type": "input", "city": "Сочи"},
            {"type": "tool", "tool": {
                "forecast": {"properties": {"city": {}}, "x-effect": "read"},
                "walk": {"properties": {"f": {}}, "x-effect": "delete"},
                "museum": {"properties": {"f": {}}, "x-effect": "create"},
            }},
        ]))
        .unwrap();
        let calls = [
            json!({"_tool": "forecast", "city": "†input.city", "_outputPath": "†state.sunny || †state.rainy"}),
            json!({"_tool": "walk", "f": "†state.sunny", "_outputPath": "†state.a"}),
            json!({"_tool": "museum", "f": "†state.rainy"}),
        ];
        let check = plan::check(&calls.map(Arc::new), PlanMode::Lazy, &context);
        let dry = simulate(&check, &context, Mode::Full, &Policy::default(), |_| false);
        assert_eq!(dry.calls[0]["params"], json!({"city": "Сочи"}));
        assert_eq!(dry.calls[1]["params"], json!({"f": "†state.sunny"}));
        assert_eq!((&dry.calls[1]["verdict"], &dry.calls[2]["verdict"]), (&json!("confirm"), &json!("allow")));
        let skipped: Vec<_> = dry.branches.iter().map(|branch| branch["skipped"].clone()).collect();
        assert_eq!(skipped, [json!([2]), json!([1])]);
    }
}
