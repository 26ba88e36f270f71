//! Compares the labels of memory with the values and with the text of the rule.
//!
//! Every write puts its number into each of its texts and has its own origin. So the value at a path shows which labels
//! it must have, and the list of writes shows which it may have.

use std::collections::BTreeSet;
use std::sync::Arc;

use obelus_kernel::CallJson;
use obelus_kernel::memory::{Origin, Origins, Segment};
use obelus_kernel::policy::why;
use obelus_kernel::{Context, Data, Expr, Message, Path};
use obelus_notebook::fold::Method;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::cases;

#[derive(Clone, Debug)]
struct Write {
    path: Vec<Segment>,
    method: Method,
    shape: Shape,
    instance: Option<&'static str>,
}

/// The value of a write; each `Text` becomes the write's number.
#[derive(Clone, Debug)]
enum Shape {
    Text,
    Object(Vec<(&'static str, Shape)>),
    List(Vec<Shape>),
}

const INSTANCES: [&str; 2] = ["ada", "bob"];

fn segment() -> impl Strategy<Value = Segment> {
    prop_oneof![
        4 => select(vec!["a", "a", "b"]).prop_map(|name| Segment::Field(name.into())),
        1 => Just(Segment::Field("0".into())),
        1 => Just(Segment::Key("a".into())),
        4 => select(vec![0, 0, 1, -1]).prop_map(Segment::Index),
    ]
}

fn path() -> impl Strategy<Value = Vec<Segment>> {
    vec(segment(), 0..3)
}

fn shape() -> impl Strategy<Value = Shape> {
    let leaf = Just(Shape::Text);
    leaf.prop_recursive(2, 8, 2, |inner| {
        prop_oneof![
            vec((select(vec!["a", "b", "0"]), inner.clone()), 0..3).prop_map(Shape::Object),
            vec(inner, 0..3).prop_map(Shape::List),
            Just(Shape::List(vec![Shape::Text, Shape::Text])),
        ]
    })
}

fn write() -> impl Strategy<Value = Write> {
    let method = select(Method::ALL.map(|(_, method)| method).to_vec());
    let parts = (path(), method, shape(), option::weighted(0.3, select(INSTANCES.to_vec())));
    parts.prop_map(|(path, method, shape, instance)| Write { path, method, shape, instance })
}

impl Shape {
    fn value(&self, number: usize) -> Value {
        match self {
            Shape::Text => json!(format!("<{number}>")),
            Shape::Object(fields) => {
                fields.iter().map(|(name, inner)| ((*name).to_owned(), inner.value(number))).collect()
            }
            Shape::List(items) => items.iter().map(|item| item.value(number)).collect(),
        }
    }
}

impl Write {
    fn message(&self, number: usize) -> Message {
        let path = Path { kind: "state".into(), segments: self.path.clone().into() };
        let call = CallJson::of_tool("t");
        let mut data = Data::result(call, Arc::new(path), None, self.shape.value(number));
        data.instance = self.instance.map(str::to_owned);
        data.method = Some(self.method);
        data.origins = Some(Origins::of(origin(number)));
        Message::Data(Box::new(data))
    }

    /// Whether the write overwrites nothing at or below `path`.
    fn spares(&self, path: &[Segment]) -> bool {
        if matches!(self.method, Method::Push | Method::Concat) || self.path.iter().any(from_the_end) {
            return true;
        }
        // An index from the end may name the overwritten element.
        if path.iter().any(from_the_end) {
            return false;
        }
        if !reaches(&self.path, path) {
            return true;
        }
        let Some(rest) = below(&self.path, path).filter(|rest| !rest.is_empty()) else { return false };
        let value = self.shape.value(0);
        let inner = |value: &Value, step: &Segment| value.get(text(step)).cloned();
        let brings_something_there = match self.method {
            Method::Merge => {
                let step = |value: Value, step| if value.is_object() { inner(&value, step) } else { Some(value) };
                rest.iter().try_fold(value, step).is_some()
            }
            _ => !value.is_object() || rest.first().is_some_and(|step| inner(&value, step).is_some()),
        };
        self.method != Method::Set && !brings_something_there
    }
}

/// The rest of `path` below `upper`, if `upper` is certainly a prefix of it.
fn below<'p>(upper: &[Segment], path: &'p [Segment]) -> Option<&'p [Segment]> {
    let (head, rest) = path.split_at_checked(upper.len())?;
    upper.iter().zip(head).all(|(a, b)| surely_meet(a, b)).then_some(rest)
}

fn from_the_end(segment: &Segment) -> bool {
    matches!(segment, Segment::Index(index) if *index < 0)
}

fn text(segment: &Segment) -> String {
    match segment {
        Segment::Field(name) | Segment::Key(name) => name.to_string(),
        Segment::Index(index) => index.to_string(),
    }
}

fn surely_meet(a: &Segment, b: &Segment) -> bool {
    !from_the_end(a) && !from_the_end(b) && text(a) == text(b)
}

