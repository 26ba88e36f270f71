use proptest::prelude::*;

use super::*;

const PAGE: &str = r#"- generic [active] [ref=e1]:
  - heading "Kettles for a small kitchen" [level=1] [ref=e2]
  - link "Blue kettle" [ref=f3e12] [cursor=pointer]:
    - /url: /goods/7
  - paragraph [ref=e5]: This kettle boils a litre of water in three minutes and switches itself off when it is done, quietly.
"#;

fn state() -> Value {
    json!({
        "current_goal": "Find the cheapest kettle", "plan": ["Open the shop", "Compare", "Answer"],
        "progress": {"item": 1, "done": [], "blocked": null}, "facts": [{"fact": "The budget is 5000"}],
    })
}

fn recorded(step: &Value) -> Value {
    let (state, seen) = (state(), json!({}));
    record(&Recording { state: &state, step, observation: &seen, shown: Some(PAGE), ..nothing() }).unwrap()
}

fn nothing() -> Recording<'static> {
    const NULL: &Value = &Value::Null;
    Recording {
        state: NULL,
        goal: NULL,
        plan: NULL,
        step: NULL,
        action: NULL,
        observation: NULL,
        shown: None,
        earlier: None,
    }
}

fn facts_of(state: &Value) -> Vec<&str> {
    state["facts"].as_array().unwrap().iter().map(|fact| fact["fact"].as_str().unwrap()).collect()
}

fn why(text: &str) -> Option<Refusal> {
    TextChecker::new(Some(PAGE), None).take(text, LONGEST_FACT).err()
}

#[test]
fn facts_with_ids_markup_data_or_long_quotations_are_refused() {
    for (text, refusal) in [
        ("Press e5 to buy", Refusal::Id),
        ("The button is [ref=e99]", Refusal::Markup),
        ("The button is ref=e99", Refusal::Id),
        ("Кнопка — элемент e99", Refusal::Id),
        ("It is target: \"e7\"".trim_end_matches('"'), Refusal::Id),
        ("Use f9e1 next", Refusal::Id),
        ("The price is <b>10</b>", Refusal::Markup),
        ("- link \"Blue kettle\" [cursor=pointer]:\n  - /url: /goods/7", Refusal::Markup),
        ("data:image/png;base64,iVBORw0KGgo", Refusal::Data),
        (
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
            Refusal::Data,
        ),
        ("The kettle boils a litre of water in three minutes, and switches itself off when it is done", Refusal::Quote),
        ("  ", Refusal::Empty),
    ] {
        assert_eq!(why(text), Some(refusal), "{text}");
    }
    assert_eq!(why(&"long ".repeat(70)), Some(Refusal::Long(300)));
}

#[test]
fn facts_that_only_resemble_ids_or_markup_are_accepted() {
    for text in [
        "Reid likes E5 fuel",
        "e10 petrol is cheaper",
        "The blue kettle boils a litre in three minutes",
        "The price is < 10 and > 5",
        "Список: чайник, чашка — обе недорогие",
        "See https://shop.example.test/goods/7?sort=price&very=long_and_more_or_less_meaningless_but_an_address_all_the_same_A1",
        "Model A-17, class A++",
        "The rating [4.5] is the best",
    ] {
        assert_eq!(why(text), None, "{text}");
    }
}

#[test]
fn opr_3_an_id_of_an_earlier_page_is_refused() {
    let earlier = BTreeSet::from(["e44".to_owned()]);
    let looker = TextChecker::new(Some(PAGE), Some(&earlier));
    assert_eq!(looker.take("The cart is behind e44", LONGEST_FACT), Err(Refusal::Id));
    assert!(looker.take("e10 petrol is cheaper", LONGEST_FACT).is_ok());
}

#[tokio::test]
async fn opr_3_the_activity_remembers_the_ids_that_its_session_was_shown() {
    let record = RecordActivity::default();
    let fact = |text: &str, slot: &Arc<ObservationSlot>| {
        let call = json!({"state": state(), "step": {"facts": [{"fact": text}]}, "seen": {}});
        let tool = obelus_kernel::Tool::parse("record", &json!({})).unwrap();
        let (key, elicitor) = ("k".to_owned(), obelus_runtime::Elicitor::nobody());
        let slot = Arc::clone(slot);
        Work { call: call.into(), tool: Arc::new(tool), scope: Vec::new(), key, attempt: 1, elicitor, slot }
    };
    let kept = async |text: &str, slot: &Arc<ObservationSlot>| match record.run(fact(text, slot)).await {
        Outcome::Value(state) => facts_of(&state).len() == 2,
        other => panic!("{other:?}"),
    };
    let show = |slot: &ObservationSlot, text: &str| {
        slot.put(obelus_kernel::session::Observation::new("observe", text.to_owned(), None));
    };
    let (one, other) = (Arc::<ObservationSlot>::default(), Arc::<ObservationSlot>::default());
    show(&one, "- button \"Buy\" [ref=e44]");
    show(&other, "- button \"Buy\" [ref=e1]");
    assert!(kept("The kettle costs 5", &one).await);
    show(&one, "- button \"Sell\" [ref=e7]");
    assert!(!kept("To buy, press e44", &one).await, "it was on the page before");
    assert!(kept("To buy, press e44", &other).await, "another session was never shown it");
}

