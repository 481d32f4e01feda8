"""What calls answer. Made from how the tools are listed: `BLESS=1 cargo test --test structure sdk`.

The package itself does without this module; it is for the types of programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired


class CapabilitiesUnavailable(TypedDict):
    provider: str
    """Its name."""
    reason: str
    """Why it is unavailable."""


class CapabilitiesAbilities(TypedDict):
    provider: str
    """Its name."""
    wall: str
    """What keeps code in: webassembly, container or none."""
    languages: List[str]
    """Languages that it can run."""
    interpreters: str
    """Where their interpreters come from: installation or image."""
    variables: str
    """saved with the sandbox, or awake: lost when it is stopped, restored or forked."""
    include: List[str]
    """What checkpoints can be asked to hold."""
    images: str
    """What an image is: a container, a checkpoint that the operator offers, or none."""
    network: str
    """The widest network access that a sandbox can have."""
    memory: str
    """What memory_bytes bounds: each interpreter, or the sandbox as a whole."""
    limits: List[str]
    """Limits that hold, by the names of their arguments."""
    snippets: bool
    """Whether it runs snippets without a sandbox."""
    wasi_programs: bool
    """Whether it runs programs of WASI by themselves."""
    system_programs: bool
    """Whether command lines can run programs of an operating system."""
    fixed: bool
    """Whether random numbers and the clock can be fixed, and code that is made from text refused."""
    warm_pool: bool
    """Whether sandboxes can be kept ready."""


class CapabilitiesLanguages(TypedDict):
    language: str
    """What to give as `language`."""
    interpreter: str
    """The interpreter and its version."""
    available: bool
    """Whether it can run now."""
    note: str
    """What is missing or particular; may be empty."""


class CapabilitiesDefaults(TypedDict):
    timeout_ms: int
    """Wall-clock time in milliseconds."""
    memory_bytes: int
    """Memory in bytes."""
    output_bytes: int
    """Bytes kept of each output stream."""
    fuel: int
    """Executed operations; 0: not counted."""


class CapabilitiesMounts(TypedDict):
    target: str
    """Where a snippet sees it."""
    writable: bool
    """Whether writes are granted to a call that asks with `allow_writes`."""


class CapabilitiesSkills(TypedDict):
    name: str
    """Its name."""
    path: str
    """Its folder in the sandbox; read SKILL.md there before using it."""
    description: str
    """What it is for, as its SKILL.md begins."""


class CapabilitiesNetworks(TypedDict):
    name: str
    """Its name."""
    allows: List[str]
    """What it allows. Lines of `network_allow` are written like these."""
    secrets: List[str]
    """Secrets of which sandboxes get placeholders, in environment variables of these names."""


class CapabilitiesPackages(TypedDict):
    available: bool
    """Whether there are any."""
    managers: List[str]
    """Whose there are."""
    allow: List[str]
    """Names that the operator allows, dependencies included; the first 100."""
    allowed: int
    """How many such names there are."""
    packages: int
    """Packages that one call may install, dependencies included."""
    bytes: int
    """Bytes that they may unpack to."""


class CapabilitiesGit(TypedDict):
    available: bool
    """Whether any can be reached."""
    allow: List[str]
    """What the operator allows; the first 100."""
    allowed: int
    """How many such addresses there are."""


CapabilitiesModels = TypedDict(
    "CapabilitiesModels",
    {
        # Whether there is one.
        "available": "bool",
        # Whose it is: operator, client (it samples for the server), or none.
        "from": "str",
        # The operator's model; empty when there is none.
        "model": "str",
        # Calls of it that one call of a tool may make.
        "max_calls": "int",
        # Tokens that one call of a tool may use.
        "max_tokens": "int",
    },
)


class CapabilitiesQuotas(TypedDict):
    sandboxes: int
    """Sandboxes of one owner."""
    sandboxes_in_all: int
    """Sandboxes of all owners."""
    checkpoints: int
    """Checkpoints of one sandbox."""
    saved_bytes: NotRequired[int]
    """What the saved states of one owner may hold."""
    saved_bytes_in_all: NotRequired[int]
    """What all saved states may take of the disk."""
    awake_bytes: NotRequired[int]
    """Memory of one owner's sandboxes that are awake."""
    awake_bytes_in_all: NotRequired[int]
    """Memory of all sandboxes that are awake."""
    runs_memory_bytes: NotRequired[int]
    """Memory that all runs together may add to what they begin with."""


class CapabilitiesTimes(TypedDict):
    idle_timeout_ms: int
    """Without calls for this long a sandbox is stopped, unless it asks otherwise."""
    idle_timeout_max_ms: int
    """The most that a sandbox can request."""
    retention_ms: int
    """Stopped for this long it is destroyed, unless it asks otherwise."""
    retention_max_ms: int
    """The most that a sandbox can request."""
    unused_ms: int
    """One that was never called is destroyed after this."""


