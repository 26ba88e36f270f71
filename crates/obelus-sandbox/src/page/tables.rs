//! The tables of the page, latest changes first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use rusqlite::Result;
use rusqlite::types::Value as Sql;
use serde_json::Value;

use super::{escape, money};
use crate::clock;
use crate::entity::{
    ACTIVITY, COMMENT, COMPANY, CONTACT, DEAL, Entity, Field, LEAD, MULTI, STATUS, TASK, TASK_COMMENT, USER,
};
use crate::log::RequestLog;
use crate::methods::{int_of, status_word, text_of, title};
use crate::store::{PortalStore, Row};
use crate::tongue::PortalLanguage;

const ROWS: i64 = 50;

/// One table.
pub(super) struct Tab {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    entity: &'static Entity,
    /// The field with the time of the last change.
    latest: &'static str,
    columns: &'static [(&'static str, &'static str)],
    row: fn(&DisplayNames<'_>, &Row) -> Result<String>,
}

pub(super) static TABS: [Tab; 7] = [
    Tab {
        name: "deals",
        title: "Сделки",
        entity: &DEAL,
        latest: "DATE_MODIFY",
        columns: &[
            ("", "№"),
            ("", "Название"),
            ("", "Стадия"),
            ("num", "Сумма"),
            ("", "Ответственный"),
            ("", "Завершение"),
        ],
        row: deal,
    },
    Tab {
        name: "contacts",
        title: "Контакты",
        entity: &CONTACT,
        latest: "DATE_MODIFY",
        columns: &[("", "№"), ("", "Имя"), ("", "Компания"), ("", "Телефон"), ("", "E-mail")],
        row: contact,
    },
    Tab {
        name: "companies",
        title: "Компании",
        entity: &COMPANY,
        latest: "DATE_MODIFY",
        columns: &[("", "№"), ("", "Название"), ("", "Город"), ("", "Телефон"), ("", "Ответственный")],
        row: company,
    },
    Tab {
        name: "leads",
        title: "Лиды",
        entity: &LEAD,
        latest: "DATE_MODIFY",
        columns: &[("", "№"), ("", "Название"), ("", "Стадия"), ("", "Ответственный"), ("", "Создан")],
        row: lead,
    },
    Tab {
        name: "tasks",
        title: "Задачи",
        entity: &TASK,
        latest: "CHANGED_DATE",
        columns: &[("", "№"), ("", "Название"), ("", "Исполнитель"), ("", "Статус"), ("", "Срок")],
        row: task,
    },
    Tab {
        name: "activities",
        title: "Дела",
        entity: &ACTIVITY,
        latest: "LAST_UPDATED",
        columns: &[("", "№"), ("", "Тема"), ("", "К чему"), ("", "Ответственный"), ("", "Срок")],
        row: activity,
    },
    Tab {
        name: "comments",
        title: "Комментарии",
        entity: &COMMENT,
        latest: "CREATED",
        columns: &[("", "№"), ("", "Текст"), ("", "К чему"), ("", "Автор"), ("", "Когда")],
        row: comment,
    },
];

/// The number of records in a table.
pub(super) fn count(store: &PortalStore, tab: &Tab) -> Result<i64> {
    let own = store.count(tab.entity, "", Vec::new())?;
    let of_tasks = if tab.name == "comments" { store.count(&TASK_COMMENT, "", Vec::new())? } else { 0 };
    Ok(own + of_tasks)
}

/// A table as HTML.
pub(super) fn render(
    store: &PortalStore,
    log: &RequestLog,
    tab: &Tab,
    page: i64,
    now: i64,
    language: PortalLanguage,
) -> Result<String> {
    let names = DisplayNames::read(store, now, language)?;
    let touched = touched(log, tab.entity);
    let mut out = String::from("<div class=card><table><thead><tr>");
    for (class, title) in tab.columns {
        let _ = write!(out, "<th class=\"{class}\">{}</th>", language.said(title));
    }
    out.push_str("</tr></thead><tbody>");
    let fields: Vec<&Field> = tab.entity.fields.iter().collect();
    let rest = format!("ORDER BY \"{}\" DESC, \"ID\" DESC LIMIT {ROWS} OFFSET {}", tab.latest, (page - 1) * ROWS);
    for row in store.select(tab.entity, &fields, &rest, Vec::new())? {
        write_row(&touched, &row, &(tab.row)(&names, &row)?, &mut out);
    }
    // Comments on tasks are shown below those on CRM records.
    if tab.name == "comments" && page == 1 {
        let fields: Vec<&Field> = TASK_COMMENT.fields.iter().collect();
        let marks = self::touched(log, &TASK_COMMENT);
        for row in store.select(&TASK_COMMENT, &fields, "ORDER BY \"ID\" DESC LIMIT 50", Vec::new())? {
            write_row(&marks, &row, &task_comment(&names, &row)?, &mut out);
        }
    }
    out.push_str("</tbody></table></div>");
    let total = store.count(tab.entity, "", Vec::new())?;
    if total > ROWS {
        let last = (total + ROWS - 1) / ROWS;
        out.push_str("<div class=pages>");
        if page > 1 {
            let _ =
                write!(out, "<a href=\"?show={}&amp;page={}\">{}</a>", tab.name, page - 1, language.said("← новее"));
        }
        let _ = write!(out, "<span>{page} {} {last}</span>", language.said("из"));
        if page < last {
            let _ =
                write!(out, "<a href=\"?show={}&amp;page={}\">{}</a>", tab.name, page + 1, language.said("раньше →"));
        }
        out.push_str("</div>");
    }
    Ok(out)
}

/// The records that requests added or changed.
fn touched(log: &RequestLog, entity: &Entity) -> BTreeSet<i64> {
    let changes = log.entries().flat_map(|entry| &entry.changes);
    changes.filter(|change| change.table == entity.table).map(|change| change.id).collect()
}

fn write_row(touched: &BTreeSet<i64>, row: &Row, cells: &str, out: &mut String) {
    let id = int_of(row, "ID");
    let class = if touched.contains(&id) { " class=touched" } else { "" };
    let _ = write!(out, "<tr{class}><td class=id>{id}</td>{cells}</tr>");
}

/// Names for codes and ids.
struct DisplayNames<'a> {
    store: &'a PortalStore,
    users: BTreeMap<i64, String>,
    /// Name and colour by directory and code.
    statuses: BTreeMap<(String, String), (String, String)>,
    now: i64,
    language: PortalLanguage,
}