#[test]
fn short_facts_with_codes_and_dates_are_not_quotations() {
    let page = "- paragraph [ref=e2]: Order AB-12-34-56-78 of 2026-05-01 14:30, delivery 2026-05-03 10:00-18:00, track \
                RR-12-34-56-78-RU, 3 x 1 990,00 = 5 970,00 RUB, VAT 20 % = 995,00";
    for text in [
        "Order AB-12-34-56-78 of 2026-05-01 14:30, delivery 2026-05-03 10:00-18:00",
        "Delivery 2026-05-03 10:00-18:00, track RR-12-34-56-78-RU, 3 x 1 990,00 = 5 970,00 RUB",
    ] {
        assert_eq!(TextChecker::new(Some(page), None).take(text, LONGEST_FACT), Ok(text.to_owned()));
    }
}

#[test]
fn refused_facts_are_named_by_position_and_the_others_are_accepted() {
    let step = json!({"facts": [{"fact": "Press e5"}, {"fact": "The blue kettle costs 1990"}, {"fact": "the BLUE kettle costs 1990."}]});
    let state = recorded(&step);
    assert_eq!(facts_of(&state), ["The budget is 5000", "The blue kettle costs 1990"]);
    let refused = state["progress"]["refused"].to_string();
    assert!(refused.contains("facts[0]") && !refused.contains("e5"), "{refused}");
    let (seen, action, step) = (json!({}), json!({"tool": "look"}), json!({"facts": []}));
    let acted = record(&Recording { state: &state, action: &action, observation: &seen, ..nothing() }).unwrap();
    assert_eq!(acted["progress"]["refused"], state["progress"]["refused"], "the model has not answered yet");
    let answered = record(&Recording { state: &acted, step: &step, observation: &seen, ..nothing() }).unwrap();
    assert_eq!(answered["progress"].get("refused"), None);
}

#[test]
fn after_a_restart_facts_wait_for_the_next_observation() {
    let (state, step) = (state(), json!({"facts": [{"fact": "The blue kettle costs 1990"}]}));
    let lost = record(&Recording { state: &state, step: &step, ..nothing() }).unwrap();
    assert_eq!(facts_of(&lost).len(), 1);
    assert!(lost["progress"]["refused"][0].as_str().unwrap().contains("observe"));
    let seen = json!({});
    let never = record(&Recording { state: &state, step: &step, observation: &seen, ..nothing() }).unwrap();
    assert_eq!(facts_of(&never).len(), 2, "nothing was ever shown, so nothing is quoted");
}

#[test]
fn a_plan_has_three_to_six_items_without_forbidden_content() {
    let state = state();
    let planned = |plan: Value| record(&Recording { state: &state, plan: &plan, shown: Some(PAGE), ..nothing() });
    let taken = planned(json!(["Open", "Compare", "Sum up", "Answer"])).unwrap();
    assert_eq!((&taken["plan"][3], &taken["progress"]["item"]), (&json!("Answer"), &json!(1)));
    assert_eq!(facts_of(&taken), ["The budget is 5000"]);
    assert_eq!(planned(json!(["Open", "Answer"])).unwrap_err().code, "plan");
    let ended = planned(json!(["Open", "Press the button"])).unwrap();
    assert_eq!(ended["plan"], json!(["Open", "Press the button", "Answer the user"]), "OPR-2: it ends in the answer");
    let six = planned(json!(["Open", "Look", "Compare", "Choose", "Fill in", "Press the button"])).unwrap_err();
    assert!(six.code == "plan" && six.message.contains("the last is the answer"), "{six:?}");
    let error = planned(json!(["Press e5", "Compare", "Answer"])).unwrap_err();
    assert!(error.message.contains("plan[0]") && !error.message.contains("e5"), "{error:?}");
}

#[test]
fn a_new_goal_resets_the_plan_and_archives_the_facts() {
    let mut state = state();
    state["progress"] = json!({"item": 3, "done": ["Opened the shop"], "blocked": "no"});
    let goal = |is_new: bool| json!({"goal": "Find a cup", "is_new": is_new});
    let (new, same) = (goal(true), goal(false));
    let begun = record(&Recording { state: &state, goal: &new, ..nothing() }).unwrap();
    assert_eq!(begun["progress"], json!({"item": 1, "done": [], "blocked": null}));
    assert_eq!((begun["current_goal"].as_str(), facts_of(&begun).len()), (Some("Find a cup"), 0));
    assert_eq!((begun["earlier"].as_array().map(Vec::len), &begun["plan"]), (Some(1), &json!([])));
    let changed = record(&Recording { state: &state, goal: &same, ..nothing() }).unwrap();
    assert_eq!(changed["progress"]["done"], json!(["Opened the shop"]));
    assert_eq!((facts_of(&changed).len(), changed.get("earlier")), (1, None));
}

