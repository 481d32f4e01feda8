<?php
namespace Dormouse {

// The text of a snippet as it is compiled.
final class Text
{
    private static function parses(string $text): bool
    {
        try {
            token_get_all($text, TOKEN_PARSE);
            return true;
        } catch (\Throwable) {
            return false;
        }
    }

    // `<?php ...` and `<html>...` are files; anything else is code. No statement begins with `<`, except a heredoc.
    private static function opened(string $code): string
    {
        if (str_starts_with($code, "\u{FEFF}")) $code = substr($code, 3);
        if (str_starts_with($code, '#!')) $code = '//' . $code;
        $blank = strspn($code, " \t\r\n");
        $rest = substr($code, $blank);
        if (!str_starts_with($rest, '<') || str_starts_with($rest, '<<<')) return "<?php $code";
        // Blank lines before `<?php` would be printed. They are kept in the count of lines.
        return $blank && str_starts_with($rest, '<?php') ? '<?php ' . substr($code, 0, $blank) . substr($rest, 5) : $code;
    }

    public static function of(string $code): string
    {
        $text = self::opened($code);
        if (!function_exists('token_get_all')) return $text;
        // A snippet may leave out its last semicolon.
        if (!self::parses($text)) {
            if (!self::parses("$text\n;")) return $text;
            $text .= "\n;";
        }
        foreach (self::starts($text) as $at) {
            $returning = substr($text, 0, $at) . 'return ' . substr($text, $at);
            if (self::parses($returning)) return $returning;
        }
        return self::ended($text);
    }

    // A file that returns nothing would have the value 1.
    private static function ended(string $text): string
    {
        $tokens = token_get_all($text);
        $kinds = array_column(array_filter($tokens, 'is_array'), 0);
        if (in_array(T_HALT_COMPILER, $kinds, true)) return $text;
        // Nothing may follow `namespace A { }` but its like.
        if (in_array(T_NAMESPACE, $kinds, true) && self::parses("$text\nnamespace { return null; }")) {
            $braced = preg_match('/\bnamespace\b[^;{]*\{/i', $text);
            if ($braced) return "$text\nnamespace { return null; }";
        }
        $last = end($tokens);
        $markup = is_array($last) && in_array($last[0], [T_INLINE_HTML, T_CLOSE_TAG], true);
        $returning = $text . ($markup ? '<?php return null;' : "\n;return null;");
        return self::parses($returning) ? $returning : $text;
    }

    // Where the last statement may begin, the longest first: behind the semicolon before it, or behind a block after that.
    private static function starts(string $text): array
    {
        $depth = $offset = 0;
        $starts = [];
        $fresh = true; // the next token that says something begins a statement
        $reset = true; // and it does so in any case
        foreach (token_get_all($text) as $token) {
            [$kind, $part] = is_array($token) ? $token : [$token, $token];
            $silent = in_array($kind, [T_WHITESPACE, T_COMMENT, T_DOC_COMMENT], true);
            if ($depth === 0 && in_array($kind, [T_OPEN_TAG, T_CLOSE_TAG, T_INLINE_HTML, ';'], true)) {
                $fresh = $reset = true;
                if ($kind === T_INLINE_HTML || $kind === T_CLOSE_TAG) $starts = [];
            } elseif (!$silent) {
                if ($fresh && $depth === 0) {
                    $starts = $reset ? [$offset] : [...$starts, $offset];
                    $fresh = $reset = false;
                }
                if (in_array($kind, ['(', '[', '{', T_CURLY_OPEN, T_DOLLAR_OPEN_CURLY_BRACES, T_ATTRIBUTE], true)) $depth++;
                if (in_array($kind, [')', ']', '}'], true)) {
                    $depth--;
                    $fresh = $depth === 0 && $kind === '}';
                }
            }
            $offset += strlen($part);
        }
        return $starts;
    }
}

// The stream that a snippet is included from: its name is the snippet's, not a path.
final class Snippet
{
    public $context;
    private int $at = 0;

    public function stream_open($path, $mode, $options, &$opened): bool
    {
        $opened = Interpreter::$name;
        return true;
    }

    public function stream_read(int $count): string
    {
        $part = substr(Interpreter::$text, $this->at, $count);
        $this->at += strlen($part);
        return $part;
    }

    public function stream_eof(): bool
    {
        return $this->at >= strlen(Interpreter::$text);
    }

    public function stream_stat(): array
    {
        return [];
    }

    public function stream_set_option($option, $first, $second): bool
    {
        return false;
    }
}

}
