class Refused extends Exception {}

class Settings {
    function load(string $name) {
        try {
            throw new OutOfBoundsException("no entry $name", 7);
        } catch (OutOfBoundsException $error) {
            throw new Refused("no setting $name", 8, $error);
        }
    }

    static function start() {
        try {
            (new self)->load("port");
        } catch (Refused $error) {
            throw new RuntimeException("cannot start", 9, $error);
        }
    }
}

Settings::start();
