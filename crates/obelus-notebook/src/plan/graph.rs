//! The graph of a plan: an edge for each path that one call may write and another reads.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use smallvec::SmallVec;

use super::template::RunsFor;
use crate::call::Call;
use crate::fault::{Fault, Rule};
use crate::path::{Path, Segment};

/// `from` may write a path that `to` reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The index of the writing call.
    pub from: usize,
    /// The index of the reading call.
    pub to: usize,
    /// The path that is read.
    pub path: Arc<Path>,
}

/// The plan has too many edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooDense;

/// The most edges of a plan, to limit its memory.
const MOST_EDGES: usize = 2_000_000;

/// Calls that depend on each other: each edge leads to the next, and the last to the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle(pub Vec<Edge>);

impl Cycle {
    /// The cycle as a fault; `name` returns the index and the tool of a node's call.
    pub fn fault<'a>(&self, name: impl Fn(usize) -> (usize, &'a str)) -> Fault {
        let named = |node| {
            let (call, tool) = name(node);
            format!("call {call} ({tool})")
        };
        let steps: Vec<_> = self
            .0
            .iter()
            .map(|edge| format!("{} feeds {} by {}", named(edge.from), named(edge.to), edge.path))
            .collect();
        let fault = Fault::new(Rule::Plan2, format!("the calls wait for each other: {}", steps.join(", ")));
        match self.0.first() {
            Some(edge) => fault.in_call(name(edge.from).0),
            None => fault,
        }
    }
}

/// The dependencies between the calls of a plan. A call feeds another if it may write what the other reads.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All edges by reader, then by path: one for each pair and path.
    edges: Vec<Edge>,
    /// For each call the index of its first incoming edge in `edges`.
    starts: Vec<usize>,
    /// The calls that each call feeds, without duplicates.
    feeds: Vec<SmallVec<[usize; 4]>>,
    /// The number of calls that feed each call.
    feeders: Vec<usize>,
}

/// A call as input of the graph.
pub struct PlanNode<'a> {
    /// The call.
    pub call: &'a Call,
    /// The instances that it runs for.
    pub runs_for: RunsFor,
}

impl Graph {
    /// Builds the graph with the edges that `may_feed` permits.
    pub fn with(nodes: &[PlanNode<'_>], may_feed: impl Fn(usize, usize) -> bool) -> Result<Self, TooDense> {
        let writers = Writers::new(nodes);
        let mut edges = Vec::with_capacity(nodes.len());
        let mut starts = Vec::with_capacity(nodes.len() + 1);
        let mut feeds: Vec<SmallVec<[usize; 4]>> = vec![SmallVec::new(); nodes.len()];
        let mut feeders = vec![0; nodes.len()];
        let mut into: Vec<(&Arc<Path>, usize)> = Vec::new();
        for (to, node) in nodes.iter().enumerate() {
            starts.push(edges.len());
            node.call.each_read(&mut |path| {
                writers.of(path, &node.runs_for, &mut |from| {
                    // A call that reads what it writes gets the earlier value.
                    if from != to && may_feed(from, to) {
                        into.push((path, from));
                    }
                });
            });
            into.sort_unstable();
            into.dedup();
            if edges.len() + into.len() > MOST_EDGES {
                return Err(TooDense);
            }
            for (path, from) in into.drain(..) {
                if feeds[from].last() != Some(&to) {
                    feeds[from].push(to);
                    feeders[to] += 1;
                }
                edges.push(Edge { from, to, path: path.clone() });
            }
        }
        starts.push(edges.len());
        Ok(Graph { edges, starts, feeds, feeders })
    }

    /// The edges into a call, sorted by path.
    pub fn edges_into(&self, call: usize) -> &[Edge] {
        &self.edges[self.starts[call]..self.starts[call + 1]]
    }

    /// The edges into a call for one of the paths that it reads.
    pub fn edges_by(&self, call: usize, path: &Path) -> &[Edge] {
        let edges = self.edges_into(call);
        // An edge shares the path of the reading call, so the pointers are usually equal.
        let is = |edge: &Edge| std::ptr::eq(&*edge.path, path) || *edge.path == *path;
        let start = edges.partition_point(|edge| !is(edge) && *edge.path < *path);
        let len = edges[start..].partition_point(is);
        &edges[start..start + len]
    }

    /// All edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The calls that a call feeds, without duplicates.
    pub fn fed_by(&self, call: usize) -> &[usize] {
        &self.feeds[call]
    }

    /// The number of calls that feed a call.
    pub fn feeders(&self, call: usize) -> usize {
        self.feeders[call]
    }

    /// A cycle, if there is one.
    pub fn any_cycle(&self) -> Option<Cycle> {
        self.levels().err()
    }

    /// The calls by wave. Each is in the wave after the latest call that feeds it.
    pub fn waves(&self) -> Result<Vec<Vec<usize>>, Cycle> {
        let levels = self.levels()?;
        let mut waves = vec![Vec::new(); levels.iter().max().map_or(0, |last| last + 1)];
        for (call, level) in levels.into_iter().enumerate() {
            waves[level].push(call);
        }
        Ok(waves)
    }

    /// The wave of each call.
    fn levels(&self) -> Result<Vec<usize>, Cycle> {
        let mut open = self.feeders.clone();
        let mut levels = vec![0; open.len()];
        let mut free: Vec<usize> = (0..open.len()).filter(|&call| open[call] == 0).collect();
        let mut placed = 0;
        while let Some(call) = free.pop() {
            placed += 1;
            for &fed in self.fed_by(call) {
                levels[fed] = levels[fed].max(levels[call] + 1);
                open[fed] -= 1;
                if open[fed] == 0 {
                    free.push(fed);
                }
            }
        }
        if placed < open.len() { Err(self.cycle(&open)) } else { Ok(levels) }
    }

    /// Finds a cycle: walks backwards among the unplaced calls until one repeats.
    fn cycle(&self, open: &[usize]) -> Cycle {
        let stuck = |call: usize| self.edges_into(call).iter().find(|edge| open[edge.from] > 0);
        let mut at = open.iter().position(|&count| count > 0).unwrap_or_default();
        let mut walk: Vec<Edge> = Vec::new();
        let mut visited = vec![None; open.len()];
        loop {
            if let Some(first) = visited[at].replace(walk.len()) {
                let mut round = walk.split_off(first);
                round.reverse();
                return Cycle(round);
            }
            let Some(edge) = stuck(at) else { return Cycle(walk) };
            walk.push(edge.clone());
            at = edge.from;
        }
    }

    /// Whether `from` precedes `to` in every order. Visits at most `budget` edges.
    pub(crate) fn reaches(&self, from: usize, to: usize, budget: &mut usize) -> bool {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(call) = open.pop() {
            for &fed in self.fed_by(call) {
                if fed == to {
                    return true;
                }
                *budget = budget.saturating_sub(1);
                if *budget > 0 && seen.insert(fed) {
                    open.push(fed);
                }
            }
        }
        false
    }
}

/// Writers by kind, instances and the keys of their paths. The cost of a search depends on the depth of the path and the
/// number of results.
#[derive(Default)]
struct Writers<'a>(BTreeMap<&'a str, BTreeMap<&'a RunsFor, ByKeys<'a>>>);

