//! Why a store or a session in it cannot be used.

use obelus_runtime::phrases;

phrases! {
    /// Errors of stores and sessions that people meet. In English the errors speak for themselves, and say more.
    StoreWords {
        held:
            "{}: хранилище занято ({}); завершите этот процесс или ответьте там",
            "{}: the store is in use by {}; end it first, or answer there";
        locked: "с сессией «{}» уже работают", "somebody is at work on the session `{}`";
        newer:
            "{}: хранилище версии {}, её понимает только более новая программа: обновите obelus",
            "{}: the store is of form {}: use a newer obelus";
        older:
            "{}: хранилище старой версии {}: запустите в нём сессию один раз, и оно обновится",
            "{}: the store is of the older form {}: run a session in it once";
        exists: "сессия «{}» уже есть", "there is a session `{}` already";
        name_used:
            "сессия «{}» уже была, и для копии это имя не годится: выберите другое",
            "there was a session `{}`: choose another name";
        unknown: "сессии «{}» нет; все сессии: obelus sessions list", "there is no session `{}`";
        damaged: "сессия «{}», запись {}: данные повреждены ({})", "session `{}`, record {}: {}";
        damaged_index:
            "указатель хранилища повреждён: запустите в нём сессию один раз, и он будет исправлен",
            "the store's index is damaged: run a session in the store once to mend it";
        moved_on:
            "с сессией «{}» одновременно работает кто-то ещё: повторите",
            "somebody else writes the session `{}`: try again";
        bad_name:
            "«{}» — не имя сессии: нужны латинские буквы, цифры, `-` и `_`, не больше 64",
            "`{}` is no name for a session";
        disk: "хранилище нельзя прочесть или записать ({})", "the store cannot be written or read ({})";
        not_written: "ничего не записано ({})", "nothing was written ({})";
        outcome_unknown:
            "неизвестно, записано ли это ({}); хранилище закрыто, и верно то, что будет в нём при следующем открытии",
            "whether it was written is not known ({})";
        only_looking: "{}: хранилище открыто только для чтения", "{}: the store was opened to look at it only";
        folder: "{}: папку нельзя использовать ({})", "{}: the folder cannot be used ({})";
        no_record: "в журнале «{}» записей {}, а не {}", "the journal of `{}` has {} records, not {}";
        no_store: "сессии здесь не сохраняются", "there is no store to keep sessions in";
    }
}
