[mt_rand(), random_int(0, 99), bin2hex(random_bytes(4)), array_rand(range(0, 99), 3), lcg_value(), uniqid(), date("c")];
