//! Steps that a person is asked about, and repetitions of the same call, which share its question.

use std::collections::BTreeMap;

use obelus_kernel::CallJson;
use obelus_kernel::session::{CallReport, CallStatus};
use obelus_notebook::control_field::ControlField;
use serde_json::Value;

use super::StepPlace;

/// The steps that a person is or was asked about, by place.
#[derive(Default)]
pub(super) struct AskedSteps(BTreeMap<StepPlace, AskedStep>);

struct AskedStep {
    /// The tool, the instance and the parameters.
    own: BTreeMap<String, Value>,
    status: CallStatus,
    /// Whether it shares the question of an earlier one.
    joins: bool,
    /// It is from before this turn.
    is_old: bool,
}

impl AskedSteps {
    /// A turn begins.
    pub(super) fn begin(&mut self) {
        self.0.values_mut().for_each(|asked| asked.is_old = true);
    }

    /// Updates a step. Returns whether it repeats an earlier one: it waits for the same answer, reports the user's
    /// decision about it, or was denied in the same turn.
    pub(super) fn is_joined(&mut self, report: &CallReport) -> bool {
        if let Some(known) = self.0.get_mut(&report.place) {
            known.status = report.status;
            return known.joins;
        }
        let own = own(&report.call);
        let same: Vec<&AskedStep> =
            self.0.range(..report.place).map(|(_, asked)| asked).filter(|asked| asked.own == own).collect();
        if report.status == CallStatus::Waiting {
            let joins = same.iter().any(|asked| !super::is_final(asked.status));
            self.0.insert(report.place, AskedStep { own, status: report.status, joins, is_old: false });
            return joins;
        }
        let is_said = |said: &Value| !said.is_null() && *said != Value::Bool(false);
        let says = |field: ControlField| report.call.get(field.name()).is_some_and(is_said);
        let reports = says(ControlField::Confirmed) || says(ControlField::ConfirmationDecision);
        let is_denied = report.status == CallStatus::Denied;
        same.iter().any(|asked| asked.status == report.status && (reports || (is_denied && !asked.is_old)))
    }
}

fn own(call: &Value) -> BTreeMap<String, Value> {
    let is_own = |name: &str| CallJson::is_of_action(name) && ControlField::named(name).is_none();
    let fields = call.as_object().into_iter().flatten();
    fields.filter(|(name, _)| is_own(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}
