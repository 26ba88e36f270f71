//! The data of a new portal: made-up companies, people and deals, the same in every run, with dates around today.
//!
//! E-mail addresses end in `example.test`, and telephone numbers have the code 000, which is not assigned.

#[cfg(test)]
mod tests;
mod words;

use std::cell::Cell;

use rusqlite::Result;
use serde_json::{Value, json};

use crate::clock::{self, DAY};
use crate::entity::{
    ACTIVITY, CATEGORY, CHECK_ITEM, COMMENT, COMPANY, CONTACT, DEAL, DEPARTMENT, Entity, GROUP, GROUP_USER, LEAD,
    MULTI, PRODUCT, STATUS, TASK, TASK_COMMENT, USER, USER_FIELD,
};
use crate::store::{PortalStore, Row};
use crate::tongue::PortalLanguage;
use words::SeedWords;

pub(crate) const DEALS: usize = 150;
/// The number of users of a portal in either language.
pub(crate) const USERS: i64 = 8;
/// The number of companies of a portal in either language.
const COMPANIES: i64 = 28;
const CONTACTS: i64 = 64;

/// A random number generator with a fixed seed.
struct Dice(Cell<u64>);

impl Dice {
    fn roll(&self, sides: i64) -> i64 {
        let mut mixed = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(mixed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides.unsigned_abs().max(1)) as i64
    }

    fn pick<'a, T>(&self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len() as i64) as usize]
    }
}

/// Fills a new portal.
pub(crate) fn fill(store: &PortalStore, now: i64, deals: usize, language: PortalLanguage) -> Result<()> {
    let words = match language {
        PortalLanguage::Russian => &words::RUSSIAN,
        PortalLanguage::English => &words::ENGLISH,
    };
    let seeder = Seeder { store, now, today: clock::midnight(now), dice: Dice(Cell::new(24)), words, language };
    seeder.directories()?;
    seeder.products()?;
    seeder.people()?;
    seeder.companies()?;
    seeder.contacts()?;
    seeder.leads()?;
    seeder.deals(deals)?;
    seeder.activities(deals as i64)?;
    seeder.tasks(deals as i64)
}

struct Seeder<'a> {
    store: &'a PortalStore,
    now: i64,
    today: i64,
    dice: Dice,
    words: &'static SeedWords,
    language: PortalLanguage,
}