/// Calls with the path that each writes.
type ByKeys<'a> = BTreeMap<Keys<'a>, SmallVec<[(usize, &'a Path); 1]>>;

type Keys<'a> = SmallVec<[Cow<'a, str>; 1]>;

/// The keys of a path before the first index from the end, which can be any element.
fn keys(path: &Path) -> Keys<'_> {
    path.segments.iter().take_while(|segment| !segment.is_from_end()).map(Segment::key).collect()
}

impl<'a> Writers<'a> {
    fn new(nodes: &'a [PlanNode<'_>]) -> Self {
        let mut writers = Self::default();
        for (index, node) in nodes.iter().enumerate() {
            for path in node.call.all_writes() {
                let of_kind = writers.0.entry(&path.kind).or_default();
                of_kind.entry(&node.runs_for).or_default().entry(keys(path)).or_default().push((index, path));
            }
        }
        writers
    }

    /// The writers of a prefix of the path, of the path itself, and of any path below it, that a reader sees: global
    /// ones always, those for each instance unless the reader is global, those for one instance if the reader runs for
    /// it or for each.
    fn of(&self, path: &'a Path, reader: &'a RunsFor, found: &mut impl FnMut(usize)) {
        let Some(of_kind) = self.0.get(path.kind.as_str()) else { return };
        let seen: SmallVec<[&ByKeys<'_>; 3]> = match reader {
            RunsFor::Each => of_kind.values().collect(),
            RunsFor::Once => of_kind.get(reader).into_iter().collect(),
            RunsFor::One(_) => {
                [&RunsFor::Once, &RunsFor::Each, reader].iter().filter_map(|of| of_kind.get(of)).collect()
            }
        };
        let keys = keys(path);
        for by_keys in seen {
            let above = (0..keys.len()).filter_map(|depth| by_keys.get(&keys[..depth]));
            let below = by_keys.range::<[Cow<'a, str>], _>((Bound::Included(&keys[..]), Bound::Unbounded));
            let below = below.take_while(|(known, _)| known.starts_with(&keys)).map(|(_, writers)| writers);
            for (writer, written) in above.chain(below).flatten() {
                if written.overlaps(path) {
                    found(*writer);
                }
            }
        }
    }
}