impl<'a> DisplayNames<'a> {
    fn read(store: &'a PortalStore, now: i64, language: PortalLanguage) -> Result<Self> {
        let all = |entity: &Entity| {
            let fields: Vec<&Field> = entity.fields.iter().collect();
            store.select(entity, &fields, "", Vec::new())
        };
        let users = all(&USER)?.iter().map(|row| (int_of(row, "ID"), title(&USER, row))).collect();
        let rows = all(&STATUS)?;
        let statuses = rows.iter().map(|row| {
            let of = |name: &str| text_of(row, name).to_owned();
            ((of("ENTITY_ID"), of("STATUS_ID")), (of("NAME"), of("COLOR")))
        });
        let statuses = statuses.collect();
        Ok(DisplayNames { store, users, statuses, now, language })
    }

    fn user(&self, row: &Row, name: &str) -> String {
        let id = int_of(row, name);
        self.users.get(&id).map_or_else(|| format!("№ {id}"), |name| escape(name))
    }

    fn stage(&self, directory: &str, code: &str) -> String {
        let found = self.statuses.get(&(directory.to_owned(), code.to_owned()));
        let (name, color) = found.map_or((code, ""), |(name, color)| (name.as_str(), color.as_str()));
        let is_color = color.starts_with('#') && color.len() == 7 && color[1..].chars().all(|c| c.is_ascii_hexdigit());
        let dot = if is_color { format!("<i style=\"background:{color}\"></i>") } else { String::new() };
        format!("<span class=stage>{dot}{}</span>", escape(name))
    }

