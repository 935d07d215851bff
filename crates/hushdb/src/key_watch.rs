//! `KeyWatch`: asks the place of an attached database's key again, and says whether the database may stay open.
//!
//! ```text
//! it gives the key                          the database stays
//! it refuses the key: disabled, deleted     it is ended when that has been so for the grace
//! it is down, or accepts not who asks       borne for the tolerance; then it is ended
//! ```
//!
//! What must hold: nothing but the place's own word about the key ends an attachment before the tolerance; nothing is held while a
//! place is asked, neither a lock nor the database.

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{HeaderError, KdfBudget, KeyAttempt, KeyError, KeyProvider, UnverifiedHeader};
use hushdb_storage::clock;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A database whose key is to be asked for again, with its header.
pub(crate) type DueKey = (String, Arc<KeyWatch>, Box<[u8; 4096]>);

/// Who has databases.
pub(crate) trait Watched: Send + Sync + 'static {
    /// How often keys are asked for.
    fn recheck(&self) -> &Mutex<Recheck>;

    /// Databases whose keys are to be asked for now.
    fn due_keys(&self, times: &Recheck) -> Vec<DueKey>;

    /// What the place of a database's key said. Where it ends the attachment, the keys go at once, whoever reads it.
    fn heard_of_key(&self, name: &str, watch: &Arc<KeyWatch>, verdict: Verdict);
}

/// How often keys are asked for again, and what is borne.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recheck {
    /// Zero: never.
    pub(crate) every: Duration,
    /// How long a key may be refused.
    pub(crate) grace: Duration,
    /// How long nothing may be heard of a key.
    pub(crate) tolerance: Duration,
    /// Whether a thread asks.
    pub(crate) is_watched: bool,
}

impl Default for Recheck {
    fn default() -> Self {
        Self {
            every: Duration::ZERO,
            grace: Duration::from_secs(60),
            tolerance: Duration::from_secs(24 * 3600),
            is_watched: false,
        }
    }
}

/// The key of one attached database.
pub(crate) struct KeyWatch {
    provider: Arc<dyn KeyProvider>,
    heard: Mutex<Heard>,
}

#[derive(Clone, Copy)]
struct Heard {
    /// When it was asked last.
    asked: Instant,
    /// When it gave the key last.
    gave: Instant,
    /// Since when it refuses it.
    refuses: Option<Instant>,
    /// Whether it was said that it does not answer.
    was_told: bool,
}

/// What came of asking.
pub(crate) enum Verdict {
    Stays,
    /// And something is to be said.
    Told(String),
    /// For this reason.
    Ends(String),
}

impl KeyWatch {
    /// Of a key that opened the database just now; `None` for one that no place keeps: nobody could withdraw it; and where somebody types
    /// something for it: nobody may be there, and who is does something else.
    pub(crate) fn of(provider: Option<Arc<dyn KeyProvider>>) -> Option<Arc<Self>> {
        let is_watched = |it: &Arc<dyn KeyProvider>| it.keeps_blob() && !it.asks_a_person();
        let provider = provider.filter(is_watched)?;
        let now = clock::now();
        let heard = Heard {
            asked: now,
            gave: now,
            refuses: None,
            was_told: false,
        };
        Some(Arc::new(Self {
            provider,
            heard: Mutex::new(heard),
        }))
    }

    /// Whether it is time to ask.
    pub(crate) fn is_due(&self, times: &Recheck) -> bool {
        let heard = self.heard.lock();
        // Who refused is asked again soon: the grace is not prolonged by a long interval.
        let every = match heard.refuses {
            Some(_) => times.every.min(times.grace / 4),
            None => times.every,
        };
        heard.asked.elapsed() >= every
    }

    /// Asks for the key of the slots that a header has now.
    pub(crate) fn ask(&self, page: &[u8; 4096], times: &Recheck) -> Verdict {
        let mut attempt = KeyAttempt::new(&*self.provider, KdfBudget::default());
        let header = UnverifiedHeader::parse(page);
        let opened = header.and_then(|page| page.unlock(&CryptoProvider::aws_lc(), &mut attempt));
        self.judge(opened.map(|_| ()), times, clock::now())
    }

    fn judge(&self, answer: Result<(), HeaderError>, times: &Recheck, now: Instant) -> Verdict {
        let mut heard = self.heard.lock();
        heard.asked = now;
        let Err(error) = answer else {
            (heard.gave, heard.refuses, heard.was_told) = (now, None, false);
            return Verdict::Stays;
        };
        let is_word_on_key = matches!(
            error,
            HeaderError::Key(KeyError::Refused { .. }) | HeaderError::WrongKey
        );
        if is_word_on_key {
            let since = *heard.refuses.get_or_insert(now);
            return match now.duration_since(since) >= times.grace {
                true => Verdict::Ends(error.to_string()),
                false => heard.tell(&error),
            };
        }
        // A place that is silent takes nothing back of what it said.
        match now.duration_since(heard.gave) >= times.tolerance {
            true => Verdict::Ends(error.to_string()),
            false => heard.tell(&error),
        }
    }
}

