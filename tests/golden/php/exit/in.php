echo "leaving\n";
exit(3);
