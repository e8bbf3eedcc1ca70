//! Both ends prove to each other that they have the same words: SPAKE2 (RFC 9382) in one TLS
//! session.
//!
//! ```text
//! sender (TLS client)              receiver (TLS server)
//!   Code(pA)                  ->
//!                             <-   CodeAnswer(pB, proof of the receiver)
//!   CodeProof(of the sender)  ->
//!                             <-   Welcome
//! ```
//!
//! A proof authenticates keying material that is exported from the session (RFC 5705) under
//! SPAKE2's key. Somebody who ends the session and opens another one to the receiver can pass pA
//! and pB on, but the two sessions export different material. The receiver proves first: the sender
//! shows nothing to somebody who has other words. Each end forgets the words after one attempt.

use super::Code;
use crate::connection::framing;
use crate::error::Error;
use crate::token::Token;
use crate::wire::{Message, Reason, Refusal, VERSION};
use spake2::{Ed25519Group, Identity, Password, Spake2};
use whimbrel_quic::endpoint::{Connection, RecvStream, SendStream};

/// The label of the exported keying material.
const LABEL: &[u8] = b"EXPORTER-whimbrel-code";
/// What keys are derived for.
const CONTEXT: &str = "whimbrel 2026 three words";
const SENDER: &[u8] = b"sender";
const RECEIVER: &[u8] = b"receiver";

/// What both ends have after SPAKE2, if their words are the same.
struct Keys {
    key: [u8; 32],
    session: [u8; 32],
}

impl Keys {
    fn new(key: &[u8], connection: &Connection) -> Result<Self, Error> {
        let session = connection.export_keying_material(LABEL);
        let none = || Error::Protocol("the session has no keying material".to_owned());
        Ok(Self {
            key: blake3::derive_key(CONTEXT, key),
            session: session.ok_or_else(none)?,
        })
    }

    /// Compared in constant time.
    fn of(&self, purpose: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&self.session).update(purpose);
        hasher.finalize()
    }

    /// The token of the connections that follow.
    fn token(&self) -> Token {
        let mut token = [0; Token::LEN];
        token.copy_from_slice(&self.of(b"token").as_bytes()[..Token::LEN]);
        Token::from_bytes(token)
    }
}

/// What both ends say if the words differ.
fn wrong() -> Error {
    Error::Code(
        "the words are not the sender's, or somebody else tried to guess them. Nothing was sent; \
         the sender starts `whimbrel send` again for new words"
            .to_owned(),
    )
}

fn identities() -> (Identity, Identity) {
    (Identity::new(SENDER), Identity::new(RECEIVER))
}

/// The sender's part. Returns the token for the receiver, whose certificate the session has proved.
pub(crate) async fn prove(connection: &Connection, code: &Code) -> Result<Token, Error> {
    let password = Password::new(code.secret());
    let (sender, receiver) = identities();
    let (state, message) = Spake2::<Ed25519Group>::start_a(&password, &sender, &receiver);
    let version = VERSION;
    let first = Message::Code { version, message };
    let (mut send, mut receive) = framing::request(connection, &first).await?;
    let (message, proof) = match framing::read(&mut receive).await? {
        Message::CodeAnswer { message, proof } => (message, proof),
        other => return Err(unexpected(other)),
    };
    let key = state.finish(&message).map_err(|_| wrong())?;
    let keys = Keys::new(&key, connection)?;
    if keys.of(RECEIVER) != proof {
        let refusal = Refusal::new(Reason::Token, "the words are different");
        framing::write(&mut send, &Message::Refused(refusal))
            .await
            .ok();
        send.finish().ok();
        send.stopped().await.ok();
        return Err(wrong());
    }
    let proof = keys.of(SENDER);
    framing::write(&mut send, &Message::CodeProof { proof }).await?;
    match framing::read(&mut receive).await? {
        Message::Welcome { .. } => Ok(keys.token()),
        other => Err(unexpected(other)),
    }
}

/// The receiver's part, after the first message. Returns the token that the sender will show.
pub(crate) async fn check(
    connection: &Connection,
    code: Code,
    message: &[u8],
    send: &mut SendStream,
    receive: &mut RecvStream,
) -> Result<Token, Error> {
    let password = Password::new(code.secret());
    let (sender, receiver) = identities();
    let (state, answer) = Spake2::<Ed25519Group>::start_b(&password, &sender, &receiver);
    let key = state.finish(message).map_err(|_| wrong())?;
    let keys = Keys::new(&key, connection)?;
    let answer = Message::CodeAnswer {
        message: answer,
        proof: keys.of(RECEIVER),
    };
    framing::write(send, &answer).await?;
    match framing::read(receive).await? {
        Message::CodeProof { proof } if proof == keys.of(SENDER) => Ok(keys.token()),
        Message::CodeProof { .. } => Err(wrong()),
        other => Err(unexpected(other)),
    }
}

fn unexpected(message: Message) -> Error {
    match framing::unexpected(message) {
        Error::Refused(refusal) if refusal.reason == Reason::Token => wrong(),
        error => error,
    }
}
