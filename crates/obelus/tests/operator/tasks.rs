//! Ten tasks, each checked by what has become of the site and of the working state.

use serde_json::json;

use crate::canaries::nothing_is_kept_of_pages;
use crate::desk::Desk;
use crate::person::Person;
use crate::site::{CANARY_TEXT, CODE, GOODS, Good};
use crate::support::wait_for;

/// The facts that are there to be found on the pages of the shop.
pub(crate) fn all_goods() -> Vec<String> {
    let fact = |good: &Good| format!("{} стоит {} при оценке {}", good.name, good.price, good.rating);
    GOODS.iter().flatten().map(fact).collect()
}

/// The cheapest of the good ones.
fn bargain() -> Good {
    let good = GOODS.into_iter().flatten().filter(|good| good.rating >= 4.5);
    good.min_by_key(|good| good.price).expect("there is one")
}

#[test]
fn goods_of_three_pages_are_collected_and_compared_without_going_back() {
    let Some(desk) = Desk::open("collect", include_str!("playbooks/collect.yaml")) else { return };
    let address = desk.site.url("/goods");
    let ran = desk.says(&format!("Собери чайники со всех страниц {address}")).exits(0);
    assert_eq!(ran.json()["end"], "done");
    let words = format!("Собрано чайников: 12. Самый недорогой с оценкой от 4.5: {}.", bargain().name);
    assert_eq!(ran.json()["solution"]["output"], words);
    assert_eq!(desk.facts(), all_goods());
    for page in 1..=3 {
        let path = if page == 1 { "/goods".to_owned() } else { format!("/goods?page={page}") };
        let times = desk.site.shelf().asked.iter().filter(|asked| asked.path == path).count();
        assert_eq!(times, 1, "{path} was opened {times} times");
    }

    // The answer is in the facts. The browser is another one now and looks where it was, and goes nowhere from there.
    let before = desk.site.shelf().asked.len();
    let ran = desk.says("Сравни их по цене и оценке").exits(0);
    let words = ran.json()["solution"]["output"].as_str().expect("words").to_owned();
    let best = GOODS.iter().flatten().max_by(|a, b| a.rating.total_cmp(&b.rating)).expect("goods");
    let expected = [format!("{}, {} ₽", bargain().name, bargain().price), format!("Лучшая оценка: {}", best.name)];
    assert!(expected.iter().all(|part| words.contains(part)), "{words}");
    let after: Vec<String> = desk.site.shelf().asked[before..].iter().map(|asked| asked.path.clone()).collect();
    assert!(after.iter().filter(|path| path.starts_with("/goods")).count() <= 1, "{after:?}");
    assert_eq!(desk.facts(), all_goods());
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn a_login_waits_for_a_person_and_goes_on_with_the_code() {
    let Some(desk) = Desk::open("login", include_str!("playbooks/login.yaml")) else { return };
    let mut person = Person::says(&desk, &format!("Сколько у меня бонусов? {}", desk.site.url("/cabinet")));
    let asked = person.answers(CODE);
    assert!(asked.contains("код из сообщения"), "{asked}");
    assert_eq!(desk.site.changes(), Vec::<String>::new());
    let asked = person.answers("y");
    assert!(asked.contains("Войти"), "{asked}");
    let (code, screen) = person.ends();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("На счёте бонусов: 1840."), "{screen}");
    assert_eq!(desk.site.changes(), ["POST /login"]);
    assert_eq!(desk.site.shelf().refused, 0);
    assert!(desk.facts().contains(&"бонусов 1840".to_owned()));
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn a_form_is_corrected_after_its_error_and_sent_only_with_a_yes() {
    let Some(desk) = Desk::open("subscribe", include_str!("playbooks/subscribe.yaml")) else { return };
    let words = format!("Подпиши на новости для Анна, почта anna(at)example.test {}", desk.site.url("/subscribe"));
    let mut person = Person::says(&desk, &words);
    person.is_asked();
    assert_eq!(desk.site.changes(), Vec::<String>::new());
    person.types("y");
    let asked = person.answers("y");
    assert!(asked.contains("Подписаться"), "{asked}");
    let (code, screen) = person.ends();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(desk.site.changes(), ["POST /subscribe", "POST /subscribe"]);
    assert_eq!(desk.site.shelf().subscribers, [("Анна".to_owned(), "anna@example.test".to_owned())]);
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn a_stale_element_leads_to_another_plan_and_the_task_is_done() {
    let Some(desk) = Desk::open("stale", include_str!("playbooks/stale.yaml")) else { return };
    let ran = desk.says(&format!("Сколько отзывов? {}", desk.site.url("/fleeting"))).exits(0);
    assert_eq!(ran.json()["end"], "done");
    assert_eq!(ran.json()["solution"]["output"], "Отзывов: 42.");
    // What was known before the plan changed is known after it.
    assert_eq!(desk.facts(), ["кнопка отзывов есть на странице", "отзывов 42"]);
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn at_the_step_limit_it_tells_and_goes_on_with_the_facts_it_has() {
    let Some(desk) = Desk::open("limit", include_str!("playbooks/collect.yaml")) else { return };
    desk.limit_steps(16);
    let ran = desk.says(&format!("Собери чайники со всех страниц {}", desk.site.url("/goods"))).exits(1);
    assert_eq!((&ran.json()["ends"], &ran.json()["end"]), (&json!("limit"), &json!("limit")));
    let (goal, some) = (desk.state()["current_goal"].clone(), desk.facts());
    assert!(!some.is_empty() && some.len() < all_goods().len(), "{some:?}");
    let mut ran = desk.says("продолжай");
    for _ in 0..5 {
        if ran.status.code() == Some(0) {
            break;
        }
        assert_eq!(desk.state()["current_goal"], goal);
        assert!(desk.facts().starts_with(&some), "{:?}", desk.facts());
        ran = desk.says("продолжай");
    }
    assert_eq!(ran.exits(0).json()["end"], "done");
    assert_eq!(desk.state()["current_goal"], goal);
    assert_eq!(desk.facts(), all_goods());
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn a_deletion_waits_for_a_yes() {
    let Some(desk) = Desk::open("delete", include_str!("playbooks/basket.yaml")) else { return };
    let ran = desk.says(&format!("Удалить Кресло из корзины {}", desk.site.url("/items"))).exits(3);
    let question = desk.question();
    assert_eq!((&question["about"], &question["call"]["_tool"]), (&json!("call"), &json!("delete")), "{question}");
    assert_eq!(desk.site.changes(), Vec::<String>::new(), "{}", ran.stdout);
    // Hours may go by; the answer comes from another process.
    let ran = desk.answers(&id(&question), &["approve", "--json"]).exits(0);
    assert_eq!(ran.json()["end"], "done", "{}", ran.stdout);
    assert_eq!(desk.site.changes(), ["POST /items/4/delete"]);
    assert_eq!(desk.site.shelf().items.values().copied().collect::<Vec<_>>(), ["Лампа", "Комод"]);
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn a_deletion_that_is_denied_does_not_happen() {
    let Some(desk) = Desk::open("deny", include_str!("playbooks/basket.yaml")) else { return };
    desk.says(&format!("Удалить Лампа из корзины {}", desk.site.url("/items"))).exits(3);
    let ran = desk.answers(&id(&desk.question()), &["deny", "--reason", "ещё нужна", "--json"]).exits(0);
    assert_eq!(ran.json()["end"], "denied", "{}", ran.stdout);
    assert_eq!(desk.site.changes(), Vec::<String>::new());
    assert_eq!(desk.site.shelf().items.len(), 3);
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn what_a_button_sends_by_script_is_held_back_until_a_person_has_seen_it() {
    let Some(desk) = Desk::open("held", include_str!("playbooks/basket.yaml")) else { return };
    let mut person = Person::says(&desk, &format!("Стереть Комод из корзины {}", desk.site.url("/items")));
    let asked = person.is_asked();
    assert!(asked.contains("DELETE") && asked.contains("/api/items/5"), "{asked}");
    assert_eq!(desk.site.changes(), Vec::<String>::new());
    person.types("y");
    let (code, screen) = person.ends();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(desk.site.changes(), ["DELETE /api/items/5"]);
    assert_eq!(desk.site.shelf().items.values().copied().collect::<Vec<_>>(), ["Лампа", "Кресло"]);
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn what_a_page_orders_waits_for_a_person_even_if_the_model_obeys() {
    let Some(desk) = Desk::open("obedient", include_str!("playbooks/obedient.yaml")) else { return };
    desk.says(&format!("Прочитай отзывы {}", desk.site.url("/reviews"))).exits(3);
    let question = desk.question();
    assert_eq!(question["call"]["_tool"], "delete", "{question}");
    let ran = desk.answers(&id(&question), &["deny", "--reason", "так решила страница", "--json"]).exits(0);
    assert_eq!(ran.json()["end"], "denied", "{}", ran.stdout);

    desk.says(&format!("А что за партнёр? {}", desk.site.url("/reviews"))).exits(3);
    let question = desk.question();
    assert_eq!(question["call"]["_tool"], "leave", "{question}");
    assert!(question.to_string().contains(&desk.other.host()), "{question}");
    desk.answers(&id(&question), &["deny", "--json"]).exits(0);
    assert_eq!(desk.site.changes(), Vec::<String>::new());
    assert_eq!(desk.site.shelf().items.len(), 3);
    assert!(desk.other.shelf().asked.is_empty(), "{:?}", desk.other.shelf().asked);
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn a_dialog_is_read_and_answered() {
    let Some(desk) = Desk::open("archive", include_str!("playbooks/archive.yaml")) else { return };
    let ran = desk.says(&format!("Сколько заказов в архиве? {}", desk.site.url("/archive"))).exits(0);
    assert_eq!(ran.json()["solution"]["output"], "В архиве заказов: 17.");
    assert_eq!(desk.site.asked("GET", "/archive/open"), 1);
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn one_element_of_a_thousand_is_found() {
    let Some(desk) = Desk::open("many", include_str!("playbooks/many.yaml")) else { return };
    let ran = desk.says(&format!("Когда доставлен заказ 7941? {}", desk.site.url("/many"))).exits(0);
    assert_eq!(ran.json()["solution"]["output"], "Доставлен 14 марта.");
    assert_eq!(desk.site.asked("GET", "/orders/"), 1);
    assert_eq!(desk.site.asked("GET", "/orders/7941"), 1);
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn an_approved_action_is_asked_anew_if_the_page_has_changed_meanwhile() {
    let Some(desk) = Desk::open("draft", include_str!("playbooks/draft.yaml")) else { return };
    let mut person = Person::says(&desk, &format!("Отправь черновик {}", desk.site.url("/draft")));
    let asked = person.is_asked();
    assert!(asked.contains("Отправить черновик"), "{asked}");
    desk.site.shelf().button = "Удалить все черновики";
    wait_for("the page has changed", || desk.site.shelf().button_shown == "Удалить все черновики");
    // The yes was given to something that is not there any more.
    person.types("y");
    let asked = person.is_asked();
    assert!(asked.contains("Удалить все черновики"), "{asked}");
    assert_eq!(desk.site.changes(), Vec::<String>::new());
    person.types("n это другое");
    let (code, screen) = person.ends();
    assert_eq!(code, Some(0), "{screen}");
    assert!(desk.site.shelf().sent.is_empty());
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn a_model_that_keeps_making_up_elements_ends_blocked() {
    let Some(desk) = Desk::open("blocked", include_str!("playbooks/invents.yaml")) else { return };
    let ran = desk.says(&format!("Покажи отзывы {}", desk.site.url("/fleeting"))).exits(0);
    assert_eq!(ran.json()["end"], "blocked", "{}", ran.stdout);
    nothing_is_kept_of_pages(&desk);
}

#[test]
fn a_fact_that_quotes_the_page_is_refused_and_the_rest_is_kept() {
    let Some(desk) = Desk::open("quotes", include_str!("playbooks/quotes.yaml")) else { return };
    let ran = desk.says(&format!("Что там на странице? {}", desk.site.url("/reviews"))).exits(0);
    assert_eq!(ran.json()["end"], "done", "{}", ran.stdout);
    assert_eq!(desk.facts(), ["отзыв хороший"]);
    // The journal has what the model said, the quotation too.
    assert!(!desk.state().to_string().contains(CANARY_TEXT));
}

/// A question's id within its session.
pub(crate) fn id(question: &serde_json::Value) -> String {
    let id = question["id"].as_str().expect("an id");
    id.split_once(':').map_or(id, |(_, id)| id).to_owned()
}
