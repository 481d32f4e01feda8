function fail() {
    trigger_error("told as fatal", E_USER_ERROR);
}

echo "before\n";
fail();
echo "after\n";
