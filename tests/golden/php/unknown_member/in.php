class Broken {
    function __debugInfo() {
        throw new LogicException("no properties");
    }
}

class Silent {
    public $x = 1;

    function __toString() {
        throw new LogicException("no text");
    }
}

[new Broken, new Silent, (function () { yield 1; throw new LogicException("half way"); })()];
