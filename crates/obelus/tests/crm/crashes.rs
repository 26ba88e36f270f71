//! A portal that drops answers, and an agent that is killed repeatedly: nothing is created twice, nothing is lost.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use crate::office::Office;
use crate::support::wait_for;

const DEALS: usize = 100;

#[test]
fn a_crashing_agent_with_lost_answers_creates_exactly_a_hundred_deals() {
    let office = Office::open("crashes", 0.3);
    office.model(&format!(
        r#"
- raw: |-
    THOUGHT:
    Создаём по одной.
    ACTION:
    [{{% for i in range({DEALS}) %}}{{"method": "crm.deal.add", "params": {{"fields": {{"TITLE": "Партия {{{{ i }}}}"}}}}}}{{{{ "," if not loop.last }}}}{{% endfor %}}]
    ASSISTANT:
    Создаю.
"#
    ));
    let mut kills: u32 = 0;
    let mut words = "Создай сто сделок\n".to_owned();
    loop {
        let mut child = office
            .chat("canary")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), words.as_bytes()).expect("it listens");
        // The agent is killed at different moments after the first creation; the last runs are not interrupted.
        let before = office.portal.requests();
        let more = u64::from(3 + kills * 7 % 11);
        let mut is_over = false;
        wait_for("it has created some, or has ended", || {
            is_over = child.try_wait().expect("our child").is_some();
            is_over || (kills < 12 && office.portal.requests() >= before + more)
        });
        if !is_over {
            std::thread::sleep(Duration::from_millis(u64::from(kills * 13 % 7)));
            // `Child::kill` is SIGKILL.
            child.kill().expect("it can be killed");
            kills += 1;
        }
        let output = child.wait_with_output().expect("it ended");
        if is_over {
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
            break;
        }
        // The message is sent once; later runs continue the session.
        words.clear();
    }
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for (_, title) in office.deals("Партия") {
        *count.entry(title).or_default() += 1;
    }
    eprintln!(
        "{DEALS} creations, {kills} kills, {} requests: {} deals",
        office.portal.requests(),
        count.values().sum::<usize>()
    );
    assert!(kills > 0);
    let twice: Vec<_> = count.iter().filter(|(_, n)| **n != 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert_eq!(count.len(), DEALS);
    let done = office.state()["done"].as_array().map(Vec::len);
    assert_eq!(done, Some(DEALS), "each is told as done once");
}
