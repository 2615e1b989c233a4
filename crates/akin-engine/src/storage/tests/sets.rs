use std::ops::ControlFlow;

use futures_util::FutureExt;

use super::*;

#[tokio::test]
async fn sets_are_visited_until_the_visitor_breaks() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 5).await;
    let visited = |most: usize| {
        store.visit_sets(NOW_MS, Vec::new(), move |visited, row| {
            visited.push((row.document.ordinal, row.document.document_id(), row.set()?));
            Ok(if visited.len() < most {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            })
        })
    };
    let expected = |count| -> Vec<_> {
        (0..count)
            .map(record)
            .map(|record| (record.ordinal, record.id, record.set.unwrap()))
            .collect()
    };
    assert_eq!(visited(100).await.unwrap(), expected(5));
    assert_eq!(visited(2).await.unwrap(), expected(2));
}

/// Each row blocks until the visit's future is dropped.
#[tokio::test]
async fn cancelled_visit_stops() {
    let home = Home::new();
    let store = home.open();
    fill(&store, 5).await;
    let (go_on, told) = std::sync::mpsc::channel::<()>();
    let (tell, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let mut visit = Box::pin(store.visit_sets(NOW_MS, (), move |(), row| {
        let _ = tell.send(row.document.ordinal);
        let _ = told.recv();
        Ok(ControlFlow::Continue(()))
    }));
    assert!(visit.as_mut().now_or_never().is_none());
    assert_eq!(seen.recv().await, Some(Ordinal::from(0)));
    drop(visit);
    drop(go_on);
    assert_eq!(seen.recv().await, None, "the second row is not visited");
}
