//! The shared suite on the engines of this crate: in memory and on disk.

mod common;
#[macro_use]
mod suite;

use std::sync::Arc;

use common::Folder;
use obelus_runtime::{Connections, Host, MemoryStore, SqliteStore, Store};
use suite::World;

/// Sessions in one store.
struct Embedded {
    store: Arc<dyn Store>,
    _folder: Option<Folder>,
}

impl World for Embedded {
    fn host(&self, connections: Connections) -> Host {
        Host::builder(connections).store(Arc::clone(&self.store)).build()
    }

    fn id(&self, name: &str) -> String {
        name.to_owned()
    }
}

mod memory {
    use super::*;

    suite!(|_: &str| Embedded { store: Arc::new(MemoryStore::new()), _folder: None });
}

mod disk {
    use super::*;

    suite!(|name: &str| {
        let folder = Folder::new(name);
        Embedded { store: SqliteStore::open(&folder.0).unwrap().shared(), _folder: Some(folder) }
    });
}
