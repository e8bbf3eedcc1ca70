//! A sender as the simulator's engine opens it.

use crate::application::{Application, Writer};
use crate::catalog::Sender;
use crate::pair::Pair;
use whimbrel_sim::{Connection, Host};
use whimbrel_units::Bytes;

/// Opens connections of one sender, with one kind of application.
#[derive(Debug, Clone)]
pub(crate) struct StackHost {
    pub sender: Sender,
    pub application: Application,
}

impl Host for StackHost {
    fn controller(&self) -> String {
        self.sender.to_string()
    }

    fn open(&self, size: Option<Bytes>, seed: u64) -> Box<dyn Connection> {
        let sender = self.sender.clone();
        let application = self.application;
        let open = Box::new(move || {
            let ends = sender.connect(seed);
            ends.expect("the stack starts with each controller of the catalog")
        });
        let writer = move |start| Writer::new(application, size, start);
        Box::new(Pair::new(open, writer))
    }
}