class CapabilitiesError(TypedDict):
    code: str
    """Stable name, such as limit_time, limit_memory, args_invalid, busy."""
    message: str
    """What happened, with the limit and the value."""
    hint: str
    """What to do about it."""


class CapabilitiesAnswer(TypedDict):
    version: str
    """Version of Dormouse."""
    providers: List[str]
    """Who runs sandboxes; the first runs snippets without one."""
    unavailable: List[CapabilitiesUnavailable]
    """Providers that are unavailable at the moment."""
    abilities: List[CapabilitiesAbilities]
    """What each of the providers can do."""
    images: List[str]
    """Images of containers, the default first; then those of sandboxes without one."""
    languages: List[CapabilitiesLanguages]
    """Languages, sorted by name."""
    defaults: CapabilitiesDefaults
    """Limits of a call that asks for none."""
    ceilings: CapabilitiesDefaults
    """The most a call can be granted by the operator; a tool may take less."""
    code_bytes: int
    """Largest source text in bytes."""
    mounts: List[CapabilitiesMounts]
    """Folders of the host that every run sees."""
    skills: List[CapabilitiesSkills]
    """Skills that every new sandbox sees, read-only."""
    allow_writes: bool
    """Whether writes to mounted folders can be granted."""
    allow_eval: bool
    """Whether snippets may make code from text."""
    network: str
    """Network access that can be granted: `none`, or `rules` (what `networks` lists)."""
    networks: List[CapabilitiesNetworks]
    """Networks that can be asked for; `default` is what `allow_network` means."""
    packages: CapabilitiesPackages
    """Packages that sandboxes can have installed by the host."""
    git: CapabilitiesGit
    """Remote git repositories. `git` itself is always there for repositories of the sandbox's own."""
    models: CapabilitiesModels
    """The language model that snippets and sub-agents can ask."""
    quotas: Union[CapabilitiesQuotas, None]
    """Quotas of persistent sandboxes; null if there are none. A size that is not listed is unlimited."""
    times: Union[CapabilitiesTimes, None]
    """How long persistent sandboxes are kept when nobody calls them; null if there are none."""
    confinement: str
    """How much of what it does not need the kernel refuses the server's own process: `full`, `partial` or `off`."""
    callbacks: List[str]
    """Functions of the host that a snippet can call."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class ListSandboxesLimits(TypedDict):
    memory_bytes: int
    """Memory of each interpreter; of a container, of all its programs and files together."""
    disk_bytes: int
    """Bytes of all its files."""
    files: NotRequired[int]
    """Files, folders and links. Not of a pod: its cluster bounds them."""
    cpu_millis: int
    """Thousandths of a core."""
    processes: NotRequired[int]
    """Processes at one time. Not of a pod: its cluster bounds them."""


class ListSandboxesNetwork(TypedDict):
    profile: str
    """The operator's network that it asked for."""
    allow: NotRequired[List[str]]
    """What of it was asked for; only if not all of it was."""


class ListSandboxesMounts(TypedDict):
    target: str
    """Where the sandbox sees it."""
    writable: bool
    """Whether the sandbox may write there."""


class ListSandboxesWithdrawn(TypedDict):
    grant: str
    """mount, skill, writes, memory, image, provider or network."""
    reason: str
    """What is different now."""
    target: NotRequired[str]
    """Which mount or skill."""


class ListSandboxes(TypedDict):
    id: str
    """Its id."""
    name: str
    """Its name; means the same as the id in every tool."""
    session_key: NotRequired[str]
    """The caller's own key, if it was made with one."""
    phase: str
    """creating, running, stopped or error."""
    status: str
    """provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error."""
    stop_reason: NotRequired[str]
    """idle, user or quota; only when it is stopped."""
    stopped_at: NotRequired[str]
    """When it was stopped, UTC."""
    created_at: str
    """When it was made, UTC."""
    last_activity_at: str
    """When it was last called, UTC."""
    awake: List[str]
    """Languages whose interpreters this server has in memory."""
    persistence: str
    """session: variables and files are kept (of a container only Python's variables, as far as they can be pickled);
    files: only files are kept, variables as long as it is awake."""
    durability: NotRequired[str]
    """call: each call is saved before it is answered. Else it is a moment later."""
    provider: str
    """Who runs it: wasm, docker or kubernetes."""
    fallback_from: NotRequired[str]
    """The provider that was asked for and could not be had; only when there is one."""
    image: NotRequired[Any]
    """The image of its container, null for the operator's default; else the one that it was made from, if any."""
    limits: ListSandboxesLimits
    """What it may use."""
    network: NotRequired[ListSandboxesNetwork]
    """What it may reach; only if it has a network."""
    idle_timeout_ms: int
    """Without calls for this long it is stopped."""
    retention_ms: int
    """Stopped for this long it is destroyed."""
    mounts: NotRequired[List[ListSandboxesMounts]]
    """Folders of the host that it sees now, skills among them; not in lists."""
    withdrawn: NotRequired[List[ListSandboxesWithdrawn]]
    """Grants that the sandbox was created with and that the operator does not give now; they return when they are given
    again."""