impl Seeder<'_> {
    fn insert(&self, entity: &Entity, row: &Value) -> Result<i64> {
        self.store.insert(entity, row.as_object().unwrap_or(&Row::new()))
    }

    /// A moment `days` from today, in working hours; for today and past days it is before now.
    fn moment(&self, days: i64) -> i64 {
        let at = self.today + days * DAY + (9 + self.dice.roll(9)) * 3600 + self.dice.roll(4) * 900;
        if days <= 0 { at.min(self.now - 60) } else { at }
    }

    fn directories(&self) -> Result<()> {
        let category = json!({"ID": 1, "NAME": self.words.second_funnel, "SORT": 200, "CREATED_DATE": self.today - 400 * DAY, "IS_LOCKED": "N"});
        self.insert(&CATEGORY, &category)?;
        let mut last = "";
        let mut sort = 0;
        for (directory, code, name, meaning, color) in self.words.statuses {
            sort = if *directory == last { sort + 10 } else { 10 };
            last = directory;
            let category = if *directory == "DEAL_STAGE_1" {
                json!(1)
            } else if *directory == "DEAL_STAGE" {
                json!(0)
            } else {
                Value::Null
            };
            let meaning = if meaning.is_empty() { Value::Null } else { json!(meaning) };
            self.insert(&STATUS, &json!({
                "ENTITY_ID": directory, "STATUS_ID": code, "NAME": name, "NAME_INIT": name, "SORT": sort,
                "SYSTEM": if code.contains("UC_") { "N" } else { "Y" }, "CATEGORY_ID": category, "COLOR": color,
                "SEMANTICS": meaning, "EXTRA": {"SEMANTICS": if meaning.is_null() { json!("process") } else { meaning.clone() }, "COLOR": color}
            }))?;
        }
        for (name, kind, label) in self.words.own_fields {
            self.insert(
                &USER_FIELD,
                &json!({
                    "ENTITY_ID": "CRM_DEAL", "FIELD_NAME": name, "USER_TYPE_ID": kind, "EDIT_FORM_LABEL": label,
                    "SORT": 100, "MULTIPLE": "N", "MANDATORY": "N"
                }),
            )?;
        }
        Ok(())
    }

    /// The catalogue: each work at its lowest price.
    fn products(&self) -> Result<()> {
        for (at, (name, price, _)) in self.words.works.iter().enumerate() {
            self.insert(
                &PRODUCT,
                &json!({
                    "NAME": name, "ACTIVE": "Y", "PRICE": *price as f64, "CURRENCY_ID": self.language.currency(), "MEASURE": 796,
                    "SORT": (at + 1) * 10
                }),
            )?;
        }
        Ok(())
    }

    fn people(&self) -> Result<()> {
        for (at, (name, parent, head)) in self.words.departments.iter().enumerate() {
            self.insert(
                &DEPARTMENT,
                &json!({"NAME": name, "SORT": (at + 1) * 100, "PARENT": parent, "UF_HEAD": head}),
            )?;
        }
        for (at, (name, second, last, gender, position, department, login)) in self.words.users.iter().enumerate() {
            let last_login = self.moment(-(at as i64 % 3));
            self.insert(&USER, &json!({
                "ACTIVE": if at == 7 { 0 } else { 1 }, "NAME": name, "SECOND_NAME": second, "LAST_NAME": last,
                "EMAIL": format!("{login}@example.test"), "PERSONAL_GENDER": gender,
                "PERSONAL_MOBILE": phone(9000 + at as i64), "WORK_PHONE": phone(100), "WORK_POSITION": position,
                "UF_DEPARTMENT": [department], "UF_PHONE_INNER": (101 + at).to_string(), "TIME_ZONE": "Europe/Moscow",
                "IS_ONLINE": if at % 2 == 0 { "Y" } else { "N" }, "DATE_REGISTER": self.today - (900 - 70 * at as i64) * DAY,
                "LAST_LOGIN": last_login, "USER_TYPE": "employee"
            }))?;
        }
        for (at, (name, about, members)) in self.words.groups.iter().enumerate() {
            let created = self.today - (300 - 60 * at as i64) * DAY;
            let seen = self.moment(-(at as i64));
            let group = self.insert(
                &GROUP,
                &json!({
                    "SITE_ID": "s1", "NAME": name, "DESCRIPTION": about, "DATE_CREATE": created, "DATE_UPDATE": created,
                    "DATE_ACTIVITY": seen, "ACTIVE": "Y", "VISIBLE": "Y", "OPENED": if at % 2 == 0 { "Y" } else { "N" },
                    "CLOSED": "N", "SUBJECT_ID": 1, "SUBJECT_NAME": self.words.group_subject, "OWNER_ID": members[0],
                    "NUMBER_OF_MEMBERS": members.len(), "PROJECT": if at == 3 { "Y" } else { "N" }, "IS_EXTRANET": "N"
                }),
            )?;
            for (place, member) in members.iter().enumerate() {
                let role = ["A", "E"].get(place).unwrap_or(&"K");
                self.insert(&GROUP_USER, &json!({"GROUP_ID": group, "USER_ID": member, "ROLE": role}))?;
            }
        }
        Ok(())
    }

    fn companies(&self) -> Result<()> {
        for (at, (title, industry, city)) in self.words.companies.iter().enumerate() {
            let at = at as i64;
            let days = 380 - at * 9;
            let created = self.moment(-days);
            let changed = self.moment(-self.dice.roll(days));
            let assigned = 2 + self.dice.roll(3);
            let employees = *self.dice.pick(&["EMPLOYEES_1", "EMPLOYEES_2", "EMPLOYEES_3"]);
            let revenue = ((1 + self.dice.roll(90)) * 1_000_000) as f64;
            let id = self.insert(&COMPANY, &json!({
                "TITLE": title, "COMPANY_TYPE": if at % 7 == 6 { "PARTNER" } else { "CUSTOMER" }, "INDUSTRY": industry,
                "EMPLOYEES": employees, "REVENUE": revenue, "CURRENCY_ID": self.language.currency(), "ADDRESS_CITY": city, "OPENED": "Y",
                "IS_MY_COMPANY": "N", "HAS_PHONE": "Y", "HAS_EMAIL": "Y", "ASSIGNED_BY_ID": assigned, "CREATED_BY_ID": 1,
                "MODIFY_BY_ID": assigned, "DATE_CREATE": created, "DATE_MODIFY": changed, "LAST_ACTIVITY_TIME": changed,
                "LAST_ACTIVITY_BY": assigned
            }))?;
            self.contact_detail(&COMPANY, id, "PHONE", "WORK", &phone(2000 + at))?;
            self.contact_detail(&COMPANY, id, "EMAIL", "WORK", &format!("info@company{}.example.test", at + 1))?;
        }
        Ok(())
    }

    fn contact_detail(&self, entity: &Entity, id: i64, kind: &str, purpose: &str, value: &str) -> Result<i64> {
        self.insert(
            &MULTI,
            &json!({"OWNER": entity.table, "OWNER_ID": id, "TYPE_ID": kind, "VALUE_TYPE": purpose, "VALUE": value}),
        )
    }

    fn contacts(&self) -> Result<()> {
        for at in 0..CONTACTS {
            let woman = at % 2 == 0;
            let (names, seconds) =
                if woman { (self.words.women, self.words.daughters) } else { (self.words.men, self.words.sons) };
            let name = *self.dice.pick(names);
            let second = *self.dice.pick(seconds);
            let (his, hers, latin) = self.words.families[at as usize % self.words.families.len()];
            // Two people for each company; the rest are private customers.
            let company = if at < 2 * COMPANIES { json!(1 + at / 2) } else { Value::Null };
            let post = if company.is_null() { Value::Null } else { json!(self.dice.pick(self.words.posts)) };
            let days = 360 - at * 5;
            let created = self.moment(-days);
            let assigned = 2 + self.dice.roll(3);
            let id = self.insert(&CONTACT, &json!({
                "NAME": name, "SECOND_NAME": second, "LAST_NAME": if woman { hers } else { his }, "TYPE_ID": "CLIENT",
                "SOURCE_ID": self.dice.pick(&["CALL", "WEB", "RECOMMENDATION"]), "POST": post, "OPENED": "Y", "EXPORT": "Y",
                "HAS_PHONE": "Y", "HAS_EMAIL": "Y", "ASSIGNED_BY_ID": assigned, "CREATED_BY_ID": 1, "MODIFY_BY_ID": assigned,
                "DATE_CREATE": created, "DATE_MODIFY": created, "COMPANY_ID": company, "LAST_ACTIVITY_TIME": created,
                "LAST_ACTIVITY_BY": assigned
            }))?;
            self.contact_detail(&CONTACT, id, "PHONE", "WORK", &phone(4000 + at))?;
            self.contact_detail(&CONTACT, id, "EMAIL", "WORK", &format!("{latin}{id}@example.test"))?;
            if at % 3 == 0 {
                self.contact_detail(&CONTACT, id, "PHONE", "MOBILE", &phone(7000 + at))?;
            }
        }
        Ok(())
    }

    fn leads(&self) -> Result<()> {
        for at in 0..12 {
            let work = self.words.works[(at * 5 + 2) % self.words.works.len()];
            let (_, family, _) = self.words.families[(at * 7 + 3) % self.words.families.len()];
            let created = self.moment(-(at as i64));
            let status = ["NEW", "NEW", "IN_PROCESS", "PROCESSED"][at % 4];
            let id = self.insert(&LEAD, &json!({
                "TITLE": format!("{}{}", self.words.website_request, work.0.to_lowercase()), "NAME": self.dice.pick(self.words.women),
                "LAST_NAME": family, "STATUS_ID": status, "STATUS_SEMANTIC_ID": "P", "SOURCE_ID": "WEB", "CURRENCY_ID": self.language.currency(),
                "OPPORTUNITY": 0.0, "OPENED": "Y", "HAS_PHONE": "Y", "HAS_EMAIL": "N", "ASSIGNED_BY_ID": 2 + at % 3,
                "CREATED_BY_ID": 1, "MODIFY_BY_ID": 1, "DATE_CREATE": created, "DATE_MODIFY": created
            }))?;
            self.contact_detail(&LEAD, id, "PHONE", "MOBILE", &phone(6000 + at as i64))?;
        }
        Ok(())
    }

    fn deals(&self, count: usize) -> Result<()> {
        let stages = |directory: &str| {
            let of = self.words.statuses.iter().filter(|(name, ..)| *name == directory);
            of.map(|(_, code, _, meaning, _)| (*code, *meaning)).collect::<Vec<_>>()
        };
        let funnels = [stages("DEAL_STAGE"), stages("DEAL_STAGE_1")];
        for at in 0..count {
            let (what, from, to) = self.words.works[(at * 7) % self.words.works.len()];
            let category = usize::from(at % 4 == 3);
            let funnel = &funnels[category];
            // The first deals are open, so that a demo can use them.
            let stage = if at < 6 { at % 4 } else { self.dice.roll(funnel.len() as i64) as usize };
            let (code, meaning) = funnel[stage.min(funnel.len() - 1)];
            let days = if at < 20 { 5 + self.dice.roll(40) } else { 1 + self.dice.roll(220) };
            let created = self.moment(-days);
            let moved = self.moment(-self.dice.roll(days));
            let closed = !meaning.is_empty();
            let close = if closed {
                clock::date_of(moved)
            } else {
                clock::date_of(self.today) + (self.dice.roll(50) - 8) * DAY
            };
            let amount = (from + self.dice.roll((to - from) / 500 + 1) * 500) as f64;
            let private = at % 9 == 8;
            let company = 1 + self.dice.roll(COMPANIES);
            let contact = if private {
                2 * COMPANIES + 1 + self.dice.roll(CONTACTS - 2 * COMPANIES)
            } else {
                2 * company - self.dice.roll(2)
            };
            let title = if private {
                format!("{what}{}", self.words.private_order)
            } else {
                format!("{what} — {}", self.words.companies[company as usize - 1].0)
            };
            let assigned = if category == 1 { 5 + self.dice.roll(2) } else { 2 + self.dice.roll(3) };
            let city = *self.dice.pick(self.words.cities);
            self.insert(&DEAL, &json!({
                "TITLE": title, "TYPE_ID": if category == 1 { "SERVICES" } else { "SALE" }, "CATEGORY_ID": category,
                "STAGE_ID": code, "STAGE_SEMANTIC_ID": if meaning.is_empty() { "P" } else { meaning },
                "IS_NEW": if stage == 0 { "Y" } else { "N" }, "IS_RECURRING": "N",
                "IS_RETURN_CUSTOMER": if at % 5 == 4 { "Y" } else { "N" }, "IS_REPEATED_APPROACH": "N",
                "PROBABILITY": (stage * 15 + 10).min(100), "CURRENCY_ID": self.language.currency(), "OPPORTUNITY": amount,
                "IS_MANUAL_OPPORTUNITY": "Y", "TAX_VALUE": 0.0, "COMPANY_ID": if private { Value::Null } else { json!(company) },
                "CONTACT_ID": contact, "BEGINDATE": clock::date_of(created), "CLOSEDATE": close, "OPENED": "Y",
                "CLOSED": if closed { "Y" } else { "N" }, "ASSIGNED_BY_ID": assigned, "CREATED_BY_ID": assigned,
                "MODIFY_BY_ID": assigned, "MOVED_BY_ID": assigned, "DATE_CREATE": created, "DATE_MODIFY": moved,
                "MOVED_TIME": moved, "SOURCE_ID": self.dice.pick(&["CALL", "WEB", "EMAIL", "RECOMMENDATION", "PARTNER"]),
                "LAST_ACTIVITY_TIME": moved, "LAST_ACTIVITY_BY": assigned,
                "OWN": {"UF_CRM_CITY": city, "UF_CRM_WARRANTY": 12 * (1 + at % 5)}
            }))?;
        }
        Ok(())
    }

    fn activities(&self, deals: i64) -> Result<()> {
        for at in 0..72_i64.min(deals * 2) {
            let deal = 1 + (at * 5) % deals;
            let record = self.store.get(&DEAL, deal)?.unwrap_or_default();
            let (kind, provider, subject) = self.words.calls[at as usize % self.words.calls.len()];
            let done = at % 3 == 0;
            let start = self.moment(if done { -self.dice.roll(30) } else { self.dice.roll(12) - 2 });
            let planned = (start - DAY).min(self.now - (1 + at) * 3600);
            let contact = record["CONTACT_ID"].clone();
            let contact_detail = phone(4000 + contact.as_i64().unwrap_or(1) - 1);
            self.insert(&ACTIVITY, &json!({
                "OWNER_ID": deal, "OWNER_TYPE_ID": 2, "TYPE_ID": kind, "PROVIDER_ID": provider, "PROVIDER_TYPE_ID": provider.trim_start_matches("CRM_"),
                "SUBJECT": subject, "START_TIME": start, "END_TIME": start + 1800, "DEADLINE": start,
                "COMPLETED": if done { "Y" } else { "N" }, "STATUS": if done { 2 } else { 1 }, "RESPONSIBLE_ID": record["ASSIGNED_BY_ID"],
                "PRIORITY": 2, "NOTIFY_TYPE": 1, "NOTIFY_VALUE": 15, "DESCRIPTION": "", "DESCRIPTION_TYPE": 1,
                "DIRECTION": if kind == 2 { 2 } else { 0 }, "CREATED": planned, "AUTHOR_ID": record["ASSIGNED_BY_ID"],
                "LAST_UPDATED": planned, "EDITOR_ID": record["ASSIGNED_BY_ID"],
                "COMMUNICATIONS": [{"TYPE": "PHONE", "VALUE": contact_detail, "ENTITY_ID": contact, "ENTITY_TYPE_ID": 3}]
            }))?;
        }
        for (at, text) in self.words.comments.iter().cycle().take(30.min(deals as usize)).enumerate() {
            let deal = 1 + (at as i64 * 4) % deals;
            let record = self.store.get(&DEAL, deal)?.unwrap_or_default();
            let created = self.moment(-self.dice.roll(20));
            self.insert(&COMMENT, &json!({
                "ENTITY_ID": deal, "ENTITY_TYPE": "deal", "CREATED": created, "AUTHOR_ID": record["ASSIGNED_BY_ID"], "COMMENT": text
            }))?;
        }
        Ok(())
    }

    fn tasks(&self, deals: i64) -> Result<()> {
        for at in 0..36_usize {
            let (title, about) = self.words.tasks[at % self.words.tasks.len()];
            let deal = 1 + (at as i64 * 3) % deals.clamp(1, 36);
            let about_deal = if deals == 0 { json!([]) } else { json!([format!("D_{deal}")]) };
            let status = [2, 3, 2, 5, 2, 3, 4, 2, 6][at % 9];
            let responsible = 2 + self.dice.roll(6);
            let created = self.moment(-(3 + self.dice.roll(25)));
            // Three open tasks are late.
            let ahead = if status == 5 {
                -1 - self.dice.roll(10)
            } else if at % 12 == 2 {
                -2
            } else {
                self.dice.roll(14)
            };
            let deadline = self.today + ahead * DAY + 19 * 3600;
            let closed = if status == 5 { json!(deadline - 5 * 3600) } else { Value::Null };
            let task = self.insert(&TASK, &json!({
                "PARENT_ID": 0, "TITLE": title, "DESCRIPTION": about, "MARK": "", "PRIORITY": if at % 6 == 0 { 2 } else { 1 },
                "STATUS": status, "MULTITASK": "N", "NOT_VIEWED": "N", "GROUP_ID": if at % 3 == 0 { 1 + (at as i64 / 3) % 4 } else { 0 },
                "STAGE_ID": 0, "CREATED_BY": 1 + at as i64 % 2, "CREATED_DATE": created, "RESPONSIBLE_ID": responsible,
                "CHANGED_BY": responsible, "CHANGED_DATE": created + 3600, "STATUS_CHANGED_BY": responsible,
                "STATUS_CHANGED_DATE": created + 3600, "CLOSED_BY": if status == 5 { json!(responsible) } else { Value::Null },
                "CLOSED_DATE": closed, "ACTIVITY_DATE": created + 3600, "DEADLINE": deadline, "COMMENTS_COUNT": u8::from(at % 4 == 0),
                "ALLOW_CHANGE_DEADLINE": "Y", "ALLOW_TIME_TRACKING": "N", "TASK_CONTROL": "N", "ADD_IN_REPORT": "N",
                "TIME_ESTIMATE": 0, "FAVORITE": "N", "ACCOMPLICES": [], "AUDITORS": [1], "TAGS": [], "UF_CRM_TASK": about_deal,
                "UF_TASK_WEBDAV_FILES": []
            }))?;
            if at % 4 == 0 {
                let text = self.words.comments[at % self.words.comments.len()];
                self.insert(&TASK_COMMENT, &json!({"TASK_ID": task, "AUTHOR_ID": responsible, "POST_DATE": created + 3600, "POST_MESSAGE": text}))?;
            }
            if at % 5 == 0 {
                let [list, points @ ..] = self.words.checklist;
                let list = self.insert(&CHECK_ITEM, &check(task, 0, list, 0, responsible))?;
                for (place, point) in points.iter().enumerate() {
                    self.insert(&CHECK_ITEM, &check(task, list, point, place as i64, responsible))?;
                }
            }
        }
        Ok(())
    }
}

fn check(task: i64, parent: i64, title: &str, place: i64, by: i64) -> Value {
    json!({
        "TASK_ID": task, "PARENT_ID": parent, "CREATED_BY": by, "TITLE": title, "SORT_INDEX": place, "IS_COMPLETE": "N",
        "IS_IMPORTANT": "N"
    })
}

/// A telephone number with the unassigned code 000.
fn phone(number: i64) -> String {
    format!("+7 000 555-{:02}-{:02}", number / 100 % 100, number % 100)
}
