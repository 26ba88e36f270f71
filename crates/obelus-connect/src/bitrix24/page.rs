//! Lists: one page as the portal returns it, or as many rows as the call asks for.
//!
//! A call has `limit` (a number of rows, or `all`) or `all: true`. Beyond one page, the client orders by id and
//! continues after the last one, `filter[>ID]` with `start=-1`, which costs the portal the same for every page. Many
//! pages fit into one request although each depends on the one before: in a batch, each refers to the last id of the
//! previous page. If the call wants another order, pages are counted, and rows that moved meanwhile are recognised by
//! their ids.

mod asked;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use obelus_kernel::session::CallError;
use obelus_words::{Language, fill};
use serde_json::{Map, Value, json};

use self::asked::{Order, RowLimit, id_order, insert_into, name_of, place, take_limit, with_id_selected};
use super::annotation::{List, Paging};
use super::errors::{PortalError, PortalFailure};
use super::portal::WebhookQueue;
use super::wire::{PortalAnswer, PortalRequest, field, whole};
use crate::web::encoded;

/// Rows on a page, fixed by the portal.
const PAGE: usize = 50;

/// Pages in one batch. The portal ends a request after a minute, and a page takes about a quarter of a second.
const PAGES_AT_ONCE: usize = 25;

/// The rows so far, and the total if the portal has returned it.
struct FoundRows {
    rows: Vec<Value>,
    total: Option<usize>,
}

/// A list request in progress.
pub(super) struct ListRequest<'a> {
    pub(super) line: &'a Arc<WebhookQueue>,
    pub(super) list: &'a List,
    pub(super) patience: Duration,
    pub(super) language: Language,
}

