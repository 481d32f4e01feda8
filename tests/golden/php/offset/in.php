range(0, 99);
