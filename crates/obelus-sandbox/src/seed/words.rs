//! The names and texts of the made-up data, in Russian and English.

mod english;

pub(super) use english::ENGLISH;

/// The made-up data of a portal in one language.
pub(super) struct SeedWords {
    pub(super) second_funnel: &'static str,
    /// Directory, code, name, meaning (`S` won, `F` lost), colour.
    pub(super) statuses: &'static [(&'static str, &'static str, &'static str, &'static str, &'static str)],
    /// Name, type, label of deals' own fields.
    pub(super) own_fields: &'static [(&'static str, &'static str, &'static str)],
    /// Name, the department above, the head.
    pub(super) departments: &'static [(&'static str, i64, i64)],
    /// Name, patronymic, family name, sex, position, department, login. The last user has left the company.
    pub(super) users:
        &'static [(&'static str, &'static str, &'static str, &'static str, &'static str, i64, &'static str)],
    /// Name, purpose, members (the owner first).
    pub(super) groups: &'static [(&'static str, &'static str, &'static [i64])],
    pub(super) group_subject: &'static str,
    /// Title, industry, city.
    pub(super) companies: &'static [(&'static str, &'static str, &'static str)],
    /// Title of a deal, lowest and highest price.
    pub(super) works: &'static [(&'static str, i64, i64)],
    pub(super) cities: &'static [&'static str],
    pub(super) women: &'static [&'static str],
    pub(super) men: &'static [&'static str],
    pub(super) daughters: &'static [&'static str],
    pub(super) sons: &'static [&'static str],
    /// Family name: masculine, feminine, in Latin letters.
    pub(super) families: &'static [(&'static str, &'static str, &'static str)],
    pub(super) posts: &'static [&'static str],
    /// Type, provider, subject.
    pub(super) calls: &'static [(i64, &'static str, &'static str)],
    pub(super) comments: &'static [&'static str],
    /// Title and description.
    pub(super) tasks: &'static [(&'static str, &'static str)],
    /// The title of a checklist, and its items.
    pub(super) checklist: [&'static str; 4],
    /// The suffix of the title of a private customer's deal.
    pub(super) private_order: &'static str,
    /// The prefix of the title of a lead.
    pub(super) website_request: &'static str,
}

pub(super) static RUSSIAN: SeedWords = SeedWords {
    second_funnel: SECOND_FUNNEL,
    statuses: STATUSES,
    own_fields: OWN_FIELDS,
    departments: DEPARTMENTS,
    users: USERS,
    groups: GROUPS,
    group_subject: "Рабочие группы",
    companies: COMPANIES,
    works: WORKS,
    cities: CITIES,
    women: WOMEN,
    men: MEN,
    daughters: DAUGHTERS,
    sons: SONS,
    families: FAMILIES,
    posts: POSTS,
    calls: CALLS,
    comments: COMMENTS,
    tasks: TASKS,
    checklist: ["Чек-лист", "Связаться с клиентом", "Согласовать смету", "Отправить документы"],
    private_order: ", частный заказ",
    website_request: "Заявка с сайта: ",
};

const SECOND_FUNNEL: &str = "Сервис и монтаж";

