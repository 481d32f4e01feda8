//! Mends of descriptors: those that `exec` opens are its command line's, and what is written arrives where it was sent.

use super::once;
use crate::guests::tree::Edit;

pub(super) const EDITS: &[Edit] = &[
    // A command line begins with descriptors of its own.
    once(
        "src/interpreter/mod.rs",
        r"        self.close_proc_sub_fds();
        self.clear_pending_fd_redirect_state();
        // Top-level timeouts drop",
        r"        self.close_proc_sub_fds();
        self.exec_fd_table.clear();
        self.exec_input_fds.clear();
        self.coproc_buffers.clear();
        self.exec_passthrough = Default::default();
        self.clear_pending_fd_redirect_state();
        // Top-level timeouts drop",
    ),
    // `exec &> f` is `exec > f 2>&1`.
    once(
        "src/interpreter/mod.rs",
        r"        for redirect in redirects {
            if let Some(err) = self.apply_persistent_redirect(redirect).await? {
                return Ok(err);
            }
        }
",
        r#"        let mut parts = Vec::with_capacity(redirects.len());
        for redirect in redirects {
            if redirect.kind != RedirectKind::OutputBoth {
                parts.push(redirect.clone());
                continue;
            }
            parts.push(Redirect {
                fd: Some(1),
                kind: RedirectKind::Output,
                ..redirect.clone()
            });
            parts.push(Redirect {
                fd: Some(2),
                kind: RedirectKind::DupOutput,
                target: Word::literal("1"),
                ..redirect.clone()
            });
        }
        for redirect in &parts {
            if let Some(err) = self.apply_persistent_redirect(redirect).await? {
                return Ok(err);
            }
        }
"#,
    ),
    // What jobs print at the last, and what an EXIT trap prints, goes where `exec` has sent the line. The farewell does not.
    once(
        "src/interpreter/mod.rs",
        r"            let (out, mut err) = jobs.lock().take_finished_output();
            err.append(&jobs.lock().farewell().into());
",
        r"            let (out, err) = jobs.lock().take_finished_output();
            let mut last = ExecResult {
                stdout: out,
                stderr: err,
                ..ExecResult::default()
            };
            let emitted = (
                self.output_stream_stdout_bytes,
                self.output_stream_stderr_bytes,
            );
            let routed =
                Box::pin(self.route_exec_output(&mut last, emitted, (0, 0), None)).await;
            self.exec_fd_table.clear();
            let out = std::mem::take(&mut last.stdout);
            let mut err = std::mem::take(&mut last.stderr);
            err.append(&jobs.lock().farewell().into());
",
    ),
    once(
        "src/interpreter/mod.rs",
        "                emission.and(result)\n",
        "                routed.and(emission).and(result)\n",
    ),
    once(
        "src/interpreter/mod.rs",
        r"                    if let Ok(trap_result) =
                        self.execute_command_sequence(&trap_script.commands).await
                    {
",
        r"                    let emitted = (
                        self.output_stream_stdout_bytes,
                        self.output_stream_stderr_bytes,
                    );
                    if let Ok(mut trap_result) =
                        self.execute_command_sequence(&trap_script.commands).await
                    {
                        if top_level {
                            let routing =
                                self.route_exec_output(&mut trap_result, emitted, (0, 0), None);
                            Box::pin(routing).await?;
                        }
",
    ),
    // So does what jobs print before; it is told also where the command beside them has told something of its own.
    once(
        "src/interpreter/mod.rs",
        r"            if top_level {
                // Background jobs that finished meanwhile report here, as
                // bash prints their output while the script continues.
                let (out, err) = self.take_finished_job_output();
                result.stdout.append(&out);
                result.stderr.append(&err);
            }
            self.reap_coprocs();
",
        "            self.reap_coprocs();\n",
    ),
    once(
        "src/interpreter/mod.rs",
        r"                Box::pin(self.flush_exec_passthrough(&mut result)).await?;
            }

            // Accumulate stdout with truncation
",
        r"                Box::pin(self.flush_exec_passthrough(&mut result)).await?;
                // Background jobs that finished meanwhile report here, as
                // bash prints their output while the script continues.
                Box::pin(self.deliver_finished_jobs(&mut result)).await?;
            }

            // Accumulate stdout with truncation
