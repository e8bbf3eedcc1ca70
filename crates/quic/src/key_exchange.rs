//! Post-quantum key exchange for rustls: X25519MLKEM768, over QUIC and TLS.
//!
//! A quantum computer that breaks X25519 can decrypt a recorded connection later. The hybrid group
//! of draft-ietf-tls-ecdhe-mlkem adds ML-KEM-768 (FIPS 203): its secret is safe as long as one of
//! the two is. Symmetric ciphers and the certificate's signature stay as they are; a
//! signature cannot be forged in retrospect.
//!
//! ring does X25519 and everything else, the crate `ml-kem` does ML-KEM: in plain Rust, on every
//! processor.

use ml_kem::kem::{Ciphertext, Decapsulate, FromSeed, Key, KeyExport};
use ml_kem::{B32, MlKem768, Seed, ml_kem_768};
use rustls::crypto::{
    ActiveKeyExchange, CompletedKeyExchange, CryptoProvider, SharedSecret, SupportedKxGroup, ring,
};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Length of ML-KEM-768's encapsulation key, bytes. It comes before X25519's public key.
const ENCAPSULATION_KEY: usize = 1184;
/// Length of ML-KEM-768's ciphertext, bytes. It comes before X25519's public key.
const CIPHERTEXT: usize = 1088;
/// Length of X25519's public key, bytes.
const X25519: usize = 32;

/// Which groups an end accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AcceptedGroups {
    /// X25519MLKEM768 first, and those of ring for peers that do not have it.
    #[default]
    Any,
    /// X25519MLKEM768 only.
    PostQuantum,
}

/// The cryptography of both ends: ring's, and X25519MLKEM768.
pub fn provider(groups: AcceptedGroups) -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    match groups {
        AcceptedGroups::Any => provider.kx_groups.insert(0, &Hybrid),
        AcceptedGroups::PostQuantum => provider.kx_groups = vec![&Hybrid],
    }
    Arc::new(provider)
}

/// X25519MLKEM768.
#[derive(Debug)]
struct Hybrid;

impl SupportedKxGroup for Hybrid {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let classical = ring::kx_group::X25519.start()?;
        let mut seed: Seed = random::<64>()?.into();
        let (secret, public) = MlKem768::from_seed(&seed);
        seed.zeroize();
        let mut share = public.to_bytes().to_vec();
        share.extend_from_slice(classical.pub_key());
        Ok(Box::new(Offer {
            classical,
            secret,
            share,
        }))
    }

    fn start_and_complete(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (post_quantum, classical) = split(share, ENCAPSULATION_KEY)?;
        let key = Key::<ml_kem_768::EncapsulationKey>::try_from(post_quantum).map_err(invalid)?;
        // FIPS 203 section 7.2 demands this check of the peer's key.
        let key = ml_kem_768::EncapsulationKey::new(&key).map_err(invalid)?;
        let classical = ring::kx_group::X25519.start_and_complete(classical)?;
        let mut randomness: B32 = random::<32>()?.into();
        let (ciphertext, mut secret) = key.encapsulate_deterministic(&randomness);
        randomness.zeroize();
        let mut answer = ciphertext.to_vec();
        answer.extend_from_slice(&classical.pub_key);
        let both = joined(&secret, &classical.secret);
        secret.zeroize();
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: answer,
            secret: both,
        })
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

/// What a client has offered.
struct Offer {
    classical: Box<dyn ActiveKeyExchange>,
    secret: ml_kem_768::DecapsulationKey,
    share: Vec<u8>,
}

impl ActiveKeyExchange for Offer {
    fn complete(self: Box<Self>, answer: &[u8]) -> Result<SharedSecret, Error> {
        let (ciphertext, classical) = split(answer, CIPHERTEXT)?;
        let ciphertext = Ciphertext::<MlKem768>::try_from(ciphertext).map_err(invalid)?;
        let classical = self.classical.complete(classical)?;
        let mut secret = self.secret.decapsulate(&ciphertext);
        let both = joined(&secret, &classical);
        secret.zeroize();
        Ok(both)
    }