const STATUSES: &[(&str, &str, &str, &str, &str)] = &[
    ("DEAL_STAGE", "NEW", "Новая", "", "#39A8EF"),
    ("DEAL_STAGE", "PREPARATION", "Подготовка документов", "", "#2FC6F6"),
    ("DEAL_STAGE", "UC_7QK2DM", "Согласование договора", "", "#47D1E2"),
    ("DEAL_STAGE", "PREPAYMENT_INVOICE", "Счёт на предоплату", "", "#55D0E0"),
    ("DEAL_STAGE", "EXECUTING", "В работе", "", "#47E4C2"),
    ("DEAL_STAGE", "FINAL_INVOICE", "Финальный счёт", "", "#FFA900"),
    ("DEAL_STAGE", "WON", "Сделка успешна", "S", "#7BD500"),
    ("DEAL_STAGE", "LOSE", "Сделка провалена", "F", "#FF5752"),
    ("DEAL_STAGE", "APOLOGY", "Анализ причины провала", "F", "#FF5752"),
    ("DEAL_STAGE_1", "C1:NEW", "Новая заявка", "", "#39A8EF"),
    ("DEAL_STAGE_1", "C1:UC_MEASURE", "Выезд замерщика", "", "#2FC6F6"),
    ("DEAL_STAGE_1", "C1:PREPARATION", "Согласование сметы", "", "#55D0E0"),
    ("DEAL_STAGE_1", "C1:EXECUTING", "Монтаж", "", "#47E4C2"),
    ("DEAL_STAGE_1", "C1:UC_ACCEPT", "Приёмка работ", "", "#FFA900"),
    ("DEAL_STAGE_1", "C1:WON", "Работы приняты", "S", "#7BD500"),
    ("DEAL_STAGE_1", "C1:LOSE", "Отказ клиента", "F", "#FF5752"),
    ("DEAL_TYPE", "SALE", "Продажа", "", ""),
    ("DEAL_TYPE", "COMPLEX", "Комплексная продажа", "", ""),
    ("DEAL_TYPE", "SERVICES", "Услуги", "", ""),
    ("DEAL_TYPE", "SERVICE", "Сервисное обслуживание", "", ""),
    ("SOURCE", "CALL", "Звонок", "", ""),
    ("SOURCE", "EMAIL", "Электронная почта", "", ""),
    ("SOURCE", "WEB", "Веб-сайт", "", ""),
    ("SOURCE", "PARTNER", "Партнёр", "", ""),
    ("SOURCE", "RECOMMENDATION", "По рекомендации", "", ""),
    ("SOURCE", "TRADE_SHOW", "Выставка", "", ""),
    ("SOURCE", "CALLBACK", "Обратный звонок", "", ""),
    ("SOURCE", "OTHER", "Другое", "", ""),
    ("CONTACT_TYPE", "CLIENT", "Клиент", "", ""),
    ("CONTACT_TYPE", "SUPPLIER", "Поставщик", "", ""),
    ("CONTACT_TYPE", "PARTNER", "Партнёр", "", ""),
    ("CONTACT_TYPE", "OTHER", "Другое", "", ""),
    ("COMPANY_TYPE", "CUSTOMER", "Клиент", "", ""),
    ("COMPANY_TYPE", "SUPPLIER", "Поставщик", "", ""),
    ("COMPANY_TYPE", "COMPETITOR", "Конкурент", "", ""),
    ("COMPANY_TYPE", "PARTNER", "Партнёр", "", ""),
    ("COMPANY_TYPE", "OTHER", "Другое", "", ""),
    ("INDUSTRY", "IT", "Информационные технологии", "", ""),
    ("INDUSTRY", "MANUFACTURING", "Производство", "", ""),
    ("INDUSTRY", "CONSTRUCTION", "Строительство", "", ""),
    ("INDUSTRY", "TRADE", "Торговля", "", ""),
    ("INDUSTRY", "HEALTHCARE", "Медицина", "", ""),
    ("INDUSTRY", "EDUCATION", "Образование", "", ""),
    ("INDUSTRY", "HOTEL", "Гостиницы и рестораны", "", ""),
    ("INDUSTRY", "OTHER", "Другое", "", ""),
    ("EMPLOYEES", "EMPLOYEES_1", "менее 50", "", ""),
    ("EMPLOYEES", "EMPLOYEES_2", "50–250", "", ""),
    ("EMPLOYEES", "EMPLOYEES_3", "250–500", "", ""),
    ("EMPLOYEES", "EMPLOYEES_4", "более 500", "", ""),
    ("STATUS", "NEW", "Не обработан", "", "#39A8EF"),
    ("STATUS", "IN_PROCESS", "В работе", "", "#2FC6F6"),
    ("STATUS", "PROCESSED", "Обработан", "", "#47E4C2"),
    ("STATUS", "CONVERTED", "Качественный лид", "S", "#7BD500"),
    ("STATUS", "JUNK", "Некачественный лид", "F", "#FF5752"),
];

const OWN_FIELDS: &[(&str, &str, &str)] =
    &[("UF_CRM_CITY", "string", "Город доставки"), ("UF_CRM_WARRANTY", "integer", "Гарантия, месяцев")];

const DEPARTMENTS: &[(&str, i64, i64)] = &[("Окна и свет", 0, 1), ("Отдел продаж", 1, 2), ("Отдел монтажа", 1, 5)];

const USERS: &[(&str, &str, &str, &str, &str, i64, &str)] = &[
    ("Марина", "Олеговна", "Светлова", "F", "Директор", 1, "svetlova"),
    ("Антон", "Игоревич", "Черемных", "M", "Руководитель отдела продаж", 2, "cheremnykh"),
    ("Дарья", "Павловна", "Лугова", "F", "Менеджер по продажам", 2, "lugova"),
    ("Илья", "Романович", "Кедров", "M", "Менеджер по продажам", 2, "kedrov"),
    ("Сергей", "Викторович", "Плотников", "M", "Руководитель монтажа", 3, "plotnikov"),
    ("Ольга", "Андреевна", "Ветрова", "F", "Инженер-замерщик", 3, "vetrova"),
    ("Татьяна", "Юрьевна", "Белкина", "F", "Бухгалтер", 1, "belkina"),
    ("Никита", "Алексеевич", "Горелов", "M", "Монтажник", 3, "gorelov"),
];

