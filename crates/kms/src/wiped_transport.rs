//! Connections of HTTP whose buffers are wiped: tokens and keys go through them.
//!
//! What must hold: what was sent is gone from the buffers when it was sent, what came when the connection is let go. What the TLS library
//! keeps for itself below is not reached.

use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport,
};
use zeroize::Zeroize;

/// The usual connections over TCP and TLS, wiped.
pub(crate) fn wiping() -> impl Connector<()> {
    DefaultConnector::new().chain(Wiping)
}

#[derive(Debug)]
struct Wiping;

impl<In: Transport> Connector<In> for Wiping {
    type Out = Wiped<In>;

    fn connect(
        &self,
        _: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Wiped<In>>, Error> {
        Ok(chained.map(Wiped))
    }
}

/// A connection that is wiped.
#[derive(Debug)]
struct Wiped<T: Transport>(T);

impl<T: Transport> Transport for Wiped<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let sent = self.0.transmit_output(amount, timeout);
        wipe(self.0.buffers());
        sent
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.0.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}

impl<T: Transport> Drop for Wiped<T> {
    fn drop(&mut self) {
        let buffers = self.0.buffers();
        let unread = buffers.input().len();
        buffers.input_consume(unread);
        wipe(buffers);
    }
}

/// What was sent, and all of the input that nobody waits for: bodies go through there on their way out.
fn wipe(buffers: &mut dyn Buffers) {
    buffers.output().zeroize();
    buffers.input_append_buf().zeroize();
}
