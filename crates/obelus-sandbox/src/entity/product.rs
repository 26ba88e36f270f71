//! The catalogue, and the products of records.

use super::Kind::{Flag, Id, Int, Money, Text};
use super::{Entity, PLAIN, field};

pub(crate) static PRODUCT: Entity = Entity {
    table: "product",
    what: "Товар",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("NAME", Text, "Название").required(),
        field("ACTIVE", Flag, "Продаётся"),
        field("PRICE", Money, "Цена"),
        field("CURRENCY_ID", Text, "Валюта"),
        field("MEASURE", Int, "Единица измерения"),
        field("SORT", Int, "Порядок"),
        field("DESCRIPTION", Text, "Описание"),
    ],
    title: "NAME",
    ..PLAIN
};

pub(crate) static PRODUCT_ROW: Entity = Entity {
    table: "product_row",
    what: "Товарная позиция",
    fields: &[
        field("ID", Id, "ID").read_only(),
        field("OWNER_TYPE", Text, "Вид записи").read_only(),
        field("OWNER_ID", Int, "Номер записи").read_only(),
        field("PRODUCT_ID", Int, "Товар"),
        field("PRODUCT_NAME", Text, "Название"),
        field("PRICE", Money, "Цена"),
        field("QUANTITY", Money, "Количество"),
        field("DISCOUNT_TYPE_ID", Int, "Вид скидки"),
        field("DISCOUNT_RATE", Money, "Скидка, %"),
        field("DISCOUNT_SUM", Money, "Скидка"),
        field("TAX_RATE", Money, "Налог, %"),
        field("TAX_INCLUDED", Flag, "Налог в цене"),
        field("MEASURE_CODE", Int, "Код единицы"),
        field("MEASURE_NAME", Text, "Единица"),
        field("SORT", Int, "Порядок"),
    ],
    title: "PRODUCT_NAME",
    ..PLAIN
};
