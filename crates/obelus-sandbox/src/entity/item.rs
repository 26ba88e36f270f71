//! Records that have no methods of their own: `crm.item.*` reads and changes them.

use super::Kind::{Date, DateTime, Flag, Id, Int, Link, Money, Text, User};
use super::crm::ITEM_NAMES;
use super::{Entity, PLAIN, field};

pub(crate) static INVOICE: Entity = Entity {
    table: "invoice",
    what: "Счёт",
    type_id: 31,
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("TITLE", Text, "Название"),
        field("ACCOUNT_NUMBER", Text, "Номер"),
        field("CATEGORY_ID", Int, "Воронка"),
        field("STAGE_ID", Text, "Стадия"),
        field("OPPORTUNITY", Money, "Сумма"),
        field("CURRENCY_ID", Text, "Валюта"),
        field("COMPANY_ID", Link("crm_company"), "Компания"),
        field("CONTACT_ID", Link("crm_contact"), "Контакт"),
        field("PARENT_ID2", Link("crm_deal"), "Сделка"),
        field("BEGINDATE", Date, "Дата выставления"),
        field("CLOSEDATE", Date, "Срок оплаты"),
        field("COMMENTS", Text, "Комментарий"),
        field("OPENED", Flag, "Доступен для всех"),
        field("ASSIGNED_BY_ID", User, "Ответственный"),
        field("CREATED_BY_ID", User, "Кем создан").read_only(),
        field("MODIFY_BY_ID", User, "Кем изменён").read_only(),
        field("DATE_CREATE", DateTime, "Создан").read_only(),
        field("DATE_MODIFY", DateTime, "Изменён").read_only(),
        field("ORIGINATOR_ID", Text, "Внешний источник"),
        field("ORIGIN_ID", Text, "Номер во внешнем источнике"),
    ],
    aliases: ITEM_NAMES,
    ..PLAIN
};

pub(crate) static QUOTE: Entity = Entity {
    table: "quote",
    what: "Предложение",
    type_id: 7,
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("TITLE", Text, "Название"),
        field("QUOTE_NUMBER", Text, "Номер"),
        field("STAGE_ID", Text, "Стадия"),
        field("OPPORTUNITY", Money, "Сумма"),
        field("CURRENCY_ID", Text, "Валюта"),
        field("COMPANY_ID", Link("crm_company"), "Компания"),
        field("CONTACT_ID", Link("crm_contact"), "Контакт"),
        field("DEAL_ID", Link("crm_deal"), "Сделка"),
        field("BEGINDATE", Date, "Дата выставления"),
        field("CLOSEDATE", Date, "Действует до"),
        field("CONTENT", Text, "Содержание"),
        field("COMMENTS", Text, "Комментарий"),
        field("OPENED", Flag, "Доступно для всех"),
        field("ASSIGNED_BY_ID", User, "Ответственный"),
        field("CREATED_BY_ID", User, "Кем создано").read_only(),
        field("MODIFY_BY_ID", User, "Кем изменено").read_only(),
        field("DATE_CREATE", DateTime, "Создано").read_only(),
        field("DATE_MODIFY", DateTime, "Изменено").read_only(),
        field("ORIGINATOR_ID", Text, "Внешний источник"),
        field("ORIGIN_ID", Text, "Номер во внешнем источнике"),
    ],
    aliases: ITEM_NAMES,
    ..PLAIN
};
