echo "to standard output\n";
fwrite(STDERR, "to standard error\n");
fprintf(STDOUT, "%s\n", "by the constant");
ob_start();
echo "held back\n";
$undefined + 1;
trigger_error("a warning", E_USER_WARNING);
echo "no newline";
