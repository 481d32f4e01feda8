<?php
// About 1 MB of JSON, written and read 20 times.
$document = ["rows" => []];
for ($i = 0; $i < 13_000; $i++) {
    $document["rows"][] = ["id" => $i, "title" => "row $i", "labels" => ["red", "green", "blue"], "weight" => $i * 0.25];
}
$total = 0;
for ($i = 0; $i < 20; $i++) {
    $text = json_encode($document);
    $document = json_decode($text, true);
    $total += strlen($text);
}
echo $total, "\n";
