//! The example of docs/operator.md: a local shop, a model without a key, and a person who talks to the operator.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::harness::Harness;
use crate::installed;
use crate::person::Person;
use crate::support::{root, wait_for};

const PLAYBOOK: &str = "playbook:examples/operator-shop/playbook.yaml";

/// The shop of the example, killed on drop.
struct Shop {
    server: Child,
    /// Host and port.
    host: String,
    /// Kept open, because the shop continues to write to it.
    _tells: BufReader<ChildStdout>,
}

impl Shop {
    /// `None` without Python.
    fn open() -> Option<Self> {
        if Command::new("python3").arg("--version").output().is_err() {
            eprintln!("skipped: there is no `python3` to run the shop of the example");
            return None;
        }
        let mut server = Command::new("python3")
            .args(["examples/operator-shop/shop.py", "0"])
            .current_dir(root())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut said = String::new();
        let mut tells = BufReader::new(server.stdout.take().expect("a pipe"));
        tells.read_line(&mut said).expect("it says where it is");
        let (_, host) = said.trim().split_once("http://").unwrap_or_else(|| panic!("it says `{said}`"));
        Some(Self { server, host: host.to_owned(), _tells: tells })
    }

    /// The text of a page.
    fn page(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).expect("the shop is open");
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("it listens");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("text");
        assert!(page.contains(" 200 "), "{path}: {page}");
        page
    }

    /// Name, price and rating of all goods on its three pages.
    fn goods(&self) -> Vec<(String, u32, f64)> {
        let pages: String = (1..=3).map(|number| self.page(&format!("/kettles/{number}"))).collect();
        let between = |text: &str, from: &str, to: &str| -> String {
            let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("no `{from}` in {text}"));
            rest.split_once(to).unwrap_or_else(|| panic!("no `{to}` in {rest}")).0.to_owned()
        };
        let good = |text: &str| {
            let (price, rating) = (between(text, "Price: ", " €"), between(text, "Rated ", " of 5"));
            let name = between(&format!(">{text}"), ">", "</h2>");
            (name, price.parse().expect("a price"), rating.parse().expect("a rating"))
        };
        pages.split("<h2>").skip(1).map(good).collect()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn the_example_compares_goods_and_removes_only_after_approval() {
    if installed::browser().is_none() {
        return;
    }
    let Some(shop) = Shop::open() else { return };
    let harness = Harness::without_a_browser("shop", "");
    let goods = shop.goods();
    assert_eq!(goods.len(), 9, "{goods:?}");
    let args = ["chat", "--agent", "operator", "--site", &shop.host, "--model", PLAYBOOK, "--session", "s"];
    let person = Person::runs(&harness, &args.map(str::to_owned));
    // Waits for words and a prompt after them.
    let prompted_after = |words: &str| {
        wait_for(&format!("`{words}`, and a prompt"), || {
            person.screen().rsplit_once(words).is_some_and(|(_, rest)| rest.contains('›'))
        });
    };
    prompted_after("Ctrl-D exits");

    person.types(&format!("Compare the kettles on http://{}", shop.host));
    prompted_after("I compared 9 kettles");
    let (name, price, rating) =
        goods.iter().filter(|good| good.2 >= 4.5).min_by_key(|good| good.1).expect("there is one");
    let screen = person.screen();
    assert!(screen.contains(&format!("{name}, {price} €, rated {rating}")), "{screen}");
    let mut facts: Vec<String> =
        goods.iter().map(|(name, price, rating)| format!("{name}: {price} €, rated {rating}")).collect();
    assert_eq!(harness.facts(), facts);
    // Visited pages are shown; internal steps are not.
    assert!(screen.contains("Look around · Next page: http://"), "{screen}");
    assert!(!screen.contains("✓ Check the next action") && !screen.contains("✓ Look at the page"), "{screen}");

    person.types("Remove the lamp from the basket");
    let screen = person.is_asked();
    assert!(screen.contains("Remove Lamp") && screen.contains("/basket/1/delete"), "{screen}");
    assert!(!screen.contains("null"), "what there is not is not shown: {screen}");
    assert!(shop.page("/basket").contains("Lamp"), "nobody has said yes");
    person.presses("y");
    prompted_after("The lamp is gone from the basket. In it: armchair, toaster.");
    let basket = shop.page("/basket");
    assert!(!basket.contains("Lamp") && basket.contains("Armchair") && basket.contains("Toaster"), "{basket}");
    facts.push("No lamp in the basket".to_owned());
    assert_eq!(harness.facts(), facts);

    person.types("/quit");
    let (code, screen) = person.ends();
    assert_eq!(code, Some(0), "{screen}");
}