    /// A server that does not know ML-KEM takes the key of X25519 alone, without another round
    /// trip.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.classical.group(), self.classical.pub_key()))
    }

    fn complete_hybrid_component(self: Box<Self>, answer: &[u8]) -> Result<SharedSecret, Error> {
        self.classical.complete(answer)
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

/// ML-KEM's secret comes first.
fn joined(post_quantum: &[u8], classical: &SharedSecret) -> SharedSecret {
    SharedSecret::from([post_quantum, classical.secret_bytes()].concat())
}

fn split(share: &[u8], at: usize) -> Result<(&[u8], &[u8]), Error> {
    if share.len() == at + X25519 {
        Ok(share.split_at(at))
    } else {
        Err(PeerMisbehaved::InvalidKeyShare.into())
    }
}

fn invalid<E>(_: E) -> Error {
    PeerMisbehaved::InvalidKeyShare.into()
}

fn random<const N: usize>() -> Result<[u8; N], Error> {
    let mut bytes = Zeroizing::new([0; N]);
    ring::default_provider().secure_random.fill(&mut *bytes)?;
    Ok(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_find_the_same_secret_and_no_other() {
        let offer = Hybrid.start().expect("randomness");
        assert_eq!(offer.pub_key().len(), ENCAPSULATION_KEY + X25519);
        let answer = Hybrid.start_and_complete(offer.pub_key()).expect("valid");
        assert_eq!(answer.pub_key.len(), CIPHERTEXT + X25519);
        let secret = offer.complete(&answer.pub_key).expect("valid");
        assert_eq!(secret.secret_bytes().len(), 64);
        assert_eq!(secret.secret_bytes(), answer.secret.secret_bytes());
        let other = Hybrid.start().expect("randomness");
        let secret = other.complete(&answer.pub_key).expect("well-formed");
        assert_ne!(secret.secret_bytes(), answer.secret.secret_bytes());
    }

    /// draft-ietf-tls-ecdhe-mlkem section 4.3: other implementations find the same secret only if
    /// both halves have their places.
    #[test]
    fn the_secret_of_ml_kem_comes_first() {
        let (post_quantum, public) = MlKem768::from_seed(&Seed::from([7; 64]));
        let classical = ring::kx_group::X25519.start().expect("randomness");
        let share = [&public.to_bytes()[..], classical.pub_key()].concat();
        let answer = Hybrid.start_and_complete(&share).expect("valid");
        let (ciphertext, public) = answer.pub_key.split_at(CIPHERTEXT);
        let ciphertext = Ciphertext::<MlKem768>::try_from(ciphertext).expect("its length");
        let first = post_quantum.decapsulate(&ciphertext);
        let second = classical.complete(public).expect("valid");
        let both = [&first[..], second.secret_bytes()].concat();
        assert_eq!(answer.secret.secret_bytes(), both);
    }

    #[test]
    fn a_server_without_ml_kem_takes_the_classical_half() {
        let offer = Hybrid.start().expect("randomness");
        let (group, share) = offer.hybrid_component().expect("hybrid");
        assert_eq!(group, NamedGroup::X25519);
        let answer = ring::kx_group::X25519.start_and_complete(share);
        let answer = answer.expect("valid");
        let secret = offer.complete_hybrid_component(&answer.pub_key);
        let secret = secret.expect("valid");
        assert_eq!(secret.secret_bytes(), answer.secret.secret_bytes());
    }

    #[test]
    fn shares_that_are_no_keys_are_refused() {
        let offer = || Hybrid.start().expect("randomness");
        let share = offer().pub_key().to_vec();
        for wrong in [&[][..], &share[1..], &share[..ENCAPSULATION_KEY]] {
            assert!(Hybrid.start_and_complete(wrong).is_err());
            assert!(offer().complete(wrong).is_err());
        }
        // Coefficients of 4095 are above the modulus 3329.
        let mut large = share.clone();
        large[..3].fill(0xff);
        assert!(Hybrid.start_and_complete(&large).is_err());
        // X25519's point of order 1 would give a secret that anybody knows.
        let mut zero = share;
        zero[ENCAPSULATION_KEY..].fill(0);
        assert!(Hybrid.start_and_complete(&zero).is_err());
    }
}
