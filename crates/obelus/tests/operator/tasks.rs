//! Ten tasks, each checked by the records of the site and by the working state.

use serde_json::json;

use crate::canaries::nothing_is_kept_of_pages;
use crate::harness::Harness;
use crate::person::Person;
use crate::site::{CANARY_TEXT, CODE, GOODS, Good};
use crate::support::{run, wait_for};

/// All facts on the pages of the shop.
pub(crate) fn all_goods() -> Vec<String> {
    let fact = |good: &Good| format!("{} стоит {} при оценке {}", good.name, good.price, good.rating);
    GOODS.iter().flatten().map(fact).collect()
}

/// The cheapest well-rated product.
fn bargain() -> Good {
    let good = GOODS.into_iter().flatten().filter(|good| good.rating >= 4.5);
    good.min_by_key(|good| good.price).expect("there is one")
}

#[test]
fn goods_of_three_pages_are_collected_and_compared_without_going_back() {
    let Some(harness) = Harness::open("collect", include_str!("playbooks/collect.yaml")) else { return };
    let address = harness.site.url("/goods");
    let ran = harness.says(&format!("Собери чайники со всех страниц {address}")).exits(0);
    assert_eq!(ran.json()["end"], "done");
    let words = format!("Собрано чайников: 12. Самый недорогой с оценкой от 4.5: {}.", bargain().name);
    assert_eq!(ran.json()["solution"]["output"], words);
    assert_eq!(harness.facts(), all_goods());
    for page in 1..=3 {
        let path = if page == 1 { "/goods".to_owned() } else { format!("/goods?page={page}") };
        let times = harness.site.shelf().asked.iter().filter(|asked| asked.path == path).count();
        assert_eq!(times, 1, "{path} was opened {times} times");
    }

    // The answer comes from the facts. The new browser observes the last page and opens no other.
    let before = harness.site.shelf().asked.len();
    let ran = harness.says("Сравни их по цене и оценке").exits(0);
    let words = ran.json()["solution"]["output"].as_str().expect("words").to_owned();
    let best = GOODS.iter().flatten().max_by(|a, b| a.rating.total_cmp(&b.rating)).expect("goods");
    let expected = [format!("{}, {} ₽", bargain().name, bargain().price), format!("Лучшая оценка: {}", best.name)];
    assert!(expected.iter().all(|part| words.contains(part)), "{words}");
    let after: Vec<String> = harness.site.shelf().asked[before..].iter().map(|asked| asked.path.clone()).collect();
    assert!(after.iter().filter(|path| path.starts_with("/goods")).count() <= 1, "{after:?}");
    assert_eq!(harness.facts(), all_goods());
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn a_login_waits_for_a_person_and_continues_with_the_code() {
    let Some(harness) = Harness::open("login", include_str!("playbooks/login.yaml")) else { return };
    let person = Person::says(&harness, &format!("Сколько у меня бонусов? {}", harness.site.url("/cabinet")));
    let asked = person.is_asked();
    person.types_after("a", "Ответ ›", CODE);
    assert!(asked.contains("код из сообщения"), "{asked}");
    assert_eq!(harness.site.changes(), Vec::<String>::new());
    let asked = person.answers("y");
    assert!(asked.contains("Войти"), "{asked}");
    let (code, screen) = person.ends();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("На счёте бонусов: 1840."), "{screen}");
    assert_eq!(harness.site.changes(), ["POST /login"]);
    assert_eq!(harness.site.shelf().refused, 0);
    assert!(harness.facts().contains(&"бонусов 1840".to_owned()));

    // A new process starts a new browser, which is still logged in (OPR-12).
    let ran = harness.says(&format!("Сколько у меня бонусов? {}", harness.site.url("/cabinet"))).exits(0);
    assert_eq!((&ran.json()["end"], harness.site.changes().len()), (&json!("done"), 1), "{}", ran.stdout);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn a_form_is_corrected_after_an_error_and_submitted_only_after_approval() {
    let Some(harness) = Harness::open("subscribe", include_str!("playbooks/subscribe.yaml")) else { return };
    let words = format!("Подпиши на новости для Анна, почта anna(at)example.test {}", harness.site.url("/subscribe"));
    let person = Person::says(&harness, &words);
    person.is_asked();
    assert_eq!(harness.site.changes(), Vec::<String>::new());
    person.presses("y");
    let asked = person.answers("y");
    assert!(asked.contains("Подписаться"), "{asked}");
    let (code, screen) = person.ends();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(harness.site.changes(), ["POST /subscribe", "POST /subscribe"]);
    assert_eq!(harness.site.shelf().subscribers, [("Анна".to_owned(), "anna@example.test".to_owned())]);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn opr_10_an_action_takes_one_request_and_a_form_is_filled_in_and_sent_by_one() {
    let Some(harness) = Harness::open("frugal", include_str!("playbooks/frugal.yaml")) else { return };
    let words = format!("Посмотри товары и подпиши Анну: {}", harness.site.url("").trim_end_matches('/'));
    let mut requests = 0;
    let mut count = |stderr: &str| requests += stderr.matches("спрашиваю модель").count();
    let args = harness.saying(&words);
    let ran = run(&mut harness.obelus(&args.iter().map(String::as_str).collect::<Vec<_>>()), b"").exits(3);
    count(&ran.stderr);
    // The question shows what will be sent.
    let question = harness.question();
    let fields = json!({"Имя": "Анна", "Электронная почта": "anna@example.test"});
    assert_eq!((&question["call"]["_tool"], &question["call"]["form"]["fields"]), (&json!("submit"), &fields));
    assert_eq!(harness.site.changes(), Vec::<String>::new());
    let ran = harness.answers(&id(&question), &["approve"]).exits(0);
    count(&ran.stderr);
    assert_eq!(harness.site.shelf().subscribers, [("Анна".to_owned(), "anna@example.test".to_owned())]);
    assert_eq!(requests, 6, "five actions and the answer: {}", ran.stderr);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn a_stale_element_leads_to_another_plan_and_the_task_is_done() {
    let Some(harness) = Harness::open("stale", include_str!("playbooks/stale.yaml")) else { return };
    let ran = harness.says(&format!("Сколько отзывов? {}", harness.site.url("/fleeting"))).exits(0);
    assert_eq!(ran.json()["end"], "done");
    assert_eq!(ran.json()["solution"]["output"], "Отзывов: 42.");
    // Facts from before the change of the plan remain.
    assert_eq!(harness.facts(), ["кнопка отзывов есть на странице", "отзывов 42"]);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn at_the_step_limit_the_operator_reports_and_continues_with_its_facts() {
    let Some(harness) = Harness::open("limit", include_str!("playbooks/collect.yaml")) else { return };
    harness.limit_steps(16);
    let ran = harness.says(&format!("Собери чайники со всех страниц {}", harness.site.url("/goods"))).exits(1);
    assert_eq!((&ran.json()["ends"], &ran.json()["end"]), (&json!("limit"), &json!("limit")));
    let (goal, some) = (harness.state()["current_goal"].clone(), harness.facts());
    assert!(!some.is_empty() && some.len() < all_goods().len(), "{some:?}");
    let mut ran = harness.says("продолжай");
    for _ in 0..5 {
        if ran.status.code() == Some(0) {
            break;
        }
        assert_eq!(harness.state()["current_goal"], goal);
        assert!(harness.facts().starts_with(&some), "{:?}", harness.facts());
        ran = harness.says("продолжай");
    }
    assert_eq!(ran.exits(0).json()["end"], "done");
    assert_eq!(harness.state()["current_goal"], goal);
    assert_eq!(harness.facts(), all_goods());
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn a_deletion_waits_for_approval() {
    let Some(harness) = Harness::open("delete", include_str!("playbooks/basket.yaml")) else { return };
    let ran = harness.says(&format!("Удалить Кресло из корзины {}", harness.site.url("/items"))).exits(3);
    let question = harness.question();
    assert_eq!((&question["about"], &question["call"]["_tool"]), (&json!("call"), &json!("delete")), "{question}");
    assert_eq!(harness.site.changes(), Vec::<String>::new(), "{}", ran.stdout);
    // The answer comes later, from another process.
    let ran = harness.answers(&id(&question), &["approve", "--json"]).exits(0);
    assert_eq!(ran.json()["end"], "done", "{}", ran.stdout);
    assert_eq!(harness.site.changes(), ["POST /items/4/delete"]);
    assert_eq!(harness.site.shelf().items.values().copied().collect::<Vec<_>>(), ["Лампа", "Комод"]);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn a_denied_deletion_does_not_happen() {
    let Some(harness) = Harness::open("deny", include_str!("playbooks/basket.yaml")) else { return };
    harness.says(&format!("Удалить Лампа из корзины {}", harness.site.url("/items"))).exits(3);
    let ran = harness.answers(&id(&harness.question()), &["deny", "--reason", "ещё нужна", "--json"]).exits(0);
    assert_eq!(ran.json()["end"], "denied", "{}", ran.stdout);
    assert_eq!(harness.site.changes(), Vec::<String>::new());
    assert_eq!(harness.site.shelf().items.len(), 3);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn a_request_sent_by_a_script_is_held_back_until_approved() {
    let Some(harness) = Harness::open("held", include_str!("playbooks/basket.yaml")) else { return };
    let person = Person::says(&harness, &format!("Стереть Комод из корзины {}", harness.site.url("/items")));
    let asked = person.is_asked();
    assert!(asked.contains("DELETE") && asked.contains("/api/items/5"), "{asked}");
    assert_eq!(harness.site.changes(), Vec::<String>::new());
    person.presses("y");
    let (code, screen) = person.ends();
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(harness.site.changes(), ["DELETE /api/items/5"]);
    assert_eq!(harness.site.shelf().items.values().copied().collect::<Vec<_>>(), ["Лампа", "Кресло"]);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn an_action_ordered_by_a_page_waits_for_a_person() {
    let Some(harness) = Harness::open("obedient", include_str!("playbooks/obedient.yaml")) else { return };
    harness.says(&format!("Прочитай отзывы {}", harness.site.url("/reviews"))).exits(3);
    let question = harness.question();
    assert_eq!(question["call"]["_tool"], "delete", "{question}");
    let ran = harness.answers(&id(&question), &["deny", "--reason", "так решила страница", "--json"]).exits(0);
    assert_eq!(ran.json()["end"], "denied", "{}", ran.stdout);

    harness.says(&format!("А что за партнёр? {}", harness.site.url("/reviews"))).exits(3);
    let question = harness.question();
    assert_eq!(question["call"]["_tool"], "leave", "{question}");
    assert!(question.to_string().contains(&harness.other.host()), "{question}");
    harness.answers(&id(&question), &["deny", "--json"]).exits(0);
    assert_eq!(harness.site.changes(), Vec::<String>::new());
    assert_eq!(harness.site.shelf().items.len(), 3);
    assert!(harness.other.shelf().asked.is_empty(), "{:?}", harness.other.shelf().asked);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn a_dialog_is_read_and_answered() {
    let Some(harness) = Harness::open("archive", include_str!("playbooks/archive.yaml")) else { return };
    let ran = harness.says(&format!("Сколько заказов в архиве? {}", harness.site.url("/archive"))).exits(0);
    assert_eq!(ran.json()["solution"]["output"], "В архиве заказов: 17.");
    assert_eq!(harness.site.asked("GET", "/archive/open"), 1);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn one_element_of_a_thousand_is_found() {
    let Some(harness) = Harness::open("many", include_str!("playbooks/many.yaml")) else { return };
    let ran = harness.says(&format!("Когда доставлен заказ 7941? {}", harness.site.url("/many"))).exits(0);
    assert_eq!(ran.json()["solution"]["output"], "Доставлен 14 марта.");
    assert_eq!(harness.site.asked("GET", "/orders/"), 1);
    assert_eq!(harness.site.asked("GET", "/orders/7941"), 1);
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn an_approved_action_is_asked_again_if_the_page_has_changed() {
    let Some(harness) = Harness::open("draft", include_str!("playbooks/draft.yaml")) else { return };
    let person = Person::says(&harness, &format!("Отправь черновик {}", harness.site.url("/draft")));
    let asked = person.is_asked();
    assert!(asked.contains("Отправить черновик"), "{asked}");
    harness.site.shelf().button = "Удалить все черновики";
    wait_for("the page has changed", || harness.site.shelf().button_shown == "Удалить все черновики");
    // The approved button has changed meanwhile.
    person.presses("y");
    let asked = person.is_asked();
    assert!(asked.contains("Удалить все черновики"), "{asked}");
    assert_eq!(harness.site.changes(), Vec::<String>::new());
    person.types_after("n", "Почему нет ›", "это другое");
    let (code, screen) = person.ends();
    assert_eq!(code, Some(0), "{screen}");
    assert!(harness.site.shelf().sent.is_empty());
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn a_model_that_invents_elements_repeatedly_is_blocked() {
    let Some(harness) = Harness::open("blocked", include_str!("playbooks/invents.yaml")) else { return };
    let ran = harness.says(&format!("Покажи отзывы {}", harness.site.url("/fleeting"))).exits(0);
    assert_eq!(ran.json()["end"], "blocked", "{}", ran.stdout);
    // The error is in English for the model, and in their language for the user.
    let words = ran.json()["solution"]["output"].as_str().expect("words").to_owned();
    assert!(words.contains("такого элемента на странице нет"), "{words}");
    nothing_is_kept_of_pages(&harness);
}

#[test]
fn a_fact_that_quotes_the_page_is_refused_and_the_rest_is_kept() {
    let Some(harness) = Harness::open("quotes", include_str!("playbooks/quotes.yaml")) else { return };
    let ran = harness.says(&format!("Что там на странице? {}", harness.site.url("/reviews"))).exits(0);
    assert_eq!(ran.json()["end"], "done", "{}", ran.stdout);
    assert_eq!(harness.facts(), ["отзыв хороший"]);
    // Only the journal has the quotation, as part of the model's answer.
    assert!(!harness.state().to_string().contains(CANARY_TEXT));
}

/// A question's id within its session.
pub(crate) fn id(question: &serde_json::Value) -> String {
    let id = question["id"].as_str().expect("an id");
    id.split_once(':').map_or(id, |(_, id)| id).to_owned()
}
