//! Why a store or a session cannot be used, and messages of the process that holds it.

phrases! {
    /// Errors of stores and sessions.
    StoreWords {
        held:
            "{}: хранилище занято ({}); если это obelus serve, работайте через него: obelus chat (с другой машины: obelus chat --server URL); иначе завершите этот процесс, ответьте на его вопросы отсюда или назовите другое хранилище (--store ПАПКА)",
            "{}: the store is in use by {}; if it is `obelus serve`, work through it with `obelus chat` (from another machine `obelus chat --server URL`); else end it, answer its questions from another process, or use another store (--store DIR)";
        process: "процесс {}", "process {}";
        locked: "с сессией «{}» уже работают", "session `{}`: somebody else in this process is at work on it";
        newer:
            "{}: хранилище версии {}, а эта программа понимает версии до {}: обновите obelus",
            "{}: the store is of form {}, and this version knows forms up to {}: use a newer obelus";
        older:
            "{}: хранилище старой версии {}: запустите в нём сессию один раз, и оно обновится до версии {}",
            "{}: the store is of the older form {}: run a session in it once to bring it to form {}";
        exists: "сессия «{}» уже есть", "there is a session `{}` already";
        name_used:
            "сессия «{}» уже была, и для копии это имя не годится: выберите другое",
            "there was a session `{}`, and its name cannot be given to a copy: choose another name";
        unknown: "сессии «{}» нет", "there is no session `{}`";
        damaged: "сессия «{}», запись {}: данные повреждены ({})", "session `{}`, record {}: {}";
        damaged_index:
            "указатель хранилища повреждён: запустите в нём сессию один раз, и он будет исправлен",
            "the store's index is damaged: run a session in the store once to mend it";
        moved_on:
            "с сессией «{}» одновременно работает кто-то ещё, записей в журнале {}, а не {}: повторите",
            "session `{}`: its journal has {} records, and not {}: somebody else writes it; take it up again";
        bad_name:
            "«{}» — не имя сессии: нужны латинские буквы, цифры, `-` и `_`, не больше 64",
            "`{}` is no name for a session: Latin letters, digits, `-` and `_`, at most 64";
        disk: "хранилище нельзя прочесть или записать: {}", "the store cannot be written or read: {}";
        disk_full:
            "на диске нет места; освободите его и повторите",
            "the disk is full; free some space on it and try again";
        read_only:
            "диск или файл открыт только для чтения; разрешите запись или назовите другое хранилище (--store)",
            "the disk or the file is read-only; make it writable, or name another store with --store";
        not_written: "ничего не записано: {}", "nothing was written: {}";
        too_large:
            "сессия «{}» не записана: в записи {} {} МБ, а кластер принимает не больше {}; продолжайте её на одной машине",
            "session `{}` was not written: record {} has {} MB, and the cluster takes at most {}; continue it on one machine";
        outcome_unknown:
            "неизвестно, записано ли это: {}; хранилище закрыто, и верно то, что будет в нём при следующем открытии",
            "whether it was written is not known: {}; the store was closed, and what it holds when it is opened again counts";
        unreachable: "сервер, который хранит сессии, недоступен: {}", "the server that keeps the sessions cannot be reached: {}";
        only_looking: "{}: хранилище открыто только для чтения", "{}: the store was opened to look at it only";
        folder: "{}: папку нельзя использовать ({})", "{}: {}";
        open_to_others:
            "{}: сюда могут писать другие пользователи (режим {}), а значит, отвечать за вас и запускать программы от вашего имени: выполните {} или разрешите это ключом --insecure-store",
            "{}: other users can write here (mode {}), and so answer for you and run programs as you: run {}, or permit it with --insecure-store";
        open_and_foreign:
            "{}: сюда могут писать другие пользователи (режим {}), а значит, отвечать за вас и запускать программы от вашего имени; владелец — пользователь номер {}, и права может изменить только он: назовите своё хранилище (--store) или разрешите это ключом --insecure-store",
            "{}: other users can write here (mode {}), and so answer for you and run programs as you; it belongs to user number {}, who alone can change that: name a store of your own with --store, or permit it with --insecure-store";
        of_another:
            "{}: это принадлежит другому пользователю (номер {}): работайте под его именем, назовите своё хранилище (--store) или разрешите это ключом --insecure-store, например в контейнере с чужим томом",
            "{}: it belongs to another user (number {}): work as that user, name a store of your own with --store, or permit it with --insecure-store, such as in a container with the volume of another user";
        emptied:
            "{}: файл хранилища пуст или недоступен, сессий в нём нет. Верните его или подключите его диск; чтобы начать новое хранилище, удалите этот файл и файлы рядом с тем же началом имени",
            "{}: the store's file is empty or missing, and so are its sessions. Put it back, or mount its disk; to begin a new store, remove this file and those beside it whose names begin in the same way";
        no_record: "в журнале «{}» записей {}, а не {}", "the journal of `{}` has {} records, not {}";
        no_store: "сессии здесь не сохраняются", "this host has no store to keep sessions in";
        not_restored: "сессию нельзя восстановить: {}", "the session cannot be restored: {}";
        no_home:
            "здесь нет домашней папки: назовите хранилище ключом --store ПАПКА или в OBELUS_HOME",
            "there is no home folder here: name the store with --store DIR or OBELUS_HOME";
    }
}

phrases! {
    /// The process that holds a store, and requests to it from other processes.
    HolderWords {
        request: "запрос другого процесса: {}", "a request from another process: {}";
        not_owner: "пользователь {} — не владелец хранилища", "user {} is not the owner of the store";
        takes_nothing:
            "процесс, у которого открыто хранилище, сейчас ничего не принимает; повторите, когда он закончит",
            "the process that holds the store takes nothing from others now; try again when it has ended";
        ended:
            "процесс, у которого было открыто хранилище, закончился, не ответив: посмотрите сессию",
            "the process that holds the store has ended before it answered: look at the session";
    }
}

phrases! {
    /// Why a file or a picture cannot be read.
    FileErrors {
        missing: "такого файла нет", "there is no such file";
        folder: "это папка; назовите файл в ней", "it is a folder; name a file in it";
        too_large: "файл больше {} МиБ; уменьшите или разделите его", "it is larger than {} MiB; make it smaller, or split it";
        too_many: "в файле больше {} значений; разделите его", "it has more than {} values; split it";
        not_utf8:
            "это не UTF-8 (строка {}, байт {} файла); сохраните файл в UTF-8",
            "it is not UTF-8 (line {}, byte {} of the file); save it as UTF-8";
        no_file: "{}: это не файл", "{}: it is no file";
        large_picture:
            "{}: картинка больше {} МБ, а больше модели не отправляют",
            "{}: it is larger than {} MB, which is the most that is sent to a model";
        no_picture: "{}: это не картинка PNG, JPEG, WebP или GIF", "{}: it is no PNG, JPEG, WebP or GIF";
        many_pictures: "{}: с одним сообщением уходит картинок не больше {}", "{}: at most {} pictures go with one message";
        not_kept: "{}: картинку нельзя сохранить здесь: {}", "{}: the picture cannot be kept there: {}";
    }
}
