echo "kept\n";
while (true);
