;; A program that sends one request, prints the status of its answer, and its body; or `error` and the number of the error's code, or
;; `bad` where the request could not be made. What stands between `@` is put in by the test.
(module
  (import "wasi:http/types@0.2.0" "[constructor]fields" (func $fields (result i32)))
  (import "wasi:http/types@0.2.0" "[method]fields.append" (func $append (param i32 i32 i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[constructor]outgoing-request" (func $request (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-method" (func $method (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-scheme" (func $scheme (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-authority" (func $authority (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.set-path-with-query" (func $path (param i32 i32 i32 i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-request.body" (func $body (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]outgoing-body.write" (func $write (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[static]outgoing-body.finish" (func $finish (param i32 i32 i32 i32)))
  (import "wasi:http/types@0.2.0" "[constructor]request-options" (func $options (result i32)))
  (import "wasi:http/types@0.2.0" "[method]request-options.set-first-byte-timeout" (func $first (param i32 i32 i64) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]request-options.set-between-bytes-timeout" (func $between (param i32 i32 i64) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]future-incoming-response.subscribe" (func $subscribe (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]future-incoming-response.get" (func $get (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]incoming-response.status" (func $status (param i32) (result i32)))
  (import "wasi:http/types@0.2.0" "[method]incoming-response.consume" (func $consume (param i32 i32)))
  (import "wasi:http/types@0.2.0" "[method]incoming-body.stream" (func $stream (param i32 i32)))
  (import "wasi:http/types@0.2.0" "http-error-code" (func $code (param i32 i32)))
  (import "wasi:http/outgoing-handler@0.2.0" "handle" (func $handle (param i32 i32 i32 i32)))
  (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))
  (import "wasi:io/poll@0.2.0" "[resource-drop]pollable" (func $unsubscribe (param i32)))
  (import "wasi:io/streams@0.2.0" "[method]input-stream.blocking-read" (func $read (param i32 i64 i32)))
  (import "wasi:io/streams@0.2.0" "[method]output-stream.blocking-write-and-flush" (func $send (param i32 i32 i32 i32)))
  (import "wasi:io/streams@0.2.0" "[resource-drop]output-stream" (func $close (param i32)))
  (import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))
  (import "wasi:cli/environment@0.2.0" "get-environment" (func $environment (param i32)))

  (memory (export "memory") 32)
  (global $free (mut i32) (i32.const 1048576))
  (data (i32.const 0) "@method@")
  (data (i32.const 1024) "@authority@")
  (data (i32.const 16384) "@path@")
  (data (i32.const 2048) "@header@")
  (data (i32.const 2560) "@value@")
  (data (i32.const 3072) "error bad status \n0123456789")
  ;; Where functions leave what they come to: 4096. What is sent: from 65536.

  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (local.get $at))

  (func $print (param i32 i32)
    (call $send (call $stdout) (local.get 0) (local.get 1) (i32.const 8192)))

  (func $digit (param i32)
    (call $print (i32.add (i32.const 3090) (i32.rem_u (local.get 0) (i32.const 10))) (i32.const 1)))

  (func $number (param i32)
    (call $digit (i32.div_u (local.get 0) (i32.const 100)))
    (call $digit (i32.div_u (local.get 0) (i32.const 10)))
    (call $digit (local.get 0))
    (call $print (i32.const 3089) (i32.const 1)))

  (func $failed (param i32)
    (call $print (i32.const 3072) (i32.const 6))
    (call $number (local.get 0)))

  (func (export "wasi:cli/run@0.2.0#run") (result i32)
    (local $fields i32) (local $request i32) (local $body i32) (local $stream i32) (local $options i32) (local $future i32)
    (local $poll i32) (local $left i32)
    (local.set $fields (call $fields))
    (if (i32.const @header_length@) (then
      (if (i32.const @from_environment@)
        (then
          (call $environment (i32.const 4096))
          (call $append (local.get $fields) (i32.const 2048) (i32.const @header_length@)
            (i32.load offset=8 (i32.load (i32.const 4096))) (i32.load offset=12 (i32.load (i32.const 4096))) (i32.const 4096)))
        (else
          (call $append (local.get $fields) (i32.const 2048) (i32.const @header_length@)
            (i32.const 2560) (i32.const @value_length@) (i32.const 4096))))))
    (local.set $request (call $request (local.get $fields)))
    (if (i32.or
          (i32.or
            (call $method (local.get $request) (i32.const 9) (i32.const 0) (i32.const @method_length@))
            (call $scheme (local.get $request) (i32.const 1) (i32.const @scheme@) (i32.const 0) (i32.const 0)))
          (i32.or
            (call $authority (local.get $request) (i32.const 1) (i32.const 1024) (i32.const @authority_length@))
            (call $path (local.get $request) (i32.const 1) (i32.const 16384) (i32.const @path_length@))))
      (then (call $print (i32.const 3078) (i32.const 3)) (return (i32.const 0))))
    (local.set $body (i32.const -1))
    (if (i32.const @pieces@) (then
      (call $body (local.get $request) (i32.const 4096))
      (local.set $body (i32.load offset=4 (i32.const 4096)))))
    (local.set $options (call $options))
    (if (i64.gt_u (i64.const @first@) (i64.const 0)) (then
      (drop (call $first (local.get $options) (i32.const 1) (i64.const @first@)))))
    (if (i64.gt_u (i64.const @between@) (i64.const 0)) (then
      (drop (call $between (local.get $options) (i32.const 1) (i64.const @between@)))))
    (call $handle (local.get $request) (i32.const 1) (local.get $options) (i32.const 4096))
    (if (i32.load8_u (i32.const 4096)) (then
      (call $failed (i32.load8_u offset=8 (i32.const 4096))) (return (i32.const 0))))
    (local.set $future (i32.load offset=8 (i32.const 4096)))
    (if (i32.const @pieces@) (then
      (call $write (local.get $body) (i32.const 4096))
      (local.set $stream (i32.load offset=4 (i32.const 4096)))
      (local.set $left (i32.const @pieces@))
      (block $over (loop $more
        (call $send (local.get $stream) (i32.const 65536) (i32.const 4096) (i32.const 4096))
        (br_if $over (i32.load8_u (i32.const 4096)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br_if $more (local.get $left))))
      (call $close (local.get $stream))
      (call $finish (local.get $body) (i32.const 0) (i32.const 0) (i32.const 4096))))
    (local.set $poll (call $subscribe (local.get $future)))
    (call $block (local.get $poll))
    (call $unsubscribe (local.get $poll))
    (call $get (local.get $future) (i32.const 4096))
    (if (i32.load8_u offset=16 (i32.const 4096)) (then
      (call $failed (i32.load8_u offset=24 (i32.const 4096))) (return (i32.const 0))))
    (local.set $request (i32.load offset=24 (i32.const 4096)))
    (call $print (i32.const 3082) (i32.const 7))
    (call $number (call $status (local.get $request)))
    (call $consume (local.get $request) (i32.const 4096))
    (call $stream (i32.load offset=4 (i32.const 4096)) (i32.const 4096))
    (local.set $stream (i32.load offset=4 (i32.const 4096)))
    (loop $more
      (global.set $free (i32.const 1048576))
      (call $read (local.get $stream) (i64.const 4096) (i32.const 4096))
      (if (i32.load8_u (i32.const 4096))
        (then
          (if (i32.eqz (i32.load8_u offset=4 (i32.const 4096))) (then
            (call $code (i32.load offset=8 (i32.const 4096)) (i32.const 5120))
            (call $failed (i32.load8_u offset=8 (i32.const 5120))))))
        (else
          (call $print (i32.load offset=4 (i32.const 4096)) (i32.load offset=8 (i32.const 4096)))
          (br $more))))
    (i32.const 0)))
