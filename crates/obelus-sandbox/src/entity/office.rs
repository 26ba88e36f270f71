//! People, groups, directories, event handlers, custom fields, multi-value fields.

use super::Kind::{Any, Bool, DateTime, Flag, Id, Int, List, Text, User};
use super::{Entity, PLAIN, field};

pub(crate) static USER: Entity = Entity {
    table: "user",
    what: "Сотрудник",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("ACTIVE", Bool, "Работает"),
        field("NAME", Text, "Имя"),
        field("LAST_NAME", Text, "Фамилия"),
        field("SECOND_NAME", Text, "Отчество"),
        field("EMAIL", Text, "E-mail"),
        field("PERSONAL_GENDER", Text, "Пол"),
        field("PERSONAL_MOBILE", Text, "Мобильный телефон"),
        field("WORK_PHONE", Text, "Рабочий телефон"),
        field("WORK_POSITION", Text, "Должность"),
        field("UF_DEPARTMENT", List, "Отделы"),
        field("UF_PHONE_INNER", Text, "Внутренний номер"),
        field("TIME_ZONE", Text, "Часовой пояс"),
        field("IS_ONLINE", Flag, "В сети"),
        field("DATE_REGISTER", DateTime, "Принят").read_only(),
        field("LAST_LOGIN", DateTime, "Последний вход").read_only(),
        field("USER_TYPE", Text, "Тип").read_only(),
    ],
    title: "LAST_NAME",
    ..PLAIN
};

pub(crate) static DEPARTMENT: Entity = Entity {
    table: "department",
    what: "Отдел",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("NAME", Text, "Название"),
        field("SORT", Int, "Порядок"),
        field("PARENT", Int, "Вышестоящий отдел"),
        field("UF_HEAD", User, "Руководитель"),
    ],
    title: "NAME",
    ..PLAIN
};

pub(crate) static GROUP: Entity = Entity {
    table: "work_group",
    what: "Группа",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("SITE_ID", Text, "Сайт"),
        field("NAME", Text, "Название"),
        field("DESCRIPTION", Text, "Описание"),
        field("DATE_CREATE", DateTime, "Создана"),
        field("DATE_UPDATE", DateTime, "Изменена"),
        field("DATE_ACTIVITY", DateTime, "Последнее действие"),
        field("ACTIVE", Flag, "Действует"),
        field("VISIBLE", Flag, "Видна всем"),
        field("OPENED", Flag, "Открыта"),
        field("CLOSED", Flag, "В архиве"),
        field("SUBJECT_ID", Int, "Тема"),
        field("SUBJECT_NAME", Text, "Название темы"),
        field("OWNER_ID", User, "Владелец"),
        field("KEYWORDS", Text, "Ключевые слова"),
        field("NUMBER_OF_MEMBERS", Int, "Участников"),
        field("PROJECT", Flag, "Проект"),
        field("IS_EXTRANET", Flag, "Экстранет"),
    ],
    title: "NAME",
    newest_first: true,
    ..PLAIN
};

pub(crate) static GROUP_USER: Entity = Entity {
    table: "group_user",
    what: "Участник группы",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("GROUP_ID", Int, "Группа"),
        field("USER_ID", User, "Сотрудник"),
        field("ROLE", Text, "Роль"),
    ],
    title: "ROLE",
    ..PLAIN
};

pub(crate) static CATEGORY: Entity = Entity {
    table: "category",
    what: "Воронка",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("NAME", Text, "Название"),
        field("SORT", Int, "Порядок"),
        field("CREATED_DATE", DateTime, "Создана"),
        field("IS_LOCKED", Flag, "Закрыта"),
    ],
    title: "NAME",
    ..PLAIN
};

pub(crate) static STATUS: Entity = Entity {
    table: "status",
    what: "Значение справочника",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("ENTITY_ID", Text, "Справочник"),
        field("STATUS_ID", Text, "Код"),
        field("NAME", Text, "Название"),
        field("NAME_INIT", Text, "Название по умолчанию"),
        field("SORT", Int, "Порядок"),
        field("SYSTEM", Flag, "Системное"),
        field("CATEGORY_ID", Int, "Воронка"),
        field("COLOR", Text, "Цвет"),
        field("SEMANTICS", Text, "Смысл"),
        field("EXTRA", Any, "Дополнительно"),
    ],
    title: "NAME",
    ..PLAIN
};

/// Event handlers.
pub(crate) static HANDLER: Entity = Entity {
    table: "handler",
    what: "Обработчик событий",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("EVENT", Text, "Событие"),
        field("HANDLER", Text, "Адрес"),
        field("AUTH_TYPE", Int, "От чьего имени"),
    ],
    title: "EVENT",
    ..PLAIN
};

/// Custom fields.
pub(crate) static USER_FIELD: Entity = Entity {
    table: "user_field",
    what: "Своё поле",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("ENTITY_ID", Text, "Для чего"),
        field("FIELD_NAME", Text, "Имя"),
        field("USER_TYPE_ID", Text, "Тип"),
        // `custom_field` reads it: it is a text, or an object with a text for each language.
        field("EDIT_FORM_LABEL", Text, "Название").read_only(),
        field("SORT", Int, "Порядок"),
        field("MULTIPLE", Flag, "Множественное"),
        field("MANDATORY", Flag, "Обязательное"),
    ],
    title: "FIELD_NAME",
    ..PLAIN
};

/// Values of multi-value fields.
pub(crate) static MULTI: Entity = Entity {
    table: "multi",
    what: "Телефон или e-mail",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("OWNER", Text, "Чьё"),
        field("OWNER_ID", Int, "Номер владельца"),
        field("TYPE_ID", Text, "Вид"),
        field("VALUE_TYPE", Text, "Назначение"),
        field("VALUE", Text, "Значение"),
    ],
    title: "VALUE",
    ..PLAIN
};
