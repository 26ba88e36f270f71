//! The agent's calls. The same request always gets the same answer.

use std::time::Duration;

use obelus_kernel::session::{Answer, Prompt, Solution};
use obelus_runtime::{AnswerFuture, Model};
use serde_json::{Value, json};

use crate::chance::Chance;
use crate::world::{Boundary, World};

pub(crate) const TURNS: u64 = 3;

pub(crate) struct Agent {
    pub(crate) seed: u64,
    pub(crate) world: World,
}

/// The calls of a turn: some read, some act, some only compute, some wait for others.
pub(crate) fn calls(seed: u64, turn: u64) -> Vec<Value> {
    let mut chance = Chance::new(seed.wrapping_mul(31).wrapping_add(turn));
    let tools = ["read", "think", "sure", "make", "post"];
    (0..1 + chance.below(4))
        .map(|i| {
            let tool = tools[chance.below(5) as usize];
            let n = if i > 0 && chance.percent(50) {
                json!(format!("†state.t{turn}c{}", chance.below(i)))
            } else {
                json!(turn * 10 + i)
            };
            json!({"_tool": tool, "n": n, "_outputPath": format!("†state.t{turn}c{i}")})
        })
        .collect()
}

impl Model for Agent {
    fn ask(&self, prompt: Prompt) -> AnswerFuture {
        let (seed, world) = (self.seed, self.world.clone());
        Box::pin(async move {
            world.cross(Boundary::BeforeAnswer).await;
            tokio::time::sleep(Duration::from_millis(world.below(80))).await;
            let said = prompt.texts.iter().rev().find(|(role, _)| role == "user").map(|(_, text)| text.clone());
            let turn = said.and_then(|text| text.strip_prefix("turn ")?.parse().ok()).unwrap_or(0);
            let mut solution = Solution::default();
            if prompt.plan.is_empty() {
                solution.calls = calls(seed, turn).into_iter().map(Into::into).collect();
            } else {
                solution.output = json!(format!("done with {turn}"));
            }
            Answer::Solution { solution, tokens: 1 }
        })
    }
}