",
    ),
    once(
        "src/interpreter/mod.rs",
        r"    /// Output of background jobs that finished since the last report.
",
        r"    /// Tells what finished jobs have printed, and adds it to a result.
    async fn deliver_finished_jobs(&mut self, result: &mut ExecResult) -> Result<()> {
        let (stdout, stderr) = self.take_finished_job_output();
        if stdout.is_empty() && stderr.is_empty() {
            return Ok(());
        }
        let mut late = ExecResult {
            stdout,
            stderr,
            ..ExecResult::default()
        };
        let emitted = (
            self.output_stream_stdout_bytes,
            self.output_stream_stderr_bytes,
        );
        self.route_exec_output(&mut late, emitted, (0, 0), None).await?;
        if self.merge_stderr {
            Self::merge_stderr_into_stdout(&mut late);
        }
        let emit_before = self.output_emit_count;
        self.maybe_emit_output(&late.stdout, &late.stderr, emit_before)
            .await?;
        result.stdout.append(&late.stdout);
        result.stderr.append(&late.stderr);
        Ok(())
    }

    /// Output of background jobs that finished since the last report.
",
    ),
    once(
        "src/interpreter/mod.rs",
        r"        parent_stderr: &mut crate::StreamData,
    ) -> Result<()> {
        let text = describe_command(cmd);
",
        r"        parent_stderr: &mut crate::StreamData,
        route: bool,
    ) -> Result<()> {
        let text = describe_command(cmd);
",
    ),
    once(
        "src/interpreter/mod.rs",
        "self.spawn_in_background(&list.first, &mut stdout, &mut stderr)",
        "self.spawn_in_background(&list.first, &mut stdout, &mut stderr, route)",
    ),
    once(
        "src/interpreter/mod.rs",
        "self.spawn_in_background(cmd, &mut stdout, &mut stderr)",
        "self.spawn_in_background(cmd, &mut stdout, &mut stderr, route)",
    ),
    once(
        "src/interpreter/mod.rs",
        r"        if let Some(result) = finished {
            self.maybe_emit_output(",
        r"        if let Some(mut result) = finished {
            if route {
                let emitted = (
                    self.output_stream_stdout_bytes,
                    self.output_stream_stderr_bytes,
                );
                Box::pin(self.route_exec_output(&mut result, emitted, (0, 0), None)).await?;
            }
            self.maybe_emit_output(",
    ),
    // What a job writes to a saved standard output (`exec 3>&1 > log; echo a >&3 &`) goes there.
    once(
        "src/interpreter/mod.rs",
        r"                let (out, err) = jobs.lock().take_finished_output();
                match result {
                    Ok(mut r) => {
                        r.stdout.append(&out);",
        r"                let (out, err) = jobs.lock().take_finished_output();
                let passed = std::mem::take(&mut child.exec_passthrough);
                if let Some(output) = child.execution_output() {
                    let _ = output.stdout.write_bounded(passed.0.as_bytes()).await;
                    let _ = output.stderr.write_bounded(passed.1.as_bytes()).await;
                }
                match result {
                    Ok(mut r) => {
                        r.stdout.append(&out);",
    ),
    // What a compound command has written to a `>(...)` is read when the command has ended, as that of a simple one is.
    once(
        "src/interpreter/mod.rs",
        r"                    let proc_sub_fds = self.proc_subs.open_count();
                    // Own frame: keeps this arm's temporaries off the stack
                    // of every `$(...)`/function nesting level.
                    let result = self
                        .execute_compound_with_redirects(compound, redirects)
                        .await;
                    self.proc_subs.close_from(proc_sub_fds);
",
        r"                    let proc_subs = self.proc_sub_mark();
                    // Own frame: keeps this arm's temporaries off the stack
                    // of every `$(...)`/function nesting level.
                    let mut result = self
                        .execute_compound_with_redirects(compound, redirects)
                        .await;
                    if result.is_err() {
                        self.discard_deferred_proc_subs_from(proc_subs);
                    } else if let Err(error) =
                        Box::pin(self.run_deferred_proc_subs_from(proc_subs, &mut result)).await
                    {
                        result = Err(error);
                    }
",
    ),
    // It reads that alone, and what it prints is the command's.
    once(
        "src/interpreter/mod.rs",
        r"            self.enter_nofork_scope(&commands, true, 0);
            let mut run = Ok(());
            for cmd in &commands {
                let prev_stdin",
        r"            self.enter_nofork_scope(&commands, true, 0);
            let saved_callback = self.output_callback.take();
            let saved_pipe_in = self.pipe_in.take();
            let mut run = Ok(());
            for cmd in &commands {
                let prev_stdin",
    ),
    once(
        "src/interpreter/mod.rs",
        r"            self.restore_subshell_state(*snapshot);
            self.leave_nofork_scope();
            self.last_exit_code = last_exit_code;
            run?;
",
        r"            self.output_callback = saved_callback;
            self.pipe_in = saved_pipe_in;
            self.restore_subshell_state(*snapshot);
            self.leave_nofork_scope();
            self.last_exit_code = last_exit_code;
            run?;
",
    ),
    // For the rest of a line it would have to run beside it.
    once(
        "src/interpreter/redirection.rs",
        r"                    // WTF: `exec 3> >(cmd)` would need `cmd` to outlive the
                    // `exec` and read fd 3 as it is written; it runs right
                    // after the `exec` instead (no input), so later writes to
                    // fd 3 are dropped rather than failing on the closed fd.
                    FdTarget::DevNull
",
        r#"                    self.deferred_proc_subs.pop();
                    return Ok(Some(ExecResult::err(
                        self.diag(
                            "a process substitution cannot take the output of the rest of the line; \
                             redirect a group: { COMMANDS; } > >(COMMAND)\n",
                        ),
                        1,
                    )));
"#,
    ),
];
