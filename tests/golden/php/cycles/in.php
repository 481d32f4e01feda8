$a = new stdClass;
$b = new stdClass;
$a->name = "a";
$a->b = $b;
$b->a = $a;
$list = [1];
$list[] = &$list;
$shared = [1];
[$a, $list, $shared, $shared];