    /// The name of a record; empty if it does not exist.
    fn record(&self, entity: &Entity, id: i64) -> Result<String> {
        Ok(self.store.get(entity, id)?.map(|row| escape(&title(entity, &row))).unwrap_or_default())
    }

    /// The first phone or e-mail.
    fn reach(&self, entity: &Entity, id: i64, kind: &str) -> Result<String> {
        let value = MULTI.fields.iter().find(|field| field.name == "VALUE");
        let fields: Vec<&Field> = value.into_iter().collect();
        let rest = "WHERE \"OWNER\" = ? AND \"OWNER_ID\" = ? AND \"TYPE_ID\" = ? ORDER BY \"ID\" LIMIT 1";
        let args = vec![Sql::Text(entity.table.to_owned()), Sql::Integer(id), Sql::Text(kind.to_owned())];
        let found = self.store.select(&MULTI, &fields, rest, args)?;
        Ok(found.first().map(|row| escape(text_of(row, "VALUE"))).unwrap_or_default())
    }

    /// A cell with a date; it is marked as late if it has passed and `open` is true.
    fn due(&self, row: &Row, name: &str, open: bool) -> String {
        match row.get(name).and_then(Value::as_i64) {
            None => "<td class=date></td>".to_owned(),
            Some(at) => {
                let late = open && at < self.now;
                format!("<td class=\"date{}\">{}</td>", if late { " late" } else { "" }, clock::plain(at))
            }
        }
    }

    fn owner(&self, entity: &Entity, id: i64) -> Result<String> {
        Ok(format!("<td>{} {id}<small>{}</small></td>", self.language.what(entity), self.record(entity, id)?))
    }
}

fn deal(names: &DisplayNames<'_>, row: &Row) -> Result<String> {
    // The company is left out if the title already has its name.
    let company = names.record(&COMPANY, int_of(row, "COMPANY_ID"))?;
    let person = names.record(&CONTACT, int_of(row, "CONTACT_ID"))?;
    let known = company.is_empty() || escape(text_of(row, "TITLE")).contains(&company);
    let who = [if known { "" } else { company.as_str() }, person.as_str()];
    let who = who.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
    let directory = match int_of(row, "CATEGORY_ID") {
        0 => "DEAL_STAGE".to_owned(),
        id => format!("DEAL_STAGE_{id}"),
    };
    let amount = row.get("OPPORTUNITY").and_then(Value::as_f64).unwrap_or_default();
    // The deal is late only after the end of the day.
    let open = text_of(row, "CLOSED") != "Y" && int_of(row, "CLOSEDATE") + clock::DAY - clock::ZONE_SECONDS < names.now;
    Ok(format!(
        "<td>{}<small>{who}</small></td><td>{}</td><td class=num>{}</td><td>{}</td>{}",
        escape(text_of(row, "TITLE")),
        names.stage(&directory, text_of(row, "STAGE_ID")),
        money(amount, text_of(row, "CURRENCY_ID")),
        names.user(row, "ASSIGNED_BY_ID"),
        names.due(row, "CLOSEDATE", open),
    ))
}

fn contact(names: &DisplayNames<'_>, row: &Row) -> Result<String> {
    let id = int_of(row, "ID");
    let company = match int_of(row, "COMPANY_ID") {
        0 => String::new(),
        company => names.record(&COMPANY, company)?,
    };
    Ok(format!(
        "<td>{}<small>{}</small></td><td>{company}</td><td class=date>{}</td><td>{}</td>",
        escape(&title(&CONTACT, row)),
        escape(text_of(row, "POST")),
        names.reach(&CONTACT, id, "PHONE")?,
        names.reach(&CONTACT, id, "EMAIL")?,
    ))
}

