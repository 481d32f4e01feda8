import datetime, random, uuid
[random.random(), random.sample(range(100), 5), str(uuid.uuid4()), datetime.datetime.now(datetime.UTC).isoformat()]
