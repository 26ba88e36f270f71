//! Texts about a portal: why a call failed, and events.

use crate::Language;

phrases! {
    /// Errors of the portal, and what to do about them. They become messages of calls, which are in journals.
    PortalWords {
        refused: "портал отказал", "the portal refused it";
        events_need_app:
            "Подписка на события доступна только приложению портала, входящий вебхук её создать не может. Попросите администратора портала создать локальное приложение или попробуйте на учебном портале",
            "Subscriptions to events need an application of the portal; an incoming webhook cannot make them. Ask the portal's administrator for a local application, or try it on the sandbox portal";
        needs_app:
            "Этот метод доступен только приложениям портала, входящему вебхуку — нет",
            "This method is for applications of the portal; an incoming webhook cannot call it";
        no_scope:
            "У вебхука нет прав на этот раздел портала: владелец может добавить их в настройках вебхука",
            "The webhook lacks the right to this part of the portal: its owner can add it in the webhook's settings";
        no_access:
            "У пользователя вебхука нет доступа к этому; нужен человек с большими правами или выданный доступ",
            "The user of the webhook has no access to this; someone with more rights must do it or grant it";
        bad_webhook:
            "Портал не принимает вебхук: возможно, он удалён или указан с ошибкой; создайте новый",
            "The portal does not accept the webhook: it may have been deleted or is mistyped; make a new one";
        blocked:
            "Портал вручную заблокировал запросы из-за нагрузки; снять блокировку может только поддержка или администратор",
            "The portal has blocked requests by hand because of its load; only its support or administrator can lift that";
        no_method:
            "На портале нет такого метода; проверьте имя в файле инструмента и права вебхука",
            "The portal has no such method; check its name in the tool's file and the webhook's rights";
        not_found: "Такой записи нет или она не видна вебхуку", "There is no such record, or it is not visible to the webhook";
        busy:
            "портал перегружен запросами; повторите через минуту",
            "the portal is busy, and stayed so; try again in a minute";
        out_of_time:
            "портал исчерпал время на такие запросы",
            "the portal has used up its time for this kind of request";
        again_at: "; снова принимает с {} (через {} мин)", "; it takes them again at {} (in {} min)";
        not_sent: "{} недоступен; ничего не отправлено: {}", "{} cannot be reached; nothing was sent: {}";
        too_large:
            "ответ слишком большой; запросите меньше строк или полей",
            "the answer is too large; ask for fewer rows or fields";
        no_webhook:
            "портал не задан: укажите в {} адрес его входящего вебхука; `obelus demo` работает на учебном портале",
            "there is no portal: set {} to the address of its incoming webhook; `obelus demo` runs on the sandbox portal";
        lost: "запрос отправлен, но ответ потерян", "the request was sent, and its answer is lost";
        look_failed: "проверить не удалось", "looking whether it happened failed";
        no_look: "проверить это нельзя", "it cannot be looked up";
        look_lacks: "в вызове нет нужного для проверки", "the call lacks what is needed to look it up";
        not_as_set:
            "в записи нет того, что задаёт изменение",
            "the record does not have what the update sets";
        shown_of: " из {}", " of {}";
        more_rows:
            "показано строк: {}{}; чтобы получить остальные, укажите limit: \"all\" или сузьте фильтр",
            "{} rows{}: ask again with limit: \"all\", or with a narrower filter";
        too_many_rows:
            "строк {}, а получить можно не больше {}; сузьте фильтр или укажите limit",
            "there are {} rows, and at most {} are fetched; narrow the filter, or give a limit";
    }
}

/// A kind of record: its name in events, its Russian noun, the ending of Russian participles for it, and its English
/// noun.
const RECORDS: [(&str, &str, &str, &str); 8] = [
    ("CRMDEAL", "сделка", "а", "deal"),
    ("CRMCONTACT", "контакт", "", "contact"),
    ("CRMCOMPANY", "компания", "а", "company"),
    ("CRMLEAD", "лид", "", "lead"),
    ("CRMACTIVITY", "дело", "о", "activity"),
    ("CRMTIMELINECOMMENT", "комментарий", "", "comment"),
    ("TASKCOMMENT", "комментарий к задаче", "", "comment on a task"),
    ("TASK", "задача", "а", "task"),
];

/// A change of a record: its name in events, in Russian, in English.
const DEEDS: [(&str, &str, &str); 3] =
    [("ADD", "создан", "created"), ("UPDATE", "изменён", "changed"), ("DELETE", "удалён", "deleted")];

/// An event of a portal as one line: "deal 12 was changed". None for an unknown event.
pub fn event_in_words(name: &str, id: Option<u64>, language: Language) -> Option<String> {
    let found = RECORDS.iter().find_map(|record| {
        let deed = name.strip_prefix("ON")?.strip_prefix(record.0)?;
        Some((record, DEEDS.iter().find(|(name, ..)| *name == deed)?))
    });
    let ((_, russian, ending, english), (_, done, english_done)) = found?;
    let id = id.map(|id| format!(" {id}")).unwrap_or_default();
    Some(match language {
        Language::Russian => {
            // Without its ending the participle has a stressed `ё`; with an ending it has `е`.
            let done = if ending.is_empty() { (*done).to_owned() } else { done.replace('ё', "е") };
            format!("{russian}{id} {done}{ending}")
        }
        Language::English => format!("{english}{id} was {english_done}"),
    })
}
