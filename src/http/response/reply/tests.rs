use axum::body::to_bytes;
use serde_json::{Value, json};

use super::*;
use crate::budget::{Budget, Purpose};

const SHARE: usize = 32 << 20;

fn reservation() -> Reservation {
    Budget::new(1 << 30).reservation(Purpose::Answers)
}

async fn whole(response: Response) -> Bytes {
    to_bytes(response.into_body(), usize::MAX).await.unwrap()
}

async fn numbers(count: u32) -> Response {
    let answered = stream("text/plain", reservation(), move |mut writer| async move {
        for number in 0..count {
            writer.value(&number)?;
            writer.text("\n")?;
            writer.send_if_full().await?;
        }
        Ok(writer)
    });
    answered.await.unwrap()
}

#[tokio::test]
async fn pieces_make_up_the_whole() {
    for count in [0, 1, 12_000, 14_000, 30_000, 100_000] {
        let expected: Vec<String> = (0..count).map(|number| format!("{number}\n")).collect();
        assert_eq!(whole(numbers(count).await).await, expected.concat(), "{count}");
    }
}

/// An answer with a list, and `rest` behind it.
async fn listed(elements: usize, rest: Value) -> Value {
    let answered = stream(JSON, reservation(), move |mut writer| async move {
        let memory = Arc::new(writer.another(0)?);
        let mut list = writer.list("list")?;
        for element in 0..elements {
            list.element(&json!({ "element": element }), &memory).await?;
        }
        list.end(&rest)?;
        Ok(writer)
    });
    serde_json::from_slice(&whole(answered.await.unwrap()).await).unwrap()
}

#[tokio::test]
async fn a_list_and_the_fields_behind_it_are_json_whatever_these_are() {
    for elements in [0, 1, 2, 10_000] {
        for rest in [json!({}), json!({"list_2": []}), json!({"a": {}, "b": [1, {"}": "{"}]})] {
            let mut found = listed(elements, rest.clone()).await;
            let list = found.as_object_mut().unwrap().remove("list").unwrap();
            assert_eq!(list.as_array().unwrap().len(), elements);
            assert_eq!(found, rest);
        }
    }
}

#[tokio::test]
async fn a_value_of_a_line_has_no_line_breaks() {
    let metadata: &serde_json::value::RawValue =
        serde_json::from_str("{\r\n\t\"a\": \"b\\nc\"\n}").unwrap();
    let mut writer = ReplyWriter::new(None).lines();
    writer.value(&metadata).unwrap();
    writer.text("\n").unwrap();
    assert_eq!(writer.piece.text, b"{  \t\"a\": \"b\\nc\" }\n");
}

#[tokio::test]
async fn early_failures_are_answers_and_late_failures_abort() {
    let failing = |bytes: usize| {
        stream("text/plain", reservation(), move |mut writer| async move {
            writer.text(&"x".repeat(bytes))?;
            writer.send_if_full().await?;
            Err(Broken::from(problem::internal()))
        })
    };
    assert_eq!(failing(1).await.err(), Some(problem::internal()));
    let panicking = stream("text/plain", reservation(), |mut writer| async move {
        writer.text(&"x".repeat(PIECE_BYTES))?;
        writer.send_if_full().await?;
        panic!("on purpose")
    });
    for response in [failing(PIECE_BYTES).await, panicking.await] {
        assert!(to_bytes(response.unwrap().into_body(), usize::MAX).await.is_err());
    }
}

#[tokio::test]
async fn unread_pieces_are_few_and_counted() {
    let budget = Budget::new(1 << 30);
    let (written, mut count) = mpsc::unbounded_channel();
    let (go_on, mut goes_on) = mpsc::unbounded_channel::<()>();
    let memory = budget.reservation(Purpose::Answers);
    let answered = stream("text/plain", memory, |mut writer| async move {
        for number in 0..100 {
            // The writer runs on another thread: without this it may write while the test counts.
            if number == PIECES_AHEAD + 1 {
                assert_eq!(goes_on.recv().await, None);
            }
            let memory = Arc::new(writer.another(PIECE_BYTES)?);
            writer.hold(&memory);
            writer.text(&"x".repeat(PIECE_BYTES))?;
            drop(memory);
            written.send(()).unwrap();
            writer.send_if_full().await?;
        }
        Ok(writer)
    });
    let mut body = answered.await.unwrap().into_body().into_data_stream();
    // Some pieces are ahead, and the last piece waits for its place.
    for _ in 0..=PIECES_AHEAD {
        count.recv().await.unwrap();
    }
    // The values, and the text of each.
    let held = 2 * (PIECES_AHEAD + 1) * PIECE_BYTES - USUAL_BYTES;
    assert_eq!(budget.reserved(Purpose::Answers), held);
    assert_eq!(body.next().await.unwrap().unwrap().len(), PIECE_BYTES);
    assert!(budget.reserved(Purpose::Answers) < held);
    drop((body, go_on));
    while count.recv().await.is_some() {}
    assert_eq!(budget.reserved(Purpose::Answers), 0, "the client has gone");
}

fn large(bytes: usize) -> (Arc<Budget>, Result<Response, Problem>) {
    let budget = Budget::new(8 * SHARE);
    let memory = budget.share(Purpose::Answers, 0, &budget.client_share(100, 0, 0));
    (budget, json(&"x".repeat(bytes), Some(Arc::new(memory))))
}

#[tokio::test]
async fn a_large_value_is_counted_in_pieces() {
    for bytes in [0, 10, 5_000, PIECE_BYTES - 2, PIECE_BYTES - 1, 1 << 20, SHARE - 2 * PIECE_BYTES]
    {
        let (budget, response) = large(bytes);
        let held = budget.reserved(Purpose::Answers);
        assert!(held <= bytes + PIECE_BYTES && held + USUAL_BYTES >= bytes, "{held}");
        let body = whole(response.unwrap()).await;
        assert_eq!(body.len(), bytes + 2);
        drop(body);
        assert_eq!(budget.reserved(Purpose::Answers), 0);
    }
}

#[tokio::test]
async fn an_answer_over_the_share_is_too_costly() {
    let (budget, response) = large(SHARE);
    assert_eq!(response.err().unwrap().into_response().status(), 422);
    assert_eq!(budget.reserved(Purpose::Answers), 0);
}

#[tokio::test]
async fn a_task_that_panics_breaks_its_answer_off() {
    let (pieces, sent) = mpsc::channel(2);
    tokio::spawn(async move {
        let _ = pieces.send(SentPiece::Piece(Bytes::from("{}\n"))).await;
        panic!("on purpose");
    });
    let pieces: Vec<_> = received(sent).into_data_stream().collect().await;
    assert_eq!(pieces.len(), 2);
    assert_eq!(pieces[0].as_ref().unwrap(), "{}\n");
    assert!(pieces[1].is_err(), "an answer that ends here would look whole");
}