const GROUPS: &[(&str, &str, &[i64])] = &[
    ("Продажи", "Планы, скидки, сложные клиенты", &[2, 3, 4, 1]),
    ("Монтажные бригады", "Графики выездов и материалы", &[5, 6, 8]),
    ("Бухгалтерия и договоры", "Счета, акты, закрывающие документы", &[7, 1, 2]),
    ("Переезд шоурума", "Новый шоурум на Заречной", &[1, 2, 3, 4, 5, 6, 7]),
];

const COMPANIES: &[(&str, &str, &str)] = &[
    ("ООО «Северный ветер»", "TRADE", "Псков"),
    ("АО «Заречье-Строй»", "CONSTRUCTION", "Тверь"),
    ("ООО «Кофейня на углу»", "HOTEL", "Калуга"),
    ("ИП Самоцветов", "TRADE", "Екатеринбург"),
    ("ООО «Лаборатория тишины»", "MANUFACTURING", "Казань"),
    ("Гостиница «Три сосны»", "HOTEL", "Петрозаводск"),
    ("ООО «Агросад»", "MANUFACTURING", "Краснодар"),
    ("Клиника «Доброе утро»", "HEALTHCARE", "Самара"),
    ("Школа «Перспектива»", "EDUCATION", "Рязань"),
    ("ООО «Вторая смена»", "IT", "Новосибирск"),
    ("ТД «Гранит»", "TRADE", "Мурманск"),
    ("ООО «Мосты и дороги»", "CONSTRUCTION", "Вологда"),
    ("Студия «Белый лист»", "IT", "Санкт-Петербург"),
    ("ООО «Хлебный дом»", "MANUFACTURING", "Воронеж"),
    ("Автосалон «Маршрут»", "TRADE", "Уфа"),
    ("ООО «Полярная звезда»", "TRADE", "Архангельск"),
    ("База отдыха «Озёрная»", "HOTEL", "Валдай"),
    ("ООО «Точный расчёт»", "OTHER", "Москва"),
    ("Фабрика «Ткань и нить»", "MANUFACTURING", "Иваново"),
    ("ООО «Городские дворы»", "CONSTRUCTION", "Ярославль"),
    ("Пекарня «Корица»", "HOTEL", "Томск"),
    ("ООО «Линия света»", "MANUFACTURING", "Пермь"),
    ("Стоматология «Улыбка плюс»", "HEALTHCARE", "Тула"),
    ("ООО «Каменный мост»", "CONSTRUCTION", "Смоленск"),
    ("Детский центр «Облако»", "EDUCATION", "Омск"),
    ("ООО «Речной порт»", "OTHER", "Нижний Новгород"),
    ("Типография «Оттиск»", "MANUFACTURING", "Липецк"),
    ("ООО «Зелёный квартал»", "CONSTRUCTION", "Сочи"),
];

const WORKS: &[(&str, i64, i64)] = &[
    ("Поставка пластиковых окон", 180_000, 900_000),
    ("Остекление фасада", 900_000, 4_800_000),
    ("Входная группа со стеклянными дверями", 240_000, 780_000),
    ("Замена стеклопакетов", 35_000, 160_000),
    ("Офисные перегородки", 150_000, 640_000),
    ("Тёплое остекление веранды", 260_000, 720_000),
    ("Рольставни на витрины", 70_000, 310_000),
    ("Мансардные окна", 120_000, 420_000),
    ("Сервисное обслуживание окон на год", 24_000, 96_000),
    ("Зимний сад", 540_000, 1_900_000),
    ("Раздвижные двери", 95_000, 380_000),
    ("Москитные сетки и откосы", 12_000, 60_000),
    ("Противопожарные перегородки", 320_000, 1_400_000),
    ("Жалюзи и рулонные шторы", 18_000, 140_000),
    ("Ремонт фурнитуры", 6_000, 40_000),
    ("Замер и проект остекления", 15_000, 75_000),
];

const CITIES: &[&str] = &["Псков", "Тверь", "Калуга", "Москва", "Санкт-Петербург", "Рязань", "Ярославль", "Казань"];

