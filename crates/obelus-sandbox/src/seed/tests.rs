//! Tests of a new portal's data.

use super::*;
use crate::entity::ALL;

/// Every row of every table, as text.
fn everything(now: i64, language: PortalLanguage) -> Result<String> {
    let (store, _) = PortalStore::open(None)?;
    store.create()?;
    fill(&store, now, DEALS, language)?;
    let mut all = String::new();
    for entity in ALL {
        let fields: Vec<_> = entity.fields.iter().collect();
        for row in store.select(entity, &fields, "ORDER BY \"ID\"", Vec::new())? {
            all.push_str(&Value::Object(row).to_string());
        }
    }
    Ok(all)
}

#[test]
fn the_same_moment_gives_the_same_portal() -> Result<()> {
    assert_eq!(
        everything(1_800_000_000, PortalLanguage::Russian)?,
        everything(1_800_000_000, PortalLanguage::Russian)?
    );
    Ok(())
}

#[test]
fn record_counts_and_references_are_as_expected() -> Result<()> {
    let (store, _) = PortalStore::open(None)?;
    store.create()?;
    fill(&store, 1_800_000_000, DEALS, PortalLanguage::Russian)?;
    let count = |entity: &Entity| store.count(entity, "", Vec::new());
    assert_eq!((count(&DEAL)?, count(&USER)?, count(&GROUP)?, count(&CATEGORY)?), (150, 8, 4, 1));
    assert_eq!((count(&COMPANY)?, count(&CONTACT)?, count(&TASK)?, count(&ACTIVITY)?), (COMPANIES, CONTACTS, 36, 72));
    assert_eq!(store.count(&DEAL, "WHERE \"CATEGORY_ID\" = 1", Vec::new())?, 37);
    // Every reference points to an existing record.
    for (table, column, to) in [
        ("deal", "COMPANY_ID", "company"),
        ("deal", "CONTACT_ID", "contact"),
        ("deal", "ASSIGNED_BY_ID", "user"),
        ("contact", "COMPANY_ID", "company"),
        ("task", "RESPONSIBLE_ID", "user"),
        ("activity", "OWNER_ID", "deal"),
        ("comment", "ENTITY_ID", "deal"),
        ("group_user", "USER_ID", "user"),
    ] {
        let sql = format!(
            "SELECT count(*) FROM \"{table}\" WHERE \"{column}\" IS NOT NULL AND \"{column}\" NOT IN (SELECT \"ID\" FROM \"{to}\")"
        );
        assert_eq!(store.db.query_row(&sql, [], |row| row.get::<_, i64>(0))?, 0, "{table}.{column}");
    }
    Ok(())
}

#[test]
fn addresses_and_phones_are_not_real() -> Result<()> {
    let all = everything(1_800_000_000, PortalLanguage::Russian)?;
    for (at, _) in all.match_indices('@') {
        let rest = &all[at + 1..];
        let domain = rest.split(['"', '\\']).next().unwrap_or_default();
        assert!(domain.ends_with("example.test"), "{domain}");
    }
    for (at, _) in all.match_indices("+7") {
        assert!(all[at..].starts_with("+7 000 555-"), "{}", &all[at..at + 16]);
    }
    Ok(())
}

#[test]
fn past_events_have_past_dates() -> Result<()> {
    // At midnight, in the morning, in the afternoon, and late in the evening.
    for hour in [0, 8, 15, 23] {
        assert_done_before(1_799_960_400 + hour * 3600)?;
    }
    Ok(())
}

fn assert_done_before(now: i64) -> Result<()> {
    let (store, _) = PortalStore::open(None)?;
    store.create()?;
    fill(&store, now, DEALS, PortalLanguage::Russian)?;
    for (table, column) in [
        ("deal", "DATE_CREATE"),
        ("deal", "DATE_MODIFY"),
        ("contact", "DATE_MODIFY"),
        ("company", "DATE_MODIFY"),
        ("lead", "DATE_CREATE"),
        ("task", "CREATED_DATE"),
        ("task", "CHANGED_DATE"),
        ("task", "CLOSED_DATE"),
        ("activity", "CREATED"),
        ("activity", "LAST_UPDATED"),
        ("comment", "CREATED"),
        ("task_comment", "POST_DATE"),
        ("user", "LAST_LOGIN"),
    ] {
        let latest = format!("SELECT max(\"{column}\") FROM \"{table}\"");
        let latest: i64 = store.db.query_row(&latest, [], |row| row.get(0))?;
        assert!(latest <= now, "{table}.{column} is {} s ahead", latest - now);
    }
    Ok(())
}

#[test]
fn an_english_portal_has_the_same_records_without_russian_words() -> Result<()> {
    assert_eq!((words::RUSSIAN.users.len(), words::RUSSIAN.companies.len()), (8, 28));
    assert_eq!((words::ENGLISH.users.len(), words::ENGLISH.companies.len()), (8, 28));
    let english = everything(1_800_000_000, PortalLanguage::English)?;
    let russian = english.chars().position(|c| ('\u{400}'..='\u{4ff}').contains(&c));
    assert_eq!(russian, None);
    Ok(())
}
