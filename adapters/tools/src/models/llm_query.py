def _bind():
    import builtins

    import dormouse

    class LlmError(dormouse.ToolError):
        """The model gave no answer; `code` is the stable name of the reason."""

        def __init__(self, text):
            super().__init__(text)
            code = text.partition(":")[0]
            self.code = code if code.isidentifier() else "tool_error"

    def ask(arguments, system, max_tokens):
        if system is not None:
            arguments["system"] = system
        if max_tokens is not None:
            arguments["max_tokens"] = max_tokens
        try:
            return dormouse.call_tool("llm_query", **arguments)
        except dormouse.ToolError as error:
            raise LlmError(str(error)) from None

    def llm_query(prompt, *, system=None, max_tokens=None):
        """Asks a language model and returns its answer, a str."""
        if not isinstance(prompt, str):
            raise TypeError(f"a prompt is a str, not {type(prompt).__name__}")
        return ask({"prompt": prompt}, system, max_tokens)

    def llm_query_batched(prompts, *, system=None, max_tokens=None):
        """Asks a language model about several prompts at once and returns the answers in their order, a list of str."""
        prompts = list(prompts)
        for prompt in prompts:
            if not isinstance(prompt, str):
                raise TypeError(f"a prompt is a str, not {type(prompt).__name__}")
        return ask({"prompts": prompts}, system, max_tokens)

    # Errors show the names that users know and none of the frames here.
    LlmError.__module__, LlmError.__qualname__ = "builtins", "LlmError"
    for function in (LlmError.__init__, ask, llm_query, llm_query_batched):
        function.__code__ = function.__code__.replace(co_filename="/<dormouse>/llm_query.py")
        function.__qualname__ = function.__name__
    builtins.LlmError = LlmError
    builtins.llm_query = llm_query
    builtins.llm_query_batched = llm_query_batched


_bind()
del _bind