impl Heard {
    fn tell(&mut self, error: &HeaderError) -> Verdict {
        match std::mem::replace(&mut self.was_told, true) {
            true => Verdict::Stays,
            false => Verdict::Told(error.to_string()),
        }
    }
}

/// Asks for the keys of an instance's databases as long as it is there and they are to be asked for.
pub(crate) fn watch<W: Watched>(instance: &Weak<W>) {
    loop {
        let times = {
            let Some(instance) = instance.upgrade() else {
                return;
            };
            let mut times = instance.recheck().lock();
            if times.every.is_zero() {
                times.is_watched = false;
                return;
            }
            *times
        };
        let due = instance.upgrade().map(|instance| instance.due_keys(&times));
        for (name, watch, page) in due.unwrap_or_default() {
            let verdict = watch.ask(&page, &times);
            if let Some(instance) = instance.upgrade() {
                instance.heard_of_key(&name, &watch, verdict);
            }
        }
        let pause = (times.every.min(times.grace) / 8)
            .clamp(Duration::from_millis(20), Duration::from_secs(1));
        std::thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushdb_keys::{KeyContext, KeyMaterial, ProviderKind};

    /// With or without a PIN that is typed.
    struct Place(bool);

    impl KeyProvider for Place {
        fn kind(&self) -> ProviderKind {
            ProviderKind(200)
        }
        fn establish(&self, _: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
            Err(KeyError::Empty)
        }
        fn recover(&self, _: &KeyContext, _: &[u8]) -> Result<KeyMaterial, KeyError> {
            Err(KeyError::Empty)
        }
        fn keeps_blob(&self) -> bool {
            true
        }
        fn asks_a_person(&self) -> bool {
            self.0
        }
    }

    #[test]
    fn what_somebody_has_to_type_for_is_not_asked_for_again() {
        assert!(KeyWatch::of(Some(Arc::new(Place(false)))).is_some());
        assert!(KeyWatch::of(Some(Arc::new(Place(true)))).is_none());
    }

    fn said() -> (String, String) {
        ("place".to_owned(), "why".to_owned())
    }

    fn refused() -> Result<(), HeaderError> {
        let (place, why) = said();
        Err(KeyError::Refused { place, why }.into())
    }

    fn down() -> Result<(), HeaderError> {
        let (place, why) = said();
        Err(KeyError::Unavailable { place, why }.into())
    }

    fn expired() -> Result<(), HeaderError> {
        let (place, why) = said();
        Err(KeyError::CredentialsRefused { place, why }.into())
    }

    fn outcome(verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Stays => "stays",
            Verdict::Told(_) => "told",
            Verdict::Ends(_) => "ends",
        }
    }

    /// What comes of answers at seconds since it was opened.
    fn life(answers: &[(u64, Result<(), HeaderError>)]) -> Vec<&'static str> {
        let watch = KeyWatch::of(Some(Arc::new(Place(false)))).unwrap();
        let opened = watch.heard.lock().gave;
        let times = Recheck::default();
        let at = |seconds| opened + Duration::from_secs(seconds);
        let judged = answers.iter();
        judged
            .map(|(seconds, answer)| outcome(watch.judge(answer.clone(), &times, at(*seconds))))
            .collect()
    }

    #[test]
    fn a_refusal_counts_after_the_grace_and_a_key_that_is_given_again_ends_it() {
        assert_eq!(
            life(&[(900, refused()), (930, refused()), (960, refused())]),
            ["told", "stays", "ends"]
        );
        let again = [
            (900, refused()),
            (930, Ok(())),
            (960, refused()),
            (1019, refused()),
        ];
        assert_eq!(life(&again), ["told", "stays", "told", "stays"]);
        assert_eq!(
            life(&[
                (900, Err(HeaderError::WrongKey)),
                (960, Err(HeaderError::WrongKey))
            ]),
            ["told", "ends"]
        );
    }

    #[test]
    fn silence_and_credentials_that_ended_are_borne_for_a_day() {
        const DAY: u64 = 24 * 3600;
        for answer in [down, expired] {
            let day = [(900, answer()), (DAY - 1, answer()), (DAY, answer())];
            assert_eq!(life(&day), ["told", "stays", "ends"]);
            let given = [(900, answer()), (901, Ok(())), (DAY + 900, answer())];
            assert_eq!(life(&given), ["told", "stays", "told"]);
        }
        // Silence neither confirms nor takes back a refusal.
        assert_eq!(
            life(&[
                (900, refused()),
                (930, down()),
                (965, down()),
                (970, refused())
            ]),
            ["told", "stays", "stays", "ends"]
        );
    }
}
