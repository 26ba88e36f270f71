//! Standing consents (ASK-9): offers, given consents, and revocation.

use anyhow::{Context as _, Result, bail};
use obelus_kernel::Time;
use obelus_kernel::policy::ConsentId;
use obelus_kernel::policy::StandingConsent;
use obelus_kernel::session::sent_by::SentBy;
use obelus_kernel::session::{Decision, Input};
use obelus_runtime::Host;
use obelus_runtime::people::{never_in_words, terms_in_words};
use serde_json::{Value, json};

use super::super::people::consent_lines;
use super::super::run::on;
use super::{inspect, lifecycle, opened, parts, phrases_for};
use crate::cli::{AlsoFor, AnswerArgs, StoreArgs};
use crate::language::{fill, words_of, words_of_session};
use crate::output::{self, Exit, visible};

pub(super) fn run(id: &str, revoke: Option<&str>, at: &StoreArgs, as_json: bool) -> Result<Exit> {
    if let Some(revoke) = revoke {
        return revoke_consent(id, revoke, at);
    }
    list(&inspect::open_for(at, id)?, id, as_json)
}

/// The consents of a session of a store.
pub(in crate::cmd) fn list(host: &Host, id: &str, as_json: bool) -> Result<Exit> {
    let session = inspect::read(host, id, None)?;
    let phrases = words_of_session(&session);
    if as_json {
        let row = |consent: &StandingConsent| {
            let mut row = json!(consent);
            row["id"] = consent.id().into();
            row["holds"] = consent.holds(session.now()).into();
            row["covers"] = terms_in_words(&consent.terms, &session, phrases.language).into();
            row
        };
        output::json(&session.consents().iter().map(row).collect::<Vec<Value>>().into());
        return Ok(Exit::Done);
    }
    let lines = consent_lines(&session, phrases);
    if lines.is_empty() {
        output::note(phrases.chat.no_consents);
    }
    lines.iter().for_each(|line| output::answer(&visible(line)));
    Ok(Exit::Done)
}

fn revoke_consent(id: &str, consent: &str, at: &StoreArgs) -> Result<Exit> {
    let parsed = consent.parse::<ConsentId>().ok();
    let consent = parsed.with_context(|| fill(words_of(None).answering.no_consent, &[consent]))?;
    let input = Input::Revoke { consent: consent.0, by: SentBy::COMMAND_LINE.to_owned() };
    let host = match lifecycle::open_or_tell(id, at, &input, false)? {
        Ok(host) => host,
        Err(exit) => return Ok(exit),
    };
    on(async {
        let handle = opened(&host, id).await?;
        let revoked = handle.tell(input).await;
        host.close().await;
        Ok(revoked?)
    })?;
    output::note(&fill(phrases_for(at, id).chat.revoked, &[&consent.to_string()]));
    Ok(Exit::Done)
}

/// The decision for `approve --also`: its terms are shown first, and it counts with the code that was shown with
/// them. None if they were only shown.
pub(super) fn offered(
    args: &AnswerArgs,
    also: AlsoFor,
    agreed: Option<&str>,
    until: Option<&str>,
) -> Result<Option<Decision>> {
    super::asked(&args.id, &args.store)?;
    let (name, number) = parts(&args.id)?;
    let session = inspect::read(&inspect::open_for(&args.store, name)?, name, None)?;
    let phrases = words_of_session(&session);
    let until =
        until.map(|text| Time::parse(text).with_context(|| fill(phrases.answering.no_time, &[text]))).transpose()?;
    let offers = session.consent_offers(&number);
    let Some(terms) = offers.into_iter().find(|terms| terms.scope.name() == also.name()) else {
        let others: Vec<&str> = session.consent_offers(&number).iter().map(|terms| terms.scope.name()).collect();
        if others.is_empty() {
            bail!("{}", never_in_words(session.never_standing(&number), phrases.language))
        } else {
            bail!("{}", fill(phrases.answering.other_scopes, &[also.name(), &others.join(", ")]))
        }
    };
    let code = terms.code();
    if agreed == Some(code.as_str()) {
        return Ok(Some(Decision::Consent { terms, until }));
    }
    output::answer(&visible(&terms_in_words(&terms, &session, phrases.language)));
    output::note(&fill(phrases.answering.to_agree, &[&visible(&args.id), also.name(), &code]));
    Ok(None)
}
