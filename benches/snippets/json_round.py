# About 1 MB of JSON, written and read 20 times.
import json

document = {
    "rows": [
        {"id": i, "title": "row " + str(i), "labels": ["red", "green", "blue"], "weight": i * 0.25}
        for i in range(13_000)
    ]
}
total = 0
for _ in range(20):
    text = json.dumps(document)
    document = json.loads(text)
    total += len(text)
print(total)