fn company(names: &DisplayNames<'_>, row: &Row) -> Result<String> {
    Ok(format!(
        "<td>{}</td><td>{}</td><td class=date>{}</td><td>{}</td>",
        escape(text_of(row, "TITLE")),
        escape(text_of(row, "ADDRESS_CITY")),
        names.reach(&COMPANY, int_of(row, "ID"), "PHONE")?,
        names.user(row, "ASSIGNED_BY_ID"),
    ))
}

fn lead(names: &DisplayNames<'_>, row: &Row) -> Result<String> {
    Ok(format!(
        "<td>{}<small>{}</small></td><td>{}</td><td>{}</td>{}",
        escape(text_of(row, "TITLE")),
        escape(&format!("{} {}", text_of(row, "NAME"), text_of(row, "LAST_NAME"))),
        names.stage("STATUS", text_of(row, "STATUS_ID")),
        names.user(row, "ASSIGNED_BY_ID"),
        names.due(row, "DATE_CREATE", false),
    ))
}

fn task(names: &DisplayNames<'_>, row: &Row) -> Result<String> {
    let status = int_of(row, "STATUS");
    let word = names.language.said(status_word(status));
    let class = if status == 5 { "done" } else { "" };
    Ok(format!(
        "<td class=\"{class}\">{}<small>{}</small></td><td>{}</td><td class=\"{class}\">{word}</td>{}",
        escape(text_of(row, "TITLE")),
        escape(text_of(row, "DESCRIPTION")),
        names.user(row, "RESPONSIBLE_ID"),
        names.due(row, "DEADLINE", status < 4),
    ))
}

fn activity(names: &DisplayNames<'_>, row: &Row) -> Result<String> {
    let owner =
        [&LEAD, &DEAL, &CONTACT, &COMPANY].into_iter().find(|entity| entity.type_id == int_of(row, "OWNER_TYPE_ID"));
    let owner = match owner {
        Some(entity) => names.owner(entity, int_of(row, "OWNER_ID"))?,
        None => "<td></td>".to_owned(),
    };
    let done = text_of(row, "COMPLETED") == "Y";
    let kind = match int_of(row, "TYPE_ID") {
        1 => "Встреча",
        2 => "Звонок",
        4 => "Письмо",
        _ => "Дело",
    };
    Ok(format!(
        "<td class=\"{}\">{}<small>{}{}</small></td>{owner}<td>{}</td>{}",
        if done { "done" } else { "" },
        escape(text_of(row, "SUBJECT")),
        names.language.said(kind),
        if done { names.language.said(", выполнено") } else { "" },
        names.user(row, "RESPONSIBLE_ID"),
        names.due(row, "DEADLINE", !done),
    ))
}

fn comment(names: &DisplayNames<'_>, row: &Row) -> Result<String> {
    let kind = text_of(row, "ENTITY_TYPE");
    let owner = [&LEAD, &DEAL, &CONTACT, &COMPANY].into_iter().find(|entity| entity.table == kind);
    let owner = match owner {
        Some(entity) => names.owner(entity, int_of(row, "ENTITY_ID"))?,
        None => "<td></td>".to_owned(),
    };
    Ok(format!(
        "<td>{}</td>{owner}<td>{}</td>{}",
        escape(text_of(row, "COMMENT")),
        names.user(row, "AUTHOR_ID"),
        names.due(row, "CREATED", false),
    ))
}

fn task_comment(names: &DisplayNames<'_>, row: &Row) -> Result<String> {
    Ok(format!(
        "<td>{}</td>{}<td>{}</td>{}",
        escape(text_of(row, "POST_MESSAGE")),
        names.owner(&TASK, int_of(row, "TASK_ID"))?,
        names.user(row, "AUTHOR_ID"),
        names.due(row, "POST_DATE", false),
    ))
}