class ListAnswer(TypedDict):
    sandboxes: List[ListSandboxes]
    """The page."""
    next_cursor: NotRequired[str]
    """Where the next page begins; only when there is one."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class RunsNetworkDenied(TypedDict):
    host: str
    """The host."""
    port: int
    """Its port."""
    reason: str
    """What was lacking: host, port, protocol, method, path, address, secret, or a budget."""
    rule: NotRequired[str]
    """The operator's rule that came nearest; only if one did."""


class RunsNetwork(TypedDict):
    requests: int
    """Requests, refused ones too."""
    bytes_in: int
    """Bytes of bodies that came back."""
    bytes_out: int
    """Bytes of bodies that were sent."""
    denied: NotRequired[List[RunsNetworkDenied]]
    """What was refused, each once, at most 16: what to ask the operator for. Only if something was."""
    secrets_masked: int
    """How often the value of a secret was masked in an answer."""


class RunsCalls(TypedDict):
    number: int
    """Its number in the program."""
    tool: str
    """The tool, `SERVER.TOOL`; or a request that the program has sent, the first since it waited last."""
    state: str
    """`begun`, `asking`, `answered`, `done`, `unknown` (it was under way when its process ended), `refused` (it was not
    made) or `cancelled`."""
    arguments: str
    """The beginning of its arguments, as JSON. Untrusted."""
    answer: NotRequired[str]
    """The beginning of its answer, as JSON. Untrusted."""
    failure: NotRequired[str]
    """What the program was told; only when it failed. Untrusted."""
    asked: NotRequired[str]
    """Why somebody is asked, or was."""


class RunsRuns(TypedDict):
    run_id: str
    """Its id."""
    sandbox_id: str
    """The sandbox that its program is in."""
    language: str
    """The program's language."""
    code: str
    """The beginning of the program, at most 200 characters."""
    state: str
    """`running`, `waiting` (for tools or time), `asking` (somebody is to allow a call), `done`, `failed` or
    `cancelled`."""
    started_at: str
    """When it was started."""
    changed_at: str
    """When its state last changed."""
    due_at: NotRequired[str]
    """When it goes on by itself; only when it waits for time."""
    result: NotRequired[Any]
    """The program's value, as sandbox_eval shows it; only when it has one."""
    exception: NotRequired[Any]
    """What the program raised, as sandbox_eval shows it; only when it did. Untrusted text."""
    exit_code: NotRequired[int]
    """Exit status; only when it has ended."""
    cause: NotRequired[Union[CapabilitiesError, None]]
    """What ended it; only when it did not end by itself."""
    stdout: str
    """The end of its standard output. Untrusted: written by the program."""
    stderr: str
    """The end of its standard error. Untrusted: written by the program."""
    waits: int
    """How often it has waited."""
    network: NotRequired[RunsNetwork]
    """What it has done with the network so far; only if it has one."""
    calls: NotRequired[List[RunsCalls]]
    """Its last 50 calls of tools, in their order. Not in a list."""


class RunsUnsaved(TypedDict):
    code: str
    """Stable name."""
    message: str
    """What keeps it."""
    hint: str
    """What to do."""


class RunsAnswer(TypedDict):
    run_id: NotRequired[str]
    """Its id."""
    sandbox_id: NotRequired[str]
    """The sandbox that its program is in."""
    language: NotRequired[str]
    """The program's language."""
    code: NotRequired[str]
    """The beginning of the program, at most 200 characters."""
    state: NotRequired[str]
    """`running`, `waiting` (for tools or time), `asking` (somebody is to allow a call), `done`, `failed` or
    `cancelled`."""
    started_at: NotRequired[str]
    """When it was started."""
    changed_at: NotRequired[str]
    """When its state last changed."""
    due_at: NotRequired[str]
    """When it goes on by itself; only when it waits for time."""
    result: NotRequired[Any]
    """The program's value, as sandbox_eval shows it; only when it has one."""
    exception: NotRequired[Any]
    """What the program raised, as sandbox_eval shows it; only when it did. Untrusted text."""
    exit_code: NotRequired[int]
    """Exit status; only when it has ended."""
    cause: NotRequired[Union[CapabilitiesError, None]]
    """What ended it; only when it did not end by itself."""
    stdout: NotRequired[str]
    """The end of its standard output. Untrusted: written by the program."""
    stderr: NotRequired[str]
    """The end of its standard error. Untrusted: written by the program."""
    waits: NotRequired[int]
    """How often it has waited."""
    network: NotRequired[RunsNetwork]
    """What it has done with the network so far; only if it has one."""
    calls: NotRequired[List[RunsCalls]]
    """Its last 50 calls of tools, in their order. Not in a list."""
    runs: NotRequired[List[RunsRuns]]
    """Those that ask first, then others that go on, then those that have ended, the newest of each first; at most 100."""
    total: NotRequired[int]
    """How many there are, at most 2000; only in a list."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class RunLintFailures(TypedDict):
    name: str
    """The test, or what was checked."""
    file: Any
    """Where it is."""
    line: Any
    """The line, from 1."""
    message: str
    """What is wrong."""


class RunLintAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    passed: bool
    """Whether the check passed. The call is an error if not."""
    summary: str
    """The result in one sentence."""
    tool: str
    """Who checked."""
    files: int
    """Files that were checked."""
    problems: int
    """What was found, shown or not."""
    failures: List[RunLintFailures]
    """The first problems."""
    stdout: str
    """Standard output of the run. Untrusted text."""
    stderr: str
    """Standard error of the run. Untrusted text."""
    duration_ms: float
    """Wall-clock time in milliseconds."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class RunTestsTests(TypedDict):
    total: int
    """All of them."""
    passed: int
    """Those that passed."""
    failed: int
    """Those whose assertions failed."""
    errors: int
    """Tests that ended in another way, such as by an exception."""
    skipped: int
    """Those that were skipped."""


class RunTestsAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    passed: bool
    """Whether the check passed. The call is an error if not."""
    summary: str
    """The result in one sentence."""
    tool: str
    """Who checked."""
    tests: NotRequired[RunTestsTests]
    """How many tests there were; left out when the runner only has an exit status."""
    failures: List[RunLintFailures]
    """The first problems."""
    stdout: str
    """Standard output of the run. Untrusted text."""
    stderr: str
    """Standard error of the run. Untrusted text."""
    duration_ms: float
    """Wall-clock time in milliseconds."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class CheckpointLost(TypedDict):
    pass


class CheckpointOlderMemory(TypedDict):
    language: str
    """Its language."""
    guest: str
    """SHA-256 of the guest that it belongs to."""
    bytes: int
    """Bytes of its pages."""


class CheckpointAnswer(TypedDict):
    id: str
    """Its id, for sandbox_restore and sandbox_fork."""
    sandbox_id: str
    """The sandbox whose state it is."""
    name: NotRequired[str]
    """Its name, if it has one."""
    note: NotRequired[str]
    """Its note, if there is one. Untrusted text."""
    include: str
    """both, memory or files."""
    created_at: str
    """When it was made, UTC."""
    size_bytes: int
    """Bytes of the state, shared ones included."""
    closed_files: List[str]
    """Files that were open and are no part of it; none on the provider wasm."""
    lost: NotRequired[CheckpointLost]
    """Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
    when something was."""
    older_memory: NotRequired[List[CheckpointOlderMemory]]
    """Memory that belongs to other builds of guests; only if there is any. The language continues from it if that build
    is installed again; sandbox_reset drops it."""
    not_held: NotRequired[List[str]]
    """Languages whose interpreters run in a container and whose variables are not in the state: they last as long as it
    runs."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class DescribeCheckpointAnswer(TypedDict):
    id: str
    """Its id, for sandbox_restore and sandbox_fork."""
    sandbox_id: str
    """The sandbox whose state it is."""
    name: NotRequired[str]
    """Its name, if it has one."""
    note: NotRequired[str]
    """Its note, if there is one. Untrusted text."""
    include: str
    """both, memory or files."""
    created_at: str
    """When it was made, UTC."""
    size_bytes: int
    """Bytes of the state, shared ones included."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class DestroyAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    message: str
    """What was done."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class DownloadResource(TypedDict):
    uri: str
    """Its address."""
    name: str
    """Its name. Untrusted text."""
    mime_type: str
    """Its media type, derived from its name."""
    size_bytes: int
    """Its size."""


class DownloadAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    path: str
    """The file."""
    size_bytes: int
    """Its size."""
    sha256: str
    """SHA-256 of it, in hexadecimal."""
    content_base64: NotRequired[str]
    """The file; only when it is small and not saved."""
    host_path: NotRequired[str]
    """Where it was saved; only when it was."""
    resource: DownloadResource
    """The address of the file as a resource."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class EditAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    path: str
    """The file."""
    replaced: int
    """In how many places."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class ExecAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    stdout: NotRequired[str]
    """Standard output; beginning and end of it when it is long."""
    stderr: NotRequired[str]
    """Standard error; beginning and end of it when it is long."""
    exit_code: NotRequired[int]
    """Exit status; 124 after the time limit, 137 after another."""
    duration_ms: NotRequired[float]
    """Wall-clock time in milliseconds."""
    timed_out: NotRequired[bool]
    """Whether the time limit ended it."""
    stdout_bytes: NotRequired[int]
    """Bytes written to standard output."""
    stderr_bytes: NotRequired[int]
    """Bytes written to standard error."""
    stdout_file: NotRequired[str]
    """Where the whole of standard output is; only when it was cut. The last 8 such files are kept."""
    stderr_file: NotRequired[str]
    """Where the whole of standard error is; only when it was cut."""
    stdout_lost: NotRequired[str]
    """Why the whole of standard output could not be kept; only when it could not."""
    stderr_lost: NotRequired[str]
    """Why the whole of standard error could not be kept; only when it could not."""
    missing: NotRequired[List[str]]
    """Commands that it called and that are not here; only if there are any."""
    provider: NotRequired[str]
    """Who ran it: wasm, docker or kubernetes; docker also when it ran a part of it."""
    fallback_from: NotRequired[str]
    """The provider that could not run all of it; only if another one did."""
    elsewhere: NotRequired[List[str]]
    """Commands that another provider ran, on a copy of the files; only if there are any."""
    unavailable: NotRequired[Union[CapabilitiesError, None]]
    """What would provide the missing commands; only if there are any."""
    recovery: NotRequired[str]
    """What the shell is now, after it was stopped or something of it was lost."""
    recovery_reason: NotRequired[str]
    """Why, if the outcome of this run does not say it."""
    warning: NotRequired[Union[CapabilitiesError, None]]
    """A warning, if there is one: a quota of saved bytes or of files is exceeded, so the run could change and remove
    files but not add to them."""
    closed_files: NotRequired[List[str]]
    """Files that were open and could not be opened again when the sandbox woke; only if there are any."""
    network: NotRequired[RunsNetwork]
    """What the commands did with the network; only if they have one."""
    job_id: NotRequired[str]
    """The job that was started in the background, or in which commands after `&` continue."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class FilesEntries(TypedDict):
    path: str
    """Its path below the folder. Untrusted text."""
    kind: str
    """file, folder or link."""
    bytes: int
    """Bytes of a file, else 0."""
    modified_at: str
    """When its content was changed, UTC."""


class FilesAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    path: str
    """The folder."""
    entries: List[FilesEntries]
    """The page."""
    total: int
    """How many there are, on this page or not."""
    truncated: bool
    """Whether some come after this page."""
    next_cursor: NotRequired[str]
    """Where the next page begins; only when there is one."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class GetAnswer(TypedDict):
    id: str
    """Its id."""
    name: str
    """Its name; means the same as the id in every tool."""
    session_key: NotRequired[str]
    """The caller's own key, if it was made with one."""
    phase: str
    """creating, running, stopped or error."""
    status: str
    """provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error."""
    stop_reason: NotRequired[str]
    """idle, user or quota; only when it is stopped."""
    stopped_at: NotRequired[str]
    """When it was stopped, UTC."""
    created_at: str
    """When it was made, UTC."""
    last_activity_at: str
    """When it was last called, UTC."""
    awake: List[str]
    """Languages whose interpreters this server has in memory."""
    persistence: str
    """session: variables and files are kept (of a container only Python's variables, as far as they can be pickled);
    files: only files are kept, variables as long as it is awake."""
    durability: NotRequired[str]
    """call: each call is saved before it is answered. Else it is a moment later."""
    provider: str
    """Who runs it: wasm, docker or kubernetes."""
    fallback_from: NotRequired[str]
    """The provider that was asked for and could not be had; only when there is one."""
    image: NotRequired[Any]
    """The image of its container, null for the operator's default; else the one that it was made from, if any."""
    limits: ListSandboxesLimits
    """What it may use."""
    network: NotRequired[ListSandboxesNetwork]
    """What it may reach; only if it has a network."""
    idle_timeout_ms: int
    """Without calls for this long it is stopped."""
    retention_ms: int
    """Stopped for this long it is destroyed."""
    mounts: NotRequired[List[ListSandboxesMounts]]
    """Folders of the host that it sees now, skills among them; not in lists."""
    withdrawn: NotRequired[List[ListSandboxesWithdrawn]]
    """Grants that the sandbox was created with and that the operator does not give now; they return when they are given
    again."""
    lost: NotRequired[CheckpointLost]
    """Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
    when something was."""
    older_memory: NotRequired[List[CheckpointOlderMemory]]
    """Memory that belongs to other builds of guests; only if there is any. The language continues from it if that build
    is installed again; sandbox_reset drops it."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


GetVarResult = TypedDict(
    "GetVarResult",
    {
        # One of null, bool, int, float, string, bytes, array, iterable, object, reference, resource, unknown.
        "type": "str",
        # The value itself: a JSON value; digits as text when a number does not fit; base64 for bytes; typed values
        # inside an array.
        "value": "NotRequired[Any]",
        # Class, where it says more than the type.
        "class": "NotRequired[str]",
        # For an array: a list, else a dictionary.
        "is_list": "NotRequired[bool]",
        # For an array: items of the whole, shown or not.
        "count": "NotRequired[int]",
        # For text or bytes that were cut: bytes of the whole.
        "length": "NotRequired[int]",
        # True when something was left out.
        "truncated": "NotRequired[bool]",
    },
)


GetVarExceptionPrevious = TypedDict(
    "GetVarExceptionPrevious",
    {
        # Name of its class.
        "class": "str",
        # Its message.
        "message": "str",
        # A number or text where the language has one, else null.
        "code": "Any",
        # File that raised, or null.
        "file": "Any",
        # Line that raised, from 1, or null.
        "line": "Any",
        # Column that raised, from 1, or null.
        "column": "Any",
        # Frames, innermost first.
        "stack_trace": "List[str]",
        # The source line that raised.
        "excerpt": "NotRequired[str]",
        # The language's own rendering.
        "traceback": "NotRequired[str]",
        # Always empty here.
        "previous": "List[str]",
    },
)


GetVarException = TypedDict(
    "GetVarException",
    {
        # Name of its class.
        "class": "str",
        # Its message.
        "message": "str",
        # A number or text where the language has one, else null.
        "code": "Any",
        # File that raised, or null.
        "file": "Any",
        # Line that raised, from 1, or null.
        "line": "Any",
        # Column that raised, from 1, or null.
        "column": "Any",
        # Frames, innermost first.
        "stack_trace": "List[str]",
        # The source line that raised.
        "excerpt": "NotRequired[str]",
        # The language's own rendering, cut in its middle.
        "traceback": "NotRequired[str]",
        # What to do about it, such as naming another language; only when there is something to advise.
        "hint": "NotRequired[str]",
        # Causes, nearest first, at most 10.
        "previous": "List[GetVarExceptionPrevious]",
    },
)


class GetVarAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    name: str
    """The variable."""
    result: Union[GetVarResult, None]
    """The typed value of the last expression; null after an exception, an exit or a stop. Further fields by type:
    `undefined`, `big`, `entries`, `properties`, `repr`, `preview`, `exhausted`, `size_hint`, `id`, `reason`."""
    exception: Union[GetVarException, None]
    """What the snippet raised; null when it did not. Untrusted text."""
    recovery: NotRequired[str]
    """What the interpreter is, after something of it was lost: before_run (as before a run that was cut off), earlier
    (as before an earlier run) or fresh. Reported once."""
    recovery_reason: NotRequired[str]
    """Why, if the outcome of this run does not say it."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class HistorySteps(TypedDict):
    step: str
    """Its id, for sandbox_restore."""
    at: str
    """When it began, UTC."""
    language: str
    """Its language."""
    code: str
    """The beginning of its code."""
    ended: str
    """returned, raised, exited or stopped."""


