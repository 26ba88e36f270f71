//! Pictures of the user: `--image` and `/image`.

use crate::support::{Folder, obelus, obelus_reading};

const CAT: &[u8] = b"GIF89a-CANARY-IN-THE-PICTURE";

/// A model that reports its pictures.
const PLAYBOOK: &str = "\
rules:
  - when: (.pictures | length) > 0
    answer: {output: '{{ pictures | length }} shown, {{ pictures[0].name }}'}
  - answer: {output: 'none shown'}
";

struct World {
    folder: Folder,
    model: String,
    store: String,
}

impl World {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        std::fs::write(folder.path("answers.yaml"), PLAYBOOK).unwrap();
        std::fs::write(folder.path("my cat.gif"), CAT).unwrap();
        std::fs::write(folder.path("notes.txt"), "just words").unwrap();
        std::fs::write(folder.path("request.yaml"), "context: []\n").unwrap();
        let (model, store) = (format!("playbook:{}", folder.path("answers.yaml")), folder.path("store"));
        Self { folder, model, store }
    }
}

#[test]
fn a_request_is_run_with_a_picture() {
    let world = World::new("pictures-run");
    let (file, cat, text) =
        (world.folder.path("request.yaml"), world.folder.path("my cat.gif"), world.folder.path("notes.txt"));
    let run = ["run", &file, "--model", &world.model, "--say", "what is this?"];
    obelus(&run).exits(0).prints("none shown");
    obelus(&[&run[..], &["--image", &cat]].concat()).exits(0).prints("1 shown, user-");
    // An invalid picture is refused before anything starts.
    let kept = ["--session", "s", "--store", &world.store];
    let refused = obelus(&[&run[..], &kept, &["--image", &cat, "--image", &text]].concat()).exits(2);
    refused.says("--image").says("notes.txt: it is no PNG, JPEG, WebP or GIF");
    obelus(&["sessions", "show", "s", "--store", &world.store]).exits(2).says("no session `s`");
    obelus(&[&run[..], &kept, &["--image", &cat]].concat()).exits(0).prints("1 shown");
    let log = obelus(&["sessions", "log", "s", "--json", "--store", &world.store]).exits(0);
    assert!(!log.stdout.contains("CANARY") && !log.stdout.contains("my cat"), "{}", log.stdout);
    let journal = std::fs::read(world.folder.path("store/obelus.db")).unwrap();
    assert!(!String::from_utf8_lossy(&journal).contains("CANARY"));
    let shots: Vec<_> = std::fs::read_dir(world.folder.path("store/shots/s")).unwrap().collect();
    assert_eq!(shots.len(), 1, "the copy is where the user can open it");
}

#[test]
fn a_picture_is_sent_with_the_next_message_of_a_conversation() {
    let world = World::new("pictures-chat");
    let (cat, text) = (world.folder.path("my cat.gif"), world.folder.path("notes.txt"));
    let chat = ["chat", "--agent", "notes", "--model", &world.model];
    let typed = format!("/image\n/image {text}\n/image '{cat}'\nwhat is this?\nand now?\n");
    for kept in [&[][..], &["--session", "s", "--store", &world.store]] {
        let ran = obelus_reading(&typed, &[&chat[..], kept].concat()).exits(0);
        let ran = ran.prints("Which file? For example: /image photo.png").prints("it is no PNG, JPEG, WebP or GIF");
        let ran =
            ran.prints("The picture is added to your next message.").prints("1 shown, user-").prints("none shown");
        assert!(ran.stdout.find("1 shown") < ran.stdout.find("none shown"), "{}", ran.stdout);
    }
}
