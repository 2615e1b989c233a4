//! The client against nodes that answer as a test says.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::reply::Decoder;
use super::*;
use crate::backend::valkey::scripts::Script;
use bytes::BytesMut;

const SCRIPT: Script = Script { text: "return 7" };

/// What a node does with the words of a command: its reply in RESP, or nothing.
type Answer = Arc<dyn Fn(&[String]) -> Option<String> + Send + Sync>;

/// A node, with the commands that it has received. Its `CLUSTER SLOTS` says that the first node has
/// all slots, unless the test answers it.
struct Node {
    address: Address,
    received: Arc<Mutex<Vec<String>>>,
    /// Whether it reads what comes.
    reads: watch::Sender<bool>,
}

impl Node {
    fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

async fn listeners<const N: usize>() -> [(TcpListener, Address); N] {
    let bind = async |_| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, Address { host: "127.0.0.1".to_owned(), port })
    };
    join_all((0..N).map(bind)).await.try_into().unwrap()
}

fn start(
    (listener, address): (TcpListener, Address),
    owner: &Address,
    answer: impl Fn(&[String]) -> Option<String> + Send + Sync + 'static,
) -> Node {
    let (reads, received) = (watch::Sender::new(true), Arc::default());
    let node = Node { address, received: Arc::clone(&received), reads: reads.clone() };
    let slots = format!("*1\r\n{}", range(0, 16_383, owner.port));
    let answer: Answer = Arc::new(move |words: &[String]| match words[0].as_str() {
        "CLUSTER" => answer(words).filter(|told| told.starts_with('*')).or(Some(slots.clone())),
        "ASKING" => Some("+OK\r\n".to_owned()),
        _ => answer(words),
    });
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (answer, received) = (Arc::clone(&answer), Arc::clone(&received));
            tokio::spawn(talk(stream, answer, received, reads.subscribe()));
        }
    });
    node
}

/// Of the reply to `CLUSTER SLOTS`.
fn range(first: u16, last: u16, port: u16) -> String {
    format!("*3\r\n:{first}\r\n:{last}\r\n*2\r\n+127.0.0.1\r\n:{port}\r\n")
}

/// Until the connection ends; an empty reply ends it.
async fn talk(
    mut stream: TcpStream,
    answer: Answer,
    received: Arc<Mutex<Vec<String>>>,
    mut reads: watch::Receiver<bool>,
) {
    let (mut decoder, mut bytes) = (Decoder::default(), BytesMut::new());
    loop {
        reads.wait_for(|reads| *reads).await.unwrap();
        if !matches!(stream.read_buf(&mut bytes).await, Ok(1..)) {
            return;
        }
        while let Some(command) = decoder.next(&mut bytes).unwrap() {
            let words = command.strings().map(|word| String::from_utf8_lossy(&word).into_owned());
            let words: Vec<String> = words.collect();
            let reply = answer(&words);
            if words[0] != "CLUSTER" {
                received.lock().unwrap().push(words.join(" "));
            }
            match reply {
                Some(reply) if reply.is_empty() => return,
                Some(reply) => stream.write_all(reply.as_bytes()).await.unwrap(),
                None => {}
            }
        }
    }
}

async fn open(node: &Node) -> Arc<Client> {
    let (username, password, tls) = (None, None, None);
    let access = Access { username, password, tls, within: Duration::from_secs(10) };
    let (seeds, runtime) = (vec![node.address.clone()], Handle::current());
    Arc::new(Client::open(seeds, Arc::new(access), &runtime).await.unwrap())
}

