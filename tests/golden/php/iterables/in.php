function endless() {
    for ($n = 0; ; $n++) {
        yield $n;
    }
}

class Two implements IteratorAggregate, Countable {
    function getIterator(): Iterator {
        return new ArrayIterator([1, 2]);
    }

    function count(): int {
        return 2;
    }
}

[endless(), (fn() => yield from ["a" => 1])(), new ArrayObject([1, 2, 3]), new Two, new EmptyIterator, new SplObjectStorage];
