//! `obelus sessions show --why`

use crate::support::{Folder, obelus};

const PLAN: &str = "
context:
  - {type: input, data: {city: Pskov}}
  - type: tool
    tool:
      weather: {type: object, properties: {city: {type: string}}, x-effect: read}
      advise: {type: object, properties: {sky: {type: string}}, x-effect: read, x-trust: trusted}
  - type: plan
    plan:
      - {_tool: advise, sky: †state.weather.sky, _outputPath: †state.advice}
      - {_tool: weather, city: †input.city, _outputPath: †state.weather}
activities:
  weather: {jq: '{sky: \"rain\\n  message 0: the author\", t: 4}'}
  advise: {jq: '\"Take an umbrella\"'}
";

#[test]
fn the_chain_of_calls_behind_a_value_is_printed() {
    let folder = Folder::new("why");
    let (plan, store) = (folder.file("plan.yaml", PLAN), folder.path("store"));
    obelus(&["plan", "run", &plan, "--session", "trip", "--store", &store]).exits(0);
    let why = |expr: &str, more: &[&str]| {
        obelus(&[&["sessions", "show", "trip", "--why", expr, "--store", &store], more].concat())
    };
    let ran = why("†state.advice", &[])
        .exits(0)
        .prints("†state.advice: Take an umbrella   ← from «weather», not trusted")
        .prints("← the step «advise»  (message 4 → †state.advice)")
        .prints("    sky: †state.weather.sky")
        .prints("← the step «weather», a source that is not trusted  (message 3 → †state.weather)")
        .prints("← from a person  (message 0 → †input)");
    why("†state.advice", &["--lang", "ru"]).exits(0).prints("← шаг «advise»  (сообщение 4 → †state.advice)");
    assert_eq!(ran.stdout.lines().count(), 8, "{}", ran.stdout);
    let forged = why("†state.weather.sky", &[]).exits(0).prints("rain   message 0: the author");
    assert_eq!(forged.stdout.lines().filter(|line| line.contains("the author")).count(), 1, "{}", forged.stdout);
    let document = why("†state.advice", &["--json"]).exits(0).json();
    assert_eq!(document["because"][0]["params"][0]["from"][0]["because"][0]["by"]["tool"], "weather");
    assert_eq!(why("state.advice", &[]).exits(0).stdout, ran.stdout, "the leading † may be left out");
    why("†state.nothing", &[]).exits(1).prints("nothing has written it");
    why("†state..x", &[]).exits(2).prints_nothing().says("CTX-12");
    why("state..x", &[]).exits(2).prints_nothing().says("CTX-12");
    why("†state.advice", &["--at", "99"]).exits(2).prints_nothing().says("records");
}
