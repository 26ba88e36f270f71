//! Groups and projects: `sonet_group.*`.

use serde_json::{Value, json};

use super::{MethodCall, MethodResult, Methods, int_of, text_of};
use crate::entity::{GROUP, GROUP_USER};
use crate::list::{Selection, page};
use crate::wire::{MethodAnswer, RestError};

pub(super) fn add_to(methods: &mut Methods) {
    methods.add("sonet_group.get", "sonet_group", get);
    methods.add("sonet_group.user.get", "sonet_group", |call| {
        let group =
            call.params.int("ID").filter(|id| *id > 0).ok_or_else(|| RestError::argument("ID", "Wrong group ID"))?;
        if call.store.get(&GROUP, group)?.is_none() {
            return Err(RestError::core("Socialnetwork group not found"));
        }
        let rows = call.store.find(&GROUP_USER, "GROUP_ID", group)?;
        let members =
            rows.iter().map(|row| json!({"USER_ID": int_of(row, "USER_ID").to_string(), "ROLE": row["ROLE"]}));
        Ok(members.collect::<Value>().into())
    });
    methods.add("sonet_group.user.groups", "sonet_group", |call| {
        let mut groups = Vec::new();
        for row in call.store.find(&GROUP_USER, "USER_ID", call.user)? {
            let id = int_of(&row, "GROUP_ID");
            let group = call.store.get(&GROUP, id)?.unwrap_or_default();
            groups
                .push(json!({"GROUP_ID": id.to_string(), "GROUP_NAME": text_of(&group, "NAME"), "ROLE": row["ROLE"]}));
        }
        Ok(Value::Array(groups).into())
    });
}

fn get(call: &mut MethodCall<'_>) -> MethodResult {
    if let Some(id) = call.params.get("GROUP_ID").cloned() {
        let mut filter = call.params.object("filter")?.unwrap_or_default();
        filter.insert("ID".to_owned(), id);
        if let Some(all) = call.params.value_mut().as_object_mut() {
            all.retain(|name, _| !name.eq_ignore_ascii_case("filter"));
            all.insert("filter".to_owned(), Value::Object(filter));
        }
    }
    let selection = Selection::everything(&GROUP, Vec::new());
    let page = page(call.store, &GROUP, &selection, &[], &call.params)?;
    let rows = page.rows.iter().map(|row| {
        let shown = GROUP.fields.iter().map(|field| (field.name.to_owned(), field.kind.show(&row[field.name])));
        Value::Object(shown.collect())
    });
    Ok(MethodAnswer { result: rows.collect(), total: page.total, next: page.next })
}