class HistoryAnswer(TypedDict):
    steps: List[HistorySteps]
    """The steps."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class InstallInstalled(TypedDict):
    name: str
    """Its name."""
    version: str
    """Its version."""
    replaced: NotRequired[str]
    """The version that was there before."""
    files: int
    """Its files."""


class InstallAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    installed: List[InstallInstalled]
    """What is new or has another version."""
    satisfied: List[str]
    """What was there already."""
    notes: List[str]
    """Notes for the caller."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class JobJobs(TypedDict):
    job_id: str
    """Its id."""
    command: str
    """The beginning of its command line."""
    state: str
    """`running`, `ended`, `cancelled` or `stopped` (by a limit)."""
    started_at: str
    """When it was started."""
    ended_at: NotRequired[str]
    """When it ended; only when it has."""
    exit_code: NotRequired[int]
    """Exit status; only when it has ended."""
    duration_ms: NotRequired[float]
    """Wall-clock time in milliseconds; only when it has ended."""
    timed_out: NotRequired[bool]
    """Whether the time limit ended it; only when it has ended."""
    missing: NotRequired[List[str]]
    """Commands that it called and that are not here; only if there are any."""
    unavailable: NotRequired[Union[CapabilitiesError, None]]
    """What would provide the missing commands; only if there are any."""
    provider: NotRequired[str]
    """Who ran it; only when it has ended."""
    fallback_from: NotRequired[str]
    """The provider that could not run all of it; only if another one did."""
    elsewhere: NotRequired[List[str]]
    """Commands that another provider ran; only if there are any."""
    cause: NotRequired[Union[CapabilitiesError, None]]
    """What ended it: a limit or a cancellation."""
    network: NotRequired[RunsNetwork]
    """What it did with the network; only when it has ended, and has one."""