/// Whether a write can change the value at `path`. After an index from the end, it can.
fn reaches(write: &[Segment], path: &[Segment]) -> bool {
    let known = write.iter().zip(path).take_while(|(a, b)| !from_the_end(a) && !from_the_end(b));
    known.into_iter().all(|(a, b)| text(a) == text(b))
}

fn origin(number: usize) -> Origin {
    Origin::Tool { name: number.to_string().into(), trusted: false }
}

fn numbers(origins: &Origins) -> BTreeSet<usize> {
    origins.untrusted().map(|name| name.parse().expect("a number")).collect()
}

/// The numbers of the writes that a value contains.
fn marks(value: &Value) -> BTreeSet<usize> {
    let text = value.to_string();
    text.split('<').skip(1).map(|part| part.split('>').next().unwrap().parse().expect("a number")).collect()
}

/// POL-4: a path carries the writes that reach it since the last `set` over it.
fn since_the_last_set(writes: &[(usize, Write)], path: &[Segment], instance: Option<&str>) -> BTreeSet<usize> {
    let mut carried = BTreeSet::new();
    for layer in [None].into_iter().chain(instance.map(Some)) {
        let mut own = BTreeSet::new();
        for (number, write) in writes.iter().filter(|(_, write)| write.instance == layer) {
            if write.method == Method::Set && below(&write.path, path).is_some() {
                own.clear();
            }
            if reaches(&write.path, path) {
                own.insert(*number);
            }
        }
        carried.extend(own);
    }
    carried
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn a_path_has_the_origins_of_its_current_writers_and_not_of_overwritten_ones(
        writes in vec(write(), 1..12),
        queries in vec(path(), 8),
    ) {
        let mut context = Context::new();
        let mut done: Vec<(usize, Write)> = Vec::new();
        for (number, write) in writes.into_iter().enumerate() {
            if context.append(vec![write.message(number)]).is_ok() {
                done.push((number, write));
            }
        }
        for query in &queries {
            for instance in [None, Some("ada"), Some("bob")] {
                let path = Path { kind: "state".into(), segments: query.clone().into() };
                let Some(value) = context.read(&path, instance) else { continue };
                let carried = numbers(&context.origins(&path, instance));
                let must = marks(&value);
                prop_assert!(must.is_subset(&carried), "{} for {:?} is {}, and carries {:?}", path, instance, value, carried);
                let may = since_the_last_set(&done, query, instance);
                prop_assert!(carried.is_subset(&may), "{} for {:?} carries {:?}, and not all of {:?}", path, instance, carried, may);
                // The chain of a value names every write that it contains, and none that was overwritten.
                let told = why(&context, &Expr::Ref(path.clone().into()), instance, None).because;
                let told = told.iter().flat_map(|one| numbers(&one.origins)).collect::<BTreeSet<_>>();
                prop_assert!(must.is_subset(&told), "{} for {:?} is {}, and {:?} are told", path, instance, value, told);
                prop_assert!(told.is_subset(&may), "{} for {:?}: {:?} are told, and not all of {:?}", path, instance, told, may);
            }
        }
    }

    #[test]
    fn a_label_gets_weaker_only_by_overwriting(
        writes in vec(write(), 1..12),
        queries in vec(path(), 8),
    ) {
        let mut context = Context::new();
        for (number, write) in writes.into_iter().enumerate() {
            let before = context.clone();
            if context.append(vec![write.message(number)]).is_err() {
                continue;
            }
            for query in queries.iter().filter(|query| write.spares(query)) {
                let path = Path { kind: "state".into(), segments: query.clone().into() };
                let readers = [None, Some("ada"), Some("bob")];
                // The first own value of an instance hides the global one, which counts as overwriting.
                for reader in readers.into_iter().filter(|reader| write.instance.is_none() || write.instance != *reader) {
                    let (was, is) = (before.origins(&path, reader), context.origins(&path, reader));
                    prop_assert!(numbers(&was).is_subset(&numbers(&is)), "{} for {:?} after {:?}", path, reader, write);
                }
            }
        }
    }
}

#[test]
fn the_reference_rule_drops_overwritten_origins_and_keeps_the_rest() {
    let at = |name: &str| vec![Segment::Field(name.into())];
    let write = |path, method| Write { path, method, shape: Shape::Text, instance: None };
    let writes = vec![
        (0, write(at("a"), Method::Push)),
        (1, write(at("a"), Method::Set)),
        (2, write(at("a"), Method::Concat)),
        (3, write(at("b"), Method::Set)),
    ];
    assert_eq!(since_the_last_set(&writes, &at("a"), None), BTreeSet::from([1, 2]));
    assert_eq!(since_the_last_set(&writes, &[], None), BTreeSet::from([0, 1, 2, 3]));
    assert!(writes[2].1.spares(&at("a")) && writes[3].1.spares(&at("a")) && !writes[3].1.spares(&at("b")));
}
