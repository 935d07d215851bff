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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use ureq::unversioned::transport::LazyBuffers;

    use super::*;

    /// A connection to nowhere, which shows what is in its buffers when it is let go.
    #[derive(Debug)]
    struct Shown(LazyBuffers, Arc<Mutex<Vec<u8>>>);

    impl Transport for Shown {
        fn buffers(&mut self) -> &mut dyn Buffers {
            &mut self.0
        }

        fn transmit_output(&mut self, _: usize, _: NextTimeout) -> Result<(), Error> {
            Ok(())
        }

        fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
            Ok(true)
        }

        fn is_open(&mut self) -> bool {
            true
        }
    }

    impl Drop for Shown {
        fn drop(&mut self) {
            let mut left = self.1.lock().unwrap();
            left.extend(self.0.input());
            left.extend(&*self.0.input_append_buf());
            left.extend(&*self.0.output());
        }
    }

    #[test]
    fn what_was_sent_is_gone_then_and_what_came_with_the_connection() {
        let left = Arc::default();
        let shown = Shown(LazyBuffers::new(64, 64), Arc::clone(&left));
        let mut wiped = Wiped(shown);
        wiped.buffers().output()[..6].copy_from_slice(b"sesame");
        wiped.transmit_output(6, NextTimeout::default()).unwrap();
        assert_eq!(wiped.buffers().output(), [0; 64]);
        wiped.buffers().input_append_buf()[..12].copy_from_slice(b"sesamesesame");
        wiped.buffers().input_appended(12);
        wiped.buffers().input_consume(6);
        assert_eq!(wiped.buffers().input(), b"sesame");
        wiped.buffers().output()[..6].copy_from_slice(b"sesame");
        drop(wiped);
        let left = left.lock().unwrap();
        assert!(left.len() >= 64 && left.iter().all(|byte| *byte == 0));
    }
}
