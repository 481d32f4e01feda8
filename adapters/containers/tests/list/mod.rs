//! What every engine of containers does alike, as one list: the tests of each engine run it over their own.

pub(crate) mod cancelled;
pub(crate) mod files;
pub(crate) mod interpreters;
pub(crate) mod limits;
pub(crate) mod lines;
pub(crate) mod saved;
pub(crate) mod variables;

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Executed, Machine, SandboxSpec};
use dormouse_core::testing::wait_for_async;
use dormouse_core::{GuestPath, Limits, LineRequest, Provider, Status};

/// The small image, without an interpreter, and the one with bash, Python and Node.
pub(crate) const BUSYBOX: &str = "dormouse-test/busybox:1";
pub(crate) const FULL: &str = "dormouse-test/full:1";

/// How long anything that is waited for may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A provider of a test's own, and its containers seen from outside. It has both images, the small one as the default.
pub(crate) trait Ground {
    /// The provider.
    fn provider(&self) -> &dyn Provider;

    /// The names of its containers that run.
    async fn running(&self) -> Vec<String>;

    /// The command lines of what runs in one, one a line.
    async fn processes(&self, container: &str) -> String;

    /// Ends one with all that runs in it.
    async fn kill(&self, container: &str);
}

/// A small sandbox.
pub(crate) fn spec() -> SandboxSpec {
    SandboxSpec { memory: 64 << 20, disk: 16 << 20, files: 1_000, processes: 64, ..SandboxSpec::default() }
}

pub(crate) fn line(text: &str) -> LineRequest {
    let mut request = LineRequest::new(text);
    request.context.limits = Limits { wall: Duration::from_secs(30), output: 64 << 10, ..Limits::default() };
    request
}

pub(crate) async fn run(machine: &mut Box<dyn Machine>, text: &str) -> Executed {
    machine.exec(line(text), Arc::new(NoPrograms)).await.unwrap()
}

/// The status of a line, and what it said.
pub(crate) async fn said(machine: &mut Box<dyn Machine>, text: &str) -> (i32, String, String) {
    let outcome = run(machine, text).await.outcome;
    assert!(matches!(outcome.status, Status::Exited(_)), "{text}: {:?}", outcome.status);
    (outcome.exit_code(), outcome.stdout.text.clone(), outcome.stderr.text.clone())
}

pub(crate) fn path(text: &str) -> GuestPath {
    GuestPath::parse(text).unwrap()
}

/// Waits until something of that name runs in a container.
pub(crate) async fn wait_for_process(ground: &impl Ground, container: &str, name: &str) {
    wait_for_async("the program runs", PATIENCE, async || {
        let all = ground.processes(container).await;
        if all.contains(name) { Ok(()) } else { Err(all) }
    })
    .await;
}

/// The tests of the list, over what `$ground(name of the test)` gives; none: it is not there, which has been said. `$end` is done
/// with it in the end.
macro_rules! tests {
    ($ground:path, $end:path) => {
        $crate::list::tests! { $ground, $end:
            lines::a_line_has_both_streams_its_status_and_what_earlier_lines_left,
            lines::bash_keeps_functions_and_arrays_too,
            lines::con_01_a_time_limit_ends_all_of_a_line_and_nothing_else,
            lines::dropping_a_call_or_a_job_kills_what_it_started,
            lines::con_04_output_is_bounded_counted_and_kept_apart,
            limits::con_01_a_fork_bomb_is_bounded_and_swept,
            limits::con_01_a_fork_bomb_that_is_left_running_wedges_nothing,
            limits::con_01_a_memory_bomb_is_named,
            limits::con_24_the_memory_limit_is_what_the_sandbox_is_told,
            limits::con_24_files_count_as_memory,
            limits::con_24_a_sandbox_whose_files_are_full_still_runs_commands,
            files::files_are_read_written_listed_and_removed,
            files::a_state_goes_into_another_container_and_to_another_provider,
            files::what_another_provider_has_elsewhere_is_not_lost_on_the_way,
            files::a_hole_does_not_pass_the_quota,
            files::files_are_renamed_and_removed_by_name,
            saved::con_30_every_change_is_in_the_next_save,
            saved::con_31_modes_links_and_fifos_are_as_they_were_after_sleep,
            saved::con_31_what_its_own_user_cannot_read_is_kept,
            saved::con_31_what_cannot_be_kept_is_told_by_the_next_command,
            saved::con_33_variables_that_are_lost_are_told_once_in_the_next_answer,
            saved::con_34_a_container_that_ends_under_a_command_is_an_error,
            saved::con_34_a_container_that_ends_while_an_interpreter_starts_is_told_as_that,
            interpreters::variables_last_from_call_to_call_and_beside_command_lines,
            interpreters::con_01_a_snippet_that_is_stopped_leaves_nothing_and_a_fresh_interpreter,
            variables::con_37_pickled_variables_go_into_the_next_container_and_what_is_missing_is_told_once,
            cancelled::con_20_a_snippet_that_is_given_up_ends_with_all_it_started,
            cancelled::con_20_a_variable_that_does_not_come_is_given_up,
            cancelled::con_20_a_call_that_is_given_up_while_it_is_started_does_not_begin_afterwards,
        }
    };
    ($ground:path, $end:path: $($module:ident::$name:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            let Some(ground) = $ground(stringify!($name)).await else { return };
            $crate::list::$module::$name(&ground).await;
            $end(ground).await;
        }
    )*};
}
pub(crate) use tests;
