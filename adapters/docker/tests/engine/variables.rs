//! Python's variables in containers that are asked for them: what is not in the list for all engines.

use std::time::Duration;

use dormouse_core::sandbox::Include;
use dormouse_core::{Provider as _, Recovery};

use crate::list::said;
use crate::list::variables::{asked, eval, number};
use crate::support::Bench;

#[tokio::test(flavor = "multi_thread")]
async fn con_38_no_variable_keeps_a_container_from_being_saved() {
    let Some(bench) = Bench::new("variables_hostile").await else { return };
    let mut machine = bench.provider.machine(&asked(), None).await.unwrap();
    let code = "import os, time\nx = 1\nopen('/workspace/f', 'w').write('1')\nclass Bad:\n def __reduce__(self):\n  while True:\n   \
                try: bytearray(1 << 30); os.fork(); time.sleep(1)\n   except BaseException: pass\nbad = Bad()";
    eval(&mut machine, code).await;
    let begin = std::time::Instant::now();
    let state = machine.snapshot(Include::Both).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    assert!(state.holds().is_empty());
    assert_eq!(number(&mut machine, "x").await, Some(1), "the interpreter goes on");
    let mut other = bench.provider.machine(&asked(), Some(state)).await.unwrap();
    assert_eq!(said(&mut other, "cat f").await.1, "1");
    assert_eq!(eval(&mut other, "'x' in globals()").await.recovery, Some(Recovery::Fresh));
    drop((machine, other));
    bench.end().await;
}