class JobAnswer(TypedDict):
    job_id: NotRequired[str]
    """Its id."""
    command: NotRequired[str]
    """The beginning of its command line."""
    state: NotRequired[str]
    """`running`, `ended`, `cancelled` or `stopped` (by a limit)."""
    started_at: NotRequired[str]
    """When it was started."""
    ended_at: NotRequired[str]
    """When it ended; only when it has."""
    exit_code: NotRequired[int]
    """Exit status; only when it has ended."""
    duration_ms: NotRequired[float]
    """Wall-clock time in milliseconds; only when it has ended."""
    timed_out: NotRequired[bool]
    """Whether the time limit ended it; only when it has ended."""
    missing: NotRequired[List[str]]
    """Commands that it called and that are not here; only if there are any."""
    unavailable: NotRequired[Union[CapabilitiesError, None]]
    """What would provide the missing commands; only if there are any."""
    provider: NotRequired[str]
    """Who ran it; only when it has ended."""
    fallback_from: NotRequired[str]
    """The provider that could not run all of it; only if another one did."""
    elsewhere: NotRequired[List[str]]
    """Commands that another provider ran; only if there are any."""
    cause: NotRequired[Union[CapabilitiesError, None]]
    """What ended it: a limit or a cancellation."""
    network: NotRequired[RunsNetwork]
    """What it did with the network; only when it has ended, and has one."""
    sandbox_id: str
    """The sandbox."""
    stdout: NotRequired[str]
    """What it wrote to standard output, from the offset on."""
    stderr: NotRequired[str]
    """What it wrote to standard error, from the offset on."""
    stdout_offset: NotRequired[int]
    """Where `stdout` begins; later than asked when that is no longer kept."""
    stderr_offset: NotRequired[int]
    """Where `stderr` begins; later than asked when that is no longer kept."""
    stdout_next: NotRequired[int]
    """Where the next part of standard output begins."""
    stderr_next: NotRequired[int]
    """Where the next part of standard error begins."""
    jobs: NotRequired[List[JobJobs]]
    """Those that there are, oldest first."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class ListCheckpointsCheckpoints(TypedDict):
    id: str
    """Its id, for sandbox_restore and sandbox_fork."""
    sandbox_id: str
    """The sandbox whose state it is."""
    name: NotRequired[str]
    """Its name, if it has one."""
    note: NotRequired[str]
    """Its note, if there is one. Untrusted text."""
    include: str
    """both, memory or files."""
    created_at: str
    """When it was made, UTC."""
    size_bytes: int
    """Bytes of the state, shared ones included."""


class ListCheckpointsAnswer(TypedDict):
    checkpoints: List[ListCheckpointsCheckpoints]
    """All of them."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class LoadAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    var: str
    """The variable."""
    bytes: int
    """Bytes of the file."""
    message: str
    """What was done, in one sentence."""
    recovery: NotRequired[str]
    """What the interpreter is, after something of it was lost: before_run (as before a run that was cut off), earlier
    (as before an earlier run) or fresh. Reported once."""
    recovery_reason: NotRequired[str]
    """Why, if the outcome of this run does not say it."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class MakeFolderAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    path: str
    """The file or folder, as it is called now."""
    message: str
    """What was done."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class ReadAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    path: str
    """The file."""
    encoding: str
    """How `content` is written: text or base64."""
    content: str
    """The part of the file. Untrusted data."""
    offset: int
    """First byte that is shown."""
    bytes: int
    """Bytes that are shown."""
    size_bytes: int
    """Bytes of the whole file."""
    modified_at: str
    """When its content was changed, UTC."""
    next_offset: NotRequired[int]
    """Where to read on; only when there is more."""
    start_line: NotRequired[int]
    """First line that is shown, when lines were asked for."""
    next_line: NotRequired[int]
    """Line to continue from; only if there is more."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class RemoveCheckpointAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    checkpoint_id: str
    """The id of the checkpoint that is gone."""
    message: str
    """What was done."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class RestoreAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    checkpoint_id: str
    """The checkpoint, or the step."""
    message: str
    """What was done, and what could not be restored."""
    lost: NotRequired[CheckpointLost]
    """Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
    when something was."""
    older_memory: NotRequired[List[CheckpointOlderMemory]]
    """Memory that belongs to other builds of guests; only if there is any. The language continues from it if that build
    is installed again; sandbox_reset drops it."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class ResumeAnswer(TypedDict):
    id: str
    """Its id."""
    name: str
    """Its name; means the same as the id in every tool."""
    session_key: NotRequired[str]
    """The caller's own key, if it was made with one."""
    phase: str
    """creating, running, stopped or error."""
    status: str
    """provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error."""
    stop_reason: NotRequired[str]
    """idle, user or quota; only when it is stopped."""
    stopped_at: NotRequired[str]
    """When it was stopped, UTC."""
    created_at: str
    """When it was made, UTC."""
    last_activity_at: str
    """When it was last called, UTC."""
    awake: List[str]
    """Languages whose interpreters this server has in memory."""
    persistence: str
    """session: variables and files are kept (of a container only Python's variables, as far as they can be pickled);
    files: only files are kept, variables as long as it is awake."""
    durability: NotRequired[str]
    """call: each call is saved before it is answered. Else it is a moment later."""
    provider: str
    """Who runs it: wasm, docker or kubernetes."""
    fallback_from: NotRequired[str]
    """The provider that was asked for and could not be had; only when there is one."""
    image: NotRequired[Any]
    """The image of its container, null for the operator's default; else the one that it was made from, if any."""
    limits: ListSandboxesLimits
    """What it may use."""
    network: NotRequired[ListSandboxesNetwork]
    """What it may reach; only if it has a network."""
    idle_timeout_ms: int
    """Without calls for this long it is stopped."""
    retention_ms: int
    """Stopped for this long it is destroyed."""
    mounts: NotRequired[List[ListSandboxesMounts]]
    """Folders of the host that it sees now, skills among them; not in lists."""
    withdrawn: NotRequired[List[ListSandboxesWithdrawn]]
    """Grants that the sandbox was created with and that the operator does not give now; they return when they are given
    again."""
    lost: NotRequired[CheckpointLost]
    """Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
    when something was."""
    older_memory: NotRequired[List[CheckpointOlderMemory]]
    """Memory that belongs to other builds of guests; only if there is any. The language continues from it if that build
    is installed again; sandbox_reset drops it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class StopAnswer(TypedDict):
    id: str
    """Its id."""
    name: str
    """Its name; means the same as the id in every tool."""
    session_key: NotRequired[str]
    """The caller's own key, if it was made with one."""
    phase: str
    """creating, running, stopped or error."""
    status: str
    """provisioning, running (in use, or was a moment ago), warm (ready), cold, shutdown or error."""
    stop_reason: NotRequired[str]
    """idle, user or quota; only when it is stopped."""
    stopped_at: NotRequired[str]
    """When it was stopped, UTC."""
    created_at: str
    """When it was made, UTC."""
    last_activity_at: str
    """When it was last called, UTC."""
    awake: List[str]
    """Languages whose interpreters this server has in memory."""
    persistence: str
    """session: variables and files are kept (of a container only Python's variables, as far as they can be pickled);
    files: only files are kept, variables as long as it is awake."""
    durability: NotRequired[str]
    """call: each call is saved before it is answered. Else it is a moment later."""
    provider: str
    """Who runs it: wasm, docker or kubernetes."""
    fallback_from: NotRequired[str]
    """The provider that was asked for and could not be had; only when there is one."""
    image: NotRequired[Any]
    """The image of its container, null for the operator's default; else the one that it was made from, if any."""
    limits: ListSandboxesLimits
    """What it may use."""
    network: NotRequired[ListSandboxesNetwork]
    """What it may reach; only if it has a network."""
    idle_timeout_ms: int
    """Without calls for this long it is stopped."""
    retention_ms: int
    """Stopped for this long it is destroyed."""
    mounts: NotRequired[List[ListSandboxesMounts]]
    """Folders of the host that it sees now, skills among them; not in lists."""
    withdrawn: NotRequired[List[ListSandboxesWithdrawn]]
    """Grants that the sandbox was created with and that the operator does not give now; they return when they are given
    again."""
    lost: NotRequired[CheckpointLost]
    """Losses of interpreters that no run has reported yet, by language: `recovery` (earlier, fresh) and `reason`; only
    when something was."""
    older_memory: NotRequired[List[CheckpointOlderMemory]]
    """Memory that belongs to other builds of guests; only if there is any. The language continues from it if that build
    is installed again; sandbox_reset drops it."""
    not_held: NotRequired[List[str]]
    """Languages whose interpreters run in a container and whose variables are not in the state: they last as long as it
    runs."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class SubAgentOutputs(TypedDict):
    name: str
    """Its name."""
    type: str
    """The name of its type."""
    summary: str
    """The beginning of its representation. Untrusted text."""


class SubAgentTranscript(TypedDict):
    turn: int
    """Its number."""
    said: str
    """What the model wrote, long texts without their middle. Untrusted text."""
    seen: str
    """What it was shown: output, values and exceptions of its code; empty when it had ended the task. Untrusted text."""


class SubAgentAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    outputs: NotRequired[List[SubAgentOutputs]]
    """The outputs, which are variables of the sandbox, in the order of the signature."""
    iterations: int
    """Turns of the model."""
    llm_calls: int
    """Calls of the model."""
    input_tokens: int
    """Tokens of the prompts."""
    output_tokens: int
    """Tokens of the answers."""
    message: NotRequired[str]
    """What was done, in one sentence."""
    transcript: List[SubAgentTranscript]
    """The last 20 turns."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class UploadAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    path: str
    """The file, or the folder that was unpacked into."""
    files: int
    """Files that were written."""
    bytes: int
    """Bytes that were written."""
    size_bytes: NotRequired[int]
    """Bytes that the file has now; only of a piece."""
    sha256: str
    """SHA-256 of what was uploaded, in hexadecimal."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class VarsAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    variables: List[SubAgentOutputs]
    """Sorted by name."""
    total: int
    """How many there are, shown or not."""
    recovery: NotRequired[str]
    """What the interpreter is, after something of it was lost: before_run (as before a run that was cut off), earlier
    (as before an earlier run) or fresh. Reported once."""
    recovery_reason: NotRequired[str]
    """Why, if the outcome of this run does not say it."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""


class WriteAnswer(TypedDict):
    sandbox_id: str
    """The sandbox."""
    path: str
    """The file."""
    bytes: int
    """Bytes that were written."""
    size_bytes: int
    """Bytes of the whole file."""
    fallback_from: NotRequired[str]
    """Whose it was to do; only when another provider did it."""
    unsaved: NotRequired[RunsUnsaved]
    """Why what the call did is not saved, if it could not be."""
    error: Union[CapabilitiesError, None]
    """Why the call was refused; null when it was not."""