const WOMEN: &[&str] = &[
    "Анна",
    "Вера",
    "Галина",
    "Екатерина",
    "Елена",
    "Ирина",
    "Ксения",
    "Людмила",
    "Надежда",
    "Полина",
    "Софья",
    "Юлия",
];
const MEN: &[&str] =
    &["Алексей", "Артём", "Борис", "Василий", "Глеб", "Денис", "Евгений", "Иван", "Кирилл", "Максим", "Павел", "Фёдор"];
const DAUGHTERS: &[&str] = &["Алексеевна", "Борисовна", "Дмитриевна", "Ивановна", "Николаевна", "Сергеевна"];
const SONS: &[&str] = &["Алексеевич", "Борисович", "Дмитриевич", "Иванович", "Николаевич", "Сергеевич"];

const FAMILIES: &[(&str, &str, &str)] = &[
    ("Берёзин", "Берёзина", "berezin"),
    ("Воронцов", "Воронцова", "vorontsov"),
    ("Гончаров", "Гончарова", "goncharov"),
    ("Дымов", "Дымова", "dymov"),
    ("Ершов", "Ершова", "ershov"),
    ("Жаворонков", "Жаворонкова", "zhavoronkov"),
    ("Зимин", "Зимина", "zimin"),
    ("Ильин", "Ильина", "ilyin"),
    ("Ключников", "Ключникова", "klyuchnikov"),
    ("Ласточкин", "Ласточкина", "lastochkin"),
    ("Мельников", "Мельникова", "melnikov"),
    ("Носов", "Носова", "nosov"),
    ("Осокин", "Осокина", "osokin"),
    ("Пахомов", "Пахомова", "pakhomov"),
    ("Рощин", "Рощина", "roshchin"),
    ("Снегирёв", "Снегирёва", "snegirev"),
    ("Туманов", "Туманова", "tumanov"),
    ("Ушаков", "Ушакова", "ushakov"),
    ("Филин", "Филина", "filin"),
    ("Хромов", "Хромова", "khromov"),
    ("Цветков", "Цветкова", "tsvetkov"),
    ("Шорин", "Шорина", "shorin"),
    ("Щукин", "Щукина", "shchukin"),
    ("Яблоков", "Яблокова", "yablokov"),
];

const POSTS: &[&str] =
    &["Директор", "Закупщик", "Главный инженер", "Управляющая", "Завхоз", "Офис-менеджер", "Руководитель проекта"];

const CALLS: &[(i64, &str, &str)] = &[
    (2, "CRM_CALL", "Уточнить размеры проёмов"),
    (1, "CRM_MEETING", "Встреча на объекте"),
    (2, "CRM_CALL", "Согласовать дату замера"),
    (4, "CRM_EMAIL", "Отправить коммерческое предложение"),
    (2, "CRM_CALL", "Узнать решение по смете"),
    (2, "CRM_CALL", "Напомнить об оплате счёта"),
    (1, "CRM_MEETING", "Подписание договора"),
    (2, "CRM_CALL", "Спросить отзыв после монтажа"),
];

const COMMENTS: &[&str] = &[
    "Клиент просит скидку 5 % при полной предоплате.",
    "Замер сделан, размеры в смете.",
    "Просили перезвонить после обеда, решает главный инженер.",
    "Договор у юристов, ответ обещали к концу недели.",
    "Нужны тёмные профили, проверить срок поставки.",
    "Оплата пришла частично, остаток после монтажа.",
    "Сравнивают с другим поставщиком, важен срок.",
    "Доступ на объект только по пропускам, заказывать за день.",
];

const TASKS: &[(&str, &str)] = &[
    ("Подготовить коммерческое предложение", "Две комплектации: обычная и с тёплым профилем."),
    ("Согласовать договор с юристами", "Правки клиента — в пункте об ответственности."),
    ("Выставить счёт на предоплату", "50 %, срок оплаты — пять рабочих дней."),
    ("Назначить замер", "Пропуск заказать за день."),
    ("Проверить остатки профиля на складе", "Белый и антрацит."),
    ("Собрать закрывающие документы", "Акт, счёт-фактура, накладная."),
    ("Составить график монтажа на неделю", "Учесть отпуск одной бригады."),
    ("Обзвонить клиентов без ответа", "Те, кому предложение ушло больше недели назад."),
    ("Обновить цены в прайс-листе", "Поставщик поднял цену на фурнитуру."),
    ("Фотографии объекта для сайта", "До и после, с разрешения клиента."),
    ("Разобрать рекламацию по фурнитуре", "Створка цепляет раму, третий этаж."),
    ("Отчёт по сделкам за месяц", "Сумма, число, средний срок."),
];