#[test]
fn a_fact_replaces_the_one_that_it_corrects() {
    let first = recorded(&json!({"facts": [{"fact": "The lid is red"}, {"fact": "Two are left"}]}));
    let (count, seen) = (facts_of(&first).len(), json!({}));
    let step = json!({"facts": [{"fact": "One is left", "instead_of": "two are left."}, {"fact": "A cup", "instead_of": "no such fact"}]});
    let then =
        record(&Recording { state: &first, step: &step, observation: &seen, shown: Some(PAGE), ..nothing() }).unwrap();
    let facts = facts_of(&then);
    assert!(
        facts.contains(&"One is left") && !facts.contains(&"Two are left") && facts.contains(&"A cup"),
        "{facts:?}"
    );
    assert_eq!(facts.len(), count + 1);
}

#[test]
fn an_item_that_is_not_in_the_plan_is_refused() {
    let state = recorded(&json!({"progress": {"item": 9, "done": ["Opened the shop"], "blocked": null}}));
    assert_eq!(state["progress"]["item"], 1);
    assert_eq!(state["progress"]["done"], json!(["Opened the shop"]));
    assert!(state["progress"]["refused"][0].as_str().unwrap().contains("no item 9"));
}

#[test]
fn repeated_identical_actions_are_detected() {
    let mut state = state();
    let action = json!({"tool": "look", "params": {"name": "More"}});
    let seen = json!({});
    for n in 1..=5 {
        state = record(&Recording { state: &state, action: &action, observation: &seen, ..nothing() }).unwrap();
        assert_eq!(state["progress"]["repeats"], n);
        assert_eq!(state["progress"].get("nudge").is_some(), n == 5);
    }
    let other = json!({"tool": "look", "params": {"name": "Less"}});
    state = record(&Recording { state: &state, action: &other, observation: &seen, ..nothing() }).unwrap();
    assert_eq!((&state["progress"]["repeats"], state["progress"].get("nudge")), (&json!(1), None));
    let stuck = json!({"unchanged": 5});
    let stuck = record(&Recording { state: &state, observation: &stuck, ..nothing() }).unwrap();
    assert!(stuck["progress"]["nudge"].as_str().unwrap().contains("Nothing has changed"));
}

fn any_fact() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zа-я]{1,8}( [a-zA-Z0-9а-я.,]{1,8}){0,6}",
        Just("Press e5 now".to_owned()),
        Just("<b>bold</b>".to_owned()),
        Just("The blue kettle costs 1990".to_owned()),
        Just("the blue  kettle costs 1990!".to_owned()),
    ]
}

fn any_step() -> impl Strategy<Value = Value> {
    let facts = prop::collection::vec(any_fact(), 0..4);
    let done = prop::collection::vec("[a-z]{1,6}", 0..3);
    (facts, done, 0..8u64).prop_map(|(facts, done, item)| {
        let facts: Vec<Value> = facts.into_iter().map(|fact| json!({"fact": fact})).collect();
        json!({"facts": facts, "progress": {"item": item, "done": done, "blocked": null}})
    })
}

proptest! {
    #[test]
    fn facts_survive_every_decision_plan_and_goal(
        steps in prop::collection::vec((any_step(), any::<bool>(), any::<bool>()), 1..8)
    ) {
        let mut state = state();
        let seen = json!({});
        for (step, replans, begins_anew) in steps {
            let all = |state: &Value| -> Vec<String> {
                let earlier = state["earlier"].as_array().into_iter().flatten();
                let earlier = earlier.map(|fact| fact["fact"].as_str().unwrap().to_owned());
                earlier.chain(facts_of(state).into_iter().map(str::to_owned)).collect()
            };
            let before = all(&state);
            let plan = if replans { json!(["One", "Two", "Three"]) } else { Value::Null };
            let goal = if begins_anew { json!({"goal": "Another", "is_new": true}) } else { Value::Null };
            state = record(&Recording { state: &state, goal: &goal, plan: &plan, step: &step, observation: &seen, shown: Some(PAGE), ..nothing() }).unwrap();
            prop_assert_eq!(&all(&state)[..before.len()], &before[..]);
        }
    }

    #[test]
    fn recording_is_idempotent(step in any_step()) {
        let once = recorded(&step);
        let seen = json!({});
        let twice = record(&Recording { state: &once, step: &step, observation: &seen, shown: Some(PAGE), ..nothing() }).unwrap();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn nothing_in_the_state_names_an_element_of_the_page(step in any_step()) {
        let text = recorded(&step).to_string();
        // `e5a` is not a known element.
        let names = text.split(|c: char| !c.is_alphanumeric()).any(|word| word == "e5");
        prop_assert!(!names && !text.contains("<b>"), "{}", text);
    }

    #[test]
    fn any_text_is_accepted_or_refused_without_a_panic(text in any::<String>(), page in any::<String>()) {
        let taken = TextChecker::new(Some(&page), None).take(&text, LONGEST_FACT);
        prop_assert!(taken.is_err() || taken.unwrap().chars().count() <= LONGEST_FACT);
    }
}