/// The address of the shop in the recording.
const RECORDED_AT: &str = "127.0.0.1:8477";

#[test]
fn a_recorded_conversation_of_nine_requests_does_the_same_in_the_shop() {
    if installed::browser().is_none() {
        return;
    }
    let Some(shop) = Shop::open() else { return };
    let harness = Harness::without_a_browser("recording", "");
    // Ids of elements are the same each time, but the address of the shop is not.
    harness.folder.file("shop.jsonl", include_str!("recordings/shop.jsonl").replace(RECORDED_AT, &shop.host));
    let model = format!("replay:{}", harness.folder.path("shop.jsonl"));
    let args =
        ["chat", "--agent", "operator", "--site", &shop.host, "--model", &model, "--lang", "en", "--session", "s"];
    let person = Person::runs(&harness, &args.map(str::to_owned));
    wait_for("a prompt", || person.screen().contains("Ctrl-D exits"));
    person.types(&format!(
        "On http://{} find the best rated kettle below 40 €. Take the toaster out of the basket. Then fill in the delivery: \
         Vera Lind, 7 Mill Lane, and they should call before. Ask me for the time of day.",
        shop.host
    ));

    let screen = person.is_asked();
    assert!(screen.contains("Remove Toaster") && screen.contains("/basket/3/delete"), "{screen}");
    assert!(screen.contains("picture of the page: ") && screen.contains("/shots/s/0004.png"), "{screen}");
    assert!(shop.page("/basket").contains("Toaster"), "nobody has said yes");
    person.presses("y");
    let screen = person.is_asked();
    assert!(screen.contains("in the morning or in the evening?"), "{screen}");
    person.types_after("a", "Answer ›", "In the evening");
    let screen = person.is_asked();
    assert!(screen.contains("Save the delivery"), "{screen}");
    for sent in ["Vera Lind", "7 Mill Lane", "evening"] {
        assert!(screen.contains(&format!("(will be sent): \"{sent}\"")), "{sent}: {screen}");
    }
    assert!(!shop.page("/delivery").contains("Saved."), "nobody has said yes");
    person.presses("y");
    // The answer is longer than a line of the screen.
    let in_one_line = || person.screen().split_whitespace().collect::<Vec<_>>().join(" ");
    wait_for("the answer", || in_one_line().contains("The delivery is saved: Vera Lind"));

    let (basket, delivery) = (shop.page("/basket"), shop.page("/delivery"));
    assert!(!basket.contains("Toaster") && basket.contains("Lamp") && basket.contains("Armchair"), "{basket}");
    for said in ["name: Vera Lind", "street: 7 Mill Lane", "time: evening", "call: on"] {
        assert!(delivery.contains(&format!("<li>{said}</li>")), "{said}: {delivery}");
    }
    assert!(
        harness.facts().contains(&"Beacon: 37 €, rated 4.8, the best below 40 €".to_owned()),
        "{:?}",
        harness.facts()
    );
    person.types("/quit");
    assert_eq!(person.ends().0, Some(0));
}

#[test]
fn the_site_option_needs_an_agent_with_a_browser() {
    let harness = Harness::without_a_browser("site", "");
    let say = ["--say", "Hello", "--model", PLAYBOOK];
    let run = |args: &[&str]| crate::support::run(&mut harness.obelus(&[args, &say[..]].concat()), b"");
    run(&["run", "examples/steps", "--site", "shop.example.test"]).exits(2).says("--site").says("it has no browser");
    run(&["run", "agents/operator", "--site", "shop.example.test/a"]).exits(2).says("`shop.example.test/a`");
}
