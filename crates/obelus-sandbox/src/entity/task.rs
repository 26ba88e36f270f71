//! Tasks, their comments and checklists.

use super::Kind::{Any, DateTime, Flag, Id, Int, List, Text, User};
use super::{Entity, PLAIN, field};

pub(crate) static TASK: Entity = Entity {
    table: "task",
    what: "Задача",
    event: "TASK",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("PARENT_ID", Int, "Базовая задача"),
        field("TITLE", Text, "Название").required(),
        field("DESCRIPTION", Text, "Описание"),
        field("MARK", Text, "Оценка"),
        field("PRIORITY", Int, "Приоритет"),
        field("STATUS", Int, "Статус"),
        field("MULTITASK", Flag, "Множественная").read_only(),
        field("NOT_VIEWED", Flag, "Не просмотрена").read_only(),
        field("GROUP_ID", Int, "Проект"),
        field("STAGE_ID", Int, "Стадия"),
        field("CREATED_BY", User, "Постановщик"),
        field("CREATED_DATE", DateTime, "Создана").read_only(),
        field("RESPONSIBLE_ID", User, "Исполнитель").required(),
        field("CHANGED_BY", User, "Кем изменена").read_only(),
        field("CHANGED_DATE", DateTime, "Изменена").read_only(),
        field("STATUS_CHANGED_BY", User, "Кем изменён статус").read_only(),
        field("STATUS_CHANGED_DATE", DateTime, "Статус изменён").read_only(),
        field("CLOSED_BY", User, "Кем завершена").read_only(),
        field("CLOSED_DATE", DateTime, "Завершена").read_only(),
        field("ACTIVITY_DATE", DateTime, "Последнее действие").read_only(),
        field("DATE_START", DateTime, "Начата").read_only(),
        field("DEADLINE", DateTime, "Крайний срок"),
        field("START_DATE_PLAN", DateTime, "Плановое начало"),
        field("END_DATE_PLAN", DateTime, "Плановое завершение"),
        field("GUID", Text, "GUID").read_only(),
        field("XML_ID", Text, "Внешний код"),
        field("COMMENTS_COUNT", Int, "Комментариев").read_only(),
        field("ALLOW_CHANGE_DEADLINE", Flag, "Исполнитель меняет срок"),
        field("ALLOW_TIME_TRACKING", Flag, "Учёт времени"),
        field("TASK_CONTROL", Flag, "Принять работу"),
        field("ADD_IN_REPORT", Flag, "В отчёт"),
        field("TIME_ESTIMATE", Int, "Плановая трудоёмкость"),
        field("FAVORITE", Flag, "В избранном").read_only(),
        field("ACCOMPLICES", List, "Соисполнители"),
        field("AUDITORS", List, "Наблюдатели"),
        field("TAGS", List, "Теги"),
        field("UF_CRM_TASK", List, "Записи CRM").multiple(),
        field("UF_TASK_WEBDAV_FILES", List, "Файлы").multiple(),
    ],
    aliases: &[
        ("REAL_STATUS", "STATUS"),
        ("SUB_STATUS", "STATUS"),
        ("ACCOMPLICE", "ACCOMPLICES"),
        ("AUDITOR", "AUDITORS"),
        ("TAG", "TAGS"),
        ("CREATOR_ID", "CREATED_BY"),
    ],
    newest_first: true,
    ..PLAIN
};

pub(crate) static TASK_COMMENT: Entity = Entity {
    table: "task_comment",
    what: "Комментарий к задаче",
    event: "TASKCOMMENT",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("TASK_ID", Int, "Задача").immutable(),
        field("AUTHOR_ID", User, "Автор"),
        field("POST_DATE", DateTime, "Написан").read_only(),
        field("POST_MESSAGE", Text, "Текст").required(),
    ],
    title: "POST_MESSAGE",
    ..PLAIN
};

pub(crate) static CHECK_ITEM: Entity = Entity {
    table: "check_item",
    what: "Пункт чек-листа",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("TASK_ID", Int, "Задача").immutable(),
        field("PARENT_ID", Int, "Список"),
        field("CREATED_BY", User, "Автор").read_only(),
        field("TITLE", Text, "Текст").required(),
        field("SORT_INDEX", Int, "Порядок"),
        field("IS_COMPLETE", Flag, "Выполнен"),
        field("IS_IMPORTANT", Flag, "Важный"),
        field("TOGGLED_BY", User, "Кем отмечен").read_only(),
        field("TOGGLED_DATE", DateTime, "Отмечен").read_only(),
        field("MEMBERS", Any, "Участники"),
    ],
    ..PLAIN
};