fn get(key: &str) -> Command {
    Command::new("GET", Bytes::copy_from_slice(key.as_bytes()), [])
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[allow(clippy::unnecessary_wraps, reason = "it is an answer among others")]
fn echo(words: &[String]) -> Option<String> {
    Some(format!("+{}\r\n", words.last().unwrap()))
}

fn texts(replies: Vec<Reply>) -> Vec<String> {
    replies.into_iter().map(|reply| reply.text().unwrap()).collect()
}

/// True at the first call.
fn once() -> impl Fn() -> bool {
    let was = AtomicBool::new(false);
    move || !was.swap(true, Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_many_calls_gets_its_own_replies() {
    let [at] = listeners().await;
    let owner = at.1.clone();
    let client = open(&start(at, &owner, echo)).await;
    let call = async |n: usize| {
        let keys: Vec<_> = (0..=n % 7).map(|key| format!("{n}k{key}")).collect();
        let commands: Vec<_> = keys.iter().map(|key| get(key)).collect();
        assert_eq!(texts(client.call(&commands, later()).await.unwrap()), keys);
    };
    join_all((0..2_000).map(call)).await;
}

#[tokio::test]
async fn a_moved_slot_is_noted_and_a_moving_slot_is_not() {
    let [one, other] = listeners().await;
    let (owner, port) = (one.1.clone(), other.1.port);
    let (slot, is_moved) = (slot_of(b"a"), Arc::new(AtomicBool::new(false)));
    let ranges = [
        range(0, slot - 1, owner.port),
        range(slot, slot, port),
        range(slot + 1, 16_383, owner.port),
    ];
    let (told, moved) = (format!("*3\r\n{}", ranges.concat()), Arc::clone(&is_moved));
    let tell = move |words: &[String]| match words[0] == "CLUSTER" {
        true => moved.load(Ordering::SeqCst).then(|| told.clone()),
        false => echo(words),
    };
    let other = start(other, &owner, tell.clone());
    let one = start(one, &owner, move |words| match words.last().map(String::as_str) {
        Some("a") => {
            is_moved.store(true, Ordering::SeqCst);
            Some(format!("-MOVED {slot} 127.0.0.1:{port}\r\n"))
        }
        Some("b") => Some(format!("-ASK 1 127.0.0.1:{port}\r\n")),
        _ => tell(words),
    });
    let client = open(&one).await;
    for _ in 0..2 {
        let replies = client.call(&[get("c"), get("a"), get("b")], later()).await.unwrap();
        assert_eq!(texts(replies), ["c", "a", "b"]);
    }
    let of_a = |node: &Node| node.received().iter().filter(|it| *it == "GET a").count();
    assert_eq!((of_a(&one), of_a(&other)), (1, 2));
    let asked = other.received().windows(2).filter(|two| *two == ["ASKING", "GET b"]).count();
    assert_eq!(asked, 2);
    assert_eq!(client.masters(), {
        let mut both = vec![one.address.clone(), other.address.clone()];
        both.sort_unstable();
        both
    });
}

#[tokio::test]
async fn an_unknown_script_is_sent_with_its_text() {
    let [at] = listeners().await;
    let owner = at.1.clone();
    let node = start(at, &owner, |words| match words[0].as_str() {
        "EVALSHA" => Some("-NOSCRIPT No matching script.\r\n".to_owned()),
        _ => Some(":7\r\n".to_owned()),
    });
    let client = open(&node).await;
    let call = SCRIPT.call(vec![Bytes::from_static(b"k")], vec![Bytes::from_static(b"x")]);
    assert_eq!(client.call(&[call], later()).await.unwrap(), [Reply::Integer(7)]);
    assert_eq!(node.received().last().unwrap(), "EVAL return 7 1 k x");
}

/// A later command that was executed before a repeated command is repeated, too, and its first
/// reply is dropped.
#[tokio::test]
async fn commands_with_a_slot_are_executed_in_their_order() {
    for refusal in ["-TRYAGAIN later\r\n", "-CLUSTERDOWN later\r\n", ""] {
        let [at] = listeners().await;
        let (owner, is_first) = (at.1.clone(), once());
        let node = start(at, &owner, move |words| match words[0].as_str() {
            "DEL" if is_first() => Some(refusal.to_owned()),
            _ => echo(words),
        });
        let client = open(&node).await;
        let delete = Command::new("DEL", Bytes::from_static(b"{k}1"), []);
        let replies = client.call(&[delete, get("{k}2"), get("{k}3")], later()).await.unwrap();
        assert_eq!(texts(replies), ["{k}1", "{k}2", "{k}3"]);
        let last: Vec<_> = node.received().into_iter().rev().take(3).collect();
        assert_eq!(last, ["GET {k}3", "GET {k}2", "DEL {k}1"], "{refusal:?}");
    }
}

#[tokio::test]
async fn refusals_are_replies() {
    let [at] = listeners().await;
    let owner = at.1.clone();
    let client = open(&start(at, &owner, |_| Some("-OOM no memory\r\n".to_owned()))).await;
    let replies = client.call(&[get("a")], later()).await.unwrap();
    assert_eq!(replies, [Reply::Error("OOM no memory".to_owned())]);
}

/// Queued commands, and commands in the buffer of the connection, are not executed after their
/// deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_after_its_deadline() {
    let [at] = listeners().await;
    let owner = at.1.clone();
    let node = start(at, &owner, echo);
    let client = open(&node).await;
    assert_eq!(texts(client.call(&[get("first")], later()).await.unwrap()), ["first"]);
    node.reads.send_replace(false);
    // More than the buffers of the sockets take.
    let long = Bytes::from(vec![b'x'; 16 << 20]);
    let soon = Instant::now() + Duration::from_millis(300);
    let put = [Command::new("SET", Bytes::from_static(b"long"), [long.clone(), long])];
    let last = [get("last")];
    let (put, last) = tokio::join!(client.call(&put, soon), async {
        tokio::task::yield_now().await;
        client.call(&last, soon).await
    });
    assert!(matches!((put, last), (Err(Fault::Silent), Err(Fault::Silent))));
    node.reads.send_replace(true);
    assert_eq!(texts(client.call(&[get("next")], later()).await.unwrap()), ["next"]);
    assert_eq!(node.received(), ["GET first", "GET next"]);
}

#[tokio::test]
async fn a_node_that_sends_nonsense_is_left() {
    let [at] = listeners().await;
    let (owner, is_first) = (at.1.clone(), once());
    let answer = move |words: &[String]| match is_first() {
        true => Some("HTTP/1.1 400 Bad Request\r\n".to_owned()),
        false => echo(words),
    };
    let client = open(&start(at, &owner, answer)).await;
    assert_eq!(texts(client.call(&[get("a")], later()).await.unwrap()), ["a"]);
}
