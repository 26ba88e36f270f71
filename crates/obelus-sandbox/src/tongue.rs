//! The language of a portal: its made-up records, its page and the names of records and fields.

use crate::entity::{Entity, Field};

/// The language of a portal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortalLanguage {
    /// Russian; amounts are in roubles.
    #[default]
    Russian,
    /// English; amounts are in dollars.
    English,
}

impl PortalLanguage {
    /// Translates a Russian text of the portal into its language.
    pub(crate) fn said(self, russian: &'static str) -> &'static str {
        match self {
            PortalLanguage::Russian => russian,
            PortalLanguage::English => {
                WORDS.iter().find(|(known, _)| *known == russian).map_or(russian, |(_, english)| english)
            }
        }
    }

    /// The name of a kind of record.
    pub(crate) fn what(self, entity: &Entity) -> &'static str {
        self.said(entity.what)
    }

    /// The label of a field. In English it is the field's name: `ASSIGNED_BY_ID` is "assigned by".
    pub(crate) fn label(self, field: &Field) -> String {
        match self {
            PortalLanguage::Russian => field.title.to_owned(),
            PortalLanguage::English => {
                let name = field.name.to_lowercase().replace('_', " ");
                name.strip_suffix(" id").map(str::to_owned).unwrap_or(name)
            }
        }
    }

    pub(crate) fn currency(self) -> &'static str {
        match self {
            PortalLanguage::Russian => "RUB",
            PortalLanguage::English => "USD",
        }
    }

    pub(crate) fn code(self) -> &'static str {
        match self {
            PortalLanguage::Russian => "ru",
            PortalLanguage::English => "en",
        }
    }
}

/// Texts of the page, of answers and of records' names, in Russian and in English.
const WORDS: &[(&str, &str)] = &[
    ("Продажи", "Sales"),
    ("Сделки", "Deals"),
    ("Контакты", "Contacts"),
    ("Компании", "Companies"),
    ("Лиды", "Leads"),
    ("Задачи", "Tasks"),
    ("Дела", "Activities"),
    ("Комментарии", "Comments"),
    ("Название", "Title"),
    ("Стадия", "Stage"),
    ("Сумма", "Amount"),
    ("Ответственный", "In charge"),
    ("Завершение", "Closing"),
    ("Имя", "Name"),
    ("Компания", "Company"),
    ("Телефон", "Phone"),
    ("Город", "City"),
    ("Создан", "Created"),
    ("Исполнитель", "In charge"),
    ("Статус", "Status"),
    ("Срок", "Deadline"),
    ("Тема", "Subject"),
    ("К чему", "About"),
    ("Текст", "Text"),
    ("Автор", "Author"),
    ("Когда", "When"),
    ("← новее", "← newer"),
    ("раньше →", "earlier →"),
    ("из", "of"),
    ("Встреча", "Meeting"),
    ("Звонок", "Call"),
    ("Письмо", "E-mail"),
    ("Дело", "Activity"),
    (", выполнено", ", done"),
    ("Запросов ещё не было.", "There were no requests yet."),
    ("и ещё", "and more:"),
    ("ответ намеренно потерян", "the answer is lost on purpose"),
    ("База данных не ответила", "The database did not answer"),
    ("Учебный портал", "Sandbox portal"),
    ("Bitrix24 понарошку", "Bitrix24 for practice"),
    ("Последние запросы", "Latest requests"),
    ("Выполняется", "In progress"),
    ("Ждёт контроля", "Awaits control"),
    ("Завершена", "Completed"),
    ("Отложена", "Deferred"),
    ("Ждёт выполнения", "Pending"),
    ("Не указано название задачи", "The task has no title"),
    ("Не указан исполнитель", "The task has no person in charge"),
    ("Неверный статус задачи", "The task's status is wrong"),
    ("шт", "pcs"),
    ("Сделка", "Deal"),
    ("Контакт", "Contact"),
    ("Лид", "Lead"),
    ("Комментарий", "Comment"),
    ("Задача", "Task"),
    ("Комментарий к задаче", "Comment on a task"),
    ("Пункт чек-листа", "Item of a checklist"),
    ("Сотрудник", "Colleague"),
    ("Отдел", "Department"),
    ("Группа", "Group"),
    ("Участник группы", "Member of a group"),
    ("Воронка", "Funnel"),
    ("Значение справочника", "Value of a list"),
    ("Обработчик событий", "Event handler"),
    ("Своё поле", "Custom field"),
    ("Телефон или e-mail", "Phone or e-mail"),
    ("Товар", "Product"),
    ("Товарная позиция", "Product of a record"),
    ("Счёт", "Invoice"),
    ("Предложение", "Quote"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::ALL;

    #[test]
    fn every_kind_of_record_has_an_english_name() {
        let is_latin = |text: &str| !text.chars().any(|c| ('\u{400}'..='\u{4ff}').contains(&c));
        for entity in ALL {
            assert!(is_latin(PortalLanguage::English.what(entity)), "{}", entity.what);
        }
        assert!(WORDS.iter().all(|(russian, english)| is_latin(english) && !is_latin(russian) || *russian == "E-mail"));
    }
}