impl ListRequest<'_> {
    /// Lists as the call asks. The result has the portal's own shape and says if rows are left out.
    pub(super) async fn run(&self, mut request: PortalRequest) -> Result<Value, PortalFailure> {
        let limit = match take_limit(&mut request.params)? {
            RowLimit::Page if self.list.whole => RowLimit::All,
            limit => limit,
        };
        match limit {
            _ if request.params.contains_key("start") => self.one_page(&request, usize::MAX).await,
            RowLimit::Page => self.one_page(&request, usize::MAX).await,
            RowLimit::Rows(count) if count <= PAGE => self.one_page(&request, count).await,
            RowLimit::Rows(count) => {
                let found = self.many(request, Some(count.min(self.list.most))).await?;
                Ok(self.shaped(found))
            }
            RowLimit::All => {
                let found = self.many(request, None).await?;
                // Everything was read, so the initial count is out of date.
                Ok(self.shaped(FoundRows { total: None, ..found }))
            }
        }
    }

    async fn ask(&self, request: &PortalRequest) -> Result<PortalAnswer, PortalFailure> {
        self.line.tried(&request.method, true, self.patience, || self.line.read(request)).await
    }

    async fn one_page(&self, request: &PortalRequest, most: usize) -> Result<Value, PortalFailure> {
        let PortalAnswer { mut result, total, next, .. } = self.ask(request).await?;
        let Some(rows) = self.rows_of(&mut result) else { return Ok(result) };
        let came = rows.len();
        rows.truncate(most);
        let shown = rows.len();
        // An answer that was not counted has no `next`, so the total is unknown.
        if shown < came || next.is_some() {
            let total = total.and_then(|total| usize::try_from(total).ok());
            self.mark(&mut result, shown, total);
        }
        Ok(result)
    }

    async fn many(&self, mut request: PortalRequest, want: Option<usize>) -> Result<FoundRows, PortalFailure> {
        let order = match self.list.by {
            Paging::Id => id_order(&request.params, &self.list.id),
            Paging::Start => None,
        };
        if let Some(order) = order {
            place(&mut request.params, "order", json!({"ID": order.word()}));
            with_id_selected(&mut request.params);
        }
        // The first page is counted, so that the number of requests is known.
        let mut first = self.ask(&request).await?;
        let total = first.total.and_then(|total| usize::try_from(total).ok());
        if let (None, Some(total)) = (want, total.filter(|total| *total > self.list.most)) {
            return Err(self.too_many(total));
        }
        let Some(rows) = self.rows_of(&mut first.result) else { return Err(not_rows(&request.method)) };
        let mut found = FoundRows { rows: std::mem::take(rows), total };
        let has_more = found.rows.len() >= PAGE && first.next.is_some();
        if has_more {
            match order {
                Some(order) => self.by_id(&request, order, want, &mut found).await?,
                None => self.by_start(&request, want, &mut found).await?,
            }
        }
        if let Some(want) = want {
            found.rows.truncate(want);
        }
        Ok(found)
    }

    /// Reads pages after the last id, many in one batch, until one is not full.
    async fn by_id(
        &self,
        request: &PortalRequest,
        order: Order,
        want: Option<usize>,
        found: &mut FoundRows,
    ) -> Result<(), PortalFailure> {
        let mut at_once = PAGES_AT_ONCE;
        loop {
            let have = found.rows.len();
            if want.is_some_and(|want| have >= want) {
                return Ok(());
            }
            if want.is_none() && have > self.list.most {
                return Err(self.too_many(have));
            }
            let last = self.last_id(&found.rows).ok_or_else(|| no_id(&request.method, &self.list.id))?;
            // After as many full pages as there are rows, one more confirms the end.
            let expected = match want {
                Some(want) => (want - have).div_ceil(PAGE),
                None => found.total.map_or(2 * have / PAGE, |total| total.saturating_sub(have) / PAGE + 1),
            };
            let after = PageAfter { order, last, id: self.id_name(&found.rows) };
            let pages = match self.pages_after(request, &after, expected.clamp(1, at_once)).await {
                Ok(pages) => pages,
                // Retry with fewer pages at a time.
                Err(PortalFailure::Lost(_) | PortalFailure::TooLarge) if at_once > 1 => {
                    at_once /= 4;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let mut before = last;
            for rows in pages {
                let is_last = rows.len() < PAGE;
                for row in &rows {
                    let follows = |id: &u64| order.is_after(*id, before);
                    before = self.id_of(row).filter(follows).ok_or_else(out_of_order)?;
                }
                found.rows.extend(rows);
                if is_last {
                    return Ok(());
                }
            }
        }
    }

    /// Reads `count` pages after an id; returns the rows of each page that could be read.
    async fn pages_after(
        &self,
        request: &PortalRequest,
        after: &PageAfter,
        count: usize,
    ) -> Result<Vec<Vec<Value>>, PortalFailure> {
        let mut request = request.clone();
        request.params.insert("start".to_owned(), json!(-1));
        let bound = format!("{}ID", after.order.sign());
        let filter = name_of(&request.params, "filter");
        let commands = self.chain(&request, &filter, &bound, after, count);
        let Some(commands) = commands.filter(|commands| commands.len() > 1) else {
            insert_into(&mut request.params, &filter, &bound, json!(after.last));
            let mut answer = self.ask(&request).await?;
            let rows = self.rows_of(&mut answer.result).ok_or_else(|| not_rows(&request.method))?;
            return Ok(vec![std::mem::take(rows)]);
        };
        let mut pages = Vec::new();
        for answer in self.batch(&request.method, &commands, true).await? {
            let mut result = answer.result;
            let rows = self.rows_of(&mut result).ok_or_else(|| not_rows(&request.method))?;
            pages.push(std::mem::take(rows));
            // The pages after one that is not full refer to a missing row.
            if pages.last().is_some_and(|rows| rows.len() < PAGE) {
                break;
            }
        }
        Ok(pages)
    }

    /// The commands of a batch in which each page begins after the last row of the one before.
    fn chain(
        &self,
        request: &PortalRequest,
        filter: &str,
        bound: &str,
        after: &PageAfter,
        count: usize,
    ) -> Option<Vec<(String, String)>> {
        let mut open = request.clone();
        if let Some(Value::Object(fields)) = open.params.get_mut(filter) {
            fields.shift_remove(bound);
        }
        let command = open.command()?;
        let bound = format!("{}%5B{}%5D", encoded(filter), encoded(bound));
        let join = if command.contains('?') { '&' } else { '?' };
        let rows = self.list.rows.as_ref().map(|rows| format!("[{rows}]")).unwrap_or_default();
        let page = |index: usize| {
            let from = match index.checked_sub(1) {
                None => after.last.to_string(),
                Some(before) => format!("$result[p{before}]{rows}[{}][{}]", PAGE - 1, after.id),
            };
            (format!("p{index}"), format!("{command}{join}{bound}={}", encoded(&from)))
        };
        Some((0..count).map(page).collect())
    }

    /// Reads pages by count, for an order other than by id. Rows that moved to a later page are returned once.
    async fn by_start(
        &self,
        request: &PortalRequest,
        want: Option<usize>,
        found: &mut FoundRows,
    ) -> Result<(), PortalFailure> {
        let mut seen: BTreeSet<String> = found.rows.iter().filter_map(|row| self.id_text(row)).collect();
        let mut start = PAGE;
        loop {
            let need = want.or(found.total).map_or(PAGES_AT_ONCE * PAGE, |want| want.saturating_sub(start));
            let pages = need.div_ceil(PAGE).clamp(1, PAGES_AT_ONCE);
            let requests: Vec<PortalRequest> = (0..pages)
                .map(|page| {
                    let mut request = request.clone();
                    request.params.insert("start".to_owned(), json!(start + page * PAGE));
                    request
                })
                .collect();
            for mut answer in self.ask_each(&requests).await? {
                let rows = self.rows_of(&mut answer.result).ok_or_else(|| not_rows(&request.method))?;
                let is_last = rows.len() < PAGE;
                found.rows.extend(rows.drain(..).filter(|row| self.id_text(row).is_none_or(|id| seen.insert(id))));
                if is_last || answer.next.is_none() || want.is_some_and(|want| found.rows.len() >= want) {
                    return Ok(());
                }
            }
            if found.rows.len() > self.list.most {
                return Err(self.too_many(found.rows.len()));
            }
            start += pages * PAGE;
        }
    }

    /// Sends independent requests, in one batch if possible.
    async fn ask_each(&self, requests: &[PortalRequest]) -> Result<Vec<PortalAnswer>, PortalFailure> {
        let commands: Option<Vec<(String, String)>> = requests
            .iter()
            .enumerate()
            .map(|(index, request)| Some((format!("p{index}"), request.command()?)))
            .collect();
        if let (Some(commands), [first, _, ..]) = (commands, requests) {
            return self.batch(&first.method, &commands, false).await;
        }
        let mut answers = Vec::new();
        for request in requests {
            answers.push(self.ask(request).await?);
        }
        Ok(answers)
    }

    /// The answers of a batch up to the first failure; an error if the first one failed.
    async fn batch(
        &self,
        method: &str,
        commands: &[(String, String)],
        halt: bool,
    ) -> Result<Vec<PortalAnswer>, PortalFailure> {
        let parts = std::sync::Mutex::new(Vec::new());
        let attempt = || async {
            self.line.portal.turn().await;
            let mut answers = self.line.transmit_batch(commands, halt).await?.into_iter();
            let absent = || Err(PortalFailure::Lost("the batch has no answer".to_owned()));
            let first = answers.next().flatten().unwrap_or_else(absent)?;
            *super::portal::locked(&parts) = answers.map_while(|answer| answer?.ok()).collect();
            Ok(first)
        };
        let first = self.line.tried(method, true, self.patience, attempt).await?;
        let rest = parts.into_inner().unwrap_or_default();
        Ok(std::iter::once(first).chain(rest).collect())
    }

    /// The rows of a result. Newer methods have them in a field, older ones return them bare.
    fn rows_of<'a>(&self, result: &'a mut Value) -> Option<&'a mut Vec<Value>> {
        match &self.list.rows {
            Some(rows) if result.is_object() => result.get_mut(rows)?.as_array_mut(),
            _ => result.as_array_mut(),
        }
    }

    fn id_of(&self, row: &Value) -> Option<u64> {
        whole(field(row, &self.list.id))
    }

    fn id_text(&self, row: &Value) -> Option<String> {
        field(row, &self.list.id).filter(|id| !id.is_null()).map(Value::to_string)
    }

    /// The id's name as the rows spell it.
    fn id_name(&self, rows: &[Value]) -> String {
        let names = rows.last().and_then(Value::as_object).into_iter().flat_map(Map::keys);
        let spelled = names.into_iter().find(|name| name.eq_ignore_ascii_case(&self.list.id)).cloned();
        spelled.unwrap_or_else(|| self.list.id.clone())
    }

    fn last_id(&self, rows: &[Value]) -> Option<u64> {
        self.id_of(rows.last()?)
    }

    /// The rows without the object around them; notes beside them become the last row.
    pub(super) fn bare(&self, mut result: Value) -> Value {
        let Some(rows) = self.rows_of(&mut result).map(std::mem::take) else { return result };
        let more = result.get_mut(MORE).map(|more| json!({ MORE: more.take() }));
        rows.into_iter().chain(more).collect()
    }

    /// The rows in the portal's own shape.
    fn shaped(&self, found: FoundRows) -> Value {
        let shown = found.rows.len();
        let mut result = match &self.list.rows {
            Some(rows) => Value::Object(Map::from_iter([(rows.clone(), found.rows.into())])),
            None => found.rows.into(),
        };
        if found.total.is_some_and(|total| total > shown) {
            self.mark(&mut result, shown, found.total);
        }
        result
    }

    /// Notes that rows were left out: beside the rows, or as the last row if the result is a bare list.
    fn mark(&self, result: &mut Value, shown: usize, total: Option<usize>) {
        let words = &self.language.words().portal;
        let of = total.map_or_else(String::new, |total| fill(words.shown_of, &[&total.to_string()]));
        let note = fill(words.more_rows, &[&shown.to_string(), &of]);
        let more = json!({"shown": shown, "total": total, "note": note});
        match result {
            Value::Array(rows) => rows.push(json!({ MORE: more })),
            Value::Object(fields) => drop(fields.insert(MORE.to_owned(), more)),
            _ => {}
        }
    }

    fn too_many(&self, total: usize) -> PortalFailure {
        let most = self.list.most;
        let phrase = self.language.words().portal.too_many_rows;
        let words = fill(phrase, &[&total.to_string(), &most.to_string()]);
        PortalFailure::Wrong(CallError::new("too_many_rows", words))
    }
}

/// The field that notes left out rows.
const MORE: &str = "_more";

fn not_rows(method: &str) -> PortalFailure {
    let text = format!("`{method}` did not answer with rows; see `list` in the tool's `x-bitrix24`");
    PortalFailure::Wrong(CallError::new("not_a_list", text))
}

fn no_id(method: &str, id: &str) -> PortalFailure {
    let text = format!("the rows of `{method}` have no `{id}` to go on from; see `list` in the tool's `x-bitrix24`");
    PortalFailure::Wrong(CallError::new("not_a_list", text))
}

/// The failure for a row that does not follow the last one: continuing from it would repeat or skip rows.
fn out_of_order() -> PortalFailure {
    PortalFailure::Portal(PortalError::new("bad_page", "the portal gave rows that were not asked for"))
}

/// The row after which a page begins.
struct PageAfter {
    order: Order,
    last: u64,
    /// How rows spell their id.
    id: String,
}
