class Told {
    private $hidden = "secret";

    function __debugInfo() {
        return ["state" => "open", "depth" => 2];
    }
}

class Text implements Stringable {
    public ?int $empty = null;
    public int $never;

    function __toString(): string {
        return "as text";
    }
}

$dynamic = new stdClass;
$dynamic->{"a b"} = 1;
$dynamic->{"0"} = [true, null];
[new Told, new Text, $dynamic, new Exception("as a value", 3)];
